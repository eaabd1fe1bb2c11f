--- Blockers: a specialist reports what keeps it from going on with its task, and whoever plans makes tasks of that, or refuses.
---
---     local hocket = require "hocket"
---     local mason = hocket.agent { name = "mason", prompt = "You build.", tools = { "report_blocker" } }
---     local plan = { type = "task", tasks = { { id = "walls", specialist = "mason", description = "Build the walls" } } }
---     print(assert(hocket.patterns.coordinator.run(plan, { team = { mason = mason }, on_blocker = function(about)
---       return nil, "do it without: " .. about.needs
---     end })).text)
---
--- The task waits meanwhile; it has not failed, and its specialist gets it again with what came of the report.
---
---     walls ──report_blocker──> the planner ──> stones ──> walls again
---                                  └── refuses ───────────> walls again, with the reason
---
--- Here are the tool, and the part of a coordinator; a facilitator plans with its own tools (facilitator/waiting.lua).
local fence = require "hocket.fence"
local orchestrate = require "hocket.orchestrate"
local outcome = require "hocket.patterns.outcome"
local plan = require "hocket.patterns.plan"
local tool = require "hocket.tool"

local blockers = {}

--- Reports of one task; tasks that wait for each other.
blockers.MOST, blockers.CHAIN = 2, 3

local text = { type = "string", minLength = 1, maxLength = 4000 }

local function schema_of(block)
  return { type = "object", required = { "id", "what", "needs" }, properties = {
    id = block.id, what = text, needs = text,
    needs_tasks = block.board and { type = "array", items = { type = "integer" }, description = "Tasks on the board that have to be done before, if any" } or nil,
  } }
end

--- The tool of `tools: [report_blocker]`: of a specialist at work on a task. Anybody else has none.
---@param env table
---@return hocket.Tool[]
---@internal
function blockers.tools(env)
  local said = env.outcome
  local block = said and said.block
  if not block then return {} end
  table.insert(env.ends_when, function() return said.blocked ~= nil or outcome.is_over(said) end)
  return { tool {
    steps = true, name = "report_blocker", says = "what",
    description = "Report what keeps you from going on with your task, and what you need. Your task waits, and you get it again with what came of that. It is no failure.",
    parameters = schema_of(block),
    run = function(args)
      if said.blocked then return nil, { code = "state", message = "you have reported a blocker already" } end
      local ok, err = block.accept(args)
      if not ok then return outcome.refuse(said, err) end
      said.blocked = { id = args.id, what = args.what, needs = args.needs, needs_tasks = args.needs_tasks }
      return "noted: your task waits"
    end,
  } }
end

--- The report for whoever reads it.
---@param of string
---@param blocked {what: string, needs: string}
---@return string
function blockers.framed(of, blocked)
  orchestrate.argument("patterns.blockers.framed", 1, "string", of, "table", blocked)
  return fence.wrap("blocker", of, ("%s\nIt needs: %s"):format(blocked.what, blocked.needs))
end

