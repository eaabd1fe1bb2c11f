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
local block = require "hocket.block"
local broker = require "hocket.broker"
local cassette = require "hocket.cassette"
local shorten = require "hocket.cut"
local json = require "hocket.json"
local orchestrate = require "hocket.orchestrate"
local tool = require "hocket.tool"

local delegate = {}

--- Tasks that one agent may start in the background, in all.
local MAX_TASKS = 1000
--- Bytes of one result, and of all at once, that are put before a turn; get_result has the rest.
local SHOWN, NEWS = 16 * 1024, 128 * 1024
--- Bytes of a result that get_result gives in one call.
local PAGE = 56 * 1024
--- Seconds that wait_tasks waits when nothing else is said.
local PATIENCE = 600
--- Notes of a running task that check_tasks shows.
local NOTES = 3

-- ---- What is known of tasks -------------------------------------------------------------

-- Why there is no result; of one who was cut short, with what there is.
local function message_of(err)
  if type(err) ~= "table" then return tostring(err) end
  local message = err.message or err.code
  return err.partial and ("%s\n%s"):format(message, block.wrap("unfinished", "the answer so far", err.partial)) or message
end

local function text_of(value)
  if type(value) == "table" then return value.text or json.encode(value) end
  return tostring(value)
end

-- The job that an agent's background tasks belong to.
local function home_of(env)
  return env.home or broker.job()
end

