-- Telemetry: what a collector gets of runs, that it is OTLP, and that no run notices.
local t = require "harness"
local collectors = require "collector"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.fs"
local hocket = require "hocket"
local json = require "hocket.json"
local models = require "model"
local runs = require "hocket.internal.run.run"
local runner = require "hocket.internal.runner.run_agent"
local settings = require "hocket.internal.telemetry.settings"
local system = require "hocket.internal.core.system"
local telemetry = require "hocket.internal.telemetry.service"
local trace = require "hocket.internal.telemetry.trace"

t.limit = 1000

local PROMPT, REQUEST, ANSWER, SECRET = "You keep the harbour.", "Is there fresh cod?", "There is, since dawn.", "sk-telemetry-canary-1234567"
local IN_BASE64 = "c2stdGVsZW1ldHJ5LWNhbmFyeS0xMjM0NTY3"

local function reply(q)
  local asked = q.messages[#q.messages]
  if q.model == "guide" and asked.role ~= "tool" then return { calls = { { name = "look", arguments = { at = "the pier" } }, { name = "ask_fish", arguments = { text = "cod?" } } } } end
  if q.model == "guide" then return ANSWER end
  if q.model == "finder" and asked.role ~= "tool" then return { calls = { { name = "find", arguments = { text = "cod" } } } } end
  if q.model == "fish" then return { text = "Cod: yes.", reasoning = "It is early." } end
  if q.model == "tired" then return { fault = "401" } end
  if q.model == "again" then
    q.shared.tries = (q.shared.tries or 0) + 1
    return q.shared.tries < 3 and { fault = "429-ms" } or "at last"
  end
  if q.model == "bad" and asked.role ~= "tool" then return { calls = { { name = "bad", arguments = {} } } } end
  return "said"
end

hocket.broker() -- its dispatcher lives as long as the host
local shared = {}
local served = assert(hocket.sim.serve({ reply = function(q)
  q.shared = shared
  return reply(q)
end }, { retry_after = 0.01 }))
hocket.provider("harbour", { protocol = "openai_chat", base = served.base })

local look = hocket.tool {
  name = "look", description = "Looks", parameters = { type = "object", properties = { at = { type = "string" } } },
  run = function(args) return "there is a boat at " .. args.at .. ", and a note: " .. SECRET .. " or " .. IN_BASE64 end,
}

local function agent(name, more)
  local def = { name = name, description = "The " .. name, model = "harbour/" .. name, prompt = PROMPT }
  for key, value in pairs(more or {}) do def[key] = value end
  return hocket.agent(def)
end

local ask_fish = hocket.tool {
  name = "ask_fish", description = "Asks the fishmonger", parameters = { type = "object", properties = { text = { type = "string" } } },
  run = function(args) return hocket.run(agent "fish", args.text).text end,
}

-- Telemetry that goes to a collector, while fn(opened) is at work. Returns what the end says.
local function told(collector, variables, fn)
  local all = { OTEL_EXPORTER_OTLP_ENDPOINT = collector.url, OTEL_BSP_SCHEDULE_DELAY = "1", OTEL_BLRP_SCHEDULE_DELAY = "1" }
  for name, value in pairs(variables or {}) do all[name] = value end
  local opened = assert(telemetry.open(all))
  fn(opened)
  local result = opened:close(300)
  collector:check()
  return result
end

local function guide()
  return hocket.run(agent("guide", { tools = { look, ask_fish } }), REQUEST)
end

fiber.detach(guide):wait() -- what it makes that lasts as long as the host

-- ---- What is told ---------------------------------------------------------------------------------------

t.test("a run is a tree of spans", function()
  local collector <close> = collectors.open()
  local answer
  local result = told(collector, nil, function() answer = assert(guide()) end)
  t.equal(answer.text, ANSWER)
  t.equal(collector:tree(), table.concat({
    "invoke_workflow", "  invoke_agent guide", "    chat guide", "    chat guide", "    execute_tool ask_fish", "      invoke_agent fish", "        chat fish", "    execute_tool look",
  }, "\n"))
  local list = collector:spans()
  t.equal(result.sent.traces, #list)
  t.equal(result.dropped.traces, 0)
  for _, span in ipairs(list) do
    t.equal(span.traceId, list[1].traceId)
    t.equal(span.of["hocket.run.id"], answer.run.id)
    t.ok(tonumber(span.endTimeUnixNano) >= tonumber(span.startTimeUnixNano), span.name)
  end
  local chat = collector:span "chat fish"
  t.equal(chat.kind, 3)
  t.equal(chat.of["gen_ai.operation.name"], "chat")
  t.equal(chat.of["gen_ai.provider.name"], "harbour")
  t.equal(chat.of["gen_ai.request.model"], "fish")
  t.equal(chat.of["gen_ai.agent.name"], "fish")
  t.equal(chat.of["server.address"], "127.0.0.1")
  t.equal(chat.of["server.port"], math.tointeger(tonumber(served.base:match ":(%d+)/")))
  t.same(chat.of["gen_ai.response.finish_reasons"], { "stop" })
  t.ok(math.type(chat.of["gen_ai.usage.input_tokens"]) == "integer")
  t.ok(chat.of["gen_ai.usage.cache_read.input_tokens"] <= chat.of["gen_ai.usage.input_tokens"])
  t.equal(collector:span "execute_tool look".of["gen_ai.tool.name"], "look")
  t.ok(collector:span "execute_tool look".of["gen_ai.tool.call.id"])
end)

t.test("metrics and logs go along", function()
  local collector <close> = collectors.open()
  told(collector, nil, function()
    guide()
    hocket.run(agent "tired", REQUEST)
  end)
  local metrics = collector:metrics()
  local by_operation = {}
  for _, point in ipairs(metrics["gen_ai.client.operation.duration"]) do
    local name = point.of["gen_ai.operation.name"] .. (point.of["error.type"] and "!" or "")
    by_operation[name] = (by_operation[name] or 0) + tonumber(point.count)
    local sum = 0
    for _, n in ipairs(point.bucketCounts) do sum = sum + tonumber(n) end
    t.equal(sum, math.tointeger(tonumber(point.count)))
    t.equal(#point.bucketCounts, #point.explicitBounds + 1)
  end
  t.same(by_operation, { chat = 3, invoke_agent = 2, execute_tool = 2, invoke_workflow = 1, ["chat!"] = 1, ["invoke_agent!"] = 1, ["invoke_workflow!"] = 1 })
  local types = {}
  for _, point in ipairs(metrics["gen_ai.client.token.usage"]) do types[point.of["gen_ai.token.type"]] = true end
  t.same(types, { input = true, output = true })
  local seen = {}
  for _, log in ipairs(collector:logs()) do seen[log.eventName] = log end
  t.equal(seen["hocket.error"].severityNumber, 17)
  t.equal(seen["hocket.error"].traceId, collector:span "chat tired".traceId)
end)

t.test("vectors are told of as what they are", function()
  local collector <close> = collectors.open()
  local reader = hocket.tool { name = "find", description = "Finds", parameters = { type = "object", properties = { text = { type = "string" } } },
    run = function(args) return #assert(hocket.embed({ args.text, "dab" }, { model = "harbour/vectors", dimensions = 8 })).vectors .. " vectors" end }
  told(collector, nil, function()
    local finder = agent("finder", { tools = { reader } })
    assert(hocket.run(finder, REQUEST))
    local _, err = hocket.embed("cod", { model = "nowhere/vectors" })
    t.ok(err)
  end)
  local span, tool = collector:span "embeddings vectors", collector:span "execute_tool find"
  t.equal(span.kind, 3)
  t.equal(span.parentSpanId, tool.spanId)
  t.equal(span.of["gen_ai.operation.name"], "embeddings")
  t.equal(span.of["gen_ai.provider.name"], "harbour")
  t.equal(span.of["gen_ai.request.model"], "vectors")
  t.equal(span.of["gen_ai.embeddings.dimension.count"], 8)
  t.equal(span.of["server.address"], "127.0.0.1")
  t.ok(span.of["gen_ai.usage.input_tokens"] > 0)
  local seen = {}
  for _, point in ipairs(collector:metrics()["gen_ai.client.token.usage"]) do seen[point.of["gen_ai.operation.name"] .. " " .. point.of["gen_ai.token.type"]] = true end
  t.ok(seen["embeddings input"])
  t.ok(not seen["embeddings output"])
end)

t.test("nothing that was said is told, unless it is asked for", function()
  local collector <close> = collectors.open()
  told(collector, nil, guide)
  for _, request in ipairs(collector.requests) do
    for _, text in ipairs { PROMPT, REQUEST, ANSWER, "the pier", "a boat", "cod?", "It is early" } do t.lacks(request.body, text) end
  end
end)

t.test("what was said, where it is asked for; and no key", function()
  local collector <close> = collectors.open()
  told(collector, { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT = "span_and_event", OTEL_EXPORTER_OTLP_HEADERS = "authorization=Bearer " .. SECRET }, guide)
  local chat = collector:span "chat fish"
  t.same(json.decode(chat.of["gen_ai.system_instructions"]), { { type = "text", content = PROMPT } })
  t.same(json.decode(chat.of["gen_ai.input.messages"]), { { role = "user", parts = { { type = "text", content = "cod?" } } } })
  t.same(json.decode(chat.of["gen_ai.output.messages"]),
    { { role = "assistant", finish_reason = "stop", parts = { { type = "reasoning", content = "It is early." }, { type = "text", content = "Cod: yes." } } } })
  local tool = collector:span "execute_tool look"
  t.same(json.decode(tool.of["gen_ai.tool.call.arguments"]), { at = "the pier" })
  t.has(tool.of["gen_ai.tool.call.result"], "a boat")
  local details = 0
  for _, log in ipairs(collector:logs()) do
    if log.eventName == "gen_ai.client.inference.operation.details" then details = details + (log.of["gen_ai.output.messages"] and 1 or 0) end
  end
  t.equal(details, 3)
  for _, request in ipairs(collector.requests) do
    t.equal(request.headers.authorization, "Bearer " .. SECRET)
    t.lacks(request.body, SECRET)
    t.lacks(request.body, IN_BASE64)
  end
end)

t.test("failures say what they were", function()
  local collector <close> = collectors.open()
  told(collector, nil, function()
    t.equal(hocket.run(agent "tired", REQUEST, {}), nil)
    shared = {}
    t.equal(hocket.run(agent("again", { }), REQUEST).text, "at last")
    local bad = hocket.tool { name = "bad", description = "Fails", run = function() return nil, "no" end }
    assert(hocket.run(agent("bad", { tools = { bad } }), REQUEST))
  end)
  local tired = collector:span "chat tired"
  t.equal(tired.status.code, 2)
  t.equal(tired.of["error.type"], "auth")
  t.equal(tired.of["http.response.status_code"], 401)
  local again = collector:span "chat again"
  t.equal(again.status, nil)
  t.equal(again.of["hocket.attempts"], 3)
  local tries = {}
  for _, span in ipairs(collector:spans()) do
    if span.parentSpanId == again.spanId then tries[#tries + 1] = span end
  end
  table.sort(tries, function(a, b) return a.startTimeUnixNano < b.startTimeUnixNano end)
  t.equal(#tries, 3)
  t.equal(tries[1].of["http.response.status_code"], 429)
  t.equal(tries[2].of["http.request.resend_count"], 1)
  t.equal(tries[3].status, nil)
  t.equal(collector:span "execute_tool bad".of["error.type"], "tool_error")
end)

t.test("what is cancelled ends as cancelled, with all below it", function()
  local collector <close> = collectors.open()
  told(collector, nil, function()
    local inside = false
    local slow = hocket.tool { name = "slow", description = "Slow", run = function()
      inside = true
      fiber.sleep(1000)
    end }
    local guided = agent("bad", { tools = { hocket.tool { name = "bad", description = "Waits", run = slow.run } } })
    local one = fiber.spawn(function() hocket.run(guided, REQUEST) end)
    t.eventually(function() return inside end, 300)
    one:cancel()
    one:join()
  end)
  t.equal(collector:tree(), "invoke_workflow ERROR cancelled\n  invoke_agent bad ERROR cancelled\n    chat bad\n    execute_tool bad ERROR cancelled")
end)

t.test("the names of the newest set, where they are asked for", function()
  local collector <close> = collectors.open()
  told(collector, { OTEL_SEMCONV_STABILITY_OPT_IN = "http,gen_ai_latest_experimental" }, guide)
  local metrics = collector:metrics()
  t.ok(metrics["gen_ai.client.inference.duration"])
  t.ok(metrics["gen_ai.execute_tool.duration"])
  t.ok(metrics["gen_ai.client.inference.usage.input_tokens"])
  t.equal(metrics["gen_ai.client.token.usage"], nil)
end)

t.test("texts are cut, keys and lists bounded", function()
  local collector <close> = collectors.open()
  told(collector, { OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT = "5", OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT = "4", OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT = "true" }, guide)
  for _, span in ipairs(collector:spans()) do
    t.ok(#span.attributes <= 4)
    for _, value in pairs(span.of) do t.ok(type(value) ~= "string" or utf8.len(value) <= 5, tostring(value)) end
  end
  t.ok(collector:span "chat guide".droppedAttributesCount > 0)
end)

-- ---- Which trace -----------------------------------------------------------------------------------------

local PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

local function run_in(parent, state)
  local run = runs.new { id = system.run_id(), options = { trace = { parent = parent, state = state } } }
  runner.workflow(run, "", function() return { text = "x" } end)
  return run
end

t.test("a run goes on in the trace that it was given", function()
  local collector <close> = collectors.open()
  told(collector, nil, function() run_in(PARENT, "rojo=1,congo=t61") end)
  local root = collector:span "invoke_workflow"
  t.equal(root.traceId, "4bf92f3577b34da6a3ce929d0e0e4736")
  t.equal(root.parentSpanId, "00f067aa0ba902b7")
  t.equal(root.traceState, "rojo=1,congo=t61")
  t.equal(root.flags & 0x300, 0x300)
end)

t.test("a parent that nobody samples is told of by metrics alone", function()
  local collector <close> = collectors.open()
  told(collector, nil, function() run_in(PARENT:gsub("01$", "00")) end)
  t.equal(#collector:spans(), 0)
  t.ok(collector:metrics()["gen_ai.client.operation.duration"])
end)

t.test("what is no traceparent begins a trace of its own", function()
  local zero = ("0"):rep(16)
  for _, wrong in ipairs { "", "x", 1, PARENT:sub(1, -2), PARENT .. "0", PARENT:upper(), "ff" .. PARENT:sub(3), "00-" .. zero .. zero .. "-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-" .. zero .. "-01", PARENT .. "-more", ("0"):rep(1000) } do t.equal(trace.read(wrong), nil) end
  t.same(trace.read(PARENT), { id = "4bf92f3577b34da6a3ce929d0e0e4736", span = "00f067aa0ba902b7", sampled = true })
  t.ok(trace.read("01" .. PARENT:sub(3) .. "-what"), "a later version may say more")
  t.equal(trace.read(PARENT, "bad\nstate=1").state, nil)
  t.equal(trace.read(PARENT, ("a=b,"):rep(200)).state, nil)
end)

t.test("samplers", function()
  local function share(name, arg, parent)
    local read = assert(settings.read { OTEL_EXPORTER_OTLP_ENDPOINT = "http://x", OTEL_TRACES_SAMPLER = name, OTEL_TRACES_SAMPLER_ARG = arg })
    local n = 0
    for i = 1, 1000 do n = n + (trace.sample(read.sampler, trace.id_of(tostring(i)), parent) and 1 or 0) end
    return n
  end
  t.equal(share "always_on", 1000)
  t.equal(share "always_off", 0)
  t.equal(share "parentbased_always_off", 0)
  t.equal(share("parentbased_always_off", nil, { sampled = true }), 1000)
  t.equal(share("always_on", nil, { sampled = false }), 1000)
  t.equal(share("parentbased_traceidratio", "0.25", { sampled = false }), 0)
  local quarter = share("parentbased_traceidratio", "0.25")
  t.ok(quarter > 180 and quarter < 320, quarter)
  t.equal(share("traceidratio", "0"), 0)
  t.equal(share("traceidratio", "1"), 1000)
end)

t.test("requests to models say it, where that is asked for", function()
  for _, wish in ipairs { "true", "false" } do
    local seen = {}
    local raw <close> = models.raw(function(listener, request)
      seen[#seen + 1] = request.headers
      listener:respond(request.id, 401, {}, "")
    end)
    local collector <close> = collectors.open()
    told(collector, { HOCKET_TRACE_MODELS = wish }, function()
      local run = runs.new { id = system.run_id(), options = { trace = { parent = PARENT, state = "a=b" } } }
      runner.workflow(run, "", function() return hocket.orchestrate.call(hocket.agent { name = "raw", model = raw.id, prompt = "x" }, "y") end)
    end)
    local span = collector:span "chat m"
    t.equal(seen[1].traceparent, wish == "true" and ("00-%s-%s-01"):format(span.traceId, span.spanId) or nil)
    t.equal(seen[1].tracestate, wish == "true" and "a=b" or nil)
  end
end)

-- ---- A collector that is none ------------------------------------------------------------------------------

-- Counts what goes to traces alone, so that the order of other requests does not matter.
local function only_traces(fn)
  local n = 0
  return function(_, request)
    if request.path ~= "/v1/traces" then return 200 end
    n = n + 1
    return fn(n)
  end
end

local function posts(collector)
  local list = {}
  for _, request in ipairs(collector.requests) do
    if request.path == "/v1/traces" then list[#list + 1] = request end
  end
  return list
end

t.test("429 and 503 are tried again, when the collector says", function()
  local collector <close> = collectors.open(only_traces(function(n)
    if n == 1 then return 429, { ["retry-after"] = "1" } end
    if n == 2 then return 503 end
    return 200
  end))
  told(collector, nil, function()
    run_in(PARENT)
    t.eventually(function() return #posts(collector) >= 3 end, 500)
  end)
  local list = posts(collector)
  t.equal(#list, 3)
  t.equal(list[1].body, list[3].body)
  t.ok(list[2].at - list[1].at >= 1, "Retry-After")
  t.equal(#collector:spans(), 1)
end)

t.test("what is refused is not tried again, and counted", function()
  for _, status in ipairs { 400, 401, 404, 500, 301 } do
    local collector <close> = collectors.open(only_traces(function() return status, { location = "http://127.0.0.1:1/" } end))
    local result = told(collector, nil, function()
      run_in(PARENT)
      t.eventually(function() return #posts(collector) >= 1 end, 500)
    end)
    t.equal(#posts(collector), 1, status)
    t.equal(result.dropped.traces, 1)
    t.equal(collector:metrics()["hocket.telemetry.dropped"] and collector:metrics()["hocket.telemetry.dropped"][1].asInt or "1", "1")
  end
end)

t.test("a part that is refused is counted", function()
  for _, body in ipairs { '{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}', '{"partialSuccess":{"rejectedSpans":7}}' } do
    local collector <close> = collectors.open(only_traces(function() return 200, nil, body end))
    t.equal(told(collector, nil, function() run_in(PARENT) end).dropped.traces, 1)
  end
  for _, body in ipairs { '{"partialSuccess":{}}', '{"partialSuccess":null}', "", "<html>", "[]", '{"partialSuccess":{"rejectedSpans":"-5"}}', ("x"):rep(1 << 20) } do
    local collector <close> = collectors.open(only_traces(function() return 200, nil, body end))
    local result = told(collector, { OTEL_BSP_EXPORT_TIMEOUT = "1" }, function() run_in(PARENT) end)
    t.equal(result.dropped.traces, #body > 1000 and 1 or 0)
  end
end)

t.test("a collector that never answers holds up no run, and the end for a moment only", function()
  local collector <close> = collectors.open(function() return "hang" end)
  local opened = assert(telemetry.open { OTEL_EXPORTER_OTLP_ENDPOINT = collector.url, OTEL_BSP_SCHEDULE_DELAY = "1" })
  for _ = 1, 20 do assert(guide()) end
  t.eventually(function() return #collector.requests > 0 end, 500)
  local began = fiber.now()
  local result = opened:close(0.2)
  t.ok(fiber.now() - began < 60, "it ends")
  t.equal(result.sent.traces, 0)
end)

t.test("a batch may be larger than any answer that is read", function()
  local collector <close> = collectors.open()
  local result = told(collector, { OTEL_BSP_SCHEDULE_DELAY = "60000" }, function()
    for _ = 1, 300 do run_in(PARENT) end
  end)
  t.equal(result.sent.traces, 300)
  t.equal(result.dropped.traces, 0)
end)

t.test("of a collector that is gone nothing is kept but the queue", function()
  local opened = assert(telemetry.open { OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:1", OTEL_BSP_MAX_QUEUE_SIZE = "100", OTEL_BSP_MAX_EXPORT_BATCH_SIZE = "10",
    OTEL_BSP_SCHEDULE_DELAY = "1", OTEL_BLRP_MAX_QUEUE_SIZE = "100" })
  local function many(n)
    for i = 1, n do
      local run = runs.new { id = system.run_id() }
      runner.workflow(run, "", function() run:emit("warning", { message = "x" }) end)
      if i % 100 == 0 then t.eventually(function() return next(opened.readers) == nil end, 500) end
    end
    collectgarbage()
    collectgarbage()
    return collectgarbage "count"
  end
  many(1000)
  local before = many(1000)
  local after = many(10000)
  t.ok(after < before + 512, ("%.0f KB, then %.0f KB"):format(before, after))
  t.ok(opened.exporters.traces.dropped > 10000)
  t.ok(#opened.exporters.traces.items <= 100)
  opened:close(0.05)
end)

t.test("one at a time; what is cancelled leaves nothing", function()
  local collector <close> = collectors.open()
  local function open() return telemetry.open { OTEL_EXPORTER_OTLP_ENDPOINT = collector.url } end
  local first = assert(open())
  t.fails("state", "already", open())
  first:abort()
  run_in(PARENT)
  local second = assert(open())
  run_in(PARENT)
  t.equal(second:close(300).sent.traces, 1)
  second:abort()
  t.equal(#collector:spans(), 1)
end)

-- ---- Variables ------------------------------------------------------------------------------------------------

local HERE = "OTEL_EXPORTER_OTLP_ENDPOINT"

t.test("off, unless somebody says where to", function()
  t.equal(settings.read {}, nil)
  t.equal(settings.read { [HERE] = "" }, nil)
  t.equal(settings.read { [HERE] = "http://x", OTEL_SDK_DISABLED = "TRUE" }, nil)
  t.equal(settings.read { [HERE] = "http://x", OTEL_TRACES_EXPORTER = "none", OTEL_METRICS_EXPORTER = "none", OTEL_LOGS_EXPORTER = "none" }, nil)
  local one = settings.read { OTEL_TRACES_EXPORTER = "otlp" }
  t.equal(one.signals.traces.url, "http://localhost:4318/v1/traces")
  t.equal(one.signals.metrics, nil)
end)

t.test("where to, as each signal has it", function()
  local read = assert(settings.read { [HERE] = "https://c.example:4318/otlp/", OTEL_EXPORTER_OTLP_LOGS_ENDPOINT = "http://logs.example/in", OTEL_METRICS_EXPORTER = "none",
    OTEL_EXPORTER_OTLP_HEADERS = "api-key=a%20b, X-Team = 7", OTEL_EXPORTER_OTLP_LOGS_HEADERS = "k=v", OTEL_EXPORTER_OTLP_TIMEOUT = "2500" })
  t.equal(read.signals.traces.url, "https://c.example:4318/otlp/v1/traces")
  t.equal(read.signals.logs.url, "http://logs.example/in")
  t.equal(read.signals.metrics, nil)
  t.equal(read.signals.traces.headers["api-key"], "a b")
  t.equal(read.signals.traces.headers["x-team"], "7")
  t.equal(read.signals.logs.headers.k, "v")
  t.equal(read.signals.logs.headers["x-team"], nil)
  t.equal(read.signals.traces.timeout, 2.5)
end)

t.test("what cannot be done is an error that says what can", function()
  t.fails("invalid", "http/json", settings.read { [HERE] = "http://x", OTEL_EXPORTER_OTLP_PROTOCOL = "grpc" })
  t.fails("invalid", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/protobuf", settings.read { [HERE] = "http://x", OTEL_EXPORTER_OTLP_METRICS_PROTOCOL = "http/protobuf" })
  t.fails("invalid", "http://HOST:4318", settings.read { [HERE] = "localhost:4317" })
  t.fails("invalid", "name=value", settings.read { [HERE] = "http://x", OTEL_EXPORTER_OTLP_HEADERS = "secret" })
  t.fails("invalid", "is no header", settings.read { [HERE] = "http://x", OTEL_EXPORTER_OTLP_HEADERS = "a=b%0d%0aevil: 1" })
  t.fails("invalid", "CLIENT_KEY", settings.read { [HERE] = "http://x", OTEL_EXPORTER_OTLP_CLIENT_KEY = "k.pem" })
end)

t.test("numbers that are none are told of, and do not count", function()
  local read = assert(settings.read { [HERE] = "http://x", OTEL_BSP_MAX_QUEUE_SIZE = "many", OTEL_BSP_SCHEDULE_DELAY = "-1", OTEL_BSP_MAX_EXPORT_BATCH_SIZE = "9999",
    OTEL_TRACES_SAMPLER = "mood", OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT = "perhaps", OTEL_LOGS_EXPORTER = "console,otlp", OTEL_RESOURCE_ATTRIBUTES = "a" })
  t.equal(read.queues.traces.size, 2048)
  t.equal(read.queues.traces.batch, 2048)
  t.equal(read.queues.traces.delay, 5.0)
  t.equal(read.sampler.name, "parentbased_always_on")
  t.equal(read.content.span, false)
  t.ok(read.signals.logs)
  t.equal(#read.warnings, 6)
end)

t.test("who sends it", function()
  local read = assert(settings.read { [HERE] = "http://x", OTEL_RESOURCE_ATTRIBUTES = "service.name=a,deployment.environment.name=my%20test", OTEL_SERVICE_NAME = "harbour" })
  t.equal(read.resource["service.name"], "harbour")
  t.equal(read.resource["deployment.environment.name"], "my test")
  t.equal(assert(settings.read { [HERE] = "http://x" }).resource["service.name"], "hocket")
end)

served.close()
return t.finish()
