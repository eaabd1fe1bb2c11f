#!/bin/sh
# The examples against what each API refuses: none of their requests is refused.
. "$(dirname "$0")/lib.sh"
apis='openai anthropic gemini mistral llamacpp vllm'
servers= said=/dev/null
at_end() { [ -z "$servers" ] || kill $servers 2>/dev/null; wait 2>/dev/null; }

# serve EXAMPLE: its model, as each API is
serve() {
  servers=
  for api in $apis; do
    "$HOCKET" sim "$ROOT/examples/$1/sim.lua" --strict "$api" >"$api.log" 2>/dev/null &
    servers="$servers $!"
  done
  for api in $apis; do until_true grep -q 'http://' "$api.log"; done
}
stop() { kill $servers; wait; servers=; }

# as API COMMAND…: with its model
as() {
  api=$1
  base=$(grep -om1 'http://[^ ]*/v1' "$api.log")
  case $api in
  openai) model=openai-responses/x ;;
  anthropic) model=anthropic/claude-sonnet-5 ;;
  gemini) model=gemini/gemini-3-pro ;;
  mistral) model=mistral/x ;;
  *) model=openai/x ;;
  esac
  shift
  OPENAI_BASE_URL=$base ANTHROPIC_BASE_URL=${base%/v1} ANTHROPIC_API_KEY=any GEMINI_BASE_URL=${base%/v1}/v1beta GEMINI_API_KEY=any \
    MISTRAL_BASE_URL=$base MISTRAL_API_KEY=any "$@" --model "$model" --store memory >"$api.out" 2>"$api.err" <"$said"
  echo $? >"$api.code"
}

# try EXAMPLE TARGET INPUT [OPTION…]; without an input it is a chat, whose messages are in the file $said
try() {
  echo "${1%%/*}" >>tried
  example=$1 target=$ROOT/examples/$1/$2 input=$3 runs=
  shift 3
  serve "$example"
  for api in $apis; do
    if [ -n "$input" ]; then as "$api" hocket run "$@" "$target" "$input" & else as "$api" hocket chat "$@" "$target" & fi
    runs="$runs $!"
  done
  wait $runs
  for api in $apis; do
    what="$api: $example"
    cp "$api.out" out
    cp "$api.err" err
    code=$(cat "$api.code")
    expect 0
    hasnt err 'HTTP status 4'
    hasnt err 'left out'
  done
  stop
}

try travel travel.lua 'Three days in Lisbon'
try report agents 'A short report on tea'
try handoff agents 'announce: the library opens on Sundays'
try desk agents 'My lamp is broken, and I want a person'
try router agents 'I was charged twice'
try advisors agents 'Move the customer list to the new provider'
try team agents 'Should users stay logged in?'
cp -r "$ROOT/examples/delegation/project" .
try delegation agents 'What is in the project?' --workdir project --approve allow
try background background.lua 'Why do cities plant trees?'
try plan plan.lua 'What does a garden party for 20 cost?'
try research research.lua 'When was the first of each built, by parish?'
try workers agents 'Lisbon'
try build build.lua 'A garden house'
try workflow workflows/audit.lua '{"files": ["notes.txt", "plan.txt"]}' --trust
try embed/village agents 'Is there a room?' # the team of every program in examples/embed; tests/hosts/strict.sh has their own tools
try guards agents 'When are you open?' --trust
try reload main.lua 'What is there today?' --trust
try kill shop.lua 'All of it' --trust --approve order=allow
cp -r "$ROOT/examples/project/work" work
try project agents 'Add a farewell' --workdir work --approve allow
printf 'I am Ana and I like cod\nWho am I?\n' >said && said=said
try npc fishmonger.md '' --trust
printf 'A table for tonight\nfour\nyes\n' >said
try chat chat.lua ''

for dir in "$ROOT"/examples/*/; do
  grep -qx "$(basename "$dir")" tried || fail "no server was tried with $dir"
done

run hocket sim --strict nobody
expect 2
has err "there is no API 'nobody'"

finish
