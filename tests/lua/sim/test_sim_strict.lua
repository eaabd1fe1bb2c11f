-- Schemas and conversations as the strictest servers take them: each is played, and refuses what the real one does.
local t = require "harness"
local faults = require "hocket.internal.sim.faults"
local flow = require "hocket.flow"
local hocket = require "hocket"
local json = require "hocket.json"
local model = require "model"
local strict = require "hocket.internal.sim.strict"
require "hocket.internal.runner.builtins"

-- API, protocol, and further fields of the provider.
local servers = {
  { "openai", "openai_chat" }, { "openai", "openai_responses" }, { "anthropic", "anthropic" }, { "anthropic", "bedrock" },
  { "gemini", "gemini" }, { "mistral", "openai_chat", { traits = { call_id_length = 9 } } }, { "llamacpp", "openai_chat" }, { "vllm", "openai_chat" },
}

local function nested(depth)
  local schema = { type = "string" }
  for _ = 1, depth do schema = { type = "object", properties = { x = schema } } end
  return schema
end

local texts = { type = "array", items = { type = "string" } }

-- Each is a JSON Schema, and some API refuses it as it is.
local odd = {
  bare = { type = "object" },
  closed = { type = "object", additionalProperties = false },
  empty = json.decode "{}",
  any_of = { type = "object", properties = { a = { type = "string" }, b = { type = "string" } }, anyOf = { { required = { "a" } }, { required = { "b" } } } },
  all_of = { allOf = { { type = "object", properties = { a = { type = "integer" } } } } },
  one_of = { type = "object", oneOf = { { required = { "a" } } } },
  brackets = { type = "object", required = { "ids[]" }, additionalProperties = false, properties = { ["ids[]"] = texts, n = { type = "integer" } } },
  long = { type = "object", properties = { [("n"):rep(65)] = { type = "string" } } },
  umlaut = { type = "object", properties = { ["größe"] = { type = "number" }, inner = { type = "object", properties = { ["a b"] = texts } } } },
  deep = nested(40),
  pattern = { type = "object", properties = { zip = { type = "string", pattern = "[0-9]{5}" } } },
  classes = { type = "object", properties = { zip = { type = "string", pattern = "^\\d{5}$" } } },
  large = { type = "object", properties = { text = { type = "string", maxLength = 100000 }, list = { type = "array", items = { type = "string" }, minItems = 1, maxItems = 5000 } } },
  truth = { type = "object", properties = { any = true, items = { type = "array", items = { type = "string" } } } },
}

local function served(server, script)
  local fields = { protocol = server[2] }
  for name, value in pairs(server[3] or {}) do fields[name] = value end
  return model.serve({ reply = script, strict = server[1] }, { retry_after = 0 }, fields)
end

local function tools(ran)
  local list = {}
  for name, parameters in pairs(odd) do
    list[#list + 1] = hocket.tool { name = name, description = "Does " .. name .. ".", parameters = parameters, run = function(args)
      ran[name] = args
      return "done"
    end }
  end
  return list
end

t.test("each API refuses what it refuses: nothing here is fitted", function()
  local refused = { openai = "bare closed empty any_of all_of one_of deep truth", anthropic = "bare any_of brackets long umlaut deep",
    gemini = "bare any_of deep", mistral = "bare any_of", llamacpp = "pattern classes large deep truth", vllm = "deep truth" }
  for api, names in pairs(refused) do
    for name in names:gmatch "%S+" do
      local body = { tools = { { type = "function", ["function"] = { name = name, parameters = odd[name] } } } }
      t.ok(strict.refuse(api, "openai_chat", body), api .. " takes " .. name)
    end
  end
  local empty = { messages = { { role = "assistant", content = "" } } }
  t.has(strict.refuse("mistral", "openai_chat", empty), "content or tool_calls")
  local torn = { messages = { { role = "assistant", tool_calls = { { id = "a", ["function"] = { name = "f", arguments = "{'a" } } } } } }
  for _, api in ipairs { "mistral", "llamacpp", "vllm" } do t.ok(strict.refuse(api, "openai_chat", torn), api) end
  t.fails("invalid", "there is no API 'x'", hocket.sim.serve({ reply = function() return "" end }, { strict = "x" }))
end)

t.test("tools of any schema go to every API, with what it cannot express in words", function()
  for _, server in ipairs(servers) do
    local ran, described = {}, {}
    local m <close> = served(server, function(request)
      for name, one in pairs(request.tools) do described[name] = one.description end
      if request.last.role == "user" then return { calls = { { name = "brackets", arguments = { ["ids[]"] = { "x" } } } } } end
      return "fine"
    end)
    local reply, err = hocket.run(hocket.agent { name = "a", prompt = "p", model = m.id, tools = tools(ran) }, "go")
    t.ok(reply, server[1] .. "/" .. server[2] .. ": " .. tostring(err and err.message))
    t.same(ran.brackets, { ["ids[]"] = { "x" } })
    t.has(described.any_of, 'Does any_of.\nThe arguments also have to fit "anyOf": [{')
    t.equal(described.bare, "Does bare.")
    if server[1] == "anthropic" then t.has(described.brackets, 'Does brackets.\nA further member: "ids[]" is {') end
    if server[1] == "llamacpp" then t.has(described.pattern, 'has to match its "pattern": "[0-9]{5}"') end
  end
end)

