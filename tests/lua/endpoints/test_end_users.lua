-- Memory under `hocket serve` is each end user's: two users, and two tokens, at every door.
local t = require "harness"
local process = require "hocket.process"
local user_doors = require "user_doors"

t.limit = 600

local as, doors, mcp, start = user_doors.as, user_doors.doors, user_doors.mcp, user_doors.start

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
