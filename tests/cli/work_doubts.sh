# Workers that are not alike, and a machine that kills them all the time: runs are neither lost nor done twice.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"

# ---- Two versions on one store ------------------------------------------------------------------------
# Whoever does not know a run's edition leaves it to others, however often that happens, and does the rest.
if command -v sqlite3 >/dev/null; then
  now=$(sed -n 's/^#define HOCKET__EDITION //p' "$ROOT/src/core/run_state.h")
  edition() { sqlite3 -cmd '.timeout 10000' "$HOCKET_STORE" "UPDATE runs SET sum_set = NULL, options = replace(options, '\"edition\":$1,', '\"edition\":$2,') WHERE id = '$3'"; }
  printf 'return "of " .. require("hocket.internal.base.edition").here()\n' >told.lua
  tries() { [ "$(grep -c '"outcome":"put_off"' wolder.out)" -ge 7 ]; }
  detach told.lua; newer=$id; edition "$now" 99 "$newer"
  HOCKET_LEASE=1 worker older; until_true tries
  detach told.lua; done_with "$id"; has out "of $now"
  is "$newer" queued || fail "the newer run is not queued any more"
  run "$HOCKET" runs; has out "no worker could go on: the run has edition 99"
  edition 99 "$now" "$newer"; done_with "$newer"; has out "of $now"
  end older TERM; expect 0
fi

# ---- Killed five times a second ------------------------------------------------------------------------
# Taken one by one and in batches, beside runs that nobody disturbs. No step is done twice, but for one that was under way when its
# worker was killed. A run at whose place five workers in a row were killed has failed, and says so: nobody can tell it from one that kills.
cat >storm.lua <<'E'
local hocket = require "hocket"
local file = ...
for i = 1, 10 do
  hocket.step("s" .. i, function()
    local f <close> = assert(io.open(file, "a"))
    f:write(i, "\n")
  end, { idempotent = true })
  hocket.flow.sleep(0.02)
end
return "all"
E
storm() { # KILLS RUNS-AT-ONCE
  rm -f step.*
  ids=
  for n in $(seq 12); do detach storm.lua "$PWD/step.$n"; ids="$ids $id"; done
  kills=0
  while [ $kills -lt "$1" ] && ! settled; do
    (cd empty && exec "$HOCKET" work -q --runs "$2") >/dev/null 2>&1 & one=$!
    sleep 0.2; kill -9 $one; wait $one 2>/dev/null
    kills=$((kills + 1))
  done
  worker quiet --runs "$2"; until_true settled; end quiet TERM; expect 0
  failed=0 again=0
  for n in $(seq 12); do
    id=$(echo "$ids" | cut -d ' ' -f $((n + 1)))
    if is "$id" failed; then
      failed=$((failed + 1)); run "$HOCKET" wait "$id"; expect 1; has err "ended 5 times in the middle of this run, at the same place"
    else
      is "$id" done || fail "run $n is neither done nor failed"
      same "$(sort -n "step.$n" | uniq | wc -l)" 10
    fi
    [ ! -e "step.$n" ] || again=$((again + $(sort "step.$n" | uniq -d | wc -l)))
  done
  [ $again -le $((kills * $2)) ] || fail "$again steps were done again by $kills kills"
  echo "$2 at once, $kills kills: $failed of 12 given up, $again steps done again"
}
settled() { ! "$HOCKET" runs --limit 0 --json | grep -qE '"state":"(queued|running)"'; }
storm 0 8; [ "$failed $again" = "0 0" ] || fail "runs that nobody disturbed were not done once"
storm 40 1
storm 40 8
finish
