--- The responses that a simulated server keeps unless a request says `store: false`: what `item_reference` and `previous_response_id` name.
--- It keeps the newest ones.
local responses_check = require "hocket.internal.sim.responses_check"

local kept_responses = {}

local MAX_KEPT = 500

---@class hocket.KeptResponses
---@field input table<string, table[]> By the id of a response: the items that it answered, and its own.
---@field items table<string, table>
---@field order string[] Ids of responses, from `first` on.
---@field first integer
local KeptResponses = {}
KeptResponses.__index = KeptResponses

---@return hocket.KeptResponses
function kept_responses.new()
  return setmetatable({ input = {}, items = {}, order = {}, first = 1 }, KeptResponses)
end

-- An item as it is sent back: reasoning needs no more than its id to be known.
local function sealed(item)
  if item.type ~= "reasoning" then return item end
  local copy = {}
  for name, value in pairs(item) do copy[name] = value end
  copy.encrypted_content = responses_check.seal(item.id, item.summary[1].text)
  return copy
end

local function drop_oldest(self)
  if #self.order - self.first < MAX_KEPT then return end
  local id = self.order[self.first]
  for _, item in ipairs(self.input[id].own) do self.items[item.id] = nil end
  self.input[id], self.order[self.first] = nil, false
  self.first = self.first + 1
end

--- Keeps a response.
---@param response table
---@param input table[] The items that it answers, as `items_of` has made them.
function KeptResponses:keep(response, input)
  local all, own = table.move(input, 1, #input, 1, {}), {}
  for i, item in ipairs(response.output) do
    own[i] = sealed(item)
    self.items[item.id] = own[i]
    all[#all + 1] = own[i]
  end
  all.own = own
  self.input[response.id] = all
  self.order[#self.order + 1] = response.id
  drop_oldest(self)
end

--- The items of a request, with what it names.
---@param body table
---@param input table[]
---@return table[]? items
---@return string? wrong
function KeptResponses:items_of(body, input)
  local previous = body.previous_response_id
  local before = type(previous) == "string" and self.input[previous]
  if type(previous) == "string" and not before then return nil, ("Previous response with id '%s' not found."):format(previous) end
  local items = before and table.move(before, 1, #before, 1, {}) or {}
  for _, item in ipairs(input) do
    local is_reference = type(item) == "table" and item.type == "item_reference"
    local named = not is_reference and item or self.items[item.id]
    if not named then return nil, ("Item with id '%s' not found."):format(tostring(item.id)) end
    items[#items + 1] = named
  end
  return items
end

return kept_responses
