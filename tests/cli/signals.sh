# SIGINT and SIGTERM: in order; a second one at once.
. "$(dirname "$0")/lib.sh"

cat >slow.lua <<'X'
local closing <close> = setmetatable({}, { __close = function() print("closed in order") end })
print "begun"
require("hocket").flow.sleep(30)
X
start() { what="$*"; : >out; "$@" >out 2>err & pid=$!; until_true grep -q "$ready" out; }
stopped() { # what does not end is ended
  (sleep 30; kill -KILL $pid) >/dev/null 2>&1 & watch=$!
  wait $pid; code=$?
  kill $watch 2>/dev/null
}

ready=begun
for store in "$HOME/runs.db" off; do # what is kept can go on: it waits until it is resumed
  rm -f ev
  start "$HOCKET" run --events ev --store "$store" slow.lua
  kill -INT $pid; stopped
  expect 130; has err interrupted; has out "closed in order"
  tail -n 1 ev | grep -q workflow_finished || fail "workflow_finished has to be last"
  finish=parked; [ "$store" != off ] || finish=cancelled
  has ev "\"code\":\"$finish\""
done
start "$HOCKET" run slow.lua
kill -TERM $pid; stopped
expect 143; has err terminated; has out "closed in order"

# A terminal that is closed says so twice, itself and by its shell: the run ends in order.
cat >closes.lua <<'X'
local closing <close> = setmetatable({}, { __close = function()
  os.execute "kill -HUP $PPID"
  print("closed in order")
end })
print "begun"
require("hocket").flow.sleep(30)
X
rm -f ev
start "$HOCKET" run --events ev closes.lua
kill -HUP $pid; stopped
expect 129; has out "closed in order"
tail -n 1 ev | grep -q workflow_finished || fail "workflow_finished has to be last"

# A server ends well when it is stopped.
ready=serving
start "$HOCKET" sim
kill -INT $pid; stopped
expect 0

# The thread sanitizer delivers no signal to a loop that calls nothing.
[ "${SANITIZE:-}" = thread ] && finish

# A script that never waits cannot be cancelled in order; the second signal ends it. (What it prints is
# written when it waits, so it writes itself.)
printf '%s\n' 'require("hocket").flow.sleep(0.05) io.stdout:write("begun\n"):flush() while true do end' >busy.lua
ready=begun
start "$HOCKET" run busy.lua
kill -INT $pid; sleep 0.3
kill -0 $pid 2>/dev/null || fail "the first SIGINT should not end it at once"
kill -INT $pid; stopped
expect 130

# One signal is enough all the same: after a second it is broken into, and ends in order.
cat >busy.lua <<'X'
local closing <close> = setmetatable({}, { __close = function() print("closed in order") end })
require("hocket").flow.sleep(0.05)
io.stdout:write("begun\n"):flush()
while true do end
X
rm -f ev
start "$HOCKET" run --events ev busy.lua
kill -INT $pid; stopped
expect 130; has err interrupted; has out "closed in order"
tail -n 1 ev | grep -q workflow_finished || fail "workflow_finished has to be last"
rm -f ev
start "$HOCKET" run --events ev --timeout 0.5 busy.lua
stopped
expect 124; has err "not done within 0.5 seconds"; has out "closed in order"
tail -n 1 ev | grep -q workflow_finished || fail "workflow_finished has to be last"

# So it is in a coroutine of the script's own, whoever catches it.
cat >inner.lua <<'X'
local closing <close> = setmetatable({}, { __close = function() print("closed in order") end })
require("hocket").flow.sleep(0.05)
io.stdout:write("begun\n"):flush()
coroutine.resume(coroutine.create(function() while true do end end))
while true do end
X
start "$HOCKET" run --timeout 0.5 inner.lua
stopped
expect 124; has err "not done within 0.5 seconds"; has out "closed in order"

# What will not be broken into ends the process with it.
printf '%s\n' 'require("hocket").flow.sleep(0.05) io.stdout:write("begun\n"):flush() while true do pcall(function() while true do end end) end' >deaf.lua
start "$HOCKET" run --timeout 0.2 deaf.lua
stopped
expect 124; has err "code that never waits"
start "$HOCKET" run deaf.lua
kill -TERM $pid; stopped
expect 143
finish
