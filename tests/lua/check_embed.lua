-- What is compiled in is what stands in the files: the same bytecode, lines included, for Lua, and
-- the same bytes for all else. The input names assets.c.
local file = assert(io.open((...), "rb"))
local source = file:read "a"
file:close()

local function read(path)
  local one = assert(io.open(path, "rb"))
  local text = one:read "a"
  one:close()
  return text
end

local function bytes(list)
  return (list:gsub("0x(%x%x),", function(hex) return string.char(tonumber(hex, 16)) end))
end

local function bytecode(text)
  return string.dump(assert(load(text, "=embedded")))
end

local arrays, count, before, after = {}, 0, 0, 0
for name, list in source:gmatch "unsigned char (a%d+)%[%] = {(.-)0};" do arrays[name] = bytes(list) end
for name, array, size in source:gmatch '{ "([^"]+)", %(const char %*%) (a%d+), (%d+) }' do
  local text, original = arrays[array], read("../../" .. (name:find "^hocket/" and "lua/" or "") .. name)
  assert(#text == tonumber(size), name)
  if name:find "%.lua$" then
    assert(bytecode(text) == bytecode(original), name)
    before, after = before + #original, after + #text
  else
    assert(text == original, name)
  end
  count = count + 1
end
assert(count > 50 and after < before * 0.9)
return ("%d files, %d bytes of Lua in %d"):format(count, before, after)
