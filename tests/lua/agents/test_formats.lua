-- Agents of other programs: each format with a small file of our own, and what becomes of its keys.
local t = require "harness"
local agent = require "hocket.agent"
local hocket = require "hocket"
require "hocket.internal.runner.builtins"

local claude = ".claude/agents/x.md"
local opencode = ".opencode/agent/ro.md"

local function text_of(head, body)
  return ("---\n%s\n---\n%s\n"):format(head, body or "You.")
end

-- A definition, and what it warns of, as one text.
local function read(place, head, body)
  local def, problems = agent.parse(text_of(head, body), place)
  return def, agent.explain(problems)
end

local function refused(place, head, why)
  local def, said = read(place, head)
  t.equal(def, nil, head)
  t.has(said, why)
end

local function rules_of(def, verdict)
  local list = {}
  for i, rule in ipairs(def.approve and def.approve[verdict] or {}) do list[i] = rule.text end
  return table.concat(list, " ")
end

local function deny_of(def)
  return rules_of(def, "deny")
end

local function tools_of(def)
  return table.concat(def.tools, " ")
end

local assistant = "search_files read_file list_directory write_file edit_file move_file execute_command web_fetch view_image ask_user"

-- ---- Claude Code ------------------------------------------------------------------------------------

t.test("Claude Code: tools, model, turns", function()
  local def, said = read(claude, "name: reviewer\ndescription: Reviews\ntools: Read, Grep, Bash, TodoWrite\nmodel: sonnet\nmaxTurns: 7\ncolor: red")
  t.equal(tools_of(def), "read_file view_image search_files execute_command")
  t.equal(def.name, "reviewer")
  t.equal(def.max_turns, 7)
  t.equal(def.model, nil)
  t.same(def.theirs.wished, { "anthropic/claude-sonnet-5" })
  t.has(said, ".claude/agents/x.md:4:1: warning: 'tools' names tools that hocket does not have; they are left out: TodoWrite")
  t.has(said, ".claude/agents/x.md:7:1: warning: 'color' is passed over")
end)

t.test("Claude Code: without tools it has the assistant's, with an empty list none", function()
  local def = read(claude, "name: a\ndescription: b")
  t.equal(tools_of(def), assistant)
  t.equal(def.skills, true)
  for _, none in ipairs { "tools: []", "tools:", "tools: TodoWrite" } do
    def = read(claude, "name: a\n" .. none)
    t.equal(tools_of(def), "", none)
    t.equal(def.skills, nil)
  end
end)

t.test("Claude Code: what is denied is taken away, and denied to whoever else would give it", function()
  local def, said = read(claude, "name: a\ndisallowedTools: Write, Bash, Frobnicate")
  t.equal(tools_of(def), "search_files read_file list_directory edit_file move_file web_fetch view_image ask_user")
  t.equal(deny_of(def), "execute_command execute_javascript execute_lua execute_python lua write_file")
  t.equal(said, "") -- a tool that hocket has not is denied already
  def = read(claude, "name: a\ntools: Bash\ndisallowedTools: 'Bash(rm *)'")
  t.equal(tools_of(def), "execute_command")
  t.equal(deny_of(def), "execute_command(rm *)")
  def, said = read(claude, "name: a\ndisallowedTools: 'Edit(*.env)'")
  t.has(said, "denies 'Edit' as a whole")
  t.equal(deny_of(def), "edit_file move_file write_file")
end)

t.test("Claude Code: uses of a tool that are allowed alone", function()
  local def = read(claude, "name: a\ntools: 'Bash(git diff:*), Read'")
  t.equal(def.approve.allow[1].text, "execute_command(git diff *)")
  local said
  def, said = read(claude, "name: a\ntools: 'Read(src/**)'")
  t.equal(tools_of(def), "")
  t.has(said, "Read(src/**)")
end)

