# An agent whose guards are agents, killed at ten moments, most of them while a guard is at work: the same answer, no decision that was logged is
# asked for again, and the text that a guard stops is in no event.
. "$(dirname "$0")/lib.sh"
export HOCKET_STORE=$WORK/runs.db
printf -- '---\nname: teller\ntools: [list_directory]\nguards: {input: [{agent: judge}], output: [{agent: judge}]}\nagents: [judge]\n---\nYou tell.\n' >teller.md
printf -- '---\nname: judge\ndescription: Judges\n---\nYou judge.\n' >judge.md
cat >sim.lua <<'E'
local flow = require "hocket.flow"
return function(request)
  local judges = request.system:find "You judge" ~= nil
  local side = judges and (request.last.text:find "this request" and "input" or "output") or "teller" .. #request.messages
  local log <close> = io.open(os.getenv "SERVED", "a")
  log:write(side, "\n")
  flow.sleep(judges and 0.15 or 0.03)
  if judges then return '{"objects": ' .. tostring(side == "output" and request.last.text:find "4711" ~= nil) .. ', "reason": "it has the number"}' end
  if request.last.role ~= "tool" then return { text = "aside", calls = { { name = "list_directory", arguments = { path = "." } } } } end
  return request.messages[1].text:find "secret" and "the number 4711" or "the answer"
end
E
served() { wc -l <"$SERVED"; }
begin() { SERVED=$1; export SERVED; : >"$SERVED"; }

begin whole
run hocket run -q --model sim --trust teller.md go; expect 0; has out "the answer"
[ "$(served)" = 4 ] || fail "4 requests expected: $(cat whole)"

for word in go secret; do
  begin "killed.$word"
  "$HOCKET" run -q --model sim --trust --events "ev.$word" teller.md $word >k.out 2>k.err & pid=$!
  kills=0 id=
  for delay in 0.1 0.1 0.12 0.15 0.1 0.2 0.15 0.1 0.25 0.3; do
    sleep $delay
    kill -KILL $pid 2>/dev/null || break
    wait $pid 2>/dev/null
    kills=$((kills + 1))
    id=${id:-$(grep -ohE '01[0-9A-Z]{24}' "ev.$word" k.err | head -n 1)}
    [ -n "$id" ] || { "$HOCKET" run -q --model sim --trust --events "ev.$word" teller.md $word >k.out 2>k.err & pid=$!; continue; }
    "$HOCKET" resume -q --events "ev.$kills" "$id" >k.out 2>k.err & pid=$!
  done
  wait $pid 2>/dev/null; code=$?
  [ $code -gt 1 ] && { "$HOCKET" resume -q "$id" >k.out 2>k.err; code=$?; }
  [ $kills -gt 2 ] || fail "$word: killed $kills times"
  awk '/output/ { decided = 1 } decided && !/output/ { exit 1 }' "killed.$word" || fail "$word: the input was judged again: $(cat "killed.$word")"
  [ "$(served)" -le $((4 + 2 * kills)) ] || fail "$word: $(served) requests after $kills kills: $(cat "killed.$word")"
  if [ $word = go ]; then
    [ $code = 0 ] || fail "go: exit $code: $(cat k.err)"
    has k.out "the answer"
  else
    [ $code = 1 ] || fail "secret: exit $code: $(cat k.err)"
    has k.err "its guard judge stopped its answer: it has the number"
    hasnt k.out 4711; cat ev.* >all.events; hasnt all.events "number 4711"
    "$HOCKET" show "$id" >shown 2>&1; hasnt shown "number 4711"
  fi
  before=$(served); run hocket replay "$id"; expect 0; [ "$(served)" = "$before" ] || fail "$word: a replay asked"
done
finish
