--- `hocket policy`: what holds on this machine, and where each of it comes from.
local agents = require "hocket.agent"
local json = require "hocket.json"
local machine_policy = require "hocket.internal.models.machine_policy"
local rules = require "hocket.internal.run.policy"
local system = require "hocket.internal.core.system"
local targets = require "hocket.internal.runner.target"

-- What holds where no policy says anything, and the variable that says it for all runs.
local defaults = {
  approve = { "ask where a tool needs it", "HOCKET_APPROVE" }, sandbox = { "best", "HOCKET_SANDBOX" }, network = { "none" }, hosts = { "all that are public", "HOCKET_WEB_ALLOW" },
  trust = { "each folder that a person said yes to", "HOCKET_TRUST" }, models = { "all" }, providers = { "all" }, budget = { "none" }, max_turns = { "40 for each agent" },
  timeout = { "none" }, jobs = { "no limit" }, key_commands = { "all of trusted files" }, listen = { "127.0.0.1; others with TLS" }, no_token = { "may be given" },
  all_runs = { "may be given" }, retention_days = { "as the store says" },
}

-- Lists of which each holds stand with "and" between them.
local function shown(value)
  if type(value) ~= "table" then return tostring(value) end
  if #value == 0 and next(value) then return json.encode(value) end
  local list, nested = {}, false
  for i, one in ipairs(value) do
    nested = nested or type(one) == "table"
    list[i] = type(one) == "table" and (#one > 0 and table.concat(one, ", ") or "none") or tostring(one)
  end
  return #list > 0 and table.concat(list, nested and "  and  " or ", ") or "none"
end

-- The first file that cannot be read.
local function problem_of(files)
  for _, file in ipairs(files) do
    if file.problem then return file.problem end
    if file.source then
      local made, wrong = rules.read_machine(file.source, file.path)
      if not made then return wrong end
    end
  end
end

local function row(name, held)
  local default, variable = table.unpack(defaults[name])
  local said = variable and system.getenv(variable)
  if variable == "HOCKET_APPROVE" then said = said and said:match "^[^\n]*" end -- behind it stands the policy's
  if said == "" then said = nil end
  if held then return { key = name, value = shown(held.value), from = held.from, beside = said and variable .. "=" .. said or nil } end
  if said then return { key = name, value = said, from = json.array { variable } } end
  return { key = name, value = default, from = json.array { "default" } }
end

local function effective()
  local by_key, list = {}, json.array {}
  for _, one in ipairs(machine_policy.told()) do by_key[one.key] = one end
  local names = {}
  for name in pairs(defaults) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do list[i] = row(name, by_key[name]) end
  return list
end

-- The models that the agents of a target name, and whether they may be asked.
local function models_of(path)
  require "hocket.internal.runner.builtins"
  local target, err = targets.find(path)
  if not target then return nil, err end
  local list = json.array {}
  local team = target.agent and agents.team_of(target.agent) or target.team or {}
  for _, def in pairs(team) do
    for _, id in ipairs(type(def.model) == "table" and def.model or { def.model }) do
      if type(id) == "string" then
        local may, wrong = machine_policy.model(id)
        list[#list + 1] = { agent = def.name, model = id, allowed = may == true, why = wrong and wrong.message or nil }
      end
    end
  end
  table.sort(list, function(a, b) return a.agent < b.agent or a.agent == b.agent and a.model < b.model end)
  return list
end

local function text_of(told)
  local lines = {}
  for _, file in ipairs(told.files) do
    lines[#lines + 1] = ("%-9s %s"):format(file.there and "policy" or "no file", file.path or "(no home)")
  end
  lines[#lines + 1] = ""
  for _, one in ipairs(told.effective) do
    lines[#lines + 1] = ("%-15s %s  [%s]%s"):format(one.key, one.value, table.concat(one.from, ", "), one.beside and " beside " .. one.beside or "")
  end
  for _, one in ipairs(told.models or {}) do
    lines[#lines + 1] = ("%-15s %s: %s"):format("agent " .. one.agent, one.model, one.why or "allowed")
  end
  return table.concat(lines, "\n")
end

---@async
---@param args {targets: string[], files: {path?: string, there: boolean, problem?: string, source?: string}[]}
return function(args)
  local problem = problem_of(args.files)
  if problem then return nil, system.error { code = "agent", message = problem } end
  local told = { files = json.array {}, effective = effective() }
  for i, file in ipairs(args.files) do told.files[i] = { path = file.path, there = file.there } end
  if args.targets[1] then
    local err
    told.models, err = models_of(args.targets[1])
    if not told.models then return nil, err end
  end
  told.text = text_of(told)
  return told
end
