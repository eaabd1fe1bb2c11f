# Runs that are kept in PostgreSQL: every command as with a file. Started by tests/support/postgres.sh.
. "$(dirname "$0")/lib.sh"
HOST=${HOCKET_TEST_POSTGRES#*host=}
psql() { command psql -X -q -At -h "$HOST" -U hocket test "$@"; }
export HOME="$WORK/home" HOCKET_TRUST=1 PGPASSWORD=geheim
mkdir home
URL="postgres://hocket:geheim@/test?host=$HOST"
export HOCKET_STORE="$URL"
id_in() { grep -oE '01[0-9A-Z]{24}' "$1" | head -n 1; }
shown() { if grep -rF geheim . >leak 2>/dev/null; then fail "a password is shown: $(cat leak)"; fi; }

# ---- Making it, and roles ---------------------------------------------------------------------------------
run hocket store; expect 2; has err "init, migrate, check, stats or vacuum"
run hocket store check --worker w; expect 2; has err "for init"
run hocket store init --days 3; expect 2
psql -c 'CREATE ROLE worker LOGIN' -c 'CREATE ROLE reader LOGIN' -c 'CREATE ROLE nobody LOGIN' -c 'REVOKE CREATE ON SCHEMA public FROM public'
run hocket runs --store "postgres://nobody@/test?host=$HOST"; expect 1; has err "run \`hocket store init\` as the owner"
run hocket store init --worker worker --reader reader; expect 0; has out "ready: postgres://hocket:***@/test?host="
run hocket store init --worker "no such \"role"; expect 1; has err "does not exist"
run hocket store migrate; expect 0; has out "up to date"
run hocket doctor; expect 0; has out "runs are kept in: postgres://hocket:***@/test"
run hocket runs; expect 0; has err "there are none"
run hocket runs --store "postgres://nobody@/test?host=$HOST"; expect 1; has err "this role may not use the store: as the owner"
# One that has no connection left is waited for.
psql -c 'CREATE ROLE few LOGIN CONNECTION LIMIT 1' -c 'GRANT reader TO few'
FEW="postgres://few@/test?host=$HOST"
command psql -X -q -h "$HOST" -U few test -c 'SELECT pg_sleep(3)' >/dev/null & holder=$!
is_held() { [ "$(psql -c "SELECT count(*) FROM pg_stat_activity WHERE usename = 'few'")" = 1 ]; }
until_true is_held
run hocket runs --store "$FEW"; expect 0; has err "there are none"
wait $holder
READER="postgres://reader@/test?host=$HOST" WORKER="postgres://worker@/test?host=$HOST"

# The table that says which version the others have is the owner's: whoever changes it locks everybody out.
for role in worker reader; do
  for words in "UPDATE hocket.meta SET value = '99' WHERE name = 'version'" "DELETE FROM hocket.meta" "INSERT INTO hocket.meta VALUES('x', 'y')" \
    "TRUNCATE hocket.meta" "DROP TABLE hocket.meta" "ALTER TABLE hocket.meta ADD x TEXT" "GRANT UPDATE ON hocket.meta TO worker"; do
    before=$(psql -c "SELECT * FROM hocket.meta ORDER BY name")
    command psql -X -q -h "$HOST" -U $role test -c "$words" >/dev/null 2>&1
    same "$(psql -c "SELECT * FROM hocket.meta ORDER BY name")" "$before"
    command psql -X -q -h "$HOST" -U worker test -c "DELETE FROM hocket.meta WHERE name = 'x'" >/dev/null 2>&1 && fail "$role: $words"
  done
done
version=$(psql -c "SELECT value FROM hocket.meta WHERE name = 'version'")
psql -c "UPDATE hocket.meta SET value = '99' WHERE name = 'version'"
run hocket runs; expect 1; has err "Locked out"
psql -c "UPDATE hocket.meta SET value = '$version' WHERE name = 'version'" -c "UPDATE hocket.meta SET value = 'x' WHERE name = 'application'"
run hocket runs; expect 1; has err "Locked out"
psql -c "UPDATE hocket.meta SET value = 'hocket' WHERE name = 'application'"
run hocket runs; expect 0

# ---- A run that waits for a person, as a worker's role ------------------------------------------------------
cat >ask.lua <<'X'
local hocket = require "hocket"
local city = assert(hocket.ask "Which city?")
return "You said " .. city
X
run hocket run --store "$URL" ask.lua; expect 75; has err "hocket answer 01"; has err "--store 'postgres://hocket:***@"
export HOCKET_STORE="$WORKER"
id=$(id_in err)
run hocket runs --store "$READER"; expect 0; has out "$id"; has out parked
run hocket answer --store "$READER" "$id" q1 Lisbon; expect 1; has err "this role may only look at the store"
run hocket answer "$id" q1 Lisbon; expect 0
run hocket answer "$id" q1 Porto; expect 1
run hocket resume "$id"; expect 0; has out "You said Lisbon"
run hocket replay "$id"; expect 0; has err "all as recorded"
run hocket resume "$id"; expect 0; has err "has ended"; has out "You said Lisbon"
run hocket show "$(echo "$id" | cut -c1-16)" --store "$READER"; expect 0; has out "Which city?"

# ---- Workers, as a reader sees them ---------------------------------------------------------------------------
run hocket run --detach -q --pool gpu ask.lua; expect 0; queued=$(cat out)
run hocket workers --store "$READER"; expect 0; has out "none: nobody takes what is queued"
(exec "$HOCKET" work -q --pool gpu) 2>/dev/null & worker=$!
seen() { hocket workers --store "$READER" --json | grep -q '"state":"working"'; }
until_true seen; run hocket workers --store "$READER"; expect 0; hasnt out "nobody takes"
parked() { hocket runs --state parked | grep -q "$queued"; }
until_true parked
run hocket workers; expect 0; has out "$queued"; has out question
kill "$worker"; wait "$worker"; run hocket workers; has out "none: 'hocket work' starts one"
run hocket cancel "$queued"; expect 0

# Budgets, before a call has drawn from one and after.
run hocket budget set trips --calls 9; expect 0
run hocket budget list --store "$READER"; expect 0; has out "9 calls a day: 0 calls used, 9 calls left"
printf -- '---\nname: one\n---\nOne.\n' >one.md
run hocket run -q --project trips one.md Hello; expect 0
run hocket budget show trips --store "$READER"; expect 0; has out "9 calls a day: 1 calls used, 8 calls left"
run hocket budget rm trips --store "$READER"; expect 1; has err "only look"
run hocket budget list; expect 0; has out "1 calls used"
run hocket budget rm trips; expect 0

run timeout 20 "$HOCKET" work -q --store "$READER"; expect 1; has err "permission denied"
# What a reader asks for beyond that is refused, and it goes on looking.
printf 'return "at once"\n' >fast.lua # done before anybody knows that it is not kept
run hocket run --store "$READER" fast.lua; has out "at once"; has err "cannot be kept: this role may only look"
run hocket run --store "$READER" ask.lua; expect 1; has err "this role may only look"; hasnt err "hocket resume"
"$HOCKET" serve --no-token --store "$READER" --listen 127.0.0.1:0 ask.lua >served 2>&1 & server=$!
until_true grep -qs '^serving' served; url=$(sed -n 's/^serving //p' served)
what="hocket serve"
curl -sS -X POST -H "Content-Type: application/json" "$url/api/runs/$id/fork" -d '{}' >out; has out denied
curl -sS -X POST -H "Content-Type: application/json" "$url/api/runs" -d '{"target":"ask","input":"x"}' >out
curl -sS "$url/api/runs" >out; has out "$id"
kill "$server"; wait "$server" || :

# ---- Forked, exported, imported, removed --------------------------------------------------------------------
run hocket fork "$id" --at 2; expect 0; fork=$(id_in out)
run hocket resume "$fork"; expect 75
run hocket export "$id" x.run; expect 0
run hocket import x.run; expect 1; has err "already"
run hocket import --new x.run; expect 0; copy=$(id_in out)
run hocket replay "$copy"; expect 0
run hocket import --store "$PWD/file.db" x.run; expect 0
run hocket rm "$id" "$copy"; expect 0
run hocket runs --json; hasnt out "$copy"; has out "$fork"
run hocket replay "$fork"; expect 0

# ---- Signals, conversations, what agents remember --------------------------------------------------------------
cat >paid.lua <<'X'
return "paid " .. assert(require("hocket").signal "paid").amount
X
run hocket run paid.lua; expect 75; id=$(id_in err)
run hocket signal "$id" paid '{"amount": 12}'; expect 0
run hocket resume "$id"; expect 0; has out "paid 12"
cat >many.lua <<'LUA'
local hocket = require "hocket"
local who = ...
local notes = assert(hocket.memory { name = "shared", scope = "user" })
for i = 1, 10 do assert(notes:write(("%s says %d"):format(who, i), { id = who .. i })) end
return "written"
LUA
"$HOCKET" run -q many.lua ann >out1 2>err1 & one=$!
"$HOCKET" run -q many.lua bob >out2 2>err2 & two=$!
wait $one || fail "the first could not write: $(cat err1)"
wait $two || fail "the second could not write: $(cat err2)"
run hocket memory list; expect 0; has out "20 notes"
run hocket memory search shared "ann says" --limit 100 --json; expect 0
same "$(grep -o '"id":"ann[0-9]*"' out | sort -u | wc -l)" 10
printf 'hello\n' | "$HOCKET" chat >out 2>err; has err "the conversation is stored"
printf 'again\n' | "$HOCKET" chat --continue >out 2>err || fail "the conversation does not go on: $(cat err)"

# ---- Killed at any moment -----------------------------------------------------------------------------------
cat >work.lua <<'X'
local hocket = require "hocket"
for i = 1, 20 do
  hocket.step("s" .. i, function()
    local f <close> = assert(io.open("world", "a"))
    f:write(i, "\n")
    return i
  end)
end
return "all done"
X
for delay in 0.05 0.08 0.12 0.16; do
  rm -f world ev; : >world
  "$HOCKET" run -q --events ev work.lua >out 2>err & pid=$!
  sleep $delay; kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null || :
  [ -s ev ] || continue
  id=$(id_in ev)
  run hocket resume -q "$id"
  [ $code = 0 ] || grep -q "has ended\|no run" err || fail "killed after $delay"
  sort world | uniq -d | grep . && fail "killed after $delay: done twice"
done

# ---- Looked after ------------------------------------------------------------------------------------------
run hocket store check --store "$URL"; expect 0; has out "OK: no problems found"
run hocket store vacuum --store "$URL" --days 1; expect 0; has out "0 runs removed"
psql -c 'UPDATE hocket.runs SET updated_ms = 1 WHERE state = '"'done'"
run hocket store vacuum --store "$URL" --days 1 --json; expect 0; hasnt out '"removed":0'
psql -c 'DELETE FROM hocket.entries WHERE n = 1'
run hocket store check --store "$URL"; expect 1; has err "lacks entries"

# ---- What is wrong with an address is said, and its password is not ----------------------------------------------
run hocket runs --store "postgres://hocket:gehe/im@$HOST/test"; expect 2; hasnt err gehe
run hocket runs --store "postgres://hocket:geheim@/nodb?host=$HOST"; expect 1; has err 'database "nodb" does not exist (is it running? The store is what --store'
run hocket runs --store "$URL&schema=Bad"; expect 2; has err "small letters"
run hocket runs --store "$URL&schema=another"; expect 0; has err "there are none"
run hocket store check --store "$PWD/file.db"; expect 0; has out "OK: no problems found"
run hocket store vacuum --store "$PWD/file.db"; expect 0
run hocket store init --store "$PWD/file.db" --reader x; expect 1; has err "a file has no roles"
shown
finish
