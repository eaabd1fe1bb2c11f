--- Questions of a run and calls that wait for leave, put to the person at the other end as forms (MCP's elicitation). What is not
--- answered there is not answered: leave that nobody gives is not given.
local sanitize = require "hocket.internal.base.sanitize"

local questions = {}

-- A model's words, line by line: nothing in them is invisible, or changes how the rest looks.
local visible = sanitize.lines

local function shown(event)
  return visible(table.concat(event.questions or {}, "\n"))
end

-- What is asked, as a form; and how an answer to it reads for the run.
local forms = {}

function forms.question_asked(event)
  local field = { type = "string", title = "Answer" }
  return {
    message = event.agent and ("%s asks: %s"):format(event.agent, shown(event)) or shown(event),
    requestedSchema = { type = "object", properties = { answer = field }, required = { "answer" } },
  }, function(content) return content.answer end
end

function forms.approval_requested(event)
  local choices = { "allow", "deny" }
  if event.always then choices[3] = "always" end
  local lines = { ("%s wants to call %s: %s"):format(event.agent or "an agent", event.tool, event.arguments) }
  if event.reason then lines[#lines + 1] = ("It is asked because: %s"):format(event.reason) end
  if type(event.change) == "table" and event.change.diff then lines[#lines + 1] = visible(event.change.diff) end
  local decision = { type = "string", enum = choices, title = "Allow it?", description = event.always and ("always: %s"):format(event.always) or nil }
  return {
    message = table.concat(lines, "\n"),
    requestedSchema = { type = "object", properties = { decision = decision, why_not = { type = "string", title = "Why not" } }, required = { "decision" } },
  }, function(content)
    if content.decision ~= "deny" or type(content.why_not) ~= "string" or not content.why_not:find "%S" then return content.decision end
    return "deny, " .. content.why_not
  end
end

--- Whether an event is a question.
---@param kind string Its type.
---@return boolean
function questions.is_one(kind)
  return forms[kind] ~= nil
end

--- Puts a question, and answers the run.
---@async
---@param event table
---@param started userdata The run, as it was started.
---@param at hocket.McpWork
function questions.put(event, started, at)
  local form, read = forms[event.type](event)
  local result = at:elicit(form)
  local text = ""
  if result and result.action == "accept" then text = tostring(read(result.content or {}) or "") end
  if result and result.action == "decline" and event.type == "approval_requested" then text = "deny" end
  started:answer(event.id, text:find "%S" and text or "")
end

return questions
