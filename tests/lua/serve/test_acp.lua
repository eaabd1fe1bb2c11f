-- The Agent Client Protocol: what an editor sees of a conversation, and what it may do to one.
local t = require "harness"
local clients = require "acp_client"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.fs"
local hocket = require "hocket"
local json = require "hocket.json"
local process = require "hocket.process"
local system = require "hocket.internal.core.system"

local waiting, released = 0, false -- answers that the model is at, until the test is over

local function wait_for_release()
  waiting = waiting + 1
  local left <close> = setmetatable({}, { __close = function() waiting = waiting - 1 end })
  while not released do fiber.sleep(0.005) end
  return "late"
end

local function as_told(q)
  local text = q.last.text
  if q.last.role == "tool" then return "It said: " .. text end
  local name, args = text:match "^call (%S+) (.*)$"
  if name then return { text = "I look.", calls = { { name = name, arguments = json.decode(args) } } } end
  if text == "wait" then return wait_for_release() end
  if text == "think" then return { reasoning = "Hm.", text = "Done." } end
  if text == "fail" then return { status = 400, error = "no such thing" } end
  return "You said: " .. text .. (q.last.files and #q.last.files > 0 and (" and %d files"):format(#q.last.files) or "")
end

hocket.broker() -- its dispatcher lives as long as the host
local reply
local served = assert(hocket.sim.serve { reply = function(q) return reply(q) end })
hocket.provider("editor", { protocol = "openai_chat", base = served.base })

local files = {
  ["agents/coder.md"] = "---\nname: coder\ndescription: Changes files\nmodel: editor/m\ntools: [read_file, write_file, edit_file, ask_user, facilitator]\nagents: [helper]\n---\nYou change files.",
  ["agents/helper.md"] = "---\nname: helper\ndescription: Helps\nmodel: editor/m\ntools: [specialist]\n---\nYou help.",
  ["notes.txt"] = "one\ntwo\n",
}

local function with_client(name, spec, fn)
  t.test(name, function()
    local dir <close> = t.dir()
    for path, text in pairs(files) do dir:write(path, text) end
    for path, text in pairs(spec.files or {}) do dir:write(path, text) end
    local client <close> = clients.open { target = not spec.no_target and dir.path .. "/" .. (spec.target or "agents") or nil, on = spec.on and spec.on(dir), options = spec.options or { trust = false } }
    reply, released = spec.reply or as_told, false
    fn(client, dir)
    released = true
    while waiting > 0 do fiber.sleep(0.005) end
  end)
end

local function text(words) return { { type = "text", text = words } } end

local function allow(option)
  return function() return { ["session/request_permission"] = function() return { outcome = { outcome = "selected", optionId = option } } end } end
end

local function contents(dir, name)
  local file <close> = assert(io.open(dir.path .. "/" .. name))
  return file:read "a"
end

-- ---- Beginning -------------------------------------------------------------------------------

with_client("says what it can do, and answers what is not known with what it knows", {}, function(c)
  t.equal(select(2, c:call("session/new", { cwd = "/" })).code, -32600)
  local made = assert(c:call("initialize", { protocolVersion = 99, clientInfo = { name = "x", version = "1" } }))
  t.equal(made.protocolVersion, 1)
  t.same(made.authMethods, {})
  t.ok(made.agentCapabilities.promptCapabilities.image)
  t.equal(c:call("initialize", { protocolVersion = "1" }).protocolVersion, 1)
  t.equal(select(2, c:call("authenticate", { methodId = "x" })).code, -32602)
  t.equal(select(2, c:call("no/such", {})).code, -32601)
end)

with_client("a session: words in pieces, the commands after its answer, a turn's end", {}, function(c, dir)
  local made = c:session(dir.path)
  t.equal(made.modes.currentModeId, "ask")
  t.equal(#c:of "available_commands_update" <= 1, true)
  t.same(c:prompt "Hello", { stopReason = "end_turn" })
  t.equal(c:text(), "You said: Hello")
  t.equal(#c:of "available_commands_update", 1)
  local at_answer, at_commands
  for i, raw in ipairs(c.raw) do
    if raw:find('"sessionId":"' .. c.id .. '"', 1, true) and raw:find('"modes"', 1, true) then at_answer = i end
    if raw:find("available_commands_update", 1, true) then at_commands = i end
  end
  t.ok(at_answer < at_commands, "the answer comes first")
  c:forget()
  t.same(c:prompt "think", { stopReason = "end_turn" })
  t.equal(c:text "agent_thought_chunk", "Hm.")
  t.equal(c:text(), "Done.")
end)

with_client("a folder's own agents are the target where none is named", { no_target = true }, function(c, dir)
  c:session(dir.path)
  c:prompt "Hello"
  t.equal(c:text(), "You said: Hello")
end)

with_client("what cannot begin is an error, and the next one can", { no_target = true }, function(c, dir)
  dir:write("other/agents/bad.md", "---\nnmae: bad\n---\n")
  c:call("initialize", { protocolVersion = 1 })
  local _, err = c:call("session/new", { cwd = dir.path .. "/other", mcpServers = json.array {} })
  t.equal(err.code, -32603)
  t.has(err.message, "nmae")
  for _, cwd in ipairs { "relative", dir.path .. "/nowhere", dir.path .. "/notes.txt", 7 } do
    t.equal(select(2, c:call("session/new", { cwd = cwd, mcpServers = json.array {} })).code, -32602)
  end
  t.ok(c:call("session/new", { cwd = dir.path, mcpServers = json.array {} }))
end)

-- ---- Tool calls --------------------------------------------------------------------------------

with_client("a call: asked about with what it would change, done, told", { on = allow "allow" }, function(c, dir)
  c:session(dir.path)
  t.same(c:prompt 'call write_file {"path": "made.txt", "content": "made\\n"}', { stopReason = "end_turn" })
  t.equal(contents(dir, "made.txt"), "made\n")
  local call, updates = c:of "tool_call"[1], c:of "tool_call_update"
  t.equal(call.kind, "edit")
  t.equal(call.title, "write_file made.txt")
  t.same(call.locations, { { path = dir.path .. "/made.txt" } })
  local asked = c.requests[1].params
  t.equal(asked.toolCall.toolCallId, call.toolCallId)
  t.same(asked.toolCall.content[1], { type = "diff", path = dir.path .. "/made.txt", oldText = json.null, newText = "made\n" })
  t.same({ asked.options[1].kind, asked.options[2].kind, asked.options[3].kind }, { "allow_once", "allow_always", "reject_once" })
  t.equal(updates[1].status, "in_progress")
  t.equal(updates[#updates].status, "completed")
  t.equal(updates[#updates].content[1].type, "diff")
  t.equal(c:text(), "I look.It said: created made.txt (5 bytes)")
end)

with_client("bytes that are no text do not break a message", { files = { ["bad.txt"] = "caf\233 \228\246\n" } }, function(c, dir)
  c:session(dir.path)
  c.server.sessions[c.id].updates:say "caf\233 and more"
  c:prompt 'call read_file {"path": "bad.txt"}'
  for _, raw in ipairs(c.raw) do t.ok(utf8.len(raw)) end
  t.has(c:text(), "caf\u{FFFD} and more")
end)

with_client("a refusal: nothing is done, and the model hears of it", { on = allow "reject" }, function(c, dir)
  c:session(dir.path)
  c:prompt 'call write_file {"path": "made.txt", "content": "made"}'
  t.ok(not io.open(dir.path .. "/made.txt"))
  local updates = c:of "tool_call_update"
  t.equal(updates[#updates].status, "failed")
  t.has(c:text(), "the user refused")
end)

with_client("always: the next one like it is not asked about", { on = allow "always" }, function(c, dir)
  c:session(dir.path)
  c:prompt 'call write_file {"path": "a.txt", "content": "made"}'
  c:prompt 'call write_file {"path": "a.txt", "content": "made"}'
  local n = 0
  for _, one in ipairs(c.requests) do n = n + (one.method == "session/request_permission" and 1 or 0) end
  t.equal(n, 1)
end)

for outcome, what in pairs { cancelled = { outcome = { outcome = "cancelled" } }, nonsense = { outcome = 7 }, other = { outcome = { outcome = "selected", optionId = "x" } } } do
  with_client("an answer that is none is no leave: " .. outcome, { on = function() return { ["session/request_permission"] = function() return what end } end }, function(c, dir)
    c:session(dir.path)
    t.same(c:prompt 'call write_file {"path": "made.txt", "content": "made"}', { stopReason = "end_turn" })
    t.ok(not io.open(dir.path .. "/made.txt"))
  end)
end

with_client("what was not offered was not chosen", { on = allow "always", files = { [".env"] = "KEY=1\n" } }, function(c, dir)
  c:session(dir.path)
  t.same(c:prompt 'call read_file {"path": ".env"}', { stopReason = "end_turn" })
  t.equal(#c.requests[1].params.options, 2)
  t.lacks(c:text(), "KEY=1")
end)

with_client("modes: allow asks nothing, refuse does nothing, both from the next turn on", {}, function(c, dir)
  c:session(dir.path)
  assert(c:call("session/set_mode", { sessionId = c.id, modeId = "auto" }))
  c:prompt 'call write_file {"path": "auto.txt", "content": "made"}'
  t.equal(contents(dir, "auto.txt"), "made")
  assert(c:call("session/set_mode", { sessionId = c.id, modeId = "deny" }))
  c:prompt 'call write_file {"path": "deny.txt", "content": "made"}'
  t.ok(not io.open(dir.path .. "/deny.txt"))
  t.equal(#c.requests, 0)
  t.equal(select(2, c:call("session/set_mode", { sessionId = c.id, modeId = "root" })).code, -32602)
end)

with_client("plan mode: it only reads until the person agrees, and the mode goes back by itself", { on = function()
  return { ["session/request_permission"] = function() return { outcome = { outcome = "selected", optionId = "allow" } } end } end,
  reply = function(q)
    if q.last.role == "tool" and q.last.text:find "The user agrees" then return { calls = { { name = "write_file", arguments = { path = "made.txt", content = "made" } } } } end
    return as_told(q)
  end }, function(c, dir)
  c:session(dir.path)
  assert(c:call("session/set_mode", { sessionId = c.id, modeId = "auto" }))
  assert(c:call("session/set_mode", { sessionId = c.id, modeId = "plan" }))
  c:prompt 'call write_file {"path": "made.txt", "content": "made"}'
  t.ok(not io.open(dir.path .. "/made.txt"))
  t.has(c:text(), "plan mode only reads")
  c:prompt 'call present_plan {"plan": "1. write made.txt"}'
  local asked, told = c.requests[1].params, c:of "tool_call_update"
  t.same(asked.toolCall.content, { { type = "content", content = { type = "text", text = "1. write made.txt" } } }, "buttons take the place of the question's words")
  t.same({ asked.toolCall.title, asked.toolCall.kind }, { "present_plan", "switch_mode" })
  for _, one in ipairs(told) do
    if one.toolCallId == asked.toolCall.toolCallId then told = one end
  end
  t.same({ told.status, told.content }, { "completed", asked.toolCall.content }, "the plan stays to be seen")
  t.has(told.rawOutput.text, "The user agrees")
  t.equal(contents(dir, "made.txt"), "made")
  told = c:of "current_mode_update"
  t.equal(told[#told].currentModeId, "auto")
  assert(c:call("session/set_mode", { sessionId = c.id, modeId = "plan" }))
  assert(c:call("session/set_mode", { sessionId = c.id, modeId = "auto" }))
  c:prompt 'call write_file {"path": "again.txt", "content": "made"}'
  t.equal(contents(dir, "again.txt"), "made")
end)

with_client("options: the mode and the model, in step with modes and /model", {}, function(c, dir)
  local made = c:session(dir.path)
  local function by_id(list, id)
    for _, one in ipairs(list) do if one.id == id then return one end end
  end
  t.equal(by_id(made.configOptions, "mode").currentValue, "ask")
  t.equal(#by_id(made.configOptions, "mode").options, 4)
  t.equal(by_id(made.configOptions, "model").options[1].value, by_id(made.configOptions, "model").currentValue)
  local function set(id, value) return c:call("session/set_config_option", { sessionId = c.id, configId = id, value = value }) end
  t.equal(by_id(assert(set("mode", "auto")).configOptions, "mode").currentValue, "auto")
  c:prompt 'call write_file {"path": "set.txt", "content": "made"}'
  t.equal(contents(dir, "set.txt"), "made")
  t.equal(#c.requests, 0)
  t.equal(c:of "current_mode_update"[1].currentModeId, "auto")
  t.equal(by_id(assert(set("model", "sim/other")).configOptions, "model").currentValue, "sim/other")
  assert(c:call("session/set_mode", { sessionId = c.id, modeId = "deny" }))
  c:prompt "/model sim/third"
  local told = c:of "config_option_update"
  t.equal(by_id(told[1].configOptions, "mode").currentValue, "deny")
  t.equal(by_id(told[#told].configOptions, "model").currentValue, "sim/third")
  for _, bad in ipairs { { "mode", "root" }, { "mode", 7 }, { "model", "nobody/x" }, { "model", 7 }, { "model", "as-the-files-say" }, { "other", "x" } } do
    t.equal(select(2, set(bad[1], bad[2])).code, -32602, tostring(bad[2]))
  end
end)

-- ---- Files through the editor --------------------------------------------------------------------

local buffers
local function editor(dir)
  buffers = { [dir.path .. "/notes.txt"] = "one\nTWO\n" }
  return {
    ["session/request_permission"] = function() return { outcome = { outcome = "selected", optionId = "allow" } } end,
    ["fs/read_text_file"] = function(params)
      if buffers[params.path] then return { content = buffers[params.path] } end
      return nil, { code = -32002, message = "not open" }
    end,
    ["fs/write_text_file"] = function(params)
      buffers[params.path] = params.content
      return json.decode "{}"
    end,
  }
end
local can = { fs = { readTextFile = true, writeTextFile = true } }

with_client("what stands in a buffer is what is read, and what is written is told", { on = editor, reply = function(q)
    if q.last.text == "go" then return { calls = { { name = "read_file", arguments = { path = "notes.txt" } } } } end
    if q.last.text:find "TWO" and q.last.role == "tool" then return { calls = { { name = "edit_file", arguments = { path = "notes.txt", old_text = "TWO", new_text = "three" } } } } end
    return "It said: " .. q.last.text
  end }, function(c, dir)
  c:session(dir.path, can)
  c:prompt "go"
  t.equal(buffers[dir.path .. "/notes.txt"], "one\nthree\n")
  t.equal(contents(dir, "notes.txt"), "one\nthree\n")
  t.has(c:text(), "changed notes.txt in 1 place")
end)

with_client("an editor opens no way out of the folder", { on = function(dir)
  local on = editor(dir)
  on["fs/read_text_file"] = function() return { content = "a secret" } end
  return on
end }, function(c, dir)
  c:session(dir.path, can)
  for _, path in ipairs { "/etc/passwd", "../x", "nowhere.txt" } do
    c:forget()
    c:prompt(('call read_file {"path": "%s"}'):format(path))
    t.lacks(c:text(), "a secret")
  end
end)

-- ---- Questions -------------------------------------------------------------------------------

with_client("a question in words ends the prompt, and the next one answers", {}, function(c, dir)
  c:session(dir.path)
  t.same(c:prompt 'call ask_user {"question": "Which?"}', { stopReason = "end_turn" })
  t.equal(c:text(), "I look.Which?")
  c:forget()
  t.same(c:prompt "the second", { stopReason = "end_turn" })
  t.equal(c:text(), "It said: the second")
end)

with_client("a question as a form, where the editor has such", { on = function() return {
  ["elicitation/create"] = function(params) return { action = "accept", content = { answer = params.message:match "Which" .. " one" } } end,
} end }, function(c, dir)
  c:session(dir.path, { elicitation = { form = json.decode "{}" } })
  t.same(c:prompt 'call ask_user {"question": "Which?"}', { stopReason = "end_turn" })
  t.has(c:text(), "It said: Which one")
end)

-- A planner, whose saved plan is the draft for "Tidy up".
local planning = {
  ["plans/tidy.md"] = "---\nplan: tidy\nrequest: Tidy up\n---\n## sweep\n- owner: helper\n\nSweep.\n",
  ["main.lua"] = [[
local hocket = require "hocket"
local function agent(name, prompt) return hocket.agent { name = name, prompt = prompt, description = name, model = "editor/m" } end
return function(message)
  local reply, err = hocket.patterns.planner.run { request = message, planner = agent("lead", "You plan."), team = { helper = agent("helper", "You help.") },
    specialists = { "helper" }, approve_plan = true, plans = PLANS }
  return reply and reply.text, err
end]],
}

local function write_planning(dir)
  dir:write("main.lua", (planning["main.lua"]:gsub("PLANS", ("%q"):format(dir.path .. "/plans"))))
end

-- Chooses these one after the other; how each call was shown is in `calls` and, by the call's id, how it ended.
local function choosing(list, form)
  return { target = "main.lua", files = planning, options = { trust = true }, on = function(dir)
    write_planning(dir)
    return {
      ["session/request_permission"] = function() return { outcome = { outcome = "selected", optionId = table.remove(list, 1) } } end,
      ["elicitation/create"] = form,
    }
  end, reply = function(q)
    if q.system:find "You plan" then return json.encode { type = "task", tasks = { { id = "a", specialist = "helper", description = q.last.text:find "only the floor" and "Sweep the floor" or "Scrub" } } } end
    return "did: " .. q.last.text:match "^[^\n]*"
  end }
end

local function shown(c, n)
  local call, names, status = c.requests[n].params.toolCall, {}, nil
  for i, one in ipairs(c.requests[n].params.options) do names[i] = one.name end
  for _, kind in ipairs { "tool_call", "tool_call_update" } do
    for _, one in ipairs(c:of(kind)) do
      if one.toolCallId == call.toolCallId then status = (status and status .. " " or "") .. one.status end
    end
  end
  return { call.title, call.content[1].content.text:match "[^\n]*$", table.concat(names, ", "), status }
end

with_client("a plan is changed in words, and a draft makes room for a new plan", choosing { "change", "reject", "new", "allow" }, function(c, dir)
  c:session(dir.path)
  t.same(c:prompt "Tidy up", { stopReason = "end_turn" })
  t.equal(c:text(), "What is to be changed?")
  t.has(c.requests[1].params.toolCall.content[1].content.text, "A draft: the saved plan 'tidy'")
  c:prompt "only the floor"
  t.same(shown(c, 1), { "Go ahead with this plan?", "1. sweep (helper): Sweep.", "Go ahead, Do not, Change it, New plan", "pending completed" })
  t.same(shown(c, 2), { "Go ahead with this plan?", "1. a (helper): Sweep the floor", "Go ahead, Do not, Change it", "pending failed" })
  t.has(c:text(), "nothing was done")
  c:prompt "tidy up"
  t.same(shown(c, 4), { "Go ahead with this plan?", "1. a (helper): Scrub", "Go ahead, Do not, Change it", "pending completed" })
  t.has(c:text(), "did: Scrub")
end)

with_client("what is to be changed in a plan is a form, where the editor has such", choosing({ "change", "allow" }, function(params)
  return { action = "accept", content = { answer = params.message == "What is to be changed?" and "only the floor" or "no" } }
end), function(c, dir)
  c:session(dir.path, { elicitation = { form = json.decode "{}" } })
  t.same(c:prompt "Tidy up", { stopReason = "end_turn" })
  t.equal(c:text(), "did: Sweep the floor")
end)

with_client("a cancel while a plan waits ends its call", { target = "main.lua", files = planning, options = { trust = true }, on = function(dir)
  write_planning(dir)
  return {}
end }, function(c, dir)
  c:session(dir.path)
  local id = c:ask("session/prompt", { sessionId = c.id, prompt = text "Tidy up" })
  c:wait(function() return c.requests[1] end)
  c:tell("session/cancel", { sessionId = c.id })
  c:wait(function() return c.answers[id] end)
  t.equal(shown(c, 1)[4], "pending failed")
end)

with_client("a cancel while a question waits ends it", {}, function(c, dir)
  c:session(dir.path)
  c:prompt 'call ask_user {"question": "Which?"}'
  c:tell("session/cancel", { sessionId = c.id })
  t.same(c:prompt "Hello", { stopReason = "end_turn" })
  t.has(c:text(), "You said: Hello")
end)

-- ---- Cancelling ------------------------------------------------------------------------------

with_client("a cancel ends the turn with its own word, and the session goes on", {}, function(c, dir)
  c:session(dir.path)
  local id = c:ask("session/prompt", { sessionId = c.id, prompt = text "wait" })
  while waiting == 0 do fiber.sleep(0.005) end
  c:tell("session/cancel", { sessionId = c.id })
  t.same(c:answer(id), { stopReason = "cancelled" })
  t.same(c:prompt "Hello", { stopReason = "end_turn" })
end)

with_client("a cancel right behind the prompt is heard, and so is $/cancel_request", {}, function(c, dir)
  c:session(dir.path)
  local id = c:ask("session/prompt", { sessionId = c.id, prompt = text "wait" })
  c:tell("session/cancel", { sessionId = c.id })
  t.same(c:answer(id), { stopReason = "cancelled" })
  id = c:ask("session/prompt", { sessionId = c.id, prompt = text "wait" })
  c:tell("$/cancel_request", { requestId = id })
  t.same(c:answer(id), { stopReason = "cancelled" })
  c:tell("session/cancel", { sessionId = c.id })
  c:tell("session/cancel", { sessionId = "nobody" })
  t.same(c:prompt "Hello", { stopReason = "end_turn" })
end)

with_client("a cancel right before a request of the same id leaves nobody without an answer", {}, function(c)
  c:call("initialize", { protocolVersion = 1 })
  c:tell("$/cancel_request", { requestId = 900 })
  c:send { jsonrpc = "2.0", id = 900, method = "session/list", params = json.decode "{}" }
  local _, err = c:answer(900)
  t.equal(err and err.code, -32800)
  c.answers[900] = nil
  c:send { jsonrpc = "2.0", id = 900, method = "session/list", params = json.decode "{}" }
  t.ok(c:answer(900))
end)

with_client("a cancel while leave is asked for takes the question back", {}, function(c, dir)
  c:session(dir.path)
  local id = c:ask("session/prompt", { sessionId = c.id, prompt = text 'call write_file {"path": "made.txt", "content": "x"}' })
  local asked = c:wait(function() return c.requests[1] end)
  c:tell("session/cancel", { sessionId = c.id })
  c:send { jsonrpc = "2.0", id = asked.id, result = { outcome = { outcome = "selected", optionId = "allow" } } } -- too late
  t.same(c:answer(id), { stopReason = "cancelled" })
  t.ok(not io.open(dir.path .. "/made.txt"))
  local updates = c:of "tool_call_update"
  t.equal(updates[#updates].status, "failed")
end)

with_client("a turn that fails is an error with its reason, and the session goes on", {}, function(c, dir)
  c:session(dir.path)
  local _, err = c:prompt "fail"
  t.equal(err.code, -32603)
  t.has(err.message, "no such thing")
  t.same(c:prompt "Hello", { stopReason = "end_turn" })
end)

with_client("servers that the editor hands over are tools of the agent; those that are none are refused", { on = allow "allow" }, function(c, dir)
  local here = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$"
  local server = fs.real(here .. "/../support/mcp_server.lua")
  c:session(dir.path, nil, { mcpServers = { { name = "de mo", command = process.launcher(), args = { "run", "-q", "--store", "off", server, "modern" }, env = { { name = "X", value = "${HOME}" } } } } })
  c:prompt 'call de_mo__echo {"text": "Good day"}'
  t.has(c:text(), "Good day")
  require("hocket.internal.mcp.servers").close()
  c:call("initialize", { protocolVersion = 1 })
  for _, wrong in ipairs { { name = 7 }, { name = "x" }, { name = "x", command = "" }, { name = "x", command = "y", args = "z" }, { name = "x", command = "y", env = { "z" } }, { name = "x", type = "sse", url = "http://x" },
    { name = "x", type = "http", url = "file:///x" }, 7 } do
    t.equal(select(2, c:call("session/new", { cwd = dir.path, mcpServers = { wrong } })).code, -32602)
  end
end)

-- ---- Prompts ---------------------------------------------------------------------------------

local PNG = system.base64("\137PNG\r\n\26\n" .. ("x"):rep(20))

with_client("pictures, embedded files and links", {}, function(c, dir)
  c:session(dir.path)
  c:prompt {
    { type = "text", text = "Look at " }, { type = "resource_link", uri = "file:///home/me/a%20b.txt", name = "a b.txt" },
    { type = "image", mimeType = "image/png", data = PNG }, { type = "resource", resource = { uri = "file:///x/notes.md", text = "# Notes" } },
  }
  t.has(c:text(), "[@a b.txt](/home/me/a b.txt)")
  t.has(c:text(), "1 files")
  t.has(c:text(), "# Notes")
end)

with_client("prompts that are none are refused, one by one, and nothing is said", {}, function(c, dir)
  c:session(dir.path)
  local bad = {
    json.array {}, "text", { { type = "text" } }, { { type = "text", text = 7 } }, { { type = "video" } }, { 7 }, { { type = "image", data = "%%%" } },
    { { type = "image", mimeType = "image/png", data = system.base64 "plain words" } }, { { type = "resource" } }, { { type = "resource", resource = { uri = "file:///x" } } },
    { { type = "resource_link" } }, { { type = "text", text = " \n" } }, { { type = "audio", data = PNG } },
  }
  for i, prompt in ipairs(bad) do
    local _, err = c:call("session/prompt", { sessionId = c.id, prompt = prompt })
    t.equal(err and err.code, -32602, "prompt " .. i)
  end
  t.equal(select(2, c:call("session/prompt", { sessionId = "nobody", prompt = text "x" })).code, -32002)
  t.equal(select(2, c:call("session/prompt", { sessionId = 7, prompt = text "x" })).code, -32602)
  t.equal(c:text(), "")
  c:prompt "Hello"
  t.equal(c:text(), "You said: Hello")
end)

with_client("two turns at once in one session are refused; in two sessions they go side by side", {}, function(c, dir)
  c:session(dir.path)
  local id = c:ask("session/prompt", { sessionId = c.id, prompt = text "wait" })
  t.equal(select(2, c:prompt "Hello").code, -32600)
  local other = assert(c:call("session/new", { cwd = dir.path, mcpServers = json.array {} })).sessionId
  t.same(c:call("session/prompt", { sessionId = other, prompt = text "Hello" }), { stopReason = "end_turn" })
  c:tell("session/cancel", { sessionId = c.id })
  t.same(c:answer(id), { stopReason = "cancelled" })
  t.equal(#c:call("session/list", { cwd = dir.path }).sessions, 2)
  assert(c:call("session/close", { sessionId = other }))
  t.equal(select(2, c:call("session/close", { sessionId = other })).code, -32002)
  -- with a store the one that was closed can be gone on with
  t.equal(#c:call("session/list", { cwd = dir.path }).sessions, t.kept and 2 or 1)
end)

with_client("closing a session answers its prompt", {}, function(c, dir)
  c:session(dir.path)
  local id = c:ask("session/prompt", { sessionId = c.id, prompt = text "wait" })
  assert(c:call("session/close", { sessionId = c.id }))
  t.same(c:answer(id), { stopReason = "cancelled" })
end)

-- ---- Sessions of before --------------------------------------------------------------------------

local function said(c)
  local list = {}
  for _, one in ipairs(c.updates) do
    if one.sessionUpdate:find "message_chunk" then list[#list + 1] = one.sessionUpdate:match "^%l+" .. ": " .. one.content.text end
  end
  return table.concat(list, "\n")
end

-- `hocket acp` as a program, which keeps what it does in a file of the folder.
local function start(dir, on)
  return clients.program { on = on, cwd = dir.path, argv = { process.launcher(), "acp", "--store", dir.path .. "/runs.db", "--model", "openai/m", dir.path .. "/agents" },
    env = { "PATH=/usr/bin:/bin", "HOME=" .. dir.path, "OPENAI_API_KEY=none", "OPENAI_BASE_URL=" .. served.base } }
end

local function with_folder(name, fn)
  t.test(name, function()
    local dir <close> = t.dir()
    for path, text in pairs(files) do dir:write(path, (text:gsub("model: editor/m\n", ""))) end
    fn(dir)
  end)
end

with_folder("a session that was left is told again in another process, and goes on", function(dir)
  reply = function(q)
    if q.last.text == "count" then return ("%d messages"):format(#q.messages) end
    return as_told(q)
  end
  local c = start(dir, allow "allow"())
  c:session(dir.path)
  c:prompt "Hello"
  c:prompt 'call write_file {"path": "made.txt", "content": "made"}'
  c:prompt "fail"
  c:prompt 'call ask_user {"question": "Which?"}'
  c:prompt "the second"
  local before = said(c):gsub("\nagent: Which", "\nagent: Which")
  t.equal(select(2, c:call("session/load", { sessionId = c.id, cwd = dir.path, mcpServers = json.array {} })).code, -32600)
  local id_of = c.id
  c:close()
  t.equal(c.ended.code, 0)
  c = start(dir, {})
  c.id = id_of
  local closing <close> = c
  assert(c:call("initialize", { protocolVersion = 1 }))
  local listed = assert(c:call("session/list", { cwd = dir.path })).sessions
  t.equal(listed[1].sessionId, c.id)
  t.equal(listed[1].title, "Hello")
  t.same(c:call("session/list", { cwd = "/elsewhere" }).sessions, {})
  os.remove(dir.path .. "/made.txt")
  c:forget()
  local id, at = c:ask("session/load", { sessionId = c.id, cwd = dir.path, mcpServers = json.array {} }), nil
  assert(c:answer(id))
  for i, raw in ipairs(c.raw) do if raw:find('"id":' .. id .. ",", 1, true) then at = i end end
  local last_message
  for i, raw in ipairs(c.raw) do if raw:find("message_chunk", 1, true) then last_message = i end end
  t.ok(last_message < at, "all is told before the answer")
  t.equal(#c.requests, 0) -- nobody is asked again
  t.ok(not io.open(dir.path .. "/made.txt"), "nothing is done again")
  t.matches(said(c), "^user: Hello\nagent: You said: Hello\nuser: call write_file .*\nagent: I look%.\nagent: It said: created made.txt.*\nuser: fail\nagent: %[no answer: .*no such thing.*%]\nuser: call ask_user .*\nagent: It said: the second$")
  t.equal(c:of("tool_call")[1].title, "write_file made.txt")
  c:forget()
  t.same(c:prompt "count", { stopReason = "end_turn" })
  t.equal(c:text(), "13 messages")
end)

with_folder("resumed without being told again; one that is not there, or elsewhere, is refused", function(dir)
  reply = as_told
  local c <close> = start(dir, {})
  c:session(dir.path)
  c:prompt "Hello"
  assert(c:call("session/close", { sessionId = c.id }))
  local result
  repeat -- it is put away in a moment
    fiber.sleep(0.01)
    result = c:call("session/resume", { sessionId = c.id, cwd = dir.path })
  until result
  c:forget()
  c:prompt "Again"
  t.equal(said(c), "agent: You said: Again")
  for _, params in ipairs { { sessionId = "nobody", cwd = "/" }, { sessionId = ("0"):rep(26), cwd = dir.path }, { sessionId = "*", cwd = dir.path } } do
    t.equal(select(2, c:call("session/load", params)).code, -32002)
  end
  assert(c:call("session/close", { sessionId = c.id }))
  repeat fiber.sleep(0.01) until #c:call("session/list", { cwd = dir.path }).sessions == 1
  t.equal(select(2, c:call("session/load", { sessionId = c.id, cwd = "/" })).code, -32602)
  assert(c:call("session/delete", { sessionId = c.id }))
  t.equal(select(2, c:call("session/load", { sessionId = c.id, cwd = dir.path })).code, -32002)
  assert(c:call("session/delete", { sessionId = "nobody" }))
end)

-- ---- Teams and commands --------------------------------------------------------------------------

with_client("another agent at work is a call, tasks are a plan", { reply = function(q)
  if q.system:find "You help" then return "I have helped." end
  if q.last.text == "go" then return { calls = { { name = "create_tasks", arguments = { tasks = { { text = "Help", assigned_to = "helper", active_form = "Helping" } } } } } } end
  if q.last.text:find "created" then return { calls = { { name = "call_helper", arguments = { task_ids = { 1 }, message = "Please" } } } } end
  return "All is done."
end }, function(c, dir)
  c:session(dir.path)
  t.same(c:prompt "go", { stopReason = "end_turn" })
  local plans = c:of "plan"
  t.equal(plans[1].entries[1].status, "pending")
  t.same(plans[#plans].entries, { { content = "Help", priority = "medium", status = "completed" } })
  local titles = {}
  for _, one in ipairs(c:of "tool_call") do titles[#titles + 1] = one.title end
  t.has(table.concat(titles, "\n"), "helper: Please")
  t.equal(c:text(), "All is done.")
  for _, call in ipairs(c:of "tool_call") do
    local status
    for _, update in ipairs(c:of "tool_call_update") do
      if update.toolCallId == call.toolCallId then status = update.status or status end
    end
    t.equal(status, "completed", call.title)
  end
end)

with_client("what one call of the to-do tool changes is one update of the plan", { target = "lists.md", files = {
  ["lists.md"] = "---\nname: lists\nmodel: editor/m\ntools: [todo]\n---\nYou keep a list.",
} }, function(c, dir)
  c:session(dir.path)
  local function send(...) c:prompt("call todo " .. json.encode { items = { ... } }) end
  send({ content = "Dig", active_form = "Digging", status = "in_progress" }, { content = "Plant", active_form = "Planting", status = "pending" })
  local plans = c:of "plan"
  t.equal(#plans, 1)
  t.same({ plans[1].entries[1].status, plans[1].entries[2].status }, { "in_progress", "pending" })
  send({ content = "Dig", active_form = "Digging", status = "completed" }, { content = "Plant", active_form = "Planting", status = "in_progress" })
  plans = c:of "plan"
  t.equal(#plans, 2)
  t.same({ plans[2].entries[1].status, plans[2].entries[2].status }, { "completed", "in_progress" })
end)

with_client("each task of a plan stands once in the editor's, and the next plan takes its place", { target = "plan.md", files = {
  ["plan.md"] = "---\nplan: tidy\n---\n## look\n- owner: helper\n\nLook around.\n\n## tidy\n- owner: helper\n- after: look\n\nTidy up.\n",
} }, function(c, dir)
  c:session(dir.path)
  for turn = 1, 2 do
    t.same(c:prompt "the shed", { stopReason = "end_turn" })
    for i, plan in ipairs(c:of "plan") do t.equal(#plan.entries, 2, ("turn %d, update %d"):format(turn, i)) end
    local last = c:of "plan"[#c:of "plan"].entries
    t.same({ last[1].content, last[1].status, last[2].content, last[2].status }, { "Look around.", "completed", "Tidy up.", "completed" })
  end
  local titles = {}
  for i, one in ipairs(c:of "tool_call") do titles[i] = one.title end
  t.same(titles, { "helper: Look around.", "helper: Tidy up.", "helper: Look around.", "helper: Tidy up." })
end)

with_client("commands with a slash; what is none is the agent's", {}, function(c, dir)
  c:session(dir.path)
  c:prompt "Hello"
  for command, part in pairs { ["/agents"] = "coder", ["/model"] = "editor/m", ["/usage"] = "model calls", ["/model nonsense"] = "cannot", ["/clear"] = "forgotten", ["/etc"] = "You said: /etc" } do
    c:forget()
    t.same(c:prompt(command), { stopReason = "end_turn" })
    t.has(c:text(), part, command)
  end
end)

-- ---- Editors that do as they like -----------------------------------------------------------------

with_client("what is no message is answered, and the connection stays", {}, function(c, dir)
  for _, bad in ipairs { "{", "[]", "7", '{"jsonrpc":"1.0","id":77,"method":"x"}', '{"jsonrpc":"2.0","id":{},"method":"x"}', '{"jsonrpc":"2.0","id":77}', '{"jsonrpc":"2.0","method":7}', "\0\255" } do
    local before = #c.raw
    c:send(bad)
    c:wait(function() return #c.raw > before end)
    t.has(c.raw[#c.raw], '"error"', bad)
  end
  c:send { jsonrpc = "2.0", id = 99, result = {} } -- an answer to nothing
  c:send { jsonrpc = "2.0", id = "s", error = { code = 1, message = "x" } }
  c:tell("no/such", {})
  c:session(dir.path)
  c:prompt "Hello"
  t.equal(c:text(), "You said: Hello")
end)

with_client("an id that is in use is refused, and a flood of requests as well", {}, function(c, dir)
  c:session(dir.path)
  local id = c:ask("session/prompt", { sessionId = c.id, prompt = text "wait" })
  local before = #c.raw
  c:send { jsonrpc = "2.0", id = id, method = "session/list", params = {} }
  c:wait(function() return #c.raw > before end)
  t.has(c.raw[#c.raw], "in use")
  c:tell("session/cancel", { sessionId = c.id })
  c:answer(id)
end)

with_client("an editor that does not read is given up, and nothing grows without end", {}, function(c, dir)
  c:session(dir.path)
  c.deaf = true
  for i = 1, 200 do c:send(('{"jsonrpc":"2.0","id":"%d%s","method":"x"}'):format(i, ("y"):rep(400000))) end
  t.ok(c.server.rpc.closed)
  c.deaf = false
  c.server.rpc.sender:wake()
end)

served.close()
return t.finish()
