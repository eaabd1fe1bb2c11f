--- Tools for the web: what a page becomes, and that nothing that is not public is ever reached.
local t = require "harness"
local flow = require "hocket.flow"
local json = require "hocket.json"
local web = require "hocket.internal.core.web"
local tools = require "hocket.internal.tools.web"
local engines = require "hocket.internal.tools.search_engines"

local function call(name, args)
  local one = tools.make(name)
  local fits, why = one.check(args)
  if not fits then return nil, why end
  return one.run(args)
end

-- Variables as the host would give them.
local system = require "hocket.internal.core.system"
local function with_env(values, fn)
  local real = system.getenv
  system.getenv = function(name)
    if values[name] ~= nil then return values[name] or nil end
    return real(name)
  end
  local restored <close> = setmetatable({}, { __close = function() system.getenv = real end })
  return fn()
end

-- A server on loopback that notes who came: fn(base, seen). Answers by path.
local function serving(answers, fn)
  local server = assert(require("hocket.internal.core.server").new { port = 0 })
  local seen = {}
  local one = flow.spawn(function()
    while true do
      local request = server:accept()
      if not request then return end
      seen[#seen + 1] = request
      local answer = answers[request.path:match "^[^?]*"] or { 404, {}, "no" }
      server:respond(request.id, answer[1], answer[2], answer[3])
    end
  end)
  local base = ("http://127.0.0.1:%d"):format(server:port())
  local closing <close> = setmetatable({}, { __close = function() server:close() one:wait() end })
  fn(base, seen, server:port())
end

local html = { ["content-type"] = "text/html; charset=utf-8" }

t.test("a page becomes title, text and links", function()
  serving({ ["/a/page"] = { 200, html, "<title> A  page </title><h1>Head</h1><p>Words <a href='../b'>there</a>.<script>no()</script>" } }, function(base)
    with_env({ HOCKET_WEB_ALLOW = "127.0.0.1" }, function()
      local text = call("web_fetch", { url = base .. "/a/page#part" })
      t.has(text, "status 200")
      t.has(text, "Title: A page")
      t.has(text, "# Head")
      t.has(text, "Words there [1].")
      t.has(text, "[1] " .. base .. "/b")
      t.lacks(text, "no()")
    end)
  end)
end)

t.test("texts, encodings, and what is no text", function()
  serving({
    ["/json"] = { 200, { ["content-type"] = "application/json" }, '{"a":1}' },
    ["/latin"] = { 200, { ["content-type"] = "text/plain" }, "caf\xe9" },
    ["/latin.html"] = { 200, { ["content-type"] = "text/html; charset=iso-8859-1" }, "<p>caf\xe9" },
    ["/bare.html"] = { 200, { ["content-type"] = "text/html" }, "<p>caf\u{e9}" },
    ["/image"] = { 200, { ["content-type"] = "image/png" }, "\x89PNG" },
    ["/gone"] = { 410, html, "<p>It is gone." },
  }, function(base)
    with_env({ HOCKET_WEB_ALLOW = "127.0.0.1" }, function()
      t.has(call("web_fetch", { url = base .. "/json" }), '{"a":1}')
      t.has(call("web_fetch", { url = base .. "/latin" }), "café")
      t.has(call("web_fetch", { url = base .. "/latin.html" }), "café")
      t.has(call("web_fetch", { url = base .. "/bare.html" }), "café")
      t.has(call("web_fetch", { url = base .. "/gone" }), "status 410")
      local _, why = call("web_fetch", { url = base .. "/image" })
      t.has(why, "image/png")
    end)
  end)
end)

-- Ways to write the same loopback address, and services that must not be reached.
t.test("nothing that is not public is connected to", function()
  serving({ ["/"] = { 200, html, "secret" } }, function(_, seen, port)
    local hosts = {
      "127.0.0.1", "localhost", "127.1", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "2130706433", "017700000001", "127.0.0.1.",
      "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "0.0.0.0", "0", "[::]",
      "127.8.8.8", "LOCALHOST", "%6c%6fcalhost", "①②⑦.0.0.1",
    }
    for _, host in ipairs(hosts) do
      local text, why = call("web_fetch", { url = ("http://%s:%d/"):format(host, port) })
      t.equal(text, nil, host)
      t.ok(why, host)
    end
    for _, host in ipairs { "169.254.169.254", "10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "[fd00::1]", "[fe80::1]" } do
      local text, why = call("web_fetch", { url = ("http://%s/"):format(host) })
      t.equal(text, nil, host)
      t.has(why, "no public address", host)
    end
    t.equal(#seen, 0)
  end)
end)

t.test("a redirect leads nowhere that is not allowed", function()
  serving({ ["/"] = { 200, html, "secret" } }, function(inner, seen)
    serving({
      ["/in"] = { 302, { location = inner .. "/" }, "" },
      ["/file"] = { 302, { location = "file:///etc/passwd" }, "" },
      ["/round"] = { 302, { location = "/round" }, "" },
      ["/far"] = { 301, { location = "near" }, "" },
      ["/near"] = { 200, html, "<p>here" },
    }, function(base, asked, port)
      with_env({ HOCKET_WEB_ALLOW = "127.0.0.1:" .. port }, function()
        local _, why = call("web_fetch", { url = base .. "/in" })
        t.has(why, "leads to another place")
        t.has(why, inner .. "/")
        t.equal(#seen, 0)
        _, why = call("web_fetch", { url = base .. "/file" })
        t.has(why, "only http and https")
        _, why = call("web_fetch", { url = base .. "/round" })
        t.has(why, "more than 5 redirects")
        t.has(call("web_fetch", { url = base .. "/far" }), "here")
        t.ok(#asked >= 4)
      end)
    end)
  end)
end)

t.test("a no-break space is no blank", function()
  t.equal(web.page("<p>à\u{a0}la \t\n carte").text, "à\u{a0}la carte")
end)

t.test("addresses that are none", function()
  for url, said in pairs {
    ["file:///etc/passwd"] = "only http and https", ["gopher://x.org/"] = "only http and https", ["http://u:p@example.org/"] = "user name",
    ["http://"] = "no address", ["http://exa mple.org/"] = "no address", ["http://example.org/\r\nX: y"] = "control characters", ["http://example.org\0.x/"] = "control characters",
  } do
    local _, why = call("web_fetch", { url = url })
    t.has(why, said, url)
  end
end)

t.test("hostile pages take neither time nor memory", function()
  for _, text in ipairs {
    ("<div>"):rep(300000), ("<a href=x>"):rep(100000) .. "x", "<" .. ("a"):rep(1000000), ("<p " .. ("x=y "):rep(1000) .. ">"):rep(200),
    "<!--" .. ("-"):rep(1000000), ("&amp;"):rep(300000), "\0\0<p>a\0b", ("\xff"):rep(100000), "<title>" .. ("t"):rep(100000), "",
  } do
    local from = os.clock()
    local page = assert(web.page(text))
    t.ok(os.clock() - from < 5, text:sub(1, 20))
    t.ok(#page.links <= 500)
  end
  t.equal(web.page("<p>" .. ("word "):rep(1000), nil, 100).cut, true)
end)

-- ---- Search ----------------------------------------------------------------------------------------

local results = { results = { { title = "One", url = "https://one.org/", content = "first  words" }, { url = "https://two.org/" }, { title = "no address" } } }

t.test("engines: what they are asked, and how their answers are read", function()
  serving({
    ["/search"] = { 200, { ["content-type"] = "application/json" }, json.encode(results) },
    ["/res/v1/web/search"] = { 200, {}, json.encode { web = { results = { { title = "B", url = "https://b.org/", description = "d" } } } } },
  }, function(base, seen)
    local none = { TAVILY_API_KEY = false, BRAVE_API_KEY = false, HOCKET_SEARCH = false, HOCKET_SEARCH_URL = false }
    local function env(more)
      local all = {}
      for key, value in pairs(none) do all[key] = value end
      for key, value in pairs(more) do all[key] = value end
      return all
    end
    with_env(env { HOCKET_SEARCH_URL = base .. "/" }, function()
      local text = call("web_search", { query = "a b&c" })
      t.has(text, "1. One\n   https://one.org/\n   first words")
      t.has(text, "2. https://two.org/")
      t.lacks(text, "no address")
      t.equal(seen[1].path, "/search?q=a%20b%26c&format=json")
    end)
    with_env(env { HOCKET_SEARCH_URL = base, TAVILY_API_KEY = "key-1" }, function()
      t.equal(#engines.search("x", 1), 1)
      t.equal(seen[2].headers.authorization, "Bearer key-1")
      t.same(json.decode(seen[2].body), { query = "x", max_results = 1 })
    end)
    with_env(env { HOCKET_SEARCH = "brave", HOCKET_SEARCH_URL = base, BRAVE_API_KEY = "key-2" }, function()
      t.same(engines.search("x", 5), { { title = "B", url = "https://b.org/", text = "d" } })
      t.equal(seen[3].headers["x-subscription-token"], "key-2")
    end)
    with_env(none, function()
      local _, why = call("web_search", { query = "x" })
      t.has(why, "no search engine is configured")
    end)
    with_env(env { HOCKET_SEARCH = "brave" }, function() t.has(select(2, engines.search("x", 1)), "needs BRAVE_API_KEY") end)
    with_env(env { HOCKET_SEARCH = "altavista" }, function() t.has(select(2, engines.search("x", 1)), "names no known engine") end)
  end)
end)

t.test("an engine that refuses, or answers nonsense", function()
  serving({ ["/search"] = { 401, {}, "who?" } }, function(base)
    with_env({ HOCKET_SEARCH = "tavily", HOCKET_SEARCH_URL = base, TAVILY_API_KEY = "sk-secret" }, function()
      local _, why = engines.search("x", 1)
      t.has(why, "the key is not accepted")
      t.lacks(why, "sk-secret")
    end)
  end)
  serving({ ["/search"] = { 200, {}, "<html>" } }, function(base)
    with_env({ HOCKET_SEARCH = "searxng", HOCKET_SEARCH_URL = base }, function()
      t.has(select(2, engines.search("x", 1)), "no JSON")
    end)
  end)
end)

return t.finish()
