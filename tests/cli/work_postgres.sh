# Workers of one database: three of them, one is killed, the server goes away and comes back, and a run is answered and
# cancelled by others than have it. Started by tests/support/postgres.sh.
. "$(dirname "$0")/lib.sh"
HOST=${HOCKET_TEST_POSTGRES#*host=}
. "$HERE/work_lib.sh"
HOCKET_STORE="postgres://hocket@/test?host=$HOST"; export HOCKET_STORE
run "$HOCKET" runs; expect 0

ids=; for n in 1 2 3 4 5 6; do steps world$n; ids="$ids $id"; done
for n in 1 2 3; do worker $n --runs 2 --grace 1; done
for n in 1 2 3 4 5 6; do until_true test -s world$n; done
end 1 KILL; for n in 1 2 3 4 5 6; do : >world$n.go; done
# shellcheck disable=SC2086 # several ids
done_with $ids; same "$(grep -c all out)" 6; once world1 world2 world3 world4 world5 world6

# ---- Spoken to, wherever it is ---------------------------------------------------------------------------
cat >ask.lua <<'X'
local hocket = require "hocket"
return assert(hocket.ask "Which city?") .. " " .. tostring(assert(hocket.signal "go").x)
X
detach ask.lua; until_true is "$id" parked
run "$HOCKET" answer "$id" q1 Rome; expect 0; until_true is "$id" waiting
run "$HOCKET" signal "$id" go '{"x": 1}'; expect 0; done_with "$id"; has out "Rome 1"
echo 'print "begun" require("hocket").flow.sleep(600)' >slow.lua; detach slow.lua; until_true is "$id" running
run "$HOCKET" cancel "$id"; expect 0; has err "is cancelled"
cat >parent.lua <<'X'
local hocket = require "hocket"
local list = hocket.flow.map({ "a", "b" }, function(name) return assert(assert(hocket.submit("child.lua", name)):wait()).text end)
return table.concat(list, " ")
X
echo 'return "child " .. (...)' >child.lua
detach parent.lua; done_with "$id"; has out "child a child b"

# ---- The server goes away, and comes back: that is said once ------------------------------------------------
steps away; until_true test -s away
"$HOCKET" wait "$id" >waited 2>waited.err & waits=$!
is_connected() { ls -l /proc/$waits/fd | grep -q socket; }
until_true is_connected; sleep 1 # it has asked for the run, and found it
sh "$HOST/stop"; : >away.go; until_true grep -q "cannot be kept for now" w2.err w3.err
sh "$HOST/start"
done_with "$id"; has out all; once away; wait $waits; code=$?; expect 0; has waited all
same "$(cat w2.err w3.err | grep -c "cannot be kept for now")" 1; same "$(cat w2.err w3.err | grep -c "runs are kept again")" 1
# What was not given back when a worker ends meanwhile is taken over; the end waits for no server.
steps last; until_true test -s last; steps other; until_true test -s other
sh "$HOST/stop"; : >last.go; : >other.go; began=$(date +%s)
end 2 TERM; expect 0; end 3 TERM; expect 0
[ $(($(date +%s) - began)) -lt 18 ] || fail "with --grace 1 two ends took $(($(date +%s) - began)) s"

# ---- It is away when a worker begins: that is said once, and waited for ----------------------------------------
(cd empty && exec "$HOCKET" work --json) >w4.out 2>w4.err & w4=$!; workers="$workers $w4"
until_true grep -q "cannot be kept for now" w4.err; end 4 TERM; expect 0
(cd empty && exec "$HOCKET" work --json) >w5.out 2>w5.err & w5=$!; workers="$workers $w5"
until_true grep -q '"store_awaited"' w5.out; hasnt w5.out '"working"'
sh "$HOST/start"; until_true grep -q '"working"' w5.out
same "$(grep -c "cannot be kept for now" w5.err)" 1; same "$(grep -c "runs are kept again" w5.err)" 1
for id in $("$HOCKET" runs --limit 2 --json | grep -oE '"id":"01[0-9A-Z]{24}"' | grep -oE '01[0-9A-Z]{24}'); do done_with "$id"; has out all; done
once last other; end 5 TERM; expect 0
# One that is there and does not want it is no reason to wait.
run "$HOCKET" work --store "postgres://hocket@/nothing?host=$HOST"; expect 1; has err '"nothing" does not exist'
run "$HOCKET" work --store "postgres://stranger@/test?host=$HOST"; expect 1; has err '"stranger" does not exist'
run "$HOCKET" work --store "postgres://hocket@/test?host=$HOST&schema=pg_catalog"; expect 2
finish
