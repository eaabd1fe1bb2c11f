--- Teams: the agents of a directory, read and checked against each other. Nothing here raises;
--- what is wrong comes back as problems.
local graph = require "hocket.internal.agents.graph"
local lazy = require "hocket.internal.base.lazy"
local problem = require "hocket.internal.agents.problem"
local read = require "hocket.internal.agents.read"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local sources = require "hocket.internal.base.sources"
local tool = require "hocket.tool"

local include, rules, tree = lazy "hocket.internal.agents.include", lazy "hocket.internal.agents.consistency", lazy "hocket.internal.base.tree"

local team = {}

-- ---- References -----------------------------------------------------------------------------

local function check_agents(def, defs, places, opts, problems)
  for _, edge in ipairs(graph.edges(def)) do
    local known = rawget(defs, edge.to)
    if not known and opts.built_in then
      known = rawget(opts.built_in(), edge.to)
      defs[edge.to] = known
    end
    if not known and not (opts.broken and opts.broken[edge.to]) then
      local line, column = problem.place(places, graph.pointer(edge))
      local headless = opts.headless and opts.headless[edge.to]
      problems[#problems + 1] = problem.new(def.file, line, column, "unknown_agent", ("unknown agent '%s'%s"):format(edge.to,
        headless and (": %s has no front matter: an agent's file begins with a line '---'"):format(headless)
        or problem.hint(edge.to, sorted_keys(defs), opts.built_in and sorted_keys(opts.built_in()))))
    end
  end
end

local function check_tools(def, places, opts, problems)
  for i, name in ipairs(def.tools) do
    if type(name) == "string" and not tool.is_known(name) and not (opts.tools and opts.tools[name]) then
      local line, column = problem.place(places, ("/tools/%d"):format(i - 1))
      problems[#problems + 1] = problem.new(def.file, line, column, "unknown_tool",
        ("unknown tool '%s'%s"):format(name, problem.hint(name, tool.names())))
    end
  end
end

local function check_circles(defs, names, places, opts, problems)
  for _, circle in ipairs(graph.circles(defs, names, opts.rest)) do
    local line, column = problem.place(places[circle.def.name] or {}, graph.pointer(circle.edge))
    problems[#problems + 1] = problem.new(circle.def.file, line, column, "cycle",
      ("agents that call each other in a circle: %s: remove one of these"):format(circle.path))
  end
end

--- Checks agents against each other: references, tools, keys that go together, circles.
---@param defs table<string, hocket.Agent> Built-in agents that are named are added.
---@param names string[] Those that are checked.
---@param places table<string, table<string, integer[]>> By the agents' names.
---@param opts {tools?: table<string, boolean>, built_in?: fun(): table<string, hocket.Agent>, broken?: table<string, boolean>, headless?: table<string, string>, rest?: fun()} tools: names that are known besides; broken: agents whose files are told of already; headless: files that would be agents if they had front matter; rest: is called now and then, so that many agents do not hold up everything else.
---@param problems hocket.Problem[] Gets what is wrong.
function team.check(defs, names, places, opts, problems)
  for _, name in ipairs(names) do
    if opts.rest then opts.rest() end
    local def, at = defs[name], places[name] or {}
    rules.check(def, at, problems)
    check_agents(def, defs, at, opts, problems)
    check_tools(def, at, opts, problems)
  end
  check_circles(defs, names, places, opts, problems)
end

-- ---- Files --------------------------------------------------------------------------------------

