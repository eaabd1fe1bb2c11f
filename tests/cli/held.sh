# A run that a process has: what others are told of it, and what goes on without it.
. "$(dirname "$0")/lib.sh"
need_pty
mkdir -m 700 state
HOCKET_STORE=$PWD/state/runs.db; export HOCKET_STORE
id_in() { grep -oE '01[0-9A-Z]{24}' "$1" | head -n 1; }

# ---- One that asks on its terminal -------------------------------------------------------------------------------
cat >ask.lua <<'X2'
return "in " .. tostring(require("hocket").ask "Which town?")
X2
"$PTY" -w "Which town?" wait:1 -w "in Rome" wait:1 -- "$HOCKET" run ask.lua >seen 2>&1 </dev/null & asks=$!
until_true grep -qs "Which town?" seen
ask() { "$HOCKET" runs --json --state parked >out 2>err && id=$(id_in out) && [ "$id" ]; }
until_true ask
run "$HOCKET" watch --no-wait "$id"; has err "has the run, and asks there too"; hasnt err "no process has the run"
run "$HOCKET" say "$id" hello; expect 0; has err "its process reads it"; hasnt err "hocket resume"
run "$HOCKET" answer "$id" q1 Rome; expect 0; has err "its process reads it"; hasnt err "hocket resume"
wait $asks; code=$?; expect 0; has seen "in Rome"

# ---- Conversations -------------------------------------------------------------------------------------------------
printf -- '---\nname: talker\n---\nYou talk.\n' >talker.md
export HOCKET_MODEL=sim/echo
for words in older newer; do echo "$words" | "$HOCKET" chat -q talker.md >out 2>err || fail "$words: $(cat err)"; done
mkfifo typed; "$HOCKET" chat -q --continue <typed >one 2>&1 & chat=$!
exec 3>typed; echo first >&3
until_true grep -qs "You said: first" one
echo second | "$HOCKET" chat -q --continue >out 2>err; has out "You said: second"
has err "hocket chat: going on with 01"; has err ": process $chat has 01"; has err ", which was left later"
exec 3>&-; wait $chat
printf '' | "$HOCKET" chat -q --continue >out 2>err; hasnt err "has 01"

# ---- A fork that nobody has gone on with ---------------------------------------------------------------------------
echo 'return "done"' >done.lua
run "$HOCKET" run done.lua; expect 0
run "$HOCKET" runs --json --limit 1; id=$(id_in out)
run "$HOCKET" fork "$id"; expect 0; fork=$(id_in out)
"$HOCKET" rm $("$HOCKET" runs --json --state waiting | grep -oE '"id":"01[0-9A-Z]{24}"' | grep -oE '01[0-9A-Z]{24}') >out 2>err
run "$HOCKET" resume --all; has err "there is no run that could go on"
run "$HOCKET" runs --state forked; has out "$fork"
run "$HOCKET" resume "$fork"; expect 0; has out done
finish
