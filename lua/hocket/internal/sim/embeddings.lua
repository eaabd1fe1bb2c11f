--- Vectors of the scripted model, in OpenAI's form: each word counts in one dimension, so that texts with words in common are near each
--- other, and the same text has the same vector everywhere.
local json = require "hocket.json"
local random = require "hocket.internal.sim.random"

local WIDTH, MOST = 64, 4096

local function vector_of(text, width)
  local vector, length = {}, 0
  for i = 1, width do vector[i] = 0.0 end
  for word in text:lower():gmatch "[%w\128-\255]+" do
    local at = random.hash(word) % width + 1
    vector[at] = vector[at] + 1
  end
  for i = 1, width do length = length + vector[i] ^ 2 end
  if length == 0 then vector[1], length = 1.0, 1 end
  for i = 1, width do vector[i] = vector[i] / length ^ 0.5 end
  return vector
end

--- The answer to a request's body, as JSON; or nil and what is wrong with it.
---@param body string
---@return string? json
---@return string? wrong
return function(body)
  local request = json.decode(body)
  local input = type(request) == "table" and request.input
  if type(input) == "string" then input = { input } end
  if type(input) ~= "table" or #input == 0 then return nil, "'input' is a required property" end
  local width, data, bytes = math.tointeger(request.dimensions) or WIDTH, json.array {}, 0
  if width < 1 or width > MOST then return nil, "Invalid value for 'dimensions'" end
  for i, text in ipairs(input) do
    if type(text) ~= "string" then return nil, "'input' must be texts" end
    data[i], bytes = { object = "embedding", index = i - 1, embedding = json.array(vector_of(text, width)) }, bytes + #text
  end
  return json.encode { object = "list", model = tostring(request.model), data = data, usage = { prompt_tokens = bytes // 4 + 1, total_tokens = bytes // 4 + 1 } }
end
