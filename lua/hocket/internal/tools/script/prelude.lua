-- What runs in the process of a script that a model wrote, before it: JSON, messages, and an environment in which the same script with the same
-- answers does the same again. There is no time, no file and no chance, and tables are in order. script/run.lua (tool `lua`) or workflow/run.lua
-- (tool `workflow`) gets what this returns, and runs the script. A message is a line of JSON; the last one is {done}.
local stdin, stdout, exit = io.stdin, io.stdout, os.exit
local concat, sort, mathtype = table.concat, table.sort, math.type
local rawnext, getmeta, type, tostring, tonumber, error, pcall, select = next, getmetatable, type, tostring, tonumber, error, pcall, select

-- ---- JSON ----------------------------------------------------------------------------------

local null = setmetatable({}, { __tostring = function() return "null" end })

local function quoted(text)
  if not utf8.len(text) then text = text:gsub("[\128-\255]", "?") end
  text = text:gsub('[%c"\\\127]', function(c) return ("\\u%04x"):format(c:byte()) end)
  return '"' .. text .. '"'
end

local function before(a, b)
  if type(a) == type(b) then return a < b end
  return type(a) == "number"
end

-- Keys in order: numbers, texts; the others have none, and come as they come.
local function ordered(t)
  local keys, others = {}, {}
  for key in rawnext, t do
    local list = (type(key) == "number" or type(key) == "string") and keys or others
    list[#list + 1] = key
  end
  sort(keys, before)
  return table.move(others, 1, #others, #keys + 1, keys)
end

local encode
local function encode_table(value, depth)
  if depth > 100 then error("a value is too deep, or holds itself", 0) end
  local parts = {}
  if #value > 0 then
    for i = 1, #value do parts[i] = encode(value[i], depth + 1) end
    return "[" .. concat(parts, ",") .. "]"
  end
  for _, key in ipairs(ordered(value)) do
    if type(key) ~= "string" then error("the keys of a value have to be texts, or 1, 2, 3 …", 0) end
    parts[#parts + 1] = quoted(key) .. ":" .. encode(value[key], depth + 1)
  end
  return "{" .. concat(parts, ",") .. "}"
end

function encode(value, depth)
  local kind = type(value)
  if value == null or value == nil then return "null" end
  if kind == "string" then return quoted(value) end
  if kind == "boolean" or mathtype(value) == "integer" then return tostring(value) end
  if kind == "number" and value == value and value ~= 1 / 0 and value ~= -1 / 0 then return ("%.17g"):format(value) end
  if kind == "table" then return encode_table(value, depth or 0) end
  error(("a %s is no data"):format(kind == "number" and "number without an end" or kind), 0)
end

local decode_at
local escapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

-- In this order no escape is taken for a part of another: a backslash that is meant comes last.
local function unescape(text)
  text = text:gsub("\\\\", "\\u005c"):gsub("\\([^u])", function(c) return escapes[c] or c end)
  text = text:gsub("\\u([dD][89abAB]%x%x)\\u([dD][c-fC-F]%x%x)", function(high, low)
    return utf8.char(0x10000 + ((tonumber(high, 16) - 0xD800) << 10) + tonumber(low, 16) - 0xDC00)
  end)
  return (text:gsub("\\u(%x%x%x%x)", function(hex)
    local n = tonumber(hex, 16)
    return utf8.char(n >= 0xD800 and n < 0xE000 and 0xFFFD or n)
  end))
end

local function decode_text(text, at)
  local from = at + 1
  while true do
    local stop = text:find('["\\]', at + 1)
    if not stop then error("a text does not end", 0) end
    if text:byte(stop) == 34 then
      local raw = text:sub(from, stop - 1)
      return raw:find("\\", 1, true) and unescape(raw) or raw, stop + 1
    end
    at = stop + 1
  end
end

local function decode_list(text, at)
  local list = {}
  at = text:find("%S", at + 1)
  while text:byte(at) ~= 93 do
    list[#list + 1], at = decode_at(text, at)
    at = text:find("%S", at) or error("a list does not end", 0)
    if text:byte(at) == 44 then at = text:find("%S", at + 1) elseif text:byte(at) ~= 93 then error("a list goes on wrong", 0) end
  end
  return list, at + 1
end

local function decode_object(text, at)
  local object = {}
  at = text:find("%S", at + 1)
  while text:byte(at) ~= 125 do
    local key
    key, at = decode_text(text, at)
    at = text:find("%S", text:match("^%s*:()", at) or error("an object goes on wrong", 0))
    object[key], at = decode_at(text, at)
    at = text:find("%S", at) or error("an object does not end", 0)
    if text:byte(at) == 44 then at = text:find("%S", at + 1) elseif text:byte(at) ~= 125 then error("an object goes on wrong", 0) end
  end
  return object, at + 1
end

local words = { ["true"] = true, ["false"] = false, null = null }

function decode_at(text, at)
  local byte = text:byte(at)
  if byte == 34 then return decode_text(text, at) end
  if byte == 91 then return decode_list(text, at) end
  if byte == 123 then return decode_object(text, at) end
  local word = text:match("^%a+", at)
  if word and words[word] ~= nil then return words[word], at + #word end
  local number = text:match("^-?%d[%d.eE+-]*", at)
  return tonumber(number) or error("no JSON at byte " .. tostring(at), 0), at + #number
end

local function decode(text)
  local at = text:find "%S"
  if not at then error("no JSON: the text is empty", 0) end
  local value, stop = decode_at(text, at)
  if text:find("%S", stop) then error("something stands behind the JSON, at byte " .. tostring(stop), 0) end
  return value
end

-- ---- Messages --------------------------------------------------------------------------------

local function say(message)
  stdout:write(encode(message), "\n")
  stdout:flush()
end

local function read()
  return decode(stdin:read "l" or exit(1))
end

-- ---- The script ---------------------------------------------------------------------------------

local printed, bytes = {}, 0
local env = { json = { encode = function(value) return encode(value) end, decode = decode, null = null } }
for _, name in ipairs { "assert", "error", "ipairs", "pcall", "rawequal", "rawget", "rawlen", "rawset", "select", "tonumber", "type", "xpcall", "_VERSION" } do env[name] = _G[name] end
for _, name in ipairs { "string", "table", "math", "utf8", "coroutine" } do
  local copy = {}
  for key, value in rawnext, _G[name] do copy[key] = value end
  env[name] = copy
end
env.string.dump, env.math.randomseed, env._G = nil, nil, env
math.randomseed(1)

function env.tostring(value)
  local meta = getmeta(value)
  if type(value) == "table" and not (meta and meta.__tostring) then return "table" end
  if type(value) == "function" or type(value) == "thread" then return type(value) end
  return tostring(value)
end

-- The texts of tables and functions hold addresses, which differ in each process.
local format = string.format
local function plain_format(pattern, ...)
  if type(pattern) == "string" and pattern:gsub("%%%%", ""):find "%%[^%a]*p" then error("there are no addresses here: use no %p", 2) end
  local args = table.pack(...)
  for i = 1, args.n do
    local kind = type(args[i])
    if kind == "table" or kind == "function" or kind == "thread" then args[i] = env.tostring(args[i]) end
  end
  return format(pattern, table.unpack(args, 1, args.n))
end
env.string.format, getmeta("").__index.format = plain_format, plain_format

function env.pairs(t)
  local meta = getmeta(t)
  if meta and meta.__pairs then return meta.__pairs(t) end
  local keys, i = ordered(t), 0
  return function()
    local key
    repeat
      i = i + 1
      key = keys[i]
    until key == nil or rawget(t, key) ~= nil
    if key ~= nil then return key, t[key] end
  end
end

function env.next(t, key)
  local keys = ordered(t)
  if key == nil then return keys[1], keys[1] ~= nil and t[keys[1]] or nil end
  for i = 1, #keys do
    if keys[i] == key then return keys[i + 1], keys[i + 1] ~= nil and t[keys[i + 1]] or nil end
  end
  error("invalid key to 'next'", 2)
end

function env.setmetatable(t, meta)
  if type(meta) == "table" and rawget(meta, "__gc") ~= nil then error("there are no finalizers here", 2) end
  return setmetatable(t, meta)
end

function env.getmetatable(value)
  return type(value) == "table" and getmeta(value) or nil
end

function env.load(text, name, _, own)
  return load(text, name or "=load", "t", own or env)
end

function env.print(...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = env.tostring((select(i, ...))) end
  bytes = bytes + 1
  printed[bytes] = concat(parts, "\t")
end

-- What a script that failed has raised, as a text.
local function described(err)
  if type(err) == "table" and getmeta(err) == nil and err.message then err = err.message end
  return type(err) == "string" and err or env.tostring(err)
end

-- The last message: what the script returned, and what it printed.
local function finish(ok, value)
  if ok and value ~= nil and type(value) ~= "string" then ok, value = pcall(encode, value) end
  say { done = true, ok = ok, value = value == nil and null or tostring(value), printed = concat(printed, "\n") }
end

return { env = env, encode = encode, null = null, say = say, read = read, described = described, finish = finish }
