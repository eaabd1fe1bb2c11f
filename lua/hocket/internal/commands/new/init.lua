--- `hocket new DIR`: a small project that runs at once, without a key.
local check = require "hocket.internal.commands.check"
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local pattern_copy = require "hocket.internal.base.lazy" "hocket.internal.commands.new.pattern_copy"
local system = require "hocket.internal.core.system"
local trust = require "hocket.internal.runner.trust"
local failure = system.failure

-- What an editor goes by. Agents that work in the project cannot change it: the folder is protected.
local EDITORS = ".hocket"

local function schema_text(kind)
  return json.encode(assert(check.schema_of(kind))) .. "\n"
end

-- What is written, and the template that it is made from.
local files = {
  { "README.md", "README.md" },
  { "main.lua", "main.lua" },
  { "sim.lua", "sim.lua" },
  { "agents/editor.md", "editor.md" },
  { "agents/researcher.md", "researcher.md" },
  { "agents/critic.md", "critic.md" },
}

local luarc = [[
{
  "$schema": "https://raw.githubusercontent.com/LuaLS/vscode-lua/master/setting/schema.json",
  "runtime.version": "Lua 5.4",
  "workspace.library": [".hocket/lua"],
  "workspace.checkThirdParty": false
}
]]

-- What editors go by: schemas of our files, and a stub for each module of ours. By path, the text.
local function for_editors()
  local list = { { ".luarc.json", luarc } }
  for _, kind in ipairs { "agent", "providers", "eval" } do list[#list + 1] = { ("%s/%s.schema.json"):format(EDITORS, kind), schema_text(kind) } end
  local stubs = system.asset "hocket/templates/stubs.lua.tmpl"
  for part in stubs:gsub("%-%-@file ", "\0"):gmatch "\0([^\0]+)" do
    local path, text = part:match "^([^\n]+)\n(.*)$"
    list[#list + 1] = { ("%s/lua/%s"):format(EDITORS, path), text }
  end
  return list
end

local function check_dir(dir)
  local info, err = fs.info(dir)
  if err then return nil, err end
  if not info then return true end
  if info.kind ~= "directory" then return failure("exists", ("%s: is not a directory"):format(dir)) end
  local names, unreadable = fs.list(dir)
  if not names then return nil, unreadable end
  if #names > 0 then return failure("exists", ("%s: is not empty (%s …): name a new directory"):format(dir, names[1])) end
  return true
end

-- What is not there yet of a path, the deepest first.
local function missing_of(path)
  local missing = {}
  while path and path ~= "" and not fs.info(path) do
    missing[#missing + 1] = path
    path = path:match "^(.*[^/])/+[^/]*$"
  end
  return missing
end

local function write_one(path, text, made)
  local folder = path:match "^(.*)/[^/]*$"
  local missing = missing_of(folder)
  for i = #missing, 1, -1 do table.insert(made, 1, missing[i]) end
  local ok, err = fs.mkdir(folder)
  if not ok then return nil, err end
  ok, err = fs.write(path, text, { exclusive = true })
  if not ok then return nil, err end
  table.insert(made, 1, path)
  return true
end

-- Writes all files, or none: a project in half is none.
local function write_all(dir, list)
  local made = {}
  for _, file in ipairs(list) do
    local ok, err = write_one(dir .. "/" .. file[1], file[2], made)
    if not ok then
      for _, path in ipairs(made) do os.remove(path) end
      return nil, err
    end
  end
  return true
end

local function project_files(name)
  local list = for_editors()
  for i, file in ipairs(files) do
    local text = system.asset("hocket/templates/" .. file[2] .. ".tmpl")
    table.insert(list, i, { file[1], (text:gsub("@NAME@", (name:gsub("%%", "%%%%")))) })
  end
  return list
end

local function quoted(path)
  if path:find "^%-" then path = "./" .. path end
  if path:find "^[%w_./-]+$" then return path end
  return "'" .. path:gsub("'", "'\\''") .. "'"
end

-- A copy of a pattern, for a project that there is or will be.
local function copy_pattern(dir, name)
  local list, use = pattern_copy.files(name)
  if not list then return nil, use end
  local ok, err = write_all(dir, list)
  if not ok then return nil, err end
  local lines = { ("copied hocket.patterns.%s"):format(name), "" }
  for _, file in ipairs(list) do lines[#lines + 1] = ("  %s/%s"):format(dir, file[1]) end
  lines[#lines + 1] = ("\nnext:  in a script in %s:\n\n  local hocket = require \"hocket\"\n  %s"):format(dir, use)
  return { dir = dir, pattern = name, text = table.concat(lines, "\n") }
end

-- Agents of another program as a project of ours.
local function take_over(dir, path)
  local ok, err = check_dir(dir)
  if not ok then return nil, err end
  local list, wrong = require("hocket.internal.commands.new.from").files(path)
  if not list then return nil, wrong end
  ok, err = write_all(dir, list)
  if not ok then return nil, err end
  local lines = { ("made %s"):format(dir), "" }
  for _, file in ipairs(list) do lines[#lines + 1] = ("  %s/%s"):format(dir, file[1]) end
  lines[#lines + 1] = ("\nnext:  read the comments in them; hocket check %s"):format(quoted(dir))
  return { dir = dir, from = path, text = table.concat(lines, "\n") }
end

---@param args {dir: string, pattern?: string, from?: string}
return function(args)
  local dir = args.dir:gsub("(.)/+$", "%1")
  if dir == "" then return failure("invalid", "a directory's name must not be empty") end
  if args.pattern then return copy_pattern(dir, args.pattern) end
  if args.from then return take_over(dir, args.from) end
  local ok, err = check_dir(dir)
  if not ok then return nil, err end
  local name = (fs.real(dir) or dir):match "([^/]+)$" or "project"
  ok, err = write_all(dir, project_files(name))
  if not ok then return nil, err end
  trust.remember(dir) -- where there is no home its first run asks
  local lines = { ("made %s"):format(dir), "" }
  for _, file in ipairs(files) do lines[#lines + 1] = ("  %s/%s"):format(dir, file[1]) end
  lines[#lines + 1] = ("  %s/%s and .luarc.json, for editors"):format(dir, EDITORS)
  lines[#lines + 1] = ""
  lines[#lines + 1] = ('next:  hocket run %s "Should we move to a four-day week?"'):format(quoted(dir))
  return { dir = dir, text = table.concat(lines, "\n") }
end
