-- How far off the guess at a request's tokens is, measured on recorded exchanges with real providers (tests/README.md says what
-- such a directory holds; HOCKET_WIRE names it).
--
--   hocket run docs/tools/tokens.lua DIRECTORY
--
-- It says, for requests of text alone: how far off the guess at a whole request is; and, where one request goes on from another
-- one, how far off what hocket goes by is: what the provider had counted, and a guess at what came since.
local core = require "hocket.internal.core.llm"
local fs = require "hocket.fs"
local json = require "hocket.json"

local dir = ... ~= "" and ... or os.getenv "HOCKET_WIRE"
if not dir then return nil, { code = "invalid", message = "which directory? hocket run docs/tools/tokens.lua DIRECTORY, or set HOCKET_WIRE" } end

local function load(path)
  local text = fs.read(dir .. "/" .. path)
  return text and json.decode(text), text
end

-- What a provider adds for its own tools, and what is no text, nobody can guess.
local others = { "web_search", "code_execution", "code_interpreter", "file_search", "computer", "image_url", "input_image", "inlineData", "image",
  "document", "input_file", "input_audio", "fileData", "googleSearch", "urlContext", "mcp", "previous_response_id", "conversation", "compound", "advisor",
  "container", "tool_search", "cachedContent", "shell", "apply_patch", "memory" }

local function is_plain(text)
  for _, word in ipairs(others) do
    if text:find('"[^"]*' .. word .. '[^"]*"') then return false end
  end
  return true
end

local readers = {}
local function reader(protocol)
  readers[protocol] = readers[protocol] or require("hocket.internal.sim." .. protocol)
  return readers[protocol]
end

local function lines_of(request)
  local history = core.history()
  for _, message in ipairs(request.messages) do
    local calls = {}
    for i, call in ipairs(message.calls or {}) do
      calls[i] = { id = call.id or "call", name = call.name, arguments = type(call.arguments) == "string" and call.arguments or json.encode(call.arguments or {}) }
    end
    if not history:add { role = message.role, text = message.text or "", id = message.role == "tool" and (message.id or "call") or nil,
      name = message.role == "tool" and message.name or nil, calls = calls[1] and calls or nil } then return nil end
  end
  return history:lines()
end

local function used(protocol, expected)
  local usage, raw = expected.usage or {}, expected.usage_raw or {}
  local input = math.tointeger(usage.input)
  if not input or input == 0 then return nil end
  if protocol == "anthropic" then input = input + (math.tointeger(raw.cache_read_input_tokens) or 0) + (math.tointeger(raw.cache_creation_input_tokens) or 0) end
  local output, reasoning = math.tointeger(usage.output) or 0, math.tointeger(usage.reasoning) or 0
  return input, output - math.min(reasoning, output)
end

local function read(entry)
  local protocol = entry.path:match "^[^/]+"
  local body, text = load(entry.path .. ".request.json")
  local expected, meta = load(entry.path .. ".expected.json"), load(entry.path .. ".meta.json")
  if not body or not expected or not meta or not is_plain(text) then return nil end
  local input, output = used(protocol, expected)
  if not input then return nil end
  local ok, request = pcall(reader(protocol).read, body, { path = meta.url or "/models/x:generateContent" })
  if not ok or type(request) ~= "table" then return nil end
  local lines = lines_of(request)
  if not lines then return nil end
  local fixed = core.tokens(request.system or "") + core.tokens(body.tools and json.encode(body.tools) or "")
  return { model = tostring(meta.model or request.model), input = input, output = output, lines = lines, fixed = fixed, guess = fixed + core.tokens(lines), path = entry.path }
end

local exchanges = {}
for line in assert(fs.read(dir .. "/index.jsonl")):gmatch "[^\n]+" do
  local entry = json.decode(line)
  if entry.has_request and entry.status == 200 then exchanges[#exchanges + 1] = read(entry) end
end

local function report(what, errors)
  if #errors == 0 then return print(("%-62s none"):format(what)) end
  local sizes, sum = {}, 0
  for i, error in ipairs(errors) do sizes[i], sum = math.abs(error), sum + error end
  table.sort(sizes)
  print(("%-62s %4d   mean %+4.0f %%   half within %3.0f %%   nine of ten within %3.0f %%"):format(what, #errors, 100 * sum / #errors,
    100 * sizes[(#sizes + 1) // 2], 100 * sizes[math.ceil(#sizes * 0.9)]))
end

local whole, larger = {}, {}
for _, one in ipairs(exchanges) do
  whole[#whole + 1] = one.guess / one.input - 1
  if one.input >= 500 then larger[#larger + 1] = one.guess / one.input - 1 end
end
report("a whole request, guessed", whole)
report("… of 500 tokens and more", larger)

-- What goes on from what: of those that it begins with the longest.
local function before(one)
  local found
  for _, other in ipairs(exchanges) do
    local goes_on = other ~= one and other.model == one.model and other.fixed == one.fixed and #other.lines < #one.lines and one.lines:sub(1, #other.lines) == other.lines
    if goes_on and (not found or #other.lines > #found.lines) then found = other end
  end
  return found
end

local on, tails = {}, {}
for _, one in ipairs(exchanges) do
  local last = before(one)
  if last then
    local rest = one.lines:sub(#last.lines + 1)
    local answer = rest:match "^[^\n]*\n" or "" -- counted as it came
    local factor = math.min(math.max((last.input + last.output) / (last.guess + core.tokens(answer)), 0.5), 3)
    local guess = last.input + last.output + core.tokens(rest:sub(#answer + 1)) * factor
    on[#on + 1] = guess / one.input - 1
    tails[#tails + 1] = math.abs(guess - one.input)
  end
end
report("the next request, from what was counted and a guess at the rest", on)
table.sort(tails)
if #tails > 0 then print(("%-62s half within %d tokens"):format("", tails[(#tails + 1) // 2] // 1)) end
