-- The stubs in docs/stubs name what the binding files offer: no method less, none more.
local fs = require "hocket.fs"

local root = debug.getinfo(1, "S").source:match "^@(.*)tests/docs/[^/]*$" or ""

-- A stub, and the binding file with the functions and methods that it describes.
local pairs_of = {
  { "board", "board/lua_board", "methods" }, { "document", "lua_document", "methods" },
  { "call", "llm/lua_answer", "methods" }, { "history", "llm/lua_history", "methods" }, { "journal", "journal/lua_journal", "methods" },
  { "writer", "event_writer", "methods" },
  { "schema", "schema/lua_schema", "methods", "functions" }, { "fiber", "fiber/lua_fiber", "methods", "functions" },
  { "json", "json/lua_json", "functions" }, { "fs", "files/lua_fs", "functions" },
  { "http", "web/lua_http", "functions" }, { "stream", "web/lua_stream", "methods" }, { "process", "process/lua_process", "functions" }, { "program", "process/lua_program", "methods" }, { "yaml", "system/lua_system", "yaml_functions" },
}

-- What event_writer.c adds to journals.
local added = { journal = "writer" }

local function names_in_c(file, lists)
  local text, names = assert(fs.read(root .. "src/bind/" .. file .. ".c")), {}
  for _, list in ipairs(lists) do
    local rows = assert(text:match("luaL_Reg " .. list .. "%[%] = (%b{});"), file .. " has no " .. list)
    for name in rows:gmatch '{ "([%w_]+)"' do
      if not name:find "^__" then names[name] = true end
    end
  end
  return names
end

local function names_in_stub(file)
  local names = {}
  for name in assert(fs.read(root .. "docs/stubs/" .. file .. ".lua")):gmatch "\nfunction [%w_]+[.:]([%w_]+)%(" do
    names[name] = true
  end
  return names
end

local wrong = {}
for _, pair in ipairs(pairs_of) do
  local stub, c = names_in_stub(pair[1]), names_in_c(pair[2], { table.unpack(pair, 3) })
  if added[pair[1]] then c[added[pair[1]]] = true end
  for name in pairs(c) do
    if not stub[name] then wrong[#wrong + 1] = ("docs/stubs/%s.lua lacks '%s'"):format(pair[1], name) end
  end
  for name in pairs(stub) do
    if not c[name] then wrong[#wrong + 1] = ("docs/stubs/%s.lua has '%s', which does not exist"):format(pair[1], name) end
  end
end
if #wrong > 0 then return nil, { code = "state", message = table.concat(wrong, "\n") } end
return "the stubs are complete"
