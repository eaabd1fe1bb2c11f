--- The shared document as tools see it: its slots as arguments of a call, and its text in a frame. What tools say of
--- the slots follows from the dimensions alone, and is made once for each list of them.
local fence = require "hocket.fence"

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
function Sections:mend(args)
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

--- The document with a tag in front of each entry, for who is going to consolidate it.
---@param doc hocket.Document
---@return string?
---@return hocket.Error?
function sections.tagged(doc)
  local text, err = doc:render { tagged = true }
  if not text then return nil, err end
  return text ~= "" and fence.wrap("document", "all who write in it", text) or "(the document is empty)"
end

return sections
