--- The targets of cases: found, read and trusted before anything is run, so that what is wrong costs nothing.
local fs = require "hocket.internal.core.fs"
local problem = require "hocket.internal.agents.problem"
local target = require "hocket.internal.runner.target"
local trust = require "hocket.internal.runner.trust"

local targets = {}

-- As it is named by a person, or in a file, beside it; agents that come with hocket have a name alone.
local function path_of(case, named)
  if named then return named end
  local own = case.spec.target
  if fs.is_absolute(own) then return own end
  local path = case.dir == "." and own or case.dir .. "/" .. own
  if not fs.info(path) and own:find "^[%a_][%w_-]*$" then return own end
  return fs.real(path) or path
end

-- A target that several cases have from their file's defaults is reported once, there.
local function place(case, problems, message)
  local own = case.context.places["#" .. case.pointer .. "/target"]
  local line, column = case.context:place(own and case.pointer .. "/target" or case.spec.target and "/defaults/target" or case.pointer)
  for _, one in ipairs(problems) do
    if one.file == case.file and one.line == line and one.message == message then return end
  end
  problems[#problems + 1] = problem.new(case.file, line, column, "target", message)
end

-- What a file names is no word of the person's: its Lua has to be trusted, the script itself as well.
local function admit(found, named, options, model)
  local asked = { kind = found.kind, dir = found.dir, path = found.path, agent = found.agent, named = named and found.named }
  return trust.admit({ options = { trust = options.trust or false, model = model, models = options.models } }, asked, false)
end

local function look(path, named, options, models)
  local found, err = target.find(path)
  if not found then return nil, err end
  for _, model in ipairs(models) do
    local ok, refused = admit(found, named, options, model.model)
    if not ok then return nil, refused end
  end
  return true
end

--- Finds the target of each case: `case.target`. `named` is the person's own word, for all of them.
---@async
---@param list hocket.EvalCase[]
---@param named? string
---@param options table Of the runs.
---@param models {model?: string}[]
---@return hocket.Problem[] problems
---@return hocket.Error? refused Somebody has to trust a folder first.
function targets.find(list, named, options, models)
  require "hocket.internal.runner.builtins"
  local problems, known = {}, {}
  for _, case in ipairs(list) do
    if not named and not case.spec.target then
      place(case, problems, "whom is it for? 'target' in the case, in 'defaults', or --target")
    else
      local path = path_of(case, named)
      if not known[path] then known[path] = table.pack(look(path, named, options, models)) end
      local ok, err = known[path][1], known[path][2]
      if not ok and err.code == "denied" then return problems, err end
      if not ok and #problems < 100 then place(case, problems, err.message) end
      case.target = path
    end
  end
  return problems
end

return targets
