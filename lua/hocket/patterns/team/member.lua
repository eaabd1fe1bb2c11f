--- A member of a team: its own conversation over the rounds, and its two tools. What it says in a
--- round is kept here until the round is over.
local tool = require "hocket.tool"

local member = {}

---@class hocket.Member
---@field def hocket.Agent
---@field voted boolean Whether it wants to conclude.
---@field gone? string Why it takes part no more.
---@field cursor integer What it has read of the channel.
---@field fresh boolean Whether it has to be told what all this is about.
---@field memory table<hocket.Agent, hocket.History> Its conversations: of itself, and of those it hands on to.
---@field said string[] In this round.
---@field tools hocket.Tool[]
---@field spec? table Of its job in the round before, and whose answer that was, as long as its conversation goes on.
---@field step? hocket.Step
---@field left integer Bytes that it may still say in this round.
local Member = {}
Member.__index = Member

-- The tools are the same for all members: whose they are stands in the context of each call.
local broadcast = tool {
  steps = true, name = "broadcast", says = "message",
  description = "Say something to the whole team. The others read it when this round is over.",
  parameters = { type = "object", required = { "message" }, properties = {
    message = { type = "string", minLength = 1, description = "What the others are to know" },
  } },
  run = function(args, ctx)
    local self = ctx.member
    if #args.message > self.left then
      return nil, { code = "limit", message = ("too long: %d bytes are left to you in this round. Say it in fewer words."):format(self.left) }
    end
    self.left = self.left - #args.message
    self.said[#self.said + 1] = args.message
    return "The team will read it when this round is over."
  end,
}

local vote_conclude = tool {
  steps = true, name = "vote_conclude",
  description = "Vote to end the discussion. It ends when all members have; until then you can take your vote back.",
  parameters = { type = "object", properties = {
    ready = { type = "boolean", description = "false takes your vote back. Default: true" },
    reason = { type = "string", description = "Why, in one line" },
  } },
  run = function(args, ctx)
    local self = ctx.member
    self.voted = args.ready ~= false
    self.on_vote(self, args.reason)
    return self.voted and "Your vote to conclude is noted." or "Your vote is taken back."
  end,
}

local talking, voting = { broadcast }, { broadcast, vote_conclude }

---@param def hocket.Agent
---@param on_vote? fun(member: hocket.Member, reason?: string) Without it there are no votes.
---@return hocket.Member
function member.new(def, on_vote)
  return setmetatable({
    def = def, voted = false, cursor = 0, said = {}, left = 0, memory = {}, fresh = true,
    on_vote = on_vote, tools = on_vote and voting or talking,
  }, Member)
end

--- Begins a round.
---@param bytes integer What it may say.
function Member:open(bytes)
  if #self.said > 0 then self.said = {} end
  self.left = bytes
end

-- Whoever was cut short has said something, and its conversation stands: it takes part in the next round. One that refused, or
-- was stopped, has ended itself.
local goes_on = { length = true, turns = true, budget = true, loop = true }

local function cut_words(err)
  return ("%s[cut short: %s]"):format(err.partial and err.partial .. "\n" or "", err.message)
end

-- Its closing words count when it has said nothing else: what does not fit is cut, and says so.
local function closing_words(self, text)
  if text:find "^%s*$" then return nil end
  if #text <= self.left then return text end
  return text:sub(1, utf8.offset(text, 0, self.left + 1) - 1) .. "\n[cut here: no more bytes were left in this round]"
end

local function message(self, kind, text)
  return { from = self.def.name, kind = kind, text = text }
end

--- Ends a round.
---@param outcome {value?: hocket.Reply, err?: hocket.Error}
---@param messages {from: string, kind: string, text: string}[] Of those before it: its own are added.
---@return boolean failed
function Member:close(outcome, messages)
  local said = self.said
  local err = outcome.err
  local cut = err and goes_on[err.reason]
  local last = outcome.value and outcome.value.text or cut and cut_words(err)
  local closing = #said == 0 and last and closing_words(self, last)
  if closing then messages[#messages + 1] = message(self, "message", closing) end
  for i = 1, #said do messages[#messages + 1] = message(self, "message", said[i]) end
  if not err or cut then return false end
  local text = err.message
  if err.partial then text = ("%s\nWhat it had so far: %s"):format(text, err.partial) end
  messages[#messages + 1] = message(self, "failure", text)
  self.memory, self.cursor, self.fresh, self.spec, self.step = {}, 0, true, nil, nil -- its conversation broke off: it learns all again
  if err.no_retry then self.gone = err.message end
  return true
end

return member
