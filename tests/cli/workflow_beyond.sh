# A workflow that a model wrote reaches the bound that was approved: the run waits for a person, in any process, and asks no agent twice.
. "$(dirname "$0")/lib.sh"
[ -z "${SANITIZE:-}" ] || { echo "skipped: a sanitizer wants more memory than a script may have"; exit 77; }
export HOCKET_STORE=$WORK/runs.db SERVED=$WORK/served
printf -- '---\nname: lead\ntools: [workflow]\n---\nYou lead.\n' >lead.md
cat >sim.lua <<'E'
local script = [[
local workflow = require "hocket.workflow"
return workflow { description = "Works on 6 items", run = function()
  local found, errors = workflow.map({ 1, 2, 3, 4, 5, 6 }, function(i) return workflow.agent { prompt = "You work.", input = "item " .. i } end, { max = 6, limit = 2 })
  if next(errors) then return nil, errors[next(errors)] end
  return table.concat(found, " ")
end }
]]
return function(request)
  if request.system:find "You work" then
    local log <close> = io.open(os.getenv "SERVED", "a")
    log:write(request.last.text, "\n")
    return "did " .. request.last.text
  end
  if request.last.role == "tool" then return request.last.text end
  return { calls = { { name = "workflow", arguments = { script = script, budget = { turns = 4 } } } } }
end
E
newest() { hocket runs --limit 1 --json | grep -oE '"id":"[0-9A-Z]+"' | head -n 1 | cut -d '"' -f 4; }
run hocket run -q lead.md go; expect 75; has err 'its own budget: {"turns":4}'
id=$(newest)
run hocket answer "$id" q1 --allow; expect 0
run hocket resume -q "$id"; expect 75
has err 'The workflow has reached the bound that was approved: 4 model calls used'
has err 'Allow 4 model calls more? yes or no'
same "$(wc -l <"$SERVED")" 4
run hocket answer "$id" q2 --allow; expect 0
run hocket resume "$id"; expect 0; has out 'did item 6'
has err 'allowed beyond the workflow'; has err 's bound: 4 model calls more, 8 model calls in all'
same "$(sort -u "$SERVED" | wc -l)" 6
same "$(wc -l <"$SERVED")" 6
run hocket replay "$id"; expect 0; has err 'all as recorded'

# A general answer approves the bound, and nothing beyond; a person who says no ends it there.
: >"$SERVED"
run hocket run -q --approve allow lead.md go; expect 75
run hocket answer "$(newest)" q1 --deny; expect 0
run hocket resume -q "$(newest)"; has out 'the budget of lead'
same "$(wc -l <"$SERVED")" 4
finish
