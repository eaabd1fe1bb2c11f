# Code that a run brings: of a run that was imported, that another user began, that lies in a copy of the store. Nothing of it runs before
# this user has trusted it, over no way in. Each piece of code leaves a mark where it ran.
. "$(dirname "$0")/lib.sh"
unset HOCKET_TRUST HOCKET_MODEL HOCKET_STORE
export HOCKET_SANDBOX=limits HOME="$WORK/alice"
unset XDG_STATE_HOME
mkdir alice bob
marks="$WORK/marks"
mark() { printf 'do local f = io.open("%s", "a") f:write("%s\\n") f:close() end\n' "$marks" "$1"; }
ran() { grep -qx "$1" "$marks" 2>/dev/null || fail "$1 should have run"; rm -f "$marks"; }
nothing_ran() { if [ -e "$marks" ]; then fail "ran: $(tr '\n' ' ' <"$marks")"; rm -f "$marks"; fi; }
newest() { "$HOCKET" runs --json --store "$1" | grep -o '"id":"01[0-9A-Z]*' | cut -c7- | head -n 1; }
refused() { expect 1; nothing_ran; has err "its code is not trusted"; has err "--trust"; has err "$1"; }

# ---- What Alice has: a script with a module, agents with a scripted model, providers, a server; and agents alone -------------
mkdir -p theirs/team theirs/plain theirs/paid theirs/served && cd theirs || exit 1
{ mark main; cat <<'LUA'; } >main.lua
local words = require "words"
local hocket = require "hocket"
return words(hocket.ask "Which colour?")
LUA
{ mark words; echo 'return function(colour) return "It is " .. tostring(colour) end'; } >words.lua
{ mark done; echo 'return "at once"'; } >done.lua
{ mark sim; echo 'return function(q) if q.last.role == "tool" then return "sim: " .. q.last.text end return { calls = { { name = "ask_user", arguments = { question = "Which colour?" } } } } end'; } >team/sim.lua
printf -- '---\nname: helper\ntools: [ask_user]\n---\nYou help.\n' | tee team/helper.md plain/helper.md >/dev/null
printf -- '---\nname: helper\nmodel: cloud/m\ntools: [ask_user]\n---\nYou help.\n' >paid/helper.md
cat >paid/providers.yaml <<YAML
cloud: {protocol: openai_chat, base: "http://127.0.0.1:9/v1", key_command: [sh, -c, "echo key >> $marks; echo secret"]}
YAML
printf '#!/bin/sh\necho server >> %s\n' "$marks" >served/start.sh && chmod +x served/start.sh
printf -- '---\nname: helper\nmcp:\n  own: {command: %s, optional: true}\n---\nYou help.\n' "$PWD/served/start.sh" >served/helper.md

begin() { # begin NAME EXIT OPTION…: her run, exported as NAME.run
  name=$1 code_wanted=$2; shift 2
  run hocket run --store a.db "$@"; expect "$code_wanted"; rm -f "$marks"
  id=$(newest a.db); eval "$name=$id"
  run hocket export --store a.db "$id" "../$name.run"; expect 0
}
begin asks 75 main.lua hi
begin ends 0 done.lua
begin model 75 --trust --model sim team/helper.md hi
begin plain 0 --model sim plain/helper.md hi
begin paid 4 --trust paid/helper.md hi
run hocket chat --trust --model sim --store a.db served/helper.md hi </dev/null; rm -f "$marks"
served=$(newest a.db); run hocket export --store a.db "$served" ../served.run; expect 0
for file in a.db*; do cp "$file" "../copy${file#a}"; done

# ---- What is ours needs no word ------------------------------------------------------------------------------------------
run hocket replay --store a.db "$ends"; expect 0; ran done
run hocket answer --store a.db "$asks" q1 blue
fork=$(hocket fork --store a.db "$ends" --latest 2>/dev/null)
run hocket resume --store a.db "$fork"; expect 0; ran done
run hocket resume --store a.db "$asks"; expect 0; has out "It is blue"; ran main

