--- The hooks of an agent's work (run/hooks): before it begins, and before anybody reads its answer; and its guards (guards.lua). What it
--- writes meanwhile is held, where a hook may replace it or a guard may stop it.
local contract = require "hocket.internal.base.lazy" "hocket.internal.session.contract"
local guards = require "hocket.internal.base.lazy" "hocket.internal.work.guards"
local held_back = require "hocket.internal.models.held_back"
local system = require "hocket.internal.core.system"

local agent_hooks = {}

local function emitter(step)
  return function(type, payload) step:emit(type, payload) end
end

local function about_work(step, more)
  local about = { agent = step.def.name, op = step.op, caller = step.above and step.above.def.name, input = step.input }
  for name, value in pairs(more or {}) do about[name] = value end
  return about
end

local function denied(step, why)
  return nil, system.error { code = "denied", no_retry = true, message = ("%s was not started, as a hook denied it: %s"):format(step.def.name, why) }
end

-- A hook's text as an answer, where it fits what is promised of that.
local function as_reply(step, text)
  local value
  if step.def.output then
    local found, why = contract.read(step.def.output, text, true)
    if found == nil then return nil, "the answer does not fit the output of " .. step.def.name .. ": " .. why end
    value = found
  end
  return { text = text, value = value, finish = "stop", calls = {}, usage = {}, agent = step.def.name }
end

-- What it is asked now; or nil and what is wrong.
local function input_of(step, said)
  local given = said.arguments
  for name in pairs(given or {}) do
    if name ~= "input" then return nil, ("arguments: there is no '%s' (input)"):format(tostring(name)) end
  end
  local input = given and given.input or step.input
  if type(input) ~= "string" then return nil, "arguments: input: a text is expected" end
  local fits, why = true, nil
  if given and step.def.input then fits, why = contract.check_input(step.def, input) end
  if not fits then return nil, why.message end
  return said.context and ("%s\n\n%s"):format(input, said.context) or input
end

-- An error as hooks see it. What ends the run is none of theirs.
local function shown_error(err)
  return err and { code = err.code, message = err.message }
end

-- Its answer as the hooks behind it leave it, and what stands in place of its text, if that is another one.
local function after(step, hooks, reply, err)
  if err and not reply and (err.code == "cancelled" or err.code == "parked") then return reply, err end
  local said = hooks:ask("after_agent", step.def.name, about_work(step, { result = reply and reply.text, error = shown_error(not reply and err or nil) }), emitter(step))
  if not said then return reply, err end
  local text = reply and reply.text
  if said.answer ~= nil then
    local made, wrong = as_reply(step, said.answer)
    if made then
      text = made.text
      reply = reply or made
      reply.text, reply.value = made.text, made.value
    else
      step:emit("warning", { message = "a hook's answer was not taken: " .. wrong })
    end
  end
  if reply and said.context and reply.value == nil then reply.text = ("%s\n\n%s"):format(reply.text, said.context) end
  return reply, err, reply and (said.answer ~= nil and text) or nil
end

-- The guards of its answer have the last word. Returns what is left of it.
local function guarded(step, held, reply, err)
  if not reply then return nil, err and guards.without_text(err) end
  local objection = guards.objection(step, reply)
  if not objection then return reply, err end
  held:drop()
  return nil, objection
end

-- Does the work, with what it writes held until the hooks behind it and the guards have decided.
local function held_work(step, hooks, work)
  local own, guards_it = step.def.guards, step.def.guards and step.def.guards.output
  local held = (guards_it or hooks and hooks:has("after_agent", step.def.name)) and held_back.new() or nil
  step.held = held
  local reply, err, instead
  if own then reply, err = guards.work(step, work) else reply, err = work(step) end
  step.held = nil
  if hooks then reply, err, instead = after(step, hooks, reply, err) end
  if guards_it then reply, err = guarded(step, held, reply, err) end
  if held and (reply or not guards_it) then held:release(instead) end
  return reply, err
end

--- Does an agent's work between its hooks, and under its guards.
---@async
---@param step hocket.Step
---@param hooks hocket.Hooks|false
---@param work fun(step: hocket.Step): hocket.Reply?, hocket.Error?
---@return hocket.Reply?
---@return hocket.Error?
function agent_hooks.around(step, hooks, work)
  local said = hooks and hooks:ask("before_agent", step.def.name, about_work(step), emitter(step))
  if said and said.deny then return denied(step, said.deny) end
  if said and said.answer ~= nil then
    local reply, wrong = as_reply(step, said.answer)
    if not reply then return denied(step, wrong) end
    return reply
  end
  local input, wrong = step.input, nil
  if said then input, wrong = input_of(step, said) end
  if not input then return denied(step, wrong) end
  local own = step.input
  step.input = input
  local _ <close> = setmetatable({}, { __close = function() step.input, step.held = own, nil end }) -- another attempt begins anew
  return held_work(step, hooks, work)
end

return agent_hooks
