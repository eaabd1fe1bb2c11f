--- What scripts reach the world by: files, programs, requests, clocks, chance. From the first run that is kept on these ask whose
--- code calls them: that of such a run has what its log has, everything else what it always had.
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.fs"
local http = require "hocket.http"
local kept = require "hocket.internal.core.kept"
local misuse = require "hocket.internal.base.misuse"
local script_effects = require "hocket.internal.base.script.effects"
local process = require "hocket.process"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"

local script_env = {}

--- As they are for what is no script's: connections that are made anew in each process.
script_env.open_program, script_env.run_program, script_env.open_stream = process.open, process.run, http.open

-- What changes files.
local changing = { write = true, mkdir = true, run = true }

local function settled(name, ...)
  if changing[name] then sources.stale() end
  return ...
end

-- What scripts call, in place of what they called.
local function replace(module, name, fn)
  module[name] = function(...) return misuse.called(name, fn, ...) end
end

local function as_value(module, kind, name)
  local fn = module[name]
  replace(module, name, function(...)
    if not kept.here() then return fn(...) end
    local path, most = ...
    local text = name == "read" and type(path) == "string" and sources.travelled(path)
    if text and (most == nil or math.type(most) == "integer" and #text <= most) then return text end
    return settled(name, effects.value(kind, { call = name, arguments = effects.asked(...) }, fn, ...))
  end)
end

-- The same bytes in the same place may be written twice. Also by who is cancelled: a close handler may do so where nothing is kept.
local function as_write(module, name)
  local fn = module[name]
  replace(module, name, function(...)
    if not effects.logged() then return fn(...) end
    if name == "write" and type((...)) == "string" then sources.wrote((...)) end
    return settled(name, effects.run("fs", { call = name, arguments = effects.asked(...) }, fn, { looks = true, sheltered = true }, ...))
  end)
end

local function as_effect(module, kind, name)
  local fn = module[name]
  replace(module, name, function(spec, ...)
    if not effects.logged() then return fn(spec, ...) end
    return settled(name, effects.run(kind, { call = name, arguments = script_effects.asked(spec) }, fn, script_effects.of(kind, spec), spec))
  end)
end

local function set_clocks()
  local time, date, clock = os.time, os.date, os.clock
  os.time = function(t)
    return t == nil and kept.wall_second() or misuse.called("time", time, t)
  end
  os.date = function(format, t)
    return misuse.called("date", date, format, t or kept.wall_second())
  end
  os.clock = function() return kept.here() and fiber.now() or clock() end
end

-- ---- Handles ------------------------------------------------------------------------------------------
-- Programs and streams that a script of a run that is kept talks with. What is said and heard is an effect each: a replay takes
-- it from the log and starts nothing. In another process they are gone: what is said to them then fails with the code `closed`.
--
--     open ──> effect "open" ──> a handle ── write, read_line, wait … ──> an effect each, of the real one
--                                    └── in another process there is none: "closed"

local gone = "it has ended with the process that had opened it: open it again"

-- A number that is the same in every replay.
local function number()
  local own = kept.here()
  own.opened = (own.opened or 0) + 1
  return own.opened
end

-- A method that waits, or gives something.
local function effect_of(self, kind, name, reads)
  return function(_, ...)
    local args = table.pack(...)
    return misuse.called(name, effects.run, kind, { call = name, of = self.number, arguments = effects.asked(...) }, function()
      if not self.real then return nil, system.error { code = "closed", message = gone } end
      return self.real[name](self.real, table.unpack(args, 1, args.n))
    end, { reads = reads })
  end
end

-- One that only does something.
local function act_of(self, name)
  return function()
    if self.real then self.real[name](self.real) end
  end
end

local function handle(self, kind, methods)
  local made = {}
  for _, name in ipairs(methods.reads) do made[name] = effect_of(self, kind, name, true) end
  for _, name in ipairs(methods.writes) do made[name] = effect_of(self, kind, name, false) end
  for _, name in ipairs(methods.acts) do made[name] = act_of(self, name) end
  return setmetatable(made, { __close = made.close, __name = "hocket." .. kind })
end

--- A function like `open`, whose handles are kept with the run.
---@param kind string
---@param open fun(spec: table): any, hocket.Error?
---@param methods {reads: string[], writes: string[], acts: string[]}
---@return fun(spec: table): any, hocket.Error?
local function keeping(kind, open, methods)
  local function keep(spec)
    if not effects.logged() then return open(spec) end
    local self = { number = number() }
    local ok, err = effects.run(kind, { call = "open", arguments = script_effects.asked(spec) }, function()
      local real, wrong = open(spec)
      self.real = real
      return real ~= nil, wrong
    end, script_effects.of(kind, spec))
    if not ok then return nil, err end
    return handle(self, kind, methods)
  end
  return function(spec) return misuse.called("open", keep, spec) end
end

-- ---- Chance -----------------------------------------------------------------------------------------
-- math.random and math.randomseed of a run that is kept. Before it is seeded its numbers are the run's own; behind
-- math.randomseed(n) they are the ones that Lua gives for that seed, in every run and in every life of one.

-- Lua's generator, xoshiro256**.
local function next_of(s)
  local result = s[2] * 5
  result = (result << 7 | result >> 57) * 9
  local t = s[2] << 17
  s[3], s[4] = s[3] ~ s[1], s[4] ~ s[2]
  s[2], s[1] = s[2] ~ s[3], s[1] ~ s[4]
  s[3], s[4] = s[3] ~ t, s[4] << 45 | s[4] >> 19
  return result
end

local function generator(n1, n2)
  local s = { n1, 0xff, n2, 0 }
  for _ = 1, 16 do next_of(s) end
  return s
end

-- Of 0 to n, as Lua has it: what is above is drawn again.
local function project(s, bits, n)
  if n & n + 1 == 0 then return bits & n end
  local mask = n
  for shift = 0, 5 do mask = mask | mask >> (1 << shift) end
  bits = bits & mask
  while math.ult(n, bits) do bits = next_of(s) & mask end
  return bits
end

-- Of 0 to n, of the run's own numbers.
local function own_part(_, bits, n)
  local span = n + 1
  return span == 0 and bits or math.abs(math.fmod(bits >> 1, span))
end

-- Whoever started the run may have chosen where its chance begins: the option `seed`.
local function option()
  local context = fiber.context()
  local run = type(context) == "table" and context.run
  return run and math.tointeger(run.options.seed) or nil
end

--- In place of math.random. The original says what is wrong with arguments.
---@param original function
---@return function
local function random_of(original)
  return function(...)
    local own, n = kept.here(), select("#", ...)
    if not own or n > 2 then return misuse.called("random", original, ...) end
    local s = own.chance
    local bits = s and next_of(s) or kept.random(option())
    if n == 0 then return (bits >> 11) * 2.0 ^ -53 end
    local low, high = 1, ...
    if n == 2 then low, high = ... end
    if n == 1 and high == 0 then return bits end
    low, high = math.tointeger(low), math.tointeger(high)
    if not low or not high or low > high then return misuse.called("random", original, ...) end
    return low + (s and project or own_part)(s, bits, high - low)
  end
end

-- A number as a seed: of one without a whole value its bits.
local function whole(value)
  value = tonumber(value)
  return value and (math.tointeger(value) or string.unpack("<i8", string.pack("<d", value)))
end

--- In place of math.randomseed.
---@param original function
---@return function
local function randomseed_of(original)
  return function(...)
    local own = kept.here()
    if not own then return misuse.called("randomseed", original, ...) end
    local n1, n2 = ...
    if select("#", ...) == 0 then n1, n2 = kept.random(), kept.random() end
    n1, n2 = whole(n1), whole(n2 == nil and 0 or n2)
    if not n1 or not n2 then return misuse.called("randomseed", original, ...) end
    own.chance = generator(n1, n2)
    return n1, n2
  end
end

-- ---- All of it ------------------------------------------------------------------------------------------

local done = false

--- For a run that begins; once. A state that the program lends us keeps its own clocks and numbers.
function script_env.prepare()
  if done then return end
  effects.prepare()
  done = true
  for _, name in ipairs { "read", "info", "list", "real" } do as_value(fs, "fs", name) end
  for _, name in ipairs { "write", "mkdir" } do as_write(fs, name) end
  as_effect(http, "http", "request")
  as_effect(process, "process", "run")
  process.open = keeping("process", process.open,
    { reads = { "read_line", "wait", "stderr" }, writes = { "write" }, acts = { "end_input", "stop", "close" } })
  http.open = keeping("http", http.open, { reads = { "status", "headers", "read" }, writes = {}, acts = { "close" } })
  if kept.owns_state() then
    math.random, math.randomseed = random_of(math.random), randomseed_of(math.randomseed)
    if os then set_clocks() end
  end
end

return script_env
