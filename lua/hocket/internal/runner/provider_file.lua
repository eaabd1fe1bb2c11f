--- `providers.yaml` beside a target, or in the folder above it: providers of a project, each with everything that hocket.provider takes.
---
---     mycloud:
---       protocol: openai_chat
---       base: https://llm.example/v1
---       key_command: [my-broker, token]
---
--- A folder may be a stranger's: who is asked there gets the conversation, and a key with it. So a person says first that its providers
--- are trusted, as with MCP servers; and only where an agent, or the person, names one of them.
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local problem = require "hocket.internal.agents.problem"
local providers = require "hocket.providers"
local sources = require "hocket.internal.base.sources"
local stored_code = require "hocket.internal.base.lazy" "hocket.internal.runner.stored_code"
local system = require "hocket.internal.core.system"
local trust = require "hocket.internal.base.lazy" "hocket.internal.runner.trust"
local yaml = require "hocket.yaml"
local failed = system.error

local provider_file = {}

--- Bytes, at most.
local LIMIT = 65536

---@class hocket.ProviderFile
---@field path string
---@field defs table<string, hocket.Provider>
---@field names string[] Sorted.
---@field digest string
---@field text string

-- Where an error of providers.check has its cause: the member that it names, else the provider.
local function place_of(places, name, message)
  local field = message:match "'([%w_]+)[^']*' in provider" or ""
  for _, pointer in ipairs { ("/%s/traits/%s"):format(name, field), ("/%s/limits/%s"):format(name, field), ("/%s/%s"):format(name, field) } do
    if places[pointer] then return problem.place(places, pointer) end
  end
  return problem.place(places, "/" .. name)
end

local function check(path, values, places)
  local defs, names, problems = {}, {}, {}
  for name, def in pairs(values) do
    local wrong = (type(def) ~= "table" or json.is_array(def)) and "must be members with values, as in 'protocol: openai_chat'"
    wrong = wrong or providers.wrong(name, def)
    if wrong then
      local line, column = place_of(places, tostring(name), wrong)
      problems[#problems + 1] = problem.new(path, line, column, "value", type(def) == "table" and wrong or ("'%s' %s"):format(tostring(name), wrong))
    else
      defs[name], names[#names + 1] = def, name
    end
  end
  table.sort(names)
  return defs, names, problem.sort(problems)
end

--- Reads a file.
---@param path string
---@return hocket.ProviderFile? file Of the ones that are valid.
---@return hocket.Problem[] problems
function provider_file.read(path)
  local text, err = sources.read(path, LIMIT)
  if not text then return nil, { problem.new(path, 1, 1, "nothing", err.message) } end
  local values, places = yaml.decode(text, 1, true)
  if values == nil then
    local line, column, words = places.message:match "^(%d+):(%d+): (.*)$"
    return nil, { problem.new(path, tonumber(line) or 1, tonumber(column) or 1, "syntax", words or places.message) }
  elseif type(values) ~= "table" or json.is_array(values) then
    return nil, { problem.new(path, 1, 1, "syntax", "must be providers by name, as in 'mycloud: {protocol: openai_chat, base: https://llm.example/v1}'") }
  end
  local defs, names, problems = check(path, values, type(places) == "string" and json.decode(places) or places)
  return { path = path, defs = defs, names = names, digest = system.digest(text), text = text }, problems
end

-- ---- Loading --------------------------------------------------------------------------------------

local function note(named, id)
  if type(id) == "table" then
    for _, one in ipairs(id) do note(named, one) end
  elseif type(id) == "string" then
    named[id:match "^([%w_-]+)/" or id] = true
  end
end

-- The providers that a run's agents and its person name.
local function named_by(run, target)
  local named, options = {}, run.options
  for _, id in pairs(options.models or {}) do note(named, id) end
  if options.model then -- for all agents, whatever they name
    note(named, options.model)
    return named
  end
  note(named, sources.variable("HOCKET_MODEL", true))
  if target.agent then
    for _, def in pairs(require("hocket.agent").team_of(target.agent)) do
      note(named, def.model)
      note(named, def.context and def.context.model)
      fiber.rest()
    end
  end
  return named
end

-- In the words of a person: who gets what.
local function describe(name, def)
  local key = def.key_command and "runs " .. table.concat(def.key_command, " ")
    or def.key_env and "with the key in " .. (type(def.key_env) == "table" and table.concat(def.key_env, ", ") or def.key_env) or "without a key"
  return ("%s%s: asks %s, %s"):format(name, providers.get(name) and " (in the place of the one that is known)" or "", def.base, key)
end

local loaded = {} -- by path, the file that was declared

--- Declares the providers of a file.
---@param file hocket.ProviderFile
function provider_file.declare(file)
  local before = loaded[file.path]
  if before and before.digest == file.digest then file = before end -- what was made of a declaration goes on
  for _, name in ipairs(file.names) do providers.add(name, file.defs[name]) end
  loaded[file.path] = file
end

--- Declares the providers beside a target, where the run may need them. May wait for a person.
---@async
---@param run hocket.Run
---@param target {kind: string, dir: string, path: string, agent?: hocket.Agent}
---@param path string
---@return true? loaded
---@return hocket.Error?
function provider_file.load(run, target, path)
  local file, problems = provider_file.read(path)
  if problems[1] then
    local first = problems[1]
    return nil, failed { code = "agent", message = ("%s:%d:%d: %s"):format(first.file, first.line, first.column, first.message) }
  end
  local named, lines, any = named_by(run, target), {}, target.kind == "script"
  for i, name in ipairs(file.names) do
    any = any or named[name]
    lines[i] = describe(name, file.defs[name])
  end
  if not any or #lines == 0 then return true end
  if run.options.code then
    local admitted, refused = stored_code.may_run(path, file.text, "providers")
    if not admitted then return nil, refused end
  end
  -- A script that a person has named may do everything that its author wants: the file beside it asks for nothing more.
  if not target.named or run.options.code then
    local ok, err = trust.admit_providers(run, path, lines, file.digest)
    if not ok then return nil, err end
  end
  provider_file.declare(file)
  return true
end

return provider_file
