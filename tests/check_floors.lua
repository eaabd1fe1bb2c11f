-- Keeps the floors of the Lua modules (tests/floors.txt): who may require whom, late requires included. Any string that is a
-- module's name counts as a require of it.
--
--   hocket run tests/check_floors.lua [ROOT]
local fs = require "hocket.fs"

local root = (...) or debug.getinfo(1, "S").source:match "^@(.*)/tests/[^/]*$" or "."
local wrong = {}

local function complain(...)
  wrong[#wrong + 1] = string.format(...)
end

-- ---- What there is ----------------------------------------------------------------------------

local function lua_files(dir, found)
  for _, name in ipairs(assert(fs.list(root .. "/" .. dir))) do
    if name:sub(-1) == "/" then lua_files(dir .. "/" .. name:sub(1, -2), found) end
    if name:find "%.lua$" then found[#found + 1] = dir .. "/" .. name end
  end
  return found
end

-- "lua/hocket/sim/init.lua" -> "hocket.sim"
local function module_of(file)
  return (file:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", "."))
end

-- The names of modules that are made in C.
local function c_modules()
  local names = {}
  for _, file in ipairs { "src/bind/modules.c", "src/host/host.c", "src/host/serve.c" } do
    for name in assert(fs.read(root .. "/" .. file)):gmatch '"(hocket%.[%w_.]+)", [%w_]*open_' do names[name] = true end
  end
  return names
end

-- A floor's number by its name, and by that of each public module.
local function read_floors()
  local number, of_public, count = {}, {}, 0
  for line in assert(fs.read(root .. "/tests/floors.txt")):gmatch "[^\n]+" do
    local floor, modules = line:match "^(%l+)%s*(.*)$"
    if floor then
      count = count + 1
      number[floor] = count
      for name in modules:gmatch "%S+" do of_public[name] = floor end
    end
  end
  return number, of_public
end

local number, of_public = read_floors()

-- The pattern that a module is, or is a part of: hocket.patterns.team.channel is a part of hocket.patterns.team.
local function pattern_of(name)
  return name:match "^hocket%.patterns%.%l+"
end

local function floor_of(name)
  return of_public[name] or name:match "^hocket%.internal%.(%l+)%." or of_public[pattern_of(name)]
end

-- ---- Who requires whom ------------------------------------------------------------------------

-- Modules that require by a name that is no literal: theirs are the strings of their tables.
local by_table = {
  ["hocket"] = true, ["hocket.internal.base.lazy"] = true, ["hocket.internal.host.entry"] = true, ["hocket.internal.tools.builtin"] = true,
  ["hocket.internal.live.generation"] = true, ["hocket.internal.runner.kept_scripts"] = true, -- what the user's scripts require
  ["hocket.internal.runner.required"] = true, ["hocket.internal.runner.undefined"] = true,
}

local function requires_of(name, file, known)
  local list, line_number = {}, 0
  for line in (assert(fs.read(root .. "/" .. file)) .. "\n"):gmatch "(.-)\n" do
    line_number = line_number + 1
    local code = line:find "^%s*%-%-" and "" or line
    for text in code:gmatch '"(hocket[%w_.]*)"' do
      if known[text] and text ~= name and (text ~= "hocket" or code:find "require") then
        list[#list + 1] = { name = text, at = ("%s:%d"):format(file, line_number) }
      elseif code:find('require "' .. text .. '"', 1, true) or code:find('require("' .. text .. '"', 1, true) then
        complain("%s:%d: there is no module '%s'", file, line_number, text)
      end
    end
    if code:find "%f[%w_]require%s*%(%s*[%a_]" and not by_table[name] then
      complain("%s:%d: requires by a name that is no literal: nobody can see whom", file, line_number)
    end
    if code:find "package%.loaded%[" and not by_table[name] then complain("%s:%d: looks into package.loaded: let it be handed in", file, line_number) end
  end
  return list
end

-- The patterns that come with hocket have no privilege, and can be copied: they use what is public, or a part of their own.
local function check_pattern(name, one)
  local pattern = pattern_of(name)
  if not pattern or of_public[one.name] or pattern_of(one.name) == pattern then return end
  complain("%s: the pattern %s requires %s, which a script's own pattern cannot", one.at, name, one.name)
end

local function check_one(name, one)
  local from, to = floor_of(name), floor_of(one.name)
  if from and to and number[to] > number[from] then
    complain("%s: %s (%s) requires %s (%s): arrows point down", one.at, name, from, one.name, to)
  end
  check_pattern(name, one)
end

-- A circle that a module is part of is told once, with all who are in it.
local function check_circles(edges)
  local state, path = {}, {}
  local function visit(name)
    state[name], path[#path + 1] = "open", name
    for _, one in ipairs(edges[name] or {}) do
      if state[one.name] == "open" then
        local from = 1
        while path[from] ~= one.name do from = from + 1 end
        complain("%s: a circle: %s > %s", one.at, table.concat(path, " > ", from), one.name)
      elseif not state[one.name] then
        visit(one.name)
      end
    end
    state[name], path[#path] = "done", nil
  end
  local names = {}
  for name in pairs(edges) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    if not state[name] then visit(name) end
  end
end

-- ---- What others are shown ------------------------------------------------------------------------

-- Documents and examples use what is public. (docs/explanation/architecture.md says where the rest lies.)
local function check_shown()
  local files = lua_files("examples", lua_files("docs/stubs", {}))
  for _, folder in ipairs { "docs", "docs/tutorial", "docs/guides", "docs/reference", "docs/reference/lua", "docs/explanation" } do
    for _, name in ipairs(assert(fs.list(root .. "/" .. folder))) do
      if name:find "%.md$" then files[#files + 1] = folder .. "/" .. name end
    end
  end
  for _, file in ipairs(files) do
    local text = assert(fs.read(root .. "/" .. file))
    if text:find '["\']hocket%.internal%.' then complain("%s: shows a module that is not public", file) end
  end
end

local files, edges, known = lua_files("lua/hocket", {}), {}, c_modules()
for _, file in ipairs(files) do known[module_of(file)] = true end
for name in pairs(known) do
  if not number[floor_of(name) or ""] then complain("%s has no floor: name it in tests/floors.txt, or put it below lua/hocket/internal/", name) end
end
for name in pairs(of_public) do
  if not known[name] then complain("tests/floors.txt names %s, which does not exist", name) end
end
for _, file in ipairs(files) do
  local name = module_of(file)
  edges[name] = requires_of(name, file, known)
  for _, one in ipairs(edges[name]) do check_one(name, one) end
end
if #wrong == 0 then check_circles(edges) end -- an arrow that is turned makes many
check_shown()
table.sort(wrong)
if #wrong > 0 then return nil, { code = "state", message = table.concat(wrong, "\n") } end
return ("%d modules: the arrows point down"):format(#files)
