# What scripts write keeps its order, and never stands between the lines of --json, of --events - or of a protocol.
. "$(dirname "$0")/lib.sh"
mkdir -p p/agents
cat >p/mod.lua <<'X'
return { say = function()
  print "a module's print"
  io.write "a module's write\n"
end }
X
cat >p/main.lua <<'X'
local hocket = require "hocket"
local mod = require "mod"
io.write("written\n")
print "printed"
io.stdout:write("half ", 1, "\n")
assert(tostring(io.stdout):find "^file" and io.type(io.stdout) == "file" and io.output() == io.stdout)
local file = io.output("made.txt")
io.write "to a file"
io.close(file)
io.output(io.stdout)
mod.say()
hocket.events.emit("output", { text = "emitted" })
hocket.flow.sleep(0.01)
coroutine.wrap(function() io.write("of a coroutine\n") end)()
print "last"
return "answer"
X
cat >want <<'X'
written
printed
half 1
a module's print
a module's write
emitted
of a coroutine
last
answer
X
for store in off memory; do
  run hocket run -q --trust --store $store p/main.lua x
  expect 0
  cmp -s want out || fail "the order of what is written ($store): $(cat out)"
  same "$(cat made.txt)" "to a file"
  run hocket run -q --trust --store $store --events ev p/main.lua x
  cmp -s want out || fail "the same with a file of events: $(cat out)"
  has ev '"type":"output","text":"printed"'
  rm ev
  run hocket run -q --trust --store $store --json p/main.lua x
  expect 0
  same "$(grep -c '^{' out) $(grep -c '' out)" "1 1"
  has err "half 1"
  has err "printed"
  run hocket run -q --trust --store $store --events - p/main.lua x
  expect 0
  same "$(grep -c '^{' out)" "$(grep -c '' out)"
  has err "half 1"
  has out '"type":"output","text":"printed"'
done

# A final answer comes once, the last one before the end, also where a script emits it.
cat >answers.lua <<'X'
local hocket = require "hocket"
hocket.events.emit("final_answer", { content = "first", from = "a script" })
hocket.events.emit("final_answer", { content = "said", from = "a script" })
return ...
X
for input in "" returned; do
  run hocket run -q --store off --events ev answers.lua $input
  expect 0
  same "$(cat out)" "${input:-said}"
  same "$(grep -c '"type":"final_answer"' ev)" 1
  grep '"type":"final_answer"' ev >final
  has final "\"content\":\"${input:-said}\",\"from\":\"a script\""
  rm ev
done

# A stdout that takes nothing is said, whichever way the script has written.
printf '%s\n' 'print "x"' >say.lua
printf '%s\n' 'io.write "x"' >write.lua
for script in say write; do
  "$HOCKET" run -q --store off $script.lua >/dev/full 2>err
  code=$?
  expect 1
  has err "cannot write to stdout"
done

# A script that is a server itself: each line has its answer before the next one is sent.
cat >server.lua <<'X'
for line in io.lines() do
  io.stdout:write("got ", line, "\n"):flush()
end
X
mkfifo to from
"$HOCKET" run -q --store off server.lua <to >from 2>err &
exec 3>to 4<from
for n in one two; do
  echo $n >&3
  read -r answer <&4
  same "$answer" "got $n"
done
exec 3>&- 4<&-
wait $! || fail "the server should end well: $(cat err)"

# Standard output of a server is the protocol's, also while its scripts are loaded.
cat >p/agents/one.md <<'X'
---
name: one
description: One
---
One.
X
cat >p/agents/main.lua <<'X'
print "loaded"
io.write "and written\n"
return "answered"
X
cat >own.lua <<'X'
for i = 1, 200 do print(("before "):rep(10) .. i) end
io.write "it begins\n"
require("hocket").mcp.serve { name = "own", tools = { { name = "look", description = "x", run = function()
  print "looking"
  io.write "around\n"
  return "seen"
end } } }
X
cat >asked <<'X'
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"TOOL","arguments":{"input":"x"}}}
X
# Its input stays open until the last answer has come.
ask() {
  sed "s/TOOL/$1/" asked >lines
  shift
  "$HOCKET" "$@" <to >from 2>err &
  exec 3>to 4<from
  cat lines >&3
  : >out
  while [ "$(grep -c '^{' out)" -lt 3 ] && read -r answer <&4; do printf '%s\n' "$answer" >>out; done
  exec 3>&-
  cat <&4 >>out
  exec 4<&-
  wait $!
  same "$(grep -c '^{' out) of $(grep -c '' out)" "3 of 3"
}
ask agents mcp serve --trust --store off --model sim p/agents
has err "and written"
has out answered
ask look run -q --store off own.lua
has err around
has out seen

# An editor is shown what a script prints in a turn; what it prints while it is loaded is on stderr, and nowhere else.
cat >p/talk.lua <<'X'
print "loading"
io.write "and writing\n"
return { chat = function(input)
  print("heard " .. input)
  return "answered"
end }
X
cat >first <<X
{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}
{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"$PWD","mcpServers":[]}}
X
for store in off memory; do
  "$HOCKET" acp --trust --store $store --model sim p/talk.lua <to >from 2>err &
  exec 3>to 4<from
  cat first >&3
  : >out
  until grep -q '"id":2,' out; do
    read -r answer <&4 || break
    printf '%s\n' "$answer" >>out
    id=$(printf '%s\n' "$answer" | sed -n 's/.*"id":1,.*"sessionId":"\([^"]*\)".*/\1/p')
    [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"%s","prompt":[{"type":"text","text":"you"}]}}\n' "$id" >&3
  done
  exec 3>&-
  cat <&4 >>out
  exec 4<&-
  wait $! || fail "the agent of an editor ended badly: $(cat err)"
  same "$(grep -c '^{' out)" "$(grep -c '' out)"
  has err loading
  has err "and writing"
  hasnt out loading
  has out "heard you"
  has out answered
  hasnt err "heard you"
done

# So is that of a report.
printf '%s\n' 'io.write "noise\n"' 'return "answer"' >noisy.lua
printf '%s\n' 'cases:' '  - {name: a, target: noisy.lua, input: x, expect: {contains: answer}}' >a.eval.yaml
run hocket eval --store off --json - a.eval.yaml
has err noise
hasnt out noise
finish
