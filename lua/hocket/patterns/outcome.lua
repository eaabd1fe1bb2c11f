--- The outcome of a specialist's task: success or failure, and how the specialist reports it.
---
---     local hocket = require "hocket"
---     local outcome, said = hocket.patterns.outcome, {}
---     local clerk = hocket.agent { name = "clerk", prompt = "You count." }
---     local reply, err = outcome.of(said, hocket.orchestrate.call(clerk, "Count the chairs.", { tools = { outcome.tool }, outcome = said }))
---     print(reply and reply.text or err.message, outcome.failure "FAILED: the door is locked")
---
--- The tool `task_outcome` reports the outcome as data, and wins over the text. Without it, the words of the report decide.
local json = require "hocket.json"
local orchestrate = require "hocket.orchestrate"
local tool = require "hocket.tool"

local outcome = {}

--- The tool, one for all tasks, so that what is sent of it is made once. It writes to the call's option `outcome`, a table
--- that its pattern empties before each attempt: what is said last counts.
---@type hocket.Tool
outcome.tool = tool {
  steps = true, name = "task_outcome",
  description = "Says how your task has ended. Call it before your report: failed where it could not be done, completed where all of it is.",
  parameters = {
    type = "object", required = { "status" },
    properties = json.object {
      { "status", { type = "string", enum = { "completed", "failed" } } },
      { "reason", { type = "string", description = "Of a failure: what went wrong" } },
    },
  },
  run = function(args, ctx)
    ctx.outcome.status, ctx.outcome.reason = args.status, args.reason
    return "noted: now write your report"
  end,
}

--- Calls of a task's own tools (split_task, report_blocker) that are refused in one attempt: with the last one the task has failed.
local REFUSED = 3

--- A call of such a tool is refused.
---@param said table
---@param err hocket.Error
---@return nil
---@return hocket.Error
function outcome.refuse(said, err)
  orchestrate.argument("patterns.outcome.refuse", 1, "table", said)
  said.refused = (said.refused or 0) + 1
  if outcome.is_over(said) then said.status, said.reason = "failed", err.message end
  return nil, err
end

--- Whether that was one too many.
---@param said table
---@return boolean
function outcome.is_over(said)
  orchestrate.argument("patterns.outcome.is_over", 1, "table", said)
  return (said.refused or 0) >= REFUSED
end

--- Forgets what was said of an attempt, before the next one.
---@param said table
function outcome.begin(said)
  orchestrate.argument("patterns.outcome.begin", 1, "table", said)
  said.status, said.reason, said.parts, said.splits, said.blocked, said.refused = nil, nil, nil, nil, nil, nil
end

-- ---- Words -----------------------------------------------------------------------------------

-- A line without markup and without the article that it may begin with.
local function plain(line)
  line = line:gsub("[%*#_>`~|]+", "")
  line = line:match "%S.*%S" or line:match "%S" or ""
  return (line:gsub("^[Tt][Hh][Ee]%s+", ""):gsub("^[Tt]his%s+", ""))
end

-- What follows a word that says so: without the signs between.
local function without_signs(rest)
  repeat
    local before = #rest
    rest = rest:gsub("^[%s:%.!,;%-]+", ""):gsub("^\226\128[\147\148]", "") -- dashes, too
  until #rest == before
  return rest
end

local states = { "status", "task status", "result", "outcome" }

-- Where "failed" stands behind what the line is about: "task 3 has failed because …", "Status: FAILED".
local function behind_subject(lower)
  for _, name in ipairs(states) do
    local at = lower:match("^" .. name .. "%s*[:=%-]%s*failed%f[%A]()")
    if at then return at end
  end
  local between, at = lower:match "^task%f[%W]([^%.!%?;,]-)%f[%a]failed%f[%A]()"
  local denied = between and (between:find "%f[%a]not?%f[%A]" or between:find "%f[%a]none%f[%A]")
  return between and not denied and #between <= 40 and at or nil
end

-- "failed", "FAILED: …", "failed - …", "failed to …"; but not "failed logins: 3", and not the count of "Failed: 3, passed: 9".
local function at_beginning(line, lower)
  local at = lower:match "^failure%s*[:%-]()"
  if at then return at end
  at = lower:match "^failed%f[%A]()"
  if not at then return nil end
  local rest = lower:sub(at)
  if rest:find "^%s*:%s*%d" and not line:find "^FAILED" then return nil end
  if rest == "" or rest:find "^%s*[:%.!,;%-]" or rest:find "^%s*\226\128[\147\148]" then return at end
  return (rest:find "^%s+to%f[%A]" or rest:find "^%s+because%f[%A]") and at
end

local undone = {
  "^task c[ao][nu]%a* ?not be [%a ]-%f[%a]?done", "^task could not be completed", "^task could not be finished", "^task cannot be completed",
  "^task was not completed", "^unable to complete", "^i was unable to complete", "^i was not able to complete", "^i could not complete",
  "^i couldn't complete", "^i cannot complete", "^i can't complete",
}

local function is_undone(lower)
  for _, pattern in ipairs(undone) do
    if lower:find(pattern) then return true end
  end
end

-- A line of its own that is nothing but the state.
local function has_state_line(text)
  for line in text:gmatch "[^\n]+" do
    local lower = plain(line):lower()
    if lower:find "^task%s+status%s*[:=%-]%s*failed%p*$" or lower:find "^status%s*[:=%-]%s*failed%p*$" or lower:find "^outcome%s*[:=%-]%s*failed%p*$" then return true end
  end
end

--- Finds a report of failure in a text.
---@param text string
---@return string? reason nil: the text reports no failure.
function outcome.failure(text)
  orchestrate.argument("patterns.outcome.failure", 1, "string", text)
  local first, rest = text:match "^%s*([^\n]*)(.*)$"
  local line = plain(first)
  local lower = line:lower()
  local at = at_beginning(line, lower) or behind_subject(lower)
  if at then
    local reason = without_signs(line:sub(at)) .. rest
    return reason:find "%S" and reason:gsub("^%s+", "") or "the specialist reported a failure"
  end
  if is_undone(lower) or has_state_line(text) then return text end
  return nil
end

--- Returns the reply; or, if it reports a failure, nil and the failure.
---@param said {status?: "completed"|"failed", reason?: string} The data from the tool.
---@param reply? hocket.Reply
---@param err? hocket.Error
---@return hocket.Reply?
---@return hocket.Error?
function outcome.of(said, reply, err)
  orchestrate.argument("patterns.outcome.of", 1, "table", said, "table?", reply, "table?", err)
  if not reply then return nil, err end
  local why
  if said.status == "failed" then
    why = said.reason or outcome.failure(reply.text) or reply.text
  elseif said.status ~= "completed" then
    why = outcome.failure(reply.text)
  end
  if not why then return reply end
  return nil, { code = "state", message = why:find "%S" and why or "the specialist reported a failure" }
end

return outcome
