-- Writes a stub for each module that a script may require, which `hocket new` gives to editors. The build runs it, in a plain Lua, and
-- packs what it writes as hocket/templates/stubs.lua.tmpl:
--
--   hocket_embed --lua docs/tools/stubs.lua OUT
local annotations = dofile((debug.getinfo(1, "S").source:match "^@(.*/)" or "") .. "annotations.lua")

local function read(path)
  local file = assert(io.open(annotations.root .. path, "rb"))
  return file:read "a", file:close()
end

local Stub = {}
Stub.__index = Stub

function Stub:add(line)
  self.lines[#self.lines + 1] = line
end

function Stub:declare(name)
  if self.declared[name] then return end
  self.declared[name] = true
  self:add(("local %s = {}"):format(name))
end

-- Without what is hocket's own, and without examples, which stand in the reference.
function Stub:comment(doc)
  for _, line in ipairs(doc.raw) do
    if not line:find "^%-%-%-@field package" and not line:find "^%-%-%-@internal" and not line:find "^%-%-%-    " then self:add(line) end
  end
end

-- What a block of a file is about, where a script may use it: a class, or a function's name and arguments.
local function subject(doc, wanted)
  local name, arguments = doc.code:match "^function ([%w_.:]+)%((.-)%)"
  if not name then name, arguments = doc.code:match "^([%w_.]+) = function%((.-)%)" end
  if doc.internal or wanted and not wanted[doc.class or name] then return nil end
  return doc.class or name, name, arguments
end

function Stub:block(doc, wanted)
  local known, name, arguments = subject(doc, wanted)
  if not known then return end
  local object = name and name:match "^[%w_]+" or doc.code:match "^local ([%w_]+) ="
  if doc.class then
    self:comment(doc)
    if object and not self.declared[object] then self:declare(object) else self:add "" end
    return
  end
  self:declare(object)
  self:comment(doc)
  self:add(("function %s(%s) end\n"):format(name, arguments))
end

local function wanted_of(source)
  if type(source) == "string" then return source, nil end
  local wanted = {}
  for i = 2, #source do wanted[source[i]] = true end
  return source[1], wanted
end

-- What hocket itself has beside its functions: its modules, loaded when they are first used.
local function add_modules(stub, text)
  for _, one in ipairs { { "modules", "hocket" }, { "patterns", "hocket.patterns" } } do
    local list, prefix = table.unpack(one)
    local names = text:match("\nlocal " .. list .. " = (%b{})")
    if prefix ~= "hocket" then stub:add(("%s = {}"):format(prefix)) end
    for name, module in names:gmatch '([%w_]+) = "([%w_.]+)"' do stub:add(("%s.%s = require %q"):format(prefix, name, module)) end
  end
end

local function stub_of(page)
  local stub = setmetatable({ lines = { "---@meta " .. page[1], "" }, declared = {} }, Stub)
  local returned
  for i = 2, #page do
    local path, wanted = wanted_of(page[i])
    local text = read(path)
    if i == 2 then
      returned = text:match "\nreturn ([%w_]+)%s*$" or text:match "\nreturn setmetatable%(([%w_]+)"
      local is_called = text:find("__call", 1, true) or not returned
      returned = returned or "module"
      stub:add("---@class " .. page[1])
      if is_called then stub:add "---@overload fun(...: any): any" end
      stub:declare(returned)
      stub:add ""
      if page[1] == "hocket" then add_modules(stub, text) end
    else
      stub:add "do"
      stub.declared = {}
    end
    for _, doc in ipairs(annotations.blocks_of(text)) do stub:block(doc, wanted) end
    if i > 2 then stub:add "end" end
  end
  stub:add("return " .. returned)
  local text = table.concat(stub.lines, "\n"):gsub("\n\n\n+", "\n\n") .. "\n"
  assert(load(text, "=" .. page[1], "t", {}))
  return text
end

local function generate()
  local out = {}
  for _, page in ipairs(annotations.pages) do
    if page[1]:find "^hocket" then out[#out + 1] = ("--@file %s.lua\n%s"):format(page[1]:gsub("%.", "/"), stub_of(page)) end
  end
  out[#out + 1] = "--@file hocket/error.lua\n" .. read "docs/stubs/error.lua"
  return table.concat(out)
end

-- A file that is as it was keeps its time: nothing is packed again for a change that no stub shows.
local path, text = ..., generate()
local before = io.open(path, "rb")
if before and before:read "a" == text then return end
local file = assert(io.open(path, "wb"))
assert(file:write(text))
assert(file:close())
