--- What the members of a team say to each other: an append-only list of rounds, read with a cursor.
--- What is said in a round is seen by nobody before the round is over.
local fence = require "hocket.fence"

local channel = {}

---@class hocket.Channel What was said at once, in order: {round, text, begins, ends}, of each speaker where their words begin and end in the text; scattered: what each said, where someone of one name speaks again after others.
---@field count integer Of messages.
local Channel = {}
Channel.__index = Channel

---@return hocket.Channel
function channel.new()
  return setmetatable({ count = 0 }, Channel)
end

-- A message keeps its fence: it is read by many. Its word is made when the round is over, so that what is
-- said in it cannot have it, and whoever repeats it later stands in a fence of their own.
local function show(message)
  if message.kind == "failure" then
    return "\n\n### " .. message.from .. " failed\n\n" .. fence.wrap("error", message.from, message.text)
  end
  return "\n\n### From " .. message.from .. "\n\n" .. fence.wrap("message", message.from, message.text)
end

--- Adds what was said in a round, in order: mostly who has more than one message has them one after the other.
---@param round integer
---@param messages {from: string, kind: string, text: string}[]
function Channel:append(round, messages)
  if #messages == 0 then return end
  local shown, begins, ends, at, scattered = {}, {}, {}, 0, false
  for i = 1, #messages do
    local message = messages[i]
    shown[i] = show(message)
    scattered = scattered or (ends[message.from] or at) ~= at
    begins[message.from] = begins[message.from] or at + 1
    at = at + #shown[i]
    ends[message.from] = at
  end
  local text = table.concat(shown)
  if scattered then
    for i = 1, #messages do shown[i] = { from = messages[i].from, text = shown[i] } end
    scattered = shown
  end
  self[#self + 1] = { round = round, text = text, begins = begins, ends = ends, scattered = scattered }
  self.count = self.count + #messages
end

-- What was said at once in two parts, between which the words of one were.
local function without(words, from)
  local first, text = words.begins[from], words.text
  if not first then return text, "" end
  if words.scattered then
    local others = {}
    for _, one in ipairs(words.scattered) do others[#others + 1] = one.from ~= from and one.text or nil end
    return table.concat(others), ""
  end
  return text:sub(1, first - 1), text:sub(words.ends[from] + 1)
end

--- What was said since a place in the list, as text between two others; nil when that is nothing.
---@param after integer
---@param but string|false Whose own words are left out.
---@param lead string
---@param tail string
---@return string?
function Channel:since(after, but, lead, tail)
  local said, round, last = nil, nil, #self
  for i = after + 1, last do
    local words = self[i]
    local before, behind = without(words, but)
    if before ~= "" or behind ~= "" then
      local heading = words.round == round and "" or (said and "\n\n## ROUND " or "## ROUND ") .. words.round
      if i == last then return (said or lead) .. heading .. before .. behind .. tail end
      said, round = (said or lead) .. heading .. before .. behind, words.round
    end
  end
  return said and said .. tail
end

return channel
