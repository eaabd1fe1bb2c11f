--- One reader of a run's events: a cursor into its journal and one into the text that was streamed, told in the order in which they came.
---
---     journal   1   2       3       4
---     deltas          a b c   d d          each knows the record that it came after
---     told      1   2 abc   3 dd    4
---
--- A reader that does not come for long is behind what is at hand in memory: what it has missed is reported (`missed`), and is in the store.
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"

local reader = {}

---@class hocket.DeskReader
---@field missed integer Records that had gone from memory before the one that was reported last.
local Reader = {}
Reader.__index = Reader

---@param run hocket.DeskRun
---@param options {after?: integer, deltas?: boolean}
---@return hocket.DeskReader
function reader.new(run, options)
  return setmetatable({ run = run, cursor = options.after or 0, deltas = options.deltas, number = run.deltas.last, missed = 0 }, Reader)
end

-- The next piece of text, unless a record stands before it.
local function next_delta(self)
  local ring = self.run.deltas
  if not self.deltas or self.number >= ring.last then return nil end
  local number = math.max(self.number + 1, ring.first)
  local delta = ring[number]
  if delta.after > self.cursor then return nil end
  self.number, delta.taken = number, true
  if not delta.text then delta.text, delta.parts = table.concat(delta.parts), { table.concat(delta.parts) } end
  return delta
end

local function delta_json(self, delta)
  if not delta.json then
    delta.json = json.encode { seq = 0, run = self.run.name, op = delta.op, agent = delta.agent, type = "model_delta", kind = delta.kind, text = delta.text }
  end
  return delta.json
end

-- What is there now: as JSON, its number, its type.
local function take(self)
  local delta = next_delta(self)
  if delta then return delta_json(self, delta), 0, "model_delta", delta end
  local line, seq, missed = self.run.journal:next(self.cursor)
  if not line or self.run.parked_at and seq > self.run.parked_at then return nil end
  self.cursor, self.missed = seq, missed
  return line, seq, line:match '"type":"([%w_]+)"'
end

local function wait(self, seconds)
  local run, me = self.run, fiber.self()
  local over <close> = setmetatable({}, { __close = function() run.hungry[me] = nil end })
  if self.deltas then run.hungry[me] = true end
  return run.journal:wait(self.cursor, seconds)
end

--- The next event; waits for it.
---@async
---@param timeout? number Seconds.
---@return string? json nil: there is none (any more).
---@return integer|string seq 0: text of a stream, which is no record. Without an event "ended" or "timeout".
---@return string? type
---@return table? delta {kind, text, agent, op} of a model_delta.
function Reader:next(timeout)
  local due = timeout and fiber.now() + timeout
  if not self.run.journal and not self.run:begun() then return nil, "ended" end
  while true do
    local line, seq, kind, delta = take(self)
    if line then return line, seq, kind, delta end
    if self.run.journal:finished() or self.run.outcome or self.run.parked_at then return nil, "ended" end
    local left = due and due - fiber.now()
    if left and left <= 0 then return nil, "timeout" end
    wait(self, left)
  end
end

--- Its events as tables, until the run has ended: `for event in reader:events() do`.
---@async
---@return fun(): table?
function Reader:events()
  return function()
    local line, _, _, delta = self:next()
    if not line then return nil end
    if delta then return { seq = 0, type = "model_delta", kind = delta.kind, text = delta.text, agent = delta.agent, op = delta.op } end
    return json.decode(line)
  end
end

return reader
