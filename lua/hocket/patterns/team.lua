--- Team: members discuss in rounds on one channel. Then a coordinator, which is the agent with the key `team`,
--- writes the answer.
---
---     local hocket = require "hocket"
---     local function agent(name) return hocket.agent { name = name, prompt = "You are the " .. name .. "." } end
---     local members = { agent "analyst", agent "developer" }
---     print(hocket.patterns.team.run(agent "lead", members, "Passkeys or passwords?", { max_rounds = 2 }).text)
---
---                ┌──> analyst ────┐                ┌──> analyst ───┐
---     request ───┼──> developer ──┼──> channel ────┼──> developer ─┼──> … ──> coordinator ──> answer
---                └──> security ───┘                └──> security ──┘
---                      round 1                          round 2
---
--- In a round all members work in parallel, each in its own conversation. Each first reads the messages since its last turn,
--- and never half a round. The rounds end when all members have voted to conclude, or after max_rounds. With
--- "coordinator_decides" the coordinator starts the rounds itself; its answer ends them and cancels the members that
--- still work. A member's failure becomes a message.
local broker = require "hocket.broker"
local fence = require "hocket.fence"
local channel = require "hocket.patterns.team.channel"
local member = require "hocket.patterns.team.member"
local orchestrate = require "hocket.orchestrate"
local tool = require "hocket.tool"

local team = {}

---@class hocket.Team
---@field members hocket.Agent[]
---@field termination_mode? "consensus"|"max_rounds"|"coordinator_decides" Default: consensus.
---@field max_rounds? integer Default: 10.
---@field max_round_bytes? integer Bytes of all messages in one round; each member gets an equal share. Default: 64 KiB.
---@field timeout? number Seconds for a member's turn.

--- What an agent's file says.
---@param def hocket.Agent
---@return hocket.Team?
---@return hocket.Error?
---@internal
function team.of(def)
  local says = def.team
  local members, err = orchestrate.find_all(def, says.members, "team")
  if not members then return nil, err end
  return {
    members = members, termination_mode = says.termination_mode, max_rounds = says.max_rounds,
    max_round_bytes = says.max_round_bytes, timeout = says.timeout,
  }
end

-- ---- A discussion -------------------------------------------------------------------------------

local Talk = {}
Talk.__index = Talk

-- Also when the coordinator's fiber is cancelled, or it answers while a round goes on.
Talk.__close = function(self)
  if self.batch then self.batch:close() end
end

local function names_of(list)
  local names = {}
  for i, def in ipairs(list) do names[i] = def.name end
  return names
end

local function new(step, settings, input)
  local self = setmetatable({
    step = step, input = input, mode = settings.termination_mode or "consensus", max_rounds = settings.max_rounds or 10,
    bytes = settings.max_round_bytes or 65536, timeout = settings.timeout, names = names_of(settings.members),
    channel = channel.new(), members = {}, round = 0, cursor = 0,
  }, Talk)
  local on_vote = self.mode ~= "max_rounds" and function(one, reason)
    step:emit("team_vote", { member = one.def.name, round = self.round, ready = one.voted, reason = reason })
  end or nil
  for i, def in ipairs(settings.members) do self.members[i] = member.new(def, on_vote) end
  step:emit("team_started", { members = self.names, termination_mode = self.mode, max_rounds = self.max_rounds })
  return self
end

-- What was asked for: what advisors have added to it has its fences already.
local function request_of(self)
  if self.request then return self.request end
  self.request = self.input
  if self.input == self.step.input then
    local framed, note = fence.request(self.input)
    self.request = ("## ORIGINAL USER REQUEST\n\n%s\n\n%s"):format(framed, note)
  end
  return self.request
end

