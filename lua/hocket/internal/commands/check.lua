--- `hocket check PATH…`: agents and scripts, without a model call.
local agents = require "hocket.agent"
local bounds = require "hocket.internal.agents.bounds"
local find = require "hocket.internal.agents.find"
local compile = require "hocket.internal.base.compile"
local fs = require "hocket.fs"
local json = require "hocket.json"
local mermaid = require "hocket.internal.agents.mermaid"
local orchestrate = require "hocket.orchestrate"
local problem = require "hocket.internal.agents.problem"
local tree = require "hocket.internal.base.tree"

-- ---- Scripts -----------------------------------------------------------------------------

-- The names of toolsets that a script registers: agents beside it may use them. The script is not
-- run, so that only names that are written out are seen.
local function note_toolsets(text, tools)
  for name in text:gmatch "tool%.set%s*%(?%s*[\"']([%w_-]+)[\"']" do tools[name] = true end
end

local function check_script(path, result, tools)
  result.scripts = result.scripts + 1
  local text, err = fs.read(path)
  if not text then
    return table.insert(result.problems, problem.new(path, 1, 1, "nothing", err.message))
  end
  note_toolsets(text, tools)
  local ok, wrong = compile(text, path)
  if ok then return end
  local line, message = wrong:match(":(%d+): (.*)$")
  table.insert(result.problems, problem.new(path, tonumber(line) or 1, 1, "script", message or wrong))
end

-- ---- Agents -----------------------------------------------------------------------------------

local function describe(def, bound)
  local edges = json.array {}
  for i, edge in ipairs(agents.edges(def)) do
    edges[i] = { kind = edge.kind, to = edge.to }
  end
  return {
    name = def.name, file = def.file, description = def.description, edges = edges,
    reaches = { agents = json.array(bound.agents), tools = json.array(bound.tools) },
    depth = bound.depth, fan_out = bound.fan_out, model_calls = bound.model_calls,
  }
end

-- Who calls deeper than calls go is told, unless another one that calls it is.
local function check_depth(defs, own, all, problems)
  local called = {}
  for _, name in ipairs(own) do
    for _, edge in ipairs(agents.edges(defs[name])) do called[edge.to] = true end
  end
  for _, name in ipairs(own) do
    if all[name].depth >= orchestrate.MAX_DEPTH and not called[name] then
      local one = problem.new(defs[name].file, 1, 1, "depth", ("agents call each other %d deep from here: calls beyond %d are refused"):format(
        all[name].depth, orchestrate.MAX_DEPTH - 1))
      one.severity = "warning"
      problems[#problems + 1] = one
    end
  end
end

-- What follows for each agent is only known of a team that is well. `wanted` says whom it is about.
local function take_team(path, defs, problems, wanted, result)
  table.move(problems, 1, #problems, #result.problems + 1, result.problems)
  local own = {}
  for name, def in pairs(defs) do
    if wanted(name, def) then own[#own + 1] = name end
  end
  table.sort(own)
  result.agents = result.agents + #own
  if problem.any_error(problems) or #own == 0 then return end
  local all, team = bounds.of(defs), { path = path, agents = json.array {} }
  for i, name in ipairs(own) do team.agents[i] = describe(defs[name], all[name]) end
  check_depth(defs, own, all, result.problems)
  table.insert(result.teams, team)
  table.insert(result.defs, defs)
end

local function check_team(path, result, tools)
  local defs, problems = agents.read({ path }, { tools = tools })
  take_team(path, defs, problems, function(name, def) return rawget(agents.built_in(), name) ~= def end, result)
end

-- One file: what is wrong with it, also against the agents beside it that it names. Their own mistakes
-- are theirs, unless it cannot be run because of them.
local function check_file(path, result)
  local defs, problems = agents.read { path }
  local _, def = next(defs)
  if def and #agents.edges(def) > 0 then
    defs, problems = agents.read { path, path:match "^(.*)/[^/]*$" or "." }
    local own = {}
    for _, p in ipairs(problems) do
      if p.file == path or p.code == "cycle" then own[#own + 1] = p end
    end
    if #own == 0 and problem.any_error(problems) then own = problems end
    problems = own
  end
  take_team(path, defs, problems, function(_, one) return one.file == path end, result)
end

-- ---- Paths --------------------------------------------------------------------------------------

local function check_dir(path, result)
  local tools, scripts = {}, tree.files(path, ".lua") or {}
  for _, script in ipairs(scripts) do check_script(script, result, tools) end
  local dirs, err = find.teams(path)
  if not dirs then return table.insert(result.problems, problem.new(path, 1, 1, "nothing", err.message)) end
  for _, dir in ipairs(dirs) do check_team(dir, result, tools) end
  if #dirs == 0 and #scripts == 0 then check_team(path, result, tools) end -- which says that there is nothing
end

-- A path is a script, an agent file, or a directory with either or both.
local function check_path(path, result)
  path = path:gsub("(.)/+$", "%1")
  local info = fs.info(path)
  if info and info.kind == "directory" then return check_dir(path, result) end
  if path:find "%.lua$" then return check_script(path, result, {}) end
  check_file(path, result)
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

local function text_of(result, args)
  if args.graph then return mermaid.draw(result.defs) end
  local lines = { ("%s and %s are well"):format(plural(result.agents, "agent"), plural(result.scripts, "script")) }
  for _, team in ipairs(args.verbose and result.teams or {}) do
    lines[#lines + 1] = team.path
    for _, one in ipairs(team.agents) do lines[#lines + 1] = line_of(one) end
  end
  return table.concat(lines, "\n")
end

---@param args {paths: string[], graph?: boolean, verbose?: boolean}
return function(args)
  require "hocket.internal.runner.builtins"
  local result = { agents = 0, scripts = 0, problems = json.array {}, teams = json.array {}, defs = {} }
  for _, path in ipairs(args.paths) do check_path(path, result) end
  local text = text_of(result, args)
  result.graph = args.graph and text or nil
  result.defs = nil -- definitions are no part of what is printed
  if problem.any_error(result.problems) then
    return nil, { code = "agent", message = agents.explain(result.problems) }, result
  end
  result.text = text
  return result
end
