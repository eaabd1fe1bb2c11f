--- `hocket plan`: the plan of a run as a file that a person can edit and run again; and the plans that a folder has.
local fs = require "hocket.fs"
local json = require "hocket.json"
local plan = require "hocket.patterns.plan"
local plan_target = require "hocket.internal.runner.plan_target"
local sources = require "hocket.internal.base.sources"
local stored = require "hocket.internal.commands.stored"
local system = require "hocket.internal.core.system"
local trim = require "hocket.internal.base.trim"
local trust = require "hocket.internal.base.lazy" "hocket.internal.runner.trust"

--- Where saved plans are, in the current folder.
local FOLDER = "plans"

-- ---- The plan of a run ----------------------------------------------------------------------------

-- What its records tell of its plan: the tasks by id, each with the event of its plan, their order, and how it ended.
local function planned(id)
  local tasks, order, ended = {}, {}, nil
  local ok, err = stored.each(id, function(record)
    local kind = record.json:match '"type":"(plan_%a+)"'
    local event = kind and json.decode(record.json)
    if type(event) ~= "table" then return end
    if event.parent then return end -- parts of a facilitator's task
    if event.type == "plan_finished" then ended = event end
    for _, task in ipairs(event.type == "plan_started" and event.tasks or {}) do
      if not tasks[task.id] then order[#order + 1] = task end
      tasks[task.id] = { task = task, event = event }
    end
  end)
  if not ok then return nil, err end
  return { tasks = tasks, order = order, ended = ended }
end

local function text_or_nil(value)
  return type(value) == "string" and value or nil
end

-- The plan that ended last, without tasks that a new plan has replaced; before an end, all tasks. And what its events say of it.
local function plan_in(found)
  local made, about = { type = "task", tasks = json.array {} }, {}
  for _, one in ipairs(found.ended and found.ended.tasks or found.order) do
    local known = found.tasks[one.id]
    if known then
      local event = known.event
      made.execution_mode, made.on_failure = made.execution_mode or text_or_nil(event.execution_mode), made.on_failure or text_or_nil(event.on_failure)
      about.approve_plan, about.folder = about.approve_plan or event.approve_plan == true or nil, about.folder or text_or_nil(event.team)
      table.insert(made.tasks, known.task)
    end
  end
  if made.execution_mode ~= "sequential" then made.execution_mode = nil end
  return made, about
end

-- The folder of its agents, as a file in the folder `dir` names it; nil: it finds them by itself.
local function team_of(folder, dir)
  local here = sources.real "."
  local below = here and system.below(folder, here)
  if below and below ~= "" then folder = below end
  local by_default = plan_target.folder_of(dir .. "/plan.md", {})
  if by_default and sources.real(by_default) == sources.real(folder) then return nil end
  return (dir == "." or fs.is_absolute(folder)) and folder or "../" .. folder
end

-- Of a run of a plan's file that file knows the rest; runs of earlier versions had no team in their events.
local function add_source(about, row, dir)
  local found = plan_target.find(row.target or "")
  if found then about.plan.on_failure, about.approve_plan, about.folder = found.plan.about.plan.on_failure, found.plan.about.approve_plan, found.plan.folder end
  about.team = about.folder and team_of(about.folder, dir)
end

local function name_of(text)
  local words = {}
  for word in text:lower():gmatch "%w+" do
    if #words < 4 then words[#words + 1] = word end
  end
  return #words > 0 and table.concat(words, "-") or "plan"
end

-- Why a run's plan is not one to be saved.
local function not_saved(row, found)
  if found.ended and found.ended.finish == "stop" then return nil end
  return ("the plan of run %s did not succeed: only a plan whose steps are all done is saved"):format(row.id)
end

local function write(path, text)
  local made, err = fs.mkdir(FOLDER)
  if not made and not (fs.info(FOLDER) or {}).kind then return nil, err end
  local ok
  ok, err = fs.write(path, text, { exclusive = true })
  if not ok and fs.info(path) then return stored.failure("state", "%s is there already: remove it first, or choose another name", path) end
  return ok, err
end

local function save(row, found, about, name)
  if not name:find "^[%a][%w_-]*$" or #name > 64 then return stored.failure("invalid", "'%s' is no name of a plan: letters, digits, - and _, 64 at most, a letter first", name) end
  local why = not_saved(row, found)
  if why then return stored.failure("state", "%s", why) end
  about.name = name
  local path = ("%s/%s.md"):format(FOLDER, name)
  local ok, err = write(path, plan.to_markdown(about))
  if not ok then return nil, err end
  trust.remember_text(path) -- where it cannot be kept it is asked again
  return { text = ("saved: %s (hocket run --plan %s)"):format(path, path), path = path }
end

-- Of a run of an end user: nobody else gets it as a draft. Text of the owner's own is for all.
local function user_of(row)
  local options = row.options and json.decode(row.options)
  local whose = type(options) == "table" and options.memory_of
  return type(whose) == "string" and whose ~= "owner" and whose or nil
end

local function of_run(args)
  local row, err = stored.named(args.id)
  if not row then return nil, err end
  local found, wrong = planned(row.id)
  if not found then return nil, wrong end
  if not found.order[1] then return stored.failure("not_found", "run %s has carried out no plan", row.id) end
  local about = { name = name_of(row.input or ""), request = row.input ~= "" and row.input or nil, user = user_of(row) }
  local said
  about.plan, said = plan_in(found)
  about.approve_plan, about.folder = said.approve_plan, said.folder
  add_source(about, row, args.save and FOLDER or ".")
  if args.save then return save(row, found, about, args.save) end
  local text = args.yaml and plan.to_yaml(about) or plan.to_markdown(about)
  return { text = trim.right(text), plan = about.plan, run = row.id }
end

-- ---- The plans of a folder ------------------------------------------------------------------------

local function listed()
  local list, lines = json.array {}, {}
  for _, entry in ipairs(sources.list(FOLDER) or {}) do
    local path = FOLDER .. "/" .. entry
    local text = plan_target.text(path)
    local about = text and plan.parse(text)
    if about then
      list[#list + 1] = { name = about.name, path = path, request = about.request, description = about.description, steps = #about.plan.tasks }
      lines[#lines + 1] = ("%s  %d steps%s"):format(path, #about.plan.tasks, about.request and ": " .. about.request:gsub("%s+", " ") or "")
    end
  end
  return { plans = list, text = #lines > 0 and table.concat(lines, "\n") or "there are no plans in " .. FOLDER }
end

---@async
---@param args {id?: string, yaml?: boolean, save?: string}
return function(args)
  if not args.id then return listed() end
  return of_run(args)
end
