--- A conversation with one agent over several prompts.
---
---     local hocket = require "hocket"
---     local guide = hocket.agent { name = "guide", prompt = "You know Lisbon." }
---     local chat <close> = assert(hocket.conversation(guide))
---     print(chat:send("Where is the castle?").text)
---     print(chat:send("And how do I get there?").text)
---
--- A facilitator keeps its board and its document; in each turn it may create as many tasks as its `task_limit` says. Its background
--- tasks continue between prompts, are reported before the next one, and end with the conversation. Agents that it hands off to, or
--- that are chosen to answer, remember their own part of the conversation; advisors start anew in each turn.
local agents = require "hocket.agent"
local arguments = require("hocket.internal.base.arguments").check
local broker = require "hocket.broker"
local facts_of = require "hocket.internal.agents.facts"
local fiber = require "hocket.internal.core.fiber"
local llm = require "hocket.llm"
local orchestrate = require "hocket.orchestrate"
local failed = require("hocket.internal.core.system").error

local conversation = {}

local nothing = {}

---@class hocket.Conversation
---@field history hocket.History
---@field memory table<hocket.Agent, hocket.History> Of the agents that answer in its place.
---@field package held table<string, table> What facilitators continue with, by their names: it is theirs.
---@field package run integer|false The number of its run; false when it is closed.
---@field package home hocket.Job|false
local Conversation = {}
Conversation.__index = Conversation
Conversation.__close = function(self) self:close() end

local function has_delegate(list)
  for _, one in ipairs(list or {}) do
    if one == "delegate" then return true end
  end
  return false
end

-- Whether it may start tasks in the background.
local function may_delegate(agent, opts)
  return facts_of(agent).may_delegate or has_delegate(agent.tools) or has_delegate(opts.extra_tools)
end

-- The job that background tasks belong to: it waits, holding no slot, until it is cancelled.
local function open_home(agent)
  local owner, home = fiber.self(), nil
  local function told()
    if not home then owner:wake() end
  end
  local id, err = broker.shared():submit { agent = agent.name, emit = told, run = function(job)
    told()
    home = job
    broker.shared():aside(function()
      while true do fiber.park() end
    end)
  end }
  if not id then return nil, err end
  while not home do
    if broker.shared():has_ended(id) then return broker.shared():result(id) end
    fiber.park()
  end
  return home
end

-- A job costs more than a conversation that waits: it is opened where there may be tasks.
local function settle(self)
  local run = orchestrate.current_run()
  if self.run ~= (run and run.number) or self.home and self.home.over then
    return nil, failed { code = "closed", message = "the conversation is closed" }
  elseif self.home or not may_delegate(self.agent, self.opts) then
    return true
  end
  local home, err = open_home(self.agent)
  self.home = home or false
  return home ~= nil, err
end

--- Opens a conversation. Must run inside a run.
---@async
---@param agent hocket.Agent
---@param opts? table As for orchestrate.call.
---@return hocket.Conversation?
---@return hocket.Error?
function conversation.new(agent, opts)
  arguments("conversation", 1, "agent", agent)
  arguments("conversation", 2, "table?", opts)
  local run = orchestrate.current_run()
  if not run then error("a conversation can only be opened inside a run (hocket.run makes one)", 2) end
  local self = setmetatable({
    agent = agent, opts = opts or nothing, run = run.number, home = false, history = llm.history(), memory = nothing, held = {},
  }, Conversation)
  local ok, err = settle(self)
  if not ok then return nil, err end
  return self
end

-- A call of a cancelled turn gets its result when its session has ended, which may still be going on.
local function last_message(history)
  while true do
    local messages = history:messages()
    local last = messages[#messages]
    if not last or last.role ~= "assistant" or not last.calls or #last.calls == 0 then return last end
    fiber.sleep(0.005)
  end
end

-- After a turn without an answer: no provider takes two messages of the user in a row, and the model
-- has to see that it was not heard to the end.
local function close_open_turn(history, failure)
  local last = last_message(history)
  if last and last.role ~= "assistant" then
    history:add { role = "assistant", text = ("[no answer: %s]"):format(failure or "interrupted by the user") }
  end
end

-- What those know who answer in its place: by agent, in the order in which they came (see internal/base/sorted_keys.lua; names may
-- be alike).
local function new_memory()
  local order = {}
  return setmetatable({}, { order = order, __newindex = function(self, def, history)
    order[#order + 1] = def
    rawset(self, def, history)
  end })
end

local function in_order(memory)
  return memory == nothing and nothing or getmetatable(memory).order
end

local function close_unfinished(self)
  close_open_turn(self.history, self.failure)
  for _, def in ipairs(in_order(self.memory)) do close_open_turn(self.memory[def], self.failure) end
  self.unfinished, self.failure = nil, nil
end

--- Sends a message and waits for the answer. After a failed or cancelled turn the conversation can continue.
---@async
---@param text hocket.Input
---@return hocket.Reply?
---@return hocket.Error?
function Conversation:send(text)
  local ok, refused = settle(self)
  if not ok then return nil, refused end
  if self.unfinished then close_unfinished(self) end
  self.unfinished = true
  if self.memory == nothing then self.memory = new_memory() end
  local opts = setmetatable({ history = self.history, memory = self.memory, held = self.held, home = self.home }, { __index = self.opts })
  local reply, err = orchestrate.call(self.agent, text, opts)
  if not next(self.memory) then self.memory = nothing end
  self.unfinished, self.failure = not reply or nil, err and err.message
  return reply, err
end

-- The input of a job that asks the agent nothing: it does not have to fit what the agent's file wants as input.
local function nothing_said() return "" end

--- Shortens the conversation now: a summary replaces old turns, and the agent can still read them. This happens automatically when the
--- window of its model is nearly full (`context` in the agent's file).
---@async
---@return boolean? compacted False if nothing was said yet.
---@return hocket.Error?
function Conversation:compact()
  local is_open, refused = settle(self)
  if not is_open then return nil, refused end
  if self.unfinished then close_unfinished(self) end
  local any = false
  local function shorten(def, history)
    if #history == 0 then return true end
    any = true
    local opts = setmetatable({ history = history, held = self.held, home = self.home, compact = true }, { __index = self.opts })
    local spec, step = orchestrate.job(def, nothing_said, opts)
    if not spec then return nil, failed(step) end
    return broker.shared():call(spec)
  end
  local ok, err = shorten(self.agent, self.history)
  for _, def in ipairs(in_order(self.memory)) do
    if ok then ok, err = shorten(def, self.memory[def]) end
  end
  if not ok then return nil, err end
  return any
end

--- Forgets the conversation. Tasks, document and background work stay.
function Conversation:clear()
  self.history, self.memory, self.unfinished, self.failure = llm.history(), nothing, nil, nil
end

--- Continues with another version of the agent and of the agents that it reaches; they keep their memory, by name.
---@param agent hocket.Agent
function Conversation:adopt(agent)
  local team, memory = agents.team_of(agent) or {}, new_memory()
  for _, def in ipairs(in_order(self.memory)) do
    local now = rawget(team, def.name)
    if now then memory[now] = self.memory[def] end
  end
  self.agent, self.memory = agent, memory
end

--- Ends the background work.
function Conversation:close()
  local home = self.home
  self.run = false
  if home and not home.over then home.broker:drop(home.id) end -- nobody else has its id
end

return setmetatable(conversation, { __call = function(_, ...) return conversation.new(...) end })
