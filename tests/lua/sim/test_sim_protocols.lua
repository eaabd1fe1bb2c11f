--- The scripted model over real HTTP, in every protocol that hocket speaks.
local t = require "harness"
local http = require "hocket.http"
local json = require "hocket.json"
local llm = require "hocket.llm"
local model = require "hocket.model"
local providers = require "hocket.providers"
local support = require "sim_support"

local function each(name, fn)
  for _, protocol in ipairs(support.protocols) do
    for _, stream in ipairs { true, false } do
      t.test(("%s: %s%s"):format(protocol, name, stream and "" or " (whole)"), function() fn(protocol, stream) end)
    end
  end
end

-- ---- A conversation ---------------------------------------------------------------------

each("two turns with reasoning, parallel calls and their results", function(protocol, stream)
  local served <close> = support.serve()
  local m, history = support.model(served, protocol), support.history()
  local reply = assert(support.ask(m, history, { stream = stream, reasoning = "low" }))
  t.equal(reply.text, "Let me see.")
  t.equal(reply.reasoning, "I need both cities.")
  t.equal(reply.finish, "tool_calls")
  t.equal(#reply.calls, 2)
  t.equal(reply.calls[1].name, "weather")
  t.same(json.decode(reply.calls[1].arguments), { city = "Porto" })
  t.same(json.decode(reply.calls[2].arguments), { city = "Évora" })
  t.ok(reply.calls[1].id ~= reply.calls[2].id, "two calls have one id")
  support.answer(history, reply)
  reply = assert(support.ask(m, history, { stream = stream, reasoning = "low" }))
  t.equal(reply.text, "weather rain, weather sun")
  t.equal(reply.reasoning, "Now I know.")
  t.equal(reply.finish, "stop")
  history:user "And again?"
  reply = assert(support.ask(m, history, { stream = stream, reasoning = "low" }))
  t.equal(#reply.calls, 2)
end)

each("the deltas make the text", function(protocol, stream)
  local served <close> = support.serve({ reply = function() return { text = ("äöü "):rep(50), reasoning = "Hm … hm" } end, fragment = 3 })
  local text, reasoning, n = "", "", 0
  local reply = assert(support.ask(support.model(served, protocol), support.history(), { stream = stream }, function(kind, delta)
    if kind == "text" then text, n = text .. delta, n + 1 else reasoning = reasoning .. delta end
  end))
  t.equal(reply.text, ("äöü "):rep(50))
  t.equal(reply.reasoning, "Hm … hm")
  if stream then
    t.equal(text, reply.text)
    t.equal(reasoning, reply.reasoning)
    t.ok(n >= 1)
  end
end)

each("usage, counted in one way whatever the provider does", function(protocol, stream)
  local counts = { input = 100, output = 50, cached = 30, reasoning = 20 }
  local served <close> = support.serve(function() return { text = "x", reasoning = "y", usage = counts } end)
  local usage = assert(support.ask(support.model(served, protocol), support.history(), { stream = stream })).usage
  local expected = {
    openai_chat = counts, openai_responses = counts,
    anthropic = { input = 100, output = 50, cached = 30, cache_write = 0 },
    gemini = { input = 100, output = 50, cached = 30, reasoning = 20 },
    ollama = { input = 100, output = 50 },
    bedrock = { input = 100, output = 50, cached = 30, cache_write = 0 },
  }
  usage.cost = nil
  t.same(usage, expected[protocol])
end)

each("an answer in a given form", function(protocol, stream)
  local seen
  local schema = { type = "object", properties = { n = { type = "integer", minimum = 3 }, tags = { type = "array", items = { enum = { "a" } } } } }
  local served <close> = support.serve(function(request)
    seen = request.schema
    return json.encode(require "hocket.internal.sim.example"(request.schema))
  end)
  local reply = assert(support.ask(support.model(served, protocol), support.history(),
    { stream = stream, schema = json.encode(schema), schema_name = "form" }))
  t.same(seen.properties.n, { type = "integer", minimum = 3 })
  t.same(json.decode(reply.text), { n = 3, tags = { "a" } })
end)

each("what the script is told", function(protocol, stream)
  local seen
  local served <close> = support.serve(function(request) seen = request return "x" end)
  local history = support.history "one"
  assert(support.ask(support.model(served, protocol, "m-1"), history, { stream = stream }))
  history:user "two"
  assert(support.ask(support.model(served, protocol, "m-1"), history, { stream = stream }))
  t.equal(seen.protocol, protocol)
  t.equal(seen.model, "m-1")
  t.equal(seen.system, "Be brief.")
  t.equal(seen.stream, stream)
  t.equal(seen.turn, 2)
  t.equal(#seen.messages, 3)
  t.equal(seen.messages[2].text, "x")
  t.equal(seen.last.role, "user")
  t.equal(seen.last.text, "two")
  t.equal(seen.tools.weather.description, "The weather.")
  t.equal(seen.tools.weather.parameters.required[1], "city")
end)

each("refusals, limits and filters", function(protocol, stream)
  local answer
  local served <close> = support.serve(function() return answer end)
  local function finish_of(reply)
    answer = reply
    return assert(support.ask(support.model(served, protocol), support.history(), { stream = stream })).finish
  end
  t.equal(finish_of { text = "abc", finish = "length" }, "length")
  t.equal(finish_of { text = "", finish = "content_filter" }, protocol == "ollama" and "stop" or "content_filter")
end)

each("a scripted error", function(protocol, stream)
  local served <close> = support.serve(function() return { status = 404, error = "no such model" } end)
  local err = t.fails("http", "no such model", support.ask(support.model(served, protocol), support.history(), { stream = stream }))
  t.equal(err.http_status, 404)
  t.equal(err.retryable, false)
end)

each("a script that raises is a server's error", function(protocol, stream)
  local served <close> = support.serve(function() error "oh" end)
  local err = t.fails("http", "oh", support.ask(support.model(served, protocol), support.history(), { stream = stream }))
  t.equal(err.http_status, 500)
end)

-- ---- What the real ones refuse -------------------------------------------------------------

-- Sends the second turn of a weather conversation after `change` was made to the messages.
local function resend(protocol, change, changes)
  local served <close> = support.serve()
  local history = support.history()
  local m = support.model(served, protocol)
  local reply = assert(support.ask(m, history, { reasoning = "low" }))
  support.answer(history, reply)
  local messages = history:messages()
  change(messages, reply)
  local changed = llm.history()
  for _, message in ipairs(messages) do assert(changed:add(json.encode(message))) end
  local request = { reasoning = "low" }
  for name, value in pairs(changes or {}) do request[name] = value end
  return support.ask(m, changed, request)
end

local function refused(protocol, part, change, changes)
  t.test(("%s refuses: %s"):format(protocol, part), function()
    local err = t.fails("http", part, resend(protocol, change, changes))
    t.equal(err.http_status, 400)
    t.equal(err.retryable, false)
  end)
end

local function drop_last(messages) table.remove(messages) end

-- Changes the parts that go back as they came.
local function in_replay(fn)
  return function(messages)
    for _, message in ipairs(messages) do
      if message.replay then fn(message.replay.value) end
    end
  end
end

local function orphan(messages)
  messages[2].calls, messages[2].replay = nil, nil
end

for _, protocol in ipairs(support.protocols) do
  t.test(protocol .. " takes a conversation that comes back whole", function()
    t.ok(resend(protocol, function() end))
  end)
end

refused("openai_chat", "must be followed by tool messages", drop_last)
refused("openai_chat", "answers no open call", orphan)
refused("openai_responses", "No tool output found for function call", drop_last)
refused("openai_responses", "No tool call found for function call output", orphan)
refused("openai_responses", "Item with id 'rs_", in_replay(function(items) items[1].encrypted_content = nil end))
refused("openai_responses", "could not be verified", in_replay(function(items) items[1].encrypted_content = "gAAAAAB" end))
refused("openai_responses", "could not be verified", in_replay(function(items) items[1].summary[1].text = "Other." end))
refused("openai_responses", "without its required following item", in_replay(function(items)
  for i = 2, #items do items[i].id = "msg_other_r1" end
end))
refused("openai_responses", "without its required 'reasoning' item", in_replay(function(items) table.remove(items, 1) end))
refused("anthropic", "without `tool_result` blocks immediately after", drop_last)
refused("anthropic", "unexpected `tool_use_id`", orphan)
refused("anthropic", "thinking.signature: Field required", in_replay(function(blocks) blocks[1].signature = nil end))
refused("anthropic", "Invalid `signature` in `thinking` block", in_replay(function(blocks) blocks[1].thinking = "Other." end))
t.test("no id of a call without thinking looks like one with it", function()
  local check, generator = require "hocket.internal.sim.anthropic_check", require("hocket.internal.sim.random").new(7)
  for _ = 1, 300 do
    t.ok(check.call_id(generator, true):find "^toolu_01T" and not check.call_id(generator, false):find "^toolu_01T")
  end
end)

refused("anthropic", "cannot be modified", in_replay(function(blocks) table.remove(blocks, 1) end))
refused("anthropic", "`temperature` may only be set to 1", function() end, { extra = '{"temperature":0.5}' })
refused("anthropic", "no_such_field: Extra inputs are not permitted", function() end, { extra = '{"no_such_field":1}' })
refused("gemini", "number of function response parts", drop_last)
refused("gemini", "number of function response parts", orphan)
refused("gemini", "missing a thought_signature", in_replay(function(parts)
  for _, part in ipairs(parts) do part.thoughtSignature = nil end
end))
refused("gemini", "Thought signature is not valid", in_replay(function(parts)
  for _, part in ipairs(parts) do
    if part.functionCall then part.functionCall.args = { city = "Rome" } end
  end
end))
refused("gemini", 'Unknown name "no_such_field"', function() end, { extra = '{"no_such_field":1}' })

t.test("bodies that are no requests are refused, not crashed on", function()
  local served <close> = support.serve()
  local paths = { "/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1beta/models/m:generateContent", "/api/chat" }
  local bodies = { "", "{", "[]", "{}", "null", '{"messages":[1],"input":[1],"contents":[1],"model":"m","max_tokens":5}',
    '{"messages":[{"role":"user","content":[1,{}]}],"input":[{"type":1}],"contents":[{"role":"user","parts":[1]}],"model":"m","tools":[1]}',
    '{"model":{},"messages":"x","input":5,"contents":"y"}' }
  for _, path in ipairs(paths) do
    for _, body in ipairs(bodies) do
      local answer = assert(http.request { url = served.root .. path, method = "POST", body = body,
        headers = { ["content-type"] = "application/json", ["anthropic-version"] = "2023-06-01" } })
      t.ok(answer.status == 400 or (path == "/api/chat" and answer.status == 200), path .. " " .. body .. " " .. answer.status)
      t.ok(answer.status == 200 or json.decode(answer.body).error, answer.body)
      t.equal(answer.body:find("hocket/internal", 1, true), nil)
    end
  end
end)

-- ---- Changing the model in the middle ----------------------------------------------------------

t.test("a conversation goes through all protocols, in any order", function()
  local served <close> = support.serve()
  local n = #support.protocols
  for first = 1, n do
    for second = 1, n do
      local history = support.history()
      local a, b = support.model(served, support.protocols[first]), support.model(served, support.protocols[second])
      for turn = 1, 3 do
        local what = ("%s, then %s, turn %d"):format(support.protocols[first], support.protocols[second], turn)
        local reply, err = support.ask(a, history)
        t.ok(reply, what .. ": " .. tostring(err))
        support.answer(history, reply)
        reply, err = support.ask(b, history) -- in the middle of the tool loop
        t.ok(reply, what .. ": " .. tostring(err))
        t.has(reply.text, "weather rain, weather sun", what)
        history:user "Again?"
        a, b = b, a
      end
    end
  end
end)

t.test("Anthropic in the middle of another's tool loop, with thinking asked for", function()
  local served <close> = support.serve()
  for _, name in ipairs { "claude-sonnet-4-5", "claude-opus-5" } do -- a budget, and adaptive
    local history = support.history()
    support.answer(history, assert(support.ask(support.model(served, "openai_chat"), history)))
    local m = support.model(served, "anthropic", name)
    t.has(assert(support.ask(m, history, { reasoning = "low" })).text, "weather rain")
    history:user "Again?"
    support.answer(history, assert(support.ask(m, history, { reasoning = "low" })))
    t.has(assert(support.ask(m, history, { reasoning = "low" })).text, "weather rain")
  end
end)

t.test("a forced call and thinking do not go together at Anthropic", function()
  local served <close> = support.serve()
  for _, choice in ipairs { "required", "weather" } do
    t.equal(#assert(support.ask(support.model(served, "anthropic", "claude-sonnet-4-5"), support.history(),
      { reasoning = "low", tool_choice = choice })).calls, 2)
  end
end)

-- ---- Other clients ---------------------------------------------------------------------------------

local function post(served, path, body)
  local answer = assert(http.request { url = served.base:gsub("/v1$", "") .. path, method = "POST", body = json.encode(body) })
  return answer.status, answer.body
end

t.test("Responses tools need not say whether they are strict", function()
  local served <close> = support.serve()
  local status, body = post(served, "/v1/responses", { model = "m", input = "How is the weather?",
    tools = { { type = "function", name = "weather", parameters = { type = "object" } } } })
  t.equal(status, 200, body)
  t.has(body, '"function_call"')
end)

t.test("Responses that are kept are named by their ids, and those that are not come back whole", function()
  local served <close> = support.serve(function(request)
    if request.last.role == "tool" then return { reasoning = "I add it up.", text = "GOT " .. request.last.text } end
    return { reasoning = "I look.", text = "A moment.", calls = { { name = "weather", arguments = { city = "Rome" } } } }
  end)
  local function ask(input, more)
    local body = { model = "gpt-5", input = input, tools = { { type = "function", name = "weather", parameters = { type = "object" } } } }
    for name, value in pairs(more or {}) do body[name] = value end
    local status, text = post(served, "/v1/responses", body)
    return status, json.decode(text)
  end
  local function reference(id) return { type = "item_reference", id = id } end
  local _, first = ask "How is the weather?"
  local thought, said, call = table.unpack(first.output)
  t.equal(thought.encrypted_content, nil)
  local result = { type = "function_call_output", call_id = call.call_id, output = "sunny" }
  local question = { role = "user", content = "How is the weather?" }
  local status, second = ask { question, reference(thought.id), reference(said.id), reference(call.id), result }
  t.equal(status, 200, json.encode(second))
  t.equal(second.output[2].content[1].text, "GOT sunny")
  status, second = ask({ result }, { previous_response_id = first.id })
  t.equal(status, 200, json.encode(second))
  status, second = ask({ { role = "user", content = "And now?" } }, { previous_response_id = second.id })
  t.equal(status .. " " .. second.output[3].name, "200 weather")
  local wrong
  status, wrong = ask { question, reference "msg_x" }
  t.equal(status, 400)
  t.has(wrong.error.message, "Item with id 'msg_x' not found.")
  status, wrong = ask({ result }, { previous_response_id = "resp_x" })
  t.equal(status, 400)
  t.has(wrong.error.message, "Previous response with id 'resp_x' not found.")
  -- store: false
  local unkept = { store = false, include = { "reasoning.encrypted_content" } }
  _, first = ask("How is the weather?", unkept)
  thought, said, call = table.unpack(first.output)
  t.equal(ask { question, reference(thought.id), reference(said.id), reference(call.id), result }, 400)
  result.call_id = call.call_id
  t.equal(ask({ question, thought, said, call, result }, unkept), 200)
  local bare = { { role = "assistant", content = "A moment." }, { type = "function_call", call_id = call.call_id, name = call.name, arguments = call.arguments } }
  t.equal(ask({ question, thought, bare[1], bare[2], result }, unkept), 200)
  t.equal(ask { question, thought, bare[1], bare[2], result }, 400)
  t.equal(ask({ question, thought, question, bare[2], result }, unkept), 400)
end)

t.test("a server keeps the newest of its responses", function()
  local kept, ids = require("hocket.internal.sim.kept_responses").new(), {}
  for i = 1, 600 do
    ids[i] = "msg_" .. i
    kept:keep({ id = "resp_" .. i, output = { { type = "message", id = ids[i] } } }, {})
  end
  t.ok(kept:items_of({}, { { type = "item_reference", id = ids[600] } }))
  t.ok(kept:items_of({}, { { type = "item_reference", id = ids[101] } }))
  t.equal(kept:items_of({}, { { type = "item_reference", id = ids[100] } }), nil)
  t.equal(kept:items_of({ previous_response_id = "resp_100" }, {}), nil)
end)

t.test("Gemini's members may be in snake_case, and what is the client's own stays as it is", function()
  local served <close> = support.serve(function(request)
    local schema = request.tools.look_up.parameters
    return { text = request.system .. " " .. next(schema.properties) .. " " .. tostring(request.schema ~= nil) }
  end)
  local status, body = post(served, "/v1beta/models/m:generateContent", {
    contents = { { role = "user", parts = { { text = "x" } } } },
    system_instruction = { parts = { { text = "be brief" } } },
    tools = { { function_declarations = { { name = "look_up", parameters_json_schema = { type = "object", properties = { a_place = { type = "string" } } } } } } },
    generation_config = { max_output_tokens = 5, response_mime_type = "application/json" },
  })
  t.equal(status, 200, body)
  t.has(body, "be brief a_place true")
  status, body = post(served, "/v1beta/models/m:generateContent",
    { contents = { { role = "user", parts = { { text = "x" } } } }, generation_config = { max_tokens = 5 } })
  t.equal(status, 400, body)
end)

t.test("chat streams have what strict clients want: a name in each piece of a call, a service tier", function()
  local served <close> = support.serve { reply = support.weather, fragment = 2 }
  local status, body = post(served, "/v1/chat/completions", { model = "m", stream = true,
    messages = { { role = "user", content = "x" } }, tools = json.decode '[{"type":"function","function":{"name":"weather"}}]' })
  t.equal(status, 200)
  local names, pieces = {}, 0
  for text in body:gmatch "data: ({[^\n]*})" do
    local chunk = json.decode(text)
    t.equal(chunk.service_tier, "default")
    for _, choice in ipairs(chunk.choices) do
      for _, call in ipairs(choice.delta.tool_calls or {}) do
        pieces = pieces + 1
        names[call.index] = (names[call.index] or "") .. t.ok(call["function"].name)
      end
    end
  end
  t.ok(pieces > 4)
  t.same(names, { [0] = "weather", [1] = "weather" })
end)

-- ---- Model ids -----------------------------------------------------------------------------------

assert(require "hocket.sim".base()) -- stays until the end

t.test("sim-PROVIDER is the scripted model over that provider's protocol", function()
  local protocols = { ["sim"] = "openai_chat", ["sim/x"] = "openai_chat", ["sim-gemini"] = "gemini", ["sim-anthropic/claude-sonnet-4-5"] = "anthropic" }
  for _, name in ipairs(providers.names()) do protocols[("sim-%s/x"):format(name)] = providers.get(name).protocol end
  for id, protocol in pairs(protocols) do
    local m = assert(model.resolve(id))
    t.ok(m.simulated)
    t.equal(m.protocol, protocol, id)
    t.has(assert(support.ask(m, support.history "Hello", { tools = "[]" })).text, "Hello", id)
  end
  t.fails("provider", "no provider 'nobody'", model.resolve "sim-nobody/x")
end)

t.test("the built-in script answers in the form that is asked for", function()
  local m = assert(model.resolve "sim-anthropic/x")
  local reply = assert(support.ask(m, support.history "Hello", { tools = "[]",
    schema = '{"type":"object","properties":{"a":{"type":"boolean"}}}' }))
  t.same(json.decode(reply.text), { a = false })
end)

return t.finish()
