-- The scripted model of the building example.
local json = require "hocket.json"

local function plan(tasks)
  return { text = json.encode { type = "task", tasks = tasks } }
end

local function read_before(request, name)
  for _, message in ipairs(request.messages) do
    if message.text:find("Frost reaches", 1, true) then return true end
    for _, call in ipairs(message.calls or {}) do
      if call.name == name then return true end
    end
  end
end

-- Looks for the report on the ground, and reads it, before anything is planned.
local function explore(request)
  if not read_before(request, "search_files") then return { calls = { { name = "search_files", arguments = { glob = "**/soil.md" } } } } end
  local path = not read_before(request, "read_file") and request.last.text:match "[^\n]*soil%.md"
  return path and { calls = { { name = "read_file", arguments = { path = path } } } }
end

local function planner(request)
  local looks = request.tools.read_file and explore(request)
  if looks then return looks end
  local ground = read_before(request, "read_file") and { 2 } or nil
  local text = ""
  for _, message in ipairs(request.messages) do
    if message.role == "user" then text = message.text end
  end
  if text:find "is blocked and waits" then return plan { { id = "slabs", specialist = "engineer", description = "Order what is needed: 12 slabs" } } end
  if text:find "for us" and not text:find "four" then return { text = json.encode { type = "task", clarification_needed = true, questions = { "For how many people?" } } } end
  return plan {
    { id = "plot", specialist = "surveyor", description = "Measure the plot.", expected = "length, width and slope", check = { ["function"] = "checks.plot" } },
    { id = "walls", specialist = "mason", description = "Plan the walls.", depends_on = { "plot" }, findings = ground },
    { id = "garden", specialist = "gardener", description = "Lay out the garden.", depends_on = { "plot" }, findings = ground },
  }
end

return function(request)
  if request.system:find("You plan buildings", 1, true) then return planner(request) end
  if request.system:find("You measure plots", 1, true) then
    return { text = request.last.text:find("its check failed", 1, true) and "6 by 4 metres, on a slope of 10 percent." or "6 by 4 metres." }
  end
  if request.tools.split_task and request.last.text:find("Lay out the garden", 1, true) then
    return { calls = { { name = "split_task", arguments = { id = "garden", tasks = {
      { id = "beds", specialist = "gardener", description = "Plan the beds." },
      { id = "path", specialist = "paver", description = "Plan the path between the beds.", depends_on = { "beds" } },
    } } } } }
  end
  if request.system:find("You lay paths", 1, true) then
    if request.last.text:find("slabs are ordered", 1, true) then return { text = "A path of 12 slabs, straight on." } end
    return { calls = { { name = "report_blocker", arguments = { id = "garden.path", what = "There are no slabs.", needs = "12 slabs" } } } }
  end
  if request.last.text:find("Order what is needed", 1, true) then return { text = "The slabs are ordered." } end
  if request.system:find("You lay out gardens", 1, true) then return { text = "Two beds of 3 square metres." } end
  if request.system:find("You plan walls", 1, true) then return { text = "FAILED: I do not know how to found a wall on a slope." } end
  local depth = request.messages[1].text:find("Frost reaches 80 cm", 1, true) and "80 cm deep in the clay" or "on the ground"
  return { text = ("The walls stand on three steps of 20 cm, %s. 2400 bricks, two days."):format(depth) }
end
