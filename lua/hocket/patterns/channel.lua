--- What the members of a team say to each other: an append-only list of rounds, read with a cursor.
--- What is said in a round is seen by nobody before the round is over.
local block = require "hocket.block"

local channel = {}

---@class hocket.Channel In the order that it was said: {round, from, kind, text}.
local Channel = {}
Channel.__index = Channel

---@return hocket.Channel
function channel.new()
  return setmetatable({}, Channel)
end

--- Adds what was said in a round, in order.
---@param round integer
---@param messages {from: string, kind: string, text: string}[]
function Channel:append(round, messages)
  for _, message in ipairs(messages) do
    self[#self + 1] = { round = round, from = message.from, kind = message.kind, text = message.text }
  end
end

local function show(message)
  if message.kind == "failure" then
    return ("### %s failed\n\n%s"):format(message.from, block.wrap("error", message.from, message.text))
  end
  return ("### From %s\n\n%s"):format(message.from, block.wrap("message", message.from, message.text))
end

--- What was said since a place in the list, as text; nil when that is nothing.
---@param after integer
---@param but? string Whose own words are left out.
---@return string?
function Channel:since(after, but)
  local parts, round = {}, nil
  for i = after + 1, #self do
    local message = self[i]
    if message.from ~= but then
      if message.round ~= round then parts[#parts + 1] = ("## ROUND %d"):format(message.round) end
      round = message.round
      parts[#parts + 1] = show(message)
    end
  end
  return #parts > 0 and table.concat(parts, "\n\n") or nil
end

return channel
