--- The page of protected places says what is so: each name in it is never written, or asks under a general yes, or is written.
local t = require "harness"
local fs = require "hocket.internal.core.fs"
local permission = require "hocket.permission"
local policy = require "hocket.internal.run.policy"
local tool = require "hocket.tool"

local write = tool { name = "write_file", description = "x", parameters = { type = "object" }, effects = { "write" }, subject = "path", places = { path = true },
  run = function() return "done" end }

local function decided(path, ...)
  local layers = assert(policy.of_run { approve = { ... } })
  return permission.new("a", { write }, nil, { layers = layers, protect = function() return {}, {} end }):check(write, { path = path }, function() end) == true
end

local function part(page, from, to)
  local first = assert(page:find(from, 1, true), from)
  return page:sub(first, assert(page:find(to, first, true)) - 1)
end

-- Code spans that are names of files; a star stands for a name.
local function names(text)
  local list = {}
  for span in text:gmatch "`([^`]+)`" do
    if span:find "^[%w%.%*][%w%.%-%*/_]*$" and span ~= "core.fsmonitor" and not span:find "^core%.hooksPath$" and span ~= "include.path" then
      list[#list + 1] = (span:gsub("%*", "x"))
    end
  end
  return list
end

local page = assert(fs.read "../../docs/guides/tools.md")

t.test("what is never written", function()
  local list = names(part(page, "| used by | never written", "Tools write the following only after"))
  t.ok(#list >= 60, #list)
  for _, name in ipairs(list) do t.equal(decided(name, "allow", ("write_file(path=%s)=allow"):format(name)), false, name) end
end)

t.test("what asks, also under a general yes", function()
  local list = names(part(page, "- CI services run these", "These are not protected"))
  t.ok(#list >= 25, #list)
  for _, name in ipairs(list) do
    t.equal(decided(name, "allow"), false, name)
    t.equal(decided(name, "write_file=allow"), false, name)
    t.equal(decided(name, ("write_file(path=%s)=allow"):format(name)), true, name)
  end
end)

t.test("what is not protected, as the page says", function()
  local list = names(part(page, "These are not protected", "In a conversation with text"))
  t.ok(#list >= 15, #list)
  for _, name in ipairs(list) do t.equal(decided(name, "allow"), true, name) end
end)

return t.finish()
