--- The page for browsers: `/` and its files below `/page/`, which the program gives, packed with gzip. They say nothing of anybody, so that they
--- want no token: the page brings it with each request to /api.
---
--- HOCKET_PAGE_DIR takes them from a directory, as they are just now: for work on the page.
local content = require "hocket.internal.endpoints.content"
local fs = require "hocket.internal.core.fs"
local system = require "hocket.internal.core.system"

--- Bytes of one file of a directory.
local MAX_FILE = 1 << 20

local types = {
  html = "text/html; charset=utf-8", js = "text/javascript; charset=utf-8", css = "text/css; charset=utf-8", svg = "image/svg+xml",
}

-- Scripts and styles are its own files, and nothing in it becomes markup: a text that a model wrote stays text. No other page may frame it.
local POLICY = "default-src 'self'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
  .. "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

local HEADERS = {
  ["content-security-policy"] = POLICY, ["referrer-policy"] = "no-referrer", ["x-frame-options"] = "DENY",
  ["cross-origin-opener-policy"] = "same-origin", ["cross-origin-resource-policy"] = "same-origin",
}

-- The file as the program has it.
local function from_program(page, name)
  local one = page and page[name]
  if not one then return nil end
  if one.gzip then one.packed, one.gzip = system.unbase64(one.gzip), nil end
  return { gzip = one.packed, etag = one.tag }
end

local function from_directory(dir, name)
  local bytes = fs.read(dir .. "/" .. name, MAX_FILE)
  return bytes and { bytes = bytes, etag = system.digest(bytes):sub(1, 16) }
end

---@param server hocket.EndpointServer
return function(server)
  local dir = system.getenv "HOCKET_PAGE_DIR"
  if not server.page and not dir then return end
  local function show(request, response, name)
    local kind = types[name:gsub("^views/", ""):match "^[%w_]+%.(%l+)$"]
    local what = kind and (dir and from_directory(dir, name) or not dir and from_program(server.page, name))
    if not what then return response:fail { code = "not_found", message = "the page has no such file" } end
    what.type, what.headers = kind, HEADERS
    return content.send(request, response, what)
  end
  server:make_public "/"
  server:make_public_below "/page/"
  server.router:on("GET", "/", function(request, response) return show(request, response, "index.html") end)
  server.router:on("GET", "/page/{name}", function(request, response) return show(request, response, request.params.name) end)
  server.router:on("GET", "/page/views/{name}", function(request, response) return show(request, response, "views/" .. request.params.name) end)
end
