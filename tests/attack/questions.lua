--- What happens between a question and its answer, and after it: files that are swapped meanwhile, answers in another order,
--- late, or for somebody who has gone. What is done is what was approved, or nothing.
local attack = require "attack"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local fs = require "hocket.fs"
local orchestrate = require "hocket.orchestrate"
local s = require "scripted"
local sandbox = require "hocket.internal.tools.sandbox"

local class = attack.class("questions", true)

local TOOLS = { "read_file", "write_file", "edit_file", "move_file", "open_file", "execute_command" }

local function results_of(request)
  local list = {}
  for _, message in ipairs(request.messages) do
    if message.role == "tool" then list[#list + 1] = message.text end
  end
  return list
end

-- An agent that makes these calls, those of one inner list in one turn.
local function play(turns, options)
  local results = {}
  s.reply = function(request)
    results = results_of(request)
    local done = 0
    for _, message in ipairs(request.messages) do done = done + (message.role == "assistant" and 1 or 0) end
    local calls = {}
    for i, one in ipairs(turns[done + 1] or {}) do calls[i] = s.call(one[1], one[2]) end
    return #calls > 0 and { calls = calls } or "done"
  end
  local team = s.team { main = { tools = TOOLS, max_turns = 20 } }
  local call = function() return orchestrate.call(team.main, "go") end
  local run = s.run(options.around and options.around(call) or call, options)
  return results, run
end

-- ---- Files that are swapped while a person thinks ----------------------------------------------------------------

local function place(dir)
  dir:write("project/.git/config", "[core]\n")
  dir:write("project/sub/a.txt", "one\n")
  dir:write("project/notes.txt", "n1 n2\n")
  dir:write("outside/o.txt", "outside\n")
end

local read = { { "read_file", { path = "notes.txt" } } }

local races = {
  { "a folder becomes a link to .git", { { { "write_file", { path = "sub/config", content = "EVIL" } } } }, "rm -rf sub; ln -s .git sub" },
  { "a folder becomes a link to outside", { { { "write_file", { path = "sub/o.txt", content = "EVIL" } } } }, "rm -rf sub; ln -s ../outside sub" },
  { "a file has changed since it was read", { read, { { "write_file", { path = "notes.txt", content = "EVIL" } } } }, "echo kept >> notes.txt", kept = "notes.txt" },
  { "a file becomes a link", { read, { { "write_file", { path = "notes.txt", content = "EVIL" } } } }, "rm notes.txt; ln -s .git/config notes.txt" },
  { "a new file is there already", { { { "write_file", { path = "new.txt", content = "EVIL" } } } }, "echo kept > new.txt", kept = "new.txt" },
  { "a file that is edited has changed", { read, { { "edit_file", { path = "notes.txt", old_text = "n1", new_text = "EVIL" } } } }, "echo 'kept n1' > notes.txt", kept = "notes.txt" },
  { "a file becomes a hard link", { read, { { "edit_file", { path = "notes.txt", old_text = "n1", new_text = "EVIL" } } } }, "rm notes.txt; echo 'n1 n2' > ../outside/h; ln ../outside/h notes.txt" },
  { "what is moved becomes a link", { { { "move_file", { from = "notes.txt", to = "x.txt" } } } }, "rm notes.txt; ln -s ../outside/o.txt notes.txt", gone = "x.txt" },
  { "where it is moved is something", { { { "move_file", { from = "notes.txt", to = "x.txt" } } } }, "echo kept > x.txt", kept = "x.txt" },
  { "where it is moved is .git", { { { "move_file", { from = "notes.txt", to = "sub/config" } } } }, "rm -rf sub; ln -s .git sub" },
  { "what is moved is of .git", { { { "move_file", { from = "sub/a.txt", to = "x.txt" } } } }, "rm -rf sub; cp .git/config .git/a.txt; ln -s .git sub", gone = "x.txt" },
  { "what is opened becomes a link", { { { "open_file", { path = "notes.txt" } } } }, "rm notes.txt; ln -s ../outside/o.txt notes.txt" },
  { "what is opened is behind a link", { { { "open_file", { path = "sub/a.txt" } } } }, "rm -rf sub; cp ../outside/o.txt ../outside/a.txt; ln -s ../outside sub" },
  { "a key that leads outside", { { { "read_file", { path = ".env" } } } }, "ln -s ../outside/o.txt .env" },
  { "the folder of a command becomes a link", { { { "execute_command", { command = "echo EVIL > o.txt; cat o.txt", directory = "sub" } } } }, "rm -rf sub; ln -s ../outside sub" },
  { "the folder of a command becomes .git", { { { "execute_command", { command = "echo EVIL > config", directory = "sub" } } } }, "rm -rf sub; ln -s .git sub" },
}

local function text_of(path)
  return fs.read(path) or ""
end

local function broken(dir, race, opened, results)
  local project, outside = dir.path .. "/project/", dir.path .. "/outside/"
  if text_of(project .. ".git/config") ~= "[core]\n" then return "the repository was changed" end
  if text_of(outside .. "o.txt") ~= "outside\n" or text_of(outside .. "h"):find "EVIL" then return "a file outside was changed" end
  if race.kept and not text_of(project .. race.kept):find "kept" then return race.kept .. " was replaced" end
  if race.gone and fs.info(project .. race.gone) then return race.gone .. " was made" end
  if opened then return opened .. " was opened" end
  if (results[#results] or ""):find "outside\n" then return "it was shown: " .. results[#results] end
end

for _, race in ipairs(races) do
  class:try(race[1], function(dir)
    place(dir)
    local opened, asked = nil, 0
    local results = play(race[2], { workdir = dir.path .. "/project", opener = function(path)
      opened = path
      return true
    end, on_question = function()
      asked = asked + 1
      os.execute(("cd '%s/project' && %s"):format(dir.path, race[3]))
      return "allow"
    end })
    if asked ~= 1 then return ("it was asked %d times"):format(asked) end
    return broken(dir, race, opened, results)
  end)
end

-- ---- Several at once ---------------------------------------------------------------------------------------------------

-- All are open before one is answered; `order` gives the answers, by what is written.
local function answer_together(dir, names, answers)
  local open, calls = {}, {}
  for i, name in ipairs(names) do calls[i] = { "write_file", { path = name, content = name } } end
  play({ calls }, { workdir = dir.path, on_question = function(question)
    local name = question.arguments:match '"path":"([^"]*)"'
    open[#open + 1] = name
    while #open < #names do fiber.sleep(0.005) end
    fiber.sleep(0.01 * (#names - #open)) -- the last one first
    return answers[name] or "deny"
  end })
end

for i = 1, 3 do
  class:try(("of three questions the yes to number %d"):format(i), function(dir)
    local names, answers = { "one/x", "two/x", "three/x" }, {}
    answers[names[i]] = "allow"
    answer_together(dir, names, answers)
    for j, name in ipairs(names) do
      if (fs.info(dir.path .. "/" .. name) ~= nil) ~= (i == j) then return name .. " was taken for another" end
    end
  end)
end

class:try("an always while others are open", function(dir)
  answer_together(dir, { "one/x", "one.d/x", "two/x" }, { ["one/x"] = "always" })
  for _, name in ipairs { "one.d/x", "two/x" } do
    if fs.info(dir.path .. "/" .. name) then return name .. " was covered as well" end
  end
end)

-- ---- Late answers --------------------------------------------------------------------------------------------------------

local write = { { { "write_file", { path = "late.txt", content = "EVIL" } } } }

-- Nobody waits for the call any more once it has asked: it is cancelled. (A time limit would wait for the person.)
local function cancelled_when_asked(call)
  return function(run)
    local function asked()
      while #s.events(run, "approval_requested") == 0 do fiber.sleep(0.005) end
      return "gone"
    end
    return flow.any { call, asked }
  end
end

class:try("an answer after the agent was cancelled", function(dir)
  play(write, { workdir = dir.path, around = cancelled_when_asked, on_question = function()
    fiber.sleep(0.6)
    return "allow"
  end })
  fiber.sleep(0.6)
  if fs.info(dir.path .. "/late.txt") then return "it was written" end
end)

-- By a person, who knows the question by its id.
local function late(dir, after)
  local run, id
  s.reply = function(request)
    return #results_of(request) > 0 and "done" or { calls = { s.call("write_file", write[1][1][2]) } }
  end
  local team = s.team { main = { tools = TOOLS } }
  local asked = flow.spawn(function()
    run = s.run(cancelled_when_asked(function() return orchestrate.call(team.main, "go") end), { workdir = dir.path, interactive = true })
  end)
  asked:wait()
  for _, event in ipairs(s.events(run, "approval_requested")) do id = event.id end
  if not id then return "it was not asked" end
  after(run, id)
  fiber.sleep(0.1)
  if #s.events(run, "question_withdrawn") ~= 1 then return "nobody was told that the question is withdrawn" end
  if fs.info(dir.path .. "/late.txt") then return "it was written" end
end

for _, text in ipairs { "allow", "always", "y" } do
  class:try(("'%s' to a question that was withdrawn"):format(text), function(dir)
    local taken
    local wrong = late(dir, function(run, id) taken = run:answer(id, text) end)
    return wrong or taken and "the answer was taken" or nil
  end)
end

class:try("an answer to a question that was never put", function(dir)
  local taken
  local wrong = late(dir, function(run)
    for i = 1, 50 do taken = taken or run:answer("a" .. i, "allow") or run:answer("q" .. i, "allow") end
  end)
  return wrong or taken and "the answer was taken" or nil
end)

-- Such a task belongs to the run: that ends with it, and after its end nothing is done.
class:try("a task in the background whose question comes when who asked for it has answered", function(dir)
  local ended, late_ = false, false
  s.reply = function(request)
    if request.model == "main" then
      return #results_of(request) > 0 and "done" or { calls = { s.call("submit_task", { agent_name = "worker", prompt = "write" }) } }
    end
    return #results_of(request) > 0 and "done" or { calls = { s.call("write_file", write[1][1][2]) } }
  end
  local team = s.team { worker = { tools = TOOLS }, main = { agents = { "worker" } } }
  s.run(function() return orchestrate.call(team.main, "go", { timeout = 2 }) end, { workdir = dir.path, on_question = function()
    fiber.sleep(0.5)
    late_ = ended
    return "allow"
  end })
  ended = true
  local written = fs.info(dir.path .. "/late.txt") ~= nil
  fiber.sleep(0.7)
  if late_ then return "the question outlived the run" end
  if not written and fs.info(dir.path .. "/late.txt") then return "it was written after the run's end" end
end)

-- ---- What a program that embeds us registers ---------------------------------------------------------------------------

local function registered(effects, options, calls)
  local tool = require "hocket.tool"
  local done, asked = 0, 0
  local one = tool.new { name = "act", description = "Acts", parameters = { type = "object", properties = { to = { type = "string" } } }, effects = effects,
    subject = "to", run = function()
      done = done + 1
      return "acted"
    end }
  s.reply = function(request) return #results_of(request) < (calls or 1) and { calls = { s.call("act", { to = "x" }) } } or "done" end
  local team = s.team { main = { tools = { one } } }
  options.on_question = options.on_question or function()
    asked = asked + 1
    return "deny"
  end
  s.run(function(run)
    if options.labelled then run.labels = require("hocket.internal.base.labels").new(); run.labels:add(require("hocket.internal.base.labels").bit "web") end
    return orchestrate.call(team.main, "go")
  end, { on_question = options.on_question, approve = options.approve })
  return done, asked
end

for _, effect in ipairs { "run", "write", "elsewhere", "open" } do
  class:try(("a tool of the host's that does %s"):format(effect), function()
    local done, asked = registered({ effect }, {})
    if done > 0 or asked ~= 1 then return ("done %d times, asked %d times"):format(done, asked) end
  end)
end
for _, effect in ipairs { "run", "send", "elsewhere", "open" } do
  class:try(("a tool of the host's that does %s, behind a page, whatever is allowed"):format(effect), function()
    local done, asked = registered({ effect }, { labelled = true, approve = "allow" })
    if done > 0 or asked ~= 1 then return ("done %d times, asked %d times"):format(done, asked) end
  end)
end
class:try("a tool of the host's that a rule denies", function()
  local done = registered(nil, { approve = { "act=deny" } })
  if done > 0 then return "it ran" end
end)

-- ---- Nested ---------------------------------------------------------------------------------------------------------------

for _, depth in ipairs { 1, 2, 3 } do
  class:try(("what the topmost of %d agents denies"):format(depth + 1), function(dir)
    local team = {}
    for i = 0, depth do
      local leaf = i == depth
      team["a" .. i] = { agents = not leaf and { "a" .. (i + 1) } or nil, tools = leaf and TOOLS or nil,
        approve = i == 0 and { deny = { "write_file" } } or { allow = { "write_file" } } }
    end
    s.reply = function(request)
      local i = tonumber(request.model:match "%d+")
      if #results_of(request) > 0 then return "done" end
      if i == depth then return { calls = { s.call("write_file", write[1][1][2]) } } end
      return { calls = { s.call("delegate", { agent_name = "a" .. (i + 1), prompt = "on" }) } }
    end
    -- s.team makes those without agents first, in order: the leaf has to be there before who calls it.
    local made = require "hocket.agent"
    local loaded = {}
    for i = depth, 0, -1 do
      local def = team["a" .. i]
      def.name, def.model, def.prompt, def.team = "a" .. i, "scripted/a" .. i, "x", loaded
      loaded["a" .. i] = made.load(def)
    end
    s.run(function() return orchestrate.call(loaded.a0, "go") end, { workdir = dir.path, approve = "allow", on_question = function() return "allow" end })
    if fs.info(dir.path .. "/late.txt") then return "it was written" end
  end)
end

return class:finish()
