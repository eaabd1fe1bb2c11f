-- AG-UI: what a page is told of a run, and what it hands back.
local t = require "harness"
local hocket = require "hocket"
local json = require "hocket.json"
local serving = require "serving"

hocket.broker()
local seen

local function reply(q)
  seen = q
  local text = q.last.text
  if q.system:find "You help" then return "I have helped." end
  if q.last.role == "tool" then
    if text:find "created:" then return { calls = { { name = "call_helper", arguments = { task_ids = { 1 }, message = "Please" } } } } end
    return q.last.name == "get_plan_status" and "I have looked." or "It said: " .. text
  end
  if text == "plan" then return { calls = { { name = "create_tasks", arguments = { tasks = { { text = "Help", assigned_to = "helper", active_form = "Helping" } } } } } } end
  if text == "think" then return { reasoning = "Hm.", text = "Done." } end
  if text == "ask and show" then
    return { calls = { { name = "ask_user", arguments = { question = "One?" } }, { name = "ask_user", arguments = { question = "Two?" } }, { name = "show_map", arguments = { city = "Rome" } } } }
  end
  if text == "ask and write" then
    return { calls = { { name = "ask_user", arguments = { question = "One?" } }, { name = "write_file", arguments = { path = "both.txt", content = "made" } } } }
  end
  if text == "both" then return { calls = { { name = "show_map", arguments = { city = "Rome" } }, { name = "show_map", arguments = { city = "Oslo" } } } } end
  if text == "status twice" then return { calls = { { name = "get_plan_status", arguments = json.decode "{}" }, { name = "get_plan_status", arguments = json.decode "{}" } } } end
  if text == "cut" then return { text = "Half of", finish = "length" } end
  if text == "refuse" then return { refusal = "I will not." } end
  if text == "fail" then return { status = 400, error = "no such thing" } end
  local name, args = text:match "^call (%S+) (.*)$"
  if name then return { text = "I look.", calls = { { name = name, arguments = json.decode(args) } } } end
  return "You said: " .. text
end

local served = assert(hocket.sim.serve { reply = reply })
hocket.provider("page", { protocol = "openai_chat", base = served.base })

local files = {
  ["agents/guide.md"] = "---\nname: guide\ndescription: Knows the way\nmodel: page/m\ntools: [ask_user, write_file, facilitator]\nagents: [helper]\n---\nYou are the guide.",
  ["agents/helper.md"] = "---\nname: helper\ndescription: Helps\nmodel: page/m\ntools: [specialist]\n---\nYou help.",
}

-- The members that events have in the protocol: its clients refuse others.
local members, outcomes = {}, { success = "type", interrupt = "type interrupts" }
for kind, names in pairs {
  RUN_STARTED = "threadId runId", RUN_FINISHED = "threadId runId outcome", RUN_ERROR = "message code", STEP_STARTED = "stepName", STEP_FINISHED = "stepName",
  TEXT_MESSAGE_START = "messageId role", TEXT_MESSAGE_CONTENT = "messageId delta", TEXT_MESSAGE_END = "messageId", REASONING_START = "messageId",
  REASONING_MESSAGE_START = "messageId role", REASONING_MESSAGE_CONTENT = "messageId delta", REASONING_MESSAGE_END = "messageId", REASONING_END = "messageId",
  TOOL_CALL_START = "toolCallId toolCallName parentMessageId", TOOL_CALL_ARGS = "toolCallId delta", TOOL_CALL_END = "toolCallId",
  TOOL_CALL_RESULT = "messageId toolCallId content", STATE_SNAPSHOT = "snapshot", STATE_DELTA = "delta", CUSTOM = "name value",
} do members[kind] = " type " .. names .. " " end

local function check_members(of, names)
  t.ok(names, tostring(of.type))
  for name in pairs(of) do t.has(names, " " .. name .. " ") end
end

