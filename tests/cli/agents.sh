# Agents' files from the command line: what check prints, pictures, programs, variables.
. "$(dirname "$0")/lib.sh"
mkdir -p t/agents
printf -- '---\nadvisors: [b]\nhandoff: c\n---\nA.\n' >t/agents/a.md
printf -- '---\nname: b\ntools: [read_file]\n---\nB.\n' >t/agents/b.md
printf -- '---\nname: c\n---\nC.\n' >t/agents/c.md

# Bounds and pictures.
run hocket check t; expect 0; same "$(cat out)" "OK: 3 agents and 0 scripts"
run hocket check -v t; expect 0; has out "a: reaches agents b, c; tools read_file; 1 deep, 1 side by side, 120 model calls at most"
run hocket check --graph t; expect 0; same "$(head -1 out)" "flowchart TD"; has out "a1 ==>|hands off to| a3"; empty err
run hocket check --json --graph t; expect 0; same "$(wc -l <out)" 1; has out '"graph":"flowchart TD'; has out '"model_calls":120'

# A warning is shown, and is no failure; beside a picture it goes to stderr.
printf -- '---\nname: c\ntask_limit: 3\n---\nC.\n' >t/agents/c.md
run hocket check t; expect 0; has out "t/agents/c.md:3:13: warning: 'task_limit' says nothing here"; has out "OK: "
run hocket check -g t; expect 0; has err "warning: 'task_limit'"; same "$(head -1 out)" "flowchart TD"
run hocket check -j t; expect 0; has out '"severity":"warning"'

# A circle, over two kinds of edges.
printf -- '---\nname: c\nagents: [a]\n---\nC.\n' >t/agents/c.md
run hocket check t; expect 3; has out "t/agents/c.md:3:10: agents that call each other in a circle: a -handoff-> c -agents-> a"
has err "1 problem"
run hocket check -j t; expect 3; has out '"code":"cycle"'
run hocket run t/agents/a.md hello; expect 3; has err "in a circle"

# A directory with two teams: check takes both, run wants one.
mkdir -p two/x two/y
printf -- '---\nname: a\n---\nA.\n' >two/x/a.md; cp two/x/a.md two/y/a.md
run hocket check two; expect 0; has out "2 agents"
run hocket run two hello; expect 3; has err "two: holds several teams: two/x, two/y: name one of them"
run hocket run two/x hello; expect 0
mkdir two/agents; cp two/x/a.md two/agents/a.md
run hocket run two hello; expect 0

# An agent that is a program, alone and with agents beside it.
mkdir "prog s"; ln -s "$HOCKET" "prog s/hocket"
printf '#!/usr/bin/env -S hocket run\n---\ndescription: x\n---\nYou write {{what}}.\n' >"prog s/poet"
chmod +x "prog s/poet"
run env PATH="$WORK/prog s:$PATH" "$WORK/prog s/poet" --set what=poems "The first snow"; expect 0
run env PATH="$WORK/prog s:$PATH" "$WORK/prog s/poet" "The first snow"
expect 3; has err "poet:5: the variable 'what' has no value"
printf '#!/usr/bin/env -S hocket run\n---\nagents: [critic]\n---\nYou ask.\n' >"prog s/poet"
printf -- '---\nname: critic\n---\nNo.\n' >"prog s/critic.md"
echo "No agent." >"prog s/README.md"
run env PATH="$WORK/prog s:$PATH" "$WORK/prog s/poet" "The first snow"; expect 0
# A value that goes nowhere is told: it is a slip as a rule.
mkdir -p values
printf -- '---\nname: a\nvariables: {topic: tea}\nhandoff: b\n---\nA {{topic}}.\n' >values/a.md
printf -- '---\nname: b\n---\nB {{tone}}.\n' >values/b.md
run hocket run --model sim values --set tpoic=milk --set tone=dry hello
expect 0; has err "warning: the variable 'tpoic' is given, but no prompt has a place for it: did you mean 'topic'?"; hasnt err "'tone'"

# Whoever reads the answer learns that another model gave it.
mkdir -p spare
printf -- '---\nname: a\nmodel: [xai/grok-4.6, sim/main]\n---\nA.\n' >spare/a.md
run env -u XAI_API_KEY -u XAI_BASE_URL "$HOCKET" run spare hello
expect 0; has err "warning: a falls back from xai/grok-4.6 on sim/main: xai needs a key"
finish
