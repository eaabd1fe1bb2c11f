#!/bin/sh
# The games of examples/embed that have tools of their own, against what each API refuses: strict.sh SOURCE_DIR BUILD_DIR.
# Each test of a game is made once more, with its sim.lua as a server of that API in the place of the built-in model.
. "$(dirname "$0")/lib.sh"
needs love love 5.1
hocket=$build/hocket

# serve NAME SIM API: the model of a game, whose address is in $base
serve() {
    rm -f "$tmp/$1.log"
    HOME=$tmp "$hocket" sim "$2" --strict "$3" >"$tmp/$1.log" 2>&1 &
    pid="$pid $!"
    n=0
    until base=$(grep -om1 'http://[^ ]*/v1' "$tmp/$1.log"); do
        n=$((n + 1))
        [ $n -lt 100 ] || fail "the server of $1 does not start"
        sleep 0.1
    done
}

# as API COMMAND…: with the model that $base serves
as() {
    api=$1
    shift
    case $api in
    openai) model=openai-responses/x ;;
    anthropic) model=anthropic/claude-sonnet-5 ;;
    gemini) model=gemini/gemini-3-pro ;;
    mistral) model=mistral/x ;;
    *) model=openai/x ;;
    esac
    HOCKET_MODEL=$model OPENAI_BASE_URL=$base ANTHROPIC_BASE_URL=${base%/v1} ANTHROPIC_API_KEY=any GEMINI_BASE_URL=${base%/v1}/v1beta \
        GEMINI_API_KEY=any MISTRAL_BASE_URL=$base MISTRAL_API_KEY=any "$@" >"$tmp/out" 2>&1
}

stop() {
    kill $pid
    wait
    pid=
}

for api in openai anthropic gemini mistral llamacpp vllm; do
    serve village "$source_dir/examples/embed/village/sim.lua" "$api"
    as "$api" sh "$here/love.sh" "$source_dir" "$build" || fail "$api: love"
    [ ! -x "$build/tests/hosts/host_sdl2" ] || as "$api" sh "$here/sdl2.sh" "$build/tests/hosts/host_sdl2" "$village" || fail "$api: sdl2"
    serve npcs "$source_dir/examples/embed/npcs/sim.lua" "$api"
    as "$api" sh "$here/npcs.sh" "$source_dir" "$build" || fail "$api: npcs"
    stop
    echo "$api: well"
done

# It was the server that answered.
if as vllm sh "$here/love.sh" "$source_dir" "$build"; then fail "love has an answer of no server"; fi
grep -q 'cannot connect' "$tmp/out" || fail "love fails otherwise"
