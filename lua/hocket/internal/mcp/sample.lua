--- A server wants our model to answer something in the middle of a call (sampling). Only where the definition says so, and a person
--- each time: what is asked is shown whole. It is answered as an agent without tools answers, on the run's account and within its
--- budget, by the model of the agent that has called.
local agents = require "hocket.agent"
local ask = require "hocket.ask"
local elicit = require "hocket.internal.mcp.elicit"
local fiber = require "hocket.internal.core.fiber"
local orchestrate = require "hocket.orchestrate"
local sanitize = require "hocket.internal.base.sanitize"
local failed = require("hocket.internal.core.system").error

local sample = {}

--- Bytes of what is asked that a person can judge; tokens of an answer, at most.
local MAX_SHOWN, MAX_TOKENS = 64 << 10, 8192

local function refuse(text, ...)
  return nil, failed { code = "denied", message = text:format(...) }
end

-- The text of a message; nil where it is something else.
local function text_of(content)
  if type(content) ~= "table" then return nil end
  if content.type == "text" and type(content.text) == "string" then return content.text end
  local parts = {}
  for i, one in ipairs(content) do
    parts[i] = text_of(one)
    if not parts[i] then return nil end
  end
  return #parts > 0 and table.concat(parts, "\n") or nil
end

-- The conversation as one text: the last message alone, or all of them with who said them.
local function read_messages(messages)
  local lines = {}
  for i, one in ipairs(type(messages) == "table" and messages or {}) do
    local text = type(one) == "table" and text_of(one.content)
    if not text then return nil end
    lines[i] = { one.role == "assistant" and "assistant" or "user", text }
  end
  if #lines == 1 then return lines[1][2] end
  for i, line in ipairs(lines) do lines[i] = ("%s: %s"):format(line[1], line[2]) end
  return #lines > 0 and table.concat(lines, "\n\n") or nil
end

local function is_allowed(entry, system, text)
  local shown = (system and system .. "\n\n" or "") .. text
  if #shown > MAX_SHOWN then return false end
  local answer = ask.ask({ ("%s wants the model to answer this, at your cost:"):format(entry.name), sanitize.lines(shown), "Let it? yes or no" }, { kind = "approval" })
  return answer ~= nil and ask.verdict(answer) == "yes"
end

local function answer(entry, params)
  local system, text = type(params.systemPrompt) == "string" and params.systemPrompt or nil, read_messages(params.messages)
  if not text then return refuse "only text can be asked of the model" end
  if not is_allowed(entry, system, text) then return refuse "the person has not allowed it" end
  local caller = fiber.context().step
  local def = agents.load {
    name = "sampling", prompt = system or "Answer.", model = caller and caller.def.model or nil,
    max_tokens = math.min(math.tointeger(params.maxTokens) or MAX_TOKENS, MAX_TOKENS), temperature = type(params.temperature) == "number" and params.temperature or nil,
  }
  local reply, err = orchestrate.call(def, text, { trigger = "mcp" })
  if not reply then return nil, err end
  return { role = "assistant", content = { type = "text", text = reply.text }, model = reply.model or "unknown", stopReason = "endTurn" }
end

--- Answers a server that wants to use our model.
---@async
---@param entry hocket.McpEntry
---@param params table
---@return table? result
---@return hocket.Error?
function sample.answer(entry, params)
  local result, err = elicit.within(entry, function() return answer(entry, params) end)
  if result then return result end
  return nil, err or failed { code = "denied", message = "nobody is there who could allow it" }
end

return sample
