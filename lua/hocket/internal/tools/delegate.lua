--- Delegation: the tools of an agent that has agents of its own. One answer waited for, or tasks in
--- the background while it goes on.
---
---     agent ──delegate──────────────> job ── waits ──> answer
---       │ ──submit_task─────────────> job ──┐
---       │   check_tasks, wait_tasks,        │ ends
---       │   get_result, cancel_task         v
---       └ <── [BACKGROUND TASK COMPLETED: …] before its next turn or prompt, once
---
--- Every result is given once without being asked for, unless it was read before; and as often as
--- it is asked for. An agent's tasks end with it; those of a conversation with the conversation.
--- Registers `tools: [delegate]`, which who has `agents:` and is no facilitator has by default.
local agents = require "hocket.agent"
local background = require "hocket.internal.tools.background"
local fence = require "hocket.fence"
local broker = require "hocket.broker"
local call_choices = require "hocket.internal.work.call_choices"
local json = require "hocket.json"
local orchestrate = require "hocket.orchestrate"
local tool = require "hocket.tool"

local delegate = {}

--- Tasks that one agent may start in the background, in all.
local MAX_TASKS = 1000
--- Seconds that wait_tasks waits when nothing else is said.
local PATIENCE = 600

local function unknown(id)
  return nil, { code = "not_found", message = ("you have no task %d: check_tasks lists yours"):format(id) }
end

-- ---- The tools ---------------------------------------------------------------------------

local function target_schema(env)
  local properties = {
    agent_name = { type = "string", enum = env.agent.agents, description = "Whom:\n" .. agents.describe_callees(env.agent) },
    prompt = { type = "string", minLength = 1, description = "All that it needs to know: it sees nothing else" },
  }
  env.chooses = call_choices.declare(properties, env.team, env.agent.agents)
  return { type = "object", required = { "agent_name", "prompt" }, properties = properties }
end

-- The job, with what the model has chosen for this call.
local function job_for(env, args)
  local def, opts = env.team[args.agent_name], { trigger = "delegate", model = env.model, allowed = env.allowed }
  if env.chooses then
    local chosen
    def, chosen = call_choices.read(def, args)
    if not def then return nil, chosen end
    opts.budget, opts.fork = chosen.budget, chosen.fork
  end
  return orchestrate.job(def, args.prompt, opts)
end

local function delegate_tool(env)
  return tool {
    steps = true, name = "delegate", says = "prompt",
    description = "Give an agent work and wait for its answer. Several calls in one turn work side by side.",
    parameters = target_schema(env),
    run = function(args)
      local spec, err = job_for(env, args)
      local reply
      if spec then reply, err = broker.shared():call(spec) end
      if reply then return orchestrate.framed(args.agent_name, reply) end
      return "Delegation failed: " .. fence.failure(args.agent_name, err)
    end,
  }
end

local function submit_task(env)
  return tool {
    steps = true, name = "submit_task", says = "prompt",
    description = "Give an agent work in the background and go on at once. You are told when it is done; do not check again and again.",
    parameters = target_schema(env),
    run = function(args)
      local home = background.home(env)
      home.started = (home.started or 0) + 1
      if home.started > MAX_TASKS then
        return nil, { code = "limit", message = ("%d background tasks were started, which is as many as may be"):format(MAX_TASKS) }
      end
      local spec, err = job_for(env, args)
      if not spec then return nil, err end
      spec.background, spec.parent = true, home
      local id, wrong = home.broker:submit(spec)
      if not id then return nil, wrong end
      return ("task_id=%d: %s has it"):format(id, args.agent_name)
    end,
  }
end

