# hocket workflow: from words to a workflow that is shown with its bound, approved, run, and saved under a name.
. "$(dirname "$0")/lib.sh"
[ -z "${SANITIZE:-}" ] || { echo "skipped: a sanitizer wants more memory than a script may have"; exit 77; }
cat >sim.lua <<'E'
local script = [[
local workflow = require "hocket.workflow"
return workflow { description = "Counts letters", run = function()
  local found = workflow.map({ "a", "bb" }, function(text) return workflow.agent { prompt = "You count.", input = text } end)
  return table.concat(found, ", ")
end }
]]
return function(request)
  if request.system:find "You count" then return "counted " .. request.last.text end
  if request.last.role == "tool" then return request.last.text end
  return { calls = { { name = "workflow", arguments = { script = script } } } }
end
E
: >model.md
hocket_sim() { run "$HOCKET" "$@"; }
run hocket workflow; expect 2; has err 'what is to be done?'
run hocket workflow --save 'a/b' count; expect 2; has err "a name"
run hocket workflow --plan sim.lua count; expect 2; has err "hocket run --plan"
run hocket workflow --help; expect 0; has out '--save NAME'

# It waits for a person, who sees the bound and the script.
run hocket workflow --save count "Count the letters"; expect 75
has err 'at most 2 agents, 8 model calls'
[ -e workflows ] && fail "nothing is saved before it is approved"
id=$("$HOCKET" runs --limit 1 --json | grep -oE '"id":"[0-9A-Z]+"' | head -n 1 | cut -d '"' -f 4)
run hocket show "$id"; has out 'it is saved as workflows/count.lua'; has out 'Counts letters'
run hocket answer "$id" q1 --allow; expect 0
run hocket resume -q "$id"; expect 0; has out 'counted a, counted bb'; has out 'It is saved as workflows/count.lua'
has workflows/count.lua 'description = "Counts letters"'
run hocket run -q count x; expect 0; same "$(cat out)" 'counted a, counted bb'
run env -u HOCKET_TRUST "$HOCKET" run -q --model sim count x; expect 1; has err 'not trusted'

# Refused: nothing runs, nothing is saved. A name that is taken is not written over.
run hocket workflow --save other -a deny "Count"; [ -e workflows/other.lua ] && fail "it was refused"; hasnt out counted
cp workflows/count.lua was; echo '-- mine' >>workflows/count.lua; cp workflows/count.lua mine
run hocket workflow --save count -a allow "Count"; expect 0; has out 'It could not be saved'; has out 'exists'
cmp -s workflows/count.lua mine || fail "a file of the user was written over"
run hocket workflow -q -a allow "Count"; expect 0; has out 'counted a'; hasnt out saved

# Whatever the folder has under the agent's name, the built-in agent does it: also after an answer in a later process, and in a chat.
mkdir workflow assistant
for name in workflow assistant; do printf -- '---\nname: other\n---\nYou count.\n' >$name/other.md; done
run hocket workflow -q -a allow "Count"; expect 0; has out 'counted a, counted bb'
run hocket workflow "Count"; expect 75
id=$("$HOCKET" runs --limit 1 --json | grep -oE '"id":"[0-9A-Z]+"' | head -n 1 | cut -d '"' -f 4)
run hocket answer "$id" q1 --allow; run hocket resume -q "$id"; expect 0; has out 'counted a, counted bb'
printf '%s\n' /reload hello >in; "$HOCKET" chat -q -a deny <in >out 2>err; hasnt out 'counted hello'
run hocket run -q workflow "Count"; expect 0; has out 'counted Count' # a path that is named is a path
finish
