--- Targets: what `run`, `check` and `chat` are given.
local agents = require "hocket.agent"
local fiber = require "hocket.internal.core.fiber"
local effects = require "hocket.internal.base.effects"
local find = require "hocket.internal.base.lazy" "hocket.internal.agents.find"
local formats = require "hocket.internal.base.lazy" "hocket.internal.agents.formats"
local plan_target = require "hocket.internal.base.lazy" "hocket.internal.runner.plan_target"
local suggest = require "hocket.internal.base.lazy" "hocket.internal.base.suggest"
local scripts = require "hocket.internal.base.script"
local sources = require "hocket.internal.base.sources"
local failure = require("hocket.internal.core.system").failure

local target = {}

--- The agents of a team that no other names; and all of them. Sorted.
---@param team table<string, hocket.Agent>
---@return string[] entries
---@return string[] all
function target.entries(team)
  local named, entries, all = {}, {}, {}
  for name, def in pairs(team) do
    all[#all + 1] = name
    for _, edge in ipairs(agents.edges(def)) do named[edge.to] = true end
    fiber.rest()
  end
  for _, name in ipairs(all) do
    if not named[name] then entries[#entries + 1] = name end
  end
  table.sort(entries)
  table.sort(all)
  return entries, all
end

-- The agent that a directory's run begins with: the only one that no other names.
local function find_entry(team, dir)
  if rawget(team, "main") then return team.main end
  local entries = target.entries(team)
  if #entries == 1 then return team[entries[1]] end
  local script = ""
  for _, name in ipairs(sources.list(dir) or {}) do
    if scripts.is(name) and name ~= "sim.lua" then script = (", or run the script %s/%s"):format(dir, name) end
  end
  return nil, { code = "agent", several = true, message = ("%s: which agent begins? %s: name one of them (hocket run %s/NAME.md), or call one 'main'%s"):format(dir,
    #entries == 0 and "every agent is named by another" or table.concat(entries, ", ") .. " are named by no other", dir, script) }
end

-- The directory of the team that is meant: of several the one called `agents`.
local function the_team(path)
  local dirs = find.teams(path) or {}
  for _, dir in ipairs(dirs) do
    if #dirs > 1 and dir == path .. "/agents" then return dir end
  end
  if #dirs < 2 then return path end
  return failure("agent", ("%s: holds several teams: %s: name one of them"):format(path, table.concat(dirs, ", ")))
end

local function from_directory(path, validated, format)
  local script = scripts.find(path, "main")
  if script then return { kind = "script", path = script, dir = path } end
  local dir, several = the_team(path)
  if not dir then return nil, several end
  local ok, team = pcall(agents.load_dir, dir, validated and validated[dir], format)
  if not ok then return nil, team end
  local entry, err = find_entry(team, path)
  if not entry then return nil, err end
  return { kind = "agent", path = path, dir = path, agent = entry }
end

local function from_agent_file(path, format)
  local ok, def = pcall(agents.load_as, path, format)
  if not ok then return nil, def end
  return { kind = "agent", path = path, dir = path:match "^(.*)/[^/]*$" or ".", agent = def }
end

-- Agents that come with hocket can be named where no file is: `hocket run planner "…"`.
local function built_in(name)
  local team = name:find "^[%a_][%w_-]*$" and agents.built_in()
  local def = team and rawget(team, name)
  return def and { kind = name == "planner" and "planner" or "agent", path = name, dir = ".", agent = def } or nil
end

-- Workflows of the project can be named as well: `hocket run audit "…"`. A name is nobody's word for the code of the folder.
local function workflow_of_project(name)
  local path = name:find "^[%a_][%w_-]*$" and scripts.find("workflows", name)
  return path and { kind = "script", path = path, dir = "workflows" } or nil
end

-- What lies beside a path, and the agents that come with hocket.
local function names_near(path)
  local dir, names = path:match "^(.*/)[^/]*$" or "", {}
  for _, name in ipairs(sources.list(dir == "" and "." or dir) or {}) do names[#names + 1] = dir .. name:gsub("/$", "") end
  if dir == "" then
    for name in pairs(agents.built_in()) do names[#names + 1] = name end
    for _, name in ipairs(sources.list "workflows" or {}) do names[#names + 1] = name:match "^(.+)%.lua$" end
  end
  table.sort(names)
  return names
end

-- Exit code 2: nothing has run, and nothing was asked.
local function no_such(path)
  if path:find " " and not path:find "/" then
    return { code = "invalid", message = ("there is no file, folder or agent '%s'. To ask a question: hocket run assistant \"…\""):format(path) }
  end
  local near = suggest(path, names_near(path))
  local cure = near and (": did you mean '%s'?"):format(near)
    or not path:find "[/.]" and ". To ask a question: hocket run assistant \"…\". 'hocket agents' lists the built-in agents"
    or ". 'hocket agents' lists the built-in agents"
  return { code = "invalid", message = ("there is no file, folder or agent '%s'%s"):format(path, cure) }
end

--- The newest good state of a target that is watched; nil where it is not. Whoever watches puts a function here (hocket.live).
---@param path string
---@return table?
---@return hocket.Error? Of a path below a directory that is watched: why it is none.
function target.newest(path) end -- luacheck: ignore 212

local texts = function() return nil end

--- Hands in who has the targets that the program gives as texts (hocket.internal.host.buffers).
---@param pin fun(): table<string, string> The ones that there are now, never to change.
function target.set_texts(pin)
  texts = pin
end

--- The texts of the program as they are now, for a run that begins; nil where there are none.
---@return table<string, string>?
function target.texts()
  return texts()
end

local function find_any(path, validated, format)
  local info, err = sources.info(path)
  local by_name = not info and (built_in(path) or workflow_of_project(path))
  if by_name then return by_name end
  if not info then return nil, err or no_such(path) end
  path = path:gsub("(.)/+$", "%1")
  if info.kind == "directory" then return from_directory(path, validated, format) end
  if scripts.is(path) then return { kind = "script", named = true, path = path, dir = path:match "^(.*)/[^/]*$" or "." } end
  if path:find "%.md$" or path:find "%.ya?ml$" then
    local plan, refused = plan_target.find(path)
    if plan or refused then return plan, refused end
  end
  if path:find "%.md$" or formats.refused(path) then return from_agent_file(path, format) end
  local text = sources.read(path, 1 << 20) or ""
  if agents.has_frontmatter(text) then return from_agent_file(path, format) end
  return failure("agent", ("%s: neither a script (.lua), an agent (.md) nor a directory"):format(path))
end

--- Whether a run with these options uses what is watched: the states of watched targets are read without options.
---@param options? table
---@return boolean
function target.may_watch(options)
  return not (options and (options.format or options.as))
end

--- What a path stands for, as its files are now.
---@param path string
---@param validated? table<string, table<string, hocket.Agent>> Teams that were read and are valid, by directory.
---@param options? table Of the run. `format`: of its agents, when a person has named it. `as`: "built-in": the agent of this name that comes with hocket, whatever the folder has; "plan": a plan's file and nothing else.
---@return {kind: "script"|"agent"|"planner"|"plan", path: string, dir: string, named?: boolean, agent?: hocket.Agent}? found named: it is the script itself that was named.
---@return hocket.Error?
function target.find(path, validated, options)
  if path == "" then return failure("invalid", "the target must not be empty: name a script, an agent or a directory") end
  local format, as = options and options.format, options and options.as
  local wrong = format and formats.wrong(format)
  if wrong then return failure("invalid", "--format: " .. wrong) end
  if as == "built-in" then
    local found = built_in(path)
    if not found then return nil, no_such(path) end
    return found
  end
  if as == "plan" then
    local found, err = plan_target.find(path)
    if found or err then return found, err end
    if not sources.info(path) then return nil, no_such(path) end
    return failure("invalid", ("%s: no plan: a plan is a file .md with the key 'plan' in its front matter, or a file .yaml with it"):format(path))
  end
  return find_any(path, validated, format)
end

-- What is watched at a path, asked as somebody outside of the run: how long that takes is no business of its log.
local function newest_outside(path)
  local found, err
  effects.aside(function() found, err = target.newest(path) end)
  return found, err
end

--- The newest state of a target in a durable run; each file that it reads for it is saved with the run. A later attempt uses
--- only the saved files and watches none; `state` names their generation.
---@param path string
---@return table? found
---@return hocket.Error?
---@param options? table As for target.find: with `format` or `as` nothing is watched.
---@return {number?: integer, hash?: string} state
function target.kept(path, options)
  local alive, wrong
  local state = sources.answer("target", path, function()
    if target.may_watch(options) then alive, wrong = newest_outside(path) end
    local made = alive and alive.generation
    return { number = made and made.number, hash = made and made.hash, error = wrong and { code = wrong.code, message = wrong.message } }
  end)
  if state.error then return nil, state.error, state end
  local made = alive and alive.generation
  local found, err
  if made then found, err = sources.within(made.view, target.find, path) else found, err = target.find(path, nil, options) end
  if made and found then found.generation, found.env = made, alive.env end
  return found, err, state
end

--- Lets the modules beside a target be required; of a generation it is the generation that has them.
---@param found {dir: string, generation?: hocket.Generation}
function target.use(found)
  if found.generation then return end
  scripts.let_require()
  local beside = ("%s/?.lua;%s/?/init.lua;"):format(found.dir, found.dir)
  if package.path:sub(1, #beside) ~= beside then package.path = beside .. package.path end
end

return target
