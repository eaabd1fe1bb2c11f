# Limits that protect by default: a new project has one, check warns where there is none, and so does a run that nobody watches.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"

words="nothing limits the cost, calls or time of a request to"
lead() { # FOLDER FRONT-MATTER
  team "$1"
  printf -- '---\nname: lead\ntools: [facilitator]\nagents: [one, two]\n%b---\nLead. {{agents}}\n' "$2" >"$1/agents/lead.md"
}
warned() { same "$(grep -c "$words lead" "$1")" "$2"; }

run hocket new trip; expect 0
grep -q '^budget: {turns: 100}' trip/agents/editor.md || fail "the leading agent has no budget"
run hocket check -v trip; expect 0; hasnt out "$words"; hasnt out warning
has out "editor: reaches agents critic, researcher"; grep "editor: " out | grep -q "100 model calls at most" || fail "the budget binds nothing"

# What check says, with the worst case; once, of the agent that leads.
lead open ""
run hocket check open; expect 0; warned out 1; has out "lead.md:1:1: warning: $words lead: it may make up to 16040 model calls"
run hocket check --json open; expect 0; has out '"code":"unlimited"'
for limit in 'budget: {turns: 50}' 'budget: {cost: 0.5}' 'budget: {tokens: 1000}' 'budget: {seconds: 60}' 'budget: {tool_calls: 9}' 'timeout: 60'; do
  lead limited "$limit\\n"; run hocket check limited; expect 0; warned out 0
done
lead noted 'budget: {warn_at: 0.5}\n'; run hocket check noted; expect 0; warned out 1 # that limits nothing
printf -- '---\nname: alone\n---\nAlone.\n' >alone.md
run hocket check alone.md; expect 0; hasnt out warning # forty calls at most

# A run that nobody watches says it once; quiet ones, and those with a limit, do not.
run hocket run --trust open hello; expect 0; warned err 1; has err "--max-cost, --max-tokens or --timeout"
run hocket run -q --trust open hello; expect 0; warned err 0
for limit in "--max-cost 1" "--max-tokens 100000" "--timeout 60"; do
  # shellcheck disable=SC2086 # an option and its value
  run hocket run --trust $limit open hello; expect 0; warned err 0
done
run hocket run --trust limited hello; expect 0; warned err 0
run hocket run alone.md hello; expect 0; warned err 0
run hocket replay last:open; expect 0; has err "all as recorded" # it is one of its events
if "$PTY" -- true >/dev/null 2>&1; then
  run "$PTY" -- "$HOCKET" run --trust open hello; expect 0; warned out 0
fi

# The same of a script, from its first model call that no limit holds for.
script() { # FILE OPTIONS-OF-THE-CALL [AGENT]
  printf 'local hocket = require "hocket"\nfor _ = 1, 2 do hocket.run(hocket.agent "%s", "hello"%s) end\nreturn "done"\n' "${3:-alone.md}" "$2" >"$1"
}
said() { same "$(grep -c "limits the cost, calls or time of the script $2" "$1")" "$3"; }
script free.lua ''
run hocket run free.lua; expect 0; said err free.lua 1; has err "--max-cost, --max-tokens or --timeout"
run hocket replay last:free.lua; expect 0; has err "all as recorded"
run hocket run --store off free.lua; expect 0; said err free.lua 1
run hocket run -q free.lua; expect 0; said err free.lua 0
for limit in "--max-cost 1" "--max-tokens 100000" "--timeout 60"; do
  # shellcheck disable=SC2086 # an option and its value
  run hocket run $limit free.lua; expect 0; said err free.lua 0
done
script given.lua ', { budget = { turns = 5 } }'; run hocket run given.lua; expect 0; said err given.lua 0
script timed.lua ', { timeout = 60 }'; run hocket run timed.lua; expect 0; said err timed.lua 0
printf -- '---\nname: careful\nbudget: {turns: 5}\n---\nAlone.\n' >careful.md
script of_file.lua '' careful.md; run hocket run of_file.lua; expect 0; said err of_file.lua 0
echo 'return "no model"' >idle.lua; run hocket run idle.lua; expect 0; said err idle.lua 0

