--- Agents as files: front matter in YAML between two lines `---`, then the system prompt.
---
---     local agents = require "hocket.agent"
---     local def, problems = agents.parse([[
---     ---
---     name: food
---     description: Restaurants and markets
---     ---
---     You are the food specialist. Stay in your lane.
---     ]], "food.md")
---     print(def and def.description or agents.explain(problems))
---
--- `hocket.agents` and `hocket.agent` use this module. A definition is plain data and never changes after loading.
--- Loading has three steps, of which only the last raises: a text is read, definitions are checked against each other,
--- and valid ones become a team. docs/reference/agents.md has all keys.
local arguments = require("hocket.internal.base.arguments").check
local keys = require "hocket.internal.agents.keys"
local fiber = require "hocket.internal.core.fiber"
local graph = require "hocket.internal.agents.graph"
local include = require "hocket.internal.base.lazy" "hocket.internal.agents.include"
local json = require "hocket.json"
local needs = require "hocket.internal.agents.needs"
local problem = require "hocket.internal.agents.problem"
local read = require "hocket.internal.agents.read"
local schema = require "hocket.schema"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"
local teams = require "hocket.internal.agents.team"

local agent = {}

---@class hocket.Agent What the front matter says, with its defaults (docs/reference/agents.md has all keys), among others:
---@field name string
---@field description string
---@field display_name string
---@field prompt string The system prompt, with what it includes, its variables not filled in.
---@field prompt_line integer The line of the file that it begins on.
---@field prompt_parts? {at: integer, file: string, line: integer}[] Of a prompt from several files: where each part of it stands.
---@field file string
---@field model? string|string[] "provider/model"; of several the others are fallbacks, in order.
---@field tools (string|hocket.Tool)[]
---@field agents string[] The agents that it may call; of a router, the ones that it chooses from.
---@field variables table<string, string|number|boolean>
---@field wanted string[] Variables that the front matter names without a value: whoever calls gives them.
---@field stop? string[]
---@field reasoning? string|integer
---@field handoff? string|hocket.Handoff|hocket.Handoff[]
---@field alternates? hocket.Alternate[]
---@field router boolean
---@field fallback? string
---@field advisors? {agents: string[], required: string[], timeout?: number, quorum: integer}
---@field team? {members: string[], termination_mode: "consensus"|"max_rounds"|"coordinator_decides", max_rounds: integer, max_round_bytes: integer}
---@field input? table JSON Schema.
---@field output? table JSON Schema.
---@field budget? hocket.Budget
---@field per_call? {model?: string[], reasoning?: (string|integer)[], output: boolean, limits: boolean, context: "none"|"fork"} What a caller may choose for one call.
---@field approve? {deny: hocket.ApproveRule[], ask: hocket.ApproveRule[], allow: hocket.ApproveRule[]}
---@field approve_plan boolean
---@field on_failure? "skip"|"continue"|"abort"|"replan"
---@field sandbox? "required"|"best"

agent.has_frontmatter = read.has_frontmatter
agent.explain = problem.explain
agent.edges = graph.edges

--- The keys of the front matter, in groups, with types, defaults and a line each: what `hocket check --help` shows.
---@return {title: string, keys: {name: string, kind: string, unit?: string, default?: string, example?: string, doc: string}[]}[]
---@internal
function agent.keys()
  return keys.describe()
end

--- Reads one agent from text.
---@param text string
---@param file string Its name, for messages.
---@return hocket.Agent? def
---@return hocket.Problem[] problems With a definition these are warnings.
---@return table<string, integer[]>? places Where the front matter's keys stand.
function agent.parse(text, file)
  arguments("agent.parse", 1, "string", text)
  arguments("agent.parse", 2, "string", file)
  return read.text(text, file)
end

--- Reads agent files or directories of them, and checks them against each other.
---@param paths string[]
---@param opts? {tools?: table<string, boolean>, format?: string} tools: names that count as known tools; format: another program's, of all these files.
---@return table<string, hocket.Agent> team With the built-in agents that are named.
---@return hocket.Problem[] problems
---@return table<string, table<string, integer[]>> places By agent: where its front matter's keys stand.
function agent.read(paths, opts)
  arguments("agent.read", 1, "table", paths)
  arguments("agent.read", 2, "table?", opts)
  return teams.read(paths, { tools = opts and opts.tools, format = opts and opts.format, built_in = agent.built_in, rest = fiber.rest })
end

-- ---- Teams that can be run ------------------------------------------------------------------

