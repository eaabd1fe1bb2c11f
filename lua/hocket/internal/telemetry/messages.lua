--- What was said in a model call, as the GenAI conventions write it: messages with parts, as JSON. Pictures and files are named, not sent.
local json = require "hocket.json"

local messages = {}

local function text_part(text)
  return { type = "text", content = text }
end

local function other_part(part)
  if type(part.text) == "string" then return text_part(part.text) end
  for kind, value in pairs(part) do
    if type(value) == "table" then return { type = "blob", modality = kind, mime_type = value.mime, uri = value.url } end
  end
  return { type = "unknown" }
end

local function arguments_of(text)
  local value = json.decode(text or "")
  return value ~= nil and value or text
end

local function calls_of(list, parts)
  for _, one in ipairs(list or {}) do parts[#parts + 1] = { type = "tool_call", id = one.id, name = one.name, arguments = arguments_of(one.arguments) } end
end

local function parts_of(message)
  local parts = json.array {}
  if message.role == "tool" then
    parts[1] = { type = "tool_call_response", id = message.id, response = message.text }
    return parts
  end
  if message.reasoning and message.reasoning ~= "" then parts[1] = { type = "reasoning", content = message.reasoning } end
  if message.text and message.text ~= "" then parts[#parts + 1] = text_part(message.text) end
  for _, part in ipairs(message.parts or {}) do parts[#parts + 1] = other_part(part) end
  calls_of(message.calls, parts)
  return parts
end

---@param lines string A conversation, a neutral message a line.
---@return string
function messages.input(lines)
  local list = json.array {}
  for line in lines:gmatch "[^\n]+" do
    local message = json.decode(line)
    if type(message) == "table" then list[#list + 1] = { role = message.role, parts = parts_of(message) } end
  end
  return json.encode(list)
end

---@param reply hocket.Reply
---@return string
function messages.output(reply)
  local message = { role = "assistant", text = reply.text, reasoning = reply.reasoning, calls = reply.calls }
  return json.encode(json.array { { role = "assistant", parts = parts_of(message), finish_reason = reply.finish == "tool_calls" and "tool_call" or reply.finish } })
end

---@param text? string
---@return string?
function messages.system(text)
  if not text or text == "" then return nil end
  return json.encode(json.array { text_part(text) })
end

--- Arguments as they were given; nil where they are no data.
---@param value any
---@return string?
function messages.encode(value)
  local ok, text = pcall(json.encode, value)
  return ok and text or nil
end

return messages
