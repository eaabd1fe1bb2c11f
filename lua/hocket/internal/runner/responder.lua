--- Whom a conversation is with: an agent (alone or with its team), the planner, a plan's file, a script's
--- function, or a script that answers each message. Each has `say(text)`, `reload()` and `agents()`, and is closed at the end.
local agents = require "hocket.agent"
local callers = require "hocket.internal.base.lazy" "hocket.internal.runner.caller"
local edition = require "hocket.internal.base.edition"
local effects = require "hocket.internal.base.effects"
local conversation = require "hocket.conversation"
local json = require "hocket.json"
local plan_target = require "hocket.internal.base.lazy" "hocket.internal.runner.plan_target"
local script_reply = require "hocket.internal.base.lazy" "hocket.internal.runner.script_reply"
local sources = require "hocket.internal.base.sources"
local targets = require "hocket.internal.runner.target"
local workflow = require "hocket.internal.base.lazy" "hocket.workflow"
local failure = require("hocket.internal.core.system").failure

local responders = {}

-- ---- What has changed in a team --------------------------------------------------------------------

local function plain(value)
  if type(value) ~= "table" then return tostring(value) end
  local ok, text = pcall(json.encode, value)
  return ok and text or "?"
end

local function differs(a, b)
  for key, value in pairs(a) do
    if key ~= "prompt_line" and plain(value) ~= plain(b[key]) then return true end
  end
  for key in pairs(b) do
    if a[key] == nil then return true end
  end
  return false
end

local function changes(old, new)
  local list = { changed = json.array {}, added = json.array {}, removed = json.array {} }
  for name, def in pairs(new) do
    if not old[name] then
      table.insert(list.added, name)
    elseif differs(old[name], def) then
      table.insert(list.changed, name)
    end
  end
  for name in pairs(old) do
    if not new[name] then table.insert(list.removed, name) end
  end
  for _, names in pairs(list) do table.sort(names) end
  return list
end

-- ---- What is newest --------------------------------------------------------------------------------------

-- The newest state of a target; of a script only where it is watched, since it reads itself.
local function newest(target, options)
  if effects.here() then
    sources.stale()
    local found, err, state = targets.kept(target.path, options)
    return found, err, state
  end
  local found, err
  if target.generation then found, err = targets.newest(target.path) end
  if not found and not err and target.kind ~= "script" then found, err = targets.find(target.path, nil, options) end
  return found, err, found and found.generation
end

-- From here on the run works with another state of its files, and its events say so.
local function move_on(run, target, state)
  run.generation = target.generation or run.generation
  if state and state.number then run.journal:generation(state.number) end
end

-- ---- An agent ------------------------------------------------------------------------------------------

local Agent = {}
Agent.__index = Agent
Agent.__close = function(self) self.conversation:close() end

function Agent:say(text)
  if self.run.options.caller then
    local ok, err = callers.refresh(self.run, self.conversation.opts)
    if not ok then return nil, err end
  end
  self.conversation.opts.files, self.run.files = self.run.files, {}
  return self.conversation:send(text)
end

function Agent:agents()
  return agents.team_of(self.conversation.agent)
end

function Agent:reload()
  local found, err, state = newest(self.target, self.run.options)
  if not found then return nil, err end
  if found.kind ~= "agent" then return failure("agent", "%s is no agent any more", self.target.path) end
  local list = changes(self:agents(), agents.team_of(found.agent))
  self.conversation:adopt(found.agent)
  move_on(self.run, found, state)
  return list
end

function Agent:compact()
  return self.conversation:compact()
end

function Agent:clear()
  self.conversation:clear()
  return true
end

-- ---- The planner -----------------------------------------------------------------------------------------

local Planner = {}
Planner.__index = Planner
Planner.__close = function() end

