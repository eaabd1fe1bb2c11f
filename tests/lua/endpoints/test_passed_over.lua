-- What clients send that hocket has no use for, at the three interfaces that others have made: passed over and reported, or refused with its path
-- where it may be what a person has said.
local t = require "harness"
local hocket = require "hocket"
local json = require "hocket.json"
local serving = require "serving"

hocket.broker() -- its dispatcher lives as long as the host
local seen
local served = assert(hocket.sim.serve { reply = function(request)
  seen = request
  return "Yes."
end })
hocket.provider("over", { protocol = "openai_chat", base = served.base })

local schema = { type = "object" }

-- `said`: a request with this content of the user, and what more there is; `at`: where its parts stand; `answer`, `result`: the same for the content of
-- an answer, and of what came of a call.
local doors = {
  chat = {
    path = "/v1/chat/completions", hosted = "web_search_preview", at = "messages[0].content[1]",
    said = function(content) return { messages = { { role = "user", content = content } } } end, text = "text",
    own = { type = "function", ["function"] = { name = "look", parameters = schema } },
    choice = function(name) return { type = "function", ["function"] = { name = name } } end,
    answer = function(content) return { messages = { { role = "user", content = "a" }, { role = "assistant", content = content }, { role = "user", content = "b" } } } end,
    result = function(content)
      return { messages = { { role = "user", content = "a" }, { role = "assistant", tool_calls = { { id = "c", type = "function", ["function"] = { name = "look", arguments = "{}" } } } },
        { role = "tool", tool_call_id = "c", content = content } } }
    end,
    answer_at = "messages[1].content[1]", result_at = "messages[2].content[1]",
  },
  responses = {
    path = "/v1/responses", hosted = "web_search", at = "input[0].content[1]", text = "input_text",
    said = function(content) return { store = false, input = { { role = "user", content = content } } } end,
    own = { type = "function", name = "look", parameters = schema },
    choice = function(name) return { type = "function", name = name } end,
    answer = function(content) return { input = { { role = "user", content = "a" }, { type = "message", role = "assistant", content = content }, { role = "user", content = "b" } } } end,
    result = function(content)
      return { input = { { role = "user", content = "a" }, { type = "function_call", call_id = "c", name = "look", arguments = "{}" },
        { type = "function_call_output", call_id = "c", output = content } } }
    end,
    answer_at = "input[1].content[1]", result_at = "input[2].output[1]",
  },
  messages = {
    path = "/v1/messages", hosted = "web_search_20250305", at = "messages[0].content[1]", text = "text",
    said = function(content) return { max_tokens = 100, messages = { { role = "user", content = content } } } end,
    own = { name = "look", input_schema = schema },
    choice = function(name) return { type = "tool", name = name } end,
    answer = function(content) return { max_tokens = 100, messages = { { role = "user", content = "a" }, { role = "assistant", content = content }, { role = "user", content = "b" } } } end,
    result = function(content)
      return { max_tokens = 100, messages = { { role = "user", content = "a" }, { role = "assistant", content = { { type = "tool_use", id = "c", name = "look", input = json.decode "{}" } } },
        { role = "user", content = { { type = "tool_result", tool_use_id = "c", content = content } } } } }
    end,
    answer_at = "messages[1].content[1]", result_at = "messages[2].content[0].content[1]",
  },
}

