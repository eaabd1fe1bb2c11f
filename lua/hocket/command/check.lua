--- `hocket check PATH…`: agents and scripts, without a model call.
local agents = require "hocket.agent"
local fs = require "hocket.fs"
local json = require "hocket.json"
local problem = require "hocket.agent.problem"

local function check_script(path, problems)
  local text, err = fs.read(path)
  if not text then
    problems[#problems + 1] = problem.new(path, 1, 1, "nothing", err.message)
    return
  end
  local ok, wrong = load(text:gsub("^#![^\n]*", "", 1), "@" .. path, "t")
  if not ok then
    local line, message = wrong:match(":(%d+): (.*)$")
    problems[#problems + 1] = problem.new(path, tonumber(line) or 1, 1, "script", message or wrong)
  end
end

local function scripts_below(dir, out)
  for _, name in ipairs(fs.list(dir) or {}) do
    local path = dir .. "/" .. name
    if name:sub(-1) == "/" and name:sub(1, 1) ~= "." then
      scripts_below(path:sub(1, -2), out)
    elseif name:sub(-4) == ".lua" then
      out[#out + 1] = path
    end
  end
end

-- A path is a script, an agent file, or a directory with either or both.
local function check_path(path, result)
  local info = fs.info(path)
  path = path:gsub("(.)/+$", "%1")
  if path:find "%.lua$" then
    result.scripts = result.scripts + 1
    return check_script(path, result.problems)
  end
  local scripts = {}
  if info and info.kind == "directory" then scripts_below(path, scripts) end
  for _, script in ipairs(scripts) do check_script(script, result.problems) end
  result.scripts = result.scripts + #scripts
  local team, problems = agents.read { path }
  for _ in pairs(team) do result.agents = result.agents + 1 end
  local nothing = next(team) == nil and #problems == 1 and problems[1].code == "nothing"
  if nothing and #scripts > 0 then return end
  table.move(problems, 1, #problems, #result.problems + 1, result.problems)
end

---@param args {paths: string[]}
return function(args)
  require "hocket.patterns"
  local result = { agents = 0, scripts = 0, problems = json.array {} }
  for _, path in ipairs(args.paths) do check_path(path, result) end
  if problem.any_error(result.problems) then
    return nil, { code = "agent", message = agents.explain(result.problems) }, result
  end
  result.text = ("%d agent%s and %d script%s are well"):format(result.agents, result.agents == 1 and "" or "s",
    result.scripts, result.scripts == 1 and "" or "s")
  return result
end
