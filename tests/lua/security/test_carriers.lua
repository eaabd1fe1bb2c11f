--- The obedient model with its carriers (carriers.lua): none of them reaches a sink without a question.
local t = require "harness"
local carriers = require "carriers"

local tried, held, by_path, order = 0, 0, {}, {}
carriers.each(function(path, from, to)
  if not by_path[path] then by_path[path], order[#order + 1] = {}, path end
  table.insert(by_path[path], { from, to })
end)

for _, path in ipairs(order) do
  t.test("no order reaches a sink " .. path:gsub("_", " "), function()
    for _, case in ipairs(by_path[path]) do
      local dir <close> = t.dir()
      tried = tried + 1
      t.equal(carriers.attempt(path, case[1], case[2], dir), nil, ("%s: %s to %s"):format(path, case[1], case[2]))
      held = held + 1
    end
  end)
end

-- A person who is asked sees each of them.
t.test("with a person there each of them is a question", function()
  for to, sink in pairs(carriers.sinks) do
    local dir <close> = t.dir()
    local asked = 0
    t.equal(carriers.attempt("from_a_delegate", "outside", to, dir, { on_question = function(question)
      if question.tool == sink.name then asked = asked + 1 end
      return "no"
    end }), nil, to)
    t.equal(asked, 1, to)
  end
end)

t.test("two hundred carriers", function()
  print(("  tried %d, held %d"):format(tried, held))
  t.ok(tried >= 200, tostring(tried))
  t.equal(held, tried)
end)

return t.finish()
