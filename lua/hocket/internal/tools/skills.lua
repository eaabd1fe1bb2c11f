--- The toolset of an agent with `skills:`: the prompt names them, `read_skill` gives their instructions and files, `run_skill`
--- runs a script of theirs where the shell tool would run it. What a skill says that it may use (`allowed-tools`) widens nothing.
local at_key = require "hocket.internal.base.lazy" "hocket.internal.agents.at_key"
local catalogue = require "hocket.internal.agents.skills"
local file_labels = require "hocket.internal.run.file_labels"
local files = require "hocket.internal.core.files"
local fs = require "hocket.internal.core.fs"
local instructions = require "hocket.internal.tools.instructions"
local json = require "hocket.json"
local programs = require "hocket.internal.tools.programs"
local shell = require "hocket.internal.tools.shell"
local sources = require "hocket.internal.base.sources"
local suggest = require "hocket.internal.base.suggest"
local system = require "hocket.internal.core.system"
local tool = require "hocket.tool"
local workdir = require "hocket.internal.run.workdir"

local skills = {}

--- Skills and bytes of a prompt's list; bytes of a file that is read; files that are named.
local SHOWN, BYTES, FILE, NAMED = 100, 32 * 1024, 1 << 20, 100

-- ---- Which there are ----------------------------------------------------------------------------

