# What a person sees: the live view on a terminal, plain lines in a pipe.
. "$(dirname "$0")/lib.sh"
need_pty
team t 0.06
esc=$(printf '\033')
pty() { "$PTY" "$@"; }

# What a model thinks aloud is dimmed, and in no answer.
mkdir d
printf -- '---\nname: aloud\n---\nThink.\n' >d/aloud.md
echo 'return function() return "<think>Perhaps not.</think>Yes." end' >d/sim.lua
run hocket run d/aloud.md hello
expect 0; same "$(cat out)" "Yes."; hasnt err "Perhaps"
run hocket run -v d/aloud.md hello
same "$(cat out)" "Yes."; has err "aloud Perhaps not."
run pty -- "$HOCKET" run -v d/aloud.md hello
has out "${esc}[2m  aloud         Perhaps not."
id=$(hocket runs --json | grep -o '"id":"[^"]*"' | head -1 | cut -d'"' -f4)
run hocket show "$id" --agent aloud
expect 0; has out "Perhaps not."

# The answer as it comes: in the view, which is cleared; then once, as a whole. After Ctrl-C what had come stays.
cat >d/sim.lua <<'LUA'
return function(q)
  if q.last.text == "never" then return { text = "one two three", fragment = 4, pause = 1 } end
  return { text = ("word "):rep(60) .. "end", fragment = 8, latency = 0.2, pause = 0.015 }
end
LUA
run pty -- "$HOCKET" run d/aloud.md hello
expect 0; has out "writing"; has out "first token after 0."; has out " tokens/s"
same "$(tr '\r' '\n' <out | grep -c 'word end')" 1
tail -c 600 out | tr '\r' '\n' | grep -q "^word word" || fail "the answer whole, at the end"
run pty -- sh -c '"$0" run d/aloud.md hello >answer' "$HOCKET"
expect 0; has answer "word end"; hasnt answer "$esc"; has out "writing"; hasnt out "word end"
hocket run --events ev d/aloud.md hello >/dev/null 2>&1; hasnt ev model_delta
run pty -w writing key:3 -- "$HOCKET" run d/aloud.md never
expect 130; has out "${esc}[Kone"; has out "interrupted"

# What a script warns of comes before what follows; where the error says the same, it is told once.
cat >warns.lua <<'LUA'
local hocket = require "hocket"
local words = ...
hocket.events.emit("warning", { message = "no such thing" })
if words == "fail" then
  hocket.flow.sleep(0.02)
  return nil, "no such thing"
end
if words == "ask" then return hocket.ask "Which?" end
hocket.events.emit("output", { text = "printed" })
return "answered"
LUA
run pty -- "$HOCKET" run warns.lua fail
expect 1; same "$(grep -c "no such thing" out)" 1
run pty -w "> " line:this -- "$HOCKET" run warns.lua ask
expect 0; same "$(grep -o -e "no such thing" -e "Which" out | tr '\n' ' ')" "no such thing Which "
run pty -- "$HOCKET" run warns.lua plain
expect 0; same "$(grep -o -e "no such thing" -e printed -e answered out | tr '\n' ' ')" "no such thing printed answered "

# In a pipe: lines with the time, no escapes, and no escapes in the answer.
run hocket run t hello
expect 0; hasnt err "$esc"; hasnt out "$esc"
grep -q '^[0-9][0-9]:[0-9][0-9]:[0-9][0-9] one started: task 1$' err || fail "a line for the start"
grep -q '^[0-9:]* lead planned 2 tasks: one 1, two 1$' err || fail "a line for the plan"
has err " model calls, "
run hocket run -v t hello
has err "write_section"; has err "replied: 1 tool call"
run hocket run -q t hello
hasnt err "planned"

