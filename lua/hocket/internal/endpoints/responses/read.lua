--- Requests for responses: items, tools, the form of the answer, what they continue with.
local asked = require "hocket.internal.endpoints.asked"
local chat = require "hocket.internal.endpoints.openai.chat"
local json = require "hocket.json"
local pending = require "hocket.internal.endpoints.responses.pending"
local tools = require "hocket.internal.endpoints.responses.tools"
local wrong, optional, required, within = asked.wrong, asked.optional, asked.required, chat.within

local read = {}

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

-- A refusal is no words of the user's.
local answer_readers = setmetatable({ refusal = function() end }, { __index = part_readers })

local function read_content(content, where, readers)
  return asked.parts(content, where, readers or part_readers, "input_text, output_text, input_image or input_file")
end

local items = {}

function items.message(self, item, where)
  local role = item.role
  local texts, files = read_content(item.content, where .. ".content", role == "assistant" and answer_readers or nil)
  if role == "user" then return self.asked:user(texts, files) end
  if #files > 0 then wrong(where, "'%s': a message of '%s' has text alone", where, tostring(role)) end
  if role == "system" or role == "developer" then return self.asked:instruct(table.concat(texts, "\n")) end
  if role ~= "assistant" then wrong(where, "'%s.role' has to be user, assistant, system or developer", where) end
  self.text = (self.text and self.text .. "\n" or "") .. table.concat(texts, "\n")
end

function items.function_call(self, item, where)
  self.calls[#self.calls + 1] = {
    id = required(item, "call_id", "string", where .. "."), name = required(item, "name", "string", where .. ".") and tools.offered(self.tools, item),
    arguments = item.type == "custom_tool_call" and json.encode { input = required(item, "input", "string", where .. ".") } or required(item, "arguments", "string", where .. "."),
  }
end
items.custom_tool_call = items.function_call

-- What an agent thought is in its run. A client that keeps its conversation itself (`store: false`) sends it back all the same.
function items.reasoning() end

-- Whether reasoning goes out with `encrypted_content`: clients drop an item without it where the server keeps nothing.
local function seals(body)
  if body.store == false then return true end
  for _, what in ipairs(type(body.include) == "table" and body.include or {}) do
    if what == "reasoning.encrypted_content" then return true end
  end
  return false
end

-- What belongs to one answer stands in several items.
local function flush(self)
  if not self.text and #self.calls == 0 then return end
  self.asked:assistant(self.text or "", self.calls)
  self.text, self.calls = nil, {}
end

local function output_text(output, where)
  local texts = read_content(output, where .. ".output")
  return table.concat(texts, "\n")
end

--- Reads the input, a text or items. What is wrong is raised.
---@param body table
---@param goes_on boolean Whether results may be of calls that stand in the conversation.
---@param offered? table[] The caller's tools, as the model is offered them.
---@param find_item fun(id: string): table? An item that the server keeps.
---@return hocket.Asked
function read.input(body, goes_on, offered, find_item)
  local self = { asked = asked.new("input", goes_on), calls = {}, tools = offered }
  if type(body.instructions) == "string" then self.asked:instruct(body.instructions) end
  if type(body.input) == "string" then
    self.asked:user({ body.input }, {})
    return self.asked
  end
  for i, item in ipairs(required(body, "input", "table")) do
    local where = ("input[%d]"):format(i - 1)
    if type(item) ~= "table" then wrong(where, "'%s' has to be an item", where) end
    local kind = item.type == nil and "message" or item.type
    if kind == "item_reference" then
      item = find_item(required(item, "id", "string", where .. ".")) or wrong(where, "'%s': there is no item '%s' here", where, item.id)
      kind = item.type
    end
    if kind == "function_call_output" or kind == "custom_tool_call_output" then
      flush(self)
      self.asked:result(required(item, "call_id", "string", where .. "."), output_text(item.output, where), false, where)
    else
      local reader = items[kind]
      if not reader then wrong(where, "'%s.type' has to be message, function_call, custom_tool_call, the output of either, reasoning or item_reference", where) end
      if kind == "message" and item.role ~= "assistant" then flush(self) end
      reader(self, item, where)
    end
  end
  flush(self)
  return self.asked
