--- Alternates: if an agent has failed after all attempts, the next agent gets its work, with a report of the attempts.
---
---     local hocket = require "hocket"
---     local team = {}
---     hocket.agent { name = "senior", prompt = "You know more.", team = team }
---     local clerk = hocket.agent { name = "clerk", prompt = "You count.", team = team, alternates = { "senior", { reasoning = "high" } } }
---     print(hocket.run(clerk, "Count the chairs.").text)
---
---     task ──> clerk ──fails, after all attempts──> senior ──fails──> clerk with more effort ──fails──> failed, as without alternates
---
--- Each alternate gets the original task, the earlier errors, and the earlier calls that may have changed something. It has the permissions and the
--- budget of the first agent. Alternates do not run after failures that they would share: a spent budget, a refusal, a cancellation.
local agents = require "hocket.agent"
local fence = require "hocket.fence"
local json = require "hocket.json"
local orchestrate = require "hocket.orchestrate"
local outcome = require "hocket.patterns.outcome"

local alternates = {}

--- Bytes of a reason and of an unfinished answer that the next one reads.
local SHOWN = 8192

-- Errors that are no failure of the agent's.
local not_its_own = { cancelled = true, budget = true, denied = true, declined = true, no_memory = true, closed = true, parked = true }

--- Whether another agent may do better.
---@param err hocket.Error
---@return boolean
---@internal
function alternates.may_help(err)
  return not not_its_own[err.code] or err.code == "budget" and err.own == true
end

-- The agent that an entry stands for; and how it is called in events and errors.
local function find(def, one)
  local found, err = def, nil
  if type(one.agent) == "table" then found = one.agent elseif one.agent then found, err = orchestrate.find(def, one.agent, "alternates") end
  if not found then return nil, err end
  local model = type(one.model) == "table" and one.model[1] or one.model
  local with = model or one.reasoning and ("reasoning %s"):format(one.reasoning)
  return agents.vary(found, { model = one.model, reasoning = one.reasoning }), with and ("%s (%s)"):format(found.name, with) or found.name
end

local function cut(text)
  return #text <= SHOWN and text or text:sub(1, utf8.offset(text, 0, SHOWN) - 1) .. "\n[cut here]"
end

-- What the next one reads below the task.
local function tried_before(tried, done)
  local parts = { "## TRIED BEFORE\n\nOthers had this task and failed:" }
  for _, one in ipairs(tried) do
    parts[#parts + 1] = fence.failure(one.name, { message = cut(one.err.message or one.err.code), partial = one.err.partial and cut(one.err.partial) })
  end
  if #done > 0 then
    parts[#parts + 1] = "These calls of theirs were made, and what they did stays done. Look how things stand before you make one again:\n"
      .. fence.wrap("done", tried[#tried].name, table.concat(done, "\n"))
  end
  return table.concat(parts, "\n\n")
end

local function names_of(tried)
  local names = {}
  for i, one in ipairs(tried) do names[i] = one.name end
  return names
end

-- All of them have failed: the error names each with its reason.
local function exhausted(step, tried)
  local lines, last = {}, tried[#tried]
  for i, one in ipairs(tried) do lines[i] = ("%s: %s"):format(one.name, one.err.message or one.err.code) end
  local names = names_of(tried)
  local copy = {}
  for name, value in pairs(step:blamed(last.err, table.move(names, 1, #names - 1, 1, {}), last.name)) do copy[name] = value end
  copy.message = ("all failed: %s"):format(table.concat(lines, "; "))
  return setmetatable(copy, getmetatable(last.err))
end

-- Lets one of them try.
local function try(step, one, tried, about)
  local to, name = find(step.def, one)
  if not to then return nil, name end
  local last = tried[#tried]
  step:emit("reassigned", { from = last.name, to = name, error = last.err.message, code = last.err.code, tried = #tried, path = json.array(names_of(tried)) })
  if step.opts.on_reassigned then step.opts.on_reassigned(last.name, name, last.err) end
  local said, used = step.opts.outcome, nil
  if said then outcome.begin(said) end
  local reply, err = step:give(to, ("%s\n\n%s"):format(step.input, tried_before(tried, about.done)), "alternate",
    { last = true, framed = true, alternates = {} }, function(begun) used = begun end)
  reply, err = about.judge(reply, err)
  for _, line in ipairs(used and used:done() or {}) do about.done[#about.done + 1] = line end
  if not reply then return nil, err, name end
  return reply
end

--- Calls the alternates one after another, until one succeeds.
---@async
---@param step hocket.Step The step that failed.
---@param list hocket.Alternate[]
---@param err hocket.Error
---@param about {done: string[], judge: fun(reply?: hocket.Reply, err?: hocket.Error): hocket.Reply?, hocket.Error?} done: the calls of its attempts, a line each. judge: decides about success.
---@return hocket.Reply? reply With `tried`: the names of the earlier agents.
---@return hocket.Error? err
---@internal
function alternates.take(step, list, err, about)
  local tried = { { name = step.def.name, err = err } }
  for _, one in ipairs(list) do
    if not alternates.may_help(tried[#tried].err) then break end
    local reply, failed, name = try(step, one, tried, about)
    if reply then
      reply.tried = names_of(tried)
      return reply
    end
    tried[#tried + 1] = { name = name or type(one.agent) == "string" and one.agent or step.def.name, err = failed }
  end
  if #tried == 1 then return nil, err end
  return nil, exhausted(step, tried)
end

return alternates
