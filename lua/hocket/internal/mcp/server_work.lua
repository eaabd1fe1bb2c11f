--- What a server works at for one request: a call, a resource, a prompt. Whoever does it can tell how far it is, log, and ask
--- the client something in the middle of it.
---
---     legacy   a question is a request to the client, which is awaited
---     modern   the request is answered with the question and a state; the work is parked, and goes on when the request comes
---              back with both
---
---     task     it goes on by itself, and what it asks is answered by tasks/update (server_tasks.lua)
---
--- A state is a random word that stands for the parked work: known to nobody else, good for the same request alone, until the
--- question is answered or its time is over.
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local message = require "hocket.internal.mcp.message"
local schema = require "hocket.schema"
local system = require "hocket.internal.core.system"
local tasks = require "hocket.internal.mcp.server_tasks"
local codes, failed = message.codes, system.error

local work = {}

--- Seconds that work waits for its client to come back; how much work waits at most; times that a form is asked for again.
local PATIENCE, MAX_PARKED, FORMS = 3600, 1000, 3
--- Seconds before work is a task at the earliest: what it asks by then comes first.
local AT_ONCE = 0.01

local levels = { debug = 1, info = 2, notice = 3, warning = 4, error = 5, critical = 6, alert = 7, emergency = 8 }

--- A level's name, or nil where it is none.
---@param value any
---@return string?
function work.level(value)
  return type(value) == "string" and levels[value] and value or nil
end

---@class hocket.McpWork
---@field request? hocket.McpRequest That it is done for just now; nil while it is parked.
---@field client table The client's name and version, as it says.
local Work = {}
Work.__index = Work

-- ---- Telling ---------------------------------------------------------------------------------

--- Says how far it is, to a client that wants to know. What does not rise is not told.
---@param progress number
---@param total? number
---@param text? string
function Work:progress(progress, total, text)
  local request = self.request
  if self.task and text then tasks.touch(self, text) end
  if not request or not request.token or self.told and progress <= self.told then return end
  self.told = progress
  request.sink:send(message.request(nil, "notifications/progress",
    { progressToken = request.token, progress = progress, total = total, message = text }), true)
end

--- Whether the client wants to hear of how it goes.
---@return boolean
function Work:is_watched()
  return self.task ~= nil or self.request ~= nil and self.request.token ~= nil
end

--- A tool's `ctx.keep`: such a call belongs to no run that is kept.
function Work.keep() end

--- Whether the client has said that it does not want an answer any more.
---@return boolean
function Work:is_cancelled()
  return self.cancelled or self.request ~= nil and self.request.cancelled == true
end

--- Logs something for the client, where it wants to hear that.
---@param level "debug"|"info"|"notice"|"warning"|"error"|"critical"|"alert"|"emergency"
---@param data any
---@param logger? string
function Work:log(level, data, logger)
  local request = self.request
  local least = request and request.level
  if not least or (levels[level] or 0) < levels[least] then return end
  request.sink:send(message.request(nil, "notifications/message", { level = level, data = data, logger = logger }), true)
end

--- Tells whoever wants to know that a list has changed, or (with `uri`) what stands there.
---@param what "tools"|"resources"|"prompts"
---@param uri? string
function Work:changed(what, uri)
  self.catalog:changed(what, uri)
end

-- ---- Asking ----------------------------------------------------------------------------------

local capability_of = { ["elicitation/create"] = "elicitation", ["sampling/createMessage"] = "sampling", ["roots/list"] = "roots" }

--- Whether the client can be asked that.
---@param method "elicitation/create"|"sampling/createMessage"|"roots/list"
---@param mode? "form"|"url" Of an elicitation.
---@return boolean
function Work:can(method, mode)
  local can = self.capabilities[capability_of[method]]
  if type(can) ~= "table" then return false end
  if method ~= "elicitation/create" then return true end
  if mode == "url" then return can.url ~= nil end
  return can.form ~= nil or next(can) == nil
end

local function cannot(method, mode)
  local name = capability_of[method]
  local required = { [name] = mode == "url" and { url = json.decode "{}" } or json.decode "{}" }
  local text = ("the client cannot be asked this: it does not declare '%s'%s"):format(name, mode == "url" and " with 'url'" or "")
  return nil, failed { code = "unsupported", message = text, rpc = { code = codes.missing_capability, message = text, data = { requiredCapabilities = required } } }
