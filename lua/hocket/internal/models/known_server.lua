--- Which server answers at a base URL that is no hosted provider's: llama.cpp, vLLM, SGLang, LM Studio, Ollama or LiteLLM. They speak chat
--- completions alike and differ in what they can do, which belongs to them and not to the name of a provider.
---
---     GET BASE/models     who it is (headers, `owned_by`), its models, their windows
---     GET /props          llama.cpp: the window that it was started with, whether the template of its model knows tools
---     GET /api/v0/models  LM Studio: the windows of its models
---
--- Asked once by each process, before the first call. Hosted providers are never asked.
local fiber = require "hocket.internal.core.fiber"
local http = require "hocket.http"
local json = require "hocket.json"
local offer = require "hocket.internal.models.offer"
local providers = require "hocket.providers"
local system = require "hocket.internal.core.system"

local known_server = {}

---@class hocket.KnownServer
---@field kind "llama.cpp"|"vLLM"|"SGLang"|"LM Studio"|"Ollama"|"LiteLLM"|"unknown"
---@field models string[]
---@field windows table<string, integer> By model, in tokens.
---@field tools? false The chat template of its model has no place for tools: they would be dropped in silence.
---@field loading? boolean

-- The smallest window that is believed, and the models whose windows are kept.
local SMALLEST, MODELS = 256, 200

-- By `owned_by` of a list of models.
local owners = { llamacpp = "llama.cpp", vllm = "vLLM", sglang = "SGLang", library = "Ollama", organization_owner = "LM Studio", ["organization-owner"] = "LM Studio" }

--- The protocol of each server, unless its provider's declaration names another one (see providers.lua), and how a call can be forced.
--- "words": the server knows `required`, but not a tool's name. false: it knows neither.
local one_form = { top_k = true, max_tokens_field = "max_tokens" }
local kinds = {
  ["llama.cpp"] = { traits = one_form, schema_with_tools = false, choice = "words" },
  ["vLLM"] = { traits = one_form, schema_with_tools = false, choice = "names" },
  ["SGLang"] = { traits = one_form, schema_with_tools = false, choice = "names" },
  ["LM Studio"] = { traits = one_form, schema_with_tools = false, choice = "words" },
  ["Ollama"] = { traits = { max_tokens_field = "max_tokens" }, schema_with_tools = false, choice = false },
  ["LiteLLM"] = {},
  unknown = {},
}

local words = { auto = true, none = true, required = true }
local none_of = { names = false, words = function(choice) return words[choice] and choice or "required" end, [false] = function() return nil end }

--- How a call is forced there: what a choice becomes; false: it is taken as it is. nil is no choice.
---@param kind string
---@return false|fun(choice: string): string?
function known_server.choice_of(kind)
  local choice = kinds[kind] and kinds[kind].choice
  return choice ~= nil and none_of[choice]
end

--- Whether an answer's schema binds what its models can write, token by token: then a choice is asked for as a value of it.
---@param kind? string
---@return boolean
function known_server.binds(kind)
  return kind ~= nil and kinds[kind] ~= nil and kinds[kind].choice ~= nil
end

--- What is known of such a server.
---@param kind string
---@return {traits?: table, schema_with_tools?: boolean, choice?: "names"|"words"|false}
function known_server.kind(kind)
  return kinds[kind] or kinds.unknown
end

local function get(url, headers)
  local answer = http.request { url = url, headers = headers, connect_timeout = 1, timeout = 5, max_body = 4 << 20 }
  if not answer then return nil end
  local value = json.decode(answer.body)
  return answer, type(value) == "table" and value or {}
end

local function is_loading(answer)
  return answer.status == 503 and answer.body:find("Loading model", 1, true) ~= nil
end

local function kind_of(answer, first)
  for name in pairs(answer.headers) do
    if name:lower():find "^x%-litellm" then return "LiteLLM" end
  end
  if tostring(answer.headers.server):find "^llama%.cpp" then return "llama.cpp" end
  return type(first) == "table" and owners[first.owned_by] or "unknown"
