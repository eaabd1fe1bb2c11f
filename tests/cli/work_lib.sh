# What the tests of workers share, behind lib.sh: a store, an empty folder for workers, and words for both.
mkdir -m 700 state; HOCKET_STORE=$PWD/state/runs.db; export HOCKET_STORE
mkdir empty; workers=
# shellcheck disable=SC2086,SC2317 # several; by lib.sh
at_end() { [ -z "$workers" ] || kill -9 $workers 2>/dev/null; }
# A worker in an empty folder, as `worker N [OPTION…]`: its lines in wN.out.
worker() {
  name=$1; shift
  : >"w$name.out" # what one of that name wrote before is not this one's
  (cd empty && exec "$HOCKET" work --json "$@") >"w$name.out" 2>"w$name.err" & eval "w$name=$!"; workers="$workers $!"
  until_true grep -q '"working"' "w$name.out"
}
end() { # with a signal, and its exit code
  eval "pid=\$w$1"; kill "-$2" "$pid"; wait "$pid"; code=$?; workers=$(echo "$workers " | sed "s/ $pid / /")
}
is() { "$HOCKET" runs --limit 0 --state "$2" --json | grep -q "\"id\":\"$1\""; }
detach() { run "$HOCKET" run --detach -q "$@"; expect 0; id=$(cat out); }
done_with() { run "$HOCKET" wait "$@"; expect 0; }
until_true() { # a slow machine may take long; the test as a whole has its time
  until "$@"; do sleep 0.1; done
}
# A run of four steps, each a line in FILE, as `steps FILE`; after the first one it waits until FILE.go is there.
cat >steps.lua <<'X'
local hocket = require "hocket"
local file = ...
local function may_go()
  local f <close> = io.open(file .. ".go")
  return f ~= nil
end
for i = 1, 4 do
  hocket.step("s" .. i, function()
    local f <close> = assert(io.open(file, "a"))
    f:write("step ", i, "\n")
  end)
  while not hocket.step("look", may_go) do hocket.flow.sleep(0.1) end
end
return "all"
X
steps() { detach steps.lua "$PWD/$1"; }
# Each step of these files was done once.
once() {
  for name in "$@"; do same "$(tr '\n' ' ' <"$name")" "step 1 step 2 step 3 step 4 "; done
}
