--- What is said of runs that nothing limits: those of agents whose worst case is large (agents/bounds.lua), and those of scripts, whose
--- calls nobody can count beforehand.
local unlimited = {}

--- Called with each such warning and the run's id, where somebody has set it: a worker, which shows no events of its runs.
---@type fun(run: string, message: string)?
unlimited.on_warning = nil

--- A warning with what to say to the program that starts the run.
---@param message string
---@return string
function unlimited.advise(message)
  return message .. "; or say --max-cost, --max-tokens or --timeout"
end

--- Of a script.
---@param path string
---@param ran? boolean It has asked a model, and no limit held.
---@return string
function unlimited.of_script(path, ran)
  if not ran then return ("only budgets and timeouts in its agents' files and its code can limit the script %s: to limit each run, say --max-cost, --max-tokens or --timeout"):format(path) end
  return unlimited.advise(("nothing limits the cost, calls or time of the script %s (give its agents a budget, as in hocket.run(agent, input, {budget = {turns = 200}}), or a timeout)"):format(path))
end

---@param run hocket.Run
---@param message string
function unlimited.warn(run, message)
  run:emit("warning", { message = message })
  if unlimited.on_warning then unlimited.on_warning(run.id, message) end
end

return unlimited
