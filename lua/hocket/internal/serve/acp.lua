--- The Agent Client Protocol, version 1: hocket's agents and teams for editors, which start this program and talk with it.
---
---     initialize ──> session/new {cwd} ──> session/prompt ──> session/update … ──> {stopReason}
---
--- A session is a run (acp_session), with the folder that the editor names as the one its tools work in.
local acp_editor = require "hocket.internal.serve.acp_editor"
local acp_stored = require "hocket.internal.serve.acp_stored"
local acp_options = require "hocket.internal.serve.acp_options"
local acp_servers = require "hocket.internal.serve.acp_servers"
local acp_session = require "hocket.internal.serve.acp_session"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local rpcs = require "hocket.internal.serve.rpc"
local system = require "hocket.internal.core.system"
local talks = require "hocket.internal.serve.talk"
local codes = rpcs.codes

local acp = {}

local VERSION = 1
--- Sessions at once.
local MAX_SESSIONS = 100

local empty = json.decode "{}"

---@class hocket.Acp
---@field rpc hocket.Rpc
---@field sessions table<string, hocket.AcpSession>
local Acp = {}
Acp.__index = Acp

local function wrong(text, ...)
  error({ code = codes.invalid_params, message = text:format(...) }, 0)
end

-- ---- What the editor can do --------------------------------------------------------------------

local function object(value)
  return type(value) == "table" and value or {}
end

local function read_client(params)
  local can = object(params.clientCapabilities)
  local files, elicitation = object(can.fs), object(can.elicitation)
  return { reads = files.readTextFile == true, writes = files.writeTextFile == true, forms = type(elicitation.form) == "table" }
end

local methods = {}

function methods.initialize(self, params)
  -- whatever version is asked for: this is the one that we speak, and the editor decides
  self.client = read_client(params)
  return {
    protocolVersion = VERSION, authMethods = json.array {},
    agentInfo = { name = "hocket", title = self.title, version = system.version() },
    agentCapabilities = {
      loadSession = true, promptCapabilities = { image = true, audio = true, embeddedContext = true },
      mcpCapabilities = { http = true, sse = false }, sessionCapabilities = { list = empty, close = empty, resume = empty, delete = empty },
    },
  }
end

-- There is nothing to log in to: keys are the environment's.
function methods.authenticate()
  wrong "there is no method of authentication: keys are given in the environment (hocket doctor)"
end

-- ---- Modes -----------------------------------------------------------------------------------

local word_of = { ask = false, auto = "allow", deny = "deny", plan = false }