end

local function window_of(entry)
  local meta = type(entry.meta) == "table" and entry.meta or {}
  local n = math.tointeger(meta.n_ctx) or math.tointeger(entry.max_model_len) or math.tointeger(entry.loaded_context_length)
  return n and n >= SMALLEST and n or nil
end

local function add_models(server, list)
  for i, entry in ipairs(type(list) == "table" and list or {}) do
    if i > MODELS then return end
    local name = type(entry) == "table" and offer.name(entry, "id")
    if name then
      if not server.windows[name] then server.models[#server.models + 1] = name end
      server.windows[name] = window_of(entry) or server.windows[name] or false
    end
  end
end

-- Where a server's own API is: its base URL without /v1.
local function root_of(base)
  return (base:gsub("%?.*$", ""):gsub("/+$", ""):gsub("/v1$", ""))
end

local function ask_llamacpp(server, base, headers)
  local answer, value = get(root_of(base) .. "/props", headers)
  if not answer or answer.status ~= 200 then
    server.loading = answer and is_loading(answer) or nil
    return
  end
  local settings = type(value.default_generation_settings) == "table" and value.default_generation_settings or {}
  local n = math.tointeger(settings.n_ctx)
  for _, name in ipairs(server.models) do
    if n and n >= SMALLEST then server.windows[name] = n end
  end
  local can = type(value.chat_template_caps) == "table" and value.chat_template_caps or {}
  if can.supports_tools == false and can.supports_tool_calls ~= true then server.tools = false end
end

local function ask_lmstudio(server, base, headers)
  local answer, value = get(root_of(base) .. "/api/v0/models", headers)
  if answer and answer.status == 200 then
    server.models = {}
    add_models(server, value.data)
  end
end

local more = { ["llama.cpp"] = ask_llamacpp, ["LM Studio"] = ask_lmstudio }

--- Asks a server. nil: nobody answers.
---@async
---@param def hocket.Provider
---@param base string
---@param key? string
---@return hocket.KnownServer?
function known_server.ask(def, base, key)
  local url, headers = offer.place(def, base, "/models", key, "openai_chat")
  local answer, value = get(url, headers)
  if not answer then return nil end
  local list = type(value.data) == "table" and value.data or {}
  local server = { kind = kind_of(answer, list[1]), models = {}, windows = {}, loading = is_loading(answer) or nil }
  add_models(server, list)
  if more[server.kind] then more[server.kind](server, base, headers) end
  for name, window in pairs(server.windows) do server.windows[name] = window or nil end
  return server
end

--- Whether a provider at this base URL may be such a server: it is on this machine or in this network, or its address was given by hand.
--- Hosted providers never are.
---@param def hocket.Provider
---@param base string
---@return boolean
function known_server.may_be(def, base)
  local protocol = providers.spoken(def, base).protocol
  if base:find("${", 1, true) or def.simulated or protocol ~= "openai_chat" or system.getenv "HOCKET_OFFLINE" or providers.is_hosted(base) then return false end
  return def.own_models or providers.is_near(base) or def.base_env ~= nil and system.getenv(def.base_env) ~= nil
end

local seen = {} -- by base URL and key, of this process
local absent = {} -- the same: until when it is not asked again

--- Seconds before a server is asked again that did not answer, or knows no such list: each agent would ask it anew.
local AGAIN = 10

--- The same once by each process.
---@async
---@param def hocket.Provider
---@param base string
---@param key? string
---@return hocket.KnownServer?
function known_server.find(def, base, key)
  local id = base .. "\0" .. (key or "")
  if seen[id] then return seen[id] end
  if absent[id] and fiber.real_now() < absent[id] then return nil end
  local server = known_server.ask(def, base, key)
  absent[id] = not server and fiber.real_now() + AGAIN or nil
  if server and not server.loading then seen[id] = server end
  return server
end

return known_server
