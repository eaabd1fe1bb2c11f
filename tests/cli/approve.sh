#!/bin/sh
# Who may say what about tool calls: the operator, the command line, the agents' files.
. "$(dirname "$0")/lib.sh"
export HOCKET_STORE=off # a run that is kept waits until somebody is there: see kept.sh

mkdir -p team/agents
cat >team/agents/main.md <<'TEXT'
---
name: main
tools: [write_file]
agents: [helper]
approve:
  deny: ["write_file(*.lock)"]
---
Lead.
TEXT
cat >team/agents/helper.md <<'TEXT'
---
name: helper
tools: [write_file]
---
Help.
TEXT
# The input says which paths are written, one after the other, by whom.
cat >team/sim.lua <<'TEXT'
return function(request)
  local n, texts, wish = 0, {}, request.messages[1].text
  for _, message in ipairs(request.messages) do
    if message.role == "tool" then n, texts[#texts + 1] = n + 1, message.text end
  end
  local words = {}
  for word in wish:gmatch "%S+" do words[#words + 1] = word end
  local word = words[n + 1]
  if not word then return { text = table.concat(texts, "\n") } end
  if word:find "^helper:" then
    return { calls = { { name = "delegate", arguments = { agent_name = "helper", prompt = word:sub(8) } } } }
  end
  return { calls = { { name = "write_file", arguments = { path = word, content = "x" } } } }
end
TEXT

# try "VARIABLE=VALUE" ARGUMENTS…
try() {
  setting=$1
  shift
  rm -rf work && mkdir work
  run env "$setting" "$HOCKET" run team/agents --workdir work --model sim/default "$@"
  expect 0
}
there() { for file in "$@"; do [ -f "work/$file" ] || fail "$file should have been written"; done; }
absent() { for file in "$@"; do [ ! -e "work/$file" ] || fail "$file should not have been written"; done; }

try A=1 "a.txt"
absent a.txt
has out "it changes files; it needs approval, and nobody is there to give it"
has err "warning: main write_file was not allowed: it needs approval, and nobody is there to give it" # whatever the model says
try A=1 --approve allow "a.txt b.lock .git/config helper:c.txt helper:d.lock"
there a.txt c.txt
absent b.lock .git/config d.lock
has out "the agent main says deny for write_file with '*.lock'"
has out "'.git/config' is a protected place"
try A=1 --approve deny "a.txt"
absent a.txt
try A=1 --approve 'write_file(docs/*)=allow' "a.txt docs/b.txt x/../docs/c.txt docs/../d.txt"
there docs/b.txt docs/c.txt
absent a.txt d.txt
has out "--approve allows write_file for other arguments only"

# No rule reaches a protected place; whoever runs the host may name one.
try A=1 --approve allow --approve 'write_file(.git/info/*)=allow' ".git/info/exclude .vscode/tasks.json a.txt"
there a.txt
absent .git/info/exclude .vscode/tasks.json
try "HOCKET_SANDBOX_WRITE=$PWD/work/.git/info" --approve allow ".git/info/exclude .git/config sub/.git/info/exclude"
there .git/info/exclude
absent .git/config sub/.git/info/exclude

# What would run the next time is not left beside the agents.
run "$HOCKET" run team --workdir team --model sim/default --approve allow "main.lua agents/new.md sim.lua agents/tool.lua notes.txt"
expect 0
[ -f team/notes.txt ] || fail "notes.txt should have been written"
[ ! -e team/main.lua ] && [ ! -e team/agents/new.md ] && [ ! -e team/agents/tool.lua ] || fail "something was added to the team"
has out "'main.lua' is a protected place"

# Nor is what a person has trusted, where the work is in a home.
try "HOME=$WORK/work" --approve allow ".local/state/hocket/trust a.txt"
there a.txt
absent .local/state/hocket/trust
try "XDG_STATE_HOME=$WORK/work/state" --approve allow "state/hocket/trust"
absent state/hocket/trust

# What the operator says is the most that there is.
try HOCKET_APPROVE=ask --approve allow "a.txt"
absent a.txt
try HOCKET_APPROVE=deny --approve allow --approve write_file=allow "a.txt"
absent a.txt
try HOCKET_APPROVE=allow "a.txt"
there a.txt
try HOCKET_APPROVE=allow --approve deny "a.txt"
absent a.txt
try HOCKET_APPROVE=allow --approve ask "a.txt"
absent a.txt
try HOCKET_APPROVE=write_file=allow --approve deny "a.txt"
absent a.txt
try HOCKET_APPROVE=allow --approve deny --approve 'write_file(a.*)=allow' "a.txt b.txt"
there a.txt
absent b.txt
try "HOCKET_APPROVE=allow, write_file(a.*)=deny" "a.txt b.txt"
there b.txt
absent a.txt
try "HOCKET_APPROVE=allow, write_file(a.*)=deny" --approve 'write_file(a.*)=allow' "a.txt b.txt"
absent a.txt b.txt

# What is no rule is said before anything is done.
run "$HOCKET" run team/agents --model sim/default --approve perhaps "a.txt"
expect 2
has err "expected allow, ask or deny, or RULE=allow"
run "$HOCKET" run team/agents --model sim/default --approve 'write_file(=allow' "a.txt"
[ "$code" != 0 ] || fail "a rule that is none was taken"
has err "is no rule"
run env HOCKET_APPROVE=perhaps "$HOCKET" run team/agents --model sim/default "a.txt"
[ "$code" != 0 ] || fail "a word that is none was taken"
has err "HOCKET_APPROVE"
finish
