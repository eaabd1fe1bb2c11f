--- The scripted model's side of Bedrock's Converse: binary messages with checksums.
local url_encoding = require "hocket.internal.base.http.url_encoding"
local json = require "hocket.json"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local wire = require "hocket.internal.sim.wire"

local bedrock = { name = "bedrock", content_type = "application/vnd.amazon.eventstream" }

local kinds = { [400] = "ValidationException", [401] = "UnrecognizedClientException", [403] = "AccessDeniedException", [404] = "ResourceNotFoundException",
  [429] = "ThrottlingException", [500] = "InternalServerException", [503] = "ServiceUnavailableException" }

function bedrock.error(status, message)
  return { message = message, __type = kinds[status] or "InternalServerException" }
end

-- ---- Frames -----------------------------------------------------------------------------

local table_of = {}
for i = 0, 255 do
  local c = i
  for _ = 1, 8 do c = c & 1 == 1 and 0xEDB88320 ~ c >> 1 or c >> 1 end
  table_of[i] = c
end

local function crc32(text)
  local c = 0xFFFFFFFF
  for i = 1, #text do c = table_of[(c ~ text:byte(i)) & 255] ~ c >> 8 end
  return c ~ 0xFFFFFFFF
end

--- One message of a stream.
---@param headers table<string, string>
---@param payload string
---@return string
function bedrock.frame(headers, payload)
  local parts = {}
  for i, name in ipairs(sorted_keys(headers)) do parts[i] = string.pack(">s1Bs2", name, 7, headers[name]) end
  local all = table.concat(parts)
  local head = string.pack(">I4I4", #all + #payload + 16, #all)
  local message = head .. string.pack(">I4", crc32(head)) .. all .. payload
  return message .. string.pack(">I4", crc32(message))
end

local function event(kind, data)
  return bedrock.frame({ [":message-type"] = "event", [":event-type"] = kind, [":content-type"] = "application/json" }, json.encode(data))
end

--- A message that says nothing.
bedrock.sign_of_life = bedrock.frame({ [":message-type"] = "event", [":event-type"] = "initial-response" }, "")

--- Of a stream the counts may be missing.
function bedrock.tail() return 1 end

function bedrock.stream_error(message)
  return bedrock.frame({ [":message-type"] = "exception", [":exception-type"] = "serviceUnavailableException" }, json.encode { message = message })
end

-- ---- Requests ---------------------------------------------------------------------------

local function text_of(content)
  local texts = {}
  for _, block in ipairs(wire.table(content)) do texts[#texts + 1] = wire.table(block).text end
  return table.concat(texts)
end

local function add_assistant(request, content)
  local message = { role = "assistant", text = text_of(content), calls = {} }
  for _, block in ipairs(wire.table(content)) do
    if block.toolUse then
      table.insert(message.calls, { id = block.toolUse.toolUseId, name = block.toolUse.name, arguments = block.toolUse.input })
    elseif block.reasoningContent then
      message.reasoning = (message.reasoning or "") .. (wire.table(block.reasoningContent.reasoningText).text or "")
    end
  end
  wire.add(request, message)
end

local function add_user(request, content)
  local list, results = {}, 0
  for _, block in ipairs(wire.table(content)) do
    local result, medium = block.toolResult, block.image or block.document
    if result then
      results = results + 1
      wire.add(request, { role = "tool", id = result.toolUseId, text = text_of(result.content), error = result.status == "error" or nil })
    elseif medium then
      wire.medium(list, block.image and "image" or "file", wire.table(medium.source).bytes, (block.image and "image/" or "application/") .. tostring(medium.format), medium.name)
    end
  end
  local text, files, images = text_of(content), wire.shown(list)
  if text ~= "" or files or results == 0 then wire.add(request, { role = "user", text = text, images = images, files = files }) end
end

-- What the real one refuses, and is not to be sent.
local function wrong_of(body)
  local has_calls, before = false, nil
  for _, message in ipairs(wire.table(body.messages)) do
    if message.role == before then return "A conversation must alternate between user and assistant roles" end
    before = message.role
    if #wire.table(message.content) == 0 then return "The content field in the Message object is empty" end
    for _, block in ipairs(message.content) do
      has_calls = has_calls or block.toolUse ~= nil or block.toolResult ~= nil
      if block.text and not block.text:find "%S" then return "The text field in the ContentBlock object is blank" end
    end
  end
  if has_calls and not body.toolConfig then return "The toolConfig field must be defined when using toolUse and toolResult content blocks." end
end

---@param body table
---@param http table
---@return hocket.SimRequest?
---@return string? wrong
function bedrock.read(body, http)
  local wrong = wrong_of(body)
  if wrong then return nil, wrong end
  local model = http.path:match "/model/([^/?]+)/converse" or "default"
  local request = wire.request("bedrock", url_encoding.unescape(model), body)
  request.system = text_of(body.system)
  for _, message in ipairs(wire.table(body.messages)) do
    (message.role == "assistant" and add_assistant or add_user)(request, message.content)
  end
  for _, one in ipairs(wire.table(wire.table(body.toolConfig).tools)) do
    local spec = wire.table(one).toolSpec
    wire.tool(request, spec, wire.table(wire.table(spec).inputSchema).json)
  end
  local structure = wire.table(wire.table(wire.table(body.outputConfig).textFormat).structure)
  local schema, more = wire.table(structure.jsonSchema).schema, wire.table(body.additionalModelRequestFields)
  request.stream = http.path:find "/converse%-stream" ~= nil
  request.schema = type(schema) == "string" and json.decode(schema, true) or nil
  if more.thinking then request.reasoning = wire.table(more.output_config).effort or tostring(more.thinking.budget_tokens) end
  return wire.done(request)
end

-- ---- Answers ----------------------------------------------------------------------------

local stop_reasons = { stop = "end_turn", length = "max_tokens", tool_calls = "tool_use", content_filter = "content_filtered" }

local function usage_of(request, reply)
  local usage = wire.usage(request, reply)
  return { inputTokens = math.max(0, usage.input - usage.cached), outputTokens = usage.output, totalTokens = usage.input + usage.output,
    cacheReadInputTokens = usage.cached, cacheWriteInputTokens = 0 }
end

local function call_id(call, context)
  return call.id or "tooluse_" .. context.random:token(22)
end

function bedrock.whole(request, reply, context)
  local content, text = json.array {}, reply.text or reply.refusal
  if reply.reasoning and reply.reasoning ~= "" then
    content[1] = { reasoningContent = { reasoningText = { text = reply.reasoning, signature = "sig" .. #reply.reasoning } } }
  end
  if text and text ~= "" then content[#content + 1] = { text = text } end
  for _, call in ipairs(reply.calls or {}) do
    content[#content + 1] = { toolUse = { toolUseId = call_id(call, context), name = call.name, input = wire.arguments_value(call.arguments) } }
  end
  return { output = { message = { role = "assistant", content = content } }, stopReason = wire.finish(reply, stop_reasons),
    usage = usage_of(request, reply), metrics = { latencyMs = 1 } }
end

function bedrock.fragments(request, reply, context)
  local list, index = {}, 0
  local function add(kind, data) list[#list + 1] = event(kind, data) end
  local function block(deltas, start)
    if start then add("contentBlockStart", { contentBlockIndex = index, start = start }) end
    for _, delta in ipairs(deltas) do add("contentBlockDelta", { contentBlockIndex = index, delta = delta }) end
    add("contentBlockStop", { contentBlockIndex = index })
    index = index + 1
  end
  local function cut(text, make)
    local deltas = {}
    for i, piece in ipairs(wire.pieces(text, context.fragment)) do deltas[i] = make(piece) end
    return deltas
  end
  add("messageStart", { role = "assistant" })
  if reply.reasoning and reply.reasoning ~= "" then
    local deltas = cut(reply.reasoning, function(piece) return { reasoningContent = { text = piece } } end)
    deltas[#deltas + 1] = { reasoningContent = { signature = "sig" .. #reply.reasoning } }
    block(deltas)
  end
  local text = reply.text or reply.refusal or ""
  if text ~= "" then block(cut(text, function(piece) return { text = piece } end)) end
  for _, call in ipairs(reply.calls or {}) do
    block(cut(wire.arguments_text(call.arguments), function(piece) return { toolUse = { input = piece } } end),
      { toolUse = { toolUseId = call_id(call, context), name = call.name } })
  end
  add("messageStop", { stopReason = wire.finish(reply, stop_reasons) })
  add("metadata", { usage = usage_of(request, reply), metrics = { latencyMs = 1 } })
  return list
end

function bedrock.stray()
  return event("contentBlockDelta", { contentBlockIndex = 9, delta = { toolUse = { input = "{}" } } })
end

return bedrock
