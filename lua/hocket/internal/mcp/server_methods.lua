--- What a server is asked, by method: which eras have it, whether it may wait, and what answers it.
local protocol_version = require "hocket.internal.mcp.protocol_version"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local message = require "hocket.internal.mcp.message"
local tasks = require "hocket.internal.mcp.server_tasks"
local work = require "hocket.internal.mcp.server_work"
local codes = message.codes

local methods = {}

--- Entries of one page; milliseconds that a client may keep a list; values of a completion; addresses that one subscribes to.
local PAGE, KEEP, MAX_VALUES, MAX_URIS = 1000, 5000, 100, 1000

local META = message.META

local function wrong(code, text, data)
  return nil, { code = code, message = text, data = data }
end

local function object(value)
  return next(value) and value or json.decode "{}"
end

-- ---- What we are -----------------------------------------------------------------------------

local function capabilities(catalog)
  local can, offers = {}, catalog:offers()
  if offers.tools then can.tools = { listChanged = true } end
  if offers.prompts then can.prompts = { listChanged = true } end
  if offers.resources then can.resources = { listChanged = true, subscribe = true } end
  if offers.prompts or offers.resources then can.completions = object {} end
  can.logging = object {}
  return can
end

local function initialize(self, request)
  local params = request.params
  if self.version then return wrong(codes.invalid_request, "this connection was initialized already") end
  if type(params.protocolVersion) ~= "string" then return wrong(codes.invalid_params, "'protocolVersion' has to be a text") end
  self.version = protocol_version.answer(params.protocolVersion)
  self.capabilities = type(params.capabilities) == "table" and params.capabilities or {}
  self.client, self.level = params.clientInfo, "info"
  local catalog = self.server.catalog
  return { protocolVersion = self.version, capabilities = capabilities(catalog), serverInfo = catalog:info(), instructions = catalog:instructions() }
end

local function discover(self)
  local catalog = self.server.catalog
  local can = capabilities(catalog)
  can.extensions = { [tasks.EXTENSION] = object {} }
  return {
    supportedVersions = protocol_version.VERSIONS, capabilities = can, serverInfo = catalog:info(),
    instructions = catalog:instructions(), ttlMs = KEEP, cacheScope = "private",
  }
end

local function set_level(self, request)
  local level = work.level(request.params.level)
  if not level then return wrong(codes.invalid_params, "'level' has to be one of debug, info, notice, warning, error, critical, alert, emergency") end
  self.level = level
  return object {}
end

-- ---- Lists -----------------------------------------------------------------------------------

-- From where a page begins; nil where a cursor is none of ours.
local function place_of(cursor)
  if cursor == nil then return 0 end
  return type(cursor) == "string" and math.tointeger(tonumber(cursor:match "^after:(%d+)$"))
end

local function keepable(request, result, ms)
  if request.modern then result.ttlMs, result.cacheScope = ms, "private" end
  return result
end

