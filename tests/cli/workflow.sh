# Saved workflows: by name, as a tool, as an agent, over MCP and A2A, for workers elsewhere, by schedules; and whose Lua runs.
. "$(dirname "$0")/lib.sh"
mkdir -p p/agents p/workflows empty
cd p || exit 1
cat >agents/lead.md <<'E'
---
name: lead
tools: [workflow:audit]
---
You lead.
E
cat >agents/boss.md <<'E'
---
name: boss
agents: [audit.lua]
---
You boss.
E
echo 'return { up = function(text) return text:upper() end }' >workflows/helper.lua
cat >workflows/audit.lua <<'E'
local workflow = require "hocket.workflow"
local helper = require "helper"
local texts = { type = "array", items = { type = "string" } }
return workflow {
  description = "Reviews files",
  input = { type = "object", required = { "files" }, properties = { files = texts } },
  output = { type = "object", required = { "notes" }, properties = { notes = texts } },
  run = function(input)
    local notes = workflow.map(input.files, function(file) return workflow.agent { name = "reader", prompt = "You read.", input = helper.up(file) } end, { max = 9 })
    return { notes = notes }
  end,
}
E
cat >sim.lua <<'E'
return function(request)
  if request.system:find "You read" then return "read " .. request.last.text end
  if request.last.role == "tool" then return "It said " .. request.last.text end
  if request.system:find "You lead" then return { calls = { { name = "audit", arguments = { files = { "a.c", "b.c" } } } } } end
  return { calls = { { name = "delegate", arguments = { agent_name = "audit", prompt = '{"files": ["x.c"]}' } } } }
end
E

# ---- By name, as a tool, as an agent -----------------------------------------------------------------
run hocket check .; expect 0
run hocket run -q audit '{"files": ["q"]}'; expect 0; has out '{"notes":["read Q"]}'
run hocket run -q audit '{"file": "q"}'; expect 2; has err "files"
run hocket run -q audi x; expect 2; has err "did you mean 'audit'"
run hocket run --json agents/lead.md go; expect 0; has out 'It said'; has out '"trigger":"workflow"'; has out 'read A.C'; has out 'read B.C'
run hocket run -q agents/boss.md go; expect 0; has out 'read X.C'
# Its rules, grants and budget are the caller's.
run hocket run -q --max-cost 0 agents/lead.md go; [ "$code" != 0 ] || fail "a budget of nothing"
sed 's/^name: lead/&\nbudget: {turns: 2}/' agents/lead.md >tight.md; mkdir tight; mv tight.md tight/lead.md; cp -r workflows tight
run hocket run --json tight/lead.md go; has out 'budget of lead'
rm -rf tight

# ---- What is wrong is said before anything runs ---------------------------------------------------------
mkdir -p w/workflows
printf -- '---\nname: one\ntools: ["workflow:audti"]\n---\nOne.\n' >w/one.md
run hocket check w; expect 3; has out "one.md:3:9: 'workflow:audti': there is no audti.lua in w/workflows"
printf -- '---\nname: one\ntools: ["workflow:"]\n---\nOne.\n' >w/one.md
run hocket check w/one.md; expect 3; has out "unknown tool"
printf -- '---\nname: one\nagents: [none.lua]\n---\nOne.\n' >w/one.md
run hocket check w; expect 3; has out "one.md:3:10: 'none.lua': there is no such file"
echo 'return "a script"' >w/workflows/odd.lua
printf -- '---\nname: one\nagents: [odd.lua]\n---\nOne.\n' >w/one.md
run hocket check w; expect 3; has out "returns no workflow"
printf -- '---\nname: one\nagents: [two, workflows/two.lua]\n---\nOne.\n' >w/one.md
printf -- '---\nname: two\n---\nTwo.\n' >w/two.md
cp workflows/audit.lua w/workflows/two.lua; cp workflows/helper.lua w/workflows
run hocket check w; expect 3; has out "the name 'two' is taken by w/two.md"
printf -- '---\nname: one\nagents: [workflows/three.lua]\n---\nOne.\n' >w/one.md
printf -- '---\nname: two\nagents: [./workflows/../workflows/three.lua]\n---\nTwo.\n' >w/two.md
mv w/workflows/two.lua w/workflows/three.lua
run hocket check w; expect 0 # one file, whatever its path
rm -rf w