# check tells it from the script's text: loops, also around functions that call an agent, and functions that call themselves.
head='local hocket = require "hocket"
local function ask(x) return hocket.run(hocket.agent "alone.md", x) end'
looks() { printf '%s\n%s\n' "$head" "$2" >looped.lua; run hocket check looped.lua; expect 0; same "$(grep -c 'looped.lua:.* warning: nothing limits the cost' out err | tr '\n' ' ')" "out:$1 err:0 "; }
looks 1 'while true do ask "x" end'; has out "looped.lua:3:1: warning"; has out "more than 25 times, with up to 40 model calls each"
looks 1 'for _, x in ipairs { "a", "b" } do ask(x) end'
looks 1 'repeat local done = ask "x" until done'
looks 1 'hocket.flow.map({ "a", "b" }, function(x) return ask(x) end)'
looks 1 'for _ = 1, 6 do for _ = 1, 5 do hocket.run("alone", "x") end end'
looks 1 'local function on(n) ask "x" return on(n + 1) end
on(1)'
looks 1 'local run = hocket.run
while true do run("alone", "x") end'
looks 1 'local h, map = require "hocket", hocket.flow.map
map({ "a", "b" }, ask)
h.run("alone", "x")'
looks 1 'for _ = 1, 4294967296 do for _ = 1, 4294967296 do ask "x" end end'
looks 1 'for _ = 1, 30 do pcall(ask, "x") end'
looks 1 'local M = {}
function M:all() for _ = 1, 30 do ask "x" end end
M:all()'
looks 1 'local fetched = hocket.http.request { url = "http://127.0.0.1:9/", timeout = 5 }
while true do ask(fetched) end'
looks 0 'ask "x" ask "y"'
looks 0 'for _ = 1, 50, 10 do ask "x" end'
looks 0 'do
  local ask = print
  while true do ask "x" end
end'
looks 0 'for _ = 1, 5 do for _ = 1, 5 do ask "x" end end'
looks 0 'for _ = 1, 1000 do print "x" end -- ask "x"'
looks 0 'local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
ask(tostring(fib(9)))'
looks 0 'while true do hocket.run(hocket.agent "alone.md", "x", { budget = { turns = 5 } }) end'
looks 0 'while true do hocket.run(hocket.agent "alone.md", "x", { timeout = 60 }) end'
looks 0 'while true do hocket.run(hocket.agent "careful.md", "x") end'
looks 0 'while true do hocket.run(hocket.agents "limited/agents".lead, "x") end'

# A worker's runs and a server are unattended, too.
run hocket run --detach free.lua; expect 0
unlimited=$(cat out)
run hocket run --detach open hello; expect 0; open=$(cat out)
run hocket run --detach --max-tokens 100000 free.lua; expect 0; free=$(cat out)
run hocket run --detach limited hello; expect 0; limited=$(cat out)
worker 1
done_with "$unlimited" "$open" "$free" "$limited"
end 1 TERM; expect 0
same "$(grep -c '"run_unlimited"' w1.out)" 2
grep '"run_unlimited"' w1.out >out; said out free.lua 1; warned out 1; has out "\"id\":\"$unlimited\""; has out "\"id\":\"$open\""
run hocket show "$unlimited"; said out free.lua 1
run hocket run --detach free.lua; expect 0; unlimited=$(cat out)
"$HOCKET" work --log-format text >worked 2>&1 </dev/null & workers=$!
done_with "$unlimited"; kill -TERM $workers; wait $workers; workers=
cp worked out; has out "warning run=$unlimited nothing limits"
unset HOCKET_STORE
serving() { # OPTIONS…
  : >served # what the one before has said is not this one's
  "$HOCKET" serve --listen 127.0.0.1:0 --no-token "$@" >served 2>&1 </dev/null & workers=$!
  until grep -q "^serving" served || ! kill -0 $workers 2>/dev/null; do sleep 0.1; done
  kill -TERM $workers; wait $workers; workers=
}
mkdir one; cp alone.md free.lua one
serving open one/free.lua; warned served 1; said served one/free.lua 0
same "$(grep -c "only budgets and timeouts in its agents. files and its code can limit the script one/free.lua" served)" 1
serving --max-cost 1 open one/free.lua; warned served 0; same "$(grep -c "can limit the script" served)" 0
serving limited; warned served 0

# The limit of a new project binds.
cat >endless.lua <<'X'
return function(request) return { calls = { { name = "get_plan_status", arguments = require("hocket.json").decode "{}" } } } end
X
cp endless.lua trip/sim.lua
sed -i 's/turns: 100/turns: 2/' trip/agents/editor.md
run hocket run --trust --json trip hello; expect 5; has out '"calls":2'
finish
