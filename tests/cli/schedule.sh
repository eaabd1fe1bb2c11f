# Schedules: made, listed, run by whoever is there, once, and told when they fail. Also started by tests/support/postgres.sh, with a
# database.
. "$(dirname "$0")/lib.sh"
mkdir -m 700 state; HOCKET_STORE=$PWD/state/runs.db
[ -z "${HOCKET_TEST_POSTGRES:-}" ] || HOCKET_STORE="postgres://hocket@/test?host=${HOCKET_TEST_POSTGRES#*host=}"
export HOCKET_STORE HOCKET_WEBHOOK_SECRET=whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=
if [ -n "${HOCKET_TEST_POSTGRES:-}" ]; then "$HOCKET" store init >/dev/null || fail "no database"; fi
mkdir empty; workers=
worker() {
  name=$1; shift
  : >"w$name.out" # what one of that name wrote before is not this one's
  (cd empty && exec "$HOCKET" work --json "$@") >"w$name.out" 2>"w$name.err" & eval "w$name=$!"; workers="$workers $!"
  until_true grep -q '"working"' "w$name.out"
}
end() { eval "pid=\$w$1"; kill "-$2" "$pid"; wait "$pid"; code=$?; }
sched() { run "$HOCKET" schedule "$@"; }
# As if nobody had been there since the year began.
come() {
  cat >come.lua <<'L'
local schedules = require "hocket.internal.schedule.schedules"
local year = os.time { year = tonumber(os.date "!%Y"), month = 1, day = 1, hour = 0 }
for name in os.getenv("NAMES"):gmatch "%S+" do
  assert(schedules.change(name, os.time() * 1000, function(one)
    one.spec.next_ms = year * 1000
    return true
  end))
end
L
  NAMES=$1 "$HOCKET" run come.lua >/dev/null 2>come.err || fail "$(cat come.err)"
}
runs_of() { "$HOCKET" runs --limit 0 --json | grep -o "\"target\":\"$1\"" | wc -l; }
fired() { "$HOCKET" schedule show "$1" --json | grep -o '"fired":[0-9]*' | cut -d: -f2; }
is_last() { "$HOCKET" schedule show "$1" | grep -q "last: .* $2\$"; }

# ---- Making one ------------------------------------------------------------------------------------
mkdir -p project/agents
printf -- '---\nname: guide\n---\nYou guide.\n' >project/agents/guide.md
echo 'return function() return "It rained." end' >project/sim.lua
echo 'return "said " .. (...)' >say.lua
echo 'error "it broke"' >bad.lua
echo 'return +' >wrong.lua

sched; expect 2; has err "add, list, show, run, pause, resume or rm"
sched frob; expect 2
sched list --tz UTC; expect 2; has err "no options but --json"
sched add '0 6 * * *'; expect 2; has err "hocket schedule add '0 6 * * *' agents"
sched add '0 6 * *' say.lua; expect 2; has err "has 4 fields"
sched add '61 6 * * *' say.lua; expect 2; has err "minute: 61"
sched add '0 6 31 2 *' say.lua; expect 2; has err "is never"
sched add @dayly say.lua; expect 2; has err "did you mean @daily?"
sched add @daily say.lua --tz Mars/Phobos; expect 2; has err "no time zone 'Mars/Phobos'"
TZ=CET-1CEST sched add @daily say.lua; expect 2; has err "TZ is 'CET-1CEST'"; has err "--tz Europe/Berlin" # nothing is guessed
TZ=/etc/passwd sched add @daily say.lua; expect 2; has err "TZ is '/etc/passwd'"
TZ=CET-1CEST sched add @daily say.lua --tz Asia/Tokyo --name tokyo; expect 0; has out "@daily  Asia/Tokyo"; sched rm tokyo; expect 0
TZ=:Europe/Rome sched add @daily say.lua --name rome; expect 0; has out "@daily  Europe/Rome"; sched rm rome; expect 0
sched add @daily say.lua --until 2027-02-30; expect 2; has err "--until 2027-02-30"
sched add @daily say.lua --until 2020-01-01; expect 2; has err "never run"
sched add @daily say.lua --missed some; expect 2; has err "--missed some"
sched add @daily say.lua --overlap some; expect 2; has err "--overlap some"
sched add @daily say.lua --webhook ftp://x; expect 2; has err "--webhook"
sched add @daily say.lua --name 'a b'; expect 2; has err "no name"
sched add @daily say.lua --pool 'a,b'; expect 2; has err "no name of a pool"
sched add @daily nowhere; expect 2; has err "nowhere"
sched add @daily wrong.lua; expect 3; has err "wrong.lua:1"
HOCKET_STORE=memory sched add @daily say.lua; expect 1; has err "gone with this command"
HOCKET_TRUST= sched add @daily project x; expect 1; has err "is not trusted"

