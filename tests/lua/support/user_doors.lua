--- Doors of `hocket serve` by which a client speaks to an agent for an end user, and a project of agents that keep codes in their memory.
local json = require "hocket.json"
local servers = require "served"
local t = require "harness"

local user_doors = {}

-- Says what it was told, and what its memory holds of doors.
user_doors.project = {
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
user_doors.doors = {
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
function user_doors.mcp(s, agent, text)
  local meta = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28", ["io.modelcontextprotocol/clientInfo"] = { name = "x", version = "1" }, ["io.modelcontextprotocol/clientCapabilities"] = {} }
  return s:post("/mcp", rpc("tools/call", { name = agent, arguments = { input = text }, _meta = meta }),
    { accept = "application/json, text/event-stream", ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = "tools/call", ["mcp-name"] = agent }).body
end

--- Serves the project below a folder.
function user_doors.start(dir, ...)
  for name, text in pairs(user_doors.project) do dir:write(name, text) end
  return servers.start(dir, "agents", "script.lua", "--model", "sim", "--trust", "--store", "runs.db", ...)
end

--- The same server for another token.
function user_doors.as(s, text) return setmetatable({ token = text, close = function() end }, { __index = s }) end

return user_doors
