# Workers whose store is taken away from under them: they say so, and end; what stands under its name by then they leave alone.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"
gone() { # the worker of this name has ended for it
  eval "wait \$w$1"; code=$?; expect 1; has "w$1.err" "runs.db: the file was removed or moved, or another one is in its place"
}

# ---- One that has nothing to do, and one that has -------------------------------------------------------
worker 1; steps world; until_true test -s world
"$HOCKET" wait "$id" >wait.out 2>wait.err & wait=$!
until_true sh -c "ls -l /proc/$wait/fd 2>/dev/null | grep -q runs.db"
rm -f state/runs.db*; gone 1
wait $wait; code=$?; expect 1; has wait.err "the file was removed or moved"
same "$(cat world)" "step 1"; : >world.go # nobody goes on with it
# Who begins again has a store again.
steps again; : >again.go; worker 2; done_with "$id"; once again
run "$HOCKET" runs --json; hasnt out "$PWD/world"; has out "$PWD/again"
rm -f state/runs.db*; gone 2

# ---- Moved, and another one in its place ------------------------------------------------------------------
steps other; : >other.go; mv state/runs.db state/other.db
steps first; worker 3; until_true test -s first
mv state/runs.db state/first.db; rm -f state/runs.db-*; cp state/other.db state/runs.db
cp state/runs.db before; gone 3; cmp -s state/runs.db before || fail "the other file was written to"
worker 4; until_true test -s other; end 4 TERM; expect 0

# ---- The log of SQLite alone: what stood there is saved, and nothing is done twice ------------------------------
steps log; worker 5; until_true test -s log; "$HOCKET" runs >seen 2>&1
rm state/runs.db-wal; : >log.go
eval "wait \$w5"; code=$?; expect 1; has w5.err "runs.db-wal: the file was removed or moved"
worker 6; done_with "$id"; once log; end 6 TERM; expect 0

# ---- A server: it is not ready any more ---------------------------------------------------------------------
if command -v curl >/dev/null; then
  printf -- '---\nname: poet\n---\nYou write.\n' >poet.md
  "$HOCKET" serve --no-token --listen 127.0.0.1:0 poet.md >serve.out 2>serving & server=$!; workers="$workers $server"
  until_true grep -q '^serving' serving; url=$(sed -n 's/^serving //p' serving)
  status() { curl -sS --max-time 60 -o body -w '%{http_code}' "$@"; }
  same "$(status "$url/api/runs")" 200; same "$(status "$url/readyz")" 200
  rm -f state/runs.db*; same "$(status "$url/api/runs")" 503; has body "the file was removed or moved"
  same "$(status "$url/readyz")" 503; has body "its store cannot be used any more"
  kill -TERM $server; wait $server
fi
finish
