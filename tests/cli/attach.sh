# hocket attach: a prompt in a running host.
. "$(dirname "$0")/lib.sh"
esc=$(printf '\033')
mkdir -m 700 rt
export XDG_RUNTIME_DIR="$WORK/rt"
team t
cat >long.lua <<'X'
local hocket = require "hocket"
local board = hocket.board { limit = 5 }
board:create("lead", { { text = "Look at the \27[2J\226\128\174castle", assigned_to = "one" } })
hocket.events.emit("noise", { message = "loud \27]0;title\7" })
local team = hocket.agents "t/agents"
for i = 1, 600 do hocket.flow.sleep(0.1) end
X
attach() { # LINES ARGUMENT…
  lines=$1; shift
  what="attach $*"
  printf "$lines" | "$HOCKET" attach "$@" >out 2>err
  code=$?
}
offered() { "$HOCKET" attach | grep -q "^$1 "; }

# Nobody is there.
run hocket attach
expect 0; has out "Nothing offers itself"
run hocket attach --json
expect 0; has out '"offers":[]'
run hocket attach nobody
expect 1; empty out; has err "there is no 'nobody' to attach to"
run hocket attach a b
expect 2
run hocket attach -c runs
expect 2; has err "to whom"
run hocket attach 'no name'
expect 2; has err "is no name"
run env -u XDG_RUNTIME_DIR "$HOCKET" attach
expect 2; has err "XDG_RUNTIME_DIR is not set"

# A run that offers itself: by name, by its process, by its path.
"$HOCKET" run --offer game long.lua >run.out 2>run.err &
pid=$!
until_true offered game
run hocket attach
expect 0; has out "game  $pid"
same "$(stat -c %a rt/hocket rt/hocket/game.sock | tr '\n' ' ')" "700 600 "
run hocket attach game -c runs -c board
expect 0; has out "long.lua"; has out "pending"; hasnt out "$esc"; hasnt out "$(printf '\342\200\256')"
run hocket attach "$pid" --json -c runs
expect 0; has out '"target":"long.lua"'; hasnt out "$esc"
run hocket attach "$WORK/rt/hocket/game.sock" -c '= 6 * 7' -c frob -c runs
expect 1; same "$(cat out)" 42; has err "there is no command 'frob'"
run hocket run --offer game long.lua
expect 1; has err "the name 'game' is taken"; has err "process $pid"
run hocket run --offer 'no name' long.lua
expect 2

# Lines of a pipe, each answered before the next is read.
attach 'help\nruns\n\n= "\\27[31mred"\nquit\nnever\n' game
expect 0; has out "say AGENT TEXT"; has out "long.lua"; has out "^[[31mred"; hasnt out "$esc"; hasnt out never
attach 'frob\nruns\n' game
expect 1; has err "no command 'frob'"; has out "long.lua"
attach 'events\nsay one Good day!\n' game
expect 0; has out "workflow_started"; has out "You said: Good day!"
attach '= ("x"):rep(10)\n' game --json
same "$(cat out)" '"xxxxxxxxxx"'
head -c 5000 /dev/urandom | "$HOCKET" attach game >out 2>err; [ $? -lt 128 ] || fail "noise"
hasnt out "$esc"; hasnt err "$esc"
run hocket attach game -c runs
expect 0

# A person: the prompt has the name, tab completes, Ctrl-C and Ctrl-D leave, the program goes on.
if "$PTY" -- true >/dev/null 2>&1; then
  run "$PTY" -w "game> " edits: -w "" key:98 -w "b" key:111 -w "o" key:9 -w "ard" key:13 -w "pending" key:4 -- "$HOCKET" attach game
  expect 0; has out "attached to game (process $pid)"; has out "castle"; hasnt out "castle$esc[2J"
  run "$PTY" -w "game> " edits: -w "" key:3 -- "$HOCKET" attach game
  expect 0
  run "$PTY" -w "game> " edits: -w "" "line:quit" -- "$HOCKET" attach game
  expect 0
fi
kill -0 $pid || fail "the run should go on"

# cancel ends the run, as its own Ctrl-C would.
attach 'cancel\n' game
expect 0; has out "is being cancelled"
wait $pid; code=$?; expect 130; has run.err "cancelled"
run hocket attach
has out "Nothing offers itself"
[ -z "$(ls rt/hocket)" ] || fail "the socket should be gone"

# What a killed process leaves is nobody, and is replaced.
"$HOCKET" run --offer game long.lua >run.out 2>run.err &
pid=$!
until_true offered game
kill -9 $pid; wait $pid 2>/dev/null
[ -S rt/hocket/game.sock ] || fail "it was killed"
run hocket attach
has out "Nothing offers itself"
run hocket attach game
expect 1; has err "there is no 'game'"
"$HOCKET" run --offer game long.lua >run.out 2>run.err &
pid=$!
until_true offered game
run hocket attach game -c events -c '= 1'
expect 0
attach '' game
expect 0
# Whoever is attached when it ends hears so.
(sleep 2; kill $pid) &
run sh -c 'sleep 4 | "$0" attach game' "$HOCKET"
expect 1; has err "closed the connection"
wait

# Another user is let in by nobody, and root only where the owner wants.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && [ -z "${SANITIZE:-}" ]; then
  theirs=$(mktemp -d /tmp/hocket-user-XXXXXX) # TMPDIR may be closed to others
  ln -s "$theirs" user
  cp -r long.lua t user/ && mkdir -m 700 user/rt && chown -R 65534:65534 "$theirs"
  user="setpriv --reuid 65534 --regid 65534 --clear-groups env XDG_RUNTIME_DIR=$theirs/rt HOME=$theirs"
  if $user test -x "$HOCKET"; then
    (cd user && exec $user "$HOCKET" run --offer game long.lua) >run.out 2>run.err &
    pid=$!
    until_true test -S user/rt/hocket/game.sock
    run $user "$HOCKET" attach game -c runs
    expect 0; has out "long.lua"
    run hocket attach "$theirs/rt/hocket/game.sock" -c runs
    expect 1; has err "belongs to another user"
    kill $pid; wait $pid
    cat >user/root.lua <<'X'
local hocket = require "hocket"
assert(hocket.host:offer("game", { root = "look" }))
for i = 1, 600 do hocket.flow.sleep(0.1) end
X
    (cd user && exec $user "$HOCKET" run root.lua) >run.out 2>run.err &
    pid=$!
    until_true test -S user/rt/hocket/game.sock
    run hocket attach "$theirs/rt/hocket/game.sock" -c runs -c cancel
    expect 1; has out "root.lua"; has err "lets you look"
    kill $pid; wait $pid
    "$HOCKET" run --offer mine long.lua >run.out 2>run.err &
    pid=$!
    until_true offered mine
    run $user "$HOCKET" attach "$WORK/rt/hocket/mine.sock" -c runs
    expect 1; empty out
    kill $pid; wait $pid
  fi
  rm -rf "$theirs"
fi
finish
