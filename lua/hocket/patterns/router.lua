--- Router: an agent chooses in one turn which agent answers. The chosen agent gets the original request.
---
---     local hocket = require "hocket"
---     local function agent(name) return hocket.agent { name = name, prompt = "You are the " .. name .. "." } end
---     local reply = assert(hocket.patterns.router.run(agent "desk", { agent "legal", agent "billing" }, "My bill is wrong"))
---     print(reply.agent, reply.text)
---
---     request ──> router ──route_to(agent, reason)──> agent ──> answer
---                   └── no valid choice, one reminder ──> fallback, or an error
---
--- By default the router has one turn and no other tool. With `tools` and `max_turns` it can look for information first, and
--- call route_to in any turn. The first valid choice ends its work.
local fence = require "hocket.fence"
local json = require "hocket.json"
local orchestrate = require "hocket.orchestrate"
local schema = require "hocket.schema"
local tool = require "hocket.tool"

local router = {}

---@class hocket.Router
---@field targets hocket.Agent[]
---@field fallback? hocket.Agent The agent that answers if the router makes no valid choice.

--- Choices that are wrong, or missing, before it is given up: the first is reported to the model.
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
  local targets, err = orchestrate.find_all(def, def.agents, "agents")
  if not targets then return nil, err end
  local fallback
  if def.fallback then
    fallback, err = orchestrate.find(def, def.fallback, "fallback")
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

local function parameters(names)
  return {
    type = "object", required = { "agent", "reason" },
    properties = json.object {
      { "reason", { type = "string", description = "Why, in one line" } },
      { "agent", { type = "string", enum = names, description = "Who is to handle the request" } },
      { "message", { type = "string", description = "What it should know beside the request, if anything" } },
    },
  }
end

-- What the router chooses, or does wrong, is noted in ctx.picture.
local function route_to(names, described)
  return tool {
    steps = true, name = "route_to", says = "message",
    description = "Choose the agent that handles the request. It gets the request as it is. " .. described,
    parameters = parameters(names),
    prepare = function(args, ctx)
      local choice = ctx and ctx.picture -- a person who changes the arguments makes no mistakes of the model's
      if choice and not choice.map[args.agent] then choice.mistakes = choice.mistakes + 1 end
      return args
    end,
    run = function(args, ctx)
      local choice = ctx.picture
      if choice.agent then return ("%s has it already"):format(choice.agent.name) end
      choice.agent, choice.reason, choice.message = choice.map[args.agent], args.reason, args.message
      return ("%s has it"):format(args.agent)
    end,
  }
end

-- The tools of route_to, by what it says of its targets: making one takes longer than all else here.
local known_tools = setmetatable({}, { __mode = "v" })

local function tools_for(names, described)
  local key = table.concat(names, "\0") .. "\0\0" .. described
  local known = known_tools[key] or { route_to(names, described) }
  known_tools[key] = known
  return known
end

-- What the session is to know of all this: when it is over, and what to say in between.
local function hooks(choice, turns, is_only)
  local taken = 0
  return {
    choose = function() return (is_only or taken >= turns - 1) and "route_to" or nil end,
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

-- What the session has come to: the choice, with `why` where there is none because nothing that the model answered could be used, such
-- as an empty answer. Any other error is no missing choice.
local function outcome_of(choice, reply, err)
  if reply or choice.agent then return choice end
  if err.code ~= "model" then return nil, err end
  choice.why = err.message
  return choice
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
  return outcome_of(choice, reply, err)
end

-- The agent that the router's session chooses, or nil; or nil and an error.
local function choose(step, settings, input)
  if is_bound(step) then return choose_by_value(step, settings, input) end
  local names, map, described = by_name(settings.targets)
  local choice = { mistakes = 0, map = map }
  local turns = step.run.options.max_turns or step.def.max_turns or 1
  local reply, err = step:alone(input, {
    pattern_tools = tools_for(names, described), picture = choice,
    hooks = hooks(choice, turns, not step:has_tools()), turns = turns + 2, -- the hooks end it before
  })
  return outcome_of(choice, reply, err)
end

-- The request as it was, and what the router has to say beside it; whether that is so.
local function input_for(step, choice)
  if not choice.message or choice.message:find "^%s*$" then return step:request(), false end
  return ("%s\n\n%s%s"):format(step:request(), fence.wrap("message", step.def.name, choice.message), fence.note_for(step.run)), true
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
    return nil, { code = "model", message = ("%s chose no agent: %s (a 'fallback' would answer now)"):format(step.def.name, choice.why or "it was told once that it has to") }
  end
  step:emit("routed", { to = target.name, reason = choice.reason, message = choice.message, fallback = not choice.agent or nil })
  local told, is_framed = input_for(step, choice)
  local reply, wrong = step:give(target, told, "route", { last = not step:goes_on(), request = step:request(), framed = is_framed or step.opts.framed })
  if not reply then return nil, orchestrate.crossed(step, wrong, { step.def.name }, "router", target.name) end
  for _, what in ipairs { "cut", "stage_cut" } do
    if reply[what] then reply[what] = step:blamed(reply[what], { step.def.name }, target.name) end
  end
  return reply
end

--- Lets an agent choose which agent answers.
---@async
---@param agent hocket.Agent
---@param targets hocket.Agent[]
---@param request string
---@param opts? table As for orchestrate.call, with `fallback` (an agent).
---@return hocket.Reply? reply The chosen agent's reply; `reply.agent` is its name.
---@return hocket.Error?
function router.run(agent, targets, request, opts)
  orchestrate.argument("patterns.router.run", 1, "agent", agent, "table", targets, "string|table", request, "table?", opts)
  if #targets == 0 then error("bad argument #2 to 'router.run' (at least one agent expected)", 2) end
  opts = opts or {}
  local call = setmetatable({ router = { targets = targets, fallback = opts.fallback } }, { __index = opts })
  return orchestrate.call(agent, request, call)
end

return router
