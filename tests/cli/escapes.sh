# Names and texts of strangers reach no output as they are: C1 controls, marks that turn the direction, ESC. In a pipe the answer alone is
# data, and stays as it is.
. "$(dirname "$0")/lib.sh"
export HOME="$WORK/home" HOCKET_MODEL=sim HOCKET_TRUST=1 && mkdir "$HOME"
unset XDG_STATE_HOME HOCKET_STORE
evil=$(printf 'E\302\233\342\200\256\033]0;x\007\302\205\342\201\246E')
raw='\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]|\x1b\]'
has_raw() { LC_ALL=C grep -qP "$raw" "$1"; }
mkdir "p$evil" p
cat >p/sim.lua <<'EOS'
return function(q)
  local evil = "E\u{9b}\u{202e}\27]0;x\7\u{85}\u{2066}E"
  if q.last.role ~= "tool" then return { text = "I think " .. evil, calls = { { name = "ask_user", arguments = { question = "Q " .. evil } } } } end
  return "answer " .. evil
end
EOS
printf -- '---\nname: one\ndescription: Asks\ntools: [ask_user, write_file]\n---\nYou are %s.\n' "$evil" >p/one.md
printf -- '---\nname: bad\nunknown: 1\n---\n%s\n' "$evil" | tee "p$evil/$evil.md" >"p$evil/two.md"
tried=0
quiet() { # a command whose outputs have none of it, in a pipe and on a terminal
  run hocket "$@"
  for one in out err; do
    if has_raw $one; then fail "$one of: $*"; fi
  done
  tried=$((tried + 1))
  [ -n "$terminal" ] || return 0
  run timeout 20 "$PTY" -- "$HOCKET" "$@"
  if [ ! -s out ] || has_raw out; then fail "on a terminal: $*"; fi
}
terminal= && "$PTY" -- true >/dev/null 2>&1 && terminal=yes

run hocket run p/one.md "hello $evil"; expect 75
has_raw out && fail "a question is no answer"
id=$(hocket runs --json | grep -o '"id":"01[0-9A-Z]*' | cut -c7- | head -n 1)
for words in runs "runs --json" "runs --summary" "runs --stats" "show $id" "show $id --json" "show $id --at 5" "show $id --html" "answer $id" "answer $id --json" \
  "watch $id --no-wait" "watch $id --json --no-wait" "replay $id" "replay $id --events -" "replay $id --json" "wait $id" "fork $id" "check p" "check --json p" \
  "check --graph p" "agents p" "agents p --json" "tools p" "doctor p" "store check"; do
  # shellcheck disable=SC2086
  quiet $words
done
quiet answer "$id" q1 "$evil"
quiet answer "$id" q1 again
quiet answer "$id" "q$evil"
quiet check "p$evil"
quiet check "p$evil/$evil.md"
quiet check .
quiet agents .
quiet run "p$evil/two.md" hi
quiet run p/one.md --model "x$evil" hi
quiet run "--$evil"
quiet "$evil"
quiet help "$evil"
quiet show "01$evil"
quiet models "$evil"
quiet serve token create --name "x$evil"
quiet budget set "$evil" --cost 5
quiet eval "$evil"
quiet mcp -i "p$evil" tools "$evil"

# What asks on a terminal, or begins there to talk.
terminal_here=$terminal
terminal=
for words in "run --json p/one.md hi" "run --events - p/one.md hi" "run -v p/one.md hi"; do
  # shellcheck disable=SC2086
  quiet $words
done
quiet run "$evil" hi
terminal=$terminal_here
[ $tried -gt 45 ] || fail "only $tried tried"

# The answer is data in a pipe, and text on a terminal.
run hocket resume "$id"; expect 0
has_raw out || fail "the answer is not as it is"
run hocket wait "$id" --json; expect 0
has_raw out && fail "its JSON has no escapes"
if [ -n "$terminal" ]; then
  run "$PTY" -- "$HOCKET" wait "$id"; expect 0
  has_raw out && fail "a terminal gets the answer as it is"
fi
finish
