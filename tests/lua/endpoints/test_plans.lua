-- Plans behind every door of `hocket serve`: checks that are mended or fail, saved plans as drafts, and the file of a plan as what is served.
local t = require "harness"
local doors = require "doors"
local hocket = require "hocket"
local serving = require "serving"

hocket.broker() -- its dispatcher lives as long as the host

local answers, asked = {}, 0
local served = assert(hocket.sim.serve { reply = function(request)
  asked = asked + 1
  if request.system:find "You plan" then return request.last.text:find "wants the plan changed" and "no plan" or '{"type":"task","tasks":[{"id":"new","specialist":"mason","description":"A new wall"}]}' end
  return answers[request.last.text:find "its check failed" and "mended" or "first"]
end })
hocket.provider("plans", { protocol = "openai_chat", base = served.base })

local function agent(name, more) return ("---\nname: %s\ndescription: A %s\nmodel: plans/m\nretries: 0\n%s---\nYou %s."):format(name, name, more or "", name == "planner" and "plan" or "build") end

local files = {
  ["agents/mason.md"] = agent "mason",
  ["agents/planner.md"] = agent("planner", "approve_plan: true\nagents: [mason]\n"),
  ["plan.md"] = "---\nplan: wall\n---\n## wall\n- owner: mason\n- check: {schema: {type: object, required: [height]}}\n\nBuild a wall.\n",
  ["saved/wall.md"] = "---\nplan: wall\nrequest: A wall\n---\n## wall\n- owner: mason\n\nBuild a wall.\n",
  ["desk.lua"] = [[
local hocket = require "hocket"
local here = "%s"
local team = hocket.agents(here .. "/agents")
return function(request)
  return hocket.patterns.planner.run { request = request, team = team, planner = team.planner, plans = here .. "/saved", backoff = 0, retries = 0 }
end
]],
  ["later.lua"] = [[
local said
return function(request)
  if said then return { text = request == "yes" and said .. " is built" or "Nothing is built after " .. request, finish = "stop" } end
  said = request
  return { text = "Build " .. request .. "?", finish = "approval" }
end
]],
}

local function with_server(name, target, fn)
  t.test(name, function()
    local dir <close> = t.dir()
    for path, text in pairs(files) do dir:write(path, (text:gsub("%%s", dir.path))) end
    local server <close> = serving.open({ dir.path .. "/" .. target }, { trust = true })
    asked = 0
    fn(server)
  end)
end

local function each_door(fn)
  for name, ask in pairs(doors) do fn(name, ask) end
end

