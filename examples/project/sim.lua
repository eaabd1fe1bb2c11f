-- The scripted model of the project example: it plays the lead, the editor and the tester.
local function results(request)
  local list = {}
  for _, message in ipairs(request.messages) do
    if message.role == "tool" then list[#list + 1] = message.text end
  end
  return list
end

local function call(name, arguments)
  return { calls = { { name = name, arguments = arguments } } }
end

-- One step for each result so far; the last one answers.
local function step(request, steps)
  local so_far = results(request)
  return steps[math.min(#so_far + 1, #steps)](so_far[#so_far], so_far)
end

local function lead(request)
  return step(request, {
    function() return call("search_files", { content = "Helo" }) end,
    function() return call("read_file", { path = "greet.sh" }) end,
    function() return call("delegate", { agent_name = "editor", prompt = "In greet.sh, line 2, the greeting says Helo. It should be Hello." }) end,
    function() return call("delegate", { agent_name = "tester", prompt = "Run the tests." }) end,
    function(last, all) return { text = ("greet.sh said Helo.\n\nEditor: %s\n\nTester: %s"):format(all[3], last) } end,
  })
end

local function editor(request)
  return step(request, {
    function() return call("read_file", { path = "greet.sh" }) end,
    function() return call("edit_file", { path = "greet.sh", old_text = "Helo", new_text = "Hello" }) end,
    function(last) return { text = last:find "^error" and "It was not changed: " .. last or last } end,
  })
end

local function tester(request)
  return step(request, {
    function() return call("execute_command", { command = "sh test.sh" }) end,
    function(last) return { text = last } end,
  })
end

return function(request)
  if request.tools.search_files then return lead(request) end
  return (request.tools.edit_file and editor or tester)(request)
end
