# hooks.lua of a project: trusted as all its Lua, checked, found from its folders; what it decided is in the log, also after kill -9 and
# where it has changed since.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/state/runs.db; export HOCKET_STORE
id_in() { grep -oE '01[0-9A-Z]{24}' "$1" | head -n 1; }

mkdir -p team/agents
cat >team/agents/clerk.md <<'X'
---
name: clerk
tools: [write_file]
---
You write.
X
cat >team/sim.lua <<'X'
return function(request)
  if request.last.role ~= "tool" then return { calls = { { name = "write_file", arguments = { path = "a.txt", content = "hello" } } } } end
  return "Result: " .. request.last.text
end
X
cat >team/hooks.lua <<'X'
local words = require "words"
return {
  before_tool = { match = "write_*", run = function(event)
    if event.arguments.path == "a.txt" then return { arguments = { path = "b.txt", content = words.make() } } end
  end },
  after_agent = function(event) return { answer = event.result .. " (seen)" } end,
}
X
cat >team/words.lua <<'X'
return { make = function()
  local f <close> = assert(io.open(os.getenv "ASKED" or "asked", "a"))
  f:write("asked\n")
  return "number " .. math.random(1 << 40)
end }
X
ASKED=$PWD/asked; export ASKED

# It is found from the project, its agents' folder, and inside of that.
for target in team team/agents team/agents/clerk.md; do
  rm -f b.txt; run hocket run -q --approve allow "$target" go; expect 0; has out "(seen)"; has b.txt "number"; [ ! -e a.txt ] || fail "a.txt was written"
done
rm -f b.txt; (cd team/agents && run hocket run -q --approve allow clerk.md go && expect 0 && has out "(seen)"); rm -f team/agents/b.txt

# Agents of other programs are in a hidden folder of the project.
mkdir -p team/.claude/agents
printf -- '---\nname: helper\ndescription: Helps\n---\nYou help.\n' >team/.claude/agents/helper.md
for target in team/.claude/agents/helper.md "$PWD/team/.claude/agents"; do run hocket run -q --model sim "$target" go; expect 0; has out "(seen)"; done
rm -r team/.claude

# Nobody trusts it: nothing runs, and no agent works without it.
unset HOCKET_TRUST
rm -f b.txt asked; run hocket run -q --model openai/gpt-6.1-terra --approve allow team/agents/clerk.md go
expect 1; has err "is not trusted"; has err "hooks.lua"; [ ! -e asked ] || fail "a hook ran untrusted"
HOCKET_TRUST=1; export HOCKET_TRUST

# A run that waits for approval has the hook's decision; the hook is not asked again, whatever the file says by then.
rm -f b.txt asked; run hocket run --approve ask --events ev team go; expect 75; has err "b.txt"; id=$(id_in err)
[ "$(wc -l <asked)" = 1 ] || fail "the hook was asked once"
decided=$(grep -o '"number [0-9]*' ev | head -n 1 | tr -d '"'); [ -n "$decided" ] || decided=$(grep -oE 'number [0-9]+' ev | head -n 1)
cp team/hooks.lua hooks.before; echo 'return { before_tool = function() return { deny = "changed" } end }' >team/hooks.lua
run hocket answer "$id" a1 --allow; expect 0; run hocket resume -q "$id"; expect 0; has out "(seen)"; has b.txt "$decided"
[ "$(wc -l <asked)" = 1 ] || fail "the hook was asked again"
run hocket replay "$id"; expect 0; has err "all as recorded"
rm team/hooks.lua; run hocket replay "$id"; expect 0; has err "all as recorded"
cp hooks.before team/hooks.lua
[ "$(wc -l <asked)" = 1 ] || fail "a replay asked the hook"

# Killed anywhere: what was written is what the log says the hook decided, and it was written once.
cat >team/hooks.lua <<'X'
local words = require "words"
return { before_tool = function(event)
  require("hocket").flow.sleep(0.02)
  return { arguments = { line = words.make() } }
end }
X
cat >team/main.lua <<'X'
local hocket = require "hocket"
local post = hocket.tool { name = "post", description = "Posts.", effects = { "write" }, parameters = { type = "object", properties = { line = { type = "string" } } },
  run = function(args)
    hocket.flow.sleep(0.02)
    local f <close> = assert(io.open(os.getenv "ASKED" .. ".world", "a"))
    f:write(args.line, "\n")
    return "posted " .. args.line
  end }
local clerk = hocket.agent { name = "clerk", prompt = "You post.", tools = { post } }
return assert(hocket.run(clerk, "post it")).text
X
cat >team/sim.lua <<'X'
return function(request)
  if request.last.role ~= "tool" then return { calls = { { name = "post", arguments = { line = "plain" } } } } end
  return request.last.text
