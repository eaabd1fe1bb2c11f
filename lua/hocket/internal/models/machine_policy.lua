--- The policy of a machine's owner: what no run may exceed, whatever options, variables, clients and agents' files say. Pure: texts in,
--- tables out. A library reads no file: who embeds it gives the text (the option `policy`), the command line reads its files
--- (src/cli/policy/policy.c).
---
---     effective = policy ∩ process ∩ token ∩ request ∩ caller ∩ agent
---
--- Where something begins it is asked here, and in no other way: begin (a run's options), given (of a run that is continued),
--- model, host, sandbox, network, trust, key_command, serves. `approve` goes with HOCKET_APPROVE (src/bind/runtime.c), as a layer of its own.
local limits = require "hocket.internal.models.limits"
local account = require "hocket.internal.models.account"
local json = require "hocket.json"
local suggest = require "hocket.internal.base.suggest"
local yaml = require "hocket.yaml"

local machine_policy = {}

---@class hocket.MachinePolicy
---@field approve? string[][] Layers of words as behind --approve; each binds.
---@field sandbox? string
---@field network? any
---@field hosts? string[][] Lists of patterns: each has to have the host.
---@field trust? "ask"|"none"|string[]
---@field models? string[][]
---@field providers? string[][]
---@field budget? table Of one run.
---@field max_turns? integer
---@field timeout? number
---@field jobs? integer
---@field key_commands? false|string[]
---@field listen? string[][]
---@field all_runs? false
---@field no_token? false
---@field retention_days? integer
---@field from table<string, string[]> The files that say something of a key.
---@field lines? table<string, integer> Of one file: where a key stands in it.

-- ---- Reading ------------------------------------------------------------------------------------------

local function is_text(v) return type(v) == "string" and v ~= "" and not v:find "[%c]" end

-- A word, or a list of words; an empty list allows none.
local function words(v)
  if is_text(v) then return { v } end
  if type(v) ~= "table" or next(v) ~= nil and #v == 0 then return nil end
  for _, one in ipairs(v) do
    if not is_text(one) then return nil end
  end
  return table.move(v, 1, #v, 1, {})
end

local function list_of_words(v)
  local list = words(v)
  return list and { list }
end

local function number(least)
  return function(v) return type(v) == "number" and v == v and v >= least and v < math.huge and v or nil end
end

local function whole(least)
  return function(v) return math.type(v) == "integer" and v >= least and v or nil end
end

local levels = { best = true, required = true, landlock = true, bubblewrap = true, limits = true }

local function only_false(v) if v == false then return false end end

local function absolute(v)
  local list = words(v)
  for _, one in ipairs(list or {}) do
    if one:sub(1, 1) ~= "/" then return nil end
  end
  return list
end

-- key = { what it has to be, reader }: nil is wrong.
local keys = {
  approve = { "a word as behind --approve, or a list of them", list_of_words },
  sandbox = { "best, required, landlock or bubblewrap", function(v) return levels[v] and v or nil end },
  network = { "all, none, or hosts", function(v)
    if v == "all" or v == "none" then return v end
    local list = words(v)
    return list and (#list > 0 and table.concat(list, ",") or "none")
  end },
  hosts = { "a list of hosts, as in [docs.example.org, '*.example.net']", list_of_words },
  trust = { "ask, none, or a list of folders", function(v) return (v == "ask" or v == "none") and v or absolute(v) end },
  models = { "a list of models, as in ['anthropic/*']", list_of_words },
  providers = { "a list of providers", list_of_words },
  budget = { "limits of one run, as in {cost: 5, tokens: 1000000}", function(v) return type(v) == "table" and #v == 0 and (account.read(v)) or nil end },
  max_turns = { "a whole number from 1 on", whole(1) },
  timeout = { "seconds", number(0) },
  jobs = { "a whole number from 1 on", whole(1) },
  key_commands = { "false, or a list of programs", function(v) if v == false then return false end return absolute(v) end },
  serve = { "a group: listen, no_token, all_runs", function(v) return type(v) == "table" and #v == 0 and v or nil end },
  retention_days = { "a whole number of days from 1 on", whole(1) },
}

local of_serve = {
  listen = { "a list of addresses, as in [127.0.0.1]", list_of_words },
  no_token = { "false", only_false },
  all_runs = { "false", only_false },
}

local function names_of(known)
  local list = {}
  for name in pairs(known) do list[#list + 1] = name end
  table.sort(list)
  return list
end

-- Reads the keys of a group into a policy; `line(name)` is where one stands.
local function read_all(known, values, line, file, into)
  for name, value in pairs(values) do
    local key = known[name]
    if not key then
      local near = suggest(tostring(name), names_of(known))
      return nil, ("%s:%d: unknown key '%s'%s (there are: %s)"):format(file, line(name), tostring(name), near and (": did you mean '%s'?"):format(near) or "", table.concat(names_of(known), ", "))
    end
    local read = key[2](value)
    if read == nil then return nil, ("%s:%d: '%s' has to be %s"):format(file, line(name), name, key[1]) end
    into[name] = read
    into.from[name], into.lines[name] = { file }, line(name)
  end
  return into
end

--- Reads a policy. Nothing in it is passed over.
---@param text string YAML, or JSON.
---@param file string Its name, for messages.
---@return hocket.MachinePolicy?
---@return string? wrong "FILE:LINE: …"
function machine_policy.read(text, file)
  local values, places = yaml.decode(text)
  if values == nil then return nil, ("%s:%s"):format(file, tostring(places.message or places):gsub("^line (%d+)", "%1")) end
  if type(values) ~= "table" or #values > 0 then return nil, ("%s:1: a policy is keys with values (approve, sandbox, models …)"):format(file) end
  local made = { from = {}, lines = {} }
  local function line_below(prefix)
    return function(name) return (places[prefix .. tostring(name)] or { 1 })[1] end
  end
  local ok, wrong = read_all(keys, values, line_below "/", file, made)
  if not ok then return nil, wrong end
  local serve = made.serve
  made.serve, made.from.serve = nil, nil
  if serve then
    ok, wrong = read_all(of_serve, serve, line_below "/serve/", file, made)
    if not ok then return nil, wrong end
  end
  return made
end

-- ---- Intersections ------------------------------------------------------------------------------------

local function both_lists(a, b)
  if not a or not b then return a or b end
  return table.move(b, 1, #b, #a + 1, table.move(a, 1, #a, 1, {}))
end

local function is_below(path, folder)
  folder = folder:gsub("/+$", "")
  return path == folder or path:sub(1, #folder + 1) == folder .. "/"
end

-- Folders that lie in one of both lists.
local function both_folders(a, b)
  local list = {}
  for _, x in ipairs(a) do
    for _, y in ipairs(b) do
      if is_below(x, y) then list[#list + 1] = x elseif is_below(y, x) then list[#list + 1] = y end
    end
  end
  return list
end

local function both_trusts(a, b)
  if a == nil or b == nil then
    if a == nil then return b end
    return a
  end
  if a == "none" or b == "none" then return "none" end
  if type(a) == "table" and type(b) == "table" then return both_folders(a, b) end
  if a == "ask" and b == "ask" then return "ask" end
  return { ask = true, table.unpack(type(a) == "table" and a or b) }
end

local function both_programs(a, b)
  if a == nil or b == nil then
    if a == nil then return b end
    return a
  end
  if a == false or b == false then return false end
  local has, list = {}, {}
  for _, one in ipairs(a) do has[one] = true end
  for _, one in ipairs(b) do list[#list + 1] = has[one] and one or nil end
  return list
end

local function only(a, b)
  if a == false or b == false then return false end
end

local joins = {
  approve = both_lists, hosts = both_lists, models = both_lists, providers = both_lists, listen = both_lists, sandbox = limits.sandbox, network = limits.network, trust = both_trusts,
  budget = limits.budget, max_turns = limits.least, timeout = limits.least, jobs = limits.least, retention_days = limits.least, key_commands = both_programs, no_token = only, all_runs = only,
}

--- What both allow.
---@param a? hocket.MachinePolicy
---@param b? hocket.MachinePolicy
---@return hocket.MachinePolicy?
function machine_policy.both(a, b)
  if not a or not b or a == b then return a or b end
  local made = { from = {} }
  for name, join in pairs(joins) do
    made[name] = join(a[name], b[name])
    made.from[name] = both_lists(a.from[name], b.from[name])
  end
  return made
end

-- ---- What holds here ----------------------------------------------------------------------------------

local current
local replaced = false

--- Reads what holds from now on: texts one after the other, of which each only narrows the one before.
---@param list {name: string, text: string}[]
---@param again? boolean In the place of those that the host was opened with.
---@param read? fun(text: string, file: string): hocket.MachinePolicy?, string? machine_policy.read unless given.
---@return true?
---@return string? wrong
function machine_policy.set(list, again, read)
  local all
  for _, one in ipairs(list) do
    local made, wrong = (read or machine_policy.read)(one.text, one.name)
    if not made then return nil, wrong end
    all = machine_policy.both(all, made)
  end
  current, replaced = all, again == true
  return true
end

--- Whether there was another one before.
---@return boolean
function machine_policy.was_replaced() return replaced end

---@return hocket.MachinePolicy?
function machine_policy.current() return current end

local pairs_of = setmetatable({}, { __mode = "k" })

-- For a run what held when it began here, and what holds now: a policy that became wider is for runs that begin after that.
local function of(run)
  if not run or not run.machine_policy or run.machine_policy == current then return current end
  local known = pairs_of[run.machine_policy]
  if not known or known.with ~= current then
    known = { with = current, both = machine_policy.both(run.machine_policy, current) }
    pairs_of[run.machine_policy] = known
  end
  return known.both
end

--- The words of `approve` that bind a run which began under another policy: those from then and those of now; nil: it began under this one.
---@param run? hocket.Run
---@return string[][]?
function machine_policy.since(run)
  if not run or run.machine_policy == current then return nil end
  local both = of(run)
  return both and both.approve
end

local function refused(policy, key, message, ...)
  return nil, { code = "denied", message = ("%s (policy: %s)"):format(message:format(...), table.concat(policy.from[key] or {}, ", ")) }
end

--- Options of a run that begins, narrowed. What no policy says stays as it is.
---@param options table
---@param policy? hocket.MachinePolicy The current one unless given.
---@return table
function machine_policy.begin(options, policy)
  policy = policy or current
  if not policy then return options end
  local made = {}
  for name, value in pairs(options) do made[name] = value end
  for name, value in pairs(limits.both(options, policy)) do made[name] = value end
  if policy.sandbox then made.sandbox = limits.sandbox(options.sandbox, policy.sandbox) end
  if policy.network and options.network ~= nil then made.network = limits.network(options.network, policy.network) end -- without the option there is none
  if policy.trust and options.trust == true then made.trust = policy.trust == "none" and false or "ask" end
  return made
end

--- The same for the JSON of options. What is none is left to who reads it.
---@param text string
---@return string
function machine_policy.narrow(text)
  local options = json.decode(text)
  if type(options) ~= "table" then return text end
  return json.encode(machine_policy.begin(options))
end

--- What a process says of a run that it continues, narrowed: it holds beside the run's own options.
---@param given table
---@return table
function machine_policy.given(given)
  return current and machine_policy.begin(given) or given
end

--- Whether a name is one of all these lists, where `*` stands for any letters.
---@param lists string[][]
---@param name string
---@return boolean
local function is_in(lists, name)
  for _, list in ipairs(lists) do
    local found = false
    for _, pattern in ipairs(list) do
      local lua = "^" .. pattern:lower():gsub("[%^%$%(%)%%%.%[%]%+%-%?]", "%%%0"):gsub("%*+", ".*") .. "$"
      found = found or name:lower():find(lua) ~= nil
    end
    if not found then return false end
  end
  return true
end

--- Whether a model may be asked. The scripted model is asked by nobody elsewhere, and always may.
---@param id? string "provider/model"
---@param run? hocket.Run
---@return true?
---@return hocket.Error?
function machine_policy.model(id, run)
  local policy = of(run)
  local provider = (id or ""):match "^[^/]+" or ""
  if not policy or provider == "sim" or provider:find "^sim%-" then return true end
  if policy.providers and not is_in(policy.providers, provider) then return refused(policy, "providers", "the provider '%s' may not be asked", provider) end
  if policy.models and not is_in(policy.models, id or "") then return refused(policy, "models", "the model '%s' may not be asked", tostring(id)) end
  return true
end

--- Whether a tool may fetch from a host.
---@param host string
---@param run? hocket.Run
---@return true?
---@return hocket.Error?
function machine_policy.host(host, run)
  local policy = of(run)
  if not policy or not policy.hosts or is_in(policy.hosts, host) then return true end
  return refused(policy, "hosts", "%s may not be reached", host)
end

--- The level that programs run at, at least.
---@param run? hocket.Run
---@return string?
function machine_policy.sandbox(run)
  local policy = of(run)
  return policy and policy.sandbox
end

--- Where commands may go, of what a run lets them.
---@param option any
---@param run? hocket.Run
---@return any
function machine_policy.network(option, run)
  local policy = of(run)
  if not policy or not policy.network or option == nil then return option end
  return limits.network(option, policy.network)
end

--- What counts for code of a folder: nil, or why it may not run; and whether a general yes (--trust, HOCKET_TRUST) does.
---@param path string Absolute.
---@return boolean asks Only a person who is asked, or was, may say so.
---@return hocket.Error? refused
function machine_policy.trust(path)
  local trust = current and current.trust
  if not trust then return false end
  if trust == "ask" then return true end
  for _, folder in ipairs(type(trust) == "table" and trust or {}) do
    if is_below(path, folder) then return trust.ask == true end
  end
  return true, select(2, refused(current, "trust", "no code of %s may run", path))
end

--- Whether something is said of code that may run.
---@return boolean
function machine_policy.bounds_trust() return current ~= nil and current.trust ~= nil end

--- Whether a program may be run for a key.
---@param program string
---@return true?
---@return hocket.Error?
function machine_policy.key_command(program)
  local list = current and current.key_commands
  if list == nil then return true end
  for _, one in ipairs(list or {}) do
    if one == program then return true end
  end
  return refused(current, "key_commands", "the program '%s' may not be run for a key", program)
end

--- Whether `hocket serve` may listen at an address, with these options.
---@param args {address?: string, no_token?: boolean, all_runs?: boolean}
---@return true?
---@return hocket.Error?
function machine_policy.serves(args)
  if not current then return true end
  if current.listen and not is_in(current.listen, args.address or "127.0.0.1") then return refused(current, "listen", "nothing may be served at %s", args.address or "127.0.0.1") end
  for _, name in ipairs { "no_token", "all_runs" } do
    if current[name] == false and args[name] then return refused(current, name, "the option --%s may not be given", (name:gsub("_", "-"))) end
  end
  return true
end

-- ---- For the host --------------------------------------------------------------------------------------

--- Words for HOCKET_APPROVE, a line for each layer; and how many days runs may be kept at most, 0 for any.
---@return string
---@return integer
function machine_policy.for_host()
  local lines = {}
  for i, list in ipairs(current and current.approve or {}) do lines[i] = table.concat(list, ",") end
  return table.concat(lines, "\n"), current and current.retention_days or 0
end

--- What holds, for people: {key, value, from}, in order.
---@return {key: string, value: any, from: string[]}[]
function machine_policy.told()
  local list = json.array {}
  for _, name in ipairs(names_of(joins)) do
    local value = current and current[name]
    if value ~= nil then list[#list + 1] = { key = name, value = value, from = json.array(current.from[name]) } end
  end
  return list
end

return machine_policy
