--- The shared document as tools see it: its slots as arguments of a call, and its text. What tools say of
--- the slots follows from the dimensions alone, and is made once for each list of them.

local json = require "hocket.json"
local document = require "hocket.document"
local pages = require "hocket.patterns.facilitator.pages"
local tool = require "hocket.tool"

local sections = {}

---@class hocket.Sections
---@field dimensions table[]
---@field schemas table<string, table> By what the text is for.
---@field package read_document? hocket.Tool
---@field package page string The argument that says which page.
local Sections = {}
Sections.__index = Sections

local known = setmetatable({}, { __mode = "k" }) -- by the list of dimensions

-- The argument of a reader that is no dimension.
local function page_name(dimensions)
  local name = "page"
  for _ = 1, #dimensions do
    for _, dimension in ipairs(dimensions) do
      if dimension[1] == name then name = name .. "_number" end
    end
  end
  return name
end

--- What to say of a document's slots; nil when its dimensions leave no name for the text: that and the
--- slot's values are arguments of one call.
---@param doc hocket.Document
---@return hocket.Sections?
---@return hocket.Error?
function sections.of(doc)
  local dimensions = doc:dimensions()
  local self = known[dimensions]
  if self then return self end
  local wrong = document.wrong_name(dimensions)
  if wrong then return nil, { code = "invalid", message = wrong } end
  self = setmetatable({ dimensions = dimensions, schemas = {}, page = page_name(dimensions) }, Sections)
  known[dimensions] = self
  return self
end

local function property(name, kind, bounds)
  if kind ~= "integer" then return { type = "string", enum = kind } end
  bounds = bounds or { 0 }
  return { type = "integer", minimum = bounds[1], maximum = bounds[2], description = ("%s, 0 for general"):format(name) }
end

