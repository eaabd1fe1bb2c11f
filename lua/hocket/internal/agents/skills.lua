--- Skills in the open format (agentskills.io): a folder with SKILL.md, which has a head (name, description) and
--- instructions below it, and whatever files these speak of. Here they are found and read; nothing of them runs.
---
---     where                                   whose                     named twice: the first counts
---     what an agent's `skills:` gives a path  the agent's
---     .hocket/, .agents/, .claude/skills      the project's
---     $XDG_CONFIG_HOME/hocket/skills,         the user's
---     ~/.agents/skills
---
--- A project's may be a stranger's: `from` says so, and whoever uses them asks first (runner/trust.lua).
local fs = require "hocket.internal.core.fs"
local problem = require "hocket.internal.agents.problem"
local read = require "hocket.internal.agents.read"
local system = require "hocket.internal.core.system"
local trim = require "hocket.internal.base.trim"

local skills = {}

skills.FILE = "SKILL.md"
--- Bytes of a SKILL.md; folders below each other, folders that are looked into, skills of one place, files of a skill.
local LIMIT, DEPTH, FOLDERS, MANY = 256 * 1024, 4, 2000, 500
skills.FILES = 1000
--- Names after which others have their turn.
local SLICE = 100
local NAME, DESCRIPTION, COMPATIBILITY = 64, 1024, 500

---@class hocket.Skill
---@field name string
---@field description string
---@field body string
---@field dir string Its folder, without links.
---@field file string For messages.
---@field from "agent"|"project"|"user"
---@field scripts boolean Whether it has files beside SKILL.md that may run.

-- ---- One skill ------------------------------------------------------------------------------

