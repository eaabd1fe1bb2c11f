--- An agent's front matter describes its texts: `input:` and `output:`, JSON Schemas. The input is checked
--- before a model is asked. An answer that does not fit is returned to the model, twice at most, and then
--- the call fails. So a caller never gets an answer that does not fit.
local json = require "hocket.json"
local schema = require "hocket.schema"

local contract = {}

--- How many answers that do not fit are returned to the model with the reason, for each request.
local REPAIRS = 2

-- Schemas are compiled once for each definition.
local compiled = setmetatable({}, { __mode = "k" })

local function compile(source)
  compiled[source] = compiled[source] or assert(schema.compile(source))
  return compiled[source]
end

-- ---- Reading ------------------------------------------------------------------------------

-- Whether a schema can take a text that is no JSON.
local function takes_text(source)
  local kind = source.type
  if kind == nil or kind == "string" then return true end
  for _, one in ipairs(type(kind) == "table" and kind or {}) do
    if one == "string" then return true end
  end
  return false
end

local MISFIT = "it does not fit"

-- A text that has to be strict JSON, all of it, and nothing else.
local function read_strictly(check, text)
  local value = json.decode(text)
  if value == nil then return nil end
  local ok, why = check:check(value, MISFIT, text)
  if ok then return value, text end
  return nil, why
end

--- Whether a text is one JSON document that fits, and nothing else.
---@param source table A JSON Schema that is one.
---@param text string
---@return boolean
function contract.fits(source, text)
  return read_strictly(compile(source), text) ~= nil
end

--- The value that a text holds, and the value's own text; or nil and what is wrong, for a model.
---@param source table A JSON Schema that is one.
---@param text string
---@param strict? boolean The whole text has to be the value: nothing is searched for in it.
---@return any? value
---@return string text_or_wrong
function contract.read(source, text, strict)
  local check = compile(source)
  local value, found
  if strict then value, found = read_strictly(check, text) else value, found = check:read(text, MISFIT) end
  if value ~= nil then return value, found end
  if takes_text(source) then
    local ok, why = check:check(text, MISFIT)
    if ok then return text, text end
    return nil, found or why
  end
  return nil, found or "it is no JSON"
end

-- ---- Input -------------------------------------------------------------------------------------

--- Whether an agent may be asked this.
---@param def hocket.Agent
---@param text string What it is asked, without what is put around it.
---@return boolean? ok
---@return hocket.Error?
function contract.check_input(def, text)
  if not def.input then return true end
  local value, wrong = contract.read(def.input, text, true)
  if value ~= nil then return true end
  return nil, { code = "invalid", message = ("what %s was asked is not what it takes (input): %s"):format(def.name, wrong) }
end

-- ---- Output --------------------------------------------------------------------------------------

---@class hocket.OutputContract
---@field before_answer fun(reply: hocket.Reply): string? For a session: what makes the model go on.
---@field read_reasoning fun(reply: hocket.Reply): boolean For a session: whether the value of a reply without text stood where its server puts reasoning; it is the text then.
---@field settle fun(reply?: hocket.Reply, err?: hocket.Error): hocket.Reply?, hocket.Error? The answer as it stands, with `value`; or that there is none.

-- A provider's structured answers are objects; any other schema is said in words.
local function is_object(source)
  return source.type == "object"
end

--- The lines of a system prompt for a schema that providers do not take.
---@param def hocket.Agent
---@return string
function contract.instructions(def)
  if not def.output or is_object(def.output) then return "" end
  return ("\n\nYour last answer is JSON that fits this schema, and nothing else:\n%s"):format(json.encode(def.output))
end

--- The schema that a request carries, as JSON, or nil.
---@param def hocket.Agent
---@return string?
function contract.request_schema(def)
  return def.output and is_object(def.output) and json.encode(def.output) or nil
end

-- Servers that part reasoning from text may take an answer for reasoning as a whole, where the model opens no block. What
-- stood in tags is thought, whatever it is; so is what was cut.
local function misplaced(def, reply)
  if reply.finish ~= "stop" or reply.in_tags or reply.refusal or reply.calls[1] or not reply.reasoning then return false end
  return contract.fits(def.output, reply.reasoning)
end

-- Limits end a conversation early; whoever stops a run, or a token limit that cuts an answer, ends the answer itself.
local limits = { budget = true, turns = true, loop = true }

-- A last answer that a limit asked for, and that fits, is a whole one: `agent_cut` has told of the limit.
local function stands(reply, read)
  reply.value, reply.text = read.value, read.text
  if reply.cut and limits[reply.cut.reason] then reply.finish, reply.cut = "stop", nil end
  return reply
end

local function no_answer(def, attempts, wrong)
  return { code = "model", message = ("%s gave no answer that fits its output in %d attempt%s; the last: %s"):format(
    def.name, attempts, attempts == 1 and "" or "s", wrong) }
end

--- Watches over the answers of one agent in one session. Every answer leaves by `settle`, also one that a limit has
--- asked for, which no hook sees.
---@param def hocket.Agent With `output`.
---@param emit fun(type: string, payload: table)
---@param is_guarded? boolean Guards judge what it answers: no error quotes it.
---@return hocket.OutputContract
function contract.output(def, emit, is_guarded)
  local repairs, last = 0, nil

  local function read(reply)
    if not last or last.reply ~= reply then
      local value, text = contract.read(def.output, reply.text)
      last = { reply = reply, value = value, text = text, wrong = value == nil and text or nil }
    end
    return last
  end

  local function before_answer(reply)
    local said = read(reply)
    reply.value = said.value
    if not said.wrong or repairs == REPAIRS then return nil end
    repairs = repairs + 1
    emit("warning", { message = ("%s's answer does not fit its output: %s"):format(def.name, said.wrong) }, true)
    return ("Your answer cannot be used:\n%s\n\nAnswer again with the whole corrected JSON and nothing else."):format(said.wrong)
  end

  local function read_reasoning(reply)
    if not misplaced(def, reply) then return false end
    emit("warning", { message = ("%s's answer has no text: its value stood in the server's field for reasoning, all of it"):format(def.name) })
    reply.text, reply.reasoning = reply.reasoning, nil
    return true
  end

  local function settle(reply, err)
    local said = reply and read(reply) or last
    local attempts = repairs + (reply and 1 or 0)
    repairs, last = 0, nil
    if not reply and not (said and said.wrong and err.code == "budget") then return nil, err end
    if said.wrong then return nil, no_answer(def, attempts, is_guarded and "it does not fit the schema" or said.wrong) end
    return stands(reply, said)
  end

  return { before_answer = before_answer, read_reasoning = read_reasoning, settle = settle }
end

return contract