t.test("a tool that a server refuses all the same is left out, and named", function()
  for _, words in ipairs { "Invalid schema for function 'bad': no", "tools.0.custom.input_schema: no", "tools[0].function_declarations[0].parameters: no" } do
    local asked = {}
    local m <close> = model.serve(function(request)
      asked[#asked + 1] = request
      return request.tools.bad and { status = 400, error = words } or "fine"
    end)
    local function one(name) return hocket.tool { name = name, description = "x", run = function() return "" end } end
    local s, events = model.session(m, { tools = { one "bad", one "good" } })
    t.equal(assert(s:send "go").text, "fine")
    t.equal(assert(s:send "again").text, "fine")
    t.equal(#asked, 3, "known from then on")
    t.ok(asked[2].tools.good)
    local said = model.of(events, "warning")
    t.equal(#said, 1)
    t.has(said[1].message, "does not take the tool 'bad', which is left out: HTTP status 400")
  end
  local forced = {}
  local picky <close> = model.serve(function(request)
    forced[#forced + 1] = request.raw.tool_choice and "forced" or "free"
    return request.tools.bad and { status = 400, error = "Invalid schema for function 'bad': no" } or "fine"
  end)
  local function one(name) return hocket.tool { name = name, description = "x", run = function() return "" end } end
  t.equal(assert(model.session(picky, { tools = { one "bad", one "good" }, choose = function() return "bad" end }):send "go").text, "fine")
  t.same(forced, { "forced", "free" }, "a tool that was left out is not forced")
  local m <close> = model.serve(function() return { status = 400, error = "no result of 'a'" } end)
  t.fails("http", "no result of 'a'", model.session(m, { tools = { hocket.tool { name = "a", description = "x", run = function() return "" end } } }):send "go")
  t.equal(#m.requests, 1)
end)

t.test("members of schemas go to every API in the order of their author, from YAML, JSON and Lua", function()
  local members = [[{"thinking":{"type":"string"},"reason":{"type":"string"},"answer":{"type":"string"}}]]
  local shape = json.object { { "type", "object" }, { "required", { "thinking", "reason", "answer" } }, { "properties", json.decode(members, true) } }
  local front = "---\nname: a\noutput:\n  type: object\n  required: [thinking, reason, answer]\n  properties:\n    thinking: {type: string}\n"
    .. "    reason: {type: string}\n    answer: {type: string}\n---\np\n"
  local dir <close> = t.dir()
  dir:write("a.md", front)
  local from_yaml = hocket.agents(dir.path).a
  for _, server in ipairs(servers) do
    local asked = {}
    local m <close> = served(server, function(request)
      asked[#asked + 1] = { schema = request.schema, tool = request.tools.note and request.tools.note.parameters }
      return [[{"thinking":"t","reason":"r","answer":"a"}]]
    end)
    local note = hocket.tool { name = "note", description = "x", parameters = shape, run = function() return "" end }
    assert(hocket.run(from_yaml, "go", { model = m.id }))
    assert(hocket.run(hocket.agent { name = "b", prompt = "p", model = m.id, tools = { note } }, "go"))
    t.has(json.encode(asked[1].schema), members, server[1] .. "/" .. server[2])
    t.has(json.encode(asked[2].tool), members, server[1] .. "/" .. server[2])
  end
end)

-- By name of `odd`: an answer that fits.
local answers = {
  bare = {}, closed = {}, any_of = { a = "x" }, one_of = { a = "x" }, brackets = { ["ids[]"] = { "x" }, n = 1 }, long = { [("n"):rep(65)] = "x" },
  umlaut = { ["größe"] = 1 }, deep = {}, pattern = { zip = "12345" }, classes = { zip = "12345" }, large = { text = "x", list = { "x" } }, truth = { any = 1 },
}

t.test("schemas of answers go to every API in a form that it takes, and are checked whole", function()
  for _, server in ipairs(servers) do
    for name, answer in pairs(answers) do
      local where = ("%s/%s: %s"):format(server[1], server[2], name)
      local m <close> = served(server, function() return json.encode(answer) end)
      local reply, err = hocket.run(hocket.agent { name = "a", prompt = "p", model = m.id, output = odd[name] }, "go")
      t.ok(reply, ("%s: %s"):format(where, err and err.message))
      t.same(reply.value, answer, where)
    end
  end
  local m <close> = served(servers[1], function() return "{}" end)
  t.fails("model", "gave no answer that fits", hocket.run(hocket.agent { name = "a", prompt = "p", model = m.id, output = odd.any_of }, "go"))
end)

t.test("an answer of blanks, a result without text and a call without words leave a conversation that goes on", function()
  for _, server in ipairs(servers) do
    local n = 0
    local m <close> = served(server, function()
      n = n + 1
      if n == 1 then return { calls = { { name = "look", arguments = {} } } } end
      if n == 2 then return " \n " end -- is told that it was empty
      return n == 3 and { text = "  ", calls = { { name = "look", arguments = {} } } } or "fine"
    end)
    local look = hocket.tool { name = "look", description = "x", run = function() return "" end }
    local s = model.session(m, { tools = { look } })
    local reply, err = s:send "go"
    t.ok(reply, ("%s/%s: %s"):format(server[1], server[2], err and err.message))
    t.equal(reply.text, "fine")
    t.equal(assert(s:send " ").text, "fine")
  end
end)

-- What public MCP servers offer, without the descriptions: recorded from their packages (mcp_tools.json says which).
t.test("the tools of public MCP servers go to every API", function()
  local here = debug.getinfo(1, "S").source:match "^@(.*)/" or "."
  local file <close> = assert(io.open(here .. "/mcp_tools.json"))
  local count = 0
  for server_name, list in pairs(assert(json.decode(file:read "a", true))) do
    local offered = {}
    for i, one in ipairs(list) do
      offered[i] = hocket.tool { name = one.name, description = "x", parameters = one.inputSchema, run = function() return "done" end }
      count = count + 1
    end
    for _, server in ipairs(servers) do
      local m <close> = served(server, function(request)
        for _, one in ipairs(list) do t.ok(request.tools[one.name], one.name) end
        return "fine"
      end)
      local reply, err = hocket.run(hocket.agent { name = "a", prompt = "p", model = m.id, tools = offered }, "go")
      t.ok(reply, ("%s/%s: %s: %s"):format(server[1], server[2], server_name, err and err.message))
    end
  end
  t.equal(count, 144)
end)

t.test("conversations go on after every kind of fault", function()
  local torn = { "{'seat': 4}", "{\"seat\": 4", "no JSON", "[1]", "" }
  for _, server in ipairs(servers) do
    local n = 0
    local m <close> = served(server, function()
      n = n + 1
      if n == 1 then return "" end -- is told that it was empty
      if n <= #torn + 1 and server[2] ~= "gemini" and server[2] ~= "bedrock" then
        return { calls = { { name = "look", arguments = torn[n - 1], id = n % 2 == 0 and "call_0" or nil } } }
      end
      return "fine"
    end)
    local look = hocket.tool { name = "look", description = "x", run = function() return "seen " .. n end }
    local s = model.session(m, { tools = { look } })
    local reply, err = s:send "go"
    if not reply and err.code == "model" then reply, err = s:send "on" end -- three wrong calls in a row
    if not reply and err.code == "model" then reply, err = s:send "on" end
    t.ok(reply, server[1] .. "/" .. server[2] .. ": " .. tostring(err and err.message))
    t.equal(reply.text, "fine")
  end
end)

local silent = { stall = true, ["keep-alive"] = true, silent = true }

-- One answer has the fault, the first one or, with two calls, the one behind a result; then the model is well. What is silent has a short
-- patience, which a busy machine may also take from an answer that is well.
local function goes_on(server, fault, at, calls)
  local n = 0
  local m <close> = served(server, function(request)
    n = n + 1
    if n == at then return { text = "half an answer, which goes on", calls = calls, fault = fault, reasoning = "a thought" } end
    if n == 1 then return { calls = { { name = "look", arguments = { seat = 4 } } } } end
    return request.last.role == "tool" and { text = "seen", reasoning = "another" } or "fine"
  end)
  local look = hocket.tool { name = "look", description = "x", parameters = { type = "object", properties = { seat = { type = "integer" } } }, run = function() return "seat" end }
  local patience = silent[fault] and 0.3 or 60
  local s = model.session(m, { tools = { look }, retries = 0, first_timeout = patience, idle_timeout = patience })
  local where = ("%s/%s: %s in answer %d"):format(server[1], server[2], fault, at)
  local reply, err
  for i = 1, silent[fault] and 30 or 3 do
    reply, err = s:send "go"
    t.ok(not err or err.http_status ~= 400 and err.http_status ~= 422, where .. ": " .. tostring(err))
    if reply and i > 2 then break end
  end
  t.equal(reply and reply.text, "fine", where .. ": " .. tostring(err))
end

local two = { { name = "look", arguments = { seat = 1 } }, { name = "look", arguments = { seat = 2 } } }

for _, fault in ipairs(faults.list) do
  t.test(("a conversation goes on after %s, wherever it happens"):format(fault.name), function()
    flow.map(servers, function(server)
      goes_on(server, fault.name, 1)
      goes_on(server, fault.name, 2, two)
    end)
  end)
end

return t.finish()