sched add '0 6 * * mon-fri' project/agents "How was it?" --tz Europe/Berlin --name weather --until 2099-12-31; expect 0
has out "weather  0 6 * * mon-fri  Europe/Berlin"; has out "06:00 Europe/Berlin"
sched add @hourly say.lua --name 'quoted' -- -a '"b"' "two
lines; and \$(touch owned)"; expect 0
sched add @hourly say.lua; expect 0; has out "say  @hourly"
sched add @hourly say.lua; expect 1; has err "there is a schedule 'say' already"
sched add '0 0 1 1 *' say.lua once --replace --missed all; expect 0; has out "0 0 1 1 *"
sched list; expect 0; has out weather; has out quoted; has out say
sched list --json; expect 0; has out '"next_ms":'; has out '"missed":"all","name":"say"'; has out '"overlap":"queue"'
sched show weather; expect 0; has out "then: "; has out "until: 2099-12-31 23:59 Europe/Berlin"; has out "input: How was it?"
sched show nope; expect 1; has err "there is no schedule 'nope'"
sched rm nope; expect 1
sched pause say; expect 0; has out "next: paused"
sched resume say; expect 0; hasnt out "next: paused"
sched add '*/100 * * * *' say.lua --name never; expect 2; has err "minute: a step is a number from 1 to 59, as in */2, not '*/100'"
sched add '0 */25 * * *' say.lua --name never; expect 2; has err "hour: a step is a number from 1 to 23"
sched add @daily say.lua --name never -m nobody/none; expect 4; has err "unknown provider 'nobody'"
sched add @daily say.lua --name never --webhook "ftp://ann:geheim@x/"; expect 2; hasnt err geheim
sched add @daily say.lua --name told --webhook "https://ann:ge@heim@h.example/x?y"; expect 0; sched show told; has out "webhook: https://ann:***@h.example/x?y"
sched show told --json; has out '"input":null'; has out '"project":null'; has out '"problem":null'; has out '"until_ms":null'; has out '"times_ms":['; hasnt out heim
sched list --json; has out '"webhook":"https://ann:***@h.example/x?y"'; has out '"webhook":null'; hasnt out heim; sched rm told; expect 0
[ -e owned ] && fail "an input was run"

# ---- Run, by hand and when its time has come, with what was there when it was made ----------------------------
sched run quoted; expect 0; id=$(cat out)
mkdir gone; mv say.lua project gone
come "weather say"
worker 1; worker 2
run "$HOCKET" wait "$id"; expect 0; has out 'said -a "b" two'; has out 'lines; and $(touch owned)'
until_true is_last weather done; until_true is_last say done
same "$(fired weather)" 1; same "$(fired say)" 1
run "$HOCKET" runs; has out "How was it?"

