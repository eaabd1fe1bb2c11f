-- Names that scripts register: each run has its own first.
local fiber = require "hocket.internal.core.fiber"
local names = require "hocket.internal.base.script.names"
local t = require "harness"

local function within(run, fn)
  return fiber.spawn(function()
    fiber.set_context { run = run }
    return fn()
  end):wait()
end

t.test("what a run has registered is its own, and what it has not is the last one's", function()
  local one, two, three = {}, {}, {}
  local all = names.new { built_in = 0 }
  local function get(run, name)
    return within(run, function() return all:get(name) end)
  end
  within(one, function() all:set("a", 1) end)
  within(two, function() all:set("a", 2) end)
  t.same({ get(one, "a"), get(two, "a"), get(three, "a"), all:get "a", get(one, "built_in") }, { 1, 2, 2, 2, 0 })
  within(one, function() all:set("built_in", 5) end)
  t.same({ get(one, "built_in"), get(two, "built_in") }, { 5, 5 })
  t.same(all:list(), { "a", "built_in" })
  within(one, function() all:set("a", nil) end)
  t.equal(get(one, "a"), nil)
  t.equal(get(two, "a"), 2)
end)

t.test("what belongs to a run goes with it", function()
  local all, gone = names.new(), setmetatable({}, { __mode = "v" })
  do
    local run = {}
    gone[1] = run
    within(run, function() all:set("a", function() return run end) end)
    all:set("a", nil)
  end
  collectgarbage()
  collectgarbage()
  t.equal(gone[1], nil)
end)

return t.finish()