t.test("Claude Code: modes narrow, and never widen", function()
  for _, mode in ipairs { "plan", "dontAsk" } do
    local def = read(claude, "name: a\ntools: Read, Write, Bash, Task, Skill, mcp__x__y\npermissionMode: " .. mode)
    t.equal(tools_of(def), "read_file view_image")
    t.equal(deny_of(def), "edit_file execute_command execute_javascript execute_lua execute_python lua move_file write_file")
    t.equal(def.skills, nil)
    t.equal(def.theirs.calls, nil)
    t.equal(next(def.theirs.servers), nil)
  end
  for _, mode in ipairs { "bypassPermissions", "acceptEdits", "auto" } do
    local def, said = read(claude, "name: a\npermissionMode: " .. mode)
    t.equal(def.approve, nil)
    t.has(said, "'permissionMode' is passed over")
  end
  refused(claude, "name: a\npermissionMode: careful", "'permissionMode' must be")
end)

t.test("Claude Code: what narrows and cannot be honoured is refused", function()
  refused(claude, "name: a\nisolation: worktree", "'isolation' would let the agent change a copy")
  refused(claude, "name: a\nmaxTurns: many", "'maxTurns' must be a whole number")
  refused(claude, "name: a\ndisallowedTools: {Bash: true}", "'disallowedTools' must be a list")
  refused(claude, "name: a\nblockedPaths: [x]", "'blockedPaths' is no key of Claude Code that hocket knows, and seems to restrict")
  refused(claude, "name: a\ndisabled: true", "switched off")
end)

t.test("what is denied is found however it is written: spaces, globs, names of hocket's; what cannot be read is refused", function()
  local rest = "search_files read_file list_directory edit_file move_file view_image ask_user"
  for list, denied in pairs {
    ["[' Write ', 'Bash (rm *)']"] = "execute_command(rm *) write_file", ["'Write , Bash(rm:*)'"] = "execute_command(rm *) write_file",
    ["[execute_command, move_file]"] = "execute_command move_file", ["'Web*'"] = "web_fetch web_search", ["'execute_p*'"] = "execute_python",
  } do t.equal(deny_of(read(claude, "name: a\ndisallowedTools: " .. list)), denied, list) end
  local def = read(opencode, "tools: {'web*': false, 'wri*': false, 'bash': false}")
  t.equal(tools_of(def), rest)
  def = read(opencode, "permission: {'w*': ask}")
  t.equal(rules_of(def, "ask"), "web_fetch web_search workflow write_file")
  refused(claude, "name: a\ndisallowedTools: 'Bash(rm *, Write'", "names 'Bash(rm *, Write', which cannot be read")
  refused(claude, "name: a\ndisallowedTools: Write Edit", "names 'Write Edit', which cannot be read")
  local said
  def, said = read(claude, "name: a\ntools: 'Read, Bash(git *, Write'")
  t.equal(tools_of(def), "read_file view_image")
  t.has(said, "Bash(git *, Write")
end)

t.test("a name that is no text is not used", function()
  for _, name in ipairs { "[x, y]", "{a: b}", "" } do
    local def, said = read(claude, "name: " .. name)
    t.equal(def.name, "x", name)
    t.equal(def.display_name, "x", name)
    t.has(said, "'name' must be a text")
  end
end)

t.test("Claude Code: programs that a file brings do not start", function()
  local _, said = read(claude, "name: a\nhooks: {PreToolUse: [{command: evil}]}\nmemory: user")
  t.has(said, "'hooks' is passed over")
  t.has(said, "'memory' is passed over")
end)

t.test("a prompt of another program has no places of ours", function()
  local def = read(claude, "name: a", "Say {{name}} and {{include x}}, {{{{ and \\{{x}} {{{include x}} {{{y}}}.")
  t.equal(require "hocket.internal.agents.include".any(def.prompt:gsub("\\{{include", "")), false)
  t.equal(agent.missing(def, {}, {}), nil)
  t.equal((require "hocket.internal.agents.prompt".fill(def.prompt, {}, {})), "Say {{name}} and {{include x}}, {{{{ and \\{{x}} {{{include x}} {{{y}}}.")
end)

