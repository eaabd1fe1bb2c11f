--- Hooks: functions of a project (hooks.lua) or of the host that are asked before and after what a run does.
---
---     a call ──> before: deny, other arguments, an answer in its place, context
---                   └─> rules, approval ──> the call ──> after: another result, context
---
--- They can only narrow: what a hook lets pass is checked as if there were none, and so are the arguments that it gives. What
--- the hooks of a point decided is one effect of the log: a replay decides the same, whatever hooks there are by then. In a run that
--- continues, a hook that was asked and did not answer is asked again. One that raises, runs out of its time or gives what its point does
--- not take denies before a call, and is a warning after it.
local caught = require "hocket.internal.base.caught"
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local json = require "hocket.json"
local kept = require "hocket.internal.core.kept"
local pack = require "hocket.internal.base.pack"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local suggest = require "hocket.internal.base.lazy" "hocket.internal.base.suggest"
local truncate = require "hocket.internal.base.truncate"

local hooks = {}

--- Seconds of a hook that says no other time.
hooks.SECONDS = 10
--- Bytes of a text that events show.
local SHOWN = 500

--- Bytes of what a hook gives. An answer may be as long as the longest result that it replaces (28 MiB, from an MCP server): else a long result
--- would pass a hook that redacts.
local MOST, MOST_ANSWER = 1 << 20, 32 << 20

--- What a hook may give, by point.
hooks.points = {
  before_run = { deny = true, arguments = true, answer = true, context = true },
  after_run = { answer = true },
  before_agent = { deny = true, arguments = true, answer = true, context = true },
  after_agent = { answer = true, context = true },
  before_model = { deny = true, arguments = true, answer = true, context = true },
  after_model = { answer = true },
  before_tool = { deny = true, arguments = true, answer = true, context = true },
  after_tool = { answer = true, context = true },
  before_compaction = { deny = true, answer = true, context = true },
  after_compaction = {},
}

---@class hocket.Hook
---@field run fun(event: table): table?
---@field match? string[] Globs (`*`) of names: of tools, models, agents.
---@field timeout number Seconds.
---@field from string For people: where it stands.
---@field gone? boolean The host has taken it back.
---@field of_program? boolean It is the embedding program's, and not the project's.

---@class hocket.HookDecision
---@field deny? string Why.
---@field arguments? table
---@field answer? string A table is its JSON.
---@field context? string
---@field by? string[] Who decided.
---@field failed? {by: string, message: string}[]

-- ---- Reading ----------------------------------------------------------------------------------------

local function is_time(v)
  return type(v) == "number" and v > 0 and v <= 3600
end

local function read_match(value)
  local list = type(value) == "string" and { value } or value
  if type(list) ~= "table" or #list == 0 then return nil end
  for _, one in ipairs(list) do
    if type(one) ~= "string" or one == "" then return nil end
  end
  return list
end

local of_one = { run = true, match = true, timeout = true }

-- One entry of a point: a function, or {run, match, timeout}.
local function read_one(point, value, seconds, from)
  local one = type(value) == "function" and { run = value } or value
  if type(one) ~= "table" or type(one.run) ~= "function" then return nil, ("%s: a function, or a table with 'run' is expected"):format(point) end
  for key in pairs(one) do
    if not of_one[key] then return nil, ("%s: unknown key '%s' (run, match, timeout)"):format(point, tostring(key)), key end
  end
  local match = one.match ~= nil and read_match(one.match)
  if match == nil then return nil, ("%s: match: a name, or a list of names is expected"):format(point), "match" end
  if one.timeout ~= nil and not is_time(one.timeout) then return nil, ("%s: timeout: seconds above 0 are expected, 3600 at most"):format(point), "timeout" end
  return { run = one.run, match = match or nil, timeout = one.timeout or seconds, from = from }
end

local function is_list(value)
  return type(value) == "table" and value.run == nil
end

--- What to say of a key that is none.
---@param key any
---@return string
function hooks.unknown_key(key)
  local near = suggest(tostring(key), sorted_keys(hooks.points))
  return ("unknown key '%s'%s"):format(tostring(key), near and (": did you mean '%s'?"):format(near) or " (before_ or after_ run, agent, model, tool, compaction; timeout)")