# ---- The bound --------------------------------------------------------------------------------------
run hocket check .; expect 0
has out './workflows/audit.lua: at most 9 agents, 36 model calls, tokens and cost not known: the window of sim is not known'
HOCKET_MODEL=openai/gpt-4o run hocket check .; expect 0
has out './workflows/audit.lua: at most 9 agents, 36 model calls, 5197824 tokens, '; grep -q 'tokens, [0-9.]* USD$' out || fail "no cost"
has out '  agents: reader; tools: none'; has out '  cannot run programs, reach the web, read files, write files'
sed 's/, { max = 9 }//; s/name = "reader", /&tools = { "execute_command", "web_fetch" }, /' workflows/audit.lua >workflows/open.lua
run hocket check --json workflows/open.lua; expect 0
has out '"agents":null'; has out "{\"line\":9,\"message\":\"'map' over a list of unknown length"
run hocket check workflows/open.lua; has out 'agents without a bound'; has out 'runs programs (asks), reads the web; cannot read files, write files'
rm workflows/open.lua
run hocket check "$ROOT/examples/workflow"; expect 0
has out 'audit.lua: at most 1050 agents, 6300 model calls, 61200000 tokens, cost not known: a model has no price'; has out 'reads files; cannot run programs, reach the web, write files'

has out 'polish.lua: at most '
run hocket run -q --model sim --trust "$ROOT/examples/workflow/workflows/polish.lua" "a notice: the pool is closed on Monday"; expect 0; has out 'We are sorry: the pool is closed on Monday.'

# ---- Its Lua runs where a person trusts it ----------------------------------------------------------------
mv sim.lua ../kept.lua # the scripted model is Lua of the folder as well
untrusted() { env -u HOCKET_TRUST "$HOCKET" "$@"; }
for target in audit agents/lead.md agents/boss.md; do
  run untrusted run -q "$target" '{"files": ["q"]}'; expect 1; has err "workflows is not trusted"; has err helper.lua; hasnt out READ
done
echo 'print "ran"' >workflows/other.lua
run untrusted check .; expect 0; hasnt out ran
run untrusted run -q --trust audit '{"files": ["q"]}'; expect 0
rm workflows/other.lua
cat >asks.lua <<'E'
-- No word of the folder of agents: another script's workflow asks when it is called.
local hocket = require "hocket"
hocket.provider("scripted", { protocol = "openai_chat", base = require "hocket.sim".serve { reply = function(request)
  return request.last.role == "tool" and request.last.text or { calls = { { name = "audit", arguments = { files = { "a" } } } } }
end }.base })
return hocket.run(hocket.agents "agents".lead, "go", { model = "scripted/x" }).text
E
run untrusted run -q asks.lua; has out "not trusted"
mv ../kept.lua sim.lua

# ---- For programs elsewhere -------------------------------------------------------------------------------
meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
what='mcp serve'
: >../out
{ printf '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{%s}}\n{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"audit","arguments":{"files":["m"]},%s}}\n' "$meta" "$meta"
  n=0; until grep -q 'read M' ../out || [ $((n += 1)) -gt 300 ]; do sleep 0.1; done; } | hocket mcp serve audit >../out 2>../err
cd "$WORK" || exit 1
has out '"required":["files"]'; has out '"outputSchema"'; has out '"structuredContent":{"notes":["read M"]}'; has out '"description":"Reviews files"'

# ---- For workers elsewhere, which have nothing of the folder ------------------------------------------------
cd p || exit 1
run hocket run --detach agents/lead.md go; expect 0
run hocket run --detach audit '{"files": ["d"]}'; expect 0
run hocket schedule add @yearly audit '{"files": ["s"]}'; expect 0
run hocket schedule run audit; expect 0
cd "$WORK" || exit 1
mv p away
"$HOCKET" work --json -C empty >work.out 2>work.err & worker=$!
at_end() { kill "$worker" 2>/dev/null; }
done_runs() { [ "$("$HOCKET" runs --state done --limit 0 --json | grep -oE '"target":"(agents/lead.md|audit)"' | wc -l)" -ge "$1" ]; }
was=$("$HOCKET" runs --state done --limit 0 --json | grep -oE '"target":"(agents/lead.md|audit)"' | wc -l)
until_true done_runs $((was + 3))
kill "$worker"; wait "$worker"
mv away p
finish
