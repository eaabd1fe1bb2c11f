--- The tools of whom a facilitator sends to work: `tools: [specialist]`. They are the same for all specialists, and
--- made once: whose tasks, board and document it is stands in the context of each call. A facilitator that is sent to
--- work by another has a board and a document of its own; these tools are then for those of the other (`ctx.outer`).
local board = require "hocket.board"
local sections = require "hocket.patterns.facilitator.sections"
local tool = require "hocket.tool"

local specialist = {}

local function failed(err)
  return nil, err
end

-- "1" and [1] are 1; what is no id is left for the schema.
local function with_id(args)
  local ids = args.task_id ~= nil and board.ids(args.task_id)
  if ids and #ids == 1 then args.task_id = ids[1] end
  return args
end

-- Where its tasks stand, and its results go.
local function given(ctx)
  return ctx.outer or ctx
end

local read_tasks = tool {
  steps = true, name = "read_tasks",
  description = "Your tasks on the board; with all = true everybody's.",
  parameters = { type = "object", properties = { all = { type = "boolean" } } },
  fence = { "board", "the tasks", empty = "(no tasks)" },
  run = function(args, ctx)
    local tasks, err = given(ctx).board:tasks(not args.all and ctx.task_ids or nil)
    if not tasks then return failed(err) end
    local lines = {}
    for i, task in ipairs(tasks) do
      lines[i] = ("%d [%s] (%s): %s"):format(task.id, task.status, task.assigned_to, task.text)
    end
    return #lines > 0 and table.concat(lines, "\n") or "(no tasks)"
  end,
}

local complete_task = tool {
  steps = true, name = "complete_task",
  description = "Say that one of your tasks is fully done. Call it at once when it is; never for work that is partial.",
  parameters = {
    type = "object", required = { "task_id" },
    properties = { task_id = { type = "integer" }, result = { type = "string", description = "One line on what came out" } },
  },
  repair = with_id,
  run = function(args, ctx)
    local name = ctx.agent.name
    local done, err = given(ctx).board:complete(ctx.tasks_of or name, ctx.task_ids, args.task_id, args.result, name)
    if not done then return failed(err) end
    if done.corrected then
      ctx.run:emit("warning", { message = ("%s completed task %d, which is not its own; taken as task %d"):format(name, args.task_id, done.id) }, name)
      return ("task %d is not yours; completed your open task %d"):format(args.task_id, done.id)
    end
    return done.already and ("task %d was done already"):format(done.id) or ("task %d is done"):format(done.id)
  end,
}

local adds = "Add a text to one slot of %s. Others may write to the same slot; nothing is overwritten."
local into_own, into_outer = adds:format "the shared document", adds:format "the document of whom you work for, which is not your own"
local writers = { [into_own] = setmetatable({}, { __mode = "k" }), [into_outer] = setmetatable({}, { __mode = "k" }) } -- by the document's sections

local function write_section(slots, description)
  local known = writers[description][slots]
  if known then return known end
  local made = tool {
    steps = true, name = "write_section",
    description = description,
    parameters = slots:schema "The text, in the user's language",
    repair = function(args) return slots:repair(args) end,
    run = function(args, ctx)
      local version, err = given(ctx).document:append(slots:slot(args), ctx.agent.name, args.content)
      if not version then return failed(err) end
      return ("written (version %d)"):format(version)
    end,
  }
  writers[description][slots] = made
  return made
end

--- Without a board and a document there are none of them.
---@param env table
---@return hocket.Tool[]?
---@return hocket.Error?
function specialist.tools(env)
  local at = given(env)
  local tools = at.board and env.task_ids and { read_tasks, complete_task } or {}
  if not at.document then return tools end
  local slots, err = sections.of(at.document)
  if not slots then return nil, err end
  tools[#tools + 1] = slots:reader()
  tools[#tools + 1] = write_section(slots, env.outer and into_outer or into_own)
  return tools
end

return specialist