-- Without those of a project that nobody has trusted.
local function admitted(run, root, found, warn)
  local ours, dirs = {}, {}
  for _, one in ipairs(found.list) do
    if one.from == "project" then dirs[#dirs + 1] = one.dir else ours[#ours + 1] = one end
  end
  local ok, err = instructions.admit(run, root:dir(), dirs)
  if ok then return found.list end
  warn(err.message)
  for _, one in ipairs(found.list) do
    if one.from == "project" then found.missing[#found.missing + 1] = one.name end
  end
  return ours, err
end

local function lacking(def, name, root)
  for i, one in ipairs(def.skills) do
    if one == name then return at_key(def, ("/skills/%d"):format(i - 1), catalogue.lacking(name, root:dir())) end
  end
  return ("%s: %s"):format(tostring(def.file), catalogue.lacking(name, root:dir()))
end

-- Who names a skill means it; where an agent has every skill, some may be missing.
local function find(env, root, warn)
  local def, wanted = env.agent, env.agent.skills or true
  local found = sources.answer("skills", json.encode { wanted, tostring(def.file), root:dir() }, function()
    return catalogue.find(wanted, def.file, root:dir())
  end)
  for _, one in ipairs(found.problems) do warn(("%s:%d: %s"):format(one.file, one.line, one.message)) end
  local list, refused = admitted(env.run, root, found, warn)
  if wanted == true or #found.missing == 0 then return list end
  if def.theirs and not refused then
    warn(lacking(def, found.missing[1], root))
    return list
  end
  return nil, refused or { code = "agent", message = lacking(def, found.missing[1], root) }
end

-- ---- What the prompt says --------------------------------------------------------------------------

local HEAD = "\n\n# Skills\n\nInstructions for certain kinds of work. When one of these fits what you are to do, read it with read_skill before you begin, and follow it.\n"

-- The list, with as many as there is room for; and the names of the others.
local function list_of(list)
  local lines, bytes, left = { HEAD }, 0, {}
  for i, one in ipairs(list) do
    local line = ("- %s: %s"):format(one.name, one.description)
    bytes = bytes + #line
    if i > SHOWN or bytes > BYTES then left[#left + 1] = one.name else lines[#lines + 1] = line end
  end
  return table.concat(lines, "\n"), left
end

-- ---- Reading -----------------------------------------------------------------------------------------

-- A skill and a path in it.
local function resolve(by_name, text)
  local name, path = text:match "^([^/]+)/?(.*)$"
  local one = by_name[name]
  if one then return one, path end
  local names = {}
  for known in pairs(by_name) do names[#names + 1] = known end
  table.sort(names)
  local near = suggest(name or "", names)
  return nil, ("there is no skill '%s'%s"):format(tostring(name), near and (": did you mean '%s'?"):format(near) or "")
end

local function body_of(one)
  local names = {}
  for _, path in ipairs(catalogue.files(one.dir)) do
    if path ~= catalogue.FILE then names[#names + 1] = path end
  end
  if #names == 0 then return one.body end
  local more = #names > NAMED and (" and %d more"):format(#names - NAMED) or ""
  return ("%s\n\n[Files of this skill, for read_skill%s: %s%s]"):format(one.body, one.scripts and " and run_skill" or "",
    one.name .. "/" .. table.concat(names, (", %s/"):format(one.name), 1, math.min(#names, NAMED)), more)
end

local function file_of(one, path)
  local dir, err = files.root(one.dir)
  if not dir then return nil, err end
  local inside = dir:path(path)
  if not inside then return nil, ("%s is not in the skill '%s'"):format(path, one.name) end
  local got, failed = dir:read(inside, { max = FILE })
  if not got then return nil, failed end
  if got.encoding == "binary" then return nil, ("%s is no text: a script can read it"):format(path) end
  return got.text
end

-- A skill that lies in the folder of the work may have been written there by an agent that has read a stranger's text.
local function label(root, one, ctx)
  local inside = root:path(one.dir)
  local bits = inside and file_labels.of(root, inside) or 0
  if bits ~= 0 and ctx.mark then ctx.mark(bits) end
end

local function reader(root, by_name)
  return tool.new {
    name = "read_skill", effects = {}, subject = "path",
    description = "Read a skill's instructions (path: its name), or one of its files (path: NAME/FILE).",
    parameters = { type = "object", required = { "path" }, additionalProperties = false, properties = {
      path = { type = "string", minLength = 1, maxLength = 1000, description = "As in pdf, or pdf/references/forms.md" } } },
    reads = function(args) return { args.path } end,
    run = function(args, ctx)
      local one, path = resolve(by_name, args.path)
      if not one then return nil, path end
      label(root, one, ctx)
      if path == "" or path == catalogue.FILE then return body_of(one) end
      return file_of(one, path)
    end,
  }
end

-- ---- Running -------------------------------------------------------------------------------------------

local interpreters = { sh = { "/bin/sh" }, py = { "/usr/bin/env", "python3" }, js = { "/usr/bin/env", "node" }, mjs = { "/usr/bin/env", "node" }, rb = { "/usr/bin/env", "ruby" }, pl = { "/usr/bin/env", "perl" } }

-- The command line, or why there is none.
local function command(one, path, args)
  local real = fs.real(one.dir .. "/" .. path)
  local info = real and system.below(real, one.dir) and fs.info(real)
  if not info or info.kind ~= "file" then return nil, ("the skill '%s' has no file '%s'"):format(one.name, path) end
  local argv = table.move(interpreters[path:match "%.(%w+)$"] or {}, 1, 2, 1, {})
  if argv[2] and not programs.env then table.remove(argv, 1) end
  argv[#argv + 1] = real
  for _, arg in ipairs(args or {}) do
    if arg:find("\0", 1, true) then return nil, "an argument has no NUL in it" end
    argv[#argv + 1] = arg
  end
  return argv
end

local function runner(env, root, by_name)
  local how, err = shell.reach(env)
  if not how then return nil, err end
  return tool.new {
    name = "run_skill", effects = how.effects, sends_to = how.sends_to, subject = "script", serial = true,
    description = "Run a script of a skill in the project's folder, as its instructions say, and get its output and exit code. It has " .. how.words .. ".",
    parameters = { type = "object", required = { "script" }, additionalProperties = false, properties = json.object {
      { "script", { type = "string", minLength = 1, maxLength = 1000, description = "As in pdf/scripts/fill.py" } },
      { "args", { type = "array", maxItems = 200, items = { type = "string", maxLength = 100000 }, description = "What stands behind it on the command line." } },
      { "timeout", { type = "number", exclusiveMinimum = 0, maximum = shell.MOST, description = "Seconds until it is ended; 120 when left out." } } } },
    run = function(args, ctx)
      local one, path = resolve(by_name, args.script)
      if not one then return nil, path end
      local argv, wrong = command(one, path, args.args)
      if not argv then return nil, wrong end
      label(root, one, ctx)
      return shell.execute(env, root, ctx, { name = "run_skill", argv = argv, cwd = root:dir(), timeout = args.timeout, shown = table.concat(argv, " "), readable = { one.dir }, guarded = { one.dir } })
    end,
    recall = function(_, ctx) shell.recall(root, ctx) end,
  }
end

-- ---- All -------------------------------------------------------------------------------------------------

--- What an agent at work gets: its tools, and in `env.notes` what its prompt has to say.
---@async
---@param env table
---@return hocket.Tool[]?
---@return hocket.Error?
function skills.tools(env)
  local root, err = workdir.root(env.run)
  if not root then return nil, err end
  local function warn(message) env.run:emit("warning", { message = message }, env.agent.name) end
  local list
  list, err = find(env, root, warn)
  if not list then return nil, err end
  if #list == 0 then return {} end
  local by_name, made, runs = {}, {}, false
  for _, one in ipairs(list) do
    by_name[one.name], runs = one, runs or one.scripts
    env.run:log("guarded", one.dir)
  end
  local text, left = list_of(list)
  if #left > 0 then warn(("%d skills do not fit into the prompt: %s"):format(#left, table.concat(left, ", "))) end
  env.notes, env.watched = (env.notes or "") .. text, true
  made[1] = reader(root, by_name)
  if runs then made[2], err = runner(env, root, by_name) end
  return not err and made or nil, err
end

return skills
