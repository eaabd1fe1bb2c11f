local t = require "harness"
local hocket = require "hocket"
local agent = require "hocket.agent"
local fs = require "hocket.fs"
local json = require "hocket.json"
require "hocket.internal.runner.builtins"

-- The problems of one text, each as "line:column: message".
local function problems(text)
  local def, found = agent.parse(text, "x.md")
  local list = {}
  for i, p in ipairs(found) do
    t.equal(p.file, "x.md")
    list[i] = ("%d:%d: %s"):format(p.line, p.column, p.message)
  end
  if #list > 0 then t.equal(def, nil) end
  return list, def
end

local function one_problem(text, expected)
  local list = problems(text)
  t.equal(#list, 1, t.show(list) .. " of " .. t.show(text))
  t.has(list[1], expected)
end

local function frontmatter(lines)
  return "---\n" .. lines .. "\n---\nBody\n"
end

-- ---- Good files -------------------------------------------------------------------------

t.test("what is no toolset is told where it is registered", function()
  t.raises("tool.set 'clock': make has to be a function, not a table", hocket.tool.set, "clock", {})
  t.raises("tool.set 'clock': parameters has to be a function, not a string", hocket.tool.set, "clock", function() return {} end, "text")
  t.raises("tool.set: a name is expected, not a table", hocket.tool.set, {}, function() return {} end)
end)

t.test("all keys", function()
  local def = assert(agent.parse(frontmatter [[
name: food
description: Restaurants
display_name: The food one
model: openai/gpt-6.1-terra
temperature: 0.5
top_p: 1
top_k: 40
max_tokens: 100
stop: [END]
seed: 0
reasoning: low
tools: [specialist]
agents: []
max_turns: 3
max_tool_calls: 0
timeout: 1.5
variables: {city: Porto, days: 3, sunny: true}
document: [{day: integer}, {part: [morning, evening]}]
task_limit: 5]], "dir/x.md"))
  t.equal(def.name, "food")
  t.equal(def.temperature, 0.5)
  t.equal(def.top_p, 1)
  t.equal(def.timeout, 1.5)
  t.same(def.variables, { city = "Porto", days = 3, sunny = true })
  t.same(def.document, { { day = "integer" }, { part = { "morning", "evening" } } })
  t.equal(def.prompt, "Body")
  t.equal(def.prompt_line, 22)
  t.equal(def.file, "dir/x.md")
end)

t.test("defaults", function()
  local def = assert(agent.parse("---\ndescription: x\n---\n\n\nOne\n  two\n\n", "dir/my agent.md"))
  t.equal(def.name, "my_agent")
  t.equal(def.display_name, "my_agent")
  t.equal(def.prompt, "One\n  two")
  t.equal(def.prompt_line, 6)
  t.same(def.tools, {})
  t.same(def.agents, {})
end)

t.test("CRLF, a BOM, a shebang line, and all of them", function()
  for _, text in ipairs {
    "---\r\nname: a\r\n---\r\nOne\r\nTwo\r\n", "\239\187\191---\nname: a\n---\nOne\nTwo\n",
    "#!/usr/bin/env hocket\n---\nname: a\n---\nOne\nTwo\n", "\239\187\191#!/x\r\n---\r\nname: a\r\n---\r\nOne\r\nTwo",
  } do
    local def = assert(agent.parse(text, "x.md"))
    t.equal(def.name, "a")
    t.equal(def.prompt, "One\nTwo")
  end
  one_problem("#!/x\r\n---\r\nname: a\r\nnmae: b\r\n---\r\n", "4:1: unknown key 'nmae'")
  one_problem("\239\187\191---\r\nnmae: b\r\n---\r\n", "2:1: unknown key 'nmae'")
end)

t.test("the short way through a plain file says what the long one says", function()
  local pieces = { "---", "---\n", "--- \n", "\n", "name: a\n", "description: x y\n", "----\n", " ---\n", "text\n", "text", "  \n", "---x\n",
    "stop: ['---']\n", "temperature: 1\n", "{{a}}", "\t\n" }
  local function said(text)
    local def, problems, places = agent.parse(text, "f.md")
    return json.encode { def or json.null, problems, def and places["/name"] or json.null }
  end
  local random = 7
  local function roll(n)
    random = (random * 1103515245 + 12345) % 2147483648
    return random // 65536 % n + 1
  end
  for _ = 1, 3000 do
    local text = "---\n"
    for _ = 1, roll(7) do text = text .. pieces[roll(#pieces)] end
    t.equal(said(text), said("\239\187\191" .. text), text) -- a mark of the encoding is the long way
  end
end)

t.test("front matter may be empty, the body too", function()
  t.equal(agent.parse("---\n---\nBody", "x.md").prompt, "Body")
  t.equal(agent.parse("---\n---", "x.md").prompt, "")
  t.equal(agent.parse("---\n# nothing\n---\n", "x.md").prompt, "")
end)

t.test("a line of dashes in the body is the body's", function()
  local def = assert(agent.parse("---\nname: a\n---\nOne\n---\nTwo\n---\n", "x.md"))
  t.equal(def.prompt, "One\n---\nTwo\n---")
  t.equal(assert(agent.parse("--- \nname: a\n---\t\nOne", "x.md")).prompt, "One")
end)

t.test("a text without front matter is a prompt", function()
  local def = assert(agent.parse("Just a prompt", "x.md"))
  t.equal(def.prompt, "Just a prompt")
  t.ok(not agent.has_frontmatter "Just a prompt")
  t.ok(agent.has_frontmatter "---\nname: a")
  t.ok(not agent.has_frontmatter "----\nname: a")
  t.ok(agent.has_frontmatter "<!-- MIT\nlicence -->\n\n<!-- x -->  \r\n---\nname: a")
  t.ok(not agent.has_frontmatter "<!-- never ends\n---\nname: a")
  t.ok(not agent.has_frontmatter "<!-- x --> words\n---\nname: a")
end)

-- ---- Broken front matter -----------------------------------------------------------------------

t.test("unknown keys, with the one that was meant", function()
  one_problem(frontmatter "name: a\nmodle: x/y", "3:1: unknown key 'modle': did you mean 'model'?")
  one_problem(frontmatter "Temperature: 1", "2:1: unknown key 'Temperature': did you mean 'temperature'?")
  local list = problems(frontmatter "zzzzzz: 1")
  t.has(list[1], "(there are: advisors, agents, alternates, approve,")
end)

t.test("wrong types and values", function()
  for lines, expected in pairs {
    ["name: 3"] = "2:7: 'name' must be a text",
    ["name: two words"] = "2:7: 'name' must be a letter or _",
    ["name: 9lives"] = "'name' must be a letter",
    ["temperature: hot"] = "2:14: 'temperature' must be a number",
    ["temperature: 3"] = "'temperature' must be between 0 and 2",
    ["temperature: '1'"] = "'temperature' must be a number",
    ["top_p: -1"] = "'top_p' must be between 0 and 1",
    ["max_tokens: 1.5"] = "'max_tokens' must be a whole number",
    ["max_tokens: 0"] = "'max_tokens' must be at least 1",
    ["top_k: x"] = "'top_k' must be a whole number",
    ["seed: -1"] = "'seed' must be at least 0",
    ["tools: specialist"] = "2:8: 'tools' must be a list of names",
    ["tools: [1]"] = "2:9: 'tools[1]' must be a text, not 1",
    ["agents: {a: b}"] = "'agents' must be a list of names",
    ["model: gpt"] = "2:8: 'model' must be 'provider/model'",
    ["variables: [a]"] = "'variables' must be names with values",
    ["variables: {a: [1]}"] = "variables are names with values",
    ["document: day"] = "'document' must be a list of dimensions",
    ["timeout: -1"] = "'timeout' must be at least 0",
    ["timeout: no"] = "'timeout' must be a number",
    ["description:"] = "'description' must be a text",
    ["task_limit: 0"] = "'task_limit' must be between 1 and 100000",
    ["reasoning: [low]"] = "'reasoning' must be a whole number from 0 on, or none",
  } do
    one_problem(frontmatter(lines), expected)
  end
end)

t.test("a model's name alone is enough where one provider alone has it", function()
  local known = { ["gemini-flash-latest"] = "gemini", ["claude-sonnet-4-5"] = "anthropic", ["gpt-4.1-mini"] = "openai", o3 = "openai",
    ["grok-4-fast"] = "xai", ["deepseek-chat"] = "deepseek", ["mistral-small-latest"] = "mistral" }
  for name, provider in pairs(known) do
    t.equal(require("hocket.providers").of_model(name), provider .. "/" .. name)
    t.equal(t.ok(agent.parse(frontmatter("model: " .. name), "x.md")).model, name)
  end
  hocket.provider("gemini-here", { protocol = "gemini", base = "http://127.0.0.1:1", default = "m" })
  t.equal(assert(require("hocket.model").resolve "gemini-here").id, "gemini-here/m") -- a provider's own name goes first
  hocket.provider("mistral-eu", { protocol = "openai_chat", base = "http://127.0.0.1:1" })
  local eu = assert(require("hocket.model").resolve "mistral-eu/large")
  t.same({ eu.provider_name, eu.name, eu.id }, { "mistral-eu", "large", "mistral-eu/large" })
  t.fails("provider", "unknown provider 'deepseek-ai'", require("hocket.model").resolve "deepseek-ai/DeepSeek-V3")
  t.fails("provider", "unknown provider 'gpt-5-proxy'", require("hocket.model").is_known "gpt-5-proxy/x")
  t.equal(require("hocket.providers").of_model "grok-4/x", nil)
  one_problem(frontmatter "model: gpt-oss-20b", "2:8: 'model' must be 'provider/model', as in openai/gpt-6.1-terra, not 'gpt-oss-20b'")
end)

t.test("patterns, limits and permissions, in every way to write them", function()
  local function read(lines)
    local def, found = agent.parse(frontmatter(lines), "x.md")
    return t.ok(def, agent.explain(found))
  end
  t.same(read("stop: END").stop, { "END" })
  t.equal(read("handoff: b").handoff, "b")
  local router = read "router: true\nagents: [a, b]\nfallback: c"
  t.equal(router.router, true)
  t.equal(router.fallback, "c")
  t.equal(read("name: a").router, false)
  t.same(read("advisors: [a, b]").advisors, { agents = { "a", "b" }, required = {}, quorum = 0 })
  t.same(read("advisors:\n  agents: [a, b]\n  required: true\n  timeout: 2.5\n  quorum: 1").advisors,
    { agents = { "a", "b" }, required = { "a", "b" }, timeout = 2.5, quorum = 1 })
  t.same(read("advisors: {agents: [a, b], required: [b]}").advisors.required, { "b" })
  t.same(read("team: [a, b]").team, { members = { "a", "b" }, termination_mode = "consensus", max_rounds = 10, max_round_bytes = 65536 })
  t.same(read("team:\n  members: [a]\n  terminationMode: coordinatorDecides\n  maxRounds: 3").team,
    { members = { "a" }, termination_mode = "coordinator_decides", max_rounds = 3, max_round_bytes = 65536 })
  t.same(read("budget: {turns: 0, tool_calls: 1, tokens: 2, cost: 0.5, seconds: 1.5}").budget,
    { turns = 0, tool_calls = 1, tokens = 2, cost = 0.5, seconds = 1.5, warn_at = 0.8 })
  t.same(read("input: {type: object, required: [x]}").input, { type = "object", required = { "x" } })
  local def = read "variables: {a: 1, b: , c: x}"
  t.same(def.variables, { a = 1, c = "x" })
  t.same(def.wanted, { "b" })
end)

t.test("rules for tool calls", function()
  local function read(lines) return assert(agent.parse(frontmatter("approve: " .. lines), "x.md")).approve end
  t.same(read "ask", { deny = {}, ask = { { tool = "*", text = "*" } }, allow = {} })
  t.same(read "{ask: [move_file], deny: ['execute_command(rm *)', 'write_*(path=a=b)', 'f(x y=z)']}", {
    ask = { { tool = "move_file", text = "move_file" } }, allow = {},
    deny = {
      { tool = "execute_command", match = "rm *", text = "execute_command(rm *)" },
      { tool = "write_*", argument = "path", match = "a=b", text = "write_*(path=a=b)" },
      { tool = "f", match = "x y=z", text = "f(x y=z)" },
    },
  })
  one_problem(frontmatter "approve: maybe", "2:10: 'approve' must be deny, ask or allow, not 'maybe'")
  one_problem(frontmatter "approve: {ask: ['a b']}", "2:17: 'approve.ask[1]' is no rule")
  one_problem(frontmatter "approve: {ask: ['a()']}", "empty pair of brackets")
  one_problem(frontmatter "approve: {asks: [a]}", "2:11: unknown key 'asks': did you mean 'ask'?")
end)

t.test("what is wrong inside of a value is told at its place", function()
  for lines, expected in pairs {
    ["team:\n  members: [a]\n  max_round: 3"] = "4:3: unknown key 'max_round': did you mean 'max_rounds'?",
    ["team:\n  members: [a]\n  max_rounds: 0"] = "4:15: 'team.max_rounds' must be between 1 and 100, not 0",
    ["team: {max_rounds: 3}"] = "2:7: 'team' needs 'members'",
    ["team: {members: [a], terminationMode: never}"] = "'team.terminationMode' must be consensus, max_rounds or coordinator_decides",
    ["team: {members: [a], max_rounds: 1, maxRounds: 2}"] = "says the same as",
    ["team: []"] = "must name at least 1",
    ["team: a"] = "2:7: 'team' must be a list of agents or 'members'",
    ["advisors: {agents: [a, b], quorum: 3}"] = "'advisors.quorum' is 3, but there are 2 advisors",
    ["advisors: {agents: [a], quorum: 2}"] = "'advisors.quorum' is 2, but there is 1 advisor",
    ["advisors: {agents: [a, b], required: [c]}"] = "2:39: 'advisors.required[1]' names 'c', who is no advisor here",
    ["handoff: 7"] = "2:10: 'handoff' must be an agent's name, or a list of names",
    ["handoff: {pass: summary}"] = "2:10: 'handoff' needs 'agent'",
    ["handoff: [{agent: a, pass: all}]"] = "2:28: 'handoff[1].pass' must be response, conversation, summary or module.function, not 'all'",
    ["router: yes"] = "2:9: 'router' must be true or false, not 'yes'",
    ["budget: {costs: 1}"] = "2:10: unknown key 'costs': did you mean 'cost'?",
    ["budget: {cost: -1}"] = "'budget.cost' must be at least 0, not -1",
    ["budget: 3"] = "'budget' must be limits by name",
    ["input: {type: objekt}"] = "2:15: 'input' is no JSON Schema: expected null, boolean",
    ["output: {type: object, properties: {a: {type: strin}}}"] = "2:47: 'output' is no JSON Schema",
    ["output: text"] = "2:9: 'output' must be a JSON Schema",
    ["sandbox: on"] = "'sandbox' must be required or best, not 'on'",
    ["on_failure: retry"] = "'on_failure' must be skip, continue, abort or replan",
    ["reasoning: hard"] = "'reasoning' must be none, minimal",
    ["variables: {a-b: 1}"] = "2:13: 'a-b' is no name for a variable",
    ["model: [openai/x, y]"] = "2:19: 'model[2]' must be 'provider/model'",
    ["model: []"] = "must name at least 1",
    ["model: openai/x, sim/y"] = "2:8: 'model' must be 'provider/model', as in openai/gpt-6.1-terra, not 'openai/x, sim/y'",
    ["variables: {a: [1]}"] = "2:16: 'variables.a' must be a text, a number",
  } do
    one_problem(frontmatter(lines), expected)
  end
end)

t.test("what is odd and does no harm is a warning", function()
  local def, found = agent.parse(frontmatter "tools: [specialist, specialist]", "x.md")
  t.same(def.tools, { "specialist" })
  t.equal(#found, 1)
  t.equal(found[1].severity, "warning")
  t.has(agent.explain(found), "x.md:2:21: warning: 'tools[2]' names 'specialist' a second time")
end)

t.test("what stands behind a word that is named twice keeps its place", function()
  local dir <close> = t.dir()
  local file = dir:write("a.md", frontmatter "tools: [read_file, read_file, read_fil]\nteam: [b, b, c]")
  dir:write("b.md", frontmatter "name: b")
  local _, found = agent.read { dir.path }
  local text = agent.explain(found)
  t.has(text, file .. ":2:31: unknown tool 'read_fil': did you mean 'read_file'?")
  t.has(text, file .. ":3:14: unknown agent 'c'")
end)

t.test("empty lines may stand before the front matter", function()
  local def = assert(agent.parse("\n\n" .. frontmatter "name: early", "x.md"))
  t.equal(def.name, "early")
  t.equal(def.prompt_line, 6)
  local def2 = assert(agent.parse("#!/usr/bin/env -S hocket run\n\n" .. frontmatter "name: early", "x.md"))
  t.equal(def2.prompt_line, 6)
  t.equal(agent.parse("\nText\n---\n", "x.md").prompt, "Text\n---")
  local _, found = agent.parse("\r\n" .. frontmatter "nam: x", "x.md")
  t.has(agent.explain(found), "x.md:3:1: unknown key 'nam'")
end)

t.test("a slip in the name of an agent that comes with hocket is told", function()
  local dir <close> = t.dir()
  local file = dir:write("a.md", frontmatter "agents: [planer]")
  local _, found = agent.read { dir.path }
  t.has(agent.explain(found), file .. ":2:10: unknown agent 'planer': did you mean 'planner'?")
end)

t.test("a document's dimensions are checked when the file is read", function()
  one_problem(frontmatter "document: [day]", "2:11: 'document'")
  one_problem(frontmatter "document: []", "'document'")
  one_problem(frontmatter "document: [{day: float}]", "'day'")
end)

t.test("several problems come together, in the order of the lines", function()
  local list = problems(frontmatter "nmae: a\ntemperature: 9\ntopp: 1")
  t.equal(#list, 3)
  t.has(list[1], "2:1:")
  t.has(list[2], "3:14:")
  t.has(list[3], "4:1:")
end)

t.test("what YAML refuses", function()
  one_problem(frontmatter "name: a\nname: b", "3:1:")
  one_problem(frontmatter "name: &x a\ndescription: *x", "2:7:")
  one_problem(frontmatter "name: *x", "2:7:")
  one_problem(frontmatter "name: !!str a", "2:7:")
  one_problem(frontmatter "description: x\nname: [a", "4:1: did not find expected ',' or ']', while parsing a flow sequence from 3:7 on")
  one_problem(frontmatter "name: a: b", "2:8: mapping values are not allowed in this context: a text with ': ' in it needs quotes")
  one_problem(frontmatter "\tname: a", "2:1:")
  one_problem(frontmatter "name: 'a", "found unexpected end of stream, while scanning a quoted scalar from 2:7 on")
end)

t.test("front matter that is no map", function()
  for _, lines in ipairs { "just words", "[a, b]", "- a", "3", "false", "~", "null", "[]", "''" } do
    one_problem(frontmatter(lines), "the front matter must be keys with values")
  end
end)

t.test("front matter that is not closed", function()
  one_problem("---\nname: a\nBody", "1:1: the front matter is not closed: a second line '---' is missing")
  one_problem("---\n", "the front matter is not closed")
  one_problem("#!/x\n---\nname: a", "2:1: the front matter is not closed")
end)

t.test("invalid UTF-8, in the front matter and in the body", function()
  one_problem(frontmatter "name: a\ndescription: \"\255\"", "3:15: the file is not valid UTF-8")
  one_problem("---\nname: a\n---\nOne\nTw\192\128o\n", "5:3: the file is not valid UTF-8")
end)

t.test("what editors and other systems put into files", function()
  local def = assert(agent.parse("\239\187\191---\r\nname: a\r\ndescription: x\r\n---\r\nOne\r\nTwo\r\n", "x.md"))
  t.equal(def.prompt, "One\nTwo")
  t.equal(def.prompt_line, 5)
  def = assert(agent.parse("\239\187\191#!/usr/bin/env -S hocket run\n---\nname: a\n---\nOne", "x"))
  t.equal(def.name, "a")
  one_problem("---\r\nname: a\r\nnmae: b\r\n---\r\nB", "3:1: unknown key 'nmae': did you mean 'name'?")
  one_problem(frontmatter "variables:\n\tcity: x", "3:1:")
  one_problem("---\rname: a\r---\rB\r---\n", "1:1: the front matter is not closed: a second line '---' is missing (the file has carriage returns")
  one_problem(frontmatter "name: a\rtools: [x]", "2:8: the front matter has a carriage return without a line feed")
  one_problem(frontmatter "description: a\226\128\168b", "2:15: the front matter has the line separator U+2028")
  one_problem(frontmatter "description: \"a\194\133b\"", "2:16: the front matter has the control character U+0085")
  t.equal(assert(agent.parse("---\nname: a\n---\nOne\rTwo \226\128\168", "x.md")).prompt, "One\rTwo \226\128\168")
end)

t.test("what is no text, too deep, too large", function()
  one_problem("---\nname: a\n---\nOne\nT\0wo", "5:2: the file holds a NUL byte")
  one_problem("---\nname: \"a\0\"\n---\nx", "2:9: the file holds a NUL byte")
  one_problem(frontmatter("input: " .. ("{a: "):rep(33) .. "1" .. ("}"):rep(33)), "nested more than 32 levels deep")
  one_problem(frontmatter "timeout: 1e999", "2:10: the number is too large")
  one_problem(frontmatter "input: {maximum: -1e999}", "2:18: the number is too large")
  one_problem(frontmatter "input:\n  type: object\n  type: string", "4:3: the key 'type' stands here a second time")
  one_problem(("x"):rep((1 << 20) + 1), "1:1: the file has more than 1048576 bytes")
end)

t.test("files that are empty, or have no prompt", function()
  one_problem("", "1:1: the file is empty")
  one_problem(" \n\n", "1:1: the file is empty")
  local def, found = agent.parse(frontmatter "name: a":gsub("Body\n", " \n"), "x.md")
  t.equal(def.prompt, "")
  t.has(agent.explain(found), "warning: there is no prompt")
end)

t.test("a FIFO, a directory and a link to nowhere in a team harm nobody", function()
  local dir <close> = t.dir()
  dir:write("a.md", frontmatter "name: a")
  os.execute(("mkfifo %s/b.md; ln -s nowhere %s/c.md"):format(dir.path, dir.path))
  local team, found = agent.read { dir.path }
  t.ok(team.a)
  t.equal(#found, 2)
  t.has(agent.explain(found), dir.path .. "/b.md:1:1: ")
  t.has(agent.explain(found), dir.path .. "/c.md:1:1: ")
  os.execute(("rm %s/b.md %s/c.md"):format(dir.path, dir.path))
end)

t.test("front matter of 100 KB is refused, and quickly", function()
  local before = os.clock()
  one_problem(frontmatter("description: " .. ("x"):rep(100000)), "64 KB")
  one_problem(frontmatter("tools: " .. ("["):rep(50000)), ":")
  t.ok(os.clock() - before < 2)
end)

t.test("a large body is no trouble, whatever is in it", function()
  local before = os.clock()
  local def = assert(agent.parse("---\nname: a\n---\n" .. (" "):rep(500000) .. "x" .. ("\n"):rep(400000), "x.md"))
  t.equal(#def.prompt, 500001)
  t.ok(os.clock() - before < 2, "it took " .. os.clock() - before)
end)

-- ---- Directories --------------------------------------------------------------------------

t.test("a team is read, also from below, a README is not", function()
  local dir <close> = t.dir()
  dir:write("lead.md", frontmatter "name: lead\nagents: [food, sights]\ntools: [facilitator]")
  dir:write("sub/food.md", frontmatter "name: food\ntools: [specialist]")
  dir:write("sights.md", frontmatter "tools: [specialist]")
  dir:write("README.md", "# About\n\n---\n\nText\n")
  dir:write(".hidden/x.md", frontmatter "broken: 1")
  dir:write("notes.txt", "---\nbroken: 1\n---")
  local team = hocket.agents(dir.path)
  local names = {}
  for name in pairs(team) do names[#names + 1] = name end
  table.sort(names)
  t.same(names, { "food", "lead", "sights" })
  t.raises("there is no agent 'foud': did you mean 'food'?", function() return team.foud end)
  t.raises("(there are: food, lead, sights)", function() return team.xxxxxxxx end)
end)

t.test("what looks like an agent behind other words is told of", function()
  local dir <close> = t.dir()
  dir:write("lead.md", "<!-- licence -->\n" .. frontmatter "name: lead")
  dir:write("README.md", "# About\n\n---\n\nText\n")
  local other = dir:write("other.md", "Copyright\n\n" .. frontmatter "name: other")
  local defs, problems = require("hocket.internal.agents.team").read { dir.path }
  t.ok(defs.lead and not defs.other)
  t.equal(#problems, 1)
  t.equal(problems[1].severity .. " " .. problems[1].file .. " " .. problems[1].line, "warning " .. other .. " 3")
end)

t.test("references are checked, each with its place", function()
  local dir <close> = t.dir()
  local file = dir:write("lead.md", frontmatter "name: lead\nagents: [foud, nobody]\ntools: [specialist, specialst]")
  dir:write("food.md", frontmatter "name: food")
  local err = t.raises("", hocket.agents, dir.path)
  t.equal(err.code, "agent")
  t.equal(#err.problems, 3)
  t.has(err, ("%s:3:10: unknown agent 'foud': did you mean 'food'?"):format(file))
  t.has(err, ("%s:3:16: unknown agent 'nobody' (there are: food, lead)"):format(file))
  local nobody = dir:write("nobody.md", "You are nobody.")
  _, err = pcall(agent.load_dir, dir.path)
  t.has(err, ("%s:3:16: unknown agent 'nobody': %s has no front matter: an agent's file begins with a line '---'"):format(file, nobody))
  t.has(err, ("%s:4:21: unknown tool 'specialst': did you mean 'specialist'?"):format(file))
  t.equal(tostring(err), err.message)
end)

t.test("the problems of all files come together", function()
  local dir <close> = t.dir()
  local a = dir:write("a.md", frontmatter "nmae: a")
  local b = dir:write("b.md", "---\nname: b")
  local err = t.raises("", hocket.agents, dir.path)
  t.has(err, a .. ":2:1:")
  t.has(err, b .. ":1:1: the front matter is not closed")
end)

t.test("a name that is taken", function()
  local dir <close> = t.dir()
  local a = dir:write("a.md", frontmatter "name: food")
  local b = dir:write("b.md", frontmatter "description: x\nname: food")
  t.raises(("%s:3:7: the name 'food' is taken by %s"):format(b, a), hocket.agents, dir.path)
end)

t.test("names that come from files obey the same rule", function()
  local dir <close> = t.dir()
  dir:write("9.md", frontmatter "description: x")
  t.raises("'name' must be a letter", hocket.agents, dir.path)
end)

t.test("a name is short enough for the tool that calls the agent", function()
  local name = ("a"):rep(59)
  t.equal(#problems(frontmatter("name: " .. name)), 0)
  t.ok(#("call_" .. name) <= 64)
  one_problem(frontmatter("name: a" .. name), "'name' must be")
end)

t.test("nothing there", function()
  local dir <close> = t.dir()
  t.raises("there is no agent here", hocket.agents, dir.path)
  t.raises("/nowhere:1:1: there is no such file", hocket.agents, dir.path .. "/nowhere")
  t.raises("there is no such file", hocket.agent, dir.path .. "/nowhere.md")
  t.raises("use hocket.agents", hocket.agent, dir.path)
end)

t.test("one file: alone, or with those that it names", function()
  local dir <close> = t.dir()
  dir:write("broken.md", frontmatter "nmae: x")
  local alone = hocket.agent(dir:write("alone.md", frontmatter "name: alone"))
  t.equal(alone.name, "alone")
  fs.write(dir.path .. "/broken.md", frontmatter "name: other")
  local lead = hocket.agent(dir:write("lead.md", frontmatter "name: lead\nagents: [other]"))
  t.equal(agent.team_of(lead).other.name, "other")
end)

t.test("a directly named file needs no front matter", function()
  local dir <close> = t.dir()
  t.equal(hocket.agent(dir:write("plain.md", "You are plain.")).prompt, "You are plain.")
end)

t.test("a directory that is called x.md is none of the agents", function()
  local dir <close> = t.dir()
  dir:write("x.md/y.md", frontmatter "name: y")
  t.equal(hocket.agents(dir.path).y.name, "y")
end)

-- ---- Definitions as tables --------------------------------------------------------------------

t.test("an agent as a table", function()
  local def = hocket.agent { name = "a", prompt = "You are.\n", temperature = 1, tools = {} }
  t.equal(def.prompt, "You are.")
  t.equal(agent.team_of(def).a, def)
  local lead = hocket.agent { name = "lead", agents = { "a" }, team = { a = def } }
  t.equal(agent.team_of(lead).a, def)
  t.raises("unknown key 'promt': did you mean", hocket.agent, { name = "a", promt = "x" })
  t.raises("'name' is missing", hocket.agent, { prompt = "x" })
  t.raises("'temperature' must be", hocket.agent, { name = "a", temperature = "hot" })
  t.raises("unknown agent 'b'", hocket.agent, { name = "a", agents = { "b" } })
  t.raises("unknown tool 'nothing'", hocket.agent, { name = "a", tools = { "nothing" } })
  t.raises("a file name or a table expected", hocket.agent, 3)
  local ok, err = pcall(function()
    local _ = hocket.agent { name = "a", promt = "x", tools = { "nothing" } } -- this line
  end)
  t.ok(not ok)
  t.has(err, ("test_agent.lua:%d:1: the agent 'a': unknown key 'promt'"):format(debug.getinfo(1, "l").currentline - 3))
end)

t.test("keys and their types are told", function()
  local seen = {}
  for _, group in ipairs(agent.keys()) do
    for _, key in ipairs(group.keys) do
      t.ok(key.doc ~= "" and key.kind ~= "", key.name)
      t.equal(seen[key.name], nil, key.name)
      seen[key.name] = key
    end
  end
  t.equal(seen["team.max_rounds"].default, "10")
  t.equal(seen["budget.cost"].unit, "USD")
  for name in ([[name description display_name model temperature max_tokens top_p top_k stop seed reasoning tools
    agents handoff router fallback advisors team input output max_turns max_tool_calls timeout retries budget approve
    variables approve_plan on_failure sandbox document task_limit]]):gmatch "%S+" do t.ok(seen[name], name) end
end)

-- ---- hocket check --------------------------------------------------------------------------------

t.test("check finds what is broken in agents and scripts", function()
  local check = require("hocket.internal.commands.check").check
  local dir <close> = t.dir()
  dir:write("agents/a.md", frontmatter "name: a")
  dir:write("main.lua", "#!/usr/bin/env hocket\nreturn 1")
  local result = assert(check { paths = { dir.path } })
  t.equal(result.agents, 1)
  t.equal(result.scripts, 1)
  local bad = dir:write("bad.lua", "local x =\nreturn ]")
  local broken = dir:write("agents/b.md", frontmatter "nmae: b")
  local none, err, partial = check { paths = { dir.path } }
  t.equal(none, nil)
  t.equal(err.code, "agent")
  t.has(err, bad .. ":2")
  t.has(err, broken .. ":2:1: unknown key 'nmae'")
  t.equal(#partial.problems, 2)
  none, err = check { paths = { dir.path .. "/nowhere" } }
  t.equal(none, nil)
  t.has(err, "no such file")
end)

-- ---- Prompts -----------------------------------------------------------------------------------

local prompt = require "hocket.internal.agents.prompt"

t.test("places are filled, once", function()
  t.equal(prompt.fill("{{a}} and {{ b }}, {{a}}", { a = "{{b}}", b = 2 }), "{{b}} and 2, {{b}}")
  t.equal(prompt.fill("{{a}}{{b}}", { a = "{{", b = "x}}" }), "{{x}}")
  t.equal(prompt.fill("{{a}}", { a = "%1 %% \0" }), "%1 %% \0")
  t.equal(prompt.fill("{{a}}", { a = false }), "false")
  t.equal(prompt.fill("{ {a} } {{a-b}} {{}} {{a", {}), "{ {a} } {{a-b}} {{}} {{a")
end)

t.test("a place without a value names variable, file and line", function()
  local err = t.fails("agent", "agents/x.md:12: the variable 'city' has no value",
    prompt.fill("one\ntwo {{city}} {{more}}", {}, { file = "agents/x.md", line = 11 }))
  t.has(err, "--set city=")
  t.fails("agent", "prompt:1:", prompt.fill("{{city}}", {}))
end)

t.test("the names that a text asks for", function()
  t.same(prompt.names "{{b}} {{ a }} {{b}}", { "b", "a" })
end)

t.test("a hostile prompt is filled in linear time", function()
  local before = os.clock() -- in a run that is kept it counts what other programs take, too
  prompt.fill(("{{"):rep(100000) .. ("{{ "):rep(100000) .. (" "):rep(100000), {})
  prompt.fill(("{{a}}\n"):rep(100000), { a = "x" })
  t.ok(os.clock() - before < 10)
end)

-- ---- Tools --------------------------------------------------------------------------------------

local tool = require "hocket.tool"

local function made(fields)
  local def = { name = "x", description = "y", run = print }
  for k, v in pairs(fields) do def[k] = v end
  return tool(def)
end

t.test("a tool is checked where it is made", function()
  local function raised(fields, part)
    local line = debug.getinfo(1, "l").currentline + 1
    local ok, err = pcall(function() local one = tool(fields) return one end)
    t.equal(ok, false)
    t.has(err, part)
    t.has(err, ("test_agent.lua:%d:"):format(line))
  end
  raised({ name = "x", description = "y" }, "field 'run' is missing in a tool")
  raised({ name = "x", run = print }, "field 'description' is missing")
  raised({ name = "x", description = "y", run = "z" }, "bad field 'run' in a tool (function expected, got string)")
  raised({ name = "x y", description = "y", run = print }, "bad tool name 'x y'")
  raised({ name = ("x"):rep(65), description = "y", run = print }, "bad tool name")
  raised({ name = "", description = "y", run = print }, "bad tool name")
  raised({ name = "x", description = "y", run = print, params = {} }, "unknown field 'params' in a tool (there are:")
  raised({ name = "x", description = "y", run = print, parameters = { type = "objekt" } }, "the parameters of tool 'x' are no JSON Schema")
  raised({ name = "x", description = "y", run = print, timeout = "1" }, "bad field 'timeout'")
  raised("x", "a table expected")
end)

t.test("arguments are checked against the schema", function()
  local one = made { parameters = { type = "object", required = { "day" }, properties = { day = { type = "integer", minimum = 1 } } } }
  t.equal(one.check { day = 1 }, true)
  local ok, why = one.check { day = 0 }
  t.equal(ok, false)
  t.has(why, "day")
  ok, why = one.check {}
  t.equal(ok, false)
  t.has(why, "day")
  t.equal((made {}).check {}, true)
end)

t.test("toolsets", function()
  tool.set("pair", function(env) return { made { name = "a" }, made { name = env.name } } end)
  tool.set("single", function() return made { name = "c" } end)
  tool.set("failing", function() return nil, { code = "agent", message = "not here" } end)
  t.ok(tool.is_known "pair")
  local tools = assert(tool.resolve({ "pair", "single", "pair", made { name = "c" } }, { name = "b" }))
  t.equal(#tools, 3)
  t.fails("agent", "unknown tool 'nothing'", tool.resolve({ "nothing" }, {}))
  t.fails("agent", "not here", tool.resolve({ "failing" }, {}))
  t.equal(tool.describe(tools), "- a: y\n- b: y\n- c: y")
  t.equal(#json.decode(tool.declare(tools)), 3)
  t.equal(tool.declare {}, "[]")
end)

t.test("a provider is checked where it is declared", function()
  local line = debug.getinfo(1, "l").currentline + 1
  local _, where = pcall(function() hocket.provider("x", { url = "y" }) end)
  t.has(where, ("test_agent.lua:%d:"):format(line))
  _, where = pcall(function() hocket.agent(3) end)
  t.has(where, ("test_agent.lua:%d:"):format(line + 2))
  t.raises("bad provider name", hocket.provider, "my cloud", {})
  t.raises("unknown field 'url' in provider 'x'", hocket.provider, "x", { url = "y" })
  t.raises("needs the fields 'protocol' and 'base'", hocket.provider, "x", { protocol = "openai_chat" })
  t.raises("bad field 'base'", hocket.provider, "x", { protocol = "openai_chat", base = 3 })
  t.raises("unknown protocol 'openai'", hocket.provider, "x", { protocol = "openai", base = "http://x" })
  local function bad(message, field, value)
    t.raises(message, hocket.provider, "x", { protocol = "openai_chat", base = "http://x", [field] = value })
  end
  bad("unknown trait 'sead' in provider 'x': did you mean 'seed'?", "traits", { sead = false })
  bad("bad trait 'seed' in provider 'x' (boolean expected, got string)", "traits", { seed = "no" })
  bad("unknown limit 'request' in provider 'x': did you mean 'requests'?", "limits", { request = 3 })
  bad("bad limit 'tokens' in provider 'x' (a whole number from 0 on expected, got -1)", "limits", { tokens = -1 })
  bad("bad header name 'a:b'", "headers", { ["a:b"] = "c" })
  bad("bad header 'a' in provider 'x' (text without line breaks", "headers", { a = "b\r\nc: d" })
  bad("bad field 'key_env'", "key_env", {})
  bad("'key_header' is a name", "key_header", "a: b c")
  bad("has to begin with http:// or https:// and a host", "base", "ftp://x")
  bad("has to begin with http:// or https:// and a host", "base", "https:///v1")
  local many = {}
  for i = 1, 33 do many["h" .. i] = "x" end
  bad("more than 32 headers", "headers", many)
end)

t.test("openai is spoken to as its own server wants it, and as others do elsewhere", function()
  local providers = require "hocket.providers"
  local openai = providers.get "openai"
  for base, protocol in pairs {
    ["https://api.openai.com/v1"] = "openai_responses", ["https://API.openai.com:443/v1/"] = "openai_responses",
    ["https://eu.api.openai.com/v1"] = "openai_responses", ["https://user@api.openai.com"] = "openai_responses",
    ["http://127.0.0.1:8000/v1"] = "openai_chat", ["https://api.openai.com.evil.example/v1"] = "openai_chat",
    ["https://my-api.openai.com/v1"] = "openai_chat", ["https://x.example/?at=api.openai.com"] = "openai_chat",
    ["localhost:8000"] = "openai_chat",
  } do t.equal(providers.spoken(openai, base).protocol, protocol, base) end
  t.equal(providers.spoken(providers.get "openai-chat", "https://api.openai.com/v1").protocol, "openai_chat")
  t.raises("unknown field 'elsewhere'", hocket.provider, "x", { protocol = "openai_chat", base = "http://x", elsewhere = {} })
end)

t.test("the models that are asked for when nobody names one have a price", function()
  local prices, providers = require "hocket.prices", require "hocket.providers"
  for _, name in ipairs { "openai", "openai-chat", "openai-responses", "anthropic", "gemini", "deepseek", "mistral", "xai" } do
    local id = name .. "/" .. providers.get(name).default
    t.ok(prices.cost(id, { input = 1000, output = 10 }), id)
  end
  t.matches(providers.date, "^%d%d%d%d%-%d%d%-%d%d$")
end)

t.test("models are resolved, or it is said what to do", function()
  local model = require "hocket.model"
  t.fails("provider", "did you mean 'openai'?", model.resolve "opnai/gpt")
  t.fails("provider", "(there are: sim, anthropic,", model.resolve "zzzzzzzzz/gpt")
  t.fails("invalid", "names no model", model.resolve "vllm")
  t.fails("provider", "unknown provider 'gpt-oss-20b'", model.resolve "gpt-oss-20b")
  hocket.provider("nokey", { protocol = "openai_chat", base = "http://127.0.0.1:1/v1", key_env = "HOCKET_TEST_NO_SUCH_KEY" })
  t.fails("auth", "set HOCKET_TEST_NO_SUCH_KEY", model.resolve "nokey/m")
  hocket.provider("freekey", { protocol = "openai_chat", base = "http://127.0.0.1:1/v1", key_env = "HOCKET_TEST_NO_SUCH_KEY", key_needed = false })
  t.equal(assert(model.resolve "freekey/a/b").name, "a/b")
end)

t.test("a model is found once for a run, until its provider is declared anew", function()
  local model = require "hocket.model"
  local known = {}
  local function declare(more)
    local def = { protocol = "openai_chat", base = "http://127.0.0.1:1", key_needed = false }
    for name, value in pairs(more or {}) do def[name] = value end
    hocket.provider("recalled", def)
  end
  declare()
  local first = assert(model.recall("recalled/m", known))
  t.equal(assert(model.recall("recalled/m", known)), first)
  t.ok(assert(model.recall("recalled/n", known)) ~= first)
  declare { base = "http://127.0.0.1:2" }
  local second = assert(model.recall("recalled/m", known))
  t.ok(second ~= first and second.handle ~= first.handle)
  declare { headers = { ["X-Key"] = "secret" } } -- a recording that begins has to hear of it
  t.ok(assert(model.recall("recalled/m", known)) ~= assert(model.recall("recalled/m", known)))
  hocket.provider("recalled", { protocol = "openai_chat", base = "http://127.0.0.1:1", key_env = "HOCKET_TEST_NO_SUCH_KEY" })
  t.fails("auth", "set HOCKET_TEST_NO_SUCH_KEY", model.recall("recalled/m", known))
end)

-- ---- Those that come with hocket -------------------------------------------------------------

t.test("examples of the built-in prompts hold nothing to be filled in, which small models repeat", function()
  for name, def in pairs(require("hocket.agent").built_in()) do
    t.equal(def.prompt:match "<%l[^>\n]*>", nil, name)
  end
  t.has(require("hocket.agent").built_in().planner.prompt, "You plan; you never do the work yourself")
end)

local built_in_names = { "assistant", "facilitator", "orchestrator", "planner", "conversation", "file", "shell", "web", "code", "researcher", "code_reviewer", "tester", "judge", "workflow" }

-- The system prompt and the tools of the first request of each of them, in JSON.
local function first_requests()
  local got, list = nil, {}
  local m <close> = require("model").serve(function(request)
    got = got or request
    return "done"
  end)
  for _, name in ipairs(built_in_names) do
    got = nil
    hocket.run(require("hocket.agent").built_in()[name], "Hello", { model = m.id })
    list[name] = json.encode { got.raw.messages[1].content, got.raw.tools or false }
  end
  return list
end

-- Bytes: small models have windows of a few thousand tokens, and pay for each of them.
local most = {
  assistant = 3500, facilitator = 2750, orchestrator = 4700, planner = 2000, conversation = 350, file = 2500, shell = 850, web = 850, code = 1100,
  researcher = 2700, code_reviewer = 2700, tester = 2600, judge = 550, workflow = 6000,
}

t.test("first requests stay short", function()
  for name, text in pairs(first_requests()) do t.ok(#text <= most[name], ("%s: %d bytes"):format(name, #text)) end
end)

return t.finish()
