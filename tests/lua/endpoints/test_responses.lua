-- OpenAI's responses and conversations over a store: older answers gone on with, work in the background, and what is there after a restart.
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local served = require "served"

t.limit = 1000 -- seconds of a case: servers as processes, on slow machines

local model = [[
local json = require "hocket.json"
return function(q)
  local text = q.last.text
  if q.last.role == "tool" then return "It said: " .. text end
  local name, args = text:match "^call (%S+) (.*)$"
  if name then return { text = "I look.", calls = { { name = name, arguments = json.decode(args) } } } end
  if text == "slow" then return { text = "late", latency = 600 } end
  if text == "short" then return { text = "soon", latency = 1 } end
  if text == "think" then return { reasoning = "I weigh it.", text = "Thought." } end
  if text == "cut" then return { text = "Half of", finish = "length" } end
  if text == "fail" then return { status = 400, error = "no such thing" } end
  local all = {}
  for i, one in ipairs(q.messages) do all[i] = one.role:sub(1, 1) .. ":" .. one.text end
  return table.concat(all, "|")
end
]]

local function project()
  local dir = t.dir()
  dir:write("agents/sim.lua", model)
  dir:write("agents/guide.md", "---\nname: guide\ndescription: Knows the way\n---\nYou are the guide.")
  return dir
end

local function start(dir, ...)
  return served.start(dir, "agents", "--model", "sim", "--trust", "--grace", "0", ...)
end

local function respond(s, body, status)
  body.model = "guide"
  local answer = s:post("/v1/responses", body)
  t.equal(answer.status, status or 200, answer.body)
  return answer.value
end