function Planner:say(text)
  local files = self.run.files
  self.run.files = {}
  if #files > 0 then return failure("unsupported", "the planner goes by words alone") end
  local reply, err = require("hocket.patterns.planner").run { request = text, history = self.messages }
  if not reply then return nil, err end
  table.insert(self.messages, { role = "user", text = text })
  table.insert(self.messages, { role = "assistant", text = reply.text })
  return reply
end

function Planner:agents()
  return agents.built_in()
end

function Planner:reload()
  return failure("unsupported", "the planner is built in: there is nothing to read anew")
end

function Planner:compact()
  return failure("unsupported", "the planner goes by the last exchanges alone")
end

function Planner:clear()
  self.messages = {}
  return true
end

-- ---- A plan's file: each message is a request that it is carried out for ----------------------------------

local Plan = {}
Plan.__index = Plan
Plan.__close = function() end

function Plan:say(text)
  local files = self.run.files
  self.run.files = {}
  if #files > 0 then return failure("unsupported", plan_target.NO_FILES) end
  return plan_target.run(self.target, text)
end

function Plan:agents()
  return self.target.plan.team
end

function Plan:reload()
  local found, err, state = newest(self.target, self.run.options)
  if not found then return nil, err end
  if found.kind ~= "plan" then return failure("agent", "%s is no plan any more", self.target.path) end
  local list = changes(self:agents(), found.plan.team)
  self.target = found
  move_on(self.run, found, state)
  return list
end

function Plan:compact()
  return failure("unsupported", "a plan remembers nothing that was said: each message is a request of its own")
end

Plan.clear = Plan.compact

-- ---- A script -----------------------------------------------------------------------------------------------

local Script = {}
Script.__index = Script
Script.__close = function(self)
  if type(self.made.close) == "function" then self.made.close() end
end

-- A turn's answer is marked by what was cut in that turn.
local function forget_cuts(run)
  run.handed_out, run.printed_cut = nil, nil
end

-- The script is run for this message: its answer is what it says now.
local function begin_anew(run)
  forget_cuts(run)
  run.said_answer = nil
end

function Script:say(text)
  forget_cuts(self.run)
  local value, err = self.made.chat(text)
  self.run.files = {}
  if value == nil and err == nil then return failure("script", "the script's chat function answered nothing") end
  local reply, wrong = script_reply.within(self.run, value, err)
  if reply and reply ~= value then reply.finish = reply.finish or "stop" end
  return reply, wrong
end

function Script:agents()
  return type(self.made.agents) == "table" and self.made.agents or {}
end

-- Each message is the input of a workflow.
local function of_workflow(made)
  return { chat = function(text) return made:run(text) end }
end

-- A function, a table with one called `chat`, or a workflow.
local function conversation_in(value, target)
  local plan = type(value) == "table" and workflow.of_file(value, target.path)
  if plan then return of_workflow(plan) end
  if type(value) == "function" then value = { chat = value } end
  return type(value) == "table" and type(value.chat) == "function" and value or nil
end

-- Runs the script. Anything else that it returns is the answer to the message it was run with.
local function made_by(script, target, input)
  local value, err = script(target, input)
  local made = conversation_in(value, target)
  if made or value == nil and err ~= nil then return made, err end
  return nil, nil, { value = value }
end

local function take_over(made, state)
  made.on_reload(state)
  return made
end

-- What was said is the script's own affair.
local function by_script(name)
  return function(self)
    if type(self.made[name]) ~= "function" then return failure("unsupported", "%s leads this conversation, and has no function '%s'", self.target.path, name) end
    self.made[name]()
    return true
  end
end

Script.compact, Script.clear = by_script "compact", by_script "clear"