local team_meta = {
  __index = function(team, name)
    error(("there is no agent '%s'%s"):format(tostring(name), problem.hint(tostring(name), sorted_keys(team))), 2)
  end,
}

-- A definition's team is kept beside it: definitions stay plain data.
local team_of = setmetatable({}, { __mode = "k" })

-- Where a definition can be had again, by whoever has the same files.
local source_of = setmetatable({}, { __mode = "k" })

local function join(team, source)
  for _, def in pairs(team) do
    if not team_of[def] then team_of[def], source_of[def] = team, source end
  end
  return setmetatable(team, team_meta)
end

local function join_if_valid(team, problems, source)
  if problem.any_error(problems) then problem.raise(problems) end
  return join(team, source)
end

--- Loads a directory of agents (and what lies below it). Raises with file, line and column of
--- every problem.
---@param dir string
---@param validated? table<string, hocket.Agent> What agent.read has made of it, without an error.
---@param format? string Another program's, when a person has named it.
---@return table<string, hocket.Agent>
function agent.load_dir(dir, validated, format)
  arguments("agent.load_dir", 1, "string", dir)
  arguments("agent.load_dir", 2, "table?", validated)
  arguments("agent.load_dir", 3, "string?", format)
  local source = { dir = dir, format = format }
  if validated then return join(validated, source) end
  local team, problems = agent.read({ dir }, { format = format })
  return join_if_valid(team, problems, source)
end

local function find_file(team, path)
  for name, def in pairs(team) do
    if def.file == path then return name, def end
  end
end

-- A file alone when it names no other agent; otherwise with all agents of its directory (of which it may be
-- none by its name, as a program without ".md" is).
local function load_file(path, format)
  local info = sources.info(path)
  if info and info.kind == "directory" then
    problem.raise { problem.new(path, 1, 1, "nothing", "is a directory: use hocket.agents for a whole team") }
  end
  local team, problems = agent.read({ path }, { format = format })
  local name, def = find_file(team, path)
  if def and graph.needs_others(def) then team, problems = agent.read({ path, path:match "^(.*)/[^/]*$" or "." }, { format = format }) end
  return join_if_valid(team, problems, { file = path, format = format })[name]
end

