--- The hooks of a whole run (run/hooks.lua): before its target does anything, and before its answer is given.
local held_back = require "hocket.internal.models.held_back"
local hooks_of_runs = require "hocket.internal.run.hooks"
local system = require "hocket.internal.core.system"

local run_hooks = {}

local function denied(why)
  return nil, system.error { code = "denied", message = "the run was denied by a hook: " .. why }
end

-- The answer as the hooks behind the run leave it.
local function after(run, hooks, about, reply, err)
  about.result, about.error = reply and reply.text, not reply and err and { code = err.code, message = err.message } or nil
  local said = hooks:ask("after_run", about.target, about, function(type, payload) run:emit(type, payload) end)
  if not said or not said.answer or run.options.conversation then return reply, err end
  local text = said.answer
  reply = reply or { finish = "stop", calls = {}, usage = {} }
  reply.text, reply.value = text, nil
  return reply, nil, text
end

-- Texts that agents write are held where a hook may replace the answer. A script's agents are steps on the way.
local function hold(run, hooks, name)
  local is_answer = not (run.target and run.target.kind == "script") and not run.options.conversation
  return is_answer and hooks:has("after_run", name) and held_back.new() or nil
end

--- Does the work of a run between its hooks.
---@async
---@param run hocket.Run
---@param input string|table|nil
---@param work fun(input: string|table|nil): hocket.Reply?, hocket.Error?
---@param hooks hocket.Hooks Its own; where it works for an agent of another run, that one has asked the project's.
---@return hocket.Reply?
---@return hocket.Error?
function run_hooks.around(run, input, work, hooks)
  local name = run.target and run.target.path or "run"
  local about = { target = name, input = type(input) == "string" and input or nil }
  local said = hooks:ask("before_run", name, about, function(type, payload) run:emit(type, payload) end)
  if said and said.deny then return denied(said.deny) end
  if said and said.answer ~= nil then return { text = said.answer, finish = "stop", calls = {}, usage = {} } end
  if said and type(input) ~= "table" then
    local wrong
    input, wrong = hooks_of_runs.input_of(said, input)
    if wrong then return denied(wrong) end
  end
  run.held = hold(run, hooks, name)
  local reply, err, raised = hooks_of_runs.attempt(work, input)
  local instead
  reply, err, instead = after(run, hooks, about, reply, err)
  if run.held then run.held:release(instead) end
  run.held = nil
  if raised and not reply then error(raised[1], 0) end
  return reply, err
end

return run_hooks
