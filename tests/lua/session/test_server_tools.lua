--- Tools that providers run: how each protocol is asked, what comes back and goes back, labels, sources, counts, and who may not have them.
local hocket = require "hocket"
local agents = require "hocket.agent"
local json = require "hocket.json"
local model = require "model"
local server_tools = require "hocket.internal.models.server_tools"
local s = require "scripted"
local t = require "harness"

local function event(data, name)
  return (name and "event: " .. name .. "\n" or "") .. "data: " .. json.encode(data) .. "\n\n"
end

-- Answers with the streams of a list, one after the other; keeps the bodies.
local function serving(protocol, streams, fields)
  local seen = {}
  fields = fields or {}
  fields.protocol = protocol
  local m = model.raw(function(listener, request, n)
    seen[n] = json.decode(request.body)
    listener:respond(request.id, 200, { ["content-type"] = "text/event-stream" }, streams[math.min(n, #streams)])
  end, fields)
  return m, seen
end

local function events(run, kind)
  return s.events(run, kind)
end

-- ---- What providers send --------------------------------------------------------------------------

local function block(index, content, deltas)
  local list = { event({ type = "content_block_start", index = index, content_block = content }, "content_block_start") }
  for _, delta in ipairs(deltas or {}) do list[#list + 1] = event({ type = "content_block_delta", index = index, delta = delta }, "content_block_delta") end
  list[#list + 1] = event({ type = "content_block_stop", index = index }, "content_block_stop")
  return table.concat(list)
end

local anthropic = event({ type = "message_start", message = { id = "m", type = "message", role = "assistant", model = "c", content = json.array {}, usage = { input_tokens = 9, output_tokens = 1 } } }, "message_start")
  .. block(0, { type = "server_tool_use", id = "srvtoolu_1", name = "web_search", input = json.decode "{}" }, { { type = "input_json_delta", partial_json = '{"query":"rain"}' } })
  .. block(1, { type = "web_search_tool_result", tool_use_id = "srvtoolu_1", content = json.array { { type = "web_search_result", url = "https://w.example/rain", title = "Rain", encrypted_content = "abc" } } })
  .. block(2, { type = "text", text = "", citations = json.array {} }, {
    { type = "citations_delta", citation = { type = "web_search_result_location", url = "https://w.example/rain", title = "Rain\27[31m", cited_text = "It rains.", encrypted_index = "x" } },
    { type = "citations_delta", citation = { type = "web_search_result_location", url = "javascript:alert(1)", title = "no" } },
    { type = "text_delta", text = "It rains." } })
  .. event({ type = "message_delta", delta = { stop_reason = "end_turn" }, usage = { output_tokens = 5, server_tool_use = { web_search_requests = 2 } } }, "message_delta")
  .. event({ type = "message_stop" }, "message_stop")

local search = { type = "web_search_call", id = "ws_1", status = "completed", action = { type = "search", query = "rain" } }
local said = { type = "message", id = "msg_1", role = "assistant", status = "completed", content = json.array { { type = "output_text", text = "It rains.",
  annotations = json.array { { type = "url_citation", url = "https://w.example/rain", title = "Rain", start_index = 0, end_index = 9 } } } } }
local responses = event({ type = "response.created", response = { id = "r", status = "in_progress" } }, "response.created")
  .. event({ type = "response.output_item.done", output_index = 0, item = search }, "response.output_item.done")
  .. event({ type = "response.output_text.delta", output_index = 1, content_index = 0, delta = "It rains." }, "response.output_text.delta")
  .. event({ type = "response.output_item.done", output_index = 1, item = said }, "response.output_item.done")
  .. event({ type = "response.completed", response = { id = "r", status = "completed", output = json.array { search, said }, usage = { input_tokens = 9, output_tokens = 5 } } }, "response.completed")

local gemini = event { candidates = { { index = 0, content = { role = "model", parts = { { text = "It rains." } } }, finishReason = "STOP",
  groundingMetadata = { webSearchQueries = { "rain", "snow" }, groundingChunks = { { web = { uri = "https://w.example/rain", title = "Rain" } }, { web = 5 }, 7 } } } },
  usageMetadata = { promptTokenCount = 9, candidatesTokenCount = 5 } }

t.test("each provider's own form, its blocks returned as they came", function()
  for _, case in ipairs {
    { "anthropic", anthropic, "content", "web_search_tool_result", { type = "web_search_20250305", name = "web_search", max_uses = 2 }, 2 },
    { "openai_responses", responses, "input", "web_search_call", { type = "web_search" }, 1 },
    { "gemini", gemini, "contents", nil, { googleSearch = {} }, 2 },
  } do
    local m <close>, seen = serving(case[1], { case[2] })
    hocket.prices.set(m.id, { input = 0, output = 0, server_tools = { web_search = 0.01 } })
    local one = agents.load { name = "one", prompt = "P", model = m.id, server_tools = { { web_search = { max_uses = case[1] == "anthropic" and 2 or nil } } } }
    local history = hocket.llm.history()
    local run, reply = s.run(function()
      local first = assert(hocket.run(one, "Rain?", { history = history }))
      assert(hocket.run(one, "And now?", { history = history }))
      return first
    end)
    t.equal(reply.text, "It rains.", case[1])
    t.same(reply.sources, { { url = "https://w.example/rain", title = case[1] == "anthropic" and "Rain [31m" or "Rain" } }, case[1])
    seen[1].tools[1].cache_control = nil
    t.same(seen[1].tools[1], case[5], case[1])
    local used = events(run, "server_tools_used")
    t.equal(used[1].tools[1].uses, case[6], case[1])
    t.equal(used[1].sources[1].url, "https://w.example/rain")
    t.same(events(run, "labels_added")[1].labels, { "web" })
    t.equal(history:labels() & 1, 1)
    if case[4] then t.has(json.encode(seen[2]), case[4], case[1]) end
    if case[1] == "anthropic" then t.has(json.encode(seen[2]), '"encrypted_content":"abc"') end
    t.equal(("%.4f"):format(run:usage().cost), ("%.4f"):format(2 * 0.01 * case[6]), case[1])
    t.equal(run:usage().calls, 2)
  end
end)

t.test("what nobody has priced costs nobody knows what", function()
  local m <close> = serving("anthropic", { anthropic })
  hocket.prices.set(m.id, { input = 0, output = 0 })
  local one = agents.load { name = "one", prompt = "P", model = m.id, server_tools = { "web_search" } }
  local run = s.run(function() return assert(hocket.run(one, "Rain?")) end)
  t.equal(run:usage().cost, json.null)
end)

t.test("beside tools of its own, for Gemini both are meant", function()
  local m <close>, seen = serving("gemini", { gemini })
  local one = agents.load { name = "one", prompt = "P", model = m.id, server_tools = { "code_execution" }, tools = { "read_file" } }
  assert(hocket.run(one, "Rain?"))
  t.equal(seen[1].toolConfig.includeServerSideToolInvocations, true)
  t.equal(#seen[1].tools, 2)
  t.ok(seen[1].tools[2].codeExecution)
end)

t.test("who has none of it says so, and the next model is asked", function()
  local chat <close> = serving("openai_chat", { "" })
  local good <close>, seen = serving("anthropic", { anthropic })
  local one = agents.load { name = "one", prompt = "P", model = chat.id, server_tools = { "web_search" } }
  t.fails("unsupported", "offers no server tool 'web_search'", hocket.run(one, "Rain?"))
  t.equal(chat.count, 0)
  local g <close> = serving("gemini", { gemini })
  local two = agents.load { name = "two", prompt = "P", model = g.id, server_tools = { { web_search = { allowed_domains = { "w.example" } } } } }
  t.fails("unsupported", "its web_search knows no 'allowed_domains'", hocket.run(two, "Rain?"))
  local three = agents.load { name = "three", prompt = "P", model = { g.id, good.id }, server_tools = { { web_search = { allowed_domains = { "w.example" } } } } }
  assert(hocket.run(three, "Rain?"))
  t.same(seen[1].tools[1].allowed_domains, { "w.example" })
end)

t.test("rules and callers keep them from an agent", function()
  local m <close>, seen = serving("anthropic", { anthropic })
  local one = agents.load { name = "one", prompt = "P", model = m.id, server_tools = { "web_search", "code_execution" }, approve = { deny = { "web_search" } } }
  local run = s.run(function() return assert(hocket.run(one, "Rain?")) end)
  t.equal(#seen[1].tools, 1)
  t.equal(seen[1].tools[1].name, "code_execution")
  t.equal(events(run, "tool_denied")[1].tool, "web_search")
  s.run(function() return assert(hocket.orchestrate.call(one, "Rain?", { allowed = hocket.permission.set { "read_file" } })) end)
  t.equal(seen[2].tools, nil)
end)

-- ---- What models make ------------------------------------------------------------------------------

local png = "\137PNG\r\n\26\n" .. ("x"):rep(50)

local function base64(text)
  return require("hocket.internal.core.system").base64(text)
end

t.test("pictures are in files, and go back as they came", function()
  local fs = require "hocket.fs"
  local picture = { type = "image_generation_call", id = "ig_1", status = "completed", result = base64(png) }
  local painted = event({ type = "response.completed", response = { id = "r", status = "completed", output = json.array { picture }, usage = { input_tokens = 1, output_tokens = 1 } } }, "response.completed")
  local gem = event { candidates = { { index = 0, content = { role = "model", parts = { { inlineData = { mimeType = "image/png", data = base64(png) } } } }, finishReason = "STOP" } } }
  for protocol, stream in pairs { openai_responses = painted, gemini = gem } do
    local dir <close> = t.dir()
    local m <close>, seen = serving(protocol, { stream })
    local one = agents.load { name = "one", prompt = "P", model = m.id, server_tools = protocol == "openai_responses" and { "image_generation" } or nil }
    local history = hocket.llm.history()
    local run, reply, err = s.run(function()
      local first = assert(hocket.run(one, "A cat", { history = history }))
      assert(hocket.run(one, "Another", { history = history }))
      return first
    end, { workdir = dir.path })
    t.ok(reply, err and err.message)
    local made = events(run, "file_made")
    t.equal(#made, 2, protocol)
    t.matches(made[1].path, "^made%-.+%-1%.png$")
    t.matches(made[2].path, "%-2%.png$")
    t.equal(fs.read(dir.path .. "/" .. made[1].path), png)
    t.equal(reply.made[1].data, png)
    t.equal(made[1].bytes, #png)
    t.has(json.encode(seen[2]), base64(png), protocol)
  end
end)

t.test("what is no picture is a warning, whatever it says of itself", function()
  local dir <close> = t.dir()
  for _, data in ipairs { base64 "#!/bin/sh\nrm -rf /\n", "no base64!", base64 "%PDF-1.7", base64(("\0"):rep(100)) } do
    local m <close> = serving("gemini", { event { candidates = { { index = 0, content = { role = "model", parts = { { text = "Here." }, { inlineData = { mimeType = "image/png", data = data } } } }, finishReason = "STOP" } } } })
    local one = agents.load { name = "one", prompt = "P", model = m.id }
    local run = s.run(function() return assert(hocket.run(one, "A cat")) end, { workdir = dir.path })
    t.equal(#events(run, "file_made"), 0)
    t.equal(#events(run, "warning"), 1, data)
  end
  t.equal(#require("hocket.fs").list(dir.path), 0)
end)

t.test("what is wrong in a head is told with its place", function()
  local read = require "hocket.internal.agents.read"
  for line, words in pairs {
    ["[websearch]"] = "must be one of code_execution, file_search", ["[{web_search: {max_uses: 0}}]"] = "'server_tools[1].web_search.max_uses' must be a whole number from 1 on",
    ["[{web_search: {maximum: 1}}]"] = "is nothing that web_search knows", ["[file_search]"] = "needs 'stores'", ["[web_search, web_search]"] = "a second time",
    ["web_search"] = "a list of names", ["[{web_search: {allowed_domains: [a], blocked_domains: [b]}}]"] = "one of them", ["[{web_search: {}, web_fetch: {}}]"] = "must be one of",
  } do
    local def, problems = read.text("---\nserver_tools: " .. line .. "\n---\nP\n", "a.md")
    t.equal(def, nil, line)
    t.has(problems[1].message, words, line)
    t.equal(problems[1].line, 2)
  end
  local def = read.text("---\nserver_tools: [web_search, {file_search: {stores: [vs_1]}}]\n---\nP\n", "a.md")
  t.same(def.server_tools, { { name = "web_search", options = {} }, { name = "file_search", options = { stores = { "vs_1" } } } })
  t.equal(#server_tools.names, 5)
end)

return t.finish()