end

-- Modern: the answer to the request has the question; it waits for the client to send the request again.
local function ask_by_answer(self, method, params, name)
  self.n_asks = self.n_asks + 1
  local key = name and not self.asks[name] and not self.asked[name] and name or "q" .. self.n_asks
  if self.task then self.asked[key] = true end -- a task never asks two things under one name
  local question = { method = method, params = params, fiber = fiber.self() }
  self.asks[key] = question
  local left <close> = setmetatable({}, { __close = function() self.asks[key] = nil end })
  if self.waiter then self.waiter:wake() end
  while question.answer == nil do fiber.park_for_program() end
  return question.answer
end

--- Asks the client, by the rules of its protocol version.
---@async
---@param method "elicitation/create"|"sampling/createMessage"|"roots/list"
---@param params? table
---@param name? string Of the question, for clients of 2026-07-28.
---@return table? result
---@return hocket.Error?
function Work:ask(method, params, name)
  local mode = params and params.mode
  if not self:can(method, mode) then return cannot(method, mode) end
  if self.modern then return ask_by_answer(self, method, params, name) end
  local result, err = self.request.connection:ask(self.request, method, params or json.decode "{}")
  if result then return result end
  return nil, failed { code = "server", message = "the client answered with an error: " .. err.message }
end

local function check_form(params, result)
  local action = result.action
  if action ~= "accept" and action ~= "decline" and action ~= "cancel" then return nil, "'action' has to be accept, decline or cancel" end
  if action ~= "accept" or params.mode == "url" then return true end
  local compiled = schema.compile(params.requestedSchema)
  local ok, why = compiled:check(type(result.content) == "table" and result.content or json.decode "{}")
  return ok, why
end

--- Asks the person at the client something: a text, or what `elicitation/create` takes. What does not fit the schema is asked
--- again, three times in all.
---@async
---@param params string|{message: string, requestedSchema?: table, mode?: "url", url?: string}
---@param name? string Of the question.
---@return {action: "accept"|"decline"|"cancel", content?: table}? result
---@return hocket.Error?
function Work:elicit(params, name)
  if type(params) == "string" then params = { message = params } end
  if params.mode ~= "url" then
    params.requestedSchema = params.requestedSchema or { type = "object", properties = json.decode "{}" }
  end
  local why
  for _ = 1, FORMS do
    local result, err = self:ask("elicitation/create", params, name)
    if not result then return nil, err end
    local ok
    ok, why = check_form(params, result)
    if ok then return result end
  end
  return nil, failed { code = "invalid", message = ("the client's answer does not fit: %s"):format(why) }
end

--- Lets the client's model answer: {messages, maxTokens, systemPrompt …}.
---@async
---@param params table
---@param name? string Of the question.
---@return {role: string, content: table, model?: string}? result
---@return hocket.Error?
function Work:sample(params, name)
  return self:ask("sampling/createMessage", params, name)
end

--- The places that the client works in.
---@async
---@param name? string Of the question.
---@return {uri: string, name?: string}[]? roots
---@return hocket.Error?
function Work:roots(name)
  local result, err = self:ask("roots/list", nil, name)
  if not result then return nil, err end
  return type(result.roots) == "table" and result.roots or {}
end

-- ---- Parked work -----------------------------------------------------------------------------

--- Ends it.
function Work:cancel()
  if self.fiber then self.fiber:cancel() end
end

--- Takes what a client answers, by the names of the questions.
---@param given table<string, table>
function Work:answer(given)
  for key, one in pairs(self.asks) do
    if type(given[key]) == "table" then
      one.answer, self.asks[key] = given[key], nil
      one.fiber:wake()
    end
  end
end

