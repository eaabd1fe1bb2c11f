#!/bin/sh
# hocket new --pattern: a copy of each pattern passes the tests of the original, which is not loaded then.
. "$(dirname "$0")/lib.sh"
unset HOCKET_MODEL # the tests bring their own

for name in advisors alternates blockers coordinator facilitator handoff outcome plan planner router team; do
  run hocket new --pattern $name $name
  expect 0; has out "$name/patterns/$name.lua"; empty err
  sed -n '/local hocket/,$p' out >$name/use
  cat $name/use - >$name/main.lua <<'LUA'
return "ready"
LUA
  grep -rn 'former = ' $name/patterns && fail "a copy hangs on the words of former editions"
  run hocket check $name
  expect 0; hasnt out warning; hasnt err warning
  run hocket run --store off -q $name/main.lua
  expect 0; has out ready
done

# tests_of NAME TEST SET: the tests of the original, with the copy in its place, also for patterns that require it; SET: what else a script of
# its own would say.
tests_of() {
  cat $1/use - >$1/test.lua <<LUA
local name, root = "$1", "$ROOT/tests/lua"
package.path = root .. "/support/?.lua;" .. package.path
local copy = require("patterns." .. name)
package.preload["hocket.patterns." .. name] = function() return copy end
hocket.patterns[name] = copy
$3
local text = assert(require("hocket.fs").read(root .. "/patterns/test_$2.lua"))
if renamed then
  text = text:gsub('"facilitator"', '"itslead"'):gsub("%[facilitator%]", "[itslead]")
  text = text:gsub('\nt%.test%("a facilitator without specialists".-\nend%)\n', "\n") -- what check says of ours
end
local verdict = assert(load(text, "@" .. root .. "/patterns/test_$2.lua"))()
assert((package.loaded["hocket.patterns." .. name] or copy) == copy, "the original was loaded")
return verdict
LUA
  run hocket run --store off -q $1/test.lua
  expect 0; has out ', 0 failed'
}
for name in advisors alternates coordinator handoff planner router team facilitator; do tests_of $name $name 'local renamed'; done
tests_of handoff handoff_choice 'local renamed'
for test in "blockers blockers" "outcome coordinator" "plan coordinator" "plan checks"; do tests_of $test 'local renamed'; done

# Nothing hangs on the name of its toolset, but that check knows ours before anybody works.
tests_of facilitator facilitator '
local renamed = true
hocket.tool.set("itslead", require("patterns.facilitator").tools)
hocket.tool.set("facilitator", function() error "nobody has it" end)'

run hocket new --pattern router router
expect 1; has err "router/patterns/router.lua"
run hocket new --pattern ruoter x
expect 2; has err "did you mean 'router'?"; [ ! -e x ] || fail "a folder was made"
run hocket new --pattern ../router x
expect 2
(cd handoff && hocket new --pattern team >../out) || fail "in the current directory"
[ -f handoff/patterns/team/channel.lua ] || fail "the parts of a pattern"
run hocket new
expect 2
finish
