--- What is true of a target that nobody has run yet: which agents and scripts it has, and what is wrong with
--- them. `hocket check` shows it, and a generation has to pass it.
local agents = require "hocket.agent"
local declared = require "hocket.internal.agents.declared"
local fiber = require "hocket.internal.core.fiber"
local find = require "hocket.internal.agents.find"
local graph = require "hocket.internal.agents.graph"
local hooks_check = require "hocket.internal.base.lazy" "hocket.internal.runner.hooks.check"
local hooks_place = require "hocket.internal.runner.hooks.place"
local may_be_plan = require "hocket.internal.runner.plan_name"
local plan_target = require "hocket.internal.base.lazy" "hocket.internal.runner.plan_target"
local problem = require "hocket.internal.agents.problem"
local project = require "hocket.internal.agents.project"
local provider_file = require "hocket.internal.runner.provider_file"
local provider_place = require "hocket.internal.runner.provider_place"
local required = require "hocket.internal.runner.required"
local script = require "hocket.internal.base.script"
local skills = require "hocket.internal.base.lazy" "hocket.internal.agents.skills"
local sources = require "hocket.internal.base.sources"
local tree = require "hocket.internal.base.tree"
local undefined = require "hocket.internal.base.lazy" "hocket.internal.runner.undefined"
local uncounted = require "hocket.internal.base.lazy" "hocket.internal.runner.uncounted"
local unrecorded = require "hocket.internal.base.lazy" "hocket.internal.runner.unrecorded"
local trust = require "hocket.internal.base.lazy" "hocket.internal.runner.trust"

local validate = {}

---@class hocket.Validation
---@field scripts integer
---@field format? string Of the agents, when a person has named it.
---@field hints? boolean Also what is only unwise.
---@field any_start? boolean It is not known how a run begins: with which agent, which variables.
---@field options? table Of such a run, as far as they are known: `model`, `models`.
---@field any_folder? boolean It is not known in which folder a run works.
---@field trusted? table<string, boolean> Directories whose scripts in other languages may be compiled.
---@field looked? table<string, string|boolean> By file of a script or a module: its text; false where something is wrong with it.
---@field problems hocket.Problem[]
---@field teams {path: string, defs: table<string, hocket.Agent>, own: string[], well: boolean}[] own: the names of the ones that were to be validated, sorted.

-- ---- Scripts -----------------------------------------------------------------------------

local function compiles(path, text)
  local memo = sources.memo(path) or {}
  if memo.compiled == nil then
    local ok, wrong = script.compile(text, path)
    memo.compiled = ok and true or wrong
  end
  return memo.compiled == true, memo.compiled
end

-- Compiling another language may run what the file says: not before somebody has trusted the folder.
local function may_compile(path, trusted)
  if script.is_lua(path) or script.has_run(path) then return true end
  local dir = path:match "^(.*)/[^/]*$" or "."
  if trusted[dir] == nil then trusted[dir] = trust.known(dir) ~= nil end
  return trusted[dir]
end

