-- Tokens of clients: what each may do at every endpoint, whose a run is, and how a token ends.
local t = require "harness"
local caller = require "hocket.internal.endpoints.caller"
local client_tokens = require "hocket.internal.serve.client_tokens"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.fs"
local json = require "hocket.json"
local process = require "hocket.process"
local scopes = require "hocket.internal.endpoints.scopes"
local servers = require "served"

local PATIENCE = 300
t.limit = 1000

local project = {
  ["agents/sim.lua"] = [[
return function(q)
  if q.system:find "You ask" and q.last.role ~= "tool" then return { calls = { { name = "ask_user", arguments = { question = "Which city?" } } } } end
  if q.system:find "You file" and q.last.role ~= "tool" then return { calls = { { name = "write_file", arguments = { path = "rain.txt", content = "rain" } } } } end
  if q.system:find "You wait" then return { text = "late", latency = 600 } end
  return { text = "I say: " .. q.last.text, usage = { input = 1000, output = 1000 } }
end
]],
  ["agents/poet.md"] = "---\nname: poet\ndescription: Writes poems\n---\nYou write poems.",
  ["agents/guide.md"] = "---\nname: guide\ndescription: Asks first\ntools: [ask_user]\n---\nYou ask before you answer.",
  ["agents/clerk.md"] = "---\nname: clerk\ndescription: Writes files\ntools: [write_file]\n---\nYou file what comes.",
  ["agents/slow.md"] = "---\nname: slow\ndescription: Takes long\n---\nYou wait.",
}

local function folder()
  local dir = t.dir()
  for name, text in pairs(project) do dir:write(name, text) end
  return dir
end

local function start(dir, ...)
  return servers.start(dir, "agents", "--model", "sim", "--trust", "--store", "runs.db", ...)
end

-- The command, in the home of the server. Returns what it prints, and its exit code.
local function hocket(dir, ...)
  local done = assert(process.run { argv = { process.launcher(), ... }, cwd = dir.path, sandbox = "limits", env = { "PATH=/usr/bin:/bin", "XDG_STATE_HOME=" .. dir.path .. "/state" } })
  return (done.stdout:gsub("%s+$", "")), done.code, done.stderr
end

local function token(dir, name, ...)
  local text, code, err = hocket(dir, "serve", "token", "create", "--name", name, ...)
  t.equal(code, 0, err)
  return text
end

-- The same server with another token.
local function as(s, text)
  return setmetatable({ token = text, close = function() end }, { __index = s })
end

local function begin(s, agent, options)
  local answer = s:post("/api/runs", { target = agent, input = "rain", options = options })
  t.equal(answer.status, 201, answer.body)
  return answer.value.id
end

local function state(s, id) return (s:get("/api/runs/" .. id).value or {}).state end
local function until_state(s, id, wanted)
  t.eventually(function() return state(s, id) == wanted end, PATIENCE, "never " .. wanted)
end

-- ---- Endpoints ----------------------------------------------------------------------------------------

-- In the router of a server with all interfaces.
local function endpoints()
  local routers = require "hocket.internal.endpoints.router"
  local nothing = function() end
  local server = setmetatable({ router = routers.new(), desk = { on_begin = nothing, on_end = nothing }, page = {} }, { __index = function() return nothing end })
  for _, add in ipairs(require "hocket.internal.endpoints.interfaces") do add(server) end
  return server.router:list()
end

