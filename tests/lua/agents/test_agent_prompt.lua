-- Prompts: what they include, what they need, what is meant literally. Texts that front matter promises: input and output.
local t = require "harness"
local hocket = require "hocket"
local agent = require "hocket.agent"
local fs = require "hocket.fs"
local model = require "model"
local prompt = require "hocket.internal.agents.prompt"
local problem = require "hocket.internal.agents.problem"
local scripted = require "scripted"
local validate = require "hocket.internal.runner.validate"
require "hocket.internal.runner.builtins"

local function frontmatter(lines, body)
  return "---\n" .. lines .. "\n---\n" .. (body or "Body") .. "\n"
end

local function prompt_of(body, files)
  local dir <close> = t.dir()
  for name, text in pairs(files or {}) do dir:write(name, text) end
  dir:write("a.md", frontmatter("name: a", body))
  return hocket.agents(dir.path).a.prompt
end

local function refused(body, files, expected)
  local dir <close> = t.dir()
  for name, text in pairs(files or {}) do dir:write(name, text) end
  dir:write("a.md", frontmatter("name: a", body))
  local err = t.raises("", hocket.agents, dir.path)
  t.equal(err.problems[1].code, "include")
  t.has((err.message:gsub(dir.path:gsub("%-", "%%-") .. "/", "")), expected)
end

