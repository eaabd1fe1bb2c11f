-- What front matter says of its model, in the request as it goes over the wire, in every protocol; and what a provider does not
-- take, which stays away.
local t = require "harness"
local hocket = require "hocket"
local json = require "hocket.json"
local sim = require "hocket.sim"
require "hocket.internal.runner.builtins"

local raw
local answer = "said"
local served = assert(sim.serve { reply = function(request)
  raw = request.raw
  return answer
end })

local protocols = { "openai_chat", "openai_responses", "anthropic", "gemini", "ollama" }
for _, protocol in ipairs(protocols) do
  hocket.provider("wire_" .. protocol, { protocol = protocol, base = served.base })
end

-- What the agent of this front matter sends.
local function sent(provider, lines, body)
  local dir <close> = t.dir()
  local file = dir:write("a.md", ("---\nname: a\nmodel: %s/mm\n%s\n---\n%s\n"):format(provider, lines, body or "The prompt."))
  raw = nil
  assert(hocket.run(hocket.agent(file), "Hello"))
  return t.ok(raw, "nothing was sent")
end

-- "options.top_k" of a body; nil when it is not there.
local function at(body, path)
  local value = body
  for name in path:gmatch "[^.]+" do
    value = type(value) == "table" and value[math.tointeger(tonumber(name)) or name] or nil
  end
  return value
end

-- One row for each setting: the line of the front matter, and for each protocol where it stands and what is there;
-- false: the protocol has no word for it, and the request is the same as without.
local settings = {
  { "temperature: 0.5", openai_chat = { "temperature", 0.5 }, openai_responses = { "temperature", 0.5 },
    anthropic = { "temperature", 0.5 }, gemini = { "generationConfig.temperature", 0.5 }, ollama = { "options.temperature", 0.5 } },
  { "temperature: 0", openai_chat = { "temperature", 0 }, openai_responses = { "temperature", 0 },
    anthropic = { "temperature", 0 }, gemini = { "generationConfig.temperature", 0 }, ollama = { "options.temperature", 0 } },
  { "top_p: 0.9", openai_chat = { "top_p", 0.9 }, openai_responses = { "top_p", 0.9 },
    anthropic = { "top_p", 0.9 }, gemini = { "generationConfig.topP", 0.9 }, ollama = { "options.top_p", 0.9 } },
  { "top_k: 40", openai_chat = false, openai_responses = false,
    anthropic = { "top_k", 40 }, gemini = { "generationConfig.topK", 40 }, ollama = { "options.top_k", 40 } },
  { "max_tokens: 123", openai_chat = { "max_tokens", 123 }, openai_responses = { "max_output_tokens", 123 },
    anthropic = { "max_tokens", 123 }, gemini = { "generationConfig.maxOutputTokens", 123 }, ollama = { "options.num_predict", 123 } },
  { "stop: [END, STOP]", openai_chat = { "stop", { "END", "STOP" } }, openai_responses = false, anthropic = { "stop_sequences", { "END", "STOP" } },
    gemini = { "generationConfig.stopSequences", { "END", "STOP" } }, ollama = { "options.stop", { "END", "STOP" } } },
  { "stop: END", openai_chat = { "stop", { "END" } }, openai_responses = false, anthropic = { "stop_sequences", { "END" } },
    gemini = { "generationConfig.stopSequences", { "END" } }, ollama = { "options.stop", { "END" } } },
  { "seed: 7", openai_chat = { "seed", 7 }, openai_responses = false, anthropic = false,
    gemini = { "generationConfig.seed", 7 }, ollama = { "options.seed", 7 } },
  { "reasoning: low", openai_chat = { "reasoning_effort", "low" }, openai_responses = { "reasoning.effort", "low" },
    anthropic = { "output_config.effort", "low" }, gemini = { "generationConfig.thinkingConfig.thinkingLevel", "low" }, ollama = { "think", true } },
  { "reasoning: 2048", openai_chat = { "reasoning_effort", "low" }, openai_responses = { "reasoning.effort", "low" },
    anthropic = { "output_config.effort", "low" }, gemini = { "generationConfig.thinkingConfig.thinkingBudget", 2048 }, ollama = { "think", true } },
  { "name: a", openai_chat = { "model", "mm" }, openai_responses = { "model", "mm" }, anthropic = { "model", "mm" }, ollama = { "model", "mm" } },
}

local function show(value)
  return json.encode(value)
end

for _, row in ipairs(settings) do
  t.test(row[1], function()
    for _, protocol in ipairs(protocols) do
      local expected = row[protocol]
      local lines = row[1] == "name: a" and "description: x" or row[1]
      local body = sent("wire_" .. protocol, lines)
      if expected then
        t.equal(show(at(body, expected[1]) == nil and "missing" or at(body, expected[1])), show(expected[2]), protocol .. " " .. expected[1])
      elseif expected == false then
        t.equal(show(body), show(sent("wire_" .. protocol, "description: x")), protocol)
      end
    end
  end)
end

t.test("the prompt", function()
  for protocol, path in pairs {
    openai_chat = "messages.1.content", openai_responses = "instructions", anthropic = "system.1.text",
    gemini = "systemInstruction.parts.1.text", ollama = "messages.1.content",
  } do
    t.equal(at(sent("wire_" .. protocol, "variables: {x: 1}", "Say {{x}}."), path), "Say 1.", protocol)
  end
end)

