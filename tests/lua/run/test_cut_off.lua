-- Agents and model calls that are cut off: right behind that they are counted, and each agent has told its end before its run has.
local t = require "harness"
local flow = require "hocket.flow"
local hocket = require "hocket"
local json = require "hocket.json"
local llm = require "hocket.llm"
local model = require "model"
local orchestrate = require "hocket.orchestrate"
local s = require "scripted"

local call = s.call

-- Is asked, and never answers.
local silent = model.raw(function() end)

s.reply = function() return { text = "done", latency = 0.05 } end

local function ask(agent)
  return function() return hocket.run(agent, "Go") end
end

-- Runs fn(quick, slow) in a run, two agents. Returns what was used right behind it, and what the run has used in the end.
local function used_by(fn)
  local team = s.team { quick = {}, slow = { model = silent.id } }
  local behind
  local run = s.run(function(run)
    fn(ask(team.quick), ask(team.slow))
    behind = run:usage()
    return { text = "over" }
  end)
  return behind, run:usage()
end

local SENT = 0.1 * t.slower -- seconds after which a call is out

-- How many calls are made, and how many of them are cut off.
local cuts = {
  any = { 3, 2, function(quick, slow) flow.any { quick, slow, slow } end },
  race = { 2, 1, function(quick, slow) flow.race { quick, slow } end },
  timeout = { 1, 1, function(_, slow) flow.timeout(SENT, slow) end },
  raised = { 2, 2, function(_, slow)
    pcall(flow.all, { slow, slow, function()
      flow.sleep(SENT)
      error "enough"
    end })
  end },
  cancel = { 1, 1, function(_, slow)
    local one = flow.spawn(slow)
    flow.sleep(SENT)
    one:cancel()
    pcall(one.wait, one)
  end },
  ["a job below a job"] = { 1, 1, function(_, slow)
    flow.timeout(SENT, function() return hocket.broker():call { run = slow } end)
  end },
  batch = { 1, 1, function(_, slow)
    flow.timeout(SENT, function()
      local batch <close> = assert(hocket.broker():batch { { run = slow } })
      return batch:wait()
    end)
  end },
}

require("hocket.prices").set("scripted/*", { input = 1, output = 1 })
for name, cut in pairs(cuts) do
  t.test("calls that are cut off are counted, right behind and in the end: " .. name, function()
    for _, used in ipairs { used_by(cut[3]) } do
      t.equal(used.calls, cut[1])
      t.equal(used.unpriced, cut[2])
      t.equal(used.cost, json.null)
    end
  end)
end

t.test("what a run still does when it ends is counted", function()
  local slow = ask(s.team { slow = { model = silent.id } }.slow)
  local run = s.run(function()
    flow.spawn(slow)
    assert(hocket.broker():submit { run = slow })
    flow.sleep(0.1)
    return { text = "over" }
  end)
  t.equal(run:usage().calls, 2)
  t.equal(s.events(run, "workflow_finished")[1].usage.calls, 2)
end)

-- ---- A call's own time ---------------------------------------------------------------------------------

local function direct(fn)
  local history = llm.history()
  history:user "x"
  local reply, err
  local run = s.run(function()
    reply, err = fn(require("hocket.model").resolve(silent.id), history)
    return { text = "over" }
  end)
  t.equal(reply, nil)
  return err, run:usage().calls
end

t.test("a call that is out of time returns that, and is counted; so do a hedge and a race", function()
  local err, calls = direct(function(one, history) return llm.call(one, history, { timeout = 0.1, retries = 0 }) end)
  t.equal(err.code, "timeout")
  t.equal(calls, 1)
  err, calls = direct(function(one, history) return llm.hedge(one, history, { timeout = 0.3, retries = 0 }, { after = 0.1, max = 2 }) end)
  t.equal(err.code, "timeout")
  t.equal(calls, 2)
  err, calls = direct(function(one, history) return llm.race { one, one, history = history, request = { timeout = 0.1, retries = 0 } } end)
  t.equal(err.code, "timeout")
  t.equal(calls, 2)
end)

t.test("what is raised by whoever is told of a text is raised, and the call is counted", function()
  local history = llm.history()
  history:user "x"
  local run, _, err = s.run(function()
    return llm.call(require("hocket.model").resolve "scripted/m", history, { stream = true },
      function() error({ code = "mine", message = "enough", at = { 1, 2 } }, 0) end)
  end)
  t.equal(err.code, "mine")
  t.equal(err.message, "enough")
  t.same(err.at, { 1, 2 })
  t.equal(run:usage().calls, 1)
end)

-- ---- Its end is told -------------------------------------------------------------------------------------

local function check_ends(run, expected)
  local begun, order = {}, s.events(run)
  for _, event in ipairs(order) do
    if event.type == "agent_started" then begun[event.op] = event.agent end
    if event.type == "agent_finished" then begun[event.op] = nil end
  end
  t.equal(next(begun), nil)
  t.equal(#s.events(run, "agent_started"), expected)
  t.equal(order[#order].type, "workflow_finished")
end

-- Plays fn(request) meanwhile.
local function play(fn, work)
  local before = s.reply
  s.reply = fn
  local run, reply = s.run(work)
  s.reply = before
  return run, reply
end

t.test("a member that works on when its coordinator answers has an end", function()
  local team = s.team { slow = { description = "s", model = silent.id }, quick = { description = "q" },
    chief = { agents = { "slow", "quick" } } }
  local run, reply = play(function(request)
    local asks = request.tools.next_round and s.calls(request, "next_round") == 0
    return asks and { calls = { call("next_round", { timeout = 0.2 }) } } or "done"
  end, function() return orchestrate.call(team.chief, "Go", { team = { members = { team.slow, team.quick }, termination_mode = "coordinator_decides" } }) end)
  t.equal(reply.text, "done")
  check_ends(run, 2)
end)

t.test("an advisor that works on when a required one has failed has an end", function()
  local broken = model.raw(function(listener, request) listener:respond(request.id, 400, {}, "{}") end)
  local closing <close> = broken
  local team = s.team { slow = { description = "s", model = silent.id }, broken = { description = "b", model = broken.id },
    chief = { agents = { "slow", "broken" }, advisors = { agents = { "slow", "broken" }, required = { "broken" } } } }
  local run, reply = s.run(function() return hocket.run(team.chief, "Go") end)
  t.equal(reply, nil)
  check_ends(run, 2)
end)

t.test("who was called by an agent that is out of time has an end", function()
  local team = s.team { slow = { description = "s", model = silent.id }, chief = { agents = { "slow" } } }
  local run = play(function() return { calls = { call("delegate", { agent_name = "slow", prompt = "Go." }) } } end,
    function() return hocket.run(team.chief, "Go", { timeout = 0.2 }) end)
  check_ends(run, 1)
end)

t.test("a run that is cancelled ends when its agents have", function()
  local slow = ask(s.team { slow = { model = silent.id } }.slow)
  local asked = silent.count
  local of, one = s.start(function() return flow.all { slow, slow } end)
  t.eventually(function() return silent.count == asked + 2 end)
  one:cancel()
  t.ok(one:join(2))
  local events = s.events(of())
  t.equal(events[#events].type, "workflow_finished")
  t.equal(events[#events].usage.calls, 2)
end)

getmetatable(silent).__close()
return t.finish()
