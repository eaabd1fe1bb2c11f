--- A child that begins with its caller's conversation (`context: fork`).
---
---     caller   system, tools │ user ─ answer ─ results … ─ answer that calls the child
---     child    system, tools │ user ─ answer ─ results … ─ who it is now, its prompt, its tools, the task ─ …
---
--- Its requests begin as the caller's last one does: the same system prompt, the same declared tools, the same messages. So the provider's cache has
--- them already, if the model is the same: that of its file or of the call, else the caller's. It may call its own tools only; a call of another declared tool
--- is refused. Labels of the conversation come along. The copy is made when the child is called, since the caller may go on meanwhile.
local core = require "hocket.internal.core.llm"
local json = require "hocket.json"
local session = require "hocket.session"
local system = require "hocket.internal.core.system"

local fork = {}

local function refused(def, why)
  return nil, system.error { code = "unsupported", message = ("%s cannot begin with its caller's conversation: %s"):format(def.name, why) }
end

-- The calls of the caller's last answer have no result yet, and nobody could answer it: the copy ends before it.
local function without_open_calls(messages)
  for i = #messages, 1, -1 do
    local calls = messages[i].calls
    if calls and #calls > 0 then return #messages - i < #calls and i - 1 or #messages end
  end
  return #messages
end

local function copy(history)
  local lines, made = {}, core.history()
  for line in history:lines():gmatch "[^\n]+" do lines[#lines + 1] = line end
  local n = without_open_calls(history:messages())
  for i = 1, n do assert(made:add(lines[i])) end
  made:labels(history:labels())
  return made, n
end

local around = { "advisors", "router", "team", "handoff" }

local function wrong(def, opts)
  for _, name in ipairs(around) do
    if def[name] or opts[name] then return ("it has '%s'"):format(name) end
  end
  if def.workflow then return "it is a workflow" end
  if def.pool then return "its pool works elsewhere" end
end

--- Takes what the child begins with.
---@param step hocket.Step The child.
---@return true? ok
---@return hocket.Error? err
function fork.take(step)
  local caller, why = step.above, wrong(step.def, step.opts)
  if why then return refused(step.def, why) end
  local live = caller and caller.live
  if not live then return refused(step.def, "no agent with a conversation calls it") end
  local history, n = copy(live.history)
  step.fork = { history = history, messages = n, of = caller, system = live.spec.system, tools = live.declared or live.tools, model = live.model,
    reasoning = live.spec.reasoning }
  return true
end

--- The conversation that it begins with, or continues.
---@param step hocket.Step
---@return hocket.History
function fork.history(step)
  local memory, from = step.opts.memory, step.fork
  local known = memory and memory[step.def]
  if known then return known end
  local history = copy(from.history) -- another attempt begins with the same
  if memory then memory[step.def] = history end
  step.forked = true
  step:emit("conversation_forked", { from = from.of.op, caller = from.of.def.name, messages = from.messages })
  return history
end

--- The model where neither the call nor its file names one: the caller's, whose provider has the conversation in its cache.
---@param step hocket.Step
---@return hocket.Model
function fork.model(step)
  return step.fork.model
end

--- Makes its requests begin as the caller's.
---@param step hocket.Step
---@param spec table Its own, which is changed.
---@return table spec
---@return {request: hocket.Request}
function fork.spec(step, spec)
  local from = step.fork
  spec.system, spec.schema, spec.schema_name = from.system, nil, nil
  if spec.reasoning == nil then spec.reasoning = from.reasoning end
  return spec, { request = session.request(spec, from.tools) }
end

local function tools_of(one)
  local names = {}
  for i, known in ipairs(one.permissions and one.permissions.tools or {}) do names[i] = known.name end
  return #names > 0 and ("You may call these tools: %s. Calls of others are refused."):format(table.concat(names, ", ")) or "You may call no tool."
end

--- Its first message: who it is from here on, and the task.
---@param step hocket.Step
---@param text string The task.
---@param words string Its own prompt, filled in.
---@param one hocket.Session
---@return string
function fork.input(step, text, words, one)
  local def, caller = step.def, step.fork.of.def
  local lines = { ("From here on you are %s, and work apart from %s on one task. %s sees nothing of it but your answer."):format(def.display_name, caller.display_name, caller.display_name) }
  lines[#lines + 1] = words
  lines[#lines + 1] = tools_of(one)
  if def.output then lines[#lines + 1] = ("Your last answer is JSON that fits this schema, and nothing else:\n%s"):format(json.encode(def.output)) end
  lines[#lines + 1] = "The task:\n" .. text
  return table.concat(lines, "\n\n")
end

return fork