local function alike(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for key, value in pairs(a) do
    if not alike(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

local own_words = { _meta = true, inputResponses = true, requestState = true }

-- What makes a request the same one when it comes again.
local function essence(request)
  local params = {}
  for name, value in pairs(request.params) do
    if not own_words[name] then params[name] = value end
  end
  return { method = request.method, params = params }
end

local function expire(self, parked, token)
  fiber.sleep(PATIENCE)
  if parked[token] ~= self then return end
  parked[token] = nil
  self:cancel()
end

-- The answer that stands for its questions.
local function park(self, server)
  local asked, count = {}, 0
  for key, one in pairs(self.asks) do asked[key] = { method = one.method, params = one.params or json.decode "{}" } end
  for _ in pairs(server.parked) do count = count + 1 end
  if count >= MAX_PARKED then
    self:cancel()
    return nil, { code = codes.internal, message = ("more than %d requests wait for their clients to answer"):format(MAX_PARKED) }
  end
  local token = system.token(48)
  server.parked[token], self.request, self.waiter = self, nil, nil
  self.expiry = fiber.detach(expire, self, server.parked, token)
  self.expiry:serve()
  return { resultType = "input_required", inputRequests = asked, requestState = token }
end

-- Work for which this request is the answer.
local function unpark(request)
  local parked, token = request.connection.server.parked, request.params.requestState
  local self = type(token) == "string" and parked[token]
  if not self or not alike(self.essence, essence(request)) then
    return nil, { code = codes.invalid_params, message = "'requestState' is none that was given for this request, or its time is over" }
  end
  parked[token] = nil
  self.expiry:cancel()
  self:answer(type(request.params.inputResponses) == "table" and request.params.inputResponses or {})
  return self
end

-- Until it is done, has a question, or becomes a task. One moment more: what is asked side by side is asked at once.
local function await(self, request)
  local server, due = request.connection.server, self.long and tasks.is_known_to(request) and fiber.now() + math.max(self.long, AT_ONCE)
  self.request, self.waiter, request.work = request, fiber.self(), self
  while not self.done do
    if next(self.asks) then fiber.rest() end
    if next(self.asks) and not self.done then
      request.work = nil
      return park(self, server)
    end
    if due and not self.done and fiber.now() >= due then
      local task = tasks.make(server, self)
      if task then
        request.work = nil
        return task
      end
      due = nil -- too many: it is awaited
    end
    if not self.done then fiber.park(due and math.max(due - fiber.now(), 0.001) or nil) end
  end
  if self.raised then error(self.raised, 0) end
  return self.result, self.err
end

local function new(request)
  return setmetatable({
    request = request, catalog = request.connection.server.catalog, modern = request.modern, version = request.version, capabilities = request.capabilities,
    client = type(request.client) == "table" and request.client or {}, asks = {}, asked = {}, n_asks = 0,
  }, Work)
end

-- However it ends, whoever waits is woken.
local function run(self, fn)
  local over <close> = setmetatable({}, { __close = function()
    self.done = true
    self.err = self.err or not self.result and { code = codes.internal, message = "it was cancelled" } or nil
    if self.waiter then self.waiter:wake() end
  end })
  local ok, result, err = pcall(fn, self)
  if ok then
    self.result, self.err = result, err
  elseif not fiber.cancelled() then
    self.raised = result
  end
end

-- Seconds after which a call becomes a task. A client that wants progress keeps getting it, where the protocol
-- allows that.
local function patience_of(long, request)
  if not long or not tasks.is_known_to(request) then return nil end
  if long == "required" then return 0 end
  return (long == 0 or not request.token) and long or nil
end

--- Lets `fn(work)` answer a request, which may ask the client meanwhile.
---@async
---@param request hocket.McpRequest
---@param fn fun(at: hocket.McpWork): table?, {code: integer, message: string}?
---@param long? number|"required" Seconds after which it is made a task, where the client knows these; required: it is answered in no other way.
---@return table? result
---@return {code: integer, message: string}?
function work.perform(request, fn, long)
  local self, err
  if long == "required" and request.modern and not tasks.is_known_to(request) then return tasks.missing() end
  if request.modern and request.params.requestState ~= nil then
    self, err = unpark(request)
    if not self then return nil, err end
    return await(self, request)
  end
  self = new(request)
  self.long = patience_of(long, request)
  local may_ask = request.modern and (self.capabilities.elicitation or self.capabilities.sampling or self.capabilities.roots)
  if not may_ask and not self.long then return fn(self) end
  self.essence = essence(request)
  self.fiber = fiber.detach(run, self, fn)
  return await(self, request)
end

return work
