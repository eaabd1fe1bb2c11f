--- What a server of ours offers: tools, resources, templates of resources, prompts; as scripts say them, and as clients see them.
local content = require "hocket.internal.mcp.content"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local url_encoding = require "hocket.internal.base.http.url_encoding"
local json = require "hocket.json"
local message = require "hocket.internal.mcp.message"
local schema = require "hocket.schema"
local system = require "hocket.internal.core.system"

local catalog = {}

---@class hocket.McpCatalog
local Catalog = {}
Catalog.__index = Catalog

local function misuse(text, ...)
  error({ code = "invalid", message = text:format(...) }, 0)
end

local function copy_of(one, fields)
  local out = {}
  for i = 1, #fields do out[fields[i]] = one[fields[i]] end
  return out
end

-- ---- Tools -----------------------------------------------------------------------------------

local function compile(name, what, source)
  local compiled, err = schema.compile(source)
  if not compiled then misuse("the %s schema of tool '%s' is no JSON Schema: %s", what, name, err.message) end
  return compiled
end

local function read_tool(one)
  if type(one) ~= "table" or type(one.name) ~= "string" or #one.name > 128 or not one.name:find "^[%w_.%-]+$" then
    misuse("a tool needs a name of 1 to 128 of A-Z a-z 0-9 _ - .")
  end
  if type(one.run) ~= "function" then misuse("the tool '%s' needs a function 'run'", one.name) end
  if one.task ~= nil and one.task ~= "required" and not (type(one.task) == "number" and one.task >= 0) then
    misuse("the tool '%s': 'task' is a number of seconds, or \"required\"", one.name)
  end
  local input = one.parameters or { type = "object", properties = json.decode "{}" }
  local shown = copy_of(one, { "name", "title", "description", "annotations", "icons" })
  shown.inputSchema, shown.outputSchema, shown._meta = input, one.output, one.meta
  return {
    name = one.name, shown = shown, run = one.run, timeout = one.timeout, task = one.task, input = compile(one.name, "input", input),
    output = one.output and compile(one.name, "output", one.output),
  }
end

local function text_part(text)
  return { type = "text", text = text }
end

local function failure(text)
  return { content = json.array { text_part(text) }, isError = true }
end

-- What a tool's function gave, as a client gets it.
local function as_result(one, value, version)
  local parts, wrong = content.parts(value, version)
  if wrong then return failure(wrong.message) end
  if parts then return { content = parts } end
  if type(value) == "table" and type(value.content) == "table" then
    json.array(value.content)
    return value
  end
  local result = { content = json.array { text_part(type(value) == "string" and value or value == nil and "" or json.encode(value)) } }
  if one.output then result.structuredContent = value end
  return result
end

-- A result that does not fit what was promised is none.
local function checked(one, result)
  if not one.output or result.isError then return result end
  if result.structuredContent == nil then return failure(("the tool '%s' gave no structured result, although it promises one"):format(one.name)) end
  local ok, why = one.output:check(result.structuredContent)
  return ok and result or failure(("the tool '%s' gave what does not fit its own schema: %s"):format(one.name, why))
end

local function run_tool(one, args, at)
  if not one.timeout then return one.run(args, at) end
  return flow.timeout(one.timeout, function() return one.run(args, at) end)
end

--- Calls a tool.
---@async
---@param one table As from `tool`.
---@param args table
---@param at hocket.McpWork
---@return table? result
---@return {code: integer, message: string, data?: any}?
function Catalog:call(one, args, at)
  local ok, why = one.input:check(args)
  if not ok then return failure(why) end
  local went, value, err = pcall(run_tool, one, args, at)
  if not went then
    if fiber.cancelled() then error(value, 0) end
    value, err = nil, value
    system.log("error", ("MCP: the tool '%s': %s"):format(one.name, tostring(type(err) == "table" and err.message or err)))
  end
  if value ~= nil or err == nil then return checked(one, as_result(one, value, at.version)) end
  if type(err) == "table" and err.rpc then return nil, err.rpc end
  return failure(type(err) == "table" and tostring(err.message or err.code) or tostring(err))
