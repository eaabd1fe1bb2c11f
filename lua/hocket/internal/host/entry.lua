--- Where C enters: `start` runs one of the host's operations in a fiber of its own and answers
--- in plain values. See hocket_call_start in the public header.
local caught = require "hocket.internal.base.caught"
local component = require "hocket.internal.base.component"
local json = require "hocket.json"
local messages = require "hocket.internal.base.lazy" "hocket.internal.run.messages"

local host = {}

local function words(err)
  err = caught.error(err)
  return err.code, err.message
end

-- A result may know better how it becomes JSON.
local function to_json(result)
  local meta = getmetatable(result)
  if meta and meta.to_json then return meta.to_json() end
  return json.encode(result or {})
end

--- Every operation returns `result, nil` or `nil, error, result`: a table that becomes the JSON of
--- the answer; its `text` is the answer's text. A module is the function, or has it under the operation's name.
local operations = {
  run = "hocket.internal.runner.run_target",
  attach = "hocket.internal.commands.attach",
  command = "hocket.internal.host.console",
  eval = "hocket.internal.commands.eval",
  check = "hocket.internal.commands.check",
  decode = "hocket.internal.commands.decode",
  new = "hocket.internal.commands.new",
  skill = "hocket.internal.commands.new.skill",
  doctor = "hocket.internal.commands.doctor",
  agents = "hocket.internal.commands.list",
  tools = "hocket.internal.commands.list",
  models = "hocket.internal.commands.models",
  faults = "hocket.internal.commands.sim",
  sim = "hocket.internal.commands.sim",
  keys = "hocket.internal.commands.check",
  rollback = "hocket.internal.commands.live",
  watch = "hocket.internal.commands.live",
  resumable = "hocket.internal.commands.resumable",
  admit_run = "hocket.internal.commands.admit_run",
  memory = "hocket.internal.commands.memory",
  mcp = "hocket.internal.commands.mcp",
  acp = "hocket.internal.commands.acp",
  mcp_serve = "hocket.internal.commands.mcp.serve",
  serve = "hocket.internal.endpoints.serve",
  ping = "hocket.internal.serve.ping",
  policy = "hocket.internal.commands.policy",
  prompt = "hocket.internal.serve.prompt_files",
  serve_token = "hocket.internal.commands.serve_token",
  telemetry = "hocket.internal.telemetry.service",
  runs = "hocket.internal.commands.runs",
  show = "hocket.internal.commands.show",
  follow = "hocket.internal.commands.show",
  page = "hocket.internal.commands.show",
  answer = "hocket.internal.commands.answer",
  answer_link = "hocket.internal.commands.answer.link",
  say = "hocket.internal.commands.say",
  signal = "hocket.internal.commands.say",
  submit = "hocket.internal.runner.submission",
  schedule = "hocket.internal.commands.workers.schedule",
  budget = "hocket.internal.commands.workers.budget",
  work = "hocket.internal.commands.workers.work",
  wait = "hocket.internal.commands.workers.wait",
  cancel = "hocket.internal.commands.workers.wait",
  workers = "hocket.internal.commands.workers.list",
  fork = "hocket.internal.commands.fork",
  remove = "hocket.internal.commands.remove",
  store = "hocket.internal.commands.store",
  plan = "hocket.internal.commands.plan",
  pages = "hocket.internal.commands.pages",
  export = "hocket.internal.commands.transfer",
  import = "hocket.internal.commands.transfer",
}

-- What operations cannot do without: texts, and with [] lists or objects, with # numbers, with ! booleans. What has a ? may be missing.
local needed = {
  run = "target input? options?[] instead?[] labels?[] priority?# deltas?!", submit = "target input? options?[] pool? due_ms?# id? caller? project?",
  runs = "parent? before? target? label?[] webhook? limit?#", resumable = "id? here? most?# conversation?!", check = "paths[]", eval = "paths[] folder", attach = "to? commands?[]", command = "line",
  decode = "protocol file", new = "dir", skill = "program? dir?", agents = "path?", models = "provider?", sim = "script?", rollback = "path", watch = "path options?[]", admit_run = "id",
  memory = "word", mcp = "words[]", mcp_serve = "targets?[] tools?[]", serve = "targets[]", ping = "url state", policy = "targets[] files[]", prompt = "name",
  serve_token = "word", show = "id", follow = "id", page = "id script style", answer = "id question? text?", answer_link = "id question", say = "id text", signal = "id name",
  schedule = "word", budget = "word", work = "pools?[]", wait = "id", cancel = "id", fork = "id", remove = "ids[]", store = "word", plan = "id?", export = "id?", import = "file",
}

