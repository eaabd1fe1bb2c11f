--- `hocket check PATH…`: agents and scripts, without a model call; and the keys of agents for its help.
local agents = require "hocket.agent"
local bounds = require "hocket.internal.agents.bounds"
local workflow_bound = require "hocket.internal.agents.workflow_bound"
local cases = require "hocket.internal.base.lazy" "hocket.internal.eval.cases"
local json = require "hocket.json"
local check_workflow = require "hocket.internal.base.lazy" "hocket.internal.commands.check_workflow"
local mermaid = require "hocket.internal.agents.mermaid"
local orchestrate = require "hocket.orchestrate"
local problem = require "hocket.internal.agents.problem"
local project = require "hocket.internal.agents.project"
local sources = require "hocket.internal.base.sources"
local tree = require "hocket.internal.base.tree"
local validate = require "hocket.internal.runner.validate"

local commands = {}

-- ---- Agents -----------------------------------------------------------------------------------

local function describe(def, bound)
  local edges = json.array {}
  for i, edge in ipairs(agents.edges(def)) do
    edges[i] = { kind = edge.kind, to = edge.to }
  end
  return {
    name = def.name, file = def.file, description = def.description, edges = edges,
    reaches = bound.agents and { agents = json.array(bound.agents), tools = json.array(bound.tools) },
    depth = bound.depth, fan_out = bound.fan_out, model_calls = bound.model_calls,
  }
end

