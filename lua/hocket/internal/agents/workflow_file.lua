--- Workflows and plans that agents' files name, as a tool (`tools: [workflow:audit, plan:garden]`) or as an agent (`agents: [audit.lua]`). A workflow's file is
--- read as a text here, and run by runner/named.lua: its description and schemas are known as far as they are written out.
local fs = require "hocket.internal.core.fs"
local bind = require "hocket.internal.base.script.bind"
local parse = require "hocket.internal.base.script.parse"
local problem = require "hocket.internal.agents.problem"
local read = require "hocket.internal.agents.read"
local script = require "hocket.internal.base.script"
local shared = require "hocket.internal.base.script.shared"
local sources = require "hocket.internal.base.sources"

local workflow_file = {}

--- What a name for `tools:` means that is saved in the project: its kind, and its name.
---@param name any
---@return "workflow"|"plan"|nil kind
---@return string? short nil: it is no name.
function workflow_file.saved(name)
  local kind = type(name) == "string" and (name:match "^(workflow):" or name:match "^(plan):") or nil
  return kind, kind and name:match "^%l+:([%w_-]+)$" or nil
end

--- Whether an item of `agents:` is a workflow's file.
---@param name any
---@return boolean
function workflow_file.is_path(name)
  return type(name) == "string" and name:find "[^/]%.lua$" ~= nil
end

-- ---- Where it is ----------------------------------------------------------------------------------

-- How files of a kind end; the first is how they are called where there is none.
local ends = { workflow = { ".lua" }, plan = { ".md", ".yaml", ".yml" } }

-- Folders of a kind beside an agent's file: `workflows` in its folder, or beside the folder `agents` that it is in.
local function folders(def, kind)
  local dir, folder = def.file and def.file:match "^(.*)/[^/]*$" or ".", kind .. "s"
  local above = dir:match "^(.*)/agents$" or dir == "agents" and "." or nil
  return { dir .. "/" .. folder, above and (above == "." and folder or above .. "/" .. folder) or nil }
end

local function is_file(path)
  local info = sources.info(path)
  return info ~= nil and info.kind == "file"
end

--- The file of this name in one of some folders.
---@param dirs string[]
---@param name string
---@param kind "workflow"|"plan"
---@return string? path
function workflow_file.within(dirs, name, kind)
  if name:find "[/\\\0]" then return nil end -- a model may have given it, to leave the folder
  for _, dir in ipairs(dirs) do
    for _, ending in ipairs(ends[kind]) do
      local path = ("%s/%s%s"):format(dir, name, ending)
      if is_file(path) then return path end
    end
  end
end

--- The file of a workflow, or of a plan, of this name that an agent may have.
---@param def hocket.Agent
---@param name string
---@param kind? "workflow"|"plan"
---@return string? path
function workflow_file.named(def, name, kind)
  kind = kind or "workflow"
  return workflow_file.within(folders(def, kind), name, kind)
end

--- The file that an item of `agents:` means: beside the agent's file, or in a folder of workflows.
---@param def hocket.Agent
---@param path string
---@return string? file
function workflow_file.at(def, path)
  if fs.is_absolute(path) then return is_file(path) and path or nil end
  local beside = (def.file:match "^(.*/)[^/]*$" or "") .. path
  if is_file(beside) then return beside end
  return not path:find("/", 1, true) and workflow_file.named(def, (path:gsub("%.lua$", ""))) or nil
end

