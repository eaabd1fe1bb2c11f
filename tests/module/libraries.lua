-- What is loaded later has to work in the engine's process, whatever allocator that brings: libcurl with OpenSSL at both ends of a
-- connection, PCRE2, libxml2, SQLite, libpq. Written for all Luas.
local hocket = require "hocket"
local scene = dofile(arg[0]:match "^(.*)/[^/]*$" .. "/scene.lua")
local test, pump_until = scene.test, scene.pump_until

local folder = assert(os.getenv "WORK", "WORK is to be a folder")

local function run(host, text)
  local run = assert(host:start(assert(host:load("part.lua", text)), folder))
  local due = os.time() + 20
  while not run:done() do
    host:pump(1)
    assert(os.time() < due, "not in time")
  end
  local result, err = run:result()
  return assert(result and result.text, err and err.message)
end

test("libcurl", function()
  scene.serve()
  local npc = assert(hocket.host:agent { name = "npc", prompt = "You sell fish.", model = "own/m" })
  local one = hocket.start(npc, "hello")
  pump_until(function() return one:done() end)
  assert(one:result().text == "heard: hello")
end)

test("OpenSSL, as a server and as a client", function()
  local text = run(hocket.host, [[
    local fiber, http = require "hocket.internal.core.fiber", require "hocket.http"
    local folder = ...
    local listener = assert(require("hocket.internal.core.server").new { tls_cert = folder .. "/a.crt", tls_key = folder .. "/a.key" })
    fiber.detach(function()
      while true do
        local request = listener:accept()
        if not request then return end
        listener:respond(request.id, 200, {}, "over TLS")
      end
    end)
    local answer, err = http.request { url = ("https://127.0.0.1:%d/"):format(listener:port()) }
    listener:close()
    return answer and answer.body or err.message
  ]])
  assert(text:find("certificate", 1, true), text) -- one that nobody vouches for: it was read
end)

test("PCRE2 and libxml2", function()
  local text = run(hocket.host, [[
    local root = assert(require("hocket.internal.core.files").root((...)))
    assert(root:write("a.txt", "one\nfish 42\n"))
    local found = assert(root:search { pattern = "fish \\d+" })
    local page = assert(require("hocket.internal.core.web").page("<title>Tides</title><p>High <b>water</b>", nil, 1000))
    return require("hocket.json").encode(found):match "fish 42" .. ", " .. page.title .. ", " .. page.text
  ]])
  assert(text:find "^fish 42, Tides, High water", text)
end)

test("SQLite", function()
  for _ = 1, 2 do -- made anew, and read
    local host = assert(hocket.open { store = folder .. "/runs.db" })
    assert(run(host, 'require("hocket").step("s", function() return 1 end, { idempotent = true }) return "stored"') == "stored")
    assert(run(host, 'return #require("hocket.internal.core.store").runs {} > 0 and "there" or "none"') == "there")
    host:close()
  end
end)

test("libpq", function()
  local host = assert(hocket.open { store = "postgres://nobody@127.0.0.1:1/none", store_optional = true })
  local text = run(host, 'return select(2, require("hocket.internal.core.store").runs {}).message')
  assert(text:find("127.0.0.1", 1, true), text)
  host:close()
end)
print(scene.ran .. " passed")
