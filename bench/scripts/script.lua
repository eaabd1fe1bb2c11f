-- A task of 30 calls, of which each finds something in a result of some 600 bytes: how many tokens it takes as 30 turns of a call each, as one turn
-- of 30 calls, and as one script (tool lua). The simulated model counts four bytes to a token; so it is done here for what it does not count, the tools. With "json" a line of figures.
local hocket = require "hocket"
local json = hocket.json

local CALLS = 30
local filler = ("a line of a catalogue that nobody asked about; "):rep(12)

local function stock()
  return hocket.tool { name = "stock", description = "What the catalogue says of a part", effects = {},
    parameters = { type = "object", required = { "part" }, properties = { part = { type = "integer" } } },
    run = function(args) return json.encode { part = args.part, count = args.part * 7, about = filler } end }
end

local function call(i) return { name = "stock", arguments = { part = i } } end

local function results(request)
  local sum, n = 0, 0
  for _, message in ipairs(request.messages) do
    if message.role == "tool" then sum, n = sum + tonumber(message.text:match '"count":(%d+)'), n + 1 end
  end
  return n, sum
end

local ways = {
  turns = function(request)
    local n, sum = results(request)
    return n == CALLS and tostring(sum) or { calls = { call(n + 1) } }
  end,
  together = function(request)
    local n, sum = results(request)
    if n == CALLS then return tostring(sum) end
    local calls = {}
    for i = 1, CALLS do calls[i] = call(i) end
    return { calls = calls }
  end,
  script = function(request)
    local last = request.messages[#request.messages]
    if last.role == "tool" then return last.text:match "\n(%d+)\n" end
    return { calls = { { name = "lua", arguments = { code = ("local sum = 0\nfor i = 1, %d do sum = sum + json.decode(assert(tools.stock { part = i })).count end\nreturn sum"):format(CALLS) } } } }
  end,
}

local seen = {}
for name, reply in pairs(ways) do
  local declared = 0
  local served = assert(hocket.sim.serve { reply = function(request)
    declared = declared + #json.encode(request.tools) // 4
    return reply(request)
  end })
  hocket.provider("bench-" .. name, { protocol = "openai_chat", base = served.base })
  local agent = hocket.agent { name = "clerk", prompt = "You answer questions on the stock.", model = "bench-" .. name .. "/x", tools = name == "script" and { "lua", stock() } or { stock() } }
  local got = assert(hocket.run(agent, "How many of parts 1 to 30 are there in all?"))
  assert(got.text == tostring(7 * CALLS * (CALLS + 1) // 2), got.text)
  seen[name] = got.usage.input + got.usage.output + declared
  served:close()
end
if ... == "json" then return json.encode(seen) end
return ("%d calls: %d tokens as turns of one call, %d as one turn, %d as a script"):format(CALLS, seen.turns, seen.together, seen.script)
