--- `hocket skill install [PROGRAM]`: a skill with which a coding agent of another program can write hocket projects. Keys and modules are
--- from the tables of this version.
local fs = require "hocket.internal.core.fs"
local keys = require "hocket.internal.agents.keys"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local system = require "hocket.internal.core.system"

--- Where each program looks for the skills of a project. hocket and others read the first.
local places = { agents = ".agents/skills", claude = ".claude/skills", codex = ".agents/skills", opencode = ".opencode/skills" }

local MARK = "made by `hocket skill install`"

local function list_of_keys()
  local lines = {}
  for _, group in ipairs(keys.groups) do
    lines[#lines + 1] = ("%s:"):format(group.title)
    for _, key in ipairs(group) do lines[#lines + 1] = ("- `%s` (%s): %s"):format(key.name, key.kind.text, key.doc) end
    lines[#lines + 1] = ""
  end
  return table.concat(lines, "\n")
end

-- The functions of each module, as the stubs for editors have them.
local function list_of_modules()
  local lines = {}
  local stubs = system.asset "hocket/templates/stubs.lua.tmpl"
  for part in stubs:gsub("%-%-@file ", "\0"):gmatch "\0([^\0]+)" do
    local module, functions = part:match "%-%-%-@meta ([%w_.]+)", {}
    for name in part:gmatch "\nfunction ([%w_.:]+%b())" do functions[#functions + 1] = "`" .. name .. "`" end
    if module and #functions > 0 then lines[#lines + 1] = ("- `%s`: %s"):format(module, table.concat(functions, ", ")) end
  end
  table.sort(lines)
  return table.concat(lines, "\n")
end

local function text()
  local parts = { KEYS = list_of_keys(), MODULES = list_of_modules() }
  return (system.asset("hocket/templates/skill.md.tmpl"):gsub("@(%u+)@", parts))
end

---@param args {program?: string, dir?: string}
---@return {path: string, text: string}?
---@return hocket.Error?
return function(args)
  local place = places[args.program or "agents"]
  if not place then
    return nil, { code = "invalid", message = ("there is no place for skills of '%s' (there are: %s)"):format(args.program, table.concat(sorted_keys(places), ", ")) }
  end
  local folder = ("%s/%s/hocket"):format(args.dir or ".", place)
  local path, made = folder .. "/SKILL.md", text()
  local before = fs.read(path, 1 << 20)
  if before and not before:find(MARK, 1, true) then
    return nil, { code = "exists", message = ("%s is there, and somebody else wrote it: move it away first"):format(path) }
  end
  local ok, err = fs.mkdir(folder)
  if ok then ok, err = fs.write(path, made) end
  if not ok then return nil, err end
  return { path = path, text = ("wrote %s"):format(path) }
end
