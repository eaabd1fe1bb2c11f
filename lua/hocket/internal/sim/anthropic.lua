--- The scripted model's side of Anthropic's Messages.
local anthropic_check = require "hocket.internal.sim.anthropic_check"
local json = require "hocket.json"
local wire = require "hocket.internal.sim.wire"

local anthropic = { name = "anthropic" }

local error_types = {
  [400] = "invalid_request_error", [401] = "authentication_error", [402] = "billing_error", [403] = "permission_error",
  [404] = "not_found_error", [413] = "request_too_large", [429] = "rate_limit_error", [504] = "timeout_error",
  [529] = "overloaded_error",
}

function anthropic.error(status, message, detail)
  local kind = detail and detail.quota and "billing_error" or error_types[status] or "api_error"
  return { type = "error", error = { type = kind, message = message } }
end

function anthropic.stream_error(message)
  return wire.event(anthropic.error(529, message), "error")
end

-- ---- Requests -------------------------------------------------------------------------

local function text_of(content)
  if type(content) == "string" then return content end
  local texts = {}
  for _, block in ipairs(wire.table(content)) do
    if block.type == "text" then texts[#texts + 1] = block.text end
  end
  return table.concat(texts)
end

local function add_assistant(request, content)
  local message = { role = "assistant", text = text_of(content), calls = {} }
  for _, block in ipairs(wire.table(content)) do
    if block.type == "tool_use" then
      table.insert(message.calls, { id = block.id, name = block.name, arguments = block.input })
    elseif block.type == "thinking" then
      message.reasoning = (message.reasoning or "") .. block.thinking
    end
  end
  wire.add(request, message)
end

-- Results become messages of their own, before the user's words.
local function add_user(request, content)
  local list, results = {}, 0
  for _, block in ipairs(wire.table(content)) do
    if block.type == "tool_result" then
      results = results + 1
      wire.add(request, { role = "tool", id = block.tool_use_id, text = text_of(block.content), error = block.is_error or nil })
    elseif block.type == "image" or block.type == "document" then
      local source = wire.table(block.source)
      wire.medium(list, block.type == "image" and "image" or "file", source.data or source.url, source.media_type, block.title)
    end
  end
  local text = text_of(content)
  local files, images = wire.shown(list)
  if text ~= "" or files or results == 0 then
    wire.add(request, { role = "user", text = text, images = images, files = files })
  end
end

---@param body table
---@param http table
---@return hocket.SimRequest?
---@return string? wrong
function anthropic.read(body, http)
  local wrong = anthropic_check.request(body, http)
  if wrong then return nil, wrong end
  local request = wire.request("anthropic", anthropic_check.model_in_path(http) or body.model, body)
  request.system = text_of(body.system)
  for _, message in ipairs(body.messages) do
    (message.role == "assistant" and add_assistant or add_user)(request, message.content)
  end
  for _, one in ipairs(wire.table(body.tools)) do wire.tool(request, one, one.input_schema) end
  local output, thinking = wire.table(body.output_config), wire.table(body.thinking)
  request.stream = body.stream == true
  request.schema = wire.table(output.format).schema
  if thinking.type == "enabled" or thinking.type == "adaptive" then
    request.reasoning = output.effort or thinking.budget_tokens and tostring(thinking.budget_tokens) or "high"
  end
  return wire.done(request)
end

-- ---- Answers --------------------------------------------------------------------------

local function content_of(reply, context)
  local blocks = json.array {}
  local thought = reply.reasoning and reply.reasoning ~= ""
  if thought then
    blocks[1] = { type = "thinking", thinking = reply.reasoning, signature = anthropic_check.signature(reply.reasoning) }
  end
  local text = reply.text or reply.refusal
  if text and text ~= "" then blocks[#blocks + 1] = { type = "text", text = text } end
  for _, call in ipairs(reply.calls or {}) do
    blocks[#blocks + 1] = { type = "tool_use", name = call.name, input = wire.arguments_value(call.arguments),
      id = call.id or anthropic_check.call_id(context.random, thought) }
  end
  return blocks
end

local stop_reasons = { stop = "end_turn", length = "max_tokens", tool_calls = "tool_use", content_filter = "refusal" }

local function stop_reason(reply)
  return reply.refusal and "refusal" or wire.finish(reply, stop_reasons)
end

-- Input is what was not cached.
local function usage_of(request, reply)
  local usage = wire.usage(request, reply)
  return {
    input_tokens = math.max(0, usage.input - usage.cached), cache_read_input_tokens = usage.cached,
    cache_creation_input_tokens = 0, output_tokens = usage.output,
  }
end

function anthropic.whole(request, reply, context)
  return {
    id = "msg_01" .. context.random:token(22), type = "message", role = "assistant", model = request.model,
    content = content_of(reply, context), stop_reason = stop_reason(reply), stop_sequence = json.null,
    usage = usage_of(request, reply),
  }
end

local delta_kinds = { text = { "text_delta", "text" }, thinking = { "thinking_delta", "thinking" } }

local function add_block(add, index, block, arguments, size)
  local function delta(value) add("content_block_delta", { index = index, delta = value }) end
  local kind = delta_kinds[block.type]
  if kind then
    add("content_block_start", { index = index, content_block = { type = block.type, [kind[2]] = "" } })
    for _, piece in ipairs(wire.pieces(block[kind[2]], size)) do delta { type = kind[1], [kind[2]] = piece } end
    if block.signature then delta { type = "signature_delta", signature = block.signature } end
  else
    add("content_block_start",
      { index = index, content_block = { type = "tool_use", id = block.id, name = block.name, input = {} } })
    delta { type = "input_json_delta", partial_json = "" }
    for _, piece in ipairs(wire.pieces(arguments, size)) do delta { type = "input_json_delta", partial_json = piece } end
  end
  add("content_block_stop", { index = index })
end

function anthropic.fragments(request, reply, context)
  local message, list, n = anthropic.whole(request, reply, context), {}, 0
  local function add(kind, data)
    data.type = kind
    list[#list + 1] = wire.event(data, kind)
  end
  local blocks, usage, reason = message.content, message.usage, message.stop_reason
  message.content, message.stop_reason = json.array {}, json.null
  message.usage = { input_tokens = usage.input_tokens, cache_read_input_tokens = usage.cache_read_input_tokens,
    cache_creation_input_tokens = 0, output_tokens = 1 }
  add("message_start", { message = message })
  add("ping", {})
  for i, block in ipairs(blocks) do
    if block.type == "tool_use" then n = n + 1 end
    local call = block.type == "tool_use" and reply.calls[n]
    add_block(add, i - 1, block, call and wire.arguments_text(call.arguments), context.fragment)
  end
  add("message_delta", { delta = { stop_reason = reason, stop_sequence = json.null },
    usage = { output_tokens = usage.output_tokens } })
  add("message_stop", {})
  return list
end

function anthropic.stray()
  return wire.event({ type = "content_block_delta", index = 9,
    delta = { type = "input_json_delta", partial_json = "{}" } }, "content_block_delta")
end

return anthropic
