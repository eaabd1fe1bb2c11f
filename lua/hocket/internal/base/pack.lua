--- Values as texts, for the log of a run: nil, booleans, numbers, texts, and tables of them.
---
---     pack.encode("a", nil, { 1 })  ──> text ──pack.decode──> "a", nil, { 1 }
---
--- What JSON cannot hold stays as it is: integers, texts that are no UTF-8, keys that are numbers. Lists and errors
--- that are marked as such are so again. Of a table with a __tostring of its own the words stay, and nothing else of its metatable.
local json = require "hocket.json"
local system = require "hocket.internal.core.system"

local pack = {}

--- Tables in tables.
local DEPTH = 64

local array_meta, error_meta = getmetatable(json.array {}), getmetatable(system.error { code = "invalid", message = "" })
local marks = { [array_meta] = "a", [error_meta] = "e" }
local metas = { a = array_meta, e = error_meta, t = false }

-- What a table says of itself; nil: nothing of its own.
local function words_of(value)
  local meta = getmetatable(value)
  if meta == nil or marks[meta] then return nil end
  local ok, words = pcall(tostring, value)
  return ok and not words:find "^[^:]*: 0x%x+$" and words or nil
end

local function saying(value, words)
  return setmetatable(value, { __tostring = function() return words end })
end

local write

local function write_table(out, value, depth)
  if depth > DEPTH then error("tables more than " .. DEPTH .. " deep cannot be kept", 0) end
  local n, words = 0, words_of(value)
  for _ in next, value do n = n + 1 end
  if words then out[#out + 1] = "w" .. string.pack("<s4", words) end
  out[#out + 1] = (marks[getmetatable(value)] or "t") .. string.pack("<I4", n)
  for key, item in next, value do
    write(out, key, depth + 1)
    write(out, item, depth + 1)
  end
end

local writers = {
  ["nil"] = function(out) out[#out + 1] = "0" end,
  boolean = function(out, value) out[#out + 1] = value and "1" or "2" end,
  string = function(out, value) out[#out + 1] = "s" .. string.pack("<s4", value) end,
  number = function(out, value)
    out[#out + 1] = math.type(value) == "integer" and "i" .. string.pack("<i8", value) or "d" .. string.pack("<d", value)
  end,
  table = write_table,
}

function write(out, value, depth)
  if value == json.null then
    out[#out + 1] = "n"
    return
  end
  local writer = writers[type(value)]
  if not writer then error(("a %s cannot be kept: only data can"):format(type(value)), 0) end
  writer(out, value, depth)
end

--- Raises what cannot be kept.
---@param ... any
---@return string
function pack.encode(...)
  local out = { string.pack("<I4", select("#", ...)) }
  for i = 1, select("#", ...) do write(out, (select(i, ...)), 1) end
  return table.concat(out)
end

local read

local function read_table(text, at, kind)
  local n, value
  n, at = string.unpack("<I4", text, at)
  value = {}
  for _ = 1, n do
    local key, item
    key, at = read(text, at)
    item, at = read(text, at)
    value[key] = item
  end
  return metas[kind] and setmetatable(value, metas[kind]) or value, at
end

function read(text, at)
  local kind = text:sub(at, at)
  at = at + 1
  if kind == "0" then return nil, at end
  if kind == "1" or kind == "2" then return kind == "1", at end
  if kind == "n" then return json.null, at end
  if kind == "s" then return string.unpack("<s4", text, at) end
  if kind == "i" then return string.unpack("<i8", text, at) end
  if kind == "d" then return string.unpack("<d", text, at) end
  if kind == "w" then
    local words, value
    words, at = string.unpack("<s4", text, at)
    value, at = read(text, at)
    return saying(value, words), at
  end
  if metas[kind] == nil then error("what was kept cannot be read", 0) end
  return read_table(text, at, kind)
end

--- What encode was given.
---@param text string
---@return any ...
function pack.decode(text)
  local n, at = string.unpack("<I4", text)
  local values = table.pack()
  for i = 1, n do values[i], at = read(text, at) end
  return table.unpack(values, 1, n)
end

local plain = { string = true, number = true, boolean = true }

local function data(value, depth, above)
  if type(value) ~= "table" then
    if plain[type(value)] or value == json.null then return value end
    return nil
  end
  if depth > DEPTH or above[value] then return nil end
  local copy, words, meta = {}, words_of(value), getmetatable(value)
  above[value] = true
  for key, item in next, value do
    if plain[type(key)] then copy[key] = data(item, depth + 1, above) end
  end
  above[value] = nil
  if words then return saying(copy, words) end
  return marks[meta] and setmetatable(copy, meta) or copy
end

--- What of a table is data, with what it says of itself, as a copy; anything else as it is. For errors, which may be anything.
---@param value any
---@return any
function pack.data(value)
  return type(value) == "table" and data(value, 1, {}) or value
end

--- Stands before an outcome of an effect that is an error it raised.
pack.RAISED = "\xff\xff\xff\xff"

return pack
