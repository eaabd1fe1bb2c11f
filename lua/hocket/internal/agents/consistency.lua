--- Which keys go together. Each rule is a fact about the patterns, told with the fix.
local approval_targets = require "hocket.internal.base.lazy" "hocket.internal.agents.approval_targets"
local functions = require "hocket.internal.base.lazy" "hocket.internal.agents.functions"
local needs = require "hocket.internal.agents.needs"
local problem = require "hocket.internal.agents.problem"
local prompt = require "hocket.internal.agents.prompt"
local skills = require "hocket.internal.base.lazy" "hocket.internal.agents.skills"
local tool = require "hocket.tool"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local rules = {}

-- Toolsets for agents that call others themselves.
local calling = { delegate = true, delegate_to_agent = true, facilitator = true }

local function has_tool(def, wanted)
  for i, name in ipairs(def.tools) do
    if wanted[name] then return i, name end
  end
end

local function check_router(def, say)
  if #def.agents == 0 then say("/router", "a router needs agents to choose from: add 'agents: [one, two]'") end
  local i, name = has_tool(def, calling)
  if i then
    say(("/tools/%d"):format(i - 1), ("a router calls no agents, it chooses one: remove '%s', or 'router: true'"):format(name))
  end
  if def.team then say("/team", "a router gives no answer, so it has no team to write for: remove 'team' or 'router'") end
  if def.output then say("/output", "a router gives no answer of its own: 'output' belongs into the agents that it chooses from") end
end

-- Of more than a name: a router chooses already, and what an agent of a pool has said stays with its worker.
local function check_handoff(def, say)
  local handoff = def.handoff
  local chooses = handoff.agent == nil
  if chooses and def.router then say("/handoff", "a router chooses already: 'handoff' of a router is one agent") end
  local talk = not chooses and (handoff.pass == "conversation" or handoff.pass == "summary")
  if def.router and talk then say("/handoff/pass", ("a router answers nothing itself: 'pass: %s' belongs into the agents that it chooses from"):format(handoff.pass)) end
  if def.pool and (chooses or talk) then say("/handoff", "an agent of a pool hands its response on to one agent: remove 'pool', or name one agent") end
end

local function check_until(def, say)
  if def["until"].command and not has_tool(def, { execute_command = true }) then
    say("/until", "a command is a call of execute_command: add 'tools: [execute_command]'")
  end
  if def.router then say("/until", "a router gives no answer of its own: 'until' belongs into the agents that it chooses from") end
  if def.pool then say("/until", "an agent of a pool is checked by its worker's runtime, which has no goals: remove 'pool' or 'until'") end
end

local function check_calling(def, say)
  local i, name = has_tool(def, calling)
  if i and #def.agents == 0 then
    say(("/tools/%d"):format(i - 1), ("'%s' is for calling other agents: add 'agents: [name, …]'"):format(name))
  end
end

-- Toolsets that a key brings along, and that are nothing without it.
local by_key = { mcp = "mcp: [server]", memory = "memory: NAME", project = "project: true", skills = "skills: true" }

local function check_by_key(def, say)
  for i, name in ipairs(def.tools) do
    if by_key[name] and not def[name] then
      say(("/tools/%d"):format(i - 1), ("tools called '%s' come with the key of that name: add '%s', and remove '%s' here"):format(name, by_key[name], name))
    end
  end
end

-- What only agents that plan read: facilitators, and the one called planner. A toolset that is not hocket's own may be a facilitator's.
local for_plans = {
  document = { facilitator = true }, task_limit = { facilitator = true, planner = true },
  approve_plan = { facilitator = true, planner = true }, on_failure = { planner = true },
  explore = { planner = true },
}

local keys_for_plans, own_names, nothing = sorted_keys(for_plans), sorted_keys(needs.own), {}

local function may_plan(def)
  for _, name in ipairs(def.tools) do
    if name == "facilitator" or type(name) == "string" and not tool.is_own(name) then return true end
  end
  return false
end

local function check_plans(def, places, say)
  for _, key in ipairs(keys_for_plans) do
    local readers = for_plans[key]
    if def[key] ~= nil and places["/" .. key] and not (readers.facilitator and may_plan(def)) and not (readers.planner and def.name == "planner") then
      say("/" .. key, ("'%s' says nothing here: it is for %s"):format(key,
        readers.facilitator and "an agent with 'tools: [facilitator]'" or "the agent called planner")).severity = "warning"
    end
  end
end

local function check_approve(def, say)
  if not def.approve then return end
  for _, verdict in ipairs(sorted_keys(def.approve)) do
    for i, rule in ipairs(def.approve[verdict]) do
      local pointer = ("/approve/%s/%d"):format(verdict, i - 1)
      local misspelt = approval_targets.slip(rule, true)
      local wrong = misspelt or approval_targets.misfit(rule)
      if wrong then
        local one = say(pointer, wrong)
        if misspelt then one.code = "unknown_tool" end
      end
      local unknown = not wrong and verdict == "allow" and approval_targets.unknown_program(rule)
      if unknown then say(pointer, unknown).severity = "warning" end
    end
  end
end

-- Braces that hocket leaves alone, and that look as if they were meant for it.
local function check_places(def, problems)
  if not def.prompt:find("{{", 1, true) then return end
  for _, one in ipairs(prompt.no_places(def.prompt)) do
    local file, line = prompt.locate(def.prompt, one.at, needs.origin(def))
    local one_here = problem.new(file, line, 1, "variable",
      ("'%s' stays as it is: names have letters, digits and _ only (write \\%s for braces that are meant)"):format(one.text, one.text))
    one_here.severity = "warning"
    problems[#problems + 1] = one_here
  end
end

local function check_skills(def, say)
  for i, path in ipairs(type(def.skills) == "table" and def.skills or {}) do
    if path:find("/", 1, true) and #skills.below(skills.place(path, def.file)) == 0 then
      say(("/skills/%d"):format(i - 1), ("'%s' is no skill, and no folder with some: a skill is a folder with SKILL.md"):format(path))
    end
  end
end

--- Checks one definition.
---@param def hocket.Agent
---@param places table<string, integer[]>
---@param problems hocket.Problem[] Gets what is wrong.
function rules.check(def, places, problems)
  local function say(pointer, message)
    local line, column = problem.place(places, pointer)
    local one = problem.new(def.file, line, column, "incompatible", message)
    problems[#problems + 1] = one
    return one
  end
  if def.router then check_router(def, say) else check_calling(def, say) end
  check_by_key(def, say)
  if def.fallback and not def.router then say("/fallback", "'fallback' is for routers: add 'router: true', or remove it") end
  if type(def.handoff) == "table" then
    check_handoff(def, say)
  end
  if def["until"] then check_until(def, say) end
  if def["until"] or def.guards or type(def.handoff) == "table" then functions.check(def, places, problems) end
  if def.team and def.handoff then
    say("/handoff", "who has a team writes its answer and hands nothing on: remove 'handoff', or let another agent ask this one")
  end
  for _, name in ipairs(next(def.variables) and own_names or nothing) do
    if def.variables[name] ~= nil then
      say("/variables/" .. name, ("'{{%s}}' is filled in by hocket: call the variable something else"):format(name))
    end
  end
  check_approve(def, say)
  if def.skills then check_skills(def, say) end
  check_places(def, problems)
  check_plans(def, places, say)
end

return rules
