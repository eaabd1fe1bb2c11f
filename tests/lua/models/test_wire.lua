-- Servers that break the protocol: each is a clear error, and nothing is left behind.
local t = require "harness"
local flow = require "hocket.flow"
local hocket = require "hocket"
local json = require "hocket.json"
local model = require "model"
local resolve = require("hocket.model").resolve

local function send(m, spec)
  return model.session(m, spec):send "x"
end

local function body(status, text, kind)
  return model.raw(function(listener, request)
    listener:respond(request.id, status, { ["content-type"] = kind or "application/json" }, text)
  end)
end

local done = "data: [DONE]\n\n"

t.test("a good stream, byte by byte", function()
  local text = model.chunk "Hé" .. ": comment\n\n" .. model.chunk("llo 😀", "stop") .. done
  local m <close> = model.raw(function(listener, request)
    listener:begin(request.id, 200, { ["content-type"] = "text/event-stream" })
    for i = 1, #text do
      listener:write(request.id, text:sub(i, i))
      if i % 16 == 0 then flow.sleep(0) end
    end
    listener:finish(request.id)
  end)
  t.equal(assert(send(m)).text, "Héllo 😀")
end)

t.test("a stream that ends without its end", function()
  local m <close> = model.bytes(model.chunk "Hello", model.chunk " wor")
  local err = t.fails("truncated", "", send(m))
  t.ok(err.retryable ~= nil)
  local empty <close> = model.bytes()
  t.fails("truncated", "", send(empty))
  local half <close> = model.bytes(model.chunk "Hello", "data: {\"choices\"")
  t.fails("truncated", "", send(half))
end)

