--- Where the programs of tools run: the strongest sandbox that this machine has, and what a program
--- may reach. `hocket.process` builds the sandbox; this module decides.
---
---     bubblewrap   own namespaces: sees the system's programs, the project, and nothing else
---     landlock     the same for files, by the kernel's rules, and mounts for what is guarded; no sockets
--- limits CPU, memory, file sizes, processes, a clean environment; no isolation
---
--- Which level it is: the best there is, or what HOCKET_SANDBOX or the run's option `sandbox` asks for;
--- an agent's `sandbox: required` refuses `limits`. Who asks for more than the machine has gets an
--- error, never less.
local fence = require "hocket.fence"
local cassette = require "hocket.cassette"
local edition = require "hocket.internal.base.edition"
local machine_policy = require "hocket.internal.models.machine_policy"
local network = require "hocket.internal.tools.network"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.internal.core.fs"
local process = require "hocket.process"
local programs = require "hocket.internal.tools.programs"
local system = require "hocket.internal.core.system"

local sandbox = {}

local LEVELS = { "bubblewrap", "landlock", "limits" }
local rank = { limits = 1, landlock = 2, bubblewrap = 3 }
local MODES = { best = 0, limits = 1, required = 2, landlock = 2, bubblewrap = 3 }

-- ---- What this machine has ----------------------------------------------------------------

local probed = {} -- level -> true, or why not
local unguarded = {} -- level -> true where what is guarded can be changed

local function probe(level)
  if probed[level] == nil then
    local result, err = process.run { argv = programs.nothing, cwd = programs.top, sandbox = level, guarded = { "/usr" }, timeout = 10, idempotent = true }
    probed[level] = result and result.code == 0 or err and err.message or "a program does not run in it"
    unguarded[level] = level == "limits" or result ~= nil and result.unguarded or nil
  end
  return probed[level]
end

--- The levels, the strongest first, each with whether it works here and why not.
---@async
---@return {name: string, works: boolean, reason?: string, unguarded?: boolean}[] levels `unguarded`: a repository's .git and the agents can be changed.
function sandbox.levels()
  local list = {}
  for i, level in ipairs(LEVELS) do
    local state = probe(level)
    list[i] = { name = level, works = state == true, reason = state ~= true and state or nil, unguarded = unguarded[level] }
  end
  return list
end

