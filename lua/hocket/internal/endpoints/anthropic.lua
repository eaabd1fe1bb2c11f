--- Anthropic's Messages: POST /v1/messages, streaming and not, and /v1/messages/count_tokens.
local asked = require "hocket.internal.endpoints.asked"
local core = require "hocket.internal.core.llm"
local errors = require "hocket.internal.endpoints.openai.errors"
local json = require "hocket.json"
local turns = require "hocket.internal.endpoints.turn"
local chat = require "hocket.internal.endpoints.openai.chat"
local wrong, optional, required, within = asked.wrong, asked.optional, asked.required, chat.within

-- ---- Errors ------------------------------------------------------------------------------------

local types = {
  [400] = "invalid_request_error", [401] = "authentication_error", [403] = "permission_error", [404] = "not_found_error", [409] = "invalid_request_error",
  [413] = "request_too_large", [415] = "invalid_request_error", [422] = "invalid_request_error", [429] = "rate_limit_error", [503] = "overloaded_error", [504] = "timeout_error",
}

local function form(status, err)
  return { type = "error", error = { type = types[status] or "api_error", message = err.message } }, errors.retry_header(status, err)
end

-- ---- Reading -----------------------------------------------------------------------------------

local function read_source(block, where)
  local source = required(block, "source", "table", where .. ".")
  if source.type == "text" then return required(source, "data", "string", where .. ".source.") end
  if source.type ~= "base64" then wrong(where, "'%s.source.type' has to be base64: nothing is fetched for a caller", where) end
  return asked.from_base64(source.data, where .. ".source.data")
end

-- Blocks of a tool's result of which the model only reads that they were there.
local hidden = { image = true, document = true, search_result = true, tool_reference = true }

local function read_result_text(content, where)
  if content == nil or content == json.null then return "" end
  if type(content) == "string" then return content end
  if type(content) ~= "table" then wrong(where, "'%s.content' has to be a text or a list of blocks", where) end
  local texts = {}
  for i, block in ipairs(content) do
    local at = ("%s.content[%d]"):format(where, i - 1)
    local kind = type(block) == "table" and block.type
    if kind ~= "text" and not hidden[kind] then wrong(at, "'%s.type' has to be text, image, document, search_result or tool_reference", at) end
    texts[i] = kind == "text" and required(block, "text", "string", at .. ".") or ("[%s, which is not shown here]"):format(kind)
  end
  return table.concat(texts, "\n")
end

