--- /api: what can be said to a run, and what all of them wait for.
---
--- A run in this process receives the message at once. For a run in another process, or in none, it goes into the store. This server
--- resumes a run that nobody has, so a person's answer works days later, too.
local answer = require "hocket.internal.commands.answer"
local api_runs = require "hocket.internal.endpoints.api.runs"
local cancel_run = require("hocket.internal.run.cancel").run
local decision = require "hocket.internal.run.decision"
local json = require "hocket.json"
local link_answer = require "hocket.internal.endpoints.api.link_answer"
local say = require "hocket.internal.commands.say"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"

local api_say = {}

-- The fields of a body, which has no others; `wanted` are {name, type, needed}.
local function fields(request, wanted)
  local body, err = request:json()
  if not body then return nil, err end
  local known = {}
  for _, one in ipairs(wanted) do
    known[one[1]] = true
    local value = body[one[1]]
    if value == nil and one[3] then return stored.failure("invalid", "'%s' is missing", one[1]) end
    if value ~= nil and one[2] ~= "any" and type(value) ~= one[2] then return stored.failure("invalid", "'%s' has to be a %s", one[1], one[2]) end
  end
  for name in pairs(body) do
    if not known[name] then return stored.failure("invalid", "there is no field '%s'", tostring(name):sub(1, 60)) end
  end
  return body
end

-- A run that goes on here, or nil and its row in the store; of the ones that the caller may have go on, change or end. `right`: answering
-- is not continuing.
local function find(server, id, right)
  right = right or "may_continue"
  local run = server.desk:find(id, right)
  if run and not run.outcome then return run end
  if not server.desk.kept then return nil, nil, run and { code = "state", message = ("the run %s has ended"):format(id) } or { code = "not_found", message = "there is no such run" } end
  local row, err = server.desk:row(id, right)
  if not row then return nil, nil, err end
  run = server.desk:find(row.id, right)
  if run and not run.outcome then return run end
  return nil, row
end

-- Continues with a run that nobody has, unless a worker does, or whoever asks may not: then it continues with whoever continues it.
local function go_on(server, row)
  if row.owner or row.pool or not server.desk:may_continue(row) then return true, nil, false end
  local run, err = server.desk:resume(row.id)
  return run ~= nil, err, true
end

local function by_store(server, row, put, args)
  args.client = true
  local ok, err = put(args)
  if not ok then return nil, err end
  local here
  ok, err, here = go_on(server, row)
  if not ok then return nil, err end
  return { id = row.id, here = here }, 202
end

local function say_answer(server, id, question, text)
  if text == "" then return stored.failure("invalid", "an answer has at least one letter") end
  local run, row, err = find(server, id, "may_answer")
  if err then return nil, err end
  if not decision.is_plain(question, text) and not server.desk:may_continue(run or row) then
    return nil, { code = "denied", message = "this token may allow or deny the call; other arguments, and 'always', need the scope 'manage'" }
  end
  if not run then return by_store(server, row, answer, { id = row.id, question = question, text = text }) end
  if not run:begun() then return nil, { code = "state", message = ("the run %s has ended"):format(id) } end
  local ok, wrong = run:answer(question, text)
  if not ok then return nil, wrong end
  return { id = run.name, here = true }, 202
end

local function post_answer(server, request)
  local body, err = fields(request, { { "question", "string", true }, { "text", "string", true } })
  if not body then return nil, err end
  local link, id = request.caller and request.caller.link, request.params.id
  if not link then return say_answer(server, id, body.question, body.text) end
  return link_answer.say(server, link, body, id, function() return say_answer(server, id, body.question, body.text) end)
end

-- To a conversation its next input, and else to an agent at work.
local function post_say(server, request)
  local body, err = fields(request, { { "text", "string", true }, { "agent", "string" } })
  if not body then return nil, err end
  local run, row, wrong = find(server, request.params.id)
  if wrong then return nil, wrong end
  if not run then return by_store(server, row, say.say, { id = row.id, to = body.agent, text = body.text }) end
  if not run:live() then return nil, { code = "state", message = "the run has ended" } end
  local id
  id, err = run:say(body.text, body.agent)
  if not id then return nil, err end
  return { id = run.name, here = true, message = id ~= "" and id or nil }, 202
end

local function post_signal(server, request)
  local body, err = fields(request, { { "name", "string", true }, { "value", "any" } })
  if not body then return nil, err end
  local run, row, wrong = find(server, request.params.id)
  if wrong then return nil, wrong end
  if not run then return by_store(server, row, say.signal, { id = row.id, name = body.name, value = body.value }) end
  if not run:begun() then return nil, { code = "state", message = "the run has ended" } end
  local ok
  ok, err = run:signal(body.name, body.value)
  if not ok then return nil, err end
  return { id = run.name, here = true }, 202
