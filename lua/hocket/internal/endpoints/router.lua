--- Which function answers a request: by its method and the segments of its path.
---
---     router:on("GET", "/api/runs/{id}/events", handler)     request.params.id
---     router:on("POST", "/tasks/{id}:cancel", handler)       a name may have letters around it
---
--- What is written out goes before what is named, whichever was added first. A handler for GET answers HEAD as well.
local url_encoding = require "hocket.internal.base.http.url_encoding"

local router = {}

---@class hocket.Router
local Router = {}
Router.__index = Router

---@return hocket.Router
function router.new()
  return setmetatable({ root = { literal = {}, named = {} }, forms = {} }, Router)
end

local function node()
  return { literal = {}, named = {} }
end

-- A segment with a name in it: what stands before and behind it.
local function named(segment)
  local before, name, behind = segment:match "^([^{}]*){([%a_][%w_]*)}([^{}]*)$"
  return before and { before = before, name = name, behind = behind, node = node() }
end

-- The longest letters around a name are checked first.
local function add_named(list, made)
  for _, one in ipairs(list) do
    if one.before == made.before and one.behind == made.behind and one.name == made.name then return one.node end
  end
  list[#list + 1] = made
  table.sort(list, function(a, b) return #a.before + #a.behind > #b.before + #b.behind end)
  return made.node
end

--- Adds a handler: `handler(request, response)`, called in a fiber of its own (response.lua says what it may do).
---@param method string
---@param path string
---@param handler fun(request: hocket.Request, response: hocket.Response)
function Router:on(method, path, handler)
  local at = self.root
  for segment in path:gmatch "[^/]+" do
    local made = named(segment)
    if made then
      at = add_named(at.named, made)
    else
      at.literal[segment] = at.literal[segment] or node()
      at = at.literal[segment]
    end
  end
  at.methods, at.form = at.methods or {}, path
  if at.methods[method] then error(("%s %s has a handler already"):format(method, path), 2) end
  at.methods[method] = handler
end

--- Has what goes wrong below a path told in an interface's own form: `form(status, err, request)` gives the body, a table that
--- becomes JSON, and headers that go with it or nil. That of the longest path counts.
---@param prefix string
---@param form fun(status: integer, err: hocket.Error, request: hocket.Request): table, table?
function Router:form(prefix, form)
  self.forms[#self.forms + 1] = { prefix = prefix, form = form }
  table.sort(self.forms, function(a, b) return #a.prefix > #b.prefix end)
end

local function plain_form(_, err)
  return { error = { code = err.code, message = err.message } }
end

---@param path string
---@return fun(status: integer, err: hocket.Error, request: hocket.Request): table, table?
function Router:form_of(path)
  for _, one in ipairs(self.forms) do
    if path:sub(1, #one.prefix) == one.prefix then return one.form end
  end
  return plain_form
end

local function segments(path)
  local list = {}
  for segment in path:gmatch "[^/]+" do list[#list + 1] = segment end
  return list
end

-- The text between what stands around a name; nil: it does not stand there.
local function between(one, segment)
  local n = #segment
  if n <= #one.before + #one.behind or segment:sub(1, #one.before) ~= one.before then return nil end
  if one.behind ~= "" and segment:sub(-#one.behind) ~= one.behind then return nil end
  return segment:sub(#one.before + 1, n - #one.behind)
end

local function walk(at, list, i, params)
  local segment = list[i]
  if not segment then return at.methods and at end
  local next_one = at.literal[segment]
  local found = next_one and walk(next_one, list, i + 1, params)
  if found then return found end
  for _, one in ipairs(at.named) do
    local text = between(one, segment)
    found = text and walk(one.node, list, i + 1, params)
    if found then
      params[one.name] = url_encoding.unescape(text)
      return found
    end
  end
end

--- What answers a path; nil and the methods that there are for it (none: there is nothing at this path).
---@param method string
---@param path string Without its query.
---@return (fun(request: hocket.Request, response: hocket.Response))? handler
---@return table|string[] params Or the methods.
---@return string? form The path as it was added.
function Router:find(method, path)
  local params = {}
  local at = walk(self.root, segments(path), 1, params)
  if not at then return nil, {} end
  local handler = at.methods[method] or method == "HEAD" and at.methods.GET
  if handler then return handler, params, at.form end
  local methods = {}
  for name in pairs(at.methods) do methods[#methods + 1] = name end
  if at.methods.GET and not at.methods.HEAD then methods[#methods + 1] = "HEAD" end
  table.sort(methods)
  return nil, methods, at.form
end

--- Everything that there is, for descriptions: "GET /api/runs/{id}", sorted.
---@return string[]
function Router:list()
  local all = {}
  local function gather(at, path)
    for method in pairs(at.methods or {}) do all[#all + 1] = method .. " " .. (path == "" and "/" or path) end
    for segment, below in pairs(at.literal) do gather(below, path .. "/" .. segment) end
    for _, one in ipairs(at.named) do gather(one.node, ("%s/%s{%s}%s"):format(path, one.before, one.name, one.behind)) end
  end
  gather(self.root, "")
  table.sort(all)
  return all
end

return router
