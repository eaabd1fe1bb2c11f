--- /api/runs: what exists, and what can be begun, forked, gone on with and removed.
local callers = require "hocket.internal.endpoints.caller"
local content = require "hocket.internal.endpoints.content"
local ended = require "hocket.internal.run.ended"
local ending = require "hocket.internal.base.ending"
local fork = require "hocket.internal.commands.fork"
local json = require "hocket.json"
local list_runs = require "hocket.internal.commands.runs"
local models = require "hocket.model"
local outcome = require "hocket.internal.commands.workers.outcome"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"
local system = require "hocket.internal.core.system"
local truncate = require "hocket.internal.base.truncate"

local api_runs = {}

--- The newest runs, among which one with a key is searched for.
local RECENT = 500
--- Runs of one page of a search; of one search, after which who searches comes again.
local SEARCHED, MOST_SEARCHED = 200, 5000

-- ---- What is reported of a run ---------------------------------------------------------------------------

local kinds = { q = "question", a = "approval", i = "input" }

-- As the rows of the store have it, and what is to be changed as well.
local function waits_for(run)
  local list = json.array {}
  for i, one in ipairs(run:waits()) do
    list[i] = { id = one.id, kind = kinds[one.id:sub(1, 1)] or one.kind, agent = one.agent, questions = one.questions,
      tool = one.tool, arguments = one.arguments, schema = one.schema, reason = one.reason, always = one.always, change = one.change }
  end
  return list
end

local function state_of(run)
  if run.outcome then return ending.state(run.outcome.code) end
  return run:is_at_work() and "running" or "waiting"
end

--- What is known of a run that is here.
---@param run hocket.DeskRun
---@param brief? boolean
---@return table
function api_runs.of_desk(run, brief)
  local used = run.run and run.run:usage()
  return {
    id = run.name, target = run.path or "", agent = run.target, state = state_of(run), here = true, input = run.input and (brief and truncate(run.input, 300) or run.input) or "",
    waiting_for = waits_for(run), created_ms = run.created_ms, cost = used and used.cost or json.null, tokens = used and used.input + used.output or json.null,
    records = run.journal and run.journal:last() or 0,
  }
end

-- The row of the store, with what is known better here.
local function joined(row, run)
  local told = api_runs.of_desk(run)
  for _, name in ipairs { "state", "here", "waiting_for", "cost", "tokens", "records" } do row[name] = told[name] end
  return row
end

local function told(server, row, brief)
  local run = server.desk:find(row.id)
  local one = brief and row or stored.describe(row)
  one.here, one.agent = false, run and run.target or row.agent or callers.agent_of(row)
  if run and not run.outcome then one = joined(one, run) end
  return one
end

--- The run whose id begins so, here or in the store.
---@async
---@return table? described
---@return hocket.Error?
function api_runs.find(server, id)
  local run = server.desk:find(id)
  local row, err
  if server.desk.kept then row, err = server.desk:row(id) end
  if row then return told(server, row) end
  if run then return api_runs.of_desk(run) end
  return nil, err or { code = "not_found", message = ("there is no run '%s'"):format(id:sub(1, 40)) }
end

-- ---- Listing -------------------------------------------------------------------------------------------

local function matches(one, words)
  local text = (one.target .. " " .. one.input .. " " .. one.id):lower()
  for word in words:lower():gmatch "%S+" do
    if not text:find(word, 1, true) then return false end
  end
  return true
end

