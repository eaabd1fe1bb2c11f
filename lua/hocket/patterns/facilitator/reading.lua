--- What one who consolidates knows of a document: the entries that stand whole in the request that its model has just
--- answered. What it was shown is searched for in the conversation itself, so a page that was cut, or that a compaction has
--- taken out since, is not known. Of its own merged texts it knows those whose call is still there.

---@class hocket.Reading
---@field pages {id: string, page: hocket.Page, version: integer, sent: boolean}[] What it was shown, by the call that asked for it.
---@field own table<integer, string> Its own merged texts by version: the calls that wrote them.
---@field base? integer The newest version of the document that a request of its has shown.
local Reading = {}
Reading.__index = Reading

local reading = {}

--- Pages that are remembered: of those before them it would have to be read anew.
local PAGES = 200

---@return hocket.Reading
function reading.new()
  return setmetatable({ pages = {}, own = {} }, Reading)
end

--- A page is the result of a call.
---@param id string The call's.
---@param page hocket.Page
---@param version integer The document's.
function Reading:show(id, page, version)
  if #self.pages >= PAGES then table.remove(self.pages, 1) end
  self.pages[#self.pages + 1] = { id = id, page = page, version = version, sent = false }
end

--- It has merged a text in a call.
---@param id string
---@param version integer
function Reading:wrote(id, version)
  self.own[version] = id
end

--- A request is about to be made: results of the calls before it are part of it.
function Reading:send()
  for i = #self.pages, 1, -1 do
    local one = self.pages[i]
    if one.sent then break end
    one.sent = true
    self.base = math.max(self.base or 0, one.version)
  end
end

--- Whether a page was shown in the turn that is under way: its result is for the next one.
---@return boolean
function Reading:is_pending()
  local last = self.pages[#self.pages]
  return last ~= nil and not last.sent
end

-- The results in a conversation, and the calls, by their ids.
local function said_in(history)
  local results, calls = {}, {}
  for _, message in ipairs(history and history:messages() or {}) do
    if message.role == "tool" then results[message.id] = message.text end
    for _, call in ipairs(message.calls or {}) do calls[call.id] = true end
  end
  return results, calls
end

-- Whether ranges are all of an entry.
local function is_whole(ranges)
  table.sort(ranges, function(a, b) return a.from < b.from end)
  local reached = 0
  for _, one in ipairs(ranges) do
    if one.from > reached + 1 then return false end
    reached = math.max(reached, one.to)
  end
  return reached >= ranges[1].of
end

--- The entries that it knows, by version: "read", or "own" where it has written them and not read them since. Pages
--- that are in no request any more are forgotten.
---@param history? hocket.History Its conversation.
---@return table<integer, "read"|"own">
function Reading:known(history)
  local results, calls = said_in(history)
  local known, ranges, kept = {}, {}, {}
  for version, id in pairs(self.own) do known[version] = calls[id] and "own" or nil end
  for _, one in ipairs(self.pages) do
    local stands = one.sent and results[one.id] and results[one.id]:find(one.page.text, 1, true)
    if stands or not one.sent then kept[#kept + 1] = one end
    for _, range in ipairs(stands and one.page.ranges or {}) do
      ranges[range.version] = ranges[range.version] or {}
      table.insert(ranges[range.version], range)
    end
  end
  self.pages = kept
  for version, list in pairs(ranges) do known[version] = is_whole(list) and "read" or known[version] end
  return known
end

return reading
