--- The shared document as tools see it: its slots as arguments of a call, and its text. What tools say of
--- the slots follows from the dimensions alone, and is made once for each list of them.

local sections = {}

---@class hocket.Sections
---@field dimensions table[]
---@field schemas table<string, table> By what the text is for.
local Sections = {}
Sections.__index = Sections

local known = setmetatable({}, { __mode = "k" }) -- by the list of dimensions

--- What there is to say of a document's slots; nil when its dimensions leave no name for the text: that and the
--- slot's values are arguments of one call.
---@param doc hocket.Document
---@return hocket.Sections?
---@return hocket.Error?
function sections.of(doc)
  local dimensions = doc:dimensions()
  local self = known[dimensions]
  if self then return self end
  for _, dimension in ipairs(dimensions) do
    if dimension[1] == "content" then
      return nil, { code = "invalid", message = "a dimension of the document cannot be called 'content': that is the text that is written" }
    end
  end
  self = setmetatable({ dimensions = dimensions, schemas = {} }, Sections)
  known[dimensions] = self
  return self
end

local function property(name, kind, bounds)
  if kind ~= "integer" then return { type = "string", enum = kind } end
  bounds = bounds or { 0 }
  return { type = "integer", minimum = bounds[1], maximum = bounds[2], description = ("%s, 0 for general"):format(name) }
end

--- A schema with a slot and a text: one table for each description of the text.
---@param text_description string
---@return table
function Sections:schema(text_description)
  local schema = self.schemas[text_description]
  if schema then return schema end
  local properties, required = {}, {}
  for i, dimension in ipairs(self.dimensions) do
    required[i], properties[dimension[1]] = dimension[1], property(table.unpack(dimension, 1, 3))
  end
  properties.content = { type = "string", minLength = 1, description = text_description }
  required[#required + 1] = "content"
  schema = { type = "object", properties = properties, required = required }
  self.schemas[text_description] = schema
  return schema
end

--- Puts the arguments of a call right: integers may come as text, "2" is 2.
---@param args table
---@return table args
function Sections:repair(args)
  for _, dimension in ipairs(self.dimensions) do
    local name = dimension[1]
    if dimension[2] == "integer" and type(args[name]) == "string" then
      args[name] = math.tointeger(tonumber(args[name])) or args[name]
    end
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

--- What a tool that gives sections.tagged says of itself.
sections.tagged_words = "The shared document with a tag [agent] in front of each entry, so that you see what to consolidate."

--- The fence that the document's text stands in.
sections.fence = { "document", "all who write in it", empty = "(the document is empty)" }

-- The document with a tag in front of each entry, for who is going to consolidate it.
local function tagged(doc)
  local text, err = doc:render { tagged = true }
  if not text then return nil, err end
  return text ~= "" and text or sections.fence.empty
end

--- What an agent is shown of its document. For who consolidates (`ctx.reading`) it is noted what that was.
---@param ctx table
---@return string?
---@return hocket.Error?
function sections.read(ctx)
  if ctx.reading then ctx.reading.shown = ctx.document:version() end
  return tagged(ctx.document)
end

---@class hocket.Reading What one who consolidates knows of a document.
---@field shown? integer The version that it was shown last.
---@field known? integer The version that stood in the request that the model answers: what comes in the same turn as a call was not known to it.
---@field merged table<string, {version: integer, base: integer}> What it has merged itself, by slot.

--- From now on what was shown is known: a request is about to be made.
---@param reading hocket.Reading
function sections.send(reading)
  reading.known = reading.shown or reading.known
end

local function key_of(slot)
  local parts = {}
  for name, value in pairs(slot) do parts[#parts + 1] = ("%s=%s"):format(name, value) end
  table.sort(parts)
  return table.concat(parts, "\0")
end

-- What stands beside a merged text, as who merged it is told; and whether others have merged as well.
local function beside(doc, version)
  local lines, conflict = {}, false
  for i, one in ipairs(doc:beside(version) or {}) do
    conflict = conflict or one.merged
    lines[i] = ("%s (%sversion %d)"):format(one.agent, one.merged and "merged, " or "", one.version)
  end
  return #lines > 0 and table.concat(lines, ", ") or nil, conflict
end

-- Notes a merged text. Returns which of its author's own it stands for, if any.
local function note(reading, slot, version, base)
  local key = key_of(slot)
  local before = reading.merged[key]
  reading.merged[key] = { version = version, base = base }
  return before and before.version > base and before.base <= base and before.version or nil
end

--- Puts a merged text in the place of what its author knows of a slot.
---@param ctx table With `reading`.
---@param slot table<string, any>
---@param content string
---@return string? said What the author is to know.
---@return hocket.Error?
function sections.merge(ctx, slot, content)
  local doc, base, name = ctx.document, ctx.reading.known, ctx.agent.name
  if not base then
    return nil, { code = "state", message = ctx.reading.shown and "you have called read_document in this same turn: read its result first, then consolidate"
      or "read the document first (read_document), then consolidate" }
  end
  local version, err = doc:consolidate(slot, name, content, base)
  if not version then return nil, err end
  local own, others, conflict = note(ctx.reading, slot, version, base), beside(doc, version)
  local said = { ("consolidated (version %d)%s"):format(version, own and (" in the place of your own text of version %d"):format(own) or "") }
  if others then said[2] = "Beside it stands what you had not read: " .. others .. ". Read the document again, then consolidate this slot anew." end
  if conflict then
    ctx.run:emit("warning", { message = ("two have merged the same slot of the document, and both texts stand: %s (version %d) and %s"):format(name, version, others) }, name)
    said[1] = "CONFLICT: somebody else has merged this slot as well, and both texts stand now. " .. said[1]
  end
  return table.concat(said, ". ")
end

return sections
