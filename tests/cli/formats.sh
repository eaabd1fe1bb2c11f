# Agents of other programs at every door: checked, run, in a conversation, by a worker, and named by an agent of ours.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"
agent() { mkdir -p "$(dirname "$1")"; printf -- '---\n%b\n---\n%s\n' "$2" "${3:-You.}" >"$1"; }
cat >sim.lua <<'X'
return function(request)
  local names = {}
  for name in pairs(request.tools) do names[#names + 1] = name end
  table.sort(names)
  return ("%s [%s]"):format(request.system:match "^[^\n]*", table.concat(names, " "))
end
X
mkdir .claude .github .opencode .gemini
for dir in .claude .github .opencode .gemini; do cp sim.lua $dir; done

agent .claude/agents/reviewer.md 'name: reviewer\ndescription: Use it for: reviews\ntools: Read, Grep, TodoWrite\nmodel: sonnet\ncolor: red' 'Review {{this}}.'
run hocket check .claude/agents; expect 0
has out "reviewer.md:4:1: warning: 'tools' names tools that hocket does not have; they are left out: TodoWrite"
run hocket check .claude/agents/reviewer.md; expect 0; has out "OK: 1 agent"
run hocket run -q .claude/agents/reviewer.md x; expect 0; same "$(cat out)" "Review {{this}}. [read_file search_files view_image]"
run hocket run .claude/agents/reviewer.md x; expect 0; has err "something that its file says is left out: 'hocket check .claude/agents/reviewer.md' lists it"
what=chat; echo hello | hocket chat .claude/agents/reviewer.md >out 2>err || fail "a conversation"; has out "Review {{this}}."

# A format that a person names: of files that neither place nor keys give away; in a list before the folder; kept with the run.
agent said/theirs/plain.md 'description: Says: plain' 'Plain {{y}}.'; agent said/theirs/b.md 'tools: Read' 'B.'; cp sim.lua said/theirs
run hocket check said/theirs/plain.md; expect 3
run hocket check --format claude said/theirs; expect 0; has out "OK: 2 agents"
run hocket check -e --format copilot said/theirs/plain.md; expect 0; has out "an agent of GitHub Copilot"
run hocket run -q --format claude said/theirs/plain.md x; expect 0; has out "Plain {{y}}. ["; has out " read_file "
run hocket run -q said/theirs/plain.md x; expect 3
run hocket run --format claude --set a=b said/theirs x; expect 3; has err "which agent begins"
# shellcheck disable=SC2086 # a command and its options
for command in "check --format none said/theirs" "run --format none said/theirs/plain.md x"; do run hocket $command; expect 2; has err "there is no format 'none' (there are: claude, copilot, opencode, gemini, netdata)"; done
run hocket run --watch --format claude said/theirs/plain.md x; expect 2
agent said/agents/lists.md 'agents: ["claude:../theirs/"]' 'Lists.'; run hocket check -v said/agents/lists.md; expect 0; has out "lists: reaches agents b, plain"
mkdir away; cp -r said/theirs away; run hocket run --detach --format claude away/theirs/plain.md x; expect 0; id=$(cat out); rm -r away
worker 3; run hocket wait "$id"; expect 0; has out "Plain {{y}}. ["; end 3 TERM
run hocket replay "$id"; expect 0; has err "all as recorded"
rm -r said

# A model that is only wished for gives way to the default where it has no key; a model of our own does not.
run hocket run .claude/agents/reviewer.md x; expect 0; has err "reviewer falls back from anthropic/claude-sonnet-5 on sim"
agent strict.md 'model: anthropic/claude-sonnet-5'; run hocket run strict.md x; expect 4; has err ANTHROPIC_API_KEY

# Each format, by place.
agent .github/agents/plan.agent.md 'name: Plan & Do\ndescription: x\ntools: [search]' 'Plan.'
agent .opencode/agent/look.md 'description: x\ntools: {write: false, bash: false}\npermission: {edit: deny, webfetch: deny}' 'Look.'
agent .gemini/agents/gem.md 'name: gem\ndescription: x\nkind: local\ntools: [read_file]' 'Gem.'
agent net.ai 'description: x\nmodels: [openai/gpt-5]' 'Net.'
for file in .github/agents/plan.agent.md .opencode/agent/look.md .gemini/agents/gem.md net.ai; do run hocket check $file; expect 0; run hocket run -q $file x; expect 0; done
run hocket run -q .github/agents x; same "$(cat out)" "Plan. [list_directory search_files]"
run hocket run -q .opencode/agent x; has out "Look. ["; hasnt out write_file; hasnt out edit_file; hasnt out execute_command
run hocket run -q net.ai x; same "$(cat out)" "Net. []"

# Folders of theirs in an agent of ours, here, in a conversation that watches its files, and on a worker to which they travel.
agent lead.md 'agents: [.claude/agents, .github/agents]' 'Lead.'
run hocket check -v lead.md; expect 0; has out "lead: reaches agents Plan_Do, reviewer"
run hocket run -q lead.md x; expect 0; has out "Lead. ["
what=chat; echo hello | hocket chat lead.md >out 2>err || fail "a conversation with a folder"; has out "Lead. ["
mkdir travel; cp -r lead.md .claude .github sim.lua travel
run hocket run --detach travel/lead.md x; expect 0; id=$(cat out)
rm -rf travel
worker 1
run hocket wait "$id"; expect 0; has out "Lead. ["

# What a project says to agents, in the files of the program that an agent is written for; imports, links, encodings.
mkdir -p told/.git told/sub/.claude/agents told/sub/.github
echo 'return function(request) return request.system end' >told/sub/sim.lua; cp told/sub/sim.lua told/sub/.claude
cd told/sub || exit 1
printf '\357\273\277CLAUDE here. See @docs/style.md, @missing.md, ann@example.org and `@not/this.md`.\n```\n@not/this.md\n```\n@../../outside.md @../.env @../loop.md\n' >CLAUDE.md
mkdir docs not; echo "STYLE @deep.md" >docs/style.md; echo DEEP >docs/deep.md; echo NOT >not/this.md; echo "LOOP @sub/CLAUDE.md" >../loop.md; echo OUTSIDE >../../outside.md; echo "KEY=1" >../.env
echo "TOP AGENTS @loop.md" >../AGENTS.md; echo "COPILOT here" >.github/copilot-instructions.md; printf '\377\376G\0' >GEMINI.md
agent .claude/agents/c.md 'name: c\ntools: Read' 'Prompt.'
run hocket run --model sim .claude/agents/c.md x; expect 0
for word in "Prompt." "TOP AGENTS" "CLAUDE here" STYLE DEEP LOOP; do has out "$word"; done
for word in NOT OUTSIDE KEY= COPILOT "$(printf '\357\273\277')"; do hasnt out "$word"; done
same "$(grep -c 'CLAUDE here' out)" 1
has err "missing.md is left out: "; has err "outside.md is left out"; has err ".env is left out"
agent own.md 'project: true' 'Prompt.'
run hocket run --model sim own.md x; has out "TOP AGENTS"; has out "CLAUDE here"; hasnt out COPILOT
agent pilot.agent.md 'tools: []' 'Prompt.'; run hocket run --model sim pilot.agent.md x; has out COPILOT; has out "CLAUDE here"
agent omit.md 'color: red\ntools: []\nomitClaudeMd: true' 'Prompt.'; run hocket run --model sim omit.md x; hasnt out CLAUDE
mkdir .gemini; agent .gemini/agents/g.md 'kind: local\ntools: []' 'Prompt.'; cp sim.lua .gemini
run hocket run --model sim .gemini/agents/g.md x; has err "GEMINI.md is left out: the file is UTF-16"
HOCKET_TRUST= run hocket run --model sim --trust own.md x; has out "CLAUDE here"
cd "$WORK" || exit 1

# A server that an agent's file writes out starts when somebody has trusted it, and not before.
mkdir -p serves/.claude/agents; cp sim.lua serves/.claude
cat >serves/server.sh <<X
#!/bin/sh
pwd >>started
exec "$HOCKET" mcp serve "$WORK/serves/tool.lua"
X
chmod +x serves/server.sh
cat >serves/tool.lua <<'X'
return require("hocket").tool { name = "weather", description = "Tells the weather.", parameters = { type = "object" }, run = function() return "rain" end }
X
agent serves/.claude/agents/w.md 'name: w\ntools: Read\nmcpServers: {sky: {command: ./server.sh}}' 'Weather.'
(cd serves && HOCKET_TRUST= run hocket run --model sim .claude/agents/w.md x; cp out err "$WORK"); has err "is not trusted"; [ ! -e serves/started ] || fail "it was started"
(cd serves && run hocket run -q --trust --model sim .claude/agents/w.md x; cp out err "$WORK"); has out "sky__tool"
same "$(sort -u serves/started)" "$WORK/serves"
rm -r serves

# Instructions of a folder below are said once, also where the run waits for a person in between and another process continues it.
mkdir -p nested/.git nested/sub/deep; echo one >nested/sub/one.txt; echo two >nested/sub/deep/two.txt; echo "OF SUB" >nested/sub/CLAUDE.md; echo "OF DEEP" >nested/sub/deep/AGENTS.md
cat >nested/sim.lua <<'X'
local calls = { { name = "read_file", arguments = { path = "sub/one.txt" } }, { name = "ask_user", arguments = { question = "Go on?" } }, { name = "read_file", arguments = { path = "sub/deep/two.txt" } } }
return function(request)
  local results = {}
  for _, message in ipairs(request.messages) do
    if message.role == "tool" then results[#results + 1] = message.text end
  end
  local one = calls[#results + 1]
  return one and { calls = { one } } or table.concat(results, " / ")
end
X
agent nested/n.md 'project: true\ntools: [read_file, ask_user]' 'You.'
cd nested || exit 1
run hocket run -q --trust --model sim n.md x; expect 75
run hocket answer last q1 yes; run hocket resume -q --trust last; expect 0
same "$(grep -o 'OF SUB\|OF DEEP\|one\|two\|yes' out | tr '\n' ' ')" "one OF SUB yes two OF DEEP "
run hocket replay last; expect 0; has err "all as recorded"
cd "$WORK" || exit 1; rm -r nested

# Commands, prompts and instructions of other programs are no agents, though they have front matter: by place or name, in a plugin as well.
mkdir -p plug/.claude-plugin
for file in commands/fix.md commands/deep/fix.md agents/a.agent.md agents/b.prompt.md agents/c.instructions.md .claude/commands/x.md; do agent "plug/$file" 'description: x\nversion: 1\ntool_access: [all]'; done
run hocket check plug; expect 0; has out "OK: 1 agent"
run hocket check plug/.claude; expect 3; has out "and no agent: 'hocket chat' sends one by /name"
rmdir plug/.claude-plugin; run hocket check plug; expect 3; has out "plug/commands/fix.md:3:1: unknown key 'version'"; rm -r plug

# Commands and prompts of other programs in a conversation.
mkdir -p talk/.claude/commands/fix talk/.github/prompts talk/prompts; cd talk || exit 1
echo 'return function(request) return request.last.text end' >sim.lua; printf -- '---\nname: a\n---\nYou.\n' >a.md
printf -- '---\ndescription: Fixes\nallowed-tools: Bash(*)\n---\nFix $1 in $ARGUMENTS. !`touch ran`\n' >.claude/commands/fix/bug.md
echo 'Plain.' >.claude/commands/plain.md
printf -- '---\nmode: agent\n---\nA form ${input:name:its name} and ${input:kind}.\n' >.github/prompts/form.prompt.md
printf '# Plans\nPlan {{days}} days.\n' >prompts/plan.md
what=chat; printf '/fix:bug one two\n/plain\n/plain now a=b\n/form name=My kind=x\n/form name=My\n/form words kind=y\n/plan days=3\n/plan 4\n/plam\n/none\n' | hocket chat a.md >out 2>err || fail "prompts"
same "$(cat out)" "Fix one in one two. !\`touch ran\`
Plain.
Plain.

ARGUMENTS: now a=b
A form My and x.
A form words and y.
Plan 3 days.
Plan 4 days."
has err "warning: /fix:bug: its keys have no effect, the agent keeps its own: allowed-tools"; same "$(grep -c 'keys have no effect' err)" 1
has err "the argument 'kind' is missing: write kind=VALUE"; has err "there is no command '/none'"; [ ! -e ran ] || fail "a prompt ran a command"
cd "$WORK" || exit 1

# No link brings another file of the machine, or one with keys, into a conversation.
cd talk && mkdir .claude/commands/in
echo SECRET >../secret; echo KEY=1 >.env; echo LINKED >linked.md
ln -s ../../secret prompts/far.md; ln -s ../../../../secret .claude/commands/in/far.md; ln -s ../../../secret .github/prompts/near.prompt.md; ln -s ../../.env .claude/commands/env.md; ln -s ../../linked.md .claude/commands/linked.md
what=chat; printf '/far\n/in:far\n/near\n/env\n/linked\n' | hocket chat a.md >out 2>err || fail "links"
same "$(cat out)" LINKED; for name in far in:far near env; do has err "there is no command '/$name'"; done
cd "$WORK" || exit 1

# A file of the project that would take hours to read.
mkdir slow; awk 'BEGIN { printf "SLOW @"; for (i = 0; i < 1000000; i++) printf "."; print "x" }' >slow/CLAUDE.md; agent slow/c.md 'project: true'; echo 'return function(request) return request.system:match "SLOW" or "no" end' >slow/sim.lua
cd slow && run hocket run -q --model sim c.md x; expect 0; has out SLOW
cd "$WORK" || exit 1

# A file of servers of another program that cannot be read takes away none of the project's own.
mkdir -p odd/.vscode; echo '{"mcpServers": {"ok": {"command": "true"}}}' >odd/.mcp.json; echo '{broken' >odd/.vscode/mcp.json
run hocket mcp --in odd list; expect 0; has out "ok "; has out ".vscode/mcp.json"; has out "left out: "

# How each key was read.
run hocket check --explain .claude/agents/reviewer.md; expect 0
has out "an agent of Claude Code"; has out "warning: 'tools' names tools that hocket does not have; they are left out: TodoWrite"; has out "anthropic/claude-sonnet-5; where none has a key"
run hocket check -e lead.md; expect 0; has out "an agent of hocket"

# A folder of theirs has no beginning: a person names the agent that is run.
mkdir -p many/.claude/agents; agent many/.claude/agents/a.md 'name: a\ntools: Task(c)'; agent many/.claude/agents/b.md 'name: b\ntools: Task(c)'; agent many/.claude/agents/c.md 'name: c\ntools: Read'
run hocket check many/.claude/agents; expect 0; has out "warning: which agent begins?"

# Agents of theirs as agents of ours: the same rights, and comments on the rest.
agent .claude/agents/strict.md 'name: strict\ndescription: "a: b # c"\ndisallowedTools: Write, Bash(rm *)\nmaxTurns: 7\nmodel: opus' 'Say {{x}}.'
run hocket new --from .claude/agents mine; expect 0; has out "mine/agents/reviewer.md"
has mine/agents/reviewer.md "# 'tools' names tools that hocket does not have; they are left out: TodoWrite"
has mine/agents/reviewer.md '# model: ["anthropic/claude-sonnet-5"]'
run hocket check mine; expect 0; hasnt out .claude
cp sim.lua mine
run hocket run -q mine/agents/reviewer.md x; same "$(cat out)" "Review {{this}}. [read_file search_files view_image]"
for key in tools approve max_turns description; do
  (hocket check -e .claude/agents/strict.md; hocket check -e mine/agents/strict.md) >explained 2>&1
  grep -q "$key" explained || fail "$key"
done
run hocket check -e mine/agents/strict.md; has out '"execute_command(rm *)"'; has out "a: b # c"; has out ": 7"
run hocket run -q mine/agents/strict.md x; has out "Say {{x}}. ["; hasnt out write_file
run hocket new --from .claude/agents mine; expect 1; has err "is not empty"
run hocket new --from strict.md other; expect 2; [ ! -e other ] || fail "made of nothing"
run hocket new --from nowhere other; expect 3; [ ! -e other ] || fail "made of nothing"

# What cannot be honoured is refused at each door, and formats that are not read are named.
agent .claude/agents/copy.md 'name: copy\nisolation: worktree'
run hocket check --explain .claude/agents/copy.md; expect 3; has out "an agent of Claude Code"; has out "error: 'isolation'"
run hocket check .claude/agents/copy.md; expect 3; has out "'isolation' would let the agent change a copy"
run hocket run .claude/agents/copy.md x; expect 3; has err "'isolation' would let"
printf 'name = "x"\n' >codex.toml; run hocket run codex.toml x; expect 3; has err "TOML, as Codex and Gemini CLI have them"
run hocket check codex.toml; expect 3; has out "TOML"
finish
