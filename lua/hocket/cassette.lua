--- Recordings of a run's model calls, and their replay without a network.
---
---     local hocket = require "hocket"
---     local guide = hocket.agent { name = "guide", prompt = "You know Lisbon." }
---     local first = assert(hocket.run(guide, "Three days", { record = "lisbon.jsonl" }))
---     local again = assert(hocket.run(guide, "Three days", { replay = "lisbon.jsonl" }))
---     assert(first.text == again.text)
---
--- A replay calls no model and needs no key. A request that was not recorded ends it with the error "replay", which describes
--- the difference.
local arguments = require("hocket.internal.base.arguments").check
local core = require "hocket.internal.core.cassette"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local system = require "hocket.internal.core.system"
local failed = system.error

local cassette = {}

local facts = setmetatable({}, { __mode = "k" }) -- of each cassette: what was remembered

local function current()
  local context = fiber.context()
  return type(context) == "table" and context.cassette or nil
end

--- Whether the running code is recorded or replayed.
---@return boolean
---@internal
function cassette.going_on()
  return current() ~= nil
end

--- Whether the running code is replayed.
---@return boolean
---@internal
function cassette.replays()
  local tape = current()
  return tape ~= nil and tape:replays()
end

-- What fn() itself asks of the network belongs to neither recording nor replay: its value does.
local function call_beside(fn)
  local outer = fiber.context()
  fiber.set_context(setmetatable({ cassette = false }, { __index = outer }))
  local closing <close> = setmetatable({}, { __close = function() fiber.set_context(outer) end })
  return fn()
end

local function evaluate(tape, known, name, fn)
  local recorded, value = tape:recall(name)
  if not recorded then
    value = call_beside(fn)
    if known[name] ~= nil then return end -- somebody was faster
    if not tape:replays() then tape:note(name, value == nil and json.null or value) end
  elseif value == json.null then
    value = nil
  end
  known[name] = { value }
end

--- Gives a prompt a value that differs each time, such as the date: it returns `fn()`, and in a replay the recorded value.
---@generic T
---@param name string A name for each value.
---@param fn fun(): T? Returns any JSON value. A recorded run calls it once.
---@return T?
function cassette.remember(name, fn)
  arguments("cassette.remember", 1, "string", name)
  arguments("cassette.remember", 2, "function", fn)
  local tape = current()
  if not tape then return fn() end
  local known = facts[tape] or {}
  facts[tape] = known
  if known[name] == nil then evaluate(tape, known, name, fn) end
  return known[name][1]
end

--- Formats a duration for a model's text. It returns an empty text in a run that is recorded or replayed, because the
--- duration differs each time.
---@param format string With one number, as in " (%.1f s)".
---@param seconds? number
---@return string
function cassette.duration(format, seconds)
  return seconds and not current() and format:format(seconds) or ""
end

--- Keeps a text out of the current recording, which has asterisks in its place.
---@param text string
function cassette.hide(text)
  local tape = current()
  if tape then tape:secret(text) end
end

-- ---- A recorded run -------------------------------------------------------------------------

local function open(options)
  if options.record and options.replay then
    return nil, failed { code = "invalid", message = "a run is recorded or replayed, not both" }
  end
  for _, name in ipairs { "record", "replay" } do
    local path = options[name]
    if path ~= nil and (type(path) ~= "string" or path == "" or path:find "\0") then
      return nil, failed { code = "invalid", message = ("option '%s' has to be the name of a file"):format(name) }
    end
  end
  if options.record then return core.record(options.record) end
  return core.replay(options.replay)
end

local function warn(text, recording)
  local context = fiber.context()
  if context and context.run then
    context.run:emit("warning", { message = text, recording = recording })
  else
    system.log("warn", text)
  end
end

-- What a recording that was closed has to say about how it ended.
local function tell_missing(tape, path)
  local problem = tape:problem()
  if not problem then return end
  local missing, of = tape:missing()
  warn(("the recording is not complete%s: %s"):format(
    missing > 0 and (", %d of %d exchanges are missing in it"):format(missing, of) or "", problem.message), path)
end

-- What a replay has to say about how it ended.
local function judge(tape, options, reply, err)
  if not tape:replays() then return reply, err end
  local problem = tape:problem()
  if problem then return nil, problem end
  local unused, first = tape:unused()
  if reply and unused > 0 then
    warn(("%s holds %d request%s that the replay did not make: %s%s"):format(options.replay, unused,
      unused == 1 and "" or "s", first, unused == 1 and "" or " is the first"))
  end
  return reply, err
end

--- Calls fn() with the calls in it recorded or replayed, as `options.record` and `options.replay`
--- (names of files) say; without either it is only called.
---@async
---@param options {record?: string, replay?: string}
---@param fn fun(tape?: userdata): any, hocket.Error?
---@return any
---@return hocket.Error?
---@internal
function cassette.within(options, fn)
  if options.record == nil and options.replay == nil then return fn() end
  local tape, err = open(options)
  if not tape then return nil, err end
  local outer = fiber.context()
  fiber.set_context(setmetatable({ cassette = tape }, { __index = outer }))
  local closing <close> = setmetatable({}, { __close = function()
    tape:close()
    fiber.set_context(outer)
    if not tape:replays() then tell_missing(tape, options.record) end -- also of a run that is cancelled
  end })
  math.randomseed(tape:random "math.random 1", tape:random "math.random 2")
  return judge(tape, options, fn(tape))
end

return cassette
