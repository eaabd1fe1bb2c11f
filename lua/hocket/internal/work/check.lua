--- Checks: what has to hold before an agent's work counts as done. The runtime makes them, whatever the agent says of its work.
---
---     {command: "make test", exit_code: 0, timeout: 60}   a call of execute_command by the agent itself: its permissions, sandbox and labels
---     {file: "plan.txt"}                                  a file below the run's folder
---     {schema: {type: object}}                            the answer is JSON of this form
---     {function: "checks.roof"}                           a function of a module beside the agent's file
---     {judge: "critic"}                                   another agent; of the key `until` alone
---
---     answer ──> check ──┬─ holds ───────────────> the answer stands
---                 ^      ├─ fails, twice at most ─> the agent reads why, and goes on (`until`: `rounds`, and `same` results in a row)
---                 └──────┘       then ───────────> an error
local agents = require "hocket.agent"
local broker = require "hocket.broker"
local effects = require "hocket.internal.base.effects"
local fence = require "hocket.internal.base.lazy" "hocket.fence"
local functions = require "hocket.internal.agents.functions"
local plan_mode = require "hocket.internal.base.lazy" "hocket.internal.session.plan_mode"
local schema = require "hocket.schema"
local system = require "hocket.internal.core.system"
local tool_calls = require "hocket.internal.base.lazy" "hocket.internal.session.tool_calls"
local tool_effect = require "hocket.internal.base.lazy" "hocket.internal.session.tool_effect"
local truncate = require "hocket.internal.base.truncate"
local workdir = require "hocket.internal.run.workdir"

local check = {}

--- Times that a failed check goes back to the agent.
check.ROUNDS = 2
--- Bytes of a check's output that the agent reads.
local SHOWN = 4000

-- ---- What a check is ------------------------------------------------------------------------------

local function is_text(v) return type(v) == "string" and v:find "%S" ~= nil end

local kinds = {
  command = function(value) return is_text(value) and #value <= 4000, "a command line" end,
  file = function(value) return is_text(value), "a path" end,
  schema = function(value)
    if type(value) ~= "table" then return false, "a JSON Schema" end
    local compiled, err = schema.compile(value)
    return compiled ~= nil, "a JSON Schema (" .. (err and err.message or "") .. ")"
  end,
  ["function"] = function(value) return functions.split(value) ~= nil, "module.function, as in checks.roof" end,
}

local of_command = {
  exit_code = function(v) return math.type(v) == "integer" and v >= 0 and v <= 255, "a whole number from 0 to 255" end,
  timeout = function(v) return type(v) == "number" and v > 0, "seconds above 0" end,
}

local function wrong_field(spec, name, value)
  local read = kinds[name] or spec.command and of_command[name]
  if not read then return ("unknown key '%s' (command with exit_code and timeout, file, schema, function)"):format(tostring(name)) end
  local ok, expected = read(value)
  if not ok then return ("%s: %s expected"):format(name, expected) end
end

--- Reads one as it stands in a plan: a text is a command.
---@param value any
---@return hocket.Check?
---@return string? wrong
function check.read(value)
  local spec = type(value) == "string" and { command = value } or value
  if type(spec) ~= "table" then return nil, "a command, or one of command, file, schema, function is expected" end
  local count = 0
  for name, field in pairs(spec) do
    local wrong = wrong_field(spec, name, field)
    if wrong then return nil, wrong end
    if kinds[name] then count = count + 1 end
  end
  if count ~= 1 then return nil, "exactly one of command, file, schema, function is expected" end
  return spec
end

--- In words for people and models.
---@param spec hocket.Check
---@return string
function check.words(spec)
  if spec.command then
    local code = spec.exit_code or 0
    return ("`%s` ends with exit code %d"):format(spec.command, code)
  end
  if spec.judge then return ("%s agrees"):format(spec.judge) end
  return spec.file and ("there is a file %s"):format(spec.file) or spec["function"] and ("%s accepts it"):format(type(spec["function"]) == "string" and spec["function"] or "a function") or "the answer is JSON of the form that is asked for"
end

