-- The scripted models of the examples in the reference, by module: `sim` is the sim.lua beside the example, `shows` lines that the
-- example then prints. docs/tools/reference.lua writes both below the example, and the tests of the documents run them.
return {
  ["hocket"] = { sim = [[
return function() return "Rain writes one line on every roof." end]], shows = "Rain writes one line on every roof." },
  ["hocket.conversation"] = { sim = [[
return function(request)
  if request.turn == 1 then return "On the hill above the old town." end
  return "Take tram 28, or walk up for ten minutes."
end]], shows = "On the hill above the old town.\nTake tram 28, or walk up for ten minutes." },
  ["hocket.live"] = { sim = [[
return function(request) return request.system:find "sing" and "La la, good day!" or "Good day." end]], shows = "La la, good day!" },
  ["hocket.llm"] = { sim = [[
return function() return "About eighty years." end]], shows = "About eighty years." },
  ["hocket.orchestrate"] = { sim = [[
return function(request)
  if request.system:find "critic" then return "Short and clear; the image is an old one." end
  return "Rain taps the roof and asks to come in."
end]], shows = "Short and clear; the image is an old one." },
  ["hocket.session"] = { sim = [[
return function(request) return request.turn == 1 and "About eighty years." or "The oldest is from 1890." end]],
    shows = "About eighty years.\nThe oldest is from 1890." },
  ["hocket.tool"] = { sim = [[
return function(request)
  if request.last.role == "tool" then return ("There are %s screws."):format(request.last.text) end
  return { calls = { { name = "stock", arguments = { part = "screw" } } } }
end]], shows = "There are 7 screws." },
  ["hocket.permission"] = { sim = [[
return function(request) -- the tools that the agent may use now
  local names = {}
  for name in pairs(request.tools) do names[#names + 1] = name end
  return "My tools: " .. table.concat(names, ", ")
end]], shows = "My tools: read_file" },
  ["hocket.workflow"] = { sim = [[
return function(request)
  local news = { tea = "A new green tea comes from Porto.", coffee = "The price of coffee falls." }
  return news[request.last.text]
end]], shows = "A new green tea comes from Porto.\nThe price of coffee falls." },
  ["hocket.tools.delegate_to_agent"] = { sim = [[
return function() return "The castle is from the eleventh century." end]], shows = "The castle is from the eleventh century." },
  ["hocket.patterns.advisors"] = { sim = [[
local says = {
  lawyer = "The licence allows it.",
  economist = "It pays from the tenth copy.",
  editor = "Print it: the licence allows it, and it pays from the tenth copy.",
}
return function(request) return says[request.system:match "You are the (%a+)"] end]],
    shows = "Print it: the licence allows it, and it pays from the tenth copy." },
  ["hocket.patterns.alternates"] = { sim = [[
return function(request)
  if request.system:find "You count" then return { status = 400, error = "the clerk is away" } end
  return "There are twelve chairs."
end]], shows = "There are twelve chairs." },
  ["hocket.patterns.blockers"] = { sim = [[
return function(request)
  if request.last.text:find "do it without" then return "The walls stand, without mortar." end
  local block = { id = "walls", what = "the joints stay open", needs = "mortar" }
  return { calls = { { name = "report_blocker", arguments = block } } }
end]], shows = "The walls stand, without mortar." },
  ["hocket.patterns.coordinator"] = { sim = [[
return function(request)
  if request.system:find "where to eat" then return "Clams at a tavern below the castle." end
  return "The castle, early, before the queues."
end]], shows = "Clams at a tavern below the castle." },
  ["hocket.patterns.facilitator"] = { sim = [[
return require "hocket.sim.team" {
  plan = function() return { { text = "Lunch", assigned_to = "food" } } end,
  write = function() return { { slot = { day = 1 }, content = "Grilled cod at the Time Out Market." } } end,
}]], shows = "Grilled cod at the Time Out Market." },
  ["hocket.patterns.handoff"] = { sim = [[
return function(request)
  if request.system:find "editor" then return "Rain taps the roof, and the roof taps back." end
  return "Rain taps the roof."
end]], shows = "Rain taps the roof, and the roof taps back." },
  ["hocket.patterns.outcome"] = { sim = [[
return function() return "There are twelve chairs." end]], shows = "There are twelve chairs." },
  ["hocket.patterns.router"] = { sim = [[
return function(request)
  if request.tools.route_to then
    return { calls = { { name = "route_to", arguments = { agent = "billing", reason = "It is about a bill." } } } }
  end
  return "The second charge was a mistake; you get it back."
end]], shows = "The second charge was a mistake; you get it back." },
  ["hocket.patterns.team"] = { sim = [[
local says = { analyst = "Nobody forgets a passkey.", developer = "A library does most of it." }
return function(request)
  local who = request.system:match "You are the (%a+)"
  if who == "lead" then return "Passkeys: nobody forgets one, and a library does most of the work." end
  if request.last.role == "tool" then return "Nothing to add." end
  return { calls = {
    { name = "broadcast", arguments = { message = says[who] } },
    { name = "vote_conclude", arguments = { reason = "I have said what I know." } },
  } }
end]], shows = "Passkeys: nobody forgets one, and a library does most of the work." },
}
