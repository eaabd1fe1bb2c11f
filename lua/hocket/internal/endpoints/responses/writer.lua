--- A response while it comes to be: items one after the other, as events of a stream or whole.
local answers = require "hocket.internal.endpoints.responses.answers"
local chat = require "hocket.internal.endpoints.openai.chat"
local errors = require "hocket.internal.endpoints.openai.errors"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local past = require "hocket.internal.endpoints.responses.past"
local tools = require "hocket.internal.endpoints.responses.tools"

local writer = {}

-- ---- A response as an object ---------------------------------------------------------------------

local function usage_of(turn)
  local used = turn.usage or {}
  local input, output = used.input or 0, used.output or 0
  return {
    input_tokens = input, input_tokens_details = { cached_tokens = used.cached or 0 }, output_tokens = output,
    output_tokens_details = { reasoning_tokens = used.reasoning or 0 }, total_tokens = input + output,
  }
end

local function or_null(value)
  if value == nil then return json.null end
  return value
end

--- A response as the interface has it.
---@param self table {id, created, made, turn}
---@param status string
---@param output table[]
---@param more? table
---@return table
function writer.object(self, status, output, more)
  local body = self.made.body
  local made = {
    id = self.id, object = "response", background = self.made.background or false, created_at = self.created, status = status, error = json.null, incomplete_details = json.null, instructions = or_null(body.instructions),
    metadata = type(body.metadata) == "table" and next(body.metadata) and body.metadata or json.decode "{}", model = self.made.model, output = output, parallel_tool_calls = true,
    temperature = or_null(body.temperature), tool_choice = or_null(body.tool_choice or "auto"), tools = body.tools or json.array {}, top_p = or_null(body.top_p),
    max_output_tokens = or_null(body.max_output_tokens), previous_response_id = or_null(body.previous_response_id), store = self.made.keeps, truncation = "disabled",
    reasoning = { effort = json.null, summary = json.null }, text = body.text or { format = { type = "text" } }, usage = self.turn.usage and usage_of(self.turn) or json.null,
    hocket = self.turn.usage and chat.own_of(self.turn) or nil,
    conversation = self.made.keeps and { id = self.made.conversation or "conv_" .. self.turn.run.name } or json.null,
  }
  for name, value in pairs(more or {}) do made[name] = value end
  return made
end

local function text_part(text)
  return { type = "output_text", text = text, annotations = json.array {}, logprobs = json.array {} }
end

-- ---- Answering: items, one after the other ---------------------------------------------------------

local Writer = {}
Writer.__index = Writer

function Writer:send(kind, data)
  if not self.stream or self.gone then return end
  data.type, data.sequence_number = kind, self.sequence
  self.sequence = self.sequence + 1
  self.gone = not self.stream:event { event = kind, data = data }
end

local function item_id(self, kind)
  local n = 0
  for _, item in ipairs(self.output) do n = item.type == kind and n + 1 or n end
  return past.item_id(kind, self.id:sub(6), n)
end

