-- Fan-outs under limits, timeouts, races, hedges, chance, clocks, retries, jobs of one's own: who comes when decides what is said.
local hocket = require "hocket"
local flow, fs = hocket.flow, hocket.fs
local writer = hocket.agent { name = "writer", prompt = "You write." }
local lines = {}
local function note(...)
  local words = table.pack(...)
  for i = 1, words.n do words[i] = tostring(words[i]) end
  lines[#lines + 1] = table.concat(words, " ")
end

math.randomseed(7) -- is the run's own business: it has numbers of its own
note("chance", math.random(1, 6), math.random(1000000) > 0, math.random() < 1 and "below" or "not below")
note("clock", os.time() > 1700000000, os.date("%Y") >= "2023" and "now" or "then")

local order = {}
local texts = flow.map({ "one", "two", "three", "four", "five", "six" }, function(word, i)
  flow.sleep(0.001 * (i % 3))
  order[#order + 1] = word
  return assert(hocket.run(writer, "say " .. word .. " slowly")).text
end, { limit = 3 })
note("map", table.concat(texts, "+"), #order)

local value, err = flow.timeout(0.03, function() return hocket.run(writer, "never") end)
note("timeout", value, err and err.code)
local which, reply = flow.race {
  function() return hocket.run(writer, "never") end,
  function() return assert(hocket.run(writer, "say first slowly")).text end,
}
note("race", which, reply)
note("any", (flow.any { function() return nil, { code = "x", message = "no" } end, function() return "second" end }))

local model, history = assert(hocket.model.resolve "sim/default"), hocket.llm.history()
history:user "say hedged slowly"
local hedged = assert(hocket.llm.hedge(model, history, {}, { after = 0.01, max = 2 }))
note("hedge", hedged.text)

local jobs = hocket.broker()
local tries = 0
local id = assert(jobs:submit { retries = 2, backoff = 0.01, run = function()
  tries = tries + 1
  if tries < 3 then return nil, { code = "io", message = "not yet" } end
  return "at the third try"
end })
note("job", jobs:wait(id), tries)
local deltas = {}
local streamed = assert(hocket.run(writer, "say streamed", { on_delta = function(_, text) deltas[#deltas + 1] = text end }))
note("deltas", table.concat(deltas) == streamed.text and "whole" or "not whole")
note("file", fs.info((...)) and "there" or "not there")
return table.concat(lines, "\n")
