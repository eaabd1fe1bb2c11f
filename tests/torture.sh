#!/bin/sh
# What takes minutes: runs that are kept, through every fault of a disk and a kill at every write. Each line is a
# program that says how many points it tried; ./dev test runs a short form of the same. Standard error has a line of
# progress each minute.
#   torture.sh BUILD-DIRECTORY [PART…]    all parts, or those that are named
set -u
build=$1 failed=0 seed=$(date +%s)
shift
parts='disk runs seam projects programs cuts history workers'
for part in "$@"; do
    case " $parts " in *" $part "*) ;; *) echo "torture: no part '$part': there are $parts" >&2 && exit 2 ;; esac
done
wanted=" ${*:-$parts} "
here=$(cd "$(dirname "$0")" && pwd)
pg="$here/support/postgres.sh"
hocket="$(cd "$build" && pwd)/hocket"

log="${TMPDIR:-/tmp}/torture.$$" ticker=

# Each minute: how long a part has been at it, and the newest line of its log.
progress() { # part, start
    trap 'kill $! 2>/dev/null; exit' TERM
    while sleep 60 & wait $!; do
        echo "torture $1: $((($(date +%s) - $2) / 60)) min: $(tail -n 1 "$log" | cut -c 1-100)" >&2
    done
}

end_progress() {
    [ -z "$ticker" ] || kill "$ticker" 2>/dev/null
    ticker=
}

torture() { # part, words, command…
    part=$1 words=$2 start=$(date +%s)
    shift 2
    case $wanted in *" $part "*) ;; *) return ;; esac
    echo "torture $part: $words: begins" >&2
    : >"$log"
    progress "$part" "$start" &
    ticker=$!
    if "$@" >"$log" 2>&1; then
        echo "torture $part: $words: $(tail -n 1 "$log") in $(($(date +%s) - start)) s"
    else
        failed=1
        cat "$log"
        echo "torture $part: $words: FAILED in $(($(date +%s) - start)) s"
    fi
    end_progress
    rm -f "$log"
}
trap end_progress EXIT
trap 'exit 130' INT TERM

on_postgres() { # part, words, command…: with a server of its own
    if ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
        torture "$@"
    else
        torture "$1" "$2" echo "skipped: there is no PostgreSQL server here (Debian package postgresql)"
    fi
}

torture disk "the store on a disk that fails" "$build/tests/store/test_store_crash" --full
torture runs "runs that are kept, on such a disk" "$build/tests/host/test_host_torture" --full
torture seam "durable runs and workers that are killed behind their effects" "$build/tests/host/test_host_torture_seam" --full
torture projects "check, run and reload of damaged projects" env HOCKET_MODEL=sim HOCKET_TRUST=1 "LUA_PATH=$here/lua/support/?.lua" \
    "$build/hocket" run -q --store off "$here/lua/runner/test_check_agrees.lua" -- --full
torture programs "random programs, kept and not kept and replayed" env HOCKET="$hocket" sh "$here/cli/modes.sh" 200
on_postgres cuts "a database whose connections are cut at any byte" env HOCKET_TORTURE=1 sh "$pg" "$build/tests/store/test_store_postgres_cut"
on_postgres history "processes and a server that are killed, stopped and cut off" sh "$pg" "$build/tests/store/test_store_postgres_history" --full
on_postgres workers "workers and their database that are killed, stopped and cut off" env HOCKET="$hocket" HOCKET_TEST_SEED="$seed" sh "$pg" \
    sh "$here/cli/work_history.sh" 1000
exit $failed
