#!/bin/sh
# Runs the examples of patterns, delegation and planning offline and looks at what they print.
#   test_patterns.sh HOCKET SOURCE_DIR
set -u
hocket=$1
examples=$2/examples
failed=0
options=

# expect SCRIPT INPUT TEXT…: each text has to be in what it prints
expect() {
    script=$1
    input=$2
    shift 2
    # shellcheck disable=SC2086 # options are words
    out=$(env -i PATH=/usr/bin:/bin LANG=C.UTF-8 HOCKET_MODEL=sim/default HOCKET_TRUST=1 ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
        timeout 60 "$hocket" run $options "$examples/$script" "$input" </dev/null 2>/dev/null) || {
        echo "$script failed" >&2
        failed=1
    }
    for text in "$@"; do
        case $out in
        *"$text"*) ;;
        *)
            echo "$script: expected '$text' in:" >&2
            echo "$out" >&2
            failed=1
            ;;
        esac
    done
}

expect background/background.lua "Why do cities plant trees?" "# Why do cities plant trees?" \
    "three degrees" "hundred litres" "researcher begins, checker begins, main notes a point"
expect background/agents "Why trees?" "three degrees" "hundred litres"
expect plan/plan.lua "A garden party" "make 117.80" "Failed: the storehouse does not answer." \
    "Skipped: 'stock' did not complete" "stock (stock): failed after 2 attempts" "missing (sums): skipped"
expect plan/plan.lua "Hello" "Hello! Tell me what to plan."
expect build/build.lua "A garden house" "6 by 4 metres" "three steps of 20 cm" "Two beds of 3" "12 slabs"
expect handoff/agents "announce: the library opens on Sundays" "# News" "The library opens on Sundays." "Approved:"
expect desk/agents "When are you open?" "9 to 18"
expect desk/agents "The lamp is broken" "the number of your order"
expect desk/agents "The lamp of order 4711 is broken" "Dear customer, I have looked at it myself. Claim granted"
expect desk/agents "I want a person" "this is Rosa"
expect router/agents "I was charged twice" "You get it back within five days"
expect router/agents "Can I end my contract?" "at the end of any month"
expect router/agents "It does not work" "restart it"
expect router/agents "How old is the moon?" 'Noted: "How old is the moon?"'
expect workflow/workflows/audit.lua '{"files": ["a.txt", "b.txt"]}' '"reviewed":2' '"failed":0,"findings":["a.txt: The last line has no end.","b.txt: The last line has no end."]'
expect advisors/agents "Move the customer list" "(compliance-checker)" "(risk-assessor)" "(technical-reviewer)"
expect advisors/agents "Move it in spite of the outage" "(risk-assessor)" "technical-reviewer has not answered"
expect team/agents "Should users stay logged in?" "analyst: Half of our users" "sessions of a week" "6 contributions"

# The plan of the building is made on one day, saved, and used on the next: with the figures of its README.
days=$(mktemp -d)
(
    mkdir "$days/examples" && cp -r "$examples/build" "$days/examples" && cd "$days" || exit 1
    day() {
        env -i PATH=/usr/bin:/bin HOME="$days" LANG=C.UTF-8 HOCKET_MODEL=sim/default HOCKET_TRUST=1 HOCKET_STORE="$days/runs.db" ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
            timeout 60 "$hocket" "$@" </dev/null 2>err
    }
    used() { sed 's/.*"usage":{\([^}]*\)}.*/\1/; s/.*"calls":\([0-9]*\),.*"input":\([0-9]*\),"output":\([0-9]*\),.*/| \1 | \2 | \3 |/'; }
    day run -q examples/build/build.lua "A garden house for us"
    [ $? = 75 ] && grep -q "For how many people?" err || exit 1
    day answer last q1 four >/dev/null && day resume -q --json last >first && day plan last --save house >/dev/null || exit 1
    day run -q --json examples/build/build.lua "A garden house for us" >next || exit 1
    for one in first next; do
        figures=$(used <$one)
        grep -qF "day $figures" "$examples/build/README.md" || {
            echo "the $one day has used $figures: examples/build/README.md says otherwise" >&2
            exit 1
        }
    done
) || {
    echo "build: the saved plan on the next day failed" >&2
    failed=1
}
rm -rf "$days"