# ---- Bob imports them, and nothing runs; not where they came from either -----------------------------------------------------
export HOME="$WORK/bob"
cd .. && mv theirs elsewhere && mkdir here && cd here || exit 1
for name in asks ends model plain paid served; do run hocket import --store b.db "../$name.run"; expect 0; done
for name in asks ends model paid served; do
  eval "id=\$$name"
  run hocket replay --store b.db "$id"; refused "code"
done
run hocket replay --store b.db "$ends"; refused "done.lua"
run hocket replay --store b.db "$paid"; refused "providers.yaml"
run hocket replay --store b.db "$served"; refused "helper.md"
run hocket replay --store b.db "$plain"; expect 0; nothing_ran; has err "all as recorded" # agents are no code
run hocket resume --store b.db "$asks"; refused "main.lua"; has err "words.lua"
run hocket resume --store b.db "$model"; refused "sim.lua"
run hocket chat --store b.db --resume "$served"; refused "helper.md"
run hocket resume --store b.db --all; nothing_ran
run hocket resume --store b.db "$asks" --approve allow; refused "main.lua"
# their forks, and the forks of these
fork=$(hocket fork --store b.db "$ends" --latest 2>/dev/null)
run hocket resume --store b.db "$fork"; nothing_ran # its target is not here
fork=$(hocket fork --store b.db "$asks" --at 2 2>/dev/null)
run hocket resume --store b.db "$fork"; refused "main.lua"
again=$(hocket fork --store b.db "$fork" 2>/dev/null)
run hocket resume --store b.db "$again"; refused "main.lua"
run hocket replay --store b.db "$again"; refused "main.lua"
# a copy of her store; one that claims to be ours
for file in ../copy.db*; do cp "$file" .; done
run hocket replay --store copy.db "$ends"; refused "done.lua"
command -v sqlite3 >/dev/null && {
  made=$(printf '%064d' 0)
  sqlite3 copy.db "UPDATE runs SET sum_set = NULL, options = substr(options, 1, length(options) - 1) || ',\"made\":\"$made\"}'"
  run hocket replay --store copy.db "$ends"; refused "done.lua"
}
# it stays as it was: said so, it goes on, and nothing of that is remembered
run hocket answer --store b.db "$asks" q1 green; expect 0
run hocket resume --store b.db "$asks" --trust; expect 0; has out "It is green"; ran main
run hocket replay --store b.db "$ends" --trust; expect 0; ran done
run hocket replay --store b.db "$ends"; refused "done.lua"
run env HOCKET_TRUST=1 "$HOCKET" replay --store b.db "$ends"; expect 0; ran done
run hocket replay --store b.db "$served" --trust; expect 0; nothing_ran

# ---- A target of this machine that its record names -------------------------------------------------------------------------
{ mark evil; echo 'return "evil"'; } >evil.lua
run hocket run --store e.db evil.lua; expect 0; ran evil; id=$(newest e.db)
fork=$(hocket fork --store e.db "$id" --latest 2>/dev/null)
run hocket export --store e.db "$fork" evil.run; run hocket import --store f.db evil.run; expect 0
run hocket resume --store f.db "$fork"; expect 1; nothing_ran; has err "is not trusted"

