#!/bin/sh
# Instructions of the client's process per turn, as valgrind's callgrind counts them: the same from
# run to run, also on a busy machine, where times are not. What the kernel does is not in it.
#
#   bench/instructions.sh [SCRIPT MODEL UNITS]      turns tools-20 21, or team "" 36
#
# The profile of the longer run stays in /tmp/hocket-callgrind.12 for callgrind_annotate.
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
build=${HOCKET_BUILD:-$bench/../build}
script=${1:-turns} model=${2-tools-20} units=${3:-21}
command -v valgrind >/dev/null || { echo "instructions: valgrind is not installed" >&2; exit 2; }

# The total of a run with so many rounds.
count() {
    OPENAI_BASE_URL=http://127.0.0.1:$port/v1 NO_PROXY=127.0.0.1 valgrind --tool=callgrind \
        --callgrind-out-file="/tmp/hocket-callgrind.$1" "$build/hocket" run "$bench/scripts/$script.lua" "$1" -q --store off \
        ${model:+--model "openai/$model"} >/dev/null 2>&1 || { echo "instructions: the run failed" >&2; exit 1; }
    sed -n 's/^totals: \([0-9]*\).*/\1/p' "/tmp/hocket-callgrind.$1"
}

ports=$(mktemp)
"$build/bench/bench_mock" >"$ports" &
mock=$!
trap 'kill $mock; rm -f "$ports"' EXIT
while ! [ -s "$ports" ]; do sleep 0.1; done
port=$(head -1 "$ports")
few=$(count 2)
many=$(count 12)
echo "$script${model:+ ($model)}: $(((many - few) / 10 / units)) instructions per turn, start-up $((few / 1000000 - (many - few) / 5000000)) million"
