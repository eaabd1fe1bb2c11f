--- One call of a tool that is an agent: a run of its own, with the same rules, budgets and permissions as from the command line,
--- kept where the host keeps runs. What the client sends is a stranger's text (label `outside`); its person answers the run's
--- questions, where the client can ask one, and nobody does otherwise. A client that cancels ends the run; one that goes away parks
--- it, so that somebody can continue with it.
local core = require "hocket.internal.core.host"
local ending = require "hocket.internal.base.ending"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local questions = require "hocket.internal.serve.questions"
local runs = require "hocket.internal.run.run"
local trace = require "hocket.internal.base.lazy" "hocket.internal.telemetry.trace"
local truncate = require "hocket.internal.base.truncate"

local agent_call = {}

--- Bytes that a script may print.
local MAX_PRINTED = 1 << 20
--- Bytes of a line that tells how it goes; seconds after which a client that wants to know hears that it goes on.
local MAX_LINE, HEARTBEAT = 300, 10

-- ---- How it goes -----------------------------------------------------------------------------

-- What clients hear of a run, by event: at which level, in which words.
local told = {
  agent_started = { "info", function(e) return ("%s: %s"):format(e.display_name or e.agent, e.message or "begins") end },
  agent_message = { "info", function(e) return ("%s: %s"):format(e.display_name or e.agent, e.content or "") end },
  facilitator_message = { "info", function(e) return tostring(e.content or "") end },
  tasks_created = { "info", function(e) return ("%d tasks"):format(type(e.tasks) == "table" and #e.tasks or 0) end },
  task_updated = { "info", function(e) return ("task %s: %s"):format(tostring(e.task_id or e.id or ""), tostring(e.status or "")) end },
  model_request = { "debug", function(e) return ("%s asks %s"):format(e.agent or "an agent", tostring(e.model)) end },
  tool_call = { "debug", function(e) return ("%s calls %s"):format(e.agent or "an agent", tostring(e.tool)) end },
  tool_progress = { "debug", function(e) return ("%s: %s"):format(tostring(e.tool), tostring(e.message or e.progress)) end },
  document_updated = { "debug", function(e) return ("%s writes the document"):format(e.agent or "an agent") end },
  warning = { "warning", function(e) return tostring(e.message) end },
  error = { "error", function(e) return tostring(e.message) end },
}

local function one_line(text)
  return truncate(text:gsub("%s+", " "), MAX_LINE, "…")
end

local function step(self, text)
  self.steps = self.steps + 1
  self.at:progress(self.steps, nil, text)
end

-- Nothing has happened for a while: clients that hear nothing give up.
local function go_on(self)
  local run = runs.by_journal(self.journal)
  if run and self.at:is_watched() then step(self, ("at work for %d s, %d calls of models"):format(run:seconds(), run:usage().calls)) end
end

-- Tells one event.
local function tell(self, kind, line)
  local how = told[kind]
  if not how or not self.at.request then return end
  local event = json.decode(line)
  local text = one_line(how[2](event))
  self.at:log(how[1], text, event.agent)
  step(self, text)
end

-- A question is put in a fiber of its own, which ends when it is withdrawn.
local function ask(self, line)
  if self.over then return end
  local event = json.decode(line)
  self.open[event.id] = fiber.spawn(questions.put, event, self.started, self.at)
end

local function withdraw(self, line)
  local id = json.decode(line).id
  if self.open[id] then self.open[id]:cancel() end
end

-- What a script prints is its answer, where it returns none.
local function gather(self, line)
  local text = json.decode(line).text
  if type(text) ~= "string" or self.n_printed + #text > MAX_PRINTED then return end
  self.printed[#self.printed + 1], self.n_printed = text, self.n_printed + #text
end

local changes = { document_updated = "document", tasks_created = "board", task_updated = "board" }

-- Tells what has come since.
local function catch_up(self)
  local line, seq = self.journal:next(self.cursor)
  if not line then return false end
  self.cursor = seq
  local kind = line:match '"type":"([%w_]+)"'
  if questions.is_one(kind) then ask(self, line)
  elseif kind == "question_withdrawn" then withdraw(self, line)
  elseif kind == "output" then gather(self, line)
  else tell(self, kind, line) end
  if changes[kind] then self.registry:touch(self.id, changes[kind]) end
  return true
end

-- Everything that is to be known of a run while it goes on.
local function watch(self)
  while catch_up(self) or not self.journal:finished() do
    if self.journal:last() == self.cursor and not self.journal:wait(self.cursor, HEARTBEAT) and not self.journal:finished() then go_on(self) end
  end
end

-- ---- What came of it ---------------------------------------------------------------------------

local function text_part(text)
  return { type = "text", text = text }
end

local function about(result)
  local usage = result.usage
  if type(usage) ~= "table" then return nil end
  return { ["hocket/run"] = result.run, ["hocket/simulated"] = result.simulated or nil,
    ["hocket/usage"] = { input = usage.input, output = usage.output, calls = usage.calls, cost = usage.cost } }
end

-- How to continue with it, for people: nobody else can.
local function for_people(self, code)
  if not self.started:is_kept() then return "" end
  return code == "parked" and (" (hocket resume %s goes on)"):format(self.id) or (" (hocket show %s tells more)"):format(self.id)
end

local function as_failure(self, code, message, result)
  local text = ("%s: %s%s"):format(code, message ~= "" and message or "it failed", for_people(self, code))
  local partial = type(result.text) == "string" and result.text or ""
  local content = json.array { text_part(text) }
  if partial:find "%S" and partial ~= message then content[2] = text_part("What there is of an answer:\n" .. partial) end
  return { content = content, isError = true, _meta = about(result) }
end

-- Links to what a run has made, for clients that know of such parts.
local function add_links(self, content)
  if not self.at.modern and self.at.version < "2025-06-18" then return end
  for _, one in ipairs(self.registry:of(self.id)) do
    content[#content + 1] = { type = "resource_link", uri = one.uri, name = one.name, mimeType = one.mimeType }
  end
end

local function as_result(self, result)
  local text = result.text ~= "" and result.text or table.concat(self.printed, "\n")
  local content = json.array { text_part(text) }
  add_links(self, content)
  local value = self.structured and json.decode(result.text, true) or nil
  return { content = content, structuredContent = value, _meta = about(result) }
end

--- Starts a run in the host that we are in. Others have their own way to: it gives something of the same functions.
---@param target hocket.OfferedAgent
---@param input string
---@param options table
---@return userdata? started
---@return hocket.Error?
function agent_call.start(target, input, options)
  return core.start(target.path, input, json.encode(options))
end

-- The trace that the client is in, where that is to be told of: its request is a span there, and the run below it.
local function trace_of(spec, at)
  if not runs.traces then return nil end
  local meta, context = at.request and at.request.params._meta, fiber.context()
  local from = type(meta) == "table" and trace.given(meta.traceparent, meta.tracestate) or context and context.trace or {}
  return { parent = from.parent, state = from.state, served = { tool = spec.target.name, version = at.version } }
end

local function start(spec, at)
  local options = {}
  for name, value in pairs(spec.options) do options[name] = value end
  options.interactive, options.variables, options.labels = at:can "elicitation/create", spec.variables or options.variables, json.array { "outside" }
  options.trace, options.offered = trace_of(spec, at), true
  return spec.start(spec.target, spec.input, options)
end

-- Nobody waits for it any more: it was cancelled, or its client is gone.
local function leave(self)
  if self.over then return end
  if self.at:is_cancelled() then return self.started:cancel() end
  if self.started:park() then self.parked(self.id) end
end

--- Answers a call.
---@async
---@param spec {target: hocket.OfferedAgent, start: function, input: string, options: table, variables?: table, structured: boolean, registry: hocket.RunRegistry, parked: fun(id: string)} structured: the answer is JSON, by the agent's own schema; parked: learns of a run that its client has left.
---@param at hocket.McpWork
---@return table? result
---@return hocket.Error?
function agent_call.perform(spec, at)
  local started, err = start(spec, at)
  if not started then return nil, err end
  local id = started:name()
  local self = { id = id, at = at, started = started, journal = started:journal(), cursor = 0, steps = 0, open = {}, printed = {}, n_printed = 0,
    registry = spec.registry, structured = spec.structured, parked = spec.parked }
  self.registry:begin(id, self.journal)
  local result
  local closing <close> = setmetatable({}, { __close = function()
    leave(self)
    self.registry:finish(id, result or {})
  end })
  local watcher = fiber.spawn(watch, self)
  local code, _, text, message = started:wait()
  self.over, result = true, json.decode(text) or {}
  watcher:cancel()
  watcher:join()
  while catch_up(self) do end
  self.registry:finish(id, result)
  local row = ending.of { finish = result.finish, error = code ~= "ok" and { code = code } or nil }
  if row.mcp then return as_failure(self, code, type(result.error) == "table" and result.error.message or message, result) end
  return as_result(self, result)
end

return agent_call
