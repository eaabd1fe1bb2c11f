--- One connection to one MCP server: its tools, resources and prompts, whatever revision it speaks.
local client_tasks = require "hocket.internal.mcp.client_tasks"
local protocol_version = require "hocket.internal.mcp.protocol_version"
local fiber = require "hocket.internal.core.fiber"
local http = require "hocket.internal.mcp.http"
local http_sse = require "hocket.internal.base.lazy" "hocket.internal.mcp.http_sse"
local json = require "hocket.json"
local message = require "hocket.internal.mcp.message"
local peer = require "hocket.internal.mcp.peer"
local stdio = require "hocket.internal.mcp.stdio"
local tool_headers = require "hocket.internal.mcp.tool_headers"
local failed = require("hocket.internal.core.system").error

local client = {}
local hear_changes

--- Tools of one server, pages of a list, rounds in which a server asks back.
local MAX_TOOLS, MAX_PAGES, MAX_ROUNDS = 500, 100, 10

---@class hocket.McpTool
---@field name string As the server calls it.
---@field title? string
---@field description string
---@field inputSchema table
---@field outputSchema? table
---@field annotations table Hints of a stranger.
---@field package headers table
---@field package as_task boolean Whether it is called as a task alone.

---@class hocket.McpClient
---@field name string
---@field version? string The protocol's, as agreed on.
---@field modern boolean Whether that is the revision without sessions.
---@field server table The server's name and version, as it says.
---@field offers table What the server says that it can.
---@field instructions? string How the server wants to be used.
---@field dropped {name: string, why: string}[] Tools that it offers and that cannot be used.
local Client = {}
Client.__index = Client

-- ---- Life ----------------------------------------------------------------------------------

local function capabilities_of(on)
  local can = {}
  if on.elicit then can.elicitation = { form = {}, url = {} } end
  if on.sample then can.sampling = {} end
  if on.roots then can.roots = { listChanged = false } end
  return can
end

-- What both eras ask a client for, by method.
local asks = {
  ["elicitation/create"] = "elicit", ["sampling/createMessage"] = "sample", ["roots/list"] = "roots",
}

local function handle(self, method, params)
  if method == "ping" then return {} end
  local handler = asks[method] and self.on[asks[method]]
  if not handler then return nil, { code = message.codes.no_method, message = "this client has no method '" .. method .. "'" } end
  local ok, result, err = pcall(handler, params)
  if ok and result then return result end
  if fiber.cancelled() then error(result, 0) end
  return nil, { code = message.codes.internal, message = tostring(ok and (err and err.message or err) or result) }
end

local lists = {
  ["notifications/tools/list_changed"] = "tools", ["notifications/resources/list_changed"] = "resources",
  ["notifications/prompts/list_changed"] = "prompts",
}

local function notice(self, method, params)
  if lists[method] == "tools" then self.known_tools = nil end
  if lists[method] and self.on.changed then self.on.changed(lists[method]) end
  if method == "notifications/message" and self.on.log then self.on.log(params) end
  if method == "notifications/resources/updated" and self.on.updated then self.on.updated(params.uri) end
end

-- Everything of a connection lives below a fiber of its own, and ends with it.
local function owner()
  local made = fiber.detach(function()
    while true do fiber.park() end
  end)
  made:help()
  return made
end

-- Where it is, as traces say it.
local function place_of(spec)
  local server = spec.server or spec.name
  if not spec.url then return { server = server, transport = "pipe" } end
  local address, port = spec.url:match "^https?://%[?([^/%]?#:]+)%]?:?(%d*)"
  return { server = server, transport = "tcp", address = address, port = math.tointeger(tonumber(port)) }
end

local function open(self, how)
  local made = peer.new(self.name, {
    request = function(method, params) return handle(self, method, params) end,
    notification = function(method, params) notice(self, method, params) end,
  })
  made.owner = owner()
  made.place, made.observer = place_of(self.spec), self.spec.observer
  self.peer = made
  if self.spec.url and not how then return http.open(made, self.spec) end
  local transport, err = (how or stdio).open(made, how and self.spec or self.spec.process)
  if not transport then
    made.owner:cancel()
    return nil, err
  end
  return transport
end

