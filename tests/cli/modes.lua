-- A random small program, by its seed: what it does is drawn as it goes, and each thing that it does is printed. Nothing in it hangs on how long
-- something takes.
local hocket = require "hocket"
local flow, json = hocket.flow, require "hocket.json"
local state = (tonumber((...)) or 1) * 2654435761 & 0xFFFFFFFF

-- Each part of the program draws for itself, in whatever order parts go on.
local function dice(seed)
  local at = seed
  return function(n)
    at = (at * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
    return (at >> 33) % n + 1
  end
end

local function words_of(err)
  if type(err) ~= "table" then return (tostring(err):gsub("^.-:%d+: ", "")) end
  return tostring(err.code) .. ": " .. tostring(err.message)
end

local Own = { __tostring = function(self) return "own " .. self.code end }

local function value(roll)
  local all = { 7, 0.5, "text\0\255", true, { 1, { deep = "x" } }, "", -2 ^ 53, { list = json.array {} } }
  return all[roll(#all)]
end

local program

local acts = {
  function(say, roll)
    local v = value(roll)
    say("step", json.encode { hocket.step("s" .. roll(3), function() return v end) == v, type(v) })
  end,
  function(say, roll)
    local raised = ({ "plain", { code = "odd", message = "table" }, setmetatable({ code = "mine" }, Own), 5 })[roll(4)]
    local ok, err = pcall(hocket.step, "raises", function() error(raised, 0) end)
    say("raised", ok, type(err), tostring(err):find "^own" and tostring(err) or words_of(err))
  end,
  function(say)
    local v, err = hocket.step("fails", function() return nil, { code = "denied", message = "no" } end)
    say("failed", v, words_of(err))
  end,
  function(say)
    local ok, err = pcall(hocket.step, "no data", function() return { print } end)
    say("no data", ok, err.code)
  end,
  function(say, roll, depth)
    local parts = {}
    for i = 1, roll(3) do
      local seed = roll(1 << 30)
      parts[i] = function() return program(seed, depth + 1) end
    end
    local ok, all = pcall(flow.all, parts)
    say("all", ok, ok and table.concat(all, "|") or words_of(all))
  end,
  function(say, roll, depth)
    local seed = roll(1 << 30)
    local ok, all = pcall(flow.map, { 1, 2, 3 }, function(i) return program(seed + i, depth + 1) end)
    say("map", ok, ok and table.concat(all, "|") or words_of(all))
  end,
  function(say, roll, depth)
    local seed = roll(1 << 30)
    local v, err = flow.timeout(1000, function() return program(seed, depth + 1) end)
    say("in time", v, err and words_of(err))
  end,
  function(say)
    local v, err = flow.timeout(0.01, function() flow.sleep(1000) end)
    say("late", v, err.code)
  end,
  function(say)
    local begun, cleaned
    local one = flow.spawn(function()
      begun = true
      local at <close> = setmetatable({}, { __close = function() cleaned = true end })
      flow.sleep(1000)
      return at
    end)
    while not begun do flow.sleep(0) end
    one:cancel()
    local ok, err = pcall(one.wait, one)
    say("cancelled", ok, words_of(err), cleaned)
  end,
  function(say)
    local before, wall = flow.now(), os.time()
    flow.sleep(0.002)
    say("clock", flow.now() - before > 0.0019, os.time() >= wall, os.clock() >= 0)
  end,
  function(say, roll)
    local x = math.random(roll(9))
    say("chance", x >= 1 and x <= 9, math.type(x))
  end,
  function(say, roll)
    local calls = 0
    local tool = hocket.tool { name = "look", description = "Looks.", parameters = { type = "object" }, effects = { roll(2) == 1 and "read" or "write" },
      run = function()
        calls = calls + 1
        return "seen " .. calls
      end }
    local failing = hocket.tool { name = "break_it", description = "Breaks.", parameters = { type = "object" }, run = function() error("broken " .. calls, 0) end }
    local agent = hocket.agent { name = "a" .. roll(2), prompt = "Look.", model = "own/m", tools = { tool, failing } }
    local ok, answer = pcall(hocket.run, agent, "turns " .. roll(3))
    say("agent", ok, ok and answer.text or words_of(answer), ok and answer.usage and answer.usage.input_tokens)
  end,
  function(say, roll)
    hocket.events.emit("noted", { n = roll(100) })
    say "noted"
  end,
  function(say, roll, depth)
    local seed, wrong = roll(1 << 30), { code = "given_up", message = "part " .. roll(99) }
    local ok, err = pcall(flow.all, { function() flow.sleep(1000) end, function()
      program(seed, depth + 1)
      error(wrong, 0)
    end })
    say("fails", ok, words_of(err))
  end,
  function(say, roll, depth)
    local seed = roll(1 << 30)
    local at, text = flow.race { function() flow.sleep(1000) end, function() return program(seed, depth + 1) end }
    say("race", at, text)
  end,
}

function program(seed, depth)
  local roll, out = dice(seed), {}
  local function say(...)
    local parts = table.pack(...)
    for i = 1, parts.n do parts[i] = tostring(parts[i]) end
    out[#out + 1] = table.concat(parts, ",")
  end
  for _ = 1, depth > 2 and 1 or roll(5) do acts[roll(#acts)](say, roll, depth) end
  return "{" .. table.concat(out, ";") .. "}"
end

local served = assert(hocket.sim.serve { reply = function(q)
  local n, done = 1, 0
  for _, message in ipairs(q.messages) do
    local wanted = message.role == "user" and tostring(message.text or message.content):match "turns (%d)"
    n, done = tonumber(wanted) or n, done + (message.role == "tool" and 1 or 0)
  end
  if done < n then return { calls = { { name = done % 2 == 0 and "look" or "break_it", arguments = json.decode "{}" } } } end
  return "looked " .. done
end })
hocket.provider("own", { protocol = "openai_chat", base = served.base })
for i = 1, 12 do print(i, program(state + i, 0)) end
return "over"
