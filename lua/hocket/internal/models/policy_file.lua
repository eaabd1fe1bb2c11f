--- A machine's policy as text and as a whole: how it is read, and what two of them allow together (models/machine_policy.lua, which asks
--- for it where there is one).
local fs = require "hocket.internal.core.fs"
local limits = require "hocket.internal.models.limits"
local account = require "hocket.internal.models.account"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local suggest = require "hocket.internal.base.suggest"
local system = require "hocket.internal.core.system"
local yaml = require "hocket.yaml"

local policy_file = {}

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
    if not fs.is_absolute(one) then return nil end
  end
  return list
end

-- The forms of values, for editors.
local word = { type = "string", minLength = 1 }
local some = { anyOf = { word, { type = "array", items = word } } }
local from_one, never = { type = "integer", minimum = 1 }, { const = false }

-- key = { what it has to be, reader, its form }: nil is wrong.
local keys = {
  approve = { "a word as behind --approve, or a list of them", list_of_words, some },
  sandbox = { "best, required, landlock or bubblewrap", function(v) return levels[v] and v or nil end, word },
  sandbox_paths = { "a list of folders", absolute, some },
  network = { "all, none, or hosts", function(v)
    if v == "all" or v == "none" then return v end
    local list = words(v)
    return list and (#list > 0 and table.concat(list, ",") or "none")
  end, some },
  hosts = { "a list of hosts, as in [docs.example.org, '*.example.net']", list_of_words, some },
  trust = { "ask, none, or a list of folders", function(v) return (v == "ask" or v == "none") and v or absolute(v) end, some },
  models = { "a list of models, as in ['anthropic/*']", list_of_words, some },
  providers = { "a list of providers", list_of_words, some },
  budget = { "limits of one run, as in {cost: 5, tokens: 1000000}", function(v) return type(v) == "table" and #v == 0 and (account.read(v)) or nil end, { type = "object" } },
  max_turns = { "a whole number from 1 on", whole(1), from_one },
  timeout = { "seconds", number(0), { type = "number", minimum = 0 } },
  jobs = { "a whole number from 1 on", whole(1), from_one },
  key_commands = { "false, or a list of programs", function(v) if v == false then return false end return absolute(v) end, { anyOf = { never, some } } },
  serve = { "a group: listen, no_token, all_runs", function(v) return type(v) == "table" and #v == 0 and v or nil end },
  retention_days = { "a whole number of days from 1 on", whole(1), from_one },
}

local of_serve = {
  listen = { "a list of addresses, as in [127.0.0.1]", list_of_words, some },
  no_token = { "false", only_false, never },
  all_runs = { "false", only_false, never },
}

local function form_of(known)
  local members = {}
  for name, key in pairs(known) do
    local form = { description = key[1] }
    for k, v in pairs(key[3] or form_of(of_serve)) do form[k] = v end
    members[name] = form
  end
  return { type = "object", properties = members, additionalProperties = false }
end

--- A policy as a JSON Schema, for editors.
---@return table
function policy_file.json_schema() return form_of(keys) end

-- Reads the keys of a group into a policy; `line(name)` is where one stands.
local function read_all(known, values, line, file, into)
  for name, value in pairs(values) do
    local key = known[name]
    if not key then
      local near = suggest(tostring(name), sorted_keys(known))
      return nil, ("%s:%d: unknown key '%s'%s (there are: %s)"):format(file, line(name), tostring(name), near and (": did you mean '%s'?"):format(near) or "", table.concat(sorted_keys(known), ", "))
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
function policy_file.read(text, file)
  local values, places = yaml.decode(text)
  if values == nil then return nil, ("%s:%s"):format(file, tostring(places.message or places):gsub("^line (%d+)", "%1")) end
  if type(values) ~= "table" or #values > 0 then return nil, ("%s:1: a policy is keys with values (approve, sandbox, models …)"):format(file) end
  local made = { from = {}, lines = {} }
  local function line_below(prefix)
    return function(name) return (places[prefix .. tostring(name)] or { 1 })[1] end
  end
  local ok, wrong = read_all(keys, values, line_below "/", file, made)
  if not ok then return nil, wrong end
  if made.sandbox and made.sandbox ~= "best" and made.sandbox ~= "limits" and not made.sandbox_paths then -- no variable opens what it closes
    made.sandbox_paths, made.from.sandbox_paths = {}, made.from.sandbox
  end
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

-- Folders that lie in one of both lists.
local function both_folders(a, b)
  local list = {}
  for _, x in ipairs(a) do
    for _, y in ipairs(b) do
      if system.below(x, y) then list[#list + 1] = x elseif system.below(y, x) then list[#list + 1] = y end
    end
  end
  return list
end

local function both_paths(a, b)
  if not a or not b then return a or b end
  return both_folders(a, b)
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
  approve = both_lists, hosts = both_lists, models = both_lists, providers = both_lists, listen = both_lists, sandbox = limits.sandbox, sandbox_paths = both_paths, network = limits.network, trust = both_trusts,
  budget = limits.budget, max_turns = limits.least, timeout = limits.least, jobs = limits.least, retention_days = limits.least, key_commands = both_programs, no_token = only, all_runs = only,
}

--- The keys of a policy, sorted.
---@return string[]
function policy_file.names() return sorted_keys(joins) end

--- What both allow.
---@param a? hocket.MachinePolicy
---@param b? hocket.MachinePolicy
---@return hocket.MachinePolicy?
function policy_file.both(a, b)
  if not a or not b or a == b then return a or b end
  local made = { from = {} }
  for name, join in pairs(joins) do
    made[name] = join(a[name], b[name])
    made.from[name] = both_lists(a.from[name], b.from[name])
  end
  return made
end

return policy_file
