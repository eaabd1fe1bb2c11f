--- Whether the rules that bind an agent can match a tool. Every agent at work comes by here before its first model call, whoever
--- starts it: the command line, a server, a script, C. Conditions on arguments are checked by permissions as well, which have
--- the tools themselves.
local agents = require "hocket.agent"
local at_key = require "hocket.internal.base.lazy" "hocket.internal.agents.at_key"
local approval_targets = require "hocket.internal.agents.approval_targets"
local facts_of = require "hocket.internal.agents.facts"
local declared = require "hocket.internal.base.lazy" "hocket.internal.agents.declared"
local policy = require "hocket.internal.run.policy"
local sources = require "hocket.internal.base.sources"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local rule_check = {}

local function dir_of(path)
  return path and (path:match "^(.*)/[^/]*$" or ".")
end

-- ---- Names -----------------------------------------------------------------------------------------

-- Whether all tools are known: of a run that begins with an agent's file. Scripts bring tools of their own.
local function knows_all(step)
  local target = step.run.target
  return target ~= nil and target.kind == "agent" and not target.call and agents.team_of(step.def) == agents.team_of(target.agent)
end

local function names_of(step)
  local opts, options = step.opts, step.run.options
  local names = approval_targets.names(agents.team_of(step.def) or {})
  for _, list in ipairs { step.def.tools, opts.tools or {}, opts.extra_tools or {}, options.tools or {} } do names:add(list) end
  names:add_servers(step.def.mcp)
  names:add_servers(options.mcp)
  return names
end

-- Whether scripts make a tool known by that name; `or_made`: or make anything of that name.
local function is_declared(dirs, glob, names, or_made)
  local known = declared.new()
  for _, dir in ipairs(dirs) do declared.beside(known, dir) end
  names:add(sorted_keys(known.tools))
  if names:have(glob) then return true end
  local made = "%f[%w_]name%s*=%s*[\"']" .. glob:gsub("%W", "%%%0") .. "[\"']"
  for _, text in pairs(or_made and known.texts or {}) do
    if text:find(made) then return true end
  end
  return false
end

-- Scripts are asked last: reading them takes time. Without `names` any name may be a tool's.
local function wrong_with(rule, names, all_known, dirs)
  local wrong
  if all_known then
    wrong = approval_targets.unknown(rule, names)
  elseif names and not names:have(rule.tool) then
    wrong = approval_targets.slip(rule)
  end
  if wrong and not is_declared(dirs, rule.tool, names, not all_known) then return wrong end
  return approval_targets.misfit(rule, all_known and names or nil)
end

-- ---- Agents at work --------------------------------------------------------------------------------

--- What is wrong with the rules of an agent's file.
---@param step hocket.Step
---@return hocket.Error?
function rule_check.of_agent(step)
  local run, def = step.run, step.def
  run.checked_rules = run.checked_rules or {}
  if run.checked_rules[def] then return nil end
  local names, all_known = names_of(step), knows_all(step)
  local dirs = { all_known and dir_of(def.file) or run.target and run.target.dir }
  for _, verdict in ipairs(sorted_keys(def.approve)) do
    for i, rule in ipairs(def.approve[verdict]) do
      local wrong = wrong_with(rule, names, all_known, dirs)
      if wrong then return { code = "agent", message = at_key(def, ("/approve/%s/%d"):format(verdict, i - 1), wrong) } end
    end
  end
  run.checked_rules[def] = true
end

-- Whether its words are those of a program that runs many targets: they were checked when it began, and may be for another target.
local function is_shared(options)
  return options.serve or options.offered or options.eval
end

local function check(layer, names, all_known, dirs)
  for _, rule in ipairs(layer.rules) do
    local wrong = wrong_with(rule, names, all_known, dirs)
    if wrong then return { code = "invalid", message = ("%s: %s"):format(layer.name, wrong) } end
  end
end

--- What is wrong with the words of the operator, and of whoever started the run. Layers that came along, with a run that was submitted or is an agent's call, were checked where they were said.
---@param step hocket.Step
---@param layers hocket.PolicyLayer[]
---@return hocket.Error?
function rule_check.of_run(step, layers)
  local run, came_along = step.run, {}
  local options, dirs = run.options, { run.target and run.target.dir }
  if run.call then return nil end
  for _, layer in ipairs(options.rules or {}) do came_along[layer] = true end
  for _, layer in ipairs(layers) do
    local all_known = layer.kind == "run" and not is_shared(options) and knows_all(step)
    local wrong = #layer.rules > 0 and not came_along[layer] and check(layer, names_of(step), all_known, dirs)
    if wrong then return wrong end
  end
end

-- ---- Before one is at work -------------------------------------------------------------------------

local function of_reachable(run, def, team, seen)
  seen[def] = true
  local wrong = def.approve and rule_check.of_agent { run = run, def = def, opts = {} }
  if wrong then return wrong end
  for _, edge in ipairs(facts_of(def).edges) do
    local other = rawget(team, edge.to)
    wrong = other and not seen[other] and of_reachable(run, other, team, seen)
    if wrong then return wrong end
  end
end

--- What is wrong with the rules that a run begins with: the words, and those of each agent that it can reach.
---@param run hocket.Run
---@param target {kind: string, path?: string, agent?: hocket.Agent, call?: table}
---@return hocket.Error?
function rule_check.of_target(run, target)
  if target.kind == "script" then return rule_check.early(run.options, { target.path }) end
  if target.kind ~= "agent" or target.call then return nil end
  local layers, err = policy.of_run(run.options)
  if not layers then return err end
  return rule_check.of_run({ run = run, def = target.agent, opts = {} }, layers) or of_reachable(run, target.agent, agents.team_of(target.agent), {}) or nil
end

--- What is wrong with words before anything begins: the ones that will hold for all runs of a program that serves, or for a script.
---@param options {approve?: string|string[]} Of the program, or of one run.
---@param targets? string[] What will be run; nil: anything, so that no name can be wrong.
---@return hocket.Error?
function rule_check.early(options, targets)
  if is_shared(options) then return nil end
  local layers, err = policy.of_run { approve = options.approve }
  if not layers then return err end
  local names, dirs = approval_targets.names {}, {}
  for i, path in ipairs(targets or {}) do
    local info = sources.info(path)
    dirs[i] = info and info.kind == "directory" and path or dir_of(path)
  end
  for _, layer in ipairs(layers) do
    local wrong = check(layer, targets and names, false, dirs)
    if wrong then return wrong end
  end
end

return rule_check
