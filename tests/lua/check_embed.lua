-- What is compiled in is what stands in the files: the same bytecode, lines included, for Lua, and
-- the same bytes for all else.
local fs = require "hocket.fs"
local system = require "hocket.core.system"

local function bytecode(text)
  return string.dump(assert(load(text, "=embedded")))
end

local count, before, after = 0, 0, 0
for _, name in ipairs(system.assets "") do
  local text, original = system.asset(name), assert(fs.read("../../" .. (name:find "^hocket/" and "lua/" or "") .. name))
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
