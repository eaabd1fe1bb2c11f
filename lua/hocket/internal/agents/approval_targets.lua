--- What a rule of `approve:` can be for. A rule for a tool that there is not, or for an argument that its tool has not, binds
--- nothing: what it was to stop would be let through. So it is an error wherever rules are read.
---
---     all names are known     a team of files: a rule for any other name is wrong
---     more may come           scripts and clients bring tools of their own: wrong is a slip, a name that is near to a
---                             known one, or what other programs call a tool of ours
local core = require "hocket.internal.core.permission"
local problem = require "hocket.internal.agents.problem"
local provider_tools = require "hocket.internal.base.lazy" "hocket.internal.models.server_tools"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local suggest = require "hocket.internal.base.lazy" "hocket.internal.base.suggest"
local tool = require "hocket.tool"

local targets = {}

--- Tools that toolsets and patterns bring along.
local of_patterns = [[create_tasks get_plan_status read_document consolidate_section read_document_clean read_tasks complete_task
  task_outcome write_section submit_task check_tasks wait_tasks get_result cancel_task route_to handoff_to broadcast vote_conclude next_round
  read_result search_result read_skill run_skill search_tools memory_write memory_search memory_read memory_forget]]

--- Names for `tools:` that stand for tools of other names: how a rule is written for these.
local toolsets = {
  facilitator = "as 'call_*'", specialist = "as 'write_section'", memory = "as 'memory_*'", skills = "as 'run_skill'", mcp = "as 'SERVER__*'",
  servers_of_run = "as 'SERVER__*'", project = "which are none",
}

--- What tools are called in other programs.
local elsewhere = {
  bash = "execute_command", shell = "execute_command", sh = "execute_command", terminal = "execute_command", run_command = "execute_command",
  python = "execute_python", read = "read_file", write = "write_file", edit = "edit_file", ls = "list_directory", grep = "search_files",
  glob = "search_files", fetch = "web_fetch", curl = "web_fetch", search = "web_search", move = "move_file",
}

-- ---- Names -----------------------------------------------------------------------------------------

---@class hocket.ToolNames The names that there are.
---@field exact table<string, boolean>
---@field begun string[] How others begin: those of MCP servers, which are asked later.
local Names = {}
Names.__index = Names

--- Adds tools, or names of toolsets.
---@param list? (string|hocket.Tool)[]
function Names:add(list)
  for _, one in ipairs(list or {}) do
    local name = type(one) == "table" and one.name or one:match "^workflow:(.+)$" or one:match "^plan:(.+)$" or one
    if not toolsets[one] then self.exact[name] = true end
  end
end