-- ---- Making one -----------------------------------------------------------------------------------

---@class hocket.Check Exactly one of command, file, schema, function, judge.
---@field command? string
---@field exit_code? integer Of the command; 0.
---@field timeout? number Seconds of the command.
---@field file? string
---@field schema? table
---@field function? string
---@field judge? string
---@field task? string For events: whose task it is; `board` and `task_id`: where that stands.
---@field board? integer
---@field task_id? integer
---@field rounds? integer Of the key `until`: answers that are checked.
---@field same? integer Of the key `until`: equal results in a row after which it ends.

---@class hocket.Checking One agent's answers and its check.
---@field package step hocket.Step
---@field package spec hocket.Check
---@field session? hocket.Session
---@field package rounds integer How often it failed and went back.
---@field package made integer How often it was made.
---@field package failed? {reason: string, output?: string, final?: boolean} Of the last time.
---@field package passed? boolean
---@field package last? string What failed the last time, and how often in a row (`equal`).
---@field package equal? integer
local Checking = {}
Checking.__index = Checking

---@param step hocket.Step
---@param spec hocket.Check
---@return hocket.Checking
function check.new(step, spec)
  return setmetatable({ step = step, spec = spec, rounds = 0, made = 0 }, Checking)
end

local makes = {}

function makes.command(self, command)
  local args, id = { command = command, timeout = self.spec.timeout }, ("check%d"):format(self.made)
  local text, is_error = tool_calls.of_script(self.session, "execute_command", args, id)
  if is_error and tool_effect.is_unknown(text) then text, is_error = tool_calls.of_script(self.session, "execute_command", args, id .. "-again") end -- a check finds out how things stand
  local code = not is_error and tonumber(text:match "^exit code (%d+)")
  if code == (self.spec.exit_code or 0) then return true end
  if is_error then return false, "it could not be made", text, true end
  return false, text:match "^[^,\n]*", text
end

function makes.file(self, path)
  local found = effects.value("check", { file = path }, function()
    local root = workdir.root(self.step.run)
    local info = root and root:info(path)
    return info ~= nil and info.kind == "file"
  end)
  return found, "there is no file " .. path
end

function makes.schema(_, source, reply)
  local value, wrong = schema.compile(source):read(reply.text, "the answer does not fit")
  return value ~= nil, "the answer does not fit", wrong or "the answer is no JSON"
end

makes["function"] = function(self, name, reply)
  local forbidden = self.step.run.options.mode and plan_mode.forbids_code(self.step.run)
  if forbidden then return false, "it could not be made", forbidden, true end
  local value, err = self.step:call_named(name, { text = reply.text, value = reply.value, input = self.step.input })
  local refused = (type(name) == "string" and name or "a function") .. " refused it"
  if err then return false, refused, err.message end
  return value and true or false, refused
end

local verdict = { type = "object", required = { "met", "missing" }, properties = { met = { type = "boolean" }, missing = { type = "string", maxLength = 2000 } } }

-- Another agent decides, whose answer has to be a verdict.
function makes.judge(self, name, reply)
  local step = self.step
  local def = agents.vary(agents.team_of(step.def)[name], { output = verdict })
  local asked = ("Is this request done? Say what is missing.\n\n%s\n\n%s\n\n%s"):format(fence.wrap("request", "the user", step:request()),
    fence.wrap("result", step.def.name, reply.text), fence.note)
  local job, said = step:ask(def, asked, "until", { framed = true, about_held = step:holder() ~= nil }), nil
  if job then said = broker.shared():call(job) end
  local value = said and type(said.value) == "table" and said.value or {}
  return value.met == true, name .. " refused it", type(value.missing) == "string" and value.missing or "there is no verdict"
end

-- Makes the check of an answer: true, or what failed.
local function make(self, reply)
  self.made, self.failed, self.passed = self.made + 1, nil, nil
  local spec = self.spec
  for kind in pairs(makes) do
    if spec[kind] ~= nil then
      local ok, reason, output, final = makes[kind](self, spec[kind], reply)
      self.step:emit("checked", { check = kind, task = spec.task, board = spec.board, task_id = spec.task_id, ok = ok and true or false, reason = not ok and reason or nil, round = self.made })
      if ok then
        self.passed = true
        return true
      end
      self.failed = { reason = reason, output = output, final = final }
      return false
    end
  end
