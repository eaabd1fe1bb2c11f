--- The scripted model's side of Gemini's API.
local gemini_check = require "hocket.internal.sim.gemini_check"
local json = require "hocket.json"
local wire = require "hocket.internal.sim.wire"

local gemini = { name = "gemini" }

local statuses = {
  [400] = "INVALID_ARGUMENT", [401] = "UNAUTHENTICATED", [403] = "PERMISSION_DENIED", [404] = "NOT_FOUND",
  [429] = "RESOURCE_EXHAUSTED", [500] = "INTERNAL", [503] = "UNAVAILABLE", [504] = "DEADLINE_EXCEEDED",
}

function gemini.error(status, message, detail)
  local known = statuses[status] and status or (status >= 500 and 503 or 400)
  local error = { code = status, message = message, status = statuses[known] }
  if detail and detail.retry_after then
    error.details = { { ["@type"] = "type.googleapis.com/google.rpc.RetryInfo",
      retryDelay = ("%.3fs"):format(detail.retry_after) } }
  end
  return { error = error }
end

function gemini.stream_error(message)
  return "data: " .. json.encode(gemini.error(503, message)) .. "\r\n\r\n"
end

-- ---- Requests -------------------------------------------------------------------------

local function add_model(request, parts)
  local message = { role = "assistant", text = "", calls = {} }
  for _, part in ipairs(parts) do
    local call = part.functionCall
    if call then
      table.insert(message.calls, { id = call.id, name = call.name, arguments = call.args or {} })
    elseif part.text and part.thought then
      message.reasoning = (message.reasoning or "") .. part.text
    elseif part.text then
      message.text = message.text .. part.text
    end
  end
  wire.add(request, message)
end

local function result_text(response)
  local value = response.output or response.error or response.result
  return type(value) == "string" and value or json.encode(response)
end

