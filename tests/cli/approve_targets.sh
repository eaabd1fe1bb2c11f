#!/bin/sh
# A rule of approval that can match no tool, or no argument of its tool, is an error wherever it is said: otherwise what it was to
# stop would be let through.
. "$(dirname "$0")/lib.sh"
none="there is no tool 'bash': did you mean 'execute_command'?"
other="the rule is for no argument of execute_command: 'cmd' (there are: command, directory, timeout)"

agent() { # FILE RULE
  mkdir -p "$(dirname "$1")"; printf -- "---\ntools: [execute_command, ask_user]\napprove: {deny: ['%s']}\n---\nYou.\n" "$2" >"$1"
}
plain() { mkdir -p "$(dirname "$1")"; printf -- '---\ntools: [execute_command]\n---\nYou.\n' >"$1"; }
# each door with a wrong rule in the file: its exit code and words
by_file() { # CODE WORDS COMMAND…
  wanted=$1 words=$2; shift 2
  run timeout 30 "$HOCKET" "$@"; expect "$wanted"; cat out >>err; has err "$words"
}

# ---- An agent's file ----------------------------------------------------------------------------------------
for rule in bash 'execute_command(cmd=echo*)'; do
  agent one.md "$rule"; words="one.md:3:18: the rule binds nothing: $none"
  case $rule in *cmd*) words="one.md:3:18: $other";; esac
  by_file 3 "$words" check one.md
  by_file 3 "$words" run one.md hello
  by_file 3 "$words" run -a allow one.md hello
  by_file 3 "$words" chat one.md
  echo 'local hocket = require "hocket" return assert(hocket.run(hocket.agents("one.md").one, "hello"))' >of_file.lua
  run hocket run of_file.lua; [ "$code" != 0 ] || fail "a script that loads it"; has err "${words#*: }"
  printf 'local hocket = require "hocket"\nlocal a = hocket.agent { name = "a", prompt = "You.", tools = { "execute_command" }, approve = { deny = { "%s" } } }\nreturn assert(hocket.run(a, "hello"))' "$rule" >made.lua
  run hocket run made.lua; [ "$code" != 0 ] || fail "a script that makes one"; has err "${words#*: }"
done
agent one.md 'execute_*(cmd=*)'; by_file 3 "no tool of those that 'execute_*' is for has 'cmd'" check one.md
by_file 3 "no tool of those that 'execute_*' is for has 'cmd'" run one.md hello
agent one.md 'execute_*(command=*)'; run hocket check one.md; expect 0; run hocket run one.md hello; expect 0
agent one.md 'memory'; by_file 3 "there is no tool 'memory', but a set of tools" run one.md hello
agent one.md 'ask_user(x*)'; by_file 2 "ask_user has no main one: name it, as in 'ask_user(argument=x*)' (there are: question" run one.md hello
# Tools of a server are known when it is there; those of a script where it says so.
printf -- "---\nmcp: {files: {command: 'false', optional: true}}\napprove: {deny: ['files__write', 'files__*', '*__write']}\n---\nYou.\n" >one.md
run hocket check one.md; expect 0; run hocket run one.md hello; expect 0
printf -- "---\napprove: {deny: ['other__write']}\n---\nYou.\n" >one.md
by_file 3 "there is no tool 'other__write'" run one.md hello
agent own/agents/a.md look_up; by_file 3 "there is no tool 'look_up'" run own/agents/a.md hello
echo '--- @hocket.tools look_up' >own/main.lua; run hocket check own; expect 0; run hocket run own/agents/a.md hello; expect 0

# ---- Words: --approve, HOCKET_APPROVE -------------------------------------------------------------------------
plain two.md
for rule in bash 'execute_command(cmd=*)'; do
  words="--approve: the rule binds nothing: $none"
  case $rule in *cmd*) words="--approve: $other";; esac
  by_file 2 "$words" run -a "$rule=deny" two.md hello
  by_file 2 "$words" run -a "$rule=ask" -a allow two.md hello
  by_file 2 "$words" chat -a "$rule=deny" two.md
  by_file 2 "$words" serve --listen 127.0.0.1:0 -a "$rule=deny" two.md
  by_file 2 "$words" mcp serve -a "$rule=deny" two.md
  by_file 2 "$words" acp -a "$rule=deny" two.md
  by_file 2 "$words" run -d --store runs.db -a "$rule=deny" two.md hello
  by_file 2 "$words" schedule --store runs.db add -a "$rule=deny" '0 6 * * *' two.md hello
  HOCKET_APPROVE="$rule=deny"; export HOCKET_APPROVE
  by_file 2 "HOCKET_APPROVE: ${words#*: }" run two.md hello
  unset HOCKET_APPROVE
done
HOCKET_APPROVE='execute_command(cmd=*)=deny'; export HOCKET_APPROVE
by_file 2 "HOCKET_APPROVE: $other" work --store runs.db
HOCKET_APPROVE=frobnicate=deny; run hocket run two.md hello; expect 0 # a tool that other projects may have
unset HOCKET_APPROVE
by_file 2 "there is no tool 'frobnicate'" run -a frobnicate=deny two.md hello
run hocket run -a 'write_file=deny' -a 'execute_command(command=x)=deny' -a 'execute_command(x *)=deny' -a '*=ask' two.md hello; expect 0

# A script brings tools of its own: those of its names are no slips.
cat >tools.lua <<'X'
local hocket = require "hocket"
local bash = hocket.tool { name = "bash", description = "x", parameters = { type = "object", properties = { line = { type = "string" } } }, run = function() return "x" end }
local first, second = hocket.agent { name = "first", prompt = "You." }, hocket.agent { name = "second", prompt = "You.", tools = { bash } }
assert(hocket.run(first, "one"))
return assert(hocket.run(second, "two"))
X
for rule in bash 'bash(line=x)' frobnicate; do run hocket run -a "$rule=deny" tools.lua; expect 0; done
for rule in shell memory; do by_file 2 "there is no tool '$rule'" run -a "$rule=deny" tools.lua; done
run hocket run -a 'bash(cmd=x)=deny' tools.lua; [ "$code" != 0 ] || fail "an argument that it has not"
has err "--approve: the rule is for no argument of bash: 'cmd' (there are: line)"
run hocket run -a 'bash(x*)=deny' tools.lua; [ "$code" != 0 ] || fail "a main argument"; has err "bash has no main one"
# In a run of its own, of a script's.
echo 'local hocket = require "hocket" local run, err = hocket.start(hocket.agents("two.md").two, "hello", { approve = "bash=deny" }) print(select(2, run:wait()))' >start.lua
run hocket run start.lua; cat out >>err; has err "--approve: the rule binds nothing: $none"

# What is served may be several: rules for another one's tools are no slips.
plain several/a.md; cp tools.lua several/b.lua
"$HOCKET" serve --listen 127.0.0.1:0 --no-token -a bash=deny several/a.md several/b.lua >out 2>serving & server=$!
at_end() { kill $server 2>/dev/null; }
until_true grep -qs http out serving; url=$(cat out serving | grep -oE 'http://[0-9.:]+' | head -n 1)
what="a run of the other one"
run curl -s -X POST "$url/v1/chat/completions" -H 'content-type: application/json' -d '{"model":"a","messages":[{"role":"user","content":"hello"}]}'
has out 'You said: hello'
kill -TERM $server; wait $server; code=$?; expect 0
finish