for name, door in pairs(doors) do
  local function with(fn)
    local dir <close> = t.dir()
    dir:write("agents/guide.md", "---\nname: guide\nmodel: over/m\n---\nYou are the guide.")
    local server <close> = serving.open(dir.path .. "/agents")
    fn(server, function(body, more)
      body.model = "guide"
      for key, value in pairs(more or {}) do body[key] = value end
      return server:post(door.path, body)
    end)
  end

  local function warnings(s, headers)
    local list = {}
    for line in select(2, s:get("/api/runs/" .. headers["x-hocket-run"] .. "/events")):gmatch "\ndata: ([^\n]+)" do
      local event = json.decode(line)
      if event.type == "warning" then list[#list + 1] = event.message end
    end
    return table.concat(list, "\n")
  end

  t.test(name .. ": tools of a provider, and members that nothing reads, are passed over and named", function()
    with(function(s, ask)
      local more = { tools = { door.own, { type = door.hosted, name = "web_search" } }, logit_bias = { ["50256"] = -100 }, ["odd\r\nx: y"] = 1, none = json.null, empty = {}, zero = 0 }
      local status, got, headers = ask(door.said "Hello", more)
      t.equal(status, 200, json.encode(got))
      t.equal(headers["x-hocket-ignored"], ("tools[1] (%s), logit_bias, odd??x??y"):format(door.hosted))
      t.has(warnings(s, headers), "passed over in the caller's request: tools[1] (" .. door.hosted)
      t.ok(seen.tools.look)
      more.stream = true
      status, got, headers = ask(door.said "Hello", more)
      t.equal(status, 200)
      t.has(headers["x-hocket-ignored"], door.hosted)
      status, got, headers = ask(door.said "Hello", { tools = { door.own }, metadata = { a = "b" }, service_tier = "auto" })
      t.equal(headers["x-hocket-ignored"], nil, "what changes nothing is not named")
      t.equal(warnings(s, headers), "")
    end)
  end)

  t.test(name .. ": a choice of a tool that is passed over is refused", function()
    with(function(s, ask)
      local began = s.desk.counts.started
      local status, got = ask(door.said "Hello", { tools = { door.own, { type = door.hosted, name = "web_search" } }, tool_choice = door.choice "web_search" })
      t.equal(status, 400)
      t.has(json.encode(got), "web_search")
      t.equal((ask(door.said "Hello", { tools = { door.own }, tool_choice = { type = door.hosted } })), 400)
      t.equal(s.desk.counts.started, began)
      t.equal((ask(door.said "Hello", { tools = { door.own, { type = door.hosted, name = "web_search" } }, tool_choice = door.choice "look" })), 200)
      t.equal(seen.raw.tool_choice["function"].name, "look")
    end)
  end)

  t.test(name .. ": a part of an unknown type is refused with its path", function()
    with(function(s, ask)
      local began = s.desk.counts.started
      local function refused(body, where)
        local status, got = ask(body)
        t.equal(status, 400, json.encode(got))
        t.has(got.error.message, where)
      end
      local text = { type = door.text, text = "Look" }
      for _, odd in ipairs { { type = "hologram", data = "x" }, { text = "no type" }, "a text", 7 } do
        refused(door.said { text, odd }, "'" .. door.at)
        refused(door.answer { { type = name == "responses" and "output_text" or "text", text = "So" }, odd }, "'" .. door.answer_at)
        refused(door.result { text, odd }, "'" .. door.result_at)
      end
      refused(door.said { text, { type = "refusal", refusal = "No" } }, "'" .. door.at)
      t.equal(s.desk.counts.started, began)
      t.equal((ask(door.said { text })), 200)
      t.equal(seen.last.text, "Look")
    end)
  end)
end

t.test("responses: a custom tool may be what is called first; messages: blocks of a server's tools are passed over", function()
  local dir <close> = t.dir()
  dir:write("agents/guide.md", "---\nname: guide\nmodel: over/m\n---\nYou are the guide.")
  local s <close> = serving.open(dir.path .. "/agents")
  local status, got = s:post("/v1/responses", { model = "guide", input = "x", tools = { { type = "custom", name = "patch" } }, tool_choice = { type = "custom", name = "patch" } })
  t.equal(status, 200, json.encode(got))
  t.equal(seen.raw.tool_choice["function"].name, "patch")
  local headers
  status, got, headers = s:post("/v1/messages", { model = "guide", max_tokens = 10, messages = { { role = "user", content = "a" }, { role = "assistant", content = {
    { type = "thinking", thinking = "Hm.", signature = "" }, { type = "server_tool_use", id = "s", name = "web_search", input = {} },
    { type = "web_search_tool_result", tool_use_id = "s", content = {} }, { type = "text", text = "It rains." } } }, { role = "user", content = "b" } } })
  t.equal(status, 200, json.encode(got))
  t.equal(headers["x-hocket-ignored"], "messages[1].content[1] (server_tool_use), messages[1].content[2] (web_search_tool_result)")
  t.equal(seen.messages[2].text, "It rains.")
  status, got = s:post("/v1/messages", { model = "guide", max_tokens = 10, system = { { type = "text", text = "Be brief." }, { type = "odd", text = "x" } }, messages = { { role = "user", content = "a" } } })
  t.equal(status, 400)
  t.has(got.error.message, "system[1]")
end)

served.close()
return t.finish()
