--- The table of providers: their addresses, their protocols, and the variables with their keys.
---
---     local hocket = require "hocket"
---     hocket.provider("mycloud", {
---       protocol = "openai_chat", base = "https://llm.example/v1", key_env = "MYCLOUD_API_KEY",
---     })
---     print(hocket.providers.get("mycloud").base, #hocket.providers.names())
---
--- After this, "mycloud/some-model" names a model.
local arguments = require("hocket.internal.base.arguments").check
local bodies = require "hocket.internal.base.lazy" "hocket.internal.models.body"
local registered = require "hocket.internal.base.script.names"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local suggest = require "hocket.internal.base.lazy" "hocket.internal.base.suggest"
local system = require "hocket.internal.core.system"

local providers = {}

--- The day on which `defaults` was last compared with what the providers say of their models.
providers.date = "2026-11-22"

--- The model that a provider is asked for when nobody names one. Models end: this is the one table to look after.
local defaults = {
  openai = "gpt-6.1-terra",
  anthropic = "claude-sonnet-5",
  gemini = "gemini-3.5-flash",
  openrouter = "openai/gpt-6.1-terra",
  deepseek = "deepseek-flash",
  mistral = "mistral-small-latest",
  groq = "openai/gpt-oss-20b",
  xai = "grok-4.6",
}

---@class hocket.Provider
---@field protocol "openai_chat"|"openai_responses"|"anthropic"|"gemini"|"ollama"|"bedrock"
---@field base string URL of the API. `${NAME}` is the value of a variable, `${ONE|OTHER:-text}` that of the first one that is set. A query ("?api-version=…") follows the path of each call.
---@field base_env? string Variable that replaces `base`.
---@field key_env? string|string[] Variables that may hold the key, in order.
---@field key_command? string[] A program that prints a key, with its arguments. It runs if no variable has a key (see docs/guides/models.md).
---@field key_command_env? string[] Variables that the program gets in addition to PATH, HOME and similar ones.
---@field key_lifetime? number Seconds that the key is valid. Default: as the program says, or 300.
---@field region? string AWS: requests are signed for this region if no variable of key_env has a key.
---@field key_needed? boolean Requests need a key. Default: true if there is a key_env.
---@field key_header? string The header with the key: "api-key", or "Authorization: Bearer". Default: that of the protocol.
---@field default? string The model used when this provider is chosen without one.
---@field own_models? boolean The server runs models itself. On this machine they cost nothing unless a price is set.
---@field headers? table<string, string>
---@field body? table Further fields of the request's body. The agent's `body` is merged over them.
---@field limits? {requests?: integer, tokens?: integer, concurrent?: integer, shared?: boolean} Per minute, and calls at once, for all calls with one key. 0 allows none. Other processes with the same store share them unless `shared` is false. The server's own limits also apply.
---@field traits? table Differences of this provider from its protocol (see docs/guides/models.md).
---@field package place? fun(name: fun(variable: string): string): string Built in only: its base, of variables.
---@field package elsewhere? {protocol: string, traits: table} Built in only: how others' servers are spoken to.

---@type table<string, hocket.Provider>
local list = {
  openai = { -- its newest models take tools over Responses alone; other servers often have chat completions alone
    protocol = "openai_responses", base = "https://api.openai.com/v1", base_env = "OPENAI_BASE_URL",
    key_env = "OPENAI_API_KEY", default = defaults.openai,
    elsewhere = { protocol = "openai_chat", traits = { max_tokens_field = "max_completion_tokens" } },
  },
  ["openai-chat"] = {
    protocol = "openai_chat", base = "https://api.openai.com/v1", base_env = "OPENAI_BASE_URL",
    key_env = "OPENAI_API_KEY", default = defaults.openai,
    traits = { max_tokens_field = "max_completion_tokens" },
  },
  ["openai-responses"] = {
    protocol = "openai_responses", base = "https://api.openai.com/v1", base_env = "OPENAI_BASE_URL",
    key_env = "OPENAI_API_KEY", default = defaults.openai,
  },
  anthropic = {
    protocol = "anthropic", base = "https://api.anthropic.com", base_env = "ANTHROPIC_BASE_URL",
    key_env = "ANTHROPIC_API_KEY", default = defaults.anthropic,
  },
  gemini = {
    protocol = "gemini", base = "https://generativelanguage.googleapis.com/v1beta", base_env = "GEMINI_BASE_URL",
    key_env = { "GEMINI_API_KEY", "GOOGLE_API_KEY" }, default = defaults.gemini,
  },
  openrouter = {
    protocol = "openai_chat", base = "https://openrouter.ai/api/v1", base_env = "OPENROUTER_BASE_URL",
    key_env = "OPENROUTER_API_KEY", default = defaults.openrouter, traits = { top_k = true },
  },
  deepseek = {
    protocol = "openai_chat", base = "https://api.deepseek.com/v1", base_env = "DEEPSEEK_BASE_URL",
    key_env = "DEEPSEEK_API_KEY", default = defaults.deepseek,
    traits = { json_schema = false, parallel_field = false, seed = false, reasoning_back = true },
  },
  mistral = {
    protocol = "openai_chat", base = "https://api.mistral.ai/v1", base_env = "MISTRAL_BASE_URL",
    key_env = "MISTRAL_API_KEY", default = defaults.mistral,
    traits = { stream_usage = false, seed = false, call_id_length = 9 },
  },
  groq = {
    protocol = "openai_chat", base = "https://api.groq.com/openai/v1", base_env = "GROQ_BASE_URL",
    key_env = "GROQ_API_KEY", default = defaults.groq,
    traits = { max_tokens_field = "max_completion_tokens" },
  },
  xai = {
    protocol = "openai_chat", base = "https://api.x.ai/v1", base_env = "XAI_BASE_URL",
    key_env = "XAI_API_KEY", default = defaults.xai,
    traits = { max_tokens_field = "max_completion_tokens" },
  },
  ollama = {
    protocol = "ollama", base = "http://127.0.0.1:11434", base_env = "OLLAMA_HOST", own_models = true,
    traits = { schema_with_tools = false },
  },
  llamacpp = {
    protocol = "openai_chat", base = "http://127.0.0.1:8080/v1", base_env = "LLAMACPP_BASE_URL", default = "default", own_models = true,
    traits = { top_k = true, schema_with_tools = false },
  },
  vllm = {
    protocol = "openai_chat", base = "http://127.0.0.1:8000/v1", base_env = "VLLM_BASE_URL",
    key_env = "VLLM_API_KEY", key_needed = false, own_models = true, traits = { top_k = true, schema_with_tools = false },
  },
}

-- Where Google's cloud has a location.
local function google(publisher)
  return function(variable)
    local location = variable "GOOGLE_CLOUD_LOCATION:-global"
    local host = location == "global" and "aiplatform.googleapis.com" or (location == "us" or location == "eu")
      and ("aiplatform.%s.rep.googleapis.com"):format(location) or location .. "-aiplatform.googleapis.com"
    return ("https://%s/v1/projects/%s/locations/%s/publishers/%s"):format(host, variable "GOOGLE_CLOUD_PROJECT", location, publisher)
  end
end

local gcloud = { "gcloud", "auth", "application-default", "print-access-token" }

list.bedrock = {
  protocol = "bedrock", base = "https://bedrock-runtime.${AWS_REGION|AWS_DEFAULT_REGION}.amazonaws.com", base_env = "BEDROCK_BASE_URL",
  key_env = "AWS_BEARER_TOKEN_BEDROCK", region = "${AWS_REGION|AWS_DEFAULT_REGION}",
  key_command = { "aws", "configure", "export-credentials", "--format", "process" },
}
list.vertex = {
  protocol = "gemini", base = "https://aiplatform.googleapis.com", place = google "google", base_env = "VERTEX_BASE_URL",
  key_env = "VERTEX_ACCESS_TOKEN", key_header = "Authorization: Bearer", key_command = gcloud,
}
list["vertex-claude"] = {
  protocol = "anthropic", base = "https://aiplatform.googleapis.com", place = google "anthropic", base_env = "VERTEX_CLAUDE_BASE_URL",
  key_env = "VERTEX_ACCESS_TOKEN", key_header = "Authorization: Bearer", key_command = gcloud, traits = { vertex = true },
}
list.azure = {
  protocol = "openai_responses", base = "${AZURE_OPENAI_ENDPOINT}/openai/v1", base_env = "AZURE_OPENAI_BASE_URL",
  key_env = "AZURE_OPENAI_API_KEY", key_header = "api-key",
}
list["azure-chat"] = {
  protocol = "openai_chat", base = "${AZURE_OPENAI_ENDPOINT}/openai/v1", base_env = "AZURE_OPENAI_BASE_URL",
  key_env = "AZURE_OPENAI_API_KEY", key_header = "api-key", traits = { max_tokens_field = "max_completion_tokens" },
}

local declared = registered.new(list)

--- Who is asked first when no model was named: whose key is there.
providers.order = { "anthropic", "openai", "gemini", "openrouter", "deepseek", "mistral", "groq", "xai" }

local protocols = { openai_chat = true, openai_responses = true, anthropic = true, gemini = true, ollama = true, bedrock = true }

local field_types = {
  protocol = "string", base = "string", base_env = "string", key_needed = "boolean", key_header = "string",
  key_command = "words", key_command_env = "names", key_lifetime = "seconds", region = "string", default = "string", body = "table", own_models = "boolean", headers = "table", limits = "table", traits = "table", key_env = "names",
}
local limit_types = { requests = "count", tokens = "count", concurrent = "count", shared = "boolean" }
local trait_types = {
  max_tokens_field = "string", system_role = "string", reasoning_field = "string", stream_usage = "boolean",
  parallel_field = "boolean", seed = "boolean", json_schema = "boolean", reasoning_back = "boolean",
  strict_tools = "boolean", schema_with_tools = "boolean", top_k = "boolean", vertex = "boolean", finish_reason = "boolean", calls_in_text = "boolean", call_id_length = "count", fields = "fields",
}
local request_fields = { temperature = true, top_p = true, top_k = true, max_tokens = true, seed = true, stop = true, reasoning = true }

local is_a = {
  count = function(value) return math.type(value) == "integer" and value >= 0 end,
  names = function(value)
    if type(value) ~= "table" then return type(value) == "string" and value ~= "" end
    for _, name in ipairs(value) do
      if type(name) ~= "string" then return false end
    end
    return #value > 0
  end,
  seconds = function(value) return type(value) == "number" and value > 0 and value < 1e9 end,
  words = function(value)
    if type(value) ~= "table" then return false end
    for _, word in ipairs(value) do
      if type(word) ~= "string" or word:find "%z" then return false end
    end
    return #value > 0 and value[1] ~= ""
  end,
  fields = function(value)
    if type(value) ~= "table" then return false end
    for i, name in pairs(value) do
      if math.type(i) ~= "integer" or not request_fields[name] then return false end
    end
    return true
  end,
}
local words = {
  count = "a whole number from 0 on", names = "a variable's name, or several", seconds = "seconds, more than 0", words = "a program and its arguments, a list of texts",
  fields = "a list of: max_tokens, reasoning, seed, stop, temperature, top_k, top_p",
}

-- The same as JSON Schema, for editors.
local forms = {
  count = { type = "integer", minimum = 0 }, seconds = { type = "number", exclusiveMinimum = 0 },
  names = { anyOf = { { type = "string", minLength = 1 }, { type = "array", items = { type = "string" }, minItems = 1 } } },
  words = { type = "array", items = { type = "string" }, minItems = 1 },
  fields = { type = "array", items = { enum = sorted_keys(request_fields) } }, table = { type = "object" },
}

local function form_of(types)
  local members = {}
  for name, kind in pairs(types) do members[name] = forms[kind] or { type = kind } end
  return { type = "object", properties = members, additionalProperties = false }
end

--- `providers.yaml` as a JSON Schema, for editors.
---@return table
---@internal
function providers.json_schema()
  local one = form_of(field_types)
  one.required = { "protocol", "base" }
  one.properties.protocol = { enum = sorted_keys(protocols) }
  one.properties.headers = { type = "object", additionalProperties = { type = "string" }, maxProperties = 32 }
  one.properties.limits, one.properties.traits = form_of(limit_types), form_of(trait_types)
  return { type = "object", propertyNames = { pattern = "^[A-Za-z0-9_-]+$" }, additionalProperties = one }
end

local function is_of(value, kind)
  local special = is_a[kind]
  if special then return special(value) end
  return type(value) == kind
end

local function suggest_field(field, types)
  return suggest(field, sorted_keys(types))
end

-- Raises, with the line of whoever called providers.add, what is not known or of another type.
local function check(what, name, values, types)
  for field, value in pairs(values) do
    local kind = types[field]
    if not kind then
      local near = suggest_field(tostring(field), types)
      error(("unknown %s '%s' in provider '%s'%s"):format(what, tostring(field), name,
        near and (": did you mean '%s'?"):format(near) or ""), 4)
    elseif not is_of(value, kind) then
      local got = type(value) == "number" and tostring(value) or type(value)
      error(("bad %s '%s' in provider '%s' (%s expected, got %s)"):format(what, field, name, words[kind] or kind, got), 4)
    end
  end
end

local function check_headers(name, headers)
  local n = 0
  for header, value in pairs(headers) do
    n = n + 1
    if type(header) ~= "string" or not header:find "^[%w!#$%%&'*+.^_`|~-]+$" then
      error(("bad header name '%s' in provider '%s'"):format(tostring(header), name), 4)
    elseif type(value) ~= "string" or value:find "[%c]" then
      error(("bad header '%s' in provider '%s' (text without line breaks expected)"):format(header, name), 4)
    end
  end
  if n > 32 then error(("more than 32 headers in provider '%s'"):format(name), 4) end
end

local function check_body(name, body)
  if body == nil then return end
  local where, why = bodies.wrong(body)
  if where then error(("bad field 'body%s' in provider '%s': it %s"):format(where:gsub("/", "."), name, why), 4) end
end

-- Raises what is wrong with a declaration.
local function check_all(name, def)
  if type(name) ~= "string" or not name:find "^[%w_-]+$" then
    error("bad provider name (letters, digits, _ and - expected)", 3)
  end
  check("field", name, def, field_types)
  check("limit", name, def.limits or {}, limit_types)
  check("trait", name, def.traits or {}, trait_types)
  check_headers(name, def.headers or {})
  check_body(name, def.body)
  if not def.protocol or not def.base then
    error(("provider '%s' needs the fields 'protocol' and 'base'"):format(name), 3)
  elseif not protocols[def.protocol] then
    error(("provider '%s': unknown protocol '%s' (there are: anthropic, bedrock, gemini, ollama, openai_chat, openai_responses)")
      :format(name, def.protocol), 3)
  elseif def.base == "" or def.base:find "://" and not def.base:find "^%${" and not def.base:find "^[Hh][Tt][Tt][Pp][Ss]?://[^/?]" then
    error(("provider '%s': 'base' has to begin with http:// or https:// and a host"):format(name), 3)
  elseif def.key_header and not def.key_header:find "^[%w_-]+$" and not def.key_header:find "^[%w_-]+: ?[%w_-]+$" then
    error(("provider '%s': 'key_header' is a name ('api-key'), or one with a word ('Authorization: Bearer')"):format(name), 3)
  end
end

--- What is wrong with a declaration, if anything.
---@param name string
---@param def table
---@return string?
---@internal
function providers.wrong(name, def)
  local ok, err = pcall(check_all, name, def)
  if not ok then return (tostring(err):gsub("^[^:]*:%d+: ", "")) end
end

--- Declares a provider, or replaces one; nothing of the earlier declaration stays. The declarations of a run's script and folder
--- apply to this run only.
---@param name string
---@param def hocket.Provider
function providers.add(name, def)
  arguments("providers.add", 1, "string", name)
  arguments("providers.add", 2, "table", def)
  check_all(name, def)
  declared:set(name, def)
end

--- Returns the declaration of a provider, or nil.
---@param name string
---@return hocket.Provider?
function providers.get(name)
  return declared:get(name)
end

-- "ONE|OTHER:-text" -> the value of the first that is set, the text; or what stands for it.
local function value_of(inside)
  local names, otherwise = inside:match "^(.-):%-(.*)$"
  for name in (names or inside):gmatch "[%w_]+" do
    local value = system.getenv(name)
    if value and value ~= "" then return (value:gsub("/+$", "")) end
  end
  return otherwise or ("${%s}"):format(inside)
end

--- A text with its variables filled in; the ones that are not set stay as they are.
---@param text string
---@return string
---@internal
function providers.expand(text)
  return (text:gsub("%${([^}]*)}", value_of))
end

--- The variable that an address, or a region, lacks.
---@param def hocket.Provider
---@param base string
---@param key? string
---@return string?
---@internal
function providers.missing(def, base, key)
  local region = not key and def.region and providers.expand(def.region) or ""
  local inside = (base .. region):match "%${([^}]*)}"
  return inside and inside:match "[%w_]+" or nil
end

--- Where a provider is: its URL, or that of its variable.
---@param name string
---@return string?
---@internal
function providers.base_of(name)
  local def = declared:get(name)
  if not def then return nil end
  local base = def.base_env and system.getenv(def.base_env)
  if not base then base = def.place and def.place(value_of) or providers.expand(def.base) end
  if not base:find "^%a+://" then base = "http://" .. base end -- OLLAMA_HOST=127.0.0.1:11434
  if name == "ollama" then base = base:gsub("0%.0%.0%.0", "127.0.0.1") end
  return base
end

--- Tells whether a provider's models run on this machine, where nobody bills them. A gateway on this machine is different: it
--- calls other servers, which do.
---@param name string
---@return boolean
function providers.is_local(name)
  local def = declared:get(name)
  local host = def and def.own_models and providers.base_of(name):match "^%a+://([^/?#]*)"
  if not host then return false end
  host = host:gsub("^.*@", ""):gsub(":%d+$", ""):lower()
  return host == "localhost" or host == "[::1]" or host:find "^127%.%d+%.%d+%.%d+$" ~= nil
end

-- How the models are called that one provider alone has. (gpt-oss runs anywhere.)
local makers = {
  { "^claude%-", "anthropic" }, { "^gemini%-", "gemini" }, { "^gpt%-%d", "openai" }, { "^o%d", "openai" }, { "^chatgpt%-", "openai" },
  { "^mistral%-", "mistral" }, { "^codestral%-", "mistral" }, { "^magistral%-", "mistral" }, { "^deepseek%-", "deepseek" }, { "^grok%-", "xai" },
}

local hosts, n_hosts = {}, 0 -- by URL: each agent asks for those of the same few addresses

local function host_of(url)
  if hosts[url] then return hosts[url] end
  if n_hosts == 100 then hosts, n_hosts = {}, 0 end
  hosts[url], n_hosts = (url:lower():match "^%a+://([^/?]+)" or ""):gsub("^.*@", ""):gsub(":%d+$", ""), n_hosts + 1
  return hosts[url]
end

--- How a server at this base URL is spoken to: the declaration's own way, or, at another's than the provider's own
--- servers (eu.api.openai.com is one of api.openai.com's), its `elsewhere`.
---@param def hocket.Provider
---@param base string
---@return {protocol: string, traits?: table}
---@internal
function providers.spoken(def, base)
  if not def.elsewhere then return def end
  local own, host = host_of(def.base), host_of(base)
  return (host == own or host:sub(-#own - 1) == "." .. own) and def or def.elsewhere
end

-- Where the models' own makers, and the ones that serve others' models by parsers of their own, are: what is left of a host's name.
local function domain_of(url)
  return host_of(url):match "[%w-]+%.%a+$"
end

local hosted = { ["azure.com"] = true }
for _, def in pairs(list) do
  local domain = not def.own_models and domain_of(def.base)
  if domain then hosted[domain] = true end
end

--- Whether a base URL is at a place where somebody's models are hosted that we know by name.
---@param base string
---@return boolean
---@internal
function providers.is_hosted(base)
  return hosted[domain_of(base)] == true
end

--- Whether a base URL is on this machine or in a network of one's own, by its host's name or address.
---@param base string
---@return boolean
---@internal
function providers.is_near(base)
  local host = host_of(base)
  local second = tonumber(host:match "^172%.(%d+)%.")
  return not host:find("[.:]") or host:find "^127%." ~= nil or host:find "^10%." ~= nil or host:find "^192%.168%." ~= nil
    or second ~= nil and second >= 16 and second < 32 or host:find "%.local$" ~= nil or host:find "^%[::1%]" ~= nil
end

--- Whether calls that a model at this base URL writes as text are read as calls: the declaration says so, or else it is a server
--- that nobody here knows.
---@param def hocket.Provider
---@param base string
---@return boolean
---@internal
function providers.calls_in_text(def, base)
  local own = def.traits and def.traits.calls_in_text
  if own ~= nil then return own end
  return def.own_models or not hosted[domain_of(base)]
end

--- What a model is called by its maker: without folders, and without Bedrock's region and maker.
---@param name string
---@return string
---@internal
function providers.plain_model(name)
  name = name:match "[^/]+$" or name
  return name:match "^[%l-]*%.?%l+%.(%l[%w-]+.*)$" or name
end

--- "provider/model" for a model's name alone, where that says whose it is: gemini-flash-latest. What has a slash
--- names its provider.
---@param name string
---@return string? id
---@internal
function providers.of_model(name)
  if name:find("/", 1, true) then return nil end
  for _, maker in ipairs(makers) do
    if name:find(maker[1]) then return maker[2] .. "/" .. name end
  end
end

--- All names, sorted.
---@return string[]
function providers.names()
  return declared:list()
end

return providers