t.test("braces that look as if they were meant are told, and stay", function()
  local dir <close> = t.dir()
  dir:write("a.md", frontmatter("name: a\nvariables: {x: 1}", "{{user-name}} {{ x }}\n{{Include b.txt}} {{include b.txt}} \\{{a-b}} {\"a\":{\"b\":{}}} {{{x}}} {{\"x\": 1}} {{#each y}}"))
  dir:write("b.txt", "b\n{{ user.name }}")
  local team, problems = agent.read { dir.path }
  local told = (agent.explain(problems):gsub("[^\n]*/", ""))
  t.equal(#problems, 3)
  t.has(told, "a.md:5:1: warning: '{{user-name}}' stays as it is: names have letters, digits and _ only (write \\{{user-name}} for")
  t.has(told, "a.md:6:1: warning: '{{Include b.txt}}' stays")
  t.has(told, "b.txt:2:1: warning: '{{ user.name }}' stays")
  t.equal(problems[1].code, "variable")
  t.has(prompt.fill(team.a.prompt, { x = 1 }), "{{user-name}} 1")
end)

-- ---- Includes ---------------------------------------------------------------------------

t.test("a file is included, and what it includes, from its own directory on", function()
  t.equal(prompt_of("One\n{{include style.txt}}\nTwo {{ include  sub/x y.md }}!", {
    ["style.txt"] = "Be brief.\r\nBe kind.\n", ["sub/x y.md"] = "x {{include ../deep/z.txt}} y", ["deep/z.txt"] = "z",
  }), "One\nBe brief.\nBe kind.\nTwo x z y!")
end)

t.test("what is included is a template like the rest; what is meant literally stays", function()
  local body = prompt_of("{{include s.txt}} \\{{include no.txt}} \\{{b}}", { ["s.txt"] = "for {{city}}" })
  t.equal(body, "for {{city}} \\{{include no.txt}} \\{{b}}")
  t.equal(prompt.fill(body, { city = "{{include s.txt}}" }), "for {{include s.txt}} {{include no.txt}} {{b}}")
end)

t.test("nothing outside of the agents' folder is included", function()
  local dir <close> = t.dir()
  dir:write("secret.txt", "secret")
  dir:write("agents2/x.txt", "x")
  for _, path in ipairs { "../secret.txt", "sub/../../secret.txt", "link.txt", "out/secret.txt", "../agents2/x.txt" } do
    dir:write("agents/a.md", frontmatter("name: a", "One\n  {{include " .. path .. "}}"))
    dir:write("agents/sub/y.txt", "y")
    os.execute(("ln -sfn ../secret.txt %s/agents/link.txt; ln -sfn .. %s/agents/out"):format(dir.path, dir.path))
    local err = t.raises("leads out of the agents' folder", hocket.agents, dir.path .. "/agents")
    t.has(err, "a.md:5:3:")
  end
  dir:write("agents/a.md", frontmatter("name: a", "{{include inside.txt}}"))
  os.execute(("ln -sfn sub/y.txt %s/agents/inside.txt"):format(dir.path))
  t.equal(hocket.agents(dir.path .. "/agents").a.prompt, "y")
  os.execute(("rm %s/agents/out %s/agents/link.txt"):format(dir.path, dir.path))
end)

t.test("what cannot be included, each told at its place", function()
  refused("{{include /etc/passwd}}", {}, "a.md:4:1: '/etc/passwd' is absolute")
  refused("ä {{include nothing.txt}}", {}, "a.md:4:3: there is no file 'nothing.txt'")
  refused("{{include sub}}", { ["sub/x.txt"] = "x" }, "'sub' is no file")
  refused("{{include a.md}}", {}, "a.md:4:1: 'a.md' includes itself")
  refused("{{include b.txt}}", { ["b.txt"] = "One\n{{include c.txt}}", ["c.txt"] = "{{include b.txt}}" },
    "c.txt:1:1: 'b.txt' includes itself: ")
  refused("{{include b.md}}", { ["b.md"] = frontmatter "name: b" }, "'b.md' has front matter, and so is an agent")
  refused("{{include b.txt}}", { ["b.txt"] = "a\255" }, "'b.txt', byte 2: the file is not valid UTF-8")
  refused("{{include b.txt}}", { ["b.txt"] = "a\0" }, "holds a NUL byte")
  refused("{{include b.txt}}", { ["b.txt"] = ("x"):rep((1 << 20) + 1) }, "b.txt")
  local many = { ["0.txt"] = "x" }
  for i = 1, 12 do many[i .. ".txt"] = ("{{include %d.txt}}"):format(i - 1) end
  refused("{{include 12.txt}}", many, "more than 8 deep")
  local wide = { ["8.txt"] = "" } -- as many as there are atoms, and no text
  for i = 1, 7 do wide[i .. ".txt"] = ("{{include %d.txt}}\n"):format(i + 1):rep(20) end
  refused("{{include 1.txt}}", wide, "a prompt includes at most 1000 files")
  refused(("{{include b.txt}}"):rep(3), { ["b.txt"] = ("x"):rep(400000) }, "the prompt has more than 1048576 bytes")
  t.raises("only an agent's file can include", hocket.agent, { name = "a", prompt = "{{include x.txt}}" })
end)

t.test("of many places without a value the first hundred are told, and a hint names two hundred", function()
  local dir <close> = t.dir()
  local places, names = {}, {}
  for i = 1, 40000 do places[i] = ("{{v%d}}"):format(i) end
  dir:write("many.md", frontmatter("name: many", table.concat(places, " ")))
  local before = os.clock()
  local said = validate.path(dir.path .. "/many.md").problems
  t.equal(#said, 100)
  t.has(said[100].message, "'v100'")
  t.ok(os.clock() - before < 2)
  for i = 1, 201 do names[i] = ("agent%03d"):format(i) end
  t.has(problem.hint("z", names), "agent200 and 1 more)")
end)

t.test("a script's first hundred names that stand for nothing are told", function()
  local dir <close> = t.dir()
  dir:write("many.lua", 'local hocket = require "hocket"\n' .. ("hocket.rn('x')\n"):rep(20000) .. ("undef%d()\n"):rep(3):format(1, 2, 3))
  local before = os.clock()
  t.equal(#validate.path(dir.path .. "/many.lua", { scripts = 0, problems = {}, teams = {}, hints = true }).problems, 103)
  t.ok(os.clock() - before < 3)
end)

t.test("a variable without a value is told in the file that it stands in", function()
  local dir <close> = t.dir()
  dir:write("s.txt", "One\nTwo {{city}}\n")
  local file = dir:write("a.md", frontmatter("name: a", "Start\n{{include s.txt}}\n{{other}}"))
  local def = hocket.agents(dir.path).a
  t.fails("agent", dir.path .. "/s.txt:2: the variable 'city' has no value", hocket.run(def, "x"))
  t.fails("agent", file .. ":6: the variable 'other' has no value", hocket.run(def, "x", { variables = { city = "x" } }))
end)

-- ---- Variables --------------------------------------------------------------------------------

t.test("braces that are meant as such", function()
  t.equal(prompt.fill("\\{{a}} {{a}} \\\\{{a}} {{{a}}} \\{{", { a = "x" }), "{{a}} x \\{{a}} {x} {{")
  t.same(prompt.names "\\{{a}} {{b}}", { "b" })
  local before = os.clock()
  prompt.fill(("\\{{"):rep(100000) .. ("{"):rep(100000) .. ("{{a"):rep(100000) .. "{{" .. ("a"):rep(100000), {})
  t.ok(os.clock() - before < 2, "it took " .. os.clock() - before)
end)

t.test("what is missing anywhere is told before the first token", function()
  local m <close> = model.serve(function() return "said" end)
  local dir <close> = t.dir()
  dir:write("a.md", frontmatter "agents: [b]")
  dir:write("b.md", frontmatter "handoff: c")
  local file = dir:write("c.md", frontmatter("name: c", "{{zity}}"))
  local def = hocket.agents(dir.path).a
  t.fails("agent", file .. ":4: the variable 'zity' has no value", hocket.run(def, "x", { model = m.id }))
  t.equal(#m.requests, 0)
  t.ok(hocket.run(def, "x", { model = m.id, variables = { zity = "x" } }))
  dir:write("c.md", frontmatter("variables: {zity: }", "{{zity}}"))
  t.ok(hocket.run(hocket.agents(dir.path).a, "x", { model = m.id }), "whoever calls c gives it")
  t.fails("agent", "c.md:4: the variable 'zity'", hocket.run(hocket.agents(dir.path).c, "x", { model = m.id }))
end)

t.test("a provider that nobody knows is told before the first token, unless another model goes before it", function()
  local m <close> = model.serve(function() return "said" end)
  local dir <close> = t.dir()
  dir:write("a.md", frontmatter("model: " .. m.id .. "\nhandoff: b"))
  local file = dir:write("b.md", frontmatter "model: opnai/x")
  local def = hocket.agents(dir.path).a
  t.fails("provider", file .. ":2:8: unknown provider 'opnai' in model 'opnai/x': did you mean 'openai'?", hocket.run(def, "x"))
  t.equal(#m.requests, 0)
  t.ok(hocket.run(hocket.agents(dir.path).b, "x", { override_model = m.id }))
  dir:write("b.md", frontmatter("model: [opnai/x, " .. m.id .. "]"))
  t.ok(hocket.run(hocket.agents(dir.path).a, "x"), "the second of several steps in")
end)

t.test("a slip in a name, and names that are taken", function()
  local m <close> = model.serve(function() return "said" end)
  local def = hocket.agent { name = "a", prompt = "{{tool_description}}" }
  t.fails("agent", "did you mean 'tool_descriptions'?", hocket.run(def, "x", { model = m.id }))
  t.raises("'{{agents}}' is filled in by hocket", hocket.agent, { name = "a", variables = { agents = "x" } })
end)

t.test("tools and agents in the prompt, and nothing that is put in is filled again", function()
  local m <close> = model.serve(function(request) return request.system end)
  hocket.tool.set("odd", function()
    return hocket.tool { name = "odd", description = "Says {{city}}\nand {{agents}}.", run = print }
  end)
  local team = { b = hocket.agent { name = "b", description = "knows {{city}}" } }
  local def = hocket.agent { name = "a", tools = { "odd" }, agents = { "b" }, team = team, variables = { city = "Porto {{name}}" },
    prompt = "{{city}}\n{{agents}}\n{{tool_descriptions}}\n{{name}}" }
  local text = assert(hocket.run(def, "x", { model = m.id })).text
  t.has(text, "Porto {{name}}\n- b: knows {{city}}\n- odd: Says {{city}} and {{agents}}.\n")
  t.has(text, "\na")
end)

-- ---- Input and output ------------------------------------------------------------------------------

local point = { type = "object", required = { "x" }, properties = { x = { type = "integer" } }, additionalProperties = false }

t.test("what does not fit the input is refused before a model is asked", function()
  local m <close> = model.serve(function(request) return request.last.text end)
  local def = hocket.agent { name = "a", input = point }
  t.equal(assert(hocket.run(def, ' {"x": 3}\n', { model = m.id })).text, ' {"x": 3}\n')
  for _, text in ipairs { "three", '{"x": "3"}', "{}", '{"x": 3, "y": 4}', 'Please {"x": 3}', "" } do
    local err = t.fails("invalid", "what a was asked is not what it takes (input): ", hocket.run(def, text, { model = m.id }))
    t.lacks(err, "nil")
  end
  t.equal(#m.requests, 1)
  local short = hocket.agent { name = "b", input = { type = "string", maxLength = 5 } }
  t.ok(hocket.run(short, "hello", { model = m.id }))
  t.fails("invalid", "what b was asked", hocket.run(short, "hello there", { model = m.id }))
end)

t.test("an agent that calls one with an input is told what does not fit, and can mend it", function()
  local m <close> = model.serve(function(request)
    if not request.tools.delegate then return "got " .. request.last.text end
    local said = request.last.text
    t.has(request.tools.delegate.parameters.properties.agent_name.description, '- b: x (It takes JSON that fits {"')
    if request.last.role == "user" then
      return { calls = { { name = "delegate", arguments = { agent_name = "b", prompt = "three" } } } }
    elseif said:find "not what it takes" then
      return { calls = { { name = "delegate", arguments = { agent_name = "b", prompt = '{"x": 3}' } } } }
    end
    return said
  end)
  local team = {}
  hocket.agent { name = "b", description = "x", input = point, team = team }
  local def = hocket.agent { name = "a", agents = { "b" }, team = team }
  t.has(assert(hocket.run(def, "x", { model = m.id })).text, 'got {"x": 3}')
end)

t.test("in a chain the response is checked, not what stands around it; an advisor gets the request", function()
  local said
  local m <close> = model.serve(function(request)
    return request.system == "first" and said or "last: " .. (request.last.text:match '{"x": %d}' or "nothing")
  end)
  local team = {}
  hocket.agent { name = "last", input = point, prompt = "last", team = team }
  local first = hocket.agent { name = "first", handoff = "last", prompt = "first", team = team }
  said = '{"x": 3}'
  t.equal(assert(hocket.run(first, "give me x", { model = m.id })).text, 'last: {"x": 3}')
  said = "no"
  t.fails("invalid", "first -> last (handoff): what last was asked is not what it takes", hocket.run(first, "give me x", { model = m.id }))
  local asks = hocket.agent { name = "asks", advisors = { "last" }, prompt = "first", team = team }
  local before = #m.requests
  t.ok(hocket.run(asks, '{"x": 4}', { model = m.id }))
  t.equal(#m.requests, before + 2)
end)

t.test("an answer that fits is the JSON alone, and a value", function()
  local said
  local m <close> = model.serve(function() return said end)
  local def = hocket.agent { name = "a", output = point }
  for _, text in ipairs { '{"x": 3}', '  {"x": 3}  \n', '```json\n{"x": 3}\n```', 'Here it is:\n```\n{"x": 3}\n```\nWell?', 'The answer is {"x": 3}.' } do
    said = text
    local reply = assert(hocket.run(def, "x", { model = m.id }))
    t.equal(reply.text:match "^%s*(.-)%s*$", '{"x": 3}')
    t.same(reply.value, { x = 3 })
  end
  t.equal(#m.requests, 5)
end)

t.test("an answer that does not fit is told so, twice, and is a failure then", function()
  local m <close> = model.list { "three", '{"x": "3"}', '{"x": 3}' }
  local def = hocket.agent { name = "a", output = point }
  t.same(assert(hocket.run(def, "x", { model = m.id })).value, { x = 3 })
  t.has(m.requests[2].last.text, "Your answer cannot be used:\nit is no JSON")
  t.has(m.requests[3].last.text, "it does not fit the schema: /x: expected integer")
  local n <close> = model.list { "no", "no", "no", '{"x": 3}' }
  t.fails("model", "a gave no answer that fits its output in 3 attempts; the last: it is no JSON", hocket.run(def, "x", { model = n.id }))
  t.equal(#n.requests, 3)
  local one <close> = model.list { "no" }
  t.fails("model", "in 1 attempt; the last", hocket.run(hocket.agent { name = "a", output = point, max_turns = 1 }, "x", { model = one.id }))
  t.equal(#one.requests, 1)
end)

t.test("a schema that is no object is said in the prompt, and holds as well", function()
  local m <close> = model.list { "none", "[1, 2]" }
  local def = hocket.agent { name = "a", prompt = "Count.", output = { type = "array", items = { type = "integer" } } }
  local reply = assert(hocket.run(def, "x", { model = m.id }))
  t.same(reply.value, { 1, 2 })
  t.has(m.requests[1].system, 'Count.\n\nYour last answer is JSON that fits this schema, and nothing else:\n{"items"')
  t.equal(m.requests[1].raw and m.requests[1].raw.response_format, nil)
end)

t.test("calls of tools before the answer are none of its business", function()
  local m <close> = model.list { { calls = { { name = "look", arguments = {} } }, text = "Let me look" }, '{"x": 1}' }
  local look = hocket.tool { name = "look", description = "x", run = function() return "seen" end }
  local def = hocket.agent { name = "a", output = point, tools = { look } }
  t.same(assert(hocket.run(def, "x", { model = m.id })).value, { x = 1 })
  t.equal(#m.requests, 2)
end)

-- A model that calls a tool as long as it may, and has an answer ready for its last turn.
local function eager(answer)
  return model.serve(function(request)
    if request.raw.tool_choice == "none" then return answer end
    return { calls = { { name = "look", arguments = {} } }, text = "Let me look" }
  end)
end

t.test("a last answer that fits is the answer: at max_turns, at the limit of tool calls, in a loop", function()
  local look = hocket.tool { name = "look", description = "x", run = function() return "seen" end }
  local digits = { type = "array", items = { type = "integer" } }
  local limits = { { max_turns = 3 }, { max_tool_calls = 2 }, { max_turns = 20 } } -- the third ends as a loop
  for i, limit in ipairs(limits) do
    for _, case in ipairs { { point, '{"x": 3}', { x = 3 } }, { digits, "It is [1, 2]", { 1, 2 } }, { { type = "string", maxLength = 4 }, "well", "well" } } do
      local m <close> = eager(case[2])
      local def = hocket.agent { name = "a", output = case[1], tools = { look }, max_turns = limit.max_turns, max_tool_calls = limit.max_tool_calls }
      local run, reply, err = scripted.run(function() return hocket.run(def, "x", { model = m.id }) end)
      t.ok(reply, i .. ": " .. tostring(err and err.message))
      t.same(reply.value, case[3])
      t.lacks(reply.text, "Cut short")
      t.same({ reply.finish, reply.cut }, { "stop" })
      t.equal(#scripted.events(run, "agent_cut"), 1)
    end
  end
end)

t.test("a last answer that does not fit is none, and says why", function()
  local look = hocket.tool { name = "look", description = "x", run = function() return "seen" end }
  local m <close> = eager '{"x": "many"}'
  local def = hocket.agent { name = "a", output = point, tools = { look }, max_turns = 2 }
  t.fails("model", "a gave no answer that fits its output in 1 attempt; the last: it does not fit the schema: /x", hocket.run(def, "x", { model = m.id }))
end)

t.test("what was said beside calls is the answer where nothing more may be asked", function()
  local look = hocket.tool { name = "look", description = "x", run = function() return "seen" end }
  for text, fits in pairs { ['{"x": 5}'] = true, ["Let me look"] = false } do
    local m <close> = model.serve(function() return { calls = { { name = "look", arguments = {} } }, text = text } end)
    local def = hocket.agent { name = "a", output = point, tools = { look }, max_turns = 2 }
    local reply, err = hocket.run(def, "x", { model = m.id })
    if fits then t.same(reply.value, { x = 5 }) else t.fails("model", "it is no JSON", reply, err) end
  end
end)

t.test("links in a circle and hidden files do no harm", function()
  local dir <close> = t.dir()
  dir:write("agents/a.md", frontmatter "name: a")
  dir:write("agents/.#a.md", frontmatter "broken: 1")
  os.execute(("ln -s . %s/agents/x; ln -s . %s/agents/y; ln -s .. %s/agents/z"):format(dir.path, dir.path, dir.path))
  t.equal(hocket.agents(dir.path).a.name, "a")
  t.ok(require("hocket.internal.commands.check").check { paths = { dir.path } })
  os.execute(("rm %s/agents/x %s/agents/y %s/agents/z"):format(dir.path, dir.path, dir.path))
  t.ok(fs.info(dir.path .. "/agents/a.md"))
end)

return t.finish()