end

-- ---- Resources -------------------------------------------------------------------------------

-- A template of the first level, {name}, as a pattern; and its names.
local function pattern_of(template)
  local names = {}
  local pattern = template:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0"):gsub("{([%w_]+)}", function(name)
    names[#names + 1] = name
    return "([^/]+)"
  end)
  return "^" .. pattern .. "$", names
end

-- What a reader gave, as contents.
local function as_contents(uri, mime, value)
  if type(value) == "table" and type(value.contents) == "table" then
    json.array(value.contents)
    return value
  end
  local one = type(value) == "table" and value or { text = value }
  if one.text and not utf8.len(one.text) then one = { blob = system.base64(one.text) } end
  one.uri, one.mimeType = one.uri or uri, one.mimeType or mime
  return { contents = json.array { one } }
end

local function reader(uri, mime, read, values)
  return function(at)
    local value, err = read(uri, at, values)
    if value ~= nil then return as_contents(uri, mime, value) end
    if type(err) == "table" and err.rpc then return nil, err.rpc end
    return nil, { code = message.codes.internal, message = type(err) == "table" and err.message or tostring(err or "it cannot be read") }
  end
end

--- What reads an address; nil where there is none.
---@param uri string
---@return (fun(at: hocket.McpWork): table?, table?)?
function Catalog:resource(uri)
  for _, one in ipairs(self:list "resources") do
    if one.uri == uri then return reader(uri, one.mimeType, one.read) end
  end
  for _, one in ipairs(self:list "templates") do
    local pattern, names = pattern_of(one.uriTemplate)
    local found = table.pack(uri:match(pattern))
    if found[1] then
      local values = {}
      for i, name in ipairs(names) do values[name] = url_encoding.unescape(found[i]) end
      if not one.exists or one.exists(values) then return reader(uri, one.mimeType, one.read, values) end
    end
  end
end

local function read_resource(one)
  if type(one.uri) ~= "string" or type(one.read) ~= "function" then misuse "a resource needs a 'uri' and a function 'read'" end
  return one
end

local function read_template(one)
  if type(one.uriTemplate) ~= "string" or type(one.read) ~= "function" then misuse "a template needs a 'uriTemplate' and a function 'read'" end
  return one
end

-- ---- Prompts ---------------------------------------------------------------------------------

local function as_messages(value, description)
  if type(value) == "string" then value = { { role = "user", content = text_part(value) } } end
  if not value.messages then value = { messages = value } end
  json.array(value.messages)
  value.description = value.description or description
  return value
end

local function read_prompt(one)
  if type(one.name) ~= "string" or type(one.get) ~= "function" then misuse "a prompt needs a 'name' and a function 'get'" end
  local get = one.get
  return setmetatable({ get = function(args, at)
    local value, err = get(args, at)
    if value ~= nil then return as_messages(value, one.description) end
    if type(err) == "table" and err.rpc then return nil, err.rpc end
    return nil, { code = message.codes.invalid_params, message = type(err) == "table" and err.message or tostring(err) }
  end }, { __index = one })
end

-- ---- Lists -----------------------------------------------------------------------------------

local readers = { tools = read_tool, resources = read_resource, templates = read_template, prompts = read_prompt }

local function read_list(what, list)
  if type(list) == "function" then return list end
  local out, seen = {}, {}
  for i, one in ipairs(list or {}) do
    out[i] = readers[what](one)
    local key = one.name and what ~= "resources" and what ~= "templates" and one.name or one.uri or one.uriTemplate
    if seen[key] then misuse("there are two %s '%s'", what, key) end
    seen[key] = true
  end
  return out
end

