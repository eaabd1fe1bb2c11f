--- The scripted model's side of OpenAI chat completions: reading a request, writing an answer whole
--- or as the fragments of a stream.
local json = require "hocket.json"
local system = require "hocket.core.system"

local openai_chat = {}

function openai_chat.error(message)
  return { error = { message = message, type = "invalid_request_error", code = json.null, param = json.null } }
end

-- Text content may be null, a string or a list of parts.
local function text_of(content)
  if type(content) == "string" then return content end
  local texts = {}
  for _, part in ipairs(type(content) == "table" and content or {}) do
    if type(part) ~= "table" then error("a part of a message must be an object", 0) end
    if part.type == "text" then texts[#texts + 1] = part.text end
  end
  return table.concat(texts)
end

local function calls_of(message)
  local calls = {}
  for i, call in ipairs(type(message.tool_calls) == "table" and message.tool_calls or {}) do
    local arguments = json.decode(call["function"].arguments)
    calls[i] = { id = call.id, name = call["function"].name, arguments = arguments or call["function"].arguments }
  end
  return #calls > 0 and calls or nil
end

-- The name of the call that a result belongs to.
local function name_of_result(messages, id)
  for i = #messages, 1, -1 do
    for _, call in ipairs(messages[i].calls or {}) do
      if call.id == id then return call.name end
    end
  end
end

-- Every call needs its result before the next turn, as with the real ones.
local function check_results(messages)
  local open = {}
  for _, message in ipairs(messages) do
    if message.role == "tool" then
      if not open[message.id] then return ("a tool message answers no open call (tool_call_id '%s')"):format(tostring(message.id)) end
      open[message.id] = nil
    elseif next(open) then
      return "an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'"
    end
    for _, call in ipairs(message.calls or {}) do open[call.id] = true end
  end
end

--- Reads a request's body.
---@param body table
---@return hocket.SimRequest?
---@return string? wrong
function openai_chat.read(body)
  if type(body.messages) ~= "table" or #body.messages == 0 then return nil, "'messages' must be a non-empty array" end
  local request = { model = tostring(body.model), system = "", messages = {}, tools = {}, turn = 1, raw = body }
  for _, message in ipairs(body.messages) do
    local text = text_of(message.content)
    if message.role == "system" or message.role == "developer" then
      request.system = request.system .. text
    else
      local id = message.tool_call_id
      request.messages[#request.messages + 1] = {
        role = message.role, text = text, calls = calls_of(message), id = id, name = id and name_of_result(request.messages, id),
      }
      if message.role == "assistant" then request.turn = request.turn + 1 end
    end
  end
  local wrong = check_results(request.messages)
  if wrong then return nil, wrong end
  for _, one in ipairs(type(body.tools) == "table" and body.tools or {}) do
    request.tools[one["function"].name] = one["function"]
  end
  request.last = request.messages[#request.messages] or { role = "system", text = "" }
  return request
end

local function arguments_text(arguments)
  if type(arguments) == "string" then return arguments end
  return json.encode(arguments or {})
end

local function wire_calls(reply)
  local calls = json.array {}
  for i, call in ipairs(reply.calls or {}) do
    calls[i] = { index = i - 1, id = call.id or "call_" .. system.token(12), type = "function",
      ["function"] = { name = call.name, arguments = arguments_text(call.arguments) } }
  end
  return calls
end

-- About four characters to a token: enough for sums and budgets to be tried out with.
local function usage_of(request, reply)
  local usage = reply.usage or {}
  local input, output = #request.system, #(reply.text or "")
  for _, message in ipairs(request.messages) do input = input + #message.text end
  for _, call in ipairs(reply.calls or {}) do output = output + #arguments_text(call.arguments) end
  local prompt, completion = usage.input or input // 4 + 1, usage.output or output // 4 + 1
  return { prompt_tokens = prompt, completion_tokens = completion, total_tokens = prompt + completion }
end

local function finish_of(reply)
  return reply.finish or (reply.calls and #reply.calls > 0 and "tool_calls") or "stop"
end

--- The answer as one body.
function openai_chat.whole(request, reply)
  local calls = wire_calls(reply)
  for _, call in ipairs(calls) do call.index = nil end
  return {
    id = "chatcmpl-" .. system.token(12), object = "chat.completion", created = math.floor(system.wall()), model = request.model,
    choices = { { index = 0, finish_reason = finish_of(reply), message = {
      role = "assistant", content = reply.text or json.null, reasoning_content = reply.reasoning,
      tool_calls = #calls > 0 and calls or nil,
    } } },
    usage = usage_of(request, reply),
  }
end

-- Cuts a text into pieces of about `size` bytes, never inside a character.
local function pieces(text, size)
  local list, position = {}, 1
  while position <= #text do
    local stop = math.min(#text, position + size - 1)
    while stop < #text and (text:byte(stop + 1) & 0xC0) == 0x80 do stop = stop + 1 end
    list[#list + 1] = text:sub(position, stop)
    position = stop + 1
  end
  return list
end

--- The answer as the fragments of a stream.
---@return string[]
function openai_chat.fragments(request, reply, size)
  local id, created, list = "chatcmpl-" .. system.token(12), math.floor(system.wall()), {}
  local function add(delta, finish, usage)
    list[#list + 1] = "data: " .. json.encode {
      id = id, object = "chat.completion.chunk", created = created, model = request.model,
      choices = delta and { { index = 0, delta = delta, finish_reason = finish or json.null } } or json.array {},
      usage = usage or json.null,
    } .. "\n\n"
  end
  add { role = "assistant", content = "" }
  for _, piece in ipairs(pieces(reply.reasoning or "", size)) do add { reasoning_content = piece } end
  for _, piece in ipairs(pieces(reply.text or "", size)) do add { content = piece } end
  for _, call in ipairs(wire_calls(reply)) do
    local text = call["function"].arguments
    call["function"].arguments = ""
    add { tool_calls = { call } }
    for _, piece in ipairs(pieces(text, size)) do
      add { tool_calls = { { index = call.index, ["function"] = { arguments = piece } } } }
    end
  end
  add({}, finish_of(reply))
  local options = type(request.raw.stream_options) == "table" and request.raw.stream_options or {}
  if options.include_usage then add(nil, nil, usage_of(request, reply)) end
  list[#list + 1] = "data: [DONE]\n\n"
  return list
end

return openai_chat
