--- What the scripted model's protocols share: the request that a script is given, the counts of
--- tokens, texts cut into pieces.
---
--- A protocol is a table of functions:
---   read(body, http)                   -> hocket.SimRequest, or nil and what is wrong with it
---   whole(request, reply, context)     -> the answer as a table that becomes its body
---   fragments(request, reply, context) -> the answer as the list of a stream's texts
---   error(status, message, detail)     -> the body of an error answer
---   stream_error(message)              -> an error inside a stream, as one text of it
---   stray(context)                     -> a stream's text that belongs to a call nobody began
--- `context` is {random, now, fragment}: where ids come from, the time in seconds, and about how
--- many bytes of text go into one event. `detail` is {quota, retry_after}.
local json = require "hocket.json"

local wire = {}

--- The value when it is a table, else an empty one: for bodies that nobody has checked.
function wire.table(value)
  return type(value) == "table" and value or {}
end

-- ---- Requests -------------------------------------------------------------------------

--- A request to be filled with `add` and `tool`.
---@return hocket.SimRequest
function wire.request(protocol, model, body)
  return { protocol = protocol, model = tostring(model), system = "", messages = {}, tools = {}, turn = 1, raw = body }
end

-- The name of the call that a result belongs to.
local function name_of(messages, id)
  for i = #messages, 1, -1 do
    for _, call in ipairs(messages[i].calls or {}) do
      if call.id == id then return call.name end
    end
  end
end

--- A picture, recording or document of a message: {kind, mime?, data, name?}, its data as base64 or an address.
---@param list table[] That it is added to.
---@param kind "image"|"audio"|"file"
---@param data any
---@param mime? any
---@param name? any
function wire.medium(list, kind, data, mime, name)
  local url = type(data) == "string" and data or ""
  local of, rest = url:match "^data:([^;,]*);base64,(.*)$"
  list[#list + 1] = { kind = kind, mime = of or type(mime) == "string" and mime or nil, data = rest or url, name = type(name) == "string" and name or nil }
end

--- What of a message is shown as `files`, and how many of it are pictures, as `images`.
---@param list table[]
---@return table[]? files
---@return integer? images
function wire.shown(list)
  local images = 0
  for _, one in ipairs(list) do images = images + (one.kind == "image" and 1 or 0) end
  return #list > 0 and list or nil, images > 0 and images or nil
end

--- Adds a message {role, text, calls?, id?, name?, reasoning?, images?, files?}.
function wire.add(request, message)
  if message.calls and #message.calls == 0 then message.calls = nil end
  if message.id and not message.name then message.name = name_of(request.messages, message.id) end
  request.messages[#request.messages + 1] = message
  if message.role == "assistant" then request.turn = request.turn + 1 end
end

function wire.tool(request, declared, parameters)
  if type(declared) == "table" and type(declared.name) == "string" then
    request.tools[declared.name] = { name = declared.name, description = declared.description, parameters = parameters or {} }
  end
end

-- A schema that the API has no member for stands in the system prompt.
local function schema_in_words(system)
  local at = select(2, system:find("valid against this JSON Schema:\n", 1, true))
  local schema = at and json.decode(system:match("^%b{}", at + 1) or "", true)
  return type(schema) == "table" and schema or nil
end

function wire.done(request)
  if next(wire.table(request.schema)) == nil then request.schema = schema_in_words(request.system) or request.schema end
  request.last = request.messages[#request.messages] or { role = "system", text = "" }
  return request
end

--- A field that the API does not know, or nil.
function wire.unknown(body, known)
  for name in pairs(body) do
    if not known[name] then return tostring(name) end
  end
end

function wire.set(names)
  local set = {}
  for name in names:gmatch "%S+" do set[name] = true end
  return set
end

-- ---- Answers --------------------------------------------------------------------------

--- A call's arguments as text.
function wire.arguments_text(arguments)
  if type(arguments) == "string" then return arguments end
  return json.encode(arguments or {})
end

--- A call's arguments as an object; a text that is none stays as it is.
function wire.arguments_value(arguments)
  if type(arguments) ~= "string" then return arguments or {} end
  local value = json.decode(arguments)
  return type(value) == "table" and value or arguments
end

--- Counts of tokens: what the script says, else about four characters to one. Input holds what was
--- cached, and output the reasoning, whatever the protocol makes of it.
function wire.usage(request, reply)
  local said = reply.usage or {}
  local input, output = #request.system, #(reply.text or "") + #(reply.refusal or "")
  for _, message in ipairs(request.messages) do input = input + #message.text end
  for _, call in ipairs(reply.calls or {}) do output = output + #wire.arguments_text(call.arguments) end
  local reasoning = said.reasoning or (reply.reasoning and #reply.reasoning // 4 + 1) or 0
  return {
    input = said.input or input // 4 + 1, output = said.output or output // 4 + 1 + reasoning,
    cached = said.cached or 0, reasoning = reasoning,
  }
end

--- The reply's finish as the protocol says it.
function wire.finish(reply, words)
  local finish = reply.finish or (reply.calls and #reply.calls > 0 and "tool_calls") or "stop"
  return words[finish] or finish
end

--- Cuts a text into pieces of about `size` bytes, never inside a character.
function wire.pieces(text, size)
  local list, position = {}, 1
  while position <= #text do
    local stop = math.min(#text, position + size - 1)
    while stop < #text and (text:byte(stop + 1) & 0xC0) == 0x80 do stop = stop + 1 end
    list[#list + 1] = text:sub(position, stop)
    position = stop + 1
  end
  return list
end

--- One server-sent event.
function wire.event(data, name)
  local text = type(data) == "string" and data or json.encode(data)
  return (name and "event: " .. name .. "\n" or "") .. "data: " .. text .. "\n\n"
end

return wire
