--- Members of requests that nothing has a word for: merged, from the provider, the agent and the call; and what cannot be said there.
local hocket = require "hocket"
local agents = require "hocket.agent"
local bodies = require "hocket.internal.models.body"
local json = require "hocket.json"
local llm = require "hocket.llm"
local model = require "model"
local resolve = require("hocket.model").resolve
local t = require "harness"

-- A server that keeps the bodies that it gets.
local function keeping(fields)
  local seen = {}
  local m = model.raw(function(listener, request)
    seen[#seen + 1] = json.decode(request.body)
    listener:respond(request.id, 200, { ["content-type"] = "text/event-stream" }, model.chunk "Yes." .. model.chunk(nil, "stop") .. "data: [DONE]\n\n")
  end, fields)
  return m, seen
end

local function ask(id, request)
  local history = llm.history()
  history:user "Well?"
  return assert(llm.call(assert(resolve(id)), history, request))
end

t.test("the provider's, then the agent's, then ours", function()
  local m <close>, seen = keeping { body = { provider = { order = { "a" }, allow_fallbacks = false }, user = "p" } }
  local one = agents.load { name = "one", prompt = "P", model = m.id, temperature = 0.5,
    body = { provider = { allow_fallbacks = true }, chat_template_kwargs = { enable_thinking = false }, stream_options = json.null, temperature = 0 } }
  assert(hocket.run(one, "Well?"))
  local body = seen[1]
  t.same(body.provider, { order = { "a" }, allow_fallbacks = true })
  t.same(body.chat_template_kwargs, { enable_thinking = false })
  t.equal(body.user, "p")
  t.equal(body.temperature, 0)
  t.equal(body.stream_options, nil)
  t.equal(body.stream, true)
  t.equal(#body.messages, 2)
  ask(m.id, { body = { user = "mine" } })
  t.equal(seen[2].user, "mine")
  t.equal(seen[2].provider.allow_fallbacks, false)
end)

t.test("fallbacks with a provider of their own have that one's", function()
  local bad <close> = model.raw(function(listener, request) listener:respond(request.id, 400, {}, "{}") end, { body = { a = 1 } })
  local good <close>, seen = keeping { body = { b = 2 } }
  local one = agents.load { name = "one", prompt = "P", model = { bad.id, good.id }, body = { c = 3 } }
  assert(hocket.run(one, "Well?"))
  t.same({ seen[1].a, seen[1].b, seen[1].c }, { nil, 2, 3 })
end)

t.test("what cannot be said there is told with its place", function()
  for name, words in pairs { messages = "the conversation", tools = "server_tools", stream = "as a stream", model = "'model'", contents = "the conversation" } do
    local where, why = bodies.wrong { [name] = 1 }
    t.equal(where, "/" .. name)
    t.has(why, words)
  end
  t.same({ bodies.wrong { generationConfig = { candidateCount = 2 } } }, { "/generationConfig/candidateCount", "cannot be set here: one answer is read" })
  t.has(select(2, bodies.wrong { a = ("x"):rep(70000) }), "65536 at most")
  t.has(select(2, bodies.wrong { a = print }), "no JSON")
  t.has(select(2, bodies.wrong { 1, 2 }), "names with values")
  t.equal(bodies.wrong { a = { messages = 1 } }, nil) -- elsewhere it is the server's own word
  local ok, err = pcall(hocket.provider, "wrong", { protocol = "openai_chat", base = "http://x", body = { stream = false } })
  t.equal(ok, false)
  t.has(err, "bad field 'body.stream' in provider 'wrong': it cannot be set here")
  local m <close> = keeping()
  ok, err = pcall(ask, m.id, { body = { tools = {} } })
  t.equal(ok, false)
  t.has(tostring(err), "'body.tools'")
end)

t.test("in a file, with its line", function()
  local read = require "hocket.internal.agents.read"
  local def, problems = read.text("---\nmodel: sim/x\nbody:\n  thinking: {type: disabled}\n  messages: []\n---\nP\n", "a.md")
  t.equal(def, nil)
  t.equal(problems[1].line, 5)
  t.has(problems[1].message, "'body.messages' cannot be set here: it is the conversation")
  def = read.text("---\nbody: {thinking: {type: disabled}, stop: null}\n---\nP\n", "a.md")
  t.equal(def.body.thinking.type, "disabled")
  t.equal(def.body.stop, json.null)
end)

return t.finish()
