-- Recorded runs, and their replays with the servers gone.
local cassette = require "hocket.cassette"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local fs = require "hocket.fs"
local hocket = require "hocket"
local http = require "hocket.http"
local json = require "hocket.json"
local llm = require "hocket.llm"
local model = require "hocket.model"
local server = require "hocket.internal.core.server"
local system = require "hocket.internal.core.system"
local t = require "harness"

local count = 0
local windows = package.config:sub(1, 1) == "\\"

-- A provider "cN" whose requests go to answer(listener, request, n); stop() ends its server.
local function serve(answer, def)
  local listener = assert(server.new { port = 0 })
  count = count + 1
  local seen = { n = 0, name = "c" .. count, port = listener:port() }
  local fibers = fiber.detach(function()
    while true do
      local request = listener:accept()
      if not request then return end
      if request.path == "/v1/models" then -- who it is, which is asked before the first call
        listener:respond(request.id, 404, {}, "{}")
      else
        seen.n = seen.n + 1
        fiber.spawn(answer, listener, request, seen.n)
      end
    end
  end)
  function seen.stop()
    if seen.stopped then return end
    seen.stopped = true
    listener:close()
    fibers:cancel()
  end
  def = def or {}
  def.protocol, def.base = def.protocol or "openai_chat", ("http://127.0.0.1:%d/v1"):format(listener:port())
  hocket.provider(seen.name, def)
  return setmetatable(seen, { __close = seen.stop })
end

local function reply(listener, request, text)
  listener:respond(request.id, 200, { ["content-type"] = "application/json" }, json.encode {
    id = "x", object = "chat.completion", model = "m", usage = { prompt_tokens = 10, completion_tokens = 2 },
    choices = { { index = 0, finish_reason = "stop", message = { role = "assistant", content = text } } },
  })
end

