--- `hocket doctor`: what this machine offers.
local json = require "hocket.json"
local known_servers = require "hocket.internal.models.known_server"
local model = require "hocket.model"
local problems = require "hocket.internal.commands.doctor.problems"
local providers = require "hocket.providers"
local sandbox = require "hocket.internal.tools.sandbox"
local system = require "hocket.internal.core.system"

--- Models of a server that are shown.
local SHOWN = 5

-- What a server says of itself, where one may be there that is no hosted provider's; in words.
local function server_of(def, base, key)
  local here = known_servers.may_be(def, base) and known_servers.find(def, base, key)
  if not here then return nil end
  local list = {}
  for i, name in ipairs(here.models) do
    if i > SHOWN then list[i] = ("and %d more"):format(#here.models - SHOWN) break end
    list[i] = here.windows[name] and ("%s (%d tokens)"):format(name, here.windows[name]) or name
  end
  local state = here.loading and "loads its model" or #list > 0 and table.concat(list, ", ") or "names no model"
  return { kind = here.kind, models = json.array(here.models), loading = here.loading or false, tools = here.tools ~= false },
    ("%s answers: %s%s"):format(here.kind == "unknown" and "a server that is not known" or here.kind, state, here.tools == false and "; its chat template has no tools" or "")
end

-- Whether a provider's key is there; never the key.
local function describe(name)
  local def = providers.get(name)
  local variables = type(def.key_env) == "table" and def.key_env or { def.key_env }
  local base = providers.base_of(name)
  local row = { name = name, protocol = providers.spoken(def, base).protocol, base = base, lacks = providers.missing(def, base, "") }
  local key
  for _, variable in ipairs(variables) do
    local value = system.getenv(variable) or system.secret(variable)
    row.variable = row.variable or variable
    if value then row.variable, row.key, key = variable, true, value end
  end
  if not row.key and def.key_command then row.program = def.key_command[1] end
  row.server, row.says = server_of(def, base, key)
  return row
end

local function line_of(row)
  local state = row.key and ("key in %s"):format(row.variable)
    or row.program and ("asks %s for a key"):format(row.program)
    or row.variable and ("no key (%s)"):format(row.variable) or "needs no key"
  local place = row.lacks and "set " .. row.lacks or row.base:gsub("//[^/@]*@", "//")
  local line = ("  %-17s %-29s %s"):format(row.name, state, place)
  return row.says and ("%s\n  %-17s %s"):format(line, "", row.says) or line
end

-- Providers that can be used now come first. The list is long, so it stands last.
local function add_providers(lines, result)
  local ready, others = {}, {}
  for i, name in ipairs(providers.names()) do
    local row = describe(name)
    result.providers[i] = row
    local list = (row.key or row.server) and ready or others
    list[#list + 1] = line_of(row)
  end
  lines[#lines + 1] = #ready > 0 and "providers that can be used" or "providers"
  table.move(ready, 1, #ready, #lines + 1, lines)
  if #ready > 0 then lines[#lines + 1] = "other providers" end
  table.move(others, 1, #others, #lines + 1, lines)
end

-- Why a level does not work is worth a line; the one used is marked.
local function add_levels(lines, result)
  result.sandbox, result.sandbox_levels = sandbox.level() or "none", sandbox.levels()
  lines[#lines + 1] = "sandbox of programs that tools run"
  for _, level in ipairs(result.sandbox_levels) do
    local state = level.works and (level.name == result.sandbox and "works, and is used" or "works") or level.reason
    if level.works and level.unguarded and level.name ~= "limits" then state = state .. "; .git and the agents are not protected" end
    lines[#lines + 1] = ("  %-17s %s"):format(level.name, state)
  end
end

local function add_problems(lines, result, args)
  local list = problems.find(args.kept == true, args.wrong)
  if args.fix then problems.mend(list) end
  result.problems = json.array {}
  lines[#lines + 1] = #list == 0 and "no problem found" or "problems, each with the command that mends it"
  for i, one in ipairs(list) do
    result.problems[i] = { code = one.code, message = one.message, command = one.command, mendable = one.fix ~= nil, fixed = one.fixed or false, failed = one.failed }
    lines[#lines + 1] = "  " .. one.message
    lines[#lines + 1] = one.fixed and "    mended" or ("    %s%s"):format(one.command, one.failed and "   (--fix could not: " .. one.failed .. ")" or one.fix and not args.fix and "   (or: hocket doctor --fix)" or "")
  end
end

---@async
---@param args {store?: string, kept?: boolean, wrong?: string, fix?: boolean} store: what the program keeps runs in; kept: it is there, and open; fix: mend what can be mended without losing anything.
return function(args)
  local result = { version = system.version(), providers = {}, store = args.store or json.null }
  local lines = { "hocket " .. result.version, "" }
  add_problems(lines, result, args)
  local default, why = model.default()
  result.default_model, result.default_reason = default or json.null, default and why or why.message
  if not default and why.code == "auth" then result.default_reason = "no key is set and no local server answers; on a terminal the simulated model" end
  lines[#lines + 1] = ""
  lines[#lines + 1] = ("model used when none is named: %s (%s)"):format(default or "none", result.default_reason)
  lines[#lines + 1] = "runs are kept in: " .. (args.store or "nothing")
  lines[#lines + 1] = ""
  add_levels(lines, result)
  lines[#lines + 1] = ""
  add_providers(lines, result)
  result.text = table.concat(lines, "\n")
  return result
end
