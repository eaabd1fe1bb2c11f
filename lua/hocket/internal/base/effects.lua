--- Effects: what a run does outside of itself. A durable run makes each effect once and logs its outcome; a replay
--- takes the outcome from the log and makes nothing. Outside of a durable run only the function is called.
---
---     effects.run("http", { url = url }, function() return get(url) end)
---         live:    begin ─> the function, in a fiber outside of the run ─> end, with what it returned or raised
---         replay:  begin, compared ─────────────────────────────────────> the same outcome
---
--- Outcomes are data (hocket.internal.base.pack). What the function changes of the run itself is not
--- in the log: it must not change anything but the world.
local caught = require "hocket.internal.base.caught"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local kept = require "hocket.internal.core.kept"
local lazy = require "hocket.internal.base.lazy"
local memory, pack = lazy "hocket.internal.base.memory", lazy "hocket.internal.base.pack" -- of runs that are kept
local system = require "hocket.internal.core.system"

local effects = {}

local effect, is_cancelled, logged = kept.effect, fiber.cancelled, kept.logged

--- The table of the run that is kept whose code runs now, for what modules keep for it; nil: none is.
effects.here = kept.here

--- What the running code of a tool or a step shares with everything that it starts; nil: the code is the run's, or no run is kept.
---@return {fiber: hocket.Fiber, run: hocket.Run, things: table[]}?
effects.within = fiber.within

--- The table of the run that is kept whose code runs, or the code of its tool or step; nil: none.
---@type fun(): table?
effects.around = kept.around

-- Reports the boards and documents that it made, also when it raises or is cancelled.
local function leave(within, ok, ...)
  if within.things[1] then within.run:leave(within.things) end
  if not ok then error((...), 0) end
  return ...
end

--- Calls fn(...), the function of a tool or a step that is an effect: what it starts ends with it, and what it changes of the run is in
--- the log.
---@async
---@param fn fun(...): ...
---@param ... any
---@return any ...
function effects.call_within(fn, ...)
  local context = fiber.context()
  local run = type(context) == "table" and context.run
  if not run or not run.here then return fn(...) end
  local within = { fiber = fiber.self(), run = run, things = {} }
  fiber.set_context(setmetatable({ within = within }, { __index = context }))
  return leave(within, pcall(fn, ...))
end

--- Whether what the running code does to the world goes through a log: that of a run that is kept. Raises "cancelled" where such a run
--- was left here (it is parked, or its host closes): whoever continues with it comes to the same place, and does it then.
---@return boolean
function effects.logged()
  local is_logged = logged()
  if is_logged == nil then effects.cancel() end
  return is_logged
end

--- Whether an outcome comes from the log and nothing is made.
effects.is_replay = kept.is_replay

--- Bytes of a value that stand in a digest themselves.
local SHOWN = 48

--- A value as it stands in a digest: itself, or its hash.
---@param value any
---@return string
function effects.shown(value)
  local text = tostring(value)
  if #text <= SHOWN and not text:find "[%c]" then return text end
  return system.hash(text)
end

