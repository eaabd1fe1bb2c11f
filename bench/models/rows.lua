--- Patterns against a small model: how many of so many trials come to something. A trial that build/models.jsonl has is not made again.
local hocket = require "hocket"
local json = require "hocket.json"
local plan = require "hocket.patterns.plan"

local said = (...) or ""
local trials, only = tonumber(said:match "^%d+") or 20, said:match "^%d*%s*(.*)$"
local RESULTS = "build/models.jsonl"
local edition = require("hocket.internal.base.edition").NOW
local model = assert(hocket.model.resolve "llamacpp").id

local function read(path)
  local file <close> = assert(io.open(path))
  return assert(json.decode(file:read "a"))
end

local given = read "bench/models/requests.json"

local function cycle(list, trial)
  return list[(trial - 1) % #list + 1]
end

-- ---- The rows: each gives "valid", "right" or "wrong", and a few words ---------------------------------

local rows = {}

-- What the model has done wrong counts; what else went wrong ends the suite, and nothing is noted.
local function failed(err)
  if err.code ~= "model" and err.code ~= "invalid" and err.code ~= "limit" and err.code ~= "budget" then error(err.message, 0) end
  return "wrong", err.message
end

local function desk(seed, tools)
  local team = {}
  for i, one in ipairs(given.desk.agents) do
    team[i] = hocket.agent { name = one[1], description = one[2], prompt = "Say: done.", model = model, max_tokens = 4 }
  end
  return hocket.agent { name = "desk", prompt = given.desk.prompt, model = model, seed = seed, temperature = 0.7, max_tokens = 120, tools = tools }, team
end

local function route(trial, tools)
  local one, team = desk(trial, tools)
  local asked = cycle(given.desk.requests, trial)
  local reply, err = hocket.patterns.router.run(one, team, asked[1])
  if not reply then return failed(err) end
  return reply.agent == asked[2] and "right" or "valid", reply.agent
end

rows[#rows + 1] = { "router by enum", function(trial) return route(trial) end }

-- With a tool of its own it is asked for a call of route_to.
rows[#rows + 1] = { "router by call", function(trial) return route(trial, { "ask_user" }) end }

local specialists = { "file", "web" }
local LIMIT, TEXT = 20, 1000 -- as patterns/planner.lua has them

local function is_expected(value, asked)
  if value.type ~= asked[2] then return false end
  for _, task in ipairs(asked[3] and value.tasks or {}) do
    if task.specialist ~= asked[3] then return false end
  end
  return true
end

rows[#rows + 1] = { "planner", function(trial)
  local asked = cycle(given.planner, trial)
  local reply, err = hocket.orchestrate.call(require("hocket.agent").built_in().planner, asked[1], {
    model = model, schema = json.encode(plan.schema(specialists, LIMIT, TEXT)), schema_name = "plan",
    variables = { specialists = "- file: Finds, reads, writes and moves files\n- web: Searches the web", task_limit = LIMIT },
  })
  if not reply then return failed(err) end
  local value, wrong = plan.read(reply.text, (plan.compile(specialists, LIMIT)))
  if not value or not reply.text:find "^%s*{" then return "wrong", wrong or reply.text end
  wrong = reply.text:match "<%a[^>]*>" or plan.check(value, specialists, {})
  if wrong then return "wrong", wrong end
  return is_expected(value, asked) and "right" or "valid", ("%s instead of %s"):format(value.type, asked[2])
end }

rows[#rows + 1] = { "judge", function(trial)
  local asked = cycle(given.judge, trial)
  local reply, err = hocket.run(require("hocket.agent").built_in().judge, ("Rubric: %s\nAnswer: %s"):format(asked[1], asked[2]), { model = model })
  if not reply then return failed(err) end
  return reply.value.pass == asked[3] and "right" or "valid", reply.value.reason
end }

-- What an agent's first request has, without asking anybody.
local function first_request(def)
  local got
  local served = hocket.sim.serve { reply = function(request)
    got = got or request
    return "done"
  end }
  hocket.provider("captured", { protocol = "openai_chat", base = served.base })
  assert(hocket.run(def, "Hello", { model = "captured/x" }))
  return got
end

local function tools_of(request)
  local list = {}
  for i, one in ipairs(request.raw.tools) do list[i] = one["function"] end
  return json.encode(json.array(list))
end

-- The first call of a reply; small models write it as text.
local function called(reply)
  if reply.calls[1] then return reply.calls[1].name, reply.calls[1].arguments end
  local name, arguments = reply.text:match '"name":%s*"([%w_]+)",%s*"arguments":%s*(%b{})'
  return name, arguments
end

local asked_with

-- No tool is run.
rows[#rows + 1] = { "assistant's first call", function(trial)
  asked_with = asked_with or first_request(require("hocket.agent").built_in().assistant)
  local asked, history = cycle(given.calls, trial), hocket.llm.history()
  history:user(asked[1])
  local reply, err = hocket.llm.call(assert(hocket.model.resolve(model)), history, { system = asked_with.system, tools = tools_of(asked_with), temperature = 0, max_tokens = 120, seed = trial })
  if not reply then return failed(err) end
  local name, arguments = called(reply)
  if not name then return "wrong", reply.text end
  local is_right = asked[2]:find("%f[%w]" .. name .. "%f[^%w_]") and arguments:find(asked[3], 1, true)
  return is_right and "right" or "valid", ("%s %s"):format(name, arguments)
end }

-- The tasks that came of it, and how many of them were done.
rows[#rows + 1] = { "facilitator", trials = 5, function(trial)
  local own = { file = "Finds, reads, writes and moves files", web = "Searches the web" }
  local team = {}
  for name, what in pairs(own) do
    team[name] = hocket.agent { name = name, description = what, prompt = "You report that the task is done, in five words.", model = model, max_tokens = 24, max_turns = 2 }
  end
  local lead = require("hocket.agent").built_in().facilitator
  lead = hocket.agent { name = "lead", prompt = lead.prompt, tools = lead.tools, agents = { "file", "web" }, team = team, model = model, seed = trial,
    temperature = 0.7, max_tokens = 300, max_turns = 6 }
  local board = hocket.board()
  local reply, err = hocket.run(lead, cycle(given.planner, trial * 2)[1], { board = board })
  local done, all = 0, board:tasks()
  for _, task in ipairs(all) do done = done + (task.status == "done" and 1 or 0) end
  local note = ("%d of %d tasks done; %s"):format(done, #all, reply and reply.text or err.message)
  if not reply then return select(2, failed(err)) and "wrong", note end
  if #all == 0 then return "wrong", note end
  return done == #all and "right" or "valid", note
end }

-- ---- Fresh context against one conversation --------------------------------------------------------------

local orders = given.orders

local function judged(reply, err, asked)
  if not reply then return failed(err) end
  local text = reply.text
  local is_right = text:find(asked[3], 1, true) and not text:find(asked[4], 1, true)
  return is_right and "right" or "valid", text
end

rows[#rows + 1] = { "a fresh context for each of 20 tasks", function(trial)
  local asked = cycle(orders.requests, trial)
  local one = hocket.agent { name = asked[1], prompt = orders.specialists[asked[1]], model = model, temperature = 0, max_tokens = 40 }
  local reply, err = hocket.run(one, asked[2])
  return judged(reply, err, asked)
end }

-- The answers of the trials before are its conversation.
rows[#rows + 1] = { "one agent with all 20 in its conversation", function(trial, before)
  local prompt = { "You do the work of three people. Each message says what it asks for." }
  for _, name in ipairs { "amount", "date", "contact" } do prompt[#prompt + 1] = ("- %s: %s"):format(name, orders.specialists[name]) end
  local one = hocket.agent { name = "all", prompt = table.concat(prompt, "\n"), model = model, temperature = 0, max_tokens = 40 }
  local history = hocket.llm.history()
  for i = 1, trial - 1 do
    history:user(cycle(orders.requests, i)[2])
    assert(history:add { role = "assistant", text = before[i].note })
  end
  local asked = cycle(orders.requests, trial)
  local reply, err = hocket.orchestrate.call(one, asked[2], { history = history })
  return judged(reply, err, asked)
end }

-- ---- Trials ---------------------------------------------------------------------------------------

local name = model:match "[^/]+$"
local made = {}

local function key(one)
  return ("%s %d %s %s"):format(one.row, one.trial, one.model, one.with)
end

for line in io.open(RESULTS) and io.lines(RESULTS) or function() end do
  local one = json.decode(line)
  if one then made[key(one)] = one end
end

local function try(row, trial, before)
  local one = { row = row[1], trial = trial, model = name, with = "edition " .. edition }
  if made[key(one)] then return made[key(one)] end
  one.outcome, one.note = row[2](trial, before)
  local file <close> = assert(io.open(RESULTS, "a"))
  file:write(json.encode(one), "\n")
  return one
end

local lines = { ("| %s | trials | right | valid |"):format(name), "|---|---|---|---|" }

local function measure(row)
  local count, all = { right = 0, valid = 0, wrong = 0 }, {}
  for trial = 1, math.min(trials, row.trials or trials) do
    all[trial] = try(row, trial, all)
    count[all[trial].outcome] = count[all[trial].outcome] + 1
    print(("%s %d: %s (%s)"):format(row[1], trial, all[trial].outcome, all[trial].note:gsub("%s+", " "):sub(1, 100)))
  end
  lines[#lines + 1] = ("| %s | %d | %d | %d |"):format(row[1], #all, count.right, count.right + count.valid)
end

for _, row in ipairs(rows) do
  if row[1]:find(only, 1, true) then measure(row) end
end
return table.concat(lines, "\n")
