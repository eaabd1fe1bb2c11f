--- What a person reads of a workflow's worst case (agents/workflow_bound.lua), and of what its agents and its own text can reach.
local tool = require "hocket.tool"
local workflow_file = require "hocket.internal.agents.workflow_file"

local workflow_report = {}

-- ---- What it reaches ----------------------------------------------------------------------------------

-- By the effects of tools, with what is said where no tool has them.
local words = {
  { "run", "runs programs", "run programs" }, { "fetch", "reads the web", "reach the web" }, { "send", "sends requests" }, { "read", "reads files", "read files" },
  { "write", "writes files", "write files" }, { "open", "opens things on the screen" }, { "elsewhere", "changes things outside of the folder" },
}

-- Tools that reach nothing but agents.
local inner = { delegate = true, delegate_to_agent = true, facilitator = true, specialist = true, report_blocker = true, split_task = true, ask_user = true, todo = true, ask_again = true }

-- Tools of which an agent has several by one name, or none without more than a name.
local several = { mcp = true, memory = true, project = true, servers_of_run = true, skills = true }

--- Effects that need approval where no rule says otherwise.
local asking = { write = true, run = true, open = true, elsewhere = true }

-- nil: nobody knows.
local function effects_of_one(name)
  if not tool.is_own(name) or several[name] or inner[name] or workflow_file.saved(name) then return nil end
  local made = tool.resolve({ name }, { agent = { name = "hocket", tools = {}, agents = {} }, run = { options = {} } }) or {}
  return #made == 1 and made[1].effects or nil
end

local function effects_of(tools)
  local found, others = {}, {}
  for _, name in ipairs(tools) do
    local effects = effects_of_one(name)
    for _, effect in ipairs(effects or {}) do found[effect] = asking[effect] and "asks" or "free" end
    if not effects and not inner[name] and not workflow_file.saved(name) then others[#others + 1] = name end
  end
  return found, others
end

local function reaches(bound)
  local found, others = effects_of(bound.reaches.tools)
  local does, cannot, own, by_script = {}, {}, {}, {}
  for _, effect in ipairs(bound.reaches.script or {}) do by_script[effect] = true end
  for _, one in ipairs(words) do
    local how = found[one[1]]
    if how then does[#does + 1] = how == "asks" and one[2] .. " (asks)" or one[2] end
    if by_script[one[1]] then own[#own + 1] = one[2] end
    if not how and not by_script[one[1]] and one[3] then cannot[#cannot + 1] = one[3] end
  end
  if #others > 0 then does[#does + 1] = ("has tools that are not judged: %s"):format(table.concat(others, ", ")) end
  if #others > 0 or not bound.reaches.script then cannot = {} end
  local parts = { #does > 0 and table.concat(does, ", ") or nil }
  if not bound.reaches.script then parts[#parts + 1] = "may do more than its text shows" end
  if #own > 0 then parts[#parts + 1] = "the script itself " .. table.concat(own, ", ") end
  if #cannot > 0 then parts[#parts + 1] = "cannot " .. table.concat(cannot, ", ") end
  return table.concat(parts, "; ")
end

-- The hosts of one agent, in words: of its MCP servers, and any where it has a tool that fetches or sends.
local function hosts_of(one)
  local hosts, any = {}, {}
  for _, name in ipairs(one.tools) do
    for _, effect in ipairs(effects_of_one(name) or {}) do
      if (effect == "fetch" or effect == "send") and any[#any] ~= name then any[#any + 1] = name end
    end
  end
  if #any > 0 then hosts[1] = ("any host (%s)"):format(table.concat(any, ", ")) end
  for _, server in ipairs(one.servers) do
    local host = server.url and server.url:match "^%w+://([^/?#]+)"
    hosts[#hosts + 1] = host and ("%s (MCP server %s)"):format(host:gsub("^.*@", ""), server.name) or ("the MCP server %s"):format(server.name)
  end
  for _, name in ipairs(one.server_tools) do hosts[#hosts + 1] = ("any host by its provider (%s)"):format(name) end
  return hosts
end

--- Which agents reach which hosts: names and their hosts in words.
---@param bound hocket.WorkflowBound
---@return {agent: string, tools: string[], hosts: string[]}[]
function workflow_report.by_agent(bound)
  local list = {}
  for _, name in ipairs(bound.reaches.agents) do
    local one = bound.reaches.by_agent[name]
    if one then list[#list + 1] = { agent = name, tools = one.tools, hosts = hosts_of(one) } end
  end
  return list
end

-- A line for each agent that has tools or reaches hosts, where there are several.
local function add_agents(lines, bound)
  local list = workflow_report.by_agent(bound)
  for _, one in ipairs(list) do
    local parts = { #list > 1 and #one.tools > 0 and table.concat(one.tools, ", ") or nil }
    if #one.hosts > 0 then parts[#parts + 1] = "reaches " .. table.concat(one.hosts, ", ") end
    if #parts > 0 then lines[#lines + 1] = ("  %s: %s"):format(one.agent, table.concat(parts, "; ")) end
  end
end

-- ---- The bound ------------------------------------------------------------------------------------------

local function plural(n, word)
  return ("%d %s%s"):format(n, word, n == 1 and "" or "s")
end

local function amount(n, word)
  if n == math.huge then return ("%ss without a bound"):format(word) end
  return plural(math.ceil(n), word)
end

local function tokens_of(bound)
  if bound.model_calls == math.huge then return "tokens and cost without a bound" end
  if bound.tokens == math.huge then return ("tokens and cost not known: %s"):format(table.concat(bound.unknown, "; ")) end
  local cost = bound.cost and ("%.4f USD"):format(bound.cost) or "cost not known: a model has no price"
  return ("%s, %s"):format(amount(bound.tokens, "token"), cost)
end

--- The lines about one workflow.
---@param path string
---@param bound hocket.WorkflowBound
---@return string
function workflow_report.text(path, bound)
  local lines = { ("%s: at most %s, %s, %s"):format(path, amount(bound.agents, "agent"), amount(bound.model_calls, "model call"), tokens_of(bound)) }
  lines[2] = ("  agents: %s; tools: %s"):format(#bound.reaches.agents > 0 and table.concat(bound.reaches.agents, ", ") or "none",
    #bound.reaches.tools > 0 and table.concat(bound.reaches.tools, ", ") or "none")
  lines[3] = "  " .. reaches(bound)
  add_agents(lines, bound)
  for _, one in ipairs(bound.unbounded) do lines[#lines + 1] = ("  unbounded: line %d: %s"):format(one.line, one.message) end
  return table.concat(lines, "\n")
end

return workflow_report