local kinds = { [""] = { "string", "a text" }, ["["] = { "table", "a list or an object" }, ["#"] = { "number", "a number" }, ["!"] = { "boolean", "true or false" } }

-- What is wrong with the arguments of an operation, if anything: whoever embeds us wrote them.
local function misfit(name, args)
  if type(args) ~= "table" or json.is_array(args) and args[1] ~= nil then return ("the arguments of the operation '%s' have to be one JSON object"):format(name) end
  for member, may_lack, mark in (needed[name] or ""):gmatch "([%w_]+)(%??)([%[#!]?)" do
    local value, kind = args[member], kinds[mark]
    if may_lack ~= "" and value == json.null then args[member], value = nil, nil end
    if type(value) ~= kind[1] and (may_lack == "" or value ~= nil) then
      return ("the operation '%s' needs '%s' (%s)"):format(name, member, kind[2])
    end
  end
end

--- Loads what every run needs, for hosts that have time for it now.
function host.prepare()
  for _, name in ipairs { "hocket", "hocket.internal.runner.run_target", "hocket.internal.runner.builtins", "hocket.prices" } do require(name) end
end

local function perform(module, name, args, journal, id)
  local made = require(module)
  local operation = type(made) == "table" and made[name] or made
  return operation(args, journal, id)
end

---@async
---@param name string
---@param args string JSON
---@param journal userdata
---@param id string Of the run, in its events and its result.
---@return string code "ok" or a status word
---@return string text
---@return string result JSON
---@return string message
function host.start(name, args, journal, id)
  local module = operations[name]
  if not module then return "not_found", "", "{}", ("there is no operation '%s'"):format(name) end
  local why = component.missing(module)
  if why then return "unsupported", "", "{}", ("operation '%s': %s"):format(name, why) end
  local read = json.decode(args)
  local wrong = misfit(name, read)
  if wrong then return "invalid", "", "{}", wrong end
  local ok, result, err, partial = pcall(perform, module, name, read, journal, id)
  local late = ok and not result and type(err) == "table" and err.code == "timeout" -- its own end, by a cancel
  if not late and require("hocket.internal.core.fiber").self():cancelled() then
    return "cancelled", "", ok and to_json(partial) or "{}", "cancelled"
  elseif not ok then
    local code, message = words(result)
    return code, "", "{}", message
  elseif not result then
    local code, message = words(err)
    return code, partial and partial.text or "", to_json(partial), message
  end
  return "ok", result.text or "", to_json(result), ""
end

--- See hocket_offer in the public header. Raises what is wrong.
---@param name? string
---@param options? string JSON
function host.offer(name, options)
  local read = options and json.decode(options) or options == nil and {}
  if type(read) ~= "table" then error({ code = "invalid", message = "the options have to be one JSON object" }, 0) end
  local ok, made, wrong = pcall(require("hocket.internal.host.offer").open, name, read)
  if not ok and type(made) == "string" and not caught.no_memory(made) then made = { code = "invalid", message = made } end
  if not ok then error(made, 0) end
  if not made then error(wrong, 0) end
end

--- See hocket_withdraw.
---@param name? string
function host.withdraw(name)
  if not require("hocket.internal.host.offer").close(name) then
    error({ code = "not_found", message = name and ("'%s' is not offered"):format(name) or "nothing is offered" }, 0)
  end
end

