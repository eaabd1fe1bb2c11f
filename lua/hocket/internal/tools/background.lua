--- What an agent reads about its tasks in the background: each result once without being asked for, in a
--- fence, unless it was read before; and whatever it asks about one of its own.
---
---     submit_task ──> job ──┐ ends
---                           v
---     news(home) ──> "[BACKGROUND TASK COMPLETED: …]", once      result, page: as often as wanted
---
--- `home` is the job that the tasks belong to: the agent's own, or its conversation's.
local fence = require "hocket.fence"
local broker = require "hocket.broker"
local cassette = require "hocket.cassette"
local truncate = require "hocket.internal.base.truncate"
local json = require "hocket.json"

local background = {}

--- Bytes of one result, and of all at once, that are put before a turn; get_result has the rest.
local SHOWN, NEWS = 16 * 1024, 128 * 1024
--- Bytes of a result that get_result gives in one call.
local PAGE = 56 * 1024
--- Notes of a running task that check_tasks shows.
local NOTES = 3

local function text_of(value)
  if type(value) == "table" then return value.text or json.encode(value) end
  return tostring(value)
end

--- The job that an agent's background tasks belong to.
---@param env table
---@return hocket.Job
function background.home(env)
  return env.home or broker.job()
end

local function cut(text, limit, hint)
  if #text <= limit then return text end
  local stop = utf8.offset(text, 0, limit) - 1
  return ("%s\n[cut here: %d of %d bytes; %s]"):format(text:sub(1, stop), stop, #text, hint)
end

-- An error that is cut where it is long, and its answer so far likewise.
local function shortened(err, id)
  if type(err) ~= "table" then return cut(tostring(err), SHOWN, "cut") end
  local hint = ("get_result(%d) has all of it"):format(id)
  return { message = cut(err.message or err.code, SHOWN, hint), partial = err.partial and cut(err.partial, SHOWN, hint) }
end

--- A task that ended, in the form that the agent learns of it.
---@param jobs hocket.Broker
---@param id integer
---@return string
function background.announce(jobs, id)
  local record = jobs:poll(id)
  local value, err = jobs:result(id)
  local label = ("%s, task %d"):format(record.agent or "task", id)
  if value ~= nil or not err then
    local text = cut(text_of(value), SHOWN, ("get_result(%d) has all of it"):format(id))
    return ("[BACKGROUND TASK COMPLETED: %s (task_id=%d)]\nResult: %s"):format(record.agent, id, fence.wrap("result", label, text))
  end
  return ("[BACKGROUND TASK %s: %s (task_id=%d)]\nError: %s"):format(record.status:upper(), record.agent, id,
    fence.failure(label, shortened(err, id)))
end

--- What ended in the background since the last time, as text; nil when nothing did.
---@param home hocket.Job
---@return string?
function background.news(home)
  local jobs = home.broker
  local ids, texts, bytes = home.untold or {}, {}, 0
  for _, id in ipairs(jobs:take(home)) do ids[#ids + 1] = id end
  local told = 0
  for i, id in ipairs(ids) do
    if bytes >= NEWS then break end
    texts[i] = background.announce(jobs, id)
    bytes, told = bytes + #texts[i], i
  end
  home.untold = table.move(ids, told + 1, #ids, 1, {})
  return told > 0 and table.concat(texts, "\n\n") or nil
end

--- A result that was asked for is not told again.
---@param home hocket.Job
---@param id integer
function background.forget(home, id)
  for i, other in ipairs(home.untold or {}) do
    if other == id then return table.remove(home.untold, i) end
  end
end

--- What is known of a task, when it is one of this agent's.
---@param env table
---@param id integer
---@return table?
function background.own(env, id)
  local home = background.home(env)
  local record = home.broker:poll(id)
  if not record or record.parent ~= home.id or not home.broker:is_background(id) then return nil end
  return record
end

--- The tasks that have not ended.
---@param home hocket.Job
---@return integer[]
function background.open(home)
  local open = {}
  for _, id in ipairs(home.broker:background(home)) do
    if not home.broker:poll(id).final then open[#open + 1] = id end
  end
  return open
end

-- What a running task is doing, or why it failed: its agent's words.
local function said(record)
  if record.status == "failed" then return fence.wrap("error", record.agent, cut(record.error or "", SHOWN, "cut")) end
  local notes, lines = record.notes, {}
  for i = math.max(1, #notes - NOTES + 1), record.final and 0 or #notes do
    lines[#lines + 1] = ("%s: %s"):format(notes[i].kind, truncate(notes[i].text or "", 300))
  end
  return #lines > 0 and fence.wrap("log", record.agent, table.concat(lines, "\n")) or nil
end

--- A task's state in a line, and below it what a running one is doing.
---@param jobs hocket.Broker
---@param id integer
---@return string
function background.line(jobs, id)
  local record = jobs:poll(id)
  local line = ("task_id=%d %s: %s%s"):format(id, record.agent, record.status, cassette.duration(" (%.1f s)", record.seconds))
  local words = said(record)
  return words and line .. "\n" .. words or line
end

--- All of a result, or a page of a long one.
---@param record table Of a task that ended.
---@param id integer
---@param jobs hocket.Broker
---@param from? integer The byte to begin with.
---@return string
function background.result(record, id, jobs, from)
  local value, err = jobs:result(id)
  if err then return ("task %d %s: %s"):format(id, record.status, fence.failure(record.agent, err)) end
  local text = text_of(value)
  local label = ("%s, task %d"):format(record.agent, id)
  from = from or 1
  if from == 1 and #text <= PAGE then return fence.wrap("result", label, text) end
  from = utf8.offset(text, 0, math.min(from, #text)) or from
  local stop = from + PAGE <= #text and utf8.offset(text, 0, from + PAGE) - 1 or #text
  return ("[bytes %d to %d of %d]\n%s"):format(from, stop, #text, fence.wrap("result", label, text:sub(from, stop)))
end

return background
