--- Models: finds the model for a text such as "provider/model".
---
---     local hocket = require "hocket"
---     local id, why = hocket.model.default(true) -- the scripted model where there is no other
---     local model = assert(hocket.model.resolve(id))
---     print(model.id, why, model.simulated)
local arguments = require("hocket.internal.base.arguments").check
local bundle_files = require "hocket.internal.base.sources.bundle"
local bodies = require "hocket.internal.base.lazy" "hocket.internal.models.body"
local cassette = require "hocket.cassette"
local key_commands = require "hocket.internal.base.lazy" "hocket.internal.models.key_command"
local caught = require "hocket.internal.base.caught"
local effects = require "hocket.internal.base.effects"
local kept = require "hocket.internal.core.kept"
local lazy = require "hocket.internal.base.lazy"
local llm = require "hocket.internal.core.llm"
local known_servers = lazy "hocket.internal.models.known_server"
local local_server = lazy "hocket.internal.models.local_server"
local offer = lazy "hocket.internal.models.offer"
local shared_limits = lazy "hocket.internal.models.shared_limits"
local store = require "hocket.internal.core.store"
local suggest = lazy "hocket.internal.base.suggest"
local fiber = require "hocket.internal.core.fiber"
local providers = require "hocket.providers"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"
local windows = lazy "hocket.internal.models.windows"
local failed = system.error

local model = {}

local function failure(code, message)
  return nil, failed { code = code, message = message }
end

-- The first of the provider's key variables that is set.
---@return string? key
---@return string? variable
local function find_key(def)
  local names = def.key_env
  if type(names) == "string" then names = { names } end
  for _, name in ipairs(names or {}) do
    local key = system.getenv(name) or system.secret(name)
    if key then return key, name end
  end
  return nil, names and names[1]
end

local function variable_or_secret(name)
  return system.getenv(name) or system.secret(name)
end

-- What a key has beside it where requests are signed: {key, id, token?}; nil where no access key is set.
local function access_key(def)
  local id, key = variable_or_secret "AWS_ACCESS_KEY_ID", variable_or_secret "AWS_SECRET_ACCESS_KEY"
  if def.region and id and key then return { key = key, id = id, token = variable_or_secret "AWS_SESSION_TOKEN" } end
end

-- Whether requests go to a place that wants no key: a base URL was given by hand.
local function needs_key(def)
  if def.key_needed ~= nil then return def.key_needed end
  return def.key_env ~= nil and not (def.base_env and system.getenv(def.base_env))
end

local lanes = {} -- rate limiters: one per place and key, whatever protocol is spoken there

local function lane_of(base, key, name)
  local place = base:match "^%a+://[^/?]+" or base
  local id = place .. "\0" .. (key or name or "")
  lanes[id] = lanes[id] or { limiter = llm.lane {}, limited_by = false, place = place, key = key or name or "" }
  return lanes[id]
end

local function share(lane, limits)
  if limits and limits.shared ~= false and next(limits) and store.is_shared() then
    local shown = lane.place:gsub("//[^/]*@", "//") -- its name stands in the store: no password of a URL does
    lane.shared = shared_limits.share(lane.shared, lane.limiter, shown, llm.fingerprint(lane.key), limits)
  elseif lane.shared then
    lane.shared = lane.limiter:share()
  end
end

-- Limits are those of the latest declaration that has some, until that has none any more.
local function limit(lane, name, limits)
  if not limits and lane.limited_by ~= name then return end
  lane.limiter:limit(limits or {})
  lane.limited_by = limits and name or false
  share(lane, limits)
end

local pools = 0

local function expanded(headers)
  local out = headers and {} or nil
  for name, value in pairs(headers or {}) do out[name] = providers.expand(value) end
  return out
end

-- What a recording must not show besides the key, which it knows.
local function hide_headers(def)
  for name, value in pairs(expanded(def.headers)) do
    local lower = name:lower()
    if lower:find "key" or lower:find "token" or lower:find "auth" or lower:find "secret" or lower:find "cookie" then
      cassette.hide(value:match "^%a+ (%S+)$" or value)
    end
  end
end

-- Traits that say what is asked for in which turn, and not how it is written.
local of_sessions = { schema_with_tools = true, calls_in_text = true }

local function format_last(def, server)
  local own = def and def.traits and def.traits.schema_with_tools
  if own == nil and server then own = known_servers.kind(server.kind).schema_with_tools end
  return own == false or nil
end

