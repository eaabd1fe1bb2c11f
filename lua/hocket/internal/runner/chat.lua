--- A run that is a conversation: it answers, waits for the next input, and answers again.
---
---     input_requested {id} ──> run:answer(id, text) ──> input_received ──> …the turn's events…
---            ^                                                                      │
---            └───────────────────────────── turn_finished {content | error} <───────┘
---
--- An empty answer ends it. A turn that fails or is interrupted ends alone: what it has begun is
--- cancelled, the transcript stays valid, and the next input is asked for. What is to change
--- (another model, agents' files read anew) changes between two turns.
local ask = require "hocket.ask"
local caught = require "hocket.internal.base.caught"
local ending = require "hocket.internal.base.lazy" "hocket.internal.base.ending"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local json = require "hocket.json"
local responders = require "hocket.internal.runner.responder"
local system = require "hocket.internal.core.system"

local chat = {}

-- ---- What is reported ------------------------------------------------------------------------------

-- Agents by name for people who want to know whom they talk with.
local function described(agents)
  local list = json.array {}
  for name, def in pairs(agents or {}) do
    local model = type(def.model) == "table" and def.model[1] or def.model
    list[#list + 1] = { name = name, display_name = def.display_name, description = def.description, model = model }
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

local counted = { "input", "output", "cached", "reasoning", "calls", "cost" }

local function usage_now(run)
  local all, copy = run:usage(), {}
  for _, name in ipairs(counted) do copy[name] = type(all[name]) == "number" and all[name] or nil end
  return copy
end

-- What a turn has used; a cost that is not wholly known is left out.
local function usage_since(run, before)
  local used = {}
  for name, value in pairs(usage_now(run)) do used[name] = value - (before[name] or 0) end
  return used
end

-- ---- One turn ------------------------------------------------------------------------------------

-- Waits for the turn's end, which may be an interruption or the end of its time.
local function outcome(run, child)
  local seconds = run.options.timeout
  local ended = child:join(seconds)
  if not ended then
    child:cancel()
    child:join()
    return nil, { code = "timeout", message = ("the turn was not done within %g seconds (--timeout)"):format(seconds) }
  elseif child:cancelled() then
    return nil, { code = "cancelled", message = "interrupted" }
  end
  local ok, reply, err = child:result()
  if not ok then return nil, caught.error(reply) end
  if reply == nil then return nil, caught.error(err or "there was no answer") end
  return reply
end

-- Why an answer is not a whole one. A person who stops a turn wants what exists.
local function cut_of(reply)
  local cut = reply and reply.cut
  return cut and cut.reason ~= "stopped" and { code = cut.code, message = cut.message } or nil
end

local function turn(run, responder, text)
  local answered = responders.has_answered(responder)
  local before, began = answered and {} or usage_now(run), fiber.now() - (answered and run:seconds() or 0)
  run.turns = (run.turns or 0) + 1
  if not answered then run.declined = nil end
  run.turn = flow.spawn(function() return responder:say(text) end)
  local reply, err = outcome(run, run.turn)
  run.turn = nil
  if reply and run.declined then reply.finish = "declined" end
  run:emit("turn_finished", {
    turn = run.turns, ok = reply ~= nil, content = reply and reply.text or err and err.partial, finish = reply and reply.finish or err and (err.finish or err.code), cut = cut_of(reply),
    error = err and ending.told(err), usage = usage_since(run, before), seconds = fiber.now() - began,
  })
  return reply
end

-- ---- Between two turns -----------------------------------------------------------------------------

-- Reads the target's files anew. What cannot be used is reported, and what there was stays.
local function reload(run, responder)
  run.reload = nil
  local ok, changed, err = pcall(responder.reload, responder)
  if not ok then changed, err = nil, caught.error(changed) end
  if changed then
    changed.agents = described(responder:agents())
    run:emit("agent_reloaded", changed)
  else
    run:emit("agent_reload_failed", { code = err.code, message = err.message })
  end
end

local function cannot(run, what, err)
  run:emit("warning", { code = err.code, message = ("not %s: %s"):format(what, err.message) })
end

-- Makes the conversation shorter; what interrupts a turn interrupts this.
local function compact(run, responder)
  run.compact = nil
  run.turn = flow.spawn(function() return responder:compact() end)
  local done, err = outcome(run, run.turn)
  run.turn = nil
  if done == nil then return cannot(run, "made shorter", err) end
  run:emit("conversation_compacted", { anything = done })
end

local function clear(run, responder)
  run.clear = nil
  local ok, err = responder:clear()
  if not ok then return cannot(run, "cleared", err) end
  run:emit("conversation_cleared", {})
end

local function attach(run)
  local paths = {}
  for i, one in ipairs(run.attach) do paths[i] = type(one) == "table" and { name = one.name, data = system.unbase64(one.data) } or one end
  run.attach = nil
  local ok, err = run:read_files(paths)
  if not ok then return cannot(run, "attached", err) end
end

local function next_input(run, responder)
  return ask.input(function()
    if run.reload then reload(run, responder) end
    if run.clear then clear(run, responder) end
    if run.compact then compact(run, responder) end
    if run.attach then attach(run) end
  end)
end

--- Goes on until there is no further input.
---@async
---@param run hocket.Run
---@param target table As hocket.internal.runner.target finds it.
---@param input? string The first one.
---@param script? fun(target: table, input?: string): any Runs a target that is a script.
---@return hocket.Reply? last What was answered last.
---@return hocket.Error?
function chat.run(run, target, input, script)
  if input == "" then input = nil end
  local responder <close>, err = responders.new(run, target, script, input)
  if not responder then return nil, err end
  run.options.interactive = run.options.interactive ~= false
  run:emit("conversation_started", { target = target.path, kind = target.kind, agents = described(responder:agents()) })
  local last
  while true do
    if not input then
      input, err = next_input(run, responder)
      if not input and err.code ~= "unsupported" then return nil, err end
      if not input then break end
    end
    last = turn(run, responder, input) or last
    input = nil
  end
  return last or { text = "", finish = "stop" }
end

return chat
