# Workers that are killed, stopped past their leases, drained, and taken along by what they do: each run is done once, by
# somebody, and one that ends every worker ends itself.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"

# ---- Killed ------------------------------------------------------------------------------------------
ids=; for n in 1 2 3 4 5 6; do steps world$n; ids="$ids $id"; done
worker 3 --runs 3; worker 4 --runs 3
for n in 1 2 3 4 5 6; do until_true test -s world$n; done
end 3 KILL; for n in 1 2 3 4 5 6; do : >world$n.go; done; worker 5 --runs 3
# shellcheck disable=SC2086 # several ids
done_with $ids; same "$(grep -c all out)" 6; once world1 world2 world3 world4 world5 world6
end 4 TERM; expect 0; end 5 TERM; expect 0

# One that is alone, and gone: that is seen at once, and what it had waits for another.
steps gone; worker 3; until_true test -s gone
run "$HOCKET" workers --json; has out '"unserved":false'; has out '"state":"working"'
end 3 KILL; run "$HOCKET" workers --json; has out '"state":"lost"'; hasnt out '"state":"working"'
has out '"queued":1'; has out '"running":0'; has out '"unserved":true'
: >gone.go; worker 4; done_with "$id"; once gone; end 4 TERM; expect 0

# ---- Drained -----------------------------------------------------------------------------------------
# Calls of models that are under way end, and are not made again; whoever has its answer first does not go on meanwhile.
mkdir calls
cat >calls/main.lua <<'X'
local hocket = require "hocket"
local poet = hocket.agent { name = "poet", prompt = "You write." }
return table.concat(hocket.flow.map({ "one", "two" }, function(name)
  return assert(hocket.run(poet, name)).text .. " and " .. assert(hocket.run(poet, "on " .. name)).text
end), ", ")
X
cat >calls/sim.lua <<'X'
return function(request)
  local asked = request.messages[#request.messages].text
  local f <close> = assert(io.open(os.getenv "CALLS", "a"))
  f:write(asked, "\n")
  return { text = asked, latency = asked == "one" and 1 or 2 }
end
X
CALLS=$PWD/calls.txt; export CALLS; : >calls.txt
called() { [ "$(wc -l <calls.txt)" -ge "$1" ]; }
detach calls "x"; worker 6; until_true called 2; end 6 TERM; expect 0
is "$id" queued || fail "queued expected"; has w6.out '"outcome":"given_back"'
worker 7; run "$HOCKET" wait "$id"; expect 0; has out "one and on one, two and on two"
same "$(sort calls.txt | tr '\n' ' ')" "on one on two one two "
end 7 TERM; expect 0

# ---- Stopped past its lease: what another one has taken over it touches no more -------------------------------
for lease in x 0 -1 nan inf 2s; do
  run env HOCKET_LEASE=$lease "$HOCKET" runs; expect 2; has err "HOCKET_LEASE=$lease: expected seconds, from 0.1 to 86400"
done
HOCKET_LEASE=2; export HOCKET_LEASE
steps stopped; worker 8; until_true test -s stopped
kill -STOP "$w8"; worker 9; until_true grep -q run_taken w9.out
: >stopped.go; kill -CONT "$w8" # it would go on at once
done_with "$id"; until_true grep -q '"outcome":"lost"' w8.out; has w8.out "another process has taken the run over"; once stopped
end 8 TERM; expect 0; end 9 TERM; expect 0
# One that is alone loses nothing to itself.
HOCKET_LEASE=1; steps alone; worker 8; until_true test -s alone
kill -STOP "$w8"; sleep 1.5; kill -CONT "$w8"; : >alone.go
done_with "$id"; once alone; hasnt w8.out '"outcome":"lost"'
end 8 TERM; expect 0; unset HOCKET_LEASE

# ---- One that ends its worker's process, with others beside it ------------------------------------------------
cat >pill.lua <<'X'
local hocket = require "hocket"
hocket.step("first", function() return 1 end)
os.execute "kill -9 $PPID"
X
HOCKET_APPROVE=deny; export HOCKET_APPROVE # a word that stands in the log of each life
ids=; for n in 1 2; do steps beside$n; ids="$ids $id"; done
detach pill.lua; pill=$id
for n in $(seq 20); do
  worker pill; until_true sh -c "! kill -0 $wpill 2>/dev/null || grep -q 'not tried again' wpill.out"
  if kill -0 "$wpill" 2>/dev/null; then break; fi
  wait "$wpill" 2>/dev/null
done
case $n in 6 | 7) ;; *) fail "$n workers" ;; esac # what the first one did may not have been written yet
run "$HOCKET" wait "$pill"; expect 1; has err "ended 5 times in the middle of this run, at the same place"
: >beside1.go; : >beside2.go
# shellcheck disable=SC2086 # several ids
done_with $ids; once beside1 beside2
end pill TERM; expect 0; unset HOCKET_APPROVE

# ---- Several processes ---------------------------------------------------------------------------------------
workers_in() { grep -c '"working"' "$1" | grep -qx "$2"; }
(cd empty && exec "$HOCKET" work --processes 2 --json) >crew.out 2>crew.err & crew=$!
until_true workers_in crew.out 2
kill -KILL "$(pgrep -P $crew | head -n 1)"; until_true workers_in crew.out 3; has crew.err "was ended by signal 9"
: >crew.go; steps crew; done_with "$id"
kill -HUP $crew; until_true workers_in crew.out 5 # each has begun anew, as the same process
kill -TERM $crew; wait $crew; code=$?; expect 0
(cd empty && exec "$HOCKET" work --processes 2 --json) >crew.out 2>crew.err & crew=$!
until_true workers_in crew.out 2; left=$(pgrep -P $crew); kill -KILL $crew; wait $crew 2>/dev/null
for one in $left; do until_true sh -c "! kill -0 $one 2>/dev/null"; done
run "$HOCKET" work --processes 2 --pool "a b"; expect 2
run "$HOCKET" work --store off; expect 2
run "$HOCKET" work x; expect 2

finish
