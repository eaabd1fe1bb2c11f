--- Handoff: what one agent says goes to the next, whose answer is the answer.
---
---     local hocket = require "hocket"
---     local function agent(name) return hocket.agent { name = name, prompt = "You are the " .. name .. "." } end
---     local reply = assert(hocket.patterns.handoff.run({ agent "writer", agent "editor" }, "A line about rain"))
---     print(reply.agent, reply.text)
---
---     request ──> a ──> b ──> c ──> answer
---                   │     │
---                   └─────┴─ the request and the response before, each in a fence of its own
---
--- A chain may be of any length: its stages are jobs of the one that began it, not of each other. Who
--- comes next is looked up when it is time; an agent that comes again ends the chain with an error.
local fence = require "hocket.fence"
local orchestrate = require "hocket.orchestrate"
local edge = require "hocket.internal.patterns.edge"

local handoff = {}

--- What the next agent is told.
---@param request string
---@param from hocket.Agent
---@param response string
---@param cut? hocket.Cut Why the response is not a whole one.
---@return string
function handoff.input(request, from, response, cut)
  local framed, note = fence.request(request)
  local broken = cut and ("(It is not whole: %s.)\n\n"):format(cut.message) or ""
  return "## ORIGINAL USER REQUEST\n\n" .. framed .. "\n\n## RESPONSE OF " .. from.name .. "\n\n" .. broken
    .. fence.wrap("response", from.name, response) .. "\n\n" .. note
end

--- Who comes after an agent: `given`, in order, and after them whom the last one's file names.
---@param def hocket.Agent
---@param given? hocket.Agent[]
---@return {first: hocket.Agent, rest: hocket.Agent[]}?
---@return hocket.Error?
---@internal
function handoff.of(def, given)
  if given then return { first = given[1], rest = table.move(given, 2, #given, 1, {}) } end
  local first, err = edge.find(def, def.handoff, "handoff")
  return first and { first = first, rest = {} }, err
end

local function after(def, rest)
  if #rest > 0 then return table.remove(rest, 1) end
  if def.handoff then return edge.find(def, def.handoff, "handoff") end
end

-- The names of the first n stages.
local function names_of(stages, n)
  local names = {}
  for i = 1, n or #stages do names[i] = stages[i].name end
  return names
end

---@class hocket.StageCut: hocket.Cut Why a stage of a chain is not whole, of which another one has made the answer.
---@field agent string
---@field path? string[] From the first stage to that agent.

-- The first stage that was cut: the last one until now, or one further in.
local function cut_of(step, stages, reply)
  local cut = reply.stage_cut or reply.cut
  if not cut then return nil end
  cut = step:blamed(cut, names_of(stages, #stages - 1), stages[#stages].name)
  return { agent = cut.agent or stages[#stages].name, path = cut.path, reason = cut.reason, code = cut.code, message = cut.message }
end

--- Hands an agent's reply on, to the end of the chain.
---@async
---@param step hocket.Step
---@param chain {first: hocket.Agent, rest: hocket.Agent[]}
---@param reply hocket.Reply
---@return hocket.Reply?
---@return hocket.Error?
---@internal
function handoff.go_on(step, chain, reply)
  local from, to = step.def, chain.first
  local stages, seen, broken = { from }, { [from] = true }, nil
  if reply.agent == from.name then step:tell("agent_message", "content", reply.text, "display_name", from.display_name) end
  while to do
    if seen[to] then
      return nil, { code = "agent", message = ("the handoffs go in a circle: %s -> %s"):format(table.concat(names_of(stages), " -> "), to.name) }
    end
    local beyond, err = after(to, chain.rest)
    if err then return nil, err end
    step:tell("handoff", "from", from.name, "to", to.name)
    broken = broken or cut_of(step, stages, reply)
    local input = handoff.input(step:request(), from, reply.text, reply.cut)
    reply, err = step:give(to, input, "handoff", { handoff = false, last = beyond == nil, subject = reply.text })
    if not reply then return nil, edge.crossed(step, err, names_of(stages), "handoff", to.name) end
    seen[to] = true
    from, to = to, beyond
    stages[#stages + 1] = from
  end
  if reply.cut then reply.cut = step:blamed(reply.cut, names_of(stages, #stages - 1), from.name) end
  reply.stage_cut = broken or reply.stage_cut and cut_of(step, stages, reply)
  return reply
end

--- Lets agents answer one after the other, each with the request and the response before. What their
--- files say comes with them, but for the handoffs of those in between.
---@async
---@param agents hocket.Agent[] At least one.
---@param request string
---@param opts? table As for orchestrate.call.
---@return hocket.Reply? reply The last one's; `reply.agent` is its name.
---@return hocket.Error?
function handoff.run(agents, request, opts)
  if type(agents) ~= "table" or #agents == 0 then error("bad argument #1 to 'handoff.run' (a list of agents expected)", 2) end
  local given = table.move(agents, 2, #agents, 1, {})
  local call = setmetatable({ handoff = #given > 0 and given or nil }, { __index = opts })
  return orchestrate.call(agents[1], request, call)
end

return handoff