--- The level that programs run at.
---@async
---@param least? string What is asked for: "best", "required" (walls of some kind), or a level.
---@return string? level
---@return hocket.Error?
function sandbox.level(least)
  local needed, why_not = MODES[least or "best"], {}
  if not needed then
    return nil, { code = "invalid", message = ("unknown sandbox '%s' (there are: best, required, bubblewrap, landlock, limits)"):format(tostring(least)) }
  end
  for _, level in ipairs(LEVELS) do
    local exact = rank[least] and rank[level] > needed -- who names a level gets that one
    if rank[level] >= needed and not exact then
      local state = probe(level)
      if state == true then return level end
      why_not[#why_not + 1] = ("%s: %s"):format(level, state)
    end
  end
  return nil, { code = "unsupported", message = ("no sandbox as it is asked for (%s) works here: %s"):format(least or "best", table.concat(why_not, "; ")) }
end

-- Of several wishes the one that asks for most.
local function strictest(...)
  local best = "best"
  for _, mode in pairs { ... } do
    if not MODES[mode] then return mode end -- sandbox.level says what is wrong with it
    if MODES[mode] > MODES[best] then best = mode end
  end
  return best
end

-- ---- What is reached --------------------------------------------------------------------------

local function opened(name, run)
  return machine_policy.opened(system.getenv(name), run, fs.real)
end

-- Programs that the person has beside the system's may be run; what lies around them is not shown. A home,
-- or a folder above it, is no folder of programs, whatever the PATH says.
local function own_programs()
  local list, seen, home = {}, {}, (system.getenv "HOME" or "/") .. "/"
  for dir in programs.path:gmatch(programs.folder) do seen[dir] = true end
  for dir in (system.getenv "PATH" or ""):gmatch(programs.folder) do
    local is_absolute, holds_home = fs.is_absolute(dir), home:find(dir:gsub("/+$", "") .. "/", 1, true) == 1
    if is_absolute and not seen[dir] and not holds_home and fs.info(dir) then list[#list + 1] = dir end
    seen[dir] = true
  end
  return list
end

-- Shims are small programs that look for the real ones elsewhere: below the manager's folder, which holds
-- versions and nothing of the person's.
local managers = { { tail = "/shims", has = "/libexec/pyenv", name = "PYENV_ROOT" }, { tail = "/shims", has = "/libexec/rbenv", name = "RBENV_ROOT" } }

local function behind_shims(own)
  local folders, env = {}, {}
  local function add(name, folder)
    folders[#folders + 1], env[#env + 1] = folder, name .. "=" .. folder
  end
  for _, dir in ipairs(own) do
    for _, one in ipairs(managers) do
      local root = dir:sub(-#one.tail) == one.tail and dir:sub(1, -#one.tail - 1)
      if root and fs.info(root .. one.has) then add(one.name, root) end
    end
    local toolchains = system.getenv "RUSTUP_HOME" or (system.getenv "HOME" or "") .. "/.rustup"
    if fs.info(dir .. "/rustup") and fs.info(toolchains .. "/toolchains") then add("RUSTUP_HOME", toolchains) end
  end
  return folders, env
end

local passed_on = { "LANG", "LC_ALL", "LC_CTYPE", "TZ" }

-- git stops where it may not read the system's configuration, which can hold keys.
local made = { "TERM=dumb", "HOME=" .. programs.temp, "TMPDIR=" .. programs.temp, "GIT_CONFIG_NOSYSTEM=1" }

local function environment(own)
  local env = { "PATH=" .. table.concat(own, programs.between) .. (#own > 0 and programs.between or "") .. programs.path, table.unpack(made) }
  for _, name in ipairs(passed_on) do
    local value = system.getenv(name)
    if value then env[#env + 1] = name .. "=" .. value end
  end
  return env
end

local function joined(...)
  local list = {}
  for _, part in ipairs { ... } do table.move(part, 1, #part, #list + 1, list) end
  return list
end

-- Who gives a guarded path itself, means it.
local function without(list, given)
  local left, is_given = {}, {}
  for _, path in ipairs(given) do is_given[path:gsub("(.)/+$", "%1")] = true end
  for _, path in ipairs(list or {}) do
    if not is_given[path] then left[#left + 1] = path end
  end
  return left
end

-- Where the output of a program may come from: without a sandbox, from anywhere. Files that the operator
-- lets it read beside the project (the system's files, HOCKET_SANDBOX_READ) count as the project's.
local function labels_of(level, reach)
  if level == "limits" then return { "outside", "web" } end
  return reach ~= "none" and { "web" } or {}
end

---@class hocket.SandboxSpec
---@field argv string[]
---@field cwd string
---@field env? string[] "NAME=value", beside what all have.
---@field input? string
---@field timeout number Seconds.
---@field readable? string[]
---@field writable? string[]
---@field guarded? string[] Below what is writable, but not to be changed, unless HOCKET_SANDBOX_WRITE names it.
---@field protect? string A folder below which nothing is to come that programs outside obey: it is set aside.
---@field memory integer Bytes.
---@field processes integer
---@field file_size integer Bytes of each file.
---@field written integer Bytes, to disks, in all.
---@field run hocket.Run Its options say what the operator wants.
---@field agent? hocket.Agent Its file may ask for more.
---@field offline? boolean No network, whatever the operator gave.
---@field ask_host? fun(where: string): boolean Where named hosts alone may be reached: whether another one may.
---@field on_refused? fun(host: string, port: integer, reason: string)

local function open_way(reach, spec)
  if type(reach) ~= "table" then return nil end
  return network.open(reach, { ask = spec.ask_host, on_refused = spec.on_refused })
end

--- The level for a run's programs: what this machine, the run and the agent's file ask for.
---@async
---@param run? hocket.Run
---@param agent? hocket.Agent
---@return string? level
---@return hocket.Error?
function sandbox.level_for(run, agent)
  return sandbox.level(strictest(system.getenv "HOCKET_SANDBOX" or nil, run and run.options.sandbox, agent and agent.sandbox, machine_policy.sandbox(run)))
end

--- Runs a program to its end.
---@async
---@param spec hocket.SandboxSpec
---@return hocket.ProcessResult? result With `sandbox` (the level), `labels` (of what it prints), `seconds`, and `refused_hosts` where hosts are named.
---@return hocket.Error?
function sandbox.run(spec)
  local options = spec.run and spec.run.options or {}
  local level, err = sandbox.level_for(spec.run, spec.agent)
  if not level then return nil, err end
  local own, given, from = own_programs(), opened("HOCKET_SANDBOX_WRITE", spec.run), fiber.now()
  local reach, wrong = network.read(not spec.offline and machine_policy.network(options.network, spec.run))
  if not reach then return nil, wrong end
  local way <close>, failed = open_way(reach, spec)
  if failed then return nil, failed end
  local behind, found = behind_shims(own)
  local sockets = spec.offline and {} or opened("HOCKET_SANDBOX_SOCKETS", spec.run)
  local result
  result, err = process.run {
    argv = spec.argv, cwd = spec.cwd, input = spec.input, timeout = spec.timeout, sandbox = level,
    env = joined(environment(own), found, way and way.env or {}, spec.env or {}), network = reach == "all", proxy = way and way.proxy, sockets = #sockets > 0,
    readable = joined(own, behind, opened("HOCKET_SANDBOX_READ", spec.run), sockets, spec.readable or {}),
    writable = joined(given, spec.writable or {}),
    guarded = without(spec.guarded, given), protect = spec.protect, cpu = math.ceil(spec.timeout) + 1, memory = spec.memory,
    processes = spec.processes, file_size = spec.file_size, written = spec.written, open_files = 1024,
  }
  if not result then return nil, err end
  result.sandbox, result.seconds = level, fiber.now() - from
  result.labels, result.refused_hosts = labels_of(level, reach), way and way.refused or nil
  return result
end

-- ---- In words for a model ------------------------------------------------------------------------

-- Bytes that are no UTF-8 become U+FFFD; terminal sequences go.
local function clean(text)
  text = text:gsub("\27%[[%d;?]*[%a]", "")
  local parts, at = {}, 1
  while true do
    local length, bad = utf8.len(text, at)
    if length then break end
    parts[#parts + 1] = text:sub(at, bad - 1) .. "\u{FFFD}"
    at = bad + 1
  end
  parts[#parts + 1] = text:sub(at)
  return table.concat(parts)
end

-- What a program prints may be anybody's words: it stands in a fence that it cannot close.
local function output(result, name)
  local text = result[name]
  local omitted = result[name .. "_omitted"]
  if omitted then text = ("%s\n[… %d bytes are left out here …]\n%s"):format(text, omitted, result[name .. "_tail"]) end
  if text == "" then return "" end
  text = clean(text):gsub("\n$", "")
  return "\n" .. fence.wrap(name, "the program", text)
end

local limits = {
  memory = "too much memory", processes = "too many processes", written = "it wrote too much", space = "the disk is nearly full",
}

--- The protected names that it made, and that were set aside, as far as there are not too many.
---@param result hocket.ProcessResult
---@return string[]
function sandbox.refused(result)
  local names = {}
  for name in clean(result.refused_names or ""):gmatch "[^\n]+" do names[#names + 1] = name end
  return names
end

local function set_aside(result)
  if not result.refused then return "" end
  return ("\n%d protected name%s that it made %s set aside, as NAME.refused: what stands there is obeyed by programs outside of the sandbox.\n%s"):format(
    result.refused, result.refused == 1 and "" or "s", result.refused == 1 and "was" or "were",
    fence.wrap("names", "the program", table.concat(sandbox.refused(result), "\n")))
end

-- Names of hosts were checked by the proxy: they hold nothing but letters, digits, dots and dashes.
local function refused_hosts(result)
  local lines = {}
  for i, one in ipairs(result.refused_hosts or {}) do lines[i] = ("\nIt did not reach %s, port %d: %s."):format(one.host, one.port, one.reason) end
  return table.concat(lines)
end

local function ending(result, timeout)
  local how = result.code and ("exit code %d"):format(result.code) or ("ended by SIG%s"):format(result.signal)
  if result.limit then
    how = ("ended: %s (%s)"):format(limits[result.limit], how)
  elseif result.timed_out then
    how = ("ended: not done within %g s (%s)"):format(timeout, how)
  elseif result.signal == "XCPU" or result.signal == "XFSZ" then
    how = ("ended: %s (%s)"):format(result.signal == "XCPU" and "too much CPU time" or "a file grew too large", how)
  end
  return how
end

-- Only roughly: the same call with the same output is to have the same text, so that a model that goes in circles is noticed.
local function duration(seconds)
  if edition.here() < 6 then return cassette.duration(", %.2f s", seconds) end
  if not seconds or seconds < 1 then return "" end
  local unit = 10 ^ math.floor(math.log(seconds, 10))
  return cassette.duration(", about %.0f s", math.floor(seconds / unit + 0.5) * unit)
end

--- What a program did, as text for a model: how it ended, then its outputs. Gives its labels to the
--- conversation.
---@param result hocket.ProcessResult
---@param timeout number Seconds it had.
---@param mark? fun(label: string)
---@return string
function sandbox.describe(result, timeout, mark)
  for _, label in ipairs(mark and result.labels or {}) do mark(label) end
  local head = ("%s%s, sandbox: %s%s%s"):format(ending(result, timeout), duration(result.seconds), result.sandbox,
    result.sandbox == "limits" and " (no walls: it could reach all that you can)" or result.unguarded and " (.git and the agents are not protected)" or "",
    result.overlooked and " (not all of the folder could be looked through: a new .git in it may stay)" or "")
  if result.left_behind > 0 then
    head = head .. ("\n%d processes that it left running were ended; nothing outlives a call."):format(result.left_behind)
  end
  head = head .. set_aside(result) .. refused_hosts(result)
  local text = head .. output(result, "stdout") .. output(result, "stderr")
  return result.stdout == "" and result.stderr == "" and text .. "\n(no output)" or text
end

return sandbox
