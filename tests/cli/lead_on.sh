# Commands that lead on: a question without a target, a slip of the pen, the menu, and the lists of agents and tools.
. "$(dirname "$0")/lib.sh"

# Without a terminal a question is no target: nothing runs, and nothing costs money.
for word in "how do I count words?" "write me a poem" "a b.md" "a b.lua" "a b/c"; do
  run hocket run "$word"
  expect 2; empty out; hasnt err "simulated" # which would say that a model was asked
done
run hocket run "how do I count words?"
has err "hocket run assistant"
run hocket run write me a poem # without quotes the first word is the target
expect 2; has err "there is no file, folder or agent 'write'"; has err "hocket run assistant"
mkdir trip
run hocket run tripp "three days"
expect 2; has err "did you mean 'trip'?"
run hocket run asistant hello
expect 2; has err "did you mean 'assistant'?"
run hocket run trip/agents/cok.md hello
expect 2; has err "there is no file, folder or agent 'trip/agents/cok.md'"; hasnt err "run 0" # which nobody can resume
run hocket chat trip/agents/cok.md
expect 2; has err "there is no file, folder or agent 'trip/agents/cok.md'"
run hocket run trip/agents/cook.md/cok.md hello
expect 2; has err "there is no file, folder or agent 'trip/agents/cook.md/cok.md'"
for word in "write me a poem" asistant trp; do
  run hocket run "$word" hello </dev/null
  expect 2; hasnt err "run 0"
done
run hocket run --json asistant; expect 2; has out '"ok":false'
run hocket runs; hasnt out "cok.md"; hasnt out "asistant"; hasnt out "poem"
mkdir -p workflows
echo 'print "a workflow"' >workflows/stroll.lua
run hocket run --trust stroll; expect 0; has out "a workflow" # a name of the project's own is no slip
run hocket runs; has out "stroll"
rm -r workflows
run hocket
expect 2; has err "a command is missing"

# What there is: every agent and every tool, with what it is for.
run hocket agents
expect 0
for file in "$ROOT"/agents/*.md; do
  name=$(basename "$file" .md)
  [ "$name" = README ] || has out "  $name "
done
has out "at most 40 model calls"; has out "tools: web_search, web_fetch"
same "$(awk 'length > 79' out | grep -c .)" 0 # no word is cut on a narrow terminal
run hocket agents --json
expect 0; has out '"model_calls":'; has out '"from":"hocket"'
run hocket agents "$ROOT/examples/travel"
expect 0; has out "sightseeing"; has out "calls logistics, food, sightseeing"
run hocket agents nowhere
expect 1; has err "nowhere"
run hocket tools
expect 0
for name in $("$HOCKET" run "$ROOT/tests/cli/tool_names.lua"); do
  grep -q "^  $name  *[^ ]" out || fail "hocket tools says nothing of '$name'"
done
! grep -qF "(no description)" out || fail "a tool has no description (lua/hocket/internal/commands/list.lua)"
has out "execute_command     Run a shell command"; has out "(needs approval)"
run hocket tools --json
expect 0; has out '"asks":true'

# Each agent that comes with hocket runs by its name.
for file in "$ROOT"/agents/*.md; do
  name=$(basename "$file" .md)
  [ "$name" = README ] || { run hocket run -q --model sim "$name" "Compare tea and coffee"; expect 0; [ -s out ] || fail "$name says nothing"; }
done

# An option's other name, a folder in a server's place, a word that was meant as an option.
run hocket serve --port 8080
expect 2; has err "did you mean '--listen ADDRESS:PORT'?"
run hocket mcp doctor .
expect 2; has err "hocket mcp --in . doctor"
run hocket version
expect 0; has out "hocket "

# Without a model: two lines, and the reason once for all agents.
unset HOCKET_MODEL
export OLLAMA_HOST=http://127.0.0.1:1 LLAMACPP_BASE_URL=http://127.0.0.1:1/v1
run hocket run "$ROOT/examples/team/agents" "Two days"
expect 4; same "$(grep -c "no key is set" err)" 2; has err "security-reviewer failed for the same reason"
same "$(sed -n '/^error:/,$p' err | grep -vc '^run ')" 2
export HOCKET_MODEL=sim

need_pty
run "$PTY" -- "$HOCKET" run --no-color "how do I count words?"
expect 0; has out "no target was named, so the assistant answers"
has out "no model is connected"; has out "hocket new my-team"; hasnt out "You said:" # an echo helps nobody
for word in "a b.md" "a b.lua" "a b/c" "word"; do
  run "$PTY" -- "$HOCKET" run --no-color "$word"
  expect 2; has out "there is no file, folder or agent"
done
run "$PTY" -- sh -c '"$0" run "how do I count words?" 2>err2' "$HOCKET" # stderr is nobody's
expect 2
echo 'return "from the file"' >"a script"
mkdir "a team" && printf -- '---\nname: one\n---\nOne.\n' >"a team/one.md"
run "$PTY" -- "$HOCKET" run --no-color "a team" hello # it is there
expect 0; hasnt out "the assistant answers"
run "$PTY" -w "leave: " line:3 -- "$HOCKET"
expect 0; has out "hocket chat assistant"; has out "at most 40 model calls"
for answer in "" x 0 99; do
  run "$PTY" -w "leave: " "line:$answer" -- "$HOCKET"
  expect 0; hasnt out "at most 40 model calls"
done
run "$PTY" -w "leave: " line:2 -- "$HOCKET"
expect 0; [ -f my-team/main.lua ] || fail "the menu made no project"

# While an answer comes no word is cut at the end of a line: one that has no room begins the next.
mkdir words
printf -- '---\nname: a\n---\nA.\n' >words/a.md
echo 'return function() return { text = "The fox jumps over the lazy dog, and incomprehensible considerations notwithstanding it goes on.", pause = 0.02 } end' >words/sim.lua
run "$PTY" -c 44 -w "you> " line:hello -w "goes on" wait:10 -w "you> " key:4 -- "$HOCKET" chat --no-color words/a.md
expect 0; has out "considerations"; hasnt out "and incomprehensible"

# Where the locale has only ASCII, our own words have no other signs.
team plain
run env LC_ALL=C "$PTY" -- "$HOCKET" run --no-color plain "Two days in Rome"
expect 0; has out "lead"
LC_ALL=C grep -n '[^ -~[:cntrl:]]' out >signs; empty signs
team narrow 0.3 # a row of the progress that is cut
run env LC_ALL=C "$PTY" -c 40 -- "$HOCKET" run --no-color narrow "Two days in Rome"
expect 0; LC_ALL=C grep -n '[^ -~[:cntrl:]]' out >signs; empty signs
run env LC_ALL=C "$HOCKET" run plain "Two days in Rome"
LC_ALL=C grep -n '[^ -~[:cntrl:]]' err >signs; empty signs
finish
