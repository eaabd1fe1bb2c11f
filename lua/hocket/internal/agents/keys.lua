--- The keys of an agent's front matter: the one place that says what each is called, what it holds and
--- what it means. Reading, messages, `hocket check --help` and the table in the guide are made
--- from it.
local alternates_key = require "hocket.internal.base.lazy" "hocket.internal.agents.alternates_key"
local approval_rules = require "hocket.internal.base.lazy" "hocket.internal.agents.approval_rules"
local bodies = require "hocket.internal.base.lazy" "hocket.internal.models.body"
local goal_key = require "hocket.internal.base.lazy" "hocket.internal.agents.keys.goal"
local guards_key = require "hocket.internal.base.lazy" "hocket.internal.agents.keys.guards"
local handoff_key = require "hocket.internal.base.lazy" "hocket.internal.agents.handoff_key"
local kinds = require "hocket.internal.agents.kinds"
local per_call = require "hocket.internal.base.lazy" "hocket.internal.agents.keys.per_call"
local mcp_servers = require "hocket.internal.base.lazy" "hocket.internal.agents.mcp_servers"
local server_tools = require "hocket.internal.base.lazy" "hocket.internal.models.server_tools"

---@class hocket.Key
---@field name string
---@field kind hocket.Kind
---@field default? any What stands for it when it is left out.
---@field default_text? string The same for people, where nothing is filled in.
---@field also? string Another spelling.
---@field unit? string
---@field doc string One line.

-- The kind of a key that few agents have: what it holds is read from its module when the key is there.
---@return hocket.Kind
local function later(module, ...)
  local args, made = { ... }, nil
  return setmetatable({}, { __index = function(_, field)
    made = made or module.kind or module.kind_of(table.unpack(args))
    return made[field]
  end })
end

local agent_names = { text = "a list of agents", example = "[one, two]", unique = true, least = 1 }

-- `advisors: [a, b]` is short for `advisors: {agents: [a, b]}`.
local advisors = kinds.map({
  { name = "agents", kind = kinds.list(kinds.agent, agent_names), needed = true, doc = "the agents to ask" },
  { name = "required", doc = "advisors whose answer is required; without it the run fails", default = {}, kind = kinds.either(kinds.boolean,
    kinds.list(kinds.agent, { text = "a list of advisors", example = "[one, two]", unique = true })) },
  { name = "timeout", kind = kinds.number(0), unit = "seconds", doc = "the time limit of each advisor; a late one counts as failed" },
  { name = "quorum", kind = kinds.integer(0), default = 0, doc = "how many advisors have to answer" },
}, "a list of agents or 'agents' with 'required', 'timeout', 'quorum'")

