--- Router: one turn that chooses who answers. The chosen agent gets the request as it was.
---
---     local hocket = require "hocket"
---     local function agent(name) return hocket.agent { name = name, prompt = "You are the " .. name .. "." } end
---     local reply = assert(hocket.patterns.router.run(agent "desk", { agent "legal", agent "billing" }, "My bill is wrong"))
---     print(reply.agent, reply.text)
---
---     request ──> router ──route_to(agent, reason)──> agent ──> answer
---                   └── no valid choice, told once ──> fallback, or an error
---
--- By default the router has one turn and no other tool. With `tools` and `max_turns` it may look around
--- first; route_to can be called in any turn, the last one too. The first valid choice ends its work.
local fence = require "hocket.fence"
local json = require "hocket.json"
local orchestrate = require "hocket.orchestrate"
local schema = require "hocket.schema"
local edge = require "hocket.internal.patterns.edge"
local tool = require "hocket.tool"

local router = {}

---@class hocket.Router
---@field targets hocket.Agent[]
---@field fallback? hocket.Agent Who answers when the router makes no valid choice.

--- Choices that are wrong, or missing, before it is given up: the first is told to the model.
local MISTAKES = 2

--- What an agent's file says.
---@param def hocket.Agent
---@return hocket.Router?
---@return hocket.Error?
---@internal
function router.of(def)
  if #def.agents == 0 then
    return nil, { code = "agent", message = ("%s: a router needs agents to choose from: add 'agents: [name, …]'"):format(def.file or def.name) }
  end
  local targets, err = edge.all(def, def.agents, "agents")
  if not targets then return nil, err end
  local fallback
  if def.fallback then
    fallback, err = edge.find(def, def.fallback, "fallback")
    if not fallback then return nil, err end
  end
  return { targets = targets, fallback = fallback }
end

local function by_name(targets)
  local names, map, lines = {}, {}, {}
  for i, def in ipairs(targets) do
    names[i], map[def.name] = def.name, def
    lines[i] = ("%s: %s"):format(def.name, (def.description:gsub("%s+", " ")))
  end
  return names, map, table.concat(lines, "; ")
end

-- Parameters are shared by all runs of a router with the same targets: compiling them takes time.
local schemas = setmetatable({}, { __mode = "v" })

local function schema_of(names)
  local key = table.concat(names, "\0")
  schemas[key] = schemas[key] or {
    type = "object", required = { "agent", "reason" },
    properties = json.object {
      { "reason", { type = "string", description = "Why, in one line" } },
      { "agent", { type = "string", enum = names, description = "Who is to handle the request" } },
      { "message", { type = "string", description = "What it should know beside the request, if anything" } },
    },
  }
  return schemas[key]
end

-- What the router has chosen, or done wrong, is noted in `choice`.
local function route_to(settings, choice)
  local names, map, described = by_name(settings.targets)
  return tool {
    steps = true, name = "route_to", says = "message",
    description = "Choose the agent that handles the request. It gets the request as it is. " .. described,
    parameters = schema_of(names),
    prepare = function(args)
      if not map[args.agent] then choice.mistakes = choice.mistakes + 1 end
      return args
    end,
    run = function(args)
      if choice.agent then return ("%s has it already"):format(choice.agent.name) end
      choice.agent, choice.reason, choice.message = map[args.agent], args.reason, args.message
      return ("%s has it"):format(args.agent)
    end,
  }
end

-- What the session is to know of all this: when it is over, and what to say in between.
local function hooks(choice, turns)
  local taken = 0
  return {
    stop_when = function()
      taken = taken + 1
      return choice.agent ~= nil or choice.mistakes >= MISTAKES or taken > turns
    end,
    before_turn = function()
      if taken > 0 and taken >= turns - 1 and choice.mistakes == 0 then return "Choose now: call route_to." end
    end,
    before_answer = function()
      choice.mistakes, taken = choice.mistakes + 1, taken + 1
      if choice.agent or choice.mistakes >= MISTAKES or taken > turns then return nil end
      return "That was no choice. You do not answer yourself: call route_to with one of the agents."
    end,
  }
end

-- ---- By a value ----------------------------------------------------------------------------

