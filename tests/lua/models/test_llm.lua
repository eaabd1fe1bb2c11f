-- Retries, fallbacks, races, limits and prices, against a server in this process that answers as
-- each case says.
local core = require "hocket.internal.core.llm"
local fiber = require "hocket.internal.core.fiber"
local hocket = require "hocket"
local json = require "hocket.json"
local askers = require "hocket.internal.models.asker"
local model_calls = require "hocket.internal.models.calls"
local llm = require "hocket.llm"
local model = require "hocket.model"
local prices = require "hocket.prices"
local server = require "hocket.internal.core.server"
local t = require "harness"

local count = 0

-- A provider "tN" whose requests go to answer(listener, request, n), n counting them from 1. Each is at
-- an address of its own: a port may be given again, and the limits of a place outlive who served there.
local function serve(answer, def)
  count = count + 1
  local address = "127.0.0." .. count + 1
  local listener = assert(server.new { port = 0, address = address })
  local seen = { n = 0, times = {}, bodies = {} }
  local fibers = fiber.detach(function()
    while true do
      local http = listener:accept()
      if not http then return end
      if http.method == "GET" then -- who it is, which is asked before the first call
        listener:respond(http.id, 404, {}, "{}")
      else
        seen.n = seen.n + 1
        seen.times[seen.n], seen.bodies[seen.n] = fiber.now(), json.decode(http.body)
        fiber.spawn(answer, listener, http, seen.n)
      end
    end
  end)
  seen.name = "t" .. count
  seen.base = ("http://%s:%d/v1"):format(address, listener:port())
  def = def or {}
  def.protocol, def.base = def.protocol or "openai_chat", ("http://%s:%d/v1"):format(address, listener:port())
  hocket.provider(seen.name, def)
  return setmetatable(seen, { __close = function()
    listener:close()
    fibers:cancel()
  end })
end

local function whole(listener, http, text, usage)
  listener:respond(http.id, 200, { ["content-type"] = "application/json" }, json.encode {
    id = "x", object = "chat.completion", model = "m", usage = usage or { prompt_tokens = 10, completion_tokens = 2 },
    choices = { { index = 0, finish_reason = "stop", message = { role = "assistant", content = text } } },
  })
end

local function refuse(listener, http, status, headers, err)
  headers = headers or {}
  headers["content-type"] = "application/json"
  listener:respond(http.id, status, headers, json.encode { error = err or { message = "no", type = "server_error" } })
end

local function stream(listener, http, pieces, last)
  listener:begin(http.id, 200, { ["content-type"] = "text/event-stream" })
  for _, piece in ipairs(pieces) do
    listener:write(http.id, "data: " .. json.encode { choices = { { index = 0, delta = { content = piece } } } } .. "\n\n")
  end
  if last then listener:write(http.id, last) end
  listener:finish(http.id)
end

local function asking()
  local history = llm.history()
  history:user "hello"
  return history
end

local function call(id, request, on_delta, emit)
  local history = asking()
  request = request or {}
  if request.stream == nil then request.stream = false end
  local reply, err = llm.call(type(id) == "string" and assert(model.resolve(id)) or id, history, request, on_delta, emit)
  return reply, err, history
end

-- ---- Retries --------------------------------------------------------------------------------

