# Each exit code.
. "$(dirname "$0")/lib.sh"
team t

run hocket run t hello
expect 0; has err "note: answers come from the simulated model"
run hocket run -q t hello
expect 0; same "$(wc -l <err)" 1; has err "note: answers come from the simulated model"

# A machine that has few addresses to give, and a heap that somebody else has set.
if [ -z "${SANITIZE:-}" ]; then
  run sh -c 'ulimit -v 400000; exec "$HOCKET" run -q t hello'
  expect 0
fi
# Without descriptors or memory the run fails: neither the agent is invalid, nor the usage wrong, nor a budget used up.
for n in 5 6 8 10 12 14 16 17 18 19 20 21 22 24; do
  run sh -c "ulimit -n $n; exec \"\$HOCKET\" run -q t hello"
  case $code in 0) ;; *) expect 1 ;; esac
  run sh -c "ulimit -n $n; exec \"\$HOCKET\" check t"
  [ $code = 0 ] || { expect 1; grep -qE 'oo many open files|No file descriptors' err || fail "which were too few"; } # musl has other words
done
# Nor is it so where memory ends: below what the program itself takes (it does not start then), and up to what it needs.
if [ -z "${SANITIZE:-}" ]; then
  for size in 5800 6400 7000 7400 7600 7800 8000 8500 9000 10000 12000 14000 17000 20000 23000 24000 24250 24350 24400 26000 30000; do
    sh -c "ulimit -v $size; exec \"\$HOCKET\" --version" >out 2>err || continue
    for command in "run -q t hello" "run -q --max-cost 1 t hello" "run -q --json t hello" "check t"; do
      run sh -c "ulimit -v $size; exec \"\$HOCKET\" $command"
      # The scripted model works in the same memory: where it is the one that finds none, its answer is what failed.
      case $code in 0) ;; *) [ "$code" -eq 4 ] || expect 1; tail -n 1 err | grep -q "memory" || fail "with $size KiB of memory the last line says so" ;; esac
    done
  done
fi
GLIBC_TUNABLES=glibc.malloc.hugetlb=1 run hocket run -q t hello
expect 0

echo 'error("broken on purpose")' >raise.lua
run hocket run raise.lua
expect 1; has err "error: "; has err "raise.lua:1: broken on purpose"; empty out
cat >forgets.lua <<'LUA'
local hocket = require "hocket"
hocket.run(hocket.agent { name = "a", prompt = "p" }, "hello")
LUA
run hocket run forgets.lua
expect 0; has err "warning: forgets.lua returned nothing and printed nothing: return the answer"
echo 'print "x"' >>forgets.lua
run hocket run forgets.lua
expect 0; hasnt err "return the answer"
echo 'return nil, "no luck"' >fails.lua
run hocket run fails.lua
expect 1; has err "error: no luck"

# Who waits for a provider is told, when it takes long.
mkdir busy; printf -- '---\nname: one\n---\nYou are one.\n' >busy/one.md
cat >busy/sim.lua <<'LUA'
local n = 0
return function(request)
  n = n + 1
  if n > 1 then return "at last" end
  return { status = 503, error = "overloaded", headers = { ["retry-after"] = request.last.text } }
end
LUA
run hocket run busy 1.2
expect 0; has out "at last"; has err "warning: one asks sim/default again in 1."
run hocket run busy 0.05
expect 0; has out "at last"; hasnt err "again in"
run hocket run -v busy 0.05
expect 0; has err "asks sim/default again in 0."

# An answer that is not a whole one.
mkdir whole; printf -- '---\nname: one\n---\nYou are one.\n' >whole/one.md
echo 'return function(r) return r.last.text == "no" and { refusal = "I will not" } or { text = "half an ans", finish = "length" } end' >whole/sim.lua
run hocket run whole go
expect 5; has out "half an ans"; has err "error: the answer was cut by the token limit (max_tokens)"
run hocket run --json whole go
expect 5; has out '"finish":"length"'; has out '"ok":false'; has out '"text":"half an ans"'
run hocket run whole no
expect 4; has out "I will not"; has err "error: the model refused to answer"

run hocket run t
expect 2; has err "needs an input"
run hocket run t "  "
expect 2; has err "needs an input"
run hocket run --model onn=sim t hello
expect 2; has err "did you mean 'one'?"

