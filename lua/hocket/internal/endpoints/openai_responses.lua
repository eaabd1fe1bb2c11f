--- OpenAI's responses: POST /v1/responses, streaming and not; `previous_response_id` and `conversation` go on with the run that answered.
---
---     resp_RUN_N     the n-th answer of a run: with `store` (the default) the run is kept, and the next request goes on with its newest answer
---     conv_RUN       the same run, whatever it has answered last
---
--- A run that waits lies in the store where there is one, and goes on in any process; else it waits here.
local asked = require "hocket.internal.endpoints.asked"
local chat = require "hocket.internal.endpoints.openai_chat"
local errors = require "hocket.internal.endpoints.openai_errors"
local json = require "hocket.json"
local store = require "hocket.internal.core.store"
local turns = require "hocket.internal.endpoints.turn"
local wrong, optional, required, within = asked.wrong, asked.optional, asked.required, chat.within

local openai_responses = {}

--- Responses that can be asked for again here.
local KEPT = 200

-- ---- Reading -----------------------------------------------------------------------------------

local function image(part, where, files)
  files[#files + 1] = asked.file(asked.from_url(part.image_url, where .. ".image_url"), where)
end

local part_readers = {
  input_text = function(part, where, texts) texts[#texts + 1] = required(part, "text", "string", where .. ".") end,
  input_image = function(part, where, _, files) image(part, where, files) end,
  input_file = function(part, where, _, files)
    files[#files + 1] = asked.file(asked.from_url(part.file_data, where .. ".file_data"), where, type(part.filename) == "string" and part.filename or nil)
  end,
}
part_readers.output_text, part_readers.text = part_readers.input_text, part_readers.input_text
part_readers.refusal = function() end

local function read_content(content, where)
  if type(content) == "string" then return { content }, {} end
  if type(content) ~= "table" then wrong(where, "'%s' has to be a text or a list of parts", where) end
  local texts, files = {}, {}
  for i, part in ipairs(content) do
    local at = ("%s[%d]"):format(where, i - 1)
    local read = type(part) == "table" and part_readers[part.type]
    if not read then wrong(at, "'%s.type' has to be input_text, output_text, input_image or input_file", at) end
    read(part, at, texts, files)
  end
  return texts, files
end

local items = {}

function items.message(self, item, where)
  local texts, files = read_content(item.content, where .. ".content")
  local role = item.role
  if role == "user" then return self.asked:user(texts, files) end
  if #files > 0 then wrong(where, "'%s': a message of '%s' has text alone", where, tostring(role)) end
  if role == "system" or role == "developer" then return self.asked:instruct(table.concat(texts, "\n")) end
  if role ~= "assistant" then wrong(where, "'%s.role' has to be user, assistant, system or developer", where) end
  self.text = (self.text and self.text .. "\n" or "") .. table.concat(texts, "\n")
end

function items.function_call(self, item, where)
  self.calls[#self.calls + 1] = {
    id = required(item, "call_id", "string", where .. "."), name = required(item, "name", "string", where .. "."), arguments = required(item, "arguments", "string", where .. "."),
  }
end

function items.reasoning() end

-- What belongs to one answer stands in several items.
local function flush(self)
  if not self.text and #self.calls == 0 then return end
  self.asked:assistant(self.text or "", self.calls)
  self.text, self.calls = nil, {}
end

local function output_text(output, where)
  if type(output) == "string" then return output end
  local texts = read_content(output, where .. ".output")
  return table.concat(texts, "\n")
end

local function read_input(body, goes_on)
  local self = { asked = asked.new(), calls = {} }
  if type(body.instructions) == "string" then self.asked:instruct(body.instructions) end
  if type(body.input) == "string" then
    self.asked:user({ body.input }, {})
    return self.asked
  end
  for i, item in ipairs(required(body, "input", "table")) do
    local where = ("input[%d]"):format(i - 1)
    if type(item) ~= "table" then wrong(where, "'%s' has to be an item", where) end
    local kind = item.type == nil and "message" or item.type
    if kind == "function_call_output" then
      flush(self)
      local id = required(item, "call_id", "string", where .. ".")
      if goes_on and not self.asked.open then self.asked.open = { [id] = "a tool" } end -- the call is in the run
      self.asked:result(id, output_text(item.output, where), false, where)
    else
      local read = items[kind]
      if not read then wrong(where, "'%s.type' has to be message, function_call, function_call_output or reasoning", where) end
      if kind == "message" and item.role ~= "assistant" then flush(self) end
      read(self, item, where)
    end
  end
  flush(self)
  return self.asked
end

local function read_tools(body)
  local list = json.array {}
  for i, one in ipairs(optional(body, "tools", "table") or {}) do
    local where = ("tools[%d]"):format(i - 1)
    if type(one) ~= "table" or one.type ~= "function" then wrong(where, "'%s' has to be a function of your own: the agent has its own tools", where) end
    asked.tool(list, one.name, one.description, one.parameters, where)
  end
  return asked.choose_as_openai(list, body.tool_choice, function(one) return one.name end)
end

local function read_format(body)
  local format = (optional(body, "text", "table") or {}).format
  if format == nil or format == json.null or format.type == "text" then return nil end
  if format.type == "json_object" then return '{"type":"object"}', "answer" end
  if format.type ~= "json_schema" or type(format.schema) ~= "table" then wrong("text.format", "'text.format' has to be text, json_object or json_schema with a 'schema'") end
  return json.encode(format.schema), type(format.name) == "string" and format.name or "answer"
end

-- The run that a request goes on with, and which answer of it the caller knows.
local function read_previous(body)
  local previous, conversation = optional(body, "previous_response_id", "string"), body.conversation
  if type(conversation) == "table" then conversation = conversation.id end
  if previous and conversation and conversation ~= json.null then wrong("conversation", "'previous_response_id' and 'conversation' are not given together") end
  if previous then
    local run, turn = previous:match "^resp_(%w+)_(%d+)_%d+$"
    return { param = "previous_response_id", run = run, turn = tonumber(turn) }
  end
  if type(conversation) == "string" then return { param = "conversation", run = conversation:match "^conv_(%w+)$" } end
end

local function read(body)
  if body.background == true then wrong("background", "'background' is not supported: POST /api/runs starts runs that go on by themselves") end
  local effort = (optional(body, "reasoning", "table") or {}).effort
  local most = optional(body, "max_output_tokens", "integer")
  local tools, first = read_tools(body)
  local settings = {
    first_choice = first, max_tokens = most and within(most, "max_output_tokens", 1, 1 << 31), temperature = within(optional(body, "temperature", "number"), "temperature", 0, 2),
    top_p = within(optional(body, "top_p", "number"), "top_p", 0, 1), reasoning = type(effort) == "string" and effort or nil,
  }
  local schema, name = read_format(body)
  local previous = read_previous(body)
  return {
    model = required(body, "model", "string"), stream = optional(body, "stream", "boolean") == true, progress = chat.wants_progress(body),
    keeps = body.store ~= false, previous = previous, messages = read_input(body, previous ~= nil), body = body,
    more = { tools = tools, schema = schema, schema_name = name, settings = next(settings) and settings or nil },
  }
end

-- ---- A response as an object ---------------------------------------------------------------------

local function usage_of(turn)
  local used = turn.usage or {}
  local input, output = used.input or 0, used.output or 0
  return {
    input_tokens = input, input_tokens_details = { cached_tokens = used.cached or 0 }, output_tokens = output,
    output_tokens_details = { reasoning_tokens = used.reasoning or 0 }, total_tokens = input + output,
  }
end

local cut = { length = "max_output_tokens", budget = "max_output_tokens", loop = "max_output_tokens", content_filter = "content_filter", refusal = "content_filter" }

local function or_null(value)
  if value == nil then return json.null end
  return value
end

local function object(self, status, output, more)
  local body = self.made.body
  local made = {
    id = self.id, object = "response", created_at = self.created, status = status, error = json.null, incomplete_details = json.null, instructions = or_null(body.instructions),
    metadata = type(body.metadata) == "table" and next(body.metadata) and body.metadata or json.decode "{}", model = self.made.model, output = output, parallel_tool_calls = true,
    temperature = or_null(body.temperature), tool_choice = or_null(body.tool_choice or "auto"), tools = body.tools or json.array {}, top_p = or_null(body.top_p),
    max_output_tokens = or_null(body.max_output_tokens), previous_response_id = or_null(body.previous_response_id), store = self.made.keeps, truncation = "disabled",
    reasoning = { effort = json.null, summary = json.null }, text = body.text or { format = { type = "text" } }, usage = self.turn.usage and usage_of(self.turn) or json.null,
    hocket = self.turn.usage and chat.own_of(self.turn) or nil, conversation = self.made.keeps and { id = "conv_" .. self.turn.run.name } or json.null,
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

local function item_id(self, prefix)
  return ("%s_%s_%d"):format(prefix, self.id:sub(6), #self.output)
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
  self:end_item { id = open.item.id, type = "message", status = "completed", role = "assistant", content = json.array { text_part(text) } }
end

function enders.reasoning(self, open)
  local text = table.concat(open.parts)
  local part = { type = "summary_text", text = text }
  self:send("response.reasoning_summary_text.done", { item_id = open.item.id, output_index = #self.output, summary_index = 0, text = text })
  self:send("response.reasoning_summary_part.done", { item_id = open.item.id, output_index = #self.output, summary_index = 0, part = part })
  self:end_item { id = open.item.id, type = "reasoning", summary = json.array { part } }
end

function Writer:stop()
  if self.open then enders[self.open.item.type](self, self.open) end
end

function Writer:text(text)
  if text == "" then return end
  if not self.open or self.open.item.type ~= "message" then
    self:stop()
    self:begin_item { id = item_id(self, "msg"), type = "message", status = "in_progress", role = "assistant", content = json.array {} }
    self:send("response.content_part.added", { item_id = self.open.item.id, output_index = #self.output, content_index = 0, part = text_part "" })
  end
  table.insert(self.open.parts, text)
  self:send("response.output_text.delta", { item_id = self.open.item.id, output_index = #self.output, content_index = 0, delta = text, logprobs = json.array {} })
end

function Writer:reasoning(text)
  if not self.open or self.open.item.type ~= "reasoning" then
    self:stop()
    self:begin_item { id = item_id(self, "rs"), type = "reasoning", summary = json.array {} }
    self:send("response.reasoning_summary_part.added", { item_id = self.open.item.id, output_index = #self.output, summary_index = 0, part = { type = "summary_text", text = "" } })
  end
  table.insert(self.open.parts, text)
  self:send("response.reasoning_summary_text.delta", { item_id = self.open.item.id, output_index = #self.output, summary_index = 0, delta = text })
end

function Writer:call(one)
  self:stop()
  local id = item_id(self, "fc")
  self:begin_item { id = id, type = "function_call", status = "in_progress", call_id = one.id, name = one.name, arguments = "" }
  self:send("response.function_call_arguments.delta", { item_id = id, output_index = #self.output, delta = one.arguments })
  self:send("response.function_call_arguments.done", { item_id = id, output_index = #self.output, arguments = one.arguments, name = one.name })
  self:end_item { id = id, type = "function_call", status = "completed", call_id = one.id, name = one.name, arguments = one.arguments }
end

local kept, order = {}, {}

local function keep(made)
  if not kept[made.id] then order[#order + 1] = made.id end
  kept[made.id] = made
  if #order > KEPT then kept[table.remove(order, 1)] = nil end
end

function Writer:finish(piece)
  if piece.kind == "finished" then self:text(self.stream and chat.rest_of(self.turn, piece) or self.turn.text == "" and piece.text or chat.rest_of(self.turn, piece)) end
  self:stop()
  for _, one in ipairs(piece.calls or {}) do self:call(one) end
  local why = piece.kind == "finished" and cut[piece.finish]
  local whole = object(self, why and "incomplete" or "completed", self.output, why and { incomplete_details = { reason = why } } or nil)
  if self.made.keeps then keep(whole) end
  self:send(why and "response.incomplete" or "response.completed", { response = whole })
  return whole
end

function Writer:fail(err)
  local failed = object(self, "failed", self.output, { error = { code = "server_error", message = err.message } })
  self:send("response.failed", { response = failed })
  self:send("error", { code = errors.of(err.status, err).code, message = err.message, param = json.null, error = errors.of(err.status, err) })
end

local function begin_stream(self, response)
  self.stream = response:stream { headers = chat.headers_of(self.turn) }
  if self.stream.closed then return nil end
  self:send("response.created", { response = object(self, "in_progress", json.array {}) })
  self:send("response.in_progress", { response = object(self, "in_progress", json.array {}) })
  return true
end

local function answer(turn, made, response)
  local run = turn.run
  if not run:begun() then
    local _, err = run:wait()
    return response:fail(errors.of_run(err))
  end
  local number = (run.run.turns or 0) + (turn.said and 1 or run.run.turn and 0 or 1)
  local self = setmetatable({ turn = turn, made = made, id = ("resp_%s_%d_%d"):format(run.name, number, run.run.asked), created = os.time(), sequence = 0, output = json.array {} }, Writer)
  for piece in turn:pieces(made.progress) do
    if piece.kind == "failed" then
      local err = errors.of_run(piece.err)
      if not self.stream then return response:fail(err, chat.headers_of(turn)) end
      self:fail(err)
      return self.stream:close()
    end
    if made.stream and not self.stream and not begin_stream(self, response) then return end
    if piece.kind == "text" then self:text(piece.text)
    elseif piece.kind == "reasoning" then self:reasoning(piece.text)
    elseif piece.kind == "progress" then if made.progress then self:reasoning(piece.text .. "\n") end
    else
      local whole = self:finish(piece)
      if not self.stream then return response:json(200, whole, chat.headers_of(turn)) end
    end
    if self.gone then return end
  end
  self.stream:close()
end

-- ---- Requests ----------------------------------------------------------------------------------

local function unknown(previous)
  return nil, { code = "invalid", word = "previous_response_not_found", param = previous.param, message = previous.param == "conversation" and "there is no such conversation, or it has ended"
    or "there is no such response, or its conversation has ended" }
end

-- More of a conversation: words, or what came of its calls.
local function go_on(desk, made)
  local previous = made.previous
  if not previous.run or #previous.run ~= 26 then return unknown(previous) end
  if #made.messages.results > 0 and not made.messages.said then
    local turn = turns.go_on(desk, made.messages.results)
    if turn and turn.run.name == previous.run then return turn end
    wrong("input", "there is no call in this conversation that waits for such a result")
  end
  if #made.messages.messages > 0 then wrong("input", "what was said before is in the conversation already: give what is new") end
  local input, caller = made.messages:finish()
  for name, value in pairs(made.more) do caller[name] = value end
  local turn, err = turns.say(desk, previous.run, input, caller, previous.turn)
  if turn then turn.said = true end
  if not turn and err.code == "not_found" then return unknown(previous) end
  return turn, err
end

local function begin(desk, made)
  if made.previous then return go_on(desk, made) end
  return turns.of(desk, made, made.keeps)
end

local function post(desk, request, response)
  local body, err = request:json()
  if not body then return response:fail(err) end
  local made
  local ok, turn = pcall(function()
    made = read(body)
    local found, failed = begin(desk, made)
    err = failed
    return found
  end)
  if not ok then return type(turn) == "table" and turn.code == "invalid" and response:fail(turn) or error(turn, 0) end
  if not turn then
    if err.code == "not_found" then err = { code = "not_found", message = err.message, word = "model_not_found", param = "model" } end
    return response:fail(err)
  end
  local bound <close> = turn:bound()
  return answer(turn, made, response)
end

local function not_found(response)
  return response:fail { code = "not_found", message = "there is no such response" }
end

--- Adds them to the server's router.
---@param server hocket.EndpointServer
function openai_responses.add(server)
  local router, desk = server.router, server.desk
  router:on("POST", "/v1/responses", function(request, response) return post(desk, request, response) end)
  router:on("GET", "/v1/responses/{id}", function(request, response)
    local one = kept[request.params.id]
    if not one then return not_found(response) end
    return response:json(200, one)
  end)
  router:on("DELETE", "/v1/responses/{id}", function(request, response)
    local id = request.params.id
    if not kept[id] then return not_found(response) end
    kept[id] = nil
    local run = id:match "^resp_(%w+)_"
    local open = desk:find(run)
    if open then
      open:cancel()
      open:wait()
    end
    store.remove(run)
    return response:json(200, { id = id, object = "response", deleted = true })
  end)
end

return openai_responses
