--- A plan's file as a target: its steps, and the agents that are its owners.
---
--- An agent has a saved plan as a tool: `tools: [plan:NAME]`.
---
---     team: FOLDER in the file     else `agents` beside the file, or one folder up     else the agents that come with hocket
local fs = require "hocket.internal.core.fs"
local agents = require "hocket.agent"
local orchestrate = require "hocket.orchestrate"
local may_be = require "hocket.internal.runner.plan_name"
local plan = require "hocket.patterns.plan"
local problem = require "hocket.internal.agents.problem"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local sources = require "hocket.internal.base.sources"
local tool = require "hocket.tool"
local workflow_file = require "hocket.internal.agents.workflow_file"

local plan_target = {}

--- Why a run of a plan takes no files.
plan_target.NO_FILES = "a plan's steps go by words alone: give files to an agent"

--- The folder of a plan's agents; nil: the built-in ones.
---@param path string Of the plan's file.
---@param about {team?: string}
---@return string?
function plan_target.folder_of(path, about)
  local dir = path:match "^(.*)/[^/]*$" or "."
  if about.team then return fs.is_absolute(about.team) and about.team or dir .. "/" .. about.team end
  for _, folder in ipairs { dir .. "/agents", dir .. "/../agents" } do
    local info = sources.info(folder)
    if info and info.kind == "directory" then return folder end
  end
end

--- The text of a plan's file; nil: it is none.
---@param path string
---@return string?
function plan_target.text(path)
  local text = may_be(path) and sources.read(path, 1 << 20)
  return text and plan.is_file(text) and text or nil
end

-- What the steps say that cannot be, one a line.
local function wrong_steps(about, team)
  local compiled = plan.compile()
  local ok, wrong = compiled:check(about.plan, "the plan does not fit")
  if not ok then return wrong end
  return plan.check(about.plan, sorted_keys(team), nil, team)
end

-- The line of the step that a message names.
local function line_of(about, message)
  local id = message:match "task '([^']+)'" or message:match "the id '([^']+)'"
  return id and about.lines[id] or 1
end

local function problems_of(path, about, wrong)
  local list = {}
  for message in wrong:gsub("^%- ", ""):gmatch "[^\n]+" do
    message = message:gsub("^%- ", "")
    list[#list + 1] = problem.new(path, line_of(about, message), 1, "plan", message)
  end
  return list
end

--- Reads a plan's file with its team. Returns also what is wrong.
---@param path string
---@param text string
---@return {about: table, team: table<string, hocket.Agent>, folder?: string}?
---@return hocket.Problem[] problems
function plan_target.read(path, text)
  local about, problems = plan.parse(text)
  if not about then
    for i, one in ipairs(problems) do problems[i] = problem.new(path, one.line, 1, "plan", one.message) end
    return nil, problems
  end
  local folder = plan_target.folder_of(path, about)
  local ok, team = pcall(function() return folder and agents.load_dir(folder) or agents.built_in() end)
  if not ok then
    return nil, { problem.new(path, 1, 1, "plan", ("its agents cannot be loaded: %s"):format(type(team) == "table" and team.message or tostring(team))) }
  end
  local wrong = wrong_steps(about, team)
  if wrong then return nil, problems_of(path, about, wrong) end
  return { about = about, team = team, folder = folder }, problems
end

-- The folders of functions that checks name: those of the owners' files.
local function function_dirs(about, team)
  local dirs = {}
  for _, task in ipairs(about.plan.tasks) do
    local file = type(task.check) == "table" and task.check["function"] and team[task.specialist].file
    if file then dirs[#dirs + 1] = file:match "^(.*)/[^/]*$" or "." end
  end
  return dirs
end

--- The folders of functions that a plan's checks name, by its file.
---@param path string
---@return string[]
function plan_target.function_dirs(path)
  local text = plan_target.text(path)
  local made = text and plan_target.read(path, text)
  return made and function_dirs(made.about, made.team) or {}
end

--- What it stands for: a file, or the name of a saved plan (`plans/NAME.md`); nil: it is no plan.
---@param path string
---@return table? found
---@return hocket.Error?
function plan_target.find(path)
  path = path:find "^[%w_-]+$" and not sources.info(path) and workflow_file.within({ "plans" }, path, "plan") or path
  local text = plan_target.text(path)
  if not text then return nil end
  local made, problems = plan_target.read(path, text)
  if not made then return nil, { code = "agent", message = problem.explain(problems) } end
  made.function_dirs = function_dirs(made.about, made.team)
  return { kind = "plan", path = path, dir = path:match "^(.*)/[^/]*$" or ".", plan = made }
end

-- The keys of the file that its plan runs with.
local function options_of(made)
  return { team = made.team, on_failure = made.about.plan.on_failure, approved = made.about.approve_plan ~= true }
end

--- Carries it out. `input`: the request, which each step has in its context.
---@async
---@param found table
---@param input? string
---@return table? reply
---@return hocket.Error? err
function plan_target.run(found, input)
  return require("hocket.patterns.planner").carry_out(found.plan.about.plan, options_of(found.plan), input)
end

-- ---- As a tool ----------------------------------------------------------------------------------

local parameters = { type = "object", additionalProperties = false,
  properties = { request = { type = "string", description = "What is asked, in words: each step reads it" } } }

-- One call carries the plan out, with the rights and the budget of its caller. A person has to trust its file, as that of a draft.
local function carry_out(env, path, request)
  local ok, refused = orchestrate.admit_text(path)
  if not ok then return nil, refused end
  local found, err = plan_target.find(path)
  if not found then return nil, err or { code = "agent", message = path .. ": no plan" } end
  local options = options_of(found.plan)
  options.model, options.allowed = env.model, env.allowed
  local reply, wrong = require("hocket.patterns.planner").carry_out(found.plan.about.plan, options, request)
  if not reply then return nil, wrong end
  if reply.finish == "declined" then return nil, { code = "declined", message = "the user did not approve the plan, and nothing was done" } end
  return reply.text
end

--- The tool of `tools: [plan:NAME]`.
---@param env table
---@param set string
---@return hocket.Tool?
---@return hocket.Error?
function plan_target.tool(env, set)
  local _, name = workflow_file.saved(set)
  local path = name and workflow_file.named(env.agent, name, "plan")
  local text = path and plan_target.text(path)
  local about, problems = nil, { { message = "there is no such plan" } }
  if text then about, problems = plan.parse(text) end
  if not about then return nil, { code = "agent", message = ("%s: '%s': %s"):format(env.agent.file or env.agent.name, set, problems[1].message) } end
  local what = about.description or about.request and "A plan for: " .. about.request or "The plan " .. about.name
  return tool.new { name = name, description = ("%s. Its steps have owners, and are carried out in one call."):format(what), parameters = parameters, steps = true, fence = { "result", name },
    run = function(args) return carry_out(env, path, args.request) end }
end

return plan_target
