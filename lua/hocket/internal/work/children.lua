--- Finished agents that can be asked again, with their conversations. An agent with the tool ask_again can ask all agents that it has called; a script
--- can ask the agents to which it gave an id (`child_id`). Other calls pay nothing.
---
---     call ──> child, job 7 ──> reply (child = 7) ──> ask_again(7, "And the roof?") ──> the same agent, in its conversation ──> reply
---
--- An agent has the newest 64, a script 1,000. A run that continues in another process makes them again from its log.
local children = {}

--- Conversations of one caller that are kept: of an agent, of a script.
local KEPT, OF_SCRIPT = 64, 1000
--- Ids that an error names.
local SHOWN = 20

---@class hocket.Children
---@field package by_id table<integer|string, {step: hocket.Step, spec: table}> By job, or by the id that a script gave.
---@field package ids (integer|string)[] Of those, oldest first.
---@field by_model? boolean The caller's model asks them again, and has to see their ids.

--- From here on the children of an agent are kept, and its model sees their ids.
---@param holder hocket.Step
function children.keep(holder)
  holder.children = holder.children or { by_id = {}, ids = {} }
  holder.children.by_model = true
end

local function forget(all, id)
  all.by_id[id] = nil
  for i, one in ipairs(all.ids) do
    if one == id then return table.remove(all.ids, i) end
  end
end

local function add(holder, id, step, spec)
  local all = holder.children
  if all.by_id[id] then forget(all, id) end -- another attempt, or the same id once more
  all.by_id[id], all.ids[#all.ids + 1] = { step = step, spec = spec }, id
  if #all.ids > (all.by_model and KEPT or OF_SCRIPT) then forget(all, all.ids[1]) end
end

-- The job's function, which notes the child when it has ended.
local function noting(holder, step, spec, run)
  return function(job)
    local reply, err = run(job)
    if step.history then
      add(holder, step.opts.child_id or job.id, step, spec)
      if reply then reply.child = job.id end
    end
    return reply, err
  end
end

--- A call of a caller that may ask again: the child's conversation stays.
---@param holder hocket.Step|hocket.Run
---@param spec table The job.
---@param step hocket.Step
function children.watch(holder, spec, step)
  holder.children = holder.children or { by_id = {}, ids = {} }
  if step.opts.given then return end -- it answers in its caller's place, and belongs to whoever called that
  if not step.opts.memory then step.opts = setmetatable({ memory = {} }, { __index = step.opts }) end
  spec.run = noting(holder, step, spec, spec.run)
end

local failed = require("hocket.internal.core.system").failure

-- By the id that a script gave it, by its job's number, which a model may send as a text; or the last one of a name.
local function find(holder, id)
  local all = holder.children or { by_id = {}, ids = {} }
  local found = all.by_id[id] or all.by_id[math.tointeger(tonumber(id))]
  for i = #all.ids, 1, -1 do
    found = found or all.by_id[all.ids[i]].step.def.name == id and all.by_id[all.ids[i]]
  end
  if found then return found end
  local known = {}
  for i = math.max(1, #all.ids - SHOWN + 1), #all.ids do known[#known + 1] = ("%s (%s)"):format(all.ids[i], all.by_id[all.ids[i]].step.def.name) end
  return failed("not_found", "there is no finished agent '%s' that you have called and that can be asked again (there are: %s; the newest %d are kept)", tostring(id),
    #known > 0 and table.concat(known, ", ") or "none", all.by_model and KEPT or OF_SCRIPT)
end

--- The job by which a finished child is asked again.
---@param holder hocket.Step|hocket.Run Who called it.
---@param id integer|string
---@param text string
---@param perform fun(step: hocket.Step, job: hocket.Job): hocket.Reply?, hocket.Error?
---@return table? spec
---@return table|hocket.Error closing To close when the job has ended.
function children.again(holder, id, text, perform)
  local child, err = find(holder, id)
  if not child then return nil, err end
  local step, was = child.step, child.spec
  if step.asked or step.run.at_work[step.op] then return failed("state", "%s is at work: wait for its answer before you ask it again", step.def.name) end
  step.first_opts = step.first_opts or step.opts
  step.opts = setmetatable({ trigger = step.first_opts.trigger and "ask_again", subject = text, files = false }, { __index = step.first_opts })
  step.asked, step.input, step.op = true, text, step.run:operation()
  if step.run.origins then step.run.origins:called(step.op, step.above and step.above.op) end
  local spec = { agent = was.agent, op = step.op, trigger = step.opts.trigger, budget = was.budget, keeps = was.keeps, priority = was.priority }
  spec.run = noting(holder, step, spec, function(job) return perform(step, job) end)
  return spec, setmetatable({}, { __close = function() step.asked = nil end })
end

return children
