--- What is offered to other programs: the agents, teams and scripts of the targets, each by its name.
---
---     travel/            the agent that no other names; with `all` every one
---     agents/rate.md     that agent
---     report.lua         the script, by its own name; main.lua by that of its folder
---     plans/wall.md      the plan, by its name
---
--- Targets are watched: a change gives another list, and leaves the runs that go on as they are.
local fiber = require "hocket.internal.core.fiber"
local live = require "hocket.live"
local script = require "hocket.internal.base.script"
local submission = require "hocket.internal.base.lazy" "hocket.internal.runner.submission"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"
local targets = require "hocket.internal.runner.target"
local workflow_file = require "hocket.internal.agents.workflow_file"

local offered = {}

---@class hocket.OfferedAgent
---@field name string
---@field path string What a run is started with.
---@field description string
---@field plan? boolean
---@field def? hocket.Agent None of a plan, and of a script that is no workflow.

---@class hocket.Offered
local Offered = {}
Offered.__index = Offered

-- ---- What a target offers ----------------------------------------------------------------------

local function of_agent(def, path)
  return { name = def.name, def = def, path = path, description = def.description ~= "" and def.description or def.name }
end

-- A script says what it is in the comment that it begins with, a workflow in its table.
local function of_script(path)
  local flow = script.is_lua(path) and workflow_file.definition(path)
  if flow then return of_agent(flow, path) end
  local text = sources.read(path, 64 << 10) or ""
  local words = text:gsub("^#![^\n]*\n", ""):match "^%-%-+%s*([^\n]+)"
  local name = path:match "([^/]+)%.%w+$" or path
  if name == "main" then name = path:match "([^/]+)/[^/]+$" or name end
  return { name = name:gsub("[^%w_.-]", "_"), path = path, description = words or ("The script %s"):format(name) }
end

local function of_plan(about, path)
  return { name = about.name:gsub("[^%w_.-]", "_"), plan = true, path = path, description = about.description or about.request or ("The plan %s"):format(about.name) }
end

-- What a target begins with.
local function of_target(found, path)
  if found.kind == "plan" then return of_plan(found.plan.about, path) end
  local one = found.kind == "script" and of_script(found.path) or of_agent(found.agent, path)
  one.path = path
  return one
end

-- The agents of a folder that no other names; with `all` every one.
local function of_team(self, team, list)
  local entries, all = targets.entries(team)
  if #entries == 0 or self.all then entries = all end
  for _, name in ipairs(entries) do
    local def = rawget(team, name)
    if def and def.file and not def.workflow then list[#list + 1] = of_agent(def, def.file) end
  end
end

local function of_generation(self, path, made, list)
  local found = made.target
  if found and (found.kind == "script" or found.kind == "plan" or not self.all) then
    list[#list + 1] = of_target(found, path)
  else
    local dirs = {}
    for dir in pairs(made.teams) do dirs[#dirs + 1] = dir end
    table.sort(dirs)
    for _, dir in ipairs(dirs) do of_team(self, made.teams[dir], list) end
  end
end

-- What is no file: an agent that comes with hocket, a text of the program's.
local function of_name(path, list)
  local found, err = targets.find(path)
  if not found then return nil, err end
  list[#list + 1] = of_target(found, path)
  return true
end

local function gather(self)
  local list = {}
  for _, path in ipairs(self.paths) do
    local alive = self.live[path]
    if alive then
      of_generation(self, path, alive:current(), list)
    else
      local ok, err = of_name(path, list)
      if not ok then return nil, err end
    end
  end
  return list
end

local function check_names(list)
  local seen = {}
  for _, one in ipairs(list) do
    local other = seen[one.name]
    if other then
      return nil, { code = "agent", message = ("two would be called '%s': %s and %s: serve one of them"):format(one.name, other.path, one.path) }
    end
    seen[one.name] = one
  end
  return true
end

--- What exists now.
---@return hocket.OfferedAgent[]?
---@return hocket.Error?
function Offered:list()
  local list, err = gather(self)
  if not list then return nil, err end
  local ok
  ok, err = check_names(list)
  if not ok then return nil, err end
  return list
end

-- Clients cannot say yes to code: what nobody has trusted is said here, and not to the first of them alone.
local function warn_of_code(self)
  local said = {}
  for _, one in ipairs(self:list() or {}) do
    local found, err = targets.newest(one.path)
    if not found and not err then found = targets.find(one.path) end
    local ok, refused = true, nil
    if found then ok, refused = submission.admit(found, self.options, true) end
    if not ok and not said[refused.message] then system.log("warn", "runs of clients are refused: " .. refused.message) end
    if not ok then said[refused.message] = true end
  end
end

-- ---- Watching ----------------------------------------------------------------------------------

local function told(self, event, changed)
  if event.type == "agent_reloaded" then
    warn_of_code(self)
    return changed()
  end
  if event.message then system.log("warn", event.message) end
end

--- Calls `changed()` whenever the files have changed and are valid, until the running fiber ends; what is wrong is logged.
---@async
---@param changed fun()
function Offered:watch(changed)
  table.insert(self.listeners, changed)
  if self.listeners[2] then return end
  local function tell_all()
    for _, fn in ipairs(self.listeners) do fn() end
  end
  for _, alive in pairs(self.live) do
    fiber.spawn(function() alive:watch(function(event) told(self, event, tell_all) end) end):serve()
  end
end

function Offered:close()
  for path, alive in pairs(self.live) do
    if not self.borrowed[path] then alive:close() end
  end
end

--- Loads targets.
---@param paths string[]
---@param all? boolean Also the agents that others name.
---@param options? table Of their runs.
---@return hocket.Offered?
---@return hocket.Error?
function offered.open(paths, all, options)
  require "hocket.internal.runner.builtins"
  local self = setmetatable({ paths = paths, all = all, options = options or {}, live = {}, borrowed = {}, listeners = {} }, Offered)
  for _, path in ipairs(paths) do
    if path:sub(1, 7) ~= "buffer:" and sources.info(path) then
      self.borrowed[path] = live.at(path) ~= nil -- somebody else watches it, too
      local alive, err = live.open(path, { here = true, options = options })
      if not alive then
        self:close()
        return nil, err
      end
      self.live[path] = alive
    end
  end
  warn_of_code(self)
  return self
end

return offered
