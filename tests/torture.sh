#!/bin/sh
# What takes minutes: runs that are kept, through every fault of a disk and a kill at every write. Each line is a
# program that says how many points it tried; ./dev test runs a short form of the same.
#   torture.sh BUILD-DIRECTORY
set -u
build=$1 failed=0 start=$(date +%s)

torture() { # words, command…
    words=$1
    shift
    start=$(date +%s)
    if "$@" >"${TMPDIR:-/tmp}/torture.$$" 2>&1; then
        echo "torture: $words: $(tail -1 "${TMPDIR:-/tmp}/torture.$$") in $(($(date +%s) - start)) s"
    else
        failed=1
        cat "${TMPDIR:-/tmp}/torture.$$"
        echo "torture: $words: FAILED"
    fi
    rm -f "${TMPDIR:-/tmp}/torture.$$"
}

torture "the store on a disk that fails" "$build/tests/store/test_store_crash" --full
torture "runs that are kept, on such a disk" "$build/tests/host/test_host_torture" --full
torture "durable runs and workers that are killed behind their effects" "$build/tests/host/test_host_torture_seam" --full
here=$(cd "$(dirname "$0")" && pwd)
torture "check, run and reload of damaged projects" env HOCKET_MODEL=sim HOCKET_TRUST=1 "LUA_PATH=$here/lua/support/?.lua" \
    "$build/hocket" run -q --store off "$here/lua/runner/test_check_agrees.lua" -- --full
torture "random programs, kept and not kept and replayed" env HOCKET="$(cd "$build" && pwd)/hocket" sh "$here/cli/modes.sh" 200
pg="$(dirname "$0")/support/postgres.sh"
if ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
    torture "a database whose connections are cut at any byte" env HOCKET_TORTURE=1 sh "$pg" "$build/tests/store/test_store_postgres_cut"
    torture "processes and a server that are killed, stopped and cut off" sh "$pg" "$build/tests/store/test_store_postgres_history" --full
    torture "workers and their database that are killed, stopped and cut off" env HOCKET="$(cd "$build" && pwd)/hocket" HOCKET_TEST_SEED="$start" sh "$pg" sh "$(dirname "$0")/cli/work_history.sh" 1000
else
    echo "torture: skipped: there is no PostgreSQL server here (Debian package postgresql)"
fi
exit $failed
