--- What many runs come to: `hocket runs --summary`, as one reads it in the morning, and `hocket runs --stats`, by agent.
local json = require "hocket.json"
local schedules = require "hocket.internal.schedule.schedules"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local stored = require "hocket.internal.commands.stored"
local truncate = require "hocket.internal.base.truncate"

local told = {}

--- Lines of a summary, and runs that it names of each kind.
local MOST, NAMED = 20, 4

-- ---- The morning -----------------------------------------------------------------------------------------

-- What a person does next about runs of a state; %s: the id. In the order in which it is said.
local kinds = {
  { word = "damaged: hocket store check", key = "damaged", states = { damaged = true } },
  { word = "failed", key = "failed", states = { failed = true }, next = "hocket show %s" },
  { word = "waiting for a person", key = "waiting", states = { parked = true }, next = "hocket answer %s" },
  { word = "waiting for a budget, a signal or a time", key = "held", states = { waiting = true }, next = "hocket show %s" },
  { word = "cut off", key = "cut_off", states = { cut_off = true }, next = "hocket resume %s" },
  { word = "going on", key = "going_on", states = { running = true, queued = true }, next = "hocket watch %s" },
  { word = "cancelled", key = "cancelled", states = { cancelled = true } },
  { word = "done", key = "done", states = { done = true } },
}

local function kind_of(run)
  for _, kind in ipairs(kinds) do
    if kind.states[run.state] then return kind.word end
  end
  return "other"
end

local function brief(run)
  return truncate((("%s %s"):format(run.target, run.input):gsub("%s+", " "):gsub(" $", "")), 60, "…")
end

-- Times of schedules for which there was no run.
local function missed()
  local list = {}
  for _, one in ipairs(schedules.all() or {}) do
    if (one.spec.skipped or 0) > 0 or one.spec.problem then
      list[#list + 1] = { name = one.name, skipped = one.spec.skipped or 0, problem = one.spec.problem }
    end
  end
  return list
end

local function count(runs)
  local by_kind, cost, unknown = {}, 0, 0
  for _, run in ipairs(runs) do
    local word = kind_of(run)
    by_kind[word] = by_kind[word] or {}
    table.insert(by_kind[word], run)
    if run.cost == json.null then unknown = unknown + 1 else cost = cost + run.cost end
  end
  return by_kind, cost, unknown
end

local function add_kind(lines, kind, list)
  lines[#lines + 1] = ("%d %s"):format(#list, kind.word)
  for i = 1, kind.next and math.min(#list, NAMED) or 0 do
    lines[#lines + 1] = ("  %-44s %s"):format(kind.next:format(list[i].id), brief(list[i]))
  end
  if kind.next and #list > NAMED then lines[#lines + 1] = ("  and %d more: hocket runs --state %s"):format(#list - NAMED, (next(kind.states))) end
end

local function add_missed(lines, list)
  for _, one in ipairs(list) do
    lines[#lines + 1] = one.problem and ("schedule %s cannot run: %s: hocket schedule show %s"):format(one.name, one.problem, one.name)
      or ("schedule %s has left out %d times: hocket schedule show %s"):format(one.name, one.skipped, one.name)
  end
end

--- At most 20 lines: what ended well, what did not, what waits, what was missed and what it cost, each with the command that comes next.
---@async
---@param runs table[] As hocket.commands.stored describes them, newest first.
---@return {text: string, summary: table}
function told.summary(runs)
  local by_kind, cost, unknown = count(runs)
  local lines, summary, left_out = {}, { cost = cost, cost_unknown = unknown, runs = #runs }, missed()
  for _, kind in ipairs(kinds) do
    local list = by_kind[kind.word] or {}
    local ids = json.array {}
    for i, run in ipairs(list) do ids[i] = run.id end
    summary[kind.key] = ids
    if #list > 0 then add_kind(lines, kind, list) end
  end
  summary.missed = json.array(left_out)
  add_missed(lines, left_out)
  while #lines > MOST - 1 do table.remove(lines) end
  lines[#lines + 1] = ("cost %.4f USD%s"):format(cost, unknown > 0 and (", and %d runs whose cost is not known"):format(unknown) or "")
  return { text = table.concat(lines, "\n"), summary = summary }
end

-- ---- By agent --------------------------------------------------------------------------------------------

local takes = {}

function takes.model_reply(one, event)
  local usage = type(event.usage) == "table" and event.usage or {}
  one.calls, one.seconds = one.calls + 1, one.seconds + (tonumber(event.seconds) or 0)
  one.input, one.output = one.input + (tonumber(usage.input) or 0), one.output + (tonumber(usage.output) or 0)
  if tonumber(usage.cost) then one.cost = one.cost + usage.cost else one.unknown = one.unknown + 1 end
end

function takes.model_retry(one) one.retries = one.retries + 1 end

function takes.task_failed(one) one.failures = one.failures + 1 end

local function take(by_agent, text)
  local event = json.decode(text)
  local fn = type(event) == "table" and type(event.agent) == "string" and takes[event.type]
  if not fn then return end
  local one = by_agent[event.agent] or { agent = event.agent, calls = 0, retries = 0, failures = 0, input = 0, output = 0, cost = 0, unknown = 0, seconds = 0 }
  by_agent[event.agent] = one
  fn(one, event)
end

--- Calls, retries, failures, tokens, cost and time of each agent in these runs.
---@async
---@param runs table[]
---@return {text: string, agents: table[]}?
---@return hocket.Error?
function told.stats(runs)
  local by_agent, agents, lines = {}, json.array {}, {}
  for _, run in ipairs(runs) do
    local ok, err = stored.each(run.id, function(record) take(by_agent, record.json) end)
    if not ok then return nil, err end
  end
  for _, name in ipairs(sorted_keys(by_agent)) do agents[#agents + 1] = by_agent[name] end
  lines[1] = ("%-24s %7s %7s %8s %10s %10s %10s %9s"):format("agent", "calls", "retries", "failures", "tokens in", "out", "USD", "seconds")
  for _, one in ipairs(agents) do
    lines[#lines + 1] = ("%-24s %7d %7d %8d %10d %10d %10s %9.1f"):format(truncate(one.agent, 24, "…"), one.calls, one.retries, one.failures, one.input, one.output,
      one.unknown > 0 and "?" or ("%.4f"):format(one.cost), one.seconds)
  end
  return { text = table.concat(lines, "\n"), agents = agents }
end

return told
