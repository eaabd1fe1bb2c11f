# All runs of a store move into another one: from a file into a database and back, and each replays as it was. Started by
# tests/support/postgres.sh.
. "$(dirname "$0")/lib.sh"
HOST=${HOCKET_TEST_POSTGRES#*host=}
DB="postgres://hocket@/test?host=$HOST"
mkdir -m 700 state
FILE=$PWD/state/runs.db
ids_of() { "$HOCKET" runs --limit 0 --store "$1" | awk '{ print $1 }' | sort; }

cat >many.lua <<'E'
local hocket = require "hocket"
local n = ...
hocket.step("long", function() return ("x"):rep(40000) .. n end)
hocket.events.emit("noted", { n = n })
if tonumber(n) % 3 == 0 then return "You said " .. assert(hocket.ask "Which city?") end
if tonumber(n) % 3 == 1 then error("failed " .. n) end
return hocket.run(hocket.agent { name = "a", prompt = "p" }, "say " .. n).text
E
for n in 1 2 3 4 5 6; do "$HOCKET" run -q --store "$FILE" many.lua $n >/dev/null 2>&1; done
waiting=$("$HOCKET" runs --store "$FILE" --state parked | awk '{ print $1; exit }')
run hocket answer "$waiting" q1 Rome --store "$FILE"; expect 0
run hocket resume "$waiting" --store "$FILE"; expect 0; has out "You said Rome"
run hocket fork last --at 3 --store "$FILE"; expect 0
run hocket run --detach -q --store "$FILE" many.lua 8; expect 0
ids_of "$FILE" >before; same "$(wc -l <before)" 8

# What does not move: when it was touched last, whose fork it is (it has all of the log), the queue in which it lay.
shown() { sed -E 's/"(updated_ms|parent|at_n|at_seq|pool|state|due_ms)":("[^"]*"|[0-9]+|null),?//g'; }
same_runs() { # FROM TO
  ids_of "$2" >after; cmp -s before after || fail "other runs are in $2"
  while read -r id; do
    for n in 1 2; do
      [ $n = 1 ] && store=$1 || store=$2
      "$HOCKET" show --json --store "$store" "$id" | shown >shown.$n
    done
    grep -q '"type":"workflow_started"' shown.1 || grep -q '"target":"many.lua"' shown.1 || fail "$id is not shown"
    cmp -s shown.1 shown.2 || { fail "$id is shown otherwise"; diff shown.1 shown.2 | cut -c1-400; }
    "$HOCKET" replay --store "$1" "$id" >replayed.1 2>&1; one=$?
    "$HOCKET" replay --store "$2" "$id" >replayed.2 2>&1; other=$?
    same "$one" "$other"; cmp -s replayed.1 replayed.2 || fail "$id replays otherwise: $(cat replayed.2)"
  done <before
}
# Into the database, through a pipe; and from there into a new file, through one.
"$HOCKET" export --all --store "$FILE" - | "$HOCKET" import --store "$DB" - >imported 2>err; sort imported | cmp -s - before || fail "import names other runs: $(cat err)"
same_runs "$FILE" "$DB"
run hocket export --all --store "$DB" all.runs; expect 0; same "$(stat -c %a all.runs)" 600
run hocket import --store "$PWD/state/back.db" all.runs; expect 0; sort out | cmp -s - before || fail "import names other runs"
same_runs "$FILE" "$PWD/state/back.db"
for store in "$DB" "$PWD/state/back.db"; do run hocket store check --store "$store"; expect 0; done

# Both count the same: rows and statements of each kind, and of each log; bytes but for what a database adds to them.
numbers() { grep -E '^(entries|events|01)' out | awk '{ $(NF - 1) = ""; print }' | sort; }
run hocket store stats --store "$DB"; expect 0; numbers >count.db; has out "entries: begin"
run hocket store stats --store "$PWD/state/back.db"; expect 0; numbers >count.back; cmp -s count.db count.back || fail "the file counts otherwise"
run hocket store stats --store "$PWD/state/back.db" --json; expect 0; has out '"per_run":{'

# Once more: what is there stays, and is counted. One that was cut off in the middle is finished by the next.
run hocket import --store "$DB" all.runs; expect 0; same "$(cat out)" ""; has err "8 runs were there already"
run hocket rm --store "$DB" "$(tail -n 1 before)"; expect 0
run hocket import --store "$DB" all.runs; expect 0; same "$(cat out)" "$(tail -n 1 before)"; has err "7 runs were there already"
run hocket import --new --store "$DB" all.runs; expect 0; same "$(sort -u out | wc -l)" 8
# What is damaged leaves nothing behind; what was there stays.
head -c 100000 all.runs >cut.runs
run hocket import --store "$PWD/state/cut.db" cut.runs; expect 1; same "$("$HOCKET" runs --limit 0 --store "$PWD/state/cut.db" 2>/dev/null | wc -l)" 0
echo old >kept.runs; run hocket export --all --store "$PWD/state/none.db" kept.runs; same "$(cat kept.runs)" old
run hocket export --all "$waiting" all.runs --store "$FILE"; expect 2
# A damaged run is left out and named, the others are there; it can be removed by its whole id.
run hocket import --store "$PWD/state/bad.db" all.runs; expect 0
if python3 -c 'import sqlite3' 2>/dev/null; then
  damage() { python3 -c 'import sqlite3, sys; d = sqlite3.connect("state/bad.db"); d.execute(*[sys.argv[1], sys.argv[2:]]); d.commit()' "$@"; }
  bad=$(head -n 1 before); torn=$(sed -n 2p before)
  damage "UPDATE runs SET target = 'other.lua' WHERE id = ?" "$bad"
  damage "UPDATE records SET json = json || ' ' WHERE run = (SELECT no FROM runs WHERE id = ?)" "$torn"
  run hocket runs --limit 0 --store "$PWD/state/bad.db"; expect 0; hasnt out other.lua; grep "^$bad" out | grep -q damaged || fail "it is listed as it was"
  run hocket export --all --store "$PWD/state/bad.db" most.runs; expect 1; has err "left out"; has err "$bad"; has err "$torn"
  run hocket import --store "$PWD/state/most.db" most.runs; expect 0; same "$(wc -l <out)" 6; hasnt out "$bad"
  run hocket rm --store "$PWD/state/bad.db" "$(echo "$bad" | cut -c1-25)"; expect 1
  run hocket rm --store "$PWD/state/bad.db" "$bad"; expect 0; run hocket store check --store "$PWD/state/bad.db"; hasnt out "$bad"; hasnt err "$bad"
fi
# What an export left that was killed is in nobody's way.
: >late.runs.part; run hocket export --all --store "$FILE" late.runs; expect 0; [ -s late.runs ] || fail "nothing was written"
# The answer to a question is given where the run is by then.
waiting=$("$HOCKET" runs --store "$DB" --state parked | awk '{ print $1; exit }')
run hocket answer "$waiting" q1 Oslo --store "$DB"; expect 0
run hocket resume "$waiting" --trust --store "$DB"; expect 0; has out "You said Oslo"
finish
