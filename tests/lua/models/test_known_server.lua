--- Known servers behind any base URL: who they are, what follows from that, and that hosted providers are not asked.
local t = require "harness"
local hocket = require "hocket"
local json = require "hocket.json"
local known_server = require "hocket.internal.models.known_server"
local model = require "model"
local orchestrate = require "hocket.orchestrate"
local providers = require "hocket.providers"
local runner = require "hocket.internal.runner.run_agent"
local runs = require "hocket.internal.run.run"
require "hocket.internal.runner.builtins"

local answer = json.encode { choices = { { message = { role = "assistant", content = "fine" }, finish_reason = "stop" } }, usage = { prompt_tokens = 5, completion_tokens = 1 } }

-- Plays a server: `says` has by path what a GET brings, or {status, body, headers}; calls are in `calls`.
local function playing(says)
  local calls, gets = {}, {}
  local m = model.raw(function(listener, request)
    local function respond(status, body, headers)
      local all = { ["content-type"] = "application/json" }
      for name, value in pairs(headers or {}) do all[name] = value end
      listener:respond(request.id, status, all, type(body) == "string" and body or json.encode(body))
    end
    if request.method == "POST" then
      calls[#calls + 1] = json.decode(request.body)
      local first = #calls == 1 and says.first
      return respond(first and first[1] or 200, first and first[2] or answer)
    end
    gets[#gets + 1] = request.path
    local said = says[request.path]
    if not said then return respond(404, "{}") end
    if said.status then return respond(said.status, said.body, said.headers) end
    respond(200, said)
  end, nil, true)
  return m, calls, gets
end

local function list(owner, more)
  local entry = { id = "small", object = "model", owned_by = owner }
  for name, value in pairs(more or {}) do entry[name] = value end
  return { object = "list", data = { entry } }
end

local servers = {
  { "llama.cpp", { ["/v1/models"] = list("llamacpp", { meta = { n_ctx = 4096 } }), ["/props"] = { chat_template_caps = { supports_tools = true } } }, 4096 },
  { "llama.cpp", { ["/v1/models"] = { status = 200, body = list "me", headers = { server = "llama.cpp" } }, ["/props"] = { default_generation_settings = { n_ctx = 2048 } } }, 2048 },
  { "vLLM", { ["/v1/models"] = list("vllm", { max_model_len = 8192 }) }, 8192 },
  { "SGLang", { ["/v1/models"] = list("sglang", { max_model_len = 1024 }) }, 1024 },
  { "LM Studio", { ["/v1/models"] = list "organization_owner", ["/api/v0/models"] = list("x", { loaded_context_length = 512, max_context_length = 32768 }) }, 512 },
  { "Ollama", { ["/v1/models"] = list "library" } },
  { "LiteLLM", { ["/v1/models"] = { status = 200, body = list "openai", headers = { ["x-litellm-version"] = "1.80" } } } },
  { "unknown", { ["/v1/models"] = list "somebody" } },
  { "unknown", {} },
  { "unknown", { ["/v1/models"] = "no JSON" } },
  { "unknown", { ["/v1/models"] = { data = { 5, "x", { id = "\27[1m", owned_by = {} } } } } },
}

t.test("each is known by what it says, with the window of its model", function()
  for _, case in ipairs(servers) do
    local m <close>, calls = playing(case[2])
    local server = assert(known_server.ask({ protocol = "openai_chat" }, m.base))
    t.equal(server.kind, case[1])
    t.equal(server.windows.small, case[3], case[1])
    t.equal(server.tools, nil)
    t.equal(#calls, 0)
  end
  t.equal(known_server.ask({ protocol = "openai_chat" }, "http://127.0.0.1:1/v1"), nil)
end)

t.test("a model is asked as its server wants it, and has the window that this says", function()
  for _, case in ipairs(servers) do
    local m <close>, calls, gets = playing(case[2])
    local id = m.id:match "^[^/]+" .. "/small"
    local look = hocket.tool { name = "look", description = "x", run = function() return "" end }
    local one = hocket.agent { name = "a", prompt = "p", model = id, top_k = 5, max_tokens = 9, tools = { look } }
    t.equal(assert(hocket.run(one, "go")).text, "fine", case[1])
    t.equal(assert(hocket.run(one, "go")).text, "fine", case[1])
    local window = hocket.model.window(id)
    t.equal(window and window.window, case[3], case[1])
    t.equal(assert(hocket.model.resolve(id)).format_last, not (case[1] == "LiteLLM" or case[1] == "unknown") or nil, case[1])
    t.equal(calls[1].top_k, case[3] and 5 or nil, case[1])
    t.equal(calls[1].max_tokens, 9)
    local models = 0
    for _, path in ipairs(gets) do models = models + (path == "/v1/models" and 1 or 0) end
    t.equal(models, 1, "it is asked once")
  end
end)

local function tool(name)
  return hocket.tool { name = name, description = "x", run = function() return "seen" end }
end

t.test("tool_choice: what is called first, as the server takes it", function()
  local look = tool "look"
  local function first(says, choice)
    local m <close>, calls = playing(says)
    assert(hocket.run(hocket.agent { name = "a", prompt = "p", model = m.id, tools = { look }, tool_choice = choice }, "go"))
    return calls[1].tool_choice
  end
  t.equal(first(servers[1][2], "look"), "required") -- llama.cpp knows no names
  t.equal(first(servers[1][2], "required"), "required")
  t.same(first(servers[3][2], "look"), { type = "function", ["function"] = { name = "look" } })
  t.equal(first(servers[6][2], "look"), nil) -- Ollama knows none
  t.same(first({}, "look"), { type = "function", ["function"] = { name = "look" } })
  local choices = {}
  local m <close> = model.serve(function(request)
    choices[#choices + 1] = json.encode(request.raw.tool_choice or "free")
    return request.turn == 1 and { calls = { { name = "look", arguments = {} } } } or "done"
  end)
  local one = hocket.agent { name = "a", prompt = "p", model = m.id, tools = { look }, tool_choice = "required" }
  t.equal(assert(hocket.run(one, "go")).text, "done")
  t.same(choices, { '"required"', '"free"' })
  t.fails("agent", "tool_choice 'nothing': it has no such tool", hocket.run(hocket.agent { name = "a", prompt = "p", model = m.id, tools = { look }, tool_choice = "nothing" }, "go"))
  t.fails("agent", "tool_choice 'required': it has no tools", hocket.run(hocket.agent { name = "a", prompt = "p", model = m.id, tool_choice = "required" }, "go"))
end)

t.test("a tool_choice that a caller withholds is left out", function()
  local look, see = tool "look", tool "see"
  local function first(choice, allowed)
    local m <close>, calls = playing {}
    local one = hocket.agent { name = "a", prompt = "p", model = m.id, tools = { look, see }, tool_choice = choice }
    local reply, err = runner.workflow(runs.new { id = "t" }, "", function() return orchestrate.call(one, "go", { allowed = allowed }) end)
    return calls[1], reply, err
  end
  local call, reply = first("look", { see = true })
  t.equal(reply.text, "fine")
  t.same({ call.tool_choice, #call.tools }, { nil, 1 })
  call, reply = first("required", {})
  t.equal(reply.text, "fine")
  t.same({ call.tool_choice, call.tools }, {})
  t.same(first("look", { look = true }).tool_choice, { type = "function", ["function"] = { name = "look" } })
  t.equal(first("required", { see = true }).tool_choice, "required")
end)

-- A text without an end would be written until the window is full: some servers let no model stop before the schema is done.
t.test("free text has a bound where a server holds its model to a schema", function()
  local function first(says, ask)
    local m <close>, calls = playing(says)
    ask(m.id:match "^[^/]+" .. "/small")
    return calls[1]
  end
  local free = 0
  local function check(schema, place)
    if schema.type == "string" and not schema.enum then
      free = free + 1
      t.ok(schema.maxLength, place)
    end
    for name, inner in pairs(schema.properties or {}) do
      if name ~= "response" then check(inner, place .. "." .. name) end -- the answer itself: `max_tokens` ends it
    end
    if schema.items then check(schema.items, place .. "[]") end
  end
  local built_in = require("hocket.agent").built_in()
  local function judge(id) hocket.run(built_in.judge, "go", { model = id }) end
  local function own(id) hocket.run(hocket.agent { name = "a", prompt = "p", max_tokens = 9, output = { type = "object", properties = { x = { type = "string" } } } }, "go", { model = id }) end
  local function planned(id)
    local spec = { name = "web", description = "Searches", prompt = "p", model = id }
    runner.workflow(runs.new { id = "t" }, "", function()
      return hocket.patterns.planner.run { request = "go", team = { planner = built_in.planner, web = hocket.agent(spec), conversation = built_in.conversation }, model = id }
    end)
  end
  for name, ask in pairs { judge = judge, planner = planned } do
    local call = first(servers[1][2], ask)
    t.equal(call.max_tokens, 4096, name)
    check(call.response_format.json_schema.schema, name)
    t.equal(first(servers[8][2], ask).max_tokens, nil, name .. ": a server that is not known")
  end
  t.ok(free >= 5, free)
  t.equal(first(servers[1][2], own).max_tokens, 9)
end)

t.test("a window that is too small for the prompt is refused before the first call, with the reason", function()
  local m <close>, calls = playing(servers[5][2])
  local one = hocket.agent { name = "a", prompt = ("word "):rep(700), model = m.id:match "^[^/]+" .. "/small" }
  t.fails("limit", "has 512 tokens, and the system prompt and the tools alone have some", hocket.run(one, "go"))
  t.equal(#calls, 0)
end)

t.test("a template without tools is an error, and no silence", function()
  local m <close>, calls = playing { ["/v1/models"] = list "llamacpp", ["/props"] = { chat_template_caps = { supports_tools = false, supports_tool_calls = false } } }
  local look = hocket.tool { name = "look", description = "x", run = function() return "" end }
  t.fails("unsupported", "the chat template of its model has no tools", hocket.run(hocket.agent { name = "a", prompt = "p", model = m.id, tools = { look } }, "go"))
  t.equal(#calls, 0)
  t.equal(assert(hocket.run(hocket.agent { name = "a", prompt = "p", model = m.id }, "go")).text, "fine")
end)

t.test("a server that loads its model is waited for, and asked again who it is", function()
  local loading = { status = 503, body = [[{"error":{"message":"Loading model","type":"unavailable_error","code":503}}]] }
  local says = { ["/v1/models"] = list "llamacpp", ["/props"] = loading, first = { 503, loading.body } }
  local m <close>, calls = playing(says)
  t.equal(assert(hocket.run(hocket.agent { name = "a", prompt = "p", model = m.id }, "go")).text, "fine")
  t.equal(#calls, 2)
  says["/props"] = { default_generation_settings = { n_ctx = 600 } }
  local def = providers.get(m.id:match "^[^/]+")
  t.equal(known_server.find(def, m.base).windows.small, 600)
end)

t.test("doctor says who answers", function()
  local m <close> = playing(servers[1][2])
  local result = require "hocket.internal.commands.doctor" {}
  t.has(result.text, "llama.cpp answers: small (4096 tokens)")
  local seen
  for _, row in ipairs(result.providers) do seen = seen or row.base == m.base and row.server end
  t.same(seen, { kind = "llama.cpp", models = { "small" }, loading = false, tools = true })
end)

t.test("the only model is taken where none is named", function()
  local m <close> = playing { ["/v1/models"] = list "vllm" }
  t.equal(require("hocket.internal.models.offer").choose("openai", { protocol = "openai_chat" }, m.base, nil, "OPENAI_BASE_URL"), "small")
end)

t.test("hosted providers are never asked", function()
  for _, name in ipairs(providers.names()) do
    local def = providers.get(name)
    if not def.own_models and not name:find "^test" then t.ok(not known_server.may_be(def, providers.base_of(name)), name) end
  end
  local def = { protocol = "openai_chat", base = "https://llm.example.org/v1" }
  t.ok(not known_server.may_be(def, def.base))
  for _, base in ipairs { "http://localhost:8080/v1", "http://10.0.0.5/v1", "http://172.20.0.1/v1", "http://box.local/v1", "http://box:1234/v1", "http://[::1]:1/v1" } do
    t.ok(known_server.may_be(def, base), base)
  end
  for _, base in ipairs { "https://api.openai.com/v1", "http://172.40.0.1/v1", "http://110.0.0.1/v1", "https://my.openai.azure.com/v1" } do
    t.ok(not known_server.may_be(def, base), base)
  end
end)

return t.finish()
