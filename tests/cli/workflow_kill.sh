# A workflow that a model wrote, with 200 agents, killed at 20 moments: the same answer as without, and no agent whose answer is stored is asked again.
. "$(dirname "$0")/lib.sh"
[ -z "${SANITIZE:-}" ] || { echo "skipped: a sanitizer wants more memory than a script may have"; exit 77; }
export HOCKET_STORE=$WORK/runs.db
printf -- '---\nname: lead\ntools: [workflow]\n---\nYou lead.\n' >lead.md
cat >sim.lua <<'E'
local flow = require "hocket.flow"
local script = [[
local workflow = require "hocket.workflow"
return workflow { description = "Works on 200 items", run = function()
  local items = {}
  for i = 1, 200 do items[i] = "item " .. i end
  local found, errors = workflow.pipeline(items, {
    function(item) return workflow.agent { prompt = "You work.", input = item } end,
    function(text, i) return i .. "=" .. #text end,
  }, { max = 200, limit = 16 })
  if next(errors) then return nil, errors[next(errors)] end
  return table.concat(found, " ")
end }
]]
return function(request)
  if request.system:find "You work" then
    flow.sleep(0.01)
    local log <close> = io.open(os.getenv "SERVED", "a")
    log:write(request.last.text, "\n")
    return "did " .. request.last.text
  end
  if request.last.role == "tool" then return request.last.text end
  return { calls = { { name = "workflow", arguments = { script = script } } } }
end
E
# The requests of agents whose answer is stored.
cat >ended.lua <<'E'
local json = require "hocket.json"
local ended = {}
for _, one in ipairs(json.decode(require("hocket.fs").read((...), 1 << 26)).agents) do
  local item = type(one.answer) == "string" and one.answer:match "^did (item %d+)$"
  if item then ended[#ended + 1] = item end
end
return table.concat(ended, "\n")
E
served() { wc -l <"$SERVED"; }
begin() { SERVED=$1; export SERVED; : >"$SERVED"; }

begin whole
run hocket run -q --approve allow lead.md go; expect 0; cp out whole.out
same "$(served)" 200
grep -q '200=12' whole.out || fail "200 agents expected"

begin killed
"$HOCKET" run -q --approve allow lead.md go >k.out 2>k.err & pid=$!
kills=0 id=
: >ended
while [ $kills -lt 20 ]; do
  wanted=$((kills * 9 + 4)) n=0
  while [ "$(sort -u killed | wc -l)" -lt $wanted ] && kill -0 $pid 2>/dev/null && [ $((n += 1)) -lt 600 ]; do sleep 0.02; done
  kill -0 $pid 2>/dev/null || break
  kill -9 $pid; wait $pid 2>/dev/null
  kills=$((kills + 1))
  [ -n "$id" ] || id=$("$HOCKET" runs --limit 1 --json | grep -oE '"id":"[0-9A-Z]+"' | head -n 1 | cut -d '"' -f 4)
  "$HOCKET" show --json "$id" >events 2>/dev/null
  HOCKET_STORE=off "$HOCKET" run -q ended.lua events | grep item >ended
  served >at
  "$HOCKET" resume -q "$id" >k.out 2>k.err & pid=$!
  cp ended "ended.$kills"; cp at "at.$kills"
done
wait $pid; code=$?
what='resumed after 20 kills'
same $kills 20
expect 0
cmp -s k.out whole.out || fail "the answer differs: $(head -c 300 k.out)"
for i in $(seq $kills); do
  tail -n +$(($(cat "at.$i") + 1)) killed | sort -u >after
  sort -u "ended.$i" | comm -12 - after >again
  [ -s again ] && fail "kill $i: work was done again: $(head -n 3 again | tr '\n' ',')"
done
[ "$(sort -u killed | wc -l)" = 200 ] || fail "200 different items expected"
last=$(wc -l <"ended.$kills")
[ "$last" -gt 100 ] || fail "$last answers were stored at the last kill"
echo "served $(served) requests for 200 agents over $kills kills; $last were answered at the last one"
finish
