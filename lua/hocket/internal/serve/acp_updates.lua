--- What an editor is shown of a run (Agent Client Protocol): its events, streams and tool calls as updates of a session.
---
---     text of whom one talks with     agent_message_chunk; reasoning: agent_thought_chunk
---     a tool's call                   tool_call, tool_call_update; its `_meta` names the message beside it, which is commentary
---     another agent at work           a call of its own, with what it says as its content
---     tasks on boards, so of plans    plan
---     a model's reply                 usage_update
---
--- Whom one talks with is the agent that the conversation is with, and whoever it hands on to; what others say is theirs.
local calls = require "hocket.internal.serve.acp_calls"
local json = require "hocket.json"
local trim = require "hocket.internal.base.trim"
local windows = require "hocket.internal.models.windows"

local acp_updates = {}

--- Tasks of a plan that are shown.
local MAX_TASKS = 200

---@class hocket.AcpUpdates
---@field dir? string The run's folder, absolute.
---@field usage? fun(): table What the run has used.
local Updates = {}
Updates.__index = Updates

--- `send(update)` gets each.
---@param send fun(update: table)
---@return hocket.AcpUpdates
function acp_updates.new(send)
  return setmetatable({ send = send, messages = 0, numbers = 0, open = {}, agents = {}, ops = {}, tasks = {}, order = {}, said = "" }, Updates)
end

-- ---- Words -----------------------------------------------------------------------------------

local function new_message(self)
  self.messages, self.said = self.messages + 1, ""
end

local function message_id(self)
  return ("m%d"):format(self.messages)
end

local function chunk(self, kind, text)
  if text == "" then return end
  self.send { sessionUpdate = kind, messageId = message_id(self) .. (kind == "agent_thought_chunk" and "t" or ""), content = { type = "text", text = text } }
end

--- Says something as the agent, as a message of its own.
---@param text string
function Updates:say(text)
  new_message(self)
  chunk(self, "agent_message_chunk", text)
  self.said = text
end

--- What the person has said: when a conversation is shown again.
---@param text string
function Updates:person(text)
  new_message(self)
  chunk(self, "user_message_chunk", text)
end

local function leads(self, op)
  local one = self.ops[op]
  return one == nil or one.leads
end

--- A piece of a stream.
---@param kind "text"|"reasoning"
---@param text string
---@param op? string
function Updates:delta(kind, text, op)
  if not leads(self, op) then return end
  if kind == "reasoning" then return chunk(self, "agent_thought_chunk", text) end
  self.said = self.said .. text
  chunk(self, "agent_message_chunk", text)
end