--- The other side has ended: once more.
---@async
---@internal
function Client:reopen()
  self.peer.owner:cancel()
  return open(self)
end

--- The server knows nothing of messages that are posted to its address: the way of 2024-11-05.
---@async
---@internal
function Client:open_as_of_old()
  self.peer.owner:cancel()
  return open(self, http_sse)
end

--- The transport over HTTP says what was agreed on.
---@internal
function Client:use_version()
  local transport = self.peer.transport
  transport.modern, transport.version = self.modern, self.version
end

--- Seconds after which a server that ended its news is asked for them again, and times that it is.
local LISTEN_AGAIN, LISTEN_TRIES = 5, 5
local FOR_EVER = 1e9

-- What of a server's lists it tells changes of.
local function told_of(self)
  local wanted = {}
  for name, list in pairs { toolsListChanged = "tools", resourcesListChanged = "resources", promptsListChanged = "prompts" } do
    local offer = self.offers[list]
    if type(offer) == "table" and offer.listChanged == true then wanted[name] = true end
  end
  return next(wanted) and wanted
end

-- News of a stateless server come as the answer to a request, which takes as long as we want to hear.
function hear_changes(self)
  local wanted = told_of(self)
  if not wanted then return end
  fiber.spawn_under(self.peer.owner, function()
    for _ = 1, LISTEN_TRIES do
      local _, err = self.peer:request("subscriptions/listen", { notifications = wanted, _meta = protocol_version.meta(self) }, { timeout = FOR_EVER, max = FOR_EVER })
      if self.peer.closed or err and err.rpc then return end
      fiber.sleep(LISTEN_AGAIN)
      self.known_tools = nil -- nobody received what was reported meanwhile
    end
  end)
end

--- Connects, and agrees on a revision.
---@async
---@internal
---@param spec {name: string, url?: string, headers?: table<string, string>, login?: hocket.McpLogin, process?: hocket.ProcessSpec, era?: "modern"|"legacy", observer?: hocket.Observer, elicit?: function, sample?: function, roots?: function, log?: fun(params: table), changed?: fun(list: string), updated?: fun(uri: string)}
---@return hocket.McpClient?
---@return hocket.Error?
function client.connect(spec)
  local self = setmetatable({ name = spec.name, spec = spec, on = spec, capabilities = capabilities_of(spec), modern_capabilities = capabilities_of(spec), dropped = {}, modern = true }, Client)
  self.modern_capabilities.extensions = { [client_tasks.EXTENSION] = json.decode "{}" }
  local ok, err = open(self)
  if not ok then return nil, err end
  ok, err = protocol_version.agree(self, spec.era)
  self.peer.observer, spec.observer = nil, nil
  if not ok then
    self:close()
    return nil, err
  end
  if spec.url and not self.modern and self.peer.transport.listen then fiber.spawn_under(self.peer.owner, self.peer.transport.listen, self.peer.transport) end
  if self.modern then hear_changes(self) end
  return self
end

--- Ends the connection, and a program that was started for it.
---@async
function Client:close()
  local made = self.peer
  if made.transport then made.transport:close() end
  made:shut(failed { code = "closed", message = ("the connection to %s was closed"):format(self.name) })
  made.owner:cancel()
end

--- Why nothing goes any more, if so.
---@return hocket.Error?
function Client:ended()
  return self.peer.closed
end

-- ---- Asking --------------------------------------------------------------------------------

-- What a server wants to know before it goes on (2026-07-28): asked for side by side would confuse people, so one by one.
local function fulfil(self, wanted)
  local answers = {}
  for key, one in pairs(wanted) do
    local result, err = handle(self, type(one) == "table" and one.method or "?", type(one) == "table" and type(one.params) == "table" and one.params or {})
    if not result then return nil, failed { code = "server", message = ("%s asks for what cannot be given: %s"):format(self.name, err.message) } end
    answers[key] = result
  end
  return answers
end

local function with(params, more)
  local all = {}
  for name, value in pairs(params) do all[name] = value end
  for name, value in pairs(more) do all[name] = value end
  return all
end

