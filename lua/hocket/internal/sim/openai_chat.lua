--- The scripted model's side of OpenAI's chat completions.
local json = require "hocket.json"
local wire = require "hocket.internal.sim.wire"

local openai_chat = { name = "openai_chat" }

local error_types = {
  [401] = { "authentication_error", "invalid_api_key" }, [403] = { "permission_error" }, [404] = { "not_found_error" },
  [429] = { "requests", "rate_limit_exceeded" }, [500] = { "server_error" }, [502] = { "server_error" },
  [503] = { "server_error" }, [529] = { "server_error" },
}

function openai_chat.error(status, message, detail)
  local kind = error_types[status] or { "invalid_request_error" }
  if detail and detail.quota then kind = { "insufficient_quota", "insufficient_quota" } end
  return { error = { message = message, type = kind[1], code = kind[2] or json.null, param = json.null } }
end

function openai_chat.stream_error(message)
  return wire.event(openai_chat.error(503, message))
end

-- ---- Requests -------------------------------------------------------------------------

-- Text content may be null, a string or a list of parts.
local function text_of(content)
  if type(content) == "string" then return content, {} end
  local texts, list = {}, {}
  for _, part in ipairs(wire.table(content)) do
    if part.type == "text" then texts[#texts + 1] = part.text end
    if part.type == "image_url" then wire.medium(list, "image", wire.table(part.image_url).url) end
    local audio, file = wire.table(part.input_audio), wire.table(part.file)
    if part.type == "input_audio" then wire.medium(list, "audio", audio.data, ("audio/%s"):format(tostring(audio.format))) end
    if part.type == "file" then wire.medium(list, "file", file.file_data, nil, file.filename) end
  end
  return table.concat(texts), list
end

local function calls_of(message)
  local calls = {}
  for i, call in ipairs(wire.table(message.tool_calls)) do
    local made = wire.table(call["function"])
    if type(made.arguments) ~= "string" then
      return nil, ("the arguments of 'tool_calls[%d]' must be a string"):format(i - 1)
    end
    calls[i] = { id = call.id, name = made.name, arguments = json.decode(made.arguments) or made.arguments }
  end
  return calls
end

local UNANSWERED = "an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'"

-- Every call needs its result before the next turn.
local function check_results(messages)
  local open = {}
  for _, message in ipairs(messages) do
    if message.role == "tool" then
      if not open[message.id] then
        return ("a tool message answers no open call (tool_call_id '%s')"):format(tostring(message.id))
      end
      open[message.id] = nil
    elseif next(open) then
      return UNANSWERED
    end
    for _, call in ipairs(message.calls or {}) do
      if type(call.id) ~= "string" then return "a tool call needs an id" end
      if open[call.id] then return ("the tool call id '%s' is used twice"):format(call.id) end
      open[call.id] = true
    end
  end
  return next(open) and UNANSWERED
end

local function add_messages(request, list)
  for _, message in ipairs(list) do
    local text, parts = text_of(wire.table(message).content)
    local files, images = wire.shown(parts)
    local calls, wrong = calls_of(wire.table(message))
    if not calls then return wrong end
    if message.role == "system" or message.role == "developer" then
      request.system = request.system .. text
    else
      wire.add(request, {
        role = message.role, text = text, calls = calls, id = message.tool_call_id, images = images, files = files,
        reasoning = message.reasoning_content,
      })
    end
  end
  return check_results(request.messages)
end

---@param body table
---@return hocket.SimRequest?
---@return string? wrong
function openai_chat.read(body)
  if type(body.messages) ~= "table" or #body.messages == 0 then return nil, "'messages' must be a non-empty array" end
  local request = wire.request("openai_chat", body.model, body)
  local wrong = add_messages(request, body.messages)
  if wrong then return nil, wrong end
  for _, one in ipairs(wire.table(body.tools)) do
    wire.tool(request, one["function"], wire.table(one["function"]).parameters)
  end
  local format = wire.table(body.response_format)
  request.stream = body.stream == true
  request.schema = wire.table(format.json_schema).schema or format.type == "json_object" and {} or nil
  request.reasoning = body.reasoning_effort
  return wire.done(request)
end

-- ---- Answers --------------------------------------------------------------------------

local function wire_calls(reply, context)
  local calls = json.array {}
  for i, call in ipairs(reply.calls or {}) do
    local id = call.id or "call_" .. context.random:token(24)
    calls[i] = { index = i - 1, id = id ~= "" and id or nil, type = "function",
      ["function"] = { name = call.name, arguments = wire.arguments_text(call.arguments) } }
  end
  return calls
end

local function usage_of(request, reply)
  local usage = wire.usage(request, reply)
  return {
    prompt_tokens = usage.input, completion_tokens = usage.output, total_tokens = usage.input + usage.output,
    prompt_tokens_details = { cached_tokens = usage.cached },
    completion_tokens_details = { reasoning_tokens = usage.reasoning },
  }
end

function openai_chat.whole(request, reply, context)
  local calls = wire_calls(reply, context)
  for _, call in ipairs(calls) do call.index = nil end
  return {
    id = "chatcmpl-" .. context.random:token(24), object = "chat.completion", created = context.now, model = request.model,
    service_tier = "default", choices = { { index = 0, finish_reason = wire.finish(reply, {}), message = {
      role = "assistant", content = reply.text or json.null, reasoning_content = reply.reasoning,
      refusal = reply.refusal or json.null, tool_calls = #calls > 0 and calls or nil,
    } } },
    usage = usage_of(request, reply),
  }
end

function openai_chat.fragments(request, reply, context)
  local id, list = "chatcmpl-" .. context.random:token(24), {}
  local function add(delta, finish, usage)
    list[#list + 1] = wire.event {
      id = id, object = "chat.completion.chunk", created = context.now, model = request.model, service_tier = "default",
      choices = delta and { { index = 0, delta = delta, finish_reason = finish or json.null } } or json.array {},
      usage = usage or json.null,
    }
  end
  local function add_pieces(name, text)
    for _, piece in ipairs(wire.pieces(text or "", context.fragment)) do add { [name] = piece } end
  end
  add { role = "assistant", content = "" }
  add_pieces("reasoning_content", reply.reasoning)
  add_pieces("content", reply.text)
  add_pieces("refusal", reply.refusal)
  for _, call in ipairs(wire_calls(reply, context)) do
    local text = call["function"].arguments
    call["function"].arguments = ""
    add { tool_calls = { call } }
    for _, piece in ipairs(wire.pieces(text, context.fragment)) do
      -- Mistral's client wants a name in each; others put them together, so that it is none.
      add { tool_calls = { { index = call.index, ["function"] = { name = "", arguments = piece } } } }
    end
  end
  add({}, wire.finish(reply, {}))
  if wire.table(request.raw.stream_options).include_usage then add(nil, nil, usage_of(request, reply)) end
  list[#list + 1] = wire.event "[DONE]"
  return list
end

--- What comes after the event that ends the answer.
function openai_chat.tail(request)
  return wire.table(request.raw.stream_options).include_usage and 2 or 1
end

function openai_chat.stray(context)
  return wire.event {
    id = "chatcmpl-" .. context.random:token(24), object = "chat.completion.chunk", created = context.now, model = "default",
    choices = { { index = 0, finish_reason = json.null, delta = {
      tool_calls = { { index = 9, ["function"] = { arguments = "{}" } } },
    } } },
  }
end

return openai_chat
