--- What is wrong with a team as a whole, and can be said of a whole project only: `hocket check` asks, and a generation has to
--- pass it. A team that a script loads may be given by the script what its files do not say.
local approval_targets = require "hocket.internal.base.lazy" "hocket.internal.agents.approval_targets"
local mcp_servers = require "hocket.internal.base.lazy" "hocket.internal.agents.mcp_servers"
local graph = require "hocket.internal.agents.graph"
local models = require "hocket.internal.base.lazy" "hocket.model"
local needs = require "hocket.internal.agents.needs"
local problem = require "hocket.internal.agents.problem"
local skills = require "hocket.internal.base.lazy" "hocket.internal.agents.skills"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local sources = require "hocket.internal.base.sources"

local project = {}

---@class hocket.Project
---@field defs table<string, hocket.Agent>
---@field own string[] Names of the ones that are checked.
---@field places table<string, table<string, integer[]>>
---@field known hocket.Declared
---@field words? table<string, boolean> Of its scripts.
---@field any_start? boolean It is not known how a run begins: with which agent, which variables.
---@field options? table Of such a run, as far as they are known: `model`, `models`.
---@field any_folder? boolean It is not known in which folder a run works.
---@field problems hocket.Problem[]

local function say(self, def, pointer, code, message)
  local line, column = problem.place(self.places[def.name] or {}, pointer)
  local one = problem.new(def.file, line, column, code, message)
  self.problems[#self.problems + 1] = one
  return one
end

-- ---- Rules ---------------------------------------------------------------------------------------

-- The names that a rule may be for.
local function tool_names(self)
  local names = approval_targets.names(self.defs)
  names:add(sorted_keys(self.known.tools))
  return names
end

-- What its own file shows to be wrong was said when that was read.
local function check_rules(self, def, names)
  for _, verdict in ipairs(sorted_keys(def.approve)) do
    for i, rule in ipairs(def.approve[verdict]) do
      local unknown = approval_targets.unknown(rule, names)
      local wrong = unknown or approval_targets.misfit(rule, names)
      if wrong then say(self, def, ("/approve/%s/%d"):format(verdict, i - 1), unknown and "unknown_tool" or "incompatible", wrong) end
    end
  end
end

-- ---- Models, variables -----------------------------------------------------------------------------

-- Of what is served, only what its runs refuse is wrong: a person may have chosen one model for all.
local function check_models(self, def)
  if self.any_start and not needs.wrong_model(def, self.options or {}) then return end
  local list = type(def.model) == "table" and def.model or { def.model }
  for i, id in ipairs(list) do
    local _, err = models.is_known(id)
    local provider = id:match "^([%w_-]+)/" or id
    if err and not self.known.providers[provider] then
      say(self, def, type(def.model) == "table" and ("/model/%d"):format(i - 1) or "/model", "unknown_provider", err.message)
    end
  end
end

local function check_variables(self, def)
  if not def.prompt:find("{{", 1, true) then return end
  for _, one in ipairs(needs.variables(def)) do
    self.problems[#self.problems + 1] = problem.new(one.file, one.line, 1, "variable", one.what)
  end
end

-- The files of servers are read for each name.
local SERVERS_LOOKED_AT = 100

-- Reports a fault of a file once, however many names are in it.
local function check_mcp(self, def)
  if #def.mcp > SERVERS_LOOKED_AT then
    say(self, def, "/mcp", "mcp", ("of %d servers the first %d were looked at"):format(#def.mcp, SERVERS_LOOKED_AT)).severity = "warning"
  end
  for i = 1, math.min(#def.mcp, SERVERS_LOOKED_AT) do
    local one = def.mcp[i]
    local found, err, odd = mcp_servers.find(one)
    for _, message in ipairs(found and odd or { not found and err.message or nil }) do
      self.said = self.said or {}
      if not self.said[message] then say(self, def, ("/mcp/%d"):format(i - 1), "mcp", message).severity = found and "warning" or "error" end
      self.said[message] = true
    end
  end
end

-- The ones that it has by a path are proved as well; names are looked for as a run does that begins here.
local function check_skills(self, def)
  local here = sources.real "." or "."
  local found = skills.find(def.skills, def.file, here)
  for _, one in ipairs(def.skills ~= true and found.problems or {}) do self.problems[#self.problems + 1] = one end
  local missing = {}
  for _, name in ipairs(found.missing) do missing[name] = true end
  for i, name in ipairs(not self.any_folder and def.skills ~= true and def.skills or {}) do
    if missing[name] then
      local one = say(self, def, ("/skills/%d"):format(i - 1), "skill", skills.lacking(name, here))
      if def.theirs then one.severity = "warning" end
    end
  end
end

-- ---- Who begins, and whom it reaches ------------------------------------------------------------------

-- `own` are whom a planner reaches that names nobody.
local function reach(defs, own, from)
  local reached, open = {}, table.move(from, 1, #from, 1, {})
  while #open > 0 do
    local name = table.remove(open)
    local def = not reached[name] and rawget(defs, name)
    reached[name] = true
    for _, edge in ipairs(def and graph.edges(def) or {}) do open[#open + 1] = edge.to end
    if def and name == "planner" and #def.agents == 0 then table.move(own, 1, #own, #open + 1, open) end
  end
  return reached
end

--- The agents that some of a team can reach, these included.
---@param defs table<string, hocket.Agent>
---@param from string[]
---@return string[] names Sorted.
function project.reached(defs, from)
  local list = {}
  for name in pairs(reach(defs, {}, from)) do list[#list + 1] = rawget(defs, name) and name or nil end
  table.sort(list)
  return list
end

-- The ones that no other names; and whether any names another.
local function roots_of(self)
  local named, any, roots = {}, false, {}
  for _, name in ipairs(self.own) do
    for _, edge in ipairs(graph.edges(self.defs[name])) do named[edge.to], any = true, true end
  end
  for _, name in ipairs(self.own) do
    if not named[name] then roots[#roots + 1] = name end
  end
  return roots, any
end

local function has(self, name)
  local def = rawget(self.defs, name)
  for _, own in ipairs(self.own) do
    if own == name then return def end
  end
end

-- Whom a run can begin with: as `hocket run DIR` chooses, or as the scripts say.
local function beginnings(self, roots)
  if not self.words then
    return has(self, "main") and { "main" } or has(self, "planner") and { "planner" } or roots
  end
  local spoken_of = {}
  for _, name in ipairs(self.own) do
    if self.words[name] then spoken_of[#spoken_of + 1] = name end
  end
  return #spoken_of > 0 and spoken_of or roots
end

local function check_roots(self)
  local roots, any = roots_of(self)
  local from = beginnings(self, roots)
  if not self.words and from == roots and #roots > 1 then
    local one = say(self, self.defs[roots[2]], "", "roots",
      ("which agent begins? %s are named by no other: call one 'main', or let one name the others"):format(table.concat(roots, ", ")))
    local theirs = true -- of other programs: a person names the one that begins
    for _, name in ipairs(self.own) do theirs = theirs and self.defs[name].theirs ~= nil end
    if not any or theirs then one.severity = "warning" end -- agents that have nothing to do with each other
    return
  end
  if self.words and (self.words.planner or self.words.coordinator) then return end -- which may give work to everybody
  local reached = reach(self.defs, self.own, from)
  for _, name in ipairs(self.own) do
    if not reached[name] then
      say(self, self.defs[name], "", "unreached", ("nothing reaches the agent '%s': neither %s nor the agents that these call name it"):format(name,
        table.concat(from, ", "))).severity = "warning"
    end
  end
end

--- Checks a team.
---@param self hocket.Project
---@param whole boolean Whether these are all of its agents, and each is valid by itself.
---@return hocket.Problem[] problems Its own.
function project.check(self, whole)
  local names
  for _, name in ipairs(self.own) do
    local def = self.defs[name]
    if def.approve then
      names = names or tool_names(self)
      check_rules(self, def, names)
    end
    if def.model then check_models(self, def) end
    if def.mcp then check_mcp(self, def) end
    if def.skills then check_skills(self, def) end
    if not self.any_start then check_variables(self, def) end
  end
  if whole and not self.any_start then check_roots(self) end
  return self.problems
end

return project