# ---- Byte for byte what a trusted folder has ----------------------------------------------------------------------------------
run env HOCKET_MODEL=sim "$HOCKET" new mine; expect 0
cp ../elsewhere/words.lua mine/words.lua
for n in $(seq 50); do echo "return $n" >"mine/part$n.lua"; done
{ mark mine; sed 1d ../elsewhere/main.lua; } >mine/main.lua
run hocket run mine hi; expect 1; nothing_ran
"$PTY" -- true >/dev/null 2>&1 || finish
run "$PTY" -w "Run it?" wait:10 -w "> " line:yes -w "Which colour?" wait:10 -w "> " line:red -- "$HOCKET" run --store off mine hi
expect 0; ran mine
run hocket run --store m.db mine hi; expect 75; ran mine; id=$(newest m.db)
run hocket export --store m.db "$id" mine.run; run hocket import --store n.db mine.run
run hocket answer --store n.db "$id" q1 blue
for file in m.db*; do cp "$file" "moved${file#m}"; done
cp n.db n1.db; cp n.db n2.db; cp n.db n3.db
run hocket resume --store n.db "$id"; expect 0; ran mine; has out "It is blue" # without a word
run hocket replay --store moved.db "$id"; expect 0; ran mine
echo "-- changed" >>mine/words.lua
run hocket resume --store n1.db "$id"; refused "words.lua"
run hocket replay --store moved.db "$id"; refused "words.lua"
sed -i '$d' mine/words.lua
mv mine real && ln -s real mine
run hocket resume --store n1.db "$id"; refused "main.lua" # another folder has that place now
rm mine && mv real mine
echo 'return 1' >mine/more.lua
run hocket resume --store n1.db "$id"; refused "main.lua" # the folder is not as it was said yes to
rm mine/more.lua
run hocket resume --store n1.db "$id"; expect 0; ran mine

# ---- On a terminal it is asked once ---------------------------------------------------------------------------------------------
run "$PTY" -w "Run it?" wait:10 -w "> " line:no -- "$HOCKET" replay --store b.db "$ends"
expect 1; nothing_ran; has out "done.lua"
run "$PTY" -w "Run it?" key:3 -- "$HOCKET" replay --store b.db "$ends"; nothing_ran
run "$PTY" -w "Run it?" wait:10 -w "> " line:yes -- "$HOCKET" replay --store b.db "$ends"
expect 0; ran done
run hocket replay --store b.db "$ends"; expect 0; ran done
for file in ../copy.db*; do cp "$file" .; done
run hocket replay --store copy.db "$ends"; expect 0; ran done # the same code
run hocket replay --store copy.db "$model"; refused "sim.lua"
run hocket answer --store copy.db "$asks" q1 blue
run "$PTY" -w "Run it?" wait:10 -w "> " line:yes -- "$HOCKET" resume --store copy.db "$asks"
expect 0; ran main

# ---- A worker, and HTTP -----------------------------------------------------------------------------------------------------------
cd ../elsewhere && export HOME="$WORK/alice"
run hocket run -d --store q.db done.lua; expect 0; queued=$(cat out); nothing_ran
export HOME="$WORK/bob"
work() { "$HOCKET" work --store q.db --json "$@" >worked 2>&1 & worker=$!; }
rm -f "$HOME/.local/state/hocket/trust"
work; until_true grep -q '"outcome":"put_off"' worked; kill -TERM $worker; wait $worker; nothing_ran
grep -q "is not trusted" worked || fail "why is told"
work --trust; run hocket wait --store q.db "$queued"; kill -TERM $worker; wait $worker
expect 0; ran done
command -v curl >/dev/null || finish
cd ../here || exit 1
"$HOCKET" serve --listen 127.0.0.1:0 --store copy.db --trust --approve allow --model sim ../elsewhere/plain/helper.md >served.out 2>serving & server=$!
at_end() { kill $server 2>/dev/null; }
until_true grep -qs '^serving' serving
url=$(sed -n 's/^serving //p' serving) token=$(cat "$HOME/.local/state/hocket/serve-token")
api() { curl -sS --max-time 60 -H "Authorization: Bearer $token" -H 'content-type: application/json' "$@"; }
for way in "$model/resume" "$ends/fork" "$asks/fork" "$served/say"; do
  what="POST $way"
  api "$url/api/runs/$way" -d '{"text": "go on"}' >answer; api "$url/api/runs/$way" -d '{}' >>answer
  nothing_ran
done
what="POST resume"; api "$url/api/runs/$model/resume" -d '{}' >answer; grep -q "not trusted" answer || fail "why is told: $(cat answer)"
has answer "HOCKET_TRUST in the server's environment"; has answer "the server's own --trust does not count"; hasnt answer "hocket work --trust"
api "$url/api/runs/$ends/prompts" >answer; nothing_ran
kill -TERM $server; wait $server
finish
