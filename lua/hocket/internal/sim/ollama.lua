--- The scripted model's side of Ollama's own API: an object a line, no events. It takes results in
--- any order, as the real one does.
local json = require "hocket.json"
local wire = require "hocket.internal.sim.wire"

local ollama = { name = "ollama", lines = true }

function ollama.error(_, message)
  return { error = message }
end

function ollama.stream_error(message)
  return json.encode { error = message } .. "\n"
end

-- ---- Requests -------------------------------------------------------------------------

local function calls_of(message)
  local calls = {}
  for i, call in ipairs(wire.table(message.tool_calls)) do
    local made = wire.table(call["function"])
    if type(made.arguments) ~= "table" or json.is_array(made.arguments) then
      return nil, "json: cannot unmarshal into Go struct field ChatRequest.messages of type api.ToolCallFunctionArguments"
    end
    calls[i] = { id = call.id, name = made.name, arguments = made.arguments }
  end
  return calls
end

local function add_message(request, message)
  local calls, wrong = calls_of(message)
  local text = message.content or ""
  if not calls then return wrong end
  if type(text) ~= "string" then
    return "json: cannot unmarshal into Go struct field ChatRequest.messages.content of type string"
  elseif message.role == "system" then
    request.system = request.system .. text
  else
    local list = {}
    for _, data in ipairs(wire.table(message.images)) do wire.medium(list, "image", data) end
    local files, images = wire.shown(list)
    wire.add(request, { role = message.role, text = text, calls = calls, id = message.tool_call_id, name = message.tool_name,
      reasoning = message.thinking, images = images, files = files })
  end
end

---@param body table
---@return hocket.SimRequest?
---@return string? wrong
function ollama.read(body)
  if type(body.model) ~= "string" then return nil, "model is required" end
  local request = wire.request("ollama", body.model, body)
  for _, message in ipairs(wire.table(body.messages)) do
    local wrong = add_message(request, wire.table(message))
    if wrong then return nil, wrong end
  end
  for _, one in ipairs(wire.table(body.tools)) do
    wire.tool(request, one["function"], wire.table(one["function"]).parameters)
  end
  request.stream = body.stream ~= false
  request.schema = type(body.format) == "table" and body.format or body.format == "json" and {} or nil
  if body.think then request.reasoning = body.think == true and "high" or body.think end
  return wire.done(request)
end

-- ---- Answers --------------------------------------------------------------------------

local function wire_calls(reply, context)
  local calls = json.array {}
  for i, call in ipairs(reply.calls or {}) do
    local id = call.id or "call_" .. context.random:token(8):lower()
    calls[i] = { id = id ~= "" and id or nil,
      ["function"] = { index = i - 1, name = call.name, arguments = wire.arguments_value(call.arguments) } }
  end
  return #calls > 0 and calls or nil
end

-- RFC 3339, as Go writes it.
local function time_of(now)
  local t = os.date("!*t", math.floor(now))
  return ("%04d-%02d-%02dT%02d:%02d:%02dZ"):format(t.year, t.month, t.day, t.hour, t.min, t.sec)
end

local function line(request, context, message)
  message.role, message.content = "assistant", message.content or ""
  return { model = request.model, created_at = time_of(context.now), message = message, done = false }
end

-- Calls end with "stop" here.
local finishes = { tool_calls = "stop", content_filter = "stop" }

local function finish(object, request, reply)
  local usage = wire.usage(request, reply)
  object.done, object.done_reason = true, wire.finish(reply, finishes)
  object.prompt_eval_count, object.eval_count = usage.input, usage.output
  object.total_duration, object.load_duration = 1000000, 0
  return object
end

function ollama.whole(request, reply, context)
  return finish(line(request, context, {
    content = reply.text or reply.refusal, thinking = reply.reasoning, tool_calls = wire_calls(reply, context),
  }), request, reply)
end

function ollama.fragments(request, reply, context)
  local list = {}
  local function add(object) list[#list + 1] = json.encode(object) .. "\n" end
  for _, piece in ipairs(wire.pieces(reply.reasoning or "", context.fragment)) do
    add(line(request, context, { thinking = piece }))
  end
  for _, piece in ipairs(wire.pieces(reply.text or reply.refusal or "", context.fragment)) do
    add(line(request, context, { content = piece }))
  end
  for _, call in ipairs(wire_calls(reply, context) or {}) do
    add(line(request, context, { tool_calls = { call } }))
  end
  add(finish(line(request, context, {}), request, reply))
  return list
end

function ollama.stray()
  return '{"model":"default","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_stray"}]},"done":false}\n'
end

return ollama
