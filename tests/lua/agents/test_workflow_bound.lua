--- The bound of workflows: never below what they use, near to it where the worst branch is taken, and open where nothing bounds them.
local t = require "harness"
local s = require "scripted"
local json = require "hocket.json"
local model = require "hocket.model"
local prices = require "hocket.prices"
local workflow = require "hocket.workflow"
local workflow_bound = require "hocket.internal.agents.workflow_bound"
local workflow_report = require "hocket.internal.tools.workflow.report"

local MODEL, WINDOW, OUTPUT = "scripted/m", 1000, 100
model.set_window(MODEL, { window = WINDOW, output = OUTPUT })
prices.set(MODEL, { input = 1, output = 2 })

local HEAD = [[
local workflow = require "hocket.workflow"
local agent, map, parallel, pipeline, race, loop, budget = workflow.agent, workflow.map, workflow.parallel, workflow.pipeline, workflow.race, workflow.loop, workflow.budget
local function ask(text) return agent { prompt = "You work.", input = text } end
local rated = { type = "object", required = { "stars" }, properties = { stars = { type = "integer" }, why = { type = "array", items = { type = "string" }, maxItems = 3 } } }
]]

-- The text of a workflow with this body; its input is a list of texts, of five at most.
local function text_of(body, before)
  return ([[%s%s
return workflow { description = "d",
  input = { type = "object", properties = { list = { type = "array", items = { type = "string" }, maxItems = 5 },
    groups = { type = "array", maxItems = 2, items = { type = "object", properties = { names = { type = "array", items = { type = "string" }, maxItems = 3 } } } },
    deep = { type = "boolean" } } },
  run = function(input)
%s
  end }]]):format(HEAD, before or "", body)
end

local INPUT = { list = { "a", "b", "c", "d", "e" }, groups = { { names = { "a", "b", "c" } }, { names = { "d", "e", "f" } } }, deep = true }

-- The worst model: nothing first, then twice what does not fit, then an answer; with tools a call each turn.
local function worst(request)
  local usage, said = { input = WINDOW, output = OUTPUT }, -1 -- an empty answer is no message
  for _, message in ipairs(request.messages) do said = said + (message.role == "user" and 1 or 0) end
  if request.last.text == "small" then return { text = "done" } end
  if next(request.tools) then return { calls = { { name = "list_directory", arguments = { path = "." .. ("/."):rep(said) } } }, text = "I look.", usage = usage } end
  if said == 0 then return { text = "", usage = usage } end
  if request.schema and said < 3 then return { text = "no JSON", usage = usage } end
  return { text = request.schema and '{"stars": 3, "why": ["x", "y", "z"]}' or "done " .. said, usage = usage }
end

local function put(dir, text)
  dir:write("agents/reader.md", "---\nname: reader\ntools: [list_directory]\nmax_turns: 3\n---\nYou read.")
  dir:write("agents/tight.md", "---\nname: tight\nbudget: {turns: 1}\n---\nYou are short.")
  dir:write("agents/lead.md", "---\nname: lead\nadvisors: [tight, adviser]\n---\nYou lead.")
  dir:write("agents/aim.md", "---\nname: aim\nuntil: {file: nowhere.txt, rounds: 4, same: 9}\n---\nYou aim.")
  dir:write("agents/adviser.md", "---\nname: adviser\n---\nYou advise.")
  return dir:write("workflows/w.lua", text)
end

local function measure(path, input)
  local made, result, err = assert(workflow.of_file(dofile(path), path)), nil, nil
  s.reply = worst
  local run = s.run(function()
    result, err = made:run(input)
    return { text = "" }
  end, { model = MODEL })
  local usage, ops, agents = run:usage(), {}, 0
  for _, event in ipairs(s.events(run, "model_request")) do
    agents = agents + (ops[event.op] and 0 or 1)
    ops[event.op] = true
  end
  return { agents = agents, model_calls = usage.calls, tokens = usage.input + usage.output, cost = type(usage.cost) == "number" and usage.cost or 0 }, err
end

