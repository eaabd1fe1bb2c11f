--- A document as pages that a model is shown whole: its entries with a tag [agent] in front of each, as many as a page
--- holds. An entry that is longer than a page comes in parts.
local pages = {}

---@class hocket.Page
---@field text string
---@field ranges {version: integer, from: integer, to: integer, of: integer}[] Which bytes of which entries it shows, out of how many.

--- Bytes of a page, at least, and of what stands around the text of a part.
local LEAST, AROUND = 64, 64

local function fits(slot, wanted)
  for name, value in pairs(wanted) do
    if slot[name] ~= value then return false end
  end
  return true
end

--- The entries of the slots that have these values, in the document's order.
---@param doc hocket.Document
---@param wanted table<string, any> Some dimensions, or all of them, or none.
---@return {version: integer, agent: string, heading: string}[]
function pages.entries(doc, wanted)
  local list = {}
  for _, slot in ipairs(doc:slots()) do
    for _, entry in ipairs(fits(slot.slot, wanted) and slot.entries or {}) do
      list[#list + 1] = { version = entry.version, agent = entry.agent, heading = slot.heading }
    end
  end
  return list
end

-- Where a part that begins at a byte ends: with a line, where one ends late enough, and never within a character.
local function stop_of(text, from, room)
  local stop = from + room - 1
  if stop >= #text then return #text end
  local line = text:sub(stop - room // 4, stop):match "^.*()\n"
  return line and stop - room // 4 + line - 1 or math.max(from, utf8.offset(text, 0, stop + 1) - 1)
end

local function part(entry, text, from, to, of)
  return { version = entry.version, heading = entry.heading, text = text, from = from, to = to, of = of }
end

-- An entry as it is shown: whole, or in parts that fit.
local function parts_of(doc, entry, room)
  local text = doc:tagged(entry.version)
  if #text <= room then return { part(entry, text, 1, #text, #text) } end
  local body, stops, from = text:sub(#entry.agent + 4), {}, 1
  while from <= #body do
    stops[#stops + 1] = stop_of(body, from, math.max(room - #entry.agent - AROUND, LEAST))
    from = stops[#stops] + 1
  end
  local list = {}
  for i, stop in ipairs(stops) do
    local begin = (stops[i - 1] or 0) + 1
    list[i] = part(entry, ("[%s, part %d of %d] %s"):format(entry.agent, i, #stops, body:sub(begin, stop)), begin, stop, #body)
  end
  return list
end

-- What stands before a part on a page that has `last` at its end; `before` came last of all.
local function lead_of(one, last, before)
  if last and last.heading == one.heading then return "" end
  local heading = ("## %s%s\n\n"):format(one.heading, not last and before and before.heading == one.heading and " (continued)" or "")
  return last and "\n" .. heading or heading
end

--- Makes pages. None where nothing is written.
---@param doc hocket.Document
---@param wanted table<string, any> As for entries.
---@param room integer Bytes of one page, at most.
---@return hocket.Page[]
function pages.of(doc, wanted, room)
  local list, page, last, before = {}, nil, nil, nil
  for _, entry in ipairs(pages.entries(doc, wanted)) do
    for _, one in ipairs(parts_of(doc, entry, math.max(room - #entry.heading - AROUND, LEAST))) do
      local text = lead_of(one, last, before) .. one.text .. "\n"
      if not page or page.bytes + #text > room then
        page, last = { bytes = 0, texts = {}, ranges = {} }, nil
        list[#list + 1], text = page, lead_of(one, last, before) .. one.text .. "\n"
      end
      page.bytes, page.texts[#page.texts + 1], last, before = page.bytes + #text, text, one, one
      page.ranges[#page.ranges + 1] = { version = one.version, from = one.from, to = one.to, of = one.of }
    end
  end
  for i, one in ipairs(list) do list[i] = { text = table.concat(one.texts), ranges = one.ranges } end
  return list
end

return pages
