-- LÖVE: an innkeeper who answers while the frames go on. Its tool looks at the game's own world.
--
--   love examples/embed/love TEAM [--headless]
package.cpath = package.cpath .. ";" .. love.filesystem.getSource() .. "/../../../build/lua/5.1/?.so" -- in a clone, after ./dev build
local hocket = require "hocket"

local world = { player = 0, frames = 0, says = "", speaking = false }
local host, run

function love.load(args)
  host = assert(hocket.open { thread = true })
  assert(host:tool {
    name = "look_around", description = "Looks at a place of the village.",
    parameters = { type = "object", properties = { place = { type = "string" } } },
    run = function() return ("You see a traveller at %d paces."):format(world.player) end,
  })
  local err
  run, err = host:start(args[1], "Is there a room, and something to eat?", {
    deltas = true, tools = { "look_around" }, simulate = true, -- without a key the sim.lua beside the team plays
    on_event = function(event)
      if event.type == "model_delta" and event.agent == "innkeeper" then
        world.says, world.speaking = world.says .. event.text, true
      end
    end,
    on_done = function(result, failed) world.says = result and result.text or failed.message end,
  })
  if not run then error(err.message) end
end

function love.update(dt)
  host:pump(1) -- at most about 1 ms of each frame
  world.player = world.player + 30 * dt
  world.frames = world.frames + 1
  if world.ended == nil and run:done() then world.ended = world.frames end
  if not love.graphics and world.ended and world.frames > world.ended + 10 then love.event.quit(run:result() and 0 or 1) end
end

function love.draw()
  love.graphics.rectangle("fill", world.player % 800, 400, 16, 32)
  love.graphics.print(world.says, 40, 40)
end

function love.quit()
  if not love.graphics then
    print("says: " .. world.says)
    print("frames while thinking: " .. (world.ended or 0))
  end
  host:close()
end