local function votes(self)
  local names = {}
  for _, one in ipairs(self.members) do
    if one.voted and not one.gone then names[#names + 1] = one.def.name end
  end
  return names
end

local function where_we_are(self)
  local line, voted = ("This is round %d of at most %d."):format(self.round, self.max_rounds), votes(self)
  return #voted > 0 and ("%s Votes to conclude so far: %s."):format(line, table.concat(voted, ", ")) or line
end

local how = "Say what the others are to know with `broadcast`%s. What you only answer is told to them when you have broadcast nothing."
local how_to_vote = ", and call `vote_conclude` when nothing is left to discuss"

-- What all members read first, behind their names.
local function opening_of(self)
  self.opening = self.opening or (", one of a team: %s. %s writes the answer in the end; you discuss what belongs in it.\n\n%s\n\n%s\n\n"):format(
    table.concat(self.names, ", "), self.step.def.name, request_of(self), how:format(self.mode ~= "max_rounds" and how_to_vote or ""))
  return self.opening
end

-- What a member reads at the beginning of a round; `where` is the same for all.
local function brief(self, one, where)
  if one.fresh then where = "You are " .. one.def.name .. opening_of(self) .. where end
  return self.channel:since(one.cursor, not one.fresh and one.def.name, where .. "\n\n", fence.note_for(self.step.run))
    or one.fresh and where or where .. "\n\nNobody else has said anything since your last turn."
end

-- ---- Rounds ---------------------------------------------------------------------------------------

-- Its job for this round: its conversation goes on.
local function ask(self, one, where)
  one:open(self.bytes // #self.at_work)
  local text = brief(self, one, where)
  if one.spec then
    orchestrate.again(one.spec, one.step, text)
  else
    local spec, step = self.step:ask(one.def, text, "team", { memory = one.memory, closing = one.tools, member = one, timeout = self.timeout, framed = true })
    if not spec then return nil, step end
    one.spec, one.step = spec, step
  end
  one.cursor, one.fresh = #self.channel, false
  return one.spec
end

local function start_round(self)
  self.round, self.at_work = self.round + 1, {}
  for _, one in ipairs(self.members) do
    if not one.gone then self.at_work[#self.at_work + 1] = one end
  end
  local specs, where = {}, where_we_are(self)
  local err
  for i = 1, #self.at_work do
    local one = self.at_work[i]
    specs[i], err = ask(self, one, where)
    if not specs[i] then return nil, orchestrate.crossed(self.step, err, { self.step.def.name }, "team", one.def.name) end
  end
  self.step:emit("round_started", { round = self.round, members = #specs })
  self.batch, err = broker.shared():batch(specs)
  return self.batch, err
end

-- Why the rounds are over, if they are.
local function verdict(self, failures)
  local left = 0
  for _, one in ipairs(self.members) do left = left + (one.gone and 0 or 1) end
  if failures == #self.at_work or left == 0 then return "failed" end
  if #votes(self) == left then return "consensus" end
  if self.round >= self.max_rounds then return "max_rounds" end
end

-- All of a round is put into the channel at once.
local function end_round(self)
  local failures, batch, messages = 0, self.batch, {}
  self.batch = nil
  for i = 1, #self.at_work do
    failures = failures + (self.at_work[i]:close(batch[i], messages) and 1 or 0)
  end
  local writer = self.step.writer
  for i = 1, #messages do
    local message = messages[i]
    writer:write("team_message", "content", message.text, "failed", message.kind == "failure" or nil, "member", message.from, "round", self.round)
  end
  self.channel:append(self.round, messages)
  self.over = verdict(self, failures)
end

local function finish(self, reason)
  self.step:emit("team_finished", { reason = reason, rounds = self.round, messages = self.channel.count })
end

-- ---- Who writes the answer ----------------------------------------------------------------------

local endings = {
  consensus = "All members have voted to conclude.", max_rounds = "The last round is over.",
  failed = "No member is left who could go on.",
}

-- The coordinator comes when the rounds are over.
local function conclude(self)
  self.step:keep_answer()
  while not self.over do
    local batch, err = start_round(self)
    if not batch then return nil, err end
    local ended, broken = batch:wait()
    if not ended then return nil, broken end
    end_round(self)
  end
  finish(self, self.over)
  return self.step:alone(("%s\n\n# DISCUSSION OF YOUR TEAM\n\n%s (%d rounds)%s\n\n%s\n\nNow write the answer to the request."):format(request_of(self), endings[self.over], self.round,
    fence.note_for(self.step.run), self.channel:since(0, false, "", "") or "(Nobody has said anything.)"), { framed = true })
end

local round_schema = { type = "object", properties = {
  message = { type = "string", description = "What you want to tell or ask the members before it begins" },
  timeout = { type = "number", minimum = 0, description = "Seconds to wait at most; the round goes on after that" },
} }

-- Waits for the round under way, and tells what was said in it.
local function wait_for_round(self, seconds)
  local ended, err = self.batch:wait(seconds)
  if ended == nil then return nil, err end
  if not ended then
    local names = {}
    for i, one in ipairs(self.at_work) do
      if not self.batch[i].ended then names[#names + 1] = one.def.name end
    end
    return ("Round %d goes on; at work: %s. Call next_round again to wait for it. If you answer now their work is cancelled.")
      :format(self.round, table.concat(names, ", "))
  end
  end_round(self)
  local said = self.channel:since(self.cursor, self.step.def.name, "", "")
  self.cursor = #self.channel
  return ("%s%s\n\n%s"):format(said or "Nobody has said anything.", fence.note_for(self.step.run), self.over
    and endings[self.over] .. " Now write the answer." or ("Round %d of at most %d is over."):format(self.round, self.max_rounds))
end

local function tell(self, message)
  if not message or message:find "^%s*$" then return end
  self.channel:append(self.round + 1, { { from = self.step.def.name, kind = "message", text = message } })
  self.step:emit("team_message", { round = self.round + 1, member = self.step.def.name, content = message })
end

local function next_round(self)
  return tool {
    steps = true, name = "next_round", says = "message",
    description = "Let all members of your team have their turn, side by side, and read what they say.",
    parameters = round_schema,
    run = function(args)
      if self.hearing then return nil, { code = "state", message = "you are waiting for a round already" } end
      if self.over then return endings[self.over] .. " There are no more rounds: write the answer." end
      if #(args.message or "") > self.bytes then
        return nil, { code = "limit", message = ("the message is too long: %d bytes at most"):format(self.bytes) }
      end
      local heard <close> = setmetatable({}, { __close = function() self.hearing = false end })
      self.hearing = true
      tell(self, args.message)
      if not self.batch then
        local batch, err = start_round(self)
        if not batch then return nil, err end
      end
      return wait_for_round(self, args.timeout)
    end,
  }
end

-- The coordinator holds the rounds, and answers when it has heard enough.
local function let_coordinator_decide(self)
  local reply, err = self.step:alone(("%s\n\nYou have a team: %s. Call `next_round` to let them discuss it, at most %d times. When you have heard enough write the answer.")
    :format(request_of(self), table.concat(self.names, ", "), self.max_rounds), { pattern_tools = { next_round(self) }, framed = true })
  if reply then
    self:__close()
    finish(self, self.over or "coordinator_decides")
  end
  return reply, err
end

--- Lets the team discuss, and the coordinator answer.
---@async
---@param step hocket.Step The coordinator's.
---@param settings hocket.Team
---@param input string
---@return hocket.Reply?
---@return hocket.Error?
---@internal
function team.discuss(step, settings, input)
  local self <close> = new(step, settings, input)
  if self.mode == "coordinator_decides" then return let_coordinator_decide(self) end
  return conclude(self)
end

--- Lets agents discuss a request in rounds, and a coordinator answer it.
---@async
---@param coordinator hocket.Agent
---@param members hocket.Agent[]
---@param request string
---@param opts? table As for orchestrate.call, with `termination_mode`, `max_rounds`, `max_round_bytes`, `turn_timeout` (seconds for a member's turn).
---@return hocket.Reply?
---@return hocket.Error?
function team.run(coordinator, members, request, opts)
  orchestrate.argument("patterns.team.run", 1, "agent", coordinator, "table", members, "string|table", request, "table?", opts)
  opts = opts or {}
  local settings = {
    members = members, termination_mode = opts.termination_mode, max_rounds = opts.max_rounds,
    max_round_bytes = opts.max_round_bytes, timeout = opts.turn_timeout,
  }
  local call = setmetatable({ team = settings }, { __index = opts })
  return orchestrate.call(coordinator, request, call)
end

return team
