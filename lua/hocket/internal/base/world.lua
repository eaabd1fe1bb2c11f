--- What scripts reach the world by: files, programs, requests, clocks, chance. From the first run that is kept on these ask whose
--- code calls them: that of such a run has what its log has, everything else what it always had.
local chance = require "hocket.internal.base.chance"
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.fs"
local http = require "hocket.http"
local kept = require "hocket.internal.core.kept"
local misuse = require "hocket.internal.base.misuse"
local once = require "hocket.internal.base.once"
local handles = require "hocket.internal.base.handles"
local process = require "hocket.process"
local sources = require "hocket.internal.base.sources"

local world = {}

--- As they are for what is no script's: connections that are made anew in each process.
world.open_program, world.run_program, world.open_stream = process.open, process.run, http.open

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
    return settled(name, effects.run(kind, { call = name, arguments = once.asked(spec) }, fn, once.of(kind, spec), spec))
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

local done = false

--- For a run that begins; once. A state that the program lends us keeps its own clocks and numbers.
function world.prepare()
  if done then return end
  effects.prepare()
  done = true
  for _, name in ipairs { "read", "info", "list", "real" } do as_value(fs, "fs", name) end
  for _, name in ipairs { "write", "mkdir" } do as_write(fs, name) end
  as_effect(http, "http", "request")
  as_effect(process, "process", "run")
  process.open = handles.keeping("process", process.open,
    { reads = { "read_line", "wait", "stderr" }, writes = { "write" }, acts = { "end_input", "stop", "close" } })
  http.open = handles.keeping("http", http.open, { reads = { "status", "headers", "read" }, writes = {}, acts = { "close" } })
  if kept.owns_state() then
    math.random, math.randomseed = chance.random(math.random), chance.randomseed(math.randomseed)
    if os then set_clocks() end
  end
end

return world
