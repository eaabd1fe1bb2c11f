--- What a run that is kept remembers of another one: it was begun as that one's fork, with other prompts, agents or scripts, and
--- what asks the same again is answered from the other's log. Everything else is done.
---
---     the other's log ── begin tool {a} … end "x" ──┐
---     this run        ── begin tool {a}  ───────────┴──> end "x", marked as remembered
---
--- Each outcome is given once: first to a caller at the same place, else to any caller with the same question. Outcomes come in the order in which the other
--- run got them, so that results which depend on the order are equal, too (`turn`, bind/fiber/kept_effect.c). A repeated model call keeps the place of the call
--- that it replaces. Failed or interrupted model calls are made again. This run's own log marks remembered outcomes, so a replay needs no memory.
---
--- Messages to agents at work are repeated with the outcome that the agent had last when it received
--- them.
---
--- A replay asks again, and so learns which outcomes were given. A replay that starts at a checkpoint does not ask, so the
--- checkpoint has them (`given`, `give`).
local fiber = require "hocket.internal.core.fiber"
local kept = require "hocket.internal.core.kept"
local json = require "hocket.json"
local pack = require "hocket.internal.base.pack"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local memory = {}

-- ---- What was ------------------------------------------------------------------------------------

local function note(self, item)
  table.insert(self.items, item)
  return item
end

local function push(lists, key, item)
  lists[key] = lists[key] or { next = 1 }
  table.insert(lists[key], item)
end

-- What a call would do is what it would do now; files are written anew, into the folder as it is now.
local anew = { preview = true, intent = true, fs = true, trust = true, source_now = true }

