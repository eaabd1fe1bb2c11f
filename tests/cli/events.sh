# --events: complete, without gaps, and never in the run's way.
. "$(dirname "$0")/lib.sh"
team t

# Prints the number of events, the type of the last, and what is wrong with their order.
cat >order.lua <<'X'
local json = require "hocket.json"
local n, last = 0, nil
for line in (...):gmatch "[^\n]+" do
  local event = assert(json.decode(line))
  n = n + 1
  if event.seq ~= n then print("gap at", n) end
  last = event.type
end
print(n > 10 and "many" or n, last)
X
order() { hocket run -q order.lua - 2>>err; }

run hocket run -q --events ev t hello
expect 0; same "$(order <ev)" "many	workflow_finished"
for type in workflow_started tasks_created agent_started tool_call document_updated task_updated \
    agent_message agent_finished final_answer model_request model_reply; do
  has ev "\"type\":\"$type\""
done
rm ev
run hocket run -q --events ev absent.lua
expect 2; same "$(order <ev)" "3	workflow_finished"; has ev '"type":"error"'

run hocket run -q --events - t hello
expect 0; same "$(order <out)" "many	workflow_finished"
echo 'print("printed") return "answer"' >prints.lua
run hocket run -q --events - prints.lua
expect 0; same "$(grep -cv '^{' out)" 0; has out '"printed"'

what="events on a full stdout"; hocket run -q --events - t hello >/dev/full 2>err; code=$?; expect 1; has err "were not written to the event file"
what="and of a chat"; echo hello | hocket chat -q --events - t >/dev/full 2>err; code=$?; expect 1

run hocket run -q --events /dev/full t hello
expect 0; has out "## "; has err "were not written to the event file: No space left on device"
same "$(grep -c 'event file' err)" 1
run hocket run -q --events /dev/full prints.lua
expect 0; same "$(cat out)" "printed
answer"; has err "warning: 4 of 4 events were not written"

# A file that can take no more has whole lines, and the run goes on.
rm ev
# shellcheck disable=SC3045 # dash and bash have it
run sh -c 'ulimit -f 16; "$0" run -q --events ev t hello' "$HOCKET"
expect 0; has out "## "; has err "were not written to the event file: File too large"
same "$(order <ev | cut -f 1)" many; same "$(tail -c 1 ev)" ""

# What is there stays there, whole lines, and is nobody else's at the same time.
rm ev
printf '{"seq":1,"cut' >ev
run hocket run -q --events ev prints.lua
expect 0; same "$(head -n 1 ev)" '{"seq":1,"cut'; same "$(sed -n 2p ev | cut -c 1-8)" '{"seq":1'
run hocket run -q --events ev prints.lua
expect 0; same "$(grep -c '"type":"workflow_finished"' ev)" 2
same "$(sed -n 's/.*"run":"\([0-9A-Z]*\)".*/\1/p' ev | sort -u | wc -l | tr -d ' ')" 2
rm ev
run hocket run -q --events ev prints.lua
same "$(stat -c %a ev)" 600
ln -s ev link
run hocket run -q --events link prints.lua
expect 2; has err "it is a symbolic link"; same "$(grep -c workflow_finished ev)" 1
run hocket run -q --events /dev/stderr prints.lua
expect 0; has err workflow_finished
echo 'require("hocket").flow.sleep(3) return "late"' >sleeps.lua
"$HOCKET" run -q --events shared --record tape sleeps.lua >/dev/null 2>&1 & writer=$!
until_true test -s shared
until_true test -s tape
cp tape before
run hocket run -q --events shared prints.lua
expect 2; has err "another run writes to it"
run hocket run -q --record tape prints.lua
expect 1; has err "another run writes to it"; same "$(cat tape)" "$(cat before)"
kill $writer; wait $writer
has shared '"type":"workflow_finished"'

mkfifo fifo
cat fifo >fifo.out & reader=$!
run hocket run -q --events fifo t hello
wait $reader
expect 0; same "$(order <fifo.out)" "many	workflow_finished"; hasnt err "event file"

run hocket run -q --events fifo prints.lua # nobody reads it
expect 0; has out answer; has err "nobody read the FIFO"; same "$(grep -c 'event file' err)" 1
(head -n 2 fifo >/dev/null) & reader=$!
echo 'local f = require("hocket").flow
for i = 1, 2000 do require("hocket").events.emit("progress", { text = ("x"):rep(200) }) if i % 100 == 0 then f.sleep(0.01) end end
return "all the same"' >many.lua
run hocket run -q --events fifo many.lua
wait $reader
expect 0; same "$(cat out)" "all the same"; has err "the reader went away"

# A reader that never reads: the run ends, then at most some seconds pass.
(exec 3<fifo; sleep 20) & reader=$!
run hocket run -q --events fifo many.lua
kill $reader 2>/dev/null
expect 0; has err "it took no more"

# --jobs 1: beside the agent that waits for them, one is at work at a time.
run hocket run "$ROOT/examples/travel/travel.lua" "Three days in Lisbon" --jobs 1 --events jobs.jsonl
expect 0
most=$(awk '/"type":"task_running"/ { n++ } /"type":"task_(completed|failed|cancelled)"/ { n-- }
  n > most { most = n } END { print most }' jobs.jsonl)
same "$most" 2

# What an agent writes is not obeyed by the terminal that shows the lines: controls of eight bits, directions.
printf 'return "a\\194\\155 31m\\226\\128\\174b\\194\\133\\226\\129\\169c"\n' >hostile.lua
run hocket run -q --events ev hostile.lua
expect 0; has ev '\u009b 31m\u202eb\u0085\u2069c'
[ -z "$(LC_ALL=C grep -P '\xC2[\x80-\x9F]|\xE2\x80[\xAA-\xAE\xA8\xA9\x8E\x8F]|\xE2\x81[\xA6-\xA9]' ev)" ] || fail "raw controls in the event file"
run hocket runs --json; id=$(grep -o '"id":"[0-9A-Z]*"' out | head -1 | cut -d '"' -f 4)
for words in "replay --events $id" "watch --json $id" "show --json $id" "wait --json $id"; do
  run hocket $words; expect 0
  [ -z "$(LC_ALL=C grep -P '\xC2[\x80-\x9F]|\xE2\x80[\xAA-\xAE\xA8\xA9\x8E\x8F]|\xE2\x81[\xA6-\xA9]' out err)" ] || fail "raw controls: $words"
done
finish
