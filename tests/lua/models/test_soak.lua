-- A soak: very many calls, one in twenty of which meets a fault. All have to succeed, and neither
-- memory nor descriptors may grow. 2,000 calls in CI, 100,000 with HOCKET_SOAK=1.
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local fs = require "hocket.fs"
local hocket = require "hocket"
local json = require "hocket.json"
local llm = require "hocket.llm"
local model = require "hocket.model"
local server = require "hocket.internal.core.server"
local system = require "hocket.internal.core.system"
local t = require "harness"

t.limit = 1200
local CALLS = system.getenv "HOCKET_SOAK" and 100000 or 2000
local PART = CALLS // 10
local AT_ONCE = 50

local function chunk(value) return "data: " .. json.encode(value) .. "\n\n" end
local text = chunk { choices = { { index = 0, delta = { role = "assistant", content = "some text " } } } }
local last = chunk { choices = { { index = 0, delta = {}, finish_reason = "stop" } } } .. "data: [DONE]\n\n"
local events = { ["content-type"] = "text/event-stream" }
local plain = { ["content-type"] = "application/json", ["retry-after-ms"] = "5" }

local faults = {
  function(l, id) l:respond(id, 500, plain, '{"error":{"message":"broken","type":"server_error"}}') end,
  function(l, id) l:respond(id, 429, plain, '{"error":{"message":"slow down","type":"rate_limit_error"}}') end,
  function(l, id) l:respond(id, 503, { ["content-type"] = "text/html" }, "<html>no</html>") end,
  function(l, id) l:abort(id, "reset") end,
  function(l, id) l:abort(id, "eof") end,
  function(l, id) -- cut
    l:begin(id, 200, events)
    l:write(id, text)
    l:finish(id)
  end,
  function(l, id) -- malformed
    l:begin(id, 200, events)
    l:write(id, text .. "data: {\"choices\": [{]}\n\n")
    l:finish(id)
  end,
  function(l, id)
    l:begin(id, 200, events)
    l:write(id, 'data: {"error":{"message":"later","type":"server_error","code":503}}\n\n')
    l:finish(id)
  end,
}

local function descriptors()
  local names = fs.list "/proc/self/fd"
  return names and #names or 0
end

-- The sockets of connections with a port of ours that are open on both sides, both of which are here.
local function connected(port)
  local n, hex = 0, ("%04X"):format(port)
  for line in io.lines "/proc/net/tcp" do
    local here, there, state = line:match "^%s*%d+: %x+:(%x+) %x+:(%x+) (%x+)"
    if state == "01" and (here == hex or there == hex) then n = n + 1 end
  end
  return n
end

local function resident()
  local file = io.open "/proc/self/statm"
  if not file then return 0 end
  local pages = tonumber(file:read "a":match "^%d+ (%d+)")
  file:close()
  return pages * 4096
end

t.test(("%d calls, one in twenty with a fault"):format(CALLS), function()
  local before, listener = descriptors(), assert(server.new { port = 0 })
  local port = listener:port()
  local count, faulty = 0, 0
  local fibers = fiber.detach(function()
    while true do
      local http = listener:accept()
      if not http then return end
      count = count + (http.method == "POST" and 1 or 0)
      if http.method == "GET" then -- who it is, which is asked once
        listener:respond(http.id, 404, {}, "{}")
      elseif count % 20 == 0 then
        faulty = faulty + 1
        faults[faulty % #faults + 1](listener, http.id)
      else
        listener:begin(http.id, 200, events)
        for _ = 1, 5 do listener:write(http.id, text) end
        listener:write(http.id, last)
        listener:finish(http.id)
      end
    end
  end)
  local close <close> = setmetatable({}, { __close = function()
    listener:close()
    fibers:cancel()
  end })
  hocket.provider("soak", { protocol = "openai_chat", base = ("http://127.0.0.1:%d/v1"):format(port) })
  local one, done, list = assert(model.resolve "soak/m"), 0, {}
  for i = 1, PART do list[i] = i end
  local lua_bytes, rss, fds = {}, {}, {}
  for part = 1, 10 do
    flow.map(list, function()
      local history = llm.history()
      history:user "hello"
      local reply, err = llm.call(one, history, { retries = 10 })
      if not reply then error(err.message) end
      if reply.text == "some text some text some text some text some text " then done = done + 1 end
    end, { limit = AT_ONCE })
    collectgarbage()
    collectgarbage()
    lua_bytes[part], rss[part], fds[part] = collectgarbage "count" * 1024, resident(), descriptors()
  end
  print(("%d calls, %d requests, %d faults; Lua %.0f KB -> %.0f KB, resident %.1f MB -> %.1f MB, descriptors %d -> %d"):format(
    CALLS, count, faulty, lua_bytes[2] / 1024, lua_bytes[10] / 1024, rss[2] / 1e6, rss[10] / 1e6, fds[2], fds[10]))
  t.equal(done, CALLS)
  t.ok(lua_bytes[10] < lua_bytes[2] * 1.1 + 50000, "the Lua heap grows")
  if not system.getenv "HOCKET_SANITIZED" then -- sanitizers keep what was freed
    t.ok(rss[10] < rss[2] * 1.1 + 4e6, "the resident memory grows")
  end
  -- How many connections are kept depends on how calls and faults met; all others have to go, also where
  -- the other side still has to notice.
  t.eventually(function() return connected(port) <= 2 * AT_ONCE + 10 end, 30, "connections are lost")
  t.eventually(function() return descriptors() - connected(port) <= before + 10 end, 30, "descriptors are lost")
end)

return t.finish()
