#!/bin/sh
# How the pace grows with workers: runs of the travel team, submitted to a PostgreSQL of its own, done by one worker, by two,
# by four. Its model is scripted and in the worker's own process: what a worker costs here is client and server together.
#   workers.sh HOCKET [RUNS [AT-ONCE [WORKERS…]]]     200 runs, 8 at once in each worker, 1 2 4 workers; 10000 takes long
# A row for each: runs a second, of how much of one worker's pace; CPU of workers and of the database for each run. Workers that
# share their CPUs with each other, with the database or with anybody else slow each other down: then the CPU says more.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${HOCKET_TEST_POSTGRES:-}" ]; then
    HOCKET=$(realpath "$1") HOCKET_TEST_POSTGRES_FSYNC=on
    export HOCKET HOCKET_TEST_POSTGRES_FSYNC
    shift
    exec sh "$here/../tests/support/postgres.sh" sh "$here/workers.sh" "$@"
fi
runs=${1:-200} at_once=${2:-8}
[ $# -le 2 ] && set -- 1 2 4 || shift 2
export HOCKET_STORE="$HOCKET_TEST_POSTGRES" HOCKET_MODEL=sim HOCKET_TRUST=1 LC_ALL=C.UTF-8
work=$(mktemp -d) pids=
trap 'for p in $pids; do kill -KILL $p 2>/dev/null || :; done; rm -rf "$work"' EXIT
cd "$work"
mkdir empty
cp -r "$here/../examples/travel" travel
cat >submit.lua <<'X'
local hocket = require "hocket"
local cities = { "Lisbon", "Porto", "Rome", "Oslo" }
for i = 1, tonumber((...)) do assert(hocket.submit("travel/travel.lua", ("Three days in %s"):format(cities[i % 4 + 1]))) end
X
sql() { psql -X -q -At "$HOCKET_TEST_POSTGRES" -c "$1"; }
open() { sql "SELECT count(*) FROM hocket.runs WHERE pool = 'default' AND state NOT IN ('done', 'failed', 'cancelled')"; }
ticks() { # of processes, in milliseconds
    for p in "$@"; do sed 's/.*) //' "/proc/$p/stat" 2>/dev/null || :; done |
        awk -v hz="$(getconf CLK_TCK)" '{ n += $12 + $13 + $14 + $15 } END { printf "%d", n * 1000 / hz }'
}
database() { # pids of the server
    main=$(cat "$HOCKET_TEST_POSTGRES_HOST/pid")
    echo "$main" $(ps -o pid= --ppid "$main")
}
now() { date +%s%N | cut -c1-13; }

"$HOCKET" store init >/dev/null
one=
printf '%-9s %8s %6s %16s %18s\n' workers runs/s times 'CPU ms of worker' 'CPU ms of database'
for n; do
    "$HOCKET" run -q --store "$HOCKET_STORE" submit.lua "$runs"
    sql CHECKPOINT
    before=$(ticks $(database)) began=$(now) pids=
    for _ in $(seq "$n"); do
        (cd empty && exec "$HOCKET" work -q --runs "$at_once") 2>>work.err &
        pids="$pids $!"
    done
    while [ "$(open)" != 0 ]; do
        for p in $pids; do kill -0 "$p" || { cat work.err; exit 1; }; done
        sleep 0.2
    done
    took=$(($(now) - began)) worker=$(ticks $pids) server=$(($(ticks $(database)) - before))
    kill -TERM $pids
    wait $pids || :
    pids=
    failed=$(sql "SELECT count(*) FROM hocket.runs WHERE pool = 'default' AND state <> 'done'")
    [ "$failed" = 0 ] || { echo "$failed runs have failed"; exit 1; }
    one=${one:-$took}
    echo "$n $took $worker $server" | awk -v runs="$runs" -v one="$one" '{
        printf "%-9d %8.2f %6.2f %16.1f %18.1f\n", $1, runs * 1000 / $2, one / $2, $3 / runs, $4 / runs }'
done