local known_forms = setmetatable({}, { __mode = "k" }) -- by how it is declared, by kind of server

-- How a known server is spoken to: what the declaration says of it counts more than what we know; what it says of servers elsewhere, less.
local function form_of(how, server, def)
  local known = server and known_servers.kind(server.kind).traits
  if not known then return how end
  local made = known_forms[how] or {}
  known_forms[how] = made
  if not made[server.kind] then
    local traits, first, second = {}, known, how.traits or {}
    if how == def.elsewhere then first, second = second, first end
    for name, value in pairs(first) do traits[name] = value end
    for name, value in pairs(second) do traits[name] = value end
    made[server.kind] = { protocol = how.protocol, traits = traits }
  end
  return made[server.kind]
end

-- How the server at this base is spoken to. A replay does as it was done.
local function spoken(name, def, base)
  if not def.elsewhere then return def end
  local how = providers.spoken(def, base)
  if not cassette.going_on() then return how end
  return cassette.remember("protocol of " .. name, function() return how.protocol end) == def.protocol and def or def.elsewhere
end

local function make(name, def, how, base, key, access)
  local lane = lane_of(base, key or access and access.key, def.key_command and name)
  limit(lane, name, def.limits)
  pools = pools + 1 -- connections are shared within one
  local options = {
    name = name, protocol = how.protocol, base = base, key = key, key_header = def.key_header, headers = expanded(def.headers),
    pool = ("%s-%d"):format(name, pools), lane = lane.limiter, simulated = def.simulated, body = def.body and bodies.text(def.body),
    sign_region = not key and def.region and providers.expand(def.region) or nil,
  }
  if access then options.key, options.key_id, options.key_token = access.key, access.id, access.token end
  for trait, value in pairs(how.traits or {}) do
    if not of_sessions[trait] then options[trait] = value end
  end
  return llm.provider(options)
end

-- By declaration, what was made of it: one for each name, base and key, and `last`. A declaration
-- that was replaced takes all of that with it.
local opened = setmetatable({}, { __mode = "k" })

local function open(name, def, base, key, server)
  if def.headers then hide_headers(def) end
  local made = opened[def]
  if not made then
    made = {}
    opened[def] = made
  end
  local last, how = made.last, form_of(spoken(name, def, base), server, def)
  local access = not key and def.region and access_key(def) or nil
  if last and last.name == name and last.base == base and last.key == key and last.how == how and not access then return last.handle end
  local id = table.concat({ name, how.protocol, server and server.kind or "", base, key or access and table.concat({ access.id, access.key, access.token }, "\0") or "" }, "\0")
  made[id] = made[id] or make(name, def, how, base, key, access)
  made.last = { name = name, base = base, key = key, how = how, handle = made[id] }
  return made[id]
end

---@class hocket.Model
---@field id string "provider/model"
---@field provider_name string
---@field name string The model's name at the provider.
---@field fallbacks? (hocket.Model|string)[] The models that are called, in order, if this one fails.
---@field package given_up? {from: string, to: string, reason: string, message: string}[] What stood before it and could not be resolved.
---@field handle userdata
---@field simulated boolean
---@field protocol string
---@field calls_in_text? boolean It can write tool calls as text.
---@field format_last? boolean It calls no tools while a format of the answer is requested, so only the last turn requests it.
---@field keys? hocket.KeyCommand The command that gives its key.
---@field provider? hocket.Provider Its provider's declaration; nil for the scripted model.
---@field server? string The known kind of server (internal/models/known_server.lua).
---@field choice_of? fun(choice: string): string? Translates a choice of tools for the server.
---@field no_tools? hocket.Error Why it cannot be called with tools.
---@field lacks? hocket.Error It can only be recalled from the log of a run: what is missing for more.

-- In a replay nobody is called, so that no key is needed where there was one.
local function may_call(provider_name, def, key)
  key = key or def.key_command or access_key(def)
  if not cassette.going_on() then return key ~= nil or not needs_key(def) end
  local replays = cassette.replays()
  return cassette.remember("key of " .. provider_name, function()
    return key ~= nil or replays or not needs_key(def)
  end)
end

-- Whether the log of the current run still has a call of this model, or the earlier question which server it is at. Then nothing is
-- needed until the log is used up. A worker that lacks something leaves the run to others before that.
local function was_called(provider_name, name)
  if name == nil or not kept.is_replay() or bundle_files.here() then return false end
  return kept.comes("model", ("model=%s/%s\n"):format(provider_name, name)) or kept.comes("server", ("provider=%s\n"):format(provider_name))
