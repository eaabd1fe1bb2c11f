--- Plan and dispatch: a facilitator plans on the task board and starts specialists, which work in parallel and write into
--- the shared document. Then it consolidates the document, reviews it and answers.
---
---     local hocket = require "hocket"
---     local lead = hocket.agent {
---       name = "lead", prompt = "You plan.", tools = { "facilitator" }, agents = { "food" },
---       team = { food = hocket.agent { name = "food", description = "Markets", prompt = "You know food.", tools = { "specialist" } } },
---     }
---     local board, document = hocket.board(), hocket.document { { "day", "integer" } }
---     print(hocket.run(lead, "One day in Lisbon", { board = board, document = document }).text, board:status())
---
---        request ─> facilitator ──create_tasks──> board
---                     │  call_food(task_ids) ┐               ┌──read_tasks, complete_task──> board
---                     │  call_logistics(…)   ┴─> specialists ┴──write_section──> document
---                     │  read_document, consolidate_section ───────────────────> document
---                     └─ read_document_clean ─> answer
---
--- This file defines the tools of `tools: [facilitator]`, and specialist.lua those of `tools: [specialist]`. Both use only
--- public modules, so a pattern of your own can do the same.
local ask = require "hocket.ask"
local fence = require "hocket.fence"
local board = require "hocket.board"
local broker = require "hocket.broker"
local document = require "hocket.document"
local events = require "hocket.events"
local json = require "hocket.json"
local orchestrate = require "hocket.orchestrate"
local outcome = require "hocket.patterns.outcome"
local reading = require "hocket.patterns.facilitator.reading"
local sections = require "hocket.patterns.facilitator.sections"
local specialist = require "hocket.patterns.facilitator.specialist"
local splitting = require "hocket.patterns.facilitator.splitting"
local tool = require "hocket.tool"
local waiting = require "hocket.patterns.facilitator.waiting"

local facilitator = {}

local function failed(err)
  return nil, err
end

-- ---- Planning -------------------------------------------------------------------------------

local function describe(tasks)
  local lines = {}
  for i, task in ipairs(tasks) do
    -- What a text has below its first line stands further in, and is no line of the list.
    lines[i] = ("%d. %s: %s"):format(i, task.assigned_to, (task.text:gsub("%s*[\r\n]%s*", "\n     ")))
  end
  return table.concat(lines, "\n")
end

-- Whether the user wants these tasks done; otherwise what to tell the model. Without tasks on the
-- board nobody can be sent to work.
local function approved(agent, tasks)
  if not agent.approve_plan then return true end
  local verdict, said = ask.plan(describe(tasks))
  if verdict == "accept" then return true end
  if verdict == "refuse" then return failed { code = "denied", message = "the user refused this plan: no task was created. Send nobody to work; say that nothing was done." } end
  if verdict == "revise" then return failed { code = "denied", message = "no task was created: the user wants the plan changed. Plan again with create_tasks. The user says: " .. said } end
  if said.code ~= "unsupported" then return failed(said) end
  events.emit("warning", { message = "the plan needs approval, and nobody is there to give it (run it on a terminal, or with --approve allow)" })
  return failed { code = "denied", message = "no task was created: the plan needs the user's approval, and nobody is there to give it. Show the plan in your answer and say so." }
end

local function plan_schema(names)
  return {
    type = "object", required = { "tasks" },
    properties = { tasks = {
      type = "array", minItems = 1,
      items = {
        type = "object", required = { "text", "assigned_to" },
        properties = json.object {
          { "text", { type = "string", minLength = 1 } },
          { "assigned_to", { type = "string", enum = names } },
          { "active_form", { type = "string" } },
        },
      },
    } },
  }
end

local function create_tasks(lead)
  return tool {
    steps = true, name = "create_tasks",
    description = "Plan the tasks.",
    parameters = plan_schema(lead.agents), former = "create_tasks",
    run = function(args, ctx)
      local agreed, refused = approved(lead, args.tasks)
      if not agreed then return failed(refused) end
      local ids, err = ctx.board:create(lead.name, waiting.linked(ctx.board, args.tasks))
      if not ids then return failed(err) end
      local lines = {}
      for i, task in ipairs(args.tasks) do lines[i] = ("%d (%s): %s"):format(ids[i], task.assigned_to, task.text) end
      return "created:\n" .. table.concat(lines, "\n")
    end,
  }
end

-- What an agent completed before it failed.
local function delivered(task)
  if not task.completed_by then return "" end
  return task.result and (" (it was completed before that: %s)"):format(task.result) or " (it was completed before that)"
end