t.test("tries again, says so, and keeps one reply", function()
  local s <close> = serve(function(l, http, n)
    if n == 1 then return refuse(l, http, 503, { ["retry-after"] = "0.05" }) end
    whole(l, http, "good")
  end)
  local events = {}
  local reply, err, history = call(s.name .. "/m", {}, nil, function(type, payload) events[#events + 1] = { type, payload } end)
  t.equal(err, nil)
  t.equal(reply.text, "good")
  t.equal(reply.attempts, 2)
  t.equal(#history, 2)
  t.equal(events[1][1], "model_retry")
  t.equal(events[1][2].reason, "overloaded")
  t.ok(events[1][2].delay >= 0.05)
  t.ok(s.times[2] - s.times[1] >= 0.05, "it came back too early")
end)

-- A server that takes none of these: each is refused in the words of somebody who does.
local function picky(refusals)
  return serve(function(l, http)
    local body = json.decode(http.body)
    for _, one in ipairs(refusals) do
      if body[one[1]] ~= nil and (not one.beside or body[one.beside] ~= nil) then
        return refuse(l, http, one.status or 400, nil, { message = one[2], type = "invalid_request_error" })
      end
    end
    whole(l, http, "good")
  end)
end

t.test("leaves out what a model does not take, and says so once", function()
  local s <close> = picky {
    { "temperature", "`temperature` and `top_p` cannot both be specified for this model. Please use only one.", beside = "top_p" },
    { "temperature", "Unsupported value: 'temperature' does not support 0.4 with this model. Only the default (1) value is supported." },
    { "seed", '[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted"}]', status = 422 },
    { "stop", "Argument not supported on this model: stop" },
    { "reasoning_effort", "Model m does not support parameter reasoningEffort." },
  }
  local said = {}
  local function emit(type, payload) said[#said + 1] = type .. " " .. tostring(payload.message) end
  local everything = { temperature = 0.4, top_p = 0.9, seed = 7, stop = '["END"]', reasoning = "low", max_tokens = 50 }
  local reply = t.ok(call(s.name .. "/m", everything, nil, emit))
  t.equal(reply.text, "good")
  t.equal(s.n, 6)
  t.equal(s.bodies[6].temperature, nil)
  t.equal(s.bodies[6].max_tokens, 50)
  t.equal(#said, 5)
  t.equal(said[1], ("warning %s/m does not take 'top_p', which is left out"):format(s.name))
  t.ok(call(s.name .. "/m", everything, nil, emit))
  t.equal(s.n, 7, "it was asked again with what it does not take")
  t.ok(call(s.name .. "/other", { seed = 7 }, nil, emit))
  t.equal(s.n, 9, "what another model takes was not found out")
  t.equal(#said, 6)
end)

t.test("a call that a model does not let be forced is asked for freely, and that none is called stays", function()
  for _, words in ipairs { "deepseek-reasoner does not support this tool_choice", "Thinking may not be enabled when tool_choice forces tool use.",
    "The tool_choice parameter does not support being set to required or object in thinking mode", "tool_choice 'required' is incompatible with thinking enabled" } do
    local s <close> = serve(function(l, http)
      local choice = json.decode(http.body).tool_choice
      if choice and choice ~= "none" then return refuse(l, http, 400, nil, { message = words }) end
      whole(l, http, "good")
    end)
    local tools = '[{"name":"look","description":"x","parameters":{"type":"object","properties":{}}}]'
    t.ok(call(s.name .. "/m", { tools = tools, tool_choice = "required" }))
    t.ok(call(s.name .. "/m", { tools = tools, tool_choice = "look" }))
    t.equal(s.n, 3, "it was forced again")
    t.ok(call(s.name .. "/m", { tools = tools, tool_choice = "none" }))
    t.equal(s.bodies[4].tool_choice, "none")
  end
end)

t.test("the value none is refused once, like any other: what goes on being refused is an error", function()
  local function refusing(field, words)
    return serve(function(l, http, n)
      if n <= 5 and json.decode(http.body)[field] ~= nil then return refuse(l, http, 400, nil, { message = words }) end
      whole(l, http, "good")
    end)
  end
  local s <close> = refusing("reasoning_effort", "Unsupported value: 'reasoning_effort' does not support 'none' with this model.")
  t.ok(call(s.name .. "/m", { reasoning = "none" }))
  t.equal(s.n, 2, "it was asked again with what it does not take")
  t.equal(s.bodies[2].reasoning_effort, nil)

  local other <close> = refusing("tool_choice", "tool_choice is not supported")
  local tools = '[{"name":"look","description":"x","parameters":{"type":"object","properties":{}}}]'
  t.fails("http", "not supported", call(other.name .. "/m", { tools = tools, tool_choice = "none" }))
  t.equal(other.n, 1, "it was asked again, with the same request")
end)

t.test("whatever a refusal calls a setting, the request is sent again without it", function()
  for _, case in ipairs { { "temperature", "temperature is not supported" }, { "temperature", "temperature is incompatible with thinking" }, { "tool_choice", "unsupported tool_choice" } } do
    local s <close> = picky { case }
    call(s.name .. "/m", { temperature = 0, tools = '[{"name":"look","description":"x","parameters":{"type":"object","properties":{}}}]', tool_choice = "required" })
    t.equal(s.n, 2, case[2])
  end
end)

t.test("a turn that is prepared once leaves it out in all its calls, side by side too", function()
  local s <close> = picky { { "temperature", "`temperature` is deprecated for this model." } }
  local request = askers.prepare { temperature = 0, stream = false }
  local warnings = 0
  local function emit(type) if type == "warning" then warnings = warnings + 1 end end
  local results = hocket.flow.map({ 1, 2, 3 }, function()
    local reply, err = call(s.name .. "/m", request, nil, emit)
    return reply and reply.text or err
  end)
  t.same(results, { "good", "good", "good" })
  t.equal(warnings, 1)
  local before = s.n
  t.ok(call(s.name .. "/m", request))
  t.equal(s.n, before + 1)
end)

t.test("a value that is refused, and a server that refuses all the same, are errors", function()
  local s <close> = picky { { "temperature", "Invalid 'temperature': decimal above maximum value. Expected a value <= 2." } }
  t.fails("http", "decimal above maximum", call(s.name .. "/m", { temperature = 2 }))
  t.equal(s.n, 1)
  local stubborn <close> = serve(function(l, http) refuse(l, http, 400, nil, { message = "'temperature' is not supported" }) end)
  t.fails("http", "is not supported", call(stubborn.name .. "/m", { temperature = 1, retries = 0 }))
  t.equal(stubborn.n, 2)
  t.fails("http", "is not supported", call(stubborn.name .. "/m", {}))
  t.equal(stubborn.n, 3)
end)

t.test("comes again when it was told to, in whatever form", function()
  local function date(seconds) return os.date("!%a, %d %b %Y %H:%M:%S GMT", os.time() + seconds) end
  local gemini = { code = 429, message = "quota", status = "RESOURCE_EXHAUSTED", details = {
    { ["@type"] = "type.googleapis.com/google.rpc.RetryInfo", retryDelay = "0.2s" } } }
  local forms = {
    { 0.2, { ["retry-after"] = "0.2" } }, { 0.2, { ["retry-after-ms"] = "200" } }, { 0.2, { ["retry-after"] = "200ms" } },
    { 0.2, {}, gemini }, { 1, { date = date(0), ["retry-after"] = date(1) } },
  }
  for i, form in ipairs(forms) do
    local s <close> = serve(function(l, http, n)
      if n == 1 then return refuse(l, http, 429, form[2], form[3]) end
      whole(l, http, "good")
    end)
    local delay -- the one that was decided: a busy machine may come later
    local reply = t.ok(call(s.name .. "/m", {}, nil, function(type, payload) delay = type == "model_retry" and payload.delay or delay end))
    local waited = s.times[2] - s.times[1]
    t.equal(reply.attempts, 2)
    t.ok(delay >= form[1] and delay < form[1] + 0.6, ("form %d: wanted to come again after %.3f s"):format(i, delay))
    t.ok(waited >= form[1] - 0.005, ("form %d: came again after %.3f s"):format(i, waited))
  end
end)

t.test("gives up after the retries that were asked for, and at once on what is final", function()
  local s <close> = serve(function(l, http) refuse(l, http, 500, { ["retry-after"] = "0.01" }) end)
  for _, retries in ipairs { 0, 1, 3 } do
    local before = s.n
    local err = t.fails("http", "500", call(s.name .. "/m", { retries = retries }))
    t.equal(s.n - before, retries + 1)
    t.equal(err.attempts, retries + 1)
    t.equal(err.gave_up, "attempts")
  end
  local f <close> = serve(function(l, http) refuse(l, http, 400) end)
  t.fails("http", "400", call(f.name .. "/m"))
  t.equal(f.n, 1)
  local told <close> = serve(function(l, http) refuse(l, http, 500, { ["x-should-retry"] = "false" }) end)
  t.fails("http", "500", call(told.name .. "/m"))
  t.equal(told.n, 1)
end)

t.test("does not try again after a delta was handed out", function()
  local s <close> = serve(function(l, http) stream(l, http, { "one ", "two" }) end) -- and no end
  local got = ""
  local err = t.fails("truncated", "", call(s.name .. "/m", { stream = true }, function(_, text) got = got .. text end))
  t.equal(err.gave_up, "output")
  t.equal(s.n, 1)
  t.equal(got, "one two")
  local quiet <close> = serve(function(l, http, n) -- nobody has seen anything: it may be made again
    stream(l, http, { "one " }, n == 2 and 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n' or nil)
  end)
  local reply = t.ok(call(quiet.name .. "/m", { stream = true }))
  t.equal(reply.text, "one ")
  t.equal(quiet.n, 2)
end)

t.test("takes overloaded_error as the first event for a reason to try again", function()
  local s <close> = serve(function(l, http, n)
    l:begin(http.id, 200, { ["content-type"] = "text/event-stream" })
    if n == 1 then
      l:write(http.id, 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n')
    else
      l:write(http.id, table.concat {
        'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"c","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":1000,"output_tokens":1}}}\n\n',
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}\n\n',
        'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n',
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20}}\n\n',
        'event: message_stop\ndata: {"type":"message_stop"}\n\n',
      })
    end
    l:finish(http.id)
  end, { protocol = "anthropic" })
  prices.set(s.name .. "/*", { input = 3, output = 15, cached = 0.3, cache_write = 3.75 })
  local reply = t.ok(call(s.name .. "/c", { stream = true, max_tokens = 100 }, function() end))
  t.equal(reply.text, "hi")
  t.equal(s.n, 2)
  t.equal(reply.usage.input, 1110) -- all that was sent, cached or not
  t.equal(reply.cost, (10 * 3 + 100 * 0.3 + 1000 * 3.75 + 20 * 15) / 1000000)
end)

t.test("a deadline wins over retries and waits", function()
  local s <close> = serve(function(l, http, n) refuse(l, http, 500, { ["retry-after"] = n == 1 and "0.01" or "31" }) end)
  local began = fiber.now()
  local err = t.fails("http", "500", call(s.name .. "/m", { timeout = 30, retries = 10 }))
  t.equal(err.gave_up, "deadline")
  t.equal(s.n, 2)
  t.ok(fiber.now() - began < 15, "it waited for a deadline that it could not keep")
  local long <close> = serve(function(l, http) refuse(l, http, 429, { ["retry-after"] = "500" }) end)
  err = t.fails("http", "429", call(long.name .. "/m"))
  t.equal(err.gave_up, "too_long")
  t.equal(err.retry_after, 500.0)
  began = fiber.now() -- and the whole lane is told: nobody waits 500 seconds
  t.fails("limit", "left alone", call(long.name .. "/m"))
  t.fails("limit", "left alone", call(long.name .. "/other", { max_wait = 1000, timeout = 30 }))
  t.ok(fiber.now() - began < 15)
  t.equal(long.n, 1)
end)

t.test("retries keep within their budget", function()
  local s <close> = serve(function(l, http) refuse(l, http, 500, { ["retry-after"] = "0.001" }) end)
  for _ = 1, 50 do call(s.name .. "/m") end
  t.ok(s.n >= 50 + 10 and s.n <= 50 + 10 + 50 * 0.2 + 1, ("%d requests for 50 calls"):format(s.n))
end)

t.test("a failure names its model, and what may fix it", function()
  local function answers(status, kind, body, headers)
    return serve(function(l, http)
      headers = headers or {}
      headers["content-type"] = kind
      l:respond(http.id, status, headers, body)
    end, { key_env = "PATH" })
  end
  local cases = {
    { 200, "text/html", "<!DOCTYPE html><title> Sign in </title>", "the answer is a web page: Sign in, and no JSON (is the base URL right? It is http://127.0.0." },
    { 200, "application/json", '{"hello":"world"}', "no choices (is the base URL right?" },
    { 404, "text/html", "<html><h1>404 Not Found</h1><hr>nginx</html>", "HTTP status 404: a web page: 404 Not Found (is the base URL right?" },
    { 404, "application/json", '{"error":{"message":"The model `m` does not exist"}}', "does t%d+ offer a model 'm'%?" },
    { 302, "text/html", "<html>moved</html>", "HTTP status 302: a redirect to https://else.example/v1, and model calls follow none (is the base URL right?", { location = "https://else.example/v1?token=1" } },
    { 401, "application/json", '{"error":{"message":"bad key"}}', "(is the key in PATH right?)" },
    { 400, "application/json", '{"error":{"message":"too long","code":"context_length_exceeded"}}', "HTTP status 400: too long" },
    { 413, "text/plain", "too large", "(the conversation has become longer than this model takes)" },
    { 500, "text/html", "<html><title>502 Bad Gateway</title></html>", "HTTP status 500: a web page: 502 Bad Gateway" },
  }
  for _, case in ipairs(cases) do
    local s <close> = answers(case[1], case[2], case[3], case[5])
    local _, err = call(s.name .. "/m", { retries = 0 })
    t.equal(err.model, s.name .. "/m")
    t.ok(err.message:find(s.name .. "/m: ", 1, true) == 1, err.message)
    t.ok(err.message:find(case[4], 1, true) or err.message:find(case[4]), err.message)
    t.ok(not err.message:find "token=")
    local agent = hocket.agent { name = "poet", prompt = "p", model = s.name .. "/m", retries = 0 }
    _, err = hocket.run(agent, "x")
    t.ok(err.message:find("poet: " .. s.name .. "/m: ", 1, true) == 1, err.message)
  end
  hocket.provider("gone", { protocol = "openai_chat", base = "http://user:hidden@127.0.0.1:1/v1" })
  local _, err = call("gone/m", { retries = 0 })
  t.ok(err.message:find("is a server running there? The base URL is http://127.0.0.1:1/v1", 1, true) and not err.message:find "hidden", err.message)
end)

-- ---- The rate limit -----------------------------------------------------------------------------

t.test("a 429 of one call holds back all others of its lane", function()
  local s <close> = serve(function(l, http, n)
    if n == 1 then return refuse(l, http, 429, { ["retry-after-ms"] = "300" }) end
    whole(l, http, "good")
  end)
  local told, asked, others = false, 0, {}
  local first = fiber.spawn(function()
    return t.ok(call(s.name .. "/m", {}, nil, function(type) told = told or type == "model_retry" end))
  end)
  t.eventually(function() return told end)
  for i = 1, 5 do
    others[i] = fiber.spawn(function()
      asked = asked + 1
      return t.ok(call(s.name .. "/m"))
    end)
  end
  t.eventually(function() return asked == 5 end)
  local left = s.times[1] + 0.3 - fiber.now() -- of the Retry-After, which all of them have still to wait
  first:wait()
  for _, other in ipairs(others) do t.ok(other:wait().waited >= left - 0.005) end
  t.equal(s.n, 7)
  for i = 2, s.n do t.ok(s.times[i] - s.times[1] >= 0.3, "a request inside the Retry-After") end
end)

t.test("a rate limit that an answer tells only inside of it holds back the others, too", function()
  local cases = { openai_chat = { error = { message = "slow down", code = 429 } },
    anthropic = { type = "error", error = { type = "rate_limit_error", message = "slow down" } },
    gemini = { error = { message = "slow down", code = 429, status = "RESOURCE_EXHAUSTED" } },
    openai_responses = { type = "response.failed", response = { status = "failed", error = { code = "rate_limit_exceeded", message = "slow down" } } } }
  local function check(protocol, event)
    local s <close> = serve(function(l, http)
      l:begin(http.id, 200, { ["content-type"] = "text/event-stream" })
      l:write(http.id, "data: " .. json.encode(event) .. "\n\n")
      l:finish(http.id)
    end, { protocol = protocol })
    local reasons = {}
    local err = t.fails("provider", "slow down", call(s.name .. "/m", { stream = true, retries = 1 }, nil, function(_, event)
      reasons[#reasons + 1] = event.reason
    end))
    t.equal(err.attempts, 2)
    t.same(reasons, { "rate_limit" })
    t.ok(s.times[2] - s.times[1] >= 0.5, protocol)
    t.fails("provider", "slow down", call(s.name .. "/m", { stream = true, retries = 0 }))
    t.ok(s.times[3] - s.times[2] >= 1, protocol)
  end
  local checks = {}
  for protocol, event in pairs(cases) do checks[#checks + 1] = fiber.spawn(check, protocol, event) end
  for _, one in ipairs(checks) do one:wait() end
end)

-- Where there is a store, processes share a provider's limits: a fiber for each that lives as long as the host.
local limited = t.kept and 1 or 0

t.test("a call that waits for its turn can be cancelled, and times out", function()
  local s <close> = serve(function(l, http) refuse(l, http, 429, { ["retry-after"] = "60" }) end)
  t.fails("http", "429", call(s.name .. "/m", { retries = 0 }))
  local waiting = fiber.spawn(function() return call(s.name .. "/m") end)
  fiber.sleep(0.01)
  waiting:cancel()
  t.ok(waiting:join(1))
  t.equal(s.n, 1)
  local slow <close> = serve(function(l, http) whole(l, http, "x") end, { limits = { requests = 1 } })
  t.ok(call(slow.name .. "/m"))
  local began = fiber.now()
  t.fails("timeout", "rate limit", call(slow.name .. "/m", { timeout = 0.1 }))
  t.ok(fiber.now() - began < 30, "it waited for its turn, which comes after a minute")
  t.equal(slow.n, 1)
end, limited)

t.test("a limit of zero allows nothing", function()
  local s <close> = serve(function(l, http) whole(l, http, "x") end, { limits = { requests = 0 } })
  t.fails("limit", "set to 0 requests", call(s.name .. "/m"))
  t.equal(s.n, 0)
end, limited)

-- ---- Declarations ------------------------------------------------------------------------------------

t.test("a provider that is declared again is the new one, in all it says", function()
  local heads = {}
  local s <close> = serve(function(l, http)
    heads[#heads + 1] = http.headers["x-team"] or "none"
    whole(l, http, "x")
  end)
  local base = require("hocket.providers").get(s.name).base
  local function declare(name, def)
    def.protocol, def.base = "openai_chat", base
    hocket.provider(name, def)
    return call(name .. "/m", { seed = 3 })
  end
  t.ok(declare(s.name, { headers = { ["x-team"] = "blue" } }))
  t.ok(declare(s.name, { traits = { seed = false } }))
  t.same(heads, { "blue", "none" })
  t.equal(s.bodies[1].seed, 3)
  t.equal(s.bodies[2].seed, nil)
  -- the limits are the place's, whoever declares them, until who did has none any more
  t.fails("limit", "set to 0 requests", declare("second", { limits = { requests = 0 } }))
  t.fails("limit", "set to 0 requests", call(s.name .. "/m"))
  t.ok(declare("second", {}))
  t.ok(call(s.name .. "/m"))
end, limited)

t.test("a base with a query, and a key in another header", function()
  local seen = {}
  local s <close> = serve(function(l, http)
    seen = { http.path, http.headers["api-key"], http.headers.authorization, http.headers["x-goog-api-key"] }
    whole(l, http, "x")
  end)
  local base = require("hocket.providers").get(s.name).base
  local function try(def)
    def.key_env, def.base, def.protocol = "PATH", base .. def.base, def.protocol or "openai_chat"
    hocket.provider("placed", def)
    call("placed/m", { retries = 0 })
    return seen
  end
  local key = os.getenv "PATH"
  t.same(try { base = "/deployments/d/?api-version=1", key_header = "api-key" }, { "/v1/deployments/d/chat/completions?api-version=1", key })
  t.same(try { base = "?a=1&b=2" }, { "/v1/chat/completions?a=1&b=2", nil, "Bearer " .. key })
  seen = {}
  hocket.provider("placed", { protocol = "gemini", base = base .. "?a=1", key_env = "PATH", key_header = "Authorization: Bearer" })
  call("placed/m", { retries = 0, stream = true })
  t.same(seen, { "/v1/models/m:streamGenerateContent?alt=sse&a=1", nil, "Bearer " .. key })
end)

-- ---- Fallbacks -------------------------------------------------------------------------------------

t.test("goes on to the fallbacks, in order, and says why", function()
  local down <close> = serve(function(l, http) refuse(l, http, 401, nil, { message = "bad key", type = "invalid_request_error" }) end)
  local up <close> = serve(function(l, http) whole(l, http, "from the other") end)
  local events = {}
  local reply, err, history = call({ down.name .. "/a", "nowhere/b", up.name .. "/c" }, {}, nil, function(type, payload)
    events[#events + 1] = type == "model_fallback" and payload or nil
  end)
  t.equal(err, nil)
  t.equal(reply.text, "from the other")
  t.equal(reply.answered_by.id, up.name .. "/c")
  t.equal(#history, 2)
  t.equal(down.n, 1)
  t.equal(#reply.fallbacks, 2)
  t.equal(reply.fallbacks[1].reason, "auth")
  t.equal(reply.fallbacks[2].reason, "provider")
  t.same(events, reply.fallbacks)
  t.fails("provider", "unknown provider", call({ down.name .. "/a", "nowhere/b" }))
end)

t.test("an agent stays with the model that stepped in", function()
  local down <close> = serve(function(l, http) refuse(l, http, 500, { ["x-should-retry"] = "false" }) end)
  local up <close> = serve(function(l, http, n)
    if n > 1 then return whole(l, http, "done") end
    l:respond(http.id, 200, { ["content-type"] = "application/json" }, json.encode { id = "x", model = "m", choices = { {
      index = 0, finish_reason = "tool_calls", message = { role = "assistant", content = json.null, tool_calls = {
        { id = "c1", type = "function", ["function"] = { name = "look", arguments = "{}" } } } },
    } } })
  end)
  local look = hocket.tool.new and hocket.tool.new { name = "look", description = "x", run = function() return "seen" end }
    or { name = "look", description = "x", parameters = { type = "object" }, run = function() return "seen" end }
  local agent = hocket.agent { name = "a", prompt = "p", model = { down.name .. "/a", up.name .. "/b" }, tools = { look }, retries = 0 }
  local reply, err = hocket.run(agent, "go")
  t.equal(err, nil)
  t.equal(reply.text, "done")
  t.equal(down.n, 1)
  t.equal(up.n, 2)
end)

-- ---- Races -------------------------------------------------------------------------------------------

t.test("of several models the first good reply wins, and the others are cancelled", function()
  local slow <close> = serve(function() fiber.sleep(1000) end)
  local fast <close> = serve(function(l, http) whole(l, http, "fast") end)
  local bad <close> = serve(function(l, http) refuse(l, http, 400) end)
  local history = asking()
  local reply = t.ok(llm.race { slow.name .. "/m", bad.name .. "/m", fast.name .. "/m", history = history, request = { stream = false } })
  t.equal(reply.text, "fast")
  t.equal(#history, 2)
  t.equal(slow.n, 1)
  t.fails("http", "400", llm.race { bad.name .. "/m", bad.name .. "/n", history = asking(), request = { stream = false } })
  t.raises("at least one model", llm.race, { history = history })
end)

t.test("the sockets of those who lose are closed at once, in races and hedges", function()
  local closed, won = {}, false
  local slow <close> = serve(function(l, http, n)
    local after = 0 -- turns, not seconds: a busy machine has fewer of them in a second
    l:begin(http.id, 200, { ["content-type"] = "text/event-stream" })
    while l:write(http.id, ": still at it\n\n") do
      after = won and after + 1 or 0
      fiber.sleep(0.005)
    end
    closed[n] = after
  end)
  local fast <close> = serve(function(l, http)
    fiber.sleep(0.05)
    whole(l, http, "fast")
  end)
  t.ok(llm.race { slow.name .. "/m", slow.name .. "/n", fast.name .. "/m", history = asking() })
  won = true
  t.eventually(function() return closed[1] and closed[2] end)
  t.ok(closed[1] < 20 and closed[2] < 20, "a loser's socket was left open")
  won = false
  t.ok(llm.hedge(assert(model.resolve(slow.name .. "/m")), asking(), {}, { after = 0.02, models = { fast.name .. "/m" } }))
  won = true
  t.eventually(function() return closed[3] end)
  t.ok(closed[3] < 20, "a loser's socket was left open")
end)

t.test("a hedge asks again when the first is slow, and only then", function()
  local s <close> = serve(function(l, http, n)
    if n == 1 then fiber.sleep(1000) end
    whole(l, http, "number " .. n)
  end)
  local began, one = fiber.now(), assert(model.resolve(s.name .. "/m"))
  local reply = t.ok(llm.hedge(one, asking(), { stream = false }, { after = 0.1 }))
  t.equal(reply.text, "number 2")
  t.ok(fiber.now() - began >= 0.1)
  reply = t.ok(llm.hedge(one, asking(), { stream = false }, { after = 1000 }))
  t.equal(reply.text, "number 3")
  t.equal(s.n, 3)
end)

-- ---- Prices ------------------------------------------------------------------------------------------

t.test("a prepared request is read once, and checked then", function()
  local s <close> = serve(function(listener, http) whole(listener, http, "fine") end)
  local one, history = assert(model.resolve(s.name .. "/m")), llm.history()
  local fields = { system = "Be " .. "brief.", stream = false, temperature = 0.5 }
  local request = askers.prepare(fields)
  fields.system, fields.temperature = nil, nil
  collectgarbage()
  for i = 1, 2 do
    history:user "hello"
    assert(llm.call(one, history, request))
    t.equal(s.bodies[i].messages[1].content, "Be brief.")
    t.equal(s.bodies[i].temperature, 0.5)
  end
  t.raises("unknown option 'model'", askers.prepare, { model = "x" })
  t.raises("bad option 'retries'", askers.prepare, { retries = -1 })
  t.raises("bad option 'timeout'", llm.call, one, history, { timeout = "soon" })
end)

-- A call that has its reply, with these tool calls.
local function call_with(calls)
  local s <close> = serve(function(listener, http)
    local list = {}
    for i, arguments in ipairs(calls) do
      list[i] = { id = "c" .. i, type = "function", ["function"] = { name = "look", arguments = arguments } }
    end
    listener:respond(http.id, 200, { ["content-type"] = "application/json" }, json.encode {
      id = "x", object = "chat.completion", model = "m", usage = { prompt_tokens = 10, completion_tokens = 2 },
      choices = { { index = 0, finish_reason = "tool_calls", message = { role = "assistant", content = json.null, tool_calls = list } } },
    })
  end)
  local history, asker = llm.history(), askers.new(nil, askers.prepare {})
  history:user "Look."
  return assert(model_calls.ask(asker, model.resolve(s.name .. "/m"), history)), history, asker
end

t.test("a key that comes back is starred, in every form in which it can be found", function()
  local key = "sk-proj/0123456789"
  local base64 = "c2stcHJvai8wMTIzNDU2Nzg5"
  local forms = key .. " " .. base64 .. " sk-proj%2F0123456789 sk-proj%2f0123456789"
  local stars = ("*"):rep(18) .. " " .. ("*"):rep(24) .. " " .. ("*"):rep(20) .. " " .. ("*"):rep(20)
  local bodies = {}
  local s <close> = serve(function(listener, http, n)
    bodies[n] = http.headers.authorization
    if n == 1 then return whole(listener, http, forms) end
    if n == 2 then return refuse(listener, http, 400, nil, { message = "no such key: " .. forms }) end
    listener:begin(http.id, 200, { ["content-type"] = "text/event-stream" })
    for i = 1, #forms do
      listener:write(http.id, "data: " .. json.encode { choices = { { index = 0, delta = { content = forms:sub(i, i) } } } } .. "\n\n")
      if i % 5 == 0 then fiber.sleep(0.001) end
    end
    listener:write(http.id, 'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\\"x\\":\\"'
      .. key .. '\\"}"}}]}}]}\n\ndata: {"choices":[{"index":0,"delta":{"content":" sk-pro"},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n')
    listener:finish(http.id)
  end)
  local one = { id = "k/m", name = "m", simulated = false,
    handle = core.provider { name = "k", protocol = "openai_chat", base = s.base, key = key, pool = "k" } }
  t.equal(call(one).text, stars)
  t.equal(bodies[1], "Bearer " .. key)
  local _, err = call(one, { retries = 0 })
  t.has(err, "no such key: " .. stars)
  local parts = {}
  local reply = assert(call(one, { stream = true, retries = 0 }, function(_, text) parts[#parts + 1] = text end))
  t.equal(reply.text, stars .. " sk-pro")
  t.equal(table.concat(parts), stars .. " sk-pro")
  t.ok(#parts > 3)
  t.equal(reply.calls[1].arguments, '{"x":"' .. ("*"):rep(18) .. '"}')
  -- one that stands in a header of the provider's own
  local other = { id = "o/m", name = "m", simulated = false, handle = core.provider { name = "o", protocol = "openai_chat", base = s.base,
    headers = { ["x-api-token"] = "Token " .. key }, pool = "o" } }
  t.equal(assert(call(other, { stream = true, retries = 0 })).text, stars .. " sk-pro")
end)

t.test("a conversation keeps the provider that it was written for, and no other", function()
  local s <close> = serve(function(listener, http) whole(listener, http, "good") end)
  local alive = setmetatable({}, { __mode = "v" })
  local function provider(i, role)
    alive[i] = core.provider { name = "p" .. i, protocol = "openai_chat", base = s.base, system_role = role, pool = "p" .. i }
    return alive[i]
  end
  local history, request = asking(), askers.prepare { system = "be brief", stream = false }
  local function ask(handle)
    local call = assert(core.start(handle, history, request.handle, "m"))
    assert(call:wait())
    call:keep()
    call:release()
  end
  ask(provider(1, "first"))
  for _ = 1, 4 do collectgarbage() end
  t.ok(alive[1], "the provider is gone, and the conversation points into it")
  ask(provider(2, "second"))
  history:user "again"
  ask(alive[2])
  for _ = 1, 4 do collectgarbage() end
  t.equal(alive[1], nil)
  t.ok(alive[2])
  t.equal(s.bodies[1].messages[1].role, "first")
  t.equal(s.bodies[2].messages[1].role, "second")
  t.equal(s.bodies[3].messages[1].role, "second")
  t.equal(#s.bodies[3].messages, 5)
end)

-- A provider at the very place in memory of one that is gone: what was written for that one must not go to it.
t.test("a conversation is written anew for another provider, wherever that lies in memory", function()
  local s <close> = serve(function(listener, http) whole(listener, http, "good") end)
  local n = 0
  local function provider(call_id_length)
    n = n + 1
    return core.provider { name = "q" .. n, protocol = "openai_chat", base = s.base, call_id_length = call_id_length, pool = "q" .. n }
  end
  local history = asking()
  assert(history:add { role = "assistant", calls = { { id = "a-long-and-random-id", name = "f", arguments = "{}" } } })
  assert(history:add { role = "tool", id = "a-long-and-random-id", name = "f", text = "x" })
  local good, broken = askers.prepare { stream = false }, askers.prepare { stream = false, tools = "no JSON" }
  local alive, place = setmetatable({}, { __mode = "v" }), nil
  local function leave_one()
    alive[1] = provider(0)
    place = ("%p"):format(alive[1])
    assert(assert(core.start(alive[1], history, askers.prepare({ stream = false }).handle, "m")):wait())
    t.fails("invalid", "tools", core.start(provider(0), history, broken.handle, "m")) -- now it is this one's, and nothing was written
  end
  leave_one()
  for _ = 1, 4 do collectgarbage() end
  t.equal(alive[1], nil)
  local others, there = {}, nil
  for i = 1, 500 do
    others[i] = provider(9)
    if ("%p"):format(others[i]) == place then there = others[i] end
  end
  if not there then return end -- an allocator that gives no place out again
  assert(assert(core.start(there, history, good.handle, "m")):wait())
  t.equal(s.bodies[1].messages[2].tool_calls[1].id, "a-long-and-random-id")
  t.equal(#s.bodies[2].messages[2].tool_calls[1].id, 9)
end)

t.test("more calls than are kept: the model is told, and the run goes on", function()
  local calls = {}
  for i = 1, 140 do calls[i] = '{"n":' .. i .. "}" end
  local call, history = call_with(calls)
  t.equal(call:accept(nil, "p/m", 1), 128)
  for i = 1, 128 do call:result(i, "seen " .. i, false) end
  call:close()
  local messages = history:messages()
  t.equal(#messages, 130)
  t.equal(#messages[2].calls, 128)
  t.equal(messages[129].text, "seen 127")
  t.has(messages[130].text, "seen 128\n\n[This answer had more than 128 calls")
end)

t.test("calls that have one id, or a name that would be given, are told apart", function()
  local bodies = {}
  local answers = { { "call_1", "call_1" }, { "", "call_2" }, { "0" }, { "0" } }
  local s <close> = serve(function(listener, http, n)
    bodies[n] = json.decode(http.body)
    local list = {}
    for i, id in ipairs(answers[n] or {}) do list[i] = { id = id, type = "function", ["function"] = { name = "look", arguments = "{}" } } end
    listener:respond(http.id, 200, { ["content-type"] = "application/json" }, json.encode { id = "x", model = "m",
      choices = { { index = 0, finish_reason = answers[n] and "tool_calls" or "stop", message = { content = "done", tool_calls = answers[n] and list } } } })
  end)
  local n = 0
  local look = hocket.tool { name = "look", description = "x", parameters = { type = "object" }, run = function() n = n + 1 return "seen " .. n end }
  local agent = hocket.agent { name = "a", prompt = "p", model = s.name .. "/m", tools = { look } }
  t.equal(t.ok(hocket.run(agent, "go")).text, "done")
  t.equal(n, 6)
  local seen, results = {}, 0
  for _, message in ipairs(bodies[5].messages) do
    for _, one in ipairs(message.tool_calls or {}) do
      t.equal(seen[one.id], nil, "two calls are " .. one.id)
      seen[one.id] = true
    end
    if message.role == "tool" then
      results = results + 1
      t.equal(seen[message.tool_call_id], true)
      t.equal(message.content, "seen " .. results)
      seen[message.tool_call_id] = "answered"
    end
  end
  t.equal(results, 6)
end)

t.test("the calls of a reply are handed out one by one, and each gets its result", function()
  local calls = {}
  for i = 1, 70 do calls[i] = '{"n":1}' end
  calls[6] = '{"n":1,"id":12345678901234567890}'
  calls[2], calls[3], calls[4], calls[5] = " ", '{"n":', "[1]", '{"n":"one","big":1234567890123456789,"list":[null,1.5]}'
  local call, history, asker = call_with(calls)
  local told = {}
  local function tell(type, payload) told[#told + 1], payload.type = payload, type end
  t.equal(#history, 1)
  local n, finish, text = call:accept(tell, "p/m", 3)
  t.same({ n, finish, text }, { 70, "tool_calls", nil })
  t.same({ told[1].type, told[1].attempts, told[1].calls, told[1].model, told[1].usage }, { "model_reply", 3, 70, "p/m", { input = 10, output = 2 } })
  t.equal(#history, 2)

  local schema = assert(require("hocket.schema").compile { type = "object", properties = { n = { type = "integer" } } })
  t.same(call:arguments(1, schema), { n = 1 })
  t.same(call:arguments(2, schema), {})
  local args, wrong, why = call:arguments(3, schema)
  t.same({ args == nil, wrong }, { true, "json" })
  t.equal(why, select(2, json.decode(calls[3])).message)
  t.same({ call:arguments(4) }, { nil, "object" })
  args, wrong, why = call:arguments(6, schema)
  t.same({ args == nil, wrong }, { true, "json" })
  t.has(why, "write it as a string")
  args, wrong, why = call:arguments(5, schema)
  t.same({ args == nil, wrong }, { true, "fit" })
  t.has(why, "/n")
  args = call:arguments(5)
  t.same(args, json.decode(calls[5]))
  t.equal(json.is_array(args.list), true)
  t.raises("no such call", call.name, call, 71)
  t.raises("no such call", call.arguments, call, 0)

  call:result(1, "seen", false)
  call:result(66, "no", true)
  call:result(66, "yes", false)
  call:result(67, "broken", true)
  call:remark(1, ", again")
  do local closed <close> = call end
  call:close()
  t.equal(#history, 72) -- once
  local messages = history:messages()
  t.same(messages[3], { role = "tool", id = "c1", name = "look", text = "seen, again" })
  t.same({ messages[4].text, messages[4].error }, { "error: cancelled", true })
  t.same({ messages[68].text, messages[68].error }, { "yes", nil })
  t.equal(#model_calls.reply(asker, call).calls, 70)
  t.raises("no longer", call.name, call, 1)
  t.raises("no longer", call.wait, call)
  call:release()
  t.same({ messages[69].text, messages[69].error }, { "broken", true })
end)

t.test("a fiber whose call another one released while it waited can be cancelled", function()
  local first
  local s <close> = serve(function(l, http)
    t.eventually(function() return first and first:status() == "waiting" end)
    fiber.sleep(0.05)
    whole(l, http, "fine")
  end)
  local one = assert(model.resolve(s.name .. "/m"))
  local started = assert(core.start(one.handle, asking(), askers.prepare({ stream = false }).handle, one.name))
  first = fiber.spawn(started.wait, started)
  local second = fiber.spawn(function() -- a call wakes the last one that waits for it
    assert(started:wait())
    started:release()
  end)
  second:wait()
  t.equal(first:status(), "waiting")
  first:cancel()
  first:join()
  t.equal(first:status(), "done")
  t.raises("no longer", started.cancel, started)
end)

t.test("a call with the same result is the same, whatever word its frame has", function()
  local long = ("x"):rep(1000)
  local function digest(arguments, result)
    local call = call_with { arguments }
    call:result(1, result)
    return call:digest(1)
  end
  local plain = digest("{}", "a")
  t.equal(digest("{}", "a"), plain)
  t.equal(digest("{}", "b") ~= plain, true)
  t.equal(digest("{ }", "a") ~= plain, true)
  t.equal(digest("{}a", "") ~= digest("{}", "a"), true)
  t.equal(digest("{}", "<web-k3x9>text</web-k3x9>"), digest("{}", "<web-77ab>text</web-77ab>"))
  t.equal(digest("{}", "<web-k3x9>text</web-k3x9>") ~= digest("{}", "<web-k3x9>texts</web-k3x9>"), true)
  t.equal(digest("{}", "<web-") ~= digest("{}", "<web"), true)
  t.equal(digest("{}", "a < b-c") ~= digest("{}", "a < b-d"), true)
  t.equal(digest("{}", long .. "a" .. long), digest("{}", long .. "b" .. long)) -- by their ends
  t.equal(digest("{}", long) ~= digest("{}", long .. "x"), true)
end)

t.test("a price that is not known is nil, never zero", function()
  local usage = { input = 1000000, output = 1000000, cached = 500000 }
  t.equal(prices.cost("openai/gpt-5-mini", usage), 0.125 + 0.0125 + 2)
  t.equal(prices.cost("openai-responses/gpt-5-mini-2025-08-07", usage), 0.125 + 0.0125 + 2)
  t.equal(prices.cost("openai/gpt-5-mini-turbo", usage), nil)
  t.equal(prices.cost("nowhere/x", usage), nil)
  t.equal(prices.cost("openai/gpt-5-pro", usage), nil) -- what cached input costs there is not known
  t.equal(prices.cost("openai/gpt-5-mini", { output = 5 }), nil)
  t.equal(prices.cost("sim/default", {}), 0.0)
  t.equal(prices.cost("gemini/gemini-2.5-pro", { input = 200001, output = 0 }), 0.5000025)
  prices.set("nowhere/x", { input = 1, output = 2 })
  t.equal(prices.cost("nowhere/x", usage), nil)
  prices.set("nowhere/x", { input = 1, output = 2, cached = 0 })
  t.equal(prices.cost("nowhere/x", usage), 2.5)
  prices.set("nowhere/x", nil)
  t.equal(prices.get "nowhere/x", nil)
  t.raises("'input' and 'output'", prices.set, "nowhere/x", { input = 1 })
  t.raises("unknown field 'outputs'", prices.set, "nowhere/x", { input = 1, outputs = 1 })
  t.raises("USD per million", prices.set, "nowhere/x", { input = -1, output = 1 })
end)

t.test("a run's cost is null as soon as a part is unknown", function()
  local run = require("hocket.internal.run.run").new { id = "x" }
  local function add(usage, cost) run.accounts:add(1, usage, cost, 0.5) end
  add({ input = 1, output = 2 }, 0.1)
  add({ input = 1, output = 2 }, 0.2)
  t.equal(run:usage().cost, 0.3)
  t.equal(run:usage().cost_known, nil)
  run.accounts:add(1, { input = 1 }, nil, 0.5)
  add({ input = 1, output = 2 }, 0.2)
  t.equal(run:usage().cost, json.null)
  t.equal(run:usage().cost_known, 0.5)
  t.equal(run:usage().unpriced, 1)
  t.equal(run:usage().calls, 4)
  t.equal(run:usage().seconds, 2.0)
end)

return t.finish()
