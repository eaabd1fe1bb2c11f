--- Patterns behind `hocket serve`: whoever calls an agent gets its answer, whichever agent made it, and none of what was said on the way.
local t = require "harness"
local hocket = require "hocket"
local serving = require "serving"

hocket.broker() -- its dispatcher lives as long as the host
local play = function() return "?" end
local served = assert(hocket.sim.serve { reply = function(request) return play(request) end })
hocket.provider("behind", { protocol = "openai_chat", base = served.base })

local function with_server(name, files, fn)
  t.test(name, function()
    local dir <close> = t.dir()
    for file, head in pairs(files) do dir:write("agents/" .. file .. ".md", ("---\nmodel: behind/%s\n%s\n---\nYou are %s."):format(file, head, file)) end
    local server <close> = serving.open(dir.path .. "/agents")
    fn(server)
  end)
end

local function ask(text, more)
  local body = { model = "desk", messages = { { role = "user", content = text } } }
  for key, value in pairs(more or {}) do body[key] = value end
  return body
end

local function streamed(list)
  local text = ""
  for _, one in ipairs(list) do
    local choice = type(one.data) == "table" and one.data.choices and one.data.choices[1]
    text = text .. (choice and choice.delta.content or "")
  end
  return text
end

-- What the page reads of a run, which has ended.
local function events_of(server, run, kind)
  local found = {}
  for _, one in ipairs(select(2, server:stream_of(("/api/runs/%s/events"):format(run)))) do
    if one.data.type == kind then found[#found + 1] = one.data end
  end
  return found
end

with_server("a facilitator's board: parts below their task, and the path of a task, as the page reads them", {
  desk = "tools: [facilitator]\nagents: [boss, mason]", boss = "tools: [specialist, split_task]", mason = "alternates: [senior]", senior = "name: senior",
}, function(server)
  play = function(request)
    if request.model == "mason" then return "FAILED: no ladder" end
    if request.model == "senior" then return "the walls are built" end
    if request.model == "boss" then
      return { calls = { { name = "split_task", arguments = { id = 1, tasks = { { id = "walls", specialist = "mason", description = "Build the walls" } } } } } }
    end
    local steps = { { name = "create_tasks", arguments = { tasks = { { text = "A house", assigned_to = "boss" } } } }, { name = "call_boss", arguments = { task_ids = { 1 }, message = "Build" } } }
    return steps[request.turn] and { calls = { steps[request.turn] } } or "It is done: " .. request.last.text
  end
  local status, got, headers = server:post("/v1/chat/completions", ask "A house")
  t.equal(status, 200)
  t.has(got.choices[1].message.content, "the walls are built")
  local run, path = headers["x-hocket-run"], {}
  for _, one in ipairs(events_of(server, run, "task_updated")) do path[#path + 1] = one.reassigned_to end
  t.same(path, { "senior" })
  t.same({ events_of(server, run, "tasks_created")[2].tasks[1].parent, events_of(server, run, "task_split")[1].task_id }, { 1, 1 })
end)

with_server("a handoff that the model chooses: the chosen one's answer, whole and as a stream", {
  desk = "handoff: [{agent: legal, when: it is about contracts}]", legal = "name: legal",
}, function(server)
  play = function(request)
    if request.model ~= "desk" then return "of legal" end
    if request.last.text:find "alone" then return "of the desk" end
    return { text = "I look who is there.", calls = { { name = "handoff_to", arguments = { agent = "legal", reason = "so", response = "found" } } } }
  end
  local status, got, headers = server:post("/v1/chat/completions", ask "My contract")
  t.equal(status, 200)
  t.equal(got.choices[1].message.content, "of legal")
  t.equal(events_of(server, headers["x-hocket-run"], "handoff")[1].reason, "so")
  t.equal(select(2, server:post("/v1/chat/completions", ask "alone")).choices[1].message.content, "of the desk")
  t.has(streamed(select(2, server:stream("/v1/chat/completions", ask("My contract", { stream = true })))), "of legal")
  t.equal(streamed(select(2, server:stream("/v1/chat/completions", ask("alone", { stream = true })))), "of the desk")
end)

with_server("an alternate: its answer, and the path among the events", {
  desk = "alternates: [senior]", senior = "name: senior",
}, function(server)
  play = function(request) return request.model == "desk" and { status = 400, error = "broken" } or "of the senior" end
  local status, got, headers = server:post("/v1/chat/completions", ask "Go")
  t.equal(status, 200)
  t.equal(got.choices[1].message.content, "of the senior")
  local event = events_of(server, headers["x-hocket-run"], "reassigned")[1]
  t.same({ event.from, event.to }, { "desk", "senior" })
  t.equal(streamed(select(2, server:stream("/v1/chat/completions", ask("Go", { stream = true })))), "of the senior")
  play = function() return { status = 400, error = "broken" } end
  t.ok(server:post("/v1/chat/completions", ask "Go") >= 400)
end)

local function with_script(name, files, script, fn)
  t.test(name, function()
    local dir <close> = t.dir()
    for file, head in pairs(files) do dir:write("agents/" .. file .. ".md", ("---\nmodel: behind/%s\n%s\n---\nYou are %s."):format(file, head, file)) end
    dir:write("desk.lua", script:format(dir.path .. "/agents"))
    local server <close> = serving.open { dir.path .. "/desk.lua" }
    fn(server)
  end)
end

with_script("a task that its specialist splits: the parts' reports are the answer, and the tree is among the events", {
  lead = "tools: [split_task]", mason = "name: mason",
}, [[
local hocket = require "hocket"
local plan = { type = "task", tasks = { { id = "house", specialist = "lead", description = "Build it" } } }
return function()
  local reply, err = hocket.patterns.coordinator.run(plan, { team = hocket.agents "%s", backoff = 0 })
  return reply and reply.text, err
end
]], function(server)
  play = function(request)
    if request.model == "mason" then return "a wall" end
    return { calls = { { name = "split_task", arguments = { id = "house", tasks = { { id = "walls", specialist = "mason", description = "Walls" } } } } } }
  end
  local status, got, headers = server:post("/v1/chat/completions", ask "Go")
  t.equal(status, 200)
  t.equal(got.choices[1].message.content, "a wall")
  t.equal(events_of(server, headers["x-hocket-run"], "task_split")[1].tasks[1].id, "house.walls")
  t.equal(events_of(server, headers["x-hocket-run"], "tasks_created")[2].tasks[1].assigned_to, "mason")
end)

with_script("a task that waits for what blocks it: the answer comes when that is done", {
  mason = "tools: [report_blocker]", quarry = "name: quarry",
}, [[
local hocket = require "hocket"
local plan = { type = "task", tasks = { { id = "walls", specialist = "mason", description = "Build walls" } } }
return function()
  local reply, err = hocket.patterns.coordinator.run(plan, { team = hocket.agents "%s", backoff = 0, on_blocker = function()
    return { { id = "stones", specialist = "quarry", description = "Get stones" } }
  end })
  return reply and reply.text, err
end
]], function(server)
  play = function(request)
    if request.model == "quarry" then return "ten stones" end
    if request.last.text:find "ten stones" then return "walls are built" end
    return { calls = { { name = "report_blocker", arguments = { id = "walls", what = "no stones", needs = "stones" } } } }
  end
  local status, got, headers = server:post("/v1/chat/completions", ask "Go")
  t.equal(status, 200)
  t.has(got.choices[1].message.content, "walls are built")
  t.equal(events_of(server, headers["x-hocket-run"], "task_blocked")[1].what, "no stones")
end)

return t.finish()
