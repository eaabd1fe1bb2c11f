--- Prompts of a project, for clients to offer to their people and for `/name` in a conversation: files `prompts/NAME.md` (or .txt)
--- beside the agents or in the folder above, and those of other programs (formats/prompts.lua). In our own a heading in the first line
--- is the description, and each `{{place}}` is an argument.
---
---     # Plans a journey
---     Plan {{days}} days in {{city}}.
---
---     .claude/commands/fix/bug.md       fix:bug
---     .github/prompts/plan.prompt.md    plan
local fs = require "hocket.internal.core.fs"
local others = require "hocket.internal.base.lazy" "hocket.internal.agents.formats.prompts"
local prompt = require "hocket.internal.agents.prompt"
local system = require "hocket.internal.core.system"

local prompt_files = {}

--- Files that are checked; bytes of one; folders of commands in each other.
local MAX_FILES, MAX_BYTES, MAX_DEPTH = 500, 256 << 10, 4

-- ---- One file -------------------------------------------------------------------------------------------

local function read_own(text, path)
  if text:find "^%-%-%-\r?\n" then return nil end -- an agent
  local description, body = text:match "^#%s+([^\n]-)%s*\r?\n%s*(.*)$"
  body = body or text
  local arguments, first = {}, nil
  for i, one in ipairs(prompt.names(body)) do arguments[i], first = { name = one, required = true }, first or one end
  return { description = description, arguments = arguments, fill = function(values, rest)
    if rest and rest ~= "" and first and values[first] == nil then values[first], rest = rest, "" end
    local filled, err = prompt.fill(body, values, { file = path })
    return filled and rest and rest ~= "" and filled .. "\n\n" .. rest or filled, err
  end }
end

-- Kinds of files: how they are called, and how they are read.
local own = { name = function(file) return file:match "^([^.][^/]*)%.md$" or file:match "^([^.][^/]*)%.txt$" end, read = read_own }
local command = { name = function(file) return file:match "^([^.][^/]*)%.md$" end, read = function(...) return others.command(...) end, nested = true }
local prompt_file = { name = function(file) return file:match "^([^.][^/]*)%.prompt%.md$" end, read = function(...) return others.file(...) end }

-- Whose text may be sent: a file below its place, where no link leads out of that, and none that holds keys.
local function is_own(place, path)
  local dir, real = fs.real(place), fs.real(path)
  return dir and real and system.below(real, dir) and not system.is_credential(real)
end

local function read(place, path, name, kind)
  local text = is_own(place, path) and fs.read(path, MAX_BYTES)
  if not text or not utf8.len(text) then return nil end
  local one = kind.read(text, path)
  if not one then return nil end
  one.name, one.get = name, function(args) return one.fill(args) end
  return one
end

local function add(list, seen, place, dir, kind, before, depth)
  for i, file in ipairs(fs.list(dir) or {}) do
    local folder = kind.nested and depth < MAX_DEPTH and file:match "^([^.][^/]*)/$"
    if folder then add(list, seen, place, dir .. "/" .. folder, kind, before .. folder .. ":", depth + 1) end
    local name = not folder and kind.name(file)
    name = name and before .. name
    local one = name and i <= MAX_FILES and #list < MAX_FILES and not seen[name] and read(place, dir .. "/" .. file, name, kind)
    if one then list[#list + 1], seen[name] = one, true end
  end
end

-- ---- Folders --------------------------------------------------------------------------------------------

--- Those of some folders, by name; of two of one name the first.
---@param dirs string[]
---@return table[] prompts As a catalog takes them, with `fill` (formats/prompts.lua).
function prompt_files.of(dirs)
  local list, seen = {}, {}
  for _, dir in ipairs(dirs) do
    for _, place in ipairs { dir, dir .. "/.." } do
      add(list, seen, place, place .. "/prompts", own, "", 1)
      add(list, seen, place, place .. "/.claude/commands", command, "", 1)
      add(list, seen, place, place .. "/.github/prompts", prompt_file, "", 1)
    end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

-- "city=Rome for three days": values by name, and the words without one.
local function split(line)
  local values, rest = {}, {}
  for word in line:gmatch "%S+" do
    local name, value = word:match "^([%w_-]+)=(.+)$"
    if name then values[name] = value else rest[#rest + 1] = word end
  end
  return values, table.concat(rest, " ")
end

--- The text of a prompt for a line that a person typed behind its name.
---@param dirs string[]
---@param name string
---@param line string
---@return string? text
---@return hocket.Error?
---@return string[]? ignored Keys of the prompt that have no effect.
function prompt_files.fill(dirs, name, line)
  local list, names = prompt_files.of(dirs), {}
  for i, one in ipairs(list) do
    names[i] = one.name
    if one.name == name then
      local values, rest = split(line)
      for key in pairs(values) do
        local known = false
        for _, argument in ipairs(one.arguments) do known = known or argument.name == key end
        if not known then values, rest = {}, line end -- an equals sign in plain words
      end
      local text, err = one.fill(values, rest)
      return text, err, one.ignored
    end
  end
  return nil, { code = "not_found", message = ("there is no prompt '%s' (there are: %s)"):format(name, #names > 0 and table.concat(names, ", ") or "none") }
end

--- The operation behind `/name` in `hocket chat`: the text of a prompt beside a target, or in this folder.
---@param args {target?: string, name: string, line?: string}
---@return {text: string, warning?: string}?
---@return hocket.Error?
function prompt_files.prompt(args)
  local dirs, info = { "." }, args.target and fs.info(args.target)
  if info then table.insert(dirs, 1, info.kind == "directory" and args.target or args.target:match "^(.*)/[^/]*$" or ".") end
  local text, err, ignored = prompt_files.fill(dirs, args.name, args.line or "")
  if not text then return nil, err end
  local warning = ignored and ignored[1] and ("warning: /%s: its keys have no effect, the agent keeps its own: %s"):format(args.name, table.concat(ignored, ", ")) or nil
  return { text = text, warning = warning }
end

return prompt_files
