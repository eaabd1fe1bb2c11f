# hocket serve whose database goes away, or does not answer any more: who asks hears so soon, /readyz too, and all is well when it is
# back. Started by tests/support/postgres.sh.
. "$(dirname "$0")/lib.sh"
command -v curl >/dev/null || { echo "skipped: no curl"; exit 77; }
HOST=${HOCKET_TEST_POSTGRES#*host=}
HOME=$PWD; export HOME XDG_STATE_HOME=
until_true() { i=0; until "$@"; do [ $((i += 1)) -lt 300 ] || { fail "never: $*"; return 1; }; sleep 0.1; done; }
stopped=
at_end() { [ -z "$stopped" ] || kill -CONT $stopped; kill $server 2>/dev/null; }
printf -- '---\nname: smith\ndescription: A smith.\n---\nYou are a smith.\n' >smith.md

"$HOCKET" serve --listen 127.0.0.1:0 --no-token --store "postgres://hocket@/test?host=$HOST" smith.md >out 2>serving & server=$!
until_true grep -qs '^serving' serving
url=$(sed -n 's/^serving //p' serving)
status() { curl -sS --max-time 6 -o body -w '%{http_code}' "$@"; }
is_ready() { [ "$(status "$url/readyz")" = "$1" ]; }
begin() { status -H 'Content-Type: application/json' -d '{"target":"smith","input":"Good day"}' "$url/api/runs"; }
is_done() { status "$url/api/runs/$id" >/dev/null; grep -q '"state":"done"' body; }

same "$(begin)" 201
id=$(sed -n 's/.*"id":"\([0-9A-Z]*\)".*/\1/p' body)
until_true is_done
same "$(status "$url/readyz")" 200
all_is_well() {
  until_true is_ready 200
  same "$(status "$url/api/runs/$id")" 200; has body '"state":"done"'
  same "$(begin)" 201
}
# Each within six seconds, however many there are.
all_is_away() {
  until_true is_ready 503; has body away
  same "$(status "$url/healthz")" 200
  for path in "runs?limit=1" inbox workers; do
    same "$(status "$url/api/$path")" 503; has body '"code":"io"'
  done
  same "$(status "$url/v1/responses/resp_01KANC3V0QZJ9E4W2X6T8B5M7R_1")" 503
  same "$(status "$url/v1/nothing")" 404
  same "$(status -X DELETE "$url/api/runs/$id")" 503
  same "$(begin)" 503
  for n in 1 2 3 4; do (status "$url/api/runs?limit=$n" >many.$n) & asks="$asks $!"; done
  # shellcheck disable=SC2086 # several processes
  wait $asks; asks=
  for n in 1 2 3 4; do same "$(cat many.$n)" 503; done
}
asks=

# What is begun before anybody knows waits, and ends when it is back.
sh "$HOST/stop"; same "$(begin)" 201; late=$(sed -n 's/.*"id":"\([0-9A-Z]*\)".*/\1/p' body)
all_is_away
sh "$HOST/start"; all_is_well
id=$late; until_true is_done

# It is there and says nothing, as behind a network that swallows everything.
stopped="$(cat "$HOST/pid") $(ps -o pid= --ppid "$(cat "$HOST/pid")")"
# shellcheck disable=SC2086
kill -STOP $stopped; all_is_away
# shellcheck disable=SC2086
kill -CONT $stopped; stopped=; all_is_well

kill -TERM $server; wait $server; code=$?; expect 0
finish
