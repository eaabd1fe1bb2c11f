--- Whether the Lua of a folder may run. A folder may be a stranger's: its main.lua, its scripted model and the modules
--- beside them run with the rights of whoever starts them. So a person says so first, of what is there now:
---
---     named as a script, --trust, HOCKET_TRUST    nothing is asked
---     remembered                                  the folder's path with the digest of its Lua, as it is now
---     otherwise                                   asked, where somebody is there, and remembered; or refused
---     travels with a run                          asked of when it was submitted (runner/submission.lua)
---
--- Agents in Markdown are no code: a folder that has only those is never asked about.
local agents = require "hocket.internal.base.lazy" "hocket.agent"
local bundle_files = require "hocket.internal.base.sources.bundle"
local effects = require "hocket.internal.base.effects"
local ask = require "hocket.internal.base.lazy" "hocket.ask"
local fs = require "hocket.internal.core.fs"
local facts_of = require "hocket.internal.agents.facts"
local functions = require "hocket.internal.base.lazy" "hocket.internal.agents.functions"
local hooks_place = require "hocket.internal.runner.hooks.place"
local machine_policy = require "hocket.internal.models.machine_policy"
local model = require "hocket.internal.base.lazy" "hocket.model"
local programs = require "hocket.internal.base.lazy" "hocket.internal.tools.programs"
local plan_target = require "hocket.internal.base.lazy" "hocket.internal.runner.plan_target"
local script = require "hocket.internal.base.script"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local sanitize = require "hocket.internal.base.lazy" "hocket.internal.base.sanitize"
local sources = require "hocket.internal.base.sources"
local skills = require "hocket.internal.base.lazy" "hocket.internal.agents.skills"
local state_dir = require "hocket.internal.run.state_dir"
local system = require "hocket.internal.core.system"
local tree = require "hocket.internal.base.lazy" "hocket.internal.base.tree"
local trusted_files = require "hocket.internal.base.lazy" "hocket.internal.runner.trusted_files"
local workflow_file = require "hocket.internal.base.lazy" "hocket.internal.agents.workflow_file"

local trust = {}

--- Files and bytes of a folder's Lua that are checked.
local MAX_FILES, MAX_BYTES = 1000, 16 << 20
--- Files that are named in a question, and those of a folder: what stands first in a longer list.
local SHOWN, FIRST = 20, 8
--- Folders that are remembered; the oldest is forgotten.
local REMEMBERED = 1000

---@class hocket.Code What would run: a folder's Lua, or one file.
---@field path string Absolute, without links.
---@field names string[] For people, from the target on.
---@field digest string
---@field files? table<string, string> Of a folder: the digest of each file, by its name below it.
---@field dir? string Of a folder: as the target has it.
---@field bound? boolean What it loads has to be part of it (loaded_code.lua): not where HOCKET_TRUST names its folder.

local going_on = {} -- paths that were trusted for a run whose files are watched: its person is changing them

-- ---- What is there ------------------------------------------------------------------------------

-- A file that cannot be read cannot run either; once it can, the digest is another.
local function read(file, left)
  local text, err = fs.read(file, left)
  if text then return #text, system.digest(text) end
  if err.code == "limit" then return nil, err end
  return 0, err.code
end

