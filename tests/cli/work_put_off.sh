# Runs that a worker cannot go on with: for want of a key, or by a log that it cannot follow. They are not lost, nobody turns
# round and round with them, and what they wait for is said.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"
HOCKET_LEASE=2; export HOCKET_LEASE
given_back() { grep -q '"outcome":"put_off"' "$1"; }

# ---- A key that is missing -------------------------------------------------------------------------
mkdir agents; printf -- '---\nname: solo\nmodel: openai/x\n---\nAlone.\n' >agents/solo.md
detach agents "Hello"; worker 1; until_true given_back w1.out
run "$HOCKET" runs; has out "(no worker could go on: openai needs a key: set OPENAI_API_KEY"; has out queued
run "$HOCKET" wait -t 0.1 "$id"; expect 124; has err "queued after 0.1 seconds, as no worker could go on with it: openai needs a key"
run "$HOCKET" show "$id"; has out "given back"; has out "A worker could not go on with it: openai needs a key: set OPENAI_API_KEY"
run "$HOCKET" show "$id" --at 1; hasnt out "given back" # as it stood then
end 1 TERM; expect 0
# One that has it goes on; that its server is not there is an end as any.
OPENAI_API_KEY=x OPENAI_BASE_URL=http://127.0.0.1:1 worker 2
run "$HOCKET" wait "$id"; expect 4; has err "cannot connect"; end 2 TERM; expect 0
run "$HOCKET" show "$id"; hasnt out "given back"; has out "cannot connect"

# No model is named at all: what the first worker does not have is not what the run has found.
printf -- '---\nname: solo\n---\nAlone.\n' >agents/solo.md
HOCKET_MODEL= detach agents "Hello"
HOCKET_MODEL= worker 3; until_true given_back w3.out; end 3 TERM; expect 0
worker 4; run "$HOCKET" wait "$id"; expect 0; has out "You said: Hello"; end 4 TERM; expect 0

# ---- A log that cannot be followed -----------------------------------------------------------------
cat >other.lua <<'L'
local hocket = require "hocket"
local f <close> = io.open(...)
hocket.step(f and "one" or "another", function() return 1 end)
return hocket.signal "go"
L
: >file
detach other.lua "$PWD/file"; worker 5; until_true is "$id" waiting
rm file; run "$HOCKET" signal "$id" go; expect 0
run "$HOCKET" wait "$id"; expect 1; has err "error: 5 workers could not go on with it"; has err "asks something else"
# That is no record of its own: it is the run's end all the same, and nobody is asked for anything any more.
run "$HOCKET" show "$id"; has out "5 workers could not go on with it"; has out "asks something else"; hasnt out "waits for the signal"
run "$HOCKET" show "$id" --json; has out '"error":{"code":'; has out "5 workers could not go on with it"
run "$HOCKET" show "$id" --at 1; hasnt out "5 workers"
same "$(grep -c '"outcome":"put_off"' w5.out)" 5
end 5 TERM; expect 0

# By hand nobody has come as far as the worker did: it waits for what it waited for.
: >file
detach other.lua "$PWD/file"; worker 8; until_true is "$id" waiting; end 8 TERM; expect 0
rm file
run "$HOCKET" resume "$id"; expect 1; has err "asks something else"
is "$id" waiting || fail "it does not wait any more"
run "$HOCKET" show "$id"; has out "hocket signal $id go"; run "$HOCKET" runs; hasnt out "no worker could go on"
: >file; run "$HOCKET" signal "$id" go '"went"'; expect 0; worker 9; run "$HOCKET" wait "$id"; expect 0; end 9 TERM; expect 0

# ---- A worker that would fail all of them ------------------------------------------------------------
detach agents "Hello"
(cd empty && HOCKET_APPROVE=junk exec "$HOCKET" work) >out 2>err </dev/null; code=$?; expect 2; has err "HOCKET_APPROVE: 'junk': expected allow, ask or deny"
is "$id" queued || fail "a worker that cannot be used has taken it"
run "$HOCKET" cancel "$id"
mkdir gone; (cd gone && exec "$HOCKET" work --json) >w6.out 2>w6.err & w6=$!; workers="$workers $w6"
until_true grep -q '"working"' w6.out; rmdir gone
wait $w6; code=$?; expect 1; has w6.err "the folder that tools work in was removed"
detach agents "Hello"; worker 7; run "$HOCKET" wait "$id"; expect 0; end 7 TERM; expect 0

# ---- A pool that nobody serves ---------------------------------------------------------------------
detach --pool gpu agents "Hello"; run "$HOCKET" runs; has out "queued"; has out "(for pool gpu)"
run "$HOCKET" wait -t 0.1 "$id"; expect 124; has err "is still queued after 0.1 seconds (hocket work --pool gpu)"
finish
