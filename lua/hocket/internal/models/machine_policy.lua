--- The policy of a machine's owner: what no run may exceed, whatever options, variables, clients and agents' files say. Pure: texts in,
--- tables out. A library reads no file: who embeds it gives the text (the option `policy`), the command line reads its files
--- (src/cli/policy/policy.c).
---
---     effective = policy ∩ process ∩ token ∩ request ∩ caller ∩ agent
---
--- Where something begins it is asked here, and in no other way: begin (a run's options), given (of a run that is continued),
--- model, host, sandbox, network, trust, key_command, serves. `approve` goes with HOCKET_APPROVE (src/bind/runtime.c), as a layer of its own.
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local lazy = require "hocket.internal.base.lazy"
local system = require "hocket.internal.core.system"
local limits, policy_file = lazy "hocket.internal.models.limits", lazy "hocket.internal.models.policy_file" -- of machines that have one

local machine_policy = {}

---@class hocket.MachinePolicy
---@field approve? string[][] Layers of words as behind --approve; each binds.
---@field sandbox? string
---@field sandbox_paths? string[]
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

-- ---- What holds here ----------------------------------------------------------------------------------

local current
local replaced = false

--- Reads what holds from now on: texts one after the other, of which each only narrows the one before.
---@param list {name: string, text: string}[]
---@param again? boolean In the place of the ones that the host was opened with.
---@param read? fun(text: string, file: string): hocket.MachinePolicy?, string? policy_file.read unless given.
---@return true?
---@return string? wrong
function machine_policy.set(list, again, read)
  local all
  for _, one in ipairs(list) do
    local made, wrong = (read or policy_file.read)(one.text, one.name)
    if not made then return nil, wrong end
    all = policy_file.both(all, made)
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
  if not replaced or not run or not run.machine_policy or run.machine_policy == current then return current end
  local known = pairs_of[run.machine_policy]
  if not known or known.with ~= current then
    known = { with = current, both = policy_file.both(run.machine_policy, current) }
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
  if not policy then return true end
  local provider = (id or ""):match "^[^/]+" or ""
  if provider == "sim" or provider:find "^sim%-" then return true end
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

local function is_below_one(path, folders)
  for _, folder in ipairs(folders) do
    if system.below(path, folder) then return true end
  end
  return false
end

--- What a variable opens to programs: of HOCKET_SANDBOX_READ, _WRITE or _SOCKETS the absolute paths, as far as a policy lets it.
---@param text? string Paths, separated by colons.
---@param run? hocket.Run
---@param real fun(path: string): string? A path without links; nil: it is not there.
---@return string[]
function machine_policy.opened(text, run, real)
  local policy, list = of(run), {}
  local folders = policy and policy.sandbox_paths
  for path in (text or ""):gmatch "[^:]+" do
    local place = fs.is_absolute(path) and (folders and real(path) or not folders and path)
    if place and (not folders or is_below_one(place, folders)) then list[#list + 1] = place end
  end
  return list
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
    if system.below(path, folder) then return trust.ask == true end
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
  for _, name in ipairs(current and policy_file.names() or {}) do
    local value = current[name]
    if value ~= nil then list[#list + 1] = { key = name, value = value, from = json.array(current.from[name]) } end
  end
  return list
end

return machine_policy
