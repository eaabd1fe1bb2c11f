--- The key `guards`: who judges what an agent is asked and what it answers (work/guards.lua).
---
---     guards:
---       input: [checks.on_topic]                                   a function of the project
---       output: [{agent: auditor, action: ask}, {schema: {…}}]     another agent; a JSON Schema of the text
local functions = require "hocket.internal.agents.functions"
local kinds = require "hocket.internal.agents.kinds"

local guards_key = {}

local judges = { "function", "schema", "agent" }

local fields = {
  { name = "function", kind = functions.kind, doc = "a function of the project (module.function): it returns false and why, or a text, to object" },
  { name = "schema", kind = kinds.schema, doc = "a JSON Schema: the text has to fit" },
  { name = "agent", kind = kinds.agent, doc = "an agent that decides" },
  { name = "action", kind = kinds.word { "stop", "ask" }, default = "stop", doc = "what happens when it objects: the agent fails, or a person is asked" },
  { name = "timeout", kind = kinds.number(0), unit = "seconds", default_text = "10, of an agent 60", doc = "its time limit: a guard that is not done by then objects" },
  { name = "parallel", kind = kinds.boolean, default = true, doc = "of an input guard: the agent begins beside it; its tool calls wait for it" },
}
local map = kinds.map(fields, "one of 'function', 'schema', 'agent', with 'action', 'timeout', 'parallel'")

local function is_name(value) return type(value) == "string" or type(value) == "function" end

local one = {
  text = map.text, example = "checks.on_topic", fields = fields, json = { anyOf = { functions.kind.json, map.json } },
  takes = function(value, ctx) return is_name(value) and functions.kind.takes(value, ctx) or map.takes(value, ctx) end,
  read = function(value, ctx, pointer)
    if is_name(value) then
      ctx:same_place(pointer .. "/function", pointer)
      value = { ["function"] = value }
    end
    local made, n = map.read(value, ctx, pointer), 0
    for _, name in ipairs(judges) do n = n + (made and made[name] ~= nil and 1 or 0) end
    if made and n ~= 1 then ctx:say(pointer, "needs one of 'function', 'schema' and 'agent'") end
    return made
  end,
}

local list = kinds.list(one, { text = "a list of guards", example = "[checks.on_topic]", least = 1 })

guards_key.kind = kinds.map({
  { name = "input", kind = list, doc = "of what the agent is asked" },
  { name = "output", kind = list, doc = "of its answer, which is held until they have decided" },
}, "'input' and 'output', each a list of guards", "{input: [checks.on_topic]}")

return guards_key