--- What was asked, as a text that names what differs when it is another.
---@param fields table<string, any> Texts, numbers, booleans; long ones are in it by their hash.
---@return string
function effects.digest(fields)
  local lines = {}
  for name, value in pairs(fields) do lines[#lines + 1] = name .. "=" .. effects.shown(value) end
  table.sort(lines)
  return table.concat(lines, "\n")
end

--- The hash of arguments, for a digest: it hides what is secret in them, however short they are.
---@param ... any
---@return string
function effects.asked(...)
  local ok, text = pcall(json.encode, { ... })
  if not ok and caught.no_memory(text) then error(text, 0) end -- a replay, with memory, would not ask for "?"
  return ok and system.hash(text) or "?"
end

local function cancelled()
  return system.error { code = "cancelled", message = "cancelled" }
end

-- Outcomes that are no data are reported as errors.
local function to_text(...)
  local ok, text = pcall(pack.encode, ...)
  if ok then return text end
  if caught.no_memory(text) then error(text, 0) end
  return pack.encode(false, system.error { code = "invalid", message = "the outcome of an effect has to be data: " .. text })
end

-- Errors, raised or returned, may be anything: what of them is data is kept, and their words.
local function as_data(ok, ...)
  if not ok then return false, pack.data((...)) end
  local value, err = ...
  if value ~= nil or type(err) ~= "table" then return ok, ... end
  return ok, nil, pack.data(err), select(3, ...)
end

-- What an outcome returns or raises.
local function unpacked(outcome)
  local result = table.pack(pack.decode(outcome))
  if not result[1] then error(result[2], 0) end
  return table.unpack(result, 2, result.n)
end

-- What `make` raises is its outcome, unless it was cancelled.
local function guarded(make)
  return function(again)
    local ok, outcome = pcall(make, again)
    if ok then return outcome end
    if is_cancelled() then error(outcome, 0) end
    return pack.RAISED .. to_text(pack.data(outcome))
  end
end

local function was_raised(outcome)
  return outcome:sub(1, #pack.RAISED) == pack.RAISED
end

--- Once, before the first effect: what is kept of one that has no memory even to say so.
function effects.prepare()
  kept.no_memory(pack.RAISED .. to_text(system.error { code = "no_memory", message = "out of memory" }))
end

-- What was said with a remembered outcome, to be said again by somebody outside before that is there.
local function saying(said)
  local context = said and fiber.context()
  local run = context and context.run
  return run and function()
    for _, one in ipairs(said) do run:say_again(one.text, one.to) end
  end
end

--- Kinds that no run takes from another one: who decides may decide otherwise in a fork.
local decisions = { hook = true, guard = true }

--- Makes an effect of its own kind: `make(again)` returns a text, and is called outside of the run; "" when it did not come
--- to that. What it raises is raised. `again`: a process that is gone had begun it.
---@async
---@param kind string
---@param digest string
---@param make fun(again: boolean): string
---@param reads? boolean See hocket.EffectOptions.
---@param looks? boolean It is none of what a fork may have answered: whoever counts these passes it over.
---@param sheltered? boolean See hocket.EffectOptions.
---@return string outcome
---@return boolean cancelled Whether the running fiber was cancelled meanwhile: it has to raise that, when it has counted what to count.
---@return boolean remembered Whether it was answered by what the run remembers of another one: nothing was made.
function effects.make(kind, digest, make, reads, looks, sheltered)
  local known, said, turn
  if not decisions[kind] then known, said, turn = memory.outcome(kind, digest) end
  local outcome, remembered = effect(kind, digest, known or guarded(make), reads, saying(said), looks, sheltered, turn)
  local gone = is_cancelled()
  if not was_raised(outcome) then return outcome, gone, remembered end
  if not gone or sheltered then error(pack.decode(outcome:sub(#pack.RAISED + 1)), 0) end
  return "", gone, remembered
end

--- How many effects of the running run were answered by what it remembers of another one, and made; nil: it remembers none.
---@return integer? remembered
---@return integer made
function effects.reused()
  if not kept.here() then return nil, 0 end
  local all, remembered = kept.counted()
  if remembered == 0 and not kept.remembers() then return nil, 0 end
  return remembered, all - remembered
end

--- Raises that the running fiber was cancelled.
function effects.cancel()
  error(cancelled(), 0)
end

---@class hocket.EffectOptions
---@field reads? boolean It changes nothing outside, and may be done twice. All others start when it is stored that they do.
---@field looks? boolean See effects.make.
---@field sheltered? boolean It is made, and its outcome returned, also by who is cancelled.
---@field again? fun(): ... Is called instead of the function when a process that is gone had begun it, and nobody knows how it ended.

--- Calls fn(...), once: returns what it returns, raises what it raises.
---@async
---@param kind string
---@param fields table What is asked: see effects.digest.
---@param fn fun(...): ...
---@param opts? hocket.EffectOptions
---@return any ...
function effects.run(kind, fields, fn, opts, ...)
  if not effects.logged() then return fn(...) end
  opts = opts or {}
  local args = table.pack(...)
  local outcome, gone = effects.make(kind, effects.digest(fields), function(again)
    local call = again and opts.again or fn
    return to_text(as_data(pcall(call, table.unpack(args, 1, args.n))))
  end, opts.reads, opts.looks, opts.sheltered)
  if gone and not opts.sheltered or outcome == "" then effects.cancel() end
  return unpacked(outcome)
end

--- Calls fn(...) where nothing is kept, with the results that a log would give: copies of data, else the same error.
---@async
---@param fn fun(...): ...
---@return any ...
function effects.unlogged(fn, ...)
  return unpacked(to_text(as_data(true, fn(...))))
end

--- As effects.run for what is there at once: fn does not wait.
---@param kind string
---@param fields table
---@param fn fun(...): ...
---@return any ...
function effects.value(kind, fields, fn, ...)
  if not kept.here() then return fn(...) end
  local args = table.pack(...)
  return unpacked(kept.value(kind, effects.digest(fields), function()
    return to_text(as_data(pcall(fn, table.unpack(args, 1, args.n))))
  end))
end

--- Whether what comes next has failed the first time: see effects.failed. nil: nothing can be said or asked of that here.
---@param kind string
---@param fields table
---@return boolean?
function effects.has_failed(kind, fields)
  return kept.is_next(kind, effects.digest(fields))
end

--- Whether the replayed log has this effect here: for the ones that are not in every log. nil: nothing is replayed.
---@param kind string
---@param fields table<string, any>
---@return boolean?
function effects.comes(kind, fields)
  if not kept.is_replay() then return nil end
  return kept.is_next(kind, effects.digest(fields), true) == true
end

--- What a run has only where it goes well in each life has failed: that goes into the log, or comes from there. In a replay of one in
--- which it went well the run ends, and is not over.
---@param kind string
---@param fields table
---@param err? hocket.Error Not needed where it has failed before.
---@return nil
---@return hocket.Error
function effects.failed(kind, fields, err)
  if kept.is_replay() and not effects.has_failed(kind, fields) then kept.fail(err.code, err.message) end
  return effects.value(kind, fields, function() return nil, err end)
end

--- What each life of a run makes for itself, a server for example: fn() -> value; or nil and an error. It is called outside of the
--- run, and does not wait. In the log stands only that it failed, which it does in every replay then.
---@param kind string
---@param fields table What is made.
---@param fn fun(): any, hocket.Error?
---@return any value
---@return hocket.Error?
function effects.anew(kind, fields, fn)
  if not kept.here() then return fn() end
  local ok, value, err = true, nil, nil
  if not effects.has_failed(kind, fields) then effects.aside(function() ok, value, err = pcall(fn) end) end
  if ok and value ~= nil then return value end
  return effects.failed(kind, fields, caught.error(ok and err or value))
end

--- Calls fn(...) as somebody outside of the run: nothing of it is in the log, and it happens in every replay.
---@param fn fun(...)
effects.aside = kept.aside

--- A word for the effect that the running fiber makes next, the same in every replay: for interfaces that take a key, so
--- that what is asked twice is done once.
---@return string?
function effects.id()
  return effects.logged() and kept.effect_id() or nil
end

return effects
