--- Instructions that hold for some files of a project: `.github/instructions/**/*.instructions.md` of GitHub Copilot and VS Code.
---
---     ---
---     applyTo: "**/*.ts,**/*.tsx"
---     ---
---     Use strict types.
local glob = require("hocket.internal.core.permission").glob
local fs = require "hocket.internal.core.fs"
local texts = require "hocket.internal.agents.read"
local trim = require "hocket.internal.base.trim"

local scopes = {}

scopes.FOLDER = ".github/instructions"

--- Files of a project, folders in each other, globs of one file and their bytes.
local FILES, DEPTH, GLOBS, BYTES = 200, 4, 100, 4096

local function find(list, dir, depth)
  for _, name in ipairs(fs.list(dir) or {}) do
    local folder = name:match "^([^.].*)/$"
    if folder and depth < DEPTH then find(list, dir .. "/" .. folder, depth + 1) end
    if name:find "%.instructions%.md$" and #list < FILES then list[#list + 1] = dir .. "/" .. name end
  end
  return list
end

--- The files of a folder's project.
---@param folder string
---@return string[] paths
function scopes.files(folder)
  local list = find({}, folder .. "/" .. scopes.FOLDER, 1)
  table.sort(list)
  return list
end

-- "a,{b,c}/*" ──> "a", "b/*", "c/*"
local function expand(text, out)
  local before, inside, behind = text:match "^([^{]*){([^{}]*)}(.*)$"
  if not before then
    if #out < GLOBS then out[#out + 1] = text end
    return out
  end
  for one in (inside .. ","):gmatch "([^,]*)," do
    if #out < GLOBS then expand(before .. one .. behind, out) end
  end
  return out
end

local function split(text)
  local globs, depth, from = {}, 0, 1
  for at, sign in (text .. ","):gmatch "()([{},])" do
    if sign == "{" then depth = depth + 1 elseif sign == "}" then depth = depth - 1 end
    if sign == "," and depth <= 0 then
      local one = trim.both(text:sub(from, at - 1)):gsub("^%.?/", "")
      if one ~= "" then expand(one, globs) end
      from = at + 1
    end
  end
  return globs
end

--- What a file says: the globs of the files that it holds for, and the text below its head.
---@param text string
---@param path string
---@return string[]? globs nil: it names none, and a person attaches it.
---@return string body
function scopes.read(text, path)
  local head, _, body = texts.head(text, path)
  local applies = head and head.applyTo
  if type(applies) == "table" then
    local words = {}
    for i, one in ipairs(applies) do words[i] = tostring(one) end
    applies = table.concat(words, ",")
  end
  if type(applies) ~= "string" or not applies:find "%S" or #applies > BYTES then return nil, head and body or text end
  return split(applies), body
end

local function segments(path)
  local list = {}
  for one in path:gmatch "[^/]+" do list[#list + 1] = one end
  return list
end

-- `**` stands for any number of folders, `*` for part of a name. `at` holds how many segments of the path are matched.
local function matches(one, names)
  local at = { [0] = true }
  for _, segment in ipairs(segments(one)) do
    local next_at, any = {}, false
    for i = 0, #names do
      any = any or at[i]
      if segment == "**" then next_at[i] = any or nil elseif at[i] and names[i + 1] and glob(segment, names[i + 1]) then next_at[i + 1] = true end
    end
    at = next_at
  end
  return at[#names] == true
end

--- Whether globs hold for a file.
---@param globs string[]
---@param path string From the project's folder on; nil: for each file.
---@return boolean
function scopes.holds(globs, path)
  local names = path and segments(path)
  for _, one in ipairs(globs) do
    if one == "**" or one == "**/*" or names and matches(one, names) then return true end
  end
  return false
end

return scopes
