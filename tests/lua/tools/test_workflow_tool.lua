--- The tool `workflow`: a script that a model writes, judged and approved before it runs, with agents side by side.
if os.getenv "HOCKET_SANITIZED" then return "skipped: a sanitizer wants more memory than a script may have" end
local t = require "harness"
local s = require "scripted"
local hocket = require "hocket"
local json = require "hocket.json"
local workflow_file = require "hocket.internal.agents.workflow_file"

local HEAD = [[
local workflow = require "hocket.workflow"
local agent, map, parallel, pipeline, race, loop = workflow.agent, workflow.map, workflow.parallel, workflow.pipeline, workflow.race, workflow.loop
local function work(text) return agent { prompt = "You work.", input = text } end
]]

local function script_of(body, more)
  return ("%sreturn workflow { description = \"d\",%s run = function(input)\n%s\nend }"):format(HEAD, more or "", body)
end

local asked -- what the agents were asked that the script began

-- Lets a lead write one workflow: what the model is told of it, and the run.
local function run(args, opts)
  opts = opts or {}
  asked = {}
  s.reply = function(request)
    if request.system == "lead" and not request.last.text:find "^From here on" then
      if request.last.role == "tool" then return request.last.text end
      return { calls = { { name = "workflow", arguments = args } } }
    end
    asked[#asked + 1] = request
    return (opts.reply or function() return "did " .. request.last.text end)(request)
  end
  local team = s.team { lead = { tools = { "workflow", "list_directory" }, agents = { "helper" }, budget = opts.budget }, helper = { description = "Helps" }, other = {} }
  local text, failed
  local one = s.run(function()
    local reply, err = hocket.orchestrate.call(team.lead, "go")
    text, failed = reply and reply.text, err
    return { text = "" }
  end, { approve = opts.approve == nil and "allow" or opts.approve or nil, on_question = opts.on_question })
  return text or tostring(failed), one
end

local function result(body, opts, more)
  local text, one = run({ script = script_of(body, more), input = opts and opts.input }, opts)
  return text:match "BEGIN[^\n]*\n(.*)\n[^\n]*END" or text, one
end

t.test("agents side by side, by name and made here, with values by schema", function()
  local text = result([[
    local all = map({ "a", "b", "c" }, function(x) return work(x) end)
    local both = parallel { function() return agent { "helper", input = { q = 1 } } end, function() return 2 end }
    local piped, wrong = pipeline({ 1, 2 }, { function(n) if n == 2 then return nil, "odd" end return n end, function(n) return work("stage " .. n) end })
    local first = race { function() return nil end, function() return work "fast" end }
    local nested = race { function() return (race { function() return "one" end }) end, function() return (race { function() return "two" end }) end }
    local stars = agent { prompt = "You rate.", input = "x", output = { type = "object", required = { "stars" }, properties = { stars = { type = "integer" } } } }
    local rounds, n = loop { max = 3, step = function(round, last) return (last or 0) + round end, done = function(v) return v == 3 end }
    workflow.phase("end", 2)
    workflow.report "nearly"
    return { all = all, both = both, piped = piped, wrong = wrong[2], first = first, nested = nested, stars = stars.stars, rounds = rounds, n = n }]],
    { reply = function(request) return request.schema and '{"stars": 4}' or "did " .. request.last.text end })
  local value = json.decode(text:match "{.*}")
  t.same(value, { all = { "did a", "did b", "did c" }, both = { 'did {"q":1}', 2 }, piped = { "did stage 1" }, wrong = "odd", first = "did fast", nested = "one", stars = 4, rounds = 3, n = 2 })
end)

t.test("no text holds an address, which would differ in the process that goes on", function()
  t.has(result [[return ("%s|%5s|%s|100%%p|%d"):format({}, print, tostring(print), 7)]], "table|function|function|100%p|7")
  t.has(result [[return string.format("%s %s", setmetatable({}, { __name = "x" }), setmetatable({}, { __tostring = function() return "own" end }))]], "table own")
  t.has(result [[return string.format("%-20p", {})]], "use no %p")
end)

t.test("phases and reports are events, agents have their caller and their trigger", function()
  local _, one = result [[workflow.phase("read", 3) workflow.report "half" return work "x"]]
  t.equal(s.events(one, "phase_started")[1].name, "read")
  t.equal(s.events(one, "workflow_report")[1].content, "half")
  local begun = s.events(one, "agent_started")
  t.equal(begun[#begun].trigger, "workflow")
  t.equal(begun[#begun].agent, "worker")
end)

t.test("nothing runs without a bound, an agreement, or a fitting input", function()
  t.has(result [[while true do work "x" end]], "nothing has run. The script has no bound:\nline 5: 'while' has no bound")
  t.has(result [[return load("return 1")()]], "'load' hides what runs")
  t.has(run { script = "return 1" }, "returns no workflow")
  t.has(run { script = "return (" }, "line 1:")
  t.has(run { script = HEAD, name = "x" }, "give 'script', or the 'name'")
  t.has(run { name = "nothing" }, "there is no saved workflow 'nothing'")
  t.has(run { name = "a\0b" }, "there is no saved workflow 'a")
  local here, own = debug.getinfo(1, "S").source:match "^@(.*)/([^/]*)%.lua$"
  t.ok(workflow_file.within({ here }, own, "workflow"))
  t.equal(workflow_file.within({ here }, "../" .. here:match "[^/]*$" .. "/" .. own, "workflow"), nil)
  local typed = [[ input = { type = "object", required = { "n" }, properties = { n = { type = "integer" } } },]]
  t.has(result("return work 'x'", { input = { n = "one" } }, typed), "/n: expected integer")
  t.equal(#asked, 0)
  t.has(result("return work('n' .. input.n)", { input = { n = 3 } }, typed), "did n3")
  t.has(result("return work 'x'", { approve = "deny" }), "the user did not approve it")
  t.equal(#asked, 0)
end)

local function texts_in(value)
  if type(value) == "string" then return value end
  local parts = {}
  for _, one in pairs(type(value) == "table" and value or {}) do parts[#parts + 1] = texts_in(one) end
  return table.concat(parts, "\n")
end

t.test("a person sees the script with its bound, and may say what to change", function()
  local shown
  local function say(answer)
    return { approve = false, on_question = function(question)
      shown = texts_in(question)
      return answer
    end }
  end
  t.has(result([[return map({ "a", "b" }, work)]], say "yes"), "did a")
  t.has(shown, "at most 2 agents, 8 model calls")
  t.has(shown, "cannot run programs, reach the web, read files, write files")
  t.has(shown, "local function work(text)")
  t.has(result([[return map({ "a", "b" }, work)]], say "only one agent please"), "says: only one agent please")
  t.equal(#asked, 0)
end)

t.test("an agent with an id is asked again, and one begins with the caller's conversation", function()
  local text, one = result([[
    local first = agent { prompt = "You work.", input = "one", id = "a" }
    local again, lost = workflow.ask_again("a", { n = 2 }), select(2, workflow.ask_again("b", "x"))
    local fork = agent { prompt = "You fork.", input = "three", context = "fork" }
    return first .. "|" .. again .. "|" .. tostring(lost) .. "|" .. fork]], { reply = function(request)
    local n = #request.messages
    return ("%d %s"):format(n, request.messages[1].text)
  end })
  t.has(text, "1 one|3 one|not_found: there is no finished agent 'b' that you have called and that can be asked again (there are: a (worker);")
  t.has(asked[3] and asked[3].last.text or "?", "You fork.")
  t.equal(asked[3].messages[1].text, "go")
  t.equal(asked[3].system, "lead")
  t.equal(#s.events(one, "conversation_forked"), 1)
end)

t.test("a named agent varies as its file allows", function()
  t.has(result [[local _, err = agent { "helper", input = "x", model = "scripted/other" } return tostring(err)]], "helper does not allow the model 'scripted/other' for one call")
  t.has(result [[local _, err = agent { "helper", input = "x", context = "fork" } return tostring(err)]], "helper does not allow context 'fork' for one call")
end)

t.test("beyond the bound the run asks again, once for all, and a refusal ends it", function()
  local body = [[local found, wrong = map({ "a", "b", "c", "d" }, work, { max = 4 })
    return #found .. " " .. tostring(wrong[4] and wrong[4].code)]]
  local function play(answers)
    local n, questions = 0, {}
    local text, one = run({ script = script_of(body), budget = { turns = 2 } }, { approve = false, on_question = function(q)
      n = n + 1
      questions[n] = type(q) == "table" and (q.question or q[1]) or q
      return answers[n] or "no"
    end })
    return text, n, one
  end
  local text, n, one = play { "yes", "yes", "yes" }
  t.has(text, "4 nil")
  t.equal(n, 2)
  t.equal(s.events(one, "bound_raised")[1].to, 4)
  text, n = play { "yes", "no" }
  t.has(text, "budget")
  t.equal(n, 2)
  t.equal(#asked, 2)
end)

t.test("it reaches no more than its caller", function()
  t.has(result [[local a, err = agent { "other", input = "x" } return tostring(err)]], "nothing has run")
  t.has(result [[local a, err = agent { prompt = "You.", tools = { "execute_command" }, input = "x" } return tostring(err)]], "you do not have the tool 'execute_command'")
  t.has(result [[local a, err = agent { prompt = "You.", tools = { "workflow" }, input = "x" } return tostring(err)]], "you do not have the tool 'workflow'")
  t.has(result [[local a, err = agent { prompt = "You.", model = "scripted/other", input = "x" } return tostring(err)]], "an agent that is made here has your model")
  t.equal(#asked, 0)
  t.has(result [[return agent { prompt = "You.", tools = { "list_directory" }, input = "x" }]], "did x")
  t.ok(asked[1].tools.list_directory, "it has the tool")
  for _, escape in ipairs { "io", "os", "debug", "load", "coroutine", "dofile", "package" } do
    t.has(result(("return tostring(rawget(_G or {}, %q))"):format(escape)), "hides what runs", escape)
  end
  t.has(result [[return tostring(pcall(function() return require "hocket.fs" end))]], "false")
  t.has(result [[return tostring(pcall(require, "hocket.fs"))]], "'require' hides what runs")
end)

t.test("its budget is the bound, or the given one, within the caller's", function()
  local text = run({ script = script_of [[local n = 0
    while n < 50 do
      local got, err = work("x" .. n)
      if not got then return "stopped: " .. err.code .. " after " .. n end
      n = n + 1
    end]], budget = { turns = 5 } })
  t.has(text, "stopped: budget after 5")
  text = result([[local got, errors = map({ 1, 2, 3, 4, 5, 6 }, function(i) return work("x" .. i) end, { limit = 1 }) return #errors > 0 and errors[6].code or "all"]], { budget = { turns = 4 } })
  t.has(text, "budget")
end)

t.test("what fails is an error of the script, what is raised is said with its line", function()
  t.has(result [[error "oh no"]], "the workflow failed: workflow:5: oh no")
  t.has(result [[return nil, { code = "odd", message = "two" }]], "the workflow failed: two")
  t.has(result([[local got, err = work "x" return err.code]], { reply = function() return { error = 400, message = "no" } end }), "http")
  t.has(result [[map({ 1, 2, 3 }, function() error "one" end) return "x"]], "workflow failed: workflow:5: one")
  t.has(result([[return "x"]], nil, [[ output = { type = "object" },]]), "the output does not fit")
  t.has(result [[return map({ 1, 2, 3 }, work, { max = 2 })]], "map of 3 items: at most 2 were declared")
  t.has(result [[return ("x").nothing()]], "the workflow failed: workflow:5:")
end)

t.test("at most so many agents work at once, and in all", function()
  local now, most = 0, 0
  result([[local items = {} for i = 1, 150 do items[i] = "x" .. i end return #map(items, work, { max = 150, limit = 150 })]], { reply = function()
    now = now + 1
    most = math.max(most, now)
    hocket.flow.sleep(0.02)
    now = now - 1
    return "ok"
  end })
  t.equal(#asked, 150)
  t.ok(most > 8 and most <= 64, ("%d at once"):format(most))
  -- The thousandth begins, the next one does not.
  local text = result [[local last, before
    for i = 1, 1001 do local _, err = agent { "helper", input = "", budget = { turns = 0 } } before, last = last, err end
    return before.message .. "; " .. last.message]]
  t.has(text, "; a workflow begins 1000 agents at most")
  t.equal(select(2, text:gsub("at most", "")), 1)
end)

t.test("its process has so much memory, and what it waits for is not its time", function()
  if require("hocket.internal.tools.sandbox").level "required" then
    t.has(result [[local l = {} for i = 1, 100000000 do l[i] = ("x"):rep(1000) .. i end return #l]], "it took more than 256 MiB of memory")
  end
  local process = require "hocket.internal.tools.script.process"
  local before <close> = setmetatable({ process.SECONDS }, { __close = function(self) process.SECONDS = self[1] end })
  process.SECONDS = 1
  t.has(result([[return work "slow"]], { reply = function()
    hocket.flow.sleep(1.5)
    return "waited"
  end }), "waited")
  t.has(result [[while true do end]], "the script took more than 1 s between two calls")
end)

return t.finish()