-- The script is run with the files that it is of. The new one is asked to take over the old one's state; when it
-- cannot, the old one stays.
function Script:reload()
  local found, gone, state = newest(self.target, self.run.options)
  if gone then return nil, gone end
  local before = self.run.generation
  move_on(self.run, found or self.target, state)
  local ok, made, err = pcall(made_by, self.script, found or self.target)
  if ok and made and type(made.on_reload) == "function" then ok, made, err = pcall(take_over, made, self.made.state) end
  if ok and not made then made, err = failure("agent", "%s is no conversation any more: let it return a function(text), or a table with one called 'chat'", self.target.path) end
  if not ok or not made then
    move_on(self.run, { generation = before }, before)
    if not ok then error(made, 0) end
    return nil, err
  end
  self.made = made
  return { changed = json.array { self.target.path }, added = json.array {}, removed = json.array {} }
end

-- ---- A script that answers: it is run with each message, as `hocket run` does --------------------------------------

local Answering = {}
Answering.__index = Answering
Answering.__close = function() end

function Answering:say(text)
  local made, value, err = self.made
  self.made = nil
  if made then
    value = made.value
  else
    begin_anew(self.run)
    value, err = self.script(self.target, text)
  end
  self.run.files = {}
  local reply, wrong = script_reply.once(self.run, self.target.path, value, err)
  if reply then reply.finish = reply.finish or "stop" end
  return reply, wrong
end

function Answering:agents()
  return {}
end

function Answering:reload()
  local found, gone, state = newest(self.target, self.run.options)
  if gone then return nil, gone end
  self.target = found or self.target
  move_on(self.run, self.target, state)
  return { changed = json.array { self.target.path }, added = json.array {}, removed = json.array {} }
end

function Answering:compact()
  return failure("unsupported", "%s remembers nothing that was said: each message is a request of its own", self.target.path)
end

Answering.clear = Answering.compact

-- ---- A script that nothing was said to: the first message decides which of both it is -------------------------------

local Waiting = { agents = Answering.agents, reload = Answering.reload, compact = Answering.compact, clear = Answering.clear, __close = Answering.__close }
Waiting.__index = Waiting

function Waiting:say(text)
  begin_anew(self.run)
  local made, err, answer = made_by(self.script, self.target, text)
  if err then return nil, err end
  self.made = made or answer
  return setmetatable(self, made and Script or Answering):say(text)
end

-- ---- Making -----------------------------------------------------------------------------------------------------

local makers = {}

function makers.agent(run, target)
  local one, err = conversation.new(target.agent, { extra_tools = run.options.tools })
  local ok = one
  if one and run.options.caller then ok, err = callers.begin(run, one.history) end
  if not ok then return nil, err end
  return setmetatable({ run = run, target = target, conversation = one }, Agent)
end

function makers.planner(run)
  return setmetatable({ run = run, messages = {} }, Planner)
end

function makers.plan(run, target)
  return setmetatable({ run = run, target = target }, Plan)
end

-- Without a message the script may return a conversation, and calls no agent: nobody has asked for anything yet.
local function made_before(run, script, target)
  run.unasked = edition.of(run) >= 6
  local ok, made, err = pcall(made_by, script, target)
  local called = run.unasked == "called"
  run.unasked = false
  if called then return nil end
  if not ok then error(made, 0) end
  return made, err
end

function makers.script(run, target, script, input)
  local made, err, answer
  if input then made, err, answer = made_by(script, target, input) else made, err = made_before(run, script, target) end
  if err then return nil, err end
  return setmetatable({ run = run, target = target, script = script, made = made or answer }, made and Script or input and Answering or Waiting)
end

--- Makes the one that a target stands for.
---@async
---@param run hocket.Run
---@param target table
---@param script? fun(target: table, input?: string): any Runs the script anew; returns what it returns.
---@param input? string The first message: a script is run with it, and may have answered it (`has_answered`).
---@return table? responder
---@return hocket.Error?
function responders.new(run, target, script, input)
  return makers[target.kind](run, target, script, input)
end

--- Whether what was used before the first turn belongs to it.
---@param responder table
---@return boolean
function responders.has_answered(responder)
  return getmetatable(responder) == Answering and responder.made ~= nil
end

return responders
