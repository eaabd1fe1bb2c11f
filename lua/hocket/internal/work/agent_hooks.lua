--- The hooks of an agent's work (run/hooks): before it begins, and before anybody reads its answer; and its guards (guards.lua). What it
--- writes meanwhile is held, where a hook may replace it or a guard may stop it.
local contract = require "hocket.internal.base.lazy" "hocket.internal.session.contract"
local guards = require "hocket.internal.base.lazy" "hocket.internal.work.guards"
local held_back = require "hocket.internal.models.held_back"
local hooks_of_runs = require "hocket.internal.base.lazy" "hocket.internal.run.hooks"
local system = require "hocket.internal.core.system"

local agent_hooks = {}

-- Tells what hooks decided about it: with what is held for others around it, where somebody holds that.
local function tell(step, type, payload)
  local holder = step:holder()
  local function emit() step:emit(type, payload) end
  if holder then holder:add(emit, type, payload, true) else emit() end
end

-- The same; with guards of its answer once these have decided: it may have words of that.
local function emitter(step, untold)
  return function(type, payload)
    if untold then untold[#untold + 1] = { type, payload } else tell(step, type, payload) end
  end
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
  return hooks_of_runs.input_of(said, step.input, step.def.input and function(input) return contract.check_input(step.def, input) end)
end

-- An error as hooks see it. What ends the run is none of theirs.
local function shown_error(err)
  return err and { code = err.code, message = err.message }
end

-- Its answer as the hooks behind it leave it, and what stands in place of its text, if that is another one.
local function after(step, hooks, untold, reply, err)
  if err and not reply and (err.code == "cancelled" or err.code == "parked") then return reply, err end
  local said = hooks:ask("after_agent", step.def.name, about_work(step, { result = reply and reply.text, error = shown_error(not reply and err or nil) }), emitter(step, untold))
  if not said then return reply, err end
  local text = reply and reply.text
  if said.answer ~= nil then
    local made, wrong = as_reply(step, said.answer)
    if made then
      text = made.text
      reply = reply or made
      reply.text, reply.value = made.text, made.value
    else
      emitter(step, untold)("warning", { message = "a hook's answer was not taken: " .. wrong })
    end
  end
  if reply and said.context and reply.value == nil then reply.text = ("%s\n\n%s"):format(reply.text, said.context) end
  return reply, err, reply and (said.answer ~= nil and text) or nil
end

local function tell_all(step, untold)
  for i, one in ipairs(untold or {}) do
    untold[i] = nil
    tell(step, one[1], one[2])
  end
end

-- The guards of its answer have the last word. Returns what is left of it.
local function guarded(step, held, untold, reply, err)
  local objection = reply and guards.objection(step, reply)
  step.held = nil
  if not objection then tell_all(step, untold) end
  if not reply then return nil, err and guards.without_text(err) end
  if not objection then return reply, err end
  held:drop()
  return nil, objection
end

-- Does the work, with what it writes held until the hooks behind it and the guards have decided.
local function held_work(step, hooks, own, untold, work)
  local guards_it = untold ~= nil
  local held = (guards_it or hooks and hooks:has("after_agent", step.def.name)) and held_back.new() or nil
  step.held = held
  local reply, err, raised, instead
  if own then reply, err, raised = hooks_of_runs.attempt(guards.work, step, work) else reply, err, raised = hooks_of_runs.attempt(work, step) end
  if not guards_it then step.held = nil end
  if hooks then reply, err, instead = after(step, hooks, untold, reply, err) end
  if guards_it then reply, err = guarded(step, held, untold, reply, err) end
  if held and (reply or not guards_it) then held:release(instead) end
  if raised and not reply and not guards_it then error(raised[1], 0) end
  return reply, err
end

-- A hook's answer in place of its work; its guards judge that, too.
local function answered(step, text, untold)
  local reply, wrong = as_reply(step, text)
  if not reply then return denied(step, wrong) end
  if not untold then return reply end
  step.held = held_back.new()
  return guarded(step, step.held, untold, reply)
end

--- Does an agent's work between its hooks, and under its guards.
---@async
---@param step hocket.Step
---@param hooks hocket.Hooks|false
---@param work fun(step: hocket.Step): hocket.Reply?, hocket.Error?
---@param own? table Its guards, where they are asked here.
---@return hocket.Reply?
---@return hocket.Error?
function agent_hooks.around(step, hooks, work, own)
  local untold = own and own.output and {} or nil
  local said = hooks and hooks:ask("before_agent", step.def.name, about_work(step), emitter(step, untold))
  if said and said.deny then
    tell_all(step, untold)
    return denied(step, said.deny)
  end
  local _ <close> = setmetatable({}, { __close = function() step.held = nil end })
  if said and said.answer ~= nil then return answered(step, said.answer, untold) end
  tell_all(step, untold)
  local input, wrong = step.input, nil
  if said then input, wrong = input_of(step, said) end
  if not input then return denied(step, wrong) end
  local former = step.input
  step.input = input
  local left <close> = setmetatable({}, { __close = function() step.input = former end }) -- another attempt begins anew
  return held_work(step, hooks, own, untold, work)
end

return agent_hooks
