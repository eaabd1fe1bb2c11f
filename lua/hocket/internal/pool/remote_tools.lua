--- Tools that an agent in a pool has of its caller: they work on what is the caller's, its board, its document, what a script holds. The agent is
--- given their names and schemas; a call of one is made here, in the caller's run, and its result goes back.
local effects = require "hocket.internal.base.effects"
local agents = require "hocket.agent"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local labels = require "hocket.internal.base.labels"
local media = require "hocket.internal.base.lazy" "hocket.internal.base.media"
local scope = require "hocket.internal.session.scope"
local tool = require "hocket.tool"
local tool_calls = require "hocket.internal.session.tool_calls"
local tool_effect = require "hocket.internal.base.lazy" "hocket.internal.session.tool_effect"
local failed = require("hocket.internal.core.system").error

local remote_tools = {}

--- Toolsets that are nothing without the caller's board and document.
local of_callers = { specialist = true }

--- What of a tool is a function that has to be asked before its call is let through: where it is made nobody could ask it.
local asked_before = { "prepare", "reads", "sends_to", "conflicts", "preview" }

local told = { "name", "description", "parameters", "effects", "taints", "subject", "kinds", "places", "quiet", "timeout", "max_calls", "serial", "set" }

-- Names that are the caller's to resolve, and the ones that are not.
local function split(names)
  local mine, others = {}, {}
  for _, name in ipairs(names or {}) do
    local list = (type(name) == "table" or of_callers[name]) and mine or others
    list[#list + 1] = name
  end
  return mine, others
end

local function append(list, more)
  table.move(more or {}, 1, #(more or {}), #list + 1, list)
end

local function check(step, tools)
  for _, one in ipairs(tools) do
    for _, name in ipairs(asked_before) do
      if one[name] then
        return nil, failed { code = "unsupported", message = ("%s has 'pool: %s', and its caller's tool '%s' cannot be called from there: it has '%s', which is asked before each call. Register it by name where the workers are (hocket.tool.set), or remove 'pool'"):format(
          step.def.name, step.def.pool, one.name, name) }
      end
    end
  end
  return true
end

-- What tools tell the agent.
local function env_of(step)
  local opts = step.opts
  return { agent = step.def, team = agents.team_of(step.def), run = step.run, board = opts.board, document = opts.document,
    task_ids = opts.task_ids, tasks_of = opts.tasks_of, outcome = opts.outcome, model = opts.model, allowed = step.allowed, member = opts.member }
end

---@class hocket.RemoteTools
---@field tools hocket.Tool[]
---@field names string[] Of tools that are found where the agent works.
---@field env table
---@field by_name table<string, hocket.Tool>

--- The tools that an agent gets of its caller.
---@param step hocket.Step
---@return hocket.RemoteTools?
---@return hocket.Error?
function remote_tools.of(step)
  local opts, names = step.opts, {}
  local mine, others = split(opts.extra_tools)
  append(names, mine)
  append(names, (split(step.def.tools)))
  append(names, opts.tools)
  append(names, step:closing())
  local env = env_of(step)
  local tools, err = tool.resolve(names, env)
  if not tools then return nil, err end
  local ok, wrong = check(step, tools)
  if not ok then return nil, wrong end
  local by_name = {}
  for _, one in ipairs(tools) do by_name[one.name] = one end
  return { tools = tools, names = others, env = env, by_name = by_name }
end

--- The same as data, for the run that the agent works in.
---@param self hocket.RemoteTools
---@return table[]
function remote_tools.describe(self)
  local list = {}
  for i, one in ipairs(self.tools) do
    local fence = one.fence and { kind = one.fence[1], whose = one.fence[2], empty = one.fence.empty }
    local data = { repaired = one.repair ~= nil, fence = fence or nil }
    for _, name in ipairs(told) do data[name] = one[name] or nil end
    list[i] = data
  end
  return json.array(list)
end

-- Arguments that fit, as far as the tool can put them right.
local function fitting(one, args)
  if type(args) ~= "table" then return nil, "the arguments have to be one JSON object" end
  local ok, why = one.check(args)
  if ok or not one.repair then return ok and args or nil, why end
  local repaired, value = pcall(one.repair, args)
  if not repaired then return nil, ("the arguments cannot be used: %s"):format(tostring(value)) end
  ok, why = one.check(value)
  return ok and value or nil, why
end

local function outcome(ok, value, err)
  if not ok then return nil, "the tool failed: " .. (type(value) == "table" and value.message or tostring(value)) end
  if type(value) == "table" and media.is_in(value) then return nil, "its result is no text, and cannot be given to another machine" end
  if value ~= nil then return tool_calls.text_of(value) end
  if err == nil then return "done" end
  return nil, type(err) == "table" and (err.message or err.code) or tostring(err)
end

-- One that says nothing of what it does may hand on what others of the run have read.
local function bits_of(step, one, marks)
  local bits = one.effects == nil and scope.labels(step):of_run() or 0
  for _, mark in ipairs(marks) do bits = bits | (math.type(mark) == "integer" and mark or labels.bit(mark)) end
  return bits
end

--- Makes a call that the agent asks for.
---@async
---@param self hocket.RemoteTools
---@param step hocket.Step
---@param asked {tool: string, arguments: table}
---@return {text?: string, error?: string, labels: integer} answer
function remote_tools.call(self, step, asked)
  local one, marks = self.by_name[asked.tool], {}
  if not one then return { error = ("there is no tool '%s' here"):format(tostring(asked.tool)), labels = 0 } end
  local args, wrong = fitting(one, asked.arguments)
  if not args then return { error = ("%s\nCall again with arguments that fit."):format(wrong), labels = 0 } end
  local context = setmetatable({ call_id = asked.id, mark = function(label) marks[#marks + 1] = label end }, { __index = self.env })
  local text, err
  if one.steps or not effects.logged() then
    text, err = outcome(pcall(one.run, args, context))
  else
    text, err = outcome(pcall(tool_effect.run, { permissions = { agent = step.def.name } }, one, args, context))
  end
  if fiber.cancelled() then error({ code = "cancelled", message = "cancelled" }, 0) end
  return { text = text, error = err, labels = bits_of(step, one, marks) }
end

return remote_tools