echo 'x = = 1' >syntax.lua
run hocket run syntax.lua
expect 3; has err "syntax.lua:1:"
run hocket run absent.lua
expect 2; has err "absent.lua"
mkdir bad; printf -- '---\nname: a\ntemprature: 1\n---\nHello\n' >bad/a.md
run hocket run bad hello
expect 3; has err "bad/a.md:3:1: unknown key 'temprature': did you mean 'temperature'?"

run hocket run --model openai/gpt-6.1-terra t hello
expect 4; has err "OPENAI_API_KEY"; empty out
same "$(grep -c OPENAI_API_KEY err)" 1
echo 'return function(r) return { txt = r.last.text } end' >typo.lua
"$HOCKET" sim typo.lua >serving & pid=$!
until_true grep -q serving serving
base=$(grep -o 'http://[^ ]*/v1' serving | head -1)
OPENAI_BASE_URL=$base run hocket run --model openai/x t hello # the reason once, with the agent's name or without
expect 4; has err "unknown member 'txt': did you mean 'text'?"; same "$(grep -c txt err)" 1
kill $pid; wait $pid
OPENAI_BASE_URL=http://127.0.0.1:1/v1 run hocket run --model openai/x t hello
expect 4; has err "127.0.0.1:1: cannot connect (connection refused)"; same "$(grep -c 'cannot connect' err)" 1
printf -- '---\nname: poet\ndescription: x\n---\nYou are a poet.\n' >poet.md
OPENAI_BASE_URL=http://127.0.0.1:1/v1 run hocket run --model openai/x poet.md hello
expect 4; has err "error: poet: openai/x: 127.0.0.1:1: cannot"; same "$(grep -c 'cannot connect' err)" 1
# The variables that are wrong are named, and what is in a key is not shown.
OPENAI_API_KEY=$(printf 'sk-secret\r') run hocket run --model openai/x t hello
has err "it is the key in OPENAI_API_KEY: is there a line break behind it?"; hasnt err "sk-secret"
OPENAI_BASE_URL='ftp://x' run hocket run --model openai/x t hello
has err "the base URL is ftp://x, from OPENAI_BASE_URL"
run hocket run planer hello
expect 2; has err "did you mean 'planner'?"
run hocket run --model opnai/x t hello
expect 4; has err "did you mean 'openai'?"

# What a specialist's failure looks like: the reason once, and which tasks it leaves.
mkdir f; cp -r t/agents f/agents
cat >f/sim.lua <<'LUA'
local team = require "hocket.sim.team" { latency = 0 }
return function(request)
  if request.tools.create_tasks then return team.reply(request) end
  if request.system:find "One" then return { calls = { { name = "read_tasks", arguments = {} } } } end
  return { status = 500, error = "boom" }
end
LUA
run hocket run f hello
has err "warning: two failed: sim/default: HTTP status 500: boom"; same "$(grep -c 'warning.*boom' err)" 1; has err "warning: task 2 failed"
has err "warning: one: the same call of 'read_tasks'"

# Half an answer is none, whatever it says.
mkdir half; printf -- '---\nname: one\nretries: 0\n---\nYou are one.\n' >half/one.md
echo 'return function(r) return { text = "half of it", finish = r.last.text } end' >half/sim.lua
run hocket run half error
expect 4; empty out; has err "error: one: sim/default: the provider broke the answer off (error)"
run hocket run half abort
expect 4; empty out; has err "(abort)"
run hocket run --json half error
expect 4; has out '"ok":false'; hasnt out "half of it"
run hocket run half stop
expect 0; has out "half of it"

run hocket run --max-turns 1 t hello
expect 5; has err "max_turns"

# A budget: the last answer on stdout, why on stderr; without a turn there is none.
run hocket run --max-tokens 1000 f hello
expect 5; has err "error: the budget of the run"; has err "gives a last answer"
run hocket run --max-tokens 1 f hello # its first call alone is more
expect 5; has err "error: the budget of the run has no room for a call"; has err "(--max-cost and --max-tokens limit it)"; empty out
run hocket run --max-tokens 0 t hello
expect 5; has err "is used up: 0 tokens"; empty out
run hocket run --max-cost 0.000001 --model sim t hello
expect 0

echo 'require("hocket").flow.sleep(30)' >slow.lua
echo 'local began = os.clock() while os.clock() - began < 1 do end return "done"' >busy.lua # it never waits, and would be done after a second
for store in "" "--store off"; do
  # shellcheck disable=SC2086
  run hocket run --timeout 0.2 $store busy.lua
  expect 124; hasnt out "done"
done
run hocket run --timeout 0.2 slow.lua
expect 124; has err "within 0.2 seconds"
finish