--- Adds the tools of MCP servers.
---@param list? {name: string}[]
function Names:add_servers(list)
  for _, one in ipairs(list or {}) do self.begun[#self.begun + 1] = (type(one) == "table" and one.name or tostring(one)) .. "__" end
end

--- All names that are known of a team.
---@param team table<string, hocket.Agent>
---@return hocket.ToolNames
function targets.names(team)
  local names = setmetatable({ exact = {}, begun = {} }, Names)
  names:add(tool.names())
  names:add(provider_tools.names)
  for name in of_patterns:gmatch "%S+" do names.exact[name] = true end
  for name, def in pairs(team) do
    names.exact["call_" .. name] = true
    names:add(def.tools)
    names:add_servers(def.mcp)
  end
  return names
end

local function begins(text, with)
  return text:sub(1, #with) == with
end

--- Whether a rule is for one of them.
---@param glob string
---@return boolean
function Names:have(glob)
  local head = glob:match "^[^*?]*"
  for _, begun in ipairs(self.begun) do
    if begins(head, begun) or head ~= glob and begins(begun, head) then return true end
  end
  if head == glob then return self.exact[glob] == true end
  for name in pairs(self.exact) do
    if core.glob(glob, name) then return true end
  end
  return false
end

local function no_such(name, hint)
  return ("the rule binds nothing: there is no tool '%s'%s"):format(name, hint)
end

--- What is wrong with the name of a rule where there may be more names than are known.
---@param rule hocket.ApproveRule
---@param misspelt? boolean Only where it is nearly a known one, and not where other programs call a tool so.
---@return string?
function targets.slip(rule, misspelt)
  if toolsets[rule.tool] then return no_such(rule.tool, ", but a set of tools by that name: a rule is for one of those, " .. toolsets[rule.tool]) end
  if rule.tool:find "[*?]" or tool.is_known(rule.tool) then return nil end
  local meant = not misspelt and elsewhere[rule.tool:lower()] or suggest(rule.tool, tool.names())
  return meant and no_such(rule.tool, (": did you mean '%s'?"):format(meant))
end

--- What is wrong with the name of a rule where all names are known.
---@param rule hocket.ApproveRule
---@param names hocket.ToolNames
---@return string?
function targets.unknown(rule, names)
  if names:have(rule.tool) then return nil end
  return targets.slip(rule) or no_such(rule.tool, (" (there are: %s)"):format(table.concat(tool.names(), ", ")))
end

-- ---- Arguments -------------------------------------------------------------------------------------

-- What says more of an object than its properties: any argument may come.
local open_keys = { "$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas" }

local function has_argument(parameters, name)
  for _, key in ipairs(open_keys) do
    if parameters[key] ~= nil then return true end
  end
  return type(parameters.properties) ~= "table" or parameters.properties[name] ~= nil
end

local path_arguments = { path = true, paths = true, from = true, to = true }

local function is_no_path(rule)
  return path_arguments[rule.argument or "path"] and rule.match:find "^%.?%.?/"
end

--- What is wrong with the argument of a rule for one tool.
---@param rule hocket.ApproveRule
---@param parameters table Of the tool: its JSON Schema.
---@return string?
function targets.no_argument(rule, parameters)
  if not rule.argument or has_argument(parameters, rule.argument) then return nil end
  return ("the rule is for no argument of %s: '%s'%s"):format(rule.tool, rule.argument, problem.hint(rule.argument, sorted_keys(parameters.properties)))
end

-- Of a glob of names: whether each tool that it is for is known, and has no such argument.
local function fits_none(rule, names)
  if not names or #names.begun > 0 or not rule.argument then return false end
  for name in pairs(names.exact) do
    local parameters = core.glob(rule.tool, name) and (tool.parameters(name) or {})
    if parameters and has_argument(parameters, rule.argument) then return false end
  end
  return true
end

--- What is wrong with the condition of a rule, as far as tools are known before they are made.
---@param rule hocket.ApproveRule
---@param names? hocket.ToolNames Where all are known.
---@return string?
function targets.misfit(rule, names)
  if not rule.match then return nil end
  if rule.tool:find "[*?]" then
    return fits_none(rule, names) and ("the rule is for no argument: no tool of those that '%s' is for has '%s'"):format(rule.tool, rule.argument) or nil
  end
  local parameters = tool.parameters(rule.tool)
  if not parameters then return nil end
  if is_no_path(rule) and has_argument(parameters, rule.argument or "path") then
    return ("the rule fits no path: they begin below the folder of the work, as 'docs/*' does, not '%s'"):format(rule.match)
  end
  return targets.no_argument(rule, parameters)
end

--- What a person should know of a rule that allows commands: its program is one whose forms nobody has looked at.
---@param rule hocket.ApproveRule
---@return string?
function targets.unknown_program(rule)
  local program = rule.tool == "execute_command" and (rule.argument or "command") == "command" and rule.match and core.unknown_program(rule.match)
  return program and ("the forms of '%s' are not known: this rule covers every one of them, also those that run other programs"):format(program) or nil
end

--- What is wrong with the condition of a rule for a tool that is there.
---@param rule hocket.ApproveRule
---@param one hocket.Tool
---@return string?
function targets.misfit_of(rule, one)
  if not rule.match then return nil end
  if rule.argument then return targets.no_argument(rule, one.parameters) end
  if one.subject then return nil end
  return ("the rule is for no argument: %s has no main one: name it, as in '%s(argument=%s)' (there are: %s)"):format(one.name, one.name, rule.match,
    table.concat(sorted_keys(one.parameters.properties or {}), ", "))
end

return targets