# Three at once and two workers, again and again: each is run once each time.
mv gone/* .
for i in 1 2 3; do sched add @yearly say.lua "$i" --name "many$i"; expect 0; done
has_fired() { for i in 1 2 3; do [ "$(fired "many$i")" = "$1" ] || return 1; done; }
before=$(runs_of say.lua)
for round in 1 2 3; do
  come "many1 many2 many3"
  [ $round = 2 ] && { end 1 KILL; worker 1; }
  until_true has_fired $round
  for i in 1 2 3; do until_true is_last "many$i" done; done
done
same "$(runs_of say.lua)" $((before + 9))

# ---- While its last run goes on, and when it is removed -----------------------------------------------------------
echo 'require("hocket").signal "go on"' >long.lua
sched add @yearly long.lua; expect 0; sched add @yearly long.lua --name both --overlap allow; expect 0
come "long both"; until_true is_last long waiting; until_true is_last both waiting
has_both() { [ "$(fired both)" = 2 ]; }
has_skipped() { "$HOCKET" schedule show long --json | grep -q '"skipped":1'; }
come "long both"; until_true has_skipped; until_true has_both
same "$(fired long)" 1
sched rm long; expect 0; empty out; sched show long; expect 1
"$HOCKET" runs --state waiting --json >waiting; same "$(grep -o '"target":"long.lua"' waiting | wc -l)" 3

# ---- What fails is told ----------------------------------------------------------------------------------------
cat >hook.lua <<'L'
local hocket = require "hocket"
local listener = assert(require("hocket.internal.core.server").new { port = 0 })
local function put(name, text)
  local f <close> = assert(io.open(name .. ".new", "w"))
  f:write(text)
  os.rename(name .. ".new", name)
end
put("hook.port", tostring(listener:port()))
while true do
  local http = listener:accept()
  listener:respond(http.id, 204, {}, "")
  put("heard", http.body)
end
L
"$HOCKET" run hook.lua >hook.out 2>&1 & hook=$!
until_true test -s hook.port
sched add @yearly bad.lua --webhook "http://127.0.0.1:$(cat hook.port)/"; expect 0
come bad; until_true is_last bad failed
until_true test -s heard; has heard '"type":"schedule.failed"'; has heard '"schedule":"bad"'; has heard "it broke"
until_true sh -c '"$HOCKET" schedule show bad | grep -q "1, of which 1 failed"'
sched show bad --json; has out '"untold":0'
kill $hook; wait $hook 2>/dev/null

end 1 TERM; expect 0; end 2 TERM; expect 0

# ---- Who may only look leaves them to others, and says so once -----------------------------------------------------
if [ -n "${HOCKET_TEST_POSTGRES:-}" ]; then
  psql -X -q -h "${HOCKET_TEST_POSTGRES#*host=}" -U hocket test -c 'CREATE ROLE looks LOGIN' || fail "no role"
  run "$HOCKET" store init --reader looks; expect 0
  sched add @yearly say.lua 1 --name left; expect 0; sched add @yearly say.lua 2 --name too; expect 0
  come "left too"
  looks="postgres://looks@/test?host=${HOCKET_TEST_POSTGRES#*host=}"
  for url in "$looks" "$looks&options=-c%20default_transaction_read_only%3Don"; do # the second one is as on a standby
    HOME=$PWD "$HOCKET" serve --listen 127.0.0.1:0 --store "$url" >s.out 2>s.err & server=$!
    until_true grep -q "schedules" s.err
    kill $server; wait $server 2>/dev/null
    has s.err "schedules are left to others"; hasnt s.err "cannot be run"
    same "$(grep -c schedule s.err)" 1
  done
  # So does whoever may write, where the server is a standby; and who asks something meanwhile does not wait.
  command -v curl >/dev/null || { echo "skipped: no curl"; exit 77; }
  standby="$HOCKET_STORE&options=-c%20default_transaction_read_only%3Don"
  HOME=$PWD "$HOCKET" serve --listen 127.0.0.1:0 --no-token --store "$standby" >s.out 2>s.err & server=$!
  until_true grep -q "schedules" s.err; sleep 3
  curl -sS --max-time 5 -o body "$(sed -n 's/^serving //p' s.err)/api/runs?limit=1"; code=$?; expect 0; has body '"state"'
  kill $server; wait $server 2>/dev/null
  has s.err "as a standby is"; same "$(grep -c schedule s.err)" 1
  worker 3; until_true is_last left done; until_true is_last too done; end 3 TERM; expect 0
fi
finish