# What is told meanwhile, on stderr.
told=$(for one in handoff router team; do
    env -i PATH=/usr/bin:/bin LANG=C.UTF-8 HOCKET_MODEL=sim/default HOCKET_TRUST=1 ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
        timeout 60 "$hocket" run "$examples/$one/agents" "I was charged twice" 2>&1 >/dev/null
done)
for text in "writer hands on to editor" "editor hands on to approval" "desk routes to billing: It says 'charge'." \
    "lead round 2: 3 members" "lead the team is done after 2 rounds: consensus"; do
    case $told in
    *"$text"*) ;;
    *) echo "expected '$text' in: $told" >&2 && failed=1 ;;
    esac
done

# The project: only what is approved is done. (Walls have tests of their own; a sanitizer's report of
# leaks does not work within them.)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
project() {
    rm -rf "$work/p" && cp -r "$examples/project/work" "$work/p"
    out=$(env -i PATH=/usr/bin:/bin LANG=C.UTF-8 HOCKET_SANDBOX=limits HOCKET_MODEL=sim/default HOCKET_TRUST=1 ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
        timeout 60 "$hocket" run "$examples/project/agents" --workdir "$work/p" "$@" "Customers see Helo" 2>/dev/null) || failed=1
}
holds() {
    case $out in
    *"$1"*) ;;
    *) echo "project: expected '$1' in: $out" >&2 && failed=1 ;;
    esac
}
project
holds "It was not changed"
grep -q Helo "$work/p/greet.sh" || failed=1
project --approve allow
holds "changed greet.sh in 1 place"
holds "1 passed"
project --approve edit_file=allow --approve deny
holds "changed greet.sh in 1 place"
holds "'execute_command' was not allowed"

# An orchestrator at work on a copy of its project.
copy=$work/delegation
cp -r "$examples/delegation/project" "$copy"
options="--workdir $copy"
expect delegation/agents "What is in the project?" "README.md" "src/"
expect delegation/agents "Implement a cache for prices" "Not done: "
cmp -s "$examples/delegation/project/src/prices.lua" "$copy/src/prices.lua" || {
    echo "a change was made that nobody allowed" >&2
    failed=1
}
options="--workdir $copy --approve write_file=allow"
expect delegation/agents "Implement a cache for prices" "after a second plan" "1000 names" "the 1001st name"
grep -q "LIMIT = 1000" "$copy/src/prices.lua" || failed=1
cp -r "$examples/delegation/project/." "$copy"
# shellcheck disable=SC2086
"$hocket" run -q --trust --model sim $options --events - "$examples/delegation/agents" "Implement a cache for prices" 2>/dev/null |
    grep -q "PLAN: Implement a cache for prices" || {
    echo "the plan does not say what it is for" >&2
    failed=1
}
cp -r "$examples/delegation/project/." "$copy"
options="$options --set mode=direct"
expect delegation/agents "Implement a cache for prices" "Done without help"
options=
# What is remembered is there in another process; the second time the pages need not be read again.
notes="$copy/../notes-$$.db"
remembers() {
    out=$(HOCKET_STORE="$notes" HOCKET_TRUST=1 "$hocket" "$@" 2>/dev/null) || failed=1
}
remembers run --model sim "$examples/research/research.lua" "When?" --events "$notes.events"
[ "$(echo "$out" | grep -c '^The first of the .* \[page [0-9]*\]$')" = 40 ] || { echo "research: forty pages should be cited: $out" >&2; failed=1; }
grep -q '"type":"compaction_finished".*"window":32000' "$notes.events" || { echo "research: the window was never full" >&2; failed=1; }
remembers run --model sim "$examples/research/research.lua" "When?" --events "$notes.second"
[ "$(echo "$out" | grep -c '\[page')" = 40 ] && ! grep -q open_page "$notes.second" || { echo "research: the notes should do" >&2; failed=1; }
remembers chat -q --model sim "$examples/npc/fishmonger.md" "I am Ana and I like cod" </dev/null
remembers chat -q --model sim "$examples/npc/fishmonger.md" "Who am I?" </dev/null
case $out in *"You are Ana, who likes cod"*) ;; *) echo "npc: it does not know the player: $out" >&2; failed=1 ;; esac
rm -f "$notes"*
"$hocket" check "$examples/build" "$examples/research" "$examples/npc" >/dev/null || failed=1
for pattern in delegation handoff desk router advisors team project; do
    "$hocket" check "$examples/$pattern/agents" >/dev/null || failed=1
done
exit $failed
