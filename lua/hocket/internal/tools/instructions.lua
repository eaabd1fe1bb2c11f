--- A project's instructions to agents: AGENTS.md, or the file of another program (CLAUDE.md, GEMINI.md, copilot-instructions.md), when a
--- person has trusted them.
---
---     of the folder, and of those above it in its repository   in the prompt of an agent with `project: true`, the nearest last
---     of a folder below it                                     behind the result of the first call that reads or writes a file there
---     .github/instructions with `applyTo`                      the same, for the files that it names
local file_labels = require "hocket.internal.run.file_labels"
local fs = require "hocket.internal.core.fs"
local scopes = require "hocket.internal.base.lazy" "hocket.internal.tools.instruction_scopes"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"
local texts = require "hocket.internal.agents.read"
local truncate = require "hocket.internal.base.truncate"
local workdir = require "hocket.internal.run.workdir"

local instructions = {}

--- The names that count, by the program that an agent is written for. Of each group a folder has one: the first that is there.
local ours = { { "AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md" }, { "CLAUDE.local.md" } }
local names = {
  claude = { { "CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md" }, { "CLAUDE.local.md" } }, gemini = { { "GEMINI.md", "AGENTS.md" } },
  copilot = { { ".github/copilot-instructions.md" }, { "AGENTS.md", "CLAUDE.md", "GEMINI.md" } },
}

--- Bytes of all of them, folders above each other, and files that import each other.
local LIMIT, DEPTH, IMPORTS = 32 * 1024, 32, 5
--- Agents that read instructions for some files of a project.
local scoped = { ours = true, copilot = true }
--- Folders of a person's home from which a project may import: `@~/.claude/style.md`.
local HOME = "^~/(%.[%w_-]+/.*%.md)$"
local homes = { [".claude"] = true, [".gemini"] = true, [".agents"] = true, [".copilot"] = true }
--- Bytes of a path.
local PATH = 4096

local admission = function() return true end

--- Hands in who says whether a project's words may tell an agent what to do.
---@param fn fun(run: hocket.Run, project: string, paths: string[]): boolean?, hocket.Error?
function instructions.set_admission(fn)
  admission = fn
end

---@async
---@param run hocket.Run
---@param project string
---@param paths string[]
---@return true? admitted
---@return hocket.Error?
function instructions.admit(run, project, paths)
  return admission(run, project, paths)
end

local function above(dir)
  return dir ~= "/" and (dir:match "^(.+)/[^/]*$" or "/") or nil
end

-- From the repository's own folder down to this one; without a repository this one alone.
local function folders(dir)
  local list, at = {}, dir
  while at and #list < DEPTH do
    table.insert(list, 1, at)
    if fs.info(at .. "/.git") then return list, at end
    at = above(at)
  end
  return { dir }, dir
end

