--- /api/events: which runs of this server begin, wait, go on and end, as server-sent events: what a list of runs, or an inbox, is kept fresh by.
---
--- The newest are kept, so that a client that comes again with Last-Event-ID misses none; one that was away for longer, or was another server's,
--- hears `resync` first: it lists again.
local api_runs = require "hocket.internal.endpoints.api.runs"
local fiber = require "hocket.internal.core.fiber"
local responses = require "hocket.internal.endpoints.response"
local system = require "hocket.internal.core.system"

local api_feed = {}

--- Events that are kept.
local KEPT = 1000

---@class hocket.RunFeed
local Feed = {}
Feed.__index = Feed

local function note(self, run)
  self.last = self.last + 1
  self.events[self.last] = { run = run, text = responses.event { event = "run", id = ("%s-%d"):format(self.epoch, self.last), data = api_runs.of_desk(run, true) } }
  self.events[self.last - KEPT] = nil
  for reader in pairs(self.readers) do reader:wake() end
end

local telling = {
  question_asked = true, approval_requested = true, input_requested = true, question_answered = true, approval_answered = true, input_received = true,
  question_withdrawn = true,
}

local function watch(self, run)
  note(self, run)
  local reader = run:subscribe()
  while true do
    local line, _, kind = reader:next()
    if not line then return end
    if telling[kind] then note(self, run) end
  end
end

-- The number of the last event that a client has heard; nil: nobody knows.
local function heard(self, id)
  local epoch, n = (id or ""):match "^(%w+)-(%d+)$"
  n = epoch == self.epoch and #n < 16 and math.tointeger(tonumber(n)) or nil
  return n and n <= self.last and n >= self.last - KEPT and n or nil
end

local function wait(self)
  local me = fiber.self()
  local over <close> = setmetatable({}, { __close = function() self.readers[me] = nil end })
  self.readers[me] = true
  fiber.park()
end

local function tell(self, server, stream, cursor)
  while true do
    while cursor >= self.last do wait(self) end
    server:let_others()
    cursor = math.max(cursor, self.last - KEPT)
    local parts = {}
    for i = cursor + 1, self.last do
      local one = self.events[i]
      if server.desk:may_read(one.run) then parts[#parts + 1] = one.text end
    end
    cursor = self.last
    if #parts > 0 and not stream:write(table.concat(parts)) then return end
  end
end

local function follow(self, server, request, response)
  local given = request.headers["last-event-id"]
  local stream = response:stream()
  if stream.closed then return end
  local cursor = heard(self, given)
  if given and not cursor and not stream:event { event = "resync", data = {} } then return end
  return tell(self, server, stream, cursor or self.last)
end

---@param server hocket.EndpointServer
function api_feed.add(server)
  local self = setmetatable({ epoch = system.token(8), events = {}, last = 0, readers = {} }, Feed)
  server.desk:on_begin(function(run) fiber.outside(watch, self, run):serve() end) -- it is called by the run's own code
  server.desk:on_end(function(run) note(self, run) end)
  server.router:on("GET", "/api/events", function(request, response) return follow(self, request.server, request, response) end)
end

return api_feed
