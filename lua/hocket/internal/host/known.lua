--- What a host knows of: its runs, the agents of what is watched, of the runs, of the texts that the program gave, and
--- the ones that scripts have loaded. Of several with one name it takes the first.
local agents = require "hocket.agent"
local live = require "hocket.internal.base.lazy" "hocket.live"
local runs = require "hocket.internal.run.run"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local targets = require "hocket.internal.runner.target"
local failed = require("hocket.internal.core.system").error

local known = {}

--- What is watched.
---@return hocket.Live[]
function known.watched()
  return live.all()
end

local function add(found, def, from)
  local name = def.name
  local known_one = found.by_name[name]
  if known_one then
    known_one.agent = known_one.agent or def -- of which a run has told the name alone
    return
  end
  found.by_name[name] = { name = name, description = def.description, from = from, agent = def }
  found[#found + 1] = found.by_name[name]
end

local function add_team(found, team, from)
  for _, def in pairs(team or {}) do add(found, def, from) end
end

-- Agents at work that are known by name alone.
local function add_tree(found, node, from)
  if node.agent and not found.by_name[node.agent] then
    found.by_name[node.agent] = { name = node.agent, from = from }
    found[#found + 1] = found.by_name[node.agent]
  end
  for _, child in ipairs(node.children or {}) do add_tree(found, child, from) end
end

local function target_of(run)
  return run.target and run.target.path
end

known.target_of = target_of

--- The agents, by name and sorted by it.
---@return {name: string, description?: string, from: string, agent?: hocket.Agent, target?: string}[]
function known.agents()
  local found = { by_name = {} }
  for _, live in ipairs(known.watched()) do
    for _, team in pairs(live:current().teams) do add_team(found, team, live.path) end
  end
  for _, name in ipairs(sorted_keys(targets.texts() or {})) do
    local own = name:match "([^/]+)%.md$"
    if own and not found.by_name[own] then
      found.by_name[own] = { name = own, from = "buffer:" .. name, target = "buffer:" .. name }
      found[#found + 1] = found.by_name[own]
    end
  end
  for _, run in ipairs(runs.all()) do
    local def = run.target and run.target.agent
    if def then
      add_team(found, agents.team_of(def), target_of(run))
      add(found, def, target_of(run))
    end
    add_tree(found, run:tree(), "run #" .. run.number)
  end
  for _, def in ipairs(agents.loaded()) do add(found, def, def.file or "a script") end
  table.sort(found, function(a, b) return a.name < b.name end)
  return found
end

--- The run that is meant: by its number, its id or the end of it; without a name the only one.
---@param name? string
---@return hocket.Run?
---@return hocket.Error?
function known.run(name)
  local all, found = runs.all(), {}
  if name and name ~= "" then
    local number = math.tointeger(name:match "^#?(%d+)$")
    for _, run in ipairs(all) do
      if run.number == number or run.id == name then return run end
      if run.id and #name >= 4 and run.id:sub(-#name) == name then found[#found + 1] = run end
    end
  else
    found = all
  end
  if #found == 1 then return found[1] end
  return nil, failed { code = "not_found", message = #all == 0 and "no run goes on"
    or #found == 0 and ("there is no run '%s': `runs` lists them"):format(name) or "several runs go on: say which, as `runs` numbers them" }
end

return known
