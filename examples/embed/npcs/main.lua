-- LÖVE: villagers who plan, remember what they were told, and change while the game runs: save one of agents/*.md, and the
-- traveller greets this villager again. The line at the top says which file changed (green), or why it was refused (red).
--
--   love examples/embed/npcs [--headless [--save|--load]]
--
-- Without a key the sim.lua beside this file plays the model. A click on a villager greets him.
-- F5 saves the village, with those who are talking; F9 goes on from there, also another day.
-- Memory and plans are the game's: plain tables, which it gives to the next conversation and acts upon.
--- @hocket.tools remember, plan
local here = love.filesystem.getSource()
package.cpath = package.cpath .. ";" .. here .. "/../../../build/lua/5.1/?.so" -- in a clone, after ./dev build
local hocket = require "hocket"

local places = { well = 120, market = 360, forge = 600 }
local villagers = {
  smith = { x = 600, says = "", memories = {}, way = {} },
  fisher = { x = 240, says = "", memories = {}, way = {} },
}
local host, watching
local talks, reloads, headless = 0, 0, false
local news, is_wrong = "Edit agents/smith.md (\"You speak plainly\") and save it: the game goes on.", false
local mode -- of a test: "save" or "load"

-- ---- What villagers can do -------------------------------------------------------------------

local tools = {
  {
    name = "remember", description = "Keeps one sentence for later conversations.",
    parameters = { type = "object", properties = { text = { type = "string" } }, required = { "text" } },
    run = function(args, call)
      local memories = villagers[call.agent].memories
      memories[#memories + 1] = args.text
      if #memories > 20 then table.remove(memories, 1) end
      return "kept"
    end,
  },
  {
    name = "plan", description = "Says which places to go to, in order.",
    parameters = { type = "object", properties = { places = { type = "array", items = { type = "string" } } }, required = { "places" } },
    run = function(args, call)
      local way = {}
      for _, name in ipairs(args.places) do
        if not places[name] then return nil, "there is no place " .. name end
        way[#way + 1] = name
      end
      villagers[call.agent].way = way
      return "on the way"
    end,
  },
}

-- ---- Talking ---------------------------------------------------------------------------------

local function names_of_places()
  local names = {}
  for name in pairs(places) do names[#names + 1] = name end
  table.sort(names)
  return table.concat(names, ", ")
end

-- What becomes of a conversation, one that was just begun or one that was loaded.
local function listen(name)
  local one = villagers[name]
  return function(event)
    if event.type == "model_delta" then one.says = (one.says == "…" and "" or one.says) .. event.text end
  end, function(result, err)
    one.run, one.says, talks = nil, result and result.text or err.message, talks + 1
    if headless then print(name .. " says: " .. one.says) end
  end
end

local function talk(name, words)
  local one = villagers[name]
  if one.run then return end
  one.says = "…"
  local memories = #one.memories > 0 and "- " .. table.concat(one.memories, "\n- ") or "nothing yet"
  local on_event, on_done = listen(name)
  one.run = assert(host:start(here .. "/agents/" .. name .. ".md", words, {
    variables = { memories = memories, places = names_of_places() }, timeout = 30, deltas = true, simulate = true,
    on_event = on_event, on_done = on_done,
  }))
end

-- ---- Saving ----------------------------------------------------------------------------------

local SAVE = "village.json"

-- The game's own tables, and beside them what those who talk are at. Written when the last of them is saved.
local function save(on_written)
  local state, open = {}, 1
  local function settle()
    open = open - 1
    if open == 0 then on_written(love.filesystem.write(SAVE, hocket.json.encode(state))) end
  end
  for name, one in pairs(villagers) do
    local row = { x = one.x, memories = hocket.json.array(one.memories), way = hocket.json.array(one.way) }
    state[name] = row
    if one.run and one.run:save(function(bytes) -- without bytes he has ended meanwhile
      row.talk = bytes and love.data.encode("string", "base64", bytes)
      row.memories = hocket.json.array(one.memories)
      settle()
    end) then open = open + 1 end
  end
  settle()
end

local function load()
  local text = love.filesystem.read(SAVE)
  local state = text and hocket.json.decode(text)
  if not state then return print "there is no village that was saved" end
  for name, one in pairs(villagers) do
    local row = state[name]
    if one.run then one.run.on_done = nil; one.run:cancel() end
    one.x, one.memories, one.way, one.run = row.x, row.memories, row.way, nil
    one.says = row.talk and "…" or ""
    if row.talk then
      local on_event, on_done = listen(name)
      local runs, err = host:restore(love.data.decode("string", "base64", row.talk), { on_event = on_event, on_done = on_done })
      if runs then one.run = runs[1] else print(name .. " is not here: " .. err.message) end
    end
  end
end

-- A villager's file has changed: whoever is talking goes on as he began, the next conversation is with the new one. A file
-- with a mistake is refused, with its line.
local function on_watch(event)
  if event.type ~= "output" then return end
  reloads, news, is_wrong = reloads + 1, event.text, not event.text:find "^changed"
  if headless then return print("reload: " .. event.text) end
  for name in pairs(villagers) do
    if not is_wrong and news:find(name, 1, true) then talk(name, "Hello again!") end
  end
end

-- ---- The game --------------------------------------------------------------------------------

function love.load(args)
  headless = not love.graphics
  if headless then io.stdout:setvbuf "line" end
  host = assert(hocket.open { thread = true, store = "memory" })
  for _, tool in ipairs(tools) do assert(host:tool(tool)) end
  for _, one in ipairs(args) do mode = one:match "^%-%-(save)$" or one:match "^%-%-(load)$" or mode end
  if mode == "load" then return load() end
  watching = assert(host:start(here .. "/watch.lua", here .. "/agents", { keep = false, on_event = on_watch, on_done = function(_, err)
    if err and err.code ~= "cancelled" then print("not watched: " .. err.message) end
  end }))
  talk("smith", "Good day! I am Ana.")
  talk("fisher", "Any fish today?")
end

local function walk(one, dt)
  local goal = places[one.way[1]]
  if not goal then return end
  local step = 240 * dt
  if math.abs(goal - one.x) <= step then
    one.x = goal
    table.remove(one.way, 1)
  else
    one.x = one.x + (goal > one.x and step or -step)
  end
end

-- Without a window: when a villager has changed, one talks with the smith once more.
local function play_alone()
  if mode == "load" then
    if talks == 2 then
      print(("the smith keeps %d things"):format(#villagers.smith.memories))
      love.event.quit(0)
    end
    return
  elseif mode == "save" then -- in the middle of what he says
    if #villagers.smith.memories == 0 or #villagers.fisher.memories == 0 then return end
    mode = "saving"
    return save(function(written) love.event.quit(written and 0 or 1) end)
  elseif mode == "saving" then
    return
  end
  if reloads > 0 and talks == 2 and not villagers.smith.run then talk("smith", "It is Ana again.") end
  local smith = villagers.smith
  if talks == 3 and #smith.way == 0 then
    print(("the smith is at %d, and keeps %d things"):format(smith.x, #smith.memories))
    love.event.quit(0)
  end
end

function love.update(dt)
  host:pump(1) -- at most about 1 ms of each frame
  for _, one in pairs(villagers) do walk(one, dt) end
  if headless then play_alone() end
end

function love.keypressed(key)
  if key == "f5" then save(function(written) print(written and "saved" or "not saved") end) end
  if key == "f9" then load() end
end

function love.mousepressed(x)
  for name, one in pairs(villagers) do
    if math.abs(one.x - x) < 30 then talk(name, "Hello again!") end
  end
end

local sky, ground, wall, ink = { 0.55, 0.75, 0.9 }, { 0.45, 0.6, 0.35 }, { 0.6, 0.45, 0.3 }, { 0.1, 0.1, 0.15 }
local good, bad, paper = { 0.15, 0.45, 0.2 }, { 0.65, 0.15, 0.1 }, { 1, 1, 0.95 }
local looks = { smith = { color = { 0.7, 0.25, 0.15 }, bubble = 190, aside = 24 }, fisher = { color = { 0.2, 0.3, 0.7 }, bubble = 270, aside = -24 } }

local function box(color, ...)
  love.graphics.setColor(color)
  love.graphics.rectangle("fill", ...)
end

local function words(color, ...)
  love.graphics.setColor(color)
  love.graphics.printf(...)
end

function love.draw()
  love.graphics.clear(sky)
  box(ground, 0, 430, 800, 170)
  for name, x in pairs(places) do
    box(wall, x - 45, 365, 90, 65)
    words(ink, name, x - 45, 440, 90, "center")
  end
  for name, one in pairs(villagers) do
    local look = looks[name]
    local x = one.x + look.aside -- two may be at one place
    box(look.color, x - 9, 400, 18, 38)
    box(paper, x - 120, look.bubble, 240, 58, 8)
    love.graphics.line(x, look.bubble + 58, x, 396)
    words(look.color, name .. ": " .. one.says, x - 110, look.bubble + 8, 220)
  end
  box(is_wrong and bad or good, 0, 0, 800, 56)
  words(paper, news, 20, 12, 760)
end

function love.quit()
  if watching then watching:cancel() end
  host:close()
end
