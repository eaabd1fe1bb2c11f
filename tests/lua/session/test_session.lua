local t = require "harness"
local flow = require "hocket.flow"
local hocket = require "hocket"
local json = require "hocket.json"
local llm = require "hocket.llm"
local model = require "model"
local resolve = require("hocket.model").resolve
local handles = require "hocket.internal.session.handles"
local long_results = require "hocket.internal.session.long_results"
local tool = require "hocket.tool"

local function call(name, arguments)
  return { name = name, arguments = arguments or {} }
end

local function simple(name, run, fields)
  local def = { name = name, description = name, run = run }
  for k, v in pairs(fields or {}) do def[k] = v end
  return tool(def)
end

local number = { type = "object", required = { "n" }, properties = { n = { type = "integer" } } }

-- Calls one tool, then answers with its result.
local function calls_once(calls)
  return function(request)
    if request.last.role == "user" then return { calls = calls } end
    local texts = {}
    for _, message in ipairs(request.messages) do
      if message.role == "tool" then texts[#texts + 1] = message.text end
    end
    return table.concat(texts, "|")
  end
end

-- Every call of a history has exactly one result, right after it.
local function check_history(history)
  local open = {}
  for _, message in ipairs(history:messages()) do
    if message.role == "tool" then
      local id = message.call_id or message.id or message.tool_call_id
      t.ok(open[id], "a result without a call: " .. t.show(message))
      open[id] = nil
    else
      t.equal(next(open), nil, "a call without a result")
    end
    for _, one in ipairs(message.calls or message.tool_calls or {}) do open[one.id] = true end
  end
  t.equal(next(open), nil, "a call without a result at the end")
end

-- ---- Answers ------------------------------------------------------------------------------

t.test("an answer, streamed and whole", function()
  local m <close> = model.serve(function(request) return "You said: " .. request.last.text end)
  for _, stream in ipairs { true, false } do
    local s, events = model.session(m, { system = "Be kind.", stream = stream })
    local reply = assert(s:send "héllo 😀\0.")
    t.equal(reply.text, "You said: héllo 😀\0.")
    t.equal(reply.finish, "stop")
    t.ok(reply.usage.input > 0 and reply.usage.output > 0)
    t.equal(#model.of(events, "model_request"), 1)
    t.equal(#model.of(events, "model_reply"), 1)
    t.equal(m.requests[#m.requests].system, "Be kind.")
    t.equal(m.requests[#m.requests].raw.stream == true, stream)
    t.equal(assert(s:send "again").text, "You said: again")
    t.equal(#m.requests[#m.requests].messages, 3)
  end
end)

t.test("deltas come as they are streamed, and add up", function()
  local m <close> = model.serve({ reply = function() return { text = ("ab😀"):rep(100), reasoning = "hm, hm" } end }, { fragment = 7, pause = 0.0005 })
  local text, reasoning, pieces = "", "", 0
  local s = model.session(m, { on_delta = function(kind, piece)
    pieces = pieces + 1
    if kind == "text" then text = text .. piece else reasoning = reasoning .. piece end
  end })
  local reply = assert(s:send "x")
  t.equal(text, reply.text)
  t.equal(text, ("ab😀"):rep(100))
  t.equal(reasoning, "hm, hm")
  t.ok(pieces > 3)
end)

t.test("the settings reach the wire", function()
  local m <close> = model.serve(function() return "ok" end)
  local s = model.session(m, { temperature = 0.5, top_p = 1, max_tokens = 7, stop = { "END" }, seed = 3 })
  assert(s:send "x")
  local raw = m.requests[1].raw
  t.equal(raw.temperature, 0.5)
  t.equal(raw.top_p, 1)
  t.equal(raw.max_tokens, 7)
  t.equal(raw.seed, 3)
  t.same(raw.stop, { "END" })
end)

t.test("an empty answer is asked for once more", function()
  local m <close> = model.list { "", "there" }
  local s = model.session(m)
  t.equal(assert(s:send "x").text, "there")
  t.has(m.requests[2].last.text, "Your answer was empty")
end)

t.test("an empty answer twice is an error", function()
  for _, empty in ipairs { "", " \n\t " } do
    local m <close> = model.list { empty }
    t.fails("model", "answered with nothing, twice", model.session(m):send "x")
    t.equal(#m.requests, 2)
  end
end)

t.test("an answer that was cut by the token limit is marked, with a warning", function()
  local m <close> = model.list { { text = "half an ans", finish = "length" } }
  local s, events = model.session(m)
  local reply = assert(s:send "x")
  t.equal(reply.finish, "length")
  t.equal(reply.text, "half an ans")
  t.equal(reply.cut.reason, "length")
  t.equal(reply.cut.code, "limit")
  t.has(model.of(events, "warning")[1].message, "max_tokens")
end)

t.test("an answer that says no is no answer", function()
  for answer, text in pairs { [{ refusal = "I will not" }] = "I will not", [{ text = "Well,", refusal = "no" }] = "Well," } do
    local m <close> = model.list { answer }
    local s, events = model.session(m)
    local reply = assert(s:send "x")
    t.equal(reply.text, text)
    t.equal(reply.finish, "refusal")
    t.equal(reply.cut.code, "provider")
    t.equal(model.of(events, "warning")[1].message, "the model refused to answer")
    check_history(s.history)
  end
end)

t.test("nothing at all, because of the token limit", function()
  local m <close> = model.list { { text = "", finish = "length" } }
  t.fails("model", "the token limit, max_tokens, had cut it", model.session(m):send "x")
end)

t.test("calls of an answer that was broken off are not run", function()
  local whys = { length = "cut by the token limit", content_filter = "content filter stopped" }
  for finish, why in pairs(whys) do
    local ran
    local m <close> = model.list { { calls = { call("x", '{"n": 1}') }, finish = finish }, "sorry" }
    local s = model.session(m, { tools = { simple("x", function() ran = true end) } })
    t.equal(assert(s:send "x").text, "sorry")
    t.equal(ran, nil)
    t.has(m.requests[2].last.text, "not run: the ")
    t.has(m.requests[2].last.text, why)
    check_history(s.history)
  end
end)

t.test("the content filter is a clear error", function()
  local m <close> = model.list { { text = "I", finish = "content_filter" } }
  local err = t.fails("provider", "content filter", model.session(m):send "x")
  t.equal(err.partial, "I")
end)

t.test("turns are limited", function()
  local n = 0
  local m <close> = model.serve(function()
    n = n + 1
    return { calls = { call("count", { n = n }) } }
  end)
  local s = model.session(m, { max_turns = 5, tools = { simple("count", function(args) return args.n end, { parameters = number }) } })
  t.fails("budget", "no answer after 5 turns (max_turns)", s:send "x")
  t.equal(#m.requests, 5)
  check_history(s.history)
end)

t.test("what is said beside the calls of an only turn is not lost", function()
  local m <close> = model.list { { text = "so far", calls = { call("count", { n = 1 }) } } }
  local s = model.session(m, { max_turns = 1, tools = { simple("count", function(args) return args.n end, { parameters = number }) } })
  local reply = t.ok(s:send "x")
  t.equal(reply.text, "so far\n\n(Cut short: no answer after 1 turn (max_turns).)")
  t.equal(reply.finish, "turns")
  check_history(s.history)
end)

t.test("tool calls are limited", function()
  local m <close> = model.list { { calls = { call "a", call "a", call "a" } } }
  local ran = 0
  local s = model.session(m, { max_tool_calls = 2, tools = { simple("a", function() ran = ran + 1 return ran end) } })
  t.fails("budget", "max_tool_calls", s:send "x")
  t.equal(ran, 0)
  check_history(s.history)
end)

-- A provider that runs tools of its own may pause: it goes on when it is sent what it has said, and no more.
t.test("a turn that the provider pauses goes on", function()
  local use = { type = "server_tool_use", id = "s1", name = "web_search", input = { query = "snow" } }
  local contents = { { { type = "text", text = "I look." }, use }, { { type = "text", text = "White." } } }
  local bodies = {}
  local m <close> = model.raw(function(listener, request, n)
    bodies[n] = json.decode(request.body)
    local pauses = n % 2 == 1
    listener:respond(request.id, 200, { ["content-type"] = "application/json" }, json.encode { type = "message", id = "m",
      content = contents[pauses and 1 or 2], stop_reason = pauses and (n == 1 and "pause_turn" or "compaction") or "end_turn", usage = { input_tokens = 1, output_tokens = 1 } })
  end, { protocol = "anthropic" })
  local s, events = model.session(m, { stream = false })
  local reply = assert(s:send "Snow?")
  t.equal(reply.text, "White.")
  t.equal(reply.paused, nil)
  t.equal(model.of(events, "message")[1].content, "I look.")
  t.equal(#model.of(events, "model_reply"), 2)
  local again = bodies[2].messages
  t.equal(#again, 2)
  t.equal(again[2].role, "assistant")
  again[2].content[2].cache_control = nil
  t.same(again[2].content, contents[1])
  assert(s:send "And rain?")
  again = bodies[3].messages
  t.equal(#again, 4)
  t.equal(again[3].content[1].text, "White.")
  -- one that never ends is held by the limit of turns
  local endless <close> = model.raw(function(listener, request)
    listener:respond(request.id, 200, { ["content-type"] = "application/json" },
      json.encode { type = "message", content = { use }, stop_reason = "pause_turn" })
  end, { protocol = "anthropic" })
  t.fails("budget", "no answer after 3 turns", model.session(endless, { max_turns = 3 }):send "x")
  -- whoever makes single calls sees it
  local history = llm.history()
  history:user "x"
  t.equal(assert(llm.call(assert(resolve(endless.id)), history, { stream = false })).paused, true)
end)

-- ---- Tools ----------------------------------------------------------------------------------

t.test("parallel calls overlap, results come back in their order", function()
  local now, most, order = 0, 0, {}
  local slow = simple("slow", function(args)
    now = now + 1
    most = math.max(most, now)
    flow.sleep((6 - args.n) * 0.01)
    now = now - 1
    order[#order + 1] = args.n
    return "r" .. args.n
  end, { parameters = number })
  local calls = {}
  for i = 1, 5 do calls[i] = call("slow", { n = i }) end
  local m <close> = model.serve(calls_once(calls))
  local s, events = model.session(m, { tools = { slow } })
  local begin = flow.now()
  t.equal(assert(s:send "x").text, "r1|r2|r3|r4|r5")
  t.equal(most, 5)
  t.same(order, { 5, 4, 3, 2, 1 })
  t.ok(flow.now() - begin < 0.14 * t.slower, "they ran one after the other")
  t.equal(#model.of(events, "tool_call"), 5)
  local told = {}
  for _, event in ipairs(events) do
    if event.type:find "^tool_" then told[#told + 1] = event.type .. " " .. event.tool .. " " .. event.arguments end
  end
  for i = 1, 5 do -- all begin before the first ends, which is the last that began
    t.equal(told[i], ('tool_started slow {"n":%d}'):format(i))
    t.equal(told[5 + i], ('tool_call slow {"n":%d}'):format(6 - i))
  end
  check_history(s.history)
end)

t.test("at most 16 calls at once", function()
  local now, most, calls = 0, 0, {}
  for i = 1, 40 do calls[i] = call("slow", { n = i }) end
  local m <close> = model.serve(calls_once(calls))
  local s = model.session(m, { tools = { simple("slow", function(args)
    now = now + 1
    most = math.max(most, now)
    flow.sleep(0.002)
    now = now - 1
    return args.n
  end, { parameters = number }) } })
  assert(s:send "x")
  t.equal(most, 16)
end)

t.test("what tools return, as the model sees it", function()
  local cases = {
    { function() return "text" end, "text" }, { function() return { a = 1 } end, '{"a":1}' }, { function() return 7 end, "7" },
    { function() return false end, "false" }, { function() end, "done" }, { function() return "" end, "" },
    { function() return nil, { code = "io", message = "no disk" } end, "error: no disk" },
    { function() return nil, "plain" end, "error: plain" }, { function() return nil, { code = "io" } end, "error: io" },
    { function() return nil, setmetatable({}, { __tostring = function() return "no guest 5" end }) end, "error: no guest 5" },
    { function() error(setmetatable({ fn = print }, { __tostring = function() return "no guest 5" end })) end, "error: the tool failed: no guest 5" },
    { function() error { code = "io", message = "thrown" } end, "error: the tool failed: thrown" },
    { function() error("thrown text", 0) end, "error: the tool failed: thrown text" },
    { function() error() end, "error: the tool failed" },
    { function() return json.array {} end, "[]" },
    { function() return { print } end, "cannot encode a function" }, { function() return { speed = 1 / 0 } end, "JSON" },
    { function() return { 1, 2, x = 3 } end, "JSON" },
    { function(_, ctx) return ctx.keep { at = 1 } or "kept" end, "kept" },
    { function(_, ctx) return "a key of " .. #ctx.effect_id .. (ctx.effect_id == ctx.effect_id and ", always the same" or "") end, "always the same" },
    { function() local loop = {} loop.x = loop return loop end, "nested deeper" },
    { function() return "a\255b\0c" end, "a" },
  }
  for i, case in ipairs(cases) do
    local m <close> = model.serve(calls_once { call "x" })
    local s = model.session(m, { tools = { simple("x", case[1]) } })
    local reply = assert(s:send "x")
    if case[2] == "" then
      t.equal(m.requests[2].last.text, "")
    else
      t.has(m.requests[2].last.text, case[2], "case " .. i)
    end
    t.ok(reply.text)
    check_history(s.history)
  end
end)

t.test("a tool that raises is reported once, and the others finish", function()
  local m <close> = model.serve(calls_once { call "bad", call "good" })
  local s, events = model.session(m, { tools = { simple("bad", function() local x = nil; return x.y end),
    simple("good", function() flow.sleep(0.01) return "fine" end) } })
  t.has(assert(s:send "x").text, "|fine")
  local warnings = model.of(events, "warning")
  t.equal(#warnings, 1)
  t.has(warnings[1].message, "tool 'bad' raised")
  t.has(warnings[1].message, "test_session.lua")
end)

t.test("a tool has its own time", function()
  local closed
  local m <close> = model.serve(calls_once { call "slow" })
  local s = model.session(m, { tools = { simple("slow", function()
    local closing <close> = setmetatable({}, { __close = function() closed = true end })
    flow.sleep(60)
  end, { timeout = 0.02 }) } })
  t.has(assert(s:send "x").text, "error:")
  t.has(m.requests[2].last.text, "within 0.02 seconds")
  t.equal(closed, true)
end)

t.test("arguments are put right before they are checked", function()
  local got
  local m <close> = model.serve(calls_once { call("x", { n = "5" }) })
  local s = model.session(m, { tools = { simple("x", function(args) got = args.n end, {
    parameters = number, prepare = function(args) args.n = math.tointeger(tonumber(args.n)) return args end,
  }) } })
  assert(s:send "x")
  t.equal(got, 5)
end)

t.test("arguments that do not fit are mended, others are left alone", function()
  local asked, got = 0, {}
  local m <close> = model.serve(calls_once { call("x", { n = "5" }), call("x", { n = 6 }), call("x", { n = "six" }) })
  local s = model.session(m, { tools = { simple("x", function(args) got[#got + 1] = args.n return "done" end, {
    parameters = number, repair = function(args)
      asked = asked + 1
      args.n = math.tointeger(tonumber(args.n)) or args.n
      return args
    end,
  }) } })
  assert(s:send "x")
  table.sort(got)
  t.same(got, { 5, 6 })
  t.equal(asked, 2, "what fits is not mended")
end)

t.test("a call is shown on one line, and cut between two characters", function()
  local shown = {}
  local m <close> = model.serve(calls_once { call("x", { n = 1 }), call("x", { text = "a\n\t b" }), call("x", { text = ("é"):rep(200) }) })
  local s = model.session(m, { tools = { simple("x", function() return "done" end) }, on_call = function(one, i) shown[i] = one:preview(i) end })
  assert(s:send "x")
  t.equal(shown[1], 'x {"n":1}')
  t.equal(shown[2], 'x {"text":"a\\n\\t b"}', "what JSON escapes stays so")
  t.ok(utf8.len(shown[3]) and #shown[3] <= 2 + 120 + 2, shown[3])
  t.has(shown[3], "…")
end)

t.test("a prepare function that raises does not end the session", function()
  local m <close> = model.serve(calls_once { call("x", { n = {} }) })
  local s = model.session(m, { tools = { simple("x", print, { prepare = function(args) return args.n + 1 end }) } })
  t.has(assert(s:send "x").text, "error:")
end)

t.test("a tool knows its call and its session", function()
  local context
  local m <close> = model.serve(calls_once { { name = "x", id = "call_77" } })
  local s = model.session(m, { context = { extra = 1 }, tools = { simple("x", function(_, ctx) context = ctx end) } })
  assert(s:send "x")
  t.equal(context.call_id, "call_77")
  t.equal(context.session, s)
  t.equal(context.extra, 1)
end)

t.test("a large result is kept, and read by reference", function()
  local lines = {}
  for i = 1, 20000 do lines[i] = ("line %d é"):format(i) end
  local whole, pieces = table.concat(lines, "\n"), {}
  local m <close> = model.serve(function(request)
    local text = request.last.text
    if request.last.role == "user" then return { calls = { call "x" } } end
    if text:find "is kept as" then return { calls = { call("read_result", { id = "res1" }) } } end
    local next_line = text:match "go on with first_line = (%d+)%]$"
    pieces[#pieces + 1] = text:gsub("%[lines %d+ to %d+ of 20000; [^\n]*$", "")
    return next_line and { calls = { call("read_result", { id = "res1", first_line = tonumber(next_line) }) } } or "done"
  end)
  local s = model.session(m, { tools = { simple("x", function() return whole end) } })
  t.equal(assert(s:send "x").text, "done")
  local shown = m.requests[2].last.text
  t.ok(#shown < 17000)
  t.has(shown, "20000 lines, is kept as \"res1\"")
  t.has(shown, "line 20000 é")
  t.equal(#m.requests[1].raw.tools, 1)
  t.equal(#m.requests[2].raw.tools, 3)
  t.equal(table.concat(pieces), whole)
end)

t.test("kept results are searched, by bytes, and only one's own", function()
  local store = handles.new()
  local tools = long_results.tools(store)
  local function read(args) return tools[1].run(args) end
  local function search(args) return tools[2].run(args) end
  t.has(select(2, read { id = "res1" }), "nothing is kept")
  local whole = "one\ntwo\nthree two\n" .. ("é"):rep(50000)
  local id = store:keep("res", whole)
  t.equal(search { id = id, text = "two" }, "2: two\n3: three two")
  t.equal(search { text = "TWO" }, "res1 2: two\nres1 3: three two")
  t.equal(search { text = "e\ntwo\nth" }, "res1 1: one")
  t.equal(search { id = id, text = "four" }, "[no line has that text]")
  t.equal(read { id = id, first_line = 2, lines = 1 }, "two\n[lines 2 to 2 of 4; go on with first_line = 3]")
  t.has(read { id = id, first_line = 4 }, "read on by first_byte")
  local text, from = "", 1
  while from do
    local piece = read { id = id, first_byte = from }
    from = tonumber(piece:match "first_byte = (%d+)%]$")
    text = text .. piece:gsub("\n%[bytes [^\n]*%]$", "")
  end
  t.equal(text, whole)
  t.has(select(2, read { id = "res9" }), "kept are res1 to res1")
  t.has(select(2, read { id = "../x" }), "nothing is kept as '../x'")
  local many = {}
  for i = 1, 300 do many[i] = i % 2 == 0 and "even " .. i or "odd " .. i end
  id = store:keep("res", table.concat(many, "\n"))
  local found = search { id = id, text = "even" }
  t.has(found, "2: even 2\n4: even 4\n")
  t.has(found, "200: even 200\n[the first 100 lines with it; search for something rarer]")
end)

t.test("calls that touch the same thing run one after the other", function()
  local m <close> = model.serve(calls_once {
    call("w", { at = "a", n = 1 }), call("w", { at = "b", n = 2 }), call("r", { at = "a", n = 3 }), call("w", { at = "a", n = 4 }), call("one", { n = 5 }), call("one", { n = 6 }),
  })
  local log, busy = {}, {}
  local function work(args, _, changes)
    t.ok(not changes or not busy[args.at], "two at once")
    busy[args.at or "-"] = true
    flow.sleep(args.n == 1 and 0.05 or 0.01)
    busy[args.at or "-"] = nil
    log[#log + 1] = args.n
    return "ok"
  end
  local any = { type = "object" }
  local s = model.session(m, { tools = {
    simple("w", function(args) return work(args, nil, true) end, { parameters = any, conflicts = function(args) return { args.at } end }),
    simple("r", function(args) return work(args, nil, true) end, { parameters = any, conflicts = function(args) return {}, { args.at } end }),
    simple("one", function(args) return work(args, nil, true) end, { parameters = any, serial = true }),
  } })
  assert(s:send "x")
  local place = {}
  for i, n in ipairs(log) do place[n] = i end
  t.ok(place[1] < place[3] and place[3] < place[4], table.concat(log, " "))
  t.ok(place[2] < place[1], "b does not wait for a")
  t.ok(place[5] < place[6] and place[5] < place[1])
end)

t.test("how many calls of a turn run at once is the agent's", function()
  for parallel, most in pairs { [1] = 1, [3] = 3, [0] = 16 } do
    local calls, running, seen = {}, 0, 0
    for i = 1, 20 do calls[i] = call("x", { i = i }) end
    local m <close> = model.serve(calls_once(calls))
    local s = model.session(m, { parallel = parallel > 0 and parallel or nil, tools = { simple("x", function()
      running = running + 1
      seen = math.max(seen, running)
      flow.sleep(0.002)
      running = running - 1
      return "r"
    end, { parameters = { type = "object" } }) } })
    assert(s:send "x")
    t.equal(seen, most)
  end
  local def = require "hocket.agent".parse("---\nname: a\nparallel: 2\n---\nx", "a.md")
  t.equal(def.parallel, 2)
  local none, problems = require "hocket.agent".parse("---\nname: a\nparallel: 0\n---\nx", "a.md")
  t.equal(none, nil)
  t.has(problems[1].message, "parallel")
end)

t.test("quiet tools give no event", function()
  local m <close> = model.serve(calls_once { call "x" })
  local s, events = model.session(m, { tools = { simple("x", function() return "r" end, { quiet = true }) } })
  assert(s:send "x")
  t.equal(#model.of(events, "tool_call"), 0)
  t.equal(#model.of(events, "tool_started"), 0)
end)

-- ---- Wrong calls -----------------------------------------------------------------------------

-- The model is told of `wrong` at most twice; then the session fails.
local function bounded_repair(wrong, tools, told)
  local m <close> = model.list { { calls = { wrong } } }
  local s, events = model.session(m, { tools = tools })
  local err = t.fails("model", told, s:send "x")
  t.has(err, "3 turns")
  t.equal(#m.requests, 3)
  t.has(m.requests[2].last.text, told)
  t.has(m.requests[3].last.text, told)
  t.equal(#model.of(events, "tool_call"), 3)
  t.equal(#model.of(events, "tool_started"), 0)
  for _, event in ipairs(model.of(events, "tool_call")) do -- with what was wrong, for whoever looks on
    t.equal(event.error, true)
    if type(wrong.arguments) == "string" then t.equal(event.arguments, wrong.arguments) end
  end
  check_history(s.history)
  -- and once is no harm
  local n <close> = model.list { { calls = { wrong } }, "fine" }
  t.equal(assert(model.session(n, { tools = tools }):send "x").text, "fine")
end

t.test("unknown tools", function()
  bounded_repair(call "nope", { simple("one", print), simple("two", print) }, "there is no tool 'nope'. The tools are: one, two")
  bounded_repair(call "nope", {}, "The tools are: none")
end)

t.test("arguments that are no JSON", function()
  local tools = { simple("x", print) }
  bounded_repair(call("x", '{"n": '), tools, "the arguments are not valid JSON")
  bounded_repair(call("x", '{"n": 1'), tools, "the arguments are not valid JSON")
  bounded_repair(call("x", 'x {"n": 1}'), tools, "the arguments are not valid JSON")
  bounded_repair(call("x", '{"n": 1} {"n": 2}'), tools, "the arguments are not valid JSON")
end)

t.test("arguments that are no object", function()
  for _, arguments in ipairs { "[1]", "3", '"text"', "true", "false", "[]" } do
    bounded_repair(call("x", arguments), { simple("x", print) }, "the arguments have to be one JSON object")
  end
end)

t.test("arguments that mean one object beyond doubt", function()
  local numbers = { parameters = { type = "object", required = { "n" }, properties = { n = { type = "integer" }, note = { type = "string" },
    nothing = { type = "null" }, list = { type = "array", items = { type = "string" } } } } }
  for written, meant in pairs {
    ["{'n': 1}"] = { n = 1 }, ['{"n": 1,}'] = { n = 1 }, ['{n: 1} // one'] = { n = 1 }, ['```json\n{"n": 1}\n```'] = { n = 1 },
    ['"{\\"n\\": 1}"'] = { n = 1 }, ['{"n": 1, "note": null, "list": null}'] = { n = 1 }, ['{"n": 1, "nothing": null}'] = { n = 1, nothing = json.null },
    ['{"n": 1, "note": "one\ntwo"}'] = { n = 1, note = "one\ntwo" }, ['{"n": 1, "list": ["a",]}'] = { n = 1, list = { "a" } },
  } do
    local m <close> = model.serve(calls_once { { name = "x", arguments = written } })
    local got
    assert(model.session(m, { tools = { simple("x", function(args) got = args end, numbers) } }):send "x")
    t.same(got, meant, written)
  end
  bounded_repair(call("x", '{"n": null}'), { simple("x", print, numbers) }, "expected integer, got null")
  bounded_repair(call("x", '{"n": 1, "list": [null]}'), { simple("x", print, numbers) }, "/list/0: expected string, got null")
end)

t.test("no arguments at all are none", function()
  for _, arguments in ipairs { "", " ", "null", "{}" } do
    local m <close> = model.serve(calls_once { { name = "x", arguments = arguments } })
    local got
    assert(model.session(m, { tools = { simple("x", function(args) got = args end) } }):send "x")
    t.same(got, {})
  end
end)

t.test("arguments that miss the schema", function()
  local tools = { simple("x", print, { parameters = number }) }
  bounded_repair(call("x", {}), tools, "n")
  bounded_repair(call("x", { n = "one" }), tools, "expected integer, got string")
end)

t.test("several wrong calls in one turn are one mistake", function()
  local wrong = { call "nope", call "nope2", call "nope3", call "nope4" }
  local m <close> = model.list { { calls = wrong }, "fine" }
  local s = model.session(m)
  t.equal(assert(s:send "x").text, "fine")
  check_history(s.history)
end)

t.test("a right turn in between forgives", function()
  local n = 0
  local m <close> = model.serve(function()
    n = n + 1
    if n == 9 then return "fine" end
    return { calls = { n % 3 == 0 and call("x", { n = n }) or call "nope" } }
  end)
  t.equal(assert(model.session(m, { tools = { simple("x", function() return n end) } }):send "x").text, "fine")
end)

t.test("the same call again and again", function()
  local ran = 0
  local m <close> = model.list { { calls = { call("x", { n = 1 }) } } }
  local s, events = model.session(m, { tools = { simple("x", function() ran = ran + 1 return "same" end) } })
  t.fails("limit", "'x' was called with the same arguments and the same result again and again", s:send "x")
  t.equal(ran, 4)
  t.has(m.requests[4].last.text, "You have made this same call 3 times")
  t.equal(#model.of(events, "warning"), 1)
  check_history(s.history)
end)

t.test("the same calls in turns are a loop too", function()
  local n = 0
  local m <close> = model.serve(function()
    n = n + 1
    return { calls = { call("x", { n = n % 2 }) } }
  end)
  local s = model.session(m, { max_turns = 30, tools = { simple("x", function() return "same" end) } })
  t.fails("limit", "again and again", s:send "x")
  t.ok(#m.requests <= 10, #m.requests .. " requests")
end)

t.test("waiting for something is no loop", function()
  local ran = 0
  local m <close> = model.serve(function(request)
    return request.last.text == "state 10" and "ready" or { calls = { call "status" } }
  end)
  local s = model.session(m, { tools = { simple("status", function() ran = ran + 1 return "state " .. ran end) } })
  t.equal(assert(s:send "x").text, "ready")
end)

-- ---- Cancelling ---------------------------------------------------------------------------------

t.test("a cancel closes the socket of a model call", function()
  local gone
  local m <close> = model.raw(function(listener, request)
    listener:begin(request.id, 200, { ["content-type"] = "text/event-stream" })
    while listener:write(request.id, model.chunk "x") do flow.sleep(0.002) end
    gone = true
  end)
  local child = flow.spawn(function() return model.session(m):send "x" end)
  t.eventually(function() return m.open == 1 end)
  flow.sleep(0.01)
  child:cancel()
  t.raises("cancelled", child.wait, child)
  t.eventually(function() return gone end)
end)

t.test("a timeout around a session closes the socket, too", function()
  local m <close> = model.raw(function(listener, request)
    listener:begin(request.id, 200, { ["content-type"] = "text/event-stream" })
    while listener:write(request.id, ": waiting\n\n") do flow.sleep(0.002) end
  end)
  t.fails("timeout", "", flow.timeout(0.03, function() return model.session(m):send "x" end))
  t.eventually(function() return m.open == 0 end)
end)

t.test("a cancel between tools leaves a whole conversation", function()
  local m <close> = model.serve(calls_once { call "fast", call "slow" })
  local s, began
  local child = flow.spawn(function()
    s = model.session(m, { tools = { simple("fast", function() return "fine" end), simple("slow", function() began = true flow.sleep(60) end) } })
    return s:send "x"
  end)
  t.eventually(function() return began end)
  flow.sleep(0.02 * t.slower)
  child:cancel()
  child:join()
  check_history(s.history)
  t.has(s.history:lines(), "fine")
  t.has(s.history:lines(), "cancelled")
end)

t.test("a tool cannot swallow its cancel", function()
  local m <close> = model.serve(calls_once { call "x" })
  local child = flow.spawn(function()
    return model.session(m, { tools = { simple("x", function()
      pcall(flow.sleep, 60)
      return "went on"
    end) } }):send "x"
  end)
  t.eventually(function() return #m.requests == 1 end)
  flow.sleep(0.02)
  child:cancel()
  t.raises("cancelled", child.wait, child)
  t.equal(#m.requests, 1)
end)

t.test("many sessions at once", function()
  local m <close> = model.serve({ reply = calls_once { call("x", { n = 1 }) } }, { latency = 0.01 })
  local list = {}
  for i = 1, 100 do list[i] = i end
  local texts = flow.map(list, function(i)
    return assert(model.session(m, { tools = { simple("x", function() return "r" .. i end) } }):send "x").text
  end)
  for i = 1, 100 do t.equal(texts[i], "r" .. i) end
end)

t.test("an upgrade waits for the next turn", function()
  local s
  local systems, offered = {}, {}
  local m <close> = model.serve(function(request)
    systems[#systems + 1] = request.system
    local n = 0
    for _ in pairs(request.tools) do n = n + 1 end
    offered[#offered + 1] = n
    if #systems == 1 then return { calls = { call "old" } } end
    return "system: " .. request.system
  end)
  local old = simple("old", function()
    s:upgrade { system = "New.", tools = { simple("a", function() return "a" end), simple("b", function() return "b" end) } }
    return "old result"
  end)
  s = model.session(m, { system = "Old.", tools = { old } })
  t.equal(assert(s:send "x").text, "system: New.")
  t.same(systems, { "Old.", "New." })
  t.same(offered, { 1, 2 })
  check_history(s.history)
  t.has(s.history:lines(), "old result")
  s:upgrade { system = "Third." }
  t.equal(assert(s:send "y").text, "system: Third.")
  t.equal(offered[3], 2)
end)

-- ---- A format of the answer, beside tools -----------------------------------------------------------

local form = '{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}'

-- As those servers do: with a format no tool is ever called.
local function formatting(said)
  local m = model.serve(function(request)
    local formatted = request.raw.response_format ~= nil
    if formatted then return '{"n": 7}' end
    if request.turn == 1 then return { calls = { call("look", { n = 1 }) } } end
    return said or "It is seven."
  end)
  hocket.provider("formatting", { protocol = "openai_chat", base = m.base, traits = { schema_with_tools = false } })
  return m
end

local function looking(fields)
  local looked = { n = 0 }
  local spec = { schema = form, schema_name = "n", tools = { simple("look", function() looked.n = looked.n + 1 return "7" end, { parameters = number }) } }
  for key, value in pairs(fields or {}) do spec[key] = value end
  return spec, looked
end

t.test("a format keeps nobody from calling tools: it goes with the last turn only", function()
  local m <close> = formatting()
  local spec, looked = looking()
  local s = model.session("formatting/m", spec)
  t.equal(assert(s:send "x").text, '{"n": 7}')
  t.equal(looked.n, 1)
  t.equal(#m.requests, 3)
  for i = 1, 2 do
    t.equal(m.requests[i].raw.response_format, nil)
    t.equal(m.requests[i].raw.tool_choice, nil)
  end
  t.equal(m.requests[3].raw.tool_choice, "none")
  t.has(m.requests[3].last.text, "in the form that is asked for")
  check_history(s.history)
  -- The next question may call tools again.
  t.equal(assert(s:send "y").text, '{"n": 7}')
  t.equal(m.requests[4].raw.response_format, nil)
end)

t.test("an answer that has the form already needs no turn more; without tools the format goes at once", function()
  local m <close> = formatting '{"n": 8}'
  local s = model.session("formatting/m", (looking()))
  t.equal(assert(s:send "x").text, '{"n": 8}')
  t.equal(#m.requests, 2)
  s = model.session("formatting/m", { schema = form, schema_name = "n" })
  t.equal(assert(s:send "x").text, '{"n": 7}')
  t.ok(m.requests[3].raw.response_format)
end)

t.test("the last of its turns is enough for the form; and for one that is cut", function()
  local m <close> = formatting()
  local reply = assert(model.session("formatting/m", (looking { max_turns = 3 })):send "x")
  t.equal(reply.text, '{"n": 7}')
  t.equal(reply.cut, nil)
  reply = assert(model.session("formatting/m", (looking { max_turns = 2 })):send "x")
  t.equal(reply.text, '{"n": 7}')
  t.equal(reply.finish, "turns")
end)

t.test("other providers get format and tools together", function()
  local m <close> = formatting()
  local s = model.session(m, (looking()))
  t.equal(assert(s:send "x").text, '{"n": 7}')
  t.equal(#m.requests, 1)
end)

local unread = { status = 500, error = "The model produced output that does not match the expected peg-native format" }

t.test("an answer that the server could not read is told to the model, and asked for again", function()
  local m <close> = model.list { unread, unread, { calls = { call("look") } }, unread, unread, "done" }
  local s, events = model.session(m, { tools = { simple("look", function() return "seen" end) } })
  t.equal(assert(s:send "go").text, "done")
  t.equal(#m.requests, 6, "none was asked again as it was")
  for _, n in ipairs { 2, 3, 5, 6 } do
    t.has(m.requests[n].last.text, "could not be read")
    t.has(m.requests[n].last.text, "does not match the expected peg-native format\nAnswer again, in plain text, or by a call")
  end
  t.equal(#model.of(events, "warning"), 4)
end)

t.test("who cannot be read three times in a row is replaced, or has failed", function()
  local m <close> = model.list { unread }
  local err = t.fails("model", "peg-native", model.session(m):send "go")
  t.equal(#m.requests, 3)
  t.equal(err.gave_up, "attempts")
  local n <close> = model.list { unread }
  local other <close> = model.list { "I can" }
  local reply = assert(hocket.run(hocket.agent { name = "a", model = { n.id, other.id } }, "go"))
  t.equal(reply.text, "I can")
  t.same({ #n.requests, #other.requests, reply.fallbacks[1].reason }, { 3, 1, "model" })
end)

t.test("one call by itself, and a last answer, ask again as they are", function()
  local m <close> = model.list { unread, "well" }
  local history = llm.history()
  history:user "go"
  t.equal(assert(llm.call(resolve(m.id), history, {})).text, "well")
  local n <close> = model.list { { calls = { call("look") } }, unread, "well" }
  local s = model.session(n, { max_turns = 2, tools = { simple("look", function() return "seen" end) } })
  t.has(assert(s:send "go").text, "well")
  t.lacks(n.requests[3].last.text, "could not be read")
end)

t.test("an end without an answer is asked about once more, and is an error in the server's words", function()
  for _, case in ipairs { { "openai_chat", "tool_calls" }, { "openai_responses", "queued" } } do
    local bodies = {
      openai_chat = json.encode { choices = { { index = 0, message = { role = "assistant", content = "Let me" }, finish_reason = "tool_calls" } } },
      openai_responses = json.encode { id = "r", object = "response", status = "queued", output = json.array {} },
    }
    local m <close> = model.raw(function(l, request) l:respond(request.id, 200, { ["content-type"] = "application/json" }, bodies[case[1]]) end,
      { protocol = case[1] })
    t.fails("provider", "without an answer (" .. case[2] .. ")", model.session(m, { stream = false }):send "go")
    t.equal(m.count, 2)
  end
end)

t.test("an agent's output: what does not fit is told in the turn that has the format", function()
  local m <close> = formatting()
  local dir <close> = t.dir()
  hocket.tool.set("look_there", function() return simple("look", function() return "7" end, { parameters = number }) end)
  dir:write("a.md", "---\nmodel: formatting/m\ntools: [look_there]\noutput: " .. form .. "\n---\nLook, and answer.")
  local reply = assert(hocket.run(hocket.agent(dir.path .. "/a.md"), "x"))
  t.same(reply.value, { n = 7 })
  t.equal(#m.requests, 3)
  t.equal(m.requests[2].raw.response_format, nil)
  t.has(m.requests[3].last.text, "Your answer cannot be used")
end)

return t.finish()
