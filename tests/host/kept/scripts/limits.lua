-- Waits for people under time limits, as its input says.
local hocket = require "hocket"
local flow = hocket.flow
local ways = {}

local function asking(more)
  local def = { name = "ask", description = "Asks.", parameters = { type = "object" }, steps = true,
    run = function() return assert(hocket.ask "Which?") end }
  for name, value in pairs(more or {}) do def[name] = value end
  return hocket.tool(def)
end

local function agent(name, tools, more)
  local def = { name = name, prompt = "You work.", tools = tools }
  for key, value in pairs(more or {}) do def[key] = value end
  return hocket.agent(def)
end

-- The run's own (its option `timeout`).
function ways.run()
  return assert(hocket.ask "Which?")
end

function ways.flow()
  return (assert(flow.timeout(3600, function() return hocket.ask "Which?" end)))
end

function ways.agent()
  return assert(hocket.run(agent("asker", { asking() }, { timeout = 3600 }), "call ask {}")).text and "answered"
end

-- A tool that needs approval.
function ways.approval()
  return assert(hocket.run(agent("asker", { asking() }, { timeout = 3600, approve = { ask = { "ask" } } }), "call ask {}")).text and "answered"
end

function ways.tool()
  return assert(hocket.run(agent("asker", { asking { timeout = 3600 } }), "call ask {}")).text and "answered"
end

-- Of a wait for somebody who waits for people.
function ways.job()
  local jobs = hocket.broker()
  local id = assert(jobs:submit { run = function() return hocket.ask "Which?" end })
  assert(jobs:wait_for({ id }, "all", 3600))
  return jobs:result(id)
end

-- The dispatcher waits for its deadline.
function ways.deadline()
  local jobs = hocket.broker()
  return assert(jobs:wait(assert(jobs:submit { deadline = 3600, run = function() return hocket.ask "Which?" end })))
end

-- A deadline counts what is done before and behind its questions.
function ways.late()
  local jobs = hocket.broker()
  local answer, err = jobs:wait(assert(jobs:submit { deadline = 1000, run = function()
    local words = assert(hocket.ask "One?") .. assert(hocket.ask "Two?")
    flow.sleep(0.05)
    return words
  end }))
  return answer or err.code
end

function ways.fiber()
  return (assert(flow.spawn(function() return hocket.ask "Which?" end):wait(3600)))
end

function ways.signal()
  return assert(flow.timeout(3600, function() return hocket.signal "go" end))
end

-- Agents that call agents, each with a limit of its own.
function ways.deep()
  local def = agent("third", { asking() }, { timeout = 3600 })
  for _, name in ipairs { "second", "first" } do
    local below = def
    def = agent(name, { hocket.tool { name = "pass", description = "Passes on.", parameters = { type = "object" }, steps = true,
      run = function() return assert(hocket.run(below, below.name == "third" and "call ask {}" or "call pass {}")).text end } }, { timeout = 3600 })
  end
  return assert(hocket.run(def, "call pass {}")).text and "answered"
end

-- Twice, with work behind it.
function ways.twice()
  local answer, err = flow.timeout(1000, function()
    local words = assert(hocket.ask "One?") .. assert(hocket.ask "Two?")
    flow.sleep(0.05)
    return words
  end)
  return answer or err.code
end

-- A checkpoint in the middle: what came before it is not done again.
function ways.checkpoint()
  local answer, err = flow.timeout(1000, function()
    local state = hocket.checkpoint() or { words = "", round = 1 }
    while state.round <= 2 do
      local words = state.words .. assert(hocket.ask "Which?")
      flow.sleep(0.05)
      state = hocket.checkpoint { words = words, round = state.round + 1 }
    end
    return state.words
  end)
  return answer or err.code
end

-- While one asks another works: the clock runs, and is over.
function ways.beside()
  local answer, err = flow.timeout(0.02, function()
    flow.all { function() return hocket.ask "Which?" end, function() flow.sleep(3600) end }
  end)
  return answer or err.code
end

-- Nobody has to be asked for long: the question's own limit counts all the time.
function ways.patience()
  local answer, err = flow.timeout(3600, function() return hocket.ask("Which?", { timeout = 0.02 }) end)
  return answer or err.code
end

return ways[(...)]()