local user_blocks = {
  text = function(_, block, where, texts) texts[#texts + 1] = required(block, "text", "string", where .. ".") end,
  image = function(_, block, where, _, files) files[#files + 1] = asked.file(read_source(block, where), where) end,
  document = function(_, block, where, _, files)
    files[#files + 1] = asked.file(read_source(block, where), where, type(block.title) == "string" and block.title or nil)
  end,
  tool_result = function(self, block, where)
    self:result(required(block, "tool_use_id", "string", where .. "."), read_result_text(block.content, where), block.is_error == true, where)
  end,
}

local function blocks_of(message, where)
  if type(message.content) == "string" then return { { type = "text", text = message.content } } end
  return required(message, "content", "table", where .. ".")
end

local function read_user(self, message, where)
  local texts, files = {}, {}
  for i, block in ipairs(blocks_of(message, where)) do
    local at = ("%s.content[%d]"):format(where, i - 1)
    local read = type(block) == "table" and user_blocks[block.type]
    if not read then wrong(at, "'%s.type' has to be text, image, document or tool_result", at) end
    read(self, block, at, texts, files)
  end
  if #texts + #files > 0 then self:user(texts, files) end
end

local assistant_blocks = {
  text = function(block, at, texts) texts[#texts + 1] = required(block, "text", "string", at .. ".") end,
  tool_use = function(block, at, _, calls)
    local input = required(block, "input", "table", at .. ".")
    calls[#calls + 1] = { id = required(block, "id", "string", at .. "."), name = required(block, "name", "string", at .. "."), arguments = next(input) and json.encode(input) or "{}" }
  end,
  thinking = function() end, redacted_thinking = function() end,
}

-- Calls of tools that a provider ran itself, and what came of them.
local function is_of_server(kind)
  return type(kind) == "string" and (kind == "server_tool_use" or kind == "mcp_tool_use" or kind == "container_upload" or kind:find "._tool_result$" ~= nil)
end

local function read_assistant(self, message, where, ignored)
  local texts, calls = {}, {}
  for i, block in ipairs(blocks_of(message, where)) do
    local at = ("%s.content[%d]"):format(where, i - 1)
    local kind = type(block) == "table" and block.type
    local read = assistant_blocks[kind]
    if read then read(block, at, texts, calls)
    elseif is_of_server(kind) then ignored:add(at, kind)
    else wrong(at, "'%s.type' has to be text, thinking, redacted_thinking, tool_use, or of a server's tool", at) end
  end
  self:assistant(table.concat(texts, "\n"), calls)
end

local function read_system(self, body)
  if type(body.system) == "string" then return self:instruct(body.system) end
  for i, block in ipairs(optional(body, "system", "table") or {}) do
    local at = ("system[%d]"):format(i - 1)
    if type(block) ~= "table" or block.type ~= "text" or type(block.text) ~= "string" then wrong(at, "'%s' has to be a block of text", at) end
    self:instruct(block.text)
  end
end

local function read_messages(body, ignored)
  local self = asked.new()
  read_system(self, body)
  for i, message in ipairs(required(body, "messages", "table")) do
    local where = ("messages[%d]"):format(i - 1)
    local role = type(message) == "table" and message.role
    if role == "user" then read_user(self, message, where)
    elseif role == "assistant" then read_assistant(self, message, where, ignored)
    else wrong(where, "'%s.role' has to be user or assistant", where) end
  end
  return self
end

local choices = { auto = "auto", any = "required", tool = "required", none = "none" }

local own_tools = { custom = true }

local function read_tools(body, ignored)
  local list, choice = json.array {}, optional(body, "tool_choice", "table") or {}
  for i, one in ipairs(optional(body, "tools", "table") or {}) do
    local where = ("tools[%d]"):format(i - 1)
    local is_plain = type(one) == "table" and (one.type == nil or one.type == json.null)
    if is_plain or asked.is_own(one, own_tools, where, ignored) then asked.tool(list, one.name, one.description, one.input_schema, where) end
  end
  local mode = choices[choice.type or "auto"]
  if not mode or choice.type == "tool" and type(choice.name) ~= "string" then wrong("tool_choice", "'tool_choice.type' has to be auto, any, none, or tool with a 'name'") end
  if choice.disable_parallel_tool_use == true then ignored:add "tool_choice.disable_parallel_tool_use" end
  return asked.choose(list, mode, choice.type == "tool" and { choice.name } or nil)
end

-- What is read of a request, or changes nothing about the answer.
local members = asked.names "model messages system max_tokens stop_sequences stream temperature top_p top_k tools tool_choice metadata hocket service_tier"

local function read(body)
  local stop = optional(body, "stop_sequences", "table")
  local ignored = asked.ignored()
  local tools, first = read_tools(body, ignored)
  local settings = {
    first_choice = first,
    max_tokens = within(required(body, "max_tokens", "integer"), "max_tokens", 1, 1 << 31), temperature = within(optional(body, "temperature", "number"), "temperature", 0, 1),
    top_p = within(optional(body, "top_p", "number"), "top_p", 0, 1), top_k = optional(body, "top_k", "integer"), stop = stop and #stop > 0 and stop or nil,
  }
  for _, one in ipairs(stop or {}) do if type(one) ~= "string" then wrong("stop_sequences", "'stop_sequences' has to be a list of texts") end end
  local messages = read_messages(body, ignored)
  ignored:add_members(body, members)
  return {
    model = required(body, "model", "string"), stream = optional(body, "stream", "boolean") == true, progress = chat.wants_progress(body), messages = messages,
    user = asked.user(type(body.metadata) == "table" and body.metadata or {}),
    more = { tools = tools, ignored = ignored:list(), settings = settings },
  }
end

-- ---- Answering ---------------------------------------------------------------------------------

local function usage_of(turn)
  local used = turn.usage or {}
  local cached = used.cached or 0
  return { input_tokens = math.max(0, (used.input or 0) - cached), output_tokens = used.output or 0, cache_read_input_tokens = cached, cache_creation_input_tokens = 0 }
end

local function message_of(turn, made, content, reason)
  return {
    id = "msg_" .. turn.run.name, type = "message", role = "assistant", model = made.model, content = content, stop_reason = reason or json.null,
    stop_sequence = json.null, usage = usage_of(turn),
  }
end

local function tool_use(one)
  return { type = "tool_use", id = one.id, name = one.name, input = json.decode(one.arguments) }
end

local function headers_of(turn)
  local headers = chat.headers_of(turn)
  headers["request-id"] = turn.run.name
  return headers
end

local function answer_whole(turn, made, response)
  local thoughts = {}
  for piece in turn:pieces(made.progress) do
    if piece.kind == "failed" then return response:fail(errors.of_run(piece.err), headers_of(turn)) end
    if piece.kind == "reasoning" or piece.kind == "progress" and made.progress then thoughts[#thoughts + 1] = piece.kind == "progress" and piece.text .. "\n" or piece.text end
    if piece.kind == "finished" or piece.kind == "calls" then
      local content = json.array {}
      if #thoughts > 0 then content[1] = { type = "thinking", thinking = table.concat(thoughts), signature = "" } end
      local text = piece.text or turn.message
      if text ~= "" or piece.kind == "finished" then content[#content + 1] = { type = "text", text = text } end
      for _, one in ipairs(piece.calls or {}) do content[#content + 1] = tool_use(one) end
      return response:json(200, message_of(turn, made, content, piece.ending.anthropic), headers_of(turn))
    end
  end
end

-- Blocks one after the other: what begins ends the one before.
local Blocks = {}
Blocks.__index = Blocks

function Blocks:send(kind, data)
  data.type = kind
  self.gone = self.gone or not self.stream:event { event = kind, data = data }
end

function Blocks:stop()
  if self.open then self:send("content_block_stop", { index = self.index }) end
  self.open = nil
end

local begins = { text = { type = "text", text = "" }, thinking = { type = "thinking", thinking = "", signature = "" } }

function Blocks:start(kind, block)
  if self.open == kind and not block then return end
  self:stop()
  self.index, self.open = self.index + 1, kind
  self:send("content_block_start", { index = self.index, content_block = block or begins[kind] })
end

function Blocks:delta(kind, text)
  if text == "" then return end
  self:start(kind)
  self:send("content_block_delta", { index = self.index, delta = kind == "text" and { type = "text_delta", text = text } or { type = "thinking_delta", thinking = text } })
end

local empty = json.decode "{}"

function Blocks:call(one)
  self:start("tool_use", { type = "tool_use", id = one.id, name = one.name, input = empty })
  self:send("content_block_delta", { index = self.index, delta = { type = "input_json_delta", partial_json = one.arguments } })
end

function Blocks:finish(turn, piece)
  if piece.kind == "finished" then
    local rest = turn:rest(piece.text)
    if rest then self:delta("text", (rest.gap or "") .. rest.text) end
    if self.index < 0 then self:start "text" end
  end
  for _, one in ipairs(piece.calls or {}) do self:call(one) end
  self:stop()
  self:send("message_delta", { delta = { stop_reason = piece.ending.anthropic, stop_sequence = json.null }, usage = usage_of(turn), hocket = chat.own_of(turn, true) })
  self:send("message_stop", {})
end

local function answer_stream(turn, made, response)
  local blocks
  for piece in turn:pieces(made.progress) do
    if piece.kind == "failed" then
      local err = errors.of_run(piece.err)
      if not blocks then return response:fail(err, headers_of(turn)) end
      blocks:send("error", (form(err.status, err)))
      return blocks.stream:close()
    end
    if not blocks then
      local stream = response:stream { headers = headers_of(turn), ping = 'event: ping\ndata: {"type": "ping"}\n\n' }
      if stream.closed then return end
      blocks = setmetatable({ stream = stream, index = -1 }, Blocks)
      blocks:send("message_start", { message = message_of(turn, made, json.array {}) })
    end
    if piece.kind == "text" then blocks:delta("text", (piece.gap or "") .. piece.text)
    elseif piece.kind == "reasoning" then blocks:delta("thinking", piece.text)
    elseif piece.kind == "progress" then if made.progress then blocks:delta("thinking", piece.text .. "\n") end
    elseif piece.kind ~= "aside" then blocks:finish(turn, piece) end
    if blocks.gone then return end
  end
  if blocks then blocks.stream:close() end
end

-- ---- Requests ----------------------------------------------------------------------------------

-- A guess: what a provider counts is known when it has.
local function count_tokens(made)
  local input, caller = made.messages:finish()
  local history = core.history()
  for _, one in ipairs(caller.messages or {}) do assert(history:add(one)) end
  history:user(input .. (caller.instructions or "") .. (made.more.tools and json.encode(made.more.tools) or ""))
  local _, _, rest = history:tokens()
  return math.max(1, math.floor(rest))
end

-- What fn makes of the body; nil where the answer was what is wrong with it.
local function checked(request, response, fn)
  local body, err = request:json()
  local ok, result = false, err
  if body then ok, result = pcall(fn, body) end
  if ok then return result end
  if type(result) ~= "table" or not result.code then error(result, 0) end
  response:fail(result)
  return nil
end

return function(server)
  local router = server.router
  router:form("/v1/messages", form)
  router:on("POST", "/v1/messages", function(request, response)
    local err
    local made = checked(request, response, read)
    if not made then return end
    local turn
    local ok, failed = pcall(function() turn, err = turns.of(request.server.desk, made) end)
    if not ok then return type(failed) == "table" and failed.code == "invalid" and response:fail(failed) or error(failed, 0) end
    if not turn then return response:fail(err) end
    local bound <close> = turn:bound()
    return (made.stream and answer_stream or answer_whole)(turn, made, response)
  end)
  router:on("POST", "/v1/messages/count_tokens", function(request, response)
    local n = checked(request, response, function(body)
      body.max_tokens = body.max_tokens or 1
      return count_tokens(read(body))
    end)
    if n then return response:json(200, { input_tokens = n }) end
  end)
end