local function cut(text, limit, hint)
  if #text <= limit then return text end
  local stop = utf8.offset(text, 0, limit) - 1
  return ("%s\n[cut here: %d of %d bytes; %s]"):format(text:sub(1, stop), stop, #text, hint)
end

-- A task that ended, in the form that the agent is told of it.
local function announce(jobs, id)
  local record = jobs:poll(id)
  local value, err = jobs:result(id)
  local label = ("%s, task %d"):format(record.agent or "task", id)
  if value ~= nil or not err then
    local text = cut(text_of(value), SHOWN, ("get_result(%d) has all of it"):format(id))
    return ("[BACKGROUND TASK COMPLETED: %s (task_id=%d)]\nResult: %s"):format(record.agent, id, block.wrap("result", label, text))
  end
  return ("[BACKGROUND TASK %s: %s (task_id=%d)]\nError: %s"):format(record.status:upper(), record.agent, id,
    block.wrap("error", label, cut(message_of(err), SHOWN, "cut")))
end

--- What ended in the background since the last time, as text; nil when nothing did.
---@param home hocket.Job
---@return string?
function delegate.news(home)
  local jobs = home.broker
  local ids, texts, bytes = home.untold or {}, {}, 0
  for _, id in ipairs(jobs:take(home)) do ids[#ids + 1] = id end
  local told = 0
  for i, id in ipairs(ids) do
    if bytes >= NEWS then break end
    texts[i] = announce(jobs, id)
    bytes, told = bytes + #texts[i], i
  end
  home.untold = table.move(ids, told + 1, #ids, 1, {})
  return told > 0 and table.concat(texts, "\n\n") or nil
end

-- A result that was asked for is not told again.
local function forget_news(home, id)
  for i, other in ipairs(home.untold or {}) do
    if other == id then return table.remove(home.untold, i) end
  end
end

local function unknown(id)
  return nil, { code = "not_found", message = ("you have no task %d: check_tasks lists yours"):format(id) }
end

local function own(env, id)
  local home = home_of(env)
  local record = home.broker:poll(id)
  if not record or record.parent ~= home.id or not home.broker:is_background(id) then return nil end
  return record
end

local function open_ids(home)
  local open = {}
  for _, id in ipairs(home.broker:background(home)) do
    if not home.broker:poll(id).final then open[#open + 1] = id end
  end
  return open
end

-- ---- The tools ---------------------------------------------------------------------------

local function target_schema(env, extra)
  local properties = {
    agent_name = { type = "string", enum = env.agent.agents, description = "Whom:\n" .. agents.describe_callees(env.agent) },
    prompt = { type = "string", minLength = 1, description = "All that it needs to know: it sees nothing else" },
  }
  for name, property in pairs(extra or {}) do properties[name] = property end
  return { type = "object", required = { "agent_name", "prompt" }, properties = properties }
end

local function job_for(env, args)
  return orchestrate.job(env.team[args.agent_name], args.prompt, { trigger = "delegate", model = env.model, allowed = env.allowed })
end

local function delegate_tool(env)
  return tool {
    name = "delegate",
    description = "Give an agent work and wait for its answer. Several calls in one turn work side by side.",
    parameters = target_schema(env),
    run = function(args)
      local spec, err = job_for(env, args)
      local reply
      if spec then reply, err = broker.shared():call(spec) end
      if reply then return block.wrap("result", args.agent_name, reply.text) end
      return "Delegation failed: " .. block.wrap("error", args.agent_name, message_of(err))
    end,
  }
end

local function submit_task(env)
  return tool {
    name = "submit_task",
    description = "Give an agent work in the background and go on at once. You are told when it is done; do not check again and again.",
    parameters = target_schema(env),
    run = function(args)
      local home = home_of(env)
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

local function line_of(jobs, id)
  local record = jobs:poll(id)
  local lines = { ("task_id=%d %s: %s%s"):format(id, record.agent, record.status,
    cassette.duration(" (%.1f s)", record.seconds)) }
  if record.status == "failed" then lines[1] = ("%s: %s"):format(lines[1], record.error or "") end
  if not record.final then
    local notes = record.notes
    for i = math.max(1, #notes - NOTES + 1), #notes do
      lines[#lines + 1] = ("  %s: %s"):format(notes[i].kind, shorten(notes[i].text or "", 300))
    end
  end
  return table.concat(lines, "\n")
end

local function check_tasks(env)
  return tool {
    name = "check_tasks",
    description = "Your background tasks: their states, and what the running ones are doing. To wait use wait_tasks.",
    run = function()
      local home, lines = home_of(env), {}
      for _, id in ipairs(home.broker:background(home)) do lines[#lines + 1] = line_of(home.broker, id) end
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
    name = "wait_tasks",
    description = "Wait until any or all of your background tasks have ended, and read their results.",
    parameters = { type = "object", properties = {
      ids = { type = "array", items = id_schema, description = "Which; all of yours when absent" },
      mode = { type = "string", enum = { "any", "all" }, description = "Default: all" },
      timeout = { type = "number", minimum = 0, description = "Seconds" },
    } },
    mend = with_ids,
    run = function(args)
      local home = home_of(env)
      local ids, texts = args.ids or open_ids(home), {}
      if #ids == 0 then return "(no background task is running)" end
      for _, id in ipairs(ids) do
        if not own(env, id) then return unknown(id) end
      end
      local ok, err = home.broker:wait_for(ids, args.mode or "all", args.timeout or PATIENCE)
      if ok == nil then return nil, err end
      for i, id in ipairs(ids) do
        local final = home.broker:poll(id).final
        texts[i] = final and announce(home.broker, id) or line_of(home.broker, id)
        if final then forget_news(home, id) end
      end
      return (ok and "" or "The time is over.\n\n") .. table.concat(texts, "\n\n")
    end,
  }
end

local function get_result(env)
  return tool {
    name = "get_result",
    description = "The whole result of a background task, whenever and as often as you need it.",
    parameters = { type = "object", required = { "task_id" }, properties = {
      task_id = id_schema,
      from = { type = "integer", minimum = 1, description = "The byte to begin with, where a result is long. Default: 1" },
    } },
    mend = with_id,
    run = function(args)
      local record, home = own(env, args.task_id), home_of(env)
      if not record then return unknown(args.task_id) end
      if not record.final then return line_of(home.broker, args.task_id) end
      local value, err = home.broker:result(args.task_id)
      forget_news(home, args.task_id)
      if err then return ("task %d %s: %s"):format(args.task_id, record.status, block.wrap("error", record.agent, message_of(err))) end
      local text, from = text_of(value), args.from or 1
      local label = ("%s, task %d"):format(record.agent, args.task_id)
      if from == 1 and #text <= PAGE then return block.wrap("result", label, text) end
      from = utf8.offset(text, 0, math.min(from, #text)) or from
      local stop = from + PAGE <= #text and utf8.offset(text, 0, from + PAGE) - 1 or #text
      return ("[bytes %d to %d of %d]\n%s"):format(from, stop, #text, block.wrap("result", label, text:sub(from, stop)))
    end,
  }
end

local function cancel_task(env)
  return tool {
    name = "cancel_task",
    description = "End a background task whose result you do not need any more.",
    parameters = { type = "object", required = { "task_id" }, properties = { task_id = id_schema } },
    mend = with_id,
    run = function(args)
      local record, home = own(env, args.task_id), home_of(env)
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
local function hear_out(env)
  local home = home_of(env)
  local news = delegate.news(home)
  local open = open_ids(home)
  if #open > 0 then
    home.broker:wait_for(open, "all")
    local more = delegate.news(home)
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
  table.insert(env.before_turn, function() return delegate.news(home_of(env)) end)
  if not env.home then table.insert(env.before_answer, function() return hear_out(env) end) end
  return { delegate_tool(env), submit_task(env), check_tasks(env), wait_tasks(env), get_result(env), cancel_task(env) }
end

delegate.to_agent = require("hocket.tools.delegate_to_agent").to_agent

tool.set("delegate", delegate.tools)

return delegate