--- The way from a task to one that it waits for, also through others, or nil: whoever is to wait for the first would wait in a circle.
---@param from string|integer
---@param to string|integer
---@param awaited fun(id: string|integer): (string|integer)[] For whom a task waits.
---@return (string|integer)[]? ids
function blockers.way(from, to, awaited)
  orchestrate.argument("patterns.blockers.way", 3, "function", awaited)
  local seen = {}
  local function go(id)
    if id == to then return { id } end
    if seen[id] then return nil end
    seen[id] = true
    for _, other in ipairs(awaited(id)) do
      local path = go(other)
      if path then return table.move(path, 1, #path, 2, { id }) end
    end
  end
  return go(from)
end

-- ---- Of a plan -----------------------------------------------------------------------------------

--- Whether a task may be reported as blocked once more.
---@param entry hocket.Outcome
---@return true?
---@return hocket.Error?
function blockers.may_wait(entry)
  orchestrate.argument("patterns.blockers.may_wait", 1, "table", entry)
  if #(entry.blockers or {}) >= blockers.MOST then
    return nil, { code = "limit", message = ("task '%s' was blocked %d times, which is the limit: do it without, or say that it failed"):format(entry.id, blockers.MOST) }
  elseif (entry.waits or 0) >= blockers.CHAIN then
    return nil, { code = "limit", message = ("task '%s' is one of %d that wait for each other, which is the limit: do it without, or say that it failed"):format(entry.id, entry.waits) }
  end
  return true
end

-- For whom a task waits.
local function awaited_in(state)
  return function(id)
    local entry, ids = state.channel.by_id[id] or {}, {}
    table.move(entry.depends_on or {}, 1, #(entry.depends_on or {}), 1, ids)
    table.move(entry.parts or {}, 1, #(entry.parts or {}), #ids + 1, ids)
    for _, one in ipairs(entry.blockers or {}) do
      for _, other in ipairs(one.tasks or {}) do ids[#ids + 1] = other end
    end
    return ids
  end
end

local function wrong_dependency(state, task, one, id)
  local entry = state.channel.by_id[id]
  if not entry or entry.status == "completed" then return nil end
  local path = blockers.way(id, task.id, awaited_in(state))
  if path then return ("- the tasks would wait for each other in a circle: %s -> %s -> %s"):format(one.id, table.concat(path, " -> "), one.id) end
  return ("- task '%s' depends on '%s', which is not done: it may depend on tasks that are done, and on new ones"):format(one.id, id)
end

--- What is wrong with tasks that are to be done before a blocked one; nil: nothing.
---@param state table The coordinator's.
---@param task hocket.PlanTask
---@param list hocket.PlanTask[]
---@return string?
function blockers.wrong(state, task, list)
  orchestrate.argument("patterns.blockers.wrong", 1, "state", state, "table", task, "table", list)
  local count = state:count_tasks() + #list
  local limit = state.options.task_limit or plan.TASK_LIMIT
  if count > limit then return ("- the plan would have %d tasks, and %d is the limit"):format(count, limit) end
  local known, ids = {}, {}
  for id in pairs(state.channel.by_id) do known[id] = true end
  for _, one in ipairs(list) do ids[one.id] = true end
  for _, one in ipairs(list) do
    for _, id in ipairs(one.depends_on or {}) do
      local wrong = not ids[id] and wrong_dependency(state, task, one, id)
      if wrong then return wrong end
    end
  end
  return plan.check({ type = "task", tasks = list }, state.specialists, known, state.team)
end

--- The tasks that whoever plans makes of a report.
---@async
---@param state table
---@param task hocket.PlanTask
---@param blocked {what: string, needs: string}
---@return hocket.PlanTask[]? tasks
---@return string? refused
function blockers.plan(state, task, blocked)
  orchestrate.argument("patterns.blockers.plan", 1, "state", state, "table", task, "table", blocked)
  local ask = state.options.on_blocker
  if not ask then return nil, "nobody is there who could plan it" end
  local list, err = ask { task = task, what = blocked.what, needs = blocked.needs, tasks = state.channel:list(), wrong = function(new) return blockers.wrong(state, task, new) end }
  if not list then return nil, type(err) == "table" and err.message or tostring(err or "it was refused") end
  local wrong = blockers.wrong(state, task, list)
  if wrong then return nil, wrong end
  return list
end

--- What a specialist reads that gets its task again.
---@param entry hocket.Outcome
---@param shown fun(id: string): string What a task has come to.
---@return string[]
function blockers.brief(entry, shown)
  orchestrate.argument("patterns.blockers.brief", 1, "table", entry, "function", shown)
  local told = {}
  for _, one in ipairs(entry.blockers or {}) do
    told[#told + 1] = "You reported a blocker:\n" .. blockers.framed(entry.id, one)
    if one.refused then told[#told + 1] = "It was refused:\n" .. fence.wrap("refusal", "the planner", one.refused) end
    for _, id in ipairs(one.tasks or {}) do told[#told + 1] = "This was done about it:\n" .. shown(id) end
    if #(one.done or {}) > 0 then told[#told + 1] = "Calls of yours before that were made, and what they did stays done:\n" .. fence.wrap("done", entry.id, table.concat(one.done, "\n")) end
  end
  return told
end

return blockers
