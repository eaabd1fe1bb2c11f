-- Makes the moving picture of the README from the events of a run: three specialists fill one document.
--
--   hocket run --model sim --events run.jsonl examples/travel/travel.lua "Two days in Lisbon"
--   hocket run docs/tools/picture.lua run.jsonl > docs/terminal.svg
--
-- It is one SVG without scripts: each line is a text whose animation says when it is seen. Whoever wants no motion sees the end.
local fs = require "hocket.fs"
local json = require "hocket.json"

local STEP, HOLD = 0.45, 5 -- seconds for each thing that happens; how long the end stands
local WIDTH, LINE, LEFT, RIGHT, TOP = 900, 19, 20, 392, 62
local MOST = 58 -- characters of a line of the document
local colours = { logistics = "#79c0ff", food = "#ffa657", sightseeing = "#7ee787", facilitator = "#e6edf3" }

local function escape(text)
  return (text:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }))
end

local function cut(text)
  local last = utf8.offset(text, MOST)
  return last and last <= #text and text:sub(1, last - 1) .. "…" or text
end

-- ---- What is seen, and when ---------------------------------------------------------------------

local picture = { texts = {}, now = 0 }

-- A text from now on; at the same place it takes the place of what was there.
local function show(place, x, y, text, colour, bold)
  for _, one in ipairs(picture.texts) do
    if one.place == place and not one.till then one.till = picture.now end
  end
  if text then table.insert(picture.texts, { place = place, x = x, y = y, text = text, colour = colour, bold = bold, from = picture.now }) end
end

local order = { general = 0, morning = 1, afternoon = 2, evening = 3, night = 4 }

local function place_of(slot)
  return slot.day * 10 + (order[slot.time_slot] or 0)
end

local function title_of(slot)
  if slot.day == 0 then return "General" end
  return ("Day %d, %s"):format(slot.day, slot.time_slot)
end

-- The lines that each slot needs: its title, and as many entries as it ever has.
local function lay_out(events)
  local slots, entries = {}, {}
  for _, event in ipairs(events) do
    local slot = event.type == "document_updated" and place_of(event.slot)
    if slot then
      entries[slot] = event.change == "consolidate" and 1 or (entries[slot] or 0) + 1
      slots[slot] = slots[slot] or { title = title_of(event.slot), most = 0 }
      slots[slot].most = math.max(slots[slot].most, entries[slot])
    end
  end
  local keys, y = {}, TOP + LINE
  for key in pairs(slots) do keys[#keys + 1] = key end
  table.sort(keys)
  for _, key in ipairs(keys) do
    slots[key].y, y = y, y + LINE * (slots[key].most + 1) + 5
  end
  return slots, y
end

local rows = { facilitator = 1, logistics = 2, food = 3, sightseeing = 4 }

local function says(agent, text, colour)
  local y = TOP + LINE * (1.4 * rows[agent] + 1)
  show("name of " .. agent, LEFT, y, agent, colours[agent], true)
  show(agent, LEFT + 108, y, text, colour or "#8b949e")
end

-- What an event changes on the picture; false: nothing.
local seen = {}

function seen.tasks_created(event)
  says("facilitator", ("plans %d tasks"):format(#event.tasks))
end

function seen.agent_started(event)
  says(event.agent, "reads its tasks")
end

function seen.document_updated(event, slots)
  local slot = slots[place_of(event.slot)]
  slot.entries = event.change == "consolidate" and 0 or slot.entries or 0
  if event.change == "consolidate" then
    for i = 1, slot.most do show(slot.title .. i) end
  elseif slot.entries == 0 then
    show(slot.title, RIGHT, slot.y, slot.title, "#8b949e", true)
  end
  slot.entries = slot.entries + 1
  show(slot.title .. slot.entries, RIGHT + 14, slot.y + LINE * slot.entries, cut(event.content), colours[event.author])
  says(event.author, (event.change == "consolidate" and "merges " or "writes ") .. title_of(event.slot))
end

function seen.agent_finished(event)
  says(event.agent, "✓ done", "#7ee787")
end

function seen.workflow_finished()
  says("facilitator", "✓ answers with the document", "#7ee787")
end

-- ---- SVG ---------------------------------------------------------------------------------------------

-- Keyframes, one for each pair of times.
local function animation(one, total, known)
  local from, till = 100 * one.from / total, 100 * (one.till or total) / total
  local key = ("%.2f-%.2f"):format(from, till)
  if not known[key] then
    known.count = (known.count or 0) + 1
    known[key] = "a" .. known.count
    known[#known + 1] = ("@keyframes %s{0%%{opacity:0}%.2f%%{opacity:1}%.2f%%{opacity:%d}100%%{opacity:%d}}"):format(
      known[key], from, till, one.till and 0 or 1, one.till and 0 or 1)
  end
  return known[key]
end

local function svg(height)
  local total, known, lines = picture.now + HOLD, {}, {}
  for i, one in ipairs(picture.texts) do
    lines[i] = ('<text x="%g" y="%g" fill="%s"%s class="%s" style="animation-name:%s">%s</text>'):format(one.x, one.y, one.colour,
      one.bold and ' font-weight="bold"' or "", one.till and "then" or "stays", animation(one, total, known), escape(one.text))
  end
  return table.concat({
    ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" role="img">'):format(WIDTH, height, WIDTH),
    "<title>Three specialists fill one document side by side; the facilitator merges it and answers.</title>",
    "<style>text{font:13px ui-monospace,Menlo,Consolas,monospace;white-space:pre}",
    (".then,.stays{animation-duration:%.1fs;animation-iteration-count:infinite;animation-timing-function:step-end}"):format(total),
    ".then{opacity:0}@media(prefers-reduced-motion:reduce){.then,.stays{animation:none}}",
    table.concat(known, "\n") .. "</style>",
    ('<rect width="%d" height="%d" rx="8" fill="#0d1117"/>'):format(WIDTH, height),
    '<circle cx="20" cy="18" r="5" fill="#ff7b72"/><circle cx="38" cy="18" r="5" fill="#ffa657"/><circle cx="56" cy="18" r="5" fill="#7ee787"/>',
    ('<text x="%d" y="46" fill="#e6edf3">$ ./dev demo "Two days in Lisbon"</text>'):format(LEFT),
    ('<line x1="%d" y1="34" x2="%d" y2="%d" stroke="#30363d"/>'):format(RIGHT - 18, RIGHT - 18, height - 16),
    ('<text x="%d" y="46" fill="#8b949e">the shared document</text>'):format(RIGHT),
    table.concat(lines, "\n"), "</svg>", "",
  }, "\n")
end

local function read(path)
  local events = {}
  for line in assert(fs.read(path)):gmatch "[^\n]+" do events[#events + 1] = assert(json.decode(line)) end
  return events
end

local events = read((...) or error("name a file of events: hocket run docs/tools/picture.lua run.jsonl", 0))
local slots, height = lay_out(events)
picture.now = STEP
for _, event in ipairs(events) do
  if seen[event.type] and (event.type ~= "agent_finished" or rows[event.agent]) then
    seen[event.type](event, slots)
    picture.now = picture.now + STEP
  end
end
return (svg(math.ceil(height + 14)):gsub("\n$", ""))
