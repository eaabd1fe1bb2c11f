-- A storm: many more calls at once than the server allows. All have to finish, with few requests
-- more than calls, and none may come while the server wants to be left alone. In CI 2,000 calls
-- at 200 a second; with HOCKET_STORM=1 1,000 calls at 20 a second.
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local hocket = require "hocket"
local json = require "hocket.json"
local llm = require "hocket.llm"
local model = require "hocket.model"
local server = require "hocket.internal.core.server"
local system = require "hocket.internal.core.system"
local t = require "harness"

t.limit = 280
local full = system.getenv "HOCKET_STORM"
local CALLS, PER_SECOND = full and 1000 or 2000, full and 20 or 200
--- What was under way when the refusal was written may still arrive for so many turns of the loop, in
--- which the refusal is read. Not seconds: a machine with much else to do may take many for one turn.
local UNDER_WAY = 20
--- Seconds for one turn of the loop after which the machine was at something else: beside eight other processes the turns of 20 to 100 ms
--- are a tenth of the time, and each lets calls out that the refusal would have stopped.
local HELD_UP = 0.02
--- What may be out before the first refusal is read, by src/net/limit/limiter.h: a window of 64 calls, more for
--- each millisecond without an answer in which the network was looked at, and one more for each good answer.
--- So a slow machine, whose first answer takes many turns of the loop, is turned away more often.
local FIRST_WINDOW, SILENCE_OPENS, SILENCE_SEEN = 64, 10, 4
--- Of the calls of a second, so many may be turned away in each later second, while the pace is looked for.
local PROBES = 0.02

local ok_body = json.encode {
  id = "x", object = "chat.completion", model = "m", usage = { prompt_tokens = 10, completion_tokens = 2 },
  choices = { { index = 0, finish_reason = "stop", message = { role = "assistant", content = "good" } } },
}

-- Allows so many in each second of its clock; what it tells differs.
local function start(tells)
  local listener = assert(server.new { port = 0 })
  local seen = { requests = 0, good = 0, early = 0, held_up = 0, window = FIRST_WINDOW }
  local window, used, told_at, told_until, turns = 0, 0, 0, 0, 0
  local clock = fiber.detach(function()
    local before = fiber.now()
    while true do
      fiber.sleep(0.001)
      local now = fiber.now()
      if now - before > HELD_UP then seen.held_up = seen.held_up + now - before end
      if not seen.answered then
        local ms = math.min(math.ceil((now - before) * 1000), SILENCE_SEEN)
        seen.window = seen.window + (SILENCE_OPENS + seen.window // FIRST_WINDOW) * ms
      end
      turns, before = turns + 1, now
    end
  end)
  local function answer(http)
    local now = fiber.now()
    seen.requests = seen.requests + 1
    if turns > told_at + UNDER_WAY and now < told_until then seen.early = seen.early + 1 end
    if math.floor(now) ~= window then window, used = math.floor(now), 0 end
    local headers = { ["content-type"] = "application/json" }
    if tells == "quota" then
      headers["x-ratelimit-limit-requests"] = tostring(PER_SECOND)
      headers["x-ratelimit-remaining-requests"] = tostring(math.max(PER_SECOND - used - 1, 0))
      headers["x-ratelimit-reset-requests"] = ("%dms"):format(math.ceil((window + 1 - now) * 1000))
    end
    if used < PER_SECOND then
      used, seen.good = used + 1, seen.good + 1
      listener:respond(http.id, 200, headers, ok_body)
    else
      local after = math.ceil((window + 1 - now) * 1000)
      headers["retry-after-ms"] = tostring(after)
      if now >= told_until then told_at, told_until = turns, now + after / 1000 end
      listener:respond(http.id, 429, headers, '{"error":{"message":"slow down","type":"rate_limit_error"}}')
    end
  end
  local fibers = fiber.detach(function()
    while true do
      local http = listener:accept()
      if not http then return end
      if http.method == "GET" then listener:respond(http.id, 404, {}, "{}") else answer(http) end -- who it is, which is asked once
    end
  end)
  local name = "storm-" .. tells
  hocket.provider(name, { protocol = "openai_chat", base = ("http://127.0.0.1:%d/v1"):format(listener:port()) })
  return setmetatable(seen, { __close = function()
    listener:close()
    fibers:cancel()
    clock:cancel()
  end }), name
end

for _, tells in ipairs { "retry-after", "quota" } do
  t.test(("a storm of %d calls at %d a second, told by %s"):format(CALLS, PER_SECOND, tells), function()
    local seen <close>, name = start(tells)
    local one, list = assert(model.resolve(name .. "/m")), {}
    for i = 1, CALLS do list[i] = i end
    local began, retried = fiber.now(), 0
    local results, errors = flow.map(list, function()
      local history = llm.history()
      history:user "hello"
      local reply, err = llm.call(one, history, { stream = false })
      seen.answered = true
      if reply and reply.attempts > 1 then retried = retried + 1 end
      return reply, err
    end)
    local done = 0
    for i = 1, CALLS do
      if results[i] then done = done + 1 elseif done == i - 1 then print(("call %d: %s"):format(i, errors[i].message)) end
    end
    local took = fiber.now() - began
    print(("%s: %d calls, %d requests (%.3f per success), %d retried, %d early, %.1f s of at least %.1f, a first window of %d, held up for %.1f"):format(
      tells, CALLS, seen.requests, seen.requests / seen.good, retried, seen.early, took, CALLS / PER_SECOND - 1, seen.window, seen.held_up))
    t.equal(done, CALLS)
    t.equal(seen.early, 0, "requests inside a Retry-After")
    -- After the machine was at something else, all that was due meanwhile is asked for at once.
    local turned_away = seen.requests - seen.good
    local at_most = seen.window + PER_SECOND * (1 + PROBES * took + seen.held_up)
    t.ok(turned_away <= at_most, ("%d requests were turned away, at most %.0f may be"):format(turned_away, at_most))
    t.ok(took - seen.held_up < 2 * CALLS / PER_SECOND, "too slow")
  end)
end

return t.finish()
