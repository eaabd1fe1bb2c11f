-- Arguments of public functions, looked at in one call; and which options a table has, with what stands behind it.
local arguments = require "hocket.internal.base.arguments"
local t = require "harness"

local function raised(fn, ...)
  local ok, err = pcall(fn, ...)
  return not ok and err:gsub("^%a?:?[^:]*:%d+: ", "") or nil
end

t.test("what fits passes, what does not is named as one by one", function()
  local check = arguments.of("f", "agent", "string|table", "integer?", "callable?", "boolean?")
  local agent = { name = "a" }
  for _, fits in ipairs {
    { agent, "x" }, { agent, {} }, { agent, "x", 3 }, { agent, "x", nil, print }, { agent, "x", nil, {}, false }, { setmetatable({}, { __index = agent }), "x" },
  } do
    t.equal(raised(check, table.unpack(fits, 1, 5)), nil)
  end
  t.equal(raised(check, agent, "x", 3.0), "bad argument #3 to 'f' (integer expected, got number)")
  for n, case in ipairs {
    { { 1, "x" }, "an agent expected, got number" }, { { {}, "x" }, "an agent expected, got table" }, { {}, "an agent expected, got no value" },
  } do
    t.equal(raised(check, table.unpack(case[1], 1, 5)), ("bad argument #1 to 'f' (%s)"):format(case[2]), n)
  end
  t.equal(raised(check, agent), "bad argument #2 to 'f' (string or table expected, got no value)")
  t.equal(raised(check, agent, "x", "3"), "bad argument #3 to 'f' (integer expected, got string)")
  t.equal(raised(check, agent, "x", nil, 1), "bad argument #4 to 'f' (callable expected, got number)")
  t.equal(raised(check, agent, "x", nil, nil, 0), "bad argument #5 to 'f' (boolean expected, got number)")
end)

t.test("the same is said as by the check of one argument", function()
  for _, wanted in ipairs { "string", "string?", "table|string", "integer", "number?", "agent", "step?", "state", "callable", "function?", "boolean" } do
    local check = arguments.of("f", wanted)
    for _, value in ipairs { 0, "x", 1, 1.5, true, print, {}, { name = "n" }, { op = "o1" }, { count_tasks = print } } do
      t.equal(raised(check, value), raised(arguments.check, "f", 1, wanted, value), wanted)
    end
    t.equal(raised(check), raised(arguments.check, "f", 1, wanted, nil), wanted)
    t.equal(raised(check, nil), raised(arguments.check, "f", 1, wanted, nil), wanted)
  end
end)

t.test("options are found in the table and behind it", function()
  local known = { common = 0, around = 1 }
  t.equal(arguments.bits({}, known, 2), 0)
  t.equal(arguments.bits({ common = 1 }, known, 2), 0)
  t.equal(arguments.bits({ common = 1, around = {} }, known, 2), 1)
  t.equal(arguments.bits({ common = 1, other = false }, known, 2), 2)
  t.equal(arguments.bits(setmetatable({ common = 1 }, { __index = { around = {} } }), known, 2), 1)
  t.equal(arguments.bits(setmetatable({}, { __index = setmetatable({}, { __index = { other = 1 } }) }), known, 2), 2)
  t.equal(arguments.bits(setmetatable({}, { __index = function() end }), known, 2), 2) -- nobody knows what it has
  t.equal(arguments.bits({ "x" }, known, 2), 2)
  local round = {}
  setmetatable(round, { __index = round })
  t.equal(arguments.bits(round, known, 2), 2)
end)

return t.finish()