end

--- Reads what hooks.lua returns, or what a host gives: hooks by point.
---@param value any
---@param from string For people: where they stand.
---@return table<string, hocket.Hook[]>? by_point
---@return string? wrong
---@return {key?: any, i?: integer, inner?: any}? at What it is about: the key, the place in its list, the key of that entry.
function hooks.read(value, from)
  if type(value) ~= "table" then return nil, "it has to return a table of hooks", {} end
  if value.timeout ~= nil and not is_time(value.timeout) then return nil, "timeout: seconds above 0 are expected, 3600 at most", { key = "timeout" } end
  local by_point = {}
  for _, key in ipairs(sorted_keys(value)) do
    local entries = is_list(value[key]) and value[key] or { value[key] }
    if key ~= "timeout" and not hooks.points[key] then return nil, hooks.unknown_key(key), { key = key } end
    for i, entry in ipairs(key ~= "timeout" and entries or {}) do
      local one, wrong, inner = read_one(key, entry, value.timeout or hooks.SECONDS, from)
      if not one then return nil, wrong, { key = key, i = i, inner = inner } end
      by_point[key] = by_point[key] or {}
      table.insert(by_point[key], one)
    end
  end
  return by_point
end

-- ---- Asking one -------------------------------------------------------------------------------------

-- A value of its own, of data.
local function copy(value)
  return pack.decode(pack.encode(value))
end

