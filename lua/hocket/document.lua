--- The shared document: slots that agents append to and a facilitator consolidates.
---
---     local hocket = require "hocket"
---     local document = hocket.document { { "day", "integer" }, { "part", { "morning", "evening" } } }
---     local slot = { day = 1, part = "morning" }
---     assert(document:append(slot, "food", "Breakfast at the market."))
---     assert(document:consolidate(slot, "lead", "Breakfast at the market, then the castle.", document:version()))
---     print(document:render())
---
--- Dimensions come in order; a slot is one value of each: of `integer`, or of a list.
local core = require "hocket.internal.core.document"
local fiber = require "hocket.internal.core.fiber"
local misuse = require "hocket.internal.base.misuse"

local document = {}

--- Makes a document. Inside a run its changes are events of that run.
---@param dimensions table[] { name, "integer", {min, max}? } or { name, { values… } }
---@param limits? {max_entry?: integer, max_bytes?: integer, max_slots?: integer, max_entries?: integer, max_versions?: integer}
---@return hocket.Document
function document.new(dimensions, limits)
  local made = misuse.told("hocket.document", core.new, dimensions, limits)
  local context = fiber.context()
  if context and context.run then context.run:adopt { document = made } end
  return made
end

-- One entry of an agent file's list: {day: integer} or {part: [morning, evening]}.
local function from_entry(entry)
  local name, kind = next(entry)
  if type(name) ~= "string" or next(entry, name) ~= nil then
    return nil, "each dimension is one name, as in {day: integer}"
  elseif kind ~= "integer" and type(kind) ~= "table" then
    return nil, ("the dimension '%s' must be 'integer' or a list of names"):format(name)
  end
  return { name, kind }
end

--- That a dimension has a name that it cannot have; nil: none has.
---@param dimensions table[]
---@return string? wrong
---@internal
function document.wrong_name(dimensions)
  for _, dimension in ipairs(dimensions) do
    if dimension[1] == "content" then return "a dimension of the document cannot be called 'content': that is the text that is written" end
  end
end

--- The dimensions in the form that agent files have: [{day: integer}, {part: [morning, evening]}].
---@param list table[]
---@return table[]? dimensions
---@return string? wrong
---@internal
function document.from_list(list)
  local dimensions = {}
  for i, entry in ipairs(list) do
    local dimension, wrong = from_entry(type(entry) == "table" and entry or {})
    if not dimension then return nil, wrong end
    dimensions[i] = dimension
  end
  if #dimensions == 0 then return nil, "at least one dimension is needed" end
  local wrong = document.wrong_name(dimensions)
  if wrong then return nil, wrong end
  return dimensions
end

return setmetatable(document, { __call = function(_, ...) return document.new(...) end })
