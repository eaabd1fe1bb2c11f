--- Teams: the agents of a directory, read and checked against each other. Nothing here raises;
--- what is wrong comes back as problems.
local fs = require "hocket.fs"
local graph = require "hocket.agent.graph"
local problem = require "hocket.agent.problem"
local read = require "hocket.agent.read"
local tool = require "hocket.tool"

local team = {}

-- ---- References -----------------------------------------------------------------------------

local function sorted_names(defs)
  local names = {}
  for name in pairs(defs) do names[#names + 1] = name end
  table.sort(names)
  return names
end
team.names = sorted_names

local function check_agents(def, defs, places, problems)
  for _, edge in ipairs(graph.edges(def)) do
    if not rawget(defs, edge.to) then
      local line, column = problem.place(places, edge.pointer)
      problems[#problems + 1] = problem.new(def.file, line, column, "unknown_agent",
        ("unknown agent '%s'%s"):format(edge.to, problem.hint(edge.to, sorted_names(defs))))
    end
  end
end

local function check_tools(def, places, problems)
  for i, name in ipairs(def.tools) do
    if type(name) == "string" and not tool.is_known(name) then
      local line, column = problem.place(places, ("/tools/%d"):format(i - 1))
      problems[#problems + 1] = problem.new(def.file, line, column, "unknown_tool",
        ("unknown tool '%s'%s"):format(name, problem.hint(name, tool.names())))
    end
  end
end

--- Checks what one agent says of others and of tools.
---@param def hocket.Agent
---@param defs table<string, hocket.Agent>
---@param places table<string, integer[]>
---@param problems hocket.Problem[] Gets what is wrong.
function team.check(def, defs, places, problems)
  check_agents(def, defs, places, problems)
  check_tools(def, places, problems)
end

-- ---- Files --------------------------------------------------------------------------------------

local function list_files(dir, out)
  local names, err = fs.list(dir)
  if not names then return nil, err end
  for _, name in ipairs(names) do
    if name:sub(-1) == "/" then
      if name:sub(1, 1) ~= "." then
        local ok, failed = list_files(dir .. "/" .. name:sub(1, -2), out)
        if not ok then return nil, failed end
      end
    elseif name:sub(-3) == ".md" then
      out[#out + 1] = dir .. "/" .. name
    end
  end
  return out
end

-- One file's definition; nil without a problem when it means to be none, as a README does.
local function read_file(file, only_with_head)
  local text, err = fs.read(file, read.LIMIT)
  if not text then return nil, { problem.new(file, 1, 1, "nothing", err.message) } end
  if only_with_head and not read.has_head(text) then return nil, {} end
  return read.text(text, file)
end

-- Reads files into a team; the problems of all of them come back together.
local function read_files(files, only_with_head)
  local defs, all_places, problems = {}, {}, {}
  for _, file in ipairs(files) do
    local def, found, places = read_file(file, only_with_head)
    table.move(found, 1, #found, #problems + 1, problems)
    if def and defs[def.name] then
      local line, column = problem.place(places, "/name")
      problems[#problems + 1] = problem.new(file, line, column, "duplicate_name",
        ("the name '%s' is taken by %s"):format(def.name, defs[def.name].file))
    elseif def then
      defs[def.name], all_places[def.name] = def, places
    end
  end
  return defs, all_places, problems
end

-- The files that paths stand for, and whether one was named directly.
local function files_of(paths)
  local files, direct = {}, false
  for _, path in ipairs(paths) do
    local info, err = fs.info(path)
    if not info then
      return nil, problem.new(path, 1, 1, "nothing", err and err.message or "there is no such file or directory")
    elseif info.kind == "directory" then
      local ok, failed = list_files(path:gsub("(.)/+$", "%1"), files)
      if not ok then return nil, problem.new(path, 1, 1, "nothing", failed.message) end
    else
      files[#files + 1], direct = path, true
    end
  end
  return files, direct
end

--- Reads agent files or directories of them, and checks them against each other.
---@param paths string[]
---@return table<string, hocket.Agent> defs
---@return hocket.Problem[] problems
function team.read(paths)
  local files, direct = files_of(paths)
  if not files then return {}, { direct } end
  local defs, places, problems = read_files(files, not direct)
  if next(defs) == nil and #problems == 0 then
    problems[1] = problem.new(paths[1] or ".", 1, 1, "nothing", "there is no agent here: a .md file that begins with a line '---'")
  end
  for _, name in ipairs(sorted_names(defs)) do team.check(defs[name], defs, places[name], problems) end
  return defs, problems
end

return team