local get_plan_status = tool {
  steps = true, name = "get_plan_status", former = "get_plan_status",
  description = "Show the state of each task.",
  fence = { "board", "the plan" },
  run = function(_, ctx)
    local lines = { ctx.board:status() }
    for _, task in ipairs(ctx.board:tasks()) do
      if task.error and task.error ~= "" then
        lines[#lines + 1] = ("task %d (%s) %s: %s%s"):format(task.id, task.assigned_to, task.status, task.error, delivered(task))
      end
    end
    return table.concat(lines, "\n")
  end,
}

-- ---- The document -----------------------------------------------------------------------------

local function consolidate_section(slots)
  return tool {
    steps = true, name = "consolidate_section",
    description = "Replace the entries that you have read by one text.",
    former = "consolidate_section", parameters = slots:schema(),
    repair = function(args) return slots:fill(slots:repair(args)) end,
    run = function(args, ctx) return slots:merge(ctx, slots:slot(args), args.content) end,
  }
end

local read_document_clean = tool {
  steps = true, name = "read_document_clean", former = "read_document_clean",
  description = "Show the document as the user reads it, inside a fence.",
  fence = sections.fence,
  run = function(_, ctx)
    local text, err = ctx.document:render()
    if not text then return failed(err) end
    return text ~= "" and text or sections.fence.empty
  end,
}

-- ---- Dispatch --------------------------------------------------------------------------------

-- Of a specialist whose dispatch was cut off what is still open is cancelled.
local cut_off = { __close = function(sent)
  if sent.settled then return end
  for _, task in ipairs(sent.board:tasks(sent.ids) or {}) do
    if task.status == "running" or task.status == "pending" then sent.board:cancel(sent.name, task.id, "the dispatch was cancelled") end
  end
end }

-- What a specialist has completed itself stands, whatever words its report begins with.
local function has_open(tasks, ids)
  for _, task in ipairs(tasks:tasks(ids) or {}) do
    if task.status ~= "done" then return true end
  end
  return false
end

-- Tasks that a board may have, where its facilitator has made it.
local rooms = setmetatable({}, { __mode = "k" })

local to_specialists = { "specialist" }
local closing_tools = { outcome.tool, beside = true }

-- In runs of the first edition specialists had no task_outcome, and all of their tasks were running at once: their logs ask the
-- models so.
local function is_newer(run)
  return (run.edition or 2) >= 2
end

-- What is still open of a dispatch goes to the next agent, on the board too.
local function reassigning(tasks, ids)
  return function(from, to, err)
    for _, task in ipairs(tasks:tasks(ids) or {}) do
      if task.status == "running" then tasks:reassign(from, task.id, to, err.message) end
    end
  end
end

-- Sends one specialist to work and settles its tasks, however it ended.
local function dispatch(ctx, name, ids, message)
  if #ids == 0 then return failed { code = "invalid", message = "task_ids is empty: name the tasks to work on" } end
  local tasks = ctx.board
  local newer = is_newer(ctx.run)
  local to_start = waiting.to_start(tasks, ids, name)
  if #to_start > 0 then
    local ok, err = tasks:start(name, to_start, newer)
    if not ok then return failed(err) end
  end
  waiting.go_on(tasks, ids, name)
  local sent <close> = setmetatable({ board = tasks, name = name, ids = ids, settled = false }, cut_off)
  local about = { lead = ctx.agent, team = ctx.team, board = tasks, document = ctx.document, ids = ids, room = rooms[tasks], model = ctx.model }
  local said = { block = waiting.block(tasks, ids), split = splitting.split(about) }
  local function judge(reply, err)
    if said.status or has_open(tasks, ids) then return outcome.of(said, reply, err) end
    return reply, err
  end
  local spec, step = orchestrate.job(ctx.team[name], message, {
    trigger = "dispatch", task_ids = ids, board = tasks, document = ctx.document, extra_tools = to_specialists, model = ctx.model,
    closing = newer and closing_tools or nil, outcome = said, judge = judge, on_reassigned = reassigning(tasks, ids),
  })
  local reply, wrong = nil, step -- without a spec: why the work cannot begin
  if spec then reply, wrong = broker.shared():call(splitting.within(spec, about, name, said)) end
  reply, wrong = judge(reply, wrong)
  if reply and said.blocked then
    sent.settled = true
    return waiting.note(tasks, ids, name, said.blocked)
  end
  local left, unsettled = tasks:settle(name, ids, reply ~= nil, wrong and wrong.message)
  if not left then return failed(unsettled) end
  sent.settled = true
  if not reply then
    return failed { code = wrong.code, message = ("%s failed: %s (%s)"):format(name, fence.failure(name, wrong), tasks:status()) }
  end
  for _, id in ipairs(left) do
    ctx.run:emit("warning", { message = ("%s did not complete task %d itself; it was completed for it"):format(name, id) }, name)
  end
  return orchestrate.framed(name, reply)
end

local dispatch_schema = {
  type = "object", required = { "task_ids", "message" },
  properties = json.object {
    { "task_ids", { type = "array", items = { type = "integer" } } },
    { "message", { type = "string", minLength = 1 } },
  },
}

-- "[1,2]", "1" and 1 become {1, 2}, {1} and {1}; what is no list of ids is left for the schema.
local function with_ids(args)
  local ids = args.task_ids ~= nil and board.ids(args.task_ids)
  if ids then args.task_ids = json.array(ids) end
  return args
end

local function call_specialist(def, name)
  return tool {
    steps = true, name = "call_" .. name, says = "message",
    description = (def.description ~= "" and def.description or def.display_name) .. ".",
    parameters = dispatch_schema, former = "call",
    repair = with_ids,
    quiet = true,
    run = function(args, ctx) return dispatch(ctx, name, args.task_ids, args.message) end,
  }
end

-- ---- The toolset ----------------------------------------------------------------------------------

-- Tools follow from a definition or from the slots of a document, and are made once for each; which board and document
-- they work with stands in the context of each call.
local function once(make)
  local made = setmetatable({}, { __mode = "k" })
  return function(what)
    local one, wrong = made[what], nil
    if not one then
      one, wrong = make(what)
      made[what] = one
    end
    return one, wrong
  end
end

local planning, consolidating, calls_of = once(create_tasks), once(consolidate_section), once(function() return {} end)

local function dispatching(def, name)
  local calls = calls_of(def) -- by the names that teams know it by
  calls[name] = calls[name] or call_specialist(def, name)
  return calls[name]
end

-- After a turn that has planned: whoever has tasks now is sent to work. Weak models plan, and then answer themselves. Not twice in a row.
local function dispatch_next(tasks)
  local seen, forced = #tasks:tasks(), false
  return function()
    local all, who = tasks:tasks(), nil
    local is_new = #all > seen and not forced
    seen, forced = #all, is_new
    for _, task in ipairs(is_new and all or {}) do
      if task.status == "pending" then who = (not who or who == task.assigned_to) and task.assigned_to or "several" end
    end
    return who and (who == "several" and "required" or "call_" .. who)
  end
end

local dimensions_of = once(document.from_list)
local one_section = { { section = { "general" } } }

-- Tasks that it may create in one turn of a conversation, where its file says nothing.
local TASK_LIMIT = 20

-- What a conversation holds of a facilitator's turns before: its board, as long as it has the same specialists, and its document, as long as
-- that has the same sections. Without a conversation each call has new ones.
local function held_of(env)
  if not env.held or env.task_ids or env.board or env.document then return {} end
  local lead, agents = env.agent, table.concat(env.agent.agents, " ")
  local held = env.held[lead.name] or {}
  env.held[lead.name] = held
  if held.agents ~= agents then held.board, held.agents = nil, agents end
  local slots = json.encode(lead.document or one_section)
  if held.slots ~= slots then held.document, held.slots = nil, slots end
  return held
end

-- A facilitator brings its board and document along, unless the caller gave them. Who sends it to work on tasks of its
-- own is no such caller: that one's board and document are where its tasks stand and its results go.
local function provide(env)
  local lead = env.agent
  if env.task_ids then
    env.outer = { board = env.board, document = env.document }
    env.board, env.document = nil, nil
  end
  local held = held_of(env)
  local given_board, given_document = env.board or held.board, env.document or held.document
  if held.board then held.board:allow(lead.task_limit or TASK_LIMIT) end
  env.board, env.document = given_board or board { limit = lead.task_limit, agents = lead.agents }, given_document
  if held.board or not given_board then rooms[env.board] = #env.board + (lead.task_limit or TASK_LIMIT) end
  if not given_document then
    local dimensions, wrong = dimensions_of(lead.document or one_section)
    if not dimensions then return nil, { code = "agent", message = ("%s: 'document': %s"):format(lead.file, wrong) } end
    env.document = document(dimensions)
  end
  local known = reading.new()
  env.reading = known
  table.insert(env.before_turn, function() known:send() end)
  table.insert(env.choose, dispatch_next(env.board))
  env.run:adopt { board = env.board, document = env.document }
  env.run:expect(env.board)
  if held.agents then held.board, held.document = env.board, env.document -- the conversation's
  elseif not given_board then env.run:own(env.board, not given_document and env.document or nil) end
  return sections.of(env.document)
end

--- The tools of `tools: [facilitator]`.
---@param env table
---@return hocket.Tool[]?
---@return hocket.Error?
---@internal
function facilitator.tools(env)
  local lead = env.agent
  if #lead.agents == 0 then
    return nil, { code = "agent", message = ("%s: a facilitator needs specialists: add 'agents: [name, …]'"):format(lead.file) }
  end
  env.leads = true
  local slots, err = provide(env)
  if not slots then return nil, err end
  local tools = { planning(lead), get_plan_status, slots:reader(), consolidating(slots), read_document_clean }
  for _, name in ipairs(lead.agents) do tools[#tools + 1] = dispatching(env.team[name], name) end
  return tools
end

--- The tools of `tools: [specialist]`; without a board and a document there are none of them.
---@param env table
---@return hocket.Tool[]?
---@return hocket.Error?
---@internal
function facilitator.specialist_tools(env)
  return specialist.tools(env)
end

return facilitator
