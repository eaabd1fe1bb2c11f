--- /api/runs/{id}/prompts: what a model was sent by an agent of a run. Records hold what is new and never the whole prompt again, so that it is
--- made when it is asked for:
---
---     goes on here     the agent's conversation, as long as it is at work
---     else             the run again, from its log, with nobody asked; what the last one held is kept for the next question
local api_runs = require "hocket.internal.endpoints.api.runs"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"

local api_prompts = {}

--- Bytes of an answer.
local MAX_BYTES = 8 << 20

---@class hocket.Prompts
local Prompts = {}
Prompts.__index = Prompts

local function not_found(message, ...)
  return nil, { code = "not_found", message = message:format(...) }
end

-- One replay at a time: each is a run, and holds everything that its agents were told.
local function take_turn(self)
  while self.busy do fiber.sleep(0.02) end
  self.busy = true
  return setmetatable({}, { __close = function() self.busy = false end })
end

local function replayed(self, server, one)
  local turn <close> = take_turn(self)
  local records = one.records or one.updated_ms
  if self.id == one.id and self.records == records then return self.sessions end
  self.id, self.sessions = nil, nil
  local sessions = {}
  local ok, err = server.desk:replay(one.id, function(run) run.sessions = sessions end)
  if not ok then return nil, err end
  self.id, self.sessions, self.records = one.id, sessions, records
  return sessions
end

-- The sessions of a run by their operations.
local function sessions_of(self, server, one)
  local run = server.desk:find(one.id)
  if run and not run.outcome then return run.run and run.run.sessions or {} end
  if not server.desk.kept then return not_found("the run has ended and is not kept: its prompts are nowhere") end
  return replayed(self, server, one)
end

-- The first messages of a conversation, as JSON.
local function first_messages(session, count)
  local list, bytes = json.array {}, 0
  for i, one in ipairs(session.history:messages()) do
    if count and i > count then break end
    bytes = bytes + #json.encode(one)
    if bytes > MAX_BYTES then return list, true end
    list[i] = one
  end
  return list, false
end

local function told(session, op, count)
  local sent = session.request and session.request.spec or session.spec
  local messages, cut = first_messages(session, count)
  return {
    op = op, model = type(session.model) == "table" and session.model.id or nil, system = sent.system or "", messages = messages, cut = cut,
    tools = type(sent.tools) == "string" and json.decode(sent.tools, true) or json.array {},
    shorter = count ~= nil and #session.history < count, -- the conversation was made shorter since
  }
end

local function show(self, server, request, response)
  local op, count = request.query.op, request.query.messages
  if not op or op == "" then return response:fail { code = "invalid", message = "'op' is an operation of the run, as its records have it" } end
  if count then
    count = math.tointeger(tonumber(count))
    if not count or count < 0 then return response:fail { code = "invalid", message = "'messages' is how many of them are wanted, as model_request has it" } end
  end
  local one, err = api_runs.find(server, request.params.id)
  local sessions
  if one then sessions, err = sessions_of(self, server, one) end
  if not sessions then return response:fail(err) end
  local session = sessions[op]
  if not session then return response:fail { code = "not_found", message = ("of the operation '%s' nothing is at hand: it is no agent's, or it is over while its run goes on"):format(op:sub(1, 40)) } end
  return response:json(200, told(session, op, count))
end

---@param server hocket.EndpointServer
function api_prompts.add(server)
  local self = setmetatable({ busy = false }, Prompts)
  server.router:on("GET", "/api/runs/{id}/prompts", function(request, response) return show(self, request.server, request, response) end)
end

return api_prompts
