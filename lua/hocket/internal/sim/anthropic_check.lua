--- What Anthropic's API refuses: requests, and conversations that do not come back as they went.
---
--- The simulated model remembers nothing. A signature is made from the thinking it signs, and the
--- id of a call says whether thinking came before it.
local random = require "hocket.internal.sim.random"
local wire = require "hocket.internal.sim.wire"

local check = {}

function check.signature(thinking)
  return "Er" .. random.sign(thinking, 86)
end

function check.call_id(generator, thought)
  return "toolu_01" .. (thought and "T" or "N") .. generator:token(21)
end

local common = [[messages max_tokens system tools tool_choice temperature top_p top_k stop_sequences
  stream thinking output_config metadata service_tier cache_control container context_management mcp_servers
  inference_geo]]
local fields, vertex_fields = wire.set("model " .. common), wire.set("anthropic_version " .. common)

--- The model of a request as Vertex AI has it: it stands in the path, and the version in the body.
---@param http table
---@return string? model nil: it is no such request.
function check.model_in_path(http)
  local path = http.path or ""
  return path:match "models/([^:?]+):rawPredict" or path:match "models/([^:?]+):streamRawPredict"
end

-- ---- The request's own fields -----------------------------------------------------------

local function check_thinking(body)
  local thinking, choice = wire.table(body.thinking), wire.table(body.tool_choice).type
  if thinking.type == "disabled" or thinking.type == nil then return nil end
  if thinking.type == "enabled" then
    local budget = thinking.budget_tokens
    if math.type(budget) ~= "integer" or budget < 1024 then
      return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
    elseif budget >= body.max_tokens then
      return "`max_tokens` must be greater than `thinking.budget_tokens`."
    end
  end
  if body.temperature and body.temperature ~= 1 then
    return "`temperature` may only be set to 1 when thinking is enabled."
  elseif choice == "any" or choice == "tool" then
    return "Thinking may not be enabled when tool_choice forces tool use."
  end
end

local function count_marks(value, depth)
  local n = 0
  if type(value) ~= "table" or depth > 12 then return 0 end
  for name, inner in pairs(value) do
    n = n + (name == "cache_control" and 1 or count_marks(inner, depth + 1))
  end
  return n
end

local function check_fields(body, http)
  local in_path = check.model_in_path(http)
  local unknown = wire.unknown(body, in_path and vertex_fields or fields)
  if in_path and type(body.anthropic_version) ~= "string" then return "anthropic_version: Field required" end
  if not in_path and not (http.headers or {})["anthropic-version"] then return "anthropic-version: header is required" end
  if unknown then return unknown .. ": Extra inputs are not permitted" end
  if not in_path and type(body.model) ~= "string" then return "model: Field required" end
  if math.type(body.max_tokens) ~= "integer" or body.max_tokens < 1 then return "max_tokens: Field required" end
  if type(body.messages) ~= "table" or #body.messages == 0 then return "messages: at least one message is required" end
  local marks = count_marks({ body.tools, body.system, body.messages }, 0)
  if marks > 4 then return ("A maximum of 4 blocks with cache_control may be provided. Found %d."):format(marks) end
  return check_thinking(body)
end

-- ---- Blocks ---------------------------------------------------------------------------

local blocks = {} -- by type: what is wrong with one, or nil

function blocks.text(block)
  if type(block.text) ~= "string" then return "text: Field required" end
  if block.text == "" then return "text content blocks must be non-empty" end
end

function blocks.thinking(block)
  if type(block.signature) ~= "string" then return "thinking.signature: Field required" end
  if type(block.thinking) ~= "string" or block.signature ~= check.signature(block.thinking) then
    return "Invalid `signature` in `thinking` block"
  end
end

function blocks.tool_use(block)
  if type(block.input) ~= "table" then return "tool_use.input: Input should be a valid dictionary" end
  if not tostring(block.id):find "^[%w_-]+$" then return "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'" end
end

function blocks.tool_result() end

function blocks.image() end

function blocks.document() end

function blocks.redacted_thinking() end

local function check_blocks(message, at)
  if message.role ~= "user" and message.role ~= "assistant" then
    return ("messages.%d.role: Input should be 'user' or 'assistant'"):format(at)
  end
  local content = message.content
  if type(content) == "string" then content = { { type = "text", text = content } } end
  if type(content) ~= "table" or #content == 0 then return ("messages.%d: content must be non-empty"):format(at) end
  for i, block in ipairs(content) do
    local one = blocks[wire.table(block).type]
    if not one then return ("messages.%d.content.%d.type: unknown block type"):format(at, i - 1) end
    local wrong = one(block)
    if wrong then return ("messages.%d.content.%d: %s"):format(at, i - 1, wrong) end
  end
end

-- ---- Turns ----------------------------------------------------------------------------

local function ids_of(message, kind, field)
  local ids = {}
  for _, block in ipairs(wire.table(wire.table(message).content)) do
    if block.type == kind then ids[#ids + 1] = block[field] end
  end
  return ids
end

local function has(list, id)
  for _, one in ipairs(list) do
    if one == id then return true end
  end
  return false
end

local function check_order(message, at)
  local other = false
  for _, block in ipairs(wire.table(message.content)) do
    if block.type == "tool_result" and other then
      return ("messages.%d: `tool_result` blocks must come first in the content"):format(at)
    end
    other = other or block.type ~= "tool_result"
  end
end

local function check_results(messages)
  for i, message in ipairs(messages) do
    local calls, results = ids_of(messages[i - 1], "tool_use", "id"), ids_of(message, "tool_result", "tool_use_id")
    for _, id in ipairs(results) do
      if not has(calls, id) then
        return ("messages.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must "
          .. "have a corresponding `tool_use` block in the previous message."):format(i - 1, tostring(id))
      end
    end
    for at, id in ipairs(calls) do
      if has({ table.unpack(calls, 1, at - 1) }, id) then
        return ("messages.%d: `tool_use` ids must be unique"):format(i - 2)
      elseif not has(results, id) then
        return ("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each "
          .. "`tool_use` block must have a corresponding `tool_result` block in the next message."):format(i - 2, id)
      end
    end
    local wrong = check_order(message, i - 1)
    if wrong then return wrong end
  end
  if #ids_of(messages[#messages], "tool_use", "id") > 0 then
    return "`tool_use` ids were found without `tool_result` blocks immediately after"
  end
end

local function is_thinking(block)
  return block.type == "thinking" or block.type == "redacted_thinking"
end

-- The answer whose calls are being worked on has to begin with the thinking that led to them.
local function check_last_answer(body)
  local messages = body.messages
  local last, answer = messages[#messages], messages[#messages - 1]
  if #ids_of(last, "tool_result", "tool_use_id") == 0 then return nil end
  local first = wire.table(answer).content[1]
  if is_thinking(first) then return nil end
  for _, id in ipairs(ids_of(answer, "tool_use", "id")) do
    if id:find "^toolu_01T" and #id == 30 then
      return ("messages.%d.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
        .. "modified. These blocks must remain as they were in the original response."):format(#messages - 2)
    end
  end
  if wire.table(body.thinking).type == "enabled" then
    return ("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is "
      .. "enabled, a final `assistant` message must start with a thinking block."):format(#messages - 2, first.type)
  end
end

--- What is wrong with a request, or nil.
---@param body table
---@param http table
---@return string?
function check.request(body, http)
  local wrong = check_fields(body, http)
  if wrong then return wrong end
  for i, message in ipairs(body.messages) do
    wrong = check_blocks(wire.table(message), i - 1)
    if wrong then return wrong end
  end
  return check_results(body.messages) or check_last_answer(body)
end

return check
