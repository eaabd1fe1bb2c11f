-- The scripted model of the delegation example: it plays the orchestrator and its specialists, on the project beside it.
-- The first version of the cache has no limit: the reviewer finds that, and it is planned anew.
local json = require "hocket.json"

local function calls_of(request, name)
  local list = {}
  for _, message in ipairs(request.messages) do
    for _, call in ipairs(message.calls or {}) do
      if call.name == name then list[#list + 1] = call end
    end
  end
  return list
end

-- What the specialists have answered so far, in order.
local function answers(request)
  local list = {}
  for _, message in ipairs(request.messages) do
    if message.role == "tool" and message.name == "delegate_to_agent" then list[#list + 1] = json.decode(message.text) end
  end
  return list
end

-- Why a change was not made, if that is what came last.
local function refused(request)
  local last = request.last
  return last.role == "tool" and last.name == "write_file" and last.text:match "^error: (.*)"
end

local function delegate(agent, task, context)
  return { calls = { { name = "delegate_to_agent", arguments = { agent = agent, task = task, context = context } } } }
end

local cache = [[
local prices = {}

local known%s = {}%s

-- Asks the till, which is slow, once for each name.
function prices.get(name, ask)
  if known[name] == nil then
%s    known[name] = ask(name)
  end
  return known[name]
end

return prices
]]

local versions = {
  cache:format("", "", ""),
  cache:format(", count", ", 0\n\n-- Names that are remembered; then it begins anew.\nlocal LIMIT = 1000",
    "    if count >= LIMIT then known, count = {}, 0 end\n    count = count + 1\n"),
}

local function write(version)
  return { calls = { { name = "write_file", arguments = { path = "src/prices.lua", content = versions[version] } } } }
end

local function orchestrate(request)
  local wish = request.messages[1].text
  local direct = request.system:find("Mode: direct", 1, true)
  if not wish:lower():find("implement", 1, true) then
    if request.last.role == "user" then return { calls = { { name = "list_directory" } } } end
    return { text = "The project has:\n\n" .. request.last.text }
  end
  if refused(request) then return { text = "Not done: " .. refused(request) } end
  local written, heard, read = #calls_of(request, "write_file"), answers(request), #calls_of(request, "read_file")
  local last = heard[#heard]
  if read == 0 and (direct or last) then return { calls = { { name = "read_file", arguments = { path = "src/prices.lua" } } } } end
  if direct then
    if written == 0 then return write(2) end
    return { text = "Done without help: src/prices.lua remembers what it has asked for, 1000 names at most. Not reviewed." }
  end
  if not last then return delegate("planner", "Create a detailed plan for: " .. wish, { working_dir = "." }) end
  if not last.success then return { text = ("The %s could not help (%s); nothing was changed."):format(last.agent_name, last.error) } end
  if last.task_type == "planning" then
    local version = #heard == 1 and 1 or 2
    if written < version then return write(version) end
    return delegate("code_reviewer", "Review the cache that was added in src/prices.lua.")
  elseif last.task_type == "code_review" then
    if last.result:find("PROBLEM", 1, true) then
      return delegate("planner", "The plan did not work out. Plan what is left of: " .. wish, { review = last.result })
    end
    return delegate("tester", "Which cases of the cache in src/prices.lua are not tested by tests/prices.lua?")
  end
  return { text = ("src/prices.lua remembers what it has asked for, 1000 names at most.\n\nVerified by review, after a second plan: the first version had no limit.\n\nOpen, says the tester: %s"):format(last.result:match "\n(.-)\n</" or "") }
end

local plan = [[
PLAN: %s

CURRENT STATE:
- src/prices.lua asks the till each time: %d lines
- no cache is there; tests/prices.lua has one case

IMPLEMENTATION STEPS:
1. src/prices.lua: %s

TESTING:
- tests/prices.lua: the second call does not ask

RISKS & EDGE CASES:
- a price that changes is seen late

VERIFICATION:
1. read src/prices.lua: one table of known prices]]

local function explore(request)
  local looked = #calls_of(request, "list_directory") + #calls_of(request, "read_file")
  local steps = {
    { name = "list_directory" }, { name = "list_directory", arguments = { path = "src" } },
    { name = "read_file", arguments = { path = "src/prices.lua" } },
  }
  if looked < #steps then return { calls = { steps[looked + 1] } } end
  local again = request.messages[1].text:find("did not work out", 1, true)
  local _, lines = request.last.text:gsub("\n", "")
  return { text = plan:format(request.messages[1].text:match "[Pp]lan [^:\n]*: ([^\n]*)" or "cache", lines, again and "bound the table, 1000 names" or "keep what was asked for in a table") }
end

local function review(request)
  if request.last.role == "user" then return { calls = { { name = "read_file", arguments = { path = "src/prices.lua" } } } } end
  if request.last.text:find("LIMIT", 1, true) then return { text = "OK\nNothing to mend." } end
  return { text = "PROBLEM\nsrc/prices.lua: the table grows without a limit. Bound it." }
end

local function test(request)
  if request.last.role == "user" then return { calls = { { name = "read_file", arguments = { path = "tests/prices.lua" } } } } end
  return { text = "a second call for the same name, and the 1001st name." }
end

return function(request)
  if request.tools.delegate_to_agent or request.system:find("You work on the project", 1, true) then return orchestrate(request) end
  if request.system:find("You plan; you do not execute", 1, true) then return explore(request) end
  if request.system:find("You review code", 1, true) then return review(request) end
  if request.system:find("as a tester", 1, true) then return test(request) end
  return { text = "It stands in README.md, line 3." }
end