function Writer:begin_item(item)
  self.open = { item = item, parts = {} }
  self:send("response.output_item.added", { output_index = #self.output, item = item })
end

function Writer:end_item(item)
  self:send("response.output_item.done", { output_index = #self.output, item = item })
  self.output[#self.output + 1] = item
  self.open = nil
end

local enders = {}

function enders.message(self, open)
  local text = table.concat(open.parts)
  local at = { item_id = open.item.id, output_index = #self.output, content_index = 0 }
  self:send("response.output_text.done", { item_id = at.item_id, output_index = at.output_index, content_index = 0, text = text, logprobs = json.array {} })
  self:send("response.content_part.done", { item_id = at.item_id, output_index = at.output_index, content_index = 0, part = text_part(text) })
  self:end_item { id = open.item.id, type = "message", status = "completed", role = "assistant", phase = open.phase, content = json.array { text_part(text) } }
end

function enders.reasoning(self, open)
  local text = table.concat(open.parts)
  local part = { type = "summary_text", text = text }
  self:send("response.reasoning_summary_text.done", { item_id = open.item.id, output_index = #self.output, summary_index = 0, text = text })
  self:send("response.reasoning_summary_part.done", { item_id = open.item.id, output_index = #self.output, summary_index = 0, part = part })
  self:end_item { id = open.item.id, type = "reasoning", summary = json.array { part }, encrypted_content = self.made.seals and open.item.id or nil }
end

function Writer:stop()
  if self.open then enders[self.open.item.type](self, self.open) end
end

-- Text beside a tool call is a message of its own, marked as commentary.
function Writer:set_aside()
  if not self.open or self.open.item.type ~= "message" then return end
  self.open.phase = "commentary"
  self:stop()
end

function Writer:text(text)
  if text == "" then return end
  if not self.open or self.open.item.type ~= "message" then
    self:stop()
    self:begin_item { id = item_id(self, "message"), type = "message", status = "in_progress", role = "assistant", content = json.array {} }
    self:send("response.content_part.added", { item_id = self.open.item.id, output_index = #self.output, content_index = 0, part = text_part "" })
  end
  table.insert(self.open.parts, text)
  self:send("response.output_text.delta", { item_id = self.open.item.id, output_index = #self.output, content_index = 0, delta = text, logprobs = json.array {} })
end

function Writer:reasoning(text)
  if not self.open or self.open.item.type ~= "reasoning" then
    self:stop()
    self:begin_item { id = item_id(self, "reasoning"), type = "reasoning", summary = json.array {} }
    self:send("response.reasoning_summary_part.added", { item_id = self.open.item.id, output_index = #self.output, summary_index = 0, part = { type = "summary_text", text = "" } })
  end
  table.insert(self.open.parts, text)
  self:send("response.reasoning_summary_text.delta", { item_id = self.open.item.id, output_index = #self.output, summary_index = 0, delta = text })
end

function Writer:call(one)
  self:stop()
  local caller = self.turn.run.run.options.caller
  local item = tools.item(caller and caller.tools, one)
  item.id = item_id(self, item.type)
  local member, event = "arguments", "response.function_call_arguments"
  if item.type == "custom_tool_call" then member, event = "input", "response.custom_tool_call_input" end
  local begun = {}
  for name, value in pairs(item) do begun[name] = value end
  begun.status, begun[member] = "in_progress", ""
  self:begin_item(begun)
  self:send(event .. ".delta", { item_id = item.id, output_index = #self.output, delta = item[member] })
  self:send(event .. ".done", { item_id = item.id, output_index = #self.output, [member] = item[member], name = member == "arguments" and item.name or nil })
  self:end_item(item)
end

function Writer:finish(piece)
  local rest = piece.kind == "finished" and self.turn:rest(piece.text)
  if rest and rest.gap then self:set_aside() end
  if rest then self:text(rest.text) end
  self:stop()
  for _, one in ipairs(piece.calls or {}) do self:call(one) end
  local status, why = piece.ending.responses, piece.ending.details
  local whole = writer.object(self, status, self.output, why and { incomplete_details = { reason = why } } or nil)
  if self.made.keeps then answers.keep(whole, self.made, self.turn.run) end
  self:send("response." .. status, { response = whole })
  return whole
end

function Writer:fail(err)
  local cancelled = self.cancelled and self.made.background
  local failed = writer.object(self, cancelled and "cancelled" or "failed", self.output, not cancelled and { error = { code = "server_error", message = err.message } } or nil)
  if self.made.background and not self.forgotten then answers.keep(failed, self.made, self.turn.run) end
  self:send("response.failed", { response = failed })
  self:send("error", { code = errors.of(err.status, err).code, message = err.message, param = json.null, error = errors.of(err.status, err) })
end

local function begin_stream(self, response)
  self.stream = response:stream { headers = chat.headers_of(self.turn) }
  if self.stream.closed then return nil end
  self:send("response.created", { response = writer.object(self, "in_progress", json.array {}) })
  self:send("response.in_progress", { response = writer.object(self, "in_progress", json.array {}) })
  return true
end

-- What is left of a turn, told to its client, or to whoever asks later.
local function tell(self, response)
  for piece in self.turn:pieces(self.made.progress) do
    if piece.kind == "failed" then
      local err = errors.of_run(piece.err)
      if not self.stream and response then return response:fail(err, chat.headers_of(self.turn)) end
      self:fail(err)
    elseif response and self.made.stream and not self.stream and not begin_stream(self, response) then return end
    if piece.kind == "text" then self:text(piece.text)
    elseif piece.kind == "aside" then self:set_aside()
    elseif piece.kind == "reasoning" then self:reasoning(piece.text)
    elseif piece.kind == "progress" then if self.made.progress then self:reasoning(piece.text .. "\n") end
    elseif piece.kind ~= "failed" then
      local whole = self:finish(piece)
      if response and not self.stream then return response:json(200, whole, chat.headers_of(self.turn)) end
    end
    if self.gone and not self.made.background then return end
  end
  if self.stream then self.stream:close() end
end

-- Nobody has to wait for it: with a stream its client may, as long as it likes.
local function in_background(self, response)
  answers.live[self.id] = self
  if self.made.stream and not begin_stream(self, response) then self.gone = true end
  self.work = fiber.detach(function()
    local over <close> = setmetatable({}, { __close = function() answers.live[self.id] = nil end })
    tell(self)
  end)
  self.work:serve()
  if self.made.stream then return self.work:join() end
  return response:json(200, writer.object(self, "in_progress", self.output), chat.headers_of(self.turn))
end

local function new(turn, made)
  local run = turn.run
  local number = (run.run.turns or 0) + (turn.said and 1 or run.run.turn and 0 or 1)
  return setmetatable({ turn = turn, made = made, id = ("resp_%s_%d_%d"):format(run.name, number, run.run.asked), created = os.time(), sequence = 0, output = json.array {} }, Writer)
end

--- Answers a request by a turn.
---@async
---@param turn hocket.Turn
---@param made table The request, read.
---@param response hocket.Response
function writer.answer(turn, made, response)
  if not turn.run:begun() then
    local _, err = turn.run:wait()
    return response:fail(errors.of_run(err))
  end
  local self = new(turn, made)
  if made.background then return in_background(self, response) end
  local bound <close> = turn:bound()
  return tell(self, response)
end

return writer