local function leave_out(self, path, why)
  self.odd[#self.odd + 1] = { path = path, odd = why }
end

-- The text of a file of the project; nil where it has none. A file that a link leads out of the project to is none of its own.
local function read(self, path)
  local real = fs.real(path)
  if not real or self.seen[real] or not (system.below(real, self.top) or self.of_home[real]) then return nil end
  self.seen[real] = true
  local text, err = fs.read(real, 16 << 20)
  if not text then return leave_out(self, path, err.message) end
  local bad, why = texts.find_bad_byte(text)
  if bad then return leave_out(self, path, why) end
  return text:gsub("^\239\187\191", ""), real
end

-- The files that a text imports: @FILE outside of code. A word that is no path of a file is not meant as one.
local function imports(text)
  local list, fenced = {}, false
  for line in text:gmatch "[^\n]+" do
    if line:find "^%s*```" then fenced = not fenced end
    for path in (fenced and "" or " " .. line:gsub("`[^`]*`", "")):gmatch "%s@([%w_./~-]+)" do
      local last = #path <= PATH and #path or 0
      while last > 0 and path:byte(last) == 46 do last = last - 1 end -- a full stop of the sentence
      if last > 0 then list[#list + 1] = path:sub(1, last) end
    end
  end
  return list
end

-- Where an import is. Of a home only folders count in which other programs keep texts for agents.
local function place_of(self, dir, name)
  if fs.is_absolute(name) then return name end
  if name:sub(1, 1) ~= "~" then return dir .. "/" .. name end
  local home, below = system.getenv "HOME", name:match(HOME)
  if not (home and below and homes[below:match "^[^/]+"]) or below:find("..", 1, true) then return name end
  local file = home .. "/" .. below
  local real = fs.real(file)
  if real and real == (fs.real(home) or home) .. "/" .. below then self.of_home[real] = true end -- and no link leads elsewhere
  return file
end

local add

local function add_imports(self, list, path, text, depth)
  local dir = path:match "^(.*)/[^/]*$"
  for _, name in ipairs(depth <= IMPORTS and imports(text) or {}) do
    local file = place_of(self, dir, name)
    local info = fs.info(file)
    local real = info and info.kind == "file" and fs.real(file)
    if real and (not (system.below(real, self.top) or self.of_home[real]) or system.is_credential(real)) then
      leave_out(self, file, ("%s imports a file that is none of the project, or holds keys"):format(path))
    elseif real then
      add(self, list, file, depth + 1)
    elseif name:find "%.md$" then
      leave_out(self, file, ("%s imports it, and it is not there"):format(path))
    end
  end
end

local function add_text(self, list, path, real, text)
  if not text:find "%S" or self.left <= 0 then return false end
  local shown = truncate(text, self.left, "\n[the rest of it is left out]")
  self.left = self.left - #shown
  list[#list + 1] = { path = path, real = real, text = shown }
  return true
end

-- Adds a file, and behind it what it imports.
function add(self, list, path, depth)
  local text, real = read(self, path)
  if not text or not add_text(self, list, path, real, text) then return text ~= nil end
  if not path:find "AGENTS%.md$" then add_imports(self, list, path, text, depth) end
  return true
end

local function add_group(self, list, folder, group)
  for _, name in ipairs(group) do
    if add(self, list, folder .. "/" .. name, 1) then return end
  end
end

local function searcher(top, seen)
  return { top = top, left = LIMIT, seen = seen, odd = {}, of_home = {} }
end

-- Those for some files: the ones that hold for this file. Without a path: the files for all. `known` spares reading files again.
local function add_scoped(self, list, folder, path, known)
  for _, file in ipairs(scopes.files(folder)) do
    local text, real
    if not (known and known[file] and not scopes.holds(known[file], path)) then text, real = read(self, file) end
    local globs, body
    if text then globs, body = scopes.read(text, file) end
    if known and text then known[file] = globs or {} end
    if globs and scopes.holds(globs, path) then
      add_text(self, list, file, real, body)
    elseif text then
      self.seen[real] = nil
      if not globs and not path then leave_out(self, file, "it has no 'applyTo'") end
    end
  end
end

local function add_folder(self, list, folder, format)
  for _, group in ipairs(names[format] or ours) do add_group(self, list, folder, group) end
end

-- Files by their path, the nearest last, then the files that are left out.
local function find(dir, format)
  local list, top = folders(dir)
  local self = searcher(top, {})
  local found = {}
  for i = #list, 1, -1 do
    local here = {}
    add_folder(self, here, list[i], format)
    if scoped[format or "ours"] then add_scoped(self, here, list[i]) end
    found = table.move(found, 1, #found, #here + 1, here)
  end
  return table.move(self.odd, 1, #self.odd, #found + 1, found)
end

local function format_of(env)
  local format = env.agent.theirs and env.agent.theirs.format
  return names[format] and format or nil
end

local function tell_odd(env, list)
  for _, one in ipairs(list) do
    if one.odd then env.run:emit("warning", { message = ("%s is left out: %s"):format(one.path, one.odd) }, env.agent.name) end
  end
end

--- The toolset `project`: no tool, but words for the prompt.
---@async
---@param env table
---@return hocket.Tool[]?
---@return hocket.Error?
function instructions.tools(env)
  local root, err = workdir.root(env.run)
  if not root then return nil, err end
  local format = format_of(env)
  local found = sources.answer(format and "instructions_" .. format or "instructions", root:dir(), function(dir) return find(dir, format) end)
  local paths, parts = {}, { env.notes or "" }
  tell_odd(env, found)
  for _, one in ipairs(found) do
    if not one.odd then paths[#paths + 1], parts[#parts + 1] = one.real, ("\n\n# %s\n\n%s"):format(one.path, one.text) end
  end
  env.instructed = paths
  if #paths == 0 then return {} end
  local ok, refused = instructions.admit(env.run, root:dir(), paths)
  if not ok then
    env.run:emit("warning", { message = refused.message }, env.agent.name)
    return {}
  end
  env.notes, env.watched = table.concat(parts), true
  return {}
end

-- ---- Folders below ------------------------------------------------------------------------------------

-- The folders from the work's down to a file's, without the work's own.
local function folders_below(path)
  local list, at = {}, ""
  for name in path:gmatch "([^/]+)/" do
    at = at .. "/" .. name
    list[#list + 1] = at
  end
  return list
end

local function find_below(self, space, path, format)
  local dir, found = space.root:dir(), {}
  for _, folder in ipairs(folders_below(path)) do add_folder(self, found, dir .. folder, format) end
  if scoped[format or "ours"] then
    for _, folder in ipairs((folders(dir))) do
      add_scoped(self, found, folder, (dir .. "/" .. path):sub(#folder + 2), space.scopes)
    end
  end
  return found
end

-- What a conversation with a stranger's text has written tells nobody what to do.
local function without_labels(self, space, list)
  local kept = {}
  for _, one in ipairs(list) do
    local below = space.root:path(one.real)
    if below and file_labels.of(space.root, below) ~= 0 then
      leave_out(self, one.path, "an agent that had read untrusted text may have written it")
    else
      kept[#kept + 1] = one
    end
  end
  return kept
end

local function admit_below(env, space, list)
  local reals, parts = {}, {}
  for i, one in ipairs(list) do reals[i], parts[i] = one.real, ("\n\n# %s\n\n%s"):format(one.path, one.text) end
  local ok, refused = instructions.admit(env.run, space.root:dir(), reals)
  if ok then return ("\n\n[The project's instructions for this place follow.]%s"):format(table.concat(parts)) end
  env.run:emit("warning", { message = refused.message }, env.agent.name)
end

-- Each problem once.
local function tell_new(env, space, odd)
  local new = {}
  for _, one in ipairs(odd) do
    if not space.told[one.path] then new[#new + 1] = one end
    space.told[one.path] = true
  end
  tell_odd(env, new)
end

--- What holds for files of a call, and was not said before: for an agent with `project: true`. `space.told` holds, by its path without
--- links, what was said.
---@async
---@param env table
---@param space hocket.Workspace
---@param paths string[] From the work's folder on.
---@return string? text
function instructions.below(env, space, paths)
  for _, real in ipairs(env.instructed or {}) do space.told[real] = true end
  local _, top = folders(space.root:dir())
  local self, list = searcher(top, setmetatable({}, { __index = space.told })), {}
  for _, path in ipairs(paths) do
    local real = fs.real(space.root:dir() .. "/" .. path)
    if real then self.seen[real] = true end -- it has just been read
    local found = find_below(self, space, path, format_of(env))
    table.move(found, 1, #found, #list + 1, list)
  end
  list = without_labels(self, space, list)
  tell_new(env, space, self.odd)
  for _, one in ipairs(list) do space.told[one.real] = true end
  return #list > 0 and admit_below(env, space, list) or nil
end

return instructions
