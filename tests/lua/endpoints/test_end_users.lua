-- Memory under `hocket serve` is each end user's: two users, and two tokens, at every door.
local t = require "harness"
local json = require "hocket.json"
local process = require "hocket.process"
local servers = require "served"

t.limit = 600

-- Says what it was told, and what its memory holds of doors.
local project = {
  ["agents/sim.lua"] = [[
return function(q)
  if q.last.role == "tool" then return "I know: " .. q.last.text end
  if q.last.text:find "code is" then return { calls = { { name = "memory_write", arguments = { text = q.last.text } } } } end
  return { calls = { { name = "memory_search", arguments = { query = "door code" } } } }
end
]],
  ["agents/keeper.md"] = "---\nname: keeper\ndescription: Keeps codes\nmemory: { name: codes, scope: user }\n---\nYou keep codes.",
  ["agents/files.md"] = "---\nname: files\ndescription: Keeps codes in files\nmemory: { name: codes, folder: notes }\n---\nYou keep codes.",
  ["script.lua"] = [[
local hocket = require "hocket"
local notes = assert(hocket.memory { name = "codes", scope = "user" })
local text = ...
if text:find "code is" then assert(notes:write(text)) end
local all = {}
for i, note in ipairs(notes:search "door code") do all[i] = note.text end
return "I know: " .. table.concat(all, "; ")
]],
}

local function rpc(method, params) return { jsonrpc = "2.0", id = 1, method = method, params = params } end

-- Each door says a text for a user (nil: it names none) and gives the whole answer as a text.
local doors = {
  api = function(s, agent, text, user)
    local answer = s:post("/api/runs", { target = agent, input = text, options = { user = user, interactive = false } })
    t.equal(answer.status, 201, answer.body)
    local one
    t.eventually(function()
      one = s:get("/api/runs/" .. answer.value.id)
      return one.value.state == "done"
    end, 100, "never done")
    return json.encode(one.value.result)
  end,
  chat = function(s, agent, text, user) return s:post("/v1/chat/completions", { model = agent, user = user, messages = { { role = "user", content = text } } }).body end,
  responses = function(s, agent, text, user) return s:post("/v1/responses", { model = agent, user = user, input = text }).body end,
  safety = function(s, agent, text, user) return s:post("/v1/responses", { model = agent, safety_identifier = user, input = text }).body end,
  anthropic = function(s, agent, text, user)
    return s:post("/v1/messages", { model = agent, max_tokens = 100, metadata = user and { user_id = user }, messages = { { role = "user", content = text } } }).body
  end,
  agui = function(s, agent, text, user)
    return s:post("/agui/" .. agent, { threadId = "one", runId = "r", messages = { { id = "m", role = "user", content = text } }, tools = json.array {}, context = json.array {}, state = {}, forwardedProps = { userId = user } }).body
  end,
  thread = function(s, agent, text, user)
    return s:post("/agui/" .. agent, { threadId = user or "none", runId = "r", messages = { { id = "m", role = "user", content = text } }, tools = json.array {}, context = json.array {}, state = {}, forwardedProps = {} }).body
  end,
  a2a = function(s, agent, text, user)
    return s:post("/a2a/" .. agent, rpc("SendMessage", { message = { messageId = "m", role = "ROLE_USER", parts = { { text = text } }, metadata = user and { userId = user } } }), { ["a2a-version"] = "1.0" }).body
  end,
  a2a_older = function(s, agent, text, user)
    return s:post("/a2a/" .. agent, rpc("message/send", { message = { kind = "message", messageId = "m", role = "user", parts = { { kind = "text", text = text } }, metadata = user and { userId = user } } })).body
  end,
  a2a_rest = function(s, agent, text, user)
    return s:post(("/a2a/%s/message:send"):format(agent), { message = { messageId = "m", role = "ROLE_USER", parts = { { text = text } } }, metadata = user and { user = user } }, { ["a2a-version"] = "1.0" }).body
  end,
}

-- One that names no user: memory is the token's.
local function mcp(s, agent, text)
  local meta = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28", ["io.modelcontextprotocol/clientInfo"] = { name = "x", version = "1" }, ["io.modelcontextprotocol/clientCapabilities"] = {} }
  return s:post("/mcp", rpc("tools/call", { name = agent, arguments = { input = text }, _meta = meta }),
    { accept = "application/json, text/event-stream", ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = "tools/call", ["mcp-name"] = agent }).body
end

local function as(s, text) return setmetatable({ token = text, close = function() end }, { __index = s }) end

local function start(dir, ...)
  for name, text in pairs(project) do dir:write(name, text) end
  return servers.start(dir, "agents", "script.lua", "--model", "sim", "--trust", "--store", "runs.db", ...)
