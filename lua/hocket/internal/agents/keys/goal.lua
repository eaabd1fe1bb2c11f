--- The key `until`: when the work of an agent is done. The runtime checks it after each answer (work/check.lua), and the agent goes on until it
--- holds.
---
---     until: make test                                   a command, by its exit code
---     until: {function: checks.done, rounds: 8}          a function of the project
---     until: {file: plan.txt}                            a file
---     until: {schema: {…}}                               a JSON Schema of the answer
---     until: {judge: critic}                             another agent
local functions = require "hocket.internal.agents.functions"
local kinds = require "hocket.internal.agents.kinds"

local goal_key = {}

local checks = { "command", "file", "function", "schema", "judge" }

local fields = {
  { name = "command", kind = kinds.text, doc = "a call of `execute_command`: it has to end with exit code 0" },
  { name = "timeout", kind = kinds.number(0), unit = "seconds", doc = "the time limit of the command" },
  { name = "file", kind = kinds.text, doc = "a file below the working folder: it has to be there" },
  { name = "function", kind = functions.kind, doc = "a function of the project (module.function): it has to return true" },
  { name = "schema", kind = kinds.schema, doc = "a JSON Schema: the answer has to fit" },
  { name = "judge", kind = kinds.agent, doc = "an agent that decides" },
  { name = "rounds", kind = kinds.integer(1, 100), default = 5, doc = "the most answers that are checked" },
  { name = "same", kind = kinds.integer(1, 100), default = 3, doc = "equal results in a row after which it gives up" },
}
local map = kinds.map(fields, "a command, or one of 'command', 'file', 'function', 'schema', 'judge', with 'rounds' and 'same'")

local function is_command(value) return type(value) == "string" end

goal_key.kind = {
  text = map.text, example = "make test", fields = fields, json = { anyOf = { { type = "string", minLength = 1 }, map.json } },
  takes = function(value, ctx) return is_command(value) or map.takes(value, ctx) end,
  read = function(value, ctx, pointer)
    if is_command(value) then
      ctx:same_place(pointer .. "/command", pointer)
      value = { command = value }
    end
    local made, n = map.read(value, ctx, pointer), 0
    for _, name in ipairs(checks) do n = n + (made and made[name] ~= nil and 1 or 0) end
    if made and n ~= 1 then ctx:say(pointer, "needs one of 'command', 'file', 'function', 'schema' and 'judge'") end
    return made
  end,
}

return goal_key
