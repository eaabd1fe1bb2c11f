# Logs of commands that nobody watches: each line of stderr is a record with date, time, zone, level and run.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"
export TZ=America/St_Johns # a zone that is no whole hour away, to the west

time='20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]{3}-0[23]:30'
ids='01[0-9A-Z]{24}'
records() { # FILE FORMAT: all of its lines are, and there are some
  case $2 in
    text) form="^$time (error|warning|info) run=(-|$ids) (agent=[^ ]+ )?[^ ]" ;;
    json) form="^\{\"time\":\"$time\",\"level\":\"(error|warning|info)\",\"run\":(null|\"$ids\"),(\"agent\":\"[^\"]+\",)?\"message\":\".*\"\}\$" ;;
  esac
  [ -s "$1" ] || fail "there is no line in $1"
  if grep -vE "$form" "$1" >other; then fail "$1 has lines that are no records: $(cat other)"; fi
}

echo 'return "fine"' >ok.lua
echo 'return require("hocket").ask "Which city?"' >ask.lua
printf 'error("it broke\\n2026-01-01T00:00:00.000-03:30 info run=- all is well")\n' >bad.lua
printf -- '---\nname: one\ntools: [ask_user]\n---\nOne.\n' >one.md

# ---- hocket run ----------------------------------------------------------------------------------------
for format in text json; do
  run hocket run --log-format $format one.md hello; expect 0; records err $format; has err one
  run hocket run --log-format $format ask.lua; expect 75; records err $format
  grep -E "warning.*waits for an answer" err | grep -qE "$ids.*$ids" || fail "the question is no warning of its run"
  has err "hocket answer 01"; hasnt err cancelled
  run hocket run --log-format $format bad.lua; expect 1; records err $format
  same "$(grep -c "it broke" err)" 1; grep "it broke" err | grep -q error || fail "it is no error" # one record, whatever a text holds
  grep -q '^2026-01-01' err && fail "a text has made a record"
  run hocket run --log-format $format --frob ok.lua; expect 2; records err $format
  run hocket run --log-format $format nowhere; expect 2; records err $format
  run hocket run --log-format $format --store "$PWD/ok.lua" ok.lua; expect 1; records err $format
  run hocket resume --log-format $format last:ask; expect 75; records err $format
done
run hocket run --log-format xml ok.lua; expect 2; has err "expected text or json"
run hocket run -q --log-format json ok.lua; expect 0; empty err
run hocket run ok.lua; expect 0; hasnt err "run=" # unless it is asked for lines are as they were

# On a terminal there is no live view, and nobody is asked.
if "$PTY" -- true >/dev/null 2>&1; then
  run "$PTY" -- "$HOCKET" run --log-format text ask.lua; expect 75; hasnt out "$(printf '\033')"; has out " warning run="
fi

# ---- hocket work ---------------------------------------------------------------------------------------
detach ok.lua; done=$id; detach bad.lua; failed=$id; detach ask.lua; asks=$id
(cd empty && exec "$HOCKET" work --log-format json --json) >events 2>work.json & workers=$!
until_true is "$done" done; until_true is "$failed" failed; until_true is "$asks" parked
until_true grep -q "waits for an answer" work.json
kill -TERM $workers; wait $workers; code=$?; workers=; expect 0
records work.json json
grep "\"level\":\"info\",\"run\":\"$done\",\"message\":\"done after" work.json >/dev/null || fail "no end of $done"
grep "\"level\":\"error\",\"run\":\"$failed\",\"message\":\"failed after .*it broke" work.json >/dev/null || fail "no failure of $failed"
grep "\"level\":\"warning\",\"run\":\"$asks\",\"message\":\"waits for an answer after" work.json >/dev/null || fail "no question of $asks"
# A store that was there from the beginning is not there again.
hasnt events store_back; hasnt work.json "there again"
grep '"type":"run_ended"' events | grep "$asks" | grep -q '"outcome":"parked"' || fail "the event does not say that it waits"
(cd empty && exec "$HOCKET" work -v) >/dev/null 2>plain & workers=$!
until_true grep -q working plain; detach ask.lua; until_true grep -q "$id  waits for an answer" plain
kill -TERM $workers; wait $workers; workers=; hasnt plain "there again"; hasnt plain cancelled

# Several processes write whole lines, and so does the one that looks after them.
(cd empty && exec "$HOCKET" work --log-format text --processes 2) 2>many & workers=$!
until_true sh -c '[ "$(grep -c "working:" many)" = 2 ]'
pkill -KILL -P $workers 2>/dev/null || kill -KILL "$(ps -o pid= --ppid $workers | head -n 1)"
until_true grep -q "was ended by signal 9" many
kill -TERM $workers; wait $workers; workers=; records many text

# ---- hocket serve, hocket schedule ----------------------------------------------------------------------
touch serve.json many plain work.json
"$HOCKET" serve --listen 127.0.0.1:0 --no-token --log-format json --access-log - one.md >out 2>serve.json & workers=$!
until_true grep -q '"serving http' serve.json
if command -v curl >/dev/null; then
  curl -sS -o /dev/null "$(grep -oE 'http://[0-9.:]+' serve.json | head -n 1)/healthz"
  until_true grep -q 'request .*/healthz' serve.json
fi
kill -TERM $workers; wait $workers; workers=; records serve.json json
run hocket schedule add --log-format json '61 * * * *' ok.lua; expect 2; records err json; has err "minute: 61"
run hocket schedule add --log-format json '@daily' ok.lua; expect 0; has out "ok  @daily"

# ---- Where stderr is the journal's stream ------------------------------------------------------------------
if ! bwrap --dev-bind / / --tmpfs /run true 2>/dev/null || ! command -v python3 >/dev/null; then
  echo "the journal is not tried: no bwrap, or no python3"
  finish
fi
mkdir journal
beside() { # as a service has it
  : >err
  run env JOURNAL_STREAM="$(stat -c '%d:%i' err)" bwrap --dev-bind / / --tmpfs /run --dir /run/systemd --bind "$WORK/journal" /run/systemd/journal --bind "$WORK" "$WORK" "$HOCKET" "$@"
}
cat >reader.py <<'X'
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("journal/socket")
open("listening", "w").close()
with open("fields", "ab", 0) as out:
    while True:
        out.write(s.recv(65536) + b"--\n")
X
python3 reader.py & reader=$!
until_true test -e listening
beside run bad.lua; expect 1; empty err
until_true grep -qa "^--$" fields
kill $reader; wait $reader 2>/dev/null
grep -a -A1 '^MESSAGE$' fields | grep -qa "it broke" || fail "no message: $(cat -v fields)"
grep -a -A1 '^PRIORITY$' fields | grep -qa "3$" || fail "no priority"
grep -a -A1 '^HOCKET_RUN$' fields | grep -qaE "$ids\$" || fail "no run"
rm journal/socket; beside run bad.lua; expect 1; has err "<3>bad.lua:1: it broke" # the journal is gone
# A program whose stderr goes elsewhere is no service.
run env JOURNAL_STREAM=1:1 "$HOCKET" run bad.lua; expect 1; has err "error: bad.lua:1"
finish