-- The same of what a hook gave, or what of it is too long.
local function copy_within(said)
  local own = {}
  for key, value in pairs(said) do
    local most = key == "answer" and MOST_ANSWER or MOST
    local packed = (type(value) ~= "string" or #value <= most) and pack.encode(value)
    if not packed or #packed > most + 16 then return nil, ("%s: it is longer than %d MiB"):format(key, most >> 20) end
    own[key] = pack.decode(packed)
  end
  return own
end

local function fits_glob(name, glob)
  local pattern = glob:gsub("[%^%$%(%)%%%.%[%]%+%-%?]", "%%%0"):gsub("%*", ".*")
  return name:find("^" .. pattern .. "$") ~= nil
end

local function is_for(hook, subject)
  if hook.gone then return false end
  for _, glob in ipairs(hook.match or { "*" }) do
    if fits_glob(subject, glob) then return true end
  end
  return false
end

local kinds = {
  deny = function(v) return type(v) == "string" or v == true, "a text" end,
  arguments = function(v) return type(v) == "table", "a table" end,
  answer = function(v) return type(v) == "string" or type(v) == "table", "a text or a table" end,
  context = function(v) return type(v) == "string", "a text" end,
}

-- What is wrong with what a hook gave.
local function misfit(point, said)
  if type(said) ~= "table" then return ("it returned a %s, and not a table"):format(type(said)) end
  for key, value in pairs(said) do
    if not hooks.points[point][key] then return ("%s takes no '%s'"):format(point, tostring(key)) end
    local ok, expected = kinds[key](value)
    if not ok then return ("%s: %s expected"):format(key, expected) end
  end
end

-- Calls code of a project or the host in this time. Returns true and what it returned; or false and what was wrong.
---@async
local function in_time(seconds, fn)
  local function limited()
    fiber.limit_code(seconds)
    local value, err = fn()
    if value == nil and err ~= nil then error(err, 0) end
    return value
  end
  local ok, value, err = pcall(flow.timeout, seconds, limited)
  if not ok and (fiber.cancelled() or caught.no_memory(value)) then error(value, 0) end
  if not ok then return false, caught.error(value).message end
  if err and err.expired == limited then return false, ("it was not done within %g seconds"):format(seconds) end
  return true, value
end
hooks.in_time = in_time

--- Calls what stands between hooks: those behind it are asked of what it raises, too.
---@async
---@param fn fun(...): any, any
---@return any value
---@return any err
---@return {[1]: any}? raised What it raised; `err` has it as an error.
function hooks.attempt(fn, ...)
  local ok, value, err = pcall(fn, ...)
  if ok then return value, err, nil end
  if fiber.cancelled() or caught.no_memory(value) then error(value, 0) end
  return nil, caught.error(value), { value }
end

local function ask_one(hook, point, event)
  local ok, said = in_time(hook.timeout, function() return hook.run(event()) end)
  if not ok then return nil, said end
  if said == nil or said == true then return {} end
  local wrong = misfit(point, said)
  if wrong then return nil, wrong end
  local data, value, too_long = pcall(copy_within, said)
  if not data then return nil, "what it returns has to be data" end
  return value, too_long
end

local function is_before(point)
  return point:sub(1, 7) == "before_"
end

--- The input of a run or an agent as its hooks leave it: with their `arguments` and `context`.
---@param said hocket.HookDecision
---@param input? string
---@param fits? fun(input: string): any, hocket.Error? Of one that a hook gives.
---@return string? input
---@return string? wrong
function hooks.input_of(said, input, fits)
  local given = said.arguments
  for name in pairs(given or {}) do
    if name ~= "input" then return nil, ("arguments: there is no '%s' (input)"):format(tostring(name)) end
  end
  if given and given.input ~= nil then
    input = given.input
    if type(input) ~= "string" then return nil, "arguments: input: a text is expected" end
    local ok, why = true, nil
    if fits then ok, why = fits(input) end
    if not ok then return nil, why.message end
  end
  if said.context then input = input and ("%s\n\n%s"):format(input, said.context) or said.context end
  return input
end

-- As texts: so the order of members is the same in every replay.
local function as_json(value)
  return next(value) == nil and "{}" or json.encode(value)
end

local function as_text(value)
  return type(value) == "table" and as_json(value) or value
end

local function add(decision, said, hook)
  if next(said) == nil then return end
  decision.by = decision.by or {}
  table.insert(decision.by, hook.from)
  if said.deny then decision.deny = said.deny == true and "no reason was given" or said.deny end
  decision.arguments = said.arguments and as_json(said.arguments) or decision.arguments
  decision.answer = said.answer ~= nil and as_text(said.answer) or decision.answer
  if said.context then decision.context = decision.context and decision.context .. "\n" .. said.context or said.context end
end

local function fail(decision, point, by, message)
  decision.failed = decision.failed or {}
  table.insert(decision.failed, { by = by, message = message })
  if is_before(point) then decision.deny = ("the hook of %s failed: %s"):format(by, message) end
end

-- Each sees what those before it have changed. A denial and an answer end it before a call; after it the next hook sees the answer.
---@async
local function decide(list, point, subject, event)
  local decision = {}
  if not list then
    fail(decision, point, "another process", "it was asked before the run was continued here, and there is none here")
    return decision
  end
  for _, hook in ipairs(list) do
    if is_for(hook, subject) then
      local said, wrong = ask_one(hook, point, function() return event(decision) end)
      if said then add(decision, said, hook) else fail(decision, point, hook.from, wrong) end
      if decision.deny or is_before(point) and decision.answer ~= nil then break end
    end
  end
  return decision
end

-- ---- The hooks of a run -------------------------------------------------------------------------------

---@class hocket.Hooks
---@field package run hocket.Run
---@field package by_point table<string, hocket.Hook[]>
local Hooks = {}
Hooks.__index = Hooks

--- The hooks of a run, to add to; it has none so far where nobody asked.
---@param run hocket.Run
---@return hocket.Hooks
function hooks.of(run)
  run.hooks = run.hooks or setmetatable({ run = run, by_point = {} }, Hooks)
  return run.hooks
end

---@param by_point table<string, hocket.Hook[]> See hooks.read.
function Hooks:add(by_point)
  for point, list in pairs(by_point) do
    local mine = self.by_point[point] or {}
    self.by_point[point] = table.move(list, 1, #list, #mine + 1, mine)
  end
end

--- Those of the embedding program alone.
---@return hocket.Hooks
function Hooks:of_program()
  local by_point = {}
  for point, list in pairs(self.by_point) do
    for _, hook in ipairs(list) do
      if hook.of_program then
        by_point[point] = by_point[point] or {}
        table.insert(by_point[point], hook)
      end
    end
  end
  return setmetatable({ run = self.run, by_point = by_point }, Hooks)
end

--- The agent at work, for what a hook learns.
---@return string?
function Hooks:agent()
  local context = fiber.context()
  local step = type(context) == "table" and context.step
  return step and step.def.name or nil
end

--- Whether anybody is asked at a point about this name.
---@param point string
---@param subject string
---@return boolean
function Hooks:has(point, subject)
  for _, hook in ipairs(self.by_point[point] or {}) do
    if is_for(hook, subject) then return true end
  end
  return false
end

-- What a hook does itself asks no hooks: it would not end.
local function is_inside()
  local context = fiber.context()
  return type(context) == "table" and context.in_hook == true
end

local function inside(fn, ...)
  local outer = fiber.context()
  fiber.set_context(setmetatable({ in_hook = true }, { __index = outer or nil }))
  local left <close> = setmetatable({}, { __close = function() fiber.set_context(outer) end })
  return (function(...) return ... end)(fn(...))
end

-- The event for each hook: a copy, with what the hooks before have decided.
local function maker(self, point, about, lazily)
  return function(decision)
    local event = copy(about)
    event.point, event.run = point, self.run.id
    if decision.arguments then event.arguments = json.decode(decision.arguments) end
    if decision.answer then event.result = decision.answer end
    if lazily then setmetatable(event, { __index = function(_, name) return lazily[name] and lazily[name]() end }) end
    return event
  end
end

local decisions = { "deny", "answer", "arguments", "context" }

-- Where what is decided may have words of an agent's answer.
local quoting = { before_agent = true, after_agent = true, before_model = true, after_model = true }

-- Events of what was decided. What failed before a call is the reason of its denial.
local function tell(point, subject, decision, emit)
  local quotes = quoting[point] or false
  for _, one in ipairs(decision.failed or {}) do
    emit("warning", { message = ("the hook of %s failed at %s of %s: %s"):format(one.by, point, subject, one.message) }, quotes)
  end
  for _, what in ipairs(decisions) do
    if decision[what] ~= nil then
      emit("hook_decided", { point = point, of = subject, decision = what, value = truncate(decision[what], SHOWN), by = decision.by and json.array(decision.by) or nil }, quotes)
    end
  end
end

-- A value as a text that is the same in every replay: members by name.
local function written(value)
  if type(value) ~= "table" then return json.encode(value) end
  local parts = {}
  for i, key in ipairs(sorted_keys(value)) do parts[i] = json.encode(tostring(key)) .. ":" .. written(value[key]) end
  return "{" .. table.concat(parts, ",") .. "}"
end

local function digest_of(about)
  local ok, text = pcall(written, about)
  if not ok and caught.no_memory(text) then error(text, 0) end
  return effects.asked(ok and text or "?")
end

-- What is asked, as the log has it; nil: nobody is asked.
local function question(self, point, subject, about)
  if is_inside() then return nil end
  local replays = kept.is_replay()
  if not replays and not self:has(point, subject) then return nil end
  local fields = { point = point, of = subject, asked = digest_of(about) }
  if replays and not effects.comes("hook", fields) then return nil end
  return fields
end

--- Asks the hooks of a point. nil: there are none, or they let it pass.
---@async
---@param point string
---@param subject string The name of the tool, the model, the agent.
---@param about table What a hook learns: data.
---@param emit fun(type: string, payload: table, quotes: boolean) quotes: it may have words of an agent's answer.
---@param lazily? table<string, fun(): any> More of it, that is made for who looks at it; `about` has a digest of it.
---@return hocket.HookDecision?
function Hooks:ask(point, subject, about, emit, lazily)
  local fields = question(self, point, subject, about)
  if not fields then return nil end
  local list, event = self.by_point[point], maker(self, point, about, lazily)
  local decision = effects.run("hook", fields, function()
    return effects.call_within(inside, decide, list, point, subject, event)
  end, { reads = true, looks = true })
  tell(point, subject, decision, emit)
  if decision.arguments then decision.arguments = json.decode(decision.arguments) end
  return next(decision) ~= nil and decision or nil
end

return hooks
