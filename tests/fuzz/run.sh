#!/bin/sh
# Searches with every fuzz target for so many seconds each, from the corpus in the tree:
#   run.sh BUILD_DIR SECONDS [TARGET…]
# What is new goes to BUILD_DIR/fuzz-corpus/TARGET and is begun with the next time; a finding to
# BUILD_DIR/fuzz-findings/TARGET-… A table of what was executed ends it. Fails on a finding.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
seconds=$2
shift 2
[ $# -gt 0 ] || set -- $(cd "$here" && ls fuzz_*.c | sed 's/^fuzz_//; s/\.c$//')
mkdir -p "$build/fuzz-findings" "$build/fuzz-logs"
failed=0
table=
for target in "$@"; do
    program=$build/tests/fuzz/fuzz_$target
    if [ ! -x "$program" ]; then
        echo "fuzz: there is no target '$target' in $build" >&2
        exit 2
    fi
    mkdir -p "$build/fuzz-corpus/$target"
    log=$build/fuzz-logs/$target.log
    echo "fuzz: $target for $seconds s" >&2
    rc=0
    "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$build/fuzz-findings/$target-" \
        "$build/fuzz-corpus/$target" "$here/corpus/$target" >"$log" 2>&1 || rc=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    cov=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    row=$(printf '%-18s %12s executions %6s edges  %s' "$target" "${runs:-?}" "${cov:-?}" \
        "$([ $rc -eq 0 ] && echo clean || echo "FINDING, see $log")")
    echo "$row" >&2
    table="$table$row
"
    [ $rc -eq 0 ] || failed=1
done
printf '%s' "$table"
exit $failed