-- What the options say, and the mode's own word behind it.
local function approve_of(self, mode)
  local given = self.options.approve
  local words = type(given) == "table" and table.move(given, 1, #given, 1, {}) or { given }
  words[#words + 1] = word_of[mode] or nil
  return json.array(words)
end

local function modes_of(mode)
  return { currentModeId = mode, availableModes = json.array(acp_options.modes) }
end

-- ---- Sessions --------------------------------------------------------------------------------

local function session_of(self, params)
  if type(params.sessionId) ~= "string" then wrong "'sessionId' has to be a text" end
  local session = self.sessions[params.sessionId]
  if not session then error({ code = codes.not_found, message = "there is no such session" }, 0) end
  return session
end

-- The folder of a session: it is there, and meant from nowhere else.
local function folder_of(params)
  local cwd = params.cwd
  if type(cwd) ~= "string" or not fs.is_absolute(cwd) then wrong "'cwd' has to be an absolute path" end
  local info = fs.info(cwd)
  if not info or info.kind ~= "directory" then wrong("'cwd': there is no folder %s", cwd) end
  return fs.real(cwd) or cwd
end

-- Without a target it is the folder's own agents.
local function target_of(self, cwd)
  if self.target then return self.target end
  local own = cwd .. "/agents"
  return fs.info(own) and own or cwd
end

local function options_of(self, cwd, mode, servers)
  local options = {}
  for name, value in pairs(self.options) do options[name] = value end
  options.workdir, options.cwd, options.typed, options.approve = cwd, cwd, true, approve_of(self, mode)
  if #servers > 0 then options.mcp, options.tools = servers, json.array { "servers_of_run" } end
  return options
end

local function count(map)
  local n = 0
  for _ in pairs(map) do n = n + 1 end
  return n
end

local function make_room(self)
  if count(self.sessions) < MAX_SESSIONS then return end
  error({ code = codes.internal, message = ("more than %d sessions at once: close some"):format(MAX_SESSIONS) }, 0)
end

-- The session's id is known when its run is.
local function make(self, spec, begin)
  local session
  spec.rpc, spec.client = self.rpc, self.client
  spec.editor = acp_editor.new(self.rpc, self.client, function() return spec.id or session.id end)
  local err
  session, err = acp_session.new(spec, begin)
  if not session then return nil, err end
  self.sessions[session.id] = session
  return session
end

methods["session/new"] = function(self, params, request)
  local cwd, mode = folder_of(params), "ask"
  local servers = acp_servers.read(params.mcpServers, cwd)
  make_room(self)
  local session, err = make(self, { cwd = cwd, mode = mode }, function(hooks)
    return self.talks:begin { target = target_of(self, cwd), options = options_of(self, cwd, mode, servers), hooks = hooks }
  end)
  if not session then return nil, err end
  request.after_answer = function() session:open() end -- the editor gets no update of a session that it does not know yet
  return { sessionId = session.id, modes = modes_of(mode), configOptions = acp_options.of(session) }
end

-- ---- Sessions of before --------------------------------------------------------------------------

-- A session that can be gone on with, or what is wrong.
local function find_kept(params)
  local id = params.sessionId
  if type(id) ~= "string" then wrong "'sessionId' has to be a text" end
  local kept = acp_stored.find(id)
  if not kept then error({ code = codes.not_found, message = "there is no such session" }, 0) end
  if params.cwd == nil and not kept.is_ours then wrong("'cwd' is missing: nothing proves that you began this session here, so its record does not choose the folder. Name it, if you mean it: %s", kept.cwd) end
  if params.cwd ~= nil and folder_of(params) ~= kept.cwd then wrong("'cwd': this session works in %s", kept.cwd) end
  return kept
end

local function go_on(self, params, request, replays)
  local open = type(params.sessionId) == "string" and self.sessions[params.sessionId]
  if open and not replays then return { modes = modes_of(open.mode), configOptions = acp_options.of(open) } end
  if open then
    error({ code = codes.invalid_request, message = "this session is open already" }, 0)
  end
  local kept, mode = find_kept(params), "ask" -- what a session was once allowed its person allows anew
  local servers = acp_servers.read(params.mcpServers, kept.cwd)
  make_room(self)
  local session, err = make(self, { id = kept.sessionId, cwd = kept.cwd, mode = mode, replays = replays }, function(hooks)
    return self.talks:go_on(kept.sessionId, options_of(self, kept.cwd, mode, servers), hooks)
  end)
  if not session then return nil, err end
  request.after_answer = function() session:open() end
  return { modes = modes_of(session.mode), configOptions = acp_options.of(session) }
end

methods["session/load"] = function(self, params, request) return go_on(self, params, request, true) end
methods["session/resume"] = function(self, params, request) return go_on(self, params, request, false) end

methods["session/list"] = function(self, params)
  if params.cwd ~= nil and type(params.cwd) ~= "string" then wrong "'cwd' has to be a text" end
  if params.cursor ~= nil and type(params.cursor) ~= "string" then wrong "'cursor' has to be a text" end
  local list, cursor = acp_stored.list(params.cwd, params.cursor)
  local seen = {}
  for _, one in ipairs(list) do seen[one.sessionId] = true end
  for id, session in pairs(params.cursor and {} or self.sessions) do -- those of which nothing is kept
    if not seen[id] and (params.cwd == nil or params.cwd == session.cwd) then table.insert(list, 1, { sessionId = id, cwd = session.cwd, title = session.title }) end
  end
  return { sessions = list, nextCursor = cursor }
end

methods["session/delete"] = function(self, params)
  if type(params.sessionId) ~= "string" then wrong "'sessionId' has to be a text" end
  local session = self.sessions[params.sessionId]
  if session then
    self.sessions[session.id] = nil
    session:close()
    session.talk:join()
  end
  acp_stored.remove(params.sessionId)
  return empty
end

methods["session/close"] = function(self, params)
  local session = session_of(self, params)
  self.sessions[session.id] = nil
  session:close()
  return empty
end

methods["session/prompt"] = function(self, params, request)
  local session = session_of(self, params)
  request.on_drop = function() session:cancel() end
  return session:prompt(params.prompt)
end

local function set_mode(self, session, mode)
  local plans = mode == "plan"
  local ok, err = session.run:change(plans and { mode = "plan" } or { mode = session.mode == "plan" and "act" or nil, approve = approve_of(self, mode) })
  if not ok then error({ code = codes.internal, message = err.message }, 0) end
  if plans and session.mode ~= "plan" then session.acts = session.mode end
  session.mode = mode
end

methods["session/set_mode"] = function(self, params)
  local session, mode = session_of(self, params), params.modeId
  if type(mode) ~= "string" or word_of[mode] == nil then wrong "'modeId' has to be ask, auto, plan or deny" end
  set_mode(self, session, mode)
  acp_options.tell(session)
  return empty
end

local setters = {}

function setters.mode(self, session, value)
  if type(value) ~= "string" or word_of[value] == nil then wrong "'value' has to be ask, auto, plan or deny" end
  set_mode(self, session, value)
  session:update { sessionUpdate = "current_mode_update", currentModeId = value }
end

function setters.model(_, session, value)
  local ok, err = acp_options.set_model(session, value)
  if not ok then wrong("'value': %s", err) end
end

methods["session/set_config_option"] = function(self, params)
  local session, set = session_of(self, params), setters[params.configId]
  if not set then wrong "'configId' has to be mode or model" end
  set(self, session, params.value)
  return { configOptions = acp_options.of(session) }
end

local notices = {}

notices["session/cancel"] = function(self, params)
  local session = type(params.sessionId) == "string" and self.sessions[params.sessionId]
  if session then session:cancel() end
end

notices["$/cancel_request"] = function(self, params)
  local id = params.requestId
  if type(id) == "string" or math.type(id) == "integer" then self.rpc:drop(id) end
end

-- ---- Serving -----------------------------------------------------------------------------------

local before_all = { initialize = true, authenticate = true }

local function bound(self)
  local made = {}
  for name, fn in pairs(methods) do
    made[name] = function(params, request)
      if not self.client and not before_all[name] then error({ code = codes.invalid_request, message = "'initialize' comes first" }, 0) end
      return fn(self, params, request)
    end
  end
  return made
end

local function bound_notices(self)
  local made = {}
  for name, fn in pairs(notices) do made[name] = function(params) return fn(self, params) end end
  return made
end

--- Takes what an editor sends, below the running fiber: `take(text)`; and what is to be sent goes to the sink.
---@param spec {target?: string, options: table, sink: hocket.RpcSink, on_close?: fun()}
---@return hocket.Acp
function acp.new(spec)
  local self = setmetatable({ target = spec.target, options = spec.options, sessions = {}, title = "hocket" }, Acp)
  self.rpc = rpcs.new { sink = spec.sink, methods = bound(self), notices = bound_notices(self), on_close = spec.on_close }
  self.talks = talks.open()
  return self
end

--- Takes one message.
---@param text string
function Acp:take(text)
  self.rpc:take(text)
end

--- The editor sends nothing more: what it has asked is answered, and all prompts end.
---@async
---@param seconds number At most.
function Acp:finish(seconds)
  fiber.rest() -- what has just come has its turn
  for _, session in pairs(self.sessions) do session:cancel() end
  self.rpc:settle(seconds)
end

--- The editor is gone: all sessions are put away.
---@async
function Acp:close()
  local left = {}
  for id, session in pairs(self.sessions) do
    self.sessions[id], left[#left + 1] = nil, session.talk
    session:close()
  end
  for _, one in ipairs(left) do one:join() end
end

return acp
