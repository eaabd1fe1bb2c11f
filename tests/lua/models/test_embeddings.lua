--- Vectors of texts: each form, batches, what servers get wrong, what is counted.
local flow = require "hocket.flow"
local hocket = require "hocket"
local json = require "hocket.json"
local model = require "model"
local s = require "scripted"
local t = require "harness"

-- A server that answers with what fn makes of each body.
local function serving(protocol, fn, fields)
  local seen = {}
  fields = fields or {}
  fields.protocol = protocol
  local m = model.raw(function(listener, request)
    seen[#seen + 1] = { path = request.path, body = json.decode(request.body), headers = request.headers }
    local body, status, headers = fn(seen[#seen].body, #seen)
    listener:respond(request.id, status or 200, headers or {}, type(body) == "string" and body or json.encode(body))
  end, fields)
  return m, seen
end

local function numbers(n) return json.array { n + 0.5, 1 } end

t.test("each form, in the texts' order", function()
  local m <close>, seen = serving("openai_chat", function() return { data = { { index = 1, embedding = numbers(2) }, { index = 0, embedding = numbers(1) } }, usage = { prompt_tokens = 7 } } end)
  local found = assert(hocket.embed({ "a", "b" }, { model = m.id, dimensions = 2 }))
  t.same(found.vectors, { { 1.5, 1.0 }, { 2.5, 1.0 } })
  t.equal(found.usage.input, 7)
  t.equal(found.usage.cost, nil)
  t.same(seen[1].body, { model = "m", input = { "a", "b" }, dimensions = 2, encoding_format = "float" })
  t.equal(seen[1].path, "/v1/embeddings")
  local g <close>, asked = serving("gemini", function() return { embeddings = { { values = numbers(3) } } } end)
  t.same(assert(hocket.embed("one", { model = g.id, dimensions = 2 })).vectors, { { 3.5, 1.0 } })
  t.equal(asked[1].path, "/v1/models/m:batchEmbedContents")
  t.same(asked[1].body.requests[1], { model = "models/m", content = { parts = { { text = "one" } } }, outputDimensionality = 2 })
  local o <close>, at = serving("ollama", function() return { embeddings = { numbers(4) }, prompt_eval_count = 3 } end)
  t.equal(assert(hocket.embed("one", { model = o.id })).usage.input, 3)
  t.equal(at[1].path, "/v1/api/embed")
  t.equal(at[1].body.truncate, false)
  local a <close> = serving("anthropic", function() return {} end)
  t.fails("unsupported", "has no vectors for texts", hocket.embed("one", { model = a.id }))
end)

t.test("batches by number and by size", function()
  local m <close>, seen = serving("openai_chat", function(body)
    local data = {}
    for i in ipairs(body.input) do data[i] = { index = i - 1, embedding = numbers(i) } end
    return { data = data, usage = { prompt_tokens = #data } }
  end)
  local texts = {}
  for i = 1, 1030 do texts[i] = "t" .. i end
  local found = assert(hocket.embed(texts, { model = m.id }))
  t.equal(#found.vectors, 1030)
  t.equal(found.usage.input, 1030)
  t.same({ #seen[1].body.input, #seen[2].body.input, #seen[3].body.input }, { 512, 512, 6 })
  t.equal(found.vectors[513][1], 1.5)
  local large = ("x"):rep(300000)
  assert(hocket.embed({ large, large, large }, { model = m.id }))
  t.equal(#seen, 6)
end)

t.test("what servers get wrong", function()
  local two = { data = { { index = 0, embedding = numbers(1) }, { index = 1, embedding = numbers(1) } } }
  for _, case in ipairs {
    { { data = { { index = 0, embedding = numbers(1) } } }, "2 texts were sent, and 1 vectors came" },
    { { data = { { index = 0, embedding = numbers(1) }, { index = 0, embedding = numbers(1) } } }, "2 texts were sent, and 1 vectors" },
    { { data = { { index = 0, embedding = numbers(1) }, { index = 1, embedding = json.array { 1 } } } }, "differ in length" },
    { { data = { { index = 0, embedding = json.array { "x" } }, { index = 1, embedding = json.array { 1 } } } }, "no number" },
    { { data = { { index = 0, embedding = json.array {} }, { index = 1, embedding = json.array {} } } }, "its vectors are none" },
    { { data = { { index = 99999999999, embedding = numbers(1) }, 5 } }, "texts were sent" },
    { "[]", "texts were sent" }, { "nonsense", "no JSON" }, { { data = "x" }, "texts were sent" },
  } do
    local m <close> = serving("openai_chat", function() return case[1] end)
    t.fails("protocol", case[2], hocket.embed({ "a", "b" }, { model = m.id }))
  end
  local m <close> = serving("openai_chat", function() return two end)
  t.fails("protocol", "3 dimensions were asked for, and have 2", hocket.embed({ "a", "b" }, { model = m.id, dimensions = 3 }))
end)

t.test("tried again where that may help; a key that comes back is hidden", function()
  local m <close>, seen = serving("openai_chat", function(_, n)
    if n == 1 then return { error = { message = "slow down" } }, 429, { ["retry-after"] = "0" } end
    return { data = { { index = 0, embedding = numbers(1) } } }
  end)
  assert(hocket.embed("a", { model = m.id }))
  t.equal(#seen, 2)
  local bad <close>, asked = serving("openai_chat", function() return { error = { message = "bad key the-embed-key" } }, 401 end,
    { key_command = { "/bin/echo", "the-embed-key" } })
  local err = t.fails("auth", "bad key *************", hocket.embed("a", { model = bad.id }))
  t.equal(#asked, 1)
  t.equal(asked[1].headers.authorization, "Bearer the-embed-key")
  t.equal(err.http_status, 401)
  local long <close> = serving("openai_chat", function() return { error = { message = ("x"):rep(395) .. "the-embed-key" } }, 401 end,
    { key_command = { "/bin/echo", "the-embed-key" } })
  t.has(t.fails("auth", "x*****", hocket.embed("a", { model = long.id })).message, "x*****") -- cut, and no part of the key is shown
end)

t.test("it is counted to the run", function()
  local m <close> = serving("openai_chat", function() return { data = { { index = 0, embedding = numbers(1) } }, usage = { prompt_tokens = 1000 } } end)
  hocket.prices.set(m.id, { input = 2, output = 0 })
  local run, reply = s.run(function()
    local found = assert(hocket.embed("a", { model = m.id }))
    t.equal(found.usage.cost, 0.002)
    return { text = "x" }
  end)
  t.ok(reply)
  t.equal(run:usage().input, 1000)
  t.equal(run:usage().cost, 0.002)
end)

t.test("what was cancelled or out of time is counted, and what came before a failure", function()
  local entries = {}
  local m <close> = serving("openai_chat", function(body)
    if #body.input < 512 then return "no", 400 end
    for i = 1, 512 do entries[i] = { index = i - 1, embedding = numbers(1) } end
    return { data = entries, usage = { prompt_tokens = 1000 } }
  end)
  hocket.prices.set(m.id, { input = 2, output = 0 })
  local texts = {}
  for i = 1, 600 do texts[i] = "a" end
  local failed = s.run(function() t.fails("http", "HTTP status 400", hocket.embed(texts, { model = m.id })) end)
  t.equal(failed:usage().input, 1000)
  t.equal(failed:usage().cost, 0.002)
  local silent <close> = model.raw(function() end, { protocol = "openai_chat" }) -- it never answers
  local function usage_of(run) return { run:usage().calls, run:usage().unpriced } end
  t.same(usage_of(s.run(function()
    t.fails("timeout", "", flow.timeout(0.05, function() return hocket.embed("a", { model = silent.id }) end))
  end)), { 1, 1 })
  t.same(usage_of(s.run(function() t.fails("timeout", "", hocket.embed("a", { model = silent.id, timeout = 0.05 })) end)), { 1, 1 })
end)

t.test("nobody is asked where no calls are to be made", function()
  local system = require "hocket.internal.core.system"
  local m <close> = serving("openai_chat", function() return {} end)
  local getenv = system.getenv
  system.getenv = function(name) return name == "HOCKET_OFFLINE" and "1" or getenv(name) end
  local found, err = hocket.embed("a", { model = m.id })
  system.getenv = getenv
  t.fails("offline", "HOCKET_OFFLINE is set", found, err)
  t.equal(m.count, 0)
end)

t.test("what is no text, and no option", function()
  for _, bad in ipairs { {}, { "" }, { "a", 5 }, 5 } do
    t.equal(pcall(hocket.embed, bad, { model = "sim" }), false)
  end
  t.equal(pcall(hocket.embed, "a", { modle = "sim" }), false)
  t.equal(pcall(hocket.embed, "a", { model = "sim", dimensions = 0 }), false)
  t.fails("invalid", "HOCKET_EMBED_MODEL", hocket.embed "a")
end)

return t.finish()
