--- What /api is, for programs: an OpenAPI 3.1 document, at /api/openapi.json. A test holds it against the server.
local json = require "hocket.json"
local system = require "hocket.internal.core.system"

local openapi = {}

-- ---- Schemas -----------------------------------------------------------------------------------------

local text, whole, flag, number = { type = "string" }, { type = "integer" }, { type = "boolean" }, { type = "number" }
local id = { type = "string", pattern = "^[0-9A-Za-z]{1,26}$", description = "Of a run; its beginning will do where there is one such." }
local whole_id = { type = "string", pattern = "^[0-9A-Z]{26}$" }
local maybe_text, maybe_number = { type = { "string", "null" } }, { type = { "number", "null" } }

local function list_of(items) return { type = "array", items = items } end
local function one_of(...) return { type = "string", enum = json.array { ... } } end
local function ref(name) return { ["$ref"] = "#/components/schemas/" .. name } end

-- An object; names that end with '!' are required.
local function object(fields, more)
  local properties, required = {}, json.array {}
  for name, schema in pairs(fields) do
    local plain = name:match "^(.*)!$"
    properties[plain or name] = schema
    if plain then required[#required + 1] = plain end
  end
  table.sort(required)
  local made = { type = "object", properties = next(properties) and properties or nil, required = #required > 0 and required or nil }
  if more == false then made.additionalProperties = false end
  return made
end

local any = { type = "object" }
local options = object({
  model = text, models = { type = "object", additionalProperties = text }, variables = { type = "object", additionalProperties = text },
  budget = object({ cost = { type = "number", minimum = 0 }, tokens = { type = "number", minimum = 0 } }, false),
  max_turns = { type = "integer", minimum = 1, maximum = 1000000 }, timeout = { type = "number", exclusiveMinimum = 0 },
  priority = { type = "integer", minimum = -100, maximum = 100 }, conversation = flag, interactive = flag, deltas = flag,
  user = text, mode = one_of("plan", "act"),
}, false)

local open = object { ["id!"] = text, ["kind!"] = one_of("question", "approval", "input", "signal", "run", "caller"), agent = text, child = text, caller = text, questions = list_of(text), tool = text,
  arguments = text, schema = text, reason = text, always = text, name = text, change = any }

local schemas = {
  Error = object { ["error!"] = object { ["code!"] = text, ["message!"] = text } },
  Agent = object { ["name!"] = text, ["description!"] = text, ["kind!"] = one_of("agent", "plan", "script", "workflow"), display_name = text, input = any, output = any, model = text,
    variables = list_of(text) },
  State = one_of("queued", "running", "waiting", "parked", "done", "failed", "cancelled", "cut_off", "forked", "damaged"),
  Options = options,
  Open = open,
  Run = object { ["id!"] = text, ["target!"] = text, agent = text, ["input!"] = text, ["state!"] = ref "State", ["here!"] = flag, ["waiting_for!"] = list_of(ref "Open"),
    ["created_ms!"] = whole, updated_ms = whole, ["cost!"] = maybe_number, ["tokens!"] = maybe_number, parent = text, at_n = whole, at_seq = whole, version = text,
    simulated = flag, owner = any, options = any, records = whole, result = any, pool = text, due_ms = whole, caller = text, project = text, put_off = text },
  Record = object { ["seq!"] = whole, ["type!"] = text, time = text, run = text, agent = text, op = text },
  Snapshot = object { ["at!"] = whole, ["run!"] = ref "Run", ["agents!"] = list_of(any), ["boards!"] = list_of(any), ["documents!"] = list_of(any), ["open!"] = list_of(any),
    ["events!"] = list_of(any), ["usage!"] = any, answer = maybe_text },
  Prompt = object { ["op!"] = text, model = text, ["system!"] = text, ["tools!"] = list_of(any), ["messages!"] = list_of(any), ["cut!"] = flag, ["shorter!"] = flag },
  Worker = object { ["host!"] = text, ["pid!"] = whole, ["state!"] = one_of("working", "draining", "lost"), ["pools!"] = list_of(text), ["runs!"] = whole,
    ["max_runs!"] = maybe_number, ["since_ms!"] = maybe_number, ["seen_ms!"] = whole, ["version!"] = maybe_text },
  Pool = object { ["name!"] = text, ["queued!"] = whole, ["later!"] = whole, ["running!"] = whole, ["waiting!"] = whole, ["parked!"] = whole, ["workers!"] = whole,
    ["oldest_ms!"] = maybe_number, ["unserved!"] = flag },
  Blocked = object { ["run!"] = text, target = text, pool = text, state = ref "State", since_ms = whole, caller = text,
    ["waits_for!"] = list_of(object { ["kind!"] = text, run = text, pool = text, state = ref "State", target = text, name = text, until_ms = whole }) },
  Begun = object { ["id!"] = text, ["state!"] = ref "State", target = text, parent = text, at = whole },
  Told = object { ["id!"] = text, ["here!"] = flag },
}

-- ---- Operations --------------------------------------------------------------------------------------

local function query(name, schema, words)
  return { name = name, ["in"] = "query", description = words, schema = schema }
end

local function with(schema) return { ["application/json"] = { schema = schema } } end

local function answer(words, schema, kind)
  return { description = words, content = schema and (kind and { [kind] = { schema = schema } } or with(schema)) or nil }
end

local failures = { "400", "401", "403", "404", "409", "415", "422", "429", "503" }

-- Every operation may fail in the same few ways; {fails} are the ones that are more likely than others.
local function operation(summary, id, status, result, more)
  local made = { summary = summary, operationId = id, responses = { [status] = result } }
  for _, code in ipairs(failures) do made.responses[code] = { ["$ref"] = "#/components/responses/Failed" } end
  for name, value in pairs(more or {}) do made[name] = value end
  return made
end

local key = { name = "Idempotency-Key", ["in"] = "header", description = "A command that is sent twice with one key is done once.", schema = { type = "string", minLength = 1, maxLength = 200 } }

local function command(summary, id, status, result, body, required)
  return operation(summary, id, status, result, { parameters = { key }, requestBody = body and { required = required ~= false, content = with(body) } or nil })
end

local told = answer("It was said to the run, or is in the store for it.", ref "Told")
local begun = answer("It has begun.", ref "Begun")
local after = query("after", { type = "integer", minimum = 0 }, "The record behind which it begins.")

local paths = {
  ["/api"] = { get = operation("About this server", "about", "200", answer("What it is, and how much it has to do.",
    object { ["hocket!"] = text, ["kept!"] = flag, ["runs!"] = whole, ["queued!"] = whole, ["max_runs!"] = whole, ["closing!"] = flag })) },
  ["/api/agents"] = { get = operation("Agents, teams and scripts that are offered", "listAgents", "200", answer("All of them.", object { ["agents!"] = list_of(ref "Agent") })) },
  ["/api/inbox"] = { get = operation("Questions and approvals that wait for a person, of all runs", "inbox", "200", answer("All that are open.", object { ["open!"] = list_of(object { ["run!"] = text, ["id!"] = text, ["kind!"] = text, ["here!"] = flag, target = text }) })) },
  ["/api/events"] = { get = operation("Which runs of this server begin, wait, go on and end, as server-sent events", "followRuns", "200",
    answer("Events `run`, each a Run; `resync`: some were missed, list again.", text, "text/event-stream"), { parameters = { { name = "Last-Event-ID", ["in"] = "header", schema = text } } }) },
  ["/api/openapi.json"] = { get = operation("This document", "openapi", "200", answer("An OpenAPI document.", any)) },
  ["/api/pools"] = { get = operation("Pools: how much of what lies in them", "listPools", "200", answer("All of them. `unserved`: something is queued, and no worker takes it; `oldest_ms`: since when the first of what is queued waits.",
    object { ["pools!"] = list_of(ref "Pool") })) },
  ["/api/workers"] = { get = operation("Workers of the store, and what waits for whom", "listWorkers", "200", answer("All of them; of what waits the oldest.",
    object { ["workers!"] = list_of(ref "Worker"), ["blocked!"] = list_of(ref "Blocked"), ["more!"] = flag })) },
  ["/api/runs"] = {
    get = operation("Runs, newest first", "listRuns", "200", answer("A page of them.", object { ["runs!"] = list_of(ref "Run"), ["more!"] = flag, before = text }), { parameters = {
      query("state", ref "State"), query("parent", whole_id, "Forks of this run alone."), query("before", whole_id, "Those alone that are older than this id."),
      query("limit", { type = "integer", minimum = 1, maximum = 500 }), query("search", text, "Words that stand in target, input or id. A page may be empty and have more behind it.") } }),
    post = command("Begin a run", "startRun", "201", begun, object({ ["target!"] = text, input = text, options = ref "Options" }, false)),
  },
  ["/api/runs/{id}"] = {
    get = operation("One run", "getRun", "200", answer("What is known of it.", ref "Run")),
    delete = command("Remove a run that has ended from the store", "removeRun", "204", { description = "It is gone." }),
  },
  ["/api/runs/{id}/snapshot"] = { get = operation("How a run stood at a record", "snapshot", "200", answer("All that its records come to, up to `at`.", ref "Snapshot"),
    { parameters = { query("at", { type = "integer", minimum = 0 }, "A record; without it the newest."), query("agent", text, "Whose transcript alone.") } }) },
  ["/api/runs/{id}/records"] = { get = operation("Records of a run, a page at a time", "listRecords", "200", answer("Events, as docs/reference/events.md has them; `next` is where the next page begins.",
    object { ["records!"] = list_of(ref "Record"), ["next!"] = whole }), { parameters = { query("from", { type = "integer", minimum = 1 }), query("limit", { type = "integer", minimum = 1, maximum = 1000 }) } }) },
  ["/api/runs/{id}/events"] = { get = operation("Records as they come, as server-sent events", "followRun", "200",
    answer("Events without a name are records, with their numbers as ids; `delta`, `resync` and `end` are none.", text, "text/event-stream"), { parameters = { after,
      query("deltas", { type = "string", enum = { "0", "1" } }, "1: also text as it is streamed."), { name = "Last-Event-ID", ["in"] = "header", schema = { type = "integer", minimum = 0 } } } }) },
  ["/api/runs/{id}/prompts"] = { get = operation("What a model was sent by an agent", "getPrompt", "200", answer("The system prompt, the tools that were offered, the conversation. Of a run that does not go on here it is made by running it again from its log.", ref "Prompt"),
    { parameters = { { name = "op", ["in"] = "query", required = true, description = "The agent at work, as `op` of records.", schema = text },
      query("messages", { type = "integer", minimum = 0 }, "How many of its messages: as `model_request` says how many it was sent with.") } }) },
  ["/api/runs/{id}/files"] = { get = operation("Files that the run has read of its program", "listFiles", "200", answer("All of them.", object { ["files!"] = list_of(object { ["path!"] = text, ["hash!"] = text, ["bytes!"] = whole }) })) },
  ["/api/runs/{id}/files/{hash}"] = { get = operation("One of these files", "getFile", "200", answer("Its text, as it was.", text, "text/plain")) },
  ["/api/runs/{id}/answers"] = { post = command("Answer a question or an approval", "answer", "202", told, object({ ["question!"] = text, ["text!"] = { type = "string", minLength = 1 } }, false)) },
  ["/api/runs/{id}/say"] = { post = command("Say something to an agent at work, or to a conversation that waits for it", "say", "202", told, object({ ["text!"] = { type = "string", minLength = 1 }, agent = text }, false)) },
  ["/api/runs/{id}/signals"] = { post = command("Send a message to hocket.signal", "signal", "202", told, object({ ["name!"] = text, value = {} }, false)) },
  ["/api/runs/{id}/stop"] = { post = command("Let a run finish its turn, and answer", "stop", "202", told) },
  ["/api/runs/{id}/interrupt"] = { post = command("End what a conversation does just now", "interrupt", "202", told) },
  ["/api/runs/{id}/cancel"] = { post = command("End a run now", "cancel", "202", told) },
  ["/api/runs/{id}/park"] = { post = command("Put a run away, to be gone on with", "park", "202", told) },
  ["/api/runs/{id}/resume"] = { post = command("Go on with a run that was put away or cut off", "resume", "202", begun) },
  ["/api/runs/{id}/change"] = { post = command("Change options of a run that goes on", "change", "202", told,
    object({ model = text, max_turns = whole, timeout = number, priority = whole, mode = one_of("plan", "act"), reload = flag, compact = flag, clear = flag }, false)) },
  ["/api/runs/{id}/fork"] = { post = command("Begin a run with another one's past", "fork", "201", begun,
    object({ at = { type = "integer", minimum = 1 }, latest = flag, input = text, model = text, resume = flag }, false)) },
}

-- What stands in a path is a parameter of everything that is there.
local function add_path_parameters()
  for path, item in pairs(paths) do
    local list = json.array {}
    for name in path:gmatch "{(%w+)}" do list[#list + 1] = { name = name, ["in"] = "path", required = true, schema = name == "id" and id or text } end
    if #list > 0 then item.parameters = list end
  end
end

local made

--- The document, as JSON.
---@return string
function openapi.document()
  if made then return made end
  add_path_parameters()
  made = json.encode {
    openapi = "3.1.0",
    info = { title = "hocket", version = system.version(), description = "Runs of teams of agents: what they do, what they wait for, and what can be said to them." },
    paths = paths, security = { { token = json.array {} } },
    components = {
      schemas = schemas, securitySchemes = { token = { type = "http", scheme = "bearer" } },
      responses = { Failed = answer("It could not be done: why stands in `error`.", ref "Error") },
    },
  }
  return made
end

return openapi