end

-- Where the scripted model is; in a replay nowhere.
local function sim_base()
  if cassette.replays() then return "http://sim.invalid/v1" end
  local ok, sim = pcall(require, "hocket.sim")
  if not ok and caught.no_memory(sim) then error(sim, 0) end
  if not ok then
    local why = require("hocket.internal.base.component").missing "hocket.sim" or tostring(sim)
    return failure("unsupported", "the simulated model is not part of this program: " .. why)
  end
  return sim.base()
end

local plain_sim = { protocol = "openai_chat", simulated = true }
local sims = setmetatable({}, { __mode = "k" }) -- by the declaration that one is like

local function sim_like(def)
  sims[def] = sims[def] or { protocol = def.protocol, traits = def.traits, body = def.body, simulated = true }
  return sims[def]
end

-- The scripted model is served by this process, when it is first asked for. "sim-anthropic" is the
-- same one, spoken to as Anthropic is: protocol and traits are the provider's.
local function resolve_sim(provider_name, name)
  local like = provider_name:match "^sim%-(.+)$"
  local def = like and providers.get(like)
  if like and not def then
    return failure("provider", ("there is no provider '%s' that '%s' could be like"):format(like, provider_name))
  end
  local base, err = sim_base()
  if not base then return nil, err end
  return {
    id = provider_name .. "/" .. name, provider_name = provider_name, name = name, simulated = true, format_last = format_last(def),
    calls_in_text = def and providers.calls_in_text(def, def.base) or nil,
    protocol = (def or plain_sim).protocol,
    handle = open(provider_name, def and sim_like(def) or plain_sim, base, nil),
  }
end

local function unknown(provider_name, id)
  local near = suggest(provider_name, providers.names())
  return failure("provider", ("unknown provider '%s' in model '%s'%s"):format(provider_name, id, near
    and (": did you mean '%s'?"):format(near) or (" (there are: sim, %s)"):format(table.concat(providers.names(), ", "))))
end

--- Tells whether a text names a model of a known provider. It sends no request and looks for no key.
---@param id string
---@return boolean? yes false: the text is not a model's name.
---@return hocket.Error?
function model.is_known(id)
  arguments("model.is_known", 1, "string", id)
  local name = id:match "^([%w_-]+)/.+$" or id
  if providers.get(name) or providers.of_model(id) or name == "sim" or name:find "^sim%-" then return true end
  if name == id then return false end
  return unknown(name, id)
end

local function base_variable(def)
  return def.base_env and system.getenv(def.base_env) and def.base_env or nil
end

-- The model of a provider that is named without one. Where a base URL was given by hand the server there is asked:
-- what the provider itself would take may mean nothing to it. A run that is kept has the answer in its log, wherever it goes on.
local function default_name(provider_name, def, key)
  local variable = (sources.answer("place variable", provider_name, function() return base_variable(def) end))
  if def.default and not variable or cassette.replays() then return def.default end
  local found = cassette.remember("model of " .. provider_name, function()
    local name, err = effects.run("offer", { provider = provider_name }, function()
      return offer.choose(provider_name, def, providers.base_of(provider_name), key, variable)
    end, { reads = true })
    return { name = name, code = err and err.code, message = err and err.message }
  end)
  if found.name then return found.name end
  return failure(found.code, found.message)
end

-- What this run has been told of servers, by provider; nil: it is not kept.
local function servers_of_run()
  local context = fiber.context()
  local run = kept.here() and type(context) == "table" and context.run or nil
  if run and not run.servers then run.servers = {} end
  return run and run.servers
end

-- Which server is there, where it is none of the hosted ones; nil: nobody knows. A run that is kept has that in its log.
local function find_server(provider_name, def, base, key)
  local known, due = servers_of_run() or {} -- asked once, also where models are resolved again each turn, as without a key
  if kept.is_replay() then
    due = known[provider_name] ~= nil or kept.comes("server", ("provider=%s\n"):format(provider_name))
  else
    due = known_servers.may_be(def, base)
  end
  if not due then return nil end
  if known[provider_name] == nil then
    known[provider_name] = effects.run("server", { provider = provider_name, what = "known" }, function() return known_servers.find(def, base, key) or false end, { reads = true })
  end
  return known[provider_name] or nil
end