local function checks_of(s, run)
  local list = {}
  for _, one in ipairs(select(2, s:stream_of(("/api/runs/%s/events"):format(run)))) do
    if one.data.type == "checked" then list[#list + 1] = ("%s %s %s"):format(one.data.task, one.data.ok, one.data.task_id) end
  end
  return table.concat(list, ", ")
end

with_server("the file of a plan is served: a check that fails is mended, and its client gets the answer", "plan.md", function(s)
  answers = { first = '{"width": 3}', mended = '{"height": 2}' }
  each_door(function(name, ask)
    asked = 0
    local got, run = ask(s, "wall", "For two")
    t.equal(got, '{"height": 2}', name)
    t.equal(asked, 2, name)
    if run then t.equal(checks_of(s, run), "wall false 1, wall true 1", name) end
  end)
end)

with_server("a plan is offered by its name, as what it is", "plan.md", function(s)
  local one = select(2, s:get "/api/agents").agents[1]
  t.same({ one.name, one.kind, one.description }, { "wall", "plan", "The plan wall" })
end)

with_server("an agent that says it is done, and is not: no door takes it for an answer, and it does not go on for ever", "plan.md", function(s)
  answers = { first = "It is done, trust me.", mended = "I have mended it." }
  each_door(function(name, ask)
    asked = 0
    t.has(ask(s, "wall", "For two"), "its check failed", name)
    t.ok(asked <= 9, ("%s: asked %d times"):format(name, asked))
  end)
end)

with_server("an answer that a limit has cut is no outcome, whatever the check would say of it", "plan.md", function(s)
  answers = { first = { text = '{"height": 2}', finish = "length" }, mended = "never" }
  each_door(function(name, ask) t.ok(not ask(s, "wall", "For two"):find '^{"height"', name) end)
end)

with_server("a saved plan is offered as a draft where nobody answers, and nothing is done", "desk.lua", function(s)
  answers = { first = "a wall" }
  for _, name in ipairs { "chat", "chat_stream", "responses", "anthropic" } do
    local got = doors[name](s, "desk", "A wall")
    t.has(got, "A draft: the saved plan 'wall' (for: A wall)", name)
    t.has(got, "wall (mason): Build a wall.", name)
  end
  t.equal(asked, 0)
end)

with_server("a draft is approved, replaced and refused over /api", "desk.lua", function(s)
  answers = { first = "a wall" }
  for _, case in ipairs { { "yes", "done", "a wall" }, { "no", "failed", "was not approved" }, { "new", "new" } } do
    local _, got = s:post("/api/runs", { target = "desk", input = "A wall", options = { interactive = true } })
    local path, one = "/api/runs/" .. got.id, nil
    local function until_state(state)
      t.eventually(function()
        one = select(2, s:get(path))
        return one.state == state
      end)
    end
    until_state "waiting"
    t.has(one.waiting_for[1].questions[1], "A draft: the saved plan 'wall'")
    t.equal(s:post(path .. "/answers", { question = one.waiting_for[1].id, text = case[1] }), 202)
    if case[2] == "new" then
      t.eventually(function()
        one = select(2, s:get(path))
        return one.waiting_for and one.waiting_for[1] and one.waiting_for[1].questions[1]:find "A new wall" ~= nil
      end)
      s:post(path .. "/answers", { question = one.waiting_for[1].id, text = "yes" })
      until_state "done"
      t.equal(one.result.text, "a wall")
    else
      until_state(case[2])
      t.has(one.result.text or one.result.error.message, case[3])
    end
  end
end)

-- ---- Doors with a word for a run that waits ---------------------------------------------------------

local function agui_run(s, of, more)
  local body = { threadId = "t", runId = "r", messages = { { id = "u", role = "user", content = "A wall" } } }
  for key, value in pairs(more or {}) do body[key] = value end
  local status, list = s:stream("/agui/" .. of, body)
  return status == 200 and list[#list].data or status, list
end

local function resume(id, text) return { resume = { { interruptId = id, status = text and "resolved" or "cancelled", payload = text and { answer = text } } } } end

local function said_in(list)
  local parts = {}
  for _, one in ipairs(list) do parts[#parts + 1] = one.data.type == "TEXT_MESSAGE_CONTENT" and one.data.delta or nil end
  return table.concat(parts)
end

local function a2a_task(s, of, text, task)
  local message = { messageId = "m", role = "ROLE_USER", taskId = task, parts = { { text = text } } }
  local _, got = s:post("/a2a/" .. of, { jsonrpc = "2.0", id = 1, method = "SendMessage", params = { message = message } }, { ["a2a-version"] = "1.0" })
  return got.result and got.result.task or got
end

-- A planner that asks its person, and a script whose answer is the question: for a client they are one.
for _, case in ipairs { { "desk.lua", "desk", "Go ahead?", "a wall" }, { "later.lua", "later", "Build A wall?", "A wall is built" } } do
  local file, of, question, done = table.unpack(case)

  with_server(file .. ": a plan that waits for approval is an interrupt of AG-UI, and is answered by resume", file, function(s)
    answers = { first = "a wall" }
    local last = agui_run(s, of)
    t.same({ last.type, last.outcome.type, #last.outcome.interrupts }, { "RUN_FINISHED", "interrupt", 1 })
    local one = last.outcome.interrupts[1]
    t.has(one.message, question)
    t.same(one.responseSchema.required, { "answer" })
    local over, list = agui_run(s, of, resume(one.id, "yes"))
    t.same({ over.type, over.outcome and over.outcome.type, said_in(list) }, { "RUN_FINISHED", "success", done })
    t.equal((agui_run(s, of, resume(one.id, "yes"))), 400) -- it is answered once
    t.eventually(function() return not next(s.desk.by_number) end)
  end)

  with_server(file .. ": a plan that waits for approval is input-required in A2A, and the task's next message answers it", file, function(s)
    answers = { first = "a wall" }
    local task = a2a_task(s, of, "A wall")
    t.equal(task.status.state, "TASK_STATE_INPUT_REQUIRED")
    t.has(task.status.message.parts[1].text, question)
    t.equal(task.artifacts, nil) -- a question is no answer
    task = a2a_task(s, of, "yes", task.id)
    t.equal(task.status.state, "TASK_STATE_COMPLETED")
    t.equal(task.artifacts[1].parts[1].text, done)
  end)
end

with_server("an interrupt that is the answer of a turn: cancelled it ends the run; a wrong id is refused", "later.lua", function(s)
  local id = agui_run(s, "later").outcome.interrupts[1].id
  t.equal((agui_run(s, "later", resume(id:gsub("t%d+$", "t7"), "yes"))), 400)
  t.equal((agui_run(s, "later", resume("01" .. ("A"):rep(24) .. "_t1", "yes"))), 400)
  t.equal((agui_run(s, "later", { resume = { resume(id, "yes").resume[1], resume(id, "no").resume[1] } })), 400)
  t.equal(agui_run(s, "later", resume(id)).outcome.type, "success")
  t.eventually(function() return not next(s.desk.by_number) end)
  t.equal((agui_run(s, "later", resume(id, "yes"))), 400)
end)

return t.finish()
