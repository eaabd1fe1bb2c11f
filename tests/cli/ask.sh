# Questions and approvals: asked on a terminal, told and denied elsewhere.
. "$(dirname "$0")/lib.sh"
export HOCKET_STORE=off # a run that is kept waits until somebody is there: see kept.sh
need_pty
esc=$(printf '\033')
pty() { "$PTY" "$@"; }

cat >ask.lua <<'X'
local answer, err = require("hocket").ask "Which year?"
if not answer then return nil, err end
return "year " .. answer
X
cat >many.lua <<'X'
local answer, err = require("hocket").ask { "Which year?", "Which town?" }
if not answer then return nil, err end
return (answer:gsub("\n", "|"))
X
cat >approve.lua <<'X'
local hocket = require "hocket"
local out = hocket.flow.map({ "ls", "make", "ls" }, function(name)
  return name .. " " .. table.concat({ hocket.ask.approval { agent = "shell", tool = name, reason = "approve: " .. name,
    arguments = { command = "x\27[2J\u{202E}", text = ("lüng\n"):rep(60) .. "middle" .. ("long "):rep(60) .. "last", where = "the/path" } } }, ": ")
end)
return table.concat(out, "; ")
X

# In a pipe, and with the input from stdin, nobody is asked: what was asked is told.
run hocket run ask.lua
expect 1; empty out; has err "nobody is there to answer: Which year?"
run pty -- sh -c 'echo x | "$0" run ask.lua -' "$HOCKET"
expect 1; has out "nobody is there to answer: Which year?"
run hocket run approve.lua
expect 0; has out "ls deny: it needs approval, and nobody is there to give it"

# On a terminal: one question after the other; an empty line is no answer yet.
run pty -w "Which year?" line: -w "> " line:1999 -- "$HOCKET" run ask.lua
expect 0; has out "year 1999"
run pty -w "(1 of 2) Which year?" line:1999 -w "(2 of 2) Which town?" "line:Łódź" -- "$HOCKET" run many.lua
expect 0; has out "Which year?|1999||Which town?|Łódź"
run pty -w "Which year?" line:1999 -- sh -c '"$0" run --json ask.lua 2>/dev/tty >answer' "$HOCKET"
expect 0; has answer '"text":"year 1999"'; hasnt answer "Which"

# Ctrl-D gives no answer, Ctrl-C cancels.
run pty -w "Which year?" key:4 -- "$HOCKET" run ask.lua
expect 1; has out "the question was not answered"
run pty -w "Which year?" key:3 -- "$HOCKET" run ask.lua
expect 130; has out "interrupted"
echo 'return select(2, require("hocket").ask("Which year?", { timeout = 0.3 })).code' >late.lua
run pty -w "Which year?" wait:10 -- "$HOCKET" run late.lua
expect 0; has out "timeout"

# Approvals: always holds for what was seen; ? shows all; nothing invisible is shown as it is. What was not shown whole is
# not approved: whatever is no "no" shows it first.
run pty -w "to call ls (approve: ls)" wait:1 -w "bytes" wait:1 -w "last" wait:1 -w "the/path" wait:1 -w "  y  allow once" wait:1 -w "  a  allow this exact call in this run; asks again" wait:10 -w "> " line:y -w "middle" wait:1 -w "once more" wait:10 -w "> " line:maybe -w "is expected" wait:10 \
  -w "> " "line:?" -w "middle" wait:1 -w "the/path" wait:10 -w "> " line:a -w "to call make" wait:10 -w "> " "line:n too slow" -- "$HOCKET" run approve.lua
expect 0; hasnt out "${esc}[2J"; has out '\u001b[2J\u202e'
has out "ls allow; make deny: the user refused: too slow; ls allow"
run pty -c 200 -w "to call ls" key:4 -w "to call make" wait:10 -w "> " "line:?" -w "middle" wait:10 -w "> " line:y -w "to call ls" wait:10 -w "> " "line:?" -w "middle" wait:10 -w "> " line:y -- "$HOCKET" run approve.lua
expect 0; has out "ls deny: it was not approved: the question was not answered; make allow; ls allow"

