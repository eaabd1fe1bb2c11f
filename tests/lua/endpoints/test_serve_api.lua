-- /api of `hocket serve`, by what its OpenAPI document says of it: every answer in here is held against that.
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local process = require "hocket.process"
local schema = require "hocket.schema"
local servers = require "served"

--- Seconds: of what is waited for, and of a case.
local PATIENCE = 900
t.limit = 1000

local model = [[
return function(q)
  local text = q.last.text
  if q.system:find "You ask" and q.last.role ~= "tool" then
    return { calls = { { name = "ask_user", arguments = { question = "Which city?" } } } }
  end
  if q.system:find "You act" and q.last.role ~= "tool" then
    return { calls = { { name = "write_file", arguments = { path = "made.txt", content = "made" } } } }
  end
  if q.system:find "You turn" then return { calls = { { name = "list_directory", arguments = { path = "." } } } } end
  if q.system:find "You wait" then return { text = "late", latency = q.last.text == "short" and 1 or 600 } end
  return "I say: " .. text
end
]]

local files = {
  ["agents/sim.lua"] = model,
  ["agents/poet.md"] = "---\nname: poet\ndescription: Writes poems\n---\nYou write poems.",
  ["agents/guide.md"] = "---\nname: guide\ndescription: Asks first\ntools: [ask_user]\n---\nYou ask before you answer.",
  ["agents/clerk.md"] = "---\nname: clerk\ndescription: Writes files\ntools: [write_file]\n---\nYou act.",
  ["agents/turner.md"] = "---\nname: turner\ndescription: Never ends\ntools: [list_directory]\n---\nYou turn.",
  ["agents/slow.md"] = "---\nname: slow\ndescription: Takes long\n---\nYou wait.",
}

local function project()
  local dir = t.dir()
  for name, text in pairs(files) do dir:write(name, text) end
  return dir
end

local function start(dir, ...)
  return servers.start(dir, "agents", "--model", "sim", "--trust", ...)
end

-- ---- The document -----------------------------------------------------------------------------------

local document = json.decode(require("hocket.internal.endpoints.openapi").document())

-- A schema as one whole: what it refers to stands in it.
local function whole(node)
  if type(node) ~= "table" then return node end
  local name = node["$ref"] and node["$ref"]:match "^#/components/%w+/(%w+)$"
  if name then return whole(document.components.schemas[name]) end
  local copy = json.is_array(node) and json.array {} or {}
  for key, value in pairs(node) do copy[key] = whole(value) end
  return copy
end

local compiled = {}

-- Holds an answer against what the document says of it.
local function check(method, path, answer)
  local operation = document.paths[path] and document.paths[path][method:lower()]
  if not operation then error(("the document has no %s %s"):format(method, path), 3) end
  local said = operation.responses[tostring(answer.status)]
  if not said then error(("%s %s: the document knows no answer %d: %s"):format(method, path, answer.status, answer.body), 3) end
  if said["$ref"] then said = document.components.responses.Failed end
  local content = said.content and said.content["application/json"]
  if not content then return answer end
  local key = method .. path .. answer.status
  compiled[key] = compiled[key] or assert(schema.compile(json.encode(whole(content.schema))))
  local ok, wrong = compiled[key]:check(answer.value)
  if not ok then error(("%s %s: %s: %s"):format(method, path, wrong.message or tostring(wrong), answer.body), 3) end
  return answer
end

local function pattern(path)
  return path:gsub("/01[%w]+", "/{id}"):gsub("/files/%x+$", "/files/{hash}"):gsub("%?.*", "")
end

local function get(s, path) return check("GET", pattern(path), s:get(path)) end
local function post(s, path, value, headers) return check("POST", pattern(path), s:post(path, value, headers)) end

local function begin(s, target, input, options)
  local answer = post(s, "/api/runs", { target = target, input = input, options = options })
  t.equal(answer.status, 201, answer.body)
  return answer.value.id
end

local function until_state(s, id, state)
  local one
  t.eventually(function()
    one = get(s, "/api/runs/" .. id).value
    return one.state == state
  end, PATIENCE, "never " .. state)
  return one
end

