# What the tests of the command line share. Sourced; needs HOCKET (the program) and PTY (the
# terminal helper of tests/support).
#
#   run hocket run x.lua     runs it; its exit code is in $code, its output in out and err
#   expect 2                 the exit code
#   has out TEXT, hasnt …    whether a file holds a text
#   finish                   the verdict: the last line of each test
set -u
[ "$(tail -n 1 "$0")" = finish ] || {
  echo "FAILED: the last line of $0 has to be 'finish': without it there is no verdict, and what is behind it is never run"
  exit 1
}
HERE=$(cd "$(dirname "$0")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
WORK=$(mktemp -d) && HOME=$(mktemp -d) || exit 1
test_home=$HOME
export HOME # nothing is kept in the home of whoever tests
unset XDG_STATE_HOME XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME
at_end() { :; } # for tests that leave something to end
finished=
trap 'left=$?; [ "$left" != 0 ] || [ -n "$finished" ] || { echo "FAILED: it ended before its verdict"; left=1; }; at_end; sh "$ROOT/tests/canary.sh" "$WORK" || left=1; rm -rf "$WORK" "$test_home"; exit $left' EXIT
cd "$WORK" || exit 1
failures=0
code=0
what=

# Nothing of the caller's environment decides what a test sees.
for name in $(env | sed -n 's/^\([A-Z_]*\(_API_KEY\|_BASE_URL\|_HOST\)\)=.*/\1/p') NO_COLOR; do
  unset "$name"
done
unset HOCKET_STORE
export HOCKET_MODEL=sim HOCKET_TRUST=1 TERM=xterm LC_ALL=C.UTF-8 TZ=UTC

hocket() { "$HOCKET" "$@"; }

run() {
  what="$*"
  "$@" >out 2>err </dev/null
  code=$?
}

fail() {
  failures=$((failures + 1))
  echo "FAILED: $*"
  echo "  command: $what (exit code $code)"
  for file in out err; do
    [ -s $file ] && sed "s/^/  $file: /" $file | head -20 | cat -v
  done
}

expect() { [ "$code" = "$1" ] || fail "exit code $1 expected"; }
has() { grep -qF -e "$2" "$1" || fail "'$2' expected in $1"; }
hasnt() { if grep -qF -e "$2" "$1"; then fail "'$2' not expected in $1"; fi; }
# For tests that need a terminal: some containers have none to give.
need_pty() {
  if ! "$PTY" -- true >/dev/null 2>&1; then
    [ $failures = 0 ] || finish
    echo "skipped: this machine has no pseudo terminals (is /dev/pts mounted?)"
    exit 77
  fi
}
empty() { [ ! -s "$1" ] || fail "$1 should be empty"; }
same() { [ "$1" = "$2" ] || fail "'$1' should be '$2'"; }
until_true() { # waits up to 10 s
  for _ in $(seq 100); do
    if "$@"; then return 0; fi
    sleep 0.1
  done
  fail "never true: $*"
}
finish() { finished=yes; [ $failures = 0 ] && exit 0; echo "$failures failed"; exit 1; }

# A project with a scripted model that answers at once.
team() {
  mkdir -p "$1/agents"
  printf -- '---\nname: lead\ntools: [facilitator]\nagents: [one, two]\n---\nLead. {{agents}}\n' >"$1/agents/lead.md"
  printf -- '---\nname: one\ntools: [specialist]\n---\nOne.\n' >"$1/agents/one.md"
  printf -- '---\nname: two\ntools: [specialist]\n---\nTwo.\n' >"$1/agents/two.md"
  echo "return require 'hocket.sim.team' { latency = ${2:-0} }" >"$1/sim.lua"
}