# A call that changes a file: the path first, then what would change; folded, and not approved before all of it was there.
mkdir -p files/at
printf -- '---\nname: writer\ntools: [read_file, write_file, edit_file]\napprove: ask\n---\nWrite.\n' >files/writer.md
cat >files/sim.lua <<'X'
local long = {}
for i = 1, 60 do long[i] = "line " .. i .. "\n" end
long[30] = ("x"):rep(300) .. " ? writer wants to call nothing" .. "\n"
local steps = {
  { name = "read_file", arguments = { path = "a.txt" } },
  { name = "edit_file", arguments = { path = "a.txt", old_text = "two", new_text = "\t2\27[2J\u{202E}" } },
  { name = "write_file", arguments = { path = "long.txt", content = table.concat(long) } },
  { name = "edit_file", arguments = { path = "a.txt", old_text = "nowhere", new_text = "x" } },
}
return function(request) return steps[request.turn] and { calls = { steps[request.turn] } } or "done" end
X
printf 'one\ntwo\n' >files/at/a.txt
run pty -w "to call read_file" wait:10 -w "> " line:y \
  -w "? a.txt: writer wants to change it with edit_file, +1 -1" wait:1 -w " one" wait:1 -w "-two" wait:1 -w "+→   2" wait:1 -w "whole call" wait:10 -w "> " line:y \
  -w "? long.txt: writer wants to make this new file with write_file, +60" wait:1 -w "more lines: d shows them" wait:10 -w "> " line:y \
  -w "+line 60" wait:1 -w "once more" wait:10 -w "> " line:d -w "+line 60" wait:10 -w "> " line:? -w '{"content":"line 1' wait:10 -w "> " line:y \
  -w "the call would fail" wait:1 -w "nowhere" wait:10 -w "> " line:n -- "$HOCKET" run files/writer.md --workdir files/at go
expect 0; has out "done"; hasnt out "${esc}[2J"; has out '\u001b[2J\u202e'
has out "${esc}[31m-two"; has out "${esc}[32m+"
tr -d '\r' <out | sed "s/$esc\[[0-9?;]*[a-zA-Z]//g" >plain
grep -q "^? writer wants to call nothing" plain && fail "a line of a file begins where the program's own do"
[ "$(grep -c . files/at/long.txt)" = 60 ] || fail "the file is written"
run pty -w "to call read_file" wait:10 -w "> " line:y -w "edit_file" wait:10 -w "> " line:n -w "long.txt" wait:10 -w "> " line:n -w "fail" wait:10 -w "> " line:n -- \
  sh -c 'NO_COLOR=1 "$0" run files/writer.md --workdir files/at go' "$HOCKET"
expect 0; hasnt out "${esc}[31m"

# What is typed ahead answers nothing; what is asked each time has no "always".
cat >soon.lua <<'X'
local hocket = require "hocket"
print "working"
hocket.flow.sleep(0.5)
local decision, why = hocket.ask.approval { agent = "shell", tool = "rm", arguments = { command = "rm x" }, each = true, reason = "why\n\u{2800}" }
return decision .. " " .. tostring(why)
X
run pty -w "working" line:y -w "y" line:y -w "y" line:a -w "to call rm" wait:300 -w "> " line:a -w "is expected" wait:10 -w "> " "line:n not now" -- "$HOCKET" run soon.lua
expect 0; has out "deny the user refused: not now"; hasnt out "a always"; has out 'why\u000a\u2800'

