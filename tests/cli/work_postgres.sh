# Workers of one database: three of them, one is killed, the server goes away and comes back, and a run is answered and
# cancelled by others than have it. Started by tests/support/postgres.sh.
. "$(dirname "$0")/lib.sh"
HOST=${HOCKET_TEST_POSTGRES#*host=}
. "$HERE/work_lib.sh"
HOCKET_STORE="postgres://hocket@/test?host=$HOST"; export HOCKET_STORE
run "$HOCKET" runs; expect 0

ids=; for n in 1 2 3 4 5 6; do steps world$n; ids="$ids $id"; done
for n in 1 2 3; do worker $n --runs 2; done
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
sh "$HOST/stop"; : >away.go; until_true grep -q "cannot be kept for now" w2.err w3.err
sh "$HOST/start"
done_with "$id"; has out all; once away; wait $waits; code=$?; expect 0; has waited all
end 2 TERM; expect 0; end 3 TERM; expect 0
same "$(cat w2.err w3.err | grep -c "cannot be kept for now")" 1; same "$(cat w2.err w3.err | grep -c "runs are kept again")" 1
finish