t.test("a schema of the answer", function()
  answer = '{"a": 1}'
  for protocol, path in pairs {
    openai_chat = "response_format.json_schema.schema", openai_responses = "text.format.schema",
    anthropic = "output_config.format.schema", gemini = "generationConfig.responseJsonSchema", ollama = "format",
  } do
    local body = sent("wire_" .. protocol, "output: {type: object, required: [a], properties: {a: {type: integer}}}")
    local expected = { type = "object", required = { "a" }, properties = { a = { type = "integer" } } }
    if protocol == "anthropic" then expected.additionalProperties = false end -- wanted there of all objects
    t.same(at(body, path), expected, protocol)
  end
  answer = "said"
end)

t.test("tools", function()
  hocket.tool.set("clock", function()
    return hocket.tool { name = "clock", description = "The time.", parameters = { type = "object", properties = { zone = { type = "string" } } }, run = print }
  end)
  for protocol, path in pairs {
    openai_chat = "tools.1.function.name", openai_responses = "tools.1.name", anthropic = "tools.1.name",
    gemini = "tools.1.functionDeclarations.1.name", ollama = "tools.1.function.name",
  } do
    t.equal(at(sent("wire_" .. protocol, "tools: [clock]"), path), "clock", protocol)
  end
end)

t.test("the settings of an agent that is called are its own", function()
  local dir <close> = t.dir()
  dir:write("a.md", "---\nmodel: wire_ollama/mm\ntemperature: 0.1\nhandoff: b\n---\nA\n")
  dir:write("b.md", "---\nmodel: wire_gemini/mm\ntemperature: 0.9\nmax_tokens: 5\n---\nB\n")
  assert(hocket.run(hocket.agents(dir.path).a, "Hello"))
  t.equal(at(raw, "generationConfig.temperature"), 0.9)
  t.equal(at(raw, "generationConfig.maxOutputTokens"), 5)
end)

t.test("a provider is sent the fields that it lists, and no others", function()
  local all = "temperature: 0.5\ntop_p: 0.25\nmax_tokens: 9\nseed: 7\nstop: [x]\nreasoning: low"
  for name, fields in pairs { wire_few = { "seed", "max_tokens" }, wire_none = {} } do
    hocket.provider(name, { protocol = "openai_chat", base = served.base,
      traits = { fields = fields } })
  end
  local few, none = sent("wire_few", all), sent("wire_none", all)
  t.equal(few.seed, 7)
  t.equal(few.max_tokens, 9)
  for _, name in ipairs { "temperature", "top_p", "stop", "reasoning_effort" } do t.equal(few[name], nil, name) end
  for _, name in ipairs { "temperature", "top_p", "stop", "reasoning_effort", "seed", "max_tokens" } do t.equal(none[name], nil, name) end
  t.ok(few.messages and none.messages)
  t.raises("a list of: max_tokens", hocket.provider, "wire_bad", { protocol = "openai_chat", base = "http://127.0.0.1:1", traits = { fields = { "seeds" } } })
end)

t.test("what a provider does not take stays away", function()
  hocket.provider("wire_old", { protocol = "openai_chat", base = served.base,
    traits = { max_tokens_field = "max_completion_tokens", seed = false, json_schema = false, top_k = true } })
  answer = '{"a": 1}'
  local body = sent("wire_old", "seed: 7\nmax_tokens: 9\ntop_k: 3\noutput: {type: object}")
  answer = "said"
  t.equal(body.seed, nil)
  t.equal(body.max_completion_tokens, 9)
  t.equal(body.max_tokens, nil)
  t.equal(body.top_k, 3)
  t.equal(at(body, "response_format.type"), "json_object")
  t.has(at(body, "messages.1.content"), '{"type":"object"}')
end)

t.test("the providers that take no more than they know get no more", function()
  local traits = {}
  for name in pairs { mistral = 1, deepseek = 1, openai = 1 } do
    local def = require("hocket.providers").get(name == "openai" and "openai-chat" or name) -- openai speaks Responses
    traits[name] = def.traits
    hocket.provider("wire_as_" .. name, { protocol = def.protocol, base = served.base, traits = def.traits })
  end
  local mistral = sent("wire_as_mistral", "max_tokens: 9\nseed: 7")
  t.equal(mistral.max_tokens, 9) -- 422 for max_completion_tokens, seed, stream_options
  t.equal(mistral.max_completion_tokens, nil)
  t.equal(mistral.seed, nil)
  t.equal(mistral.stream_options, nil)
  t.equal(sent("wire_as_deepseek", "max_tokens: 9").max_tokens, 9)
  t.equal(traits.deepseek.reasoning_back, true) -- 400 for calls that come back without
  t.equal(sent("wire_as_openai", "max_tokens: 9").max_completion_tokens, 9)
end)

t.test("of several models the next one steps in", function()
  hocket.provider("wire_keyless", { protocol = "openai_chat", base = "http://127.0.0.1:1/v1", key_env = "HOCKET_TEST_NO_SUCH_KEY" })
  hocket.provider("wire_down", { protocol = "openai_chat", base = "http://127.0.0.1:1/v1" })
  local dir <close> = t.dir()
  local file = dir:write("a.md", "---\nmodel: [wire_keyless/x, wire_down/x, wire_ollama/mm]\nretries: 0\n---\nA\n")
  raw = nil
  local changes = {}
  local reply = assert(hocket.run(hocket.agent(file), "Hello", { on_event = function(event)
    if event.type == "model_fallback" then changes[#changes + 1] = event.from .. " " .. event.to .. " " .. event.reason end
  end }))
  t.equal(reply.text, "said")
  t.equal(raw.model, "mm")
  t.same(changes, { "wire_keyless/x wire_down/x auth", "wire_down/x wire_ollama/mm connect" })
end)

served.close()
return t.finish()
