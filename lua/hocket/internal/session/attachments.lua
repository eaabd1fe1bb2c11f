--- Pictures, recordings and documents in a conversation. They come with the user's words, or from tools. Attachments of tools follow
--- all results of their turn, since most protocols have no other place for them.
local core = require "hocket.internal.core.llm"
local json = require "hocket.json"
local media = require "hocket.internal.base.media"
local takes = require "hocket.internal.models.takes"

local attachments = {}

local had = setmetatable({}, { __mode = "k" }) -- by history: what it was given already

-- Appends the user's message. What the conversation has already is not given twice.
local function add(history, text, list, before)
  local parts, weight = {}, media.weight(history)
  if text ~= "" then parts[1] = { text = text } end
  had[history] = had[history] or setmetatable({}, { __mode = "k" })
  for _, one in ipairs(list) do
    if not had[history][one] then
      if before then parts[#parts + 1] = { text = before(one) } end
      local part, bytes = media.part(one)
      parts[#parts + 1], weight = part, weight + bytes
    end
  end
  if #parts == 0 or not parts[2] and parts[1].text == text then return history:user(text) end
  local ok, err = history:add { role = "user", parts = json.array(parts) }
  if not ok then return nil, err end
  for _, one in ipairs(list) do had[history][one] = true end
  media.weigh(history, weight)
  return true
end

local function model_of(self)
  local model = self.model
  return model.id and model or type(model[1]) == "table" and model[1] or model
end

--- Adds what the user says, with everything that comes with it.
---@param self hocket.Session
---@param text string
---@param list hocket.Media[]
---@return boolean? added
---@return hocket.Error?
function attachments.say(self, text, list)
  local wrong = media.too_much(list)
  for _, one in ipairs(list) do wrong = wrong or takes.refusal(model_of(self), one) end
  if wrong then return nil, wrong end
  return add(self.history, text, list)
end

--- What a tool returned that is no text: the model is shown it after the turn's results. Returns the result's text, which says so; of
--- what the model does not take, why.
---@param self hocket.Session
---@param name string The tool's.
---@param text string
---@param list hocket.Media[]
---@return string
function attachments.take(self, name, text, list)
  local lines, pending = { text ~= "" and text or nil }, self.shown_next or {}
  for _, one in ipairs(list) do
    local wrong = takes.refusal(model_of(self), one)
    if not wrong and #pending > 0 then wrong = media.too_much(table.move(pending, 1, #pending, 2, { one })) end
    if wrong then
      lines[#lines + 1] = ("[a %s that you cannot be shown: %s]"):format(media.word(one.kind), wrong.message)
    else
      pending[#pending + 1] = { data = one.data, media = one, tool = name }
      lines[#lines + 1] = ("[a %s: it is shown to you below]"):format(media.word(one.kind))
    end
  end
  self.shown_next = pending[1] and pending or nil
  return table.concat(lines, "\n")
end

--- After all results of a turn: adds what they have to show, and the news. Returns nil and an error where that cannot be.
---@param self hocket.Session
---@param news? string
---@return boolean? added
---@return hocket.Error?
function attachments.show(self, news)
  local list, tools = {}, {}
  for i, pending in ipairs(self.shown_next) do
    list[i], tools[pending.media] = pending.media, pending.tool
  end
  self.shown_next = nil
  return add(self.history, news or "", list, function(one)
    return ("[What follows is the %s that %s gave: material, and no words of the user's.]"):format(media.word(one.kind), tools[one])
  end)
end

-- ---- What a provider refuses ----------------------------------------------------------------------------

local about = { "image", "picture", "audio", "pdf", "document", "media", "input_file", "base64", "mime" }
local refusals = { [400] = true, [413] = true, [415] = true, [422] = true }

local function is_about_it(err)
  if not refusals[err.http_status] or err.retryable then return false end
  local text = tostring(err.message):lower()
  for _, word in ipairs(about) do
    if text:find(word, 1, true) then return true end
  end
  return false
end

-- The last message that has something of it: its parts in words.
local function take_out(history)
  local lines, messages, found = {}, history:messages(), nil
  for line in history:lines():gmatch "[^\n]+" do lines[#lines + 1] = line end
  for i = #messages, 1, -1 do
    local message = messages[i]
    for k, part in ipairs(message.parts or {}) do
      local kind = not part.text and next(part)
      if kind then message.parts[k], found = { text = ("[a %s, which the provider has refused]"):format(media.word(kind)) }, message end
    end
    if found then
      lines[i] = json.encode(found)
      break
    end
  end
  return found, lines
end

--- After a call that failed: where the provider refused something of it, that is taken out of the conversation, which could not go on
--- otherwise. Returns whether to ask again: when a tool had given it. What the user had given is missed.
---@param self hocket.Session
---@param err hocket.Error
---@return boolean
function attachments.refused(self, err)
  if not had[self.history] or not is_about_it(err) then return false end
  local found, lines = take_out(self.history)
  if not found then return false end
  local fresh = core.history()
  fresh:labels(self.history:labels())
  for _, line in ipairs(lines) do assert(fresh:add(line)) end
  self.history:become(fresh)
  self.emit("warning", { message = ("the provider has refused what was shown to %s: %s"):format(model_of(self).id, err.message) })
  return found.parts[1].text:find "^%[What follows is" ~= nil
end

--- What a conversation has after it was made shorter.
---@param history hocket.History
---@param messages table[]
function attachments.recount(history, messages)
  local weight = 0
  for _, message in ipairs(messages) do
    for _, part in ipairs(message.parts or {}) do
      local one = part.image or part.audio or part.file
      weight = weight + (one and one.data and #one.data or 0)
    end
  end
  media.weigh(history, weight)
end

return attachments
