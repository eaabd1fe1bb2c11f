# Budgets that a tool of a caller's lends on: an agent works in a pool, calls a tool of its caller's, and that tool calls another agent in a
# pool. All of them draw on one limit: none gets more than there is, what is not used comes back, and whoever is killed on the way spends
# nothing twice.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"
mkdir -p nested/agents
printf -- '---\nname: hand\npool: gpu\n---\nHand.\n' >nested/agents/hand.md
printf -- '---\nname: deep\ntools: [read_file]\npool: gpu\n---\nDeep.\n' >nested/agents/deep.md
# "N then WORDS": so many turns with a call, then the answer; each answered request is a line of `asked`.
cat >nested/sim.lua <<'X'
return function(request)
  local made, words = 0, ""
  for _, message in ipairs(request.messages) do
    if message.role == "user" then words = message.text end
    if message.role == "assistant" then made = made + 1 end
  end
  local file <close> = assert(io.open(ASKED, "a"))
  file:write((request.system:match "^%a+"), "\n")
  local name, turns = words:match "^([%w_]+) (%d+)"
  local calls = name and made < tonumber(turns) and request.tools[name] and { { name = name, arguments = { path = tostring(made) } } } or nil
  return { calls = calls, text = not calls and "said" or nil, latency = 0.05 }
end
X
sed -i "s|ASKED|\"$PWD/asked\"|" nested/sim.lua
cat >nested/main.lua <<'X'
local hocket = require "hocket"
local turns, outer, inner = (...):match "^(%d+) (%d+) (%d+)$"
local team = hocket.agents "nested/agents"
local function tool(name, run)
  return hocket.tool { steps = true, name = name, description = name, parameters = { type = "object" }, effects = {}, run = run }
end
local cut = 0
local function note(reply)
  if not reply or reply.cut then cut = cut + 1 end
  return reply and reply.text or "nothing"
end
local ask = tool("ask", function() return note(hocket.run(team.deep, "read_file " .. inner)) end)
local start = tool("start", function() return note(hocket.run(team.hand, "ask " .. outer, { tools = { ask } })) end)
local boss = hocket.agent { name = "boss", prompt = "boss", budget = { turns = math.tointeger(turns) } }
local reply, err = hocket.run(boss, "start 1", { tools = { start } })
return ("%s, %d cut, %d calls"):format(reply and (reply.cut and "cut" or "whole") or err.code, cut, hocket.this_run():usage().calls)
X
told() { grep -oE '[0-9]+ calls' out | cut -d ' ' -f 1; }
calls() { wc -l <asked; }
enough() { [ "$(calls)" -ge 6 ]; }
id_in() { grep -oE '01[0-9A-Z]{24}' "$1" | head -n 1; }
# TURNS OUTER INNER: boss needs 2 turns, hand 1 more than it asks, and each of these 1 more than it reads.
nested() {
  : >asked; rm -f ev
  run "$HOCKET" run -q -e ev nested "$1 $2 $3"; expect 0; cp out said
  same "$(told)" "$(calls)"
  [ "$(calls)" -le "$1" ] || fail "$(calls) calls of $1"
  run "$HOCKET" replay "$(id_in ev)"; expect 0; has err "all as recorded"
}
worker 1 --pool gpu --runs 8

# With enough it is as without a limit; with less they are cut short, and what one has not used the next one has.
nested 40 2 3; same "$(calls)" 13; has said "whole, 0 cut"
nested 13 2 3; [ "$(calls)" -ge 11 ] || fail "only $(calls) of 13 turns were used: what is left does not come back"; has said "whole"
nested 12 2 3; [ "$(calls)" -ge 10 ] || fail "only $(calls) of 12 turns were used: what is left does not come back"
for turns in 9 5 3 2; do nested $turns 2 3; done
nested 8 3 0; [ "$(calls)" -ge 7 ] || fail "only $(calls) of 8 turns were used"

# The caller is killed, or the worker: nothing is lent twice, and a call that was under way is the only one that is asked again.
for who in caller worker; do
  for turns in 40 12; do
    : >asked; rm -f ev
    "$HOCKET" run -q -e ev nested "$turns 2 3" >out 2>err </dev/null & caller=$!
    until_true enough
    if [ $who = caller ]; then
      kill -9 $caller; wait $caller
      run "$HOCKET" resume -q "$(id_in ev)"
    else
      end 1 KILL; worker 1 --pool gpu --runs 8
      wait $caller; code=$?; what="the caller of one whose worker was killed"
    fi
    expect 0
    [ "$(calls)" -le $(($(told) + 2)) ] || fail "$who killed: $(calls) calls were made, and $(told) are counted"
    [ "$(told)" -le $turns ] || fail "$who killed: $(told) calls of $turns"
    [ $turns = 12 ] || same "$(told)" 13
    run "$HOCKET" replay "$(id_in ev)"; expect 0
  done
done
finish