end

-- What an agent of plan mode answers is a plan: its work is not done, and not checked.
local function plans(self)
  local run = self.step.run
  return self.spec.rounds and run.options.mode and plan_mode.is_on(run)
end

-- An answer that reports a failure, or that a pattern does not take for one, is not checked.
local function is_claimed(self, reply)
  if plans(self) then return false end
  local opts = self.step.opts
  local said = opts.outcome
  if reply.cut or said and (said.parts or said.blocked) then return false end
  return not opts.judge or opts.judge(reply) ~= nil
end

-- How long a command took, and the names of frames, do not make its result another one.
local function plain(failed)
  local output = (failed.output or ""):gsub("^([^\n]-), [%d.]+ s,", "%1,"):gsub("<(/?%l+)%-%w+", "<%1")
  return failed.reason .. "\0" .. output
end

-- Whether it failed often enough.
local function is_over(self)
  local spec, now = self.spec, plain(self.failed)
  self.equal = now == self.last and self.equal + 1 or 1
  self.last = now
  if spec.same and self.equal >= spec.same then return true end
  return self.rounds >= (spec.rounds and spec.rounds - 1 or check.ROUNDS)
end

local function output_of(self)
  local output = self.failed.output
  return output and fence.wrap("error", "the check", truncate(output, SHOWN)) or ""
end

--- For a session: what the agent reads whose answer does not hold; nil: it stands, or that was the last round.
---@async
---@param reply hocket.Reply
---@return string?
function Checking:before_answer(reply)
  if not is_claimed(self, reply) or make(self, reply) or self.failed.final or is_over(self) then return nil end
  self.rounds = self.rounds + 1
  return ("Your work is not done: its check failed: %s (expected: %s).\n%s\nMend it, then report again."):format(self.failed.reason, check.words(self.spec), output_of(self))
end

--- What failed the last time, in words; nil: it holds. The second value: it could not be made at all.
---@return string? why
---@return boolean? final
function Checking:why()
  if self.passed then return nil end
  local output = self.failed.output and self.failed.output:gsub("^([^\n]-), [%d.]+ s,", "%1,") -- how long it took makes it no other result
  return output and ("%s\n%s"):format(self.failed.reason, truncate(output, SHOWN)) or self.failed.reason, self.failed.final
end

--- Whether an answer holds that no session asks for: of a task whose parts are done.
---@async
---@param reply hocket.Reply
---@return hocket.Reply?
---@return hocket.Error?
function Checking:of(reply)
  if make(self, reply) then return reply end
  return self:error(reply)
end

---@param reply hocket.Reply
---@return nil
---@return hocket.Error
function Checking:error(reply)
  local output = self.failed.output and not self.step:is_guarded() and "\n" .. truncate(self.failed.output, SHOWN) or ""
  return nil, system.error { code = "state", no_retry = true, partial = reply.text, message = ("its check failed: %s (expected: %s)%s"):format(self.failed.reason, check.words(self.spec), output) }
end

-- The goal of an agent's file was not checked for an answer that a limit has cut: that is no answer, also where it is of the right form.
local function unchecked(self, reply)
  return nil, system.error { code = reply.cut.code, no_retry = true, partial = reply.text, message = ("%s (until was not reached: %s)"):format(reply.cut.message, check.words(self.spec)) }
end

--- The agent's answer, once it is the last: an error where the check does not hold.
---@async
---@param reply? hocket.Reply
---@param err? hocket.Error
---@return hocket.Reply?
---@return hocket.Error?
function Checking:settle(reply, err)
  if reply and reply.cut and self.spec.rounds and not self.passed then return unchecked(self, reply) end
  if not reply or not is_claimed(self, reply) then return reply, err end
  if not self.passed and not self.failed then make(self, reply) end -- a last turn ends without a hook
  if self.passed then return reply end
  return self:error(reply)
end

return check