-- ---- Cases ----------------------------------------------------------------------------------------------

t.test("the document names what the server has, and nothing else", function()
  local routers = require "hocket.internal.endpoints.router"
  local server = { router = routers.new(), desk = { on_begin = function() end, on_end = function() end }, make_public = function() end }
  require "hocket.internal.endpoints.api"(server)
  local has = {}
  for _, line in ipairs(server.router:list()) do has[line] = true end
  for path, item in pairs(document.paths) do
    for method in pairs(item) do
      if method ~= "parameters" then
        local line = method:upper() .. " " .. path
        t.ok(has[line], "the server has no " .. line)
        has[line] = nil
      end
    end
  end
  t.equal(next(has), nil, "not in the document")
end)

t.test("a client may have less than the server's limits, and no more", function()
  local dir <close> = project()
  local s <close> = start(dir, "--max-turns", "3")
  for _, case in ipairs { { nil, 3 }, { 50, 3 }, { 2, 2 } } do
    local id = begin(s, "turner", "go", { max_turns = case[1] })
    t.equal(until_state(s, id, "failed").result.usage.calls, case[2])
  end
  local id = begin(s, "slow", "long", { max_turns = 2 })
  until_state(s, id, "running")
  t.equal(post(s, "/api/runs/" .. id .. "/change", { max_turns = 50 }).status, 202)
  local events <close> = s:events(("/api/runs/%s/events"):format(id))
  for event in events:each() do
    local said = json.decode(event.data)
    if said.type == "run_changed" then t.equal(said.max_turns, 3) break end
  end
end)

