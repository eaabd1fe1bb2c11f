--- The HTTP server of `hocket serve`: lets requests in, finds their handler, and runs it in a fiber of its own.
---
---     accept ──> admitted? ──> router ──> scope? ──> handler(request, response) in a fiber ──> access log
---        └── the client is gone, or its token is revoked ──> the fiber is cancelled
---
--- A handler has `request.server`: this server with the desk of whoever asks (desk/client.lua). What it does for a client it does by that.
---
--- An interface is a file in this folder that returns `function(server)`. It adds its handlers to `server.router`, and starts runs only by
--- `request.server.desk` (desk.lua), which knows the limits, the queue, the store and the server's end. interfaces.lua names the interfaces.
local admission = require "hocket.internal.base.http.admission"
local callers = require "hocket.internal.endpoints.caller"
local caller_desk = require "hocket.internal.endpoints.desk.client"
local caught = require "hocket.internal.base.caught"
local fiber = require "hocket.internal.core.fiber"
local requests = require "hocket.internal.endpoints.request"
local responses = require "hocket.internal.endpoints.response"
local routers = require "hocket.internal.endpoints.router"
local runs = require "hocket.internal.run.run"
local scopes = require "hocket.internal.endpoints.scopes"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"
local token_spending = require "hocket.internal.endpoints.token.spending"
local tracing = require "hocket.internal.base.tracing"

local server = {}

--- Seconds without a word on a stream after which it is shown that we are there.
local ALIVE = 15
--- Seconds between two writes of a stream, for each that is open: of very many each has larger pieces, and not more of them.
local PACE, LEAST_PAUSE = 1e-4, 0.01
--- Seconds that requests have to end when the server does.
local PARTING = 2
--- Seconds that a request waits for an answer of the store, which may be away.
local PATIENCE = 4
--- Seconds between two looks at whether the tokens of open requests still hold.
local LOOK = 0.5

---@class hocket.EndpointServer
---@field router hocket.Router
---@field page? table The files of the page by their names, as the program has them.
---@field desk hocket.Desk
---@field streams table<integer, hocket.EventStream>
---@field n_streams integer
local Server = {}
Server.__index = Server

---@param options {token?: string, all_runs?: boolean, scheme?: "https", behind_proxy?: boolean, hosts?: table<string, true>, origins?: table<string, true>, desk: hocket.Desk, log?: fun(entry: table)}
---@return hocket.EndpointServer
function server.new(options)
  return setmetatable({
    token = options.token, all_runs = options.all_runs, spending = token_spending.new(options.desk), callers = {}, scheme = options.scheme or "http", behind_proxy = options.behind_proxy, hosts = options.hosts, origins = options.origins, desk = options.desk, log = options.log,
    router = routers.new(), streams = {}, n_streams = 0, open = {}, public = {}, public_below = {}, counts = {}, began = fiber.now(),
  }, Server)
end

--- Lets a path be asked for without the token: for what says nothing of anybody.
---@param path string
function Server:make_public(path)
  self.public[path] = true
end