-- One round: the result; or false and the parameters of the next one; or nil and an error.
local function round(self, method, params, given, opts)
  local meta = given._meta and with(given._meta, protocol_version.meta(self)) or protocol_version.meta(self)
  if method == "tools/call" and self.on.log then meta["io.modelcontextprotocol/logLevel"] = "info" end
  local result, err = self.peer:request(method, with(given, { _meta = meta }), opts)
  if not result then
    local version = protocol_version.other_version(err)
    if not version or version == self.version then return nil, err end
    self.version = version
    self:use_version()
    return false, given
  end
  local kind = result.resultType or "complete"
  if kind == "complete" or kind == "task" and method == "tools/call" then return result end
  if kind ~= "input_required" then
    return nil, failed { code = "server", message = ("%s answers %s with '%s', which we do not know"):format(self.name, method, tostring(kind)) }
  end
  local wanted = type(result.inputRequests) == "table" and result.inputRequests or {}
  local answers, wrong = fulfil(self, wanted)
  if not answers then return nil, wrong end
  return false, with(params, { inputResponses = next(wanted) and answers or nil, requestState = result.requestState })
end

--- Asks the server, by the rules of its protocol version.
---@async
---@param method string
---@param params? table
---@param opts? table As for a peer's request.
---@return table? result
---@return hocket.Error?
function Client:ask(method, params, opts)
  params = params or {}
  if not self.modern then return self.peer:request(method, params, opts) end
  local given = params
  for _ = 1, MAX_ROUNDS do
    local result, next_or_err = round(self, method, params, given, opts)
    if result ~= false then return result, next_or_err end
    given = next_or_err
  end
  return nil, failed { code = "server", message = ("%s asks back without end (%d times)"):format(self.name, MAX_ROUNDS) }
end

