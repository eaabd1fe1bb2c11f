-- Who is asked posts what it does, puts a number that was never there before, and says how it ended.
local function post(what) return { name = "post", arguments = { what = what } } end

-- What a specialist does, by how many results it has had since its task was given.
local ways = {
  surveyor = function() return "surveyed", "FAILED: no level" end,
  engineer = function() return "measured", "3 by 4" end,
  mason = function(task) return task:match "Do the (%w+)" or "?", "built" end,
  quarry = function(task) return task:find "stones" and "stones" or "carried", "brought" end,
  painter = function() return "painted", '{"colour":"green"}' end,
  path = function() return "laid", "laid" end,
}

local function read(request)
  local results, first = 0, nil
  for _, message in ipairs(request.messages) do
    if message.role == "tool" then results = results + 1 end
    if message.role == "user" then
      first, results = first or message.text, 0
    end
  end
  return results, first
end

return function(request)
  torture "model"
  local who = request.system:match "You are the (%w+)"
  local results, task = read(request)
  local function put() return { name = "put", arguments = { chance = torture "chance" } } end
  if who == "lead" then
    return { calls = { { name = "split_task", arguments = { id = "house", tasks = {
      { id = "walls", specialist = "mason", description = "Do the walls" }, { id = "roof", specialist = "mason", description = "Do the roof", depends_on = { "walls" } } } } } } }
  end
  if who == "path" and not task:find "stones" and results == 0 then return { calls = { { name = "report_blocker", arguments = { id = "path", what = "no stones", needs = "stones" } } } } end
  local what, said = ways[who](task)
  if who == "surveyor" or who == "painter" then -- each attempt posts
    local attempt = task:match "[Aa]ttempt (%d+)" or "1"
    what = what .. attempt
    if who == "painter" and attempt == "1" then said = "FAILED: no paint" end
  end
  if results == 0 then return { calls = { post(what), put() }, latency = 0.003 } end
  return { text = said, latency = 0.002 }
end
