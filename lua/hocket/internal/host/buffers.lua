--- Targets that the embedding program gives as texts: see hocket_load_buffer in the public header. A text is a
--- file below "buffer:" for everything that reads agents and scripts through hocket.fs.
local agents = require "hocket.agent"
local beyond = require "hocket.internal.base.lazy" "hocket.internal.live.beyond"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.internal.core.fs"
local hooks_check = require "hocket.internal.base.lazy" "hocket.internal.runner.hooks.check"
local problems = require "hocket.internal.base.lazy" "hocket.internal.agents.problem"
local script = require "hocket.internal.base.script"
local system = require "hocket.internal.core.system"
local targets = require "hocket.internal.runner.target"
local views = require "hocket.internal.base.lazy" "hocket.internal.live.view"

local buffers = {}

local PREFIX = "buffer:"
--- Files that buffers.directory takes, and bytes of each.
local MAX_FILES, MAX_BYTES = 1000, 1 << 20

local texts = {}
local pinned = false -- a run has them, and they stay for it as they are

-- Those of the running run, or the newest ones.
local function current()
  local context = fiber.context()
  return context and context.run and context.run.buffers or texts
end

--- The texts as they are now, for a run that begins: what is loaded later is not for it.
---@return table<string, string>
function buffers.pin()
  pinned = true
  return texts
end
targets.set_texts(buffers.pin)

local function inside(path)
  if path:sub(1, #PREFIX) ~= PREFIX then return nil end
  return (path:sub(#PREFIX + 1):gsub("/+$", ""))
end

-- The names directly below a directory, as fs.list gives them; nil when there are none.
local function names_below(dir)
  local names, seen = {}, {}
  for name in pairs(current()) do
    local rest = dir == "" and name or system.below(name, dir)
    local first = rest and (rest:match "^[^/]+/" or rest)
    if first and not seen[first] then
      seen[first] = true
      names[#names + 1] = first
    end
  end
  table.sort(names)
  return names[1] and names
end

local function missing(path)
  return nil, { code = "not_found", message = path .. ": there is no such text" }
end

local files = { read = fs.read, info = fs.info, list = fs.list }

function fs.read(path, ...)
  local name = inside(path)
  if not name then return files.read(path, ...) end
  local text = current()[name]
  if not text then return missing(path) end
  return text
end

function fs.info(path)
  local name = inside(path)
  if not name then return files.info(path) end
  local text = current()[name]
  if text then return { kind = "file", size = #text } end
  if names_below(name) then return { kind = "directory", size = 0 } end
  return missing(path)
end

function fs.list(path)
  local name = inside(path)
  if not name then return files.list(path) end
  local names = names_below(name)
  if not names then return missing(path) end
  return names
end

local function check_hooks(name, text)
  local wrong = {}
  hooks_check.add(PREFIX .. name, text, wrong)
  if wrong[1] then error({ code = "agent", message = problems.explain(wrong) }, 0) end
end

local function check_text(name, text)
  if script.is(name) then
    local chunk, wrong = script.compile(text, PREFIX .. name)
    if not chunk then error({ code = "agent", message = wrong }, 0) end
    if name:find "%f[^/%z]hooks%.lua$" then check_hooks(name, text) end
  elseif name:find "%.md$" and agents.has_frontmatter(text) then
    require "hocket.internal.runner.builtins" -- the tools that agents' files name: nothing may have run yet
    local def, problems = agents.parse(text, PREFIX .. name)
    if not def then error({ code = "agent", message = agents.explain(problems) }, 0) end
  end
end

local function check_name(name)
  if name == "" or #name > 4096 or fs.is_absolute(name) or name:find "/$" or name:find "//" or name:find "%f[^/%z]%.%.?%f[/%z]" then
    error({ code = "invalid", message = ("'%s' is no name for a text: a/b.md is one"):format(name) }, 0)
  end
end

--- Keeps a text as the target "buffer:NAME". Raises what is wrong with it, and keeps what was there.
---@param name string "npc/smith.md"
---@param text string
function buffers.add(name, text)
  check_name(name)
  check_text(name, text)
  if pinned then
    local copy = {}
    for key, value in pairs(texts) do copy[key] = value end
    texts, pinned = copy, false
  end
  texts[name] = text
end

-- Files and directories whose names begin with a dot are not read.
local function collect(dir, name, found)
  local names, err = files.list(dir)
  if not names then error(err, 0) end
  for _, one in ipairs(names) do
    if one:sub(-1) == "/" and one:sub(1, 1) ~= "." then
      collect(dir .. "/" .. one:sub(1, -2), name .. "/" .. one:sub(1, -2), found)
    elseif one:find "%.md$" or script.is(one) then
      if found.n == MAX_FILES then error({ code = "limit", message = ("%s: more than %d files"):format(dir, MAX_FILES) }, 0) end
      local text, wrong = files.read(dir .. "/" .. one, MAX_BYTES)
      if not text then error(wrong, 0) end
      found.n, found.texts[name .. "/" .. one] = found.n + 1, text
    end
  end
end

-- The hooks of the project whose folder of agents it is stand above it, with their modules: they come along, beside the agents.
local function collect_hooks(dir, name, found)
  local root = views.absolute(dir)
  local above = beyond.look(dir, views.absolute, function(path) return system.below(views.absolute(path), root) end)
  for abs, text in pairs(above.texts) do
    local key = name .. "/" .. above.spelled[abs]:sub(#above.folder + 2)
    if found.texts[key] and found.texts[key] ~= text then
      error({ code = "agent", message = ("%s: the hooks of %s need a file of this name above the folder: load %s"):format(key, above.folder, above.folder) }, 0)
    end
    found.texts[key] = text
  end
end

--- Keeps all agents and scripts of a directory as they are now, as the target "buffer:NAME", and the hooks of its project. All or
--- nothing: raises what is wrong with them.
---@param name string
---@param dir string
function buffers.directory(name, dir)
  check_name(name)
  if dir == "" then error({ code = "invalid", message = "a directory to load needs a path" }, 0) end
  local found = { n = 0, texts = {} }
  dir = dir:gsub("(.)/+$", "%1")
  collect(dir, name, found)
  if found.n == 0 then error({ code = "agent", message = dir .. ": there is no agent and no script here" }, 0) end
  collect_hooks(dir, name, found)
  local before, was_pinned = texts, pinned
  texts, pinned = {}, false
  for key, text in pairs(before) do
    if not system.below(key, name) then texts[key] = text end
  end
  for key, text in pairs(found.texts) do texts[key] = text end
  local ok, wrong = pcall(function()
    for key, text in pairs(found.texts) do check_text(key, text) end
    if not found.texts[name .. "/main.lua"] then agents.load_dir(PREFIX .. name) end
  end)
  if not ok then
    texts, pinned = before, was_pinned
    error(wrong, 0)
  end
end

return buffers