t.test("the scripted faults", function()
  for fault, code in pairs { cut = "truncated", reset = "io", eof = "", malformed = "protocol" } do
    local m <close> = model.serve(function() return { text = ("word "):rep(50), fault = fault } end)
    local reply, err = send(m)
    t.equal(reply, nil, fault)
    if code ~= "" then t.equal(err.code, code, fault) end
    t.ok(#err.message > 5)
  end
  local m <close> = model.serve(function() return { status = 503, error = "overloaded" } end)
  local err = t.fails("http", "overloaded", send(m))
  t.equal(err.http_status, 503)
end)

t.test("malformed JSON in the stream", function()
  for _, text in ipairs { "data: {\"choices\": [{]}\n\n", "data: nonsense\n\n", "data: {\"choices\":[]} x\n\n" } do
    local m <close> = model.bytes(model.chunk "Hello", text, model.chunk(nil, "stop"), done)
    t.fails("protocol", "not valid JSON", send(m))
  end
  local m <close> = model.bytes(model.chunk "Hello", "data: {\"choices\":[\n\n", model.chunk(nil, "stop"), done)
  t.fails("truncated", "", send(m))
end)

t.test("JSON of another shape never crashes", function()
  for _, text in ipairs { "data: 3\n\n", "data: []\n\n", "data: \"x\"\n\n", "data: {\"choices\":3}\n\n", "data: {\"choices\":[3]}\n\n",
    "data: {\"choices\":[{\"delta\":3}]}\n\n", "data: {\"choices\":[{\"index\":-1,\"delta\":{\"content\":\"x\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":99999999}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":3}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":{\"a\":1}}}]}\n\n", "data: {\"usage\":{\"prompt_tokens\":\"x\"}}\n\n", "data: null\n\n" } do
    local m <close> = model.bytes(model.chunk "Hello", text, model.chunk(" you", "stop"), done)
    local reply, err = send(m)
    if reply then t.has(reply.text, "Hello") else t.ok(#err.message > 3, text) end
  end
end)

t.test("text that is no event stream", function()
  local m <close> = model.bytes "this is not an event stream\nat all\n\n"
  local reply, err = send(m)
  t.equal(reply, nil)
  t.ok(err.code == "truncated" or err.code == "protocol", err.code)
end)

t.test("invalid UTF-8 does not go on", function()
  local m <close> = model.bytes('data: {"choices":[{"index":0,"delta":{"content":"a\255\192b"}}]}\n\n', model.chunk(nil, "stop"), done)
  local reply, err = send(m)
  if reply then
    t.ok(utf8.len(reply.text))
  else
    t.ok(err.code == "protocol" or err.code == "parse", err.code)
  end
end)

t.test("a NUL is a character like others, raw it is malformed", function()
  local m <close> = model.bytes('data: {"choices":[{"index":0,"delta":{"content":"a\\u0000b"}}]}\n\n', model.chunk(nil, "stop"), done)
  local reply = assert(send(m))
  t.equal(reply.text, "a\0b")
  local raw <close> = model.bytes('data: {"choices":[{"index":0,"delta":{"content":"a\0b"}}]}\n\n', model.chunk(nil, "stop"), done)
  t.fails("protocol", "", send(raw))
  local last <close> = model.bytes('data: {"choices":[{"index":0,"delta":{"content":"a\0"}}]}\n\n', model.chunk(nil, "stop"), done)
  t.fails("protocol", "", send(last))
end)

t.test("a NUL goes back and forth in the conversation", function()
  local m <close> = model.serve(function(request) return request.last.text end)
  local s = model.session(m)
  t.equal(assert(s:send "a\0b").text, "a\0b")
  t.equal(assert(s:send "c").text, "c")
  t.equal(m.requests[2].messages[2].text, "a\0b")
end)

t.test("a line of 20 MB that is an answer", function()
  local big = ("x"):rep(20 << 20)
  local m <close> = model.raw(function(listener, request)
    local text = model.chunk(big, "stop") .. done
    listener:begin(request.id, 200, { ["content-type"] = "text/event-stream" })
    for at = 1, #text, 1 << 20 do
      while not listener:write(request.id, text:sub(at, at + (1 << 20) - 1)) do flow.sleep(0.001) end
    end
    listener:finish(request.id)
  end)
  t.equal(#assert(send(m)).text, #big)
end)

t.test("a scripted answer that is larger than the server's queue comes whole", function()
  local big = ("y"):rep(12 << 20)
  local m <close> = model.serve({ reply = function() return big end }, { fragment = 1 << 18 })
  t.equal(#assert(send(m)).text, #big)
  t.equal(#assert(send(m, { stream = false })).text, #big)
end)

-- 64 pieces, as fast as they are read, until the client has enough.
local function pour(listener, request, piece)
  for _ = 1, 64 do
    local ok, err
    repeat
      flow.sleep(0.001)
      ok, err = listener:write(request.id, piece)
    until ok or err.code ~= "limit"
    if not ok then return end
  end
end

t.test("a line that never ends is refused at the limit", function()
  local m <close> = model.raw(function(listener, request)
    listener:begin(request.id, 200, { ["content-type"] = "text/event-stream" })
    listener:write(request.id, "data: ")
    pour(listener, request, ("x"):rep(1 << 20))
  end)
  t.fails("limit", "", send(m))
  t.eventually(function() return m.open == 0 end)
end)

t.test("an answer that never ends is refused at the limit", function()
  local m <close> = model.raw(function(listener, request)
    listener:begin(request.id, 200, { ["content-type"] = "text/event-stream" })
    pour(listener, request, model.chunk(("x"):rep(1 << 20)))
    listener:finish(request.id)
  end)
  t.fails("limit", "", send(m))
end)

t.test("a connection that is refused", function()
  hocket.provider("refused", { protocol = "openai_chat", base = "http://127.0.0.1:1/v1" })
  local err = t.fails("connect", "127.0.0.1", send "refused/m")
  t.equal(err.retryable, true)
end)

t.test("a name that is none", function()
  hocket.provider("noname", { protocol = "openai_chat", base = "http://no-such-host.invalid/v1" })
  t.fails("connect", "no-such-host.invalid", send "noname/m")
end)

t.test("resets: before the answer, in the middle", function()
  local m <close> = model.raw(function(listener, request) listener:abort(request.id, "reset") end)
  local reply, err = send(m)
  t.equal(reply, nil)
  t.equal(err.code, "io")
  t.equal(err.retryable, true)
  local n <close> = model.raw(function(listener, request)
    listener:begin(request.id, 200, { ["content-type"] = "text/event-stream" })
    listener:write(request.id, model.chunk "Hello")
    flow.sleep(0.02)
    listener:abort(request.id, "reset")
  end)
  reply, err = send(n)
  t.equal(reply, nil)
  t.ok(err.code == "io" or err.code == "truncated", err.code)
end)

t.test("a server that never answers", function()
  local m <close> = model.raw(function() flow.sleep(60) end)
  local begin = flow.now()
  local err = t.fails("timeout", "", send(m, { first_timeout = 0.05 }))
  t.ok(flow.now() - begin < 3)
  t.ok(#err.message > 5)
  t.fails("timeout", "", send(m, { timeout = 0.05 }))
end)

t.test("a server that says nothing but comments", function()
  local m <close> = model.raw(function(listener, request)
    listener:begin(request.id, 200, { ["content-type"] = "text/event-stream" })
    while listener:write(request.id, ": still there\n\n") do flow.sleep(0.005) end
  end)
  local begin = flow.now()
  t.fails("timeout", "", send(m, { first_timeout = 0.1 }))
  t.ok(flow.now() - begin < 3)
  t.eventually(function() return m.open == 0 end)
end)

t.test("a server that stops in the middle", function()
  local m <close> = model.raw(function(listener, request)
    listener:begin(request.id, 200, { ["content-type"] = "text/event-stream" })
    listener:write(request.id, model.chunk "Hello")
    flow.sleep(60)
  end)
  t.fails("timeout", "", send(m, { idle_timeout = 0.05 }))
end)

-- What comes of a stream that begins with `text`, and how long it took.
local function begun(text, after, protocol)
  local m <close> = model.raw(function(listener, request)
    listener:begin(request.id, 200, { ["content-type"] = "text/event-stream" })
    listener:write(request.id, text)
    after(listener, request)
  end, { protocol = protocol })
  local begin = flow.now()
  local reply, err = send(m, { retries = 0, idle_timeout = 2 })
  t.eventually(function() return m.open == 0 end)
  return flow.now() - begin, reply, err
end

-- An answer that is whole stays one, whatever the connection does behind it.
local function whole(text, after, protocol)
  local seconds, reply, err = begun(text, after, protocol)
  t.equal(assert(reply, err).text, "Hello")
  return seconds
end

local function stay_open(listener, request)
  while listener:write(request.id, ": still there\n\n") do flow.sleep(0.005) end
end

local function events(list)
  local lines = {}
  for i, event in ipairs(list) do lines[i] = "data: " .. json.encode(event) .. "\n\n" end
  return table.concat(lines)
end

local function response(status, text)
  local item = { type = "message", role = "assistant", content = { { type = "output_text", text = text } } }
  return events { { type = "response.created", response = { id = "r", status = "in_progress" } },
    { type = "response.output_text.delta", output_index = 0, delta = text },
    { type = "response." .. status, response = { id = "r", status = status, output = { item } } } }
end

t.test("a whole answer on a connection that breaks", function()
  local function reset(listener, request)
    flow.sleep(0.02)
    listener:abort(request.id, "reset")
  end
  whole(model.chunk("Hello", "stop") .. done, reset)
  whole(model.chunk("Hello", "stop"), reset)
end)

t.test("a whole answer on a connection that stays open", function()
  t.ok(whole(model.chunk("Hello", "stop") .. done, stay_open) < 1.8)
  t.ok(whole(model.chunk("Hello", "stop"), stay_open) >= 1.8) -- [DONE] may still come, and the usage
  t.ok(whole(model.chunk("Hello", "stop") .. done, function(listener, request)
    while listener:write(request.id, model.chunk "more") do flow.sleep(0.005) end
  end) < 1.8)
end)

t.test("a whole answer of other protocols on a connection that stays open", function()
  local seconds = flow.all {
    function() return whole(response("completed", "Hello"), stay_open, "openai_responses") end,
    function() return whole(response("incomplete", "Hello"), stay_open, "openai_responses") end,
    function() return (begun(response("failed", "Hello"), stay_open, "openai_responses")) end,
    function()
      return whole(events { { type = "message_start", message = { id = "x", content = {} } },
        { type = "content_block_start", index = 0, content_block = { type = "text", text = "Hello" } },
        { type = "message_delta", delta = { stop_reason = "end_turn" } }, { type = "message_stop" } }, stay_open, "anthropic")
    end,
    -- Some put a finishReason into every chunk: it ends nothing.
    function()
      return whole(events { { candidates = { { content = { parts = { { text = "Hel" } } }, finishReason = "STOP" } } } },
        function(listener, request)
          flow.sleep(1.3)
          listener:write(request.id, events {
            { candidates = { { content = { parts = { { text = "lo" } } }, finishReason = "STOP" } } } })
          stay_open(listener, request)
        end, "gemini")
    end,
  }
  for i = 1, 4 do t.ok(seconds[i] < 1.8, i .. ": " .. seconds[i]) end
  t.ok(seconds[5] >= 3, seconds[5])
end)

t.test("a server that goes on with a second response, which stands for itself", function()
  local seconds = whole(response("completed", "one"), function(listener, request)
    flow.sleep(0.2)
    listener:write(request.id, events { { type = "response.created", response = { id = "s", status = "in_progress" } } })
    flow.sleep(1.3) -- more than is waited for the end alone
    listener:write(request.id, response("completed", "Hello"))
    stay_open(listener, request)
  end, "openai_responses")
  t.ok(seconds < 3.3, seconds)
end)

t.test("an error in a stream that stays open", function()
  local message = { message = "the engine is gone", type = "server_error" }
  local cases = { openai_chat = { error = message }, openai_responses = { type = "error", error = message },
    anthropic = { type = "error", error = message }, gemini = { error = message } }
  local waits = {}
  for protocol, event in pairs(cases) do
    waits[#waits + 1] = function()
      local seconds, reply, err = begun(events { event }, stay_open, protocol)
      t.fails("provider", "the engine is gone", reply, err)
      t.ok(seconds < 1.8, protocol)
    end
  end
  flow.all(waits)
end)

t.test("errors of providers: the message, the status, whether to try again", function()
  local cases = {
    { 401, "auth", false, "Incorrect API key" }, { 403, "auth", false, "no access" }, { 404, nil, false, "no model" },
    { 400, nil, false, "bad request" }, { 429, nil, true, "slow down" }, { 500, nil, true, "sorry" }, { 503, nil, true, "overloaded" },
  }
  for _, case in ipairs(cases) do
    local m <close> = body(case[1], json.encode { error = { message = case[4], type = "x", code = json.null } })
    local reply, err = send(m)
    t.equal(reply, nil)
    t.has(err, case[4])
    t.equal(err.http_status, case[1])
    t.equal(err.retryable, case[3], "status " .. case[1])
    if case[2] then t.equal(err.code, case[2]) end
  end
end)

t.test("error pages that are HTML, empty, broken or huge", function()
  for _, text in ipairs { "<html><body><h1>502 Bad Gateway</h1></body></html>", "", "{\"error\":", "\255\0\1", ("x"):rep(3 << 20),
    '{"error":"plain"}', '{"error":{"message":3}}', "[]" } do
    local m <close> = body(502, text, "text/html")
    local reply, err = send(m)
    t.equal(reply, nil)
    t.equal(err.http_status, 502)
    t.has(err, "502")
    t.ok(#err.message < 500 and utf8.len(err.message))
  end
end)

t.test("a page in place of an answer", function()
  local m <close> = body(200, "<html>Please log in</html>", "text/html")
  for _, stream in ipairs { true, false } do
    local reply, err = send(m, { stream = stream })
    t.equal(reply, nil)
    t.ok(err.code == "protocol" or err.code == "truncated", err.code)
  end
end)

t.test("redirects are not followed", function()
  local m <close> = model.raw(function(listener, request)
    listener:respond(request.id, 302, { location = "http://127.0.0.1:1/v1/chat/completions" }, "")
  end)
  local reply, err = send(m)
  t.equal(reply, nil)
  t.equal(err.http_status, 302)
end)

t.test("whole answers that are broken", function()
  for _, text in ipairs { "", "{", "[]", "{}", '{"choices":[]}', '{"choices":[{"message":3}]}', '{"choices":[{"message":{"content":"x"', '3' } do
    local m <close> = body(200, text)
    local reply, err = send(m, { stream = false })
    t.equal(reply, nil, text)
    t.ok(#err.message > 5)
  end
  local m <close> = body(200, '{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}')
  t.equal(assert(send(m, { stream = false })).text, "ok")
end)

t.test("an error inside of the stream", function()
  local m <close> = model.bytes(model.chunk "Hel", 'data: {"error":{"message":"the engine is gone","type":"server_error"}}\n\n')
  t.fails("provider", "the engine is gone", send(m))
end)

t.test("a key that is needed is asked for by its variable's name, and nothing is sent", function()
  local m <close> = model.raw(function() end, { key_env = "HOCKET_TEST_NO_KEY" })
  t.fails("auth", "HOCKET_TEST_NO_KEY", resolve(m.id))
  t.equal(m.count, 0)
end)

t.test("a key never shows in errors", function()
  local m <close> = model.raw(function(listener, request)
    listener:respond(request.id, 401, { ["content-type"] = "application/json" },
      json.encode { error = { message = ("bad key: %s of %s"):format(request.headers["x-test-key"], request.headers["x-team"]) } })
  end, { headers = { ["x-test-key"] = "secret-one", ["x-team"] = "public" } })
  t.fails("auth", "bad key: ********** of public", send(m))
end)

t.test("a key that consists of stars ends the call as any other", function()
  for _, key in ipairs { "****", "********" } do
    local m <close> = model.raw(function(listener, request)
      listener:respond(request.id, 401, { ["content-type"] = "application/json" }, json.encode { error = { message = "bad key: " .. request.headers.authorization } })
    end, { key_command = { "/bin/echo", key } })
    t.fails("auth", "bad key: Bearer " .. key, send(m))
  end
end)

t.test("one broken call does no harm to the others", function()
  local good <close> = model.serve({ reply = function(request) return request.last.text end }, { latency = 0.02 })
  local bad <close> = model.raw(function(listener, request) listener:abort(request.id, "reset") end)
  local list = {}
  for i = 1, 30 do list[i] = i end
  local results = flow.map(list, function(i)
    if i % 3 == 0 then return send(bad) and "wrong" or "failed" end
    return assert(model.session(good):send("n" .. i)).text
  end)
  for i = 1, 30 do t.equal(results[i], i % 3 == 0 and "failed" or "n" .. i) end
end)

-- ---- hocket.http ----------------------------------------------------------------------------

local http = require "hocket.http"

t.test("plain requests", function()
  local m <close> = model.raw(function(listener, request)
    listener:respond(request.id, 201, { ["x-answer"] = "yes" }, request.method .. " " .. request.path .. " " .. request.body .. (request.headers["x-q"] or ""))
  end)
  local answer = assert(http.request { url = m.base .. "/a?b=c", method = "POST", body = "one\0two", headers = { ["X-Q"] = "q" } })
  t.equal(answer.status, 201)
  t.equal(answer.body, "POST /v1/a?b=c one\0twoq")
  t.equal(answer.headers["x-answer"], "yes")
  t.fails("connect", "", http.request { url = "http://127.0.0.1:1/" })
  t.fails("timeout", "", (function()
    local slow <close> = model.raw(function() flow.sleep(60) end)
    return http.request { url = slow.base, timeout = 0.05 }
  end)())
  t.raises("unknown option", http.request, { url = m.base, metod = "GET" })
end)

return t.finish()
