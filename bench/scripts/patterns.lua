-- Patterns, so many times as the input's second word says: "handoff 5" is five chains of ten agents, "advisors 5"
-- twenty advisors and who they advise, "team 5" eight members for five rounds and their coordinator; "router 5" one that
-- chooses among three, "three 5" three advisors, "five 5" a team of five for two rounds.
-- With a third word the same model calls are made without the pattern, with the same texts and as many at once:
-- "plain" by agents that know nothing of each other, "bare" by hocket.llm itself, with the same requests.
local hocket = require "hocket"
local session = require "hocket.session"

local kind, rounds, how = (...):match "^(%a+) (%d+) ?(%a*)$"

local function agent(name, model)
  return hocket.agent { name = name, model = model or "openai/tools-0", prompt = ("You are a careful worker who wastes no words. "):rep(10) }
end

local function agents(n)
  local list = {}
  for i = 1, n do list[i] = agent("a" .. i) end
  return list
end

local request = "Is it worth while to go through all the steps again? Say why, and what it would cost."

local function advised(n)
  local chief, list = agent "chief", agents(n)
  return function() return hocket.patterns.advisors.run(chief, list, request) end
end

local function team(n, rounds)
  local chief, list = agent "chief", agents(n)
  return function() return hocket.patterns.team.run(chief, list, request, { max_rounds = rounds, termination_mode = "max_rounds" }) end
end

local make = {
  handoff = function()
    local chain = agents(10)
    return function() return hocket.patterns.handoff.run(chain, request) end
  end,
  advisors = function() return advised(20) end,
  three = function() return advised(3) end,
  team = function() return team(8, 5) end,
  five = function() return team(5, 2) end,
  router = function()
    local chief, list = agent("chief", "openai/route-2"), agents(3)
    return function() return hocket.patterns.router.run(chief, list, request) end
  end,
}

-- What one round sends: calls in phases, those of one phase side by side.
local function capture(run)
  local phases, last, new = {}, "ended", session.of
  local function note(self, text)
    if last == "ended" then phases[#phases + 1] = {} end
    last = "begun"
    table.insert(phases[#phases], { history = self.history, request = self.request, model = self.model, text = text })
  end
  function session.of(own)
    local one = new(own)
    local send = one.send
    function one.send(self, text)
      note(self, text)
      local reply, err = send(self, text)
      last = "ended"
      return reply, err
    end
    return one
  end
  assert(run())
  session.of = new
  return phases
end

local function replay(phases)
  local histories = {}
  for _, phase in ipairs(phases) do
    local _, errors = hocket.flow.map(phase, function(call)
      local history = histories[call.history] or hocket.llm.history()
      histories[call.history] = history
      history:user(call.text)
      return hocket.llm.call(call.model, history, call.request)
    end)
    if next(errors) then return nil, select(2, next(errors)) end
  end
  return true
end

local function plain(phases)
  local one = agent "plain"
  for _, phase in ipairs(phases) do
    local _, errors = hocket.flow.map(phase, function(call) return hocket.run(one, call.text) end)
    if next(errors) then return nil, select(2, next(errors)) end
  end
  return true
end

local run = make[kind]()
if how ~= "" then
  local phases, instead = capture(run), how == "bare" and replay or plain
  run = function() return instead(phases) end
end
for _ = 1, tonumber(rounds) do
  local ok, err = run()
  if not ok then return nil, err end
end
return "done"
