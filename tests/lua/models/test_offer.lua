--- Which models a server offers: the lists of all protocols, keys, and lists that are none.
local t = require "harness"
local json = require "hocket.json"
local model = require "model"
local offer = require "hocket.internal.models.offer"

-- A server with one list; what it was asked is in `seen`.
local function serving(path, body, status)
  local seen = {}
  local m = model.raw(function(listener, request)
    seen.path, seen.headers = request.path, request.headers
    local found = request.path:match "^[^?]*" == path
    listener:respond(request.id, found and (status or 200) or 404, { ["content-type"] = "application/json" },
      type(body) == "string" and body or json.encode(body))
  end, nil, true)
  return m, seen
end

t.test("each protocol's list, with its key", function()
  for _, case in ipairs {
    { "openai_chat", "/v1/models", { data = { { id = "a" }, { id = "b/c:d" } } }, "/v1", "authorization", "Bearer k" },
    { "openai_responses", "/v1/models", { data = { { id = "a" }, { id = "b/c:d" } } }, "/v1", "authorization", "Bearer k" },
    { "anthropic", "/v1/models", { data = { { id = "a" }, { id = "b/c:d" } } }, "", "x-api-key", "k" },
    { "gemini", "/v1beta/models", { models = { { name = "models/a" }, { name = "b/c:d" } } }, "/v1beta", "x-goog-api-key", "k" },
    { "ollama", "/api/tags", { models = { { name = "a" }, { name = "b/c:d" } } }, "", "authorization", "Bearer k" },
  } do
    local protocol, path, body, base, header, value = table.unpack(case)
    local m <close>, seen = serving(path, body)
    local root = m.base:match "^(http://[^/]+)"
    t.same(offer.names({ protocol = protocol }, root .. base, "k"), { "a", "b/c:d" }, protocol)
    t.equal(seen.headers[header], value)
    offer.names({ protocol = protocol }, root .. base .. "/?api-version=1", nil)
    t.has(seen.path, path .. "?")
    t.has(seen.path, "api-version=1")
    t.equal(seen.headers[header], nil)
  end
end)

t.test("windows and prices, as servers say them", function()
  for _, case in ipairs {
    { "openai_chat", "/v1/models", { data = { { id = "a", context_length = 1000, top_provider = { max_completion_tokens = 50 },
      pricing = { prompt = "0.000002", completion = "0.00001", input_cache_read = "0.0000002" } }, { id = "b", max_model_len = 2000, pricing = { prompt = "-1", completion = "x" } } } } },
    { "anthropic", "/v1/models", { data = { { id = "a", max_input_tokens = 1000, max_tokens = 50 }, { id = "b", max_input_tokens = "many" } } } },
    { "gemini", "/v1/models", { models = { { name = "models/a", inputTokenLimit = 1000, outputTokenLimit = 50 }, { name = "models/b", inputTokenLimit = -5 } } } },
  } do
    local m <close> = serving(case[2], case[3])
    local list = assert(offer.list({ protocol = case[1] }, m.base))
    t.equal(list[1].window, 1000, case[1])
    t.equal(list[1].output, 50, case[1])
    t.equal(list[2].window, case[1] == "openai_chat" and 2000 or nil, case[1])
    if case[1] == "openai_chat" then
      t.equal(("%.6g %.6g %.6g"):format(list[1].price.input, list[1].price.output, list[1].price.cached), "2 10 0.2")
      t.equal(list[2].price, nil)
    end
  end
  t.equal(offer.list({ protocol = "bedrock" }, "http://127.0.0.1:1"), nil)
end)

t.test("what is no name is left out; what is no list is said", function()
  local m <close> = serving("/v1/models", { data = { { id = "good" }, { id = "\27[31mred" }, { id = "a b" }, { id = ("x"):rep(500) }, { id = 5 }, "no", {} } })
  t.same(offer.names({ protocol = "openai_chat" }, m.base), { "good" })
  for body, why in pairs { ["nonsense"] = "no JSON", ["[]"] = "no list 'data'", ["{\"data\": 5}"] = "no list 'data'" } do
    local other <close> = serving("/v1/models", body)
    local names, said = offer.names({ protocol = "openai_chat" }, other.base)
    t.equal(names, nil)
    t.has(said, why)
  end
end)

t.test("a server that loads its model is waited for; a path is a name, too", function()
  local n = 0
  local m <close> = model.raw(function(listener, request)
    n = n + 1
    if n == 1 then return listener:respond(request.id, 503, {}, [[{"error":{"message":"Loading model","type":"unavailable_error","code":503}}]]) end
    listener:respond(request.id, 200, {}, json.encode { data = { { id = "/models/small.gguf", owned_by = "llamacpp" } } })
  end, nil, true)
  t.equal(offer.choose("llamacpp", { protocol = "openai_chat" }, m.base, nil, "LLAMACPP_BASE_URL"), "/models/small.gguf")
  t.equal(n, 2)
end)

t.test("the provider's own default where the server has it; else the names are offered", function()
  local m <close> = serving("/v1/models", { data = { { id = "one" }, { id = "two" } } })
  local def = { protocol = "openai_chat", default = "two" }
  t.equal(offer.choose("openai", def, m.base, nil, "OPENAI_BASE_URL"), "two")
  def.default = "three"
  local err = t.fails("provider", "OPENAI_BASE_URL is set, and no model is named", offer.choose("openai", def, m.base, "k", "OPENAI_BASE_URL"))
  t.has(err.message, "offers one, two: write openai/MODEL: --model openai/one")
  local none <close> = serving("/nowhere", {})
  t.equal(offer.choose("openai", def, none.base, "k", "OPENAI_BASE_URL"), "three") -- a gateway without a list
  t.has(t.fails("provider", "HTTP status 404", offer.choose("openai", def, none.base, nil, "OPENAI_BASE_URL")).message, "openai/MODEL")
  local many, ids = {}, {}
  for i = 1, 30 do many[i], ids[i] = { id = "m" .. i }, "m" .. i end
  local full <close> = serving("/v1/models", { data = many })
  t.fails("provider", "m20 and 10 more", offer.choose("openai", def, full.base, nil, "X"))
end)

return t.finish()
