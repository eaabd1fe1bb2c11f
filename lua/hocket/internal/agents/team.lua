--- Teams: the agents of a directory, read and checked against each other. Nothing here raises;
--- what is wrong comes back as problems.
local fs = require "hocket.internal.core.fs"
local graph = require "hocket.internal.agents.graph"
local lazy = require "hocket.internal.base.lazy"
local problem = require "hocket.internal.agents.problem"
local read = require "hocket.internal.agents.read"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"
local tool = require "hocket.tool"

local formats = lazy "hocket.internal.agents.formats.team"
local foreign = lazy "hocket.internal.agents.formats"
local include, rules, tree = lazy "hocket.internal.agents.include", lazy "hocket.internal.agents.consistency", lazy "hocket.internal.base.tree"
local stages = lazy "hocket.internal.agents.stages"
local workflow_file = lazy "hocket.internal.agents.workflow_file"

local team = {}

--- After so many problems of a team no hint is given: each looks at all names, which takes seconds for thousands.
local HINTS = 1000

-- ---- References -----------------------------------------------------------------------------

local function check_agents(def, defs, places, opts, problems)
  local names, also -- sorted once, however many are unknown
  for _, edge in ipairs(graph.edges(def)) do
    local known = rawget(defs, edge.to)
    if not known and opts.built_in then
      known = rawget(opts.built_in(), edge.to)
      defs[edge.to], names = known, nil
    end
    if not known and not (opts.broken and opts.broken[edge.to]) then
      local line, column = problem.place(places, graph.pointer(edge))
      local headless = opts.headless and opts.headless[edge.to]
      names = names or sorted_keys(defs)
      also = also or opts.built_in and sorted_keys(opts.built_in())
      problems[#problems + 1] = problem.new(def.file, line, column, "unknown_agent", ("unknown agent '%s'%s"):format(edge.to,
        headless and (": %s has no front matter: an agent's file begins with a line '---'"):format(headless)
        or #problems < HINTS and problem.hint(edge.to, names, also) or ""))
    elseif known and known.theirs and known.theirs.person_only then
      local line, column = problem.place(places, graph.pointer(edge))
      problems[#problems + 1] = problem.new(def.file, line, column, "incompatible",
        ("'%s' may be called by a person only: %s says so"):format(edge.to, known.file))
    end
  end
end

local function check_tools(def, places, opts, problems)
  for i, name in ipairs(def.tools) do
    if type(name) == "string" and not tool.is_known(name) and not (opts.tools and opts.tools[name]) then
      local line, column = problem.place(places, ("/tools/%d"):format(i - 1))
      problems[#problems + 1] = problem.new(def.file, line, column, "unknown_tool",
        ("unknown tool '%s'%s"):format(name, problem.hint(name, tool.names())))
    elseif type(name) == "string" and (name:find "^workflow:" or name:find "^plan:") then
      workflow_file.check_tool(def, i, places, problems)
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
---@param names string[] The ones that are checked.
---@param places table<string, table<string, integer[]>> By the agents' names.
---@param opts {tools?: table<string, boolean>, built_in?: fun(): table<string, hocket.Agent>, broken?: table<string, boolean>, headless?: table<string, string>, rest?: fun()} tools: names that are known besides; broken: agents whose files are reported already; headless: files that would be agents if they had front matter; rest: is called now and then, so that many agents do not hold up everything else.
---@param problems hocket.Problem[] Gets what is wrong.
function team.check(defs, names, places, opts, problems)
  for _, name in ipairs(names) do
    if opts.rest then opts.rest() end
    local def, at = defs[name], places[name] or {}
    rules.check(def, at, problems)
    check_agents(def, defs, at, opts, problems)
    check_tools(def, at, opts, problems)
  end
  for _, name in ipairs(names) do
    if defs[name].handoff then stages.check(defs[name], defs, places, problems) end
  end
  check_circles(defs, names, places, opts, problems)
end

-- ---- Files --------------------------------------------------------------------------------------

-- What a text says is read once, however often its file is loaded. A definition is its team's, and so each
-- has one of its own.
local function parse(text, file, place, format)
  local memo = sources.memo(file)
  if not memo then return read.text(text, file, place, format) end
  local which = format and file .. "\0" .. format or file
  local known = memo[which]
  if not known then
    known = table.pack(read.text(text, file, place, format))
    memo[which] = known
  end
  local def = known[1] and {} or nil
  for key, value in pairs(known[1] or {}) do def[key] = value end
  return def, table.move(known[2], 1, #known[2], 1, {}), known[3]
end

-- One file's definition; nil without a problem when it means to be none, as a README does. The last value says why a
-- file that looks like an agent's is none.
local function read_file(file, root, only_with_frontmatter, place, format)
  local text, err = sources.read(file, read.LIMIT)
  if not text and err.retryable then error(err, 0) end -- the process has no descriptor left: the file is not to blame
  if not text then return nil, { problem.new(file, 1, 1, err.code == "limit" and "limit" or "nothing", err.message) } end
  if only_with_frontmatter and not read.has_frontmatter(text) then
    local line = read.hidden_frontmatter(text)
    local at, why = read.find_bad_byte(text:sub(1, 4))
    if at == 1 and why:find "UTF%-16" then return nil, {}, nil, problem.new(file, 1, 1, "encoding", why) end
    return nil, {}, nil, line and problem.new(file, line, 1, "value", "this looks like the front matter of an agent, and is none: it has to come first, behind blank lines and <!-- comments --> at most")
  end
  local def, problems, places = parse(text, file, place, format)
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

-- Two programs, or two files of one, may mean the same name.
local function free_name(defs, name)
  local n = 2
  while defs[("%s_%d"):format(name:sub(1, 54), n)] do n = n + 1 end
  return ("%s_%d"):format(name:sub(1, 54), n)
end

-- Takes one file in: its definition and places; or notes why it has none.
local function take_file(self, file, files)
  local def, found, places, odd = read_file(file, files.root[file], not files.direct[file], files.place[file], files.format)
  if not def then
    if #found > 0 then self.broken[guess_name(file)] = true else self.headless[base_name(file)] = file end
    for _, one in ipairs(not files.direct[file] and found or {}) do
      if one.code == "disabled" then one.severity = "warning" end
    end
  end
  local problems = self.problems
  table.move(found, 1, #found, #problems + 1, problems)
  if odd then
    odd.severity = "warning"
    problems[#problems + 1] = odd
  end
  if not def then return end
  local taken = self.defs[def.name]
  if taken then
    local line, column = problem.place(places, "/name")
    local one = problem.new(def.file, line, column, "duplicate_name", ("the name '%s' is taken by %s"):format(def.name, taken.file))
    problems[#problems + 1] = one
    if not def.theirs then return end
    def.name, one.severity = free_name(self.defs, def.name), "warning"
    one.message = ("%s: it is called '%s' here"):format(one.message, def.name)
  end
  self.defs[def.name], self.places[def.name], self.theirs = def, places, self.theirs or def.theirs ~= nil
  return def
end

-- The files that paths stand for, each once. A file that is named directly is an agent also without front matter.
local function files_of(paths, rest, seen)
  local files = { direct = {}, root = {}, place = {} }
  local function add(file, root)
    if rest then rest() end
    local real = sources.real(file) or file
    if not seen[real] then files[#files + 1] = file end
    seen[real], files.root[file], files.place[file] = true, files.root[file] or root, real
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
          if read.is_prompt(file) then files.prompts = true
          elseif file:sub(-3) == ".md" or file:sub(-3) == ".ai" then add(file, path) end
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

-- Reads files into a team, and the folders that their agents name (`agents: [.claude/agents]`) after them.
local function take_files(self, files, rest)
  for _, file in ipairs(files) do
    if rest then rest() end
    local def = take_file(self, file, files)
    for i, name in ipairs(def and not def.theirs and def.agents or {}) do
      if name:sub(-4) == ".lua" then self.workflows[#self.workflows + 1] = { def = def, item = i, path = name }
      elseif name:find("/", 1, true) then self.folders[#self.folders + 1] = { def = def, item = i, path = name } end
    end
  end
end

-- A folder stands for its agents, where it is named: from the file on that names it. It is known by its path, not by links.
local function take_folder(self, one, rest)
  local def = one.def
  local path, format = foreign.split(one.path)
  path = fs.is_absolute(path) and path or (def.file:match "^(.*)/[^/]*$" or ".") .. "/" .. path
  local files, nothing = files_of({ (path:gsub("(.)/+$", "%1")) }, rest, self.seen)
  if not files then
    local line, column = problem.place(self.places[def.name], ("/agents/%d"):format(one.item - 1))
    self.problems[#self.problems + 1] = problem.new(def.file, line, column, "unknown_agent", ("'%s': %s"):format(one.path, nothing.message))
    files = {}
  end
  files.format = format
  take_files(self, files, rest)
  local root = sources.real(path) or path
  one.names = function()
    local names = {}
    for name, other in pairs(self.defs) do
      local real = sources.real(other.file) or other.file
      local inside = system.below(real, root)
      if inside and other ~= def and not (other.theirs and other.theirs.person_only) then names[#names + 1] = name end
    end
    table.sort(names)
    return names
  end
end

-- A workflow's file is an agent of its name.
local function take_workflow(self, one)
  local file = workflow_file.at(one.def, one.path)
  local def, wrong = nil, { { message = "there is no such file" } }
  if file then def, wrong = workflow_file.definition(file) end
  local taken = def and self.defs[def.name]
  if taken and (sources.real(taken.file) or taken.file) ~= (sources.real(file) or file) then wrong, def = { { message = ("the name '%s' is taken by %s"):format(def.name, taken.file) } }, nil end
  if not def then
    local line, column = problem.place(self.places[one.def.name], ("/agents/%d"):format(one.item - 1))
    self.problems[#self.problems + 1] = problem.new(one.def.file, line, column, "unknown_agent", ("'%s': %s"):format(one.path, wrong[1].message))
  end
  local name = def and def.name
  if name and not taken then self.defs[name], self.places[name] = def, {} end
  one.names = function() return { name } end
end

-- Replaces folders by their agents, and files of workflows by their names.
local function name_folders(self)
  local by_def = {}
  table.move(self.workflows, 1, #self.workflows, #self.folders + 1, self.folders)
  for _, one in ipairs(self.folders) do
    by_def[one.def] = by_def[one.def] or {}
    by_def[one.def][one.item] = one.names
  end
  for def, folders in pairs(by_def) do
    local list, seen = {}, {}
    for i, name in ipairs(def.agents) do
      for _, each in ipairs(folders[i] and folders[i]() or { name }) do
        if not seen[each] then list[#list + 1] = each end
        seen[each] = true
      end
    end
    def.agents = list
  end
end

-- Reads files into a team; the problems of all of them come back together.
local function read_files(files, rest, seen)
  local self = { defs = {}, places = {}, problems = {}, broken = {}, headless = {}, folders = {}, workflows = {}, seen = seen }
  take_files(self, files, rest)
  local at = 1
  while self.folders[at] do -- agents of a folder may name folders
    take_folder(self, self.folders[at], rest)
    at = at + 1
  end
  for _, one in ipairs(self.workflows) do take_workflow(self, one) end
  if at > 1 or self.workflows[1] then name_folders(self) end
  return self
end

--- Reads agent files or directories of them, and checks them against each other.
---@param paths string[]
---@param opts? table As for team.check; format: that of the files of these paths, when a person has named it.
---@return table<string, hocket.Agent> defs
---@return hocket.Problem[] problems
---@return table<string, table<string, integer[]>> places By agent: where its front matter's keys stand.
function team.read(paths, opts)
  local rest, seen = opts and opts.rest, {}
  local files, nothing = files_of(paths, rest, seen)
  if not files then return {}, { nothing }, {} end
  files.format = opts and opts.format
  local self = read_files(files, rest, seen)
  local defs, places, problems = self.defs, self.places, self.problems
  if next(defs) == nil and #problems == 0 then
    problems[1] = problem.new(paths[1] or ".", 1, 1, "nothing", files.prompts and "there are commands, prompts or instructions here, and no agent: 'hocket chat' sends one by /name"
      or "there is no agent here: a .md file that begins with a line '---'")
  end
  if self.theirs then formats.complete(defs, places, problems) end
  team.check(defs, sorted_keys(defs), places, setmetatable({ broken = self.broken, headless = self.headless }, { __index = opts }), problems)
  return defs, problem.sort(problems), places
end

return team