local function clean(text)
  text = text:gsub("%c+", " "):gsub("\u{200B}", ""):gsub("\u{2060}", ""):gsub("\u{FEFF}", ""):gsub("\243\160[\128-\191][\128-\191]", "")
  return (text:gsub("\226\128[\170-\174]", ""):gsub("\226\129[\166-\169]", ""):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

local function length(text)
  return utf8.len(text) or #text
end

local function is_name(text)
  return #text <= NAME and text:find "^[a-z0-9-]+$" and not text:find "^%-" and not text:find "%-$" and not text:find("--", 1, true)
end

-- A name is its folder's: another one counts for nothing, and other programs refuse it.
local function check_name(name, folder, say)
  if name == nil then return say("name", ("'name' is missing: it is its folder's, '%s'"):format(folder)) end
  if name ~= folder then return say("name", ("'name' must be its folder's: '%s', not '%s'"):format(folder, clean(tostring(name)):sub(1, 80))) end
  if not is_name(folder) then say("name", ("'name' must be of a-z, 0-9 and single inner hyphens, %d at most"):format(NAME)) end
end

local function read_description(text, say)
  if type(text) ~= "string" or not text:find "%S" then return nil end
  if length(text) <= DESCRIPTION then return clean(text) end
  say("description", ("'description' has %d characters: %d are shown"):format(length(text), DESCRIPTION))
  return clean(text:sub(1, (utf8.offset(text, DESCRIPTION + 1) or #text + 1) - 1))
end

local function check_others(values, body, say)
  if type(values.compatibility) == "string" and length(values.compatibility) > COMPATIBILITY then
    say("compatibility", ("'compatibility' has more than %d characters"):format(COMPATIBILITY))
  end
  if values.metadata ~= nil and type(values.metadata) ~= "table" then say("metadata", "'metadata' must be names with texts") end
  if not body:find "%S" then say("", "there are no instructions below the head") end
end

--- Reads a SKILL.md. What is odd and does no harm is a warning, as other programs take it.
---@param text string
---@param file string
---@param folder string Its folder's name.
---@return hocket.Skill? skill Without the fields of its place.
---@return hocket.Problem[] problems
function skills.parse(text, file, folder)
  local values, places, body = read.head(text, file)
  if not values then return nil, { places } end
  local problems = {}
  local function say(key, message)
    local line, column = problem.place(places, key ~= "" and "/" .. key or "")
    problems[#problems + 1] = problem.new(file, line, column, "skill", message)
    problems[#problems].severity = "warning"
  end
  check_name(values.name, folder, say)
  local description = read_description(values.description, say)
  if not description then
    say("description", "'description' is missing: what the skill does, and when to use it")
    problems[#problems].severity = "error"
    return nil, problems
  end
  check_others(values, body, say)
  return { name = folder, description = description, body = trim.both(body), file = file }, problems
end

-- ---- Its folder --------------------------------------------------------------------------------

--- Files below a folder, by their paths below it, sorted; links that lead out of it are none.
---@param dir string Without links.
---@return string[] files At most skills.FILES.
function skills.files(dir)
  local out, open, seen = {}, { "" }, {}
  while #open > 0 and #out < skills.FILES do
    local at = table.remove(open, 1)
    local real = fs.real(dir .. "/" .. at)
    if real and system.below(real, dir) and not seen[real] then
      seen[real] = true
      for _, name in ipairs(fs.list(real) or {}) do
        local path = at .. name
        if name:sub(-1) == "/" then
          open[#open + 1] = select(2, path:gsub("/", "")) <= DEPTH and name:sub(1, 4) ~= ".git" and path or nil
        elseif #out < skills.FILES then
          local target = fs.real(dir .. "/" .. path)
          out[#out + 1] = target and system.below(target, dir) and path or nil
        end
      end
    end
  end
  table.sort(out)
  return out
end

local good = {} -- by file: what it was when it could be read last

-- Whether something in it looks like a program: the model is given a tool for those only where there are some.
local function has_scripts(files)
  for _, path in ipairs(files) do
    if path:find "^scripts/" or path:find "%.sh$" or path:find "%.py$" or path:find "%.m?js$" then return true end
  end
  return false
end

local function failed(file, message)
  return nil, { problem.new(file, 1, 1, "skill", message) }
end

-- A folder's own name, by which it was found, be it a link's; what could not be written in a path of ours has none.
local function name_of(dir, real)
  local name = dir:match "([^/]+)/*$"
  if not name or name == "." or name == ".." then name = real:match "([^/]+)$" or "" end
  return name:find "^[%w][%w._-]*$" and #name <= 2 * NAME and name or nil
end

local function load(real, target, file, folder)
  local text, err = fs.read(target, LIMIT)
  if not text then return failed(file, err.message) end
  local one, problems = skills.parse(text, file, folder)
  if one then one.dir, one.scripts = real, has_scripts(skills.files(real)) end
  return one, problems
end

--- Reads the skill of a folder; one that was well and is broken now stays as it was.
---@param dir string
---@param from string
---@param within? string The folder that it must not lead out of.
---@return hocket.Skill?
---@return hocket.Problem[]
function skills.read(dir, from, within)
  local file, real = dir .. "/" .. skills.FILE, fs.real(dir)
  local target = real and fs.real(real .. "/" .. skills.FILE)
  if not target then return failed(file, "there is no SKILL.md") end
  if not system.below(target, real) or within and not system.below(real, within) then return failed(file, "a link leads out of its folder: copy what is meant") end
  local folder = name_of(dir, real)
  if not folder then return failed(file, "its folder's name cannot be a skill's: use a-z, 0-9 and single inner hyphens") end
  local one, problems = load(real, target, file, folder)
  if not one and good[target] then
    problems[#problems + 1] = problem.new(file, 1, 1, "skill", "it stays as it was when it could last be read")
  elseif one then
    one.from, good[target] = from, one
  end
  return one or good[target], problems
end

-- ---- Places ------------------------------------------------------------------------------------

local function exists(path)
  return fs.info(path) ~= nil
end

-- Folders with a SKILL.md below a place, each once. What is inside of a skill is the skill's.
-- `rest` is called now and then: none in a run that is kept, which has to rest where it did, whatever there is by then.
local function scan(dir, depth, state, rest)
  local real = fs.real(dir)
  if not real or state.seen[real] or state.folders >= FOLDERS or #state.dirs >= MANY then return end
  state.folders, state.seen[real] = state.folders + 1, true
  if exists(dir .. "/" .. skills.FILE) then
    state.dirs[#state.dirs + 1] = dir
    return
  end
  if depth == DEPTH then return end
  if rest then rest() end
  for i, name in ipairs(fs.list(dir) or {}) do
    if rest and i % SLICE == 0 then rest() end
    if name:sub(-1) == "/" and name:sub(1, 1) ~= "." and name ~= "node_modules/" then scan(dir .. "/" .. name:sub(1, -2), depth + 1, state, rest) end
  end
end

--- The folders of a place that hold a skill.
---@param dir string
---@param rest? fun() Is called now and then.
---@return string[]
function skills.below(dir, rest)
  local state = { folders = 0, dirs = {}, seen = {} }
  scan(dir, 0, state, rest)
  return state.dirs
end

--- Where a project's skills are.
skills.PROJECT = { ".hocket/skills", ".agents/skills", ".claude/skills" }

-- Where skills are looked for that are named, in order.
local function places(project)
  local list, home, config = {}, system.getenv "HOME", system.getenv "XDG_CONFIG_HOME"
  if home and not fs.is_absolute(home) then home = nil end
  local within = fs.real(project)
  for _, path in ipairs(skills.PROJECT) do list[#list + 1] = { dir = project .. "/" .. path, from = "project", within = within } end
  if config and fs.is_absolute(config) then config = config .. "/hocket/skills" else config = home and home .. "/.config/hocket/skills" end
  list[#list + 1] = config and { dir = config, from = "user" } or nil
  list[#list + 1] = home and { dir = home .. "/.agents/skills", from = "user" } or nil
  return list
end

local function folder_of(file)
  return type(file) == "string" and file:match "^(.*)/[^/]*$" or "."
end

--- The folder that a path in `skills:` means: from the agent's file on.
---@param path string
---@param file? string
---@return string
function skills.place(path, file)
  local place = (fs.is_absolute(path) and path or folder_of(file) .. "/" .. path):gsub("(.)/+$", "%1")
  return place
end

local function add(state, dir, from, within)
  local one, problems = skills.read(dir, from, within)
  table.move(problems, 1, #problems, #state.problems + 1, state.problems)
  if not one or state.by_name[one.name] then return end
  state.by_name[one.name] = one
  state.list[#state.list + 1] = one
end

--- The skills that an agent's `skills:` stands for.
---@param wanted true|string[] All there are; or names, and paths (with a slash).
---@param file? string The agent's.
---@param project string The folder of the work.
---@return {list: hocket.Skill[], problems: hocket.Problem[], missing: string[]} found Plain data.
function skills.find(wanted, file, project)
  local state, names, is_named, missing = { list = {}, problems = {}, by_name = {} }, {}, {}, {}
  for _, one in ipairs(wanted == true and {} or wanted) do
    if one:find("/", 1, true) then
      local dirs = skills.below(skills.place(one, file))
      if #dirs == 0 then missing[#missing + 1] = one end
      for _, dir in ipairs(dirs) do add(state, dir, "agent") end
    else
      names[#names + 1], is_named[one] = one, true
    end
  end
  for _, place in ipairs((wanted == true or #names > 0) and places(project) or {}) do
    for _, dir in ipairs(skills.below(place.dir)) do
      if wanted == true or is_named[dir:match "[^/]*$"] then add(state, dir, place.from, place.within) end
    end
  end
  for _, name in ipairs(names) do
    if not state.by_name[name] then missing[#missing + 1] = name end
  end
  return { list = state.list, problems = state.problems, missing = missing }
end

--- That a skill is nowhere, in words.
---@param name string
---@param root string The folder that agents work in.
---@return string
function skills.lacking(name, root)
  return ("there is no skill '%s': looked for in %s and skills of the user, below %s"):format(name, table.concat(skills.PROJECT, ", "), root)
end

return skills