--- Makes a catalog.
---@param spec {name: string, version?: string, title?: string, instructions?: string, tools?: table[], resources?: table[]|fun(): table[], templates?: table[], prompts?: table[]}
---@return hocket.McpCatalog
function catalog.new(spec)
  local self = setmetatable({ spec = spec, listeners = {}, lists = {} }, Catalog)
  for what in pairs(readers) do self.lists[what] = read_list(what, spec[what]) end
  return self
end

--- The entries of a list as they are now.
function Catalog:list(what)
  local list = self.lists[what]
  return type(list) == "function" and list() or list
end

--- Puts another list in a list's place, and tells whoever wants to know, where it differs for clients.
---@param what "tools"|"prompts"
---@param list table[]
function Catalog:replace(what, list)
  local before = json.encode(json.array(self[what](self)))
  self.lists[what] = read_list(what, list)
  if json.encode(json.array(self[what](self))) ~= before then self:changed(what) end
end

--- Says that a list has changed, or what stands at an address.
---@param what "tools"|"resources"|"prompts"
---@param uri? string
function Catalog:changed(what, uri)
  for _, fn in pairs(self.listeners) do fn(what, uri) end
end

--- Calls fn(what, uri) for each change; nil as fn ends that.
function Catalog:on_change(key, fn)
  self.listeners[key] = fn
end

--- Which kinds of things there are.
---@return {tools: boolean, resources: boolean, prompts: boolean}
function Catalog:offers()
  local lists = self.lists
  local function has(what) return type(lists[what]) == "function" or #lists[what] > 0 end
  return { tools = has "tools" or self.spec.tools ~= nil, resources = has "resources" or has "templates", prompts = has "prompts" or self.spec.prompts ~= nil }
end

function Catalog:info()
  return { name = self.spec.name, title = self.spec.title, version = self.spec.version or system.version() }
end

function Catalog:instructions()
  return self.spec.instructions
end

local function find(list, name)
  for _, one in ipairs(list) do
    if one.name == name then return one end
  end
end

function Catalog:tool(name) return find(self.lists.tools, name) end

function Catalog:prompt(name) return find(self:list "prompts", name) end

local function shown(list, fields)
  local out = json.array {}
  for i, one in ipairs(list) do out[i] = one.shown or copy_of(one, fields) end
  return out
end

function Catalog:tools() return shown(self.lists.tools) end

function Catalog:resources()
  return shown(self:list "resources", { "uri", "name", "title", "description", "mimeType", "size", "annotations" })
end

function Catalog:templates()
  return shown(self:list "templates", { "uriTemplate", "name", "title", "description", "mimeType", "annotations" })
end

function Catalog:prompts()
  local out = json.array {}
  for i, one in ipairs(self:list "prompts") do
    local arguments = json.array {}
    for j, argument in ipairs(one.arguments or {}) do arguments[j] = copy_of(argument, { "name", "title", "description", "required" }) end
    out[i] = copy_of(one, { "name", "title", "description" })
    out[i].arguments = arguments
  end
  return out
end

-- What says how an argument may go on.
local function completer(self, ref, name)
  if ref.type == "ref/prompt" then
    local one = self:prompt(ref.name)
    local argument = one and find(one.arguments or {}, name)
    return argument and (argument.complete or function() return {} end)
  end
  for _, one in ipairs(ref.type == "ref/resource" and self:list "templates" or {}) do
    if one.uriTemplate == ref.uri then return one.complete and one.complete[name] or function() return {} end end
  end
end

--- How an argument may go on.
---@param ref {type: string, name?: string, uri?: string}
---@param argument {name: string, value: string}
---@param given table<string, string>
---@return string[]? values nil: there is no such thing.
function Catalog:complete(ref, argument, given)
  local complete = completer(self, ref, argument.name)
  if not complete then return nil end
  local values = {}
  for _, value in ipairs(complete(argument.value, given) or {}) do
    if value:sub(1, #argument.value) == argument.value then values[#values + 1] = value end
  end
  return values
end

return catalog
