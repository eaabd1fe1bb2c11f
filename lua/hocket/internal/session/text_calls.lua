--- Tool calls that a model writes as text, which servers hand over as the answer. They are calls only where all of the text is
--- calls, each of a tool that the agent has, with arguments that fit. Prose with a call in it is an answer.
---
---     reply without calls ── text is nothing but calls? ──no──> an answer
---                              │ a value of the agent's output ──> an answer
---                              ├ all fit ──> its calls: permission check and labels as for any other, and it asks beside
---                              │             text from outside
---                              └ one does not fit ──> nothing is called, the model learns once, then the agent fails
---
--- A text that was meant so, and whose JSON is broken beyond repair, does not fit either.
---
--- Whether a model is read so is a trait of its server (providers.lua). Text that may become calls is held back from whoever sees the
--- answer as it comes.
local contract = require "hocket.internal.base.lazy" "hocket.internal.session.contract"
local core = require "hocket.internal.core.llm"
local effects = require "hocket.internal.base.effects"
local json = require "hocket.json"
local tool_calls = require "hocket.internal.session.tool_calls"
local trim = require "hocket.internal.base.trim"

local text_calls = {}

local function is_read(self)
  local one = self.model
  return effects.value("calls_in_text", { model = one.id }, function() return one.calls_in_text == true end)
end

-- Whether the text is the value that was asked for.
local function is_value(self, text)
  local source = self.spec.output or self.spec.schema and json.decode(self.spec.schema)
  return source and contract.fits(source, text) or false
end

--- Decides about a reply that has come, and was not accepted yet, whose text is nothing but calls. Returns whether it is that for
--- this agent, and why they cannot be made, where one does not fit; otherwise they are the reply's.
---@async
---@param self hocket.Session
---@param call hocket.Call
---@param n integer How many there are.
---@return boolean are_calls
---@return string? misfit
function text_calls.read(self, call, n)
  if is_value(self, call:partial()) or not is_read(self) then
    call:take_text(false)
    return false
  end
  for i = 1, n do
    local fits, why = tool_calls.prepare(self, call, i)
    if not fits then
      call:take_text(false)
      return true, why
    end
  end
  call:take_text(true)
  return true
end

local literals = { ["true"] = true, ["false"] = true, null = true }

-- Whether a text is JSON that is broken, and no prose: there are no words beside strings. One without its end was cut, and is none.
local function is_broken_json(text)
  local rest = text:gsub("\\.", ""):gsub('"[^"]*"', ""):gsub('".*$', "")
  for word in rest:gmatch "[^%s%d{}%[%],:.+-]+" do
    if not literals[word] then return false end
  end
  return text:find "^[{%[].*[}%]]$" ~= nil and not json.decode(text)
end

-- What stands between the marks of calls.
local function without_marks(text)
  text = text:match "^.*</think>(.*)$" or text
  for _, mark in ipairs { "^%s*```%a*", "```%s*$", "^%s*<tool_call>", "</tool_call>%s*$", "^%s*%[TOOL_CALLS%]", "^%s*<|python_tag|>" } do text = text:gsub(mark, "", 1) end
  return trim.both(text)
end

--- Decides about a reply whose text is not read as calls. Returns why they cannot be made, where it is one broken call of a tool that the agent has.
---@async
---@param self hocket.Session
---@param call hocket.Call
---@return string? misfit
function text_calls.torn(self, call)
  local text = call:partial()
  local name = text:match '"name"%s*:%s*"([^"]+)"%s*,%s*"arguments"' or text:match '"name"%s*:%s*"([^"]+)"%s*,%s*"parameters"'
  if not name or not self:tool_named(name) or not is_broken_json(without_marks(text)) or is_value(self, text) then return nil end
  if not is_read(self) then return nil end
  return ("the call of '%s' is no valid JSON"):format(name)
end

local advice = "You wrote a tool call as text, and nothing was called: %s\nCall a tool by the API's own way. If you cannot, write one JSON object and nothing else, such as\n%s\nOr answer in plain words."

--- What its model learns of calls that do not fit.
---@param self hocket.Session
---@param why string
---@return string
function text_calls.advice(self, why)
  return advice:format(why, ('{"name": "%s", "arguments": {}}'):format(self.tools[1].name))
end

--- Holds back text that may become calls from whoever listens: one for each turn.
---@class hocket.HeldText
---@field held string[]
---@field begins? boolean Whether it begins as calls do; nil: it is too short for that.
local HeldText = {}
HeldText.__index = HeldText

---@param on_delta fun(kind: "text"|"reasoning", text: string)
---@return hocket.HeldText
function text_calls.hold(on_delta)
  local self = setmetatable({ held = {}, on_delta = on_delta }, HeldText)
  self.hear = function(kind, text) self:add(kind, text) end
  return self
end

function HeldText:let_go()
  local text = table.concat(self.held)
  self.held, self.begins = {}, false
  if text ~= "" then self.on_delta("text", text) end
end

function HeldText:add(kind, text)
  if kind ~= "text" or self.begins == false then return self.on_delta(kind, text) end
  self.held[#self.held + 1] = text
  if self.begins == nil then self.begins = core.begins_calls(table.concat(self.held)) end
  if self.begins == false then self:let_go() end
end

--- The reply has come: what is held is reported, unless it is calls.
---@param are_calls boolean
function HeldText:settle(are_calls)
  if are_calls then self.held = {} end
  self:let_go()
end

return text_calls