-- Newest first.
local function of_memory(server, query, limit)
  local list = json.array {}
  local all = server.desk:at_hand()
  for i = #all, 1, -1 do
    local one = server.desk:may_read(all[i]) and api_runs.of_desk(all[i], true)
    if one and (not query.state or query.state == one.state) and (not query.before or one.id < query.before) and (not query.search or matches(one, query.search)) then
      if #list == limit then return { runs = list, more = true, before = list[limit].id } end
      list[#list + 1] = one
    end
  end
  return { runs = list, more = false }
end

-- A search goes through as many pages as it takes to fill one, but not through a large store at once: an empty page may have more behind it.
local function of_store(server, query, limit)
  local runs, before, looked = json.array {}, query.before, 0
  repeat
    local page, err = list_runs { state = query.state, parent = query.parent, before = before, limit = query.search and SEARCHED or limit, agent_of = callers.agent_of,
      meant = function(row) return server.desk:may_read(row) end }
    if not page then return nil, err end
    for i, row in ipairs(page.runs) do
      before, looked = row.id, looked + 1
      if not query.search or matches(row, query.search) then runs[#runs + 1] = told(server, row, true) end
      if #runs == limit and (page.more or i < #page.runs) then return { runs = runs, more = true, before = before } end
    end
    if looked >= MOST_SEARCHED and page.more then return { runs = runs, more = true, before = before } end
  until not page.more
  return { runs = runs, more = false }
end

local function list(server, request, response)
  local query = request.query
  local limit = math.tointeger(tonumber(query.limit or 50))
  if not limit or limit < 1 or limit > 500 then return response:fail { code = "invalid", message = "'limit' is a whole number from 1 to 500" } end
  for _, name in ipairs { "before", "parent" } do
    if query[name] and not store.is_id(query[name]) then return response:fail { code = "invalid", message = ("'%s' is the whole id of a run"):format(name) } end
  end
  if not server.desk.kept then return response:json(200, of_memory(server, query, limit)) end
  local page, err = of_store(server, query, limit)
  if not page then return response:fail(err) end
  return response:json(200, page)
end

-- ---- Beginning -----------------------------------------------------------------------------------------

local function is_text(v) return type(v) == "string" end
local function is_flag(v) return type(v) == "boolean" end
local function is_texts(v)
  if type(v) ~= "table" or json.is_array(v) then return false end
  for _, one in pairs(v) do
    if not is_text(one) then return false end
  end
  return true
end
local function is_amount(v) return type(v) == "number" and v >= 0 and v < math.huge end

local function is_budget(v)
  if type(v) ~= "table" then return false end
  for name, amount in pairs(v) do
    if name ~= "cost" and name ~= "tokens" or not is_amount(amount) then return false end
  end
  return true
end

local function is_model(v)
  return is_text(v) and models.is_known(v) == true
end

-- What a client may say of a run that it begins; nothing in it gives more than the server has.
local allowed = {
  model = is_model, models = function(v) return is_texts(v) end, variables = is_texts, budget = is_budget,
  max_turns = function(v) return math.type(v) == "integer" and v >= 1 and v <= 1000000 end,
  timeout = function(v) return is_amount(v) and v > 0 end, priority = function(v) return math.type(v) == "integer" and v >= -100 and v <= 100 end,
  user = is_text, mode = function(v) return v == "plan" or v == "act" end, conversation = is_flag, interactive = is_flag, deltas = is_flag,
}

local function read_options(given)
  if given == nil then return {} end
  if type(given) ~= "table" or json.is_array(given) and #given > 0 then return system.failure("invalid", "'options' has to be an object") end
  local options = {}
  for name, value in pairs(given) do
    local check = allowed[name]
    if not check then return system.failure("invalid", "'options' has no '%s'", tostring(name):sub(1, 60)) end
    if not check(value) then return system.failure("invalid", "bad option '%s'", name) end
    options[name] = value
  end
  return options
end

local function read_start(body)
  for name in pairs(body) do
    if name ~= "target" and name ~= "input" and name ~= "options" then return system.failure("invalid", "there is no field '%s' (target, input, options)", tostring(name):sub(1, 60)) end
  end
  if not is_text(body.target) then return system.failure("invalid", "'target' has to be the name of an agent (GET /api/agents lists them)") end
  if body.input ~= nil and not is_text(body.input) then return system.failure("invalid", "'input' has to be a text") end
  local options, err = read_options(body.options)
  if not options then return nil, err end
  if options.interactive == nil then options.interactive = true end
  if options.deltas == nil then options.deltas = true end
  local user = options.user
  options.user = nil
  return { target = body.target, input = body.input, options = options, user = user }
end

-- A run that this caller has begun with this key by a process that has ended since, and has forgotten it.
local function begun_before(key, token)
  local page, err = store.runs { limit = RECENT }
  if not page then return nil, err end
  for _, row in ipairs(page) do
    local noted = callers.noted(row)
    if noted.key == key and callers.token_of(row) == token then return row, nil, noted end
  end
end

local function begun_again(row, serve, digest)
  if serve.digest ~= digest then return nil, { code = "conflict", status = 422, message = "this Idempotency-Key came with another request before" } end
  return { id = row.id, target = serve.agent, state = stored.state(row) }, 201, { location = "/api/runs/" .. row.id }
end

local function start(server, request)
  local body, err = request:json()
  local spec
  if body then spec, err = read_start(body) end
  if not spec then return nil, err end
  spec.key, spec.digest = request.headers["idempotency-key"], system.digest(request.body)
  if spec.key and server.desk.kept then
    local row, wrong, serve = begun_before(spec.key, request.caller.id)
    if row then return begun_again(row, serve, spec.digest) end
    if wrong then return nil, wrong end
  end
  local run, wrong = server.desk:start(spec)
  if not run then return nil, wrong end
  return { id = run.name, target = run.target, state = "running" }, 201, { location = "/api/runs/" .. run.name }
end

local function fork_run(server, request)
  local body, err = request:json()
  if not body then return nil, err end
  for name in pairs(body) do
    if name ~= "at" and name ~= "latest" and name ~= "input" and name ~= "model" and name ~= "resume" then return system.failure("invalid", "there is no field '%s' (at, latest, input, model, resume)", tostring(name):sub(1, 60)) end
  end
  if body.model ~= nil and not is_model(body.model) then return system.failure("invalid", "there is no such model") end
  if body.input ~= nil and not is_text(body.input) then return system.failure("invalid", "'input' has to be a text") end
  local row, wrong = server.desk:row(request.params.id, "may_continue")
  local made
  if row then made, wrong = fork { id = row.id, at = body.at, latest = body.latest == true, input = body.input, model = body.model, token = request.caller.id } end
  if not made then return nil, wrong end
  if body.resume ~= false then
    local run
    run, wrong = server.desk:resume(made.id)
    if not run then return nil, wrong end
    made.state = "running"
  end
  return { id = made.id, parent = made.parent, at = made.at_seq, state = made.state }, 201, { location = "/api/runs/" .. made.id }
end

local function resume(server, request)
  local row, err = server.desk:row(request.params.id, "may_continue")
  if not row then return nil, err end
  local state = stored.state(row)
  if state == "done" or state == "failed" or state == "cancelled" then return nil, { code = "state", message = ("the run %s has ended: it is %s"):format(row.id, state) } end
  if row.owner and not server.desk:find(row.id) then return nil, { code = "state", message = ("the run %s goes on in another process"):format(row.id) } end
  local run, wrong = server.desk:resume(row.id)
  if not run then return nil, wrong end
  return { id = run.name, state = "running" }, 202
end

local function remove(server, request)
  local run = server.desk:find(request.params.id)
  if run and not run.outcome then return nil, { code = "state", message = ("the run %s goes on: cancel it first"):format(run.name) } end
  local row, err = server.desk:row(request.params.id, "may_continue")
  if not row then return nil, err end
  if row.owner then return nil, { code = "state", message = ("the run %s goes on in another process"):format(row.id) } end
  local ok, wrong = store.remove(row.id)
  if not ok then return nil, wrong end
  server.desk:forget(row.id)
  return {}, 204
end

-- ---- One run -------------------------------------------------------------------------------------------

local function show(server, request, response)
  local one, err = api_runs.find(server, request.params.id)
  if not one then return response:fail(err) end
  local run = server.desk:find(one.id)
  if run and run.outcome then
    one.result = json.decode(run.outcome.result)
  elseif ended.states[one.state] then
    local told, wrong = outcome(one)
    if not told then return response:fail(wrong) end
    one.result = told.result
  end
  return response:json(200, one)
end

-- What it has read of its program: agents, what they include, scripts.
local function files_of(server, request)
  local row, err = server.desk:row(request.params.id)
  if not row then return nil, err end
  local all, seen = {}, {}
  for _, generation in ipairs { row.generation, row.id } do
    local page, wrong = store.files(generation)
    if not page then return nil, wrong end
    for _, one in ipairs(page) do
      one.name = one.text:sub(1, 1) == "t" and one.path:match "^%d+ read (.+)$" -- what else was asked of folders is no file
      one.text = one.text:sub(2)
      if one.name and not seen[one.name] then all[#all + 1], seen[one.name] = one, true end
    end
  end
  table.sort(all, function(a, b) return a.name < b.name end)
  return all
end

local function list_files(server, request, response)
  local all, err = files_of(server, request)
  if not all then return response:fail(err) end
  local files = json.array {}
  for i, one in ipairs(all) do files[i] = { path = one.name, hash = one.hash, bytes = #one.text } end
  return response:json(200, { files = files })
end

-- By its hash, so that the address is the same for the same text; never as what a browser would show.
local function file(server, request, response)
  local all, err = files_of(server, request)
  if not all then return response:fail(err) end
  for _, one in ipairs(all) do
    if one.hash == request.params.hash then
      return content.send(request, response, { bytes = one.text, type = "text/plain; charset=utf-8", etag = one.hash,
        cache = "private, max-age=31536000, immutable", headers = { ["content-disposition"] = "attachment" } })
    end
  end
  return response:fail { code = "not_found", message = "the run has read no such file" }
end

---@param server hocket.EndpointServer
---@param command fun(method: string, path: string, fn: function) Adds what changes something.
function api_runs.add(server, command)
  local router = server.router
  local function on(method, path, fn)
    router:on(method, path, function(request, response) return fn(request.server, request, response) end)
  end
  on("GET", "/api/runs", list)
  on("GET", "/api/runs/{id}", show)
  on("GET", "/api/runs/{id}/files", list_files)
  on("GET", "/api/runs/{id}/files/{hash}", file)
  command("POST", "/api/runs", start)
  command("POST", "/api/runs/{id}/fork", fork_run)
  command("POST", "/api/runs/{id}/resume", resume)
  command("DELETE", "/api/runs/{id}", remove)
end

return api_runs
