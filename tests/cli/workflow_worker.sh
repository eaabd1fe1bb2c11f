# Workflows that a worker runs, away from their files: the agents beside them travel with the run.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"
mkdir -p p/workflows p/agents p/solo/workflows p/solo/agents
printf -- '---\nname: reviewer\n---\nYou review.\n' >p/agents/reviewer.md
cp p/agents/reviewer.md p/solo/agents
printf -- '---\nname: lead\ntools: ["workflow:audit"]\nbudget: {turns: 9}\n---\nYou lead.\n' >p/solo/lead.md
cat >p/workflows/audit.lua <<'E'
local workflow = require "hocket.workflow"
return workflow { description = "Audits", run = function(input) return workflow.agent { "reviewer", input = input } end }
E
cp p/workflows/audit.lua p/solo/workflows
cat >p/sim.lua <<'E'
return function(request)
  if request.system:find "You review" then return "reviewed " .. request.last.text end
  if request.last.role == "tool" then return "lead: " .. request.last.text end
  return { calls = { { name = "audit", arguments = { input = "all" } } } }
end
E
cp p/sim.lua p/solo
cd p || exit 1
detach --trust --model sim workflows/audit.lua files; one=$id
detach --trust --model sim solo/lead.md files; two=$id
cd ..; mv p elsewhere
worker 1 --trust
done_with "$one"; has out 'reviewed files'
done_with "$two"; has out 'reviewed all'
end 1 TERM
finish
