-- What the scripted models of the examples make of requests: the demo answers what was asked, and
-- takes any request, long and odd ones included.
local t = require "harness"
local here = debug.getinfo(1, "S").source:match "^@(.*)/" or "."

-- What a facilitator that reads this request says, and which tasks it makes.
local function planned(example, text)
  local sim = dofile(("%s/../../../examples/%s/sim.lua"):format(here, example))
  local names = { enum = { "logistics", "food", "sightseeing" } }
  local tools = { create_tasks = { parameters = { properties = { tasks = { items = { properties = { assigned_to = names } } } } } } }
  local message = { role = "user", text = text }
  local reply = sim.reply { tools = tools, messages = { message }, last = message }
  return reply.text, reply.calls[1].arguments.tasks[1].text
end

t.test("the length of a stay and its place are read from the request", function()
  for request, said in pairs {
    ["Three days in Lisbon"] = "3 days in Lisbon",
    ["One day in Porto"] = "1 day in Porto",
    ["a 5-day trip to Oporto"] = "5 days in Porto",
    ["Nine days in Kraków"] = "9 days in Kraków",
    ["Two weeks in São Paulo, vegetarian"] = "14 days in São Paulo",
    ["A weekend in Rio de Janeiro with kids"] = "2 days in Rio de Janeiro",
    ["A long weekend in New York City without kids"] = "3 days in New York City",
    ["Århus for 5 days"] = "5 days in Århus",
    ["three days in new york for two"] = "3 days in New York",
    ["from London to Paris for 12 days, cheap"] = "12 days in Paris",
    ["I want to visit friends in Łódź for a week."] = "7 days in Łódź",
    ["A month of Romeo in the theatre"] = "3 days in your destination",
    ["rome and lisbon"] = "3 days in Lisbon",
    ["0 days in Rome"] = "1 day in Rome",
    ["30 days in Rome"] = "the first 14 days in Rome",
    [("9"):rep(60) .. " days in Rome"] = "the first 14 days in Rome",
    [""] = "3 days in your destination",
    ["日本へ三日間"] = "3 days in your destination",
    ["%s %d days in %1"] = "3 days in your destination",
  } do
    local opening, task = planned("travel", request)
    t.same(opening, ("I will plan %s with the team."):format(said))
    t.ok(utf8.len(task))
    t.ok(task:find((said:gsub("^the first ", "")), 1, true), task)
  end
end)

t.test("wishes are read from the request", function()
  local function wishes(request)
    local _, task = planned("travel", request)
    return task:match " in Rome(.*)$"
  end
  t.same(wishes "Rome with kids, no museums", ", with children, no museums")
  t.same(wishes "Rome without kids, on a budget", ", on a budget")
  t.same(wishes "Rome, vegan and slow", ", vegetarian, at a slow pace")
end)

t.test("a long request costs no more than a short one", function()
  local odd = { ("x"):rep(200000), ("ü"):rep(100000), "on x" .. (" "):rep(200000) .. "y", ("a day in "):rep(20000), (" for "):rep(50000) }
  for _, example in ipairs { "travel", "report" } do
    for _, request in ipairs(odd) do
      local began = os.clock()
      local opening, task = planned(example, request)
      t.ok(os.clock() - began < 2)
      t.ok(utf8.len(opening) and utf8.len(task))
      t.ok(#opening < 3000 and #task < 3000)
    end
  end
end)

return t.finish()