-- The providers of a project are known to its agents; what is wrong with them is said once.
local function note_providers(dir, result, known)
  local path = provider_place(dir)
  if not path then return end
  local file, problems = provider_file.read(path)
  for _, name in ipairs(file and file.names or {}) do known.providers[name] = true end
  result.provider_files = result.provider_files or {}
  if not result.provider_files[path] then table.move(problems, 1, #problems, #result.problems + 1, result.problems) end
  result.provider_files[path] = true
end

local function compile_problem(path, wrong)
  local line, message = wrong:match(":(%d+): (.*)$")
  return problem.new(path, tonumber(line) or 1, 1, "script", message or wrong)
end

local check_modules, check_code

-- The text of a script or a module that compiles, with the modules that it requires looked for; false where something is wrong.
local function look_at(path, root, result, problems)
  local text, err = sources.read(path)
  if not text then
    table.insert(problems, problem.new(path, 1, 1, "nothing", err.message))
    return false
  end
  if not may_compile(path, result.trusted) then return text end
  local ok, wrong = compiles(path, text)
  if not ok then
    table.insert(problems, compile_problem(path, wrong))
    return false
  end
  if root and script.is_lua(path) then check_modules(path, text, root, result, problems) end
  return text
end

-- The hooks of the project that a folder belongs to: a run of its agents has them.
local function check_hooks(dir, result)
  local path, folder = hooks_place(dir)
  result.hook_files = result.hook_files or {}
  if not path or result.hook_files[path] then return end
  result.hook_files[path] = true
  local problems = {}
  local text = check_code(path, folder, result, problems)
  if text then hooks_check.add(path, text, problems) end
  table.move(problems, 1, #problems, #result.problems + 1, result.problems)
end

-- Looks at a file once. Of what lies elsewhere (no root) the modules are not looked for.
function check_code(path, root, result, problems)
  if result.looked[path] == nil then
    result.looked[path] = true -- a circle of modules ends here
    result.looked[path] = look_at(path, root, result, problems)
    fiber.rest()
  end
  return result.looked[path]
end

function check_modules(path, text, root, result, problems)
  for _, file in ipairs(required.check(path, text, root, problems, fiber.rest)) do
    local inside = file:sub(1, #root + 1) == root .. "/" or root == "." and not file:find "^%.?%.?/"
    check_code(file, inside and root or nil, result, problems)
  end
end

local function add_hints(paths, texts, problems)
  local set = undefined.set_by(texts, fiber.rest)
  for _, path in ipairs(paths) do
    if texts[path] then
      undefined.check(path, texts[path], set, problems, fiber.rest)
      local hints = unrecorded(path, texts[path])
      table.move(hints, 1, #hints, #problems + 1, problems)
      problems[#problems + 1] = uncounted(path, texts[path], agents.read, fiber.rest)
      fiber.rest()
    end
  end
end

-- Checks the scripts of one project.
local function check_scripts(paths, root, result, known)
  local texts, problems = {}, {}
  result.scripts = result.scripts + #paths
  for _, path in ipairs(paths) do
    local text = check_code(path, root, result, problems)
    declared.note(known, path, text or sources.read(path) or "")
    texts[path] = text and script.is_lua(path) and text or nil
  end
  if result.hints then add_hints(paths, texts, problems) end
  table.move(problem.sort(problems), 1, #problems, #result.problems + 1, result.problems)
end

-- ---- Agents -----------------------------------------------------------------------------------

-- Of a team that is not well some is said already.
local function add_new(before, found, problems)
  local said = {}
  for _, one in ipairs(before) do said[problem.explain { one }] = true end
  for _, one in ipairs(found) do
    if not said[problem.explain { one }] then problems[#problems + 1] = one end
  end
end

-- `wanted` says whom it is about.
local function take_team(path, defs, problems, wanted, result, more)
  table.move(problems, 1, #problems, #result.problems + 1, result.problems)
  local own = {}
  for name, def in pairs(defs) do
    if wanted(name, def) then own[#own + 1] = name end
    fiber.rest()
  end
  table.sort(own)
  local well = not problem.any_error(problems)
  local found = project.check({ defs = defs, own = more.whole and own or project.reached(defs, own), places = more.places, known = more.known, words = declared.words_for(more.known, path),
    any_start = result.any_start, options = result.options, any_folder = result.any_folder, problems = {} }, more.whole and well)
  add_new(problems, problem.sort(found), result.problems)
  table.insert(result.teams, { path = path, defs = defs, own = own, well = well and not problem.any_error(found) })
end

local function check_team(path, result, known)
  local defs, problems, places = agents.read({ path }, { tools = known.tools, format = result.format })
  take_team(path, defs, problems, function(name, def) return rawget(agents.built_in(), name) ~= def end, result,
    { places = places, known = known, whole = true })
end

-- One file: what is wrong with it, also against the agents beside it that it names. Their own mistakes
-- are theirs, unless it cannot be run because of them.
local function check_file(path, result)
  local dir, known = path:match "^(.*)/[^/]*$" or ".", declared.new()
  declared.beside(known, dir)
  note_providers(dir, result, known)
  check_hooks(dir, result)
  local defs, problems, places = agents.read({ path }, { tools = known.tools, format = result.format })
  local _, def = next(defs)
  if def and graph.needs_others(def) then
    defs, problems, places = agents.read({ path, dir }, { tools = known.tools, format = result.format })
    local own = {}
    for _, p in ipairs(problems) do
      if p.file == path or p.code == "cycle" then own[#own + 1] = p end
    end
    if problem.any_error(problems) and not problem.any_error(own) then own = problems end
    problems = own
  end
  take_team(path, defs, problems, function(_, one) return one.file == path end, result, { places = places, known = known, whole = false })
end

-- ---- Skills -----------------------------------------------------------------------------------

local function check_skill(dir, result)
  local one, problems = skills.read(dir, "agent")
  table.move(problems, 1, #problems, #result.problems + 1, result.problems)
  if one then result.skills = (result.skills or 0) + 1 end
end

-- Those of a folder: in it, and where a project has them.
local function check_skills(path, result)
  local any = false
  for _, place in ipairs { "", table.unpack(skills.PROJECT) } do
    for _, dir in ipairs(skills.below(place == "" and path or path .. "/" .. place, fiber.rest)) do
      check_skill(dir, result)
      any = true
      fiber.rest()
    end
    fiber.rest()
  end
  return any
end

-- ---- Plans ------------------------------------------------------------------------------------

-- Returns whether it is one.
local function check_plan(path, result)
  local text = plan_target.text(path)
  if not text then return false end
  local _, problems = plan_target.read(path, text)
  table.move(problems, 1, #problems, #result.problems + 1, result.problems)
  result.plans = (result.plans or 0) + 1
  fiber.rest()
  return true
end

-- An agent's file is no plan, and is not read again.
local function check_plans(files, result)
  local agent, any = {}, false
  for _, one in ipairs(result.teams) do
    for _, def in pairs(one.defs) do agent[def.file or ""] = true end
  end
  for _, file in ipairs(files) do
    if not agent[file] and check_plan(file, result) then any = true end
  end
  return any
end

-- The scripts of a folder, and what may be plans, wherever in it they are.
local function files_of(path)
  local scripts, others = {}, {}
  local function wanted(file)
    local list = script.is(file) and scripts or may_be_plan(file) and others
    if list then list[#list + 1] = file end
    return list
  end
  if not tree.files(path, wanted) then return {}, {} end
  return scripts, others
end

-- ---- Paths --------------------------------------------------------------------------------------

local function check_dir(path, result)
  fiber.rest()
  agents.built_in() -- which are read once, in a slice of their own
  fiber.rest()
  local known, scripts, others = declared.new(), files_of(path)
  declared.beside(known, path)
  note_providers(path, result, known)
  check_hooks(path, result)
  check_scripts(scripts, path, result, known)
  fiber.rest()
  local dirs, err = find.teams(path)
  if not dirs then return table.insert(result.problems, problem.new(path, 1, 1, "nothing", err.message)) end
  for _, dir in ipairs(dirs) do check_team(dir, result, known) end
  local any = check_skills(path, result)
  any = check_plans(others, result) or any
  if #dirs == 0 and #scripts == 0 and not any then check_team(path, result, known) end -- which says that there is nothing
end

--- Validates a script, an agent's file, or a directory with either or both.
---@param path string
---@param result? hocket.Validation What is already known, of other paths; it is added to.
---@return hocket.Validation
function validate.path(path, result)
  require "hocket.internal.runner.builtins"
  result = result or { scripts = 0, problems = {}, teams = {} }
  result.trusted, result.looked = result.trusted or {}, result.looked or {}
  path = path:gsub("(.)/+$", "%1")
  local info = sources.info(path)
  if info and info.kind == "directory" then
    check_dir(path, result)
  elseif path:match "[^/]*$" == skills.FILE then
    check_skill(path:match "^(.*)/[^/]*$" or ".", result)
  elseif script.is(path) then
    check_hooks(path:match "^(.*)/[^/]*$" or ".", result)
    check_scripts({ path }, path:match "^(.*)/[^/]*$" or ".", result, declared.new())
  elseif not check_plan(path, result) then
    check_file(path, result)
  end
  return result
end

return validate
