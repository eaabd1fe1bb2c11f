-- Webhooks: signed, tried again, and posted after a restart when nobody has heard of them.
local system = require "hocket.internal.core.system"
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local digest = require "hocket.internal.base.digest"
local json = require "hocket.json"
local listeners = require "hocket.internal.core.server"
local served = require "served"

t.limit = 1000

local KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

local function hex(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function project()
  local dir = t.dir()
  dir:write("agents/poet.md", "---\nname: poet\ndescription: Writes poems\n---\nYou write poems.")
  dir:write("agents/guide.md", "---\nname: guide\ndescription: Asks first\ntools: [ask_user]\n---\nYou ask before you answer.")
  dir:write("agents/sim.lua", [[return function(q)
    if q.system:find "You ask" and q.last.role ~= "tool" then return { calls = { { name = "ask_user", arguments = { question = "Which city?" } } } } end
    return "I say: " .. q.last.text
  end]])
  return dir
end

local function start(dir, url, ...)
  return served.start_with(dir, { "HOCKET_WEBHOOK_SECRET=" .. KEY }, "agents", "--model", "sim", "--trust", "--webhook", url, ...)
end

-- Takes what is posted; `status(n)` is the answer to the n-th.
local function receiver(status)
  local listener = assert(listeners.new { port = 0 })
  local self = { got = {}, url = ("http://127.0.0.1:%d/hook"):format(listener:port()) }
  self.fiber = fiber.spawn(function()
    while true do
      local http = listener:accept()
      if not http then return end
      self.got[#self.got + 1] = { headers = http.headers, body = http.body, value = json.decode(http.body) }
      listener:respond(http.id, status(#self.got), {}, "")
    end
  end)
  self.fiber:serve()
  return setmetatable(self, { __close = function() listener:close() end })
end

local function check_signature(one)
  local text = ("%s.%s.%s"):format(one.headers["webhook-id"], one.headers["webhook-timestamp"], one.body)
  t.equal(one.headers["webhook-signature"], "v1," .. system.base64(digest.hmac(system.unbase64(KEY:sub(7)), text)))
end

t.test("the signature is that of the standards", function()
  t.equal(hex(digest.hmac("Jefe", "what do ya want for nothing?")), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843") -- RFC 4231
  t.equal(hex(digest.hmac(("\xaa"):rep(131), "Test Using Larger Than Block-Size Key - Hash Key First")), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
  local mac = digest.hmac(system.unbase64(KEY:sub(7)), 'msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}')
  t.equal(system.base64(mac), "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=") -- Standard Webhooks' own example
end)

t.test("an end is posted until it is heard, and once", function()
  local dir <close> = project()
  local hook <close> = receiver(function(n) return n < 3 and 500 or 200 end)
  local s <close> = start(dir, hook.url)
  local id = s:post("/api/runs", { target = "poet", input = "rain" }).value.id
  t.eventually(function() return #hook.got == 3 end, 900)
  for i, one in ipairs(hook.got) do
    check_signature(one)
    t.equal(one.headers["webhook-id"], "end_" .. id, i)
    t.equal(one.value.type, "run.ended")
    t.equal(one.value.data.state, "done")
    t.equal(one.value.data.agent, "poet")
    t.equal(one.value.data.text, "I say: rain")
  end
  t.equal(s:stop().code, 0)
  local again <close> = start(dir, hook.url)
  local other = again:post("/api/runs", { target = "poet", input = "snow" }).value.id
  t.eventually(function() return #hook.got >= 4 end, 900)
  t.equal(hook.got[4].value.data.run, other, "the first was heard")
end)

t.test("what nobody has heard of is posted after a restart", function()
  local dir <close> = project()
  local hook <close> = receiver(function(n) return n == 1 and 503 or 204 end)
  local id
  do
    local s <close> = start(dir, hook.url)
    id = s:post("/api/runs", { target = "poet", input = "rain" }).value.id
    t.eventually(function() return #hook.got == 1 end, 900)
  end -- killed
  local seen = #hook.got
  local s <close> = start(dir, hook.url)
  t.eventually(function() return #hook.got > seen end, 900)
  local one = hook.got[#hook.got]
  check_signature(one)
  t.equal(one.headers["webhook-id"], "end_" .. id)
  t.equal(one.value.data.text, "I say: rain")
  t.equal(s:stop().code, 0)
end)

t.test("a question is posted, and not once it is answered", function()
  local dir <close> = project()
  local hook <close> = receiver(function(n) return n == 1 and 500 or 200 end)
  local s <close> = start(dir, hook.url)
  local id = s:post("/api/runs", { target = "guide", input = "go" }).value.id
  t.eventually(function() return #hook.got >= 1 end, 900)
  t.equal(hook.got[1].value.type, "run.question")
  t.equal(hook.got[1].value.data.questions[1], "Which city?")
  t.equal(hook.got[1].headers["webhook-id"], ("ask_%s_%s"):format(id, hook.got[1].value.data.question))
  t.equal(s:post(("/api/runs/%s/answers"):format(id), { question = hook.got[1].value.data.question, text = "Rome" }).status, 202)
  t.eventually(function() return hook.got[#hook.got].value.type == "run.ended" end, 900)
  for i = 2, #hook.got - 1 do t.equal(hook.got[i].headers["webhook-id"], hook.got[1].headers["webhook-id"]) end
end)

return t.finish()