# On a terminal: rows that are erased, the cursor hidden and shown again, the answer whole.
run pty -- "$HOCKET" run t hello
expect 0; has out "${esc}[?25l"; has out "${esc}[A${esc}[K"; has out "tasks ·"; has out "${esc}[36m"
same "$(tail -c 400 out | grep -c "${esc}\[?25h")" 1
has out "General"
run pty -- sh -c '"$0" run t hello >answer' "$HOCKET"
expect 0; hasnt answer "$esc"; has answer "## General"; has out "tasks ·"
run pty -- sh -c 'NO_COLOR=1 "$0" run t hello >answer' "$HOCKET"
expect 0; hasnt out "${esc}[36m"; hasnt out "${esc}[33m"; hasnt out "${esc}[2m"; has out "tasks ·"
run pty -- "$HOCKET" run --no-color t hello
hasnt out "${esc}[36m"; has out "tasks ·"
run pty -- env TERM=dumb "$HOCKET" run t hello
expect 0; hasnt out "$esc"; has out "planned 2 tasks"
run pty -- "$HOCKET" run -q t hello
expect 0; hasnt out "${esc}[A"
run pty -- env LC_ALL=de_DE.ISO-8859-1 "$HOCKET" run t hello
expect 0; hasnt out "━"; has out "tasks, "

# A failed task does not read as done.
mkdir f; cp -r t/agents f/agents
cat >f/sim.lua <<'LUA'
local team = require "hocket.sim.team" { latency = 0.06 }
return { latency = 0.2, reply = function(request)
  if request.tools.create_tasks or request.system:find "One" then return team.reply(request) end
  return { status = 400, error = "boom" }
end }
LUA
run pty -- "$HOCKET" run f hello
expect 0; has out "1/2 tasks, 1 failed"; hasnt out "2/2 tasks"

# No row is wider than the terminal, also after it became narrower.
run pty -c 30 -- sh -c '"$0" run t hello >answer' "$HOCKET"
expect 0
run pty -w "waiting for" columns:40 -w "tasks ·" wait:0 -- "$HOCKET" run t hello
expect 0; has out "General"
run pty -c 1 -r 1 -- "$HOCKET" run t hello
expect 0; hasnt out "${esc}[A" # one row, and so one to erase
# Where names leave no room beside them, words stand below them.
run pty -c 24 -- "$HOCKET" run t hello
expect 0; has out "✓${esc}[0m one: finished 1"

# Ctrl-C gives the cursor back, at once or in order.
run pty -w "waiting for" key:3 -- "$HOCKET" run t hello
expect 130; has out "interrupted"; has out "the run is stored; next: hocket resume"; hasnt out "cancelled after"; hasnt out "finished"; same "$(tail -c 200 out | grep -c "${esc}\[?25h")" 1
if [ "${SANITIZE:-}" != thread ]; then # which delivers no signal to a loop that calls nothing
  echo 'print "begun" require("hocket").flow.sleep(0.3) while true do end' >busy.lua
  run pty -w begun wait:500 -w "" key:3 -w "" wait:300 -w "" key:3 -- "$HOCKET" run busy.lua
  expect 130; same "$(tail -c 40 out | grep -c "${esc}\[?25h")" 1
fi

# An answer is shown as Markdown, wrapped at words; JSON, a pipe and a dumb terminal have it as it is.
cat >md.lua <<'X'
return "# Plan\n\nA **bold** word, and a line that is too long for forty columns.\n\n- one\n- two\n"
X
run pty -c 40 -- "$HOCKET" run -q --no-color md.lua
expect 0; same "$(tr -d '\r' <out)" "Plan

A bold word, and a line that is too long
for forty columns.

• one
• two"
run pty -- "$HOCKET" run -q md.lua
has out "A ${esc}[0;1mbold${esc}[0m word"
echo 'return [[{"a": "**b**"}]]' >json.lua
run pty -- "$HOCKET" run -q json.lua
has out '{"a": "**b**"}'
run hocket run -q md.lua
has out "# Plan"; has out "A **bold** word"
TERM=dumb run pty -- "$HOCKET" run -q md.lua
has out "A **bold** word"

# In a conversation what is complete is shown so while the rest comes.
mkdir talk && printf -- '---\nname: guide\ndescription: talks\n---\nYou talk.\n' >talk/guide.md
cat >talk/sim.lua <<'X'
return function() return { text = "# Title\n\nSome **bold** text.\n\n```\ncode **x**\n```\nend", fragment = 3, pause = 0.01 } end
X
run pty -w "you>" key:4 -- "$HOCKET" chat --no-color talk/guide.md hello
expect 0; has out "Some bold text."; has out "    code **x**"; has out "${esc}[J"

# A conversation in which nothing was said is not kept.
run pty -w "you>" key:4 -- "$HOCKET" chat --no-color --store quiet.db talk/guide.md
expect 0; hasnt out "is stored"
run hocket runs --store quiet.db
expect 0; has err "there are none"
run pty -w "you>" key:4 -- "$HOCKET" chat --no-color --store quiet.db talk/guide.md hello
has out "is stored"; run hocket runs --store quiet.db; has out "waiting"

run hocket chat --store left.db talk/guide.md # in a pipe it waits for messages of others
expect 0; has err "is stored"; run hocket runs --store left.db; has out "waiting"

# What is said beside calls is whole before they are shown, and shown once.
mkdir calls && printf -- '---\nname: guide\ndescription: talks\ntools: [list_directory]\n---\nYou talk.\n' >calls/guide.md
cat >calls/sim.lua <<'X'
return function(q)
  if q.last.role ~= "user" then return "done" end
  return { text = "Let me look at this.", fragment = 5, pause = 0.01, calls = { { name = "list_directory", arguments = { path = "." } } } }
end
X
run pty -w "you>" key:4 -- "$HOCKET" chat --no-color calls/guide.md hello
expect 0; has out "list_directory"
sed '/list_directory/q' out | grep -q "at this\." || fail "the text before its calls"
same "$(sed '1,/list_directory/d' out | grep -c 'Let me')" 0

# What a model or a script writes is shown, not obeyed.
cat >attack.lua <<'X'
require("hocket").events.emit("warning", { message = "warn\27[2Jing \155 \r\nnext" })
print "print \27]0;title\7\27[31mred"
return "answer \27[2J\194\155 \8 end\u{202E}"
X
run pty -- "$HOCKET" run attack.lua
expect 0
hasnt out "${esc}[2J"; hasnt out "${esc}]0"; hasnt out "${esc}[31m"; hasnt out "$(printf '\302\233')"
has out "answer ^[[2J<U+009B> ^H end<U+202E>"; has out "print ^[]0;title^G^[[31mred"; has out "warn^[[2Jing"
run hocket run attack.lua # in a pipe the answer is the answer, byte for byte
has out "answer ${esc}[2J"; hasnt err "$esc"
finish
