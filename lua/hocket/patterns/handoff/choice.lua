--- The choice of an agent that may hand on: it works as any other, and hands on with the tool `handoff_to`, or answers itself.
local json = require "hocket.json"
local orchestrate = require "hocket.orchestrate"
local tool = require "hocket.tool"

local choice = {}

---@class hocket.HandoffChoice
---@field offered hocket.Handoff[]
---@field by_name table<string, hocket.Agent>
---@field picked? hocket.Handoff
---@field reason? string
---@field response? string What it hands on.

local function is_offered(def, one, to, request)
  if one.available == nil then return true end
  local value, err = orchestrate.call_named(def, one.available, { request = request, from = def.name, to = to.name })
  if err then return nil, err end
  return value == true
end

--- What an agent may choose from: not who has been in the chain, and not who is unavailable now. nil and no error: nobody is left.
---@param def hocket.Agent
---@param seen table<hocket.Agent, boolean>
---@param request string
---@return hocket.HandoffChoice?
---@return hocket.Error?
function choice.of(def, seen, request)
  local made = { offered = {}, by_name = {} }
  for _, one in ipairs(def.handoff) do
    local to, err = orchestrate.find(def, one.agent, "handoff")
    if not to then return nil, err end
    local offered = not seen[to]
    if offered then offered, err = is_offered(def, one, to, request) end
    if err then return nil, err end
    if offered then made.offered[#made.offered + 1], made.by_name[one.agent] = one, to end
  end
  return #made.offered > 0 and made or nil
end

local function line_of(one, to)
  local what = (one.description or to.description):gsub("%s+", " ")
  local when = one.when and (" Choose it when: %s"):format((one.when:gsub("%s+", " "))) or ""
  return ("%s: %s%s"):format(one.agent, what, when)
end

local function described(made)
  local lines = {}
  for i, one in ipairs(made.offered) do lines[i] = line_of(one, made.by_name[one.agent]) end
  return table.concat(lines, "; ")
end

-- What it hands on has the form that its file promises of its answers.
local function parameters(def, made)
  local names = {}
  for i, one in ipairs(made.offered) do names[i] = one.agent end
  local response = def.output or { type = "string", description = "What you have found out and done, for the next agent" }
  return {
    type = "object", required = { "agent", "reason", "response" },
    properties = json.object {
      { "reason", { type = "string", description = "Why, in one line" } }, { "response", response },
      { "agent", { type = "string", enum = names, description = "Who goes on with the request" } },
    },
  }
end

local function find(made, name)
  for _, one in ipairs(made.offered) do
    if one.agent == name then return one end
  end
end

local function handoff_to(def, made)
  return tool {
    steps = true, name = "handoff_to", says = "response",
    description = "Hand the request on to another agent, which answers in your place; your work ends with this call. Otherwise answer yourself. " .. described(made),
    parameters = parameters(def, made),
    run = function(args)
      if made.picked then return ("%s has it already"):format(made.picked.agent) end
      made.picked, made.reason = find(made, args.agent), args.reason
      made.response = type(args.response) == "string" and args.response or json.encode(args.response)
      return ("%s goes on with it"):format(args.agent)
    end,
  }
end

--- Lets the agent work, and choose. What it hands on is its reply then.
---@async
---@param step hocket.Step
---@param made hocket.HandoffChoice
---@param input string
---@return hocket.Reply?
---@return hocket.Error?
function choice.alone(step, made, input)
  made.picked = nil -- of an attempt before
  local reply, err = step:alone(input, {
    pattern_tools = { handoff_to(step.def, made) }, hooks = { ends_when = function() return made.picked ~= nil end },
  })
  if not made.picked then return reply, err end
  if err and err.code ~= "model" then return nil, err end -- a call is no answer of the form that is promised
  return { text = made.response, agent = step.def.name, finish = "stop", calls = {}, usage = {}, model = reply and reply.model, answered_by = reply and reply.answered_by }
end

return choice
