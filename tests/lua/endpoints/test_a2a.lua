-- A2A 1.0: agents for agents of others.
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local hocket = require "hocket"
local json = require "hocket.json"
local serving = require "serving"
local system = require "hocket.internal.core.system"

hocket.broker()
local waiting, released = 0, false

local function reply(q)
  local text = q.last.text
  if q.last.role == "tool" then return "It said: " .. text end
  if q.system:find "You rate" then return '{"stars": 4}' end
  if text == "ask" then return { calls = { { name = "ask_user", arguments = { question = "Which?" } } } } end
  if text == "ask twice" then return { calls = { { name = "ask_user", arguments = { question = "One?" } }, { name = "ask_user", arguments = { question = "Two?" } } } } end
  if text == "write" then return { calls = { { name = "write_file", arguments = { path = "made.txt", content = "made" } } } } end
  if text == "cut" then return { text = "Half of", finish = "length" } end
  if text == "refuse" then return { refusal = "I will not." } end
  if text == "fail" then return { status = 400, error = "no such thing" } end
  if text == "count" then return ("%d messages"):format(#q.messages) end
  if text == "wait" then
    waiting = waiting + 1
    local left <close> = setmetatable({}, { __close = function() waiting = waiting - 1 end })
    while not released do fiber.sleep(0.005) end
    return "late"
  end
  return "You said: " .. text
end

local served = assert(hocket.sim.serve { reply = reply })
hocket.provider("other", { protocol = "openai_chat", base = served.base })

local function with_server(name, fn)
  t.test(name, function()
    local dir <close> = t.dir()
    dir:write("agents/guide.md", "---\nname: guide\ndescription: Knows the way\nmodel: other/m\ntools: [ask_user, write_file]\n---\nYou are the guide.")
    local server <close> = serving.open(dir.path .. "/agents", { workdir = dir.path })
    released = false
    local function call(method, params, version)
      local _, answer = server:post("/a2a/guide", { jsonrpc = "2.0", id = 1, method = method, params = params }, { ["a2a-version"] = version or "1.0" })
      return answer.result, answer.error
    end
    fn(server, call, dir)
    released = true
    while waiting > 0 do fiber.sleep(0.005) end
  end)
end

local function message(text, more)
  local made = { messageId = system.token(8), role = "ROLE_USER", parts = { { text = text } } }
  for name, value in pairs(more or {}) do made[name] = value end
  return { message = made }
end

with_server("a typed agent: JSON in, and the value beside the text", function(s, _, dir)
  dir:write("other/rater.md", "---\nname: rater\ndescription: Rates\nmodel: other/m\ninput: {type: object, required: [what], properties: {what: {type: string}}}\noutput: {type: object, required: [stars], properties: {stars: {type: integer}}}\n---\nYou rate.")
  local server <close> = serving.open(dir.path .. "/other", { workdir = dir.path })
  local status, card = server:get "/a2a/rater/.well-known/agent-card.json"
  t.equal(status, 200, json.encode(card))
  t.equal(card.defaultInputModes[#card.defaultInputModes], "application/json")
  t.equal(card.defaultOutputModes[2], "application/json")
  local function ask(version, method, part)
    local role = version == "1.0" and "ROLE_USER" or "user"
    local _, answer = server:post("/a2a/rater", { jsonrpc = "2.0", id = 1, method = method, params = { message = { kind = version == "0.3" and "message" or nil, messageId = system.token(8), role = role, parts = { part } } } },
      { ["a2a-version"] = version })
    return answer.result
  end
  local made = ask("1.0", "SendMessage", { data = { what = "tea" } })
  local parts = made.task.artifacts[1].parts
  t.equal(parts[1].text, '{"stars": 4}')
  t.equal(parts[2].data.stars, 4)
  parts = ask("0.3", "message/send", { kind = "data", data = { what = "tea" } }).artifacts[1].parts
  t.equal(parts[2].kind, "data")
  t.equal(parts[2].data.stars, 4)
end)

with_server("cards: who is offered, and where", function(s)
  local status, card, headers = s:get "/.well-known/agent-card.json"
  t.equal(status, 200)
  t.equal(card.name, "guide")
  t.equal(card.supportedInterfaces[1].url, s.base .. "/a2a/guide")
  t.equal(card.supportedInterfaces[1].protocolVersion, "1.0")
  t.ok(headers.etag)
  t.equal((s:get "/a2a/guide/.well-known/agent-card.json"), 200)
  t.equal((s:get "/a2a/nobody/.well-known/agent-card.json"), 404)
end)

with_server("a message is a task; the next one of its context goes on with the conversation", function(s, call)
  local task = assert(call("SendMessage", message "Hello")).task
  t.equal(task.status.state, "TASK_STATE_COMPLETED")
  t.equal(task.artifacts[1].parts[1].text, "You said: Hello")
  t.same(call("GetTask", { id = task.id }).status, task.status)
  local more = assert(call("SendMessage", message("count", { contextId = task.contextId }))).task
  t.equal(more.artifacts[1].parts[1].text, "3 messages")
  t.ok(more.id ~= task.id and more.contextId == task.contextId)
  local list = assert(call("ListTasks", json.decode "{}"))
  t.equal(list.totalSize, 2)
  t.equal(list.nextPageToken, "")
  t.equal(list.tasks[1].id, more.id)
  t.equal(list.tasks[1].artifacts, nil)
  t.equal(call("ListTasks", { pageSize = 1 }).nextPageToken, "1")
  t.equal(call("ListTasks", { pageSize = 1, pageToken = "1", includeArtifacts = true }).tasks[1].artifacts[1].parts[1].text, "You said: Hello")
  t.equal(select(2, call("SendMessage", message("x", { taskId = task.id }))).code, -32004)
  t.equal(select(2, call("SubscribeToTask", { id = task.id })).code, -32004)
  t.equal(select(2, call("CancelTask", { id = task.id })).code, -32002)
end)

with_server("a stream: the task first, pieces of the answer, its end", function(s)
  local _, list = s:post("/a2a/guide", { jsonrpc = "2.0", id = 7, method = "SendStreamingMessage", params = message "Hello" }, { ["a2a-version"] = "1.0" })
  local kinds, text = {}, ""
  for data in list:gmatch "data: ([^\n]*)" do
    local one = json.decode(data)
    t.equal(one.id, 7)
    kinds[#kinds + 1] = next(one.result)
    if one.result.artifactUpdate then text = text .. one.result.artifactUpdate.artifact.parts[1].text end
    kinds.last = one.result
  end
  t.equal(kinds[1], "task")
  t.equal(text, "You said: Hello")
  t.equal(kinds.last.statusUpdate.status.state, "TASK_STATE_COMPLETED")
end)

with_server("a question and leave to call a tool wait for the next message of the task", function(s, call, dir)
  local task = assert(call("SendMessage", message "ask")).task
  t.equal(task.status.state, "TASK_STATE_INPUT_REQUIRED")
  t.equal(task.status.message.parts[1].text, "Which?")
  t.equal(select(2, call("SendMessage", message("x", { taskId = task.id, contextId = "other" }))).code, -32602)
  task = assert(call("SendMessage", message("the second", { taskId = task.id }))).task
  t.equal(task.artifacts[1].parts[1].text, "It said: the second")
  task = assert(call("SendMessage", message "write")).task
  t.has(task.status.message.parts[1].text, "wants to call write_file")
  t.equal(select(2, call("SendMessage", message("perhaps", { taskId = task.id }))).code, -32602)
  task = assert(call("SendMessage", message("allow", { taskId = task.id }))).task
  t.equal(task.status.state, "TASK_STATE_COMPLETED")
  t.ok(io.open(dir.path .. "/made.txt"))
end)

with_server("an answer that was cut, or refused, is no completed task; the context goes on", function(_, call)
  for text, state in pairs { cut = "TASK_STATE_FAILED", refuse = "TASK_STATE_REJECTED" } do
    local task = assert(call("SendMessage", message(text))).task
    t.equal(task.status.state, state)
    t.has(task.status.message.parts[1].text, text == "cut" and "token limit" or "refused")
    t.equal(task.metadata.hocket.finish, text == "cut" and "length" or "refusal")
    t.equal(task.artifacts[1].parts[1].text, text == "cut" and "Half of" or "I will not.")
    t.same(call("GetTask", { id = task.id }).status, task.status)
    local more = assert(call("SendMessage", message("Hello", { contextId = task.contextId }))).task
    t.equal(more.status.state, "TASK_STATE_COMPLETED")
    t.equal(more.metadata, nil)
  end
end)

with_server("of two questions at once a task asks one after the other", function(_, call)
  local task = assert(call("SendMessage", message "ask twice")).task
  t.equal(task.status.message.parts[1].text, "One?")
  task = assert(call("SendMessage", message("first", { taskId = task.id }))).task
  t.equal(task.status.state, "TASK_STATE_INPUT_REQUIRED")
  t.equal(task.status.message.parts[1].text, "Two?")
  task = assert(call("SendMessage", message("second", { taskId = task.id }))).task
  t.equal(task.artifacts[1].parts[1].text, "It said: second")
end)

with_server("a task goes on without its client, is subscribed to, and can be cancelled", function(s, call)
  local params = message "wait"
  params.configuration = { returnImmediately = true }
  local task = assert(call("SendMessage", params)).task
  t.equal(task.status.state, "TASK_STATE_WORKING")
  while waiting == 0 do fiber.sleep(0.005) end
  local heard
  local looker = fiber.spawn(function() heard = select(2, s:post("/a2a/guide", { jsonrpc = "2.0", id = 1, method = "SubscribeToTask", params = { id = task.id } }, { ["a2a-version"] = "1.0" })) end)
  local client = fiber.spawn(function() call("SendMessage", message "wait") end)
  while waiting < 2 do fiber.sleep(0.005) end
  client:cancel()
  released = true
  looker:join()
  t.has(heard, "TASK_STATE_COMPLETED")
  t.has(heard, "late")
  local other = call("ListTasks", json.decode "{}").tasks[1]
  while call("GetTask", { id = other.id }).status.state ~= "TASK_STATE_COMPLETED" do fiber.sleep(0.005) end
  released = false
  task = assert(call("SendMessage", params)).task
  while waiting == 0 do fiber.sleep(0.005) end
  t.equal(assert(call("CancelTask", { id = task.id })).status.state, "TASK_STATE_CANCELED")
end)

with_server("what fails is a failed task; what is no request is refused in the protocol's words", function(s, call)
  local task = assert(call("SendMessage", message "fail")).task
  t.equal(task.status.state, "TASK_STATE_FAILED")
  t.has(task.status.message.parts[1].text, "no such thing")
  local _, err = call("SendMessage", message "x", "0.3")
  t.equal(err.code, -32009)
  t.equal(err.data[1].reason, "VERSION_NOT_SUPPORTED")
  t.equal(select(2, call("NoSuch", {})).code, -32601)
  t.equal(select(2, call("GetTask", { id = "none" })).code, -32001)
  t.equal(select(2, call("CreateTaskPushNotificationConfig", {})).code, -32003)
  for i, params in ipairs { {}, { message = 7 }, { message = { role = "ROLE_USER", parts = {} } }, message("x", { role = "ROLE_AGENT" }), message("x", { parts = { {} } }), message("x", { parts = {} }),
    message("x", { contextId = "none" }), message("", {}) } do
    t.equal((select(2, call("SendMessage", params)) or {}).code, -32602, "message " .. i)
  end
  t.equal(select(2, call("SendMessage", message("x", { parts = { { url = "http://x" } } }))).code, -32005)
  t.equal(select(2, call("SendMessage", message("x", { taskId = "none" }))).code, -32001)
  local _, answer = s:post("/a2a/guide", "{", { ["a2a-version"] = "1.0" })
  t.equal(answer.error.code, -32700)
  t.equal((s:post("/a2a/nobody", { jsonrpc = "2.0", id = 1, method = "SendMessage" })), 404)
end)

local V1 = { ["a2a-version"] = "1.0" }

with_server("by REST: the same, as paths and statuses", function(s)
  local status, answer, headers = s:post("/a2a/guide/message:send", message "Hello", V1)
  t.equal(status, 200)
  t.equal(headers["content-type"], "application/a2a+json")
  local task = answer.task
  t.equal(task.artifacts[1].parts[1].text, "You said: Hello")
  status, answer = s:get("/a2a/guide/tasks/" .. task.id .. "?historyLength=0", V1)
  t.equal(status, 200)
  t.equal(answer.id, task.id)
  t.equal(answer.history, nil)
  t.equal(select(2, s:get("/a2a/guide/tasks?pageSize=1&includeArtifacts=true&contextId=" .. task.contextId, V1)).tasks[1].artifacts[1].parts[1].text, "You said: Hello")
  t.equal(select(2, s:get("/a2a/guide/tasks?statusTimestampAfter=2020-01-01T00:00:00Z&status=TASK_STATE_COMPLETED", V1)).totalSize, 1)
  t.equal(select(2, s:get("/a2a/guide/tasks?statusTimestampAfter=2999-01-01T00:00:00.000Z", V1)).totalSize, 0)
  for path, reason in pairs { ["tasks/none"] = "TASK_NOT_FOUND", ["tasks?statusTimestampAfter=yesterday"] = "INVALID_PARAMS", ["tasks?pageSize=many"] = "INVALID_PARAMS",
    ["tasks/x/pushNotificationConfigs"] = "PUSH_NOTIFICATION_NOT_SUPPORTED", extendedAgentCard = "EXTENDED_AGENT_CARD_NOT_CONFIGURED" } do
    status, answer = s:get("/a2a/guide/" .. path, V1)
    t.equal(status, reason == "TASK_NOT_FOUND" and 404 or 400, path)
    t.equal(answer.error.code, status)
    t.equal(answer.error.details[1].reason, reason)
  end
  status, answer = s:post("/a2a/guide/tasks/" .. task.id .. ":cancel", {}, V1)
  t.equal(answer.error.details[1].reason, "TASK_NOT_CANCELABLE")
  status, answer = s:get("/a2a/guide/tasks/" .. task.id .. ":subscribe", V1)
  t.equal(answer.error.details[1].reason, "UNSUPPORTED_OPERATION")
  status, answer = s:post("/a2a/guide/message:send", "{", V1)
  t.equal(status, 400)
  t.equal(select(2, s:post("/a2a/guide/message:send", message "x")).error.details[1].reason, "VERSION_NOT_SUPPORTED")
  status, answer = s:post("/a2a/nobody/message:send", message "x", V1)
  t.equal(status, 404)
  t.equal(answer.error.code, 404)
  status, answer = s:post("/a2a/guide/message:stream", message "Hello", V1)
  t.equal(status, 200)
  t.has(answer, 'data: {"task":')
  t.has(answer, 'TASK_STATE_COMPLETED')
  t.equal((s:post("/a2a/guide/message:stream", { message = 7 }, V1)), 400)
end)

with_server("a client of 0.3 finds the names and shapes of 0.3", function(s)
  local _, card = s:get "/a2a/guide/.well-known/agent-card.json"
  t.equal(card.protocolVersion, "0.3.0")
  t.equal(card.url, s.base .. "/a2a/guide")
  t.equal(card.preferredTransport, "JSONRPC")
  t.equal(card.securitySchemes.token.type, "http")
  local function old(method, params)
    local _, answer = s:post("/a2a/guide", { jsonrpc = "2.0", id = 1, method = method, params = params })
    return answer.result, answer.error
  end
  local function say(parts, more)
    local made = { kind = "message", messageId = system.token(8), role = "user", parts = parts }
    for name, value in pairs(more or {}) do made[name] = value end
    return { message = made }
  end
  local task = assert(old("message/send", say { { kind = "text", text = "Hello" } }))
  t.equal(task.kind, "task")
  t.equal(task.status.state, "completed")
  t.same(task.artifacts[1].parts[1], { kind = "text", text = "You said: Hello" })
  t.equal(task.history[1].role, "user")
  t.equal(task.history[1].parts[1].kind, "text")
  t.equal(assert(old("tasks/get", { id = task.id, historyLength = 0 })).history[1].kind, "message")
  task = assert(old("message/send", say({ { kind = "text", text = "ask" } }, { contextId = task.contextId })))
  t.equal(task.status.state, "input-required")
  t.equal(task.status.message.parts[1].text, "Which?")
  task = assert(old("message/send", say({ { kind = "text", text = "the first" } }, { taskId = task.id })))
  t.equal(task.artifacts[1].parts[1].text, "It said: the first")
  t.has(assert(old("message/send", say { { kind = "data", data = { a = 1 } } })).artifacts[1].parts[1].text, '{"a":1}')
  t.equal(select(2, old("message/send", say { { kind = "file", file = { uri = "http://x" } } })).code, -32005)
  t.ok(old("message/send", say { { kind = "text", text = "see" }, { kind = "file", file = { bytes = "aGVsbG8=", mimeType = "text/plain", name = "a.txt" } } }))
  t.equal(select(2, old("tasks/get", { id = "none" })).code, -32001)
  t.equal(select(2, old("tasks/cancel", { id = task.id })).code, -32002)
  t.equal(select(2, old("tasks/pushNotificationConfig/set", {})).code, -32003)
  t.equal(select(2, old("SendMessage", message "x")).code, -32009)
  for i, params in ipairs { {}, { message = 7 }, { message = { parts = 7 } }, say { 7 }, say { { kind = "file", file = 7 } }, { message = say({}).message, configuration = 7 } } do
    t.equal((select(2, old("message/send", params)) or {}).code, -32602, "message " .. i)
  end
  local _, list = s:stream("/a2a/guide", { jsonrpc = "2.0", id = 7, method = "message/stream", params = say { { kind = "text", text = "Hello" } } })
  t.equal(list[1].data.result.kind, "task")
  local last = list[#list].data.result
  t.equal(last.kind, "status-update")
  t.equal(last.final, true)
  t.equal(last.status.state, "completed")
end)

with_server("an address is told as the client sees it: a proxy's word counts where there is one", function(s)
  local forwarded = { ["x-forwarded-proto"] = "https" }
  t.has(select(2, s:get("/.well-known/agent-card.json", forwarded)).url, "http://")
  s.server.behind_proxy = true
  t.has(select(2, s:get("/.well-known/agent-card.json", forwarded)).url, "https://")
  local status, _, headers = s:get "/.well-known/agent-card.json"
  t.equal(status, 200)
  t.equal((s:get("/.well-known/agent-card.json", { ["if-none-match"] = headers.etag })), 304)
end)

served.close()
return t.finish()
