--- Members of a request that nothing here has a word for: `body:` of an agent, of a provider, of a call. They are merged into
--- what is sent (net/protocol/extra.c): objects member by member, null takes a member of ours away. What hocket itself lives by
--- cannot be said there: an answer that is read in another way than it was asked for is no answer.
local json = require "hocket.json"

local body = {}

--- Bytes of it as JSON.
local LIMIT = 65536

-- Each with what says it.
local ours = {
  model = "the key 'model' says it", stream = "answers are always read as a stream", tool_choice = "tools are offered by 'tools' and 'server_tools'",
  messages = "it is the conversation", system = "it is the agent's prompt", tools = "tools are offered by 'tools' and 'server_tools'",
  n = "one answer is read", previous_response_id = "the conversation is kept here, and sent whole",
}
for name, same in pairs { contents = "messages", input = "messages", prompt = "messages", instructions = "system", systemInstruction = "system",
  system_instruction = "system", toolConfig = "tool_choice", tool_config = "tool_choice", toolChoice = "tool_choice", functions = "tools",
  function_call = "tool_choice", candidateCount = "n", conversation = "previous_response_id", background = "stream", modelId = "model" } do
  ours[name] = ours[same]
end

-- Where protocols have members of theirs one level down.
local inside = { generationConfig = true, generation_config = true, inferenceConfig = true }

local function refused(value, at)
  for name, inner in pairs(value) do
    if type(name) ~= "string" then return at, "must be names with values" end
    if ours[name] then return at .. "/" .. name, ("cannot be set here: %s"):format(ours[name]) end
    if inside[name] and type(inner) == "table" then
      local where, why = refused(inner, at .. "/" .. name)
      if where then return where, why end
    end
  end
end

--- What is wrong with it, if anything.
---@param value any
---@return string? where As "/generationConfig/candidateCount".
---@return string? why
function body.wrong(value)
  if type(value) ~= "table" or json.is_array(value) then return "", "must be names with values" end
  local where, why = refused(value, "")
  if where then return where, why end
  local ok, text = pcall(json.encode, value)
  if not ok then return "", "is no JSON: " .. tostring(text) end
  if #text > LIMIT then return "", ("has %d bytes as JSON: %d at most"):format(#text, LIMIT) end
end

--- As it is sent; nil where there is nothing in it.
---@param value? table
---@return string? json
function body.text(value)
  return value and next(value) ~= nil and json.encode(value) or nil
end

return body
