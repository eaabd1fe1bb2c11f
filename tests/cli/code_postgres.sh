# Code of runs that are kept on PostgreSQL. Whoever may write into the database can put other code there: nothing of it runs before this
# user has trusted it, whoever continues the run. Started by tests/support/postgres.sh.
. "$(dirname "$0")/lib.sh"
HOST=${HOCKET_TEST_POSTGRES#*host=}
psql() { command psql -X -q -At -v ON_ERROR_STOP=1 -h "$HOST" -U "${role:-hocket}" test "$@"; }
unset HOCKET_TRUST HOCKET_MODEL
export HOCKET_SANDBOX=limits HOME="$WORK/home" HOCKET_STORE="postgres://hocket@/test?host=$HOST"
mkdir home team
marks="$WORK/marks"
mark() { printf 'do local f = io.open("%s", "a") f:write("%s\\n") f:close() end\n' "$marks" "$1"; }
ran() { grep -qx "$1" "$marks" 2>/dev/null || fail "$1 should have run"; hasnt "$marks" evil; rm -f "$marks"; }
nothing_ran() { if [ -e "$marks" ]; then fail "ran: $(tr '\n' ' ' <"$marks")"; rm -f "$marks"; fi; }
refused() { expect 1; nothing_ran; has err "its code is not trusted"; has err "$1"; }
id_in() { grep -oE '01[0-9A-Z]{24}' "$1" | head -n 1; }

psql -c 'CREATE ROLE writer LOGIN'
run hocket store init --worker writer; expect 0
{ mark main; cat <<'LUA'; } >team/main.lua
local words = require "words"
local hocket = require "hocket"
return words(hocket.ask "Which colour?")
LUA
echo 'return function(colour) return "It is " .. tostring(colour) end' >team/words.lua
export HOCKET_TRUST="$WORK/team"

# alter RUN FILE [SED]: the writer's statements put another text in the place of a file of the run, with checksums that fit
alter() {
  role=writer
  of="path LIKE '%$2' AND path ~ '^(@|0 read )' AND generation = ANY(SELECT unnest(string_to_array(generation, ',')) FROM hocket.runs WHERE id = '$1')"
  number=$(psql -c "SELECT text FROM hocket.files WHERE $of")
  [ "$(echo "$number" | wc -w)" = 1 ] || fail "$2 is a file of the run: '$number'"
  psql -c "SELECT encode(text, 'base64') FROM hocket.texts WHERE no = $number" | base64 -d | sed "${3:-s/return/$(mark evil | sed 's|[/&\\]|\\&|g') return/}" >text
  grep -q "${4:-evil}" text || fail "$2 was not altered"
  psql -c "INSERT INTO hocket.texts(hash, text) VALUES(decode('$(sha256sum <text | cut -c1-64)', 'hex'), decode('$(base64 -w 0 text)', 'base64')) ON CONFLICT DO NOTHING" \
    -c "UPDATE hocket.files SET text = (SELECT max(no) FROM hocket.texts WHERE hash = decode('$(sha256sum <text | cut -c1-64)', 'hex')) WHERE $of"
  role=
}
row() { role=writer; psql -c "UPDATE hocket.runs SET sum = NULL, sum_set = NULL, $2 WHERE id = '$1'"; role=; }
# A run that has its answer: what it does next is up to whoever continues it.
asking() { run hocket run team hi; expect 75; ran main; id=$(id_in err); run hocket answer "$id" q1 "${1:-blue}"; expect 0; }

# ---- As it was written it goes on, where its folder is trusted ------------------------------------------------------------
asking; run hocket resume "$id"; expect 0; ran main; has out "It is blue"; ended=$id
run env HOCKET_TRUST= "$HOCKET" replay "$id"; refused main.lua # on a database it is nobody's own

# ---- Other code -----------------------------------------------------------------------------------------------------------
alter "$ended" words.lua; run hocket replay "$ended"; refused words.lua
asking; alter "$id" words.lua
run hocket resume "$id"; refused words.lua
run hocket resume "$id" --approve allow; refused words.lua
run hocket resume --all; nothing_ran
fork=$(hocket fork "$id" --at 2 2>/dev/null); run hocket resume "$fork"; refused words.lua
fork=$(hocket fork "$id" --latest 2>/dev/null); run hocket resume "$fork"; expect 75; ran main # with the files of this machine
row "$id" "options = replace(options, '\"trust\":false', '\"trust\":true,\"approve\":\"allow\",\"code\":null')"
run hocket resume "$id"; refused words.lua
asking; alter "$id" main.lua; run hocket resume "$id"; refused main.lua
asking; { mark evil; echo 'return "evil"'; } >evil.lua
row "$id" "target = '$WORK/evil.lua'"; run hocket resume "$id"; expect 1; nothing_ran; has err "asks something else" # than its log says

# ---- A worker ----------------------------------------------------------------------------------------------------------------
work() { rm -f worked; "$HOCKET" work --json "$@" >worked 2>&1 & worker=$!; }
at_end() { kill ${worker:-} ${server:-} 2>/dev/null; }
run hocket run -d team hi; expect 0; queued=$(cat out); nothing_ran
alter "$queued" team/main.lua
work; until_true grep -qs '"outcome":"put_off"' worked; kill -TERM $worker; wait $worker; nothing_ran; has worked "is not trusted"
run hocket resume "$queued"; refused main.lua
row "$queued" "target = '$WORK/evil.lua', due_ms = 0"
work; until_true grep -qs '"outcome":"put_off"' worked; kill -TERM $worker; wait $worker; nothing_ran
run hocket cancel "$queued"; expect 0
# `--trust` is a yes to what the database has: docs/guides/durable-execution.md
run hocket run -d team hi; queued=$(cat out); alter "$queued" team/main.lua "s/main/other/" other
work --trust; until_true grep -qsx other "$marks"; kill -TERM $worker; wait $worker; rm -f "$marks"
# Code that it has not read yet comes from the database, too, when it travels with the run.
run hocket run -d team hi; queued=$(cat out); alter "$queued" team/words.lua
work; until_true grep -qs '"outcome":"put_off"' worked; kill -TERM $worker; wait $worker; nothing_ran
run hocket cancel "$queued"; expect 0

# ---- A schedule whose target is another script of this machine ------------------------------------------------------------
run hocket schedule add '@yearly' team hi --name s; expect 0
role=writer; same "$(psql -c "UPDATE hocket.items SET json = replace(json, '\"target\":\"team\"', '\"target\":\"$WORK/evil.lua\"') WHERE kind = 'schedule' RETURNING json" | grep -o evil.lua)" evil.lua; role=
run hocket schedule run s; fired=$(cat out)
work; until_true grep -qs '"outcome":"put_off"\|"type":"run_ended"' worked; kill -TERM $worker; wait $worker; nothing_ran; hasnt worked '"code":"ok"'
run hocket cancel "$fired"

# ---- Yes on a terminal is for this code -------------------------------------------------------------------------------------
need_pty
export HOCKET_TRUST=
run hocket run team/main.lua hi; expect 75; ran main; id=$(id_in err)
run "$PTY" -w "Run it?" wait:10 -w "> " line:yes -w "Which colour?" wait:10 -w "> " line:red -- "$HOCKET" resume "$id"; expect 0; ran main; has out "It is red"
run hocket replay "$id"; expect 0; ran main
alter "$id" words.lua; run hocket replay "$id"; refused words.lua
run "$PTY" -w "Run it?" wait:10 -w "> " line:no -- "$HOCKET" replay "$id"; expect 1; nothing_ran

# ---- HTTP ----------------------------------------------------------------------------------------------------------------------
export HOCKET_TRUST="$WORK/team"
asking; alter "$id" words.lua
command -v curl >/dev/null || { echo "not tried without curl: HTTP"; finish; }
printf -- '---\nname: helper\n---\nYou help.\n' >helper.md
"$HOCKET" serve --listen 127.0.0.1:0 --trust --approve allow --model sim helper.md >served 2>serving & server=$!
until_true grep -qs '^serving' serving
url=$(sed -n 's/^serving //p' serving) token=$(cat "$HOME/.local/state/hocket/serve-token")
for way in "$id/resume" "$id/fork" "$id/say" "$ended/fork"; do
  what="POST $way"
  curl -sS --max-time 60 -H "Authorization: Bearer $token" -H 'content-type: application/json' "$url/api/runs/$way" -d '{"text": "go on"}' >answer
  nothing_ran
done
what=resume; curl -sS --max-time 60 -H "Authorization: Bearer $token" -H 'content-type: application/json' "$url/api/runs/$id/resume" -d '{}' >answer
has answer "not trusted"; nothing_ran
kill -TERM $server; wait $server; server=
finish
