--- Conversations over every protocol, for sdk.sh to record: what stands in the requests is then
--- checked against the types of the providers' own SDKs.
local json = require "hocket.json"
local llm = require "hocket.llm"
local model = require "hocket.model"
local support = require "sim_support"

local sim = require "hocket.sim"

local png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
local wav, pdf = "UklGRiQAAABXQVZFZm10IA==", "JVBERi0xLjQKJSVFT0YK"
local schema = json.encode { type = "object", properties = { city = { type = "string" } }, required = json.array { "city" }, additionalProperties = false }

local function ask(one, history, request)
  request.retries = 0
  return assert(llm.call(one, history, request))
end

-- Two tools in parallel, their results (one an error), the answer, and on.
local function with_tools(one, extra)
  local history = llm.history()
  history:user "How is the weather?"
  local request = { tools = support.tools, system = "Be brief." }
  for name, value in pairs(extra) do request[name] = value end
  local reply = ask(one, history, request)
  assert(#reply.calls == 2, "two calls expected")
  history:result(reply.calls[1], "rain")
  history:result(reply.calls[2], "no such city", true)
  request.tool_choice = nil
  ask(one, history, request)
  history:user "Thank you."
  ask(one, history, { system = "Be brief." })
end

local function with_settings(one)
  local history = llm.history()
  assert(history:add { role = "user", parts = json.array { { text = "What is this?" }, { image = { mime = "image/png", data = png } },
    { audio = { mime = "audio/wav", data = wav } }, { file = { mime = "application/pdf", data = pdf, name = "a.pdf" } }, { file = { mime = "application/pdf", data = pdf } } } })
  ask(one, history, { temperature = 0.5, max_tokens = 100, stop = '["END"]', stream = false })
  history = llm.history()
  history:user "Where?"
  ask(one, history, { schema = schema, schema_name = "place" })
end

local served = assert(sim.serve { reply = function(request)
  if request.schema then return '{"city":"Porto"}' end
  return support.weather(request)
end })
local close <close> = setmetatable({}, { __close = served.close })

-- Pictures by address, videos, tools of the provider's own.
local function with_more(one)
  local history = llm.history()
  local parts = json.array { { text = "What is this?" }, { image = { url = "https://w.example/cat.png" } } }
  if one.protocol == "gemini" then parts[3] = { file = { mime = "video/mp4", data = "AAAAGGZ0eXBpc29t" } } end
  assert(history:add { role = "user", parts = parts })
  local tools = {
    anthropic = { { name = "web_search", options = { max_uses = 2, allowed_domains = { "w.example" } } }, { name = "web_fetch", options = {} }, { name = "code_execution", options = {} } },
    openai_responses = { { name = "web_search", options = { allowed_domains = { "w.example" }, size = "low" } }, { name = "code_execution", options = {} },
      { name = "file_search", options = { stores = { "vs_1" }, max_results = 3 } }, { name = "image_generation", options = {} } },
    gemini = { { name = "web_search", options = {} }, { name = "web_fetch", options = {} }, { name = "code_execution", options = {} }, { name = "file_search", options = { stores = { "s" } } } },
  }
  ask(one, history, { server_tools = tools[one.protocol], tools = support.tools, reasoning = "low" })
end

local bases = { bedrock = "", ["openai"] = "/v1", ["openai-responses"] = "/v1", anthropic = "", gemini = "/v1beta", ollama = "", mistral = "/v1" }
local names = { openai = "gpt-5", ["openai-responses"] = "gpt-5", anthropic = "claude-sonnet-4-5", gemini = "gemini-2.5-pro",
  ollama = "llama3", bedrock = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", mistral = "mistral-small-latest" }
local hocket = require "hocket"
local providers = require "hocket.providers"
for name, base in pairs(bases) do
  local def = providers.get(name == "openai" and "openai-chat" or name)
  hocket.provider(name, { protocol = def.protocol, base = served.root .. base, traits = def.traits })
  local one = assert(model.resolve(name .. "/" .. names[name]))
  with_tools(one, {})
  with_tools(one, { reasoning = "low", stream = false })
  with_tools(one, { tool_choice = "required", parallel = true })
  with_settings(one)
  if one.protocol ~= "ollama" then with_more(one) end
end
return "recorded"
