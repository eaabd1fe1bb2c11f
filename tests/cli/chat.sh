# hocket chat: lines in and answers out in a pipe, and what a person sees.
. "$(dirname "$0")/lib.sh"
need_pty
esc=$(printf '\033')
pty() { "$PTY" "$@"; }
chat() { # LINES ARGUMENT…
  lines=$1; shift
  what="chat $*"
  printf "$lines" | "$HOCKET" chat "$@" >out 2>err
  code=$?
}
printf -- '---\nname: guide\ndescription: Knows the way\ntools: [ask_user]\n---\nGuide.\n' >guide.md
cat >sim.lua <<'X'
return function(request)
  local text = request.last.text
  if text == "slow" then return { text = "tardy", latency = 5 } end
  if text == "fail" then return { status = 400, error = "no such thing" } end
  if text == "both" then
    return { calls = { { name = "ask_user", arguments = { question = "Which way?" } }, { name = "ask_user", arguments = { question = "How far?" } } } }
  end
  if text == "ask" then return { calls = { { name = "ask_user", arguments = { question = "Which way?" } } } } end
  if text == "seen" then
    local kinds = {}
    for i, file in ipairs(request.last.files or {}) do kinds[i] = file.kind end
    return { text = kinds[1] and table.concat(kinds, " ") or "none" }
  end
  if text == "much" then return { text = ("word "):rep(2000) } end
  if text == "long" then return { text = ("word "):rep(40), pause = 0.01 } end
  if request.last.role == "tool" then return "So it is " .. text .. "." end
  return ("%d: %s"):format(#request.messages, text)
end
X

# In a pipe: each line is said or answers what is asked, and answers alone go to stdout.
chat 'one\n\ntwo\\\nmore\n//three\n' guide.md
expect 0; same "$(cat out)" "1: one
3: two
more
5: /three"
chat 'ask\nleft\nmore' guide.md
expect 0; same "$(cat out)" "So it is left.
5: more"; has err "? guide: Which way?"; has err 'ask_user {"question":"Which way?"} → left'
chat 'ask\n' guide.md # it can wait for the answer, since it is kept
expect 75; has err "q1  guide: Which way?"; has err "hocket answer 01"
HOCKET_STORE=off chat 'ask\n' guide.md
expect 0; has out "So it is error: nobody answers."
chat 'two\n' guide.md one
same "$(cat out)" "1: one
3: two"
chat '' guide.md
expect 0; empty out
head -c 300 /dev/urandom | "$HOCKET" chat guide.md >out 2>err; [ $? -lt 128 ] || fail "noise"

# A turn that fails is told; the last one decides about the exit code.
chat 'fail\nfine\n' guide.md
expect 0; has err "no such thing"; has out "fine"
chat 'fine\nfail\n' guide.md
expect 4; has out "1: fine"
chat 'x\n' nothing.md
expect 2; empty out; has err "no file, folder or agent"
echo 'return "you said " .. tostring(...)' >text.lua
chat 'x\ny\n' text.lua
expect 0; has out "you said x"; has out "you said y"

# Commands.
echo 'return function(text) return text end' >fn0.lua
chat '/help\n/agents\nhi\n/usage\n/model\n/model sim/other\n/model nonsense\n/model opnai/x\n/quot\n/quit x\n/quit\nnever\n' guide.md
expect 0; same "$(cat out)" "1: hi"
has err "/save FILE"; has err "guide: Knows the way"; has err "1 turn, 1 model call"; has err "sim/default"
has err "from now on all agents ask sim/other"; has err "expected /model PROVIDER/MODEL"; has err "unknown provider 'opnai' in model 'opnai/x': did you mean 'openai'?"; has err "did you mean '/quit'?"
has err "takes nothing behind it"
chat 'one\n/compact\n/clear\ntwo\n' --events ev guide.md
expect 0; same "$(cat out)" "1: one
1: two"
has err "it is as short as it can be"; has err "what was said so far is forgotten"; has ev '"type":"compaction_finished"'
# Nothing was said yet: that is told at once.
chat '/compact\nhello\n/clear\n/compact\n' guide.md
same "$(grep -c 'nothing was said yet' err)" 2; hasnt err 'still at it'
chat 'much\nmuch\nmuch\n/compact\nmore\n' guide.md
expect 0; [ "$(wc -l <out)" -eq 4 ] && [ "$(tail -n 1 out)" = "3: more" ] || fail "what was before is folded into one turn"
has err "its conversation was made shorter: "
printf '\211PNG\r\n\032\n...' >cat.png; cp cat.png 'my cat.png'; printf '%%PDF-1.4' >a.pdf
chat "seen\n/attach cat.png\nseen\n/attach 'my cat.png'\n/attach my\\\\ cat.png\nseen\n/attach nono\n/attach\nseen\n$WORK/my\\\\ cat.png\nseen\n$WORK/nono.png\n" --attach a.pdf guide.md
expect 0; same "$(cat out)" "file
image
image image
none
image"
has err "there is no command '/"
has err "given: my cat.png, image/png, 11 bytes"; has err "not attached: cannot read"; has err "/attach needs a file's name"
chat 'x\n/compact\n/clear\n' fn0.lua
has err "not made shorter: fn0.lua leads this conversation, and has no function 'compact'"
chat 'hi\n/save talk.md\n/save talk.md\n/save\n/save no/such/dir\n' guide.md
expect 0; has talk.md "## You"; has talk.md "1: hi"; has err "saved: talk.md"; has err "talk.md: File exists"; has err "needs a file's name"
has err "No such file"
rm -f ev
chat 'hi\n' --events ev guide.md
has ev '"type":"input_received"'; tail -n 1 ev | grep -q workflow_finished || fail "the events end"
run hocket chat guide.md -
expect 2; has err "line by line"
run hocket chat --json guide.md
expect 2
run hocket run --history x guide.md hi
expect 2

# Edit and continue.
cat >edit.sh <<'X'
echo hi; sleep 0.5
printf -- '---\nname: guide\ndescription: New\n---\nGuide.\n' >guide.md
echo /reload; echo /agents; sleep 0.3
printf -- '---\nnmae: guide\n---\nGuide.\n' >guide.md
echo /reload; echo still
X
cp guide.md keep.md
sh edit.sh | "$HOCKET" chat guide.md >out 2>err
code=$?; what=edit
expect 0; has err "changed: guide"; has err "guide: New"; has err "not reloaded, all stays as it was"; has out "still"
cp keep.md guide.md

# A script with a function, in both ways.
echo 'local n = 0 return { chat = function(text) n = n + 1 return n .. " " .. text end }' >fn.lua
chat 'a\nb\n' fn.lua
same "$(cat out)" "1 a
2 b"
run hocket run fn.lua x
expect 0; has out "1 x"

# On a terminal: text comes as it is written, the prompt below it, Ctrl-D leaves.
run pty -w "you> " line:hi -w "1: hi" wait:0 -w "you> " line:long -w "word word" wait:0 -w "you> " key:4 -- "$HOCKET" chat guide.md
expect 0; has out "Ctrl-D leaves"
[ "$(grep -c "1: hi" out)" = 1 ] || fail "an answer stands there once"
run pty -w "you> " line:ask -w "Which way?" wait:0 -w "> " line:left -w "So it is left." wait:0 -w "you> " line:/quit -- "$HOCKET" chat guide.md
expect 0; has out "▸ ask_user"
run pty -w "you> " line:ask -w "Which way?" key:4 -w "So it is error: nobody answers" wait:0 -w "you> " key:4 -- "$HOCKET" chat guide.md
expect 0

# Ctrl-C stops a turn, of which nothing stays on the screen; where nothing goes on it leaves, when it is meant.
run pty -w "you> " line:slow -w "reading the request" key:3 -w "(interrupted)" wait:0 -w "you> " edits: -w "" line:next -w "3: next" wait:0 \
  -w "you> " edits: -w "" key:3 -w "Ctrl-C once more" wait:0 -w "you> " edits: -w "" line:more -w "5: more" wait:0 \
  -w "you> " edits: -w "" key:3 -w "once more" wait:0 -w "you> " edits: -w "" key:3 -- "$HOCKET" chat guide.md
expect 0; hasnt out "tardy"
sed -n '/(interrupted)/,$p' out >after; hasnt after "reading the request"
run pty -w "you> " line:ask -w "Which way?" key:3 -w "(interrupted)" wait:0 -w "you> " key:4 -- "$HOCKET" chat guide.md
expect 0
# With it the other questions of the turn go: none is asked once nobody waits for it.
run pty -w "you> " line:both -w "Which way?" key:3 -w "(interrupted)" wait:0 -w "you> " edits: -w "" line:next -w ": next" wait:0 -w "you> " key:4 -- "$HOCKET" chat guide.md
expect 0; hasnt out "How far?"
# What the error of a turn says no warning says again.
run pty -w "you> " line:fail -w "no such thing" wait:0 -w "you> " edits: -w "" line:next -w "3: next" wait:0 -w "you> " key:4 -- "$HOCKET" chat guide.md
expect 0; [ "$(grep -c "no such thing" out)" = 1 ] || fail "an error is told once"
if [ "${SANITIZE:-}" != thread ]; then
  echo 'return function() while true do end end' >busy.lua
  run pty -w "you> " line:x -w "x" wait:500 -w "" key:3 -w "" wait:300 -w "" key:3 -w "" wait:300 -w "" key:3 -- "$HOCKET" chat busy.lua
  expect 130
fi

# Lines are edited, found again by the arrows, and kept only where that was asked for.
ldconfig -p 2>/dev/null | grep -q libedit.so.2 && {
  run pty -w "you> " edits: -w "" "line:hrllo$(printf '\001\006\004e')" -w "1: hello" wait:0 -w "you> " edits: -w "" "line:$(printf '\033[A')" -w "3: hello" wait:0 \
    -w "you> " edits: -w "" "line:Łódź" -w "5: Łódź" wait:0 -w "you> " key:4 -- "$HOCKET" chat --history past guide.md
  expect 0; has past hello
  # A paste of many lines is one text, which goes on to be edited.
  run pty -w "you> " edits: -w "" "line:one $(printf '\033[200~two\rthr\303\251e\r\tfour\r\033[201~') five" -w "1: one two" wait:0 -w "you> " edits: -w "" key:4 \
    -- "$HOCKET" chat --events pasted guide.md
  expect 0; has pasted '"text":"one two\nthrée\n\tfour five"'; has out "${esc}[?2004h"; has out "${esc}[?2004l"
  run pty -w "you> " edits: -w "" "line:$(printf '\033[A\033[A')" -w "1: hello" wait:0 -w "you> " edits: -w "" key:120 -w "x" key:3 -w "you> " key:4 -- "$HOCKET" chat --history past guide.md
  expect 0
  ls -l past | grep -q '^-rw-------' || fail "the history is nobody else's"
}

# Who works in the background asks at the prompt, as long as nothing is typed there, and does not talk into it.
mkdir -p back
printf -- '---\nname: main\nagents: [worker]\n---\nMain.\n' >back/main.md
printf -- '---\nname: worker\ntools: [write_file]\n---\nWorker.\n' >back/worker.md
cat >back/sim.lua <<'X'
return function(request)
  local tool, last = request.last.role == "tool", request.last.text
  if request.system:find "^Worker" then
    if tool then return { text = "worker said this", pause = 0.1 } end
    return { latency = 0.7, calls = { { name = "write_file", arguments = { path = "x.txt", content = "x" } } } }
  end
  if last:find("worker said this", 1, true) then return "all done" end
  if tool then return "under way" end
  if last == "go" then return { calls = { { name = "submit_task", arguments = { agent_name = "worker", prompt = "write" } } } } end
  return { calls = { { name = "wait_tasks" } } }
end
X
ldconfig -p 2>/dev/null | grep -q libedit.so.2 && {
  run pty -w "you> " line:go -w "under way" wait:0 -w "you> " edits: -w "x.txt: worker wants to make this new file" wait:0 -w "> " edits: -w "" line:y -w "you> " wait:500 -w "" edits: \
    -w "" line:and -w "all done" wait:0 -w "you> " key:4 -- "$HOCKET" chat back
  expect 0; [ -s x.txt ] || fail "what was approved is done"; hasnt out "you> worker said"
}

# Who is handed the work of one who was sent speaks to the sender, and not to the person.
mkdir -p sent
printf -- '---\nname: main\nagents: [one]\n---\nMain.\n' >sent/main.md
printf -- '---\nname: one\nhandoff: two\n---\nOne.\n' >sent/one.md
printf -- '---\nname: two\n---\nTwo.\n' >sent/two.md
cat >sent/sim.lua <<'X'
return function(request)
  if request.system:find "^Two" then return "for the caller only" end
  if request.system:find "^One" then return "on" end
  if request.last.role == "tool" then return "for the person" end
  return { calls = { { name = "delegate", arguments = { agent_name = "one", prompt = "x" } } } }
end
X
run pty -w "you> " line:go -w "for the person" wait:0 -w "you> " key:4 -- "$HOCKET" chat sent
expect 0; hasnt out "for the caller only"

# What a model writes is shown, not obeyed; no colours where none are wanted.
cat >attack.lua <<'X'
return function() return "x\27[2J\27]0;t\7" end
X
run pty -w "you> " line:x -w "x^[[2J" wait:0 -w "you> " key:4 -- "$HOCKET" chat attack.lua
expect 0; hasnt out "${esc}[2J"; hasnt out "${esc}]0"
run pty -w "you> " line:ask -w "Which" line:left -w "So it" wait:0 -w "you> " key:4 -- env NO_COLOR=1 "$HOCKET" chat guide.md
expect 0; hasnt out "${esc}[1m"; hasnt out "${esc}[2m"
run pty -c 20 -w "you> " line:long -w "word word" wait:0 -w "you> " key:4 -- env TERM=dumb "$HOCKET" chat guide.md
expect 0; hasnt out "$esc"
finish
