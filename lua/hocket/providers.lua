--- The table of providers: where they are, how they are spoken to, where their keys are.
---
--- A further one takes a few lines in a script:
---
---     hocket.provider("mycloud", { protocol = "openai_chat", base = "https://llm.example/v1",
---                                  key_env = "MYCLOUD_API_KEY" })
---
--- after which "mycloud/some-model" is a model like any other.
local providers = {}

---@class hocket.Provider
---@field protocol "openai_chat"|"openai_responses"|"anthropic"|"gemini"|"ollama"
---@field base string URL of the API, without a slash at the end.
---@field base_env? string Variable that replaces `base`.
---@field key_env? string|string[] Variables that may hold the key, in order.
---@field key_needed? boolean Without a key nothing is sent. Default: whether there is a key_env.
---@field default? string The model used when this provider is chosen without one.
---@field headers? table<string, string>
---@field limits? {requests?: integer, tokens?: integer} Per minute, for all calls with one key; 0 allows none. What the server tells counts in any case.
---@field traits? table What the provider wants differently (see docs/providers.md).

---@type table<string, hocket.Provider>
local list = {
  openai = {
    protocol = "openai_chat", base = "https://api.openai.com/v1", base_env = "OPENAI_BASE_URL",
    key_env = "OPENAI_API_KEY", default = "gpt-5-mini",
    traits = { max_tokens_field = "max_completion_tokens" },
  },
  ["openai-responses"] = {
    protocol = "openai_responses", base = "https://api.openai.com/v1", base_env = "OPENAI_BASE_URL",
    key_env = "OPENAI_API_KEY", default = "gpt-5-mini",
  },
  anthropic = {
    protocol = "anthropic", base = "https://api.anthropic.com", base_env = "ANTHROPIC_BASE_URL",
    key_env = "ANTHROPIC_API_KEY", default = "claude-sonnet-4-5",
  },
  gemini = {
    protocol = "gemini", base = "https://generativelanguage.googleapis.com/v1beta", base_env = "GEMINI_BASE_URL",
    key_env = { "GEMINI_API_KEY", "GOOGLE_API_KEY" }, default = "gemini-2.5-flash",
  },
  openrouter = {
    protocol = "openai_chat", base = "https://openrouter.ai/api/v1", base_env = "OPENROUTER_BASE_URL",
    key_env = "OPENROUTER_API_KEY", default = "openai/gpt-5-mini",
  },
  deepseek = {
    protocol = "openai_chat", base = "https://api.deepseek.com/v1", base_env = "DEEPSEEK_BASE_URL",
    key_env = "DEEPSEEK_API_KEY", default = "deepseek-chat",
    traits = { json_schema = false, parallel_field = false, seed = false },
  },
  mistral = {
    protocol = "openai_chat", base = "https://api.mistral.ai/v1", base_env = "MISTRAL_BASE_URL",
    key_env = "MISTRAL_API_KEY", default = "mistral-small-latest",
    traits = { stream_usage = false, seed = false, call_id_length = 9 },
  },
  groq = {
    protocol = "openai_chat", base = "https://api.groq.com/openai/v1", base_env = "GROQ_BASE_URL",
    key_env = "GROQ_API_KEY", default = "openai/gpt-oss-20b",
  },
  xai = {
    protocol = "openai_chat", base = "https://api.x.ai/v1", base_env = "XAI_BASE_URL",
    key_env = "XAI_API_KEY", default = "grok-4-fast",
  },
  ollama = {
    protocol = "ollama", base = "http://127.0.0.1:11434", base_env = "OLLAMA_HOST",
  },
  llamacpp = {
    protocol = "openai_chat", base = "http://127.0.0.1:8080/v1", base_env = "LLAMACPP_BASE_URL", default = "default",
  },
  vllm = {
    protocol = "openai_chat", base = "http://127.0.0.1:8000/v1", base_env = "VLLM_BASE_URL",
    key_env = "VLLM_API_KEY", key_needed = false,
  },
}

--- Who is asked first when no model was named: whose key is there.
providers.order = { "anthropic", "openai", "gemini", "openrouter", "deepseek", "mistral", "groq", "xai" }

local protocols = { openai_chat = true, openai_responses = true, anthropic = true, gemini = true, ollama = true }

local field_types = {
  protocol = "string", base = "string", base_env = "string", key_needed = "boolean", default = "string",
  headers = "table", limits = "table", traits = "table",
}

--- Declares a provider, or replaces one.
---@param name string
---@param def hocket.Provider
function providers.add(name, def)
  if type(name) ~= "string" or not name:find "^[%w_-]+$" then
    error("bad provider name (letters, digits, _ and - expected)", 2)
  end
  for field, value in pairs(def) do
    local kind = field_types[field]
    if field ~= "key_env" and not kind then
      error(("unknown field '%s' in provider '%s'"):format(tostring(field), name), 2)
    elseif kind and type(value) ~= kind then
      error(("bad field '%s' in provider '%s' (%s expected, got %s)"):format(field, name, kind, type(value)), 2)
    end
  end
  if not def.protocol or not def.base then
    error(("provider '%s' needs the fields 'protocol' and 'base'"):format(name), 2)
  end
  if not protocols[def.protocol] then
    error(("provider '%s': unknown protocol '%s' (there are: anthropic, gemini, ollama, openai_chat, openai_responses)")
      :format(name, def.protocol), 2)
  end
  list[name] = def
end

---@return hocket.Provider?
function providers.get(name)
  return list[name]
end

--- All names, sorted.
---@return string[]
function providers.names()
  local names = {}
  for name in pairs(list) do names[#names + 1] = name end
  table.sort(names)
  return names
end

return providers
