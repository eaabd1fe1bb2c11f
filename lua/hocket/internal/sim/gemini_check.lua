--- What Gemini's API refuses: requests, and conversations that do not come back as they went.
local json = require "hocket.json"
local random = require "hocket.internal.sim.random"
local wire = require "hocket.internal.sim.wire"

local check = {}

-- What Google names for calls that Gemini has not made.
local UNCHECKED = "skip_thought_signature_validator"

--- A call's signature is made from the call.
function check.signature(call)
  return "Cs" .. random.sign(tostring(call.name) .. "\0" .. json.encode(call.args), 62)
end

local fields = wire.set [[contents systemInstruction generationConfig safetySettings tools toolConfig cachedContent
  labels serviceTier model]]

local config_fields = wire.set [[temperature topP topK candidateCount maxOutputTokens stopSequences seed presencePenalty
  frequencyPenalty responseLogprobs logprobs responseMimeType responseSchema responseJsonSchema thinkingConfig
  responseModalities mediaResolution speechConfig imageConfig]]

local function check_fields(body)
  local unknown = wire.unknown(body, fields)
  if unknown then return ("Invalid JSON payload received. Unknown name \"%s\": Cannot find field."):format(unknown) end
  unknown = wire.unknown(wire.table(body.generationConfig), config_fields)
  if unknown then
    return ("Invalid JSON payload received. Unknown name \"%s\" at 'generation_config': Cannot find field."):format(unknown)
  end
  if type(body.contents) ~= "table" or #body.contents == 0 then
    return "* GenerateContentRequest.contents: contents is not specified"
  end
end

local function is_object(value)
  return type(value) == "table" and not json.is_array(value)
end

local function check_part(part, at)
  if type(part) ~= "table" then return at .. ": no object" end
  local call, result = part.functionCall, part.functionResponse
  if call and (type(call.name) ~= "string" or not is_object(call.args or {})) then
    return at .. ".function_call: a name and an object of args are needed"
  elseif result and (type(result.name) ~= "string" or not is_object(result.response)) then
    return at .. ".function_response: a name and an object as response are needed"
  end
end

local function check_content(content, at)
  if content.role ~= "user" and content.role ~= "model" then
    return "Please use a valid role: user, model."
  elseif type(content.parts) ~= "table" or #content.parts == 0 then
    return ("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty."):format(at)
  end
  for i, part in ipairs(content.parts) do
    local wrong = check_part(part, ("contents[%d].parts[%d]"):format(at, i - 1))
    if wrong then return wrong end
  end
end

local function parts_of(content, kind)
  local list = {}
  for _, part in ipairs(wire.table(content).parts or {}) do
    if part[kind] then list[#list + 1] = part end
  end
  return list
end

-- Results answer the calls of the content before, name by name; ids have to fit where there are any.
local function check_pair(calls, results)
  if #calls ~= #results then
    return "Please ensure that the number of function response parts is equal to the number of function call parts "
      .. "of the function call turn."
  end
  local open = {}
  for _, part in ipairs(calls) do
    local key = part.functionCall.name .. "\0" .. tostring(part.functionCall.id)
    open[key] = (open[key] or 0) + 1
  end
  for _, part in ipairs(results) do
    local result = part.functionResponse
    local key = result.name .. "\0" .. tostring(result.id)
    if not open[key] or open[key] == 0 then
      return ("The function response '%s' (id %s) answers no function call."):format(result.name, tostring(result.id))
    end
    open[key] = open[key] - 1
  end
end

local function check_turns(contents)
  for i, content in ipairs(contents) do
    local calls, before = parts_of(content, "functionCall"), contents[i - 1]
    local wrong = check_pair(parts_of(before, "functionCall"), parts_of(content, "functionResponse"))
    if wrong then return wrong end
    if #calls > 0 and (content.role ~= "model" or not before or before.role ~= "user") then
      return "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
    end
  end
  if #parts_of(contents[#contents], "functionCall") > 0 then
    return "Please ensure that function call turns are followed by function response turns."
  end
end

-- The calls since the user's last words: the first of each content has to be signed.
local function check_signatures(contents)
  for i = #contents, 1, -1 do
    local content = contents[i]
    local call = parts_of(content, "functionCall")[1]
    if content.role == "user" and #parts_of(content, "functionResponse") == 0 then return nil end
    if call and not call.thoughtSignature then
      return ("Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
        .. "correctly. Additional data, function call `%s`, position %d."):format(call.functionCall.name, i)
    elseif call and call.thoughtSignature ~= UNCHECKED and call.thoughtSignature ~= check.signature(call.functionCall) then
      return "Thought signature is not valid"
    end
  end
end

--- What is wrong with a request, or nil.
---@param body table
---@return string?
function check.request(body)
  local wrong = check_fields(body)
  if wrong then return wrong end
  for i, content in ipairs(body.contents) do
    wrong = check_content(wire.table(content), i - 1)
    if wrong then return wrong end
  end
  return check_turns(body.contents) or check_signatures(body.contents)
end

return check