local function add_user(request, parts)
  local texts, list, results = {}, {}, 0
  for _, part in ipairs(parts) do
    local result = part.functionResponse
    if result then
      results = results + 1
      wire.add(request, { role = "tool", id = result.id, name = result.name, text = result_text(result.response),
        error = result.response.error and true or nil })
    elseif part.inlineData or part.fileData then
      local data = wire.table(part.inlineData or part.fileData)
      local mime = tostring(data.mimeType or "image/png")
      wire.medium(list, mime:find "^audio/" and "audio" or mime:find "^image/" and "image" or "file", data.data or data.fileUri, mime)
    else
      texts[#texts + 1] = part.text
    end
  end
  local files, images = wire.shown(list)
  if #texts > 0 or files or results == 0 then
    wire.add(request, { role = "user", text = table.concat(texts), images = images, files = files })
  end
end

local function system_of(body)
  local texts = {}
  for _, part in ipairs(wire.table(wire.table(body.systemInstruction).parts)) do texts[#texts + 1] = part.text end
  return table.concat(texts)
end

-- What stands below these is the client's own.
local opaque = wire.set "args response parameters parametersJsonSchema responseSchema responseJsonSchema labels"

local camel_names = wire.set [[systemInstruction generationConfig safetySettings toolConfig cachedContent serviceTier
  topP topK candidateCount maxOutputTokens stopSequences presencePenalty frequencyPenalty responseLogprobs
  responseMimeType responseSchema responseJsonSchema thinkingConfig responseModalities mediaResolution speechConfig
  imageConfig functionDeclarations parametersJsonSchema functionCallingConfig allowedFunctionNames functionCall
  functionResponse inlineData fileData mimeType fileUri thoughtSignature thinkingBudget thinkingLevel includeThoughts
  executableCode codeExecution codeExecutionResult googleSearch]]

-- Google's servers take snake_case for camelCase, as protocol buffers do.
local function camel(value)
  if type(value) ~= "table" then return value end
  if json.is_array(value) or #value > 0 then
    for i, element in ipairs(value) do value[i] = camel(element) end
    return value
  end
  local object = {}
  for name, member in pairs(value) do
    local known = tostring(name):gsub("_(%l)", string.upper)
    if camel_names[known] then name = known end
    object[name] = opaque[name] and member or camel(member)
  end
  return object
end

---@param body table
---@param http table
---@return hocket.SimRequest?
---@return string? wrong
function gemini.read(body, http)
  body = camel(body)
  local wrong = gemini_check.request(body)
  if wrong then return nil, wrong end
  local request = wire.request("gemini", http.path:match "models/([^:?]+)" or "default", body)
  request.system = system_of(body)
  for _, content in ipairs(body.contents) do
    (content.role == "model" and add_model or add_user)(request, content.parts)
  end
  for _, group in ipairs(wire.table(body.tools)) do
    for _, one in ipairs(wire.table(group.functionDeclarations)) do
      wire.tool(request, one, one.parametersJsonSchema or one.parameters)
    end
  end
  local config = wire.table(body.generationConfig)
  local thinking = wire.table(config.thinkingConfig)
  request.stream = http.path:find ":streamGenerateContent" ~= nil
  request.events = http.path:find "alt=sse" ~= nil
  request.schema = config.responseJsonSchema or config.responseSchema
    or config.responseMimeType == "application/json" and {} or nil
  request.reasoning = thinking.thinkingLevel or thinking.thinkingBudget and tostring(thinking.thinkingBudget)
  return wire.done(request)
end

-- ---- Answers --------------------------------------------------------------------------

local function call_parts(reply)
  local parts = json.array {}
  for i, call in ipairs(reply.calls or {}) do
    local made = { id = call.id ~= "" and call.id or nil, name = call.name, args = wire.arguments_value(call.arguments) }
    parts[i] = { functionCall = made, thoughtSignature = i == 1 and gemini_check.signature(made) or nil }
  end
  return parts
end

local finishes = { stop = "STOP", tool_calls = "STOP", length = "MAX_TOKENS", content_filter = "SAFETY", error = "OTHER" }

-- Output is what was not thought.
local function usage_of(request, reply)
  local usage = wire.usage(request, reply)
  return {
    promptTokenCount = usage.input, candidatesTokenCount = usage.output - usage.reasoning,
    thoughtsTokenCount = usage.reasoning > 0 and usage.reasoning or nil,
    cachedContentTokenCount = usage.cached > 0 and usage.cached or nil,
    totalTokenCount = usage.input + usage.output,
  }
end

-- One answer object of some parts; the last of a stream has a finish.
local function answer(request, reply, id, parts, finish)
  return {
    candidates = { { index = 0, content = { role = "model", parts = parts }, finishReason = finish } },
    usageMetadata = usage_of(request, reply), modelVersion = request.model, responseId = id,
  }
end

local function finish_of(reply)
  return reply.refusal and "SAFETY" or wire.finish(reply, finishes)
end

function gemini.whole(request, reply, context)
  local parts = json.array {}
  if reply.reasoning then parts[1] = { text = reply.reasoning, thought = true } end
  if reply.text then parts[#parts + 1] = { text = reply.text } end
  for _, part in ipairs(call_parts(reply)) do parts[#parts + 1] = part end
  return answer(request, reply, context.random:token(22), parts, finish_of(reply))
end

function gemini.fragments(request, reply, context)
  local id, list = context.random:token(22), {}
  local function add(part, finish)
    list[#list + 1] = answer(request, reply, id, { part }, finish)
  end
  for _, piece in ipairs(wire.pieces(reply.reasoning or "", context.fragment)) do add { text = piece, thought = true } end
  for _, piece in ipairs(wire.pieces(reply.text or "", context.fragment)) do add { text = piece } end
  for _, part in ipairs(call_parts(reply)) do add(part) end
  add({ text = "" }, finish_of(reply))
  for i, one in ipairs(list) do
    if request.events then
      list[i] = "data: " .. json.encode(one) .. "\r\n\r\n"
    else -- one list, element by element
      list[i] = (i == 1 and "[" or ",\r\n") .. json.encode(one) .. (i == #list and "]" or "")
    end
  end
  return list
end

function gemini.stray()
  return 'data: {"candidates":[{"index":0,"content":{"role":"model","parts":[{"functionCall":{"args":{}}}]}}]}\r\n\r\n'
end

return gemini
