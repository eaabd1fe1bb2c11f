--- The inputs and answers of a conversation, in the form of OpenAI's Responses. It is a fold over the records of its run, so a
--- client can ask for an answer again, also after a restart.
---
---     input_received ──> calls of the caller's tools ──> an answer: they go back
---                        their results ──> … ──> turn_finished ──> an answer
local fiber = require "hocket.internal.core.fiber"
local isotime = require "hocket.internal.base.isotime"
local json = require "hocket.json"
local records = require "hocket.internal.endpoints.records"
local store = require "hocket.internal.core.store"
local tools = require "hocket.internal.endpoints.responses.tools"

local past = {}

--- Records that are read in one go.
local AT_ONCE = 500

---@class hocket.PastAnswer
---@field turn integer
---@field asked integer Questions and calls of the run before it: with `turn` its name.
---@field input table[] Items.
---@field caller table What the caller has brought along.
---@field text? string
---@field calls? table[] {id, name, arguments}
---@field used table Sums of what its models have used.
---@field ended? table The event turn_finished.
---@field seq integer The record that it ended with, or the last one so far.
---@field created integer

local function message(role, kind, text)
  return { type = "message", role = role, status = "completed", content = json.array { { type = kind, text = text } } }
end

local Fold = {}
Fold.__index = Fold