--- The same for everything that is below a path, as in "/page/".
---@param prefix string
function Server:make_public_below(prefix)
  self.public_below[#self.public_below + 1] = prefix
end

local function is_public(self, path)
  if self.public[path] then return true end
  for _, prefix in ipairs(self.public_below) do
    if path:sub(1, #prefix) == prefix then return true end
  end
  return false
end

-- ---- Who is let in -------------------------------------------------------------------------------

-- A page of this server itself, or of an origin that was named.
local function from_own_page(self, request)
  local origin = request.headers.origin
  if not origin then return true end
  if self.origins and self.origins[origin:lower()] then return true end
  local scheme, host = origin:lower():match "^(https?)://(.+)$"
  return host ~= nil and host == (request.headers.host or ""):lower() and admission.speaks(scheme, host, self.tls)
end

-- nil, or why not. Sets the request's caller, and the server as that one has it.
local function refused(self, request)
  if not admission.host(request.headers, self.hosts) then
    return { code = "denied", message = "the Host header names another machine" }
  elseif not from_own_page(self, request) then
    return { code = "denied", message = "pages of other origins are not let in" }
  elseif is_public(self, request.path) or request.method == "OPTIONS" then return nil end
  local caller, over = callers.of(request.headers, self.token, self.all_runs)
  if not caller then return over or { code = "auth", message = "missing or wrong token (send Authorization: Bearer TOKEN)" } end
  request.caller, self.callers[request.id] = caller, caller
  request.server = setmetatable({ desk = caller_desk.new(self.desk, caller, self.spending) }, { __index = self })
end

-- nil, or the scope that the token lacks for an endpoint.
local function out_of_scope(request, form)
  local caller = request.caller
  local scope = caller and not caller:is_owner() and scopes.missing(caller.scopes, request.method, form)
  if scope and caller.link then return { code = "denied", message = "this link answers one question, and opens nothing else" } end
  return scope and { code = "denied", scope = scope, message = ("this token has no scope '%s'"):format(scope) } or nil
end

local function challenge(err)
  if err.scope then return { ["www-authenticate"] = ('Bearer error="insufficient_scope", scope="%s"'):format(err.scope) } end
  return err.code == "auth" and { ["www-authenticate"] = "Bearer" } or nil
end

local ALLOWED = "authorization, content-type, last-event-id, idempotency-key, x-api-key, anthropic-version, anthropic-beta, "
  .. "anthropic-dangerous-direct-browser-access, openai-organization, openai-project, a2a-version, a2a-extensions, x-stainless-arch, x-stainless-lang, "
  .. "x-stainless-os, x-stainless-package-version, x-stainless-retry-count, x-stainless-runtime, x-stainless-runtime-version, x-stainless-timeout, "
  .. "x-stainless-helper-method, x-stainless-poll-helper, x-stainless-custom-poll-interval"

--- What a page of a named origin has to be told with each answer.
---@param request hocket.Request
---@return table<string, string>?
function Server:cors(request)
  local origin = request.headers.origin
  if not origin or not (self.origins and self.origins[origin:lower()]) then return nil end
  return { ["access-control-allow-origin"] = origin, vary = "Origin", ["access-control-expose-headers"] = "x-request-id, request-id, retry-after, x-hocket-run, x-hocket-cost" }
end

local function preflight(response, methods)
  table.insert(methods, "OPTIONS")
  local list = table.concat(methods, ", ")
  return response:send(204, "", {
    allow = list, ["access-control-allow-methods"] = list, ["access-control-allow-headers"] = ALLOWED, ["access-control-max-age"] = "600",
  })
end

--- Where a client has found this server: "https://agents.example.org". What a proxy says of it counts only where there is one.
---@param request hocket.Request
---@return string
function Server:base(request)
  local said = self.behind_proxy and (request.headers["x-forwarded-proto"] or ""):match "^%s*(https?)%s*$"
  return ("%s://%s"):format(said or self.scheme, request.headers.host or "127.0.0.1")
end

-- Who asks. A proxy in front says for whom it does, in the last place of a list that its client may have begun itself.
local function address_of(self, request)
  local said = self.behind_proxy and (request.headers["x-forwarded-for"] or ""):match "([%x.:]+)%s*$"
  return said and #said <= 45 and said or self.listener:peer(request.id)
end

-- ---- One request -----------------------------------------------------------------------------------

local function answer(self, request, response)
  local err = refused(self, request)
  if err then return response:fail(err, challenge(err)) end
  local handler, params, form = self.router:find(request.method, request.path)
  request.route = form
  if not handler and #params > 0 and request.method == "OPTIONS" then return preflight(response, params) end
  if not handler and #params > 0 then
    return response:fail({ code = "method", message = ("%s is for %s"):format(request.path, table.concat(params, ", ")) }, { allow = table.concat(params, ", ") })
  elseif not handler then
    return response:fail { code = "not_found", status = 404, message = ("there is nothing at %s"):format(request.path:sub(1, 200)) }
  end
  err = out_of_scope(request, form)
  if err then return response:fail(err, challenge(err)) end
  request.params = params
  return handler(request, response)
end

-- Something is wrong with us, not with the client: it learns that, and the log why.
local function tell_failure(response, raised)
  local err = caught.error(raised)
  local open = response.stream_open
  system.log("error", ("%s %s: %s"):format(response.request.method, response.request.path, tostring(err.traceback or err.message)))
  if open then return open:abort() end
  if not response.status then response:fail { code = "internal", message = "the server has failed at this; its log says why" } end
end

local function count(self, response)
  local status = response.status or 499
  self.counts[status] = (self.counts[status] or 0) + 1
end

local function note(self, request, response, began, address)
  count(self, response)
  if not self.log then return end
  self.log {
    address = address, method = request.method, path = request.path:sub(1, 500), status = response.status or 499, bytes = response.bytes or 0,
    ms = math.floor((fiber.now() - began) * 1e6 + 0.5) / 1000, client = request.headers["user-agent"] and request.headers["user-agent"]:sub(1, 200) or nil,
  }
end

-- Its span, where somebody wants that: runs that it begins are below it. What is asked for all the time, and says nothing of anybody, is
-- measured alone.
local function observe(self, request)
  local headers = request.headers
  local traced = tracing.begin and tracing.begin("http", { method = request.method, path = request.path, scheme = self.scheme, host = headers.host, agent = headers["user-agent"],
    address = address_of(self, request), parent = headers.traceparent, state = headers.tracestate, quiet = is_public(self, request.path) })
  if traced and runs.traces then fiber.set_context { trace = traced.trace, parent = fiber.context() } end
  return traced
end

local function serve(self, http)
  local began = fiber.now()
  store.hurry(PATIENCE)
  local request = requests.new(http)
  request.server = self
  local traced <close> = observe(self, request)
  local response = responses.new(self, request)
  local address = self.log and address_of(self, request) -- while it is there
  local over <close> = setmetatable({}, { __close = function()
    if self.streams[request.id] then self.n_streams = self.n_streams - 1 end
    self.open[request.id], self.streams[request.id], self.callers[request.id] = nil, nil, nil
    note(self, request, response, began, address or nil)
    if traced then traced:ended { status = response.status, route = request.route } end
  end })
  local ok, raised = pcall(answer, self, request, response)
  if not ok and fiber.cancelled() then return response.status == nil and self.listener:abort(request.id, "eof") end
  if not ok then return tell_failure(response, raised) end
  if response.stream_open then return response.stream_open:close() end
  if not response.status then tell_failure(response, "the handler has not answered") end
end

local function take(self, http)
  local at_work = self.open[http.id]
  if http.gone then return at_work and at_work:cancel() end
  self.open[http.id] = self.listener:answer(http.id, serve, self, http)
end

-- ---- The server ------------------------------------------------------------------------------------

-- Whose token is revoked, or over, has no open request any more; what they have begun goes on.
local function look_at_tokens(self)
  while true do
    fiber.sleep(LOOK)
    for id, caller in pairs(self.callers) do
      if not caller:holds() and self.open[id] then
        self.listener:abort(id, "eof")
        self.open[id]:cancel()
      end
    end
  end
end

local function show_life(self)
  while true do
    fiber.sleep(ALIVE / 3)
    local due = fiber.now() - ALIVE
    for id, stream in pairs(self.streams) do
      if stream.ping and stream.written <= due and not stream.closed and self.listener:write(id, stream.ping) then stream.written = fiber.now() end
    end
  end
end

-- The names of the certificate are ours as well; which they are may change with it.
local function certified(hosts, listener)
  return setmetatable({}, {
    __index = function(_, host) return hosts[host] or listener:certified(host:match "^%[(.*)%]$" or host) or nil end,
  })
end

--- Listens. The socket is there when this returns.
---@param options table As hocket.internal.core.server.new takes them.
---@return integer? port
---@return hocket.Error?
function Server:listen(options)
  options.tells_gone = true
  local listener, err = require("hocket.internal.core.server").new(options)
  if not listener then return nil, err end
  self.listener = listener
  self.tls = options.tls_cert ~= nil
  if options.tls_cert then self.hosts = certified(self.hosts or {}, listener) end
  return listener:port()
end

--- Answers requests until the running fiber is cancelled or the server is closed.
---@async
function Server:serve()
  fiber.spawn(show_life, self):serve()
  fiber.spawn(look_at_tokens, self):serve()
  fiber.spawn(self.spending.watch, self.spending):serve()
  while true do
    local http = self.listener:accept()
    if not http then return end
    local ok, wrong = pcall(take, self, http)
    if not ok then
      if fiber.cancelled() then error(wrong, 0) end
      self.listener:give_up(http.id)
      system.log("error", "a request cannot be answered: " .. caught.error(wrong).message)
    end
  end
end

--- Has a stream that is about to write wait, where very many are open: all of them are woken at once, and what they read has to go on
--- before them. So they come one after the other, and no run is slower for its readers.
---@async
function Server:let_others()
  local pause = self.n_streams * PACE
  if pause >= LEAST_PAUSE then fiber.sleep(pause * 2 * math.random()) end
end

--- Lets what is being answered have its end; for a moment, since some readers wait for what others do.
---@async
function Server:finish()
  local due = fiber.now() + PARTING
  while next(self.open) and fiber.now() < due do fiber.sleep(0.02) end
end

--- Requests that are open, and event streams among them.
---@return integer requests
---@return integer streams
function Server:at_work()
  local n, streams = 0, 0
  for _ in pairs(self.open) do n = n + 1 end
  for _ in pairs(self.streams) do streams = streams + 1 end
  return n, streams
end

return server