-- What is made in a script has its place there: at the first caller that is none of ours.
local function place_in_script(problems)
  local _, own = pcall(error, "", 2)
  local ours = own:match "^(.*)agent%.lua:" or "hocket/"
  for level = 3, 16 do
    local _, at = pcall(error, "", level)
    local file, line = at:match "^(.*):(%d+): $"
    if file and file:sub(1, #ours) ~= ours then
      for _, one in ipairs(problems) do
        one.message = ("the agent '%s': %s"):format(one.file, one.message)
        one.file, one.line = file, math.tointeger(line)
      end
      return
    end
  end
end

local function load_table(what)
  local def, problems = read.table(what)
  if def and def.prompt:find("{{", 1, true) and include.any(def.prompt) then
    problems[#problems + 1] = problem.new(def.name, 1, 1, "include", "only an agent's file can include others: its directory says which")
  end
  local team = what.team or {}
  if def then
    team[def.name] = def
    teams.check(team, { def.name }, {}, { built_in = agent.built_in }, problems)
  end
  if problem.any_error(problems) then
    place_in_script(problems)
    problem.raise(problems)
  end
  join(team)
  return def
end

--- Loads one agent file, or takes a definition as a table with the same keys plus `prompt`.
---@param what string|table
---@return hocket.Agent
function agent.load(what)
  if type(what) == "string" then return load_file(what) end
  if type(what) == "table" then return load_table(what) end
  error(("bad argument #1 to 'agent' (a file name or a table expected, got %s)"):format(type(what)), 2)
end

local built_in

--- The agents that are compiled in: assistant, facilitator, orchestrator, planner, conversation, file, shell, web, code,
--- code_reviewer, researcher, tester, workflow, judge.
---@return table<string, hocket.Agent>
function agent.built_in()
  if built_in then return built_in end
  local team, problems, places = {}, {}, {}
  for _, name in ipairs(system.assets "agents/") do
    local def, found, at = agent.parse(system.asset(name), name)
    table.move(found, 1, #found, #problems + 1, problems)
    if def then team[def.name], places[def.name] = def, at end
  end
  teams.check(team, sorted_keys(team), places, {}, problems)
  built_in = join_if_valid(team, problems)
  return built_in
end

--- The agents that a definition may call, one per line, in the form that prompts use.
---@param def hocket.Agent
---@return string
function agent.describe_callees(def)
  arguments("agent.describe_callees", 1, "agent", def)
  local lines = {}
  for i, name in ipairs(def.agents) do
    local other = team_of[def][name]
    lines[i] = ("- %s: %s"):format(name, other.description)
    if other.input then lines[i] = ("%s (It takes JSON that fits %s)"):format(lines[i], json.encode(other.input)) end
  end
  return table.concat(lines, "\n")
end

--- What is missing before an agent can be asked, and those whom it can reach: a variable of a prompt without a value, a
--- provider that there is not. nil when nothing is.
---@param def hocket.Agent
---@param given table<string, any>[] Sets of variables, for all of them.
---@param options {model?: string, models?: table<string, string>} The run's: models that go before the front matter.
---@param chosen? string A model that the first one is asked with in any case.
---@return hocket.Error?
function agent.missing(def, given, options, chosen)
  arguments("agent.missing", 1, "agent", def)
  arguments("agent.missing", 2, "table", given)
  arguments("agent.missing", 3, "table", options)
  arguments("agent.missing", 4, "string?", chosen)
  return needs.missing(def, team_of[def] or {}, given, options, chosen)
end

--- The agents that a definition can refer to, by name.
---@param def hocket.Agent
---@return table<string, hocket.Agent>
function agent.team_of(def)
  return team_of[def]
end

local variants = setmetatable({}, { __mode = "k" }) -- by definition, then by its changes
local changes_of = setmetatable({}, { __mode = "k" }) -- by what was made

--- What may vary, in the order of the key that a variant is found by.
local varying = { "model", "reasoning", "output" }

local function check_output(def, output)
  if def.pool then error(("%s: an agent of a pool answers as its file says: it takes no other output"):format(def.name), 4) end
  local compiled, err = schema.compile(output)
  if not compiled then error(("the output is no JSON Schema: %s"):format(err.message), 4) end
end

local function make_variant(def, changes)
  if changes.output ~= nil then check_output(def, changes.output) end
  local made, all = {}, {}
  for key, value in pairs(def) do made[key] = value end
  for name, value in pairs(changes_of[def] or {}) do all[name] = value end
  for _, name in ipairs(varying) do
    if changes[name] ~= nil then made[name], all[name] = changes[name], changes[name] end
  end
  team_of[made], source_of[made], changes_of[made] = team_of[def], source_of[def], all
  return made
end

--- The same agent with another model, effort or schema of its answer. Of the same changes it is the same one.
---@param def hocket.Agent
---@param changes {model?: string|string[], reasoning?: string|integer, output?: table}
---@return hocket.Agent
---@internal
function agent.vary(def, changes)
  local key, any = {}, false
  for i, name in ipairs(varying) do
    any = any or changes[name] ~= nil
    key[i] = changes[name] == nil and "" or json.encode(changes[name])
  end
  if not any then return def end
  local known, text = variants[def] or setmetatable({}, { __mode = "v" }), table.concat(key, " ") -- a model may give many schemas
  variants[def] = known
  known[text] = known[text] or make_variant(def, changes)
  return known[text]
end

--- The changes that agent.vary made to a loaded definition, to make them again in another process.
---@param def hocket.Agent
---@return {model?: string|string[], reasoning?: string|integer, output?: table}? changes
---@internal
function agent.changes_of(def)
  return changes_of[def]
end

--- Where a definition was loaded from: as data, for agent.load_again in another process.
---@param def hocket.Agent
---@return {dir?: string, file?: string, format?: string}? source nil: it was made by a script, or comes with hocket.
---@internal
function agent.source_of(def)
  return source_of[def]
end

--- The definition of a name that was loaded from there. Raises as the loading does.
---@param source {dir?: string, file?: string, format?: string}
---@param name string
---@return hocket.Agent?
---@internal
function agent.load_again(source, name)
  if source.dir then return rawget(agent.load_dir(source.dir, nil, source.format), name) end
  return rawget(team_of[load_file(source.file, source.format)], name)
end

--- Loads one file in the format of another program, which a person has named.
---@param path string
---@param format? string
---@return hocket.Agent
---@internal
function agent.load_as(path, format)
  return load_file(path, format)
end

--- All definitions that are in use, or were lately: also those of files that have changed since.
---@return hocket.Agent[] In no order.
---@internal
function agent.loaded()
  local list = {}
  for def in pairs(team_of) do list[#list + 1] = def end
  return list
end

return agent