local function begin(self, event, input)
  self.open = { turn = self.turn, asked = self.asked, input = input, used = { input = 0, output = 0, cached = 0, reasoning = 0, cost = 0 }, caller = self.caller, created = (isotime.ms(event.time) or 0) // 1000, seq = event.seq }
end

local function finish(self)
  self.answers[#self.answers + 1] = self.open
  self.before, self.open = self.open, nil
end

local takers = {}

function takers.workflow_started(self, event) begin(self, event, { message("user", "input_text", event.message or "") }) end

function takers.run_changed(self, event)
  if type(event.caller) == "table" then self.caller = event.caller end
end

function takers.input_received(self, event)
  self.turn = self.turn + 1
  begin(self, event, { message("user", "input_text", event.text or "") })
end

function takers.question_asked(self) self.asked = self.asked + 1 end
takers.approval_requested = takers.question_asked

local counted = { "input", "output", "cached", "reasoning", "cost" }

-- An answer that went back in the middle of a turn has no sum of its own in the records.
function takers.model_reply(self, event)
  local sum = self.open and self.open.used
  for _, name in ipairs(sum and type(event.usage) == "table" and counted or {}) do
    local value = event.usage[name]
    sum[name] = type(value) == "number" and sum[name] + value or sum[name]
  end
end

-- Words beside calls: those of who makes the calls.
function takers.agent_message(self, event) self.said = { op = event.op, text = event.content } end

function takers.tool_requested(self, event)
  self.asked = self.asked + 1
  local open = self.open
  if not open then return end
  open.calls = open.calls or {}
  if #open.calls == 0 and self.said and self.said.op == event.op then open.text = self.said.text end
  table.insert(open.calls, { id = ("call_%s_%s"):format(self.id, event.id), name = event.tool, arguments = event.arguments })
end

-- Of the calls that went back the one that this is the result of.
local function answered(calls, event)
  for _, one in ipairs(calls or {}) do
    if not one.answered and one.name == event.tool and one.arguments == event.arguments then
      one.answered = true
      return one
    end
  end
end

function takers.tool_call(self, event)
  if event.phase ~= "complete" or not self.open then return end
  local call = answered(self.open.calls, event)
  if call then
    finish(self)
    begin(self, event, {})
  else
    call = self.before and self.before.turn == self.turn and not self.open.calls and answered(self.before.calls, event)
  end
  if call then table.insert(self.open.input, { type = "function_call_output", call_id = call.id, output = event.result or event.error or "", status = "completed" }) end
end

function takers.turn_finished(self, event)
  if not self.open then return end
  local open, before = self.open, self.before
  open.ended, open.seq, self.said = event, event.seq, nil
  if not (before and before.turn == open.turn) and type(event.usage) == "table" then open.used = event.usage end
  finish(self)
end

--- All answers of a conversation that was begun for a caller, oldest first; the last one may not have ended.
---@async
---@param server hocket.EndpointServer
---@param id string Of the run, whole.
---@return hocket.PastAnswer[]? answers nil: there is no such conversation.
---@return table? options Those of its run.
function past.answers(server, id)
  if not store.is_id(id) then return nil end
  local run = server.desk:find(id)
  local row = server.desk.kept and server.desk:row(id) or nil
  local options = row and row.id == id and row.options and json.decode(row.options) or run and run.options -- as it began
  if type(options) ~= "table" or not options.caller or not options.interactive then return nil end
  local reader = records.open(server, id)
  if not reader then return nil end
  local self = setmetatable({ id = id, turn = 1, asked = 0, caller = options.caller, answers = {} }, Fold)
  local n = 0
  for line, seq, kind in function() return reader:now() end do
    local take = takers[kind]
    if take then take(self, json.decode(line)) end
    if self.open then self.open.seq = seq end
    n = n + 1
    if n % AT_ONCE == 0 then fiber.rest() end -- of a long run others have their turns between
  end
  if self.open then finish(self) end
  return self.answers, options
end

--- One of them, by the name of its response.
---@async
---@param server hocket.EndpointServer
---@param name string resp_RUN_TURN_ASKED
---@return hocket.PastAnswer? answer
---@return table? options
---@return integer? before The record that the answer before it ended with; 0: there is none.
function past.find(server, name)
  local id, turn, asked = name:match "^resp_(%w+)_(%d+)_(%d+)$"
  local answers, options = past.answers(server, id or "")
  for i, one in ipairs(answers or {}) do
    if one.turn == tonumber(turn) and one.asked == tonumber(asked) then return one, options, i > 1 and answers[i - 1].seq or 0 end
  end
end

--- What it has answered, as items.
---@param one hocket.PastAnswer
---@return table[]
function past.output(one)
  local items = json.array {}
  local text = one.ended and one.ended.content or one.text
  if type(text) == "string" and text ~= "" then
    items[1] = message("assistant", "output_text", text)
    if one.calls then items[1].phase = "commentary" end
    items[1].content[1].annotations, items[1].content[1].logprobs = json.array {}, json.array {}
  end
  for _, call in ipairs(one.calls or {}) do items[#items + 1] = tools.item(one.caller.tools, call) end
  return items
end

local prefixes = { message = "msg", function_call = "fc", function_call_output = "fco", custom_tool_call = "ctc", custom_tool_call_output = "ctco", reasoning = "rs" }

--- The name of an item: items of one kind are counted, as what a model has thought is not in the records.
---@param kind string
---@param place string
---@param n integer Of its kind before it.
---@return string
function past.item_id(kind, place, n)
  return ("%s_%s_%d"):format(prefixes[kind] or "item", place, n)
end

--- Gives each item the name that it has in one place.
---@param items table[]
---@param place string
---@return table[]
function past.named(items, place)
  local counts = {}
  for _, item in ipairs(items) do
    local kind = prefixes[item.type] and item.type or "item"
    counts[kind] = (counts[kind] or -1) + 1
    if item.id == nil or item.id == json.null then item.id = past.item_id(kind, place, counts[kind]) end
  end
  return items
end

--- A page of items, as the interface has lists.
---@param items table[] In the order in which they came.
---@param query table<string, string> order, after, limit
---@return table? page
---@return hocket.Error?
function past.page(items, query)
  local limit = math.tointeger(tonumber(query.limit or 20))
  if not limit or limit < 1 or limit > 100 then return nil, { code = "invalid", param = "limit", message = "'limit' is a whole number from 1 to 100" } end
  local list, data, passed, more = items, json.array {}, query.after == nil, false
  if query.order ~= "asc" then
    list = {}
    for i = #items, 1, -1 do list[#list + 1] = items[i] end
  end
  for _, item in ipairs(list) do
    if passed and #data == limit then more = true break end
    if passed then data[#data + 1] = item end
    passed = passed or item.id == query.after
  end
  if not passed then return nil, { code = "invalid", param = "after", message = "there is no such item" } end
  return { object = "list", data = data, first_id = data[1] and data[1].id or json.null, last_id = data[1] and data[#data].id or json.null, has_more = more }
end

return past
