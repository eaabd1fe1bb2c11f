--- OpenAI's chat completions: POST /v1/chat/completions, streaming and not. `model` is the name of what is offered.
---
---     messages ──> a run of its own ──> text, reasoning ──> finish_reason stop, length, content_filter
---                                   └─> tool_calls: the run waits; the next request with their results continues with it
local asked = require "hocket.internal.endpoints.asked"
local errors = require "hocket.internal.endpoints.openai.errors"
local json = require "hocket.json"
local turns = require "hocket.internal.endpoints.turn"
local wrong, optional = asked.wrong, asked.optional

local openai_chat = {}

-- ---- Reading -----------------------------------------------------------------------------------

local formats = { wav = true, mp3 = true }

local part_readers = {
  text = function(part, where, texts) texts[#texts + 1] = asked.required(part, "text", "string", where .. ".") end,
  image_url = function(part, where, _, files)
    local of = asked.required(part, "image_url", "table", where .. ".")
    files[#files + 1] = asked.file(asked.from_url(of.url, where .. ".image_url.url"), where)
  end,
  input_audio = function(part, where, _, files)
    local of = asked.required(part, "input_audio", "table", where .. ".")
    if not formats[of.format] then wrong(where, "'%s.input_audio.format' has to be wav or mp3", where) end
    files[#files + 1] = asked.file(asked.from_base64(of.data, where .. ".input_audio.data"), where)
  end,
  file = function(part, where, _, files)
    local of = asked.required(part, "file", "table", where .. ".")
    local name = type(of.filename) == "string" and of.filename or nil
    files[#files + 1] = asked.file(asked.from_url(of.file_data, where .. ".file.file_data"), where, name)
  end,
}

local function read_content(content, where, readers)
  if content == nil or content == json.null then return {}, {} end
  return asked.parts(content, where, readers or part_readers, "text, image_url, input_audio or file")
end

-- A refusal is no words of the user's.
local answer_readers = setmetatable({ refusal = function() end }, { __index = part_readers })

local function text_of(message, where)
  local texts, files = read_content(message.content, where .. ".content", message.role == "assistant" and answer_readers or nil)
  if #files > 0 then wrong(where, "'%s': a message of '%s' has text alone", where, tostring(message.role)) end
  return table.concat(texts, "\n")
end

local function read_calls(list, where)
  local calls = {}
  for i, one in ipairs(list or {}) do
    local at = ("%s.tool_calls[%d]"):format(where, i - 1)
    local fn = type(one) == "table" and type(one["function"]) == "table" and one["function"]
    if not fn or type(one.id) ~= "string" or type(fn.name) ~= "string" or type(fn.arguments) ~= "string" then
      wrong(at, "'%s' needs 'id' and 'function' with 'name' and 'arguments'", at)
    end
    calls[i] = { id = one.id, name = fn.name, arguments = fn.arguments }
  end
  return calls
end

local roles = {}

function roles.system(self, message, where) self:instruct(text_of(message, where)) end
roles.developer = roles.system

function roles.user(self, message, where)
  local texts, files = read_content(message.content, where .. ".content")
  self:user(texts, files)
end

function roles.assistant(self, message, where)
  self:assistant(text_of(message, where), read_calls(optional(message, "tool_calls", "table", where .. "."), where))
end

function roles.tool(self, message, where)
  self:result(asked.required(message, "tool_call_id", "string", where .. "."), text_of(message, where), false, where)
end

local function read_messages(body)
  local self = asked.new()
  for i, message in ipairs(asked.required(body, "messages", "table")) do
    local where = ("messages[%d]"):format(i - 1)
    local read = type(message) == "table" and roles[message.role]
    if not read then wrong(where, "'%s.role' has to be system, developer, user, assistant or tool", where) end
    read(self, message, where)
  end
  return self
end

local own_tools = { ["function"] = true }

local function read_tools(body, ignored)
  local list = json.array {}
  for i, one in ipairs(optional(body, "tools", "table") or {}) do
    local where = ("tools[%d]"):format(i - 1)
    if asked.is_own(one, own_tools, where, ignored) then
      local fn = one["function"]
      if type(fn) ~= "table" then wrong(where, "'%s' has to be a function: {\"type\": \"function\", \"function\": {…}}", where) end
      asked.tool(list, fn.name, fn.description, fn.parameters, where .. ".function")
    end
  end
  return asked.choose_as_openai(list, body.tool_choice, function(one) return type(one["function"]) == "table" and one["function"].name end)
end

-- The schema of the answer, and its name.
local function read_format(body)
  local format = optional(body, "response_format", "table")
  if not format or format.type == "text" then return nil end
  if format.type == "json_object" then return '{"type":"object"}', "answer" end
  local of = format.type == "json_schema" and type(format.json_schema) == "table" and format.json_schema
  if not of or type(of.schema) ~= "table" then wrong("response_format", "'response_format' has to be text, json_object or json_schema with a 'schema'") end
  return json.encode(of.schema), type(of.name) == "string" and of.name or "answer"
end

local function read_stop(body)
  local stop = body.stop
  if stop == nil or stop == json.null then return nil end
  local list = type(stop) == "string" and { stop } or stop
  if type(list) ~= "table" or #list > 4 then wrong("stop", "'stop' has to be a text, or a list of at most four") end
  for _, one in ipairs(list) do if type(one) ~= "string" or one == "" then wrong("stop", "'stop' has to be a text, or a list of at most four") end end
  return #list > 0 and list or nil
end

local function within(value, name, least, most)
  if value and not (value >= least and value <= most) then wrong(name, "'%s' has to be from %g to %g", name, least, most) end
  return value
end

local function read_settings(body, first)
  local most = optional(body, "max_completion_tokens", "integer") or optional(body, "max_tokens", "integer")
  local settings = {
    max_tokens = most and within(most, "max_tokens", 1, 1 << 31), stop = read_stop(body), seed = optional(body, "seed", "integer"),
    temperature = within(optional(body, "temperature", "number"), "temperature", 0, 2), top_p = within(optional(body, "top_p", "number"), "top_p", 0, 1),
    reasoning = optional(body, "reasoning_effort", "string"), first_choice = first,
  }
  return next(settings) and settings or nil
end

-- What is ours in a request: {"hocket": {"progress": true}}.
local function wants_progress(body)
  local own = optional(body, "hocket", "table")
  return own ~= nil and own.progress == true
end

local function check_unsupported(body)
  if optional(body, "n", "integer") and body.n ~= 1 then wrong("n", "there is one answer: 'n' has to be 1") end
  if body.logprobs == true then wrong("logprobs", "there are no log probabilities") end
  if body.functions ~= nil then wrong("functions", "'functions' gave way to 'tools'") end
end

-- What is read of a request, or changes nothing about the answer.
local members = asked.names([[model messages stream stream_options tools tool_choice parallel_tool_calls response_format max_tokens max_completion_tokens stop seed
  temperature top_p reasoning_effort n logprobs functions hocket user user_id userId safety_identifier metadata store service_tier prompt_cache_key prompt_cache_retention]])

--- Reads a request. What is wrong is raised.
---@param body table
---@return table asked
function openai_chat.read(body)
  check_unsupported(body)
  local stream_options = optional(body, "stream_options", "table") or {}
  local made = {
    model = asked.required(body, "model", "string"), stream = optional(body, "stream", "boolean") == true, include_usage = stream_options.include_usage == true,
    progress = wants_progress(body), messages = read_messages(body),
  }
  local schema, name = read_format(body)
  local ignored = asked.ignored()
  local tools, first = read_tools(body, ignored)
  ignored:add_members(body, members)
  made.user = asked.user(body)
  made.more = { tools = tools, ignored = ignored:list(), schema = schema, schema_name = name, settings = read_settings(body, first) }
  return made
end

-- ---- Answering -----------------------------------------------------------------------------------

local function usage_of(turn)
  local used = turn.usage or {}
  local input, output = used.input or 0, used.output or 0
  return {
    prompt_tokens = input, completion_tokens = output, total_tokens = input + output,
    prompt_tokens_details = { cached_tokens = used.cached or 0 }, completion_tokens_details = { reasoning_tokens = used.reasoning or 0 },
  }
end

local function calls_of(list, with_index)
  local calls = json.array {}
  for i, one in ipairs(list) do
    calls[i] = { index = with_index and i - 1 or nil, id = one.id, type = "function", ["function"] = { name = one.name, arguments = one.arguments } }
  end
  return calls
end

local function cost_of(turn)
  local cost = turn.usage and turn.usage.cost
  return type(cost) == "number" and ("%.6f"):format(cost) or nil
end

--- What is ours in an answer: the run, and what it cost where that is known. A stream has it at its end, and there where its answer begins:
--- what was said beside calls cannot be taken back.
local function own_of(turn, streamed)
  local cost = turn.usage and turn.usage.cost
  return { run = turn.run.name, cost = type(cost) == "number" and cost or nil, answer_from = streamed and turn:answer_from() or nil }
end

local function headers_of(turn)
  local ignored = turn.ignored and table.concat(turn.ignored, ", ") or nil
  return { ["x-hocket-run"] = turn.run.name, ["x-hocket-cost"] = cost_of(turn), ["x-request-id"] = turn.run.name, ["x-hocket-ignored"] = ignored }
end

local function answer_whole(turn, made, response)
  local thoughts, whole = {}, nil
  for piece in turn:pieces(made.progress) do
    if piece.kind == "failed" then return response:fail(errors.of_run(piece.err), headers_of(turn)) end
    if piece.kind == "reasoning" or piece.kind == "progress" and made.progress then thoughts[#thoughts + 1] = piece.kind == "progress" and piece.text .. "\n" or piece.text end
    if piece.kind == "finished" or piece.kind == "calls" then whole = piece end
  end
  local called = whole.kind == "calls"
  local message = {
    role = "assistant", content = whole.text or turn.message ~= "" and turn.message or json.null, refusal = json.null,
    reasoning_content = #thoughts > 0 and table.concat(thoughts) or nil, tool_calls = called and calls_of(whole.calls) or nil,
  }
  return response:json(200, {
    id = "chatcmpl-" .. turn.run.name, object = "chat.completion", created = os.time(), model = made.model, usage = usage_of(turn), system_fingerprint = json.null, hocket = own_of(turn),
    choices = json.array { { index = 0, message = message, logprobs = json.null, finish_reason = whole.ending.chat } },
  }, headers_of(turn))
end

local function chunk_writer(turn, made, stream)
  local id, created = "chatcmpl-" .. turn.run.name, os.time()
  return function(delta, finish, usage)
    return stream:event { data = {
      hocket = finish and own_of(turn, true) or nil, id = id, object = "chat.completion.chunk", created = created, model = made.model, system_fingerprint = json.null, usage = usage or made.include_usage and json.null or nil,
      choices = delta and json.array { { index = 0, delta = delta, logprobs = json.null, finish_reason = finish or json.null } } or json.array {},
    } }
  end
end

local deltas = {
  text = function(piece) return { content = (piece.gap or "") .. piece.text } end,
  aside = function() end,
  reasoning = function(piece) return { reasoning_content = piece.text } end,
  progress = function(piece) return { reasoning_content = piece.text .. "\n" } end,
}

local function stream_end(turn, made, stream, write, whole)
  if whole.kind == "calls" then
    write({ tool_calls = calls_of(whole.calls, true) }, nil)
  else
    local rest = turn:rest(whole.text)
    if rest then write(deltas.text(rest), nil) end
  end
  write(json.decode "{}", whole.ending.chat)
  if made.include_usage then write(nil, nil, usage_of(turn)) end
  stream:event { data = "[DONE]" }
end

-- The status is reported with the first piece: a run that fails before it has said a word is an error as any other.
local function answer_stream(turn, made, response)
  local stream, write
  for piece in turn:pieces(made.progress) do
    if piece.kind == "failed" then
      local err = errors.of_run(piece.err)
      if not stream then return response:fail(err, headers_of(turn)) end
      stream:event { data = { error = errors.of(err.status, err) } }
      return stream:close()
    end
    if not stream then
      stream = response:stream { headers = headers_of(turn) }
      if stream.closed then return end
      write = chunk_writer(turn, made, stream)
      write { role = "assistant", content = "" }
    end
    local delta = deltas[piece.kind]
    local told = delta and (piece.kind ~= "progress" or made.progress) and delta(piece)
    if told and not write(told) then return end
    if not delta then stream_end(turn, made, stream, write, piece) end
  end
  stream:close()
end

--- Answers a request.
---@async
---@param desk hocket.Desk
---@param request hocket.Request
---@param response hocket.Response
function openai_chat.answer(desk, request, response)
  local body, err = request:json()
  if not body then return response:fail(err) end
  local ok, made = pcall(openai_chat.read, body)
  if not ok then
    if type(made) == "table" and made.code then return response:fail(made) end
    error(made, 0)
  end
  local turn
  ok, turn, err = pcall(turns.of, desk, made)
  if not ok then
    if type(turn) == "table" and turn.code == "invalid" then return response:fail(turn) end
    error(turn, 0)
  end
  if not turn then
    if err.code == "not_found" then err = { code = "not_found", message = err.message, word = "model_not_found", param = "model" } end
    return response:fail(err)
  end
  local bound <close> = turn:bound()
  return (made.stream and answer_stream or answer_whole)(turn, made, response)
end

openai_chat.within, openai_chat.wants_progress, openai_chat.headers_of, openai_chat.own_of = within, wants_progress, headers_of, own_of

return openai_chat