-- A model that did not answer may do so now, and so may what has raised.
local function is_worth(name, outcome)
  return outcome ~= "" and outcome:sub(1, #pack.RAISED) ~= pack.RAISED and not anew[name] and not (name == "model" and outcome:byte() == 101) -- "e"
end

local readers = {}

-- Before its next model call an agent hears what was said.
local function hear(self)
  if self.said and self.last then self.last.said, self.said = self.said, nil end
end

function readers.begin(self, e)
  self.begun[e.path .. " " .. e.ord] = e
  if e.name == "model" then hear(self) end
end

readers["end"] = function(self, e)
  local begun = self.begun[e.path .. " " .. e.ord]
  if not begun then return end
  push(self.places, begun.name .. " " .. e.path, e.n)
  self.asked[e.n] = begun.digest
  if not is_worth(begun.name, e.value) then return end
  local item = note(self, { n = e.n, outcome = e.value })
  self.last = item
  push(self.there, begun.name .. " " .. e.path .. " " .. begun.digest, item)
  push(self.anywhere, begun.name .. " " .. begun.digest, item)
end

-- A question, and its id. Of what is said to it from here on the first counts that is an answer: it judges that again, since logs
-- of earlier versions have what was refused, too.
function readers.value(self, e)
  if e.name ~= "question" then return end
  local _, id = pack.decode(e.value)
  local item = note(self, { n = e.n, id = id, answers = {} })
  self.open[id], self.asking[e.path] = item, item
  push(self.questions, e.digest, item)
end

-- Whoever has asked waits no longer: what is said then comes too late.
local function give_up(self, e)
  local item = self.asking[e.path]
  if item then self.open[item.id] = nil end
end
readers.timeout, readers.cancel = give_up, give_up

-- The input that a conversation waits for.
local function open_input(self)
  for id, item in pairs(self.open) do
    if id:find "^i%d+$" and not item.answers[1] then return item end
  end
end

-- Where a conversation waits for its input that is what was said, else an agent at work hears it. What was refused is in the log, too.
local function say(self, to, text)
  if not text:find "%S" then return end
  local input = to == "" and open_input(self)
  if input then return table.insert(input.answers, text) end
  self.said = self.said or {}
  table.insert(self.said, { to = to, text = text })
end

function readers.tell(self, e)
  local a, b = e.value:match "^([^\0]*)\0(.*)$"
  if e.name == "answer" and self.open[a] then table.insert(self.open[a].answers, b) end
  if e.name == "say" or e.name == "mail" then say(self, a, b) end
  if e.name == "signal" then push(self.signals, a, note(self, { n = e.n, value = b })) end
end

local function read(entries)
  local self = { items = {}, asked = {}, begun = {}, places = {}, there = {}, anywhere = {}, questions = {}, open = {}, asking = {}, signals = {} }
  for _, e in ipairs(entries) do readers[e.kind](self, e) end
  self.begun, self.open, self.asking, self.last, self.said = nil, nil, nil, nil, nil
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

-- When the effect ended that stands at the same place in the other's log: the n-th of its kind in the running fiber. nil: there is none.
local function end_there(self, place)
  local list = self.places[place]
  local at = list and list[list.next]
  if at then list.next = list.next + 1 end
  return at
end

-- The lines of a digest, "name=value", by name.
local function fields_of(digest)
  local fields = {}
  for name, value in digest:gmatch "([^=\n]*)=([^\n]*)" do fields[name] = value end
  return fields
end

-- The names of what two digests have otherwise, sorted.
local function differing(a, b)
  local x, y, all = fields_of(a), fields_of(b), {}
  for name, value in pairs(x) do all[name] = y[name] ~= value or nil end
  for name, value in pairs(y) do all[name] = x[name] ~= value or nil end
  return sorted_keys(all)
end

-- Takes note of the first effect that is made anew though the other run had made one there, or that it had none for. What had failed there is
-- no other one.
local function note_first(self, kind, digest, at)
  local was = at and self.asked[at]
  if self.first or anew[kind] or was == digest then return end
  local context = fiber.context()
  local step = context and context.step
  self.first = { kind = kind, agent = step and step.def.name, op = step and step.op, differs = was and json.array(differing(was, digest)) or nil }
end

--- The first effect that was asked for otherwise than in the other run; nil: none was.
---@return {kind: string, agent?: string, op?: string, differs?: string[]}?
function memory.first()
  local self = here()
  return self and self.first
end

--- The outcome of an effect that begins now in the running fiber.
---@param kind string
---@param digest string
---@return string?
---@return {to: string, text: string}[]? said With it, to agents at work.
---@return integer? turn Its place among everything that the other run had; of what is asked anew, where that is a model.
function memory.outcome(kind, digest)
  local self = here()
  if not self then return nil end
  local place = kind .. " " .. kept.path()
  local at = end_there(self, place)
  local item = take(self.there[place .. " " .. digest]) or take(self.anywhere[kind .. " " .. digest])
  if item then return item.outcome, item.said, item.n end
  note_first(self, kind, digest, at)
  return nil, nil, kind == "model" and at or nil
end

--- What people said to the same question, in their order: the first that is an answer was taken.
---@param digest string
---@return string[]?
function memory.answers(digest)
  local self = here()
  local item = self and take(self.questions[digest])
  return item and item.answers[1] and item.answers
end

--- What was sent by this name, as JSON.
---@param name string
---@return string?
function memory.signal(name)
  local self = here()
  local item = self and take(self.signals[name])
  return item and item.value
end

-- ---- What was given ---------------------------------------------------------------------------------

--- What was given so far, as data: numbers of entries of the other's log, the first and the last of each stretch of which
--- nothing is left. nil: it remembers nothing.
---@return integer[]?
function memory.given()
  local self = here()
  if not self then return nil end
  local list, goes_on = {}, false
  for _, item in ipairs(self.items) do
    if item.used then
      if not goes_on then list[#list + 1] = item.n end
      list[goes_on and #list or #list + 1] = item.n
    end
    goes_on = item.used
  end
  return list
end

--- That was given already, in rounds that this life does not go through.
---@param list? integer[]
function memory.give(list)
  local self, at = list and here(), 1
  for _, item in ipairs(self and self.items or {}) do
    while list[at + 1] and list[at + 1] < item.n do at = at + 2 end
    if list[at] and list[at] <= item.n then item.used = true end
  end
end

--- Sends something to the running run from outside, as soon as it can receive anything. In a replay that is after its end, since
--- an earlier attempt may have ended before the message was sent. Until then the run is not suspended.
---@param run hocket.Run
---@param waits {fiber: hocket.Fiber} Who waits for it.
---@param say fun(): any, hocket.Error?
---@param is_awaited fun(): boolean Whether it is still to be said.
function memory.say(run, waits, say, is_awaited)
  local function is_open() return not run.journal:finished() and not run.parked and is_awaited() end
  run.journal:hold(1)
  kept.aside(fiber.detach, function()
    while is_open() do
      local ok, err = say()
      if ok or err.code ~= "state" then break end
      fiber.sleep(0.001) -- its own log is not quite used up
    end
    run.journal:hold(-1)
    if is_open() then waits.fiber:wake() end -- it was refused: a person is asked, who may not be there
  end)
end

return memory
