--- Delegation with a structured answer: one agent gives another a task and what it has to know, and gets one object back,
--- however that ended.
---
---     local hocket = require "hocket"
---     local delegation = require "hocket.tools.delegate_to_agent"
---     local historian = hocket.agent { name = "historian", prompt = "You know the past." }
---     local answer = delegation.to_agent(historian, "How old is the castle?", { city = "Lisbon" })
---     print(answer.success, answer.result)
---
---     caller ──delegate_to_agent(agent, task, context)──> agent, in a conversation of its own
---        ^                                                  │
---        └── {agent_name, task_type, result, metadata, success, error} ──┘
---
--- A failing agent never raises, and never ends its caller: that may try otherwise, or do it itself.
--- Registers `tools: [delegate_to_agent]`, which stands in for the toolset `delegate`.
local fence = require "hocket.fence"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local orchestrate = require "hocket.orchestrate"
local tool = require "hocket.tool"

local delegation = {}

--- How deep an agent that was given a task may let others work in turn.
local DEPTH = 4

local types = {
  planner = "planning", planning = "planning", code_reviewer = "code_review", reviewer = "code_review",
  researcher = "research", tester = "testing",
}

--- What kind of work an agent does, by its name.
---@param agent hocket.Agent
---@return string "planning", "code_review", "research", "testing" or "general"
---@internal
function delegation.task_type(agent)
  return types[agent.name:lower():gsub("-", "_")] or "general"
end

-- The task in the caller's words, and what it hands over in a fence.
local function input_for(task, context, from)
  if context == nil then return task end
  local text = type(context) == "string" and context or json.encode(context)
  if text:find "^%s*$" or text == "{}" then return task end
  return ("%s\n\n## CONTEXT\n\n%s%s"):format(task, fence.wrap("context", from or "the caller", text), fence.note_for(orchestrate.current_run()))
end

local function message_of(err)
  return type(err) == "table" and (err.message or err.code) or tostring(err)
end

local function of_error(err, field)
  return type(err) == "table" and err[field] or nil
end

---@class hocket.AgentResponse
---@field agent_name string Whom the task was given to.
---@field task_type string
---@field result string Its answer; empty when it failed.
---@field metadata {answered_by?: string, finish?: string, usage?: table, seconds: number, code?: string, partial?: string, agent?: string, path?: string[]} answered_by: who spoke last, after handoffs; code: of the error; agent: who failed, where others were given the work, and path: who was at work until then; partial: what is there of an answer that is not a whole one.
---@field success boolean
---@field error? string
---@field child? integer For orchestrate.ask_again, where the caller may ask again.

--- Lets an agent do a task and gives a structured answer; a failing agent never raises.
---@async
---@param agent hocket.Agent
---@param task string
---@param context? string|table What it should know besides: text, or anything JSON can hold.
---@param opts? table As for orchestrate.call; and `task_type`, `from` (who hands the context over).
---@return hocket.AgentResponse
function delegation.to_agent(agent, task, context, opts)
  orchestrate.argument("to_agent", 1, "agent", agent, "string", task, "string|table?", context, "table?", opts)
  opts = opts or {}
  local call, began = setmetatable({ trigger = "delegate", subject = task, framed = context ~= nil }, { __index = opts }), fiber.now()
  local ok, reply, err = pcall(orchestrate.call, agent, input_for(task, context, opts.from), call)
  if fiber.self():cancelled() then error(reply, 0) end
  if not ok then reply, err = nil, reply end
  return {
    agent_name = agent.name, task_type = opts.task_type or delegation.task_type(agent), success = reply ~= nil,
    result = reply and reply.text or "", child = reply and reply.child, error = not reply and message_of(err) or nil,
    metadata = {
      answered_by = reply and reply.agent, finish = reply and reply.finish, usage = reply and reply.usage_total,
      agent = not reply and of_error(err, "path") and of_error(err, "agent") or nil, path = not reply and of_error(err, "path") or nil,
      seconds = math.floor((fiber.now() - began) * 1000 + 0.5) / 1000, code = not reply and of_error(err, "code") or nil, partial = not reply and of_error(err, "partial") or nil,
    },
  }
end

local function schema_of(names)
  return {
    type = "object", required = { "agent", "task" },
    properties = json.object {
      { "agent", { type = "string", enum = names } },
      { "task", { type = "string", minLength = 1, description = "In full: it does not see your conversation" } },
      { "context", { type = { "object", "string" }, description = "What it has to know besides" } },
    },
  }
end

-- What the model sees of an answer: other agents' words in fences, and nothing that differs from time
-- to time when the answer does not: by that loops are noticed.
local function shown(answer)
  local result, wrong, partial, usage = answer.result, answer.error, answer.metadata.partial, answer.metadata.usage
  answer.metadata.seconds, answer.metadata.partial = nil, nil
  if usage then usage.seconds = nil end
  answer.result = result ~= "" and orchestrate.framed(answer.agent_name, { text = result, child = answer.child }) or ""
  answer.child = nil
  answer.error = wrong and fence.failure(answer.agent_name, { message = wrong, partial = partial }) or json.null
  return answer
end

--- The tool of `tools: [delegate_to_agent]`.
---@param env table
---@return hocket.Tool?
---@return hocket.Error?
---@internal
function delegation.tool(env)
  if #env.agent.agents == 0 then
    return nil, { code = "agent", message = ("%s: nobody to delegate to: add 'agents: [name, …]'"):format(env.agent.file) }
  end
  return tool {
    steps = true, name = "delegate_to_agent", says = "task",
    description = "Give a specialist a task and wait for its answer. Several calls in one turn work side by side.",
    parameters = schema_of(env.agent.agents), former = "delegate_to_agent",
    run = function(args)
      return shown(delegation.to_agent(env.team[args.agent], args.task, args.context, {
        from = env.agent.name, model = env.model, allowed = env.allowed, max_depth = DEPTH,
      }))
    end,
  }
end

tool.set("delegate_to_agent", delegation.tool)

return delegation