t.test("each endpoint has a row that says which scope it needs, and each row is of an endpoint", function()
  local left = {}
  for key in pairs(scopes.all()) do left[key] = true end
  local list = endpoints()
  t.ok(#list > 50, #list)
  for _, key in ipairs(list) do
    t.ok(left[key], key .. " has no row in endpoints/scopes.lua")
    left[key] = nil
  end
  t.equal(next(left), nil, "a row of no endpoint")
end)

local function path_of(form, run)
  return (form:gsub("{name}", "poet"):gsub("{id}", run):gsub("{[%w_]+}", "none"))
end

local function has(row, granted)
  if row == "any" or row == "public" then return true end
  for _, scope in ipairs(type(row) == "table" and row or { row }) do
    if granted[scope] then return true end
  end
  return false
end

t.test("tokens x endpoints: a missing scope is 403 with its name, no token 401", function()
  local dir <close> = folder()
  local tokens = {}
  for _, scope in ipairs(client_tokens.SCOPES) do tokens[scope] = token(dir, scope, "--scope", scope) end
  local s <close> = start(dir)
  local run, tried = begin(s, "poet"), 0
  until_state(s, run, "done")
  local nobody = as(s, "none-that-was-ever-made")
  for key, row in pairs(scopes.all()) do
    local method, form = key:match "^(%u+) (.*)$"
    local path = path_of(form, run)
    local streams = row ~= "public" and (form:find "events$" or key == "GET /mcp")
    local body = method == "POST" and "{}" or nil
    local headers = body and { ["content-type"] = "application/json" }
    t.equal(nobody:ask(method, path, body, headers).status == 401, row ~= "public", key .. " without a token")
    for scope, text in pairs(tokens) do
      local may = has(row, client_tokens.granted { scope })
      if not (may and (streams or method == "DELETE")) then
        local answer = as(s, text):ask(method, path, body, headers)
        local said = answer.status == 403 and (answer.headers["www-authenticate"] or ""):match 'insufficient_scope", scope="([%w-]+)"'
        t.equal(said or nil, not may and (type(row) == "table" and row[1] or row) or nil, ("%s with scope %s: %d %s"):format(key, scope, answer.status, answer.body))
        t.ok(may or answer.body:find(said, 1, true), "the body names the scope")
        tried = tried + 1
      end
    end
  end
  t.ok(tried > 300, tried)
  t.equal(state(s, run), "done")
end)

-- ---- Whose a run is -------------------------------------------------------------------------------------

-- Every door by which a run could be read, continued, changed or ended, as {method, path, body}.
local function doors(run)
  local of = "/api/runs/" .. run
  local chat = { model = "guide", messages = { { role = "user", content = "x" }, { role = "assistant", tool_calls = { { id = "call_" .. run .. "_c1", type = "function", ["function"] = { name = "f", arguments = "{}" } } } },
    { role = "tool", tool_call_id = "call_" .. run .. "_c1", content = "x" } } }
  return {
    { "GET", of }, { "GET", of .. "/records" }, { "GET", of .. "/events" }, { "GET", of .. "/snapshot" }, { "GET", of .. "/files" }, { "GET", of .. "/prompts?op=1" },
    { "POST", of .. "/answers", { question = "q1", text = "blue" } }, { "POST", of .. "/say", { text = "x" } }, { "POST", of .. "/signals", { name = "x", value = 1 } },
    { "POST", of .. "/stop" }, { "POST", of .. "/interrupt" }, { "POST", of .. "/park" }, { "POST", of .. "/change", { max_turns = 2 } },
    { "POST", of .. "/resume" }, { "POST", of .. "/fork", {} }, { "POST", of .. "/cancel" }, { "DELETE", of },
    { "GET", "/v1/responses/resp_" .. run .. "_1_0" }, { "GET", "/v1/responses/resp_" .. run .. "_1_0/input_items" }, { "POST", "/v1/responses/resp_" .. run .. "_1_0/cancel" },
    { "DELETE", "/v1/responses/resp_" .. run .. "_1_0" }, { "GET", "/v1/conversations/conv_" .. run }, { "GET", "/v1/conversations/conv_" .. run .. "/items" }, { "DELETE", "/v1/conversations/conv_" .. run },
    { "POST", "/v1/responses", { model = "guide", input = "x", previous_response_id = "resp_" .. run .. "_1_0" } }, { "POST", "/v1/responses", { model = "guide", input = "x", conversation = "conv_" .. run } },
    { "POST", "/agui/guide", { threadId = "t", runId = "r", messages = {}, tools = {}, state = {}, context = {}, forwardedProps = {}, resume = { { interruptId = run .. "_q1", status = "resolved", payload = { answer = "blue" } } } } },
    { "POST", "/a2a/guide", { jsonrpc = "2.0", id = 1, method = "message/send", params = { message = { kind = "message", messageId = "m", role = "user", contextId = run, parts = { { kind = "text", text = "x" } } } } } },
    chat = chat,
  }
end

-- What another client's run says to one who may not have it: nothing.
local function held(s, run)
  for _, door in ipairs(doors(run)) do
    local answer = s:ask(door[1], door[2], door[3] and json.encode(door[3]) or door[1] == "POST" and "{}" or nil, { ["content-type"] = "application/json" })
    local text = ("%s %s: %d %s"):format(door[1], door[2], answer.status, answer.body)
    t.ok(answer.status >= 400 or answer.body:find '"error"', text)
    t.ok(not answer.body:find("rain", 1, true) and not answer.body:find("Which city", 1, true), text)
  end
  t.equal(#s:get("/api/runs").value.runs, 0)
  t.equal(#s:get("/api/inbox").value.open, 0)
end

t.test("a run is its token's, the owner's, and of who manages, also after a restart", function()
  local dir <close> = folder()
  local ann, eve, boss = token(dir, "ann"), token(dir, "eve"), token(dir, "boss", "--scope", "manage")
  local reader, helper = token(dir, "reader", "--scope", "read-all", "--scope", "run"), token(dir, "helper", "--scope", "answer")
  local run, mine
  do
    local s <close> = start(dir)
    run = begin(as(s, ann), "guide", { conversation = true })
    mine = begin(s, "guide", { conversation = true })
    for _, id in ipairs { run, mine } do until_state(s, id, "waiting") end
    held(as(s, eve), run)
    held(as(s, eve), mine)
    t.equal(state(as(s, ann), run), "waiting")
    t.equal(state(as(s, reader), mine), "waiting")
    local answer = as(s, reader):post("/api/runs/" .. run .. "/cancel")
    t.equal(answer.status, 403)
    t.ok(answer.body:find "'manage'", answer.body)
    t.equal(#as(s, helper):get("/api/inbox").value.open, 2)
    s:stop()
  end
  local s <close> = start(dir)
  t.equal(state(s, run), "parked")
  held(as(s, eve), run)
  held(as(s, eve), mine)
  t.equal(as(s, ann):post("/api/runs/" .. mine .. "/resume").status, 404)
  t.equal(state(as(s, ann), run), "parked")
  -- answering is not continuing: what is answered lies in the store until somebody continues the run
  t.equal(as(s, helper):post("/api/runs/" .. mine .. "/answers", { question = "q1", text = "Rome" }).value.here, false)
  t.equal(state(s, mine), "parked")
  t.equal(as(s, ann):post("/api/runs/" .. run .. "/answers", { question = "q1", text = "Rome" }).value.here, true)
  until_state(s, run, "waiting")
  local fork = as(s, ann):post("/api/runs/" .. run .. "/fork", { resume = false })
  t.equal(fork.status, 201, fork.body)
  t.equal(state(as(s, ann), fork.value.id), "forked")
  t.equal(state(as(s, eve), fork.value.id), nil)
  t.equal(as(s, boss):post("/api/runs/" .. mine .. "/resume").status, 202)
  until_state(s, mine, "waiting")
  t.equal(as(s, boss):post("/api/runs/" .. run .. "/cancel").status, 202)
end)

t.test("who may answer another's run and not continue it says yes or no to a call: no other arguments, and no always", function()
  local dir <close> = folder()
  local ann, helper, boss = token(dir, "ann"), token(dir, "helper", "--scope", "answer"), token(dir, "boss", "--scope", "manage")
  local more = { 'edit {"path":"evil.txt","content":"x"}', ' edit {"path":"evil.txt","content":"x"}', "always", "Always!", "yes, but elsewhere" }
  local kept
  do
    local s <close> = start(dir, "--approve", "ask")
    local function say(who, run, text) return as(s, who):post("/api/runs/" .. run .. "/answers", { question = "a1", text = text }) end
    local mine = begin(s, "clerk")
    until_state(s, mine, "waiting")
    for _, text in ipairs(more) do t.equal(say(helper, mine, text).status, 403, text) end
    t.has(say(helper, mine, more[1]).body, "'manage'")
    t.equal(state(s, mine), "waiting")
    t.equal(say(helper, mine, "allow").status, 202)
    until_state(s, mine, "done")
    local hers = begin(as(s, ann), "clerk")
    until_state(s, hers, "waiting")
    t.equal(say(helper, hers, more[1]).status, 403)
    t.equal(say(ann, hers, 'edit {"path":"ann.txt","content":"x"}').status, 202)
    until_state(s, hers, "done")
    t.ok(fs.info(dir.path .. "/ann.txt") and fs.info(dir.path .. "/rain.txt"))
    kept = begin(s, "clerk")
    until_state(s, kept, "waiting")
    s:stop()
  end
  -- in the store, too
  local s <close> = start(dir, "--approve", "ask")
  local of = "/api/runs/" .. kept .. "/answers"
  for _, text in ipairs(more) do t.equal(as(s, helper):post(of, { question = "a1", text = text }).status, 403, text) end
  t.equal(state(s, kept), "parked")
  t.equal(as(s, boss):post(of, { question = "a1", text = 'edit {"path":"boss.txt","content":"x"}' }).status, 202)
  until_state(s, kept, "done")
  t.ok(fs.info(dir.path .. "/boss.txt"))
  t.equal(fs.info(dir.path .. "/evil.txt"), nil)
end)

t.test("serve --all-runs lets every token with the scope run continue all", function()
  local dir <close> = folder()
  local eve = token(dir, "eve")
  local s <close> = start(dir, "--all-runs")
  local run = begin(s, "guide", { conversation = true })
  until_state(s, run, "waiting")
  t.equal(as(s, eve):post("/api/runs/" .. run .. "/answers", { question = "q1", text = "Rome" }).status, 202)
  t.equal(as(s, eve):post("/api/runs/" .. run .. "/cancel").status, 202)
end)

t.test("a run that was begun on the command line, or imported, is the owner's", function()
  local dir <close> = folder()
  local ann = token(dir, "ann")
  local id = ann:match "^hkt_(%w+)_"
  local of = { options = ('{"serve":{"token":"%s"}}'):format(id) }
  t.equal(caller.token_of(of), id)
  of.generation = "import 01KANC3V0QZJ9E4W2X6T8B5M7R"
  t.equal(caller.token_of(of), nil)
  for _, options in ipairs { "", "[]", '{"serve":1}', '{"serve":{"token":{}}}', "x" } do t.equal(caller.token_of { options = options }, nil) end
  local made, code, err = hocket(dir, "run", "--store", "runs.db", "--model", "sim", "--trust", "agents/poet.md", "hello")
  t.equal(code, 0, made .. err)
  local s <close> = start(dir)
  local runs = s:get("/api/runs").value.runs
  t.equal(#runs, 1)
  t.equal(#as(s, ann):get("/api/runs").value.runs, 0)
  t.equal(as(s, ann):post("/api/runs/" .. runs[1].id .. "/fork", { latest = true }).status, 404)
end)

t.test("keys of commands, conversations that are made first and events are each token's own", function()
  local dir <close> = folder()
  local ann, eve = token(dir, "ann"), token(dir, "eve")
  local s <close> = start(dir)
  local key = { ["idempotency-key"] = "one" }
  local first = as(s, ann):post("/api/runs", { target = "poet", input = "rain" }, key)
  local second = as(s, eve):post("/api/runs", { target = "poet", input = "rain" }, key)
  t.equal(second.status, 201, second.body)
  t.ok(first.value.id ~= second.value.id)
  t.equal(as(s, ann):post("/api/runs", { target = "poet", input = "rain" }, key).value.id, first.value.id)
  local conversation = as(s, ann):post("/v1/conversations", { items = { { role = "user", content = "secret" } } }).value.id
  t.equal(as(s, eve):get("/v1/conversations/" .. conversation).status, 404)
  t.equal(as(s, ann):get("/v1/conversations/" .. conversation).status, 200)
  local feed <close> = as(s, eve):events "/api/events"
  local foreign = begin(as(s, ann), "poet")
  until_state(s, foreign, "done")
  local own, told = begin(as(s, eve), "poet"), nil
  repeat
    told = json.decode(feed:next().data).id
    t.ok(told ~= foreign and told ~= first.value.id, "another's run is told of")
  until told == own
end)

-- ---- Limits ---------------------------------------------------------------------------------------------

t.test("a token runs its agents alone, as often as its rate lets it", function()
  local dir <close> = folder()
  local ann = token(dir, "ann", "--agent", "poet", "--scope", "run", "--rate", "2/h")
  local s <close> = start(dir)
  local a = as(s, ann)
  t.equal(#a:get("/api/agents").value.agents, 1)
  t.equal(#a:get("/v1/models").value.data, 1)
  t.equal(a:post("/api/runs", { target = "guide" }).status, 404)
  t.equal(a:post("/v1/chat/completions", { model = "guide", messages = { { role = "user", content = "x" } } }).status, 404)
  for _ = 1, 2 do t.equal(a:post("/v1/chat/completions", { model = "poet", messages = { { role = "user", content = "x" } } }).status, 200) end
  local answer = a:post("/v1/chat/completions", { model = "poet", messages = { { role = "user", content = "x" } } })
  t.equal(answer.status, 429, answer.body)
  t.ok(tonumber(answer.headers["retry-after"]) > 60)
  t.equal(s:post("/v1/chat/completions", { model = "poet", messages = { { role = "user", content = "x" } } }).status, 200)
end)

t.test("a token of some agents reads no runs of others, whatever its scopes", function()
  local dir <close> = folder()
  local ann, all = token(dir, "ann", "--agent", "poet", "--scope", "manage"), token(dir, "all", "--scope", "read-all")
  local s <close> = start(dir)
  local run, own = begin(s, "guide"), begin(s, "poet")
  until_state(s, run, "waiting")
  until_state(s, own, "done")
  t.equal(as(s, all):get("/api/runs/" .. run).status, 200)
  t.equal(as(s, ann):get("/api/runs/" .. own).status, 200)
  for _, path in ipairs { "", "/records", "/events", "/snapshot", "/files", "/prompts?op=o1" } do t.equal(as(s, ann):get(("/api/runs/%s%s"):format(run, path)).status, 404, path) end
  t.equal(#as(s, ann):get("/api/runs").value.runs, 1)
  t.equal(#as(s, ann):get("/api/inbox").value.open, 0)
end)

t.test("what a token has used of its day counts after a restart, and its runs have what is left", function()
  local dir <close> = folder()
  local ann = token(dir, "ann", "--budget", "2/day")
  local id = ann:match "^hkt_(%w+)_"
  local day = os.date "!%Y-%m-%d"
  local used = ("%s/state/hocket/serve-tokens/%s.before.used"):format(dir.path, id)
  assert(fs.write(used, json.encode { day = day, cost = 1.5 }))
  local s <close> = start(dir)
  local run = begin(as(s, ann), "poet")
  until_state(s, run, "done")
  t.equal(s:get("/api/runs/" .. run).value.options.budget.cost, 0.5)
  assert(fs.write(used, json.encode { day = day, cost = 2 }))
  local answer = as(s, ann):post("/api/runs", { target = "poet", input = "x" })
  if os.date "!%Y-%m-%d" == day then
    t.equal(answer.status, 429, answer.body)
    t.ok(answer.body:find "budget", answer.body)
  end
end)

-- ---- Its end ---------------------------------------------------------------------------------------------

t.test("a token that is revoked ends with its streams; its runs go on", function()
  local dir <close> = folder()
  local ann, eve = token(dir, "ann"), token(dir, "eve")
  local s <close> = start(dir)
  local run = begin(as(s, ann), "slow")
  until_state(s, run, "running")
  local events <close> = as(s, ann):events("/api/runs/" .. run .. "/events")
  t.ok(events:next())
  local others <close> = as(s, eve):events "/api/events"
  t.equal(select(2, hocket(dir, "serve", "token", "revoke", "ann")), 0)
  local revoked = fiber.now()
  pcall(function() for _ in events:each() do end end)
  t.ok(fiber.now() - revoked < 60, "its stream ends")
  t.equal(as(s, ann):get("/api/runs").status, 401)
  t.equal(state(s, run), "running")
  begin(as(s, eve), "poet")
  t.ok(others:next(), "others' streams go on")
end)

t.test("no guess, link, foreign or broken file lets anybody in", function()
  local dir <close> = folder()
  local ann = token(dir, "ann")
  local id = ann:match "^hkt_(%w+)_"
  local at = dir.path .. "/state/hocket/serve-tokens/"
  local s <close> = start(dir)
  local function status(text) return as(s, text):get("/api").status end
  t.equal(status(ann), 200)
  local last = ann:sub(-1) == "a" and "b" or "a"
  for _, text in ipairs { ann:sub(1, -2) .. last, ann .. "a", ann:sub(1, -2), "hkt_" .. id .. "_" .. ("a"):rep(43), "hkt_../../../x_" .. ("a"):rep(43), "hkt_" .. ("a"):rep(12) .. "_" .. ("a"):rep(43) } do
    t.equal(status(text), 401, text)
  end
  local file = at .. id .. ".json"
  local whole = assert(fs.read(file))
  t.ok(not whole:find(ann:sub(-20), 1, true), "the token stands nowhere")
  local function try(text, wanted) assert(fs.write(file, text)); assert(process.run { argv = { "chmod", "600", file }, sandbox = "limits", cwd = dir.path }); t.equal(status(ann), wanted, text:sub(1, 80)) end
  try(whole, 200)
  try("", 401)
  try(whole:sub(1, 60), 401)
  try(whole:gsub('"run"', '"everything"'), 401)
  try(whole .. (" "):rep(100000), 401)
  try(whole, 200)
  assert(process.run { argv = { "chmod", "644", file }, sandbox = "limits", cwd = dir.path })
  t.equal(status(ann), 401)
  assert(process.run { argv = { "sh", "-c", 'mv "$0" x && chmod 600 x && ln -s "$PWD/x" "$0"', file }, sandbox = "limits", cwd = dir.path })
  t.equal(status(ann), 401)
  assert(process.run { argv = { "sh", "-c", 'rm "$0" && mv x "$0" && chmod 755 "$(dirname "$0")"', file }, sandbox = "limits", cwd = dir.path })
  t.equal(status(ann), 401)
  assert(process.run { argv = { "chmod", "700", at }, sandbox = "limits", cwd = dir.path })
  t.equal(status(ann), 200)
  local ended = json.decode(whole)
  ended.ends = 1
  try(json.encode(ended), 401)
end)

t.test("a client's token stands nowhere as it is, and is not in the log", function()
  local dir <close> = folder()
  local one = token(dir, "ada", "--agent", "poet")
  local s <close> = start(dir)
  begin(as(s, one), "poet")
  s:stop()
  local found = assert(process.run { argv = { "grep", "-rlF", one, "." }, cwd = dir.path, sandbox = "limits" })
  t.equal(found.stdout, "")
  t.equal(found.code, 1, found.stderr)
  found = assert(process.run { argv = { "grep", "-rlF", (hocket(dir, "serve", "token", "list", "--json"):match '"id":"([^"]+)"'), "state" }, cwd = dir.path, sandbox = "limits" })
  t.ok(found.stdout ~= "", "what is looked for would be found")
end)

t.test("two that make tokens at once both have theirs", function()
  local dir <close> = folder()
  local flow = require "hocket.flow"
  local jobs = {}
  for i = 1, 6 do jobs[i] = function() return token(dir, "t" .. i) end end
  flow.all(jobs)
  local list = json.decode((hocket(dir, "serve", "token", "list", "--json")))
  t.equal(#list.tokens, 6)
  t.equal(select(2, hocket(dir, "serve", "token", "create", "--name", "t1")), 1)
  t.equal(select(2, hocket(dir, "serve", "token", "create", "--name", "t7", "--scope", "all")), 2)
  t.equal(select(2, hocket(dir, "serve", "token", "create", "--name", "t7", "--budget", "5")), 2)
  t.equal(select(2, hocket(dir, "serve", "token", "create", "--name", "t7", "--rate", "0/min")), 2)
  t.equal(select(2, hocket(dir, "serve", "token", "create", "--name", "t7", "--expires", "2001-01-01")), 2)
  t.equal(select(2, hocket(dir, "serve", "token", "revoke", "nobody")), 1)
end)

return t.finish()
