#!/bin/sh
# hocket eval: cases with all that can be expected, exit codes, baselines, reports, what ends it early, cases made of runs.
. "$(dirname "$0")/lib.sh"
mkdir tmp
export TMPDIR="$WORK/tmp"

# ---- A clerk, whose model says what its prompt asks for ----------------------------------------------
mkdir -p evals/fix/sub
clerk() { printf -- '---\nname: clerk\ntools: [read_file, write_file, ask_user]\napprove: {ask: [write_file]}\n---\nYou are %s. Tone: {{tone}}\n' "$1" >clerk.md; }
clerk polite
cat >sim.lua <<'END'
return function(request)
  local said, json = request.last.text, require "hocket.json"
  local function call(name, arguments) return { calls = { { name = name, arguments = arguments } } } end
  if request.system and request.system:find "You judge answers" then
    local asked = request.messages[#request.messages].text or said
    if asked:find("nonsense", 1, true) or said:find("does not fit", 1, true) or said:find("JSON", 1, true) and not said:find "rubric" then return "I like it." end
    return json.encode { reason = "it says so", pass = not said:find("rude", 1, true), score = 0.8 }
  end
  if request.last.role ~= "user" then return "Done: " .. said end
  if said == "quota" then return { text = "", fault = "quota" } end
  if said == "key" then return { text = "", fault = "401" } end
  if said == "write" then return call("write_file", { path = "out.txt", content = "Hello from " .. request.system:match "Tone: (%w+)" }) end
  if said == "read" then return call("read_file", { path = "sub/a.txt" }) end
  if said == "ask" then return call("ask_user", { question = "Which year?" }) end
  if said == "json" then return 'Here: {"city": "Rome", "days": [1, 2], "extra": true}' end
  return (request.system:find "polite" and "Dear friend: " or "Hey: ") .. said
end
END
printf 'the fixture' >evals/fix/sub/a.txt
cat >evals/check.lua <<'END'
return function(run)
  assert(run.file "sub/a.txt" == "the fixture" and run.file "../clerk.md" == nil, "the files")
  assert(run.calls[1].tool == "read_file" and run.calls[1].result:find "the fixture", "the calls")
  assert(#run.events > 3 and run.usage.calls == 2 and run.ok and run.text:find "fixture", "the run")
  return os.execute == nil and io == nil and require == nil
end
END
cat >evals/well.eval.yaml <<'END'
defaults: {target: ../clerk.md, variables: {tone: warm}}
cases:
  - name: greets
    input: hello
    tags: [quick]
    expect: {contains: Dear, not: Hey, pattern: "^Dear \\w+", text: "Dear friend: hello"}
  - name: writes
    input: write
    answers: [{tool: write_file, arguments: "out", say: allow}]
    expect: {files: {out.txt: {contains: warm, text: Hello from warm}, none: false}, calls: [{tool: write_file, arguments: {path: out.txt}, times: 1}]}
  - name: may not write
    input: write
    expect: {files: {out.txt: false}, calls: {tool: write_file}}
  - name: may not write, says somebody
    input: write
    answers: [{tool: write_file, say: "deny, not today"}]
    expect: {files: {out.txt: false}, contains: not today}
  - {name: reads, input: read, files: fix, expect: {lua: check.lua, calls: [read_file], contains: the fixture}}
  - {name: reads again, input: read, files: {sub/a.txt: inline}, expect: {contains: inline}}
  - {name: json, input: json, expect: {json: {city: Rome, days: [1, 2]}, schema: {type: object, required: [city]}}}
  - {name: asks, input: ask, answers: ["2026"], expect: {contains: "2026"}}
  - {name: judged, input: hello, expect: {judge: {rubric: It is friendly, min_score: 0.7}}}
  - {name: no budget, input: hello, max_tokens: 0, expect: {error: budget}}
  - {name: later, input: hello, skip: not yet, expect: {contains: Bonjour}}
END
judged="--judge-model sim"
run hocket eval evals/well.eval.yaml $judged --store runs.db --junit well.xml --json well.json
expect 0
has out "11 cases, 1 model, 10 runs: 10 passed, 1 case skipped"
has err "10 runs, which work in $WORK/tmp/hocket-eval-"
has well.xml '<skipped message="not yet"/>'
has well.json '"hocket_eval":1'
empty_dir() { [ -z "$(ls -A "$1")" ] || fail "$1 should be empty: $(ls -A "$1")"; }
empty_dir tmp

# Its runs are kept as others are, and do not stand between them.
run hocket runs --store runs.db
empty out
has err "there are none but those of evaluations"
run hocket runs --store runs.db --eval
has out clerk.md
same "$(wc -l <out | tr -d ' ')" 11

# ---- What fails, and what is not measured ----------------------------------------------------------
cat >bad.eval.yaml <<'END'
defaults: {target: clerk.md, variables: {tone: cold}}
cases:
  - {name: a text, input: hello, expect: {contains: Goodbye, calls: [read_file], files: {x: true}, limits: {tokens: 1}, lua: "return false, 'because'"}}
  - {name: judged badly, input: rude, expect: {judge: It is friendly}}
  - {name: an error, input: hello, max_tokens: 0, expect: {contains: x}}
  - {name: no error, input: hello, expect: {error: budget}}
END
run hocket eval bad.eval.yaml $judged --store runs.db
expect 1
for text in "FAILED a text (default): bad.eval.yaml:3" "contains: expected Goodbye" "got Dear friend: hello" "calls: expected read_file at least once" "got no calls" \
  "files x: expected a file" "limits.tokens: expected at most 1" "got because" "judge: expected it passes" "0.8: it says so" "got budget: " "got an answer" "hocket show 01"; do
  has out "$text"
done
show=$(sed -n 's/^ *hocket show \(01[0-9A-Z]*\) .*/\1/p' out | head -1)
has out "Each of them as a page"
run hocket show "$show" --store runs.db --html failed.html
expect 0
has failed.html "<html"
run hocket show "$show" --store runs.db
expect 0

# Checks in Lua are held, whatever they do.
cat >held.eval.yaml <<'END'
defaults: {target: clerk.md, variables: {tone: cold}, input: hello}
cases:
  - {name: loops, expect: {lua: "while true do end"}}
  - {name: meta, expect: {lua: "return setmetatable({}, {__tostring = function() while true do end end})"}}
  - {name: raises, expect: {lua: "error({})"}}
  - {name: nothing, expect: {lua: "local x = 1"}}
  - {name: reads out, expect: {lua: "return run.file('../../../../etc/passwd') == nil and run.file('/etc/passwd') == nil and run.file({}) == nil"}}
END
run hocket eval held.eval.yaml
expect 1
for text in "more than 2 seconds" "it returned a table" "a table was raised" "returned nothing" "1 passed, 4 failed"; do has out "$text"; done

cat >unknown.eval.yaml <<'END'
defaults: {target: clerk.md, variables: {tone: cold}}
cases:
  - {name: no quota, input: quota, expect: {contains: x}}
  - {name: no key, input: key, expect: {contains: x}}
  - {name: nonsense, input: nonsense, expect: {judge: It is friendly}}
  - {name: no price, input: hello, expect: {contains: Dear}}
END
run hocket eval unknown.eval.yaml $judged
expect 4
for text in "not measured: http: " "not measured: auth: " "not measured: the judge" "1 passed, 3 not measured"; do has out "$text"; done
run env HOCKET_MODEL= "$HOCKET" eval unknown.eval.yaml --only "no price"
expect 4
has out "not measured: auth: "

# ---- A regression --------------------------------------------------------------------------------------
cat >base.eval.yaml <<'END'
defaults: {target: clerk.md, variables: {tone: cold}, repeat: 3}
cases:
  - {name: greets, input: hello, expect: {contains: Dear}}
  - {name: other, input: there, expect: {contains: there}}
  - {name: gone, input: gone, expect: {contains: gone}}
END
run hocket eval base.eval.yaml --save base.json
expect 0
cp base.json before.json
run hocket eval base.eval.yaml --baseline base.json
expect 0
has out "3 as before"
clerk brief # a change of the prompt
sed -i 's/input: there/input: there there/; s/name: gone/name: fresh/' base.eval.yaml
run hocket eval base.eval.yaml --baseline base.json --junit worse.xml
expect 1
for text in "REGRESSION  greets (default): 3/3 -> 0/3; no chance is in it" "changed  other (default)" "new  fresh (default)" "missing  gone (default)"; do has out "$text"; done
has worse.xml 'failures="1"'
run hocket eval base.eval.yaml --baseline base.json --only other
expect 0
run hocket eval base.eval.yaml --save now.json # what failed then fails now: no regression
expect 1
run hocket eval base.eval.yaml --baseline now.json
expect 0
clerk polite
run hocket eval base.eval.yaml --baseline now.json
expect 0
has out "better  greets (default): 0/3 -> 3/3"

# A baseline that cannot be written stays as it was: the report is told all the same.
what="a baseline on a full disk"
(
  ulimit -f 0
  "$HOCKET" eval base.eval.yaml --save base.json 2>&1
  echo "code $?"
) | cat >full
grep -q "code 1" full && grep -q "base.json" full && grep -q "9 passed" full || fail "$(cat full)"
cmp -s base.json before.json || fail "the baseline is another one"
[ "$(ls -A | grep -c 'base.json')" = 1 ] || fail "something is left beside it: $(ls -A)"

# ---- Side by side --------------------------------------------------------------------------------------
run hocket eval base.eval.yaml --model sim/one --model sim/two --repeat 2 --jobs 8 --json - --quiet
expect 0
same "$(grep -o '"model":"sim/[a-z]*"' out | sort | uniq -c | tr -s ' \n' '  ')" ' 3 "model":"sim/one" 3 "model":"sim/two" '

# ---- Money, and a model that is none of ours -----------------------------------------------------------------
"$HOCKET" sim sim.lua >sim.log 2>&1 </dev/null &
server=$!
until_true grep -q 'http://[^ ]*/v1' sim.log
OPENAI_BASE_URL=$(grep -om1 'http://[^ ]*/v1' sim.log)
export OPENAI_BASE_URL OPENAI_API_KEY=sk-eval
paid="--model openai/paid --price openai/paid=10000,10000"
# shellcheck disable=SC2086 # words
run hocket eval base.eval.yaml --repeat 20 --jobs 1 $paid --max-cost 1
expect 5
has out "--max-cost is used up"
# shellcheck disable=SC2086
run hocket eval base.eval.yaml --repeat 6 $paid --seed 3 --save paid.json
expect 0
clerk brief
# shellcheck disable=SC2086
run hocket eval base.eval.yaml --repeat 6 $paid --baseline paid.json --store off
expect 1
has out "REGRESSION  greets (openai/paid): 6/6 -> 0/6; p = 0.00108"
clerk polite
kill $server
wait $server
unset OPENAI_BASE_URL OPENAI_API_KEY

# ---- What ends it early ----------------------------------------------------------------------------------
cat >slow.lua <<'END'
local hocket = require "hocket"
if (...) == "wait" then hocket.flow.sleep(600) end
return "done"
END
printf '{"name": "fast", "target": "slow.lua", "expect": {"text": "done"}}\n{"name": "slow", "target": "slow.lua", "input": "wait"}\n' >slow.eval.jsonl
what="a signal"
rm -f err
"$HOCKET" eval slow.eval.jsonl -v --save slow.json >out 2>err </dev/null &
pid=$!
until_true grep -q "fast" err
kill -TERM $pid
wait $pid
code=$?
expect 143
has out "interrupted: 1 of 2 runs were made"
has out "1 run: 1 passed"
has err "slow.json is left as it was"
[ ! -e slow.json ] || fail "slow.json should not be there"
empty_dir tmp
"$HOCKET" eval slow.eval.jsonl -v >out 2>killed </dev/null &
pid=$!
until_true grep -q "fast" killed
kill -KILL $pid
wait $pid 2>/dev/null
left=$(sed -n 's/.*runs, which work in //p' killed)
[ -d "$left" ] || fail "it should have said where it worked"
[ "$(ls -A tmp | wc -l)" = 1 ] || fail "more than its folder is left"
rm -rf "$left"

# A run that was cut off with its evaluation is nobody's to go on with.
"$HOCKET" eval slow.eval.jsonl -v --store cut.db >out 2>killed </dev/null &
pid=$!
until_true grep -q "fast" killed
until_true sh -c '"$0" runs --store cut.db --eval 2>/dev/null | grep -q running' "$HOCKET"
kill -KILL $pid
wait $pid 2>/dev/null
rm -rf "$(sed -n 's/.*runs, which work in //p' killed)"
run hocket runs --store cut.db --eval
has out "cut off"
run hocket resume --all --store cut.db
has err "there is no run that could go on"

# ---- Trust -----------------------------------------------------------------------------------------------
run env -u HOCKET_TRUST "$HOCKET" eval slow.eval.jsonl --only fast
expect 1
has err "is not trusted, and its Lua would run"
run env -u HOCKET_TRUST "$HOCKET" eval slow.eval.jsonl --only fast --trust
expect 0

# ---- Runs side by side are replayed each for itself ---------------------------------------------------------
cat >fenced.lua <<'END'
local hocket = require "hocket"
local who = hocket.agent { name = "who", prompt = "You answer.", model = "sim" }
return hocket.fence.wrap("said", "who", assert(hocket.run(who, "Who?")).text)
END
printf -- '- {name: fenced, target: fenced.lua, input: x, expect: {contains: said}}\n' >fenced.eval.yaml
run hocket eval fenced.eval.yaml --repeat 3 --store side.db
expect 0
for id in $(hocket runs --store side.db --eval --json | grep -o '"id":"[^"]*"' | cut -d'"' -f4); do
  run hocket replay "$id" --store side.db
  expect 0
done

# ---- Of a run, a case ------------------------------------------------------------------------------------
hocket run clerk.md "json" --set tone=dry --store runs.db >/dev/null 2>&1
id=$(hocket runs --store runs.db | cut -c1-26 | head -1)
run hocket eval --from "$id" --store runs.db
expect 0
cp out from.eval.yaml
has out 'variables: {"tone":"dry"}'
run hocket check from.eval.yaml
expect 0
run hocket eval from.eval.yaml
expect 0
run hocket eval --from 01NOSUCH --store runs.db
expect 1

# ---- Of recordings, cases that are played from them --------------------------------------------------------
clerk polite
mkdir rec
hocket run clerk.md "json" --set tone=dry --record rec/a.jsonl >/dev/null 2>&1
hocket run clerk.md "json" --set tone=dry --record rec/b.jsonl >/dev/null 2>&1
hocket run clerk.md "write" --set tone=dry --approve allow --record rec/c.jsonl >/dev/null 2>&1
hocket run clerk.md "quota" --set tone=dry --record rec/d.jsonl >/dev/null 2>&1
printf 'no recording\n' >rec/notes.txt
mkfifo rec/pipe
mkdir rec/folder
head -1 rec/a.jsonl >rec/old.jsonl
grep -v '"fact":"hocket.outcome"' rec/a.jsonl >rec/cut.jsonl
run hocket eval --from rec
expect 0
cp out rec/all.eval.yaml
has out 'replay: "a.jsonl"'
has out 'name: "json (2)"'
has out 'error: "http"'
has out "# left out: old.jsonl: it does not say of which run it is"
has out "# left out: cut.jsonl: the run was broken off"
hasnt out notes.txt
run hocket check rec/all.eval.yaml
expect 0
run env HOCKET_OFFLINE=1 "$HOCKET" eval rec/all.eval.yaml --repeat 2
expect 0
has out "4 cases, 1 model, 8 runs: 8 passed"
run hocket eval --from rec/c.jsonl
expect 0
cp out rec/c.eval.yaml
has out '"write_file"'
run hocket eval rec/c.eval.yaml
expect 0
[ -e out.txt ] && rm out.txt
[ -e rec/out.txt ] && fail "a replay has written beside the recordings"
clerk short # what models are asked is another thing now: their answers say nothing of it
run hocket eval rec/all.eval.yaml
expect 4
has out "not recorded"
clerk polite
for path in rec/notes.txt rec/folder; do
  run hocket eval --from $path
  expect 2
done
for path in rec/cut.jsonl rec/old.jsonl; do
  run hocket eval --from $path
  expect 1
done
printf '{"cassette":1,"seed":"00"}\n{"fact":"hocket.run","value":{"target":"x\\n- evil: 1","input":["no"],"variables":7,"models":"y","files":{"a":1}}}\n{"fact":"hocket.outcome","value":{"answer":5,"tools":[1,{},"a\\nb: c"],"times":9,"answers":[{"tool":4},7,{"tool":"x","say":"rm -rf"}],"usage":[1]}}\n' >rec/hostile.jsonl
run hocket eval --from rec/hostile.jsonl
expect 0
hasnt out "^ *- evil"
has out 'say: deny'
cp out rec/hostile.eval.yaml
run hocket check rec/hostile.eval.yaml
expect 3
has out "'target' must not contain control characters"

# ---- Wrong usage, wrong files ------------------------------------------------------------------------------
for args in "" "x --repeat 0" "x --repeat 1001" "x --jobs 0" "x --alpha 2" "--from a b" "bad.eval.yaml --only gone" "bad.eval.yaml --tag none" "bad.eval.yaml --save no/where.json" \
  "bad.eval.yaml --only nope --save a.json"; do
  # shellcheck disable=SC2086 # words
  run hocket eval $args
  expect 2
done
printf 'cases: [{nam: x}]\n' >wrong.eval.yaml
run hocket eval wrong.eval.yaml
expect 3
has err "wrong.eval.yaml:1:10: unknown key 'nam': did you mean 'name'?"
run hocket check wrong.eval.yaml
expect 3
printf -- '- {name: x, target: nobody.md}\n' >wrong.eval.yaml
run hocket eval wrong.eval.yaml
expect 3
has err "wrong.eval.yaml:1:21: "; has err "'nobody.md'"
run hocket eval base.eval.yaml --baseline wrong.eval.yaml
expect 3
empty_dir tmp
finish