--- The files of workflows and plans that an agent's `tools:` names.
---@param def hocket.Agent
---@return string[]
function workflow_file.files_of(def)
  local list = {}
  for _, one in ipairs(def.tools) do
    local kind, name = workflow_file.saved(one)
    list[#list + 1] = name and workflow_file.named(def, name, kind)
  end
  return list
end

-- ---- Reading ---------------------------------------------------------------------------------------

-- The function of a workflow, where it is written out.
local function run_of(spec)
  local run = bind.item(spec, "run")
  local fn = run and bind.meant(run)
  return fn and fn.kind == "function" and fn or nil
end

-- The table that the script's last statement gives to `workflow`; nil as well where it may be another one by then.
local function given(tree)
  local last = tree[#tree]
  local value = last and last.kind == "return" and last.values[1] and bind.meant(last.values[1])
  if not value or value.kind ~= "call" then return nil end
  local module, name = bind.member(value.fn)
  local spec = value.arguments[1] and bind.meant(value.arguments[1])
  if module ~= bind.WORKFLOW or name ~= "" and name ~= "new" or not spec or spec.kind ~= "table" then return nil end
  shared.mark(tree, run_of(spec))
  return bind.written(value.arguments[1])
end

local function constant_of(spec, name, kind)
  local node = bind.item(spec, name)
  if not node then return nil end
  local known, value = bind.constant(node)
  return known and type(value) == kind and value or nil
end

-- The fields of the table that the file gives to `workflow`.
local function about_of(spec)
  local about = { description = constant_of(spec, "description", "string") or "", unknown = {} }
  for _, name in ipairs { "input", "output" } do
    about[name] = constant_of(spec, name, "table")
    if bind.item(spec, name) and not about[name] then about.unknown[#about.unknown + 1] = name end
  end
  return about
end

--- Reads the text of a workflow: its tree, the table that it gives to `workflow`, and what that says.
---@param text string
---@return {tree: table[], spec: table, run?: table}? found run: the function node.
---@return {description: string, input?: table, output?: table, unknown: string[]}|{line: integer, message: string} about_or_wrong unknown: schemas that are not written out.
function workflow_file.read(text)
  local tree, wrong = parse(text)
  if not tree then return nil, wrong end
  local spec = given(bind.resolve(tree))
  if not spec then return nil, { line = 1, message = "returns no workflow (return workflow { … })" } end
  return { tree = tree, spec = spec, run = run_of(spec) }, about_of(spec)
end

--- What a workflow's file says of itself; nil: it is no workflow's file. It is read once for each text.
---@param path string
---@return {description: string, input?: table, output?: table, unknown: string[]}? about
---@return hocket.Error? err
function workflow_file.about(path)
  local text, err = sources.read(path, read.LIMIT)
  if not text then return nil, err end
  local memo = sources.memo(path) or {}
  if memo.workflow == nil then
    local found, about = nil, nil
    if script.is_lua(path) then found, about = workflow_file.read(text) end
    memo.workflow = found and about or false
  end
  if memo.workflow then return memo.workflow end
  return nil, { code = "agent", message = ("%s returns no workflow (return workflow { … })"):format(path) }
end

--- The folder of the agents that a workflow names: beside the folder that it is in, or beside itself.
---@param path string
---@return string? dir
function workflow_file.agents_folder(path)
  local dir = path:match "^(.*)/[^/]*$" or "."
  for _, folder in ipairs { (dir:match "^(.*)/workflows$" or dir:match "^workflows$" and "." or dir) .. "/agents", dir .. "/agents" } do
    local info = sources.info(folder)
    if info and info.kind == "directory" then return folder end
  end
end

--- The workflow of a file as an agent that others can call.
---@param path string
---@return hocket.Agent? def
---@return hocket.Problem[] problems
function workflow_file.definition(path)
  local about, err = workflow_file.about(path)
  if not about then return nil, { problem.new(path, 1, 1, "nothing", err.message) } end
  local def, problems = read.table { name = path:match "([^/]+)%.lua$", description = about.description, input = about.input, output = about.output, prompt = "" }
  for _, one in ipairs(problems) do one.file = path end
  if def then def.file, def.workflow = path, true end
  return def, problems
end

--- Checks that a workflow or a plan is there that an agent's `tools:` names.
---@param def hocket.Agent
---@param item integer Which of its tools.
---@param places table<string, integer[]>
---@param problems hocket.Problem[] Gets what is wrong.
function workflow_file.check_tool(def, item, places, problems)
  local kind, name = workflow_file.saved(def.tools[item])
  local dirs, file = folders(def, kind), name and workflow_file.named(def, name, kind)
  local about, err = kind == "plan" and file, { message = name and ("there is no %s%s in %s"):format(name, ends[kind][1], dirs[#dirs]) or ("the name of a %s has letters, digits, - and _"):format(kind) }
  if file and kind == "workflow" then about, err = workflow_file.about(file) end
  if about then return end
  local line, column = problem.place(places, ("/tools/%d"):format(item - 1))
  problems[#problems + 1] = problem.new(def.file, line, column, "unknown_tool", ("'%s': %s"):format(def.tools[item], err.message))
end

return workflow_file
