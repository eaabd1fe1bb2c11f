--- The key `handoff`: an agent's name, one handoff with what is passed on, or a list of which the model chooses.
---
---     handoff: editor                                 its answer always goes there
---     handoff: {agent: editor, pass: conversation}    the same, with what was said
---     handoff: [legal, {agent: billing, when: …}]     it hands on to one of them (`handoff_to`), or answers itself
local functions = require "hocket.internal.agents.functions"
local json = require "hocket.json"
local kinds = require "hocket.internal.agents.kinds"

local handoff_key = {}

---@class hocket.Handoff One agent that the work may go to.
---@field agent string
---@field description? string What the model reads of it; without one the agent's own.
---@field when? string In words for the model: when it is to choose this agent.
---@field available? string|fun(about: table): boolean A function that says whether it is offered.
---@field pass "response"|"conversation"|"summary"|string|fun(about: table): string? What is passed on.
---@field prompt? string What the next agent is to do, in the author's words.

local words = { response = true, conversation = true, summary = true }

local pass = { text = "response, conversation, summary or module.function", example = "conversation",
  json = { anyOf = { { enum = { "response", "conversation", "summary" } }, functions.kind.json } }, takes = functions.kind.takes,
  read = function(value, ctx, pointer)
    if type(value) == "string" and not words[value] and not functions.split(value) then
      ctx:say(pointer, ("must be response, conversation, summary or module.function, not '%s'"):format(value))
    end
    return value
  end }

local one = kinds.map({
  { name = "agent", kind = kinds.agent, needed = true, doc = "an agent that may get the work" },
  { name = "description", kind = kinds.text, default_text = "the agent's own", doc = "its description for the choosing model, in a list" },
  { name = "when", kind = kinds.text, doc = "when the model should choose it, in words, in a list" },
  { name = "available", kind = functions.kind, doc = "a function that decides whether it is offered, in a list" },
  { name = "pass", kind = pass, default = "response", doc = "what the next agent gets in addition to the request" },
  { name = "prompt", kind = kinds.text, doc = "the task of the next agent" },
}, "an agent's name or 'agent' with 'pass', 'prompt'")

-- What says how a model chooses says nothing where it does not.
local function read_fixed(value, ctx, pointer)
  for _, key in ipairs { "description", "when", "available" } do
    if value[key] ~= nil then ctx:say(("%s/%s"):format(pointer, key), ("'%s' is for a list of handoffs, of which the model chooses"):format(key)) end
  end
  return one.read(value, ctx, pointer)
end

local function read_list(value, ctx, pointer)
  local list, seen = {}, {}
  if #value == 0 then ctx:say(pointer, "must name at least 1 agent") end
  for i, item in ipairs(value) do
    local at = ("%s/%d"):format(pointer, i - 1)
    local made = type(item) == "string" and { agent = item, pass = "response" } or kinds.read(one, item, ctx, at)
    if made and made.agent and seen[made.agent] then ctx:say(at, ("names '%s' a second time"):format(made.agent)) end
    if made and made.agent then seen[made.agent] = true end
    list[i] = made
  end
  return list
end

local list_json = { type = "array", minItems = 1, items = { anyOf = { kinds.agent.json, one.json } } }

handoff_key.kind = { text = "an agent's name, or a list of names or of 'agent' with 'when', 'pass', …", example = "[legal, {agent: billing, when: it is about money}]",
  fields = one.fields, json = { anyOf = { kinds.agent.json, one.json, list_json } },
  takes = function(value) return kinds.agent.takes(value) or type(value) == "table" end,
  read = function(value, ctx, pointer)
    if type(value) == "string" then return kinds.agent.read(value, ctx, pointer) end
    if json.is_array(value) or ctx.from_lua and value[1] ~= nil then return read_list(value, ctx, pointer) end
    return read_fixed(value, ctx, pointer)
  end }

return handoff_key
