-- What is compiled in is what stands in the files: the same bytecode, lines included, for Lua, and the same bytes for all else.
-- What the build has compiled is what this Lua makes of the text, without the names of locals. docs.txt and the stubs are made by the
-- build (cli/help compares docs.txt with the pages; cli/project and cli/skill read the stubs).
local fs = require "hocket.fs"
local system = require "hocket.internal.core.system"

local function bytecode(text)
  return string.dump(assert(load(text, "=embedded")))
end

local function check_compiled(name)
  local script = name:sub(1, -2)
  local packed = assert(load(system.asset(name), script, "b"))
  assert(string.dump(packed, true) == string.dump(assert(load(system.asset(script), "@" .. script)), true), name)
  local lines, expected = debug.getinfo(packed, "L").activelines, debug.getinfo(assert(load(system.asset(script))), "L").activelines
  for line in pairs(expected) do assert(lines[line], name .. ": line " .. line) end
end

local is_made = { ["docs.txt"] = true, ["hocket/templates/stubs.lua.tmpl"] = true }

local count, before, after = 0, 0, 0
local function check(name)
  if is_made[name] then return end
  local text, original = system.asset(name), assert(fs.read("../../" .. (name:find "^hocket/" and "lua/" or "") .. name))
  if name:find "%.lua$" then
    assert(bytecode(text) == bytecode(original), name)
    before, after = before + #original, after + #text
  else
    assert(text == original, name)
  end
  count = count + 1
end

local compiled = 0
for _, name in ipairs(system.assets "") do
  if name:find "%.luac$" then
    compiled = compiled + 1
    check_compiled(name)
  else
    check(name)
  end
end
assert(compiled > 10)
assert(count > 50 and after < before * 0.9)
return ("%d files, %d bytes of Lua in %d"):format(count, before, after)
