-- Links for one question: what one opens at every door, that it answers once and until its end, and that its answer continues no run.
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local fs = require "hocket.fs"
local json = require "hocket.json"
local listeners = require "hocket.internal.core.server"
local process = require "hocket.process"
local scopes = require "hocket.internal.endpoints.scopes"
local servers = require "served"

local PATIENCE = 60
t.limit = 1000

local project = {
  ["agents/sim.lua"] = [[
return function(q)
  if q.last.role == "tool" then return "I heard: " .. q.last.text end
  if q.system:find "You ask" then return { calls = { { name = "ask_user", arguments = { question = "Which city?" } } } } end
  return { calls = { { name = "write_file", arguments = { path = "out.txt", content = "x" } } } }
end
]],
  ["agents/guide.md"] = "---\nname: guide\ndescription: Asks first\ntools: [ask_user]\n---\nYou ask before you answer.",
  ["agents/writer.md"] = "---\nname: writer\ndescription: Writes\ntools: [write_file]\n---\nYou write.",
}

local function folder()
  local dir = t.dir()
  for name, text in pairs(project) do dir:write(name, text) end
  return dir
end

local function start(dir, ...)
  return servers.start(dir, "agents", "--model", "sim", "--trust", "--store", "runs.db", ...)
end

local function hocket(dir, ...)
  local done = assert(process.run { argv = { process.launcher(), ... }, cwd = dir.path, sandbox = "limits", env = { "PATH=/usr/bin:/bin", "XDG_STATE_HOME=" .. dir.path .. "/state" } })
  return (done.stdout:gsub("%s+$", "")), done.code, done.stderr
end

local function link(dir, run, question, ...)
  local address, code, err = hocket(dir, "answer", run, question, "--link", "--store", "runs.db", ...)
  t.equal(code, 0, err)
  return assert(address:match "#answer=(hkl_[%w_]+)$"), address
end

local function as(s, text)
  return setmetatable({ token = text, close = function() end }, { __index = s })
end

local function state(s, id) return (s:get("/api/runs/" .. id).value or {}).state end
local function until_state(s, id, wanted)
  t.eventually(function() return state(s, id) == wanted end, PATIENCE, "never " .. wanted)
end

local function begin(s, agent)
  local answer = s:post("/api/runs", { target = agent, input = "rain" })
  t.equal(answer.status, 201, answer.body)
  until_state(s, answer.value.id, "waiting")
  return answer.value.id
end

local function say(s, token, run, question, text)
  return as(s, token):post(("/api/runs/%s/answers"):format(run), { question = question, text = text })
end

local function parked(dir)
  local s <close> = start(dir)
  local run = begin(s, "guide")
  s:stop()
  return run
end

