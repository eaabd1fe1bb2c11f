--- What a project says to agents: AGENTS.md of its folder, and of those above it as far as they are of one repository. It
--- stands in the prompt of an agent with `project: true`, the nearest last, when its person has trusted it.
local fs = require "hocket.internal.core.fs"
local sources = require "hocket.internal.base.sources"
local truncate = require "hocket.internal.base.truncate"
local workdir = require "hocket.internal.run.workdir"

local instructions = {}

local FILE = "AGENTS.md"
--- Bytes of all of them, folders above each other.
local LIMIT, DEPTH = 32 * 1024, 32

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

-- Files by their path; one that a link leads elsewhere from is none of the project's.
local function find(dir)
  local list, top = folders(dir)
  local found, left = {}, LIMIT
  for i = #list, 1, -1 do
    local path = list[i] .. "/" .. FILE
    local real = fs.real(path)
    local text = left > 0 and real and real:sub(1, #top + 1) == (top == "/" and "/" or top .. "/") and fs.read(real, 16 << 20)
    if text and utf8.len(text) and text:find "%S" then
      text = truncate(text, left, "\n[the rest of it is left out]")
      left = left - #text
      table.insert(found, 1, { path = path, real = real, text = text })
    end
  end
  return found
end

--- The toolset `project`: no tool, but words for the prompt.
---@async
---@param env table
---@return hocket.Tool[]?
---@return hocket.Error?
function instructions.tools(env)
  local root, err = workdir.root(env.run)
  if not root then return nil, err end
  local found, paths, texts = sources.answer("instructions", root:dir(), find), {}, { env.notes or "" }
  if #found == 0 then return {} end
  for i, one in ipairs(found) do
    paths[i], texts[#texts + 1] = one.real, ("\n\n# %s\n\n%s"):format(one.path, one.text)
  end
  local ok, refused = instructions.admit(env.run, root:dir(), paths)
  if not ok then
    env.run:emit("warning", { message = refused.message }, env.agent.name)
    return {}
  end
  env.notes, env.watched = table.concat(texts), true
  return {}
end

return instructions