-- What an embedder asks of a run that goes on.
local wishes = {
  operator = function(run, text) return require("hocket.internal.run.consent").operator(run, text) end,
  answer = function(run, id, text) return run:answer(id, text) end,
  before = function(run, _, message) return require("hocket.internal.run.client_words").before(run, message) end,
  change = function(run, options)
    local changes, err = json.decode(options)
    if type(changes) ~= "table" then return nil, err or { code = "invalid", message = "the options have to be one JSON object" } end
    return run:change(changes)
  end,
  interrupt = function(run) return run:interrupt() end,
  mail = function(run, to, text) return require("hocket.internal.run.steering").deliver(run, text, to) end,
  say = function(run, to, text)
    local id, err = run:say(text, to)
    return id ~= nil, err
  end,
  signal = function(run, name, value) return run:signal(name, (json.decode(value))) end,
  left = function(run, name, value) return messages.left(run, name, (json.decode(value))) end,
  left_again = function(run) return messages.again(run) end,
  left_has_room = function(run) return messages.has_room(run) end,
  look = function(run) return run:look() end,
  within = function(run, what, packed) return require("hocket.internal.run.changes").again(run, what, packed) end,
  tree = function(run) return json.encode(run:tree()) end,
}

--- Passes a wish on to the run that writes a journal. See hocket_run_answer, _change, _interrupt.
---@param wish "answer"|"before"|"change"|"consent"|"interrupt"|"left"|"left_again"|"left_has_room"|"look"|"mail"|"operator"|"say"|"signal"|"tree"|"within"
---@param journal userdata
---@param a? string
---@param b? string
---@return string code "ok" or a status word
---@return string message Or, of a wish that has an answer, its JSON.
function host.tell(wish, journal, a, b)
  local run = require("hocket.internal.run.run").by_journal(journal)
  if wish == "consent" and require("hocket.internal.run.consent").hear(journal, run, b) then return "ok", "" end
  if not run then return "not_found", "the run has not begun" end
  local ok, err = wishes[wish](run, a, b)
  if ok then return "ok", ok == true and "" or ok end
  return words(err)
end

--- Whether a suspended run asks a question, and takes a text for its answer. See hocket_run_answer.
---@param waits_for string JSON: what it waits for, as its row has it.
---@param question string
---@param text string
---@return string code "ok" or a status word
---@return string message
function host.may_answer(waits_for, question, text)
  for _, one in ipairs(json.decode(waits_for) or {}) do
    if one.id == question then
      if one.kind ~= "approval" or not one.tool or text == "" then return "ok", "" end
      local read, wrong = require("hocket.internal.run.decision").read(text, one)
      return read and "ok" or "invalid", wrong or ""
    end
  end
  return "not_found", ("the run does not ask '%s'"):format(question:sub(1, 60))
end

--- A run that was cancelled has ended: so does what it has called and submitted since.
---@async
---@param id string
---@param calls_alone boolean Only the calls of its agents: what it has submitted goes on.
function host.end_called(id, calls_alone)
  if component.missing "hocket.internal.runner.submission" then return end -- then it has submitted nothing
  local cancel = require "hocket.internal.run.cancel"
  local ok, err = require "hocket.internal.pool.retry"(calls_alone and cancel.calls or cancel.called, id)
  if not ok then require("hocket.internal.core.system").log("warn", ("run %s: what it has submitted last is not cancelled: %s"):format(id, err.message)) end
end

--- Stops a run, also one that has not begun. See hocket_run_stop.
---@param journal userdata
function host.stop(journal)
  require("hocket.internal.run.run").stop(journal)
end

--- Says to a run that it is parked: its fibers are going to be cancelled, and it is not over. See hocket_run_park.
---@param journal userdata
---@param time integer Seconds since 1970, where it waits for that time alone; 0: it waits for something else.
function host.park(journal, time)
  local run = require("hocket.internal.run.run").by_journal(journal)
  if not run then return end
  run.parked = time ~= 0 and os.date("!%Y-%m-%dT%H:%M:%SZ", time) or "it is resumed"
  if run.budget_waits and next(run.budget_waits) then
    run.parked = ("%s, for the budget of project %s (or: hocket budget set %s)"):format(run.parked, run.options.project, run.options.project)
  end
  if run.observer then run.observer:park() end
end

return host
