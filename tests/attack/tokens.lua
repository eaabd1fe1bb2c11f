--- Tokens and links at every endpoint of `hocket serve`: those that are guessed, revoked, over, of another client, without the scope, or used up open
--- nothing, and say nothing of the run that they ask for.
local attack = require "attack"
local caller_scopes = require "hocket.internal.serve.client_tokens"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local process = require "hocket.process"
local scopes = require "hocket.internal.endpoints.scopes"
local servers = require "served"
local t = require "harness"

local class = attack.class("tokens", true)

-- ---- A server with a run that waits -----------------------------------------------------------------

local dir <close> = t.dir()
dir:write("agents/sim.lua", [[
return function(q)
  if q.last.role ~= "tool" then return { calls = { { name = "ask_user", arguments = { question = "SECRET-QUESTION" } } } } end
  return "I say: " .. q.last.text
end
]])
dir:write("agents/guide.md", "---\nname: guide\ndescription: Asks first\ntools: [ask_user]\n---\nYou ask before you answer.")
dir:write("agents/other.md", "---\nname: other\ndescription: Another one\ntools: [ask_user]\n---\nYou ask before you answer.")

local function hocket(...)
  local done = assert(process.run { argv = { process.launcher(), ... }, cwd = dir.path, sandbox = "limits", env = { "PATH=/usr/bin:/bin", "XDG_STATE_HOME=" .. dir.path .. "/state" } })
  if done.code ~= 0 then error(table.concat({ ... }, " ") .. ": " .. done.stderr) end
  return (done.stdout:gsub("%s+$", ""))
end

local function token(name, ...) return hocket("serve", "token", "create", "--name", name, ...) end

local all = { "--scope", "manage", "--scope", "metrics" }
local revoked, short = token("revoked", table.unpack(all)), token("short", "--expires", "1s", table.unpack(all))
local brought = { [""] = "none", ["none-that-was-ever-made"] = "a guess", [short] = "one that is over", [revoked] = "one that is revoked",
  [revoked:sub(1, -2) .. (revoked:sub(-1) == "a" and "b" or "a")] = "a wrong letter", [revoked:sub(1, 17) .. ("a"):rep(43)] = "an id with another secret", [("x"):rep(4000)] = "a long one" }
local of_scope = {}
for _, scope in ipairs(caller_scopes.SCOPES) do of_scope[scope] = token("only-" .. scope, "--scope", scope) end
local eve = token("eve", "--scope", "run", "--scope", "read")
local elsewhere = token("elsewhere", "--agent", "other", "--scope", "manage")
hocket("serve", "token", "revoke", "revoked")

local s <close> = servers.start(dir, "agents", "--model", "sim", "--trust", "--store", "runs.db")

local function ask(text, method, path, body)
  local headers = { authorization = text ~= "" and "Bearer " .. text or nil, ["content-type"] = body and "application/json" or nil }
  return setmetatable({ headers = function() return headers end }, { __index = s }):ask(method, path, body)
end

local begun = s:post("/api/runs", { target = "guide", input = "SECRET-INPUT" })
local run = begun.value.id
local function state() return s:get("/api/runs/" .. run).value.state end
while state() ~= "waiting" do fiber.sleep(0.02) end
local link = hocket("answer", run, "q1", "--link", "--store", "runs.db"):match "#answer=(.*)$"

while ask(short, "GET", "/api").status ~= 401 do fiber.sleep(0.05) end -- until it is over

-- ---- The table ---------------------------------------------------------------------------------------

local function path_of(form, name) return (form:gsub("{name}", name):gsub("{id}", run):gsub("{[%w_]+}", "none")) end

local function has(row, granted)
  for _, scope in ipairs(type(row) == "table" and row or { row }) do
    if scope == "any" or granted[scope] then return true end
  end
  return false
end

local function leaks(answer)
  return (answer.body:find("SECRET", 1, true) or answer.body:find(run, 1, true)) and "it says something of the run" or nil
end

local function refused(answer, status)
  if answer.status ~= status then return ("%d and not %d: %s"):format(answer.status, status, answer.body:sub(1, 200)) end
  return leaks(answer)
end

local link_opens = { ["GET /api/inbox"] = true, ["POST /api/runs/{id}/answers"] = true }

for key, row in pairs(scopes.all()) do
  local method, form = key:match "^(%u+) (.*)$"
  local body, path = method == "POST" and "{}" or nil, path_of(form, "guide")
  if row ~= "public" then
    for text, what in pairs(brought) do class:check(("%s with %s"):format(key, what), refused(ask(text, method, path, body), 401)) end
    for scope, text in pairs(of_scope) do
      if not has(row, caller_scopes.granted { scope }) then class:check(("%s with the scope %s"):format(key, scope), refused(ask(text, method, path, body), 403)) end
    end
    if not link_opens[key] then class:check(key .. " with a link", refused(ask(link, method, path, body), 403)) end
  end
  -- another client's run, by its whole id: it is not there
  if form:find("{id}", 1, true) and row ~= "public" then
    for name, text in pairs { ["another client"] = eve, ["a client of another agent"] = elsewhere } do
      local answer = ask(text, method, path, body)
      class:check(("%s of %s"):format(key, name), answer.status < 400 and not answer.body:find '"error"' and "it is let in: " .. answer.body:sub(1, 200) or answer.body:find("SECRET", 1, true) and "it says something of the run" or nil)
    end
  end
end

-- ---- A link that is used up, and what it may not say ---------------------------------------------------

local function say(text, question, answer) return ask(text, "POST", ("/api/runs/%s/answers"):format(run), json.encode { question = question, text = answer }) end
for _, question in ipairs { "q2", "a1", "i1", "", "q1 ", "Q1" } do class:check("a link answers " .. question, refused(say(link, question, "x"), 403)) end
class:check("the run waits still", state() ~= "waiting" and state() or nil)
class:check("the link answers its question", say(link, "q1", "Rome").status ~= 202 and "it does not" or nil)
while state() == "waiting" do fiber.sleep(0.02) end
for key, row in pairs(scopes.all()) do
  local method, form = key:match "^(%u+) (.*)$"
  if row ~= "public" then class:check(key .. " with a link that was used", refused(ask(link, method, path_of(form, "guide"), method == "POST" and "{}" or nil), 410)) end
end

return class:finish()