end
X
for delay in 0.03 0.05 0.06 0.07 0.08 0.09 0.1 0.11 0.12 0.14 0.17; do
  rm -f asked.world ev; "$HOCKET" run -q --approve allow --events ev team go >out 2>err & pid=$!
  sleep $delay; kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null || :
  [ -s ev ] || continue
  id=$(id_in ev)
  "$HOCKET" resume -q "$id" >out 2>err </dev/null; code=$?
  [ $code = 0 ] || grep -q "has ended\|no run" err || fail "killed after $delay: $(cat err)"
  [ $code = 0 ] || continue
  grep -q "not known whether" out && continue # the tool itself was cut off
  [ "$(wc -l <asked.world)" = 1 ] || fail "killed after $delay: written $(wc -l <asked.world) times"
  has out "posted $(cat asked.world)"; hasnt asked.world plain
  run hocket replay "$id"; expect 0
done
rm team/main.lua

# Guards: of a project's file; checked; what they decided is in the log; the text that they stop is on no page.
rm team/hooks.lua
cat >team/agents/checks.lua <<'X'
return { short = function(about)
  local f <close> = assert(io.open(os.getenv "ASKED", "a"))
  f:write("asked\n")
  if about.text:find "4711" then return "it has the number" end
end }
X
cat >team/agents/clerk.md <<'X'
---
name: clerk
guards:
  output: [checks.short, {schema: {type: string}}]
---
You write.
X
echo 'return function(request) return "The number is " .. request.last.text end' >team/sim.lua
rm -f asked; run hocket run --events ev team/agents 12; expect 0; has out "The number is 12"; id=$(id_in ev)
rm -f ev; run hocket replay "$id"; expect 0; [ "$(wc -l <asked)" = 1 ] || fail "a replay asked the guard"
run hocket run --events ev team/agents 4711; expect 1; has err "its guard checks.short stopped its answer: it has the number"
hasnt out 4711; hasnt err "number is 4711"; hasnt ev "number is 4711"; has ev guard_tripped
run hocket run --json team/agents 4711; expect 1; hasnt out "number is 4711"
"$HOCKET" serve --listen 127.0.0.1:0 --no-token team/agents >served 2>&1 & server=$!
at_end() { kill $server 2>/dev/null; }
until_true grep -q "http://127" served; url=$(grep -oE 'http://127.0.0.1:[0-9]+' served | head -n 1)
ask() { curl -sN "$url/v1/chat/completions" -H 'Content-Type: application/json' -d '{"model": "clerk", "stream": '"$1"', "messages": [{"role": "user", "content": "'"$2"'"}]}' >out; }
ask true 12; has out "number is"
ask true 4711; hasnt out "4711"; has out "denied"
ask false 4711; hasnt out "number is"; has out "stopped its answer"
kill $server; wait $server 2>/dev/null; at_end() { :; }
guards() { printf -- '---\nname: clerk\n%s\n---\nYou write.\n' "$1" >team/agents/clerk.md; run hocket check team/agents; }
guards 'guards: {both: 1}'; expect 3; has out "unknown key 'both'"
guards 'guards: {output: [nothing.here]}'; expect 3; has out "module 'nothing' not found"
guards 'guards: {input: [{agent: nobody}]}'; expect 3; has out "nobody"
guards 'guards: {input: [{schema: {}, function: a.b}]}'; expect 3; has out "needs one of"
guards 'description: Writes'; expect 0
rm team/agents/checks.lua

# What is wrong with the file.
check() { printf '%s\n' "$1" >team/hooks.lua; run hocket check team/agents; }
check 'return { befor_tool = function() end }'; expect 3; has out "hooks.lua:1"; has out "did you mean 'before_tool'"
check 'return { before_tool = "no" }'; expect 3; has out "a function"
check 'return { before_tool = { match = "x" } }'; expect 3; has out "'run' is missing"
check 'return { before_tool = { run = print, when = 1 } }'; expect 3; has out "unknown key 'when'"
check 'local hooks = {}
function hooks.after_tol() end
return hooks'; expect 3; has out "hooks.lua:2"
check 'local x = 1'; expect 3; has out "has to return a table"
check 'return { before_tool = require("words").make, timeout = 2 }'; expect 0
check 'return {'; expect 3
run hocket run -q team/agents go; expect 3; has err "hooks.lua"
check 'return { befor_tool = function() end }'; run hocket run -q team/agents go; expect 3; has err "did you mean"
check 'error "boom"'; run hocket run -q team/agents go; expect 3; has err "boom"
finish
