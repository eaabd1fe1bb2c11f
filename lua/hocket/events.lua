--- The events of the current run. User interfaces show them and the journal stores them. docs/reference/events.md lists all types.
---
---     local hocket = require "hocket"
---     hocket.events.emit("price_found", { city = "Lisbon", price = 12 })
---     for _, event in ipairs(hocket.events.all()) do print(event.seq, event.type) end
local arguments = require("hocket.internal.base.arguments").check
local json = require "hocket.json"
local runs = require "hocket.internal.run.run"

local events = {}

local function current()
  return runs.current() or error("there is no run here: events belong to a run", 3)
end

-- What begins and ends a run is not a script's to tell.
local reserved = { workflow_started = true, workflow_finished = true }

--- Appends an event of your own. Types are lower-case words. The types in docs/reference/events.md keep their meaning, and only
--- the run itself writes its first and its last event. A `final_answer` is written at the end of the run, once. It has
--- the run's answer; if the run returns nothing, its `content` becomes the answer.
---@param kind string
---@param payload? table
---@return integer? seq
---@return hocket.Error?
function events.emit(kind, payload)
  arguments("events.emit", 1, "string", kind)
  arguments("events.emit", 2, "table?", payload)
  if reserved[kind] then error(("the event '%s' belongs to the run"):format(kind), 2) end
  local run = current()
  if kind == "output" and type(payload) == "table" and type(payload.text) == "string" then return run:output(payload) end
  if kind == "final_answer" and type(payload) == "table" and type(payload.content) == "string" then
    run.said_answer = payload -- its event comes once, at the end
    return nil
  end
  return run:emit(kind, payload)
end

--- Returns all events so far, oldest first.
---@return table[]
function events.all()
  local list, cursor, run = {}, 0, current()
  while true do
    local line, seq = run.journal:next(cursor)
    if not line then return list end
    cursor = seq
    list[#list + 1] = json.decode(line)
  end
end

--- Iterates over the events, and waits for new ones: `for event in hocket.events.each() do`.
---@async
---@return fun(): table?
function events.each()
  local cursor, run = 0, current()
  return function()
    while true do
      local line, seq = run.journal:next(cursor)
      if line then
        cursor = seq
        return json.decode(line)
      elseif run.journal:finished() then
        return nil
      end
      run.journal:wait(cursor)
    end
  end
end

return events
