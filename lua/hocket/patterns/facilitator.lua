--- Plan and dispatch: a facilitator plans on the task board, sends specialists to work side by
--- side, lets them write into the shared document, consolidates, reviews and answers.
---
---        request ─> facilitator ──create_tasks──> board
---                     │  call_food(task_ids) ┐               ┌──read_tasks, complete_task──> board
---                     │  call_logistics(…)   ┴─> specialists ┴──write_section──> document
---                     │  read_document, consolidate_section ───────────────────> document
---                     └─ read_document_clean ─> answer
---
--- This file registers two toolsets for agent files: `tools: [facilitator]` and
--- `tools: [specialist]`. It uses public modules only; a pattern of your own can do all of it.
local ask = require "hocket.ask"
local block = require "hocket.block"
local board = require "hocket.board"
local document = require "hocket.document"
local orchestrate = require "hocket.orchestrate"
local tool = require "hocket.tool"

local facilitator = {}

local function failed(err)
  return nil, err
end

-- ---- Arguments that models send in many forms ------------------------------------------

local function ids_schema(description)
  return { type = "array", items = { type = "integer" }, description = description }
end

-- "[1,2]", "1" and 1 become {1, 2}, {1} and {1}; what is no list of ids is left for the schema.
local function with_ids(name)
  return function(args)
    local ids = args[name] ~= nil and board.ids(args[name])
    if ids then args[name] = require("hocket.json").array(ids) end
    return args
  end
end

local function with_id(args)
  local ids = args.task_id ~= nil and board.ids(args.task_id)
  if ids and #ids == 1 then args.task_id = ids[1] end
  return args
end

-- The document's dimensions as properties of a schema, and their names.
local function slot_properties(doc)
  local properties, required = {}, {}
  for i, dimension in ipairs(doc:dimensions()) do
    local name, kind = dimension[1], dimension[2]
    required[i] = name
    if kind == "integer" then
      local bounds = dimension[3] or { 0 }
      properties[name] = { type = "integer", minimum = bounds[1], maximum = bounds[2], description = ("%s, 0 for general"):format(name) }
    else
      properties[name] = { type = "string", enum = kind }
    end
  end
  return properties, required
end

-- Integers may come as text: "2" is 2.
local function with_slot(doc)
  return function(args)
    for _, dimension in ipairs(doc:dimensions()) do
      local name, kind = dimension[1], dimension[2]
      if kind == "integer" and type(args[name]) == "string" then
        args[name] = math.tointeger(tonumber(args[name])) or args[name]
      end
    end
    return args
  end
end

local function slot_of(doc, args)
  local slot = {}
  for _, dimension in ipairs(doc:dimensions()) do slot[dimension[1]] = args[dimension[1]] end
  return slot
end

-- The tools' text and the slot's values are arguments of one call.
local function check_names(doc)
  for _, dimension in ipairs(doc:dimensions()) do
    if dimension[1] == "content" then
      return nil, { code = "invalid", message = "a dimension of the document cannot be called 'content': that is the text that is written" }
    end
  end
  return true
end

local section_schemas = setmetatable({}, { __mode = "k" }) -- by document, then by description

