-- hocket.http.open: answers that are read while they come.
local t = require "harness"
local flow = require "hocket.flow"
local http = require "hocket.http"
local server = require "hocket.internal.core.server"

-- Serves one handler for every request, until it is closed.
local function serve(handle)
  local listener = assert(server.new { port = 0 })
  local worker = flow.spawn(function()
    while true do
      local request = listener:accept()
      if not request then return end
      flow.spawn(function() handle(listener, request) end)
    end
  end)
  return setmetatable({ base = ("http://127.0.0.1:%d"):format(listener:port()) },
    { __close = function() worker:cancel() listener:close() end })
end

t.test("piece by piece, as it comes", function()
  local go = {}
  local served <close> = serve(function(listener, request)
    listener:begin(request.id, 200, { ["content-type"] = "text/event-stream", ["x-one"] = "1" })
    while #go == 0 do flow.sleep(0.005) end
    for i = 1, 3 do
      listener:write(request.id, "data: " .. i .. "\n\n")
      flow.sleep(0.02)
    end
    listener:finish(request.id)
  end)
  local stream <close> = assert(http.open { url = served.base .. "/x" })
  t.equal(stream:status(), 200, "before anything of the body came")
  t.equal(stream:headers()["content-type"], "text/event-stream")
  go[1] = true
  local pieces, text = 0, ""
  for piece in function() return stream:read() end do pieces, text = pieces + 1, text .. piece end
  t.equal(text, "data: 1\n\ndata: 2\n\ndata: 3\n\n")
  t.ok(pieces >= 2, "in pieces")
  t.equal(stream:read(), nil)
end)

t.test("a request with a body, and an answer of 404", function()
  local served <close> = serve(function(listener, request)
    listener:respond(request.id, 404, {}, request.method .. " " .. request.body)
  end)
  local stream <close> = assert(http.open { url = served.base, body = "abc", headers = { ["content-type"] = "text/plain" } })
  t.equal(stream:status(), 404)
  t.equal(stream:read(), "POST abc")
  t.equal(stream:read(), nil)
end)

t.test("what is asked may be longer than the answer may be", function()
  local served <close> = serve(function(listener, request) listener:respond(request.id, 200, {}, tostring(#request.body)) end)
  t.equal(assert(http.request { url = served.base, body = ("x"):rep(100000), max_body = 10 }).body, "100000")
  t.fails("limit", "longer than 5 bytes", http.request { url = served.base, body = ("x"):rep(100000), max_body = 5 })
end)

t.test("closing ends it at the server; so does a cancel, and the collector", function()
  local open, ended = 0, 0
  local served <close> = serve(function(listener, request)
    listener:begin(request.id, 200, {})
    open = open + 1
    repeat
      flow.sleep(0.01)
      local _, err = listener:write(request.id, "x")
    until err and err.code == "closed"
    ended = ended + 1
  end)
  do
    local stream <close> = assert(http.open { url = served.base })
    stream:read()
  end
  t.eventually(function() return ended == 1 end)
  local f = flow.spawn(function()
    local stream <close> = assert(http.open { url = served.base })
    while stream:read() do end
  end)
  t.eventually(function() return open == 2 end)
  f:cancel()
  t.eventually(function() return ended == 2 end)
  local stream = assert(http.open { url = served.base })
  stream = nil
  collectgarbage()
  collectgarbage()
  t.eventually(function() return ended == 3 end)
end)

t.test("what goes wrong", function()
  t.fails("connect", "refused", http.open { url = "http://127.0.0.1:1/", connect_timeout = 2 })
  t.raises("url", http.open, {})
  t.raises("unknown option", http.open, { url = "http://127.0.0.1:1/", max_body = 1 })
  local served <close> = serve(function(listener, request)
    listener:begin(request.id, 200, {})
    if request.path == "/cut" then
      listener:write(request.id, "half")
      flow.sleep(0.02)
      listener:abort(request.id, "reset")
    else
      flow.sleep(60)
    end
  end)
  local cut <close> = assert(http.open { url = served.base .. "/cut" })
  t.equal(cut:read(), "half")
  local text, err = cut:read()
  t.equal(text, nil)
  t.ok(err, "a connection that was cut is no end")
  local idle <close> = assert(http.open { url = served.base .. "/idle", idle_timeout = 0.2 })
  text, err = idle:read()
  t.equal(err and err.code, "timeout")
  local f = flow.spawn(function() return idle:read() end)
  t.ok(f)
end)

return t.finish()
