--- `hocket new DIR`: a small project that runs at once, without a key.
local check = require "hocket.internal.commands.check"
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local system = require "hocket.internal.core.system"
local trust = require "hocket.internal.runner.trust"

-- What an editor goes by. Agents that work in the project cannot change it: the folder is protected.
local EDITORS = ".hocket"

local function schema_text(kind)
  return json.encode(assert(check.schema_of(kind))) .. "\n"
end

-- What is written, and the template that it is made from, or a function that makes it.
local files = {
  { "README.md", "README.md" },
  { "main.lua", "main.lua" },
  { "sim.lua", "sim.lua" },
  { "agents/editor.md", "editor.md" },
  { "agents/researcher.md", "researcher.md" },
  { "agents/critic.md", "critic.md" },
  { EDITORS .. "/agent.schema.json", function() return schema_text "agent" end },
  { EDITORS .. "/providers.schema.json", function() return schema_text "providers" end },
  { EDITORS .. "/eval.schema.json", function() return schema_text "eval" end },
}

local function failure(code, message)
  return nil, { code = code, message = message }
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

local function text_of(file, name)
  if type(file[2]) == "function" then return file[2]() end
  local text = system.asset("hocket/templates/" .. file[2] .. ".tmpl")
  return (text:gsub("@NAME@", (name:gsub("%%", "%%%%"))))
end

local folders = { "agents", EDITORS }

local function make_folders(dir)
  for _, folder in ipairs(folders) do
    local ok, err = fs.mkdir(dir .. "/" .. folder)
    if not ok then return nil, err end
  end
  return true
end

local function write_all(dir, name, made)
  local ok, err = make_folders(dir)
  if not ok then return nil, err end
  for _, file in ipairs(files) do
    local text = text_of(file, name)
    ok, err = fs.write(dir .. "/" .. file[1], text, { exclusive = true })
    if not ok then return nil, err end
    table.insert(made, 1, dir .. "/" .. file[1])
  end
  return true
end

local function quoted(path)
  if path:find "^%-" then path = "./" .. path end
  if path:find "^[%w_./-]+$" then return path end
  return "'" .. path:gsub("'", "'\\''") .. "'"
end

---@param args {dir: string}
return function(args)
  local dir = args.dir:gsub("(.)/+$", "%1")
  if dir == "" then return failure("invalid", "a directory's name must not be empty") end
  local ok, err = check_dir(dir)
  if not ok then return nil, err end
  local name = (fs.real(dir) or dir):match "([^/]+)$" or "project"
  local made = missing_of(dir .. "/agents")
  for i = 2, #folders do table.insert(made, 1, dir .. "/" .. folders[i]) end
  ok, err = write_all(dir, name, made)
  if not ok then -- a project in half is none
    for _, path in ipairs(made) do os.remove(path) end
    return nil, err
  end
  trust.remember(dir) -- where there is no home its first run asks
  local lines = { ("made %s"):format(dir), "" }
  for _, file in ipairs(files) do lines[#lines + 1] = ("  %s/%s"):format(dir, file[1]) end
  lines[#lines + 1] = ""
  lines[#lines + 1] = ('next:  hocket run %s "Should we move to a four-day week?"'):format(quoted(dir))
  return { dir = dir, text = table.concat(lines, "\n") }
end
