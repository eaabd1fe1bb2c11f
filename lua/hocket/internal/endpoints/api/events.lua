--- /api/runs/{id}: how it stood at a record, and what came behind that, as it comes.
---
---     GET …/snapshot?at=N      a fold of the records up to N (all of them when it is left out); `at` says which
---     GET …/events             server-sent events: each record has its number as id, so that a client that comes again
---                              with Last-Event-ID (or ?after=N) misses none and hears none twice
---
--- Events without a name are records. `delta` is streamed text (?deltas=1), which is no record. `resync`: some records are gone, and the client
--- begins again with a snapshot. `end`: the run has ended, and no event follows.
local fiber = require "hocket.internal.core.fiber"
local records = require "hocket.internal.endpoints.records"
local responses = require "hocket.internal.endpoints.response"
local story = require "hocket.internal.commands.story"
local api_runs = require "hocket.internal.endpoints.api.runs"

local api_events = {}

--- Records of one page.
local MAX_PAGE = 1000
--- Bytes that are put together for one write.
local TOGETHER = 32 << 10

-- A number of a record, or nil and an error.
local function number(text, name, least)
  if text == nil then return nil end
  local n = math.tointeger(tonumber(text))
  if n and n >= least then return n end
  return nil, { code = "invalid", message = ("'%s' is the number of a record"):format(name) }
end

local function snapshot(server, request, response)
  local at, wrong = number(request.query.at, "at", 0)
  if wrong then return response:fail(wrong) end
  local reader, err = records.open(server, request.params.id)
  if not reader then return response:fail(err) end
  local told = story.new(request.query.agent)
  if reader.run then reader.run:begun() end
  while not at or reader.cursor < at do
    local line, seq = reader:now()
    if not line or at and seq > at then break end
    told:take { seq = seq, json = line }
    fiber.rest()
  end
  if at and reader.cursor < at then
    return response:fail { code = "invalid", message = ("the run has %d records: there is no record %d"):format(reader.cursor, at) }
  end
  local result = told:result()
  result.run = api_runs.find(server, reader.id)
  return response:json(200, result)
end

local function page(server, request, response)
  local from, wrong = number(request.query.from or "1", "from", 1)
  if not from then return response:fail(wrong) end
  local limit = math.tointeger(tonumber(request.query.limit or 100))
  if not limit or limit < 1 or limit > MAX_PAGE then return response:fail { code = "invalid", message = ("'limit' is a whole number from 1 to %d"):format(MAX_PAGE) } end
  local reader, err = records.open(server, request.params.id, { after = from - 1 })
  if not reader then return response:fail(err) end
  local list, bytes = {}, 0
  while #list < limit and bytes < 4 << 20 do
    local line, seq = reader:now()
    if not line then break end
    list[#list + 1], bytes = line, bytes + #line
    from = seq + 1
  end
  return response:json(200, ('{"records":[%s],"next":%d}'):format(table.concat(list, ","), from))
end

-- ---- As it comes ----------------------------------------------------------------------------------------

local function as_event(reader, line, seq)
  if seq == 0 then return ("event: delta\ndata: %s\n\n"):format(line) end
  local record = ("id: %d\ndata: %s\n\n"):format(seq, line)
  if not reader.gap then return record end
  return responses.event { event = "resync", data = { missed = reader.gap, at = seq } } .. record
end

-- As much as there is, up to some bytes, is one write: who reads a run that is over has thousands at once.
local function gather(reader, first, seq)
  local parts, bytes = { as_event(reader, first, seq) }, 0
  while bytes < TOGETHER do
    local line, n = reader:next(0)
    if not line then return parts, n == "ended" end
    parts[#parts + 1] = as_event(reader, line, n)
    bytes = bytes + #line
  end
  return parts, false
end

local function tell(server, reader, stream)
  while true do
    local line, seq = reader:next()
    local parts, ended = {}, true
    server:let_others()
    if line then parts, ended = gather(reader, line, seq) end
    if ended then
      if reader.run then reader.run:wait() end -- its last record comes a moment before its end
      local one = api_runs.find(server, reader.id)
      parts[#parts + 1] = responses.event { event = "end", data = { state = one and one.state or "unknown", at = reader.cursor } }
    end
    if not stream:write(table.concat(parts)) or ended then return end
  end
end

local function is_over(one)
  return one.state == "done" or one.state == "failed" or one.state == "cancelled"
end

local function events(server, request, response)
  local given = request.headers["last-event-id"]
  local after, wrong = number(given ~= nil and given ~= "" and given or request.query.after, given and "Last-Event-ID" or "after", 0)
  if wrong then return response:fail(wrong) end
  local one, err = api_runs.find(server, request.params.id)
  if not one then return response:fail(err) end
  local reader
  reader, err = records.open(server, one.id, { after = after, deltas = request.query.deltas == "1" })
  if not reader then return response:fail(err) end
  local line, seq
  if given and is_over(one) then -- who has heard all and comes again is asked to stop
    line, seq = reader:next(0)
    if not line then return response:send(204) end
  end
  local stream = response:stream { headers = { ["x-hocket-run"] = one.id } }
  if stream.closed then return end
  if line and not stream:write(as_event(reader, line, seq)) then return end
  return tell(server, reader, stream)
end

---@param server hocket.EndpointServer
function api_events.add(server)
  local function on(path, fn)
    server.router:on("GET", path, function(request, response) return fn(request.server, request, response) end)
  end
  on("/api/runs/{id}/snapshot", snapshot)
  on("/api/runs/{id}/records", page)
  on("/api/runs/{id}/events", events)
end

return api_events