-- What a text says is read once, however often its file is loaded. A definition is its team's, and so each
-- has one of its own.
local function parse(text, file)
  local memo = sources.memo(file)
  if not memo then return read.text(text, file) end
  local known = memo[file]
  if not known then
    known = table.pack(read.text(text, file))
    memo[file] = known
  end
  local def = known[1] and {} or nil
  for key, value in pairs(known[1] or {}) do def[key] = value end
  return def, table.move(known[2], 1, #known[2], 1, {}), known[3]
end

-- One file's definition; nil without a problem when it means to be none, as a README does. The last: what is odd of one that is none.
local function read_file(file, root, only_with_frontmatter)
  local text, err = sources.read(file, read.LIMIT)
  if not text and err.retryable then error(err, 0) end -- the process has no descriptor left: the file is not to blame
  if not text then return nil, { problem.new(file, 1, 1, err.code == "limit" and "limit" or "nothing", err.message) } end
  if only_with_frontmatter and not read.has_frontmatter(text) then
    local line = read.hidden_frontmatter(text)
    return nil, {}, nil, line and problem.new(file, line, 1, "value", "this looks like the front matter of an agent, and is none: it has to come first, behind blank lines and <!-- comments --> at most")
  end
  local def, problems, places = parse(text, file)
  if not def then return nil, problems end
  local wrong = def.prompt:find("{{", 1, true) and include.expand(def, root) or {}
  if #wrong > 0 then return nil, table.move(problems, 1, #problems, #wrong + 1, wrong) end
  return def, problems, places
end

local function base_name(file)
  return file:match "([^/]+)%.md$" or file
end

-- What an agent is called whose file cannot be read: who names it is not to blame.
local function guess_name(file)
  local text = sources.read(file, read.LIMIT)
  return text and text:match "\nname:[ \t]*[\"']?([%w_-]+)" or base_name(file)
end

-- Reads files into a team; the problems of all of them come back together.
local function read_files(files, rest)
  local defs, all_places, problems, broken, headless = {}, {}, {}, {}, {}
  for _, file in ipairs(files) do
    if rest then rest() end
    local def, found, places, odd = read_file(file, files.root[file], not files.direct[file])
    if not def and #found > 0 then broken[guess_name(file)] = true end
    if not def and #found == 0 then headless[base_name(file)] = file end
    table.move(found, 1, #found, #problems + 1, problems)
    if odd then
      odd.severity = "warning"
      problems[#problems + 1] = odd
    end
    if def and defs[def.name] then
      local line, column = problem.place(places, "/name")
      problems[#problems + 1] = problem.new(file, line, column, "duplicate_name",
        ("the name '%s' is taken by %s"):format(def.name, defs[def.name].file))
    elseif def then
      defs[def.name], all_places[def.name] = def, places
    end
  end
  return defs, all_places, problems, { broken = broken, headless = headless }
end

-- The files that paths stand for, each once. A file that is named directly is an agent also without front matter.
local function files_of(paths, rest)
  local files, seen = { direct = {}, root = {} }, {}
  local function add(file, root)
    if rest then rest() end
    local real = sources.real(file) or file
    if not seen[real] then files[#files + 1] = file end
    seen[real], files.root[file] = true, files.root[file] or root
  end
  for _, path in ipairs(paths) do
    local info, err = sources.info(path)
    if not info and err and err.retryable then error(err, 0) end
    if not info then
      return nil, problem.new(path, 1, 1, "nothing", err and err.message or "there is no such file or directory")
    elseif info.kind == "directory" then
      local ok, failed = tree.walk(path:gsub("(.)/+$", "%1"), function(_, list)
        for _, file in ipairs(list) do
          if file:sub(-9) == "/SKILL.md" then return false end -- of a skill, with all below it
        end
        for _, file in ipairs(list) do
          if file:sub(-3) == ".md" then add(file, path) end
        end
      end)
      if not ok then return nil, problem.new(path, 1, 1, "nothing", failed.message) end
    else
      files.direct[path] = true
      add(path, path:match "^(.*)/[^/]*$" or ".")
    end
  end
  return files
end

--- Reads agent files or directories of them, and checks them against each other.
---@param paths string[]
---@param opts? table As for team.check.
---@return table<string, hocket.Agent> defs
---@return hocket.Problem[] problems
---@return table<string, table<string, integer[]>> places By agent: where its front matter's keys stand.
function team.read(paths, opts)
  local files, nothing = files_of(paths, opts and opts.rest)
  if not files then return {}, { nothing }, {} end
  local defs, places, problems, unread = read_files(files, opts and opts.rest)
  if next(defs) == nil and #problems == 0 then
    problems[1] = problem.new(paths[1] or ".", 1, 1, "nothing", "there is no agent here: a .md file that begins with a line '---'")
  end
  team.check(defs, sorted_keys(defs), places, setmetatable(unread, { __index = opts }), problems)
  return defs, problem.sort(problems), places
end

return team