t.test("a link shows its question, answers it once, and is of no use after that", function()
  local dir <close> = folder()
  local s <close> = start(dir)
  local run, other = begin(s, "guide"), begin(s, "guide")
  local token, address = link(dir, run, "q1", "--url", "https://agents.example.org")
  t.equal(address, "https://agents.example.org/#answer=" .. token)
  local open = as(s, token):get("/api/inbox").value.open
  t.equal(#open, 1)
  t.equal(open[1].run, run)
  t.equal(open[1].questions[1], "Which city?")
  t.equal(open[1].target, nil)
  for _, wrong in ipairs { { other, "q1" }, { run, "q2" }, { run, "a1" }, { run:sub(1, 10), "q1" }, { other, "q2" } } do
    local answer = say(s, token, wrong[1], wrong[2], "Rome")
    t.equal(answer.status, 403, answer.body)
  end
  t.equal(say(s, token, run, "q1", "").status, 400)
  local answer = say(s, token, run, "q1", "Rome")
  t.equal(answer.status, 202, answer.body)
  until_state(s, run, "done")
  t.ok(s:get("/api/runs/" .. run).value.result.text:find "Rome")
  local found = assert(process.run { argv = { "grep", "-rlF", token, "." }, cwd = dir.path, sandbox = "limits" })
  t.equal(found.stdout .. found.code, "1", "a link stands somewhere as it is")
  for _, again in ipairs { say(s, token, run, "q1", "Rome"), say(s, token, other, "q1", "Rome"), as(s, token):get "/api/inbox" } do
    t.equal(again.status, 410, again.body)
    t.ok(again.body:find "has been used", again.body)
  end
  t.equal(state(s, other), "waiting")
end)

local function path_of(form, run)
  return (form:gsub("{name}", "guide"):gsub("{id}", run):gsub("{[%w_]+}", "none"))
end

local opens = { ["GET /api/inbox"] = 200, ["POST /api/runs/{id}/answers"] = 400 }

t.test("a link opens no other endpoint, also where programs of this machine need no token", function()
  for _, option in ipairs { "--all-runs", "--no-token" } do
    local dir <close> = folder()
    local s <close> = start(dir, option)
    local run, tried = begin(s, "guide"), 0
    local token = link(dir, run, "q1")
    for key, row in pairs(scopes.all()) do
      local method, form = key:match "^(%u+) (.*)$"
      local body = method == "POST" and "{}" or nil
      if row ~= "public" then
        local answer = as(s, token):ask(method, path_of(form, run), body, body and { ["content-type"] = "application/json" })
        t.equal(answer.status, opens[key] or 403, ("%s %s: %s"):format(option, key, answer.body))
        t.ok(opens[key] or answer.body:find "opens nothing else", answer.body)
        tried = tried + 1
      end
    end
    t.ok(tried > 60, tried)
    t.equal(state(s, run), "waiting")
  end
end)

t.test("an answer by link lies in the store until somebody else continues the run", function()
  local dir <close> = folder()
  local run = parked(dir)
  local token = link(dir, run, "q1")
  local s <close> = start(dir)
  t.equal(#as(s, token):get("/api/inbox").value.open, 1)
  local answer = say(s, token, run, "q1", "Rome")
  t.equal(answer.status, 202, answer.body)
  t.equal(answer.value.here, false)
  t.equal(state(s, run), "parked")
  t.equal(say(s, token, run, "q1", "Oslo").status, 410)
  t.equal(select(2, hocket(dir, "answer", run, "q1", "Oslo", "--store", "runs.db")), 1, "it is answered")
  t.equal(s:post(("/api/runs/%s/resume"):format(run)).status, 202)
  until_state(s, run, "done")
  t.ok(s:get("/api/runs/" .. run).value.result.text:find "Rome")
end)

t.test("a link says allow or deny to a call, and no more", function()
  local dir <close> = folder()
  local s <close> = start(dir, "--approve", "ask")
  for text, wanted in pairs { allow = "done", ["deny: not today"] = "done" } do
    local run = begin(s, "writer")
    local token = link(dir, run, "a1")
    for _, more in ipairs { "always", "a", "Always!", 'edit {"path":"x","content":"y"}', ' edit {"path":"x","content":"y"}', "yes, but elsewhere", "maybe" } do
      local answer = say(s, token, run, "a1", more)
      t.equal(answer.status, 403, more .. answer.body)
    end
    t.equal(state(s, run), "waiting")
    t.equal(as(s, token):get("/api/inbox").value.open[1].always, nil)
    local answer = say(s, token, run, "a1", text)
    t.equal(answer.status, 202, answer.body)
    until_state(s, run, wanted)
  end
end)

t.test("of many that come at once with one link one is taken", function()
  local dir <close> = folder()
  local run = parked(dir)
  local token = link(dir, run, "q1")
  local one <close> = start(dir)
  local two <close> = start(dir)
  local jobs, counts = {}, {}
  for i = 1, 12 do
    jobs[i] = function()
      local status = say(i % 2 == 0 and one or two, token, run, "q1", "city " .. i).status
      counts[status] = (counts[status] or 0) + 1
    end
  end
  flow.all(jobs)
  t.equal(counts[202], 1, counts[410])
  t.equal(counts[410], 11)
end)

t.test("a link whose answer fails, is refused or cancelled on its way can be used again", function()
  local links = require "hocket.internal.serve.question_links"
  local token = assert(links.create("01M8M3VC3F0BW9NCK0XSZGCCWZ", { id = "q1", questions = { "Which city?" } }))
  local function use(say) return links.use(assert(links.find(token)), say) end
  local ok, raised = pcall(use, function() error("the store went away", 0) end)
  t.ok(not ok and raised == "the store went away", raised)
  local _, err = flow.timeout(0.01, function() return use(function() return flow.sleep(1000) end) end)
  t.equal(err.code, "timeout")
  _, err = use(function() return nil, { code = "state", message = "refused" } end)
  t.equal(err.message, "refused")
  local told, status = use(function() return { id = "x" }, 202 end)
  t.equal(told.id, "x")
  t.equal(status, 202)
  t.ok(select(2, links.find(token)).message:find "has been used")
end)

t.test("a link ends", function()
  local dir <close> = folder()
  local s <close> = start(dir)
  local run = begin(s, "guide")
  local token = link(dir, run, "q1", "--expires", "1s")
  t.eventually(function() return as(s, token):get("/api/inbox").status == 410 end, PATIENCE)
  local answer = say(s, token, run, "q1", "Rome")
  t.equal(answer.status, 410)
  t.ok(answer.body:find "has ended", answer.body)
  t.equal(state(s, run), "waiting")
  local files = dir.path .. "/state/hocket/question-links"
  t.equal(#fs.list(files), 1)
  link(dir, run, "q1")
  t.equal(#fs.list(files), 1, "what is over goes")
  for _, wrong in ipairs { { "a1", "--link" }, { "q1", "--link", "--expires", "60d" }, { "q1", "--link", "--expires", "2001-01-01" }, { "q1", "--link", "--url", "agents.example.org" },
    { "q1", "--link", "--allow" }, { "q1", "--url", "https://x.example" } } do
    t.ok(select(2, hocket(dir, "answer", run, table.unpack(wrong))) ~= 0, table.concat(wrong, " "))
  end
end)

t.test("no guess, other question, foreign or broken file answers anything", function()
  local dir <close> = folder()
  local s <close> = start(dir)
  local run = begin(s, "guide")
  local token = link(dir, run, "q1")
  local file = ("%s/state/hocket/question-links/%s.json"):format(dir.path, token:match "^hkl_(%w+)_%w+$")
  local whole = assert(fs.read(file))
  t.ok(not whole:find(token:sub(-20), 1, true), "the token stands nowhere")
  t.ok(fs.info(file).private)
  local function status(text) return as(s, text):get("/api/inbox").status end
  local last = token:sub(-1) == "a" and "b" or "a"
  local later = token:gsub("^hkl_(%d+)", function(ends) return ("hkl_%010d"):format(ends + 3600) end)
  for _, text in ipairs { token:sub(1, -2) .. last, token .. "a", token:sub(1, -2), later, (token:gsub("^hkl", "hkt")), "hkl_../../../../../x_" .. ("a"):rep(43) } do t.equal(status(text), 401, text) end
  local function try(text, wanted)
    assert(fs.write(file, text))
    assert(process.run { argv = { "chmod", "600", file }, sandbox = "limits", cwd = dir.path })
    t.equal(status(token), wanted, text:sub(1, 60))
  end
  try("", 401)
  try(whole:sub(1, 40), 401)
  local said = json.decode(whole)
  said.asks = ("0"):rep(64)
  try(json.encode(said), 410)
  t.equal(say(s, token, run, "q1", "Rome").status, 410)
  try(whole, 200)
  assert(process.run { argv = { "chmod", "644", file }, sandbox = "limits", cwd = dir.path })
  t.equal(status(token), 401)
  try(whole, 200)
  t.equal(s:post(("/api/runs/%s/answers"):format(run), { question = "q1", text = "Oslo" }).status, 202)
  until_state(s, run, "done")
  t.equal(status(token), 410, "it was answered otherwise")
  t.equal(say(s, token, run, "q1", "Rome").status, 410)
end)

t.test("a webhook's question has a link where --answer-url says so", function()
  local dir <close> = folder()
  local listener, got = assert(listeners.new { port = 0 }), {}
  local closing <close> = setmetatable({}, { __close = function() listener:close() end })
  fiber.spawn(function()
    while true do
      local http = listener:accept()
      if not http then return end
      got[#got + 1] = json.decode(http.body)
      listener:respond(http.id, 200, {}, "")
    end
  end):serve()
  local hook = ("http://127.0.0.1:%d/hook"):format(listener:port())
  local s <close> = start(dir, "--webhook", hook, "--answer-url", "https://agents.example.org")
  local run = begin(s, "guide")
  t.eventually(function() return #got == 1 end, PATIENCE)
  t.equal(got[1].type, "run.question", json.encode(got[1]) .. s.program:stderr())
  t.ok(got[1].data.link, json.encode(got[1]) .. s.program:stderr())
  local token = got[1].data.link:match "^https://agents%.example%.org/#answer=(hkl_[%w_]+)$"
  t.ok(got[1].data.link_ends:find "^%d+%-%d+%-%d+T")
  t.equal(say(s, token, run, "q1", "Rome").status, 202)
  t.eventually(function() return #got == 2 end, PATIENCE)
  t.equal(got[2].data.link, nil)
  s:stop()
  local plain <close> = start(dir, "--webhook", hook)
  begin(plain, "guide")
  t.eventually(function() return #got == 3 end, PATIENCE)
  t.equal(got[3].data.link, nil)
end)

return t.finish()
