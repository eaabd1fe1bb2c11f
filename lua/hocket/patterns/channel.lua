--- What the members of a team say to each other: an append-only list of rounds, read with a cursor.
--- What is said in a round is seen by nobody before the round is over.
local block = require "hocket.block"

local channel = {}

---@class hocket.Channel In the order that it was said: {round, from, kind, text}.
---@field shown string[] As it is read: each in a frame.
local Channel = {}
Channel.__index = Channel

---@return hocket.Channel
function channel.new()
  return setmetatable({ shown = {} }, Channel)
end

-- A message keeps its frame: it is read by many. Its word is made when the round is over, so that what is
-- said in it cannot have it, and whoever repeats it later stands in a frame of their own.
local function show(message)
  if message.kind == "failure" then
    return "### " .. message.from .. " failed\n\n" .. block.wrap("error", message.from, message.text)
  end
  return "### From " .. message.from .. "\n\n" .. block.wrap("message", message.from, message.text)
end

--- Adds what was said in a round that is over.
---@param message {round: integer, from: string, kind: string, text: string}
function Channel:append(message)
  local n = #self + 1
  self[n], self.shown[n] = message, show(message)
end

--- What was said since a place in the list, as text; nil when that is nothing.
---@param after integer
---@param but? string Whose own words are left out.
---@return string?
function Channel:since(after, but)
  local text, round, first = nil, nil, nil -- of those that follow each other in a round, and are not left out
  for i = after + 1, #self + 1 do
    local message = self[i]
    local others = message and message.from ~= but
    if first and not (others and message.round == round) then
      text = text .. table.concat(self.shown, "\n\n", first, i - 1)
      first = nil
    end
    if others and not first then
      local heading = message.round ~= round and "## ROUND " .. message.round .. "\n\n" or ""
      text, round, first = (text and text .. "\n\n" or "") .. heading, message.round, i
    end
  end
  return text
end

return channel
