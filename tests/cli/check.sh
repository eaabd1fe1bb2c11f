# What `hocket check` says of a project: rules that bind nothing, providers, variables, who begins and whom that reaches.
. "$(dirname "$0")/lib.sh"
agent() { # FILE FRONTMATTER BODY
  mkdir -p "$(dirname "$1")"; printf -- '---\n%b\n---\n%s\n' "$2" "${3:-You.}" >"$1"
}

# A rule for a tool that there is not.
agent rule/agents/a.md 'tools: [execute_command]\napprove:\n  deny: [bash]'
run hocket check rule
expect 3; has out "rule/agents/a.md:4:10: the rule binds nothing: there is no tool 'bash': did you mean 'execute_command'?"
for rule in "deny: ['bash(rm *)']" "ask: [frobnicate]" "allow: ['mcp_*']"; do
  agent rule/agents/a.md "tools: [execute_command]\napprove:\n  $rule"
  run hocket check rule; expect 3; has out "the rule binds nothing"
done
agent rule/agents/a.md "tools: [facilitator]\nagents: [b]\napprove: {deny: [execute_command, 'web_*', '*'], ask: [call_b, create_tasks, 'read_*']}"
agent rule/agents/b.md 'tools: [specialist]\napprove: {deny: [write_section]}'
run hocket check rule; expect 0

# Tools and providers that scripts register, and those that they declare.
agent own/agents/a.md 'tools: [look_up]\nmodel: mycloud/large\napprove: {ask: [look_up]}'
run hocket check own; expect 3; has out "unknown tool 'look_up'"
echo 'local hocket = require "hocket" hocket.tool.set("look_up", f) hocket.provider("mycloud", {})' >own/main.lua
for path in own own/agents own/agents/a.md; do run hocket check $path; expect 0; done
printf -- '--- @hocket.tools other, look_up\n--- @hocket.providers mycloud\nregister_all()\n' >own/main.lua
for path in own own/agents own/agents/a.md; do run hocket check $path; expect 0; done

# What lies beside a project is none of it, whatever it speaks of; a script that names a folder is.
mkdir -p street
agent street/house/agents/a.md 'tools: [look_up]'
agent street/loose/agents/x.md 'description: x'; agent street/loose/agents/y.md 'description: y'
echo 'return hocket.run(team.x, ...)' >street/other.lua
echo 'hocket.tool.set("look_up", f)' >>street/other.lua
run hocket check street/house; expect 3; has out "unknown tool 'look_up'"
run hocket check street/loose; expect 0; has out "which agent begins?"
(cd street/house && "$HOCKET" check . >../../out 2>&1) && fail "the same by another path"
echo 'local team = hocket.agents "street/house"' >>street/other.lua
run hocket check street/house; expect 0
(cd street/house && "$HOCKET" check . >../../out 2>&1) || fail "a script that names it"
echo 'return 1' >street/house/main.lua
run hocket check street/house; expect 3

# Providers.
agent cloud/agents/a.md 'model: [openai/x, opnai/y]'
run hocket check cloud
expect 3; has out "cloud/agents/a.md:2:"; has out "unknown provider 'opnai' in model 'opnai/y': did you mean 'openai'?"
run hocket check --json cloud; expect 3; has out '"code":"unknown_provider"'

# Variables.
agent places/agents/a.md 'variables: {topic: tea}' '{{name}} on {{topic}}
and {{tone}}.'
run hocket check places
expect 3; has out "places/agents/a.md:5:1: the variable 'tone' has no value"
agent places/agents/a.md 'variables: {tone: }' 'In {{tone}}.'
run hocket check places; expect 0

# Who begins.
agent roots/agents/a.md 'handoff: c'
agent roots/agents/b.md 'handoff: c'
agent roots/agents/c.md 'description: x'
run hocket check roots
expect 3; has out "roots/agents/b.md:1:1: which agent begins? a, b are named by no other"
run hocket check roots/agents/a.md; expect 0
agent roots/agents/main.md 'agents: [a]'
run hocket check roots
expect 0; has out "roots/agents/b.md:1:1: warning: nothing reaches the agent 'b'"; hasnt out "'c'"
run hocket check --json roots; expect 0; has out '"code":"unreached"'
# … which scripts may say, too.
echo 'return hocket.run(team.b, ...)' >roots/start.lua
run hocket check roots
expect 0; has out "nothing reaches the agent 'a'"; hasnt out "'b'"; hasnt out "'c'"
echo 'for _, one in pairs(everybody) do ask(one) end' >roots/start.lua; rm roots/agents/main.md
run hocket check roots; expect 0; hasnt out "reaches"
# Agents that have nothing to do with each other are no team.
agent loose/agents/a.md 'description: x'; agent loose/agents/b.md 'description: x'
run hocket check loose; expect 0; has out "warning: which agent begins?"