end

local function read_format(body)
  local format = optional(optional(body, "text", "table") or {}, "format", "table", "text.")
  if not format or format.type == "text" then return nil end
  if format.type == "json_object" then return '{"type":"object"}', "answer" end
  if format.type ~= "json_schema" or type(format.schema) ~= "table" then wrong("text.format", "'text.format' has to be text, json_object or json_schema with a 'schema'") end
  return json.encode(format.schema), type(format.name) == "string" and format.name or "answer"
end

-- The run that a request continues with, and which answer of it the caller knows.
local function read_previous(body, desk)
  local previous, conversation = optional(body, "previous_response_id", "string"), pending.id_of(body)
  if previous and conversation then wrong("conversation", "'previous_response_id' and 'conversation' are not given together") end
  if previous then
    local run, turn, number = previous:match "^resp_(%w+)_(%d+)_(%d+)$"
    return { param = "previous_response_id", run = run, turn = tonumber(turn), asked = tonumber(number) }
  end
  local made = pending.find(conversation, desk, "may_continue")
  if made then return made.run and { param = "conversation", run = made.run } or nil end
  if type(conversation) == "string" then return { param = "conversation", run = conversation:match "^conv_(%w+)$" } end
end

-- The first words of a conversation stand behind what it was made with.
local function with_first_items(body, desk)
  local begun = pending.find(pending.id_of(body), desk, "may_continue")
  if not begun or begun.run or #begun.items == 0 then return body end
  local list, input = table.move(begun.items, 1, #begun.items, 1, json.array {}), body.input
  if type(input) == "string" then input = { { role = "user", content = input } } end
  if type(input) == "table" then table.move(input, 1, #input, #list + 1, list) end
  return { instructions = body.instructions, input = list }
end

-- What is read of a request, or changes nothing about the answer.
local members = asked.names([[model input instructions previous_response_id conversation store stream stream_options background tools tool_choice parallel_tool_calls text
  reasoning max_output_tokens temperature top_p metadata client_metadata user user_id userId safety_identifier hocket include service_tier prompt_cache_key
  prompt_cache_retention truncation]])

--- Reads a request. What is wrong is raised.
---@param body table
---@param find_item fun(id: string): table?
---@param desk hocket.Desk Of whoever asks.
---@return table made
function read.request(body, find_item, desk)
  local background = optional(body, "background", "boolean") == true
  if background and body.store == false then wrong("background", "what nobody waits for has to be kept: 'background' goes with 'store'") end
  local effort = (optional(body, "reasoning", "table") or {}).effort
  local most = optional(body, "max_output_tokens", "integer")
  local ignored = asked.ignored()
  local offered, first = tools.read(body, ignored)
  ignored:add_members(body, members)
  local settings = {
    first_choice = first, max_tokens = most and within(most, "max_output_tokens", 1, 1 << 31), temperature = within(optional(body, "temperature", "number"), "temperature", 0, 2),
    top_p = within(optional(body, "top_p", "number"), "top_p", 0, 1), reasoning = type(effort) == "string" and effort or nil,
  }
  local schema, name = read_format(body)
  local previous = read_previous(body, desk)
  return {
    model = required(body, "model", "string"), stream = optional(body, "stream", "boolean") == true, progress = chat.wants_progress(body),
    keeps = body.store ~= false, seals = seals(body), background = background, previous = previous, user = asked.user(body), messages = read.input(with_first_items(body, desk), previous ~= nil, offered, find_item), body = body,
    more = { background = background or nil, metadata = type(body.metadata) == "table" and next(body.metadata) and body.metadata or nil, tools = offered, ignored = ignored:list(), schema = schema, schema_name = name, settings = next(settings) and settings or nil },
  }
end

return read
