#!/bin/sh
# Kills a run with kill -9 in the middle of a fan-out, resumes it, and counts what was done twice. The model is served by a
# process of its own, which counts the calls; the tool writes its orders into a file. Exit code 1: something was done twice.
#
#   sh examples/kill/kill.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
server= run=
at_end() {
    left=$?
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$run" ] || kill -9 "$run" 2>/dev/null || true
    rm -rf "$work"
    exit "$left"
}
trap at_end EXIT
trap 'exit 1' INT TERM

until_true() {
    waited=0
    until "$@" >/dev/null 2>&1; do
        waited=$((waited + 1))
        [ $waited -lt 600 ] || { echo "kill.sh: this never happened: $*" >&2; exit 1; }
        sleep 0.05
    done
}
count() { wc -l <"$SHOP/$1" 2>/dev/null || echo 0; }
# Of the run in this shop's store: how many answers are stored. A member of the JSON that shows it.
stored() { hocket show "$1" --store "$SHOP/runs.db" --json 2>/dev/null | grep -o '"type":"model_reply"' | wc -l; }
id_of() { hocket runs --store "$SHOP/runs.db" --json | grep -o '"id":"[^"]*"' | head -n 1 | cut -d'"' -f4; }
cost_of() { grep -o '"cost":[0-9.e-]*' "$1" | tail -n 1 | cut -d: -f2; }

# A shop of its own for each run: its model, its orders, its store.
open_shop() {
    export SHOP="$work/$1"
    mkdir "$SHOP"
    hocket sim "$here/sim.lua" >"$SHOP/serving" 2>&1 &
    server=$!
    until_true grep -q '/v1' "$SHOP/serving"
    OPENAI_BASE_URL=$(grep -o 'http://[^ ]*/v1' "$SHOP/serving" | head -n 1)
    export OPENAI_BASE_URL OPENAI_API_KEY=none
}
close_shop() { kill $server; wait $server 2>/dev/null || true; }
options="--json -q --store"
shop() { # replaces the shell, so that the kill hits hocket itself
    # shellcheck disable=SC2086
    exec hocket run $options "$SHOP/runs.db" --model openai/shop --price openai/shop=1,4 --approve order=allow "$here/shop.lua"
}

echo "1. Six buyers order six parts, undisturbed."
open_shop plain
touch "$SHOP/go"
(shop) >"$work/plain.json"
calls=$(count asked)
close_shop

echo "2. The same once more. Three have ordered, three wait for the model: kill -9."
open_shop killed
shop >"$work/killed.json" 2>/dev/null &
run=$!
until_true test -s "$SHOP/runs.db"
until_true eval '[ -n "$(id_of)" ]'
id=$(id_of)
until_true eval '[ "$(stored $id)" -ge 6 ] && [ "$(count asked)" -ge 9 ]'
kill -9 $run
wait $run 2>/dev/null || true
sort "$SHOP/answered" >"$work/before"
run=
echo "   killed; orders so far: $(count orders)"

echo "3. hocket resume $id"
touch "$SHOP/go"
# shellcheck disable=SC2086
hocket resume $options "$SHOP/runs.db" "$id" >"$work/resumed.json"
sort "$SHOP/asked" | uniq -d >"$work/twice"
again=$(comm -12 "$work/twice" "$work/before" | wc -l)
in_flight=$(comm -23 "$work/twice" "$work/before" | wc -l)
ordered_twice=$(sort "$SHOP/orders" | uniq -d | wc -l)
plain=$(cost_of "$work/plain.json") resumed=$(cost_of "$work/resumed.json")
close_shop
server=

echo
echo "                                     undisturbed   killed and resumed"
printf '%-36s %11s %20s\n' "model calls that were answered" "$calls" "$(($(count asked) - in_flight))"
printf '%-36s %11s %20s\n' "orders" "$(wc -l <"$work/plain/orders")" "$(count orders)"
printf '%-36s %11s %20s\n' "cost, USD" "$plain" "$resumed"
printf '%-36s %11s %20s\n' "answered calls that were asked twice" - "$again"
printf '%-36s %11s %20s\n' "orders placed twice" - "$ordered_twice"
echo "($in_flight calls were under way at the kill. Their answers were lost with the process, so they were asked again.)"
[ "$again" -eq 0 ] && [ "$ordered_twice" -eq 0 ] && [ "$(count orders)" -eq 6 ] && [ "$plain" = "$resumed" ] &&
    [ "$(($(count asked) - in_flight))" -eq "$calls" ]
