#!/bin/sh
# Edit and go on, where nothing was changed, and jobs were tried again: nothing is asked again, and the fork ends as its parent did.
. "$(dirname "$0")/lib.sh"

# Who of those that are tried again comes first is another matter of time than in the parent: its answers are there at once.
mkdir agents
for i in 1 2 3 4 5 6 7 8; do printf -- '---\nname: s%d\ndescription: s%d\n---\nMEMBER %d\n' $i $i $i >agents/s$i.md; done
cat >main.lua <<'X'
local hocket = require "hocket"
local tasks = {}
for i = 1, 8 do tasks[i] = { id = "t" .. i, specialist = "s" .. i, description = "do " .. i, depends_on = i > 5 and { "t" .. (i - 3) } or nil } end
return assert(hocket.patterns.coordinator.run({ type = "task", tasks = tasks }, { team = hocket.agents "agents", retries = 3, backoff = 0.1 })).text
X
cat >sim.lua <<'X'
return function(request)
  local n, task = tonumber(request.system:match "MEMBER (%d+)"), request.messages[1].text
  local done = task:find "attempt 3" and n % 2 == 1 or task:find "attempt 4"
  return { text = done and "done " .. n or "FAILED: not yet", latency = math.random(0, 50) / 1000 }
end
X
for _ in 1 2 3; do
  rm -f runs.db* events
  run "$HOCKET" run -q --store runs.db main.lua; expect 0; cp out first
  fork=$("$HOCKET" fork "$("$HOCKET" runs --store runs.db | awk '{ print $1; exit }')" --latest --store runs.db 2>/dev/null)
  run "$HOCKET" resume -q --store runs.db "$fork" --events events; expect 0
  cmp -s first out || fail "the fork ends otherwise"
  grep '"type":"run_reused"' events >reused; has reused '"run_anew":0'; hasnt reused '"replayed":0'
  run "$HOCKET" replay --store runs.db "$fork"; expect 0
done

finish
