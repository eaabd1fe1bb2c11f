-- What programs made for OpenAI's and Anthropic's interfaces find: our own client against our server in all shapes, and callers that send what they like.
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local hocket = require "hocket"
local http = require "hocket.http"
local json = require "hocket.json"
local llm = require "hocket.llm"
local serving = require "serving"
local system = require "hocket.internal.core.system"

hocket.broker() -- its dispatcher lives as long as the host
local seen, waiting, released, choices = {}, 0, false, {}

local function wait_for_release()
  waiting = waiting + 1
  local left <close> = setmetatable({}, { __close = function() waiting = waiting - 1 end })
  while not released do fiber.sleep(0.005) end
  return "late"
end

local function reply(q)
  seen = q
  choices[#choices + 1] = q.raw.tool_choice and json.encode(q.raw.tool_choice) or "-"
  local text = q.last.text
  if q.last.role == "tool" then return "It said: " .. text end
  local name, args = text:match "^call (%S+) (.*)$"
  if name then return { text = "I look.", calls = { { name = name, arguments = json.decode(args) } } } end
  if text:find "ask late" then
    wait_for_release()
    return { calls = { { name = "ask_user", arguments = { question = "Which?" } } } }
  end
  if text == "weather and a question" then
    return { calls = { { name = "weather", arguments = { city = "Rome" } }, { name = "delegate", arguments = { agent_name = "helper", prompt = "ask late" } } } }
  end
  if text == "both" then return { calls = { { name = "weather", arguments = { city = "Rome" } }, { name = "weather", arguments = { city = "Oslo" } } } } end
  if text == "wait" then return wait_for_release() end
  if text == "think" then return { reasoning = "Hm.", text = "Done." } end
  if text == "cut" then return { text = "Half of", finish = "length" } end
  if text == "fail" then return { status = 400, error = "no such thing" } end
  if text == "count" then return ("%d messages"):format(#q.messages) end
  if text:find "json" then return '{"stars": 4}' end
  return "You said: " .. text
end

local served = assert(hocket.sim.serve { reply = reply })
hocket.provider("behind", { protocol = "openai_chat", base = served.base })

local files = {
  ["agents/guide.md"] = "---\nname: guide\ndescription: Knows the way\nmodel: behind/m\ntools: [ask_user, delegate]\nagents: [helper]\n---\nYou are the guide.",
  ["agents/helper.md"] = "---\nname: helper\ndescription: Helps\nmodel: behind/m\ntools: [ask_user]\n---\nYou help.",
}

local function with_server(name, fn, options)
  t.test(name, function()
    local dir <close> = t.dir()
    for path, text in pairs(files) do dir:write(path, text) end
    local server <close> = serving.open(dir.path .. "/agents", options)
    released = false
    fn(server, dir)
    released = true
    while waiting > 0 do fiber.sleep(0.005) end
  end)
end

local function chat(body)
  body.model = body.model or "guide"
  body.messages = type(body.messages) == "string" and { { role = "user", content = body.messages } } or body.messages
  return body
end

local weather = { { type = "function", ["function"] = { name = "weather", description = "Says the weather", parameters = { type = "object", properties = { city = { type = "string" } } } } } }

-- ---- Our own client, in all shapes ---------------------------------------------------------------

for protocol, path in pairs { openai_chat = "/v1", openai_responses = "/v1", anthropic = "" } do
  with_server("our own client by " .. protocol .. ": text, reasoning, calls and their results", function(server)
    local name = "front_" .. protocol
    hocket.provider(name, { protocol = protocol, base = server.base .. path, headers = { authorization = "Bearer secret" } })
    local pieces = {}
    local history = llm.history()
    history:user "think"
    local model = assert(require("hocket.model").resolve(name .. "/guide"))
    local said = assert(llm.call(model, history, { max_tokens = 100 }, function(kind, text) pieces[#pieces + 1] = kind .. ":" .. text end))
    t.equal(said.text, "Done.")
    t.has(table.concat(pieces, " "), "text:Done.")
    t.ok(said.usage.input > 0 and said.usage.output > 0)
    local agent = hocket.agent {
      name = "caller", model = name .. "/guide", prompt = "You call.", tools = { hocket.tool {
        name = "weather", description = "Says the weather", parameters = { type = "object", properties = { city = { type = "string" } } },
        run = function(args) return "Sunny in " .. args.city end,
      } },
    }
    local reply_ = assert(hocket.run(agent, 'call weather {"city": "Rome"}'))
    t.equal(reply_.text, "It said: Sunny in Rome")
    local _, err = hocket.run(hocket.agent { name = "x", model = name .. "/nobody", prompt = "x" }, "hello")
    t.has(err, "there is no agent 'nobody'")
  end)
end

-- ---- Chat completions ------------------------------------------------------------------------------

with_server("models: what is offered", function(s)
  local status, list = s:get "/v1/models"
  t.equal(status, 200)
  t.equal(list.data[1].id, "guide")
  t.equal(#list.data, 1)
  t.equal(select(2, s:get "/v1/models/guide").id, "guide")
  status, list = s:get "/v1/models/nobody"
  t.equal(status, 404)
  t.equal(list.error.code, "model_not_found")
  t.equal(select(2, s:get("/v1/models", { ["anthropic-version"] = "2023-06-01" })).data[1].type, "model")
  t.equal((s:get("/v1/models", { authorization = "Bearer other" })), 401)
end)

with_server("the agent's own prompt stays, and the caller's words stand below it, as the caller's", function(s)
  local status, got, headers = s:post("/v1/chat/completions", chat { messages = {
    { role = "system", content = "Be brief." }, { role = "user", content = "Hello" }, { role = "assistant", content = "Good day." },
    { role = "developer", content = "In verse." }, { role = "user", content = { { type = "text", text = "Who" }, { type = "text", text = "are you?" } } },
  } })
  t.equal(status, 200)
  t.equal(got.choices[1].message.content, "You said: Who\n\nare you?")
  t.equal(got.choices[1].finish_reason, "stop")
  t.equal(got.object, "chat.completion")
  t.ok(got.usage.prompt_tokens > 0 and got.usage.total_tokens == got.usage.prompt_tokens + got.usage.completion_tokens)
  t.ok(headers["x-hocket-run"])
  t.matches(seen.system, "^You are the guide%..*from the program that calls you.*<caller%-%w+ of=\"the caller's instructions\">\nBe brief%.\n\nIn verse%.\n</caller")
  t.equal(seen.messages[1].text, "Hello")
  t.equal(seen.messages[2].text, "Good day.")
end)

with_server("a stream: the role first, then text, the usage last, [DONE]", function(s)
  local _, list = s:stream("/v1/chat/completions", chat { messages = "think", stream = true, stream_options = { include_usage = true } })
  t.equal(list[1].data.choices[1].delta.role, "assistant")
  local text, thoughts = "", ""
  for _, one in ipairs(list) do
    local delta = type(one.data) == "table" and one.data.choices[1] and one.data.choices[1].delta or {}
    text, thoughts = text .. (delta.content or ""), thoughts .. (delta.reasoning_content or "")
  end
  t.equal(text, "Done.")
  t.equal(thoughts, "Hm.")
  t.equal(list[#list].data, "[DONE]")
  t.same(list[#list - 1].data.choices, {})
  t.ok(list[#list - 1].data.usage.total_tokens > 0)
  t.equal(list[#list - 2].data.choices[1].finish_reason, "stop")
end)

with_server("settings, a schema and a stop reach the model; a cut answer is 'length'", function(s)
  local _, got = s:post("/v1/chat/completions", chat { messages = "some json", temperature = 0.5, max_tokens = 77, stop = { "END" },
    response_format = { type = "json_schema", json_schema = { name = "rating", schema = { type = "object", properties = { stars = { type = "integer" } } } } } })
  t.equal(got.choices[1].message.content, '{"stars": 4}')
  t.equal(seen.raw.temperature, 0.5)
  t.equal(seen.raw.max_tokens or seen.raw.max_completion_tokens, 77)
  t.same(seen.raw.stop, { "END" })
  t.equal(seen.raw.response_format.type, "json_schema")
  _, got = s:post("/v1/chat/completions", chat { messages = "cut" })
  t.equal(got.choices[1].finish_reason, "length")
  t.equal(got.choices[1].message.content, "Half of")
end)

with_server("tool_choice: a call is asked for until there was one", function(s)
  local chosen
  local function ask(path, body)
    choices = {}
    local status, got = s:post(path, body)
    chosen = table.concat(choices, " ")
    return status, got
  end
  local flat = { type = "function", name = "weather", parameters = { type = "object" } }
  for path, list in pairs {
    ["/v1/chat/completions"] = { { "required", '"weather"' }, { { type = "function", ["function"] = { name = "weather" } }, '"weather"' }, { "auto", "-" }, { "none", "-" },
      { { type = "allowed_tools", allowed_tools = { mode = "required", tools = { { type = "function", ["function"] = { name = "weather" } } } } }, '"weather"' } },
    ["/v1/responses"] = { { "required", '"weather"' }, { { type = "function", name = "weather" }, '"weather"' }, { { type = "allowed_tools", mode = "auto", tools = { { type = "function", name = "weather" } } }, "-" } },
    ["/v1/messages"] = { { { type = "any" }, '"weather"' }, { { type = "tool", name = "weather" }, '"weather"' }, { { type = "auto" }, "-" } },
  } do
    for i, one in ipairs(list) do
      local body = { model = "guide", tool_choice = one[1], max_tokens = 100 }
      if path == "/v1/chat/completions" then body.messages, body.tools = { { role = "user", content = "Hello" } }, weather
      elseif path == "/v1/responses" then body.input, body.tools, body.max_tokens = "Hello", { flat }, nil
      else body.messages, body.tools = { { role = "user", content = "Hello" } }, { { name = "weather", input_schema = { type = "object" } } } end
      t.equal((ask(path, body)), 200, path .. i)
      t.has(chosen, one[2], path .. i)
      for _, bad in ipairs { 7, "perhaps", { type = "function", name = "other", ["function"] = { name = "other" } }, { type = "tool", name = "other" }, { type = "allowed_tools", mode = "auto", tools = { 1 } } } do
        body.tool_choice = bad
        t.equal((ask(path, body)), 400)
      end
    end
  end
  t.equal((s:post("/v1/chat/completions", chat { messages = "x", tool_choice = "required" })), 400)
  local _, first = ask("/v1/chat/completions", { model = "guide", messages = { { role = "user", content = 'call weather {"city": "Rome"}' } }, tools = weather, tool_choice = "required" })
  local call = first.choices[1].message.tool_calls[1]
  t.equal(call["function"].name, "weather")
  local _, last = s:post("/v1/chat/completions", { model = "guide", tools = weather, tool_choice = "required", messages = { { role = "user", content = 'call weather {"city": "Rome"}' },
    { role = "assistant", tool_calls = { call } }, { role = "tool", tool_call_id = call.id, content = "Sunny" } } })
  t.equal(last.choices[1].message.content, "It said: Sunny")
  t.equal(choices[2], "-") -- it has called: it may answer now
end)

with_server("a stream tells its run and what it cost at its end", function(s)
  local _, list = s:stream("/v1/chat/completions", chat { messages = "Hello", stream = true })
  t.equal(#list[#list - 1].data.hocket.run, 26)
  t.equal(list[1].data.hocket, nil)
  _, list = s:stream("/v1/responses", { model = "guide", input = "Hello", stream = true })
  t.equal(#list[#list].data.response.hocket.run, 26)
  local _, whole = s:post("/v1/chat/completions", chat { messages = "Hello" })
  t.equal(#whole.hocket.run, 26)
end)

with_server("pictures reach the model; addresses are not fetched", function(s)
  local png = "data:image/png;base64," .. system.base64("\137PNG\r\n\26\n" .. ("x"):rep(20))
  local status = s:post("/v1/chat/completions", chat { messages = { { role = "user", content = { { type = "text", text = "What?" }, { type = "image_url", image_url = { url = png } } } } } })
  t.equal(status, 200)
  t.equal(#seen.last.files, 1)
  local got
  status, got = s:post("/v1/chat/completions", chat { messages = { { role = "user", content = { { type = "image_url", image_url = { url = "http://127.0.0.1/x.png" } } } } } })
  t.equal(status, 400)
  t.has(got.error.message, "nothing is fetched")
end)

-- ---- The caller's tools --------------------------------------------------------------------------

with_server("calls of the caller's tools go back to it, all of one turn, and their results go on with the same run", function(s)
  local messages = { { role = "user", content = "both" } }
  local _, got, headers = s:post("/v1/chat/completions", chat { messages = messages, tools = weather })
  local message = got.choices[1].message
  t.equal(got.choices[1].finish_reason, "tool_calls")
  t.equal(#message.tool_calls, 2)
  t.equal(message.tool_calls[1]["function"].name, "weather")
  messages[2] = message
  for i, call in ipairs(message.tool_calls) do messages[2 + i] = { role = "tool", tool_call_id = call.id, content = i == 1 and "Sunny" or "" } end
  local _, last, again = s:post("/v1/chat/completions", chat { messages = messages, tools = weather })
  t.equal(last.choices[1].message.content, "It said: ")
  t.equal(again["x-hocket-run"], headers["x-hocket-run"])
  t.equal(#seen.messages, 4)
end)

-- Two calls and their results as each protocol has them: how they are asked for, given back in an order, and what was answered.
local said, result = "said", "result"
local orders = { { said, said, result, result }, { said, result, said, result }, { said, result, result, said } }

local function in_order(order, one, two, fn)
  local list, nth = {}, { said = 0, result = 0 }
  for _, what in ipairs(order) do
    nth[what] = nth[what] + 1
    list[#list + 1] = fn(what, nth[what] == 1 and one or two)
  end
  return list
end

local protocols = {
  chat = {
    path = "/v1/chat/completions", ask = function() return chat { messages = "both", tools = weather } end,
    calls = function(got) return got.choices[1].message.tool_calls end, text = function(got) return got.choices[1].message.content end,
    back = function(list)
      local messages = { { role = "user", content = "both" } }
      return chat { messages = table.move(list, 1, #list, 2, messages), tools = weather }
    end,
    said = function(call) return { role = "assistant", content = json.null, tool_calls = { call } } end,
    result = function(call) return { role = "tool", tool_call_id = call.id, content = "Sunny" } end,
  },
  messages = {
    path = "/v1/messages", ask = function() return { model = "guide", max_tokens = 100, messages = { { role = "user", content = "both" } }, tools = { { name = "weather", input_schema = { type = "object" } } } } end,
    calls = function(got) return got.content end, text = function(got) return got.content[1].text end,
    back = function(list)
      local messages = { { role = "user", content = "both" } }
      return { model = "guide", max_tokens = 100, messages = table.move(list, 1, #list, 2, messages) }
    end,
    said = function(call) return { role = "assistant", content = { call } } end,
    result = function(call) return { role = "user", content = { { type = "tool_result", tool_use_id = call.id, content = "Sunny" } } } end,
  },
  responses = {
    path = "/v1/responses", ask = function() return { model = "guide", input = "both", tools = { { type = "function", name = "weather", parameters = { type = "object" } } } } end,
    calls = function(got) return got.output end, text = function(got) return got.output[1].content[1].text end,
    back = function(list)
      local input = { { role = "user", content = "both" } }
      return { model = "guide", input = table.move(list, 1, #list, 2, input) }
    end,
    said = function(call) return { type = "function_call", call_id = call.call_id, name = call.name, arguments = call.arguments } end,
    result = function(call) return { type = "function_call_output", call_id = call.call_id, output = "Sunny" } end,
  },
}

for name, p in pairs(protocols) do
  with_server(name .. ": results of two calls are taken in each order, and a missing one is refused at once", function(s)
    for i, order in ipairs(orders) do
      local _, first, began = s:post(p.path, p.ask())
      local calls = p.calls(first)
      t.equal(#calls, 2)
      local function give(list) return s:post(p.path, p.back(in_order(list, calls[1], calls[2], function(what, call) return p[what](call) end))) end
      for _, missing in ipairs { { said, result }, { said, said, result } } do
        local status, got = give(missing)
        t.equal(status, 400, name .. i)
        t.has(got.error.message, "has no result")
      end
      local status, got, headers = give(order)
      t.equal(status, 200, name .. i)
      t.equal(p.text(got), "It said: Sunny")
      t.equal(headers["x-hocket-run"], began["x-hocket-run"], name .. i)
    end
    t.equal(s.desk.counts.started, #orders)
  end)
end

with_server("responses: of two calls of the conversation before each has to have its result", function(s)
  local p = protocols.responses
  local _, first = s:post(p.path, p.ask())
  local results = { p.result(first.output[1]), p.result(first.output[2]) }
  local status, got = s:post(p.path, { model = "guide", previous_response_id = first.id, input = { results[2] } })
  t.equal(status, 400)
  t.has(got.error.message, first.output[1].call_id .. "' has no result")
  results[3] = { type = "function_call_output", call_id = "call_never", output = "x" }
  t.equal((s:post(p.path, { model = "guide", previous_response_id = first.id, input = results })), 400)
  results[3] = nil
  status, got = s:post(p.path, { model = "guide", previous_response_id = first.id, input = results })
  t.equal(status, 200)
  t.equal(p.text(got), "It said: Sunny")
end)

with_server("the history of calls that were made elsewhere has each result behind its call", function(s)
  local calls = {}
  for i = 1, 2 do calls[i] = { id = "call_" .. i, type = "function", ["function"] = { name = "weather", arguments = ('{"city":"%d"}'):format(i) } } end
  for _, order in ipairs(orders) do
    local messages = protocols.chat.back(in_order(order, calls[1], calls[2], function(what, call) return protocols.chat[what](call) end)).messages
    messages[#messages + 1] = { role = "user", content = "Well?" }
    t.equal((s:post("/v1/chat/completions", chat { messages = messages, tools = weather })), 200)
    local roles = {}
    for i, one in ipairs(seen.messages) do roles[i] = one.role end
    t.equal(table.concat(roles, " "), "user assistant tool assistant tool user")
  end
end)

with_server("what another agent asks while a run waits for its caller is answered: nobody is there", function(s)
  local body = { model = "guide", input = "weather and a question", tools = protocols.responses.ask().tools }
  local _, first = s:post("/v1/responses", body)
  released = true
  local call = first.output[1]
  local run = s.desk:find(call.call_id:match "^call_(%w+)_")
  t.eventually(function()
    for id in pairs(run.run.questions) do if id:find "^q" then return true end end
  end)
  local status, got = s:post("/v1/responses", { model = "guide", previous_response_id = first.id, input = { protocols.responses.result(call) } })
  t.equal(status, 200)
  t.has(protocols.responses.text(got), "nobody answers")
end)

with_server("results that nobody waits for are part of the conversation; those of calls that never were are refused", function(s)
  local call = { id = "call_x", type = "function", ["function"] = { name = "weather", arguments = "{}" } }
  local status, got = s:post("/v1/chat/completions", chat { tools = weather, messages = {
    { role = "user", content = "And?" }, { role = "assistant", content = json.null, tool_calls = { call } }, { role = "tool", tool_call_id = "call_x", content = "Rain" },
  } })
  t.equal(status, 200)
  t.has(got.choices[1].message.content, "The results of the tool calls are above")
  t.equal(seen.messages[3].text, "Rain")
  for _, messages in ipairs {
    { { role = "user", content = "x" }, { role = "tool", tool_call_id = "never", content = "x" } },
    { { role = "user", content = "x" }, { role = "assistant", tool_calls = { call } }, { role = "user", content = "no result" } },
    { { role = "user", content = "x" }, { role = "assistant", tool_calls = { call } }, { role = "tool", tool_call_id = "call_x", content = "1" }, { role = "tool", tool_call_id = "call_x", content = "2" } },
  } do
    status, got = s:post("/v1/chat/completions", chat { messages = messages })
    t.equal(status, 400)
    t.has(got.error.message, "call_x" == messages[2].tool_calls and "x" or "call")
  end
end)

with_server("a second answer to the same call begins anew, and does not reach the run", function(s)
  local messages = { { role = "user", content = 'call weather {"city": "Rome"}' } }
  local _, got = s:post("/v1/chat/completions", chat { messages = messages, tools = weather })
  messages[2] = got.choices[1].message
  messages[3] = { role = "tool", tool_call_id = messages[2].tool_calls[1].id, content = "Sunny" }
  t.equal((s:post("/v1/chat/completions", chat { messages = messages, tools = weather })), 200)
  local status, again = s:post("/v1/chat/completions", chat { messages = messages, tools = weather })
  t.equal(status, 200)
  t.has(again.choices[1].message.content, "above")
end)

with_server("a run that was not begun for a caller is not gone on with for one", function(s)
  local run = assert(s.desk:start { target = "guide", input = "Hello", options = { conversation = true, interactive = true } })
  local reader = run:subscribe()
  repeat local line = reader:next() until line:find("turn_finished", 1, true)
  local status, got = s:post("/v1/responses", { model = "guide", input = "x", previous_response_id = ("resp_%s_1_0"):format(run.name) })
  t.equal(status, 400)
  t.equal(got.error.code, "previous_response_not_found")
end)

-- ---- What goes wrong -----------------------------------------------------------------------------

with_server("requests that are none are refused in the protocol's words, and none of them begins a run", function(s)
  local bad = {
    "{", "[]", '"x"', {}, { model = 7, messages = {} }, { model = "guide" }, chat { messages = json.array {} }, { model = "guide", messages = "Hello" },
    chat { messages = { 7 } }, chat { messages = { { role = "nobody", content = "x" } } }, chat { messages = { { role = "user", content = 7 } } },
    chat { messages = { { role = "user", content = { { type = "video" } } } } }, chat { messages = { { role = "user", content = "" } } },
    chat { messages = { { role = "assistant", content = "I" } } }, chat { messages = "x", n = 2 }, chat { messages = "x", n = "1" }, chat { messages = "x", temperature = "hot" },
    chat { messages = "x", temperature = 9 }, chat { messages = "x", max_tokens = 0 }, chat { messages = "x", stop = { 1 } }, chat { messages = "x", tools = { {} } },
    chat { messages = "x", tools = { { type = "function", ["function"] = { name = "a b" } } } }, chat { messages = "x", response_format = { type = "xml" } },
    chat { messages = "x", stream = "yes" }, chat { messages = "x", hocket = 7 }, chat { messages = "x", tools = { weather[1], weather[1] } },
  }
  for i, body in ipairs(bad) do
    local status, got = s:post("/v1/chat/completions", body)
    t.equal(status, 400, "request " .. i)
    t.equal(got.error.type, "invalid_request_error")
  end
  local log, logged = system.log, nil
  function system.log(level, text) logged = text return log(level, text) end -- what the server itself has failed at
  for _, path in ipairs { "/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens" } do
    t.equal((s:post(path, "x", { ["content-type"] = "text/plain" })), 415, path)
    t.equal((s:post(path, "[1]")), 400, path)
    t.equal((s:post(path, "{")), 400, path)
  end
  system.log = log
  t.equal(logged, nil)
  t.equal(s.desk.counts.started, 0)
  local status, got = s:post("/v1/chat/completions", chat { model = "nobody", messages = "x" })
  t.equal(status, 404)
  t.equal(got.error.code, "model_not_found")
end)

with_server("a run that fails is never 200; in a stream an error chunk, and no [DONE]", function(s)
  local status, got, headers = s:post("/v1/chat/completions", chat { messages = "fail" })
  t.ok(status >= 400)
  t.has(got.error.message, "no such thing")
  t.equal(headers["x-should-retry"], "false")
  status = s:stream("/v1/chat/completions", chat { messages = "fail", stream = true })
  t.ok(status >= 400)
  status, got = s:post("/v1/chat/completions", chat { messages = "x", tools = { { type = "function", ["function"] = { name = "weather", parameters = { type = "nothing" } } } } })
  t.equal(status, 400)
  t.has(got.error.message, "tools[0]")
end)

with_server("a client that goes away ends its run", function(s)
  for i, stream in ipairs { false, true } do
    local before = waiting
    local client = fiber.spawn(function() s:post("/v1/chat/completions", chat { messages = "wait", stream = stream }) end)
    while waiting == before do fiber.sleep(0.005) end
    client:cancel()
    while s.desk.counts.cancelled < i do fiber.sleep(0.005) end
  end
end)

with_server("a handler that streams to who has gone is told, and is no failure of the server's", function(s)
  local told, log, logged = nil, system.log, nil
  s.server.router:on("GET", "/gone", function(_, response)
    response.listener:abort(response.id, "eof") -- before the handler hears of it
    local stream = response:stream()
    told = { stream:event { data = "x" } }
    stream:close()
  end)
  function system.log(level, text) logged = text return log(level, text) end
  t.ok(not http.request { url = s.base .. "/gone", headers = { authorization = "Bearer secret" } })
  while not told do fiber.sleep(0.005) end
  system.log = log
  t.equal(told[1], nil)
  t.equal(told[2].code, "closed")
  t.equal(logged, nil)
end)

with_server("progress of others as reasoning, where it is asked for", function(s)
  local body = chat { messages = 'call delegate {"agent_name": "helper", "prompt": "Please"}', stream = true, hocket = { progress = true } }
  local _, list = s:stream("/v1/chat/completions", body)
  local thoughts = ""
  for _, one in ipairs(list) do
    local delta = type(one.data) == "table" and one.data.choices[1] and one.data.choices[1].delta or {}
    thoughts = thoughts .. (delta.reasoning_content or "")
  end
  t.has(thoughts, "helper: Please")
  t.has(thoughts, "helper is done")
end)

with_server("nobody is there: a question is not answered, and the agent goes on", function(s)
  local status, got = s:post("/v1/chat/completions", chat { messages = 'call ask_user {"question": "Which?"}' })
  t.equal(status, 200)
  t.has(got.choices[1].message.content, "nobody answers")
end)

-- ---- Responses -----------------------------------------------------------------------------------

with_server("responses: a conversation goes on with its newest answer", function(s)
  local _, first = s:post("/v1/responses", { model = "guide", input = "Hello", instructions = "Be brief." })
  t.equal(first.status, "completed")
  t.equal(first.output[1].content[1].text, "You said: Hello")
  local _, second = s:post("/v1/responses", { model = "guide", input = { { role = "user", content = "count" } }, previous_response_id = first.id })
  t.equal(second.output[1].content[1].text, "3 messages") -- Hello, its answer, count
  t.lacks(seen.system, "Be brief")
  local status, wrong = s:post("/v1/responses", { model = "guide", input = "x", previous_response_id = first.id })
  t.equal(status, 409)
  local _, third = s:post("/v1/responses", { model = "guide", input = "count", conversation = second.conversation.id })
  t.equal(third.output[1].content[1].text, "5 messages")
  t.equal(select(2, s:get("/v1/responses/" .. third.id)).id, third.id)
  t.equal(select(2, s:post("/v1/responses", { model = "guide", input = "x", store = false })).store, false)
  for _, previous in ipairs { "resp_x", "resp_" .. ("0"):rep(26) .. "_1_0", "" } do
    status, wrong = s:post("/v1/responses", { model = "guide", input = "x", previous_response_id = previous })
    t.equal(status, 400)
    t.equal(wrong.error.code, "previous_response_not_found")
  end
  t.equal((s:post("/v1/responses", { model = "guide", input = "x", previous_response_id = third.id, conversation = "conv_x" })), 400)
  t.equal((s:get "/v1/responses/resp_x"), 404)
end)

with_server("responses: a stream in order; calls go back and their results go on", function(s)
  local _, list = s:stream("/v1/responses", { model = "guide", input = "think", stream = true })
  local order = {}
  for i, one in ipairs(list) do
    order[i] = one.event
    t.equal(one.data.sequence_number, i - 1)
    t.equal(one.data.type, one.event)
  end
  t.equal(order[1], "response.created")
  t.equal(order[#order], "response.completed")
  local whole = list[#list].data.response
  t.equal(whole.output[1].type, "reasoning")
  t.equal(whole.output[2].content[1].text, "Done.")
  local tools = { { type = "function", name = "weather", parameters = { type = "object" } } }
  local _, got = s:post("/v1/responses", { model = "guide", input = 'call weather {"city": "Rome"}', tools = tools })
  local call = got.output[#got.output]
  t.equal(call.type, "function_call")
  local status = s:post("/v1/responses", { model = "guide", previous_response_id = got.id, input = { { type = "function_call_output", call_id = "call_never", output = "x" } } })
  t.equal(status, 400)
  local _, last = s:post("/v1/responses", { model = "guide", previous_response_id = got.id, input = { { type = "function_call_output", call_id = call.call_id, output = "Sunny" } } })
  t.equal(last.output[1].content[1].text, "It said: Sunny")
end)

with_server("two turns at once in one conversation: the second is refused, and the first answers", function(s)
  local _, first = s:post("/v1/responses", { model = "guide", input = "Hello" })
  local done
  local slow = fiber.spawn(function() done = select(2, s:post("/v1/responses", { model = "guide", input = "wait", previous_response_id = first.id })) end)
  while waiting == 0 do fiber.sleep(0.005) end
  t.equal((s:post("/v1/responses", { model = "guide", input = "x", previous_response_id = first.id })), 409)
  released = true
  slow:join()
  t.equal(done.output[1].content[1].text, "late")
end)

-- ---- Messages ------------------------------------------------------------------------------------

with_server("messages: blocks in order, calls as tool_use, errors in the protocol's form", function(s)
  local _, list = s:stream("/v1/messages", { model = "guide", max_tokens = 100, stream = true, messages = { { role = "user", content = "think" } } })
  local order = {}
  for i, one in ipairs(list) do order[i] = one.event end
  t.equal(table.concat(order, " "), "message_start content_block_start content_block_delta content_block_stop content_block_start content_block_delta content_block_stop message_delta message_stop")
  t.equal(list[#list - 1].data.delta.stop_reason, "end_turn")
  local tools = { { name = "weather", input_schema = { type = "object" } } }
  local messages = { { role = "user", content = 'call weather {"city": "Rome"}' } }
  local _, got = s:post("/v1/messages", { model = "guide", max_tokens = 100, system = "Be brief.", messages = messages, tools = tools })
  t.equal(got.stop_reason, "tool_use")
  t.has(seen.system, "Be brief.")
  messages[2] = { role = "assistant", content = got.content }
  messages[3] = { role = "user", content = { { type = "tool_result", tool_use_id = got.content[#got.content].id, content = { { type = "text", text = "Sunny" } } } } }
  local _, last = s:post("/v1/messages", { model = "guide", max_tokens = 100, messages = messages, tools = tools })
  t.equal(last.content[1].text, "It said: Sunny")
  t.ok(select(2, s:post("/v1/messages/count_tokens", { model = "guide", messages = messages })).input_tokens > 5)
  for _, body in ipairs { {}, { model = "guide", messages = messages }, { model = "guide", max_tokens = 1, messages = { { role = "system", content = "x" } } },
    { model = "guide", max_tokens = 1, messages = { { role = "user", content = { { type = "image", source = { type = "url", url = "http://x" } } } } } },
    { model = "guide", max_tokens = 1, messages = { { role = "user", content = { { type = "tool_result", tool_use_id = "never" } } } } } } do
    local status, wrong = s:post("/v1/messages", body)
    t.equal(status, 400)
    t.equal(wrong.error.type, "invalid_request_error")
  end
  t.equal(select(2, s:post("/v1/messages", { model = "nobody", max_tokens = 1, messages = { { role = "user", content = "x" } } })).error.type, "not_found_error")
end)

served.close()
return t.finish()
