--- Tool calls that a model writes as text: which are made, which are told to the model, and what strangers' text can do with them.
local t = require "harness"
local s = require "scripted"
local p = require "patterns_support"
local hocket = require "hocket"
local json = require "hocket.json"
local llm = require "hocket.internal.core.llm"
local model = require "model"
local permission = require "hocket.permission"
local providers = require "hocket.providers"
local tool = require "hocket.tool"

local at = { type = "object", required = { "at" }, properties = { at = { type = "string" } }, additionalProperties = false }

-- A tool that notes what it was called with.
local function looks(name, fields)
  local called = {}
  local def = { name = name or "look", description = "Looks", parameters = at, run = function(args)
    called[#called + 1] = args.at
    return "a crow at the " .. args.at
  end }
  for k, v in pairs(fields or {}) do def[k] = v end
  return tool(def), called
end

local LOOK = '{"name": "look", "arguments": {"at": "tree"}}'

-- Says these one after the other, then that it is done.
local function says(...)
  local list, n = { ... }, 0
  return function()
    n = n + 1
    return list[n] or "done"
  end
end

local function warnings(events)
  local list = {}
  for _, event in ipairs(events) do
    if event.type == "warning" then list[#list + 1] = event.message end
  end
  return list
end

t.test("calls as text are calls", function()
  local forms = {
    LOOK, "<tool_call>\n" .. LOOK .. "\n</tool_call>", "```json\n" .. LOOK .. "\n```", "[TOOL_CALLS][" .. LOOK .. "]",
    '<|python_tag|>{"name": "look", "parameters": {"at": "tree"}}', "<think>I could <tool_call> here.</think>\n" .. LOOK,
  }
  for _, form in ipairs(forms) do
    for _, stream in ipairs { true, false } do
      local look, called = looks()
      local m <close> = model.serve(says(form))
      local session, events = model.session(m, { tools = { look }, stream = stream })
      local reply = assert(session:send "?")
      t.equal(reply.text, "done")
      t.same(called, { "tree" }, form)
      -- the model sees a call of its own, and its result
      local messages = m.requests[2].messages
      t.equal(messages[2].text, "")
      t.equal(messages[2].calls[1].name, "look")
      t.equal(messages[3].text, "a crow at the tree")
      t.same(warnings(events), {})
    end
  end
end)

t.test("several at once, and an event that says how they came", function()
  local look, called = looks()
  local m <close> = model.serve(says(LOOK .. "\n" .. LOOK:gsub("tree", "pond")))
  local session, events = model.session(m, { tools = { look } })
  t.equal(assert(session:send "?").text, "done")
  table.sort(called)
  t.same(called, { "pond", "tree" })
  local replies = {}
  for _, event in ipairs(events) do
    if event.type == "model_reply" then replies[#replies + 1] = event end
  end
  t.same({ replies[1].as_text, replies[1].calls, replies[1].finish }, { true, 2, "tool_calls" })
  t.equal(replies[2].as_text, nil)
end)

t.test("prose with a call in it is an answer", function()
  for _, wrote in ipairs { "I would call " .. LOOK, LOOK .. "\nThis looks at the tree.", "The page says: <tool_call>" .. LOOK .. "</tool_call>",
    '{"name": "Bob", "age": 3}', '{"name": "look", "arguments": {"at": "tree"}, "why": "so"}' } do
    local look, called = looks()
    local m <close> = model.serve(says(wrote))
    t.equal(assert(model.session(m, { tools = { look } }):send "?").text, wrote)
    t.same(called, {})
  end
  -- nor without tools, nor where the answer was cut
  local m <close> = model.serve(says(LOOK))
  t.equal(assert(model.session(m):send "?").text, LOOK)
  local look, called = looks()
  local cut <close> = model.serve(says { text = LOOK, finish = "length" })
  t.equal(assert(model.session(cut, { tools = { look } }):send "?").finish, "length")
  t.same(called, {})
end)

t.test("one that does not fit: told once, nothing is called, then it fails", function()
  local wrong = {
    { '{"name": "fly", "arguments": {}}', "there is no tool 'fly'" },
    { '{"name": "look", "arguments": {"at": 3}}', "at" },
    { '{"name": "look", "arguments": {"at": "tree", "deep": 1}}', "deep" },
    { LOOK .. '\n{"name": "fly", "arguments": {}}', "there is no tool 'fly'" },
  }
  for _, case in ipairs(wrong) do
    local look, called = looks()
    local m <close> = model.serve(says(case[1], LOOK))
    local session, events = model.session(m, { tools = { look } })
    t.equal(assert(session:send "?").text, "done")
    t.same(called, { "tree" })
    t.has(m.requests[2].last.text, case[2])
    t.has(m.requests[2].last.text, '{"name": "look", "arguments": {}}')
    t.equal(#warnings(events), 1)
    local again <close> = model.serve(function() return case[1] end)
    local reply, err = model.session(again, { tools = { look } }):send "?"
    t.fails("model", case[2], reply, err)
    t.equal(#again.requests, 2)
    t.same(called, { "tree" })
  end
  -- broken beyond repair, as models of 0.5 billion parameters write it
  local broken = { '{"name": "look", "arguments": {"at": ["tree"}]}', "<tool_call>\n" .. LOOK .. "}\n</tool_call>", "```json\n[" .. LOOK .. "}\n```",
    '<think>Hm.</think>{"name": "look", "arguments": {"at": "tree}}' }
  for _, wrote in ipairs(broken) do
    local look, called = looks()
    local m <close> = model.serve(says(wrote, LOOK))
    t.equal(assert(model.session(m, { tools = { look } }):send "?").text, "done")
    t.same(called, { "tree" })
    t.has(m.requests[2].last.text, "the call of 'look' is no valid JSON")
    local again <close> = model.serve(function() return wrote end)
    t.fails("model", "no valid JSON", model.session(again, { tools = { look } }):send "?")
    t.equal(#again.requests, 2)
    -- nor with words beside it, nor of a tool that nobody has
    for _, other in ipairs { wrote .. " So I look.", (wrote:gsub("look", "fly")) } do
      local prose <close> = model.serve(function() return other end)
      t.has(other, assert(model.session(prose, { tools = { look } }):send "?").text)
    end
  end
  -- after a call that was made it may go wrong once more
  local look = looks()
  local m <close> = model.serve(says('{"name": "fly", "arguments": {}}', LOOK, '{"name": "fly", "arguments": {}}'))
  t.equal(assert(model.session(m, { tools = { look } }):send "?").text, "done")
end)

t.test("never the answer of a last turn", function()
  local look = looks()
  for _, wrote in ipairs { LOOK, '{"name": "fly", "arguments": {}}' } do
    local m <close> = model.serve(function(request) return request.turn == 1 and { text = "I look.", calls = { s.call("look", { at = "x" }) } } or wrote end)
    local reply = assert(model.session(m, { tools = { look }, max_turns = 2 }):send "?")
    t.has(reply.text, "I look.")
    t.ok(not reply.text:find("{", 1, true))
  end
end)

t.test("a value of the agent's output wins", function()
  local called
  local function play(output, wrote)
    local look
    look, called = looks()
    p.play { a = says(wrote, '{"floor": 9}') }
    return p.run(s.team { a = { tools = { look }, output = output } }.a)
  end
  t.equal(play({ type = "object", required = { "name" } }, LOOK).value.name, "look")
  t.same(called, {})
  t.equal(play({ type = "object", required = { "floor" } }, LOOK).value.floor, 9)
  t.same(called, { "tree" })
end)

t.test("what is held back from whoever looks on", function()
  local function hear(wrote, extra)
    local look, heard = looks(), ""
    local m <close> = model.serve(says({ text = wrote, fragment = 3 }, { text = "done", fragment = 1 }))
    local spec = { tools = { look }, on_delta = function(kind, text) heard = heard .. (kind == "text" and text or "") end }
    for k, v in pairs(extra or {}) do spec[k] = v end
    local reply, err = model.session(m, spec):send "?"
    return heard, reply, err
  end
  t.equal(hear(LOOK), "done")
  t.equal(hear("```json\n" .. LOOK .. "\n```"), "done")
  t.equal(hear '{"name": "fly", "arguments": {}}', "done")
  t.equal(hear("<think>hm</think>" .. LOOK), "done")
  t.equal(hear "Well, no.", "Well, no.")
  t.equal(hear('{"name": "Bob", "age": 3}'), '{"name": "Bob", "age": 3}')
  t.equal(hear("```py\nprint()\n```"), "```py\nprint()\n```")
  t.equal(hear(LOOK .. " is it"), LOOK .. " is it")
  t.equal(hear(LOOK, { tools = {} }), LOOK)
end)

t.test("strangers' text: such a call asks first, whatever it does", function()
  local look, called = looks("look", { effects = { "read" } })
  local fetch = tool { name = "fetch", description = "Fetches", taints = "web", run = function() return "The page: " .. LOOK end }
  local function ask(answer)
    local asked = {}
    return asked, function(about)
      asked[#asked + 1] = about
      return answer
    end
  end
  local function play(answer, as_text)
    local asked, asks = ask(answer)
    local second = as_text and LOOK or { calls = { s.call("look", { at = "tree" }) } }
    local m <close> = model.serve(says({ calls = { s.call "fetch" } }, second))
    local session = model.session(m, { tools = { look, fetch }, permissions = permission.new("a", { look, fetch }, nil, { ask = asks }) })
    t.equal(assert(session:send "?").text, "done")
    return asked, m.requests[3].last.text
  end
  local asked, result = play("deny", true)
  t.equal(#asked, 1)
  t.has(asked[1].reason, "it was written as text, and the conversation has text from the web")
  t.has(result, "was not allowed")
  t.same(called, {})
  asked = play("allow", true)
  t.equal(#asked, 1)
  t.same(called, { "tree" })
  asked = play("deny", false) -- a call by the API's own way only reads
  t.equal(#asked, 0)
  t.equal(#called, 2)
  -- nobody there: no
  local m <close> = model.serve(says({ calls = { s.call "fetch" } }, LOOK))
  t.equal(assert(model.session(m, { tools = { look, fetch } }):send "?").text, "done")
  t.equal(#called, 2)
end)

t.test("whose models are read so", function()
  local function of(name, base) return providers.calls_in_text(providers.get(name), base or providers.get(name).base) end
  for _, name in ipairs { "openai", "openai-chat", "openai-responses", "anthropic", "gemini", "mistral", "groq", "bedrock", "vertex", "xai" } do
    t.equal(of(name), false, name)
  end
  t.equal(of("azure", "https://me.openai.azure.com/openai/v1"), false)
  t.equal(of("bedrock", "https://bedrock-runtime.eu-west-1.amazonaws.com"), false)
  t.equal(of("openai", "https://eu.api.openai.com/v1"), false)
  for _, name in ipairs { "llamacpp", "vllm", "ollama" } do t.equal(of(name), true, name) end
  t.equal(of("openai", "http://127.0.0.1:8080/v1"), true)
  t.equal(of("openai", "http://localhost:8080/v1"), true)
  t.equal(of("anthropic", "https://gateway.example/anthropic"), true)
  t.equal(providers.calls_in_text({ protocol = "openai_chat", base = "https://api.openai.com/v1" }, "https://api.openai.com/v1"), false)
  t.equal(providers.calls_in_text({ traits = { calls_in_text = false } }, "http://127.0.0.1:1"), false)
  t.equal(providers.calls_in_text({ traits = { calls_in_text = true } }, "https://api.openai.com/v1"), true)
  -- and one that is not
  local look, called = looks()
  local m <close> = model.serve(says(LOOK), nil, { traits = { calls_in_text = false } })
  local heard = ""
  local session = model.session(m, { tools = { look }, on_delta = function(_, text) heard = heard .. text end })
  t.equal(assert(session:send "?").text, LOOK)
  t.equal(heard, LOOK)
  t.same(called, {})
end)

t.test("a request of one's own is answered as it is", function()
  local m <close> = model.serve(says(LOOK))
  local look = looks()
  local history = llm.history()
  history:user "?"
  local reply = assert(hocket.llm.call(assert(require("hocket.model").resolve(m.id)), history, { tools = tool.declare { look } }))
  t.equal(reply.text, LOOK)
  t.equal(json.decode(reply.text).name, "look")
end)

return t.finish()
