-- What is validated of a team before it runs: references, circles, keys that go together, bounds; and what
-- `hocket check` makes of it.
local t = require "harness"
local hocket = require "hocket"
local agent = require "hocket.agent"
local bounds = require "hocket.internal.agents.bounds"
local check = require("hocket.internal.commands.check").check
local json = require "hocket.json"
require "hocket.internal.runner.builtins"

local function frontmatter(lines)
  return "---\n" .. lines .. "\n---\nBody\n"
end

-- A directory of agents: name -> frontmatter.
local function write(dir, files)
  for name, lines in pairs(files) do dir:write(name .. ".md", frontmatter(lines)) end
  return dir.path
end

-- The problems of a team, each as "file:line:column: message" without the directory.
local function problems(files)
  local dir <close> = t.dir()
  local path, list = write(dir, files), {}
  local defs, found = agent.read { path }
  for i, p in ipairs(found) do list[i] = (agent.explain { p }:gsub(path:gsub("%-", "%%-") .. "/", "")) end
  return list, found, defs
end

local function one_problem(files, expected)
  local list = problems(files)
  t.equal(#list, 1, t.show(list))
  t.has(list[1], expected)
end

t.test("a word is compared with those of its length alone: a file may have thousands of unknown names", function()
  local suggest, words, steps = require "hocket.internal.base.suggest", {}, 0
  for i = 1, 200 do words[i] = ("word"):rep(i % 12 + 2) .. i end
  debug.sethook(function() steps = steps + 1 end, "", 100)
  for i = 1, 100 do suggest("t" .. i, words) end
  debug.sethook()
  t.equal(steps < 10000, true, steps)
  t.equal(suggest("wordwordd1", { "x", "wordword12", "wordword1" }), "wordword1")
  t.equal(suggest("ab", { "abcd", "a" }), "a")
  t.equal(suggest("a", { "b", "ab" }), nil)
end)

-- ---- References ----------------------------------------------------------------------------

t.test("every kind of reference has to lead somewhere, and is told at its place", function()
  for lines, expected in pairs {
    ["handoff: foo"] = "a.md:2:10: unknown agent 'foo': did you mean 'food'?",
    ["agents: [food, foo]"] = "a.md:2:16: unknown agent 'foo'",
    ["router: true\nagents: [food]\nfallback: foo"] = "a.md:4:11: unknown agent 'foo'",
    ["advisors: [foo]"] = "a.md:2:12: unknown agent 'foo'",
    ["advisors:\n  quorum: 1\n  agents:\n    - food\n    - foo"] = "a.md:6:7: unknown agent 'foo'",
    ["team: [food, foo]"] = "a.md:2:14: unknown agent 'foo'",
    ["team:\n  maxRounds: 2\n  members: [foo]"] = "a.md:4:13: unknown agent 'foo'",
    ["handoff: zzzzzzzz"] = "unknown agent 'zzzzzzzz' (there are: a, food)",
  } do
    one_problem({ a = lines, food = "description: x" }, expected)
  end
end)

t.test("agents that come with hocket can be named; one's own of the same name goes first", function()
  local dir <close> = t.dir()
  local team = hocket.agents(write(dir, { a = "agents: [file, shell]", shell = "description: mine" }))
  t.equal(team.file, hocket.builtin_agents().file)
  t.equal(team.shell.description, "mine")
  t.equal(agent.team_of(team.file), hocket.builtin_agents())
  t.equal(agent.team_of(team.a).file, team.file)
  local alone = hocket.agent { name = "b", agents = { "web" } }
  t.equal(agent.team_of(alone).web, hocket.builtin_agents().web)
end)

t.test("who names an agent whose own file is broken is not to blame", function()
  one_problem({ a = "handoff: b", b = "nmae: b" }, "b.md:2:1: unknown key 'nmae'")
  one_problem({ a = "handoff: bee", b = "name: bee\ntemperature: hot" }, "b.md:3:14: 'temperature'")
  one_problem({ a = "handoff: bee", b = "name: 'bee'\ntemperature: hot" }, "b.md:3:14: 'temperature'")
end)

-- ---- Circles -----------------------------------------------------------------------------------

t.test("circles over any mix of edges are refused, with the whole way", function()
  for _, case in ipairs {
    { { a = "handoff: a" }, "a.md:2:10:", "a -handoff-> a" },
    { { a = "handoff: b", b = "handoff: a" }, "b.md:2:10:", "a -handoff-> b -handoff-> a" },
    { { a = "agents: [b]", b = "agents: [a]" }, "b.md:2:10:", "a -agents-> b -agents-> a" },
    { { a = "advisors: [b]", b = "team: [c]", c = "router: true\nagents: [d]", d = "handoff: e", e = "agents: [f]",
      f = "router: true\nagents: [g]\nfallback: a", g = "description: x" }, "f.md:4:11:",
      "a -advisors-> b -team-> c -router-> d -handoff-> e -agents-> f -fallback-> a" },
    { { a = "agents: [b, c]", b = "description: x", c = "advisors: [d]", d = "handoff: c" }, "d.md:2:10:", "c -advisors-> d -handoff-> c" },
  } do
    one_problem(case[1], case[2] .. " agents that call each other in a circle: " .. case[3] .. ": remove")
  end
end)

t.test("two circles are two problems; a diamond is none", function()
  t.equal(#problems { a = "agents: [b, c]", b = "handoff: a", c = "handoff: a" }, 2)
  t.equal(#problems { a = "agents: [b, c]", b = "handoff: d", c = "handoff: d", d = "description: x" }, 0)
end)

t.test("a definition in Lua is validated as well", function()
  t.raises("a -handoff-> a", hocket.agent, { name = "a", handoff = "a" })
  t.raises("a router needs agents", hocket.agent, { name = "a", router = true })
  local team = {}
  hocket.agent { name = "a", team = team }
  hocket.agent { name = "b", handoff = "a", team = team }
  t.raises("a -agents-> b -handoff-> a", hocket.agent, { name = "a", agents = { "b" }, team = team })
end)

t.test("a chain of 5000 agents is no trouble", function()
  local files = {}
  for i = 1, 5000 do files[i] = { name = "n" .. i, file = "x", tools = {}, agents = {}, handoff = i < 5000 and "n" .. i + 1 or nil } end
  local defs, names = {}, {}
  for _, def in ipairs(files) do defs[def.name], names[#names + 1] = def, def.name end
  t.equal(#require("hocket.internal.agents.graph").circles(defs, names), 0)
  files[5000].handoff = "n1"
  t.equal(#require("hocket.internal.agents.graph").circles(defs, names), 1)
end)

-- ---- Keys that go together ------------------------------------------------------------------------

t.test("keys that do not go together", function()
  for lines, expected in pairs {
    ["router: true"] = "a.md:2:9: a router needs agents to choose from: add 'agents: [one, two]'",
    ["router: true\nagents: [b]\ntools: [delegate]"] = "a.md:4:9: a router calls no agents",
    ["router: true\nagents: [b]\nteam: [c]"] = "a.md:4:7: a router gives no answer",
    ["router: true\nagents: [b]\noutput: {type: object}"] = "a.md:4:9: a router gives no answer of its own",
    ["tools: [read_file, facilitator]"] = "a.md:2:20: 'facilitator' is for calling other agents: add 'agents: [name, …]'",
    ["tools: [delegate_to_agent]"] = "a.md:2:9: 'delegate_to_agent' is for calling other agents",
    ["tools: [mcp]"] = "a.md:2:9: tools called 'mcp' come with the key of that name: add 'mcp: [server]', and remove 'mcp' here",
    ["fallback: b"] = "a.md:2:11: 'fallback' is for routers",
    ["team: [b]\nhandoff: c"] = "a.md:3:10: who has a team writes its answer",
  } do
    one_problem({ a = lines, b = "description: x", c = "description: x" }, expected)
  end
end)

t.test("what has no effect is a warning, and harms nobody", function()
  local list, found, defs = problems { a = "task_limit: 3\napprove_plan: true" }
  t.equal(#list, 2)
  t.has(list[1], "a.md:2:13: warning: 'task_limit' says nothing here")
  t.equal(found[1].code, "incompatible")
  t.ok(defs.a)
  t.equal(#problems { planner = "approve_plan: true\non_failure: abort" }, 0)
  hocket.tool.set("mylead", function() return {} end) -- which may be a facilitator's copy
  t.equal(#problems { a = "task_limit: 3\napprove_plan: true\ntools: [mylead]\nagents: [b]", b = "tools: [specialist]" }, 0)
  hocket.tool.set("mylead", nil)
  t.equal(#problems { a = "task_limit: 3\ntools: [delegate]\nagents: [b]", b = "tools: [specialist]" }, 1)
  t.equal(#problems { a = "on_failure: abort\ntools: [facilitator]\nagents: [b]", b = "description: x" }, 1)
  t.equal(#problems { a = "task_limit: 3\ntools: [facilitator]\nagents: [b]", b = "tools: [specialist]" }, 0)
end)

t.test("a rule for a tool that nobody knows", function()
  one_problem({ a = "approve:\n  deny: ['exec_command(rm *)']" },
    "a.md:3:10: the rule binds nothing: there is no tool 'exec_command': did you mean 'execute_command'?")
  local list, found = problems { a = "approve: {ask: [writefile], allow: [read_file, 'read_*', my_own_tool], deny: [execute_command]}" }
  t.equal(#list, 1, t.show(list))
  t.has(list[1], "a.md:2:17: the rule binds nothing: there is no tool 'writefile': did you mean 'write_file'?")
  t.equal(found[1].code, "unknown_tool")
end)

t.test("a rule that fits no call of its tool", function()
  one_problem({ a = "approve:\n  deny: ['execute_command(cmd=echo*)']" },
    "a.md:3:10: the rule is for no argument of execute_command: 'cmd' (there are: command, directory, timeout)")
  one_problem({ a = "approve: {ask: ['web_fetch(Url=*)']}" }, "no argument of web_fetch: 'Url': did you mean 'url'?")
  one_problem({ a = "approve: {allow: ['execute_lua(script=*)']}" }, "no argument of execute_lua: 'script'")
  one_problem({ a = "approve: {deny: ['lua(script=*)']}" }, "no argument of lua: 'script'")
  one_problem({ a = "approve:\n  deny: ['write_file(pth=*.md)']" },
    "a.md:3:10: the rule is for no argument of write_file: 'pth': did you mean 'path'?")
  one_problem({ a = "approve:\n  deny: [read_file, 'write_file(./docs/*)']" },
    "a.md:3:21: the rule fits no path: they begin below the folder of the work, as 'docs/*' does, not './docs/*'")
  local list = problems { a = "approve: {allow: ['move_file(from=/tmp/*)', 'edit_file(new_text=/x)', 'execute_command(./make *)', 'write_file(path=*.md)']}" }
  t.equal(#list, 1, t.show(list))
  t.has(list[1], "a.md:2:19: the rule fits no path")
end)

-- ---- Bounds --------------------------------------------------------------------------------------

local function measure(files)
  local list, _, defs = problems(files)
  t.same(list, {})
  return bounds.of(defs, true)
end

t.test("whom and what an agent can reach", function()
  local all = measure {
    a = "advisors: [b, c]\nhandoff: d\ntools: [specialist]", b = "tools: [read_file]", c = "agents: [e]",
    d = "description: x", e = "tools: [web_search, read_file]",
  }
  t.same(all.a.agents, { "b", "c", "d", "e" })
  t.same(all.a.tools, { "read_file", "specialist", "web_search" })
  t.same(all.b.agents, {})
  t.equal(all.a.depth, 2)
  t.equal(all.a.fan_out, 2)
  t.equal(all.b.depth, 0)
  t.equal(all.b.fan_out, 0)
end)

t.test("how deep calls go: the stages of a chain are beside each other", function()
  local all = measure {
    a = "handoff: b", b = "handoff: c", c = "description: x",
    d = "advisors: [a]\nhandoff: e", e = "agents: [f]", f = "router: true\nagents: [a]",
  }
  local depths = {}
  for name, bound in pairs(all) do depths[name] = bound.depth end
  t.same(depths, { a = 1, b = 1, c = 0, d = 4, e = 3, f = 2 })
end)

t.test("model calls at most", function()
  local leaf = "max_turns: 3"
  t.equal(measure({ a = leaf }).a.model_calls, 3)
  t.equal(measure({ a = "description: x" }).a.model_calls, 40)
  t.equal(measure({ a = "max_turns: 1\nhandoff: b", b = leaf }).a.model_calls, 4)
  t.equal(measure({ a = "max_turns: 1\nadvisors: [b, c]", b = leaf, c = leaf }).a.model_calls, 7)
  t.equal(measure({ a = "router: true\nagents: [b, c]", b = leaf, c = "max_turns: 5" }).a.model_calls, 7)
  t.equal(measure({ a = "router: true\nmax_turns: 3\nagents: [b]", b = leaf }).a.model_calls, 7)
  t.equal(measure({ a = "router: true\nagents: [b]\nfallback: c", b = leaf, c = "max_turns: 5" }).a.model_calls, 7)
  t.equal(measure({ a = "max_turns: 1\nteam: {members: [b, c], max_rounds: 2}", b = leaf, c = leaf }).a.model_calls, 13)
  t.equal(measure({ a = "max_turns: 2\nmax_tool_calls: 10\nagents: [b, c]", b = leaf, c = "max_turns: 4" }).a.model_calls, 42)
  t.equal(measure({ a = "agents: [b]\nbudget: {turns: 9}", b = leaf }).a.model_calls, 9)
  t.equal(measure({ a = "max_turns: 9000000000000000000\nagents: [b]", b = "max_turns: 9000000000000000000" }).a.model_calls, 1000000000000000)
end)

-- ---- hocket check --------------------------------------------------------------------------------

t.test("a tree with several teams: each is checked for itself", function()
  local dir <close> = t.dir()
  dir:write("one/agents/lead.md", frontmatter "handoff: food")
  dir:write("one/agents/deep/below/food.md", frontmatter "description: x")
  dir:write("two/lead.md", frontmatter "agents: [food]")
  dir:write("two/sub/food.md", frontmatter "description: y")
  dir:write("agents.txt/README.md", "# nothing")
  local result = assert(check { paths = { dir.path } })
  t.equal(result.agents, 4)
  t.equal(#result.teams, 2)
  t.equal(result.teams[1].path, dir.path .. "/one/agents")
  t.equal(result.teams[2].path, dir.path .. "/two")
  local lead = result.teams[1].agents[2]
  t.equal(lead.name, "lead")
  t.same(lead.edges, { { kind = "handoff", to = "food" } })
  t.same(lead.reaches.agents, { "food" })
  dir:write("two/sub/lead.md", frontmatter "description: z")
  local none, err = check { paths = { dir.path } }
  t.equal(none, nil)
  t.has(err, "the name 'lead' is taken by")
end)

t.test("who calls deeper than calls go is told, once", function()
  local dir <close> = t.dir()
  for i = 1, 17 do dir:write(("a%d.md"):format(i), frontmatter(("budget: {turns: 9}\nagents: [a%d]"):format(i + 1))) end
  dir:write("a18.md", frontmatter "description: x")
  local result = assert(check { paths = { dir.path } })
  t.equal(#result.problems, 1)
  t.has(result.problems[1].file, "a1.md")
  t.equal(result.problems[1].message, "agents call each other 17 deep from here: calls beyond 15 are refused")
  t.equal(result.problems[1].severity, "warning")
  for i = 1, 17 do dir:write(("a%d.md"):format(i), frontmatter(("handoff: a%d"):format(i + 1))) end
  t.equal(#assert(check { paths = { dir.path } }).problems, 0)
end)

t.test("a rule that allows a program whose forms are not known is told", function()
  local dir <close> = t.dir()
  local rules = "[execute_command(gcc *), execute_command(frobnicate *), execute_command(frobnicate --all), execute_command(./deploy.sh*)]"
  dir:write("a.md", frontmatter("tools: [execute_command]\napprove: {allow: " .. rules .. ", deny: [execute_command(frobnicate -x*)]}"))
  local result = assert(check { paths = { dir.path } })
  t.equal(#result.problems, 1)
  t.equal(result.problems[1].severity, "warning")
  t.equal(result.problems[1].message, "the forms of 'frobnicate' are not known: this rule covers every one of them, also those that run other programs")
end)

t.test("a directory called agents is one team, however its files lie", function()
  local dir <close> = t.dir()
  dir:write("agents/a/lead.md", frontmatter "handoff: food")
  dir:write("agents/b/food.md", frontmatter "description: x")
  t.equal(#assert(check { paths = { dir.path } }).teams, 1)
  t.equal(#assert(check { paths = { dir.path .. "/agents/" } }).teams, 1)
end)

t.test("one file is checked against the agents beside it", function()
  local dir <close> = t.dir()
  local file = dir:write("a.md", frontmatter "handoff: b\ntemperature: 0")
  dir:write("b.md", frontmatter "name: b")
  local result = assert(check { paths = { file } })
  t.equal(result.agents, 1)
  t.same(result.teams[1].agents[1].reaches.agents, { "b" })
  dir:write("c.md", frontmatter "nmae: c")
  local none, _, partial = check { paths = { file } }
  t.equal(none, nil, "it cannot be loaded while another file is broken")
  t.has(partial.problems[1].message, "unknown key 'nmae'")
  dir:write("a.md", frontmatter "handoff: bb")
  none, _, partial = check { paths = { file } }
  t.equal(#partial.problems, 1)
  t.has(partial.problems[1].message, "unknown agent 'bb'")
  t.equal(none, nil)
end)

t.test("toolsets that a script beside registers are known", function()
  local dir <close> = t.dir()
  dir:write("agents/a.md", frontmatter "tools: [clock]")
  t.equal((check { paths = { dir.path } }), nil)
  dir:write("main.lua", 'local hocket = require "hocket"\nhocket.tool.set("clock", function() end)\n')
  t.ok(check { paths = { dir.path } })
end)

t.test("problems for editors, warnings among them", function()
  local dir <close> = t.dir()
  local file = dir:write("agents/a.md", frontmatter "task_limit: 3\nhandof: b")
  dir:write("agents/b.md", frontmatter "task_limit: 3")
  local none, _, partial = check { paths = { dir.path } }
  t.equal(none, nil)
  local first = json.decode(json.encode(partial)).problems[1]
  t.same(first, { file = file, line = 3, column = 1, severity = "error", code = "unknown_key",
    message = "unknown key 'handof': did you mean 'handoff'?" })
  t.equal(partial.problems[2].severity, "warning")
  dir:write("agents/a.md", frontmatter "timeout: 60\nagents: [b]")
  local result = assert(check { paths = { dir.path } })
  t.equal(#result.problems, 1)
  t.has(result.text, "OK: 2 agents and 0 scripts")
end)

t.test("the picture", function()
  local dir <close> = t.dir()
  dir:write("agents/a.md", frontmatter "display_name: 'The \"A\" <x>'\nadvisors: [b]\nhandoff: r")
  dir:write("agents/b.md", frontmatter "description: x")
  dir:write("agents/r.md", frontmatter "router: true\nagents: [b]\nfallback: t")
  dir:write("agents/t.md", frontmatter "team: [b, file]")
  t.equal(assert(check { paths = { dir.path }, graph = true }).text, [==[
flowchart TD
    a1["The #34;A#34; #60;x#62;"]
    a2["b"]
    a3["Files"]
    a4{"r"}
    a5[["t"]]
    a1 -.->|is advised by| a2
    a1 ==>|hands off to| a4
    a4 -->|routes to| a2
    a4 -.->|falls back on| a5
    a5 -->|discusses with| a2
    a5 -->|discusses with| a3]==])
end)

t.test("the schema of each built-in tool is known without an agent that has it", function()
  for module, names in pairs(require "hocket.internal.tools.builtin") do
    for _, name in ipairs(names) do t.equal(type(hocket.tool.parameters(name)), "table", module .. " " .. name) end
  end
end)

return t.finish()