local function server_of(provider_name, def, base, key)
  local replays = cassette.replays()
  if not replays and not kept.is_replay() and not known_servers.may_be(def, base) then return nil end
  if not cassette.going_on() then return find_server(provider_name, def, base, key) end
  return cassette.remember("server of " .. provider_name, function() return not replays and find_server(provider_name, def, base, key) or nil end)
end

-- What a known server says of one of its models. A template without tools drops them in silence.
local function take_server(one, server)
  if one.protocol == "ollama" then one.server = "Ollama" end
  if not server then return one end
  local window = server.windows[one.name] or server.models[1] and #server.models == 1 and server.windows[server.models[1]]
  if window then windows.tell(one.id, window) end
  one.server, one.choice_of = server.kind, known_servers.choice_of(server.kind) or nil
  if server.tools == false then
    one.no_tools = failed { code = "unsupported", message = ("%s: the chat template of its model has no tools, and %s would drop them in silence: take another model, or an agent without tools"):format(
      one.id, server.kind) }
  end
  return one
end

--- Resolves "provider/model", a provider's name for its default model, or a model's name that determines
--- its provider. "sim/NAME" is the scripted model over OpenAI's chat completions; "sim-anthropic/NAME",
--- "sim-gemini/NAME" … use that provider's protocol. Fails with "auth" when a required key is missing,
--- with "provider" for an unknown model.
---@async
---@param id string
---@return hocket.Model?
---@return hocket.Error?
function model.resolve(id)
  arguments("model.resolve", 1, "string", id)
  if not providers.get(id) then id = providers.of_model(id) or id end
  local provider_name, name = id:match "^([%w_-]+)/(.+)$"
  if not provider_name then provider_name, name = id, nil end
  local def = providers.get(provider_name)
  if not def and (provider_name == "sim" or provider_name:find "^sim%-") then
    return resolve_sim(provider_name, name or "default")
  end
  if not def then return unknown(provider_name, id) end
  local key, variable = find_key(def)
  local base, missing = providers.base_of(provider_name), nil
  if not cassette.replays() then missing = providers.missing(def, base, key) end
  local lacks = missing and failed { code = "invalid", lacks = missing, message = ("%s needs the variable %s: its address has it"):format(provider_name, missing) }
  if lacks and not was_called(provider_name, name or def.default) then return nil, lacks end
  if not name then
    local wrong
    name, wrong = default_name(provider_name, def, key)
    if not name then return nil, wrong end
  end
  if not lacks and not may_call(provider_name, def, key) then
    lacks = failed { code = "auth", message = ("%s needs a key: set %s (or try --model sim, which needs none)"):format(provider_name, variable) }
    if not was_called(provider_name, name) then return nil, lacks end
  end
  if lacks then base, key = base:gsub("%${[^}]*}", "lacking"), "lacking" end
  local server = (not lacks or kept.is_replay()) and server_of(provider_name, def, base, key) or nil
  return take_server({
    id = provider_name .. "/" .. name, provider_name = provider_name, name = name, simulated = false, provider = def,
    format_last = format_last(def, server), calls_in_text = providers.calls_in_text(def, base), protocol = spoken(provider_name, def, base).protocol, handle = open(provider_name, def, base, key, server),
    keys = def.key_command and not key and not access_key(def) and not cassette.replays() and key_commands.of(provider_name, def) or nil,
    lacks = lacks or nil,
  }, server)
end

--- Resolves a model for many calls. It stores the result in `known`, by id, and returns it while the provider's declaration
--- stays the same. A scripted model, and a model under a recording, is resolved each time.
---@async
---@param id string
---@param known table<string, hocket.Model>
---@return hocket.Model?
---@return hocket.Error?
---@internal
function model.recall(id, known)
  local before = known[id]
  if before and providers.get(before.provider_name) == before.provider then return before end
  local one, err = model.resolve(id)
  local provider = one and one.provider
  if provider and not (provider.headers or one.lacks or cassette.going_on()) then known[id] = one end
  return one, err
end