--- A schema with a slot and a text: one table for each description of the text.
---@param text_description? string
---@return table
function Sections:schema(text_description)
  local schema = self.schemas[text_description or ""]
  if schema then return schema end
  local properties, required = {}, {}
  for i, dimension in ipairs(self.dimensions) do
    required[i], properties[i] = dimension[1], { dimension[1], property(table.unpack(dimension, 1, 3)) }
  end
  properties[#properties + 1] = { "content", { type = "string", minLength = 1, description = text_description } }
  required[#required + 1] = "content"
  schema = { type = "object", properties = json.object(properties), required = required }
  self.schemas[text_description or ""] = schema
  return schema
end

local function whole(value)
  return type(value) == "string" and math.tointeger(tonumber(value)) or value
end

--- Puts the arguments of a call right: integers may come as text, "2" is 2.
---@param args table
---@return table args
function Sections:repair(args)
  for _, dimension in ipairs(self.dimensions) do
    local name = dimension[1]
    if dimension[2] == "integer" then args[name] = whole(args[name]) end
  end
  args[self.page] = whole(args[self.page])
  return args
end

--- Names the slot where a dimension has one value only: built-in tools do not declare such an argument.
---@param args table
---@return table args
function Sections:fill(args)
  for _, dimension in ipairs(self.dimensions) do
    local values = dimension[2]
    if values ~= "integer" and #values == 1 and args[dimension[1]] == nil then args[dimension[1]] = values[1] end
  end
  return args
end

--- The slot that a call's arguments name.
---@param args table
---@return table<string, any>
function Sections:slot(args)
  local slot = {}
  for _, dimension in ipairs(self.dimensions) do slot[dimension[1]] = args[dimension[1]] end
  return slot
end

--- The fence that the document's text stands in.
sections.fence = { "document", "all who write in it", empty = "(the document is empty)" }

-- ---- Reading ----------------------------------------------------------------------------------------

--- Bytes that a result may have where nobody says less, and of what stands around a page.
local ROOM, AROUND = 64 * 1024, 384

local function read_schema(self)
  local properties = {}
  for i, dimension in ipairs(self.dimensions) do properties[i] = { dimension[1], property(table.unpack(dimension, 1, 3)) } end
  properties[#properties + 1] = { self.page, { type = "integer", minimum = 1 } }
  return { type = "object", properties = json.object(properties) }
end

local function room_of(ctx)
  return math.max((ctx.session and ctx.session:result_room() or ROOM) - AROUND, 1)
end

local function footer(self, n, count, wanted)
  if count == 1 then return "" end
  if n == count then return ("\n[page %d of %d, the last one]"):format(n, count) end
  local slots = next(wanted) == nil and "; or name a slot, to read that alone" or ""
  return ("\n[page %d of %d; go on with %s = %d%s]"):format(n, count, self.page, n + 1, slots)
end

-- A page of the document. For who consolidates (`ctx.reading`) it is noted what that shows.
local function read(self, args, ctx)
  local doc, wanted, n = ctx.document, self:slot(args), args[self.page] or 1
  local list = pages.of(doc, wanted, room_of(ctx))
  if #list == 0 then list[1] = { text = next(wanted) == nil and sections.fence.empty or "(nothing is written there)", ranges = {} } end
  local page = list[n]
  if not page then return nil, { code = "invalid", message = #list == 1 and "there is only one page" or ("there are only %d pages"):format(#list) } end
  if ctx.reading then ctx.reading:show(ctx.call_id, page, doc:version()) end
  return page.text .. footer(self, n, #list, wanted)
end

--- The tool that reads the document; one for all who have it.
---@return hocket.Tool
function Sections:reader()
  if self.read_document then return self.read_document end
  self.read_document = tool {
    steps = true, name = "read_document",
    description = "Show the document, with the [agent] of each entry.",
    parameters = read_schema(self), former = "read_document",
    fence = sections.fence,
    repair = function(args) return self:repair(args) end,
    run = function(args, ctx) return read(self, args, ctx) end,
  }
  return self.read_document
end

-- ---- Merging ------------------------------------------------------------------------------------------

-- How to read a slot: read_document(day = 1, time_slot = "morning").
local function how_to_read(self, slot)
  local parts = {}
  for i, dimension in ipairs(self.dimensions) do
    local value = slot[dimension[1]]
    parts[i] = ("%s = %s"):format(dimension[1], type(value) == "string" and ('"%s"'):format(value) or tostring(value))
  end
  return ("read_document(%s)"):format(table.concat(parts, ", "))
end

--- Entries that are named to who has not read them.
local NAMED = 10

local function named(entries)
  local lines = {}
  for i = 1, math.min(#entries, NAMED) do
    local one = entries[i]
    lines[i] = ("%s (%sversion %d)"):format(one.agent, one.merged and "merged, " or "", one.version)
  end
  if #entries > NAMED then lines[#lines + 1] = ("and %d more"):format(#entries - NAMED) end
  return table.concat(lines, ", ")
end

-- Whether a merge would only add to what its author could have read: nothing of the slot is known, and it was not empty then.
local function is_blind(entries, versions, base)
  if not base then return true end
  if #versions > 0 then return false end
  for _, one in ipairs(entries) do
    if one.version <= base then return true end
  end
  return false
end

-- Nothing of the slot is known to who would merge it.
local function refuse(self, ctx, slot, entries)
  local message
  if ctx.reading:is_pending() then
    message = "you have called read_document in this same turn: read its result first, then consolidate"
  elseif not ctx.reading.base then
    message = "read the document first (read_document), then consolidate"
  else
    message = ("nothing was merged: no entry of this slot stands whole in what you have in front of you. It has %s. Read it with %s, all pages, then consolidate it")
      :format(named(entries), how_to_read(self, slot))
  end
  return nil, { code = "state", message = message }
end

-- The entries of a slot that its author knows, their versions; and its own newest one that it has not read, if any.
local function known_of(entries, known)
  local versions, own = {}, nil
  for _, one in ipairs(entries) do
    if known[one.version] then versions[#versions + 1] = one.version end
    if known[one.version] == "own" then own = math.max(own or 0, one.version) end
  end
  return versions, own
end

-- Whether somebody else has merged what stands beside.
local function is_conflict(others, about)
  for _, one in ipairs(others) do
    if one.merged and not about.own[one.version] then return true end
  end
  return false
end

--- Puts a merged text in the place of what its author knows of a slot; what it does not know stays beside it.
---@param ctx table With `reading`.
---@param slot table<string, any>
---@param content string
---@return string? said What the author is to know.
---@return hocket.Error?
function Sections:merge(ctx, slot, content)
  local doc, name, about = ctx.document, ctx.agent.name, ctx.reading
  local entries = pages.entries(doc, slot)
  local versions, own = known_of(entries, about:known(ctx.session and ctx.session.history))
  if is_blind(entries, versions, about.base) then return refuse(self, ctx, slot, entries) end
  local version, err = doc:consolidate(slot, name, content, about.base, versions)
  if not version then return nil, err end
  about:wrote(ctx.call_id, version)
  local others = doc:beside(version) or {}
  local said = { ("consolidated (version %d)%s"):format(version, own and (" in the place of your own text of version %d"):format(own) or "") }
  if #others > 0 then
    said[2] = ("Beside it stands what you had not read: %s. Read this slot again, with %s, all pages, then consolidate it anew."):format(named(others), how_to_read(self, slot))
  end
  if is_conflict(others, about) then
    ctx.run:emit("warning", { message = ("two have merged the same slot of the document, and both texts stand: %s (version %d) and %s"):format(name, version, named(others)) }, name)
    said[1] = "CONFLICT: somebody else has merged this slot as well, and both texts stand now. " .. said[1]
  end
  return table.concat(said, ". ")
end

return sections
