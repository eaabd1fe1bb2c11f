# --json: one object with the fields of the contract, whatever happens.
. "$(dirname "$0")/lib.sh"
team t

# Reads such an object, checks its fields, prints ok and the error's code.
cat >fields.lua <<'X'
local json = require "hocket.json"
local result = assert(json.decode((...)))
local kinds = { run = "string", ok = "boolean", text = "string", finish = "string", usage = "table",
  tasks = "table", seconds = "number" }
for name, kind in pairs(kinds) do assert(type(result[name]) == kind or (name == "run" and result.run == json.null), name) end
for _, name in ipairs { "input", "output", "cached", "reasoning", "calls", "cost" } do assert(result.usage[name] ~= nil, name) end
assert(result.error ~= nil and result.document ~= nil)
assert(json.is_array(result.tasks))
local function add_up(node) -- all that is below, and itself
  local calls = node.own.calls
  for _, child in ipairs(node.children) do calls = calls + add_up(child) end
  assert(calls == node.total.calls and json.is_array(node.children))
  return calls
end
if result.tree then assert(add_up(result.tree) == result.usage.calls) end
local document = result.document ~= json.null and result.document.version or "none"
print(result.ok, result.error ~= json.null and result.error.code or "none", #result.tasks, document)
X
fields() { hocket run -q fields.lua - <out 2>>err; }

run hocket run --json t "say <hello>"
expect 0; same "$(wc -l <out)" 1; same "$(fields)" "true	none	2	3"
has out '"tree":{"children":[{"agent":"'
run hocket run -v t "say <hello>"
expect 0; has err "usage                      calls tools"; has err "    itself "; has err "one (dispatch)"
grep -q "^run  *15  *13  *[0-9][0-9]*  *213  *0.000000  *0\.[0-9] s" err || fail "the run's line"
run hocket run t "say <hello>"
expect 0; hasnt err "itself"
# The last line says what the tree says, also of calls that were cancelled.
mkdir -p cut
cat >cut/main.lua <<'X'
local hocket = require "hocket"
local poet = hocket.agent { name = "poet", prompt = "Poet." }
hocket.flow.timeout(1.5, function() return hocket.run(poet, "slow") end)
return hocket.run(poet, "quick").text
X
echo 'return function(request) return { text = "x", latency = request.last.text == "slow" and 9 or 0 } end' >cut/sim.lua
run hocket run -v --model sim cut
expect 0; grep -q "^run  *2 " err || fail "two calls in the tree"; has err "2 model calls"
# Names have the room that they need: why an agent was called is never cut off in a file.
mkdir -p wide
printf -- '---\nname: chief\nadvisors: [compliance-checker-of-the-house]\n---\nChief.\n' >wide/chief.md
printf -- '---\nname: compliance-checker-of-the-house\n---\nRules.\n' >wide/compliance.md
run hocket run -v --model sim wide hello
expect 0; has err "    compliance-checker-of-the-house (advisor)      1     0"
if "$PTY" -- true >/dev/null 2>&1; then
  run "$PTY" -c 80 -- "$HOCKET" run -v --model sim wide hello
  expect 0; has out "    compliance-checker-of-…     1     0"
fi
echo 'print("to stderr") io.stderr:write("") return "answer"' >prints.lua
run hocket run --json prints.lua
expect 0; same "$(wc -l <out)" 1; has err "to stderr"; same "$(fields)" "true	none	0	none"
run hocket run --json absent.lua
expect 2; same "$(fields)" "false	invalid	0	none"
run hocket run --json --model openai/x t hello
expect 4; same "$(fields)" "false	auth	0	0"
echo 'require("hocket").flow.sleep(30)' >slow.lua
run hocket run --json --timeout 0.2 slow.lua
expect 124; same "$(fields)" "false	timeout	0	none"
echo 'error({ code = "limit", message = "that is enough" })' >limit.lua
run hocket run --json limit.lua
expect 5; same "$(fields)" "false	limit	0	none"

# What is kept can go on; what is not is over.
for store in "$HOME/runs.db" off; do
  rm -f begun; echo 'io.open("begun", "w"):close() require("hocket").flow.sleep(30)' >slow.lua
  "$HOCKET" run --json --store "$store" slow.lua >out 2>err & pid=$!
  until_true test -e begun; kill -INT $pid; wait $pid; code=$?
  finish=parked; [ "$store" != off ] || finish=cancelled
  expect 130; same "$(fields)" "false	$finish	0	none"
done

# The version for programs is one object on one line.
run hocket --version; expect 0
same "$(cat out)" "hocket $(sed -n 's/^project(hocket VERSION \([0-9.]*\).*/\1/p' "$ROOT/CMakeLists.txt")"
run hocket --version --json; expect 0; same "$(wc -l <out)" 1
cat >version.lua <<'X'
local hocket = require "hocket"
local said = hocket.json.decode((...))
assert(said.version == hocket.version() and said.interface:find("^HOCKET_%d") and type(said.static) == "boolean")
assert(math.type(said.store) == "integer" and math.type(said.edition) == "integer")
assert(said.built_with.Lua:find("^5%.4") and said.built_with.libcurl and said.target:find("^Linux "))
return "understood"
X
mv out said
run hocket run --store off version.lua "$(cat said)"; expect 0; has out understood
run hocket version -j; expect 0; cmp -s out said || fail "version -j says something else"
run hocket --version --jsn; expect 2; has err "only --json"
finish