local function check_tasks(env)
  return tool {
    steps = true, name = "check_tasks",
    description = "Your background tasks: their states, and what the running ones are doing. To wait use wait_tasks.",
    run = function()
      local home, lines = background.home(env), {}
      for _, id in ipairs(home.broker:background(home)) do lines[#lines + 1] = background.line(home.broker, id) end
      return #lines > 0 and table.concat(lines, "\n") or "(no background tasks)"
    end,
  }
end

-- Ids as models send them: 7, "7", [7, "8"].
local function with_ids(args)
  local ids = args.ids ~= nil and require("hocket.board").ids(args.ids)
  if ids then args.ids = json.array(ids) end
  return args
end

local function with_id(args)
  if type(args.task_id) == "string" then args.task_id = math.tointeger(tonumber(args.task_id)) or args.task_id end
  return args
end

local id_schema = { type = "integer", minimum = 1, description = "As submit_task gave it" }

local function wait_tasks(env)
  return tool {
    steps = true, name = "wait_tasks",
    description = "Wait until any or all of your background tasks have ended, and read their results.",
    parameters = { type = "object", properties = {
      ids = { type = "array", items = id_schema, description = "Which; all of yours when absent" },
      mode = { type = "string", enum = { "any", "all" }, description = "Default: all" },
      timeout = { type = "number", minimum = 0, description = "Seconds" },
    } },
    repair = with_ids,
    run = function(args)
      local home = background.home(env)
      local ids, texts = args.ids or background.open(home), {}
      if #ids == 0 then return "(no background task is running)" end
      for _, id in ipairs(ids) do
        if not background.own(env, id) then return unknown(id) end
      end
      local ok, err = home.broker:wait_for(ids, args.mode or "all", args.timeout or PATIENCE)
      if ok == nil then return nil, err end
      for i, id in ipairs(ids) do
        local final = home.broker:poll(id).final
        texts[i] = final and background.announce(home.broker, id) or background.line(home.broker, id)
        if final then background.forget(home, id) end
      end
      return (ok and "" or "The time is over.\n\n") .. table.concat(texts, "\n\n")
    end,
  }
end

local function get_result(env)
  return tool {
    steps = true, name = "get_result",
    description = "The whole result of a background task, whenever and as often as you need it.",
    parameters = { type = "object", required = { "task_id" }, properties = {
      task_id = id_schema,
      from = { type = "integer", minimum = 1, description = "The byte to begin with, where a result is long. Default: 1" },
    } },
    repair = with_id,
    run = function(args)
      local record, home = background.own(env, args.task_id), background.home(env)
      if not record then return unknown(args.task_id) end
      if not record.final then return background.line(home.broker, args.task_id) end
      background.forget(home, args.task_id)
      return background.result(record, args.task_id, home.broker, args.from)
    end,
  }
end

local function cancel_task(env)
  return tool {
    steps = true, name = "cancel_task",
    description = "End a background task whose result you do not need any more.",
    parameters = { type = "object", required = { "task_id" }, properties = { task_id = id_schema } },
    repair = with_id,
    run = function(args)
      local record, home = background.own(env, args.task_id), background.home(env)
      if not record then return unknown(args.task_id) end
      if record.final then return ("task %d has ended: %s"):format(args.task_id, record.status) end
      home.broker:cancel(args.task_id)
      home.broker:result(args.task_id)
      return ("task %d is cancelled"):format(args.task_id)
    end,
  }
end

-- ---- Around the turns -----------------------------------------------------------------------

-- An agent that answers while its tasks still run hears them out first: they end with it. Those of a
-- conversation go on instead, and are heard before its next prompt.
local function wait_for_tasks(env)
  local home = background.home(env)
  local news = background.news(home)
  local open = background.open(home)
  if #open > 0 then
    home.broker:wait_for(open, "all")
    local more = background.news(home)
    news = news and more and ("%s\n\n%s"):format(news, more) or news or more
  end
  return news and ("%s\n\nYou answered before you had seen this. Now give your whole answer again, with what is new in it; it replaces the one before.")
    :format(news)
end

--- The tools of `tools: [delegate]`.
---@param env table
---@return hocket.Tool[]?
---@return hocket.Error?
function delegate.tools(env)
  if #env.agent.agents == 0 then
    return nil, { code = "agent", message = ("%s: nobody to delegate to: add 'agents: [name, …]'"):format(env.agent.file) }
  end
  table.insert(env.before_turn, function() return background.news(background.home(env)) end)
  if not env.home then table.insert(env.before_answer, function() return wait_for_tasks(env) end) end
  return { delegate_tool(env), submit_task(env), check_tasks(env), wait_tasks(env), get_result(env), cancel_task(env) }
end

delegate.to_agent = require("hocket.tools.delegate_to_agent").to_agent

tool.set("delegate", delegate.tools)

return delegate
