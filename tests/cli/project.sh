# new, then check, then run; check's problems; the scripted model for other clients; doctor.
. "$(dirname "$0")/lib.sh"

run hocket new "my team"
expect 0; has out "my team/main.lua"; empty err
run hocket check "my team"
expect 0; has out "OK: 3 agents and 2 scripts"
for kind in agent providers eval; do # what its editor goes by is what the readers check by
  run hocket check --schema "$kind"
  expect 0; cmp -s out "my team/.hocket/$kind.schema.json" || fail "the schema of $kind"
done
grep -q '^# yaml-language-server: $schema=../.hocket/agent.schema.json$' "my team/agents/editor.md" || fail "the line for editors"
cat >stubs.lua <<'LUA'
local root, n = "my team/.hocket/lua/", 0
for _, module in ipairs { "hocket", "hocket.tool", "hocket.flow", "hocket.board", "hocket.json", "hocket.patterns.team", "hocket.sim" } do
  local path = root .. module:gsub("%.", "/") .. ".lua"
  local stub = assert(require("hocket.fs").read(path))
  assert(load(stub, path))
  assert(stub:sub(1, #module + 9) == "---@meta " .. module, path)
  for name, value in pairs(require(module)) do
    if type(name) == "string" and type(value) == "function" and stub:find(("function [%%w_]+[.:]%s%%("):format(name)) then n = n + 1 end
  end
end
return n
LUA
run hocket run -q stubs.lua
expect 0; [ "$(cat out)" -gt 40 ] || fail "functions in the stubs"
has "my team/.luarc.json" '".hocket/lua"'
[ "$(find "my team/.hocket/lua" -name '*.lua' | wc -l)" -gt 40 ] || fail "a stub for each module"
run hocket check --schema policy
expect 0; has out '"title":"hocket: policy.yaml"'
run hocket check --schema cake
expect 2; has err "agent, eval, policy, providers"
run hocket run "my team" "Is tea better?"
expect 0; has out "Is tea better?"; has out "## Against"; has err "simulated"
(cd "my team" && hocket run . "Is tea better?") >out2 2>>err
has out2 "Is tea better?"
run hocket run -q "my team/agents" "Is tea better?" # without the script: the front matter has the document's sections
expect 0; has out "## Against"
run hocket run "my team/agents/critic.md" "Is tea better?"
expect 0
run hocket run -q --context model=nosuch/x "my team/agents/critic.md" "Is tea better?" # at once, and not when a window is full
expect 4; has err "the option 'context': "; has err nosuch; empty out
run hocket run -q --context model=sim "my team/agents/critic.md" "Is tea better?"
expect 0
run hocket new "my team"
expect 1; has err "is not empty"
echo file >file
run hocket new file
expect 1
run hocket new /proc/none/x
expect 1; has err "cannot make the directory /proc/none"
run sh -c '{ (ulimit -f 0; "$0" new a/b/c 2>&1); echo "exit code $?"; } | cat' "$HOCKET" # nothing can be written: nothing stays
has out "exit code 1"; has out "README.md: File too large"; [ ! -e a ] || fail "a project in half is left"
run hocket new ./-x
expect 0; has out "hocket run ./-x"
mkdir empty; run hocket new empty/
expect 0; [ -f empty/README.md ] || fail "an empty directory is fine"
has empty/README.md "# empty"

mkdir bad; printf -- '---\nname: a\nagents: [b]\ntools: [writ_section]\n---\nHello\n' >bad/a.md
echo 'x = = 1' >bad/x.lua
run hocket check bad
expect 3; has out "bad/a.md:3:10: unknown agent 'b'"; has out "bad/x.lua:1:1: "; has err "3 problems"
run hocket check --json bad
expect 3; has out '"line":3'; same "$(wc -l <out)" 1
run hocket check absent
expect 3; has out "absent:1:1: "

team t
"$HOCKET" sim t --latency 0.01 >serving 2>hint & pid=$!
until_true grep -q serving serving
base=$(sed -n 's/^serving \(http:[^ ]*\) (.*)$/\1/p' serving)
has hint "curl $base/chat/completions"
OPENAI_BASE_URL=$base run hocket run -v --model openai/scripted t hello
expect 0; has out "##"; hasnt err "simulated model"; has err "openai/scripted"
kill $pid; wait $pid; code=$?; expect 0

# Whose server it is says how OpenAI's protocol is spoken; and a replay does as it was done.
echo 'return function(r) return r.protocol end' >says.lua
printf -- '---\nname: one\n---\nYou are one.\n' >one.md
"$HOCKET" sim says.lua >serving2 2>hint & pid=$!
until_true grep -q serving serving2
base=$(sed -n 's/^serving \(http:[^ ]*\) (.*)$/\1/p' serving2)
OPENAI_BASE_URL=$base run hocket run -q --model openai/x one.md hello --record says.jsonl
expect 0; same "$(cat out)" openai_chat
OPENAI_BASE_URL=$base run hocket run -q --model openai-responses/x one.md hello
expect 0; same "$(cat out)" openai_responses
OPENAI_BASE_URL=$base run hocket run -q --model openai-chat/x one.md hello
expect 0; same "$(cat out)" openai_chat
kill $pid; wait $pid; code=$?; expect 0
run hocket run -q --model openai/x one.md hello --replay says.jsonl
expect 0; same "$(cat out)" openai_chat
run hocket sim bad
expect 3; has err "bad/sim.lua"
run hocket sim absent.lua
expect 3; has err "absent.lua"

rm -f ev
run hocket run --workdir t --events ev "my team" hello
expect 0; [ -s ev ] || fail "the event file is looked up from here"
OPENAI_API_KEY=sk-secret run hocket doctor
expect 0; has out "key in OPENAI_API_KEY"; hasnt out "sk-secret"
has out "limits"; has out "works, and is used"
run hocket doctor --json
expect 0; has out '"default_model":"sim"'; has out '"sandbox":"'
HOCKET_SANDBOX= run hocket run agents.md hello --sandbox steel
expect 2; has err "best, required, bubblewrap"
finish
