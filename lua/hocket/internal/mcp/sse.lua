--- Server-sent events out of pieces of a body (WHATWG HTML, 9.2.6).
local sse = {}

--- Bytes of one event.
local MAX = 32 << 20

---@class hocket.SseReader
---@field id? string The last event's, as the server named it.
---@field retry? number Seconds to wait before coming again, where the server said so.
local Reader = {}
Reader.__index = Reader

---@return hocket.SseReader
function sse.reader()
  return setmetatable({ rest = "", data = false, event = "message" }, Reader)
end

local fields = {
  data = function(self, value) self.data = self.data and self.data .. "\n" .. value or value end,
  event = function(self, value) self.event = value end,
  id = function(self, value) if not value:find "\0" then self.id = value end end,
  retry = function(self, value) if value:find "^%d+$" and #value < 10 then self.retry = tonumber(value) / 1000 end end,
}

-- One line: at a blank one the event is whole.
local function take_line(self, line, out)
  if line == "" then
    if self.data then out[#out + 1] = { event = self.event, data = self.data } end
    self.data, self.event = false, "message"
    return
  end
  local name, value = line:match "^([^:]*):? ?(.*)$"
  local take = fields[name]
  if take then take(self, value) end
end

--- Takes a piece, and gives the events that are whole with it. nil: one is longer than 32 MiB.
---@param piece string
---@return {event: string, data: string}[]? events
function Reader:feed(piece)
  local text, out, at = self.rest .. piece, {}, 1
  while true do
    local from, to = text:find("\r?\n", at)
    local bare = text:find("\r", at, true)
    if bare and bare < #text and (not from or bare < from) then from, to = bare, bare end -- the last byte may be half of \r\n
    if not from then break end
    take_line(self, text:sub(at, from - 1), out)
    at = to + 1
  end
  self.rest = text:sub(at)
  if #self.rest + (self.data and #self.data or 0) > MAX then return nil end
  return out
end

return sse
