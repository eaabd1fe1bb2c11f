-- Bytes as clients ask for them: conditions, ranges, gzip (RFC 9110).
local t = require "harness"
local content = require "hocket.internal.endpoints.content"
local routers = require "hocket.internal.endpoints.router"

local text = "0123456789"

local function ask(headers, method, what)
  local got
  local response = { send = function(_, status, body, more) got = { status = status, body = body, headers = more } end }
  what = what or { bytes = text, gzip = "packed", type = "text/plain", etag = "abc" }
  content.send({ method = method or "GET", headers = headers }, response, what)
  return got
end

t.test("whole, and not again", function()
  local got = ask {}
  t.equal(got.status, 200)
  t.equal(got.body, text)
  t.equal(got.headers.etag, '"abc"')
  t.equal(got.headers.vary, "Accept-Encoding")
  for _, tag in ipairs { '"abc"', 'W/"abc"', '"x", "abc"', "*" } do t.equal(ask({ ["if-none-match"] = tag }).status, 304, tag) end
  for _, tag in ipairs { '"ab"', "abc", '"abc-gzip"', "" } do t.equal(ask({ ["if-none-match"] = tag }).status, 200, tag) end
end)

t.test("packed for those that take it", function()
  for _, words in ipairs { "gzip", "deflate, gzip", "GZIP;q=0.5, br", "br;q=1.0, gzip;q=0.001" } do
    local got = ask { ["accept-encoding"] = words }
    t.equal(got.headers["content-encoding"], "gzip", words)
    t.equal(got.body, "packed")
    t.equal(got.headers.etag, '"abc-gzip"')
  end
  for _, words in ipairs { "", "br", "gzip;q=0", "gzip;q=0.0, br", "gzipped", "identity" } do
    t.equal(ask({ ["accept-encoding"] = words }).headers["content-encoding"], nil, words)
  end
  t.equal(ask({ ["accept-encoding"] = "gzip" }, "GET", { bytes = text, type = "x", etag = "e" }).body, text, "there is none")
  t.equal(ask({ ["accept-encoding"] = "gzip", ["if-none-match"] = '"abc-gzip"' }).status, 304)
end)

t.test("what is there packed alone goes to all that do not refuse it", function()
  local what = { gzip = "packed", type = "text/html", etag = "abc" }
  for _, words in ipairs { "gzip", "*", "br, *;q=0.1", "deflate, gzip;q=0.2", false } do
    local got = ask({ ["accept-encoding"] = words or nil }, "GET", what)
    t.equal(got.status, 200, words)
    t.equal(got.body, "packed")
    t.equal(got.headers["content-encoding"], "gzip")
    t.equal(got.headers["accept-ranges"], "none")
  end
  for _, words in ipairs { "", "identity", "br", "gzip;q=0", "*;q=0", "gzip;q=0, *" } do
    local refused
    local response = { fail = function(_, err) refused = err end }
    content.send({ method = "GET", headers = { ["accept-encoding"] = words } }, response, what)
    t.equal(refused and refused.status, 406, words)
  end
  t.equal(ask({ range = "bytes=0-1" }, "GET", what).status, 200, "there are no parts of it")
  t.equal(ask({ ["if-none-match"] = '"abc-gzip"' }, "GET", what).status, 304)
end)

t.test("parts", function()
  local parts = { ["bytes=0-0"] = "0", ["bytes=2-4"] = "234", ["bytes=7-"] = "789", ["bytes=-3"] = "789", ["bytes=-99"] = text, ["bytes=5-99"] = "56789" }
  for range, part in pairs(parts) do
    local got = ask { range = range }
    t.equal(got.status, 206, range)
    t.equal(got.body, part, range)
  end
  t.equal(ask({ range = "bytes=2-4" }).headers["content-range"], "bytes 2-4/10")
  for _, range in ipairs { "bytes=10-", "bytes=99-100", "bytes=-0" } do
    local got = ask { range = range }
    t.equal(got.status, 416, range)
    t.equal(got.headers["content-range"], "bytes */10")
  end
  for _, range in ipairs { "bytes=4-2", "bytes=-", "bytes=a-b", "items=0-1", "bytes=0-1,3-4", "bytes=0x1-2", "bytes=99999999999999999999-" } do
    t.equal(ask({ range = range }).status, 200, range)
  end
  t.equal(ask({ range = "bytes=2-4", ["if-range"] = '"abc"' }).status, 206)
  t.equal(ask({ range = "bytes=2-4", ["if-range"] = '"old"' }).status, 200)
  t.equal(ask({ range = "bytes=2-4", ["if-range"] = 'W/"abc"' }).status, 200, "a weak one is not enough")
  t.equal(ask({ range = "bytes=2-4" }, "HEAD").status, 200)
  t.equal(ask({ range = "bytes=2-4", ["accept-encoding"] = "gzip" }).body, "234", "of the bytes themselves")
end)

t.test("the router finds what is written out before what is named", function()
  local router = routers.new()
  local function handler(name) return function() return name end end
  local function find(method, path)
    local found, params = router:find(method, path)
    return found and found(), params
  end
  router:on("GET", "/runs/{id}", handler "one")
  router:on("GET", "/runs/all", handler "all")
  router:on("POST", "/runs/{id}:cancel", handler "cancel")
  router:on("GET", "/runs/{id}/files/{hash}", handler "file")
  router:on("GET", "/", handler "root")
  t.equal(find("GET", "/runs/all"), "all")
  t.equal(find("GET", "/"), "root")
  local name, params = find("GET", "/runs/a%2Fb")
  t.equal(name, "one")
  t.equal(params.id, "a/b")
  name, params = find("POST", "/runs/x:cancel")
  t.equal(name, "cancel")
  t.equal(params.id, "x")
  name, params = find("GET", "/runs/x/files/y")
  t.equal(name, "file")
  t.equal(params.id .. params.hash, "xy")
  t.equal(find("HEAD", "/runs/all"), "all")
  name, params = find("PUT", "/runs/all")
  t.equal(name, nil)
  t.equal(table.concat(params, " "), "GET HEAD")
  name, params = find("GET", "/nothing/here")
  t.equal(name, nil)
  t.equal(#params, 0)
  t.raises("has a handler already", router.on, router, "GET", "/runs/all", handler "again")
  local form = function() end
  router:form("/v1/", form)
  t.equal(router:form_of "/v1/x", form)
  t.ok(router:form_of "/api" ~= form)
end)

return t.finish()