local function check_advisors(value, ctx, pointer)
  local known = {}
  for _, name in ipairs(value.agents or {}) do known[name] = true end
  if value.required == true then value.required = table.move(value.agents or {}, 1, #(value.agents or {}), 1, {}) end
  value.required = value.required or {}
  for i, name in ipairs(value.required) do
    if not known[name] then ctx:say(("%s/required/%d"):format(pointer, i - 1), ("names '%s', who is no advisor here"):format(tostring(name))) end
  end
  if value.quorum and value.agents and value.quorum > #value.agents then
    ctx:say(pointer .. "/quorum", ("is %d, but there %s"):format(value.quorum,
      #value.agents == 1 and "is 1 advisor" or ("are %d advisors"):format(#value.agents)))
  end
  return value
end

-- `team: [a, b]` is short for `team: {members: [a, b]}`.
local team_fields = {
  { name = "members", kind = kinds.list(kinds.agent, agent_names), needed = true, doc = "the agents that discuss" },
  { name = "termination_mode", also = "terminationMode", default = "consensus", doc = "how the discussion ends; max_rounds limits it in any case",
    kind = kinds.word({ "consensus", "max_rounds", "coordinator_decides" },
      { maxRounds = "max_rounds", coordinatorDecides = "coordinator_decides" }) },
  { name = "max_rounds", also = "maxRounds", kind = kinds.integer(1, 100), default = 10, doc = "the most rounds" },
  { name = "max_round_bytes", also = "maxRoundBytes", kind = kinds.integer(1), default = 65536, unit = "bytes", doc = "the limit of all messages in one round" },
}
local team = kinds.map(team_fields, "a list of agents or 'members' with 'termination_mode', 'max_rounds', 'max_round_bytes'")

local any_list = kinds.list(kinds.agent, agent_names)

-- A list in place of the map, under the map's first name.
local function short(map, first, list)
  return { text = map.text, fields = map.fields, json = { anyOf = { any_list.json, map.json } },
    takes = function(value, ctx) return list.takes(value, ctx) or map.takes(value, ctx) end,
    read = function(value, ctx, pointer)
      if not list.takes(value, ctx) then return map.read(value, ctx, pointer) end
      for i = 0, #value - 1 do ctx:same_place(("%s/%s/%d"):format(pointer, first, i), ("%s/%d"):format(pointer, i)) end
      return map.read({ [first] = value }, ctx, pointer)
    end }
end

local budget = kinds.map({
  { name = "turns", kind = kinds.integer(0), doc = "model calls" },
  { name = "tool_calls", kind = kinds.integer(0), doc = "tool calls" },
  { name = "tokens", kind = kinds.integer(0), doc = "input and output tokens" },
  { name = "cost", kind = kinds.number(0), unit = "USD", doc = "cost of model calls" },
  { name = "seconds", kind = kinds.number(0), unit = "seconds", doc = "elapsed time" },
  { name = "reserve", kind = kinds.boolean, doc = "the caller reserves all of this for the agent" },
  { name = "warn_at", kind = kinds.number(0, 1), default = 0.8, doc = "the part of a limit at which there is a warning" },
}, "limits by name", "{turns: 20, cost: 0.5}")

local window = kinds.map({
  { name = "strategy", kind = kinds.word { "summary", "results", "none" }, default = "summary", doc = "`summary`: old results become one line, then a summary replaces old turns; `results`: only the user's words replace them; `none`: off" },
  { name = "at", kind = kinds.number(0.1, 0.95), default = 0.8, doc = "the used part of the window at which the conversation is shortened" },
  { name = "keep", kind = kinds.number(0.02, 0.5), default = 0.3, doc = "the part of the window for the last turns, which stay whole" },
  { name = "model", kind = kinds.model, default_text = "its own", doc = "the model that writes the summary" },
  { name = "window", kind = kinds.integer(512), unit = "tokens", default_text = "the model's", doc = "the size of the window" },
  { name = "result_bytes", kind = kinds.integer(512), unit = "bytes", default_text = "65536, in small windows less", doc = "a longer tool result is stored, and shown in part" },
}, "settings by name", "{at: 0.7, model: openai/gpt-6.1-terra}")

local names = kinds.list(kinds.text, { text = "a list of names", example = "[one, two]", unique = true })

-- In Lua a tool can stand where its name would.
local tools = { text = names.text, example = names.example, json = names.json, takes = names.takes, read = function(value, ctx, pointer)
  if not ctx.from_lua then return names.read(value, ctx, pointer) end
  return value
end }

-- `false` is as if it were not there.
local skills = kinds.with(kinds.either(kinds.boolean, kinds.list(kinds.text, { text = "a list of names and paths", example = "[pdf, ./skills]", unique = true })),
  function(value) return value ~= false and value or nil end)

local memory_name = { text = "a name", json = { type = "string", pattern = "^[A-Za-z0-9][A-Za-z0-9_-]*$", maxLength = 64 }, takes = function(v) return type(v) == "string" end, read = function(value, ctx, pointer)
  if not value:find "^[%w][%w_-]*$" or #value > 64 then ctx:say(pointer, "must be letters, digits, - and _, 64 at most") end
  return value
end }

local memory_fields = kinds.map({
  { name = "name", kind = memory_name, needed = true, doc = "the memory's name: letters, digits, - and _" },
  { name = "scope", kind = kinds.word { "user", "project", "agent" }, default = "project", doc = "who shares it: all agents of the user, all agents in this working folder, or this agent in this folder" },
  { name = "model", kind = kinds.model, default_text = "HOCKET_EMBED_MODEL", doc = "an embedding model, so that a search finds notes with a similar meaning" },
  { name = "folder", kind = kinds.text, default_text = "the store", doc = "a folder for notes as Markdown files, relative to this file" },
}, "a name or 'name' with 'scope', 'model', 'folder'")

-- A name is short for the map.
local memory = { text = memory_fields.text, example = "shop", fields = memory_fields.fields, json = { anyOf = { memory_name.json, memory_fields.json } },
  takes = function(value, ctx) return memory_name.takes(value) or memory_fields.takes(value, ctx) end,
  read = function(value, ctx, pointer)
    if memory_name.takes(value) then return { name = memory_name.read(value, ctx, pointer), scope = "project" } end
    return memory_fields.read(value, ctx, pointer)
  end }

local pool_name = { text = "a name", json = memory_name.json, takes = memory_name.takes, read = memory_name.read }

local models = kinds.either(kinds.model, kinds.list(kinds.model, { text = "a list of them", example = "[openai/gpt-6.1-terra, sim]", least = 1 }))

-- One word is a list of one word.
local stop = kinds.either(kinds.with(kinds.text, function(v) return { v } end),
  kinds.list(kinds.text, { text = "a list of texts", example = "[END]" }))

local reasoning = kinds.either(kinds.integer(0), kinds.word { "none", "minimal", "low", "medium", "high", "xhigh", "max" })

-- Members of requests that have no key of their own.
local body = { text = "names with values", example = "{chat_template_kwargs: {enable_thinking: false}}", takes = function(v) return type(v) == "table" end, json = { type = "object" },
  read = function(value, ctx, pointer)
    local where, why = bodies.wrong(value)
    if where then ctx:say(pointer .. where, why) end
    return value
  end }

-- Tools that the provider runs.
local of_provider = kinds.list(kinds.text, { text = "a list of names, or of names with options", example = "[{web_search: {max_uses: 3}}]" })
of_provider.json = { type = "array", items = { type = { "string", "object" } } }
of_provider.read = function(value, ctx, pointer)
  return server_tools.read(value, function(where, what) ctx:say(pointer .. where, what) end)
end

---@type {title: string, [integer]: hocket.Key}[]
local groups = {
  { title = "Name and purpose",
    { name = "name", kind = kinds.name, default_text = "the file's name", doc = "the agent's name: letters, digits, _ and -" },
    { name = "description", kind = kinds.text, default = "", doc = "the agent's purpose, for other agents" },
    { name = "display_name", kind = kinds.text, default_text = "its name", doc = "the name that people see" },
  },
  { title = "The model of an agent",
    { name = "model", kind = models, default_text = "the caller's", doc = "provider/model; in a list, the others are fallbacks, in order" },
    { name = "temperature", kind = kinds.number(0, 2), doc = "the randomness of its answers" },
    { name = "max_tokens", kind = kinds.integer(1), doc = "the most tokens of one answer" },
    { name = "top_p", kind = kinds.number(0, 1), doc = "nucleus sampling: the share of probability to choose from" },
    { name = "top_k", kind = kinds.integer(1), doc = "choose only from this many likeliest tokens" },
    { name = "stop", kind = stop, doc = "texts that end an answer" },
    { name = "seed", kind = kinds.integer(0), doc = "makes answers reproducible, if the provider can" },
    { name = "reasoning", kind = reasoning, doc = "the reasoning effort: a word, or tokens" },
    { name = "tool_choice", kind = kinds.name, doc = "forces the first call: a tool's name, or `required` for any tool" },
    { name = "body", kind = body, doc = "members that are merged into each request; null removes one" },
    { name = "retries", kind = kinds.integer(0), default_text = "2", doc = "how often a failed model call is repeated" },
    { name = "warm_cache", kind = kinds.boolean, default = false, doc = "of several calls at once the first goes alone until the provider's cache has the prompt; the others read it there" },
  },
  { title = "Tools, data and schemas",
    { name = "tools", kind = tools, default = {}, doc = "the tools and toolsets of the agent; `workflow:NAME` is a workflow of the project, `plan:NAME` a saved plan" },
    { name = "server_tools", kind = of_provider, doc = "tools that the provider runs: web_search, web_fetch, code_execution, file_search, image_generation" },
    { name = "mcp", kind = later(mcp_servers), doc = "MCP servers whose tools the agent has: declared here, or names in .mcp.json" },
    { name = "skills", kind = skills, doc = "`true`: all skills of the project and the user; or names, or paths (with a slash) relative to this file" },
    { name = "memory", kind = memory, doc = "notes that outlive conversations, with tools for them: a name, or" },
    { name = "project", kind = kinds.boolean, default = false, doc = "adds the project's instructions (AGENTS.md, CLAUDE.md …) to the prompt" },
    { name = "agents", kind = names, default = {}, doc = "the agents that this agent may call: names, folders of agents (with a slash) relative to this file, or workflows (NAME.lua)" },
    { name = "variables", kind = kinds.variables, default = {}, doc = "values for {{…}} in the prompt; the caller has to give those without a value" },
    { name = "input", kind = kinds.schema, doc = "JSON Schema of the request" },
    { name = "output", kind = kinds.schema, doc = "JSON Schema of the answer" },
    { name = "document", kind = kinds.document, doc = "the dimensions of a facilitator's document" },
    { name = "task_limit", kind = kinds.integer(1, 100000), default_text = "20", doc = "the most tasks on a facilitator's board, or in a planner's plan" },
  },
  { title = "Patterns",
    { name = "handoff", kind = later(handoff_key), doc = "the next agent, which gets this answer and gives the final one; from a list the model chooses one, or answers itself" },
    { name = "alternates", kind = later(alternates_key, models, reasoning), doc = "the agents that get the work after this one has failed, or this one with another model or effort" },
    { name = "router", kind = kinds.boolean, default = false, doc = "the agent only chooses which of `agents` answers" },
    { name = "fallback", kind = kinds.agent, doc = "the agent that answers if a router makes no valid choice" },
    { name = "advisors", kind = kinds.with(short(advisors, "agents", any_list), check_advisors), doc = "agents that are asked first, side by side; this agent sees their answers" },
    { name = "team", kind = short(team, "members", any_list), doc = "agents that discuss in rounds; this agent writes the answer" },
    { name = "until", kind = later(goal_key), doc = "when its work is done: the runtime checks it after each answer, and the agent goes on until it holds" },
    { name = "on_failure", kind = kinds.word { "skip", "continue", "abort", "replan" }, default_text = "skip", doc = "what happens to tasks that depend on a failed one" },
    { name = "checks", kind = kinds.boolean, default = false, doc = "a planner gives each task files, an expected outcome and a check, which the runtime makes" },
    { name = "explore", kind = kinds.boolean, default = false, doc = "a planner has those of its tools that only read; what it reads is there for the specialists of its plan" },
    { name = "approve_plan", kind = kinds.boolean, default = false, doc = "a person has to approve the plan before it is carried out" },
  },
  { title = "Limits and permissions",
    { name = "max_turns", kind = kinds.integer(1), default_text = "40", doc = "the most model calls in one conversation" },
    { name = "max_tool_calls", kind = kinds.integer(0), default_text = "400", doc = "the most tool calls in one conversation" },
    { name = "parallel", kind = kinds.integer(1), default_text = "16", doc = "the most tool calls of one turn at once; the others wait" },
    { name = "context", kind = window, doc = "how to shorten the conversation when it fills the model's window" },
    { name = "timeout", kind = kinds.number(0), unit = "seconds", doc = "the time limit of one call of the agent; waiting for people does not count" },
    { name = "budget", kind = budget, doc = "limits for the agent and everything that it calls" },
    { name = "per_call", kind = later(per_call, reasoning), doc = "what a caller may choose for one call" },
    { name = "approve", kind = later(approval_rules), doc = "rules for its tool calls: tool, tool(glob) or tool(argument=glob)" },
    { name = "guards", kind = later(guards_key), doc = "who judges what the agent is asked and what it answers: functions, schemas, small agents; they stop it, or ask a person" },
    { name = "pool", kind = pool_name, example = "gpu", doc = "each call is a separate run for workers of this pool: `hocket work --pool NAME`" },
    { name = "sandbox", kind = kinds.word { "required", "best" }, default_text = "best", doc = "`required`: its programs run in a full sandbox or not at all" },
  },
}

local keys = { groups = groups, all = {} }

for _, group in ipairs(groups) do
  for _, key in ipairs(group) do keys.all[#keys.all + 1] = key end
end

-- What is filled in, as one would write it.
local function default_of(field)
  if field.default_text then return field.default_text end
  if field.default == nil or field.default == "" or type(field.default) == "table" then return nil end
  return tostring(field.default)
end

local function describe(field, prefix, out)
  out[#out + 1] = {
    name = prefix .. field.name, kind = field.kind.text, unit = field.unit, default = default_of(field),
    example = field.kind.example, doc = field.doc,
  }
  for _, inner in ipairs(field.kind.fields or {}) do describe(inner, prefix .. field.name .. ".", out) end
end

--- The keys for people, in groups; what stands inside of a key comes after it, as "team.members".
---@return {title: string, keys: {name: string, kind: string, unit?: string, default?: string, example?: string, doc: string}[]}[]
function keys.describe()
  local list = {}
  for i, group in ipairs(groups) do
    list[i] = { title = group.title, keys = {} }
    for _, key in ipairs(group) do describe(key, "", list[i].keys) end
  end
  return list
end

--- The front matter of an agent as a JSON Schema, for editors.
---@return table
function keys.json_schema()
  return kinds.json_of(keys.all)
end

--- The settings of `context` as an option has them: the ones that are given, checked.
---@param value any
---@return table? settings
---@return string? wrong
function keys.context(value)
  local wrong
  local function say(_, at, message) wrong = wrong or ("%s: %s"):format(at:match "[^/]*$", message) end
  local ctx = { from_lua = true, say = say, warn = say, same_place = function() end }
  local read = kinds.read(window, value, ctx, "")
  if wrong then return nil, (wrong:gsub("^: ", "")) end
  for name in pairs(read) do
    if value[name] == nil then read[name] = nil end
  end
  return read
end

return keys
