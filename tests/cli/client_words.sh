# What a client of `hocket serve` says to a run that another process has, or that a worker takes: the run loses what its owner allowed before it
# hears that. The same words of its owner, on the command line, leave it as it is.
. "$(dirname "$0")/lib.sh"
. "$HERE/consent_lib.sh"
command -v curl >/dev/null || { echo "skipped: no curl"; exit 77; }
cat >waits.lua <<'LUA'
local hocket = require "hocket"
return hocket.run(hocket.agent "helper.md", hocket.signal "go").text
LUA
cat >busy.lua <<'LUA'
local hocket = require "hocket"
local look = hocket.tool { name = "look", description = "Looks.", steps = true, run = function() return tostring(hocket.signal "seen") end }
return hocket.run(hocket.agent { name = "busy", prompt = "LOOK first.", tools = { look, "execute_command" } }, "good day").text
LUA
printf -- '---\nname: pooled\npool: gpu\ntools: [ask_user, execute_command]\n---\nYou help.\n' >pooled.md
printf 'local hocket = require "hocket"\nreturn hocket.run(hocket.agent "pooled.md", "ASK RUN").text\n' >pool.lua
# One place puts messages into the store, and says whose they are.
what="who writes messages"; same "$(cd "$ROOT/lua" && grep -rlE 'store\.message\>' .)" ./hocket/internal/run/origin.lua
serves deny
at_end() { kill -KILL $server $worker 2>/dev/null; }
"$HOCKET" work --store a.db --pool default --pool gpu >work.out 2>&1 & worker=$!

count() { api "$url/api/runs/$id/records" | grep -c "$1"; }
has_record() { [ "$(count "$1")" -gt 0 ]; }
is_in() { state=$("$HOCKET" show --store a.db "$id" | sed -n '1s/^[0-9A-Z]*  \([a-z]*\).*/\1/p'); case " $1 " in *" $state "*) return 0 ;; esac; return 1; }
submit() { run hocket run -d --trust --store a.db "$@"; expect 0; id=$(cat out); until_true is_in "waiting parked"; }
# The words of one or the other.
says() { # says WHO KIND TEXT
  what="$1 says $2 $3"
  case "$1 $2" in
  "client answer") code=$(api -o body -w '%{http_code}' "$url/api/runs/$id/answers" -d "{\"question\": \"$3\", \"text\": \"$4\"}"); expect 202 ;;
  "client say") code=$(api -o body -w '%{http_code}' "$url/api/runs/$id/say" -d "{\"text\": \"$3\"}"); expect 202 ;;
  "client signal") code=$(api -o body -w '%{http_code}' "$url/api/runs/$id/signals" -d "{\"name\": \"$3\", \"value\": $4}"); expect 202 ;;
  "owner "*) run hocket "$2" --store a.db "$id" "$3" ${4+"$4"}; expect 0 ;;
  "stranger "*) HOME=$WORK/other run hocket "$2" --store a.db "$id" "$3" ${4+"$4"}; expect 0 ;;
  esac
}
told() { has_record "\"type\":\"$1\""; }
asks() { until_true told approval_requested; held; same "$what: $(count '"code":"consent"')" "$what: 1"; } # what was cut is said once
does() { until_true is_in "done failed"; ran; same "$what: $(count '"code":"consent"')" "$what: 0"; }
mkdir ../other
# A run that was allowed everything, and is told to run the command.
input() { submit --approve allow helper.md "ASK RUN"; says "$1" answer q1 blue; }
signal() { submit --approve allow waits.lua; says "$1" signal go '"RUN"'; }
at_work() { submit --approve allow busy.lua; says "$1" say "RUN please"; until_true told user_message_received; says client signal seen true; }
pool() { submit --approve allow pool.lua; says "$1" answer q1 blue; }
for words in input signal at_work pool; do
  $words client; asks
  $words owner; does
done
input stranger; asks # another user of the machine

# What it lost is in its log: its owner goes on with what is left, and a replay tells the same.
input client; asks; until_true is_in parked; run hocket resume --store a.db "$id"; expect 75; held; not_said
run hocket replay --store a.db "$id"; has err "all as recorded"
says owner answer a2 --allow; until_true is_in "done failed"; ran

# Who is asked for leave may say yes from anywhere, once, and nothing is lost by that. A reason is words.
asked() { rm -f note; submit --approve allow --approve write_file=ask helper.md "NOTE RUN"; }
asked; says client answer a1 allow; does
asked; says client answer a1 "deny, say it otherwise"; until_true has_record '"id":"a2"'; held

# A conversation at work in another process: it waits for input, and a client is faster.
mkfifo typed; exec 9<>typed
"$HOCKET" chat --trust --approve allow --store a.db helper.md <typed >chat.out 2>chat.err & chat=$!
echo "good day" >&9; until_true grep -qs "good day" chat.out
id=$(newest a.db); says client say "RUN please"; asks
echo no >&9; exec 9>&-; kill -TERM $chat; wait $chat

# A server's own clients have what it gives them, also where one of their runs was put away meanwhile. Those of another server have not.
# A general yes does not reach what a stranger's words ask for, a rule that names the tool does.
kill -TERM $server; wait $server; serves 'execute_command=allow'; first=$server
theirs() {
  id=$(api "$url/api/runs" -d '{"target": "helper", "input": "ASK RUN", "options": {"interactive": true}}' | grep -o '"id":"[0-9A-Z]*' | head -n 1 | cut -c7-)
  until_true told question_asked
}
theirs; api "$url/api/runs/$id/park" -d '{}' >body; until_true is_in parked; says client answer q1 blue; until_true is_in "done failed"; ran
theirs; serves deny; says client answer q1 blue; asks
kill -TERM $first; wait $first
finish