# A chain four times as long takes about four times as long, and no more.
chain() {
  rm -rf "$1"; mkdir -p "$1/agents"
  i=1
  while [ $i -lt "$2" ]; do
    printf -- '---\nname: a%d\nhandoff: a%d\n---\nA.\n' $i $((i + 1)) >"$1/agents/a$i.md"; i=$((i + 1))
  done
  printf -- '---\nname: a%d\n---\nA.\n' $i >"$1/agents/a$i.md"
}
cpu() { # in ms, of one check
  /usr/bin/env bash -c 'TIMEFORMAT=%U; time "$0" check "$1" >/dev/null' "$HOCKET" "$1" 2>&1 | tr -d '.' | sed 's/^0*//; s/^$/1/'
}
if [ -z "${SANITIZE:-}" ]; then
  chain short 500; chain long 2000
  least=
  for _ in 1 2 3; do
    a=$(cpu short) b=$(cpu long)
    ratio=$((b * 10 / a))
    [ -n "$least" ] && [ "$least" -le $ratio ] || least=$ratio
  done
  [ "$least" -le 80 ] || fail "a chain four times as long takes $least tenths of the time"
fi
# Modules that a script requires by name have to be there, and to compile.
mkdir -p needs/lib
module() { printf '%s\n' "$2" >needs/$1; }
module main.lua 'local util = require "lib.util"
return util, (require "lib.gone")'
module lib/util.lua 'return require("string").format("%s", require "lib/other")'
module lib/other.lua 'return 1'
run hocket check needs; expect 3; has out "needs/main.lua:2:15: module 'lib.gone' not found"; same "$(wc -l <out)" 1
gone="module 'lib.gone' not found: there is no lib/gone.lua in needs, and none in package.path"; has out "$gone"
for store in off needs.db; do run hocket run --store $store needs x; expect 1; has err "error: needs/main.lua:2: $gone"; hasnt err "no file"; done
rm -f needs.db*
module lib/gone.lua 'return {'
for path in needs needs/main.lua; do
  run hocket check $path; expect 3; has out "needs/lib/gone.lua:2:1: unexpected symbol near <eof>"; same "$(wc -l <out)" 1
done
module lib/gone.lua 'return {}'
run hocket check needs; expect 0
# … unless that is inside of pcall, or nobody can know where it looks, or a comment says that another program has it.
rm needs/lib/gone.lua
for text in 'pcall(require, "lib.gone")' 'pcall(function() return require("lib.gone") end)' '--- @hocket.modules lib.gone
return (require "lib.gone")' 'package.path = os.getenv "X" or "" return (require "lib.gone")' '-- require "lib.gone"
return [[require "lib.gone"]]' 'local name = "lib.gone" require(name)'; do
  module main.lua "$text"
  run hocket check needs; expect 0; hasnt out "not found"
done
# The names of globals and of hocket's fields are warnings: a run starts with them.
mkdir -p names
cat >names/main.lua <<'X'
local hocket, json = require "hocket", require("hocket.json")
local list <const> = { key = 1, [1] = json }
counter = 0
function handler(self, ...) return self, counter, ... end
for i, v in ipairs(list) do print(i, v, list.nothing, arg) end
repeat local over = true until over
local function fact(n) if n < 2 then return 1 end return n * fact(n - 1) end
::again:: if list.again then goto again end
hocket.extra = fact
if #list > 9 then return hocket.rnu(team), hocket.flow.paralel, json.dcode, other, theirs, hocket.patterns.router end
return hocket.extra and hocket.version() and "starts"
X
echo 'other = 1; --- @hocket.globals theirs' >names/more.lua
run hocket check names; expect 0; same "$(grep -c warning: out)" 4
has out "names/main.lua:10:33: warning: 'hocket' has no field 'rnu': did you mean 'run'?"
has out "names/main.lua:10:37: warning: the global 'team' is not defined"
has out "warning: 'hocket.flow' has no field 'paralel'"; has out "warning: 'hocket.json' has no field 'dcode': did you mean 'decode'?"
run hocket run names; expect 0; has out starts
# A file of MCP servers with one odd entry: both warn, and go on with the others.
agent servers/agents/a.md 'mcp: [good]'
echo '{"mcpServers": {"good": {"command": "'"$HOCKET"'", "args": ["mcp", "serve", "'"$PWD"'/loose/agents/a.md"]}, "odd": {"address": "http://x/"}}}' >servers/.mcp.json
run hocket check servers; expect 0; has out "warning: servers/agents/../.mcp.json: the server 'odd' is left out: odd needs 'command' or 'url'"
run hocket run --trust servers x; expect 0; has err "servers/agents/../.mcp.json: the server 'odd' is left out: odd needs 'command' or 'url'"
agent servers/agents/a.md 'mcp: [odd]'
for word in check run; do run hocket $word servers x; expect 3; cat out err >both; has both "servers/agents/a.md:2:7: servers/agents/../.mcp.json: odd needs 'command' or 'url'"; done

