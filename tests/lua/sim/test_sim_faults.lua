--- What the client makes of each fault, in every protocol; and that a seed makes them repeat.
local t = require "harness"
local faults = require "hocket.internal.sim.faults"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local hocket = require "hocket"
local http = require "hocket.http"
local json = require "hocket.json"
local random = require "hocket.internal.sim.random"
local session = require "hocket.session"
local sim = require "hocket.sim"
local support = require "sim_support"

-- ---- Random numbers ------------------------------------------------------------------------

t.test("the generator is xoshiro256**, the same everywhere", function()
  local one = setmetatable({ 1, 2, 3, 4 }, getmetatable(random.new(0)))
  t.same({ one:next(), one:next(), one:next(), one:next() }, { 11520, 0, 1509978240, 1215971899390074240 })
  t.same({ random.new(7):token(8), random.new(7):upto(1000) }, { random.new(7):token(8), random.new(7):upto(1000) })
  t.ok(random.new(7):next() ~= random.new(8):next())
end)

t.test("its numbers are spread, and within their bounds", function()
  local one, counts, sum = random.new(1), {}, 0
  for _ = 1, 6000 do
    local n, x = one:upto(6), one:float()
    counts[n] = (counts[n] or 0) + 1
    sum = sum + x
    t.ok(x >= 0 and x < 1)
  end
  for n = 1, 6 do t.ok(counts[n] > 850 and counts[n] < 1150, counts[n]) end
  t.equal(#counts, 6)
  t.ok(sum > 2850 and sum < 3150, sum)
end)

t.test("hashes differ with one byte, and with the length", function()
  local seen = {}
  for i = 0, 200 do
    for _, text in ipairs { ("a"):rep(i), ("a"):rep(i) .. "b" } do
      t.ok(not seen[random.hash(text)], text)
      seen[random.hash(text)] = true
    end
  end
end)

-- ---- Faults by name --------------------------------------------------------------------------

t.test("lists of names and kinds", function()
  t.equal(#faults.parse "", 0)
  t.equal(#faults.parse "429,cut", 2)
  t.equal(#faults.parse "all", #faults.list)
  t.ok(#faults.parse "model" > 3)
  t.equal(faults.parse "status:418"[1].name, "status:418")
  local _, wrong = faults.parse "429,malformd"
  t.equal(wrong, "there is no fault 'malformd': did you mean 'malformed'?")
  t.fails("invalid", "did you mean 'cut'?", sim.serve(support.weather, { fault = "cutt" }))
  for _, fault in ipairs(faults.list) do t.has(faults.help(), fault.name .. " ") end
end)

t.test("the documentation has the same table", function()
  local text, n = assert(require "hocket.fs".read "../../docs/guides/evaluation.md"), 0
  for _, fault in ipairs(faults.list) do
    t.has(text, ("\n| `%s` | %s | %s |\n"):format(fault.name, fault.kind, fault.text))
  end
  local section = assert(text:match "\n### Faults of the scripted model\n.*")
  for _ in section:gmatch "\n| `[%w-]+` | %l+ |" do n = n + 1 end
  t.equal(n, #faults.list)
end)

-- ---- What the client makes of each -------------------------------------------------------------

-- By fault: {code, retryable} of the error, or what is checked in the reply.
local reactions = {
  ["429"] = { "http", true, 429 }, ["429-seconds"] = { "http", true, 429 }, ["429-date"] = { "http", true, 429 },
  ["429-ms"] = { "http", true, 429 }, ["429-headers"] = { "http", true, 429 }, ["429-body"] = { "http", true, 429 },
  ["401"] = { "auth", false, 401 }, ["408"] = { "http", true, 408 }, ["500"] = { "http", true, 500 },
  ["502"] = { "http", true, 502 }, ["503"] = { "http", true, 503 }, ["529"] = { "http", true, 529 },
  malformed = { "protocol", false }, cut = { "truncated", true }, stall = { "timeout", true },
  ["keep-alive"] = { "timeout", true }, html = { "protocol", false }, empty = { "truncated", true },
  ["broken-off"] = { "provider", true }, unsaid = { "truncated", true },
  drop = { "truncated", true }, reset = { "io", true }, eof = { "truncated", true }, silent = { "timeout", true },
}

local function two_calls(reply)
  t.equal(reply.finish, "tool_calls")
  t.equal(#reply.calls, 2)
  t.same(json.decode(reply.calls[2].arguments), { city = "Évora" })
end

function reactions.quota(_, err, protocol)
  t.equal(err.code, "http")
  t.equal(err.http_status, 429)
  if protocol ~= "gemini" and protocol ~= "ollama" and protocol ~= "bedrock" then t.equal(err.retryable, false) end -- these cannot say it
end

reactions["drip"] = two_calls
reactions["unknown-id"] = two_calls
reactions["no-ids"] = two_calls

reactions["same-ids"] = function(reply)
  two_calls(reply)
  t.same(json.decode(reply.calls[1].arguments), { city = "Porto" })
  t.ok(reply.calls[1].id ~= reply.calls[2].id, "two calls have one id")
end

reactions["unknown-tool"] = function(reply)
  two_calls(reply)
  t.matches(reply.calls[1].name, "^no_such_tool_%w+$")
end

reactions["wrong-arguments"] = function(reply)
  two_calls(reply)
  t.same(json.decode(reply.calls[1].arguments), { no_such_argument = true })
end

reactions["bad-json"] = function(reply, _, protocol, stream)
  two_calls(reply)
  if protocol == "openai_chat" or protocol == "openai_responses" or (protocol == "anthropic" or protocol == "bedrock") and stream then
    t.equal(reply.calls[1].arguments, '{"city":"Porto"')
  else
    t.same(json.decode(reply.calls[1].arguments), { no_such_argument = true })
  end
end

function reactions.nothing(reply)
  t.equal(reply.text, "")
  t.equal(#reply.calls, 0)
end

function reactions.length(reply)
  t.equal(reply.finish, "length")
  t.equal(reply.text, "Let m")
end

function reactions.filter(reply, _, protocol)
  t.equal(reply.text, "")
  t.equal(reply.finish, protocol == "ollama" and "stop" or "content_filter")
end

reactions["error-first"] = function(_, err, protocol)
  t.equal(err.code, "provider")
  t.has(err, "Overloaded (simulated)")
  t.equal(err.retryable, protocol ~= "ollama") -- it has no word for the kind of an error
end
reactions["error-middle"] = reactions["error-first"]

local function check(reaction, reply, err, protocol, stream)
  if type(reaction) == "function" then return reaction(reply, err, protocol, stream) end
  t.fails(reaction[1], "", reply, err)
  t.equal(err.retryable, reaction[2])
  if reaction[3] then t.equal(err.http_status, reaction[3]) end
end

for _, fault in ipairs(faults.list) do
  for _, protocol in ipairs(support.protocols) do
    t.test(("%s over %s"):format(fault.name, protocol), function()
      local reaction = assert(reactions[fault.name], "no reaction is written down")
      local patience = (fault.name == "stall" or fault.name == "keep-alive" or fault.name == "silent") and 0.15 or 5 * t.slower
      flow.map({ 1, 2, 3, -1, -2, -3 }, function(seed)
        local served <close> = support.serve(support.weather, { fault = fault.name, seed = seed, retry_after = 2 })
        local reply, err = support.ask(support.model(served, protocol), support.history(),
          { stream = seed > 0, first_timeout = patience, idle_timeout = patience })
        check(reaction, reply, err, protocol, seed > 0)
      end)
    end)
  end
end

t.test("each form of a rate limit says when to come back", function()
  local expected = {
    ["429-seconds"] = { ["retry-after"] = "^2$" }, ["429-date"] = { ["retry-after"] = "^%a%a%a, %d%d %a%a%a %d%d%d%d %d%d:%d%d:%d%d GMT$" },
    ["429-ms"] = { ["retry-after-ms"] = "^2000$" },
    ["429-headers"] = { ["x-ratelimit-remaining-requests"] = "^0$", ["x-ratelimit-reset-requests"] = "^2s$" },
    ["429-body"] = {}, ["503"] = { ["retry-after"] = "^2$" },
  }
  for name, headers in pairs(expected) do
    local served <close> = support.serve(support.weather, { fault = name, retry_after = 2 })
    local answer = assert(http.request { url = served.base .. "/chat/completions", method = "POST",
      body = '{"model":"m","messages":[{"role":"user","content":"x"}]}' })
    t.equal(answer.headers["x-sim-fault"], name)
    for header, pattern in pairs(headers) do t.matches(answer.headers[header] or "(none)", pattern) end
  end
end)

t.test("a client that goes leaves no fiber waiting for it", function()
  for _, name in ipairs { "silent", "stall", "keep-alive" } do
    local served <close> = support.serve(support.weather, { fault = name })
    local before = require "hocket.internal.core.system".open().fibers
    support.ask(support.model(served, "openai_chat"), support.history(), { first_timeout = 0.05, idle_timeout = 0.05 })
    t.eventually(function() return require "hocket.internal.core.system".open().fibers <= before end, 5, name .. ": a fiber is left")
  end
end)

-- ---- Whole sessions -----------------------------------------------------------------------------

local function new_session(served, protocol)
  return session.new {
    model = support.model(served, protocol), max_turns = 8,
    tools = { hocket.tool { name = "weather", description = "The weather.",
      parameters = { type = "object", properties = { city = { type = "string" } }, required = { "city" }, additionalProperties = false },
      run = function(args) return args.city == "Porto" and "rain" or "sun" end } },
  }
end

-- Goes wrong once, then right.
local function once(fault)
  local n = 0
  return function(request)
    local reply = support.weather(request)
    n = n + 1
    if n == 1 then reply.fault = fault end
    return reply
  end
end

for _, protocol in ipairs(support.protocols) do
  for _, fault in ipairs { "unknown-tool", "wrong-arguments", "bad-json", "no-ids", "same-ids", "unknown-id", "nothing", "length" } do
    t.test(("a session over %s goes on after: %s"):format(protocol, fault), function()
      local served <close> = support.serve(once(fault))
      local reply, err = new_session(served, protocol):send "How is the weather?"
      t.ok(reply, err and err.message)
      t.has(reply.text, fault == "nothing" and "rain" or "weather")
    end)
  end
end

-- ---- Seeds ----------------------------------------------------------------------------------------

-- Everything that comes for some requests, sent `together` or one by one.
local function transcript(options, together)
  local served <close> = support.serve(support.weather, options)
  local answers, fibers = {}, {}
  local function send(i)
    local answer, err = http.request { url = served.base .. "/chat/completions", method = "POST", timeout = 0.2 * t.slower,
      body = json.encode { model = "m", stream = i % 2 == 0, messages = { { role = "user", content = "question " .. i // 2 } } } }
    answers[i] = answer and answer.status .. " " .. tostring(answer.headers["x-sim-fault"]) .. " " .. answer.body or err.code
  end
  for i = 1, 24 do
    if together then fibers[i] = fiber.spawn(send, 25 - i) else send(i) end
  end
  for _, one in ipairs(fibers) do one:wait() end
  return answers
end

local harsh = "500,429-seconds,same-ids,unknown-tool,malformed,cut,drop,reset,error-middle"

t.test("the same seed gives the same answers, byte for byte", function()
  local options = { fault = harsh, fault_rate = 0.5, seed = 42 }
  t.same(transcript(options), transcript(options))
end)

t.test("also when the requests come in another order, side by side", function()
  local options = { fault = harsh, fault_rate = 0.5, seed = 42 }
  t.same(transcript(options), transcript(options, true))
end)

t.test("another seed gives others", function()
  local a, b = transcript { fault = harsh, fault_rate = 0.5, seed = 1 }, transcript { fault = harsh, fault_rate = 0.5, seed = 2 }
  local differ = 0
  for i = 1, 24 do differ = differ + (a[i] ~= b[i] and 1 or 0) end
  t.ok(differ > 12, differ)
end)

t.test("the same question again is another draw", function()
  local served <close> = support.serve(support.weather, { fault = "500", fault_rate = 0.5, seed = 5 })
  local good = 0
  for _ = 1, 40 do
    local answer = assert(http.request { url = served.base .. "/chat/completions", method = "POST",
      body = '{"model":"m","messages":[{"role":"user","content":"x"}]}' })
    if answer.status == 200 then good = good + 1 end
  end
  t.ok(good > 8 and good < 32, good)
end)

t.test("a scripted model that cannot be served says why", function()
  local dir <close> = t.dir()
  local taken <close> = support.serve(support.weather, {})
  local settings = require "hocket.internal.sim.script"
  local before = { path = settings.path, options = settings.options }
  settings.path, settings.options = dir:write("alone.lua", "return function() return 'x' end"), { port = taken.port }
  local base, err = sim.base()
  settings.path, settings.options = before.path, before.options
  t.equal(base, nil)
  t.has(err.message, tostring(taken.port))
end)

t.test("no fault at a rate of 0, always at 1", function()
  for rate, status in pairs { [0] = 200, [1] = 500 } do
    local served <close> = support.serve(support.weather, { fault = "500", fault_rate = rate })
    for _ = 1, 10 do
      t.equal(assert(http.request { url = served.base .. "/chat/completions", method = "POST",
        body = '{"model":"m","messages":[{"role":"user","content":"x"}]}' }).status, status)
    end
  end
end)

return t.finish()