-- What is known only when it is whole: a script's answer, one that was put right before it stood.
local function say_rest(self, text)
  local whole, said = trim.both(text), trim.both(self.said)
  if whole == "" or whole == said then return end
  if said ~= "" and whole:sub(1, #said) == said then
    chunk(self, "agent_message_chunk", whole:sub(#said + 1))
    self.said = whole
    return
  end
  self:say(whole)
end

-- ---- Plans -----------------------------------------------------------------------------------

local status_of = { pending = "pending", running = "in_progress", done = "completed", completed = "completed", failed = "completed", skipped = "completed", cancelled = "completed" }

local function entry_of(task)
  local words = task.status == "failed" and " (failed)" or task.status == "skipped" and " (skipped)" or task.status == "cancelled" and " (cancelled)" or ""
  return { content = task.text .. words, priority = "medium", status = status_of[task.status] or "pending" }
end

-- Changes that come together are one update: a to-do list adds its items and begins the first of them.
local function show_plan(self)
  if not self.plan_changed then return end
  self.plan_changed = false
  local entries = json.array {}
  for i = math.max(1, #self.order - MAX_TASKS + 1), #self.order do entries[#entries + 1] = entry_of(self.tasks[self.order[i]]) end
  self.send { sessionUpdate = "plan", entries = entries }
end

-- ---- Tool calls --------------------------------------------------------------------------------

---@class hocket.AcpCall: hocket.WatchedCall
local Call = {}
Call.__index = Call

local function update_call(self, id, fields)
  fields.sessionUpdate, fields.toolCallId = "tool_call_update", id
  self.send(fields)
end

--- The tool is about to be run.
---@async
function Call:begins(args)
  local updates, fields = self.updates, { status = "in_progress" }
  if args ~= self.args then -- a person has changed them
    local now = calls.describe(self.id, self.one, args, nil, updates.dir)
    self.args, self.content = args, nil
    fields.rawInput, fields.locations = now.rawInput, now.locations
  end
  self.content = self.content or calls.diff(self.one, args, updates.dir)
  fields.content = self.content
  update_call(updates, self.id, fields)
end

function Call:ended(text, is_error)
  local updates = self.updates
  updates.open[self.id] = nil
  local said = calls.text(text)
  show_plan(updates)
  update_call(updates, self.id, { status = is_error and "failed" or "completed", content = not is_error and self.content or said, rawOutput = { text = said[1].content.text } })
end

local function next_id(self)
  self.numbers = self.numbers + 1
  return "c" .. self.numbers
end

--- A call that was asked for: told before it is decided about.
---@param one hocket.Tool
---@param args table
---@param agent string
---@param op? string
---@return hocket.AcpCall
function Updates:call(one, args, agent, op)
  local told = calls.describe(next_id(self), one, args, not leads(self, op) and agent or nil, self.dir)
  local call = setmetatable({ id = told.toolCallId, updates = self, one = one, args = args, op = op, told = told }, Call)
  self.open[call.id] = call
  told.sessionUpdate = "tool_call"
  if leads(self, op) then
    if self.said:find "%S" then told._meta = { ["hocket/commentary"] = message_id(self) } end
    new_message(self)
  end
  self.send(told)
  return call
end

--- The open call that a question about leave is about.
---@param event table approval_requested
---@param shown fun(args: table): string How arguments look in it.
---@return hocket.AcpCall?
function Updates:asked_about(event, shown)
  for _, call in pairs(self.open) do
    if call.one.name == event.tool and call.op == event.op and not call.asked and shown(call.args) == event.arguments then
      call.asked = true
      return call
    end
  end
end

--- The open call of plan mode that presents a plan, whose content this is from now on; it stays when the call has ended.
---@param content table[]
---@return hocket.AcpCall?
function Updates:presented(content)
  for _, call in pairs(self.open) do
    if call.one.name == "present_plan" then
      call.content = content
      return call
    end
  end
end

-- ---- Other agents --------------------------------------------------------------------------------

-- A plan's, a member's, a specialist's work, as a call. What it was asked begins with what its person should see of that.
local function begin_agent(self, event)
  local id = next_id(self)
  self.ops[event.op] = { id = id, texts = {} }
  self.agents[id] = event.op
  local asked = (event.message or ""):match "[^\n]*%S[^\n]*" or ""
  local title = calls.title(("%s: %s"):format(event.display_name or event.agent, asked))
  self.send { sessionUpdate = "tool_call", toolCallId = id, title = title, kind = "think", status = "in_progress" }
end

local function joins_lead(self, event)
  local trigger = event.trigger
  return leads(self, event.caller) and (trigger == "handoff" or trigger == "route" or trigger == "direct" and not event.caller)
end

local on = {}

function on.agent_started(self, event)
  if not event.op then return end
  if not joins_lead(self, event) then return begin_agent(self, event) end
  self.ops[event.op] = { leads = true }
  new_message(self)
end

function on.agent_message(self, event)
  local one = self.ops[event.op]
  if not one or one.leads then return say_rest(self, event.content or "") end
  if type(event.content) ~= "string" or one.over then return end
  one.texts[#one.texts + 1] = event.content
  update_call(self, one.id, { content = calls.text(table.concat(one.texts, "\n\n")) })
end

on.facilitator_message = on.agent_message

function on.agent_finished(self, event)
  local one = self.ops[event.op]
  if not one or one.leads or one.over then return end
  one.over, self.agents[one.id] = true, nil
  update_call(self, one.id, { status = "completed" })
end

-- ---- Tasks -----------------------------------------------------------------------------------

local function put_task(self, key, task)
  if type(task.text) ~= "string" then return end
  if not self.tasks[key] then self.order[#self.order + 1] = key end
  self.plan_changed = true
  self.tasks[key] = { text = task.text, status = task.status or "pending" }
end

-- A new plan takes the place of one that was done.
local function forget_done(self)
  for _, key in ipairs(self.order) do
    if status_of[self.tasks[key].status] ~= "completed" then return end
  end
  self.tasks, self.order = {}, {}
end

function on.tasks_created(self, event)
  forget_done(self)
  for _, task in ipairs(event.tasks or {}) do put_task(self, ("%s/%s"):format(event.board, task.id), task) end
end

function on.task_updated(self, event)
  put_task(self, ("%s/%s"):format(event.board, event.id), event)
end

-- ---- The rest --------------------------------------------------------------------------------

function on.model_request(self, event)
  if leads(self, event.op) and self.said ~= "" then new_message(self) end
end

function on.model_reply(self, event)
  local usage = type(event.usage) == "table" and event.usage or {}
  local known = leads(self, event.op) and type(event.model) == "string" and windows.get(event.model)
  if not known or math.type(usage.input) ~= "integer" then return end
  local all = self.usage and self.usage() or {}
  self.send {
    sessionUpdate = "usage_update", used = usage.input + (usage.output or 0), size = known.window,
    cost = type(all.cost) == "number" and { amount = all.cost, currency = "USD" } or nil,
  }
end

function on.output(self, event)
  if type(event.text) == "string" then self:say(event.text .. "\n") end
end

function on.warning(self, event)
  chunk(self, "agent_thought_chunk", ("\n[warning: %s]\n"):format(tostring(event.message)))
end

--- Tells one event of the run.
---@param event table
function Updates:event(event)
  local tell = on[event.type]
  if tell ~= on.tasks_created and tell ~= on.task_updated then show_plan(self) end
  if tell then tell(self, event) end
end

--- A turn has begun.
function Updates:turn_begins()
  new_message(self)
end

--- A turn has ended: what is said of its end, and what it has left open is over.
---@param event table turn_finished
function Updates:turn_ends(event)
  show_plan(self)
  for id in pairs(self.open) do update_call(self, id, { status = "failed", content = calls.text "cancelled" }) end
  for id, op in pairs(self.agents) do
    self.ops[op].over = true
    update_call(self, id, { status = "failed" })
  end
  self.open, self.agents = {}, {}
  if event.ok and type(event.content) == "string" then say_rest(self, event.content) end
end

return acp_updates
