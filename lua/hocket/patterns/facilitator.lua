--- Plan and dispatch: a facilitator plans on the task board, sends specialists to work side by
--- side, lets them write into the shared document, consolidates, reviews and answers.
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
--- This file has the tools of `tools: [facilitator]`, specialist.lua those of `tools: [specialist]`. They use public
--- modules only; a pattern of your own can do all of it.
local ask = require "hocket.ask"
local fence = require "hocket.fence"
local board = require "hocket.board"
local document = require "hocket.document"
local events = require "hocket.events"
local json = require "hocket.json"
local orchestrate = require "hocket.orchestrate"
local outcome = require "hocket.internal.patterns.outcome"
local reading = require "hocket.internal.patterns.reading"
local sections = require "hocket.internal.patterns.sections"
local specialist = require "hocket.internal.patterns.specialist"
local tool = require "hocket.tool"

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
          { "text", { type = "string", minLength = 1, description = "What to do, as in 'Find two restaurants near the river'" } },
          { "assigned_to", { type = "string", enum = names, description = "The specialist" } },
          { "active_form", { type = "string", description = "The same while it is being done, as in 'Finding restaurants'" } },
        },
      },
    } },
  }
end

local function create_tasks(lead)
  return tool {
    steps = true, name = "create_tasks",
    description = "Put tasks on the board, each for one specialist. Call it once for the plan, again for follow-ups.",
    parameters = plan_schema(lead.agents),
    run = function(args, ctx)
      local agreed, refused = approved(lead, args.tasks)
      if not agreed then return failed(refused) end
      local ids, err = ctx.board:create(lead.name, args.tasks)
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
  steps = true, name = "get_plan_status",
  description = "How far the plan is: which tasks are done, running, pending or failed.",
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
    description = "Replace the entries of one slot by one merged text: those that you have read whole, and what you merged before. What you have not read whole stays beside it, and you are told.",
    parameters = slots:schema "The merged text",
    repair = function(args) return slots:repair(args) end,
    run = function(args, ctx) return slots:merge(ctx, slots:slot(args), args.content) end,
  }
end

local read_document_clean = tool {
  steps = true, name = "read_document_clean",
  description = "The shared document as the user will read it, without tags. The fence around it is no part of it: leave it out of your answer.",
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

local to_specialists = { "specialist" }
local closing_tools = { outcome.tool, beside = true }

-- In runs of the first edition specialists had no task_outcome, and all of their tasks were running at once: their logs ask the
-- models so.
local function is_newer(run)
  return (run.edition or 2) >= 2
end

-- Sends one specialist to work and settles its tasks, however it ended.
local function dispatch(ctx, name, ids, message)
  if #ids == 0 then return failed { code = "invalid", message = "task_ids is empty: name the tasks to work on" } end
  local tasks = ctx.board
  local newer = is_newer(ctx.run)
  local ok, err = tasks:start(name, ids, newer)
  if not ok then return failed(err) end
  local sent <close> = setmetatable({ board = tasks, name = name, ids = ids, settled = false }, cut_off)
  local said = {}
  local reply, wrong = orchestrate.call(ctx.team[name], message, {
    trigger = "dispatch", task_ids = ids, board = tasks, document = ctx.document, extra_tools = to_specialists, model = ctx.model,
    closing = newer and closing_tools or nil, outcome = said,
  })
  if said.status or has_open(tasks, ids) then reply, wrong = outcome.of(said, reply, wrong) end
  local left, unsettled = tasks:settle(name, ids, reply ~= nil, wrong and wrong.message)
  if not left then return failed(unsettled) end
  sent.settled = true
  if not reply then
    return failed { code = wrong.code, message = ("%s failed: %s (%s)"):format(name, fence.failure(name, wrong), tasks:status()) }
  end
  for _, id in ipairs(left) do
    ctx.run:emit("warning", { message = ("%s did not complete task %d itself; it was completed for it"):format(name, id) }, name)
  end
  return fence.wrap("result", name, reply.text)
end

local dispatch_schema = {
  type = "object", required = { "task_ids", "message" },
  properties = json.object {
    { "task_ids", { type = "array", items = { type = "integer" }, description = "The ids of its tasks on the board" } },
    { "message", { type = "string", minLength = 1, description = "A short instruction that names the task ids, in the user's language" } },
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
    description = ("Send the specialist '%s' to work on its tasks: %s. Returns a summary of what it did. Several specialists called in one turn work side by side.")
      :format(name, def.description ~= "" and def.description or def.display_name),
    parameters = dispatch_schema,
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

local dimensions_of = once(document.from_list)
local one_section = { { section = { "general" } } }

-- A facilitator brings its board and document along, unless the caller gave them. Who sends it to work on tasks of its
-- own is no such caller: that one's board and document are where its tasks stand and its results go.
local function provide(env)
  local lead = env.agent
  if env.task_ids then
    env.outer = { board = env.board, document = env.document }
    env.board, env.document = nil, nil
  end
  local given_board, given_document = env.board, env.document
  env.board = given_board or board { limit = lead.task_limit, agents = lead.agents }
  if not given_document then
    local dimensions, wrong = dimensions_of(lead.document or one_section)
    if not dimensions then return nil, { code = "agent", message = ("%s: 'document': %s"):format(lead.file, wrong) } end
    env.document = document(dimensions)
  end
  local known = reading.new()
  env.reading = known
  table.insert(env.before_turn, function() known:send() end)
  env.run:adopt { board = env.board, document = env.document }
  env.run:expect(env.board)
  if not given_board then env.run:own(env.board, not given_document and env.document or nil) end
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