local function warn(problems, def, code, message)
  local one = problem.new(def.file, 1, 1, code, message)
  one.severity = "warning"
  problems[#problems + 1] = one
end

-- What an agent is warned of that no other agent calls: calls deeper than calls go, and no limit.
local function check_bounds(defs, own, all, problems)
  local called = {}
  for _, name in ipairs(own) do
    for _, edge in ipairs(agents.edges(defs[name])) do called[edge.to] = true end
  end
  for _, name in ipairs(own) do
    local def, deep = defs[name], all[name].depth >= orchestrate.MAX_DEPTH
    if deep and not called[name] then
      warn(problems, def, "depth", ("agents call each other %d deep from here: calls beyond %d are refused"):format(all[name].depth, orchestrate.MAX_DEPTH - 1))
    end
    local unlimited = not called[name] and bounds.warning(def, all[name])
    if unlimited then warn(problems, def, "unlimited", unlimited) end
  end
end

-- Of a single file the agents beside it are in the team, which may be broken.
local function reached(one)
  local defs = {}
  for _, name in ipairs(project.reached(one.defs, one.own)) do defs[name] = one.defs[name] end
  return defs
end

-- What follows for each agent is only known of a team that is valid. Whom each can reach is a list for each, and is only
-- made for who looks at it.
local function take_team(one, result, reaches)
  result.agents = result.agents + #one.own
  if not one.well or #one.own == 0 then return end
  local all, team = workflow_bound.of_team(reached(one), reaches), { path = one.path, agents = json.array {} }
  for i, name in ipairs(one.own) do team.agents[i] = describe(one.defs[name], all[name]) end
  check_bounds(one.defs, one.own, all, result.problems)
  table.insert(result.teams, team)
  table.insert(result.defs, one.defs)
end

-- ---- Cases ----------------------------------------------------------------------------------------

-- What reads them comes with the program (libhocket-serve), and not with the library alone.
local function is_cases(path)
  return path:find(".eval.", 1, true) ~= nil and package.preload["hocket.internal.eval.cases"] ~= nil and cases.is_file(path)
end

local function check_cases(files, found)
  local list, problems = cases.read(files)
  local with_target = {}
  for _, case in ipairs(list) do
    if case.spec.target then with_target[#with_target + 1] = case end
  end
  local wrong = require("hocket.internal.eval.targets").find(with_target, nil, { trust = true }, { {} })
  table.move(problems, 1, #problems, #found.problems + 1, found.problems)
  table.move(wrong, 1, #wrong, #found.problems + 1, found.problems)
  found.cases = (found.cases or 0) + #list
end

-- A folder that has cases alone is valid, too.
local function check_path(path, found)
  if is_cases(path) then return check_cases({ path }, found) end
  local info = sources.info(path)
  local files = info and info.kind == "directory" and tree.files((path:gsub("(.)/+$", "%1")), is_cases) or {}
  local before = #found.problems
  validate.path(path, found)
  if #files == 0 then return end
  if #found.problems == before + 1 and found.problems[before + 1].code == "nothing" then found.problems[before + 1] = nil end
  check_cases(files, found)
end

-- ---- Workflows ------------------------------------------------------------------------------------

-- Files that do not compile are reported anyway.
local function take_workflows(found, result)
  local model = sources.variable "HOCKET_MODEL"
  result.workflows = json.array {}
  for _, path in ipairs(found.looked and check_workflow.find(found.looked) or {}) do
    local bound = check_workflow.of(path, model)
    if bound then
      table.insert(result.workflows, check_workflow.data(path, bound))
      table.insert(result.bounds, check_workflow.text(path, bound))
    end
  end
end

-- ---- For people -----------------------------------------------------------------------------------

local function plural(n, word)
  return ("%d %s%s"):format(n, word, n == 1 and "" or "s")
end

local function names(list)
  return #list > 0 and table.concat(list, ", ") or "none"
end

local function line_of(one)
  return ("  %s: reaches agents %s; tools %s; %d deep, %d side by side, %s model calls at most"):format(one.name,
    names(one.reaches.agents), names(one.reaches.tools), one.depth, one.fan_out,
    one.model_calls >= 1000000000000000 and "10^15 or more" or ("%d"):format(one.model_calls))
end

local function explained(paths, format)
  local texts = {}
  for i, path in ipairs(paths) do
    local text, err = require("hocket.internal.agents.formats.explain")(path, format)
    if not text then return nil, err end
    texts[i] = text
  end
  return table.concat(texts, "\n\n")
end

-- "2 agents, 0 scripts and 1 plan"; of what is there beside agents and scripts, and of a plan alone only that.
local function counted(result)
  local parts = {}
  if result.agents + result.scripts > 0 or not result.plans then parts = { plural(result.agents, "agent"), plural(result.scripts, "script") } end
  if result.skills > 0 then parts[#parts + 1] = plural(result.skills, "skill") end
  if result.plans then parts[#parts + 1] = plural(result.plans, "plan") end
  if result.cases then parts[#parts + 1] = plural(result.cases, "case") .. " to evaluate" end
  local last = table.remove(parts)
  return #parts > 0 and ("%s and %s"):format(table.concat(parts, ", "), last) or last
end

local function text_of(result, args)
  if args.explain then return explained(args.paths, args.format) end
  if args.graph then return mermaid.draw(result.defs) end
  local lines = { "OK: " .. counted(result) }
  table.move(result.bounds, 1, #result.bounds, 2, lines)
  for _, team in ipairs(args.verbose and result.teams or {}) do
    lines[#lines + 1] = team.path
    for _, one in ipairs(team.agents) do lines[#lines + 1] = line_of(one) end
  end
  return table.concat(lines, "\n")
end

---@param args {explain?: boolean, format?: string, schema?: "agent"|"providers"|"eval"|"policy", paths: string[], graph?: boolean, verbose?: boolean, json?: boolean} json: false leaves out what only that shows.
function commands.check(args)
  if args.schema then
    local made, err = commands.schema_of(args.schema)
    if not made then return nil, err end
    return { text = json.encode(made), schema = made, problems = json.array {} }
  end
  local wrong_format = args.format and require("hocket.internal.agents.formats").wrong(args.format)
  if wrong_format then return nil, { code = "invalid", message = "--format: " .. wrong_format } end
  local found = { format = args.format, hints = true, scripts = 0, problems = json.array {}, teams = {} }
  for _, path in ipairs(args.paths) do check_path(path, found) end
  local result = { agents = 0, scripts = found.scripts, cases = found.cases, skills = found.skills or 0, plans = found.plans, problems = found.problems, teams = json.array {}, defs = {}, bounds = {} }
  take_workflows(found, result)
  for _, team in ipairs(found.teams) do take_team(team, result, args.verbose or args.json ~= false) end
  local text, wrong = text_of(result, args)
  if not text then return nil, wrong end
  result.graph = args.graph and text or nil
  result.defs, result.bounds = nil, nil -- no part of what is printed
  if problem.any_error(result.problems) then
    result.text = args.explain and text or nil
    return nil, { code = "agent", message = agents.explain(result.problems) }, result
  end
  result.text = text
  return result
end

-- ---- For editors ----------------------------------------------------------------------------------

local function of_agents() return require("hocket.internal.agents.keys").json_schema() end
local function of_providers() return require("hocket.providers").json_schema() end
local function of_cases() return require("hocket.internal.eval.keys").json_schema() end
local function of_policy() return require("hocket.internal.models.policy_file").json_schema() end

local schemas = {
  agent = { "the front matter of an agent", of_agents }, providers = { "providers.yaml", of_providers }, eval = { "a file of cases, *.eval.yaml", of_cases },
  policy = { "policy.yaml", of_policy },
}

--- The JSON Schema of a kind of file, made from the description that its reader checks by.
---@param kind "agent"|"providers"|"eval"|"policy"
---@return table? schema
---@return hocket.Error?
function commands.schema_of(kind)
  local of = schemas[kind]
  if not of then return nil, { code = "invalid", message = ("there is no schema of '%s' (there are: agent, eval, policy, providers)"):format(tostring(kind)) } end
  local made = of[2]()
  made["$schema"], made.title = "https://json-schema.org/draft/2020-12/schema", "hocket: " .. of[1]
  return made
end

-- ---- Keys -------------------------------------------------------------------------------------------

local function line_of_key(key)
  local more = {}
  if key.unit then more[#more + 1] = key.unit end
  if key.default then more[#more + 1] = "default " .. key.default end
  return ("  %-24s %s\n  %-24s   %s%s"):format(key.name, key.doc, "", key.kind,
    #more > 0 and (" (%s)"):format(table.concat(more, "; ")) or "")
end

--- The keys of an agent's front matter, for `hocket check --help`.
function commands.keys()
  local result, lines = { groups = agents.keys() }, {}
  for _, group in ipairs(result.groups) do
    lines[#lines + 1] = group.title
    for _, key in ipairs(group.keys) do lines[#lines + 1] = line_of_key(key) end
    lines[#lines + 1] = ""
  end
  result.text = table.concat(lines, "\n")
  return result
end

return commands
