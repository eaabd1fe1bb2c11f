# A store that is away in the moment when a run is submitted, or cancelled, is waited for: it is done once, whatever was heard of it.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"
echo 'return "child"' >child.lua
# `away(NAME, {"lost", "done", …})`: each of the next calls of store[NAME] is lost on its way there, or done, and its answer is lost.
cat >away.lua <<'E'
local store = require "hocket.internal.core.store"
return function(name, what)
  local ask, n = store[name], 0
  store[name] = function(...)
    n = n + 1
    if what[n] == "done" then assert(ask(...)) end
    if what[n] then return nil, { code = "io", message = "the store is away", retryable = true } end
    return ask(...)
  end
end
E
submitted() { "$HOCKET" runs --limit 0 --json | grep -o 'child.lua' | wc -l; }

# ---- Submitting ----------------------------------------------------------------------------------------
cat >put.lua <<'E'
local hocket = require "hocket"
require "away"("submit", { "lost", "done", "lost" })
local child = assert(hocket.submit("child.lua", "one"))
return (assert(require("hocket.internal.core.store").find(child.id)).state)
E
run "$HOCKET" run -q put.lua; expect 0; has out queued; same "$(submitted)" 1
id=$("$HOCKET" runs --state done --json | grep -oE '"id":"[0-9A-Z]+"' | head -n 1 | cut -d '"' -f 4)
run "$HOCKET" replay "$id"; expect 0

# A process that was killed has put it: whoever goes on finds that, also where the store does not answer at once.
cat >killed.lua <<'E'
local hocket = require "hocket"
local store = require "hocket.internal.core.store"
local submit, f = store.submit, io.open "again"
function store.submit(spec)
  assert(submit(spec))
  os.execute "kill -9 $PPID"
end
if f then
  store.submit = submit
  require "away"("find", { "lost" })
end
return assert(hocket.submit("child.lua", "two")).id
E
run "$HOCKET" run -q killed.lua; expect 137; same "$(submitted)" 2
id=$("$HOCKET" runs --state cut-off --json | grep -oE '"id":"[0-9A-Z]+"' | head -n 1 | cut -d '"' -f 4); : >again
run "$HOCKET" resume -q "$id"; expect 0; is "$(cat out)" queued || fail "the id of what was put expected"; same "$(submitted)" 2
run "$HOCKET" replay "$id"; expect 0

# ---- Cancelling ----------------------------------------------------------------------------------------
cat >cancel.lua <<'E'
local hocket = require "hocket"
local child = assert(hocket.submit("child.lua", "three"))
local away = require "away"
away("take", { "lost" })
away("finish", { "done" })
return tostring(child:cancel()) .. " " .. tostring(select(2, child:cancel()).code) .. " " .. assert(require("hocket.internal.core.store").find(child.id)).state
E
run "$HOCKET" run -q cancel.lua; expect 0; has out "true state cancelled"

# ---- A store that is not away, but cannot be used, is not waited for ------------------------------------------
cat >none.lua <<'E'
local _, err = require("hocket").submit("child.lua", "four")
return err.code .. " " .. tostring(err.retryable)
E
mkdir home
(trap '' XFSZ; ulimit -f 1; run env -u HOCKET_STORE -u XDG_STATE_HOME HOME="$PWD/home" timeout 20 "$HOCKET" run -q none.lua; echo "$code" >code)
what="none.lua"; code=$(cat code); expect 0; has out "io false"
finish