# The live view steps aside, and others go on meanwhile; their lines wait.
cat >beside.lua <<'X'
local hocket = require "hocket"
hocket.flow.all {
  function() hocket.flow.sleep(0.3) hocket.ask "Now?" end,
  function() for i = 1, 4 do hocket.flow.sleep(0.2) hocket.events.emit("warning", { message = "beside " .. i }) end end,
}
return "done"
X
run pty -w "Now?" wait:900 -w "> " line:yes -- "$HOCKET" run beside.lua
expect 0
tr -d '\r' <out | sed "s/$esc\[[0-9?;]*[a-zA-Z]//g" >plain
grep -n "" plain | grep -e "> yes" -e "beside 4" | head -2 | grep -q "> yes" || fail "lines wait for the answer"
[ "$(grep -c "beside" plain)" = 4 ] || fail "no line is lost"

# Plans.
mkdir -p p
printf -- '---\nname: planner\nagents: [web]\napprove_plan: true\n---\nPlan. {{specialists}}\n' >p/planner.md
printf -- '---\nname: web\n---\nSearch.\n' >p/web.md
cat >p/plan.lua <<'X'
local hocket = require "hocket"
return hocket.patterns.planner.run { request = "Go", team = hocket.agents "p" }
X
cat >p/sim.lua <<'X'
return function(request)
  if not request.system:find "Plan" then return "found" end
  local what = request.last.text:match "changed:\n(.*)" or "Find it"
  return require("hocket.json").encode { type = "task", tasks = { { id = "a", specialist = "web", description = what } } }
end
X
run hocket run p/plan.lua
expect 1; has err "this needs approval"; has err "1. a (web): Find it"; has err "--approve allow"
run hocket run --json p/plan.lua
expect 1; has out '"finish":"approval"'; has out '"text":"1. a (web): Find it"'
run hocket run --approve allow p/plan.lua
expect 0; has out "found"
run pty -w "Go ahead?" "line:yes, but only the cheap ones" -w "a (web): yes, but only the cheap ones" wait:10 -w "Go ahead?" line:yes -- "$HOCKET" run p/plan.lua
expect 0; has out "found"
run pty -w "Go ahead?" line:no -- "$HOCKET" run p/plan.lua
expect 6; has out "nothing was done"
run hocket run --json --approve deny p/plan.lua
expect 6; has out '"code":"declined"'; has out '"finish":"declined"'; has out '"ok":false'
sed 's/$/.text/' p/plan.lua | sed '1s/.text$//' >p/itself.lua
run hocket run --approve deny p/itself.lua
expect 0; has out "nothing was done" # a script that makes an answer of it answers for itself

# A plan that waits is shown as a list, and a task's text is no task of it.
sed 's/what } } }/what .. "\\n2. x (web): Send it" }, { id = "b", specialist = "web", description = "Sum", depends_on = { "a" } } } }/' p/sim.lua >p/sim2.lua
cp p/sim.lua p/sim1.lua; cp p/sim2.lua p/sim.lua
run hocket run --store runs.db p/plan.lua
expect 75; sed -n '/waits for an answer/,/^allow/p' err | sed '1d;$d' >shown
printf '  q1  %s\n' '1. a (web): Find it' >want
printf '      %s\n' '     2. x (web): Send it' '2. b (web, after a): Sum' 'Go ahead? yes, no, or what to change' >>want
cmp -s shown want || fail "the plan of a run that waits: $(cat shown)"
cp p/sim1.lua p/sim.lua; rm p/sim1.lua p/sim2.lua

# What was answered before is not asked again on the terminal that resumes the run.
run hocket answer --store runs.db last q1 yes; expect 0
run pty -- "$HOCKET" resume --store runs.db --trust last
expect 0; hasnt out "Go ahead?"

# A refused plan is exit code 6.
mkdir -p team
printf -- '---\nname: lead\ntools: [facilitator]\nagents: [web]\napprove_plan: true\n---\nLead.\n' >team/lead.md
cp p/web.md team
run hocket run --store off --json --approve deny team Go
expect 6; has out '"code":"declined"'; has out '"finish":"declined"'; has out '"ok":false'
run pty -w "Go ahead?" "line:Stop!" -- "$HOCKET" run --store off team Go
expect 6
run hocket run --store off --approve allow team Go
expect 0
finish
