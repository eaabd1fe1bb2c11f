#!/bin/sh
# Runs are named as people name them (last, last:TARGET), found by target, label and age, and summed up.
. "$(dirname "$0")/lib.sh"

printf -- '---\nname: one\ndescription: answers\n---\nOne.\n' >one.md
printf -- '---\nname: two\ndescription: asks\ntools: [ask_user]\n---\nTwo.\n' >two.md
echo 'error "on purpose"' >fails.lua
cat >sim.lua <<'X'
return function(request)
  if not (request.system or ""):find "Two" then return "1" end
  if request.messages[#request.messages].role == "tool" then return "2" end
  return { calls = { { name = "ask_user", arguments = { question = "Which?" } } } }
end
X
newest() { sed -n "s/^.*[, ]*run \(01[0-9A-Z]\{24\}\)\$/\1/p" err | tail -n 1; }

# Nothing is kept yet; none is meant.
run hocket show last; expect 1
run hocket replay last; expect 1

# The end of a run says how it is called; quiet ones, and those that are not kept, do not.
run hocket run one.md hello --label job=night --label place=here; expect 0; first=$(newest)
[ -n "$first" ] || fail "a run does not say how it is called"
run hocket run -q one.md hello --store off; expect 0; hasnt err "run 01"
run hocket run one.md hello --store off; expect 0; hasnt err "run 01"
run hocket run two.md hello --label job=day; expect 75; second=$(hocket runs | awk '/two/ { print $1 }')
run hocket run fails.lua hello; expect 1

# By name.
run hocket show last; expect 0; has out fails.lua
run hocket show last:one; expect 0; has out "$first"
run hocket show last:one.md --json; expect 0; has out '"label":{"job":"night","place":"here"}'
run hocket replay last:one; expect 0; has err "$first"
run hocket show last:three; expect 1; has err "no run of 'three'"
run hocket answer last:two; expect 0; has out "Which?"
run hocket answer last:two q1 "the first"; expect 0
run hocket resume last:two; expect 0; has out 2
run hocket fork last:two; expect 0
run hocket wait last:one; expect 0
run hocket eval --from last:one; expect 0
run hocket export last:one one.run; expect 0
run hocket rm last:fails.lua; expect 0
run hocket show last:fails.lua; expect 1

# By what they are.
of() { hocket runs "$@" | wc -l | tr -d ' '; }
same "$(of --target one)" 1
same "$(of --target two.md --state done)" 1
same "$(of --label job)" 3 # a fork is labelled as its parent
same "$(of --label job=night --label place=here)" 1
same "$(of --label job=night --label place=there)" 0
same "$(of --since 1h)" 3
same "$(of --older 1h)" 0
same "$(of --since 0s)" 0
run hocket runs --since yesterday; expect 2; has err "24h"
run hocket run one.md hello --label night; expect 2; has err "KEY=VALUE"
hocket runs | awk 'length > 100 { exit 1 }' || fail "a line is longer than 100 characters"

# In a few words, with what comes next.
for i in 1 2 3 4 5 6 7; do hocket run -q two.md "again $i" >/dev/null 2>&1; done
run hocket run -q fails.lua hello
run hocket runs --since 24h --summary; expect 0
has out "1 failed"; has out "hocket show 01"
has out "7 waiting for a person"; has out "hocket answer 01"; has out "and 3 more: hocket runs --state"
has out "cost 0.0000 USD"
[ "$(wc -l <out)" -le 20 ] || fail "more than 20 lines"
grep -o 'hocket answer 01[0-9A-Z]*' out | head -n 1 >next; run sh -c "$(sed "s#hocket#$HOCKET#" next)"; expect 0; has out "Which?"
run hocket runs --summary --json; expect 0; has out '"failed":["01'
run hocket runs --stats; expect 0; has out failures; grep -q '^one  *1 ' out || fail "one was called once"
run hocket runs --stats --json; expect 0; has out '"agent":"one"'

finish
