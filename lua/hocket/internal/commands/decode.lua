--- `hocket decode PROTOCOL FILE`: a recorded answer as the record that hocket makes of it.
local core = require "hocket.internal.core.decode"
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local suggest = require "hocket.internal.base.suggest"

local LIMIT = 64 * 1024 * 1024

local protocols = { "anthropic", "bedrock", "gemini", "ollama", "openai_chat", "openai_responses" }

local function failure(message)
  return nil, { code = "invalid", message = message }
end

local function check_protocol(name)
  for _, known in ipairs(protocols) do
    if name == known then return true end
  end
  local near = suggest(tostring(name), protocols)
  return failure(("there is no protocol '%s'%s (there are: %s)"):format(tostring(name),
    near and (": did you mean '%s'?"):format(near) or "", table.concat(protocols, ", ")))
end

-- A size, or "random:SEED".
local function read_chunk(text)
  if text == nil then return 0, 0 end
  local seed = math.tointeger(tonumber(tostring(text):match "^random:(%d+)$"))
  if seed then return 100, seed + 1 end
  local size = math.tointeger(tonumber(text))
  if not size or size < 1 or size > 0x7fffffff then
    return failure(("'%s' is no size of pieces: write a number of bytes, or random:SEED"):format(tostring(text)))
  end
  return size, 0
end

local function read(path)
  if path ~= "-" then return fs.read(path, LIMIT) end
  local text = io.read(LIMIT + 1) or ""
  if #text > LIMIT then return failure(("more than %d bytes"):format(LIMIT)) end
  return text
end

-- Whether these are the lines of a stream: the first is a value, and more follow. Only a protocol of
-- lines needs to be told; server-sent events cannot be taken for a body.
local function is_stream(text)
  local first, rest = text:match "^%s*([^\n]*)\n(.*)$"
  return first ~= nil and rest:find "%S" ~= nil and json.decode(first) ~= nil
end

---@param args {protocol: string, file: string, status?: integer, stream?: boolean, chunk?: string|integer}
---@return table? record In the fields of the normalised reply.
---@return hocket.Error? err
---@return table? partial What was read before an error.
return function(args)
  local known, wrong = check_protocol(args.protocol)
  if not known then return nil, wrong end
  local size, seed = read_chunk(args.chunk)
  if not size then return nil, seed end
  local text, err = read(args.file)
  if not text then return nil, err end
  local stream = args.stream
  if stream == nil then stream = is_stream(text) end
  local record, broken = core.decode(args.protocol, text,
    { status = args.status, stream = stream, chunk = size, seed = seed })
  local value = json.decode(record)
  if broken then return nil, broken, value end
  return value
end
