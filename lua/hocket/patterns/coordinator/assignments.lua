--- The tasks of a plan that is carried out: what all of them know of each other, and what a specialist learns for an
--- attempt at one.
local blockers = require "hocket.patterns.blockers"
local fence = require "hocket.fence"
local json = require "hocket.json"
local plan = require "hocket.patterns.plan"

local assignments = {}

--- Bytes of a result that a dependent is given.
local SHOWN = 64 * 1024

---@class hocket.Outcome What became of one task of a plan.
---@field id string
---@field specialist string
---@field description string
---@field status "completed"|"failed"|"skipped"|"cancelled"|"pending"|"running" "skipped": a task that it depends on has not completed.
---@field result? string The specialist's report.
---@field error? string Why it has not completed.
---@field partial? string An answer that was cut off.
---@field cause? string The task whose failure made this one be skipped.
---@field attempts integer How often it was tried.
---@field tried? string[] Agents that failed at it before the one that did it.
---@field blockers? {what: string, needs: string, refused?: string, tasks?: string[]}[] What its specialist has reported.
---@field unblocks? string The task that waited for it.
---@field parts? string[] Tasks that its specialist has split it into.
---@field parent? string The task that it is a part of.
---@field depth? integer Of a part: how deep.
---@field answered_by? string Who did it, where that was an alternate.

---@class hocket.TaskChannel
---@field order string[] The tasks' ids, as they were planned.
---@field by_id table<string, hocket.Outcome>
local Channel = {}
Channel.__index = Channel

---@return hocket.TaskChannel
function assignments.new()
  return setmetatable({ order = {}, by_id = {} }, Channel)
end

--- Takes a task of a plan in.
---@param task hocket.PlanTask
---@return hocket.Outcome
function Channel:add(task)
  local entry = {
    id = task.id, specialist = task.specialist, description = task.description, status = "pending", attempts = 0,
    depends_on = json.array(task.depends_on or {}),
  }
  if not self.by_id[task.id] then self.order[#self.order + 1] = task.id end
  self.by_id[task.id] = entry
  return entry
end

--- All tasks, in their order.
---@return hocket.Outcome[]
function Channel:list()
  local list = json.array {}
  for i, id in ipairs(self.order) do list[i] = self.by_id[id] end
  return list
end

--- Which are done, by id.
---@return table<string, boolean>
function Channel:completed()
  local done = {}
  for id, entry in pairs(self.by_id) do done[id] = entry.status == "completed" or nil end
  return done
end

--- Tasks that a new plan stands in for are no part of the outcome any more.
function Channel:drop_replaced()
  local order = {}
  for _, id in ipairs(self.order) do
    if self.by_id[id].replaced then self.by_id[id] = nil else order[#order + 1] = id end
  end
  self.order = order
end

local function cut(text)
  if #text <= SHOWN then return text end
  return ("%s\n[cut here: %d of %d bytes]"):format(text:sub(1, utf8.offset(text, 0, SHOWN) - 1), SHOWN, #text)
end

local function dependency(entry)
  local label = ("%s by %s"):format(entry.id, entry.specialist)
  if entry.status == "completed" then return fence.wrap("result", label, cut(entry.result)) end
  return fence.failure(label, { message = ("%s: %s"):format(entry.status, entry.error or "it did not complete"), partial = entry.partial and cut(entry.partial) })
end

--- What a specialist reads for an attempt at a task.
---@param task hocket.PlanTask
---@param job hocket.Job
---@param closing string What it reads last.
---@return string
function Channel:brief(task, job, closing)
  local parts = { task.description }
  if task.context and task.context ~= "" then parts[#parts + 1] = "Context: " .. task.context end
  local outcome = plan.outcome_of(task, "\n\n", true)
  if outcome ~= "" then parts[#parts + 1] = outcome:sub(3) end
  local before = {}
  for i, id in ipairs(task.depends_on or {}) do before[i] = dependency(self.by_id[id]) end
  if #before > 0 then parts[#parts + 1] = "What was found out before. " .. fence.note .. "\n\n" .. table.concat(before, "\n\n") end
  if job.attempt > 1 then
    parts[#parts + 1] = ("This is attempt %d. The one before failed:\n%s"):format(job.attempt, fence.wrap("error", task.id, cut(job.last_error or "?")))
  end
  local told = blockers.brief(self.by_id[task.id], function(id) return dependency(self.by_id[id]) end)
  table.move(told, 1, #told, #parts + 1, parts)
  parts[#parts + 1] = closing
  return table.concat(parts, "\n\n")
end

return assignments