t.test("long blanks, dots and names take no time", function() -- the patterns for them took quadratic or cubic time
  local blank = (" "):rep(200000)
  local def = read(claude, "name: a", "Say {{include" .. blank .. "x and {{b" .. blank .. "x")
  t.equal(#def.prompt, 2 * #blank + 25)
  local prompt = require "hocket.internal.agents.prompt"
  t.same(prompt.no_places(def.prompt), {})
  t.equal(require "hocket.internal.agents.include".any(def.prompt), false)
  t.same(prompt.no_places("{{b" .. ("c"):rep(200000) .. "!}} {{user-name }}")[1].text, "{{user-name }}")
  t.equal(read("x.ai", "description: x\nhandoff: " .. ("a"):rep(60000)).handoff, ("a"):rep(60000))
  t.equal(read("x.ai", "description: x\nhandoff: parts/b.ai").handoff, "b")
  refused(claude, "name: a\ndescription: 'a' b\n" .. ("  " .. ("y"):rep(240) .. "\n"):rep(3900):sub(1, -2), "more than 64 KB")
  local filled = require "hocket.internal.agents.formats.prompts".file(("${input:a "):rep(20000), "x.prompt.md")
  t.same(filled.arguments, {})
end)

t.test("front matter that is no YAML is read as its program reads it", function()
  local def = read(claude, "name: a\ndescription: Use it for: reviews, \"quotes\" and more:\n  and more: still\ntools: *")
  t.equal(def.description, "Use it for: reviews, \"quotes\" and more: and more: still")
  t.equal(tools_of(def), assistant)
  def = read("agents/x.md", "name: a\ndescription: Use it for: reviews\ntools: Read, Grep")
  t.equal(def.description, "Use it for: reviews")
  t.equal(tools_of(def), "read_file view_image search_files")
end)

-- ---- Which format -----------------------------------------------------------------------------------

t.test("a format is known by its keys", function()
  for _, head in ipairs { "model: opus", "tools: Read, Grep", "color: blue", "disallowedTools: Write" } do
    t.equal(read("agents/x.md", "name: a\n" .. head).theirs.format, "claude", head)
  end
  t.equal(read("agents/x.md", "name: a\nhandoffs: []").theirs.format, "copilot")
  t.equal(read("agents/x.md", "mode: subagent").theirs.format, "opencode")
  t.equal(read("agents/x.md", "name: a\nkind: local").theirs.format, "gemini")
end)

t.test("files of ours stay strict", function()
  for head, why in pairs {
    ["tools: read_file"] = "'tools' must be a list of names",
    ["colour: red"] = "unknown key 'colour'",
    ["model: sonett"] = "'model' must be 'provider/model'",
    ["model: sonnet\nbudget: {turns: 3}"] = "'model' must be 'provider/model'",
    ["color: red\ntools: [execute_command]"] = "unknown key 'color'",
    ["color: red\nrouter: true"] = "unknown key 'color'",
    ["description: Use it for: reviews"] = "mapping values are not allowed",
  } do refused("agents/x.md", "name: a\n" .. head, why) end
  t.equal(read("agents/x.md", "name: a\ndescription: b").theirs, nil)
end)

t.test("formats that hocket does not read are named", function()
  for place, what in pairs { ["a.toml"] = "TOML", ["rule.mdc"] = "a rule of Cursor", ["x.prompty"] = "Prompty" } do
    local def, problems = agent.parse("---\nname: a\n---\nx\n", place)
    t.equal(def, nil)
    t.has(agent.explain(problems), what)
  end
  local def, problems = agent.parse("\255\254-\0-\0", "a.md")
  t.equal(def, nil)
  t.has(agent.explain(problems), "the file is UTF-16: save it as UTF-8")
end)

-- ---- GitHub Copilot and VS Code ------------------------------------------------------------------------

t.test("Copilot: names for people, groups of tools, models", function()
  local def, said = read("agents/plan.agent.md", "name: 'C# Plan & Do!'\ndescription: x\ntools: ['search/codebase', 'edit/editFiles', 'read/problems', 'execute', 'web']\n"
    .. "model: ['Claude Sonnet 4.5 (copilot)', 'GPT-5 (copilot)', 'Unheard Of']")
  t.equal(def.name, "Csharp_Plan_Do")
  t.equal(def.display_name, "C# Plan & Do!")
  t.equal(tools_of(def), "search_files edit_file write_file execute_command web_fetch web_search")
  t.has(said, "left out: read/problems") -- a member of a group never gives the whole group
  t.same(def.theirs.wished, { "anthropic/claude-sonnet-4-5", "openai/gpt-5" })
  t.has(said, "Unheard Of")
  def = read("x/plan.agent.md", "description: x\ntools: ['*']")
  t.equal(def.name, "plan")
  t.equal(tools_of(def), assistant)
  t.equal(read("x/y.agent.md", "name: '###'\ntools: []").name, "sharpsharpsharp")
  t.equal(read("x/y.agent.md", "name: '日本'\ntools: []").name, "y")
end)

t.test("Copilot: who may call it", function()
  t.equal(read("a.agent.md", "disable-model-invocation: true").theirs.person_only, true)
  t.equal(read("a.agent.md", "infer: false").theirs.person_only, true)
  t.equal(read("a.agent.md", "disable-model-invocation: false\nuser-invocable: false").theirs.person_only, nil)
  refused("a.agent.md", "disable-model-invocation: perhaps", "must be true or false")
end)

t.test("Copilot: what is for its own screens is left out", function()
  local _, said = read("a.agent.md", "handoffs: [{label: Go, agent: impl, prompt: do}]\nargument-hint: x")
  t.has(said, "'argument-hint' is passed over")
  t.ok(not said:find("handoffs", 1, true), said)
  _, said = read("a.agent.md", "handoffs: [{label: Go, agent: impl, prompt: do, send: true, model: GPT-5 (copilot)}]")
  t.has(said, "'handoffs' has keys of entries that are passed over, so that the next agent has its own: model")
end)

-- ---- opencode ------------------------------------------------------------------------------------------

t.test("opencode: a later rule for all uses, or all tools, counts; exceptions that ask do ask", function()
  local def = read(opencode, "permissions: [{action: read, effect: allow}, {action: '*', effect: deny}]")
  t.equal(tools_of(def), "")
  def = read(opencode, "permissions: [{action: '*', effect: deny}, {action: read, effect: allow}]")
  t.equal(tools_of(def), "read_file view_image")
  def = read(opencode, "permissions: [{action: bash, resource: 'git *', effect: allow}, {action: bash, resource: '*', effect: ask}]")
  t.equal(rules_of(def, "allow"), "")
  t.has(rules_of(def, "ask"), "execute_command")
  def = read(opencode, "permissions: [{action: bash, resource: 'rm *', effect: deny}, {action: bash, effect: ask}]")
  t.equal(deny_of(def), "execute_command(rm *)")
  def = read(opencode, "tools: [bash, write]\npermission: deny")
  t.equal(tools_of(def), "")
  def = read(opencode, "permission: {bash: {'*': ask, 'git *': allow, 'git push *': ask}}")
  t.equal(rules_of(def, "ask"), "execute_command(git push *)")
  def = read(opencode, "permission: {'*': {'*.env': ask}}")
  t.equal(rules_of(def, "ask"), "*")
  refused(opencode, "permission: {'*': {'*.env': deny}}", "denies '*.env' of every tool")
end)

t.test("opencode: tools that are off, and permissions", function()
  local def = read(opencode, "description: x\nmode: subagent\ntemperature: 0.1\nsteps: 9\ntools: {write: false, edit: false}\n"
    .. "permission: {bash: {'*': ask, 'git status*': allow}, webfetch: deny, external_directory: allow}")
  t.equal(def.name, "ro")
  t.equal(def.max_turns, 9)
  t.equal(tools_of(def), "search_files read_file list_directory execute_command view_image ask_user")
  t.equal(deny_of(def), "edit_file move_file web_fetch write_file")
  t.equal(def.approve.allow[1].text, "execute_command(git status*)")
  def = read(opencode, "description: x\ntools: {'*': false, read: true}")
  t.equal(tools_of(def), "read_file view_image")
  def = read(opencode, "description: x\npermission: {'*': deny, grep: allow}")
  t.equal(tools_of(def), "search_files")
  def = read(opencode, "description: x\npermission: ask")
  t.equal(def.approve.ask[1].text, "*")
  def = read(opencode, "description: x\npermission: {task: {'*': deny, 'helper': allow}, bash: {'rm *': deny}, edit: ask}")
  t.same(def.theirs.calls, { "helper" })
  t.equal(deny_of(def), "execute_command(rm *)")
  t.equal(#def.approve.ask, 3)
end)

t.test("opencode: what its rules say and ours cannot is denied as a whole", function()
  local def, said = read(opencode, "description: x\npermission: {bash: {'*': deny, 'git *': allow}}")
  t.has(deny_of(def), "execute_command")
  t.has(said, "hocket has no rule for exceptions")
  t.equal(tools_of(def):find("execute_command", 1, true), nil)
  refused(opencode, "description: x\npermission: {bash: perhaps}", "allow, ask or deny")
  refused(opencode, "description: x\npermission: [bash]", "must name tools")
  refused(opencode, "description: x\ntools: {write: no}", "true or false")
end)

t.test("opencode: permissions of its second version", function()
  local def = read(opencode, "description: x\nmodel: anthropic/claude-sonnet-5#high\npermissions:\n  - action: edit\n    resource: '*'\n    effect: deny\n"
    .. "  - action: shell\n    resource: 'rm *'\n    effect: deny")
  t.same(def.theirs.wished, { "anthropic/claude-sonnet-5" })
  t.equal(deny_of(def), "edit_file execute_command(rm *) move_file write_file")
  refused(opencode, "description: x\npermissions: [{action: edit}]", "action, resource and effect")
end)

-- ---- Gemini CLI, ai-agent ---------------------------------------------------------------------------------

t.test("Gemini CLI", function()
  local def, said = read(".gemini/agents/g.md", "name: g\ndescription: x\nkind: local\ntools: [read_file, grep_search, run_shell_command, mcp_github_get_issue]\n"
    .. "model: gemini-2.5-pro\nmax_turns: 3\ntimeout_mins: 2")
  t.equal(tools_of(def), "read_file search_files execute_command")
  t.same(def.theirs.servers, { github = { get_issue = true } })
  t.equal(def.timeout, 120)
  t.equal(said, "")
  refused(".gemini/agents/g.md", "name: g\nkind: remote\nagent_card_url: https://x", "is not 'local'")
end)

t.test("netdata's ai-agent", function()
  local def = read("team/research.ai", "description: x\nmodels: [openai/gpt-5, anthropic/claude-sonnet-4-5]\nmaxTurns: 5\ntopP: 0.5\ntools: [github]\nagents: [sub/search.ai]\n"
    .. "output: {format: json, schema: {type: object}}", "Look. ${include:style.md} {{x}}")
  t.equal(def.name, "research")
  t.equal(tools_of(def), "")
  t.equal(def.skills, nil)
  t.same(def.theirs.calls, { "search" })
  t.same(def.theirs.servers, { github = { ["*"] = true } })
  t.same(def.output, { type = "object" })
  t.equal(def.prompt, "Look. {{include style.md}} \\{{x}}")
end)

-- ---- Teams ------------------------------------------------------------------------------------------------

local dir <close> = t.dir()
local folder = dir.path

local function write(name, text)
  dir:write(name, text)
end

t.test("agents call those beside them, by name, as shown, or by file; who names nobody calls those that call no others", function()
  write("one/.github/agents/lead.agent.md", text_of "name: The Lead\ntools: [agent]\nagents: ['Code Writer', tester, nobody, 'Only People']")
  write("one/.github/agents/writer.agent.md", text_of "name: Code Writer\ntools: [edit]")
  write("one/.github/agents/tester.agent.md", text_of "description: x\ntools: [execute]")
  write("one/.github/agents/any.agent.md", text_of "description: x\ntools: [agent]")
  write("one/.github/agents/people.agent.md", text_of "name: Only People\ntools: []\ndisable-model-invocation: true")
  local team, problems = agent.read { folder .. "/one/.github/agents" }
  t.same(team.The_Lead.agents, { "Code_Writer", "tester" })
  t.same(team.any.agents, { "Code_Writer", "tester" })
  t.has(agent.explain(problems), "are left out: nobody, Only People")
  t.equal(hocket.agent(folder .. "/one/.github/agents/lead.agent.md").name, "The_Lead")
end)

t.test("handoffs are chosen by the model; one that leads back is left out", function()
  write("hand/plan.agent.md", text_of "name: Plan\ntools: []\nhandoffs: [{label: Start, agent: The Builder, prompt: Build it}, {label: x, agent: agent}]")
  write("hand/build.agent.md", text_of "name: The Builder\ntools: []\nhandoffs: [{label: Back, agent: Plan}]")
  local team, problems = agent.read { folder .. "/hand" }
  local plan, build = team.Plan.handoff, team.The_Builder.handoff
  t.same(plan, { { agent = "The_Builder", when = "Start", prompt = "Build it", pass = "conversation" } })
  t.equal(build, nil)
  local said = agent.explain(problems)
  t.has(said, "build.agent.md:4:11: warning: 'handoffs' to agents that are not beside it")
  t.has(said, "left out: agent")
  t.equal(hocket.agent(folder .. "/hand/plan.agent.md").handoff[1].agent, "The_Builder")
end)

t.test("an agent of ours names a folder of theirs; who may be called by a person only is not among them", function()
  write("two/main.md", text_of "agents: [.claude/agents]")
  write("two/.claude/agents/a.md", text_of "name: a\ndescription: x\ntools: Read")
  write("two/.claude/agents/sub/b.md", text_of "name: b\ndescription: x\ntools: Read, Task")
  write("two/.claude/agents/README.md", "# no agent\n")
  t.same(hocket.agent(folder .. "/two/main.md").agents, { "a", "b" })
  t.same(hocket.agents(folder .. "/two").main.agents, { "a", "b" })
  write("two/main.md", text_of "agents: [.claude/none]")
  local _, problems = agent.read { folder .. "/two/main.md" }
  t.has(agent.explain(problems), "main.md:2:10: '.claude/none': there is no such file or directory")
  write("two/main.md", text_of "agents: [p]")
  write("two/p.agent.md", text_of "name: p\ntools: []\ndisable-model-invocation: true")
  _, problems = agent.read { folder .. "/two" }
  t.has(agent.explain(problems), "'p' may be called by a person only")
end)

t.test("servers that a file brings are its own, optional, and narrowed by its tools", function()
  write("five/.claude/agents/a.md", text_of [[name: a
tools: Read, mcp__play__open, mcp__named
disallowedTools: mcp__play__close
mcpServers: [named, {play: {type: stdio, command: npx, args: [-y, "${workspaceFolder}/x"], disabledTools: [run]}}, {odd: {address: x}}, {my.web: {url: "https://h/x"}}] ]])
  write("five/.mcp.json", '{"mcpServers": {"named": {"command": "x"}}}')
  local team, problems = agent.read { folder .. "/five/.claude/agents" }
  t.has(agent.explain(problems), "'mcpServers' has a server that is left out: 'odd': ")
  local by = {}
  for _, one in ipairs(team.a.mcp) do by[one.name] = one end
  local home = require("hocket.internal.core.fs").real(folder .. "/five")
  t.same({ by.play.command, by.play.args[2], by.play.cwd, by.play.optional, by.play.by_name, by.play.file }, { "npx", home .. "/x", home, true, nil, team.a.file })
  t.same({ by.play.only, by.play.exclude }, { { "open" }, { "run", "close" } })
  t.equal(by.my_web.url, "https://h/x")
  t.equal(by.named.by_name, true)
  for name, head in pairs { gemini = "kind: local\nmcp_servers: {s: {command: x}}", copilot = "mcp-servers: {s: {type: local, command: x, tools: ['*']}}" } do
    local place = name == "gemini" and "five/.gemini/agents/b.md" or "five/.github/agents/b.agent.md"
    write(place, text_of(head))
    t.equal(agent.read { folder .. "/" .. place }.b.mcp[1].command, "x", name)
  end
  write("five/.claude/agents/a.md", text_of "name: a\npermissionMode: plan\nmcpServers: {s: {command: x}}")
  t.equal(agent.read { folder .. "/five/.claude/agents/a.md" }.a.mcp, nil)
end)

t.test("servers of a project are found, and have the tools alone that are named", function()
  write("three/.mcp.json", '{"mcpServers": {"github": {"command": "x"}, "other": {"command": "y"}}}')
  write("three/.claude/agents/a.md", text_of "name: a\ntools: Read, mcp__github__get_issue, mcp__other, mcp__lost__x\ndisallowedTools: mcp__other__drop")
  local team, problems = agent.read { folder .. "/three/.claude/agents" }
  t.has(agent.explain(problems), "MCP servers that are in no file of servers here are left out: lost")
  local servers = require "hocket.internal.agents.mcp_servers"
  local github, other = assert(servers.find(team.a.mcp[1])), assert(servers.find(team.a.mcp[2]))
  t.same(github.only, { "get_issue" })
  t.equal(github.optional, true)
  t.equal(other.only, nil)
  t.same(other.exclude, { "drop" })
  for denied, count in pairs { ["mcp__*"] = 0, ["mcp__oth*"] = 1, ["mcp__oth*__drop"] = 2 } do
    write("three/.claude/agents/a.md", text_of("name: a\ntools: mcp__github, mcp__other\ndisallowedTools: " .. denied))
    t.equal(#(agent.read { folder .. "/three/.claude/agents" }.a.mcp or {}), count, denied)
  end
end)

t.test("of two that mean the same name the second has another one here; of ours the name is its own", function()
  write("six/a.agent.md", text_of "name: Same\ntools: []")
  write("six/b.agent.md", text_of "name: Same\ntools: [read]")
  local team, problems = agent.read { folder .. "/six" }
  t.equal(tools_of(team.Same_2), "read_file view_image")
  t.has(agent.explain(problems), "b.agent.md:2:7: warning: the name 'Same' is taken by")
  write("six/c.md", text_of "name: Same")
  team, problems = agent.read { folder .. "/six" }
  t.equal(team.Same.theirs.format, "copilot")
  t.has(agent.explain(problems), "c.md:2:7: the name 'Same' is taken by")
end)

t.test("one that is switched off is left out of its folder", function()
  write("four/agents/a.md", text_of "name: a\ncolor: red\ndisabled: true")
  write("four/agents/b.md", text_of "name: b\ncolor: red")
  local team = hocket.agents(folder .. "/four/agents")
  t.equal(rawget(team, "a"), nil)
  t.equal(team.b.name, "b")
end)

t.test("a file in UTF-16 is reported in a folder, too", function()
  write("five/agents/a.md", text_of "name: a")
  write("five/agents/b.md", "\255\254-\0-\0-\0")
  local _, problems = agent.read { folder .. "/five/agents" }
  t.has(agent.explain(problems), "b.md:1:1: warning: the file is UTF-16")
end)

-- ---- Hostile files -------------------------------------------------------------------------------------------

t.test("long and odd front matter takes no long time, and gives no more rights", function()
  local spaces = (" "):rep(60000)
  local heads = { "name: a\ntools: " .. ("("):rep(50000), "name: a\nmodel: x" .. spaces .. "y", "name: 'a" .. spaces .. "'\ntools: []", "name: a\ndescription: x: " .. spaces .. "y",
    "name: a\ntools: " .. ("Read,"):rep(10000), "name: " .. ("é"):rep(20000), "description: b: c\n" .. ("\t"):rep(30000) .. "x", "tools: [[[[Read]]]]" }
  for _, head in ipairs(heads) do
    local began = os.clock()
    agent.parse(text_of(head), claude)
    t.ok(os.clock() - began < 2, head:sub(1, 40))
  end
end)

return t.finish()
