--- Prompts of a project, for clients to offer to their people: files `prompts/NAME.md` (or .txt) beside the agents or in the
--- folder above. A heading in the first line is the description; each `{{place}}` is an argument.
---
---     # Plans a journey
---     Plan {{days}} days in {{city}}.
local fs = require "hocket.internal.core.fs"
local prompt = require "hocket.internal.agents.prompt"

local prompt_files = {}

--- Files that are looked at; bytes of one.
local MAX_FILES, MAX_BYTES = 500, 256 << 10

local function read(path, name)
  local text = fs.read(path, MAX_BYTES)
  if not text or not utf8.len(text) or text:find "^%-%-%-\r?\n" then return nil end -- the latter is an agent
  local description, body = text:match "^#%s+([^\n]-)%s*\r?\n%s*(.*)$"
  body = body or text
  local arguments = {}
  for i, one in ipairs(prompt.names(body)) do arguments[i] = { name = one, required = true } end
  return {
    name = name, description = description, arguments = arguments,
    get = function(args) return prompt.fill(body, args, { file = path }) end,
  }
end

local function add(list, seen, dir)
  for i, file in ipairs(fs.list(dir) or {}) do
    local name = file:match "^([^.][^/]*)%.md$" or file:match "^([^.][^/]*)%.txt$"
    local one = name and i <= MAX_FILES and not seen[name] and read(dir .. "/" .. file, name)
    if one then list[#list + 1], seen[name] = one, true end
  end
end

--- Those of some folders, by name; of two of one name the first.
---@param dirs string[]
---@return table[] prompts As a catalog takes them.
function prompt_files.of(dirs)
  local list, seen = {}, {}
  for _, dir in ipairs(dirs) do
    add(list, seen, dir .. "/prompts")
    add(list, seen, dir .. "/../prompts")
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

return prompt_files