-- All Lua of a folder: what can be required or run by what is there, in hidden folders as well.
local function code_of_dir(dir)
  local files, err = tree.files(dir, script.is, true)
  if not files then return nil, err end
  if #files > MAX_FILES then
    return nil, { code = "limit", message = ("%s: more than %d files of Lua: nobody can look at them. Name the script that is to run"):format(dir, MAX_FILES) }
  end
  local code, parts, left = { path = fs.real(dir) or dir, dir = dir, names = {}, files = {} }, {}, MAX_BYTES
  for i, file in ipairs(files) do
    local size, digest = read(file, left)
    if not size then return nil, digest end
    left, code.names[i] = left - size, file:sub(#dir + 2)
    code.files[code.names[i]] = digest
    parts[i] = ("%s\0%s"):format(code.names[i], digest)
  end
  code.digest = system.digest(table.concat(parts, "\0"))
  return code
end

local function code_of_file(path)
  local size, digest = read(path, MAX_BYTES)
  if not size then return nil, digest end
  local shown = path:gsub("[^/.][^/]*/%.%./", "", 1) -- "inn/agents/../sim.lua"
  return { path = fs.real(path) or path, names = { shown }, digest = digest }
end

-- ---- What is remembered -------------------------------------------------------------------------

-- Lines "digest path", the newest last.
local function recall()
  local dir, lines = state_dir(), {}
  local text = dir and fs.read(dir .. "/trust") or ""
  for digest, path in text:gmatch "(%x+) ([^\n]+)" do lines[#lines + 1] = { digest = digest, path = path } end
  return lines
end

local function is_remembered(code)
  for _, line in ipairs(recall()) do
    if line.path == code.path and line.digest == code.digest then return true end
  end
  return false
end

-- The digest that was trusted at a place, whatever is there now.
local function digest_before(path)
  local digest
  for _, line in ipairs(recall()) do
    if line.path == path then digest = line.digest end
  end
  return digest
end

local function keep(codes)
  local dir, lines, fresh = state_dir(), {}, {}
  if not dir then return nil, { code = "not_found", message = "there is no home to keep it in" } end
  for _, code in ipairs(codes) do
    if code.files then trusted_files.keep(code.digest, code.files, digest_before(code.path)) end
  end
  for _, code in ipairs(codes) do fresh[code.path] = code.digest end
  for _, line in ipairs(recall()) do
    if not fresh[line.path] then lines[#lines + 1] = line.digest .. " " .. line.path end
  end
  for path, digest in pairs(fresh) do
    if not path:find "\n" then lines[#lines + 1] = digest .. " " .. path end
  end
  local ok, err = fs.mkdir(dir, { private = true })
  if not ok then return nil, err end
  return fs.write(dir .. "/trust", table.concat(lines, "\n", math.max(1, #lines - REMEMBERED + 1)) .. "\n", { private = true })
end

--- Remembers a folder's Lua as it is now.
---@param dir string
---@return true? kept
---@return hocket.Error?
function trust.remember(dir)
  local code, err = code_of_dir(dir)
  if not code then return nil, err end
  return keep { code }
end

-- ---- Who gave the trust
-- ----------------------------------------------------------------------------

local everything = { ["1"] = true, yes = true, all = true, ["true"] = true }

-- HOCKET_TRUST: `1`, or folders, separated as in a PATH, with all below them.
local function is_in_variable(path)
  local said = not machine_policy.trust(path) and system.getenv "HOCKET_TRUST" or ""
  if everything[said] then return true end
  for dir in said:gmatch(programs.folder) do
    local real = fs.is_absolute(dir) and fs.real(dir)
    if real and system.below(path, real) then return true end
  end
  return false
end

--- Whether HOCKET_TRUST says so of everything.
---@return boolean
function trust.is_everything()
  return not machine_policy.bounds_trust() and everything[system.getenv "HOCKET_TRUST" or ""] == true
end

local function is_trusted(code, watched)
  return is_in_variable(code.path) or watched and going_on[code.path] or is_remembered(code)
end

-- The first of the list, and how many follow. Hidden folders come last, such as the one that `hocket new` makes for editors.
local function shortened(lines)
  if #lines <= FIRST + 1 then return lines end
  local first, hidden = {}, {}
  for _, line in ipairs(lines) do
    local to = (line:find "^%." or line:find "^%l+: %.") and hidden or first
    to[#to + 1] = line
  end
  table.move(hidden, 1, FIRST, #first + 1, first)
  return table.move(first, 1, FIRST, 1, { [FIRST + 1] = ("%d more"):format(#lines - FIRST) })
end

-- Notes whether code was trusted before, and what has changed since. The question goes by these notes, which are in the run's
-- log: what is trusted by the time of a replay says something else.
local function note_changes(code)
  local before = digest_before(code.path)
  code.is_changed = before ~= nil
  local lines, same = trusted_files.since(before or "", code.files or {})
  local known = lines and #lines > 0
  lines = shortened(known and lines or table.move(code.names, 1, #code.names, 1, {}))
  if known and same > 0 then lines[#lines + 1] = ("%d file%s as before"):format(same, same == 1 and "" or "s") end
  code.changes = lines
end

local function list(codes)
  local names = {}
  for _, code in ipairs(codes) do
    local own = code.changes or code.names
    table.move(own, 1, #own, #names + 1, names)
  end
  local shown = {}
  for i = 1, math.min(#names, SHOWN) do shown[i] = sanitize.json(names[i]):gsub("%c", "?") end
  return shown, #names - #shown
end

-- A run of before these notes asked in other words.
local function trusted_before(code)
  if code.is_changed == nil then return "is not trusted yet, or has changed since" end
  return code.is_changed and "has changed since you trusted it" or "is not trusted yet"
end

local function question(codes)
  local shown, more = list(codes)
  if codes[1].run then
    return ("The run %s comes from elsewhere. This code of it would run with your rights:\n  %s%s"):format(
      sanitize.json(codes[1].run), table.concat(shown, "\n  "), more > 0 and ("\n  and %d more"):format(more) or "")
  end
  if codes[1].instructs then
    return ("%s is not trusted yet, or has changed since. The agent would be told to follow what stands in:\n  %s%s"):format(
      sanitize.json(codes[1].instructs), table.concat(shown, "\n  "), more > 0 and ("\n  and %d more"):format(more) or "")
  end
  if codes[1].server then
    return ("%s is not trusted with this yet, or it has changed since. An MCP server would be %s:\n  %s"):format(
      sanitize.json(codes[1].path), codes[1].server, table.concat(shown, "\n  "))
  end
  if codes[1].providers then
    return ("%s is not trusted yet, or has changed since. Its providers get what agents are asked, and keys:\n  %s%s"):format(
      sanitize.json(codes[1].path), table.concat(shown, "\n  "), more > 0 and ("\n  and %d more"):format(more) or "")
  end
  return ("%s %s. Its Lua would run with your rights:\n  %s%s"):format(sanitize.json(codes[1].path),
    trusted_before(codes[1]), table.concat(shown, "\n  "), more > 0 and ("\n  and %d more"):format(more) or "")
end

-- What counts for the code of a run: on the command line, and for a server's clients.
local counts_here = "'hocket resume %s --trust' or 'hocket work --trust'; in C with the option \"trust\": true"
local counts_for_clients = "HOCKET_TRUST in the server's environment, or continue it on that machine with 'hocket resume %s --trust'; the server's own --trust does not count here"

local function refused(codes, why)
  local shown, more = list(codes)
  if codes[1].run then
    local id = sanitize.json(codes[1].run)
    return nil, { code = "denied", message = ("the run %s comes from elsewhere, and its code is not trusted: %s%s (%s). Look at it; then trust it with %s"):format(
      id, table.concat(shown, ", "), more > 0 and (" and %d more"):format(more) or "", why, (codes[1].served and counts_for_clients or counts_here):format(id)) }
  end
  if codes[1].instructs then
    return nil, { code = "denied", message = ("%s is not trusted, and the agent would be told to follow what stands in it: %s%s (%s). Look at it; then run it with --trust, or on a terminal, which asks"):format(
      sanitize.json(codes[1].instructs), table.concat(shown, ", "), more > 0 and (" and %d more"):format(more) or "", why) }
  end
  if codes[1].server then
    return nil, { code = "denied", message = ("%s is not trusted, and an MCP server of it would be %s: %s (%s). Look at it; then run it with --trust, or on a terminal, which asks"):format(
      sanitize.json(codes[1].path), codes[1].server, table.concat(shown, ", "), why) }
  end
  if codes[1].providers then
    return nil, { code = "denied", message = ("%s is not trusted, and its providers would get what agents are asked, and keys: %s (%s). Look at it; then run it with --trust, or on a terminal, which asks"):format(
      sanitize.json(codes[1].path), table.concat(shown, "; "), why) }
  end
  return nil, { code = "denied", message = ("%s is not trusted, and its Lua would run: %s%s (%s). Look at it; then run it with --trust, or on a terminal, which asks"):format(
    sanitize.json(codes[1].path), table.concat(shown, ", "), more > 0 and (" and %d more"):format(more) or "", why) }
end

-- Asks a person about what nobody has trusted so far.
local function ask_for(codes)
  local answer, err = ask.ask({ question(codes), (codes[1].instructs and "Follow it" or "Run it") .. "? yes (remembered until one of them changes) or no" }, { kind = "approval" })
  if not answer then return refused(codes, err.code == "unsupported" and "nobody is there to ask" or err.message) end
  if ask.verdict(answer) ~= "yes" then return refused(codes, "the user refused") end
  effects.run("trust", { remembered = #codes }, function() return (keep(codes)) end) -- where it cannot be kept it is asked again
  return true
end

-- ---- A run's target -----------------------------------------------------------------------------

local function is_sim(id)
  if type(id) == "table" then id = id[1] end -- the rest are fallbacks
  return type(id) == "string" and (id == "sim" or id:find "^sim[/-]" ~= nil)
end

--- Whether a person chose the scripted model: for all agents, for one, or as the default. What an agent's file says, a
--- key that a named model lacks, or a fallback does not count.
---@param options {model?: string, models?: table<string, string>}
---@return boolean
function trust.chose_sim(options)
  for _, id in pairs(options.models or {}) do
    if is_sim(id) then return true end
  end
  return is_sim(options.model or sources.variable("HOCKET_MODEL", true))
end

--- The scripted model beside a target, or one directory up.
---@param found {dir: string}
---@return string? path
---@return boolean? is_beside
function trust.script_beside(found)
  for _, dir in ipairs { found.dir, found.dir .. "/.." } do
    if sources.info(dir .. "/sim.lua") then return dir .. "/sim.lua", dir == found.dir end
  end
end

-- Whether an agent may be asked for which nobody names a model. A script's agents are known when it runs.
local function asks_default(options, target)
  if options.model then return false end
  if target.kind ~= "agent" then return true end
  for name, def in pairs(agents.team_of(target.agent)) do
    if not def.model and not (options.models or {})[name] then return true end
  end
  return false
end

--- Whether the target's `sim.lua` plays the model because there is no other. A replay asks nobody.
---@param run {options: table} Keeps the model that was found.
---@param target {kind: string, dir: string, agent?: hocket.Agent}
---@return boolean
function trust.stands_in(run, target)
  local options = run.options
  if options.simulate ~= true or options.replay or bundle_files.here() then return false end
  if trust.chose_sim(options) or not target.dir or not trust.script_beside(target) or not asks_default(options, target) then return false end
  local found = model.default(true)
  if not options.record then run.default_model = found end -- a recording has to hold it
  return found == "sim/default"
end

-- The folders of Lua that agents of the target name: functions of modules beside them, workflows; and that of the project's hooks. In
-- order, each once.
local function named_folders(found)
  local team, seen = found.agent and agents.team_of(found.agent) or found.plan and found.plan.team or {}, {}
  for _, dir in ipairs(found.plan and found.plan.function_dirs or {}) do seen[dir] = true end
  for _, def in pairs(team) do
    if functions.of(def)[1] then seen[found.dir] = true end
    local files = facts_of(def).has_workflows and workflow_file.files_of(def) or {}
    if def.workflow then files[#files + 1] = def.file end
    for _, file in ipairs(files) do
      for _, dir in ipairs(script.is_lua(file) and { file:match "^(.*)/[^/]*$" or "." } or plan_target.function_dirs(file)) do seen[dir] = true end
    end
  end
  local _, of_hooks = hooks_place(found.dir or ".")
  if of_hooks then seen[of_hooks] = true end
  return sorted_keys(seen)
end

local function is_inside(dir, outer)
  local real, root = fs.real(dir) or dir, fs.real(outer) or outer
  return system.below(real, root) ~= nil
end

-- The folders whose Lua would run without being named: a directory's main.lua and the scripted model with their modules, and what agents name.
local function unnamed_folders(found, sim, named)
  local dirs = not named and (found.kind == "script" or sim) and { found.dir } or {}
  for _, dir in ipairs(named_folders(found)) do
    local covered = named and is_inside(dir, found.dir)
    for _, other in ipairs(dirs) do covered = covered or is_inside(dir, other) end
    if not covered then dirs[#dirs + 1] = dir end
  end
  return dirs
end

local function would_run(found, sim, is_beside, named)
  local codes = {}
  for _, dir in ipairs(unnamed_folders(found, sim, named)) do
    local code, err = code_of_dir(dir)
    if not code then return nil, err end
    if #code.names > 0 then codes[#codes + 1] = code end
  end
  if sim and not is_beside then
    local code, err = code_of_file(sim)
    if not code then return nil, err end
    codes[#codes + 1] = code
  end
  for _, code in ipairs(codes) do code.bound = not is_in_variable(code.path) end
  return codes
end

local function without(codes, watched)
  local unknown = {}
  for _, code in ipairs(codes) do
    if not is_trusted(code, watched) then
      note_changes(code)
      unknown[#unknown + 1] = code
    end
  end
  return unknown
end

-- What is there and trusted now is checked once in all lives of a run: it continues with the files that it began with.
-- `find()` gives the codes, or nil and an error.
local function check(run, what, find, may_ask)
  local codes, err, unknown = effects.value("trust", { of = what }, function()
    local codes, err = find()
    return codes, err, codes and without(codes, run.generation ~= nil)
  end)
  if not codes then return nil, err end
  if #unknown > 0 then
    local ok, wrong
    if may_ask then ok, wrong = ask_for(unknown) else ok, wrong = refused(unknown, "nobody is there to ask") end
    if not ok then return nil, wrong end
  end
  for _, code in ipairs(run.generation and codes or {}) do going_on[code.path] = true end
  return true, codes
end

-- Code outside of the folders that the machine's policy names does not run, whoever says so.
local function within_policy(path)
  local _, err = machine_policy.trust(fs.real(path) or path)
  return err == nil, err
end

--- Whether an option `trust` lets Lua run without a question: a program that says nothing means its own.
---@param option? boolean|"ask"
---@return boolean
function trust.is_given(option)
  return option == nil or option == true
end

--- Says whether a target's Lua may run. May wait for a person.
---@async
---@param run hocket.Run Its option `trust`: "ask" or false where the target is a person's word, which may name a stranger's folder; otherwise it is the program's own.
---@param found {kind: string, dir: string, named?: boolean}
---@param may_ask boolean Whether there is time to ask.
---@param stands_in? boolean Whether the scripted model answers because no other was found.
---@return {sim?: string, runs: boolean, folders: string[], codes?: hocket.Code[]}? admitted The scripted model that answers for `sim`; whether any Lua of it runs; the folders of Lua that its agents name; what was looked at.
---@return hocket.Error?
function trust.admit(run, found, may_ask, stands_in)
  local sim, is_beside
  if stands_in or trust.chose_sim(run.options) then sim, is_beside = trust.script_beside(found) end
  local folders = named_folders(found)
  local admitted = { sim = sim, runs = found.kind == "script" or sim ~= nil or #folders > 0, folders = folders }
  local option = run.options.trust
  local within, out = true, nil
  if admitted.runs then within, out = within_policy(run.carried and "what a run brings along" or found.dir) end
  if not within then return nil, out end
  if trust.is_given(option) or run.carried then return admitted end
  local named = found.named and not run.options.code -- of another's run nobody here has named anything
  local ok, codes = check(run, found.path, function() return would_run(found, sim, is_beside, named) end, may_ask and option == "ask")
  if not ok then return nil, codes end
  admitted.codes = codes
  return admitted
end

-- The part of a path below a folder, both without links; nil: it is elsewhere.
local function below(dir, real)
  dir = dir and sources.real(dir)
  return dir and real and system.below(real, dir) or nil
end

-- Whether a file is of a folder that was asked about with the target, here or where the run was submitted. Who names a script says yes to it
-- and the agents beside it, and to no folder below that. Of other targets only the folders that their agents name were asked about.
local function is_of_target(run, path)
  local target, admitted, real = run.target, run.admitted, sources.real(path)
  if admitted and target and target.kind ~= "script" and not admitted.sim then
    for _, dir in ipairs(admitted.folders) do
      if below(dir, real) then return true end
    end
    return false
  end
  local name = below(target and target.dir, real)
  if not name or not target.named then return name ~= nil end
  local folder = name:match "^(.*)/[^/]*$"
  return folder == nil or folder == "agents"
end

-- The Lua of a folder, where a file of it has this text.
local function code_with(dir, path, text)
  local code, err = code_of_dir(dir)
  if not code then return nil, err end
  local name = system.below(path, dir)
  if code.files[name] ~= system.digest(text) then return refused({ code }, "it has changed just now") end
  return { code }
end

--- Says whether a module may run that an agent's file names, beside that file: agents may be loaded from anywhere, also from a folder
--- that nobody was asked about with the run's target. May wait for a person.
---@async
---@param run hocket.Run As for trust.admit.
---@param path string
---@param dir string The folder of the agent's file.
---@param text string
---@return true? admitted
---@return hocket.Error?
function trust.admit_module(run, path, dir, text)
  local within, out = within_policy(path)
  if not within then return nil, out end
  local option = run.options.trust
  if trust.is_given(option) or is_of_target(run, path) then return true end
  local digest = system.digest(text)
  if effects.value("trust", { of = "load", path = path }, function() return trust.has_script(fs.real(path) or path, digest) end) then return true end
  return check(run, "modules " .. path, function() return code_with(dir, path, text) end, option == "ask")
end

--- Whether a file of Lua may be loaded before a run has asked about it; nobody is asked.
---@param path string
---@param dir string Its folder.
---@param text string
---@param given boolean Whether runs of it ask nobody.
---@return boolean
function trust.may_load(path, dir, text, given)
  if not within_policy(path) then return false end
  local codes = not given and code_with(dir, path, text)
  return given or codes and is_trusted(codes[1]) or false
end

-- What would be started or asked, for a person; and a digest of everything that it depends on.
local function describe_server(def)
  local line = def.url or def.command .. (#def.args > 0 and " " .. table.concat(def.args, " ") or "")
  local names = {}
  for _, map in ipairs { def.env, def.headers } do
    for name, value in pairs(map) do names[#names + 1] = ("%s=%s"):format(name, value) end -- as it is written: variables are not filled in
  end
  if def.env_file then names[#names + 1] = "envFile " .. def.env_file end
  table.sort(names)
  return line, system.digest(table.concat({ def.name, line, def.cwd or "", table.unpack(names) }, "\0"))
end

local function path_of_server(def)
  return ("%s#%s"):format(fs.real(def.file) or def.file, def.name)
end

--- Says whether an MCP server that a file names may be started, or asked: its program runs with the person's rights, and an
--- address gets what the headers hold. May wait for a person.
---@async
---@param run hocket.Run As for trust.admit.
---@param def hocket.McpServer
---@param quietly? boolean Nobody is asked.
---@return true? admitted
---@return hocket.Error?
function trust.admit_server(run, def, quietly)
  local option = run and run.options.trust
  local within, out = true, nil
  if def.file then within, out = within_policy(def.file) end
  if not within then return nil, out end
  if trust.is_given(option) or not def.file then return true end
  local line, digest = describe_server(def)
  return check(run, def.name, function()
    return { { path = path_of_server(def), names = { line }, digest = digest, server = def.url and "asked" or "started" } }
  end, option == "ask" and not quietly)
end

-- All files of a folder that an agent is instructed to follow, or the one file.
local function code_of_instructions(path, project)
  local info, names = fs.info(path), { "" }
  if info and info.kind == "directory" then names = skills.files(path) end
  local parts, left = {}, MAX_BYTES
  if #names >= skills.FILES then return nil, { code = "limit", message = ("%s: more than %d files: nobody can look at them"):format(path, skills.FILES) } end
  for i, name in ipairs(names) do
    local size, digest = read(name == "" and path or path .. "/" .. name, left)
    if not size then return nil, digest end
    left, parts[i] = left - size, ("%s\0%s"):format(name, digest)
  end
  return { path = path, names = { system.below(path, project) or path }, digest = system.digest(table.concat(parts, "\0")), instructs = project }
end

--- Says whether what stands in a project may tell an agent what to do: folders of skills, and files. May wait for a person.
---@async
---@param run hocket.Run As for trust.admit.
---@param project string The folder of the work.
---@param paths string[] Without links.
---@return true? admitted
---@return hocket.Error?
function trust.admit_instructions(run, project, paths)
  local option = run.options.trust
  if trust.is_given(option) or #paths == 0 then return true end
  return check(run, "instructions " .. table.concat(paths, " "), function()
    local codes = {}
    for i, path in ipairs(paths) do
      local code, err = code_of_instructions(path, project)
      if not code then return nil, err end
      codes[i] = code
    end
    return codes
  end, option == "ask")
end

--- Remembers a text that a person has saved to tell agents what to do.
---@param path string
---@return true? kept
---@return hocket.Error?
function trust.remember_text(path)
  local real = fs.real(path) or path
  local code, err = code_of_instructions(real, real)
  if not code then return nil, err end
  return keep { code }
end

local function file_of(path, lines, digest)
  return { path = fs.real(path) or path, names = lines, digest = digest, providers = true }
end

--- Says whether the providers that a file declares may be asked, and their programs for keys run. May wait for a person.
---@async
---@param run hocket.Run As for trust.admit.
---@param path string
---@param lines string[] What it declares, for people.
---@param digest string Of the file.
---@return true? admitted
---@return hocket.Error?
function trust.admit_providers(run, path, lines, digest)
  local option = run.options.trust
  local within, out = within_policy(path)
  if not within then return nil, out end
  if trust.is_given(option) or run.carried then return true end
  return check(run, path, function() return { file_of(path, lines, digest) } end, option == "ask")
end

--- Whether a file of providers is trusted already; nobody is asked.
---@param path string
---@param digest string
---@return boolean
function trust.knows_providers(path, digest)
  return is_trusted(file_of(path, {}, digest))
end

-- ---- Texts that a run brings ----------------------------------------------------------------------

-- A folder or a file that was said yes to, where its Lua is still that: its digests are of the bytes as they were read now.
local function still_there(line, seen)
  if seen[line.path] == nil then
    local code = code_of_dir(line.path)
    seen[line.path] = code and code.digest == line.digest and code or false
  end
  return seen[line.path]
end

local function is_as_remembered(line, real, text, digest, seen)
  if line.path == real then return line.digest == digest end
  local name = system.below(real, line.path)
  local code = name and still_there(line, seen)
  if not code then return false end
  if code.files[name] or script.is(name) then return code.files[name] == digest end
  return fs.read(real, #text) == text -- what Lua of the folder reads beside it
end

--- Whether a text is, byte for byte, one that this user has trusted: a file that is there now, in a folder that was said yes to. Nobody
--- is asked.
---@param path string
---@param text string
---@param seen table Empty; for the next texts of the same program.
---@return boolean
function trust.has_text(path, text, seen)
  local real = fs.real(path)
  if not real then return false end
  if is_in_variable(real) then return fs.read(real, #text) == text end
  local digest = system.digest(text)
  seen.lines = seen.lines or recall()
  for _, line in ipairs(seen.lines) do
    if is_as_remembered(line, real, text, digest, seen) then return true end
  end
  return false
end

--- Whether a script at a place is trusted as it is: by itself, with its folder, or by HOCKET_TRUST. Nobody is asked.
---@param real string
---@param digest string Of its text.
---@return boolean
function trust.has_script(real, digest)
  if is_in_variable(real) then return true end
  local seen = {}
  for _, line in ipairs(recall()) do
    local name = system.below(real, line.path)
    local code = name and still_there(line, seen)
    if line.path == real and line.digest == digest or code and code.files[name] == digest then return true end
  end
  return false
end

--- The same of a file of providers, which is said yes to by itself.
---@param path string
---@param text string
---@return boolean
function trust.has_providers(path, text)
  return is_trusted(file_of(path, {}, system.digest(text))) and fs.read(path, #text) == text
end

--- The same of an MCP server; `text` is the file that names it.
---@param def hocket.McpServer
---@param text string
---@return boolean
function trust.has_server(def, text)
  local _, digest = describe_server(def)
  return is_trusted { path = path_of_server(def), digest = digest } and fs.read(def.file, #text) == text
end

-- The code of a run has no place on this machine.
local RUN = "run:"

--- Whether somebody has said yes to what a run of the store brings.
---@param digest string
---@return boolean
function trust.has_run(digest)
  return is_remembered { path = RUN .. digest, digest = digest }
end

--- Asks a person about it.
---@async
---@param id string
---@param names string[] For people.
---@param digest string
---@return true? admitted
---@return hocket.Error?
function trust.ask_run(id, names, digest)
  return ask_for { { path = RUN .. digest, names = names, digest = digest, run = id } }
end

--- The same, refused, where nobody is asked.
---@param id string
---@param names string[]
---@param served boolean Whether a client of a server continues it.
---@return nil
---@return hocket.Error
function trust.refuse_run(id, names, served)
  return refused({ { names = names, run = id, served = served } }, "nobody is asked here")
end

--- Whether a directory's Lua is trusted already; nobody is asked.
---@param dir string
---@return true? trusted
---@return hocket.Error?
function trust.known(dir)
  local code, err = code_of_dir(dir)
  if not code then return nil, err end
  if is_trusted(code) then return true end
  return refused({ code }, "nobody is asked here")
end

return trust
