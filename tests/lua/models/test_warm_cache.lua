-- Siblings with one beginning (warm_cache): the first goes alone until its answer begins, the others read it from the provider's cache. The provider is the
-- scripted model with a prompt cache.
local t = require "harness"
local s = require "scripted"
local hocket = require "hocket"
local agents = require "hocket.agent"
local cache_rules = require "hocket.internal.models.cache_rules"
local flow = require "hocket.flow"
local fiber = require "hocket.internal.core.fiber"
local sim = require "hocket.sim"

local LATENCY = 0.15
local PROMPT = ("You judge one village of many by the same long list of rules. "):rep(120) -- some 1,800 tokens

local played = { reply = function() return { text = "Good.", latency = LATENCY } end }
local arrived = {}

local served = assert(sim.serve({ cache = true, reply = function(request)
  arrived[#arrived + 1] = fiber.real_now()
  return played.reply(request)
end }))

-- Providers by name have rules; here each is where the scripted model is.
local function provider(name, protocol)
  hocket.provider(name, { protocol = protocol, base = served.base, key_needed = false })
end
for _, name in ipairs { "warm", "cold" } do provider(name, "anthropic") end

local rules = cache_rules.of
local least = 1024
cache_rules.of = function(one)
  if one.provider_name == "warm" then return { least = least, seconds = 300 } end
  return rules(one)
end

local serial = 0

-- A new beginning each time: nothing is warm yet.
local function judge(fields)
  serial = serial + 1
  local def = { name = "judge", description = "Judges villages", prompt = ("Case %d. %s"):format(serial, fields.prompt or PROMPT), model = fields.model or "warm/claude-sonnet-5" }
  for name, value in pairs(fields) do if name ~= "prompt" then def[name] = value end end
  return agents.load(def)
end

-- Ten siblings at once: the usage of all, and how long it took.
local function fan_out(def, n)
  arrived = {}
  local began, replies = fiber.real_now(), nil
  local run = s.run(function()
    local list = {}
    for i = 1, n or 10 do list[i] = "Village " .. i end
    replies = flow.map(list, function(village)
      local reply, err = hocket.orchestrate.call(def, village)
      return reply or err
    end)
    return { text = "done" }
  end)
  local sum = { input = 0, cached = 0, answered = 0 }
  for _, reply in ipairs(replies) do
    if reply.usage and reply.text then
      sum.answered = sum.answered + 1
      sum.input, sum.cached = sum.input + reply.usage.input, sum.cached + (reply.usage.cached or 0)
    end
  end
  return sum, fiber.real_now() - began, run, replies
end

t.test("saves what nine of ten read", function()
  local off, off_seconds = fan_out(judge {})
  t.equal(off.cached, 0, "without the key all ten arrive at a cold cache")

  local on, on_seconds, run = fan_out(judge { warm_cache = true })
  t.equal(on.answered, 10, "with it all are answered")
  t.ok(on.cached > 0.85 * on.input, ("nine of ten read the beginning: %d of %d tokens were cached"):format(on.cached, on.input))
  t.equal(#s.events(run, "cache_awaited"), 9, "the nine that waited say so")
  t.ok(s.events(run, "cache_awaited")[1].seconds >= LATENCY * 0.5, "and for how long")
  t.equal(s.events(run, "cache_awaited")[1].model, "warm/claude-sonnet-5", "and for which model")
  t.ok(arrived[2] - arrived[1] >= LATENCY * 0.8, "the first went alone")
  t.ok(arrived[10] - arrived[2] < LATENCY, "the others went at once")
  t.ok(on_seconds - off_seconds < LATENCY * 2 + 0.5, "no more than a time to the first token was lost")
  t.equal(run:usage().cached, on.cached, "the run's usage has the cached tokens")
end)

t.test("does not wait in vain", function()
  local def = judge { warm_cache = true }
  fan_out(def, 3)
  local again, _, second = fan_out(def, 3)
  t.equal(#s.events(second, "cache_awaited"), 0, "nobody waits while the beginning is warm")
  t.ok(again.cached > 0.85 * again.input, "and all read it")

  local _, _, short = fan_out(judge { warm_cache = true, prompt = "You are short." }, 3)
  t.equal(#s.events(short, "cache_awaited"), 0, "a beginning that is too short for the cache is not waited for")

  local _, _, other = fan_out(judge { warm_cache = true, model = "cold/claude-sonnet-5" }, 3)
  t.equal(#s.events(other, "cache_awaited"), 0, "a provider without a rule is not waited for")
end)

t.test("goes on when the first fails, is cut, is cancelled", function()
  local asked = 0
  played.reply = function()
    asked = asked + 1
    if asked == 1 then return { status = 400, error = "no", latency = LATENCY } end
    return { text = "Good.", latency = 0.01 }
  end
  local failed, _, run_failed, replies = fan_out(judge { warm_cache = true, retries = 0 }, 5)
  t.equal(failed.answered, 4, "the first failed, the others were answered")
  t.equal(#s.events(run_failed, "cache_awaited"), 4, "they waited for it once")
  local codes = 0
  for _, one in ipairs(replies) do codes = codes + (one.code and 1 or 0) end
  t.equal(codes, 1, "its failure is its own")

  asked = 0
  played.reply = function()
    asked = asked + 1
    return { text = ("word "):rep(40), latency = asked == 1 and LATENCY or 0, fault = asked == 1 and "cut" or nil, pause = 0.001 }
  end
  local cut = fan_out(judge { warm_cache = true }, 4)
  t.equal(cut.answered, 4, "a first one that is cut is tried again, and nobody hangs")

  played.reply = function() return { text = "late", fault = "silent" } end
  local slow, began = judge { warm_cache = true }, fiber.real_now()
  s.run(function()
    local first = flow.spawn(function() return hocket.orchestrate.call(slow, "one") end)
    flow.sleep(0.05)
    played.reply = function() return { text = "soon" } end
    local others = flow.spawn(function() return hocket.orchestrate.call(slow, "two") end)
    flow.sleep(0.05)
    first:cancel()
    local reply = others:wait()
    t.equal(reply and reply.text, "soon", "who waits goes on when the first is cancelled")
    return { text = "done" }
  end)
  t.ok(fiber.real_now() - began < 4, "at once")

  played.reply = function() return { text = "late", fault = "silent" } end
  local timed, from = judge { warm_cache = true }, fiber.real_now()
  s.run(function()
    local first = flow.spawn(function() return hocket.orchestrate.call(timed, "one") end)
    flow.sleep(0.05)
    local reply, err = hocket.orchestrate.call(timed, "two", { timeout = 0.3 })
    t.equal(reply == nil and err.code, "timeout", "a time limit holds while it waits, too")
    first:cancel()
    return { text = "done" }
  end)
  t.ok(fiber.real_now() - from < 4, "and ends it")
end)

t.test("knows the rules of providers", function()
  local function rule(provider_name, name, protocol)
    return rules { provider_name = provider_name, name = name, protocol = protocol or "anthropic" }
  end
  t.equal(rule("anthropic", "claude-sonnet-5").least, 1024, "Claude's models differ")
  t.equal(rule("anthropic", "claude-haiku-4-5-20251001").least, 4096, "in their least")
  t.equal(rule("anthropic", "claude-opus-5-5").least, 512, "number of tokens")
  t.equal(rule("openai-chat", "gpt-5.2", "openai_chat").mark, nil, "OpenAI's older models need no mark")
  t.equal(rule("openai", "gpt-6.1-terra", "openai_responses").mark, true, "its newer ones do")
  t.equal(rule("openai-chat", "gpt-6.1-terra", "openai_chat"), nil, "and chat completions has none here")
  t.equal(rule("gemini", "gemini-2.5-flash", "gemini").least, 2048, "Gemini")
  t.equal(rule("gemini", "gemini-2.0-flash", "gemini"), nil, "has a cache since 2.5")
  t.equal(rule("bedrock", "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock").least, 1024, "Bedrock: Claude alone")
  t.equal(rule("bedrock", "amazon.nova-pro-v1:0", "bedrock"), nil, "and nobody else")
  for _, name in ipairs { "deepseek", "xai", "mistral", "groq", "ollama", "vllm", "llamacpp", "openrouter", "scripted" } do
    t.equal(rule(name, "any", "openai_chat"), nil, name .. ": siblings save nothing")
  end
end)

t.test("marks the system prompt for newer models of OpenAI", function()
  hocket.provider("warm6", { protocol = "openai_responses", base = served.base, key_needed = false })
  cache_rules.of = function(one)
    if one.provider_name == "warm6" then return { least = 1024, seconds = 300, mark = one.name == "gpt-6.1-terra" } end
  end
  played.reply = function() return { text = "Good.", latency = LATENCY } end
  local marked = fan_out(judge { warm_cache = true, model = "warm6/gpt-6.1-terra" }, 4)
  t.ok(marked.cached > 0.6 * marked.input, "the system prompt has a mark, and is found again")
  local unmarked = fan_out(judge { warm_cache = true, model = "warm6/gpt-6.1-sol" }, 4)
  t.equal(unmarked.cached, 0, "without it nothing would be")

  cache_rules.of = rules
end)

return t.finish()
