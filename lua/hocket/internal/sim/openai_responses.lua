--- The scripted model's side of OpenAI's Responses. With `store: false` reasoning goes to the client
--- encrypted and has to come back as it went, right before the item that followed it; else a reference to
--- it is enough (kept_responses.lua).
local json = require "hocket.json"
local responses_check = require "hocket.internal.sim.responses_check"
local wire = require "hocket.internal.sim.wire"

local openai_responses = { name = "openai_responses" }

local error_types = {
  [401] = { "authentication_error", "invalid_api_key" }, [404] = { "not_found_error" },
  [429] = { "requests", "rate_limit_exceeded" }, [500] = { "server_error", "server_error" },
  [502] = { "server_error", "server_error" }, [503] = { "server_error", "server_error" },
  [529] = { "server_error", "server_error" },
}

function openai_responses.error(status, message, detail)
  local kind = error_types[status] or { "invalid_request_error" }
  if detail and detail.quota then kind = { "insufficient_quota", "insufficient_quota" } end
  return { error = { message = message, type = kind[1], code = kind[2] or json.null, param = json.null } }
end

function openai_responses.stream_error(message)
  return wire.event({ type = "error", sequence_number = 0,
    error = { type = "server_error", code = "server_error", message = message, param = json.null } }, "error")
end

-- ---- Requests -------------------------------------------------------------------------

