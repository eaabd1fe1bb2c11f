--- Plan mode: the run's option `mode: "plan"`. Its agents, and everything that they call, only read. The agent that talks with the person presents a plan,
--- and the mode ends with that person's yes. `--approve allow` is no such yes.
---
---     plan ──present_plan──> a person ──┬─ yes ─────> act: the usual permission check
---                                       ├─ changes ─> plan
---                                       └─ no ──────> plan
---
--- The permission check asks here for every call (hocket.permission), so that no tool and no agent gets around it.
local ask = require "hocket.ask"
local labels = require "hocket.internal.base.labels"
local tool = require "hocket.tool"

local plan_mode = {}

local READS = labels.effects.read | labels.effects.fetch

-- Tools that only read although they declare no effect: what they show comes with hocket or with the project.
local shows = { read_skill = true, search_tools = true }

--- Times that a plan is presented in one turn.
local PRESENTED = 5

---@param run hocket.Run
---@return boolean
function plan_mode.is_on(run)
  return run.options.mode == "plan"
end

local function is_among(list, one)
  for _, other in ipairs(list) do
    if other == one then return true end
  end
  return false
end

-- hocket's own tools that move a pattern along, or call agents, which are bound as well.
local function moves_along(one, free)
  return one.steps and (is_among(free, one) or one.set ~= nil and tool.is_own(one.set))
end

--- Whether a tool only reads, by its own word, or shows what comes with hocket or with the project.
---@param one hocket.Tool
---@return boolean
function plan_mode.reads(one)
  local bits = one.effect_bits
  if bits and bits ~= 0 then return bits & ~READS == 0 end
  return shows[one.name] == true and one.set ~= nil and tool.is_own(one.set)
end

--- What keeps a tool from being called now; nil: nothing does.
---@param run hocket.Run
---@param one hocket.Tool
---@param free hocket.Tool[] The tools of patterns.
---@return string? reason
function plan_mode.forbids(run, one, free)
  if not plan_mode.is_on(run) then return nil end
  if plan_mode.reads(one) then return nil end
  local bits = one.effect_bits
  if bits and bits ~= 0 then return "plan mode only reads, until a person agrees to the plan" end
  if moves_along(one, free) then return nil end
  return "plan mode only reads, and nothing says that this tool does"
end

--- What keeps Lua of the project from being run now, of which nobody knows what it does; nil: nothing does.
---@param run hocket.Run
---@return string? reason
function plan_mode.forbids_code(run)
  return plan_mode.is_on(run) and "plan mode only reads, and nothing says that this Lua does" or nil
end

--- Ends it: a person has agreed.
---@param run hocket.Run
local function leave(run)
  run.options.mode = "act"
  run.changed = run.changed or {}
  run.changed.mode = "act"
  run:emit("run_changed", { mode = "act" })
end

local function present(args, ctx)
  if not plan_mode.is_on(ctx.run) then return "plan mode has ended: carry the plan out" end
  local verdict, said = ask.plan_of_person(args.plan)
  if verdict == "accept" then
    leave(ctx.run)
    return "The user agrees to the plan, and plan mode has ended. Carry the plan out now."
  elseif verdict == "revise" then
    return nil, { code = "denied", message = "plan mode goes on: the user wants the plan changed. The user says: " .. said }
  elseif verdict == "refuse" then
    return nil, { code = "denied", message = "plan mode goes on: the user refused the plan. Say that nothing was done." }
  elseif said.code ~= "unsupported" then
    return nil, said
  end
  return nil, { code = "denied", message = "plan mode goes on: nobody is there to agree. Answer with the plan." }
end

local present_plan = tool {
  steps = true, name = "present_plan", max_calls = PRESENTED,
  description = "Show your plan to the user, who agrees, refuses or wants changes. Until the user agrees you may only read. Call it when you know what you would do.",
  parameters = { type = "object", required = { "plan" }, additionalProperties = false, properties = {
    plan = { type = "string", minLength = 1, maxLength = 20000, description = "What you are going to do, step by step, with the files that you change" },
  } },
  run = present,
}

-- Whether it answers the person, and not an agent or a plan that has called it.
local function presents(step)
  if step.run.call or not step:is_last() then return false end
  while step do
    if step.opts.trigger and not step.opts.given or step.above and not step.above.over then return false end
    step = step.above
  end
  return true
end

--- The tools that a pattern brings, with the one of this mode where it is on.
---@param step hocket.Step
---@param free hocket.Tool[]
---@return hocket.Tool[]
function plan_mode.with_tool(step, free)
  if not plan_mode.is_on(step.run) or not presents(step) then return free end
  local list = table.move(free, 1, #free, 1, {})
  list[#list + 1] = present_plan
  return list
end

--- What the model reads of it, below its prompt.
plan_mode.note = "\n\nPlan mode is on: look at what there is, and change nothing. Calls that change anything are refused. When you know what to do, call present_plan "
  .. "where you have it, else answer with the plan."

return plan_mode
