--- What follows from a definition alone, found out once: a definition never changes, and a file that does is read
--- as another one.

local graph = require "hocket.internal.agents.graph"

--- What a definition says of requests and sessions.
local settings = { "temperature", "top_p", "top_k", "max_tokens", "seed", "stop", "reasoning", "body", "server_tools", "warm_cache", "max_turns", "max_tool_calls", "parallel", "retries", "context" }

--- Keys that bring a toolset of their name along.
local own_sets = { "mcp", "memory", "project", "skills" }

local function has_workflows(tools)
  for _, one in ipairs(tools) do
    if type(one) == "string" and (one:sub(1, 9) == "workflow:" or one:sub(1, 5) == "plan:") then return true end
  end
  return false
end

local function has(list, name)
  for _, one in ipairs(list) do
    if one == name then return true end
  end
  return false
end

--- Keys that a call of the agent does not read, or reads from these facts. An agent with another key, for example a future one, is asked for
--- all keys at each call.
local usual = {}
for key in ([[agents approve_plan body checks context description display_name document explore fallback file handoff max_tokens max_tool_calls
  max_turns mcp memory model name on_failure parallel per_call project prompt prompt_line reasoning retries router advisors seed skills stop task_limit team
  temperature timeout tools top_k top_p variables wanted warm_cache]]):gmatch "%S+" do usual[key] = true end
local around = { "advisors", "handoff", "router", "team" }

local function is_plain(def)
  for key, value in pairs(def) do
    if value and not usual[key] then return false end
  end
  return true
end

local function has_any(def, keys)
  for _, key in ipairs(keys) do
    if def[key] then return true end
  end
  return false
end

---@class hocket.Facts
---@field may_delegate boolean Who has agents to call, and is no router, can delegate, unless a toolset of its own leads them.
---@field has_tools boolean Whether it has tools whoever calls it.
---@field sets string[] Toolsets that its keys bring along.
---@field has_workflows boolean Whether a tool of it is a workflow or a plan: most have none, and need not load what finds them.
---@field asks_again boolean Whether it may ask those again that it has called (tool ask_again).
---@field has_places boolean Whether its prompt is to be filled in.
---@field edges hocket.Edge[] Whom it may call.
---@field is_plain boolean Whether it has only keys that a call of it need not look at.
---@field has_around boolean Whether it has advisors, a router, a team or a handoff.
---@field spec table A metatable: what a session's spec does not say itself, the definition says.

local known = setmetatable({}, { __mode = "k" }) -- by definition

---@param def hocket.Agent
---@return hocket.Facts
return function(def)
  local facts = known[def]
  if facts then return facts end
  local says = {}
  for _, name in ipairs(settings) do says[name] = def[name] end
  says.first_choice = def.tool_choice
  local may_delegate = #def.agents > 0 and not def.router and not has(def.tools, "delegate_to_agent")
  local sets = {}
  for _, key in ipairs(own_sets) do
    if def[key] then sets[#sets + 1] = key end
  end
  facts = {
    may_delegate = may_delegate, has_tools = may_delegate or #def.tools > 0 or #sets > 0, sets = sets, has_workflows = has_workflows(def.tools),
    asks_again = has(def.tools, "ask_again"), has_places = def.prompt:find("{{", 1, true) ~= nil, edges = graph.edges(def), spec = { __index = says },
    is_plain = is_plain(def), has_around = has_any(def, around),
  }
  known[def] = facts
  return facts
end