end

-- What needs a run that goes on here.
local function here(fn)
  return function(server, request)
    local run, row, err = find(server, request.params.id)
    if not run and row and row.owner then err = { code = "state", message = ("the run %s goes on in another process"):format(row.id) } end
    if not run then return nil, err or { code = "state", message = ("the run %s does not go on (resume it first)"):format(row.id) } end
    if not run:begun() then return nil, { code = "state", message = "the run has ended" } end
    local ok, wrong = fn(run, request)
    if not ok then return nil, wrong or { code = "state", message = "that cannot be now" } end
    return { id = run.name, here = true }, 202
  end
end

local function change(run, request)
  local body, err = fields(request, { { "model", "string" }, { "max_turns", "number" }, { "timeout", "number" }, { "priority", "number" },
    { "mode", "string" }, { "reload", "boolean" }, { "compact", "boolean" }, { "clear", "boolean" } })
  if not body then return nil, err end
  return run:change(body)
end

local open_states = { queued = true, waiting = true, parked = true, cut_off = true, forked = true }

local function cancel_in_store(row)
  local how, err = cancel_run(row.id)
  if not how then return nil, err end
  return { id = row.id, here = false }, 202
end

-- A run that nobody has is cancelled by taking it up: only its owner may write its end. One of another process hears it there, and a
-- worker's has more to it: the ones that it has called.
local function cancel(server, request)
  local run, row, err = find(server, request.params.id)
  if err then return nil, err end
  if not run and (row.owner or row.pool) then return cancel_in_store(row) end
  if not run and not open_states[stored.state(row)] then
    return nil, { code = "state", message = ("the run %s has ended: it is %s"):format(row.id, stored.state(row)) }
  end
  if not run then
    run, err = server.desk:resume(row.id)
    if not run and err.code == "denied" then return cancel_in_store(row) end -- its code may not run here
    if not run then return nil, err end
    if not run:live() then return nil, { code = "state", message = run.outcome.message } end -- what it has told before stays
  end
  -- A message, as of 'hocket cancel': what the run has submitted ends with it.
  if not server.desk.kept or not cancel_run(run.name) then run:cancel() end
  return { id = run.name, here = true }, 202
end

-- ---- What all wait for -------------------------------------------------------------------------------------

local waiting_states = { "waiting", "parked" }

local function add_all(list, one)
  for _, open in ipairs(one.waiting_for) do
    if open.kind == "question" or open.kind == "approval" then
      local told = { run = one.id, target = one.target, here = one.here }
      for name, value in pairs(open) do told[name] = value end
      list[#list + 1] = told
    end
  end
end

-- Of the store the ones that nobody has here, newest first.
local function inbox(server, request, response)
  if request.caller and request.caller.link then return link_answer.show(server, request.caller.link, response) end
  local list, before = json.array {}, nil
  for _, run in ipairs(server.desk:all()) do
    if server.desk:may_answer(run) then add_all(list, api_runs.of_desk(run, true)) end
  end
  while server.desk.kept do
    local page, more = store.runs { states = waiting_states, before = before, limit = 200 }
    if not page then return response:fail(more) end
    for _, row in ipairs(page) do
      if not server.desk:find(row.id, "may_answer") and server.desk:may_answer(row) then
        local one = stored.describe(row, true)
        one.here = false
        add_all(list, one)
      end
      before = row.id
    end
    if not more or #list > 1000 then break end
  end
  return response:json(200, { open = list })
end

---@param server hocket.EndpointServer
---@param command fun(method: string, path: string, fn: function)
function api_say.add(server, command)
  server.router:on("GET", "/api/inbox", function(request, response) return inbox(request.server, request, response) end)
  command("POST", "/api/runs/{id}/answers", post_answer)
  command("POST", "/api/runs/{id}/say", post_say)
  command("POST", "/api/runs/{id}/signals", post_signal)
  command("POST", "/api/runs/{id}/stop", here(function(run) return run:stop() end))
  command("POST", "/api/runs/{id}/interrupt", here(function(run) return run:interrupt() end))
  command("POST", "/api/runs/{id}/park", here(function(run) return run:park() end))
  command("POST", "/api/runs/{id}/change", here(change))
  command("POST", "/api/runs/{id}/cancel", cancel)
end

return api_say
