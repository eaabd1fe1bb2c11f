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

-- A message keeps its frame: it is read by many. Its word is made when the round is over, so that what is
-- said in it cannot have it, and whoever repeats it later stands in a frame of their own.
local function show(message)
  local failed = message.kind == "failure"
  message.shown = "### " .. (failed and message.from .. " failed" or "From " .. message.from) .. "\n\n"
    .. block.wrap(failed and "error" or "message", message.from, message.text)
  return message.shown
end

--- What was said since a place in the list, as text; nil when that is nothing.
---@param after integer
---@param but? string Whose own words are left out.
---@return string?
function Channel:since(after, but)
  local parts, n, round = {}, 0, nil
  for i = after + 1, #self do
    local message = self[i]
    if message.from ~= but then
      if message.round ~= round then
        round, n = message.round, n + 1
        parts[n] = "## ROUND " .. round
      end
      n = n + 1
      parts[n] = message.shown or show(message)
    end
  end
  return n > 0 and table.concat(parts, "\n\n") or nil
end

return channel