t.test("runs begin, are told of, and have their records", function()
  local dir <close> = project()
  local s <close> = start(dir)
  t.equal(#get(s, "/api/agents").value.agents, 5)
  t.equal(get(s, "/api").value.kept, true)
  local id = begin(s, "poet", "rain")
  local one = until_state(s, id, "done")
  t.equal(one.agent, "poet")
  t.equal(one.input, "rain")
  t.equal(get(s, "/api/runs").value.runs[1].id, id)
  t.equal(#get(s, "/api/runs?state=failed").value.runs, 0)
  t.equal(#get(s, "/api/runs?search=RAIN").value.runs, 1)
  t.equal(#get(s, "/api/runs?search=snow").value.runs, 0)
  for _, word in ipairs { "sun", "wind rain" } do until_state(s, begin(s, "poet", word), "done") end
  local found = get(s, "/api/runs?search=rain&limit=1").value -- what is not found does not count for the page
  t.equal(found.runs[1].input, "wind rain")
  t.equal(found.more, true)
  found = get(s, "/api/runs?search=rain&limit=1&before=" .. found.before).value
  t.equal(found.runs[1].id, id)
  t.equal(found.more, false)
  local page = get(s, ("/api/runs/%s/records?limit=3"):format(id)).value
  t.equal(#page.records, 3)
  t.equal(page.records[1].type, "workflow_started")
  t.equal(get(s, ("/api/runs/%s/records?from=%d"):format(id, page.next)).value.records[1].seq, 4)
  local told = get(s, ("/api/runs/%s/snapshot"):format(id)).value
  t.equal(told.answer, "I say: rain")
  t.equal(get(s, ("/api/runs/%s/snapshot?at=2"):format(id)).value.at, 2)
  t.equal(get(s, ("/api/runs/%s/snapshot?at=9999"):format(id)).status, 400)
  local list = get(s, ("/api/runs/%s/files"):format(id)).value.files
  local poet
  for _, file in ipairs(list) do poet = file.path:find "poet" and file or poet end
  t.has(get(s, ("/api/runs/%s/files/%s"):format(id, poet.hash)).body, "You write poems")
  local again = s:get(("/api/runs/%s/files/%s"):format(id, poet.hash), { ["if-none-match"] = '"' .. poet.hash .. '"' })
  t.equal(again.status, 304)
  t.equal(again.body, "")
  t.equal(s:get(("/api/runs/%s/files/%s"):format(id, poet.hash), { range = "bytes=0-2" }).body, "---")
  t.equal(get(s, ("/api/runs/%s/files/%s"):format(id, ("0"):rep(64))).status, 404)
  t.equal(check("DELETE", "/api/runs/{id}", s:ask("DELETE", "/api/runs/" .. id)).status, 204)
  t.equal(get(s, "/api/runs/" .. id).status, 404)
end)

t.test("what is wrong with a request is told", function()
  local dir <close> = project()
  local s <close> = start(dir)
  local function refused(status, part, answer)
    t.equal(answer.status, status, answer.body)
    t.has(answer.value.error.message, part)
  end
  refused(404, "did you mean 'poet'", post(s, "/api/runs", { target = "poem" }))
  refused(400, "target", post(s, "/api/runs", {}))
  refused(400, "no JSON", post(s, "/api/runs", "{"))
  refused(400, "one JSON object", post(s, "/api/runs", "[]"))
  refused(400, "no field 'targets'", post(s, "/api/runs", { targets = "poet" }))
  refused(400, "has no 'approve'", post(s, "/api/runs", { target = "poet", input = "x", options = { approve = "allow" } }))
  refused(400, "has no 'workdir'", post(s, "/api/runs", { target = "poet", input = "x", options = { workdir = "/" } }))
  refused(400, "bad option 'model'", post(s, "/api/runs", { target = "poet", input = "x", options = { model = "nobody" } }))
  refused(415, "Content-Type", post(s, "/api/runs", { target = "poet" }, { ["content-type"] = "text/plain" }))
  refused(404, "", get(s, "/api/runs/01AAAAAAAAAAAAAAAAAAAAAAAA"))
  refused(400, "'limit'", get(s, "/api/runs?limit=0"))
  refused(400, "no state", get(s, "/api/runs?state=bored"))
  t.equal(s:get("/api/runs/%2e%2e%2fx").status, 400)
  t.equal(s:get("/api/nothing").status, 404)
end)

t.test("with a run that is cancelled ends what it has submitted", function()
  local dir <close> = project()
  dir:write("jobs.lua", [[
    local hocket = require "hocket"
    assert(hocket.submit("agents/poet.md", "rain", { pool = "nobody" }))
    return hocket.ask "On?"
  ]])
  local s <close> = servers.start(dir, "agents", "jobs.lua", "--model", "sim", "--trust")
  local function states()
    local list = {}
    for _, run in ipairs(get(s, "/api/runs").value.runs) do list[#list + 1] = run.state end
    table.sort(list)
    return table.concat(list, " ")
  end
  local id = begin(s, "jobs", "go")
  t.eventually(function() return #get(s, "/api/inbox").value.open == 1 end, PATIENCE)
  t.has(states(), "queued")
  t.equal(post(s, ("/api/runs/%s/cancel"):format(id)).status, 202)
  until_state(s, id, "cancelled")
  t.equal(states(), "cancelled cancelled")
end)

t.test("a stream begins again where it was left, without a gap", function()
  local dir <close> = project()
  local s <close> = start(dir)
  local id = begin(s, "poet", "rain", { conversation = true })
  until_state(s, id, "waiting")
  local seen, last = {}, 0
  do
    local events <close> = s:events(("/api/runs/%s/events"):format(id))
    for event in events:each() do
      seen[#seen + 1] = tonumber(event.id)
      if json.decode(event.data).type == "input_requested" then break end
    end
  end
  t.equal(post(s, ("/api/runs/%s/say"):format(id), { text = "snow" }).status, 202)
  t.equal(post(s, ("/api/runs/%s/cancel"):format(id)).status, 202)
  local events <close> = s:events(("/api/runs/%s/events"):format(id), { ["last-event-id"] = tostring(seen[#seen]) })
  local ended
  for event in events:each() do
    if event.event == "end" then ended = json.decode(event.data) else seen[#seen + 1] = tonumber(event.id) end
  end
  for i, n in ipairs(seen) do
    t.equal(n, last + 1)
    last = i
  end
  t.equal(ended.at, last)
  until_state(s, id, "cancelled")
  t.equal(s:get(("/api/runs/%s/events"):format(id), { ["last-event-id"] = tostring(last) }).status, 204, "nothing comes any more")
  t.equal(s:get(("/api/runs/%s/events"):format(id), { ["last-event-id"] = "x" }).status, 400)
end)

t.test("text comes as it is streamed, between the records", function()
  local dir <close> = project()
  local s <close> = start(dir)
  local id = begin(s, "guide", "go")
  local events <close> = s:events(("/api/runs/%s/events?deltas=1"):format(id))
  local texts, asked = {}, false
  for event in events:each() do
    local data = json.decode(event.data)
    if event.event == "delta" then texts[#texts + 1] = data.text end
    if data.type == "question_asked" then
      asked = true
      t.equal(get(s, "/api/inbox").value.open[1].run, id)
      t.equal(post(s, ("/api/runs/%s/answers"):format(id), { question = data.id, text = "Rome" }).status, 202)
    end
  end
  t.ok(asked)
  t.has(table.concat(texts), "I say: ")
  t.equal(until_state(s, id, "done").state, "done")
  t.equal(#get(s, "/api/inbox").value.open, 0)
end)

t.test("what changes of all runs is told, and again to who was away", function()
  local dir <close> = project()
  local s <close> = start(dir)
  local states, last, id = {}, nil, nil
  local function hear(events)
    local event = events:next()
    local run = json.decode(event.data)
    if event.event == "run" then
      t.equal(run.id, id)
      last = event.id
      if states[#states] ~= run.state then states[#states + 1] = run.state end
    else
      states[#states + 1] = event.event
    end
  end
  do
    local events <close> = s:events "/api/events"
    id = begin(s, "guide", "go")
    repeat hear(events) until states[#states] == "waiting"
  end
  local question = get(s, "/api/inbox").value.open[1].id
  t.equal(post(s, ("/api/runs/%s/answers"):format(id), { question = question, text = "Rome" }).status, 202)
  until_state(s, id, "done")
  local events <close> = s:events("/api/events", { ["last-event-id"] = last })
  repeat hear(events) until states[#states] == "done"
  t.matches(table.concat(states, " "), "waiting .*done$") -- it may be quicker than who tells of it
  local other <close> = s:events("/api/events", { ["last-event-id"] = "nobody-7" })
  hear(other)
  t.equal(states[#states], "resync")
end)

t.test("an approval is answered, and what it is for is shown", function()
  local dir <close> = project()
  local s <close> = start(dir)
  local id = begin(s, "clerk", "go")
  local open
  t.eventually(function()
    open = get(s, "/api/inbox").value.open[1]
    return open ~= nil
  end, PATIENCE)
  t.equal(open.kind, "approval")
  t.equal(open.tool, "write_file")
  t.has(open.arguments, "made.txt")
  t.equal(post(s, ("/api/runs/%s/answers"):format(id), { question = open.id, text = "perhaps" }).status, 400, "it stays open")
  t.equal(post(s, ("/api/runs/%s/answers"):format(id), { question = "a99", text = "allow" }).status, 404)
  t.equal(post(s, ("/api/runs/%s/answers"):format(id), { question = open.id, text = "deny" }).status, 202)
  until_state(s, id, "done")
  t.equal(io.open(dir.path .. "/made.txt"), nil)
end)

-- Arguments in place of a call's own which its tool does not take: refused at once, and the question stays open.
local function refuses_edits(s, id, question)
  for arguments, path in pairs { ['{"path":7,"content":"x"}'] = "/path: expected string", ['{"path":"made.txt"}'] = '"content" is missing', ["[1]"] = "one JSON object" } do
    local answer = post(s, ("/api/runs/%s/answers"):format(id), { question = question, text = "edit " .. arguments })
    t.equal(answer.status, 400, arguments)
    t.has(answer.value.error.message, path)
  end
end

t.test("other arguments for a call are judged at once, whether its run goes on or is parked", function()
  local dir <close> = project()
  local id, question
  do
    local s <close> = start(dir, "--grace", "0")
    id = begin(s, "clerk", "go")
    question = until_state(s, id, "waiting").waiting_for[1].id
    refuses_edits(s, id, question)
    t.equal(s:stop().code, 0)
  end
  local s <close> = start(dir)
  t.equal(get(s, "/api/runs/" .. id).value.here, false)
  refuses_edits(s, id, question)
  t.equal(get(s, "/api/runs/" .. id).value.state, "parked")
  t.equal(post(s, ("/api/runs/%s/answers"):format(id), { question = question, text = 'edit {"path":"other.txt","content":"x"}' }).status, 202)
  until_state(s, id, "done")
  t.ok(io.open(dir.path .. "/other.txt"))
end)

t.test("a run is parked, answered days later, and gone on with", function()
  local dir <close> = project()
  local id, question
  do
    local s <close> = start(dir, "--grace", "0")
    id = begin(s, "guide", "go")
    question = until_state(s, id, "waiting").waiting_for[1].id
    t.equal(s:stop().code, 0)
  end
  local s <close> = start(dir)
  t.equal(get(s, "/api/runs/" .. id).value.here, false)
  t.equal(get(s, "/api/inbox").value.open[1].id, question)
  t.equal(post(s, ("/api/runs/%s/answers"):format(id), { question = question, text = "Rome" }).status, 202)
  until_state(s, id, "done")
  t.equal(get(s, ("/api/runs/%s/snapshot"):format(id)).value.answer:match "^I say:", "I say:")
  t.equal(post(s, ("/api/runs/%s/answers"):format(id), { question = question, text = "Rome" }).status, 409)
  local forked = post(s, ("/api/runs/%s/fork"):format(id), { at = 3 })
  t.equal(forked.status, 201, forked.body)
  t.equal(until_state(s, forked.value.id, "waiting").parent, id)
  t.equal(post(s, ("/api/runs/%s/park"):format(forked.value.id)).status, 202)
  t.eventually(function() return get(s, "/api/runs/" .. forked.value.id).value.here == false end, PATIENCE)
  t.equal(post(s, ("/api/runs/%s/stop"):format(forked.value.id)).status, 409)
  t.equal(post(s, ("/api/runs/%s/resume"):format(forked.value.id)).status, 202)
  until_state(s, forked.value.id, "waiting")
  t.equal(post(s, ("/api/runs/%s/park"):format(forked.value.id)).status, 202)
  t.eventually(function() return get(s, "/api/runs/" .. forked.value.id).value.here == false end, PATIENCE)
  local before = get(s, ("/api/runs/%s/records?limit=500"):format(forked.value.id)).value.records
  t.equal(post(s, ("/api/runs/%s/cancel"):format(forked.value.id)).status, 202)
  until_state(s, forked.value.id, "cancelled")
  local after = get(s, ("/api/runs/%s/records?limit=500"):format(forked.value.id)).value.records
  for i, record in ipairs(before) do t.equal(after[i] and after[i].type, record.type, "record " .. i) end
  t.equal(after[#after].type, "workflow_finished")
  t.ok(#after > #before)
end)

t.test("what a model was sent, while it is at work and when it is over", function()
  local dir <close> = project()
  local first <close> = start(dir)
  local id = begin(first, "guide", "go")
  local question = until_state(first, id, "waiting").waiting_for[1].id
  local function prompt(s, of, query) return get(s, ("/api/runs/%s/prompts%s"):format(of, query)) end
  local live = prompt(first, id, "?op=o1").value
  t.has(live.system, "You ask before you answer.")
  t.equal(live.tools[1].name, "ask_user")
  t.equal(live.messages[1].text, "go")
  t.equal(live.messages[2].calls[1].name, "ask_user")
  t.equal(post(first, ("/api/runs/%s/answers"):format(id), { question = question, text = "Rome" }).status, 202)
  until_state(first, id, "done")
  t.equal(first:stop().code, 0)
  local s <close> = start(dir) -- another process, which has only the log
  local calls = 0
  for _, record in ipairs(get(s, ("/api/runs/%s/records"):format(id)).value.records) do
    if record.type == "model_request" then
      calls = calls + 1
      local sent = prompt(s, id, ("?op=o1&messages=%d"):format(record.messages)).value
      t.equal(sent.system, live.system)
      t.equal(#sent.messages, record.messages)
      t.equal(sent.shorter, false)
      t.equal(json.encode(sent.messages[1]), json.encode(live.messages[1]))
      if calls == 2 then t.has(sent.messages[#sent.messages].text, "Rome") end
    end
  end
  t.equal(calls, 2)
  t.equal(#prompt(s, id, "?op=o1&messages=0").value.messages, 0)
  for query, status in pairs { ["?op=o9"] = 404, ["?op=__index"] = 404, [""] = 400, ["?op="] = 400, ["?op=o1&messages=-1"] = 400, ["?op=o1&messages=x"] = 400 } do
    t.equal(prompt(s, id, query).status, status, query)
  end
  local before = get(s, "/api/runs/" .. id).value
  t.equal(before.state, "done", "it was only looked at")
  local made = post(s, ("/api/runs/%s/fork"):format(id), { at = 3, resume = false }).value
  local forked = made.id
  t.equal(made.state, "forked")
  t.equal(get(s, "/api/runs/" .. forked).value.state, made.state)
  local looks = {} -- of a run that goes on meanwhile: it is one or the other, and the run is what it was
  for i = 1, 4 do looks[i] = fiber.spawn(function() return prompt(s, forked, "?op=o1").status end) end
  t.equal(post(s, ("/api/runs/%s/resume"):format(forked)).status, 202)
  for _, look in ipairs(looks) do
    local status = look:wait()
    t.ok(status == 200 or status == 404 or status == 409, status)
  end
  until_state(s, forked, "waiting")
  t.equal(#get(s, "/api/inbox").value.open, 1)
end)

t.test("what lies in pools is told, and a worker's run is cancelled and answered from here", function()
  local dir <close> = project()
  local s <close> = start(dir)
  local function submit(target)
    local result = assert(process.run { argv = { process.launcher(), "run", "--detach", "-q", "--trust", "--model", "sim", "--pool", "gpu", target, "rain" },
      cwd = dir.path, sandbox = "limits", network = true, sockets = true, timeout = PATIENCE, env = { "PATH=/usr/bin:/bin", "XDG_STATE_HOME=" .. dir.path .. "/state" } })
    t.equal(result.code, 0, result.stderr)
    return result.stdout:match "%w+"
  end
  t.equal(#get(s, "/api/pools").value.pools, 0)
  local id = submit "agents/poet.md"
  local function pool()
    local one
    t.eventually(function() -- an answer is good for a second
      one = get(s, "/api/pools").value.pools[1]
      return one ~= nil
    end, PATIENCE, "never there")
    return one
  end
  local one = pool()
  t.same({ one.name, one.queued, one.workers, one.unserved }, { "gpu", 1, 0, true })
  t.equal(#get(s, "/api/workers").value.workers, 0)
  t.equal(get(s, "/api/runs/" .. id).value.state, "queued")
  local answer = post(s, ("/api/runs/%s/signals"):format(id), { name = "x" })
  t.equal(answer.status, 202)
  t.equal(answer.value.here, false)
  t.equal(get(s, "/api/runs/" .. id).value.state, "queued", "it is a worker's, and did not begin here")
  t.equal(post(s, ("/api/runs/%s/cancel"):format(id)).value.here, false)
  t.equal(get(s, "/api/runs/" .. id).value.state, "cancelled")
  t.equal(post(s, ("/api/runs/%s/cancel"):format(id)).status, 409)
end)

t.test("a command with a key is done once", function()
  local dir <close> = project()
  local s <close> = start(dir)
  local body = { target = "poet", input = "rain" }
  local answers, n = {}, 8
  local fibers = {}
  for i = 1, n do fibers[i] = fiber.spawn(function() answers[i] = post(s, "/api/runs", body, { ["idempotency-key"] = "k1" }) end) end
  for _, one in ipairs(fibers) do one:wait() end
  for i = 1, n do
    t.equal(answers[i].status, 201, answers[i].body)
    t.equal(answers[i].value.id, answers[1].value.id)
  end
  t.equal(#get(s, "/api/runs").value.runs, 1)
  t.equal(post(s, "/api/runs", { target = "poet", input = "snow" }, { ["idempotency-key"] = "k1" }).status, 422)
  t.equal(post(s, "/api/runs", { target = "poem" }, { ["idempotency-key"] = "k2" }).status, 404)
  t.equal(post(s, "/api/runs", { target = "poem" }, { ["idempotency-key"] = "k2" }).status, 404)
  t.equal(post(s, "/api/runs", body, { ["idempotency-key"] = "k3" }).status, 201)
  t.equal(s:stop().code, 0)
  local again <close> = start(dir)
  t.equal(post(again, "/api/runs", body, { ["idempotency-key"] = "k1" }).value.id, answers[1].value.id, "another process knows it")
  t.equal(post(again, "/api/runs", { target = "poet", input = "snow" }, { ["idempotency-key"] = "k1" }).status, 422)
  t.equal(#get(again, "/api/runs").value.runs, 2)
end)

t.test("what is too much waits for its turn, or is refused", function()
  local dir <close> = project()
  local s <close> = start(dir, "--max-runs", "1", "--max-queue", "1")
  local first = begin(s, "slow", "a")
  local second
  local waiting = fiber.spawn(function() second = post(s, "/api/runs", { target = "poet", input = "b" }) end)
  t.eventually(function() return get(s, "/api").value.queued == 1 end, PATIENCE)
  local third = post(s, "/api/runs", { target = "poet", input = "c" })
  t.equal(third.status, 429)
  t.ok(tonumber(third.headers["retry-after"]) >= 1)
  t.equal(s:get("/readyz").status, 200)
  t.equal(post(s, ("/api/runs/%s/cancel"):format(first)).status, 202)
  waiting:wait()
  t.equal(second.status, 201)
  local metrics = s:get("/metrics").body
  t.has(metrics, "hocket_runs_refused_total 1\n")
  t.has(metrics, "hocket_runs_limit 1\n")
  t.has(metrics, '# TYPE hocket_http_requests_total counter\n')
end)

t.test("without a store runs are told of while they are at hand", function()
  local dir <close> = project()
  local s <close> = start(dir, "--store", "off")
  t.equal(get(s, "/api").value.kept, false)
  local id = begin(s, "poet", "rain")
  until_state(s, id, "done")
  t.equal(get(s, "/api/runs").value.runs[1].id, id)
  t.equal(get(s, ("/api/runs/%s/snapshot"):format(id)).value.answer, "I say: rain")
  t.equal(post(s, "/api/runs/01AAAAAAAAAAAAAAAAAAAAAAAA/say", { text = "x" }).status, 404)
end)

t.test("what is at work may end after a signal, and who reads hears of it", function()
  local dir <close> = project()
  local s <close> = start(dir, "--grace", "200")
  local id, talk = begin(s, "slow", "short"), begin(s, "poet", "rain", { conversation = true })
  until_state(s, talk, "waiting")
  local events <close> = s:events(("/api/runs/%s/events"):format(id))
  t.ok(events:next())
  s.program:stop()
  local ended
  for event in events:each() do ended = event.event == "end" and json.decode(event.data) or ended end
  t.equal(ended.state, "done")
  t.equal(s:stop().code, 0)
  local again <close> = start(dir)
  t.equal(get(again, "/api/runs/" .. id).value.state, "done")
  t.equal(get(again, "/api/runs/" .. talk).value.state, "waiting")
end)

t.test("files that change are taken for the runs that come, and broken ones are not", function()
  local dir <close> = project()
  local s <close> = start(dir)
  local function names()
    local list = {}
    for i, one in ipairs(get(s, "/api/agents").value.agents) do list[i] = one.name end
    return table.concat(list, " ")
  end
  t.equal(names(), "clerk guide poet slow turner")
  dir:write("agents/bard.md", "---\nname: bard\ndescription: Sings\n---\nYou sing.")
  t.eventually(function() return names() == "bard clerk guide poet slow turner" end, PATIENCE)
  until_state(s, begin(s, "bard", "la"), "done")
  dir:write("agents/bard.md", "---\nname: bard\ntools: [no_such_tool]\n---\nYou sing.")
  t.eventually(function() return s:log():find "no_such_tool" end, PATIENCE)
  t.equal(names(), "bard clerk guide poet slow turner")
  until_state(s, begin(s, "bard", "la"), "done")
end)

t.test("two servers of one store: what one has the other can look at, and speak to", function()
  local dir <close> = project()
  local a <close> = start(dir)
  local b <close> = start(dir)
  local id = begin(a, "guide", "go")
  local question = until_state(a, id, "waiting").waiting_for[1].id
  t.eventually(function() return #get(b, "/api/runs/" .. id).value.waiting_for == 1 end, PATIENCE)
  t.equal(get(b, "/api/runs/" .. id).value.here, false)
  t.equal(post(b, ("/api/runs/%s/stop"):format(id)).status, 409)
  t.equal(post(b, ("/api/runs/%s/resume"):format(id)).status, 409)
  t.equal(check("DELETE", "/api/runs/{id}", b:ask("DELETE", "/api/runs/" .. id)).status, 409)
  local events <close> = b:events(("/api/runs/%s/events"):format(id))
  t.equal(post(b, ("/api/runs/%s/answers"):format(id), { question = question, text = "Rome" }).status, 202)
  local last, ended = 0, nil
  for event in events:each() do
    if event.event == "end" then
      ended = json.decode(event.data)
    else
      last = last + 1
      t.equal(tonumber(event.id), last)
    end
  end
  t.equal(ended.state, "done")
  t.equal(until_state(a, id, "done").records or last, last)
end)

local function follow(s, id, last, i)
  local events <close> = s:events(("/api/runs/%s/events"):format(id))
  last[i], last.n = 0, last.n + 1
  for event in events:each() do
    if event.event == "end" then return json.decode(event.data) end
    t.equal(tonumber(event.id), last[i] + 1)
    last[i] = last[i] + 1
  end
end

-- As many of a thousand as this machine has descriptors for.
local function how_many()
  local limits = assert(io.open "/proc/self/limits")
  local text <close> = limits
  local most = tonumber(text:read "a":match "Max open files%s+%d+%s+(%d+)") or 1 << 20
  return math.min(1000, most - 200)
end

t.test("a thousand readers at once hear all", function()
  local count = how_many()
  local dir <close> = project()
  local s <close> = start(dir)
  local id = begin(s, "poet", "rain", { conversation = true })
  until_state(s, id, "waiting")
  local readers, last = {}, { n = 0 }
  for i = 1, count do readers[i] = fiber.spawn(follow, s, id, last, i) end
  t.eventually(function() return last.n == count end, PATIENCE)
  t.has(s:get("/metrics").body, ("hocket_http_streams_open %d\n"):format(count))
  t.equal(post(s, ("/api/runs/%s/say"):format(id), { text = "snow" }).status, 202)
  until_state(s, id, "waiting")
  t.equal(post(s, ("/api/runs/%s/cancel"):format(id)).status, 202)
  for i, one in ipairs(readers) do
    local ended = one:wait()
    t.equal(ended.state, "cancelled")
    t.equal(ended.at, last[i])
  end
end)

t.test("one that never reads holds up nobody", function()
  local dir <close> = project()
  local s <close> = start(dir)
  local id = begin(s, "poet", "rain", { conversation = true })
  until_state(s, id, "waiting")
  local stuck <close> = s:events(("/api/runs/%s/events?deltas=1"):format(id))
  local last = { n = 0 }
  local reader = fiber.spawn(follow, s, id, last, 1)
  for _ = 1, 20 do
    t.equal(post(s, ("/api/runs/%s/say"):format(id), { text = ("snow "):rep(60000) }).status, 202)
    until_state(s, id, "waiting")
  end
  t.equal(post(s, ("/api/runs/%s/cancel"):format(id)).status, 202)
  local ended = reader:wait()
  t.equal(ended.state, "cancelled")
  t.equal(ended.at, last[1])
end)

t.test("a store that is away is no fault of this server's, and may be asked again", function()
  local status_of = require("hocket.internal.endpoints.response").status_of
  t.equal(status_of { code = "io", message = "connection to server failed" }, 503)
  t.equal(status_of { code = "no such" }, 500)
end)

return t.finish()
