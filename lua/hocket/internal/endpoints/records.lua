--- The records of a run, wherever it is: in memory while it goes on here, else in the store; one reader of both, without a gap.
---
---     goes on here      its journal; what has gone from that, from the store
---     another process   the store, looked at again and again
---     over              the store
local fiber = require "hocket.internal.core.fiber"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"

local records = {}

--- Records of one look into the store; seconds between two looks at a run of another process.
local PAGE, AGAIN = 200, 0.5

---@class hocket.Records
---@field cursor integer The record that was given last.
---@field gap? integer How many are nowhere any more, before the one that was given last.
local Records = {}
Records.__index = Records

local function no_store(err)
  return err.code == "unsupported" or err.code == "state"
end

--- A reader behind a record.
---@async
---@param server hocket.EndpointServer
---@param id string
---@param options? {after?: integer, deltas?: boolean}
---@return hocket.Records?
---@return hocket.Error? `not_found`
function records.open(server, id, options)
  options = options or {}
  local here = server.desk:find(id)
  local self = setmetatable({ server = server, id = id, cursor = options.after or 0, page = {}, at = 0 }, Records)
  if here then
    self.run, self.reader = here, here:subscribe { after = self.cursor, deltas = options.deltas }
    return self
  end
  local row, err = server.desk:row(id)
  if not row then return nil, err end
  self.id, self.row = row.id, row
  if self.row.id ~= id then return records.open(server, row.id, options) end
  return self
end

-- The next record of the store, or nil.
local function from_store(self)
  local one = self.page[self.at + 1]
  if not one then
    local page, err = store.records(self.id, self.cursor + 1, PAGE)
    if not page then
      if no_store(err) then return nil end
      error(err, 0)
    end
    self.page, self.at, one = page, 0, page[1]
  end
  if one then self.at = self.at + 1 end
  return one
end

local function give(self, seq, line, kind)
  self.gap = seq > self.cursor + 1 and seq - self.cursor - 1 or nil
  self.cursor = seq
  return line, seq, kind or line:match '"type":"([%w_]+)"'
end

-- What goes on here; where the journal has forgotten, the store has not.
local function next_here(self, timeout)
  if self.behind then
    local one = from_store(self)
    if one and one.seq < self.behind.seq then return give(self, one.seq, one.json) end
    local held = self.behind
    self.behind = nil
    return give(self, held.seq, held.line, held.kind)
  end
  local line, seq, kind, delta = self.reader:next(timeout)
  if not line or seq == 0 then return line, seq, kind, delta end
  if seq > self.cursor + 1 then
    self.behind, self.page, self.at = { line = line, seq = seq, kind = kind }, {}, 0
    return next_here(self, timeout)
  end
  return give(self, seq, line, kind)
end

-- Whether more of it may come: another process has it.
local function goes_on(self)
  local row = stored.find(self.id)
  self.row = row or self.row
  return row ~= nil and row.owner ~= nil
end

local function next_stored(self, timeout)
  local due = timeout and fiber.now() + timeout
  while true do
    local one = from_store(self)
    if one then return give(self, one.seq, one.json) end
    local here = self.server.desk:find(self.id)
    if here and not here.outcome then -- it has been taken up again, by us
      self.run, self.reader = here, here:subscribe { after = self.cursor, deltas = true }
      return next_here(self, timeout)
    end
    if not goes_on(self) then return nil, "ended" end
    if due and fiber.now() >= due then return nil, "timeout" end
    fiber.sleep(due and math.min(AGAIN, math.max(0, due - fiber.now())) or AGAIN)
  end
end

--- The next record, or text of a stream; waits for it.
---@async
---@param timeout? number Seconds.
---@return string? json
---@return integer|string seq 0: text of a stream. Without a record "ended" or "timeout".
---@return string? type
---@return table? delta
function Records:next(timeout)
  if self.reader then return next_here(self, timeout) end
  return next_stored(self, timeout)
end

--- The next record of the ones that are there; waits for none.
---@async
---@return string? json
---@return integer? seq
---@return string? type
function Records:now()
  if self.reader and not self.run.journal then return nil end
  local line, seq, kind = self:next(0)
  while line and seq == 0 do line, seq, kind = self:next(0) end
  if line then return line, seq, kind end
end

return records