end

local function token(dir, name)
  local done = assert(process.run { argv = { process.launcher(), "serve", "token", "create", "--name", name }, cwd = dir.path, sandbox = "limits", env = { "PATH=/usr/bin:/bin", "XDG_STATE_HOME=" .. dir.path .. "/state" } })
  t.equal(done.code, 0, done.stderr)
  return (done.stdout:gsub("%s+$", ""))
end

local function has(text, word) return text:find(word, 1, true) ~= nil end

for _, agent in ipairs { "keeper", "files", "script" } do
  t.test("two users of one token at every door: " .. agent, function()
    local dir <close> = t.dir()
    local s <close> = start(dir)
    for name, say in pairs(agent == "script" and { api = doors.api } or doors) do -- what a script does of a conversation is its own
      local code = "4711-" .. name
      say(s, agent, "The door code is " .. code, "ann-" .. name)
      local own, other = say(s, agent, "door code?", "ann-" .. name), say(s, agent, "door code?", "eve-" .. name)
      t.ok(has(own, code), ("%s: the user knows no more: %s"):format(name, own))
      t.ok(has(other, "I know") and not has(other, code), ("%s: another user knows it: %s"):format(name, other))
      if name ~= "thread" and name ~= "agui" then t.ok(not has(say(s, agent, "door code?"), code), name .. ": nobody in particular knows it") end
    end
    if agent == "script" then return end
    local odd = "../../x\n" .. ("y"):rep(600) -- any text names a user
    doors.chat(s, agent, "The door code is odd-1", odd)
    t.ok(has(doors.responses(s, agent, "door code?", odd), "odd-1"), "a user is the same at each door")
    t.ok(not has(doors.chat(s, agent, "door code?", odd .. "z"), "odd-1"))
    t.equal(s:post("/v1/chat/completions", { model = agent, user = { 1 }, messages = { { role = "user", content = "x" } } }).status, 400)
  end)
end

t.test("two tokens that name the same user, or none; and never the account of the server", function()
  local dir <close> = t.dir()
  local a, b = token(dir, "a"), token(dir, "b")
  local s <close> = start(dir)
  for _, user in ipairs { "ann", false } do
    local name = user or nil
    doors.chat(as(s, a), "keeper", "The door code is of-a-" .. tostring(user), name)
    t.ok(has(doors.chat(as(s, a), "keeper", "door code?", name), "of-a-" .. tostring(user)))
    for _, other in ipairs { as(s, b), s } do t.ok(not has(doors.chat(other, "keeper", "door code?", name), "of-a-" .. tostring(user))) end
  end
  mcp(as(s, a), "keeper", "The door code is by-mcp")
  t.ok(has(mcp(as(s, a), "keeper", "door code?"), "by-mcp"))
  t.ok(has(mcp(as(s, b), "keeper", "door code?"), "I know") and not has(mcp(as(s, b), "keeper", "door code?"), "by-mcp"))
  local function here(...)
    local done = assert(process.run { argv = { process.launcher(), "run", "--store", "runs.db", "--model", "sim", "--trust", "-q", "agents/keeper.md", ... }, cwd = dir.path, sandbox = "limits", env = { "PATH=/usr/bin:/bin", "XDG_STATE_HOME=" .. dir.path .. "/state" } })
    t.equal(done.code, 0, done.stderr)
    return done.stdout
  end
  here "The door code is of-the-account"
  t.ok(has(here "door code?", "of-the-account"))
  t.ok(not has(here "door code?", "of-a"))
  for _, user in ipairs { "ann", "", false } do t.ok(not has(doors.chat(s, "keeper", "door code?", user or nil), "of-the-account")) end
end)

t.test("a run that was begun for a user keeps that user's memory, also after a restart and as a fork", function()
  local dir <close> = t.dir()
  local id
  do
    local s <close> = start(dir)
    doors.chat(s, "keeper", "The door code is 4711", "ann")
    local answer = s:post("/v1/responses", { model = "keeper", user = "ann", input = "hello" })
    id = answer.value.id
    s:stop()
  end
  local s <close> = start(dir)
  local answer = s:post("/v1/responses", { model = "keeper", user = "eve", input = "door code?", previous_response_id = id })
  t.ok(has(answer.body, "4711"), answer.body) -- the conversation is ann's, whoever has its id; ids of conversations are the client's to keep apart
  local run = s:get("/api/runs/" .. id:match "^resp_(%w+)_").value
  t.equal(run.options.memory_of, "owner ann")
  local fork = s:post("/api/runs/" .. run.id .. "/fork", { latest = true, input = "x", resume = false })
  t.equal(s:get("/api/runs/" .. fork.value.id).value.options.memory_of, "owner ann")
end)

return t.finish()
