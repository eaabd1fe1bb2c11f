# A lead that delegates, forks an agent and asks both again, killed at ten moments: the same answer as without, and at most the call under way is made again.
. "$(dirname "$0")/lib.sh"
export HOCKET_STORE=$WORK/runs.db
printf -- '---\nname: lead\nagents: [helper]\ntools: [ask_again]\n---\nYou lead.\n' >lead.md
printf -- '---\nname: helper\ndescription: Helps\nper_call: {context: fork, reasoning: [low], limits: true}\n---\nYou help.\n' >helper.md
cat >sim.lua <<'E'
local flow = require "hocket.flow"
return function(request)
  flow.sleep(0.03)
  local log <close> = io.open(os.getenv "SERVED", "a")
  log:write(#request.messages, " ", #request.system, "\n")
  if request.last.text:find "^More" then return "more " .. #request.messages end
  if request.system:find "You help" or request.last.text:find "^From here on" then return "heard " .. #request.messages end
  local asked = 0
  for _, message in ipairs(request.messages) do asked = asked + (message.role == "tool" and 1 or 0) end
  if asked == 0 then return { calls = { { name = "delegate", arguments = { agent_name = "helper", prompt = "One", reasoning = "low", limits = { turns = 20 } } } } } end
  if asked == 1 then return { calls = { { name = "delegate", arguments = { agent_name = "helper", prompt = "Two", context = "fork" } } } } end
  if asked < 14 then
    local id = math.tointeger(tonumber(request.messages[asked % 2 == 0 and 3 or 5].text:match "^%[id=(%d+)%]"))
    return { calls = { { name = "ask_again", arguments = { id = id, text = "More " .. asked } } } }
  end
  local all = {}
  for _, message in ipairs(request.messages) do all[#all + 1] = message.role == "tool" and message.text:gsub("<[^>]*>", "") or nil end
  return table.concat(all, " ")
end
E
served() { wc -l <"$SERVED"; }
begin() { SERVED=$1; export SERVED; : >"$SERVED"; }

begin whole
run hocket run -q lead.md go; expect 0; cp out whole.out
total=$(served)
[ "$total" = 29 ] || fail "29 requests expected, not $total"
[ "$(grep -c 'more' whole.out)" -ge 6 ] || fail "answers of agents that were asked again expected"

begin killed
"$HOCKET" run -q lead.md go >k.out 2>k.err & pid=$!
kills=0 id=
while [ $kills -lt 10 ]; do
  wanted=$((kills * 3 + 3)) n=0
  while [ "$(served)" -lt $wanted ] && kill -0 $pid 2>/dev/null && [ $((n += 1)) -lt 1500 ]; do sleep 0.02; done
  kill -0 $pid 2>/dev/null || break
  kill -9 $pid; wait $pid 2>/dev/null
  kills=$((kills + 1))
  [ -n "$id" ] || id=$("$HOCKET" runs --limit 1 --json | grep -oE '"id":"[0-9A-Z]+"' | head -n 1 | cut -d '"' -f 4)
  "$HOCKET" resume -q "$id" >k.out 2>k.err & pid=$!
done
wait $pid; code=$?
what="resumed after $kills kills"
expect 0
[ "$kills" -ge 8 ] || fail "only $kills kills"
cmp -s k.out whole.out || fail "the answer differs: $(head -c 300 k.out)"
[ "$(served)" -le $((total + kills)) ] || fail "$(served) requests for $total calls and $kills kills"
run hocket replay "$id"; expect 0
finish