local function text_of(response)
  local last = response.output[#response.output]
  return last and last.content and last.content[1].text
end

local function until_over(s, id)
  local one
  t.eventually(function()
    one = s:get("/v1/responses/" .. id).value
    return one.status ~= "in_progress"
  end, 900, "never over")
  return one
end

local tools = { { type = "function", name = "weather", parameters = { type = "object", properties = { city = { type = "string" } } } } }
local same = { "id", "status", "model", "output", "metadata", "instructions", "conversation", "background", "error", "incomplete_details", "usage", "created_at" }

t.test("an older answer is gone on with: both conversations have their own future", function()
  local dir <close> = project()
  local s <close> = start(dir)
  local first = respond(s, { input = "One" })
  local second = respond(s, { input = "Two", previous_response_id = first.id })
  t.equal(text_of(second), "u:One|a:u:One|u:Two")
  local other = respond(s, { input = "Other", previous_response_id = first.id })
  t.equal(text_of(other), "u:One|a:u:One|u:Other")
  t.ok(other.conversation.id ~= second.conversation.id)
  t.equal(text_of(respond(s, { input = "Three", previous_response_id = second.id })), "u:One|a:u:One|u:Two|a:u:One|a:u:One|u:Two|u:Three")
  local further = respond(s, { input = "More", previous_response_id = other.id, stream = false })
  t.has(text_of(further), "u:Other|")
  t.lacks(text_of(further), "u:Two")
  t.equal(text_of(respond(s, { input = "Again", previous_response_id = first.id })), "u:One|a:u:One|u:Again")
  local wrong = respond(s, { input = "x", previous_response_id = first.id:gsub("_1_0$", "_7_0") }, 409)
  t.has(wrong.error.message, "turn 7")
end)

t.test("after a restart what was answered is told as it was, and gone on with", function()
  local dir <close> = project()
  local all, inputs = {}, {}
  do
    local s <close> = start(dir)
    all[1] = respond(s, { input = "One", instructions = "Be brief.", metadata = { topic = "x" } })
    all[2] = respond(s, { input = 'call weather {"city": "Rome"}', previous_response_id = all[1].id, tools = tools })
    local call = all[2].output[#all[2].output]
    t.equal(call.type, "function_call")
    all[3] = respond(s, { input = { { type = "function_call_output", call_id = call.call_id, output = "Sunny" } }, previous_response_id = all[2].id, tools = tools })
    all[4] = respond(s, { input = "cut", previous_response_id = all[3].id })
    t.equal(all[4].status, "incomplete")
    for i, one in ipairs(all) do inputs[i] = s:get(("/v1/responses/%s/input_items?order=asc"):format(one.id)).value end
    t.equal(inputs[1].data[1].content[1].text, "One")
    t.equal(inputs[3].data[1].call_id, call.call_id)
    t.equal(s:get("/v1/responses/" .. respond(s, { input = "x", store = false }).id).status, 404)
    t.equal(s:stop().code, 0)
  end
  local s <close> = start(dir)
  for i, one in ipairs(all) do
    local again = s:get("/v1/responses/" .. one.id).value
    for _, name in ipairs(same) do t.same(again[name], one[name], ("%d.%s"):format(i, name)) end
    local items = s:get(("/v1/responses/%s/input_items?order=asc"):format(one.id)).value
    t.equal(items.data[1].type, inputs[i].data[1].type)
    t.same(items.data[1].content, inputs[i].data[1].content)
    t.equal(items.data[1].output, inputs[i].data[1].output)
  end
  t.has(text_of(respond(s, { input = "Further", previous_response_id = all[4].id })), "u:Further")
  local conversation = all[1].conversation.id
  t.equal(s:get("/v1/conversations/" .. conversation).value.metadata.topic, "x")
  local page = s:get(("/v1/conversations/%s/items?order=asc&limit=3"):format(conversation)).value
  t.equal(page.has_more, true)
  t.equal(page.data[1].content[1].text, "One")
  local rest = s:get(("/v1/conversations/%s/items?order=asc&limit=100&after=%s"):format(conversation, page.last_id)).value
  t.equal(rest.has_more, false)
  t.equal(rest.data[1].content[1].text, "I look.")
  for _, query in ipairs { "limit=0", "limit=x", "after=none" } do t.equal(s:get(("/v1/conversations/%s/items?%s"):format(conversation, query)).status, 400, query) end
  for _, id in ipairs { "resp_x", "resp_" .. ("0"):rep(26) .. "_1_0", all[1].id:gsub("_1_0$", "_1_3") } do t.equal(s:get("/v1/responses/" .. id).status, 404) end
  t.equal(s:ask("DELETE", "/v1/responses/" .. all[2].id).value.deleted, true)
  for _, one in ipairs(all) do t.equal(s:get("/v1/responses/" .. one.id).status, 404) end
  t.equal(s:get("/v1/conversations/" .. conversation).status, 404)
end)

t.test("in the background: told at once, worked at, cancelled, gone on with after a restart", function()
  local dir <close> = project()
  local id
  do
    local s <close> = start(dir)
    local short = respond(s, { input = "short", background = true })
    t.equal(short.status, "in_progress")
    t.equal(short.background, true)
    t.equal(text_of(until_over(s, short.id)), "soon")
    t.equal(s:post(("/v1/responses/%s/cancel"):format(short.id)).value.status, "completed")
    local slow = respond(s, { input = "slow", background = true })
    t.equal(respond(s, { input = "x", previous_response_id = slow.id }, 409).error.code, "conflict")
    t.equal(s:post(("/v1/responses/%s/cancel"):format(slow.id)).value.status, "cancelled")
    t.equal(s:get("/v1/responses/" .. slow.id).value.status, "cancelled")
    local failed = until_over(s, respond(s, { input = "fail", background = true }).id)
    t.equal(failed.status, "failed")
    t.has(failed.error.message, "no such thing")
    t.equal(s:post(("/v1/responses/%s/cancel"):format(respond(s, { input = "plain" }).id)).status, 400)
    t.equal(s:post "/v1/responses/resp_x/cancel".status, 404)
    respond(s, { input = "x", background = true, store = false }, 400)
    local left = fiber.spawn(function() s:post("/v1/responses", { model = "guide", input = "short", background = true, stream = true }) end)
    t.eventually(function() return #s:get("/api/runs?search=short").value.runs == 2 end, 900, "never begun")
    local run = s:get("/api/runs?search=short").value.runs[1].id
    left:cancel() -- its client goes: the work goes on
    t.equal(text_of(until_over(s, ("resp_%s_1_0"):format(run))), "soon")
    id = respond(s, { input = "short", background = true }).id
    t.equal(s:stop().code, 0)
  end
  local s <close> = start(dir)
  local done = until_over(s, id)
  t.equal(done.status, "completed")
  t.equal(text_of(done), "soon")
  t.equal(text_of(respond(s, { input = "Further", previous_response_id = id })), "u:short|a:soon|u:Further")
end)

t.test("tools of other kinds: taken where they are the caller's, else passed over and told", function()
  local dir <close> = project()
  local s <close> = start(dir)
  local many = {
    tools[1], { type = "web_search" }, { type = "custom", name = "patch", description = "Takes a patch" },
    { type = "namespace", name = "sky", tools = { { type = "function", name = "weather", parameters = { type = "object" } }, { type = "custom", name = "draw" }, { type = "odd\r\nx: y" } } },
  }
  local function call_of(text, previous)
    local answer = s:post("/v1/responses", { model = "guide", input = text, tools = many, previous_response_id = previous })
    t.equal(answer.status, 200, answer.body)
    t.equal(answer.headers["x-hocket-ignored"], "tools[1] (web_search), tools[3].tools[2] (odd??x??y)")
    return answer.value.output[#answer.value.output], answer.value
  end
  local call = call_of 'call weather {"city": "Rome"}'
  t.equal(call.type, "function_call")
  t.equal(call.namespace, nil)
  call = call_of 'call sky__weather {}'
  t.equal(call.type .. " " .. call.namespace .. " " .. call.name, "function_call sky weather")
  local whole
  call, whole = call_of 'call patch {"input": "+ a line"}'
  t.equal(call.type .. " " .. call.name .. " " .. call.input, "custom_tool_call patch + a line")
  t.same(s:get("/v1/responses/" .. whole.id).value.output, whole.output)
  local after = respond(s, { input = { { type = "custom_tool_call_output", call_id = call.call_id, output = "patched" } }, previous_response_id = whole.id, tools = many })
  t.equal(text_of(after), "It said: patched")
  local said = respond(s, { input = { { role = "user", content = "Do" }, { type = "custom_tool_call", call_id = "c1", name = "patch", input = "x" },
    { type = "custom_tool_call_output", call_id = "c1", output = "done" }, { role = "user", content = "And?" } }, tools = many })
  t.has(text_of(said), "u:Do|a:|t:done|u:And?")
  local warned = false
  for line in s:get("/api/runs/" .. said.conversation.id:sub(6) .. "/events").body:gmatch "[^\n]+" do warned = warned or line:find("passed over in the caller's request: tools[1] (web_search)", 1, true) ~= nil end
  t.ok(warned)
  respond(s, { input = "x", tools = many, tool_choice = { type = "function", name = "web_search" } }, 400)
  respond(s, { input = "x", tools = many, tool_choice = { type = "web_search" } }, 400)
  respond(s, { input = "x", tools = { tools[1], "web_search" } }, 400)
  respond(s, { input = { { type = "odd" } } }, 400)
  for _, wrong in ipairs { 7, true, "text", json.array { 1 } } do respond(s, { input = "x", text = { format = wrong } }, 400) end
  local chat = s:post("/v1/chat/completions", { model = "guide", messages = { { role = "user", content = "One" } }, tools = { { type = "web_search" } } })
  t.equal(chat.status .. " " .. chat.headers["x-hocket-ignored"], "200 tools[0] (web_search)")
  chat = s:post("/v1/messages", { model = "guide", max_tokens = 100, messages = { { role = "user", content = "One" } },
    tools = { { name = "look", input_schema = { type = "object" } }, { type = "web_search_20250305", name = "web_search" } } })
  t.equal(chat.status .. " " .. chat.headers["x-hocket-ignored"], "200 tools[1] (web_search_20250305)")
end)

t.test("an item that the server keeps is found by its id, after a restart too", function()
  local dir <close> = project()
  local first, second
  local function reference(id) return { type = "item_reference", id = id } end
  local function user(text) return { role = "user", content = { { type = "input_text", text = text } } } end
  do
    local s <close> = start(dir)
    first = respond(s, { input = { user "One" } })
    second = respond(s, { input = 'call weather {"city": "Rome"}', tools = tools })
    t.equal(text_of(respond(s, { input = { user "One", reference(first.output[1].id), user "Two" } })), "u:One|a:u:One|u:Two")
    t.equal(s:stop().code, 0)
  end
  local s <close> = start(dir)
  t.equal(text_of(respond(s, { input = { user "One", reference(first.output[1].id), user "Two" } })), "u:One|a:u:One|u:Two")
  local call = second.output[#second.output]
  local other = respond(s, { input = { user "Call", reference(second.output[1].id), reference(call.id), { type = "function_call_output", call_id = call.call_id, output = "Sunny" }, user "So?" }, tools = tools })
  t.equal(text_of(other), "u:Call|a:I look.|t:Sunny|u:So?")
  for _, id in ipairs { "msg_x", "msg_" .. ("0"):rep(26) .. "_1_0_0", first.output[1].id:gsub("_0$", "_7"), call.id:gsub("^fc", "msg") .. "9" } do
    respond(s, { input = { user "One", reference(id), user "Two" } }, 400)
  end
  respond(s, { input = { user "One", { type = "item_reference" }, user "Two" } }, 400)
end)

t.test("reasoning goes out sealed where the server keeps nothing, or a client asks for that", function()
  local dir <close> = project()
  local s <close> = start(dir)
  local function thought(more)
    local body = { input = "think" }
    for name, value in pairs(more) do body[name] = value end
    local response = respond(s, body)
    t.equal(response.output[1].type, "reasoning")
    return response.output[1], response
  end
  t.equal(thought({}).encrypted_content, nil)
  t.equal(type(thought({ include = { "reasoning.encrypted_content" } }).encrypted_content), "string")
  local one, response = thought { store = false }
  t.equal(type(one.encrypted_content), "string")
  local history = { { role = "user", content = "think" }, one, response.output[2], { role = "user", content = "And?" } }
  t.equal(text_of(respond(s, { input = history, store = false })), "u:think|a:Thought.|u:And?")
  local streamed
  for line in s:post("/v1/responses", { model = "guide", input = "think", store = false, stream = true }).body:gmatch "data: ([^\n]+)" do
    local event = json.decode(line)
    if type(event) == "table" and event.type == "response.output_item.done" and event.item.type == "reasoning" then streamed = event.item end
  end
  t.equal(type(streamed.encrypted_content), "string")
end)

t.test("a conversation that is made first: its items stand before what is said", function()
  local dir <close> = project()
  local s <close> = start(dir)
  local made = s:post("/v1/conversations", { items = { { role = "user", content = "Earlier" }, { role = "assistant", content = "Yes." } }, metadata = { topic = "y" } }).value
  t.equal(made.object, "conversation")
  t.equal(s:get("/v1/conversations/" .. made.id).value.metadata.topic, "y")
  local first = respond(s, { input = "Now", conversation = made.id })
  t.equal(text_of(first), "u:Earlier|a:Yes.|u:Now")
  t.equal(first.conversation.id, made.id)
  local second = respond(s, { input = "And", conversation = { id = made.id } })
  t.has(text_of(second), "u:Earlier|a:Yes.|u:Now|")
  t.equal(#s:get(("/v1/conversations/%s/items?order=asc"):format(made.id)).value.data, 6)
  respond(s, { input = "x", conversation = made.id, store = false }, 400)
  t.equal(s:ask("DELETE", "/v1/conversations/" .. made.id).value.deleted, true)
  t.equal(s:get("/v1/conversations/" .. made.id).status, 404)
  respond(s, { input = "x", conversation = made.id }, 400)
  for i, body in ipairs { { items = 7 }, { items = { 7 } }, { items = { { role = "nobody", content = "x" } } } } do t.equal(s:post("/v1/conversations", body).status, 400, "body " .. i) end
  t.equal(#json.encode(s:post("/v1/conversations", {}).value.metadata), 2)
end)

return t.finish()