-- A schema with a slot and a text; one table for each document, which all agents share.
local function section_schema(doc, text_description)
  local known = section_schemas[doc] or {}
  section_schemas[doc] = known
  if known[text_description] then return known[text_description] end
  local properties, required = slot_properties(doc)
  properties.content = { type = "string", minLength = 1, description = text_description }
  required[#required + 1] = "content"
  known[text_description] = { type = "object", properties = properties, required = required }
  return known[text_description]
end

-- ---- The facilitator's tools --------------------------------------------------------------

local function describe(tasks)
  local lines = {}
  for i, task in ipairs(tasks) do lines[i] = ("%d. %s: %s"):format(i, task.assigned_to, task.text) end
  return table.concat(lines, "\n")
end

-- Whether the user wants these tasks done; otherwise what to tell the model. Without tasks on the
-- board nobody can be sent to work.
local function approved(env, tasks)
  if not env.agent.approve_plan then return true end
  local verdict, said = ask.plan(describe(tasks))
  if verdict == "accept" then return true end
  if verdict == "refuse" then return failed { code = "denied", message = "the user refused this plan: no task was created. Send nobody to work; say that nothing was done." } end
  if verdict == "revise" then return failed { code = "denied", message = "no task was created: the user wants the plan changed. Plan again with create_tasks. The user says: " .. said } end
  if said.code ~= "unsupported" then return failed(said) end
  return failed { code = "denied", message = "no task was created: the plan needs the user's approval, and nobody is there to give it. Show the plan in your answer and say so." }
end

local plan_schemas = setmetatable({}, { __mode = "v" }) -- by the specialists' names

-- One table for the same specialists, so that it is compiled once.
local function plan_schema(specialists)
  local key = table.concat(specialists, "\n")
  local known = plan_schemas[key]
  if known then return known end
  known = {
    type = "object", required = { "tasks" },
    properties = { tasks = {
      type = "array", minItems = 1,
      items = {
        type = "object", required = { "text", "assigned_to" },
        properties = {
          text = { type = "string", minLength = 1, description = "What to do, as in 'Find two restaurants near the river'" },
          assigned_to = { type = "string", enum = table.move(specialists, 1, #specialists, 1, {}), description = "The specialist" },
          active_form = { type = "string", description = "The same while it is being done, as in 'Finding restaurants'" },
        },
      },
    } },
  }
  plan_schemas[key] = known
  return known
end

local function create_tasks(env)
  return tool {
    name = "create_tasks",
    description = "Put tasks on the board, each for one specialist. Call it once for the plan, again for follow-ups.",
    parameters = plan_schema(env.agent.agents),
    run = function(args)
      local agreed, refused = approved(env, args.tasks)
      if not agreed then return failed(refused) end
      local ids, err = env.board:create(env.agent.name, args.tasks)
      if not ids then return failed(err) end
      local lines = {}
      for i, task in ipairs(args.tasks) do lines[i] = ("%d (%s): %s"):format(ids[i], task.assigned_to, task.text) end
      return "created:\n" .. table.concat(lines, "\n")
    end,
  }
end

local function get_plan_status(env)
  return tool {
    name = "get_plan_status",
    description = "How far the plan is: which tasks are done, running, pending or failed.",
    run = function()
      local lines = { env.board:status() }
      for _, task in ipairs(env.board:tasks()) do
        if task.error and task.error ~= "" then
          lines[#lines + 1] = ("task %d (%s) %s: %s"):format(task.id, task.assigned_to, task.status, block.wrap("error", task.assigned_to, task.error))
        end
      end
      return table.concat(lines, "\n")
    end,
  }
end

local read_document_words = "The shared document with a tag [agent] in front of each entry, so that you see what to consolidate."

local function tagged(doc)
  local text, err = doc:render { tagged = true }
  if not text then return failed(err) end
  return text ~= "" and block.wrap("document", "all who write in it", text) or "(the document is empty)"
end

local function read_document(env)
  return tool {
    name = "read_document",
    description = read_document_words,
    run = function()
      env.seen_version = env.document:version()
      return tagged(env.document)
    end,
  }
end

local function consolidate_section(env)
  return tool {
    name = "consolidate_section",
    description = "Replace the entries of one slot, as you last read them, by one merged text. What was written after you read the document stays beside it.",
    parameters = section_schema(env.document, "The merged text"),
    prepare = with_slot(env.document),
    run = function(args)
      if not env.seen_version then
        return failed { code = "state", message = "read the document first (read_document), then consolidate" }
      end
      local version, err = env.document:consolidate(slot_of(env.document, args), env.agent.name, args.content, env.seen_version)
      if not version then return failed(err) end
      return ("consolidated (version %d)"):format(version)
    end,
  }
end

local function read_document_clean(env)
  return tool {
    name = "read_document_clean",
    description = "The shared document as the user will read it, without tags.",
    run = function()
      local text, err = env.document:render()
      if not text then return failed(err) end
      return text ~= "" and text or "(the document is empty)"
    end,
  }
end

-- ---- Dispatch --------------------------------------------------------------------------------

-- Cancels what is still open of a specialist's tasks, when its dispatch was cut off.
local function cancel_open(env, name, ids)
  for _, task in ipairs(env.board:tasks(ids) or {}) do
    if task.status == "running" then env.board:cancel(name, task.id, "the dispatch was cancelled") end
  end
end

-- Sends one specialist to work and settles its tasks, however it ended.
local function dispatch(env, name, args)
  if #args.task_ids == 0 then return failed { code = "invalid", message = "task_ids is empty: name the tasks to work on" } end
  local ok, err = env.board:start(name, args.task_ids)
  if not ok then return failed(err) end
  local settled = false
  local ended <close> = setmetatable({}, { __close = function()
    if not settled then cancel_open(env, name, args.task_ids) end
  end })
  local reply, wrong = orchestrate.call(env.team[name], args.message, {
    trigger = "dispatch", task_ids = args.task_ids, board = env.board, document = env.document,
    extra_tools = { "specialist" }, model = env.model,
  })
  local left, unsettled = env.board:settle(name, args.task_ids, reply ~= nil, wrong and wrong.message)
  if not left then return failed(unsettled) end
  settled = true
  if not reply then
    return failed { code = wrong.code, message = ("%s failed: %s (%s)"):format(name, block.wrap("error", name, wrong.message), env.board:status()) }
  end
  for _, id in ipairs(left) do
    env.run:emit("warning", { message = ("%s did not complete task %d itself; it was completed for it"):format(name, id) }, name)
  end
  return block.wrap("result", name, reply.text)
end

local dispatch_schema = {
  type = "object", required = { "task_ids", "message" },
  properties = {
    task_ids = ids_schema "The ids of its tasks on the board",
    message = { type = "string", minLength = 1, description = "A short instruction that names the task ids, in the user's language" },
  },
}

local function call_specialist(env, name)
  local def = env.team[name]
  return tool {
    name = "call_" .. name,
    description = ("Send the specialist '%s' to work on its tasks: %s. Returns a summary of what it did. Several specialists called in one turn work side by side.")
      :format(name, def.description ~= "" and def.description or def.display_name),
    parameters = dispatch_schema,
    prepare = with_ids "task_ids",
    quiet = true,
    run = function(args) return dispatch(env, name, args) end,
  }
end

-- ---- The specialist's tools --------------------------------------------------------------------

-- They are the same for all specialists: whose tasks, board and document it is stands in the context
-- of each call. So they are made once.
local function read_tasks()
  return tool {
    name = "read_tasks",
    description = "Your tasks on the board; with all = true everybody's.",
    parameters = { type = "object", properties = { all = { type = "boolean" } } },
    run = function(args, ctx)
      local tasks, err = ctx.board:tasks(not args.all and ctx.task_ids or nil)
      if not tasks then return failed(err) end
      local lines = {}
      for i, task in ipairs(tasks) do
        lines[i] = ("%d [%s] (%s): %s"):format(task.id, task.status, task.assigned_to, task.text)
      end
      return #lines > 0 and block.wrap("board", "the tasks", table.concat(lines, "\n")) or "(no tasks)"
    end,
  }
end

local function complete_task()
  return tool {
    name = "complete_task",
    description = "Say that one of your tasks is fully done. Call it at once when it is; never for work that is partial.",
    parameters = {
      type = "object", required = { "task_id" },
      properties = { task_id = { type = "integer" }, result = { type = "string", description = "One line on what came out" } },
    },
    prepare = with_id,
    run = function(args, ctx)
      local name = ctx.agent.name
      local done, err = ctx.board:complete(name, ctx.task_ids, args.task_id, args.result)
      if not done then return failed(err) end
      if done.corrected then
        ctx.run:emit("warning", { message = ("%s completed task %d, which is not its own; taken as task %d"):format(name, args.task_id, done.id) }, name)
        return ("task %d is not yours; completed your open task %d"):format(args.task_id, done.id)
      end
      return done.already and ("task %d was done already"):format(done.id) or ("task %d is done"):format(done.id)
    end,
  }
end

local function read_shared()
  return tool {
    name = "read_document",
    description = read_document_words,
    run = function(_, ctx) return tagged(ctx.document) end,
  }
end

local function write_section(doc)
  return tool {
    name = "write_section",
    description = "Add a text to one slot of the shared document. Others may write to the same slot; nothing is overwritten.",
    parameters = section_schema(doc, "The text, in the user's language"),
    prepare = with_slot(doc),
    run = function(args, ctx)
      local version, err = doc:append(slot_of(doc, args), ctx.agent.name, args.content)
      if not version then return failed(err) end
      return ("written (version %d)"):format(version)
    end,
  }
end

local made, writers = {}, setmetatable({}, { __mode = "k" }) -- writers: by document

local function once(make)
  made[make] = made[make] or make()
  return made[make]
end

local function writer_of(doc)
  writers[doc] = writers[doc] or write_section(doc)
  return writers[doc]
end

-- ---- Toolsets -------------------------------------------------------------------------------------

-- A facilitator brings its board and document along, unless the caller gave them.
local function provide(env)
  env.board = env.board or board { limit = env.agent.task_limit, agents = env.agent.agents }
  if not env.document then
    local dimensions, wrong = document.from_list(env.agent.document or { { section = { "general" } } })
    if not dimensions then return nil, { code = "agent", message = ("%s: 'document': %s"):format(env.agent.file, wrong) } end
    env.document = document(dimensions)
  end
  env.run:adopt { board = env.board, document = env.document }
  return check_names(env.document)
end

--- The tools of `tools: [facilitator]`.
---@param env table
---@return hocket.Tool[]?
---@return hocket.Error?
function facilitator.tools(env)
  if #env.agent.agents == 0 then
    return nil, { code = "agent", message = ("%s: a facilitator needs specialists: add 'agents: [name, …]'"):format(env.agent.file) }
  end
  local ok, err = provide(env)
  if not ok then return nil, err end
  local tools = { create_tasks(env), get_plan_status(env), read_document(env), consolidate_section(env), read_document_clean(env) }
  for _, name in ipairs(env.agent.agents) do tools[#tools + 1] = call_specialist(env, name) end
  return tools
end

--- The tools of `tools: [specialist]`; without a board and a document there are none of them.
---@param env table
---@return hocket.Tool[]?
---@return hocket.Error?
function facilitator.specialist_tools(env)
  local tools = {}
  if env.document then
    local ok, err = check_names(env.document)
    if not ok then return nil, err end
  end
  if env.board and env.task_ids then
    tools[#tools + 1] = once(read_tasks)
    tools[#tools + 1] = once(complete_task)
  end
  if env.document then
    tools[#tools + 1] = once(read_shared)
    tools[#tools + 1] = writer_of(env.document)
  end
  return tools
end

tool.set("facilitator", facilitator.tools)
tool.set("specialist", facilitator.specialist_tools)

return facilitator
