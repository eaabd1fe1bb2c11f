--- Advisors: several agents advise in parallel; then one agent, which sees their advice, answers.
---
---     local hocket = require "hocket"
---     local function agent(name) return hocket.agent { name = name, prompt = "You are the " .. name .. "." } end
---     local advisors = { agent "lawyer", agent "economist" }
---     print(hocket.patterns.advisors.run(agent "editor", advisors, "Shall we print it?", { quorum = 1 }).text)
---
---                ┌──> compliance ──┐
---     request ───┼──> risk ────────┼──> request + analysis ──> the agent ──> answer
---                └──> technical ───┘
---
--- A failed or late advisor is reported in its own section, and the work continues. If the advisor is required, or fewer
--- than the quorum are left, the others are cancelled and the call fails.
local broker = require "hocket.broker"
local fence = require "hocket.fence"
local orchestrate = require "hocket.orchestrate"

local advisors = {}

--- Bytes of one advisor's analysis that the agent is shown.
local SHOWN = 256 * 1024

---@class hocket.Advisors
---@field agents hocket.Agent[]
---@field required? table<string, boolean> Names of the advisors that must answer.
---@field timeout? number Seconds for each.
---@field quorum? integer How many advisors must answer.

local function set_of(names)
  local set = {}
  for _, name in ipairs(names or {}) do set[name] = true end
  return set
end

--- What an agent's file says.
---@param def hocket.Agent
---@return hocket.Advisors?
---@return hocket.Error?
---@internal
function advisors.of(def)
  local says = def.advisors
  local list, err = orchestrate.find_all(def, says.agents, "advisors")
  if not list then return nil, err end
  return { agents = list, required = set_of(says.required), timeout = says.timeout, quorum = says.quorum }
end

local function cut(text)
  if #text <= SHOWN then return text end
  local stop = utf8.offset(text, 0, SHOWN) - 1
  return ("%s\n[cut here: %d of %d bytes]"):format(text:sub(1, stop), stop, #text)
end

local function section(def, one)
  if one.value then return "### From " .. def.name .. "\n\n" .. fence.wrap("advice", def.name, cut(one.value.text)) end
  local late = one.err.code == "timeout"
  local text = ("### From %s\n\n(No analysis: it %s.)\n\n%s"):format(def.name, late and "was not done in time" or "failed",
    fence.wrap("error", def.name, one.err.message))
  if not one.err.partial then return text end
  return ("%s\n\nWhat it had so far:\n\n%s"):format(text, fence.wrap("unfinished", def.name, cut(one.err.partial)))
end

--- The request with what the advisors said, under the headings that the agent sees.
---@param request string
---@param list hocket.Agent[]
---@param outcomes {value?: hocket.Reply, err?: hocket.Error}[]
---@return string
---@internal
function advisors.enrich(request, list, outcomes)
  local framed, note = fence.request(request)
  local parts = { "## ORIGINAL USER REQUEST", framed, "## ANALYSIS GATHERED", note }
  for i, def in ipairs(list) do parts[#parts + 1] = section(def, outcomes[i]) end
  return table.concat(parts, "\n\n")
end

local function jobs_for(step, settings)
  local specs, opts = {}, step:asking("advisor", { timeout = settings.timeout })
  for i, def in ipairs(settings.agents) do
    local spec, err = orchestrate.job(def, step.input, opts)
    if not spec then return nil, err end
    specs[i] = spec
  end
  return specs
end

-- What forbids to go on, once an advisor has failed.
local function judge(step, settings, i, one, failures)
  local name, left = settings.agents[i].name, #settings.agents - failures
  local crossed = orchestrate.crossed(step, one.err, { step.def.name }, "advisor", name)
  if settings.required and settings.required[name] then
    crossed.message = "a required advisor failed: " .. crossed.message
    return crossed
  elseif left < (settings.quorum or 0) then
    crossed.message = ("%d of %d advisors could still answer, and %d have to: %s"):format(left, #settings.agents, settings.quorum, crossed.message)
    return crossed
  end
end

local function report(settings, batch)
  local list = {}
  for i, def in ipairs(settings.agents) do
    list[i] = { agent = def.name, ok = batch[i].value ~= nil, error = batch[i].err and batch[i].err.message }
  end
  return list
end

--- Asks all of them. Returns the enriched request.
---@async
---@param step hocket.Step
---@param settings hocket.Advisors
---@return string?
---@return hocket.Error?
---@internal
function advisors.gather(step, settings)
  local specs, err = jobs_for(step, settings)
  if not specs then return nil, err end
  step:keep_answer()
  local batch <close>, refused = broker.shared():batch(specs)
  if not batch then return nil, refused end
  local failures, stopped = 0, nil
  local ended, broken = batch:wait(nil, function(i, one)
    failures = failures + 1
    stopped = stopped or judge(step, settings, i, one, failures)
    return stopped ~= nil
  end)
  if not ended or stopped then return nil, stopped or broken end
  step:emit("advice_gathered", { advisors = report(settings, batch) })
  return advisors.enrich(step.input, settings.agents, batch)
end

--- Lets an agent answer after other agents have advised it.
---@async
---@param agent hocket.Agent
---@param list hocket.Agent[]
---@param request string
---@param opts? table As for orchestrate.call, with `required` (names), `timeout_each` (seconds), `quorum`.
---@return hocket.Reply?
---@return hocket.Error?
function advisors.run(agent, list, request, opts)
  orchestrate.argument("patterns.advisors.run", 1, "agent", agent, "table", list, "string|table", request, "table?", opts)
  opts = opts or {}
  local settings = { agents = list, required = set_of(opts.required), timeout = opts.timeout_each, quorum = opts.quorum }
  local call = setmetatable({ advisors = settings }, { __index = opts })
  return orchestrate.call(agent, request, call)
end

return advisors
