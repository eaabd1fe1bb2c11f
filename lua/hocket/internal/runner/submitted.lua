--- Runs that a script gives to workers: see hocket.submit. In a run that is kept the submission is one effect, so that a replay
--- submits nothing; and waiting is waiting for a signal, so that whoever waits may be parked, and go on elsewhere.
local account = require "hocket.internal.models.account"
local component = require "hocket.internal.base.component"
local effects = require "hocket.internal.base.effects"
local ended = require "hocket.internal.run.ended"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local labels = require "hocket.internal.base.labels"
local messages = require "hocket.internal.run.messages"
local policy = require "hocket.internal.run.policy"
local runs = require "hocket.internal.run.run"
local idle_wait = require "hocket.internal.base.idle_wait"
local signals = require "hocket.internal.run.signals"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"
local cancel = require "hocket.internal.base.lazy" "hocket.internal.run.cancel"
local retry = require "hocket.internal.base.lazy" "hocket.internal.pool.retry"
local wire = require "hocket.internal.base.lazy" "hocket.internal.pool.wire"

local submitted = {}

local SUBMIT = "hocket.internal.runner.submission"
--- No time of day is later, in seconds since 1970: 9999-12-31.
local LAST = 253402300800
--- Seconds between two looks, where nothing tells of the end.
local AGAIN = 0.2

-- What the options are; those of the run go on to it.
local known = { pool = "string", at = "number", project = "string", model = "string", models = "table", variables = "table", approve = "any",
  files = "table", max_turns = "number", budget = "table", timeout = "number", jobs = "number", network = "any", sandbox = "string",
  prices = "table", context = "table" }
local of_submission = { pool = true, at = true, project = true }

local function is_count(v)
  return math.tointeger(v) ~= nil and v >= 1
end

-- What a worker would refuse when it begins is an error at once, for whoever submits it.
local values = {
  at = { "seconds since 1970 expected", function(v) return v >= 0 and v < LAST end },
  timeout = { "seconds above 0 expected", function(v) return v > 0 end },
  max_turns = { "a whole number from 1 on expected", is_count },
  jobs = { "a whole number from 1 on expected", is_count },
}

local function check_values(opts)
  for key, value in pairs(values) do
    if opts[key] and not value[2](opts[key]) then error(("bad option '%s' for 'submit' (%s, got %s)"):format(key, value[1], opts[key]), 4) end
  end
  local ok, wrong = true, nil
  if opts.budget then ok, wrong = account.read(opts.budget) end
  if not ok then error(("bad option 'budget' for 'submit' (%s)"):format(wrong), 4) end
end

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
  check_values(opts)
  for _, file in pairs(opts.files or {}) do
    if type(file) ~= "string" then error(("bad option 'files' for 'submit' (a list of paths expected, got a %s in it)"):format(type(file)), 3) end
  end
end

-- What it is to begin with: what the script says, and what binds whoever asks, which that can only narrow.
local function options_of(opts, run)
  local options, context = {}, fiber.context()
  for key, value in pairs(opts) do options[key] = not of_submission[key] and value or nil end
  local rules, err = policy.going_along(run, context and context.step and context.step.rules)
  if not rules then return nil, err end
  if rules[1] then options.rules = json.array(rules) end
  if not run then return options end
  options.consent, options.memory_of, options.mode = run.options.consent, run.options.memory_of, run.options.mode
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

-- What the store has of its end; false: it has not ended, and the caller that gets a signal when it does.
local function look(id)
  local row, err = store.find(id)
  if not row then return nil, err end
  if not ended.states[row.state] then return false, row.caller end
  local text
  text, err = ended.result(id)
  if text then return json.decode(text) end
  if err then return nil, err end
  return { ok = false, text = "", error = { code = row.state == "cancelled" and "cancelled" or "state", message = "the run is " .. row.state } }
end

-- The same of a store that may be away, and comes back.
local function look_for(id, seconds)
  local due = seconds and fiber.now() + seconds
  while true do
    local result, more = look(id)
    if result ~= nil or not more.retryable then return result, more end
    if due and fiber.now() >= due then return false end
    fiber.sleep(AGAIN)
  end
end

local function timed_out(id, timeout)
  return nil, { code = "timeout", message = ("run %s has not ended within %g seconds"):format(id, timeout) }
end

local function poll(id, timeout)
  local due = timeout and fiber.now() + timeout
  while true do
    local result, err = look_for(id, due and due - fiber.now())
    if result ~= false then return result, err end
    if due and fiber.now() >= due then return timed_out(id, timeout) end
    fiber.sleep(AGAIN)
  end
end

local function look_here(self, seconds)
  return effects.run("submitted", { id = self.id }, function() return look_for(self.id, seconds) end, { reads = true })
end