local function text_of(content)
  if type(content) == "string" then return content, {} end
  local texts, list = {}, {}
  for _, part in ipairs(wire.table(content)) do
    texts[#texts + 1] = part.text or part.refusal
    if part.type == "input_image" then wire.medium(list, "image", part.image_url) end
    if part.type == "input_file" then wire.medium(list, "file", part.file_data, nil, part.filename) end
  end
  return table.concat(texts), list
end

local readers = {}

function readers.message(request, item)
  local text, list = text_of(item.content)
  local files, images = wire.shown(list)
  if item.role == "system" or item.role == "developer" then
    request.system = request.system .. text
  else
    wire.add(request, { role = item.role, text = text, images = images, files = files })
  end
end

-- Items of one answer become one message.
local function answer_of(request)
  local last = request.messages[#request.messages]
  if last and last.role == "assistant" then return last end
  wire.add(request, { role = "assistant", text = "" })
  return request.messages[#request.messages]
end

readers["function_call"] = function(request, item)
  if type(item.arguments) ~= "string" then return "function_call.arguments must be a string" end
  local message = answer_of(request)
  message.calls = message.calls or {}
  table.insert(message.calls, {
    id = item.call_id, name = item.name, arguments = json.decode(item.arguments) or item.arguments,
  })
end

readers["function_call_output"] = function(request, item)
  wire.add(request, { role = "tool", id = item.call_id, text = text_of(item.output) })
end

function readers.reasoning(request, item)
  local summary = text_of(item.summary)
  if type(item.encrypted_content) ~= "string" then
    return ("Item with id '%s' not found. Items are not persisted when `store` is set to false. "
      .. "Try again with `store` set to true, or remove this item from your input."):format(tostring(item.id))
  elseif item.encrypted_content ~= responses_check.seal(tostring(item.id), summary) then
    return "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed."
  end
  wire.add(request, { role = "assistant", text = "", reasoning = summary })
end

local function add_items(request, items)
  for i, item in ipairs(items) do
    if type(item) ~= "table" then return ("input[%d] is no object"):format(i - 1) end
    local kind = item.type or "message"
    if not readers[kind] then return ("Invalid value: '%s' at input[%d].type."):format(tostring(kind), i - 1) end
    local wrong = readers[kind](request, item)
    if wrong then return wrong end
  end
  return responses_check.items(items, request.raw.store ~= false)
end

---@param body table
---@param _ table
---@param kept? hocket.KeptResponses
---@return hocket.SimRequest?
---@return string? wrong
function openai_responses.read(body, _, kept)
  local request = wire.request("openai_responses", body.model, body)
  if type(body.instructions) == "string" then request.system = body.instructions end
  local input = body.input
  if type(input) == "string" then input = { { role = "user", content = input } } end
  if #wire.table(input) == 0 then return nil, "'input' must be a text or a non-empty array" end
  if kept then
    local items, unknown = kept:items_of(body, input)
    if not items then return nil, unknown end
    input, request.items = items, items
  end
  local wrong = add_items(request, input)
  if wrong then return nil, wrong end
  for _, one in ipairs(wire.table(body.tools)) do
    wire.tool(request, one, wire.table(one.parameters))
  end
  local format = wire.table(wire.table(body.text).format)
  request.stream = body.stream == true
  request.schema = format.schema or format.type == "json_object" and {} or nil
  request.reasoning = wire.table(body.reasoning).effort
  return wire.done(request)
end

-- ---- Answers --------------------------------------------------------------------------

local function wants_sealed(request)
  for _, what in ipairs(wire.table(request.raw.include)) do
    if what == "reasoning.encrypted_content" then return true end
  end
  return false
end

local function message_item(id, reply)
  local part = reply.refusal and { type = "refusal", refusal = reply.refusal }
    or { type = "output_text", text = reply.text or "", annotations = json.array {} }
  return { type = "message", id = "msg_" .. id, role = "assistant", status = "completed", content = { part } }
end

local function output_of(request, reply, context)
  local items, token, n = json.array {}, context.random:token(24), 0
  local function id()
    n = n + 1
    return reply.reasoning and ("%s_r%d"):format(token, n) or ("%s%d"):format(token, n)
  end
  if reply.reasoning then
    items[1] = { type = "reasoning", id = "rs_" .. token, summary = { { type = "summary_text", text = reply.reasoning } },
      encrypted_content = wants_sealed(request) and responses_check.seal("rs_" .. token, reply.reasoning) or nil }
  end
  if reply.text or reply.refusal or not reply.calls then items[#items + 1] = message_item(id(), reply) end
  for _, call in ipairs(reply.calls or {}) do
    local call_id = call.id or "call_" .. context.random:token(24)
    items[#items + 1] = { type = "function_call", id = "fc_" .. id(), status = "completed",
      call_id = call_id ~= "" and call_id or nil, name = call.name, arguments = wire.arguments_text(call.arguments) }
  end
  return items
end

local incomplete = { length = "max_output_tokens", content_filter = "content_filter" }
local broken = { code = "server_error", message = "The model failed (simulated)" }

local function status_of(reply, reason)
  if reply.finish == "" then return nil end -- it says none
  return reason and "incomplete" or reply.finish == "error" and "failed" or "completed"
end

local function response_of(request, reply, context)
  local usage, reason = wire.usage(request, reply), incomplete[reply.finish]
  local response = {
    id = "resp_" .. context.random:token(24), object = "response", created_at = context.now, model = request.model,
    status = status_of(reply, reason), incomplete_details = reason and { reason = reason } or json.null,
    error = reply.finish == "error" and broken or json.null, output = output_of(request, reply, context),
    usage = {
      input_tokens = usage.input, input_tokens_details = { cached_tokens = usage.cached },
      output_tokens = usage.output, output_tokens_details = { reasoning_tokens = usage.reasoning },
      total_tokens = usage.input + usage.output,
    },
  }
  if context.kept and request.raw.store ~= false then context.kept:keep(response, request.items) end
  return response
end

openai_responses.whole = response_of

-- The same object with other members.
local function with(object, changes)
  local copy = {}
  for name, value in pairs(object) do copy[name] = value end
  for name, value in pairs(changes) do copy[name] = value end
  return copy
end

local streams = {} -- one item's events: (add, index, item, size)

local function add_deltas(add, kind, place, text, size)
  for _, piece in ipairs(wire.pieces(text, size)) do add(kind, with(place, { delta = piece })) end
end

function streams.reasoning(add, index, item, size)
  local place, part = { item_id = item.id, output_index = index, summary_index = 0 }, item.summary[1]
  add("response.output_item.added", { output_index = index, item = with(item, { summary = json.array {} }) })
  add("response.reasoning_summary_part.added", with(place, { part = { type = "summary_text", text = "" } }))
  add_deltas(add, "response.reasoning_summary_text.delta", place, part.text, size)
  add("response.reasoning_summary_text.done", with(place, { text = part.text }))
  add("response.reasoning_summary_part.done", with(place, { part = part }))
end

function streams.message(add, index, item, size)
  local place, part = { item_id = item.id, output_index = index, content_index = 0 }, item.content[1]
  local refused = part.type == "refusal"
  local name, field = refused and "response.refusal" or "response.output_text", refused and "refusal" or "text"
  add("response.output_item.added",
    { output_index = index, item = with(item, { content = json.array {}, status = "in_progress" }) })
  add("response.content_part.added", with(place, { part = with(part, { [field] = "" }) }))
  add_deltas(add, name .. ".delta", place, part[field], size)
  add(name .. ".done", with(place, { [field] = part[field] }))
  add("response.content_part.done", with(place, { part = part }))
end

streams["function_call"] = function(add, index, item, size)
  local place = { item_id = item.id, output_index = index }
  add("response.output_item.added",
    { output_index = index, item = with(item, { arguments = "", status = "in_progress" }) })
  add_deltas(add, "response.function_call_arguments.delta", place, item.arguments, size)
  add("response.function_call_arguments.done", with(place, { arguments = item.arguments }))
end

function openai_responses.fragments(request, reply, context)
  local response, list = response_of(request, reply, context), {}
  local function add(kind, data)
    list[#list + 1] = wire.event(with(data, { type = kind, sequence_number = #list }), kind)
  end
  local begun = with(response, { status = "in_progress", output = json.array {}, usage = json.null,
    incomplete_details = json.null })
  add("response.created", { response = begun })
  add("response.in_progress", { response = begun })
  for i, item in ipairs(response.output) do
    streams[item.type](add, i - 1, item, context.fragment)
    add("response.output_item.done", { output_index = i - 1, item = item })
  end
  if response.status then add("response." .. response.status, { response = response }) end
  return list
end

function openai_responses.stray()
  return wire.event({ type = "response.function_call_arguments.delta", sequence_number = 0, item_id = "fc_unknown",
    output_index = 9, delta = "{}" }, "response.function_call_arguments.delta")
end

return openai_responses