-- A list in pages.
local function all_pages(self, method, field, most)
  local all, cursor = {}, nil
  for _ = 1, MAX_PAGES do
    local result, err = self:ask(method, { cursor = cursor })
    if not result then return nil, err end
    for _, one in ipairs(type(result[field]) == "table" and result[field] or {}) do
      if #all >= most then return all, nil, true end
      all[#all + 1] = one
    end
    cursor = result.nextCursor
    if type(cursor) ~= "string" then return all end
  end
  return nil, failed { code = "server", message = ("%s: %s has more than %d pages"):format(self.name, method, MAX_PAGES) }
end

-- ---- Tools ---------------------------------------------------------------------------------

local function text_or(value, otherwise)
  return type(value) == "string" and value or otherwise
end

-- Why a tool cannot be used, if so. One bad tool takes none of the others along.
local function read_tool(one)
  if type(one) ~= "table" or type(one.name) ~= "string" or one.name == "" or #one.name > 128 then return nil, "it has no usable name" end
  local input = one.inputSchema
  if type(input) ~= "table" or json.is_array(input) and next(input) or (input.type ~= nil and input.type ~= "object") then return nil, "its input schema is none of an object" end
  local headers, wrong = tool_headers.of(input)
  if not headers then return nil, wrong end
  return {
    name = one.name, title = text_or(one.title), description = text_or(one.description, ""), inputSchema = input, headers = headers,
    as_task = type(one.execution) == "table" and one.execution.taskSupport == "required",
    outputSchema = type(one.outputSchema) == "table" and one.outputSchema or nil, annotations = type(one.annotations) == "table" and one.annotations or {},
  }
end

--- The tools that the server has now; asked for once, until it says that they are others.
---@async
---@return hocket.McpTool[]?
---@return hocket.Error?
function Client:tools()
  if self.known_tools then return self.known_tools end
  if not self.modern and not self.offers.tools then return {} end
  local all, err, cut = all_pages(self, "tools/list", "tools", MAX_TOOLS)
  if not all then return nil, err end
  local tools, dropped, seen = {}, {}, {}
  for _, one in ipairs(all) do
    local read, wrong = read_tool(one)
    if read and seen[read.name] then read, wrong = nil, "there is another of that name" end
    if read then
      tools[#tools + 1], seen[read.name] = read, true
    else
      dropped[#dropped + 1] = { name = type(one) == "table" and tostring(one.name) or "?", why = wrong }
    end
  end
  if cut then dropped[#dropped + 1] = { name = "…", why = ("more than %d tools: the rest is left out"):format(MAX_TOOLS) } end
  self.known_tools, self.dropped = tools, dropped
  return tools
end

local function find(self, name)
  local tools, err = self:tools()
  if not tools then return nil, err end
  for _, one in ipairs(tools) do
    if one.name == name then return one end
  end
  return nil, failed { code = "not_found", message = ("%s has no tool '%s'"):format(self.name, name) }
end

local function call_once(self, one, args, opts)
  local headers = self.modern and tool_headers.fill(one.headers, args) or nil
  local params = { name = one.name, arguments = next(args) == nil and json.decode "{}" or args, _meta = opts and opts.meta }
  opts = with(opts or {}, { name = one.name, headers = headers })
  if client_tasks.is_needed(self, one) then return client_tasks.call(self, params, opts) end
  local result, err = self:ask("tools/call", params, opts)
  if result and result.resultType == "task" then return client_tasks.await(self, result, opts, fulfil) end
  return result, err
end

-- A result without the list that it has to have says nothing: it is no empty one.
local function with_list(self, result, member, what)
  local list = result[member]
  if type(list) == "table" and (json.is_array(list) or next(list) == nil) then return result end
  return nil, failed { code = "server", message = ("%s: %s has no list '%s'"):format(self.name, what, member) }
end

--- Calls a tool. What the tool itself says went wrong is a result with `isError`.
---@async
---@param name string
---@param args? table
---@param opts? {timeout?: number, max?: number, on_progress?: fun(params: table), meta?: table} meta: what the request says beside, as `_meta`.
---@return {content: table[], structuredContent?: any, isError?: boolean}? result
---@return hocket.Error?
function Client:call(name, args, opts)
  local one, err = find(self, name)
  if not one then return nil, err end
  local result
  result, err = call_once(self, one, args or {}, opts)
  if err and err.rpc and err.rpc.code == message.codes.header_mismatch then -- the schema that we know is an old one
    self.known_tools = nil
    one, err = find(self, name)
    if not one then return nil, err end
    result, err = call_once(self, one, args or {}, opts)
  end
  if not result then return nil, err end
  if result.content == nil and result.structuredContent ~= nil then result.content = json.array {} end -- older servers leave it out then
  return with_list(self, result, "content", ("the result of '%s'"):format(name))
end

-- ---- Resources and prompts -----------------------------------------------------------------

--- What it has to be read, each with its `uri`.
---@async
---@return table[]? resources
---@return hocket.Error?
function Client:resources()
  return all_pages(self, "resources/list", "resources", 10000)
end

--- Patterns of addresses that can be read.
---@async
---@return table[]? templates
---@return hocket.Error?
function Client:templates()
  return all_pages(self, "resources/templates/list", "resourceTemplates", 10000)
end

--- What stands at an address.
---@async
---@param uri string
---@return table[]? contents
---@return hocket.Error?
function Client:read(uri)
  local result, err = self:ask("resources/read", { uri = uri }, { name = uri })
  if not result then return nil, err end
  result, err = with_list(self, result, "contents", "what it gives for a resource")
  return result and result.contents, err
end

--- The prompts that it has, each with its `arguments`.
---@async
---@return table[]? prompts
---@return hocket.Error?
function Client:prompts()
  return all_pages(self, "prompts/list", "prompts", 1000)
end

--- A prompt with its arguments filled in.
---@async
---@param name string
---@param args? table<string, string>
---@return {description?: string, messages: table[]}?
---@return hocket.Error?
function Client:prompt(name, args)
  local result, err = self:ask("prompts/get", { name = name, arguments = args }, { name = name })
  if not result then return nil, err end
  return with_list(self, result, "messages", ("the prompt '%s'"):format(name))
end

--- How an argument of a prompt or a template may go on.
---@async
---@param ref {type: "ref/prompt"|"ref/resource", name?: string, uri?: string}
---@param argument {name: string, value: string}
---@return string[]? values
---@return hocket.Error?
function Client:complete(ref, argument)
  local result, err = self:ask("completion/complete", { ref = ref, argument = argument })
  if not result then return nil, err end
  local values = type(result.completion) == "table" and result.completion.values
  return type(values) == "table" and values or {}
end

return client
