--- Runs that a script gives to workers: see hocket.submit. In a run that is kept the submission is one effect, so that a replay
--- submits nothing; and waiting is waiting for a signal, so that whoever waits may be parked, and go on elsewhere.
local component = require "hocket.internal.base.component"
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local labels = require "hocket.internal.base.labels"
local result_of = require "hocket.internal.run.result_of"
local runs = require "hocket.internal.run.run"
local signals = require "hocket.internal.run.signals"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"
local cancel = require "hocket.internal.base.lazy" "hocket.internal.run.cancel"

local submitted = {}

local SUBMIT = "hocket.internal.runner.submit"
--- No time of day is later, in seconds since 1970: 9999-12-31.
local LAST = 253402300800
--- Seconds between two looks, where nothing tells of the end.
local AGAIN = 0.2

-- What the options are; those of the run go on to it.
local known = { pool = "string", at = "number", project = "string", model = "string", models = "table", variables = "table", approve = "any",
  files = "table", max_turns = "number", budget = "table", timeout = "number", jobs = "number", network = "any", sandbox = "string",
  prices = "table", context = "table" }
local of_submission = { pool = true, at = true, project = true }

local function check(target, input, opts)
  if type(target) ~= "string" then error(("bad argument #1 to 'submit' (a script, an agent's file or a folder expected, got %s)"):format(type(target)), 3) end
  if input ~= nil and type(input) ~= "string" then error(("bad argument #2 to 'submit' (string expected, got %s)"):format(type(input)), 3) end
  if type(opts) ~= "table" then error(("bad argument #3 to 'submit' (table expected, got %s)"):format(type(opts)), 3) end
  for key, value in pairs(opts) do
    local wanted = known[key] or error(("unknown option '%s' for 'submit'"):format(tostring(key)), 3)
    if wanted ~= "any" and type(value) ~= wanted then error(("bad option '%s' for 'submit' (%s expected, got %s)"):format(key, wanted, type(value)), 3) end
    local ok, why = pcall(json.encode, value)
    if not ok then error(("bad option '%s' for 'submit' (%s)"):format(key, why), 3) end
  end
  if opts.at and not (opts.at >= 0 and opts.at < LAST) then
    error(("bad option 'at' for 'submit' (seconds since 1970 expected, got %s)"):format(opts.at), 3)
  end
  for _, file in pairs(opts.files or {}) do
    if type(file) ~= "string" then error(("bad option 'files' for 'submit' (a list of paths expected, got a %s in it)"):format(type(file)), 3) end
  end
end

-- What it is to begin with: what the script says, and what binds whoever asks.
local function options_of(opts, run)
  local options = {}
  for key, value in pairs(opts) do options[key] = not of_submission[key] and value or nil end
  if not run then return options end
  if options.approve == nil then options.approve = run.options.approve end
  local names = run.labels and labels.names(run.labels.bits) or {}
  if #names > 0 then options.labels = json.array(names) end
  return options
end

local function failed(err)
  return nil, system.error(err)
end

---@class hocket.Submitted A run that workers do.
---@field id string
local Submitted = {}
Submitted.__index = Submitted

local over = { done = true, failed = true, cancelled = true }

-- What the store has of its end.
local function look(id)
  local row, err = store.find(id)
  if not row then return nil, err end
  if not over[row.state] then return false end
  local text
  text, err = result_of(id)
  if text then return json.decode(text) end
  if err then return nil, err end
  return { ok = false, text = "", error = { code = row.state == "cancelled" and "cancelled" or "state", message = "the run is " .. row.state } }
end

local function poll(id, timeout)
  local due = timeout and fiber.now() + timeout
  while true do
    local result, err = look(id)
    if result or result == nil and not err.retryable then return result, err end -- a server that is away comes back
    if due and fiber.now() >= due then return nil, { code = "timeout", message = ("run %s has not ended within %g seconds"):format(id, timeout) } end
    fiber.sleep(AGAIN)
  end
end

-- Its caller hears of the end as of a signal.
local function hear(self, timeout)
  if not self.heard then
    local said, err = signals.wait("run " .. self.id, { timeout = timeout })
    if not said then return nil, err end
    self.heard = true
  end
  return effects.run("submitted", { id = self.id }, function() return poll(self.id) end)
end

--- Waits for its end. In a run that is kept this may take days: the run is parked meanwhile.
---@async
---@param opts? number|{timeout?: number} Seconds.
---@return {text: string, run: string, finish: string, usage: table}? result As `hocket run --json` has it.
---@return hocket.Error? err
function Submitted:wait(opts)
  local timeout = type(opts) == "table" and opts.timeout or type(opts) == "number" and opts or nil
  local result, err = self.result, nil
  if not result and self.caller then result, err = hear(self, timeout) elseif not result then result, err = poll(self.id, timeout) end
  if not result then return failed(err) end
  self.result = result
  if result.ok then return result end
  return failed { code = result.error and result.error.code or "state", message = result.error and result.error.message or "it has failed" }
end

--- Ends it for good, whoever has it.
---@async
---@return boolean? told
---@return hocket.Error?
function Submitted:cancel()
  local ok, err = effects.run("cancel", { id = self.id }, function() return cancel(self.id) end)
  if ok then return true end
  return failed(err)
end

-- A process that is gone had begun it: the id says whether it came to that.
local function once_more(id, submit)
  return function()
    if store.find(id) then return id end
    return submit()
  end
end

--- See hocket.submit.
---@async
function submitted.submit(target, input, opts)
  opts = opts or {}
  check(target, input, opts)
  local why = component.missing(SUBMIT)
  if why then return failed { code = "unsupported", message = "hocket.submit: " .. why } end
  local run, id, kept = runs.current(), system.run_id(), effects.here() ~= nil
  local args = { id = id, target = target, input = input, pool = opts.pool, due_ms = opts.at and math.floor(opts.at * 1000) or nil, project = opts.project or run and run.options.project or nil,
    options = options_of(opts, run), caller = kept and run and run.id or nil }
  local function submit()
    local made, err = require "hocket.internal.runner.submit"(args)
    return made and made.id, err
  end
  local made, err = effects.run("submit", { target = target, input = input or "", pool = opts.pool or "" }, submit, { again = once_more(id, submit) })
  if not made then return failed(err) end
  return setmetatable({ id = made, caller = args.caller }, Submitted)
end

return submitted
