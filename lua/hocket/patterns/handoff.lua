--- Handoff: each agent passes its response to the next one, and the last agent's response is the answer.
---
---     local hocket = require "hocket"
---     local function agent(name) return hocket.agent { name = name, prompt = "You are the " .. name .. "." } end
---     local reply = assert(hocket.patterns.handoff.run({ agent "writer", agent "editor" }, "A line about rain"))
---     print(reply.agent, reply.text)
---
---     request ──> a ──> b ──> c ──> answer
---                   │     │
---                   └─────┴─ the request and the previous response, each in its own fence
---
--- If a file names a list, the agent chooses: it calls `handoff_to`, or answers itself (handoff/choice.lua). The next agent gets
--- the request and, as the file says, the response, the conversation, a summary, or the result of a function (handoff/passed.lua).
---
--- A chain can have any length. Its stages are jobs of the first caller, not of each other. Each next agent is found when the
--- chain reaches it. An agent that would come a second time ends the chain with an error, and is not offered as a choice.
local choices = require "hocket.patterns.handoff.choice"
local fence = require "hocket.fence"
local orchestrate = require "hocket.orchestrate"
local passed = require "hocket.patterns.handoff.passed"

local handoff = {}

-- What stands above the frame of what is passed on.
local headings = { response = "RESPONSE", conversation = "CONVERSATION", summary = "SUMMARY" }

--- What the next agent reads.
---@param request string
---@param from hocket.Agent
---@param response string
---@param cut? hocket.Cut Why the response is not a whole one.
---@param kind? "response"|"conversation"|"summary" What the text is.
---@param prompt? string What the next one is to do, in words of the agent's author.
---@return string
function handoff.input(request, from, response, cut, kind, prompt)
  orchestrate.argument("patterns.handoff.input", 1, "string", request, "agent", from, "string", response, "table?", cut, "string?", kind, "string?", prompt)
  kind = kind or "response"
  local framed, note = fence.request(request)
  local broken = cut and ("(It is not whole: %s.)\n\n"):format(cut.message) or ""
  local answered = ("\n\n## %s OF %s\n\n%s%s"):format(headings[kind], from.name, broken, fence.wrap(kind, from.name, response))
  local task = prompt and "\n\n## YOUR TASK\n\n" .. prompt or ""
  return "## ORIGINAL USER REQUEST\n\n" .. framed .. "\n\n" .. note .. answered .. task -- small models answer what stands last
end

---@class hocket.HandoffChain The agents that follow the current one.
---@field to? hocket.Agent Where that is fixed.
---@field one? hocket.Handoff What its file says of that.
---@field choice? hocket.HandoffChoice Where it chooses.
---@field rest hocket.Agent[] Those whom a script has named, after that.

local whole = { pass = "response" }

-- Who comes after an agent: the first of `rest`, or whom its own file names. nil and no error: nobody.
local function after(def, rest, seen, request)
  if #rest > 0 then return { to = table.remove(rest, 1), one = whole, rest = rest } end
  local named = def.handoff
  if not named then return nil end
  if type(named) == "table" and not named.agent then
    local choice, err = choices.of(def, seen, request)
    return choice and { choice = choice, rest = rest }, err
  end
  local to, err = orchestrate.find(def, named.agent or named, "handoff")
  return to and { to = to, one = type(named) == "table" and named or whole, rest = rest }, err
end

--- Who comes after an agent: `given`, in order, and after them whom the last one's file names.
---@param def hocket.Agent
---@param given? hocket.Agent[]
---@param request? string
---@return hocket.HandoffChain?
---@return hocket.Error?
---@internal
function handoff.of(def, given, request)
  return after(def, given and table.move(given, 1, #given, 1, {}) or {}, { [def] = true }, request or "")
end

--- Lets an agent work that may hand on: see handoff/choice.lua.
handoff.choose = choices.alone

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
  return { agent = cut.agent or stages[#stages].name, path = cut.path, reason = cut.reason, code = cut.code, own = cut.own, message = cut.message }
end

-- The next stage's agent, with what is said of that; nil where the agent at work has answered itself.
local function next_of(chain)
  local choice = chain.choice
  if not choice then return chain.to, chain.one end
  return choice.picked and choice.by_name[choice.picked.agent], choice.picked
end

local function announce(step, from, to, one, choice)
  local pass = one.pass ~= "response" and (type(one.pass) == "string" and one.pass or "function") or nil
  step:tell("handoff", "from", from.name, "pass", pass, "reason", choice and choice.reason, "to", to.name)
end

-- Lets the next stage answer. Returns also its step.
local function give(step, at, chain, to, one, beyond)
  local text, kind = passed.of(step, at.step, at.reply, one, to)
  if not text then return nil, kind end
  announce(step, at.def, to, one, chain.choice)
  local input, stage = handoff.input(step:request(), at.def, text, at.reply.cut, kind, one.prompt), nil
  local reply, err = step:give(to, input, "handoff", {
    handoff = false, choice = beyond and beyond.choice, last = beyond == nil or beyond.choice ~= nil, subject = text,
  }, function(begun) stage = begun end)
  return reply, err, stage
end

--- Hands an agent's reply on, to the end of the chain.
---@async
---@param step hocket.Step
---@param chain hocket.HandoffChain
---@param reply hocket.Reply
---@return hocket.Reply?
---@return hocket.Error?
---@internal
function handoff.go_on(step, chain, reply)
  local at = { def = step.def, step = step, reply = reply }
  local stages, seen, broken = { step.def }, { [step.def] = true }, nil
  local to, one = next_of(chain)
  if to and reply.agent == step.def.name then step:tell("agent_message", "content", reply.text, "display_name", step.def.display_name) end
  while to do
    if seen[to] then
      return nil, { code = "agent", message = ("the handoffs go in a circle: %s -> %s"):format(table.concat(names_of(stages), " -> "), to.name) }
    end
    seen[to] = true
    local beyond, err = after(to, chain.rest, seen, step:request())
    if err then return nil, err end
    broken = broken or cut_of(step, stages, at.reply)
    local answered, failed, stage = give(step, at, chain, to, one, beyond)
    if not answered then return nil, orchestrate.crossed(step, failed, names_of(stages), "handoff", to.name) end
    stages[#stages + 1], at, chain = to, { def = to, step = stage, reply = answered }, beyond or {}
    to, one = next_of(chain)
  end
  reply = at.reply
  if #stages == 1 then return reply end
  if reply.cut then reply.cut = step:blamed(reply.cut, names_of(stages, #stages - 1), at.def.name) end
  reply.stage_cut = broken or reply.stage_cut and cut_of(step, stages, reply)
  return reply
end

--- Calls agents one after another, each with the request and the previous response. The keys of their files apply, except for
--- the handoffs of those in between.
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