-- Its caller gets the end as a signal, once: the signal says that it has ended, the store how. A fork of the caller has another name,
-- gets no signal and polls. A run that has ended already needs no signal.
---@return table|false|nil result false: the end is said.
local function wait_for_end(self, run, seconds)
  local name, result, more = "run " .. self.id, false, run.id
  if not messages.of(run).waiting[name] then result, more = look_here(self, seconds) end
  if result then messages.settle(run, name) end
  if result ~= false then return result, more end
  local function found()
    result, more = look_here(self)
    return result ~= false or nil
  end
  local said, err = idle_wait("run", signals.take, run, name, seconds, more ~= run.id and found or nil)
  if said == nil then return nil, err end
  return result, more
end

local function hear(self, timeout)
  if not self.heard then
    local result, err = wait_for_end(self, runs.current(), timeout)
    if result == nil and err.code == "timeout" then return timed_out(self.id, timeout) end
    if result ~= false then return result, err end
    self.heard = true
  end
  return effects.run("submitted", { id = self.id }, function() return poll(self.id) end, { reads = true })
end

-- Seconds, by themselves or as an option.
local function timeout_of(opts)
  if opts == nil then return nil end
  local seconds = opts
  if type(opts) == "table" then
    for key in pairs(opts) do
      if key ~= "timeout" then error(("unknown option '%s' for 'wait' (there is: timeout)"):format(tostring(key)), 3) end
    end
    seconds = opts.timeout
  end
  if seconds ~= nil and not (type(seconds) == "number" and seconds >= 0) then
    error(("bad argument #1 to 'wait' (seconds from 0 on expected, got %s)"):format(tostring(seconds)), 3)
  end
  return seconds
end

--- Waits for its end. In a run that is kept this may take days: the run is parked meanwhile.
---@async
---@param opts? number|{timeout?: number} Seconds.
---@return {text: string, run: string, finish: string, usage: table}? result As `hocket run --json` has it.
---@return hocket.Error? err
function Submitted:wait(opts)
  local timeout, result, err = timeout_of(opts), self.result, nil
  if not result and self.caller then result, err = hear(self, timeout) elseif not result then result, err = poll(self.id, timeout) end
  if not result then return failed(err) end
  self.result = result
  if result.ok then return result end
  return failed { code = result.error and result.error.code or "state", message = result.error and result.error.message or "it has failed" }
end

-- Waits for a store that is away. Where an answer was lost, or a process that is gone had begun it (`again`), what is cancelled is so by us.
local function end_it(id, again)
  return retry(function()
    local how, err, state = cancel.run(id)
    if not how and again and state == "cancelled" then return state end
    again = true
    return how, err
  end)
end

-- A fork has its parent's handles, whose runs the parent goes on to wait for.
local function end_one(self, again)
  if not self.caller then return cancel.run(self.id) end
  local own, err = wire.is_call_of(self.id, self.caller)
  if own then return end_it(self.id, again) end
  return nil, err or { code = "denied", message = ("run %s was submitted by another run, of which this one is a fork or a copy"):format(self.id) }
end

--- Ends it for good, whoever has it; in a fork of the run that submitted it not.
---@async
---@return boolean? told
---@return hocket.Error?
function Submitted:cancel()
  local ok, err = effects.run("cancel", { id = self.id }, function() return end_one(self, false) end, { again = function() return end_one(self, true) end })
  if ok then return true end
  return failed(err)
end

-- A process that is gone had begun it: the id says whether it came to that. Files that it needed then may be gone.
local function once_more(id, submit)
  return function()
    local row, err = retry(store.find, id)
    if row then return id end
    if err.code ~= "not_found" then return nil, err end
    return submit()
  end
end

-- In a run that is kept the id is known to its log alone: what is there of it was put by an attempt whose answer was lost.
local function put(args)
  local made, err = require("hocket.internal.runner.submission").submit(args)
  if made or args.waits and err.code == "exists" then return args.id end
  return nil, err
end

--- See hocket.submit.
---@async
function submitted.submit(target, input, opts)
  opts = opts or {}
  check(target, input, opts)
  local why = component.missing(SUBMIT)
  if why then return failed { code = "unsupported", message = "hocket.submit: " .. why } end
  local run, id, kept = runs.current(), system.run_id(), effects.here() ~= nil
  local options, wrong = options_of(opts, run)
  if not options then return failed(wrong) end
  local args = { id = id, target = target, input = input, pool = opts.pool, due_ms = opts.at and math.floor(opts.at * 1000) or nil, project = opts.project or run and run.options.project or nil,
    options = options, caller = kept and run and run.id or nil, waits = kept }
  local here = effects.here()
  local cuts = policy.cuts(here)
  local function submit()
    if policy.cuts(here) ~= cuts then options.consent = false end -- what the run was allowed counts no more
    return put(args)
  end
  local made, err = effects.run("submit", { target = target, input = input or "", pool = opts.pool or "" }, submit, { again = once_more(id, submit) })
  if not made then return failed(err) end
  return setmetatable({ id = made, caller = args.caller }, Submitted)
end

return submitted
