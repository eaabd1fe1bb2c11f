# Random small programs (modes.lua), each in four modes: not kept, kept in memory, kept in a file, and replayed. Everything that a user sees
# is the same: what is printed, how it ends, and the events, but for their order among parts that go on side by side.
#   modes.sh [PROGRAMS [SEED]]
. "$(dirname "$0")/lib.sh"
most=${1:-12} seed=${2:-$(date +%s)}

# What happened, without what each run has for itself (times, ids), and without what goes by who came first (labels of the run).
events_of() { # FILE
  sed -E 's/"(seq|time|run|op|parent|seconds|first_seconds|calls_per_second|ms|ttft_ms|task|call|turn_id|id|at|text_id|request_id|wait)":("[^"]*"|[0-9.e-]+),?//g' "$1" | grep -vE '"type":"(model_chunk|labels_added)"' | sort
}
n=0
while [ $n -lt "$most" ]; do
  for mode in off memory file.db; do
    rm -f "events.$mode"
    "$HOCKET" run -q --store "$mode" --approve allow --events "events.$mode" "$HERE/modes.lua" "$seed" >"out.$mode" 2>"err.$mode" </dev/null
    echo "exit code $?" >>"out.$mode"
    events_of "events.$mode" >"seen.$mode"
  done
  for mode in memory file.db; do
    cmp -s out.off "out.$mode" || { fail "seed $seed: what is printed differs ($mode)"; diff out.off "out.$mode" | head -4; diff err.off "err.$mode" | head -4; }
    cmp -s seen.off "seen.$mode" || { fail "seed $seed: events differ ($mode)"; diff seen.off "seen.$mode" | head -6; }
  done
  run "$HOCKET" replay --store file.db last
  expect 0
  has err "all as recorded"
  rm -f file.db*
  n=$((n + 1)) seed=$((seed + 1))
done
echo "$n programs in four modes, up to seed $((seed - 1))"
finish