local function stream(listener, request, pieces)
  listener:begin(request.id, 200, { ["content-type"] = "text/event-stream" })
  for _, piece in ipairs(pieces) do
    listener:write(request.id, "data: " .. json.encode { choices = { { index = 0, delta = { content = piece } } } } .. "\n\n")
  end
  listener:write(request.id, 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
  listener:finish(request.id)
end

local function refuse(listener, request, status, headers)
  headers = headers or {}
  headers["content-type"] = "application/json"
  listener:respond(request.id, status, headers, '{"error":{"message":"no","type":"server_error"}}')
end

local function ask(one, text, request, on_delta)
  local history = llm.history()
  history:user(text or "hello")
  request = request or { stream = false }
  if type(one) == "string" then one = assert(model.resolve(one)) end
  return llm.call(one, history, request, on_delta)
end

-- Records what fn does, stops the servers, and does it again from the recording.
local function twice(servers, fn)
  local path = t.tmpname()
  local first, err = cassette.within({ record = path }, fn)
  if first == nil then error(err.message) end
  for _, s in ipairs(servers) do s.stop() end
  local second
  second, err = cassette.within({ replay = path }, fn)
  local text = assert(fs.read(path))
  os.remove(path)
  return first, second, err, text
end

-- ---- What comes back ------------------------------------------------------------------------

t.test("a streamed answer comes back through the same decoder, delta by delta", function()
  local s <close> = serve(function(l, request) stream(l, request, { "caf", "é ", "\u{1F600}" }) end)
  local function work()
    local deltas = ""
    local answer = t.ok(ask(s.name .. "/m", "hi", { stream = true }, function(_, text) deltas = deltas .. text end))
    return { answer.text, deltas, answer.seconds, answer.first_seconds, answer.finish }
  end
  local first, second, err = twice({ s }, work)
  t.equal(err, nil)
  t.equal(first[1], "café \u{1F600}")
  t.same(second, first) -- also how long it took, when it was recorded
  t.equal(s.n, 1)
end)

t.test("equal requests are answered in recorded order, side by side by content", function()
  local s <close> = serve(function(l, request, n)
    local body = json.decode(request.body)
    if body.messages[1].content == "slow" then fiber.sleep(0.05) end
    reply(l, request, body.messages[1].content .. " " .. n)
  end)
  local order
  local function work()
    order = {}
    local all = flow.map({ "slow", "same", "quick" }, function(text)
      local answer = t.ok(ask(s.name .. "/m", text))
      order[#order + 1] = text
      return answer.text
    end, { limit = 3 })
    for _ = 1, 3 do all[#all + 1] = t.ok(ask(s.name .. "/m", "same")).text end
    all[#all + 1] = order[3] -- who was last then is last now
    return all
  end
  local first, second, err = twice({ s }, work)
  t.equal(err, nil)
  t.same(second, first)
  t.equal(first[7], "slow")
  t.equal(s.n, 6)
end)

t.test("retries come back, without their waits", function()
  local s <close> = serve(function(l, request, n)
    if n == 1 then return refuse(l, request, 429, { ["retry-after"] = "1" }) end
    if n == 2 then return l:abort(request.id, "reset") end
    reply(l, request, "third")
  end)
  local function work()
    local answer = t.ok(ask(s.name .. "/m", "x", { stream = false, retries = 3 }))
    return { answer.text, answer.attempts }
  end
  local path, began = t.tmpname(), nil
  t.same(t.ok(cassette.within({ record = path }, work)), { "third", 3 })
  s.stop()
  began = fiber.now()
  t.same(t.ok(cassette.within({ replay = path }, work)), { "third", 3 })
  t.ok(fiber.now() - began < 0.5, "a replay waits for nobody")
  os.remove(path)
end)

t.test("what failed fails again, in the same words", function()
  local s <close> = serve(function(l, request) refuse(l, request, 400) end)
  local gone <close> = serve(function() end)
  gone.stop()
  local function work()
    local _, one = ask(s.name .. "/m")
    local _, other = ask(gone.name .. "/m", "x", { stream = false, retries = 0 })
    return { one.code, one.message, one.http_status, other.code, other.message }
  end
  local first, second = twice({ s }, work)
  t.equal(first[1], "http")
  t.equal(first[4], "connect")
  t.same(second, first)
end)

t.test("fallbacks and several providers", function()
  local down <close> = serve(function(l, request) refuse(l, request, 401) end)
  local up <close> = serve(function(l, request)
    local text = json.decode(request.body).messages[1].content
    l:respond(request.id, 200, { ["content-type"] = "application/json" }, json.encode {
      id = "m", type = "message", role = "assistant", model = "c", stop_reason = "end_turn",
      content = { { type = "text", text = "anthropic" .. (type(text) == "string" and "" or "!") } }, usage = { input_tokens = 1, output_tokens = 1 } })
  end, { protocol = "anthropic" })
  local function work()
    local answer = t.ok(ask({ down.name .. "/a", up.name .. "/b" }, "hi", { stream = false, max_tokens = 10 }))
    return { answer.text, answer.answered_by.id, answer.fallbacks[1].reason }
  end
  local first, second, err = twice({ down, up }, work)
  t.equal(err, nil)
  t.equal(first[2], up.name .. "/b")
  t.same(second, first)
end)

t.test("races and hedges: who lost then loses now", function()
  local slow <close> = serve(function(l, request)
    fiber.sleep(5)
    reply(l, request, "slow")
  end)
  local fast <close> = serve(function(l, request) reply(l, request, "fast") end)
  local hedged <close> = serve(function(l, request, n)
    if n == 1 then fiber.sleep(5) end
    reply(l, request, "number " .. n)
  end)
  local function work()
    local history = llm.history()
    history:user "x"
    local a = t.ok(llm.race { slow.name .. "/m", fast.name .. "/m", history = history, request = { stream = false } })
    history:user "y"
    local b = t.ok(llm.hedge(assert(model.resolve(hedged.name .. "/m")), history, { stream = false }, { after = 0.05 }))
    return { a.text, b.text }
  end
  local first, second, err, text = twice({ slow, fast, hedged }, work)
  t.equal(err, nil)
  t.same(first, { "fast", "number 2" })
  t.same(second, first)
  t.ok(text:find('{"cancelled":', 1, true))
end)

t.test("who cancels on a delta cancels again", function()
  local s <close> = serve(function(l, request)
    l:begin(request.id, 200, { ["content-type"] = "text/event-stream" })
    l:write(request.id, 'data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n')
    fiber.sleep(5)
  end)
  local function work()
    local got
    local talk = fiber.spawn(function()
      ask(s.name .. "/m", "x", { stream = true }, function(_, text) got = text end)
    end)
    t.eventually(function() return got ~= nil end)
    talk:cancel()
    t.ok(talk:join(1))
    return { got }
  end
  local first, second, err = twice({ s }, work)
  t.equal(err, nil)
  t.same(second, first)
end)

t.test("requests of scripts are replayed, too", function()
  local s <close> = serve(function(l, request)
    l:respond(request.id, 200, { ["x-from"] = "server" }, "\xff\0bytes " .. request.method .. request.body)
  end)
  local function work()
    local a = t.ok(http.request { url = ("http://127.0.0.1:%d/a?api_key=secret123"):format(s.port), headers = { authorization = "Bearer hidden-token" } })
    local b = t.ok(http.request { url = ("http://127.0.0.1:%d/b"):format(s.port), body = "{\n\"a\": 1}" })
    return { a.status, a.body, a.headers["x-from"], b.body }
  end
  local first, second, err, text = twice({ s }, work)
  t.equal(err, nil)
  t.equal(first[2], "\xff\0bytes GET")
  t.same(second, first)
  t.ok(not text:find "secret123" and not text:find "hidden%-token")
end)

-- ---- What is remembered -----------------------------------------------------------------------

t.test("random words, numbers and remembered values are those of the recording", function()
  local calls = 0
  local function work()
    return {
      system.token(12, "about"), system.token(12, "other"), hocket.fence.wrap("result", "x", "text"), math.random(1 << 40),
      cassette.remember("when", function()
        calls = calls + 1
        return { calls }
      end)[1],
      cassette.remember("when", error)[1], cassette.remember("nothing", function() end) == nil,
    }
  end
  local first, second = twice({}, work)
  t.same(second, first)
  t.equal(calls, 1)
  t.ok(first[1] ~= first[2])
  t.ok(cassette.remember("when", function() return 7 end) == 7) -- without a cassette
  t.ok(system.token(12, "about") ~= system.token(12, "about"))
  t.ok(first[1] ~= (twice({}, work))[1], "another recording has other words")
end)

t.test("what a model is told of time is left out of what is replayed", function()
  t.equal(cassette.duration(" (%.1f s)", 1.25), " (1.2 s)")
  t.equal(cassette.duration(" (%.1f s)"), "")
  local first, second = twice({}, function() return { cassette.duration(" (%.1f s)", math.random()) } end)
  t.same(first, { "" })
  t.same(second, first)
end)

t.test("a key that is not there any more is not missed, one that was missing still is", function()
  local s <close> = serve(function(l, request) reply(l, request, request.headers.authorization and "with key" or "without") end, { key_env = "PATH" })
  local none <close> = serve(function(l, request) reply(l, request, "never") end, { key_env = "HOCKET_TEST_NO_SUCH_KEY" })
  local function work()
    local answer = t.ok(ask { none.name .. "/m", s.name .. "/m" })
    return { answer.text, answer.fallbacks[1].reason }
  end
  local path = t.tmpname()
  t.same(t.ok(cassette.within({ record = path }, work)), { "with key", "auth" })
  s.stop()
  hocket.provider(s.name, { protocol = "openai_chat", base = "http://127.0.0.1:1/v1", key_env = "HOCKET_TEST_NO_SUCH_KEY" })
  t.same(t.ok(cassette.within({ replay = path }, work)), { "with key", "auth" })
  t.fails("auth", "needs a key", model.resolve(s.name .. "/m"))
  t.ok(not fs.read(path):find(system.getenv "PATH", 1, true), "the key is in the recording")
  os.remove(path)
end)

t.test("keys are nowhere in it, however they come back", function()
  local key = system.getenv "PATH" -- what a test is sure to have
  local s <close> = serve(function(l, request)
    local echoed = request.headers.authorization
    l:begin(request.id, 200, { ["content-type"] = "text/event-stream", ["x-echo"] = echoed, ["set-cookie"] = "id=private" })
    local event = "data: " .. json.encode { choices = { { index = 0, delta = { content = echoed .. request.headers["x-api-token"] } } } } .. "\n\n"
    for i = 1, #event, 7 do l:write(request.id, event:sub(i, i + 6)) end -- cut in the middle of the key
    l:write(request.id, 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    l:finish(request.id)
  end, { key_env = "PATH", headers = { ["x-api-token"] = "custom-header-secret" } })
  local _, _, err, text = twice({ s }, function() return { t.ok(ask(s.name .. "/m", "my key is " .. key, { stream = true })).text } end)
  t.equal(err, nil)
  t.ok(not text:find(key, 1, true) and not text:find(key:gsub("/", "\\/"), 1, true))
  t.ok(not text:find "custom%-header%-secret" and not text:find "id=private")
end)

-- ---- What is different -----------------------------------------------------------------------

t.test("the first difference ends the replay and is what it fails with", function()
  local s <close> = serve(function(l, request) reply(l, request, "fine") end)
  local path = t.tmpname()
  local function work(text)
    return function()
      t.ok(ask(s.name .. "/m", "first"))
      local a, err = ask({ s.name .. "/m", s.name .. "/other" }, text, { stream = false, temperature = 0.5 })
      if not a then return { text = "carried on" }, err.message end
      return a
    end
  end
  t.ok(cassette.within({ record = path }, work "second"))
  s.stop()
  local err = t.fails("replay", ('where messages[0].content was "second" and is now "zweite"'), cassette.within({ replay = path }, work "zweite"))
  t.ok(err.message:find("the nearest is request 2", 1, true))
  t.ok(cassette.within({ replay = path }, work "second"))
  os.remove(path)
end)

t.test("what was recorded and is not asked for is told", function()
  local s <close> = serve(function(l, request) reply(l, request, "fine") end)
  local path, events = t.tmpname(), {}
  local agent = hocket.agent { name = "a", prompt = "p", model = s.name .. "/m" }
  t.ok(hocket.run(agent, "go", { record = path }))
  s.stop()
  local answer, err = hocket.run(agent, "go", { replay = path, on_event = function(e) events[#events + 1] = e end })
  t.equal(err, nil)
  t.equal(answer.text, "fine")
  local function idle() return {} end
  t.ok(cassette.within({ replay = path }, idle)) -- a warning, no failure
  t.fails("replay", "messages[1].content", hocket.run(agent, "stop", { replay = path }))
  for _, e in ipairs(events) do t.ok(e.type ~= "warning") end
  os.remove(path)
end)

t.test("a recording that was broken off says so", function()
  local s <close> = serve(function(l, request) reply(l, request, "fine") end)
  local path = t.tmpname()
  local function work()
    for i = 1, 3 do
      local a, err = ask(s.name .. "/m", "number " .. i)
      if not a then return nil, err end
    end
    return {}
  end
  t.ok(cassette.within({ record = path }, work))
  s.stop()
  local text, lines = fs.read(path), {}
  for line in text:gmatch "[^\n]*\n" do lines[#lines + 1] = line end
  for size = 0, #text - 1, 97 do -- killed anywhere
    assert(fs.write(path, text:sub(1, size)))
    local done, err = cassette.within({ replay = path }, work)
    t.equal(done, nil)
    t.ok(err.code == "replay" or err.code == "parse" and size < #lines[1], err.message)
  end
  assert(fs.write(path, table.concat(lines, "", 1, #lines - 1)))
  t.fails("replay", "has no answer there: the recording was broken off", cassette.within({ replay = path }, work))
  os.remove(path)
end)

-- ---- What cannot be -----------------------------------------------------------------------------

t.test("files that cannot be written or read, and options that make no sense", function()
  local never = function() error "must not run" end
  t.fails("not_found", "cannot write /nowhere/x.jsonl", cassette.within({ record = "/nowhere/x.jsonl" }, never))
  t.fails("invalid", "it is a device or pipe, not a file", cassette.within({ record = windows and "NUL" or "/dev/null" }, never))
  t.fails("not_found", "cannot read /nowhere/x.jsonl", cassette.within({ replay = "/nowhere/x.jsonl" }, never))
  t.fails("invalid", "not both", cassette.within({ record = "a", replay = "b" }, never))
  t.fails("invalid", "option 'record'", cassette.within({ record = 7 }, never))
  t.fails("invalid", "option 'replay'", cassette.within({ replay = "" }, never))
end)

t.test("what is under way when the recording ends is cancelled in it, and goes on", function()
  local s <close> = serve(function(l, request)
    fiber.sleep(0.1)
    reply(l, request, "late")
  end)
  local path, background = t.tmpname(), nil
  t.ok(cassette.within({ record = path }, function()
    background = fiber.spawn(function() return ask(s.name .. "/m") end)
    t.eventually(function() return s.n == 1 end)
    return {}
  end))
  t.equal(t.ok(background:wait()).text, "late")
  t.ok(fs.read(path):find('{"cancelled":1', 1, true))
  os.remove(path)
end)

return t.finish()