local scripts = {
  { "one", [[return ask "x"]] },
  { "two, one after the other", [[ask "x" return ask "y"]] },
  { "with a schema", [[return agent { prompt = "You rate.", input = "x", output = rated }]] },
  { "map over the input", [[return map(input.list, ask)]] },
  { "map with max", [[return map({ "a", "b", "c" }, function(x) return ask(x) end, { max = 3 })]] },
  { "map of a list that is written out", [[return map({ "a", "b" }, function(x) return ask(x) end)]] },
  { "map within map", [[return map(input.groups, function(g) return map(g.names, function(n) return ask(n) end) end)]] },
  { "parallel", [[return parallel { function() return ask "a" end, function() return ask "b" end }]] },
  { "pipeline", [[return pipeline(input.list, { function(x) return ask(x) end, function(x) return agent { prompt = "You rate.", input = x, output = rated } end })]] },
  { "race", [[return (race { function() return ask "a" end, function() return ask "b" end })]] },
  { "loop that is never done", [[loop { max = 4, step = function() return ask "x" end, done = function() return false end } return "x"]] },
  { "loop without max", [[loop { step = function() return ask "x" end, done = function() return false end } return "x"]] },
  { "asked again", [[agent { prompt = "You work.", input = "x", id = "a" } return workflow.ask_again("a", "y")]] },
  { "loop with a judge", [[loop { max = 3, step = function() return ask "x" end, goal = { judge = "judge" } } return "x"]] },
  { "for of numbers", [[for i = 1, 3 do ask("x" .. i) end return "x"]] },
  { "for backwards", [[for _ = 5, 1, -2 do ask "x" end return "x"]] },
  { "for over the input", [[for _, x in ipairs(input.list) do ask(x) end return "x"]] },
  { "for to the length", [[for i = 1, #input.list do ask(input.list[i]) end return "x"]] },
  { "the dearer branch", [[if input.deep then ask "a" ask "b" else ask "c" end return "x"]] },
  { "the cheaper branch", [[if not input.deep then ask "a" ask "b" else ask "c" end return "x"]] },
  { "else-if", [[if #input.list > 9 then ask "a" elseif input.deep then ask "b" end return "x"]] },
  { "a budget of turns", [[budget({ turns = 3 }, function() map(input.list, ask, { limit = 1 }) return "x" end) return "x"]] },
  { "a budget of tokens", [[budget({ tokens = 4000 }, function() map(input.list, function() return ask "small" end, { limit = 1 }) return "x" end) return "x"]] },
  { "a local function, called twice", [[local function both(x) ask(x) return ask(x) end both "a" return both "b"]] },
  { "an agent with tools", [[return agent { "reader", input = "x" }]] },
  { "agents of a file over the input", [[return map(input.list, function(x) return agent { "reader", input = x } end)]] },
  { "an agent with a budget", [[return agent { "tight", input = "x" }]] },
  { "an agent with advisors", [[return agent { "lead", input = "x" }]] },
  { "an agent with a goal that it does not reach", [[return agent { "aim", input = "x" }]] },
  { "tools of the call", [[return agent { prompt = "You look.", tools = { "list_directory" }, max_turns = 2, input = "x" }]] },
  { "the list of an answer", [[local found = agent { prompt = "You rate.", input = "x", output = rated }
    if found then map(found.why, function(x) return ask(x) end) end return "x"]] },
  { "protected", [[local ok = pcall(ask, "x") return tostring(ok)]] },
  { "before the return", [[return ask "x"]], [[local function twice(x) ask(x) return ask(x) end]] },
  { "a list under another name", [[local names = input.list return map(names, function(x) return ask(x) end)]] },
  { "short circuits", [[return input.deep and ask "a" and ask "b" or ask "c"]] },
}

t.test("choices for one call and questions again count", function()
  local dir <close> = t.dir()
  model.set_window("scripted/cheap", { window = 1000, output = 100 })
  model.set_window("scripted/large", { window = 9000, output = 100 })
  dir:write("agents/teller.md", "---\nname: teller\nmodel: scripted/cheap\nagents: [one]\nmax_turns: 2\nmax_tool_calls: 3\n---\nYou lead.")
  local function tokens(more)
    dir:write("agents/one.md", "---\nname: one\nmodel: scripted/cheap\nmax_turns: 1\n" .. more .. "---\nOne.")
    local found = workflow_bound.of(put(dir, text_of [[return agent { "teller", input = "x" }]]))
    t.ok(found.tokens < math.huge, json.encode { found.unbounded, found.unknown })
    return found.tokens
  end
  local plain = tokens ""
  t.equal(tokens "per_call: {reasoning: low}\n", plain)
  t.equal(tokens "per_call: {model: scripted/large}\n", plain // 1100 * 9100)
  local function calls(tools)
    dir:write("agents/chief.md", "---\nname: chief\nmodel: scripted/cheap\nadvisors: [one]\nmax_turns: 2\nmax_tool_calls: 3\ntools: [" .. tools .. "]\n---\nYou are asked.")
    return workflow_bound.of(put(dir, text_of [[return agent { "chief", input = "x" }]])).model_calls
  end
  t.equal(calls "ask_again" - calls "todo", 3)
end)

t.test("which agents reach which hosts is said", function()
  local dir <close> = t.dir()
  dir:write("agents/reader.md", "---\nname: reader\nmodel: sim/x\ntools: [web_fetch, read_file]\nserver_tools: [web_search]\n---\nYou read.")
  dir:write("agents/asker.md", "---\nname: asker\nmodel: sim/x\nmcp: {docs: {url: 'https://user:pw@docs.example.org/mcp'}}\n---\nYou ask.")
  dir:write("agents/shut.md", "---\nname: shut\nmodel: sim/x\ntools: [web_fetch]\napprove: {deny: [web_fetch]}\n---\nYou do not fetch.")
  local file = dir:write("workflows/w.lua", [[local w = require "hocket.workflow"
return w { description = "d", run = function() w.agent { "reader", input = "x" } w.agent { "asker", input = "x" } return w.agent { "shut", input = "x" } end }]])
  local text = workflow_report.text("w", assert(workflow_bound.of(file)))
  t.has(text, "\n  reader: web_fetch, read_file; reaches any host (web_fetch), any host by its provider (web_search)")
  t.has(text, "\n  asker: reaches docs.example.org (MCP server docs)")
  t.equal(text:find("user:pw", 1, true), nil)
  t.equal(text:find("\n  shut:", 1, true), nil)
end)

t.test("never below what was used, and within three times of it for most", function()
  local near, rows = 0, {}
  for _, one in ipairs(scripts) do
    local dir <close> = t.dir()
    local path = put(dir, text_of(one[2], one[3]))
    local bound, used = assert(workflow_bound.of(path, MODEL)), measure(path, INPUT)
    t.equal(#bound.unbounded, 0, ("%s: %s"):format(one[1], bound.unbounded[1] and bound.unbounded[1].message or ""))
    t.ok(used.model_calls > 0, one[1])
    local ratio = 0
    for _, name in ipairs { "agents", "model_calls", "tokens", "cost" } do
      rows[#rows + 1] = ("%s: %s: bound %g, used %g"):format(one[1], name, bound[name], used[name])
      t.ok(used[name] <= bound[name] * (1 + 1e-9), rows[#rows])
      ratio = math.max(ratio, bound[name] / used[name])
    end
    if ratio <= 3 then near = near + 1 else print(("%s: %.1f times"):format(one[1], ratio)) end
  end
  print(("%d scripts, %d within three times"):format(#scripts, near))
  t.ok(#scripts >= 30 and near >= 25, ("%d of %d are near"):format(near, #scripts))
end)

t.test("what has no bound is listed with its line", function()
  local open = {
    ["'map' over a list of unknown length"] = [[return map(input.others, ask)]],
    ["a function calls itself"] = [[local function f(x) return f(ask(x)) end return f "x"]],
    ["'while' has no bound"] = [[while true do ask "x" end]],
    ["'repeat' has no bound"] = [[repeat ask "x" until false]],
    ["'for' goes to a number that is not written out"] = [[for _ = 1, input.n do ask "x" end]],
    ["'for' over a list of unknown length"] = [[for _, x in ipairs(input.others) do ask(x) end]],
    ["'load' hides what runs"] = [[return load("return 1")()]],
    ["the module 'nowhere' is not there"] = [[local nowhere = require "nowhere" return nowhere.go()]],
    ["what hocket.run does is not counted"] = [[return require "hocket".run("x", "y")]],
    ["what hocket.broker.shared does is not counted"] = [[return require "hocket.broker".shared()]],
    ["a function that asks agents is handed on"] = [[table.sort({ 1, 2 }, function(a) ask "x" return a end)]],
    ["hocket.workflow.agent is handed on"] = [[local t = { go = agent } return t.go { prompt = "x", input = "x" }]],
    ["hocket.workflow is handed on"] = [[local t = { workflow } return t[1].agent { prompt = "x", input = "x" }]],
    ["'_G' hides what runs"] = [[return _G.require "hocket"]],
    ["the table of 'agent' is not written out"] = [[return agent(input)]],
    ["which agent is asked is not written out"] = [[return agent { input.who, input = "x" }]],
    ["the functions of 'parallel' are not written out"] = [[return parallel(input.fns)]],
    ["the 'max' of 'loop' is not written out"] = [[return loop { max = input.n, step = ask, done = ask }]],
    ["the agent's max_turns is not written out"] = [[return agent { prompt = "x", max_turns = input.n }]],
    ["there is no agent 'nobody'"] = [[return agent { "nobody", input = "x" }]],
    ["'goto' back"] = [[::again:: ask "x" goto again]],
    ["'map' over a list of unknown length: give"] = [[table.insert(input.list, "x") return map(input.list, ask)]],
  }
  -- Each way in which a list may get longer than its schema says.
  for i, longer in ipairs { [[input.list[6] = "x"]], [[local l = input.list l[6] = "x"]], [[local function grow(l) l[6] = "x" end grow(input.list)]],
    [[local t = { input.list } t[1][6] = "x"]], [[input.list = input.others]], [[rawset(input.list, 6, "x")]], [[(input.list)[6] = "x"]],
    [[local l = input.deep and input.list l[6] = "x"]], [[for _, l in pairs(input) do l[6] = "x" end]], [[local i = input i.list[6] = "x"]] } do
    open["'map' over a list of unknown length" .. (" "):rep(i)] = longer .. " return map(input.list, ask)"
  end
  -- Each way to a word of hocket that is not its name, and each part whose count is not what it looks like.
  local hidden = {
    [=[return workflow["ag" .. "ent"] { prompt = "x" }]=], [[local k = "agent" return workflow[k] { prompt = "x" }]],
    [[local t = { w = require "hocket.workflow" } return t.w.agent { prompt = "x" }]], [[local w w = require "hocket.workflow" return w.agent { prompt = "x" }]],
    [[local w = require "hocket.workflow" w = w return w.agent { prompt = "x" }]], [[local h h = require "hocket" return h.run("a", "x")]],
    [[local _, w = pcall(require, "hocket.workflow") return w.agent { prompt = "x" }]], [[local t = { r = require } return t.r("hocket.workflow").agent { prompt = "x" }]],
    [[::a:: local f = function() ::a:: end f() ask "x" goto a]], [[for i = 0, 1, 0.1 do ask "x" end]], [[for i = 0, 1e999 do ask "x" end]],
    [[for i = -9223372036854775807, 9223372036854775807 do ask "x" end]],
    [[local s = { prompt = "x", tools = { "list_directory" }, max_turns = 1 } s.max_turns = 100 return agent(s)]],
    [[local o = { max = 1 } o.max = 9 map(input.others, ask, (o))]], [[local o = { max = 1 } local p = o o.max = 9 map(input.others, ask, p)]],
    [[ipairs = function() return function() return 1 end end for _ in ipairs { 1 } do ask "x" end]], [[function pcall(f) f() f() end pcall(ask)]],
    [[local _ENV = { ipairs = function() return function() return 1 end end } for _ in ipairs { 1 } do ask "x" end]],
    [[local function f(_ENV) for _ in ipairs { 1 } do ask "x" end end f { ipairs = function() return function() return 1 end end }]],
    [[table.concat = function(l) l[6] = "x" end table.concat(input.list) map(input.list, ask)]], [[local c = { n = 1 } local d = c d.n = 9 for i = 1, c.n do ask "x" end]],
    [[local c = { n = 1 } local d = { c } d[1].n = 9 for i = 1, c.n do ask "x" end]], [[local c = { n = 1 } rawset(c, "n", 9) for i = 1, c.n do ask "x" end]],
    [[return agent { input.who, agent = "tight", input = "x" }]], [[step("x", function() return "x" end, { reconcile = ask })]],
    [[loop { max = 1, ["st" .. "ep"] = ask, done = function() end }]],
    [[for _ = 1, 1000000000 do for _ = 1, 1000000000 do for _ = 1, 1000000000 do ask "x" end end end]],
  }
  for i, body in ipairs(hidden) do
    local dir <close> = t.dir()
    local bound = assert(workflow_bound.of(put(dir, text_of("\n" .. body)), MODEL))
    t.equal(bound.model_calls, math.huge, body)
    t.ok(#bound.unbounded > 0, ("%d: nothing is listed: %s"):format(i, body))
  end
  for message, body in pairs(open) do
    local dir <close> = t.dir()
    local bound = assert(workflow_bound.of(put(dir, text_of("\n" .. body)), MODEL))
    local found = bound.unbounded[1]
    t.has(found and found.message or "(nothing is listed)", (message:gsub(" +$", "")), body)
    t.equal(bound.model_calls, math.huge, body)
  end
end)

t.test("each part counts, wherever it is written", function()
  for body, agents in pairs {
    [ [[return agent { prompt = "x", input = agent { prompt = "y" } }]] ] = 2, [ [[return race({ function() return "x" end }, ask "y")]] ] = 1,
    [ [[return loop({ step = function() return 1 end, done = function() return true end }, ask "y")]] ] = 1, [ [[return budget({ turns = 9 }, function() return 1 end, ask "y")]] ] = 1,
    [ [[return agent { prompt = "x", input = "y", output = { type = "object" }, name = tostring(ask "z") }]] ] = 2,
    [ [[map(input.others, ask, { max = 1, max = 7 })]] ] = 7, [ [[local k = "max" map(input.others, ask, { max = 1, [k] = 7 })]] ] = 7,
    [ [[loop { max = 1, max = 7, step = ask, done = function() end }]] ] = 7, [ [[for i = 1, #{ nil, nil, "x" } do ask "x" end]] ] = 3,
    [ [[local n = 0x1+ask "x"]] ] = 1, [ "-- a comment\rask 'x'" ] = 1,
  } do
    local dir <close> = t.dir()
    local bound = assert(workflow_bound.of(put(dir, text_of(body)), MODEL))
    t.equal(#bound.unbounded, 0, body)
    t.equal(bound.agents, agents, body)
  end
end)

t.test("of two fields of a name the last counts, and one that is computed is not known", function()
  for body, calls in pairs {
    [ [[return agent { prompt = "x", budget = { turns = 1 }, budget = input.b }]] ] = 4, [ [[return budget({ turns = 1, turns = input.n }, function() return ask "x" end)]] ] = 4,
    [ [[local b = { turns = 1 } local c = b c.turns = 9 return agent { prompt = "x", budget = b }]] ] = 4, [ [[return agent { prompt = "x", output = input.schema }]] ] = 6,
    [ [[return agent { prompt = "x", budget = input.b, budget = { turns = 1 } }]] ] = 1,
  } do
    local dir <close> = t.dir()
    t.equal(assert(workflow_bound.of(put(dir, text_of(body)), MODEL)).model_calls, calls, body)
  end
end)

t.test("a schema or a workflow's table that is changed in the script is not the one that is written", function()
  local run = "run = function(input) return workflow.map(input, function() return workflow.agent { prompt = 'x' } end) end"
  local list = "local workflow = require 'hocket.workflow' local s = { type = 'array', maxItems = 2 } "
  local function of(text)
    local dir <close> = t.dir()
    return workflow_bound.of(put(dir, text), MODEL)
  end
  t.equal(of(list .. "return workflow { description = 'd', input = s, " .. run .. " }").agents, 2)
  t.equal(of(list .. "local o = s o.maxItems = nil return workflow { description = 'd', input = s, " .. run .. " }").agents, math.huge)
  t.fails("agent", "returns no workflow", of(list .. "local w = { description = 'd', input = s, " .. run .. " } w.input = nil return workflow(w)"))
end)

t.test("what needs no bound: loops without agents, gotos forward, a module of the project", function()
  local dir <close> = t.dir()
  dir:write("workflows/helper.lua", "local json = require 'hocket.json' return { up = function(x) return x:upper() end }")
  dir:write("workflows/odd.lua", "local w = require 'hocket.workflow' return { go = function() w.agent { prompt = 'x' } end }")
  local function of(body) return assert(workflow_bound.of(put(dir, text_of(body)), MODEL)) end
  local plain = of [[local helper = require "helper"
    local n = 0
    while n < 10 do n = n + 1 end
    for _, x in ipairs(input.others) do if x == "a" then goto continue end n = n + 1 ::continue:: end
    for _, x in ipairs(input.others) do if x == "a" then goto continue end n = n + 1 ::continue:: end
    table.sort(input.others, function(a, b) return a < b end)
    return ask(helper.up("x" .. n))]]
  t.equal(#plain.unbounded, 0, plain.unbounded[1] and plain.unbounded[1].message)
  t.equal(plain.agents, 1)
  t.has(of [[local odd = require "odd" return odd.go()]].unbounded[1].message, "'odd' is not there, or may ask agents itself")
end)

t.test("a folder of agents with a mistake is reported, not measured", function()
  for name, files in pairs {
    ["agents that nobody has"] = { boss = "agents: [missing]" }, ["a circle"] = { boss = "agents: [tight2]", tight2 = "agents: [boss]" }, ["no YAML"] = { boss = "agents: [" },
  } do
    local dir <close> = t.dir()
    local path = put(dir, text_of [[return agent { "boss", input = "x" }]])
    for file, line in pairs(files) do dir:write(("agents/%s.md"):format(file), ("---\nname: %s\n%s\n---\nYou."):format(file, line)) end
    local bound = assert(workflow_bound.of(path, MODEL))
    t.equal(bound.model_calls, math.huge, name)
    t.has(bound.unbounded[1].message, "have mistakes: see hocket check ", name)
  end
end)

t.test("what is not known of models, and what is reached", function()
  local dir <close> = t.dir()
  local path = put(dir, text_of [[return agent { "reader", input = "x" }]])
  t.equal(workflow_bound.of(put(dir, text_of [[return agent { "aim", input = "x" }]]), MODEL).model_calls, 4 * 4, "each round of until may take as many calls as an answer")
  put(dir, text_of [[return agent { "reader", input = "x" }]])
  local none = workflow_bound.of(path)
  t.equal(none.model_calls, 3)
  t.equal(none.tokens, math.huge)
  t.has(none.unknown[1], "no model is named")
  t.same(none.reaches, { agents = { "reader" }, tools = { "list_directory" }, script = {}, by_agent = { reader = { tools = { "list_directory" }, servers = {}, server_tools = {} } } })
  t.has(workflow_bound.of(path, "scripted/other").unknown[1], "the window of scripted/other is not known")
  model.set_window("scripted/dear", { window = 1000, output = 100 })
  local unpriced = workflow_bound.of(path, "scripted/dear")
  t.equal(unpriced.cost, nil)
  t.equal(unpriced.tokens, 3300)
  t.equal(json.encode(unpriced.unknown), "{}")
  t.fails("agent", "returns no workflow", workflow_bound.of(dir:write("x.lua", "return 1")))
end)

t.test("what the script itself reaches is said, and nothing is denied that its text does not show", function()
  local dir <close> = t.dir()
  dir:write("workflows/helper.lua", "local process = require 'hocket.process' return { go = function(x) return process.run(x) end }")
  local function of(body)
    local path = put(dir, text_of(body))
    return workflow_report.text(path, assert(workflow_bound.of(path, MODEL))):match "\n[^\n]*\n  ([^\n]*)"
  end
  local nothing = "cannot run programs, reach the web, read files, write files"
  for body, line in pairs {
    [ [[return ask "x"]] ] = nothing, [ [[return os.time() .. os.getenv "HOME"]] ] = nothing, [ [[io.write "x" return "x"]] ] = nothing,
    [ [[os.execute "x"]] ] = "the script itself runs programs; cannot reach the web, read files, write files",
    [ [[local run = io.popen run "x"]] ] = "the script itself runs programs; cannot reach the web, read files, write files",
    [ [[return require "hocket.http".get "x"]] ] = "the script itself reads the web, sends requests; cannot run programs, read files, write files",
    [ [[local hocket = require "hocket" return hocket.fs.read "x"]] ] = "the script itself reads files, writes files; cannot run programs, reach the web",
    [ [[return require "helper".go "x"]] ] = "the script itself runs programs; cannot reach the web, read files, write files",
    [ [[local o = os o.execute "x"]] ] = "the script itself runs programs, writes files; cannot reach the web, read files",
    [ [[return load("x")]] ] = "may do more than its text shows", [ [[return agent { input.who, input = "x" }]] ] = "may do more than its text shows",
    [ [[return agent { prompt = "x", tools = input.tools }]] ] = "may do more than its text shows",
    [ [[return agent { "reader", input = io.popen "x" }]] ] = "reads files; the script itself runs programs; cannot reach the web, write files",
  } do
    t.equal(of(body), line, body)
  end
end)

t.test("a hostile script with a long chain of names is read in time", function()
  local function chain(first, last)
    local lines = { "local a0 = " .. first }
    for i = 1, 8000 do lines[#lines + 1] = ("local a%d = a%d"):format(i, i - 1) end
    return assert(workflow_bound.of_text(text_of(table.concat(lines, "\n") .. last), { path = "x.lua", model = MODEL }))
  end
  t.equal(chain("agent", " a8000 { prompt = 'x' }").model_calls, 4)
  t.equal(chain("{ max = 1 }", " map(input.others, ask, a0)").model_calls, 4)
  t.equal(chain("{ max = 1 }", " a8000.max = 9 map(input.others, ask, a0)").model_calls, math.huge) -- this took minutes, in which nothing else went on
end)

t.test("models of the run have precedence, and a body may ask for longer answers", function()
  local dir <close> = t.dir()
  put(dir, "")
  dir:write("agents/cheap.md", "---\nname: cheap\nmodel: scripted/cheap\nmax_turns: 1\n---\nYou.")
  dir:write("agents/long.md", "---\nname: long\nmax_tokens: 10\nmax_turns: 1\n---\nYou.")
  dir:write("agents/longer.md", "---\nname: longer\nmax_tokens: 10\nbody: {max_tokens: 100}\nmax_turns: 1\n---\nYou.")
  for name, cost in pairs { cheap = 1, dear = 100 } do
    model.set_window("scripted/" .. name, { window = WINDOW, output = OUTPUT })
    prices.set("scripted/" .. name, { input = cost, output = cost })
  end
  local function of(name, more)
    local about = { path = dir.path .. "/workflows/w.lua", model = MODEL }
    for key, value in pairs(more or {}) do about[key] = value end
    return assert(workflow_bound.of_text(text_of(("return agent { %q, input = 'x' }"):format(name)), about))
  end
  local one = (WINDOW + OUTPUT) / 1e6
  t.ok(math.abs(of "cheap".cost - one) < 1e-9)
  t.ok(math.abs(of("cheap", { forced = "scripted/dear" }).cost - 100 * one) < 1e-9)
  t.ok(math.abs(of("cheap", { models = { cheap = "scripted/dear" } }).cost - 100 * one) < 1e-9)
  t.equal(of "long".tokens, 1010)
  t.equal(of "longer".tokens, 1100)
end)

t.test("an agent that writes workflows itself has no bound, but for its budget", function()
  local dir <close> = t.dir()
  local path = put(dir, text_of [[return agent { "writer", input = "x" }]])
  dir:write("agents/writer.md", "---\nname: writer\ntools: [workflow]\nmax_turns: 3\n---\nYou write.")
  local bound = workflow_bound.of(path, MODEL)
  t.equal(bound.model_calls, math.huge)
  t.has(bound.unbounded[1].message, "writer may write workflows of its own")
  dir:write("agents/writer.md", "---\nname: writer\ntools: [workflow]\nbudget: {turns: 30}\n---\nYou write.")
  bound = workflow_bound.of(path, MODEL)
  t.equal(bound.model_calls, 30)
  t.equal(#bound.unbounded, 0)
end)

t.test("workflows of agents, and of themselves", function()
  local dir <close> = t.dir()
  local path = put(dir, text_of [[return agent { "boss", input = "x" }]])
  dir:write("agents/boss.md", "---\nname: boss\ntools: ['workflow:inner']\nmax_tool_calls: 2\nmax_turns: 4\n---\nYou.")
  dir:write("workflows/inner.lua", text_of [[return map(input.list, ask)]])
  local bound = workflow_bound.of(path, MODEL)
  t.equal(#bound.unbounded, 0)
  t.equal(bound.model_calls, 4 + 2 * 20)
  t.same(bound.reaches.agents, { "boss", "worker" })
  dir:write("workflows/inner.lua", text_of [[return agent { "boss", input = "x" }]])
  t.equal(workflow_bound.of(path, MODEL).model_calls, math.huge)
end)

return t.finish()