local function lister(name, field)
  return function(self, request)
    local from = place_of(request.params.cursor)
    if not from then return wrong(codes.invalid_params, "'cursor' is none that was given out") end
    local all = self.server.catalog[name](self.server.catalog, request)
    local page = json.array(table.move(all, from + 1, math.min(#all, from + PAGE), 1, {}))
    return keepable(request, { [field] = page, nextCursor = from + PAGE < #all and ("after:%d"):format(from + PAGE) or nil }, KEEP)
  end
end

-- ---- What is worked at -----------------------------------------------------------------------

local function text_of(request, name)
  local value = request.params[name]
  if type(value) == "string" and value ~= "" then return value end
  return wrong(codes.invalid_params, ("'%s' has to be a text"):format(name))
end

-- An argument object; nil where it is none.
local function arguments_of(request)
  local args = request.params.arguments
  if args == nil then return json.decode "{}" end
  if type(args) ~= "table" or json.is_array(args) and #args > 0 then return wrong(codes.invalid_params, "'arguments' have to be an object") end
  return args
end

local function call_tool(self, request)
  local name, err = text_of(request, "name")
  if not name then return nil, err end
  local args
  args, err = arguments_of(request)
  if not args then return nil, err end
  local catalog = self.server.catalog
  local one = catalog:tool(name)
  if not one then return wrong(codes.invalid_params, ("there is no tool '%s'"):format(name)) end
  return work.perform(request, function(at) return catalog:call(one, args, at) end, one.task)
end

local function read_resource(self, request)
  local uri, err = text_of(request, "uri")
  if not uri then return nil, err end
  local catalog = self.server.catalog
  local read = catalog:resource(uri)
  if not read then return wrong(request.modern and codes.invalid_params or codes.no_resource, ("there is no resource '%s'"):format(uri), { uri = uri }) end
  local result
  result, err = work.perform(request, read)
  return result and not result.resultType and keepable(request, result, 0) or result, err
end

local function get_prompt(self, request)
  local name, err = text_of(request, "name")
  if not name then return nil, err end
  local args
  args, err = arguments_of(request)
  if not args then return nil, err end
  local one = self.server.catalog:prompt(name)
  if not one then return wrong(codes.invalid_params, ("there is no prompt '%s'"):format(name)) end
  for _, argument in ipairs(one.arguments or {}) do
    if argument.required and type(args[argument.name]) ~= "string" then
      return wrong(codes.invalid_params, ("the prompt '%s' needs the argument '%s', a text"):format(name, argument.name))
    end
  end
  return work.perform(request, function(at) return one.get(args, at) end)
end

local function complete(self, request)
  local ref, argument = request.params.ref, request.params.argument
  if type(ref) ~= "table" or type(argument) ~= "table" or type(argument.name) ~= "string" or type(argument.value) ~= "string" then
    return wrong(codes.invalid_params, "'ref' and 'argument' (name, value) are needed")
  end
  local given = type(request.params.context) == "table" and request.params.context.arguments
  local values = self.server.catalog:complete(ref, argument, type(given) == "table" and given or {})
  if not values then return wrong(codes.invalid_params, "there is nothing of that name to complete") end
  local shown = json.array(table.move(values, 1, math.min(#values, MAX_VALUES), 1, {}))
  return { completion = { values = shown, total = #values, hasMore = #values > MAX_VALUES } }
end

-- ---- Subscribing to changes
-- ------------------------------------------------------------------------

local function subscribe(on)
  return function(self, request)
    local uri, err = text_of(request, "uri")
    if not uri then return nil, err end
    if on and not self.uris[uri] then
      self.n_uris = (self.n_uris or 0) + 1
      if self.n_uris > MAX_URIS then return wrong(codes.invalid_params, ("more than %d addresses"):format(MAX_URIS)) end
    elseif not on and self.uris[uri] then
      self.n_uris = self.n_uris - 1
    end
    self.uris[uri] = on or nil
    return object {}
  end
end

-- What of a wish for news is granted.
local function granted(catalog, wanted)
  local offers, filter, uris = catalog:offers(), {}, {}
  for _, what in ipairs { "tools", "prompts", "resources" } do
    local key = what .. "ListChanged"
    if wanted[key] == true and offers[what] then filter[key] = true end
  end
  local list = json.array {}
  for _, uri in ipairs(type(wanted.resourceSubscriptions) == "table" and offers.resources and wanted.resourceSubscriptions or {}) do
    if type(uri) == "string" and #list < MAX_URIS then list[#list + 1], uris[uri] = uri, true end
  end
  if #list > 0 then filter.resourceSubscriptions = list end
  return filter, uris
end

-- Tasks whose state is to be told.
local function granted_tasks(self, wanted, filter)
  local list, ids = json.array {}, {}
  for _, id in ipairs(type(wanted.taskIds) == "table" and wanted.taskIds or {}) do
    if self.server.tasks[id] and not ids[id] then list[#list + 1], ids[id] = id, true end
  end
  if #list > 0 then filter.taskIds = list end
  return ids
end

local function listen(self, request)
  local wanted = request.params.notifications
  if type(wanted) ~= "table" then return wrong(codes.invalid_params, "'notifications' has to be an object: what is to be told") end
  if wanted.taskIds ~= nil and not tasks.is_known_to(request) then return tasks.missing() end
  local filter, uris = granted(self.server.catalog, wanted)
  local ids = granted_tasks(self, wanted, filter)
  request.sink:send(message.request(nil, "notifications/subscriptions/acknowledged",
    { notifications = object(filter), _meta = { [META .. "subscriptionId"] = request.id } }))
  self.listens[request] = { request = request, filter = filter, uris = uris, tasks = ids }
  local over <close> = setmetatable({}, { __close = function() self.listens[request] = nil end })
  while true do fiber.park() end
end

--- By name; `waits`: it is worked at in a fiber of its own.
---@type table<string, {run: fun(self: hocket.McpConnection, request: hocket.McpRequest): table?, table?, modern?: boolean, legacy?: boolean, waits?: boolean}>
methods.of = {
  initialize = { run = initialize, legacy = true },
  ping = { run = function() return object {} end, legacy = true },
  ["logging/setLevel"] = { run = set_level, legacy = true },
  ["resources/subscribe"] = { run = subscribe(true), legacy = true },
  ["resources/unsubscribe"] = { run = subscribe(false), legacy = true },
  ["server/discover"] = { run = discover, modern = true },
  ["subscriptions/listen"] = { run = listen, modern = true, waits = true },
  ["tasks/get"] = { run = tasks.get, modern = true },
  ["tasks/update"] = { run = tasks.update, modern = true },
  ["tasks/cancel"] = { run = tasks.cancel, modern = true },
  ["tools/list"] = { run = lister("tools", "tools"), modern = true, legacy = true },
  ["tools/call"] = { run = call_tool, modern = true, legacy = true, waits = true },
  ["resources/list"] = { run = lister("resources", "resources"), modern = true, legacy = true },
  ["resources/templates/list"] = { run = lister("templates", "resourceTemplates"), modern = true, legacy = true },
  ["resources/read"] = { run = read_resource, modern = true, legacy = true, waits = true },
  ["prompts/list"] = { run = lister("prompts", "prompts"), modern = true, legacy = true },
  ["prompts/get"] = { run = get_prompt, modern = true, legacy = true, waits = true },
  ["completion/complete"] = { run = complete, modern = true, legacy = true, waits = true },
}

return methods
