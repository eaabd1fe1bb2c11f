-- The scripted model of the background example: it plays the editor and the two who look things up.
local function calls(request, name)
  local n = 0
  for _, message in ipairs(request.messages) do
    for _, call in ipairs(message.calls or {}) do
      if call.name == name then n = n + 1 end
    end
  end
  return n
end

local points = { "What one sees: shade, and streets that are used", "What one measures: temperature, water, air", "What it costs, and who pays" }

-- What stands in the frames of results, in whichever message they came.
local function findings(request)
  local list = {}
  for _, message in ipairs(request.messages) do
    for text in message.text:gmatch "Result: <result%-%w+[^>]*>\n(.-)\n</result%-%w+>" do list[#list + 1] = text end
  end
  return list
end

local function edit(request)
  local wish = request.messages[1].text
  if calls(request, "submit_task") == 0 then
    return { text = "I let two others look into it and draft meanwhile.", calls = {
      { name = "submit_task", arguments = { agent_name = "researcher", prompt = "Facts and figures on: " .. wish } },
      { name = "submit_task", arguments = { agent_name = "checker", prompt = "Does it hold that trees cool a street by several degrees?" } },
    } }
  end
  local n = calls(request, "note")
  if request.tools.note and n < #points then return { calls = { { name = "note", arguments = { point = points[n + 1] } } } } end
  local found = findings(request)
  if #found < 2 and calls(request, "wait_tasks") == 0 then return { calls = { { name = "wait_tasks" } } } end
  return { text = ("# %s\n\n%s\n\n%s"):format(wish, table.concat(points, ". ") .. ".", table.concat(findings(request), "\n\n")) }
end

return function(request)
  if request.tools.submit_task then return edit(request) end
  if request.system:find("check one claim", 1, true) then
    return { text = "It holds on hot afternoons: one to three degrees in the shade of a closed row, less where trees stand alone.", latency = 0.1 }
  end
  return { text = "A grown tree evaporates some hundred litres on a summer's day, shades about fifty square metres and holds back rain.", latency = 0.3 }
end
