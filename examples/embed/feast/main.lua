-- LÖVE: a workflow that the game starts from its own Lua state. It gets the events and the typed result, and the workflow travels in the save game: F5
-- saves in the middle, F9 continues, also on another day.
--
--   love examples/embed/feast [--headless [--save|--load]]
--
-- Without a key the sim.lua beside this file plays the model.
local hocket = require "hocket"

local here = love.filesystem.getSource()
local SAVE = "feast.bin"
local host, run, mode, headless
local lines, answered = { "The cook asks the guests." }, 0

local function say(text)
  lines[#lines + 1] = text
  if headless then print(text) end
end

local function on_event(event)
  if event.type == "phase_started" then say("phase: " .. event.name) end
  if event.type == "workflow_report" then
    answered = answered + 1
    say(event.content)
  end
end

local function on_done(result, err)
  run = nil
  say(result and "menu: " .. hocket.json.decode(result.text).menu or "no menu: " .. err.message)
  if headless then love.event.quit(result and 0 or 1) end
end

local function start()
  run = assert(host:start(here .. "/workflows/feast.lua", '{"guests": ["Ana", "Ben", "Cleo", "Dan"]}', {
    simulate = true, on_event = on_event, on_done = on_done,
  }))
end

local function save(on_written)
  return run and run:save(function(bytes) on_written(bytes and love.filesystem.write(SAVE, bytes)) end)
end

local function load()
  local bytes = love.filesystem.read(SAVE)
  if not bytes then return say "there is no feast that was saved" end
  if run then
    run.on_done = nil
    run:cancel()
  end
  local runs, err = host:restore(bytes, { on_event = on_event, on_done = on_done })
  if not runs then return say("it does not go on: " .. err.message) end
  run = runs[1]
end

function love.load(args)
  headless = not love.graphics
  if headless then io.stdout:setvbuf "line" end
  for _, one in ipairs(args) do mode = one:match "^%-%-(save)$" or one:match "^%-%-(load)$" or mode end
  host = assert(hocket.open { thread = true, store = "memory" })
  if mode == "load" then load() else start() end
end

function love.update()
  host:pump(1) -- at most about 1 ms of each frame
  if mode == "save" and answered == 2 then
    mode = "saving"
    save(function(written) love.event.quit(written and 0 or 1) end)
  end
end

function love.keypressed(key)
  if key == "f5" then save(function(written) say(written and "saved" or "not saved") end) end
  if key == "f9" then load() end
end

function love.draw()
  for i, line in ipairs(lines) do love.graphics.print(line, 20, 20 * i) end
end

function love.quit()
  if host then host:close() end
end
