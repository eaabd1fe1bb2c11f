--- What a run that is kept remembers of another one: it was begun as that one's fork, with other prompts, agents or scripts, and
--- what asks the same again is answered from the other's log. Everything else is done.
---
---     the other's log ── begin tool {a} … end "x" ──┐
---     this run        ── begin tool {a}  ───────────┴──> end "x", marked as remembered
---
--- Each outcome is given once: first to who stands at the same place, else to whoever asks the same. What failed for a model, or
--- was cut off, is asked again. Outcomes that were remembered are marked in this run's own log, so that a replay needs no memory.
local fiber = require "hocket.internal.core.fiber"
local kept = require "hocket.internal.core.kept"
local pack = require "hocket.internal.base.pack"

local memory = {}

-- ---- What was ------------------------------------------------------------------------------------

local function push(lists, key, item)
  lists[key] = lists[key] or { next = 1 }
  table.insert(lists[key], item)
end

-- A model that did not answer may do so now.
local function is_worth(name, outcome)
  return outcome ~= "" and not (name == "model" and outcome:byte() == 101) -- "e"
end

local readers = {}

function readers.begin(self, e)
  self.begun[e.path .. " " .. e.ord] = e
end

readers["end"] = function(self, e)
  local begun = self.begun[e.path .. " " .. e.ord]
  if not begun or not is_worth(begun.name, e.value) then return end
  local item = { outcome = e.value }
  push(self.there, begun.name .. " " .. e.path .. " " .. begun.digest, item)
  push(self.anywhere, begun.name .. " " .. begun.digest, item)
end

-- The id that a question had.
function readers.value(self, e)
  if e.name ~= "question" then return end
  local _, id = pack.decode(e.value)
  push(self.questions, e.digest, { id = id })
end

-- Of several answers to one question the last was taken.
function readers.tell(self, e)
  local a, b = e.value:match "^([^\0]*)\0(.*)$"
  if e.name == "answer" then self.answers[a] = b end
  if e.name == "signal" then push(self.signals, a, { value = b }) end
end

local function read(entries)
  local self = { begun = {}, there = {}, anywhere = {}, questions = {}, answers = {}, signals = {} }
  for _, e in ipairs(entries) do readers[e.kind](self, e) end
  self.begun = nil
  return self
end

-- Of the run whose code runs; nil: it has none.
local function here()
  if not kept.remembers() then return nil end
  local own = kept.here()
  own.memory = own.memory or read(kept.remembered())
  return own.memory
end

-- ---- What is asked again ----------------------------------------------------------------------------

local function take(list)
  while list and list[list.next] do
    local item = list[list.next]
    list.next = list.next + 1
    if not item.used then
      item.used = true
      return item
    end
  end
end

--- The outcome of an effect that begins now in the running fiber.
---@param kind string
---@param digest string
---@return string?
function memory.outcome(kind, digest)
  local self = here()
  if not self then return nil end
  local item = take(self.there[kind .. " " .. kept.path() .. " " .. digest]) or take(self.anywhere[kind .. " " .. digest])
  return item and item.outcome
end

--- What a person answered to the same question.
---@param digest string
---@return string?
function memory.answer(digest)
  local self = here()
  local item = self and take(self.questions[digest])
  return item and self.answers[item.id]
end

--- What was sent by this name, as JSON.
---@param name string
---@return string?
function memory.signal(name)
  local self = here()
  local item = self and take(self.signals[name])
  return item and item.value
end

--- Says something to the running run as somebody outside, as soon as it can be told anything.
---@param run hocket.Run
---@param say fun(): any, hocket.Error?
function memory.say(run, say)
  kept.aside(fiber.detach, function()
    while not run.journal:finished() do
      local ok, err = say()
      if ok or err.code ~= "state" then return end
      fiber.sleep(0.001) -- its own log is not quite used up
    end
  end)
end

return memory