# What a run that is kept would do again is told, and no error.
mkdir -p past
cat >past/main.lua <<'X'
local hocket = require "hocket"
-- io.open in a comment, and "io.open" in a text
local text = "io.open" .. [[ os.execute() ]] .. (os.getenv "HOME" or "")
local f = io.open("plan.txt")
local own = { io = { open = print } }
own.io.open()
hocket.step("read", function() return (io.open "plan.txt"):read "a" end)
local reader = hocket.tool { name = "r", description = "Reads.", parameters = { type = "object" },
  run = function() return { io.open "x", os.execute "true" } end }
os.remove "x"
return text, f, reader
X
run hocket check past; expect 0; has out "OK: "
same "$(grep -c 'is not recorded' out err | tr '\n' ' ')" "out:3 err:0 "
has out "past/main.lua:3:1: warning: os.getenv is not recorded"; has out "past/main.lua:4:1: warning: io.open is not recorded"
has out "past/main.lua:10:1: warning: os.remove is not recorded"
run hocket run past; hasnt err "is not recorded"

# So is a request that changes something, and does not say that it may be made twice.
mkdir -p asks
cat >asks/main.lua <<'X'
local hocket = require "hocket"
local http = require "hocket.http"
local url, how, spec = "http://127.0.0.1:1", "PUT", { url = "http://127.0.0.1:1", method = "POST" }
hocket.http.request { url = url, method = "POST", body = hocket.json.encode { idempotent = true } }
http.request({ url = url, -- idempotent = true
  body = "{ idempotent = true }" })
hocket.http.request { url = url, method = how, body = "x" }
http.request { method = 'DELETE', url = url }
-- These are well.
http.request { url = url, method = "POST", body = "x", idempotent = true }
http.request { url = url, method = "GET", headers = { body = "x", method = "POST" } }
http.request { url = url, method = how }
http.request(spec)
hocket.step("post", function(key) return http.request { url = url, method = "POST", body = key } end)
X
run hocket check asks; expect 0; has out "OK: "; same "$(grep -c 'hocket.step, whose function is given a key' out)" 4
has out "asks/main.lua:4:1: warning: this POST request is not made again where the process ended in the middle of it: write idempotent = true beside its url"
has out "asks/main.lua:5:1: warning: this POST request"; has out "asks/main.lua:7:1: warning: this request"; has out "asks/main.lua:8:1: warning: this DELETE request"
run hocket check --json asks; expect 0; has out '"code":"request"'; has out '"line":8'

# What a run refuses before a model is asked check refuses, in the same words.
mkdir -p refused/agents
both() {
    printf -- '---\nname: a\n%s\n---\nHi.\n' "$1" >refused/agents/a.md
    run hocket check refused/agents; expect 3; has out "$2"
    run hocket run --trust --model sim refused/agents x; expect 3; has err "$2"
}
both "skills: [nosuch]" "there is no skill 'nosuch': looked for in .hocket/skills"
both "mcp: [nots]" "the MCP server 'nots' stands in no .mcp.json"
echo '{"mcpServers": {"notes": {"command": "true"}}}' >refused/.mcp.json
both "mcp: [nots]" "has no server 'nots': did you mean 'notes'?"
printf -- '---\nname: a\nmcp: [notes]\n---\nHi.\n' >refused/agents/a.md
run hocket check refused/agents; expect 0
echo '{' >refused/.mcp.json
printf -- '---\nname: b\nmcp: [notes]\n---\nHi.\n' >refused/agents/b.md
run hocket check refused/agents; expect 3; same "$(grep -c "the text ends inside an object" out)" 1
run hocket run --trust --model sim refused/agents/a.md x; hasnt out "simulated"; has err "the text ends inside an object"

finish