--- Resolves the first model of a list that can be resolved. The others become its fallbacks.
---@async
---@param ids string|string[]
---@param skipped? fun(from: string, to: string, err: hocket.Error) Called for each model that cannot be resolved.
---@return hocket.Model?
---@return hocket.Error? The last model's error.
function model.choose(ids, skipped)
  arguments("model.choose", 1, "string|table", ids)
  arguments("model.choose", 2, "function?", skipped)
  if type(ids) == "string" then return model.resolve(ids) end
  local err, given_up = failed { code = "invalid", message = "no model is named" }, {}
  for i, id in ipairs(ids) do
    local one
    one, err = model.resolve(id)
    if one then
      one.fallbacks, one.given_up = table.move(ids, i + 1, #ids, 1, {}), given_up[1] and given_up
      return one
    elseif ids[i + 1] then
      given_up[i] = { from = id, to = ids[i + 1], reason = err.code, message = err.message }
      if skipped then skipped(id, ids[i + 1], err) end
    end
  end
  return nil, err
end

-- Whose key is there, else whose place was named.
local function find_provider()
  local place, place_variable
  for _, name in ipairs(providers.order) do
    local def = providers.get(name)
    local key, variable = find_key(def)
    if key then return name, variable end
    if not place and base_variable(def) then place, place_variable = name, def.base_env end
  end
  if not place and system.getenv "VLLM_BASE_URL" then return "vllm", "VLLM_BASE_URL" end
  return place, place_variable
end

-- {id, why}; {code =, message =}: which of several the person has to say; or {}.
local function find_default()
  local chosen = sources.variable "HOCKET_MODEL"
  if chosen then return { chosen, "HOCKET_MODEL" } end
  local name, variable = table.unpack((sources.answer("default provider", "", function() return { find_provider() } end)))
  if name then
    local def = providers.get(name)
    local one, err = default_name(name, def, (find_key(def)))
    if not one then return { code = err.code, message = err.message } end
    return { name .. "/" .. one, variable .. " is set" }
  end
  return { effects.run("local_server", {}, function() return local_server.find() end, { reads = true }) }
end

-- What was not there may be there by now: a run that is kept looks again.
local function find_default_again()
  local own = kept.here()
  if own and own.no_default then sources.stale() end
  local found = find_default()
  if own then own.no_default = found[1] == nil end
  return found
end

--- Tells whether this process has a default model. It does not look for local servers.
---@return boolean
---@internal
function model.has_default()
  return (system.getenv "HOCKET_MODEL" or find_provider()) ~= nil
end

-- Two lines: what is wrong, and what to do.
local NO_MODEL = "there is no model to ask: no key is set, and no local server answers.\n"
  .. "Set OPENAI_API_KEY or another key ('hocket doctor' lists them), or name a model: --model or HOCKET_MODEL (sim needs no key)"

--- Finds the default model: HOCKET_MODEL, then the first provider with a key or a base URL, then a local server that answers.
--- If there is none, it returns the scripted model only with `simulate`, because a scripted text must not be taken for an
--- answer.
---@async
---@param simulate? boolean Whether the scripted model is allowed.
---@return string? id
---@return string|hocket.Error why The reason in words, or an error with the remedy.
function model.default(simulate)
  local found = cassette.remember("default model", find_default_again)
  if found[1] then return found[1], found[2] end
  if found.code then return failure(found.code, found.message) end
  if simulate or cassette.replays() then return "sim/default", "no key is set and no local server answers" end
  return failure("auth", NO_MODEL)
end

--- Finds a provider's key for requests other than model calls. It is nil if the provider needs no key.
---@async
---@param name string
---@param def hocket.Provider
---@return string? key
---@return hocket.Error? err
---@return hocket.KeyCommand? keys The command that gave it.
---@internal
function model.key(name, def)
  local key, variable = find_key(def)
  if key or access_key(def) then return key end
  if def.key_command then
    local keys = key_commands.of(name, def)
    local given, err = keys:value()
    return given, err, keys
  end
  if needs_key(def) then return failure("auth", ("%s needs a key: set %s"):format(name, variable)) end
end

--- The known limits of a model: its window (input and output together) and its longest output. If the table has no entry,
--- hocket learns the limit from the first error that states it.
---@param id string "provider/model"
---@return {window: integer, output?: integer}?
function model.window(id)
  arguments("model.window", 1, "string", id)
  local known = windows.get(id)
  return known and { window = known.window, output = known.output }
end

--- Sets the size of a model's window for all agents that use it. nil restores the table's value.
---@param id string "provider/model"
---@param window? {window: integer, output?: integer}
function model.set_window(id, window)
  arguments("model.set_window", 1, "string", id)
  arguments("model.set_window", 2, "table?", window)
  if window and (math.type(window.window) ~= "integer" or window.window < 512) then
    error("bad argument #2 to 'set_window' ({window = tokens} expected, 512 at least)", 2)
  end
  windows.set(id, window)
end

return model