-- A client's list of messages after a request, as AG-UI's own client keeps it.
local function apply(list, messages)
  local ids = {}
  for _, one in ipairs(messages) do ids[one.id] = true end
  local function add(message)
    t.ok(not ids[message.id], "two messages have the id " .. message.id)
    ids[message.id] = true
    messages[#messages + 1] = message
  end
  for _, e in ipairs(list) do
    if e.type == "TEXT_MESSAGE_START" or e.type == "REASONING_MESSAGE_START" then add { id = e.messageId, role = e.role }
    elseif e.type == "TOOL_CALL_START" then
      local last = messages[#messages]
      if not last or last.id ~= e.parentMessageId or last.role ~= "assistant" then add { id = e.parentMessageId or e.toolCallId, role = "assistant" } end
      last = messages[#messages]
      last.toolCalls = last.toolCalls or {}
      last.toolCalls[#last.toolCalls + 1] = { id = e.toolCallId, type = "function", ["function"] = { name = e.toolCallName, arguments = "{}" } }
    elseif e.type == "TOOL_CALL_RESULT" then add { id = e.messageId, role = "tool", toolCallId = e.toolCallId, content = e.content } end
  end
  return messages
end

-- What the protocol asks of a sequence of events.
local function check(list)
  local open, steps = {}, {}
  t.ok(list[1].type == "RUN_STARTED")
  apply(list, {})
  for i, e in ipairs(list) do
    check_members(e, members[e.type])
    if e.type == "RUN_FINISHED" then check_members(e.outcome, " " .. outcomes[e.outcome.type] .. " ") end
    local kind, what = e.type:match "^(.-)_(%u+)$"
    local id = e.messageId or e.toolCallId
    if e.type == "STEP_STARTED" then
      t.ok(not steps[e.stepName])
      steps[e.stepName] = true
    elseif e.type == "STEP_FINISHED" then
      t.ok(steps[e.stepName])
      steps[e.stepName] = nil
    elseif what == "START" and id then
      t.ok(not open[kind .. id], "opened twice")
      open[kind .. id] = true
    elseif what == "CONTENT" or what == "ARGS" then
      t.ok(open[kind .. id], e.type)
    elseif what == "END" then
      t.ok(open[kind .. id], e.type)
      open[kind .. id] = nil
    elseif e.type == "RUN_FINISHED" then
      t.equal(next(open), nil)
      t.equal(next(steps), nil)
      t.equal(i, #list)
    end
  end
end

local function with_server(name, fn)
  t.test(name, function()
    local dir <close> = t.dir()
    for path, text in pairs(files) do dir:write(path, text) end
    local server <close> = serving.open(dir.path .. "/agents", { workdir = dir.path })
    fn(server, function(body)
      body.threadId, body.runId = body.threadId or "t1", body.runId or "r1"
      local status, list = server:stream("/agui/guide", body)
      if status ~= 200 then return status, list end
      local events = {}
      for i, one in ipairs(list) do events[i] = one.data end
      check(events)
      return events
    end, dir)
  end)
end

local function user(text, id) return { id = id or "u1", role = "user", content = text } end

local function of(list, kind)
  local found = {}
  for _, e in ipairs(list) do if e.type == kind then found[#found + 1] = e end end
  return found
end

-- The calls of the page's tools: they have no result yet.
local function pending(list)
  local ids, over = {}, {}
  for _, e in ipairs(of(list, "TOOL_CALL_RESULT")) do over[e.toolCallId] = true end
  for _, e in ipairs(of(list, "TOOL_CALL_START")) do ids[#ids + 1] = not over[e.toolCallId] and e.toolCallId or nil end
  return ids
end

local function text_of(list)
  local parts = {}
  for _, e in ipairs(of(list, "TEXT_MESSAGE_CONTENT")) do parts[#parts + 1] = e.delta end
  return table.concat(parts)
end

with_server("a run: its text, its reasoning, its end; what the page knows stands below the prompt", function(_, run)
  local list = run { messages = { user "think" }, context = { { description = "The page", value = "A map" } } }
  t.equal(text_of(list), "Done.")
  t.equal(of(list, "REASONING_MESSAGE_CONTENT")[1].delta, "Hm.")
  t.equal(list[#list].outcome.type, "success")
  t.equal(list[#list].threadId, "t1")
  t.has(seen.system, "The page:\nA map")
  list = run { messages = { user "Hello", { id = "a1", role = "assistant", content = "Good day." }, user("Who?", "u2") } }
  t.equal(text_of(list), "You said: Who?")
  t.equal(#seen.messages, 3)
end)

with_server("a team: steps, and tasks as patches that fit the state", function(_, run)
  local list = run { messages = { user "plan" } }
  t.has(of(list, "STEP_STARTED")[1].stepName, "helper")
  local tasks = {}
  t.same(of(list, "STATE_SNAPSHOT")[1].snapshot.tasks, {})
  for _, e in ipairs(of(list, "STATE_DELTA")) do
    local op = e.delta[1]
    if op.path == "/tasks/-" then tasks[#tasks + 1] = op.value else tasks[tonumber(op.path:match "^/tasks/(%d+)$") + 1] = op.value end
  end
  t.equal(tasks[1].text, "Help")
  t.equal(tasks[1].status, "done")
end)

with_server("the page's tools: the run is finished and waits, their results go on with it", function(_, run)
  local tools = { { name = "show_map", description = "Shows a map", parameters = { type = "object" } } }
  local list = run { messages = { user 'call show_map {"city": "Rome"}' }, tools = tools }
  local id = pending(list)[1]
  t.same(list[#list].outcome, { type = "success" })
  t.equal(of(list, "TOOL_CALL_ARGS")[1].delta, '{"city":"Rome"}')
  list = run { runId = "r2", tools = tools, messages = {
    user 'call show_map {"city": "Rome"}', { id = "a1", role = "assistant", toolCalls = { { id = id, type = "function", ["function"] = { name = "show_map", arguments = "{}" } } } },
    { id = "x1", role = "tool", toolCallId = id, content = "shown" },
  } }
  t.equal(text_of(list), "It said: shown")
  t.equal(#of(list, "TOOL_CALL_START"), 0) -- the page knows its own calls
end)

local map = { { name = "show_map", parameters = { type = "object" } } }

local function page_call(id) return { id = "a" .. id, role = "assistant", toolCalls = { { id = id, type = "function", ["function"] = { name = "show_map", arguments = "{}" } } } } end
local function page_result(id) return { id = "x" .. id, role = "tool", toolCallId = id, content = "shown" } end

with_server("two calls of the page's tools come back as call, result, call, result; a missing result is refused at once", function(s, run)
  local list = run { messages = { user "both" }, tools = map }
  local ids = pending(list)
  t.equal(#ids, 2)
  local status, got = run { tools = map, messages = { user "both", page_call(ids[1]), page_result(ids[1]) } }
  t.equal(status, 400)
  t.has(got.error.message, ids[2] .. "' has no result")
  list = run { tools = map, messages = { user "both", page_call(ids[1]), page_result(ids[1]), page_call(ids[2]), page_result(ids[2]) } }
  t.equal(text_of(list), "It said: shown")
  t.equal(s.desk.counts.started, 1)
end)

with_server("calls of one turn are of one message, that of the text before them; no request of a run gives an id again", function(_, run)
  local asked = { user "both" }
  local messages = apply(run { messages = asked, tools = map }, asked)
  t.equal(#messages, 2)
  t.equal(#messages[2].toolCalls, 2)
  for _, call in ipairs(messages[2].toolCalls) do messages[#messages + 1] = page_result(call.id) end
  apply(run { messages = messages, tools = map }, messages)
  t.equal(messages[#messages].role, "assistant")
  messages = { user 'call show_map {"city": "Rome"}' }
  apply(run { messages = messages, tools = map }, messages)
  t.equal(#messages, 2, "the text and its call are one message")
  messages[#messages + 1] = page_result(messages[2].toolCalls[1].id)
  apply(run { messages = messages, tools = map }, messages) -- raises where an id comes again
  t.equal(#messages, 4)
  messages = { user "status twice" }
  apply(run { messages = messages }, messages)
  local told = {}
  for i, one in ipairs(messages) do told[i] = one.role .. (one.toolCalls and #one.toolCalls or "") end
  t.equal(table.concat(told, " "), "user assistant1 tool assistant1 tool assistant", "our own calls come one by one, each with its result")
end)

with_server("of several questions and calls at once those that are left come with the next answer", function(s, run)
  local list = run { messages = { user "ask and show" }, tools = map }
  local outcome = list[#list].outcome
  t.equal(#outcome.interrupts, 2)
  local function answer(interrupt) return { messages = { user "ask and show" }, tools = map, resume = { { interruptId = interrupt.id, status = "resolved", payload = { answer = "yes" } } } } end
  list = run(answer(outcome.interrupts[1]))
  t.equal(#list[#list].outcome.interrupts, 1)
  t.equal(list[#list].outcome.interrupts[1].id, outcome.interrupts[2].id)
  list = run(answer(outcome.interrupts[2]))
  local ids = pending(list)
  t.equal(#ids, 1)
  list = run { tools = map, messages = { user "ask and show", page_call(ids[1]), page_result(ids[1]) } }
  t.equal(text_of(list), "It said: shown")
  t.equal(s.desk.counts.started, 1)
end)

with_server("questions and approvals are interrupts, and are answered by resume", function(s, run, dir)
  local list = run { messages = { user 'call ask_user {"question": "Which?"}' } }
  local one = list[#list].outcome.interrupts[1]
  t.equal(one.reason, "question")
  t.equal(one.message, "Which?")
  list = run { messages = { user "x" }, resume = { { interruptId = one.id, status = "resolved", payload = { answer = "the second" } } } }
  t.equal(text_of(list), "It said: the second")
  list = run { messages = { user 'call write_file {"path": "made.txt", "content": "made"}' } }
  one = list[#list].outcome.interrupts[1]
  t.equal(one.reason, "approval")
  t.equal((run { messages = { user "x" }, resume = { { interruptId = one.id, status = "resolved", payload = { decision = "perhaps" } } } }), 400)
  list = run { messages = { user "x" }, resume = { { interruptId = one.id, status = "resolved", payload = { decision = "allow" } } } }
  t.has(text_of(list), "created made.txt")
  t.ok(io.open(dir.path .. "/made.txt"))
  t.equal((run { messages = { user "x" }, resume = { { interruptId = one.id, status = "cancelled" } } }), 400)
  while next(s.desk.by_number) do require("hocket.internal.core.fiber").sleep(0.005) end -- all have ended
end)

with_server("of several answers all are taken or none", function(s, run, dir)
  local list = run { messages = { user "ask and write" } }
  local interrupts = list[#list].outcome.interrupts
  t.equal(#interrupts, 2)
  local function answers(decision, twice)
    local resume = {}
    for i, one in ipairs(interrupts) do resume[i] = { interruptId = one.id, status = "resolved", payload = one.reason == "approval" and { decision = decision } or { answer = "the first" } } end
    resume[3] = twice and resume[1] or nil
    return { messages = { user "x" }, resume = resume }
  end
  t.equal((run(answers "perhaps")), 400)
  t.equal((run(answers('edit {"path":7,"content":"x"}'))), 400)
  t.equal((run(answers("allow", true))), 400)
  t.equal(io.open(dir.path .. "/both.txt"), nil)
  t.equal(type(run(answers "allow")), "table")
  t.ok(io.open(dir.path .. "/both.txt"))
  while next(s.desk.by_number) do require("hocket.internal.core.fiber").sleep(0.005) end -- all have ended
end)

with_server("an answer that was cut, or refused, is told and is no success", function(_, run)
  for text, words in pairs { cut = "token limit", refuse = "refused" } do
    local list = run { messages = { user(text) } }
    t.equal(text_of(list), text == "cut" and "Half of" or "I will not.")
    t.equal(list[#list].type, "RUN_ERROR")
    t.has(list[#list].message, words)
    t.equal(#of(list, "RUN_FINISHED"), 0)
  end
end)

with_server("what fails is RUN_ERROR; what is no request is refused before a run begins", function(s, run)
  local list = run { messages = { user "fail" } }
  t.equal(list[#list].type, "RUN_ERROR")
  t.has(list[#list].message, "no such thing")
  local began = s.desk.counts.started
  for i, body in ipairs {
    { messages = json.array {} }, { messages = "x" }, { messages = { 7 } }, { messages = { { role = "x" } } }, { messages = { user(7) } }, { messages = { user "x" }, tools = { 7 } },
    { messages = { user "x" }, tools = { { name = "a b" } } }, { messages = { user "x" }, resume = { { interruptId = "x" } } }, { messages = { user "x" }, context = { 7 } },
    { messages = { { role = "tool", toolCallId = "never", content = "x" } } }, { messages = { user { { type = "image", source = { type = "url", value = "http://x" } } } } },
    { messages = { user "x" }, threadId = 7 },
  } do
    t.equal((run(body)), 400, "request " .. i)
  end
  t.equal(s.desk.counts.started, began)
  t.equal((s:post("/agui/nobody", { threadId = "t", runId = "r", messages = { user "x" } })), 404)
end)

served.close()
return t.finish()