-- Letters of the reason: a text without an end would be written until the tokens are used up.
local REASON = 300

local function form_of(names)
  local source = {
    type = "object", required = { "reason", "agent" }, additionalProperties = false,
    properties = json.object { { "reason", { type = "string", maxLength = REASON } }, { "agent", { type = "string", enum = names } } },
  }
  return json.encode(source), assert(schema.compile(source))
end

-- A server that holds its model to a schema is asked for a value: of weak models all choices are valid then, and a third of
-- calls of route_to. Not where the agent has tools of its own, which such a server never lets it call beside a schema.
local function is_bound(step)
  return not step.def.output and step:is_bound()
end

local function choose_by_value(step, settings, input)
  local choice, names, map = { mistakes = 0 }, by_name(settings.targets)
  local text, compiled = form_of(names)
  local lines = {}
  for i, def in ipairs(settings.targets) do lines[i] = ("- %s: %s"):format(def.name, (def.description:gsub("%s+", " "))) end
  local reply, err = step:alone(input, {
    turns = MISTAKES + 1,
    form = { schema = text, schema_name = "route", words = ("\n\nYou do not answer the request yourself. Choose the agent that does. Answer with JSON: reason, then agent.\n%s")
      :format(table.concat(lines, "\n")) },
    hooks = { before_answer = function(answer)
      local value = compiled:read(answer.text)
      if value then choice.agent, choice.reason = map[value.agent], value.reason else choice.mistakes = choice.mistakes + 1 end
      if value or choice.mistakes >= MISTAKES then return nil end
      return "That was no choice. Answer with JSON and nothing else: reason, then agent, which is one of the names."
    end },
  })
  if not reply and not choice.agent then return nil, err end
  return choice
end

-- The agent that the router's session chooses, or nil; or nil and an error.
local function choose(step, settings, input)
  if is_bound(step) then return choose_by_value(step, settings, input) end
  local choice = { mistakes = 0 }
  local turns = step.run.options.max_turns or step.def.max_turns or 1
  local reply, err = step:alone(input, {
    pattern_tools = { route_to(settings, choice) }, hooks = hooks(choice, turns), turns = turns + 2, -- the hooks end it before
  })
  if not reply and not choice.agent then return nil, err end
  return choice
end

-- The request as it was, and what the router has to say beside it.
local function input_for(step, choice)
  if not choice.message or choice.message:find "^%s*$" then return step:request() end
  return ("%s\n\n%s\n\n%s"):format(step:request(), fence.wrap("message", step.def.name, choice.message), fence.note)
end

--- Lets the agent choose, and the chosen one answer.
---@async
---@param step hocket.Step
---@param settings hocket.Router
---@param input string
---@return hocket.Reply?
---@return hocket.Error?
---@internal
function router.route(step, settings, input)
  local choice, err = choose(step, settings, input)
  if not choice then return nil, err end
  local target = choice.agent or settings.fallback
  if not target then
    return nil, { code = "model", message = ("%s chose no agent: it was told once that it has to (a 'fallback' would answer now)"):format(step.def.name) }
  end
  step:emit("routed", { to = target.name, reason = choice.reason, message = choice.message, fallback = not choice.agent or nil })
  local reply, wrong = step:give(target, input_for(step, choice), "route", { last = not step:goes_on(), request = step:request() })
  if not reply then return nil, edge.crossed(step, wrong, { step.def.name }, "router", target.name) end
  for _, what in ipairs { "cut", "stage_cut" } do
    if reply[what] then reply[what] = step:blamed(reply[what], { step.def.name }, target.name) end
  end
  return reply
end

--- Lets an agent choose which of others answers.
---@async
---@param agent hocket.Agent
---@param targets hocket.Agent[]
---@param request string
---@param opts? table As for orchestrate.call; and `fallback` (an agent).
---@return hocket.Reply? reply The chosen one's; `reply.agent` is its name.
---@return hocket.Error?
function router.run(agent, targets, request, opts)
  if #targets == 0 then error("bad argument #2 to 'router.run' (at least one agent expected)", 2) end
  opts = opts or {}
  local call = setmetatable({ router = { targets = targets, fallback = opts.fallback } }, { __index = opts })
  return orchestrate.call(agent, request, call)
end

return router
