--- What a run asks its person, put to an editor (Agent Client Protocol): permission to call a tool, a plan, a question.
local acp_calls = require "hocket.internal.serve.acp_calls"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local sanitize = require "hocket.internal.base.sanitize"

local acp_questions = {}

local visible = sanitize.lines

-- Puts it in a fiber that ends when nobody wants to know any more.
local function with_asker(self, id, fn)
  self.asked[id] = fiber.self()
  local left <close> = setmetatable({}, { __close = function() self.asked[id] = nil end })
  return fn()
end

-- Which of the options was chosen; nil: none.
local function permission(self, call, options)
  local result = self.rpc:ask("session/request_permission", { sessionId = self.id, toolCall = call, options = options })
  local outcome = result and type(result.outcome) == "table" and result.outcome or {}
  for _, one in ipairs(outcome.outcome == "selected" and options or {}) do
    if one.optionId == outcome.optionId then return one.optionId end
  end
end

local function said_of(event)
  local lines = {}
  if event.reason then lines[1] = "It is asked because: " .. visible(event.reason) end
  if event.always then lines[#lines + 1] = "Always: " .. visible(event.always) end
  return table.concat(lines, "\n\n")
end

-- What would change, or what else there is to judge by.
local function content_of(self, event, call)
  local content = call and (call.content or acp_calls.diff(call.one, call.args, self.updates.dir)) or json.array {}
  if call and #content > 0 then call.content = content end
  local shown = table.move(content, 1, #content, 1, json.array {})
  local change = type(event.change) == "table" and event.change or {}
  local text = said_of(event)
  if #shown == 0 then text = ("```json\n%s\n```\n\n%s"):format(event.arguments, text) end
  if change.refused then text = ("This would fail: %s\n\n%s"):format(change.refused, text) end
  if text ~= "" then shown[#shown + 1] = { type = "content", content = { type = "text", text = text } } end
  return shown
end

local function shown_call(self, event, call)
  local told = call and call.told or { toolCallId = "q" .. event.id, title = ("%s wants to call %s"):format(event.agent or "an agent", event.tool), kind = "other" }
  return { toolCallId = told.toolCallId, title = told.title, kind = told.kind, status = "pending", rawInput = told.rawInput, locations = told.locations, content = content_of(self, event, call) }
end

-- Tells the editor a call that stands for a question, where no tool's call does. Who closes what is returned ends it.
local function begin_call(self, call)
  local told, status = { sessionUpdate = "tool_call" }, "failed"
  for name, value in pairs(call) do told[name] = value end
  self:update(told)
  return setmetatable({ ends = function(word) status = word end }, { __close = function()
    self:update { sessionUpdate = "tool_call_update", toolCallId = call.toolCallId, status = status }
  end })
end

local verdicts = { allow = "allow", always = "always", reject = "deny" }

--- A call waits for leave.
---@async
---@param self hocket.AcpSession
---@param event table
---@param call? hocket.AcpCall
function acp_questions.approval(self, event, call)
  with_asker(self, event.id, function()
    local options = json.array { { optionId = "allow", name = "Allow", kind = "allow_once" } }
    if event.always then options[2] = { optionId = "always", name = "Always allow in this session", kind = "allow_always" } end
    options[#options + 1] = { optionId = "reject", name = "Reject", kind = "reject_once" }
    local shown = shown_call(self, event, call)
    local own <close> = not call and begin_call(self, shown) or nil
    local chosen = permission(self, shown, options)
    if own and chosen and chosen ~= "reject" then own.ends "completed" end
    self.run:answer(event.id, verdicts[chosen] or "")
  end)
end

local function form(self, event, text)
  local result = self.rpc:ask("elicitation/create", {
    sessionId = self.id, mode = "form", message = text,
    requestedSchema = { type = "object", properties = { answer = { type = "string", title = "Answer" } }, required = json.array { "answer" } },
  })
  local content = result and result.action == "accept" and type(result.content) == "table" and result.content or {}
  local answer = content.answer
  self.run:answer(event.id, type(answer) == "string" and answer:find "%S" and answer or "")
end

-- Puts a question that is answered in words.
local function put_words(self, event, text)
  if self.client.forms then return with_asker(self, event.id, function() form(self, event, text) end) end
  if self.question then
    self.later = self.later or {}
    self.later[#self.later + 1] = { event = event, text = text }
    return
  end
  self:ask_in_words(event, text)
end

-- A plan is a question whose last words are these, as on the page; an editor has buttons for them.
local function is_plan(lines)
  return #lines > 1 and lines[#lines]:find "^Go ahead%?" ~= nil
end

-- Many an editor that refuses by itself takes the first option of this kind.
local function options_of(lines)
  local options = json.array { { optionId = "allow", name = "Go ahead", kind = "allow_once" }, { optionId = "reject", name = "Do not", kind = "reject_once" } }
  if is_plan(lines) then options[3] = { optionId = "change", name = "Change it", kind = "reject_once" } end
  if is_plan(lines) and lines[1]:find "^A draft: " then options[4] = { optionId = "new", name = "New plan", kind = "reject_once" } end
  return options
end

local answers = { allow = "yes", reject = "no", new = "new" }

-- Which option was chosen, by a call that is there for as long as the question: of plan mode it is the tool's own.
local function choose(self, event, lines)
  local plan = is_plan(lines)
  local content = acp_calls.text(table.concat(lines, "\n", 1, plan and #lines - 1 or #lines))
  local call = plan and self.updates:presented(content)
  local shown = { toolCallId = "q" .. event.id, title = plan and "Go ahead with this plan?" or acp_calls.title(lines[#lines] or ""), kind = "think", status = "pending", content = content }
  if call then shown.toolCallId, shown.title, shown.kind = call.id, call.told.title, call.told.kind end
  local own <close> = not call and begin_call(self, shown) or nil
  local chosen = permission(self, shown, options_of(lines))
  if own and chosen and chosen ~= "reject" then own.ends "completed" end
  return chosen
end

-- Asks for a yes or a no. Who wants a plan changed is asked how.
local function agree(self, event, lines)
  local chosen = choose(self, event, lines)
  if chosen == "change" then return put_words(self, event, "What is to be changed?") end
  self.run:answer(event.id, answers[chosen] or "")
end

--- A question.
---@async
---@param self hocket.AcpSession
---@param event table
function acp_questions.question(self, event)
  local lines = {}
  for i, one in ipairs(event.questions or {}) do lines[i] = visible(tostring(one)) end
  if event.kind == "approval" then return with_asker(self, event.id, function() agree(self, event, lines) end) end
  local text = table.concat(lines, "\n")
  put_words(self, event, self.client.forms and event.agent and ("%s asks: %s"):format(event.agent, text) or text)
end

--- Nobody wants to know any more, or somebody has said it.
---@param self hocket.AcpSession
---@param id string
function acp_questions.withdrawn(self, id)
  local asker = self.asked[id]
  if asker then asker:cancel() end
  if self.question and self.question.id == id then self.question = nil end
  for i, one in ipairs(self.later or {}) do
    if one.event.id == id then table.remove(self.later, i) break end
  end
  if not self.question and self.later and self.later[1] then
    local one = table.remove(self.later, 1)
    self:ask_in_words(one.event, one.text)
  end
end

--- Everything that is open is taken back.
---@param self hocket.AcpSession
function acp_questions.withdraw_all(self)
  self.later = nil
  for _, asker in pairs(self.asked) do asker:cancel() end
end

return acp_questions
