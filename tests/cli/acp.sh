#!/bin/sh
# hocket acp: what ends it, what is on stdout, what is not.
. "$(dirname "$0")/lib.sh"
mkdir agents
printf -- '---\nname: poet\ndescription: Writes poems\n---\nYou write poems.\n' >agents/poet.md
init='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
new='{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"'$WORK'","mcpServers":[]}}'

what='from a file, whose last line has no end'
printf '%s\nnonsense\n%s' "$init" '{"jsonrpc":"2.0","id":3,"method":"session/list","params":{}}' >in
hocket acp agents <in >out 2>err
code=$?
expect 0
[ "$(wc -l <out)" = 3 ] || fail "three answers expected"
has out '"protocolVersion":1'
has out '"code":-32700'
has out '"sessions":[]'
[ -s err ] && fail "nothing on stderr expected"

# Starts it with a pipe for its input, which is descriptor 3; until `out` has a text.
begin() {
    rm -f pipe
    : >out # what was there before is not to be taken for its answers
    mkfifo pipe
    "$HOCKET" acp "$@" <pipe >out 2>err &
    pid=$!
    exec 3>pipe
    printf '%s\n%s\n' "$init" "$new" >&3
}
until_has() {
    until grep -q -- "$1" out; do kill -0 $pid 2>/dev/null || { fail "it has ended before '$1'"; break; }; sleep 0.1; done
}

what='a session in the folder that is named, until SIGTERM'
begin --model sim --trust
until_has available_commands_update
id=$(sed -n 's/.*"sessionId":"\([^"]*\)".*/\1/p' out | head -1)
prompt='{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":"'$id'","prompt":[{"type":"text","text":"A poem"}]}}'
echo "$prompt" >&3
until_has '"stopReason":"end_turn"'
has out agent_message_chunk
kill -TERM $pid
wait $pid
code=$?
exec 3>&-
expect 0

what='the input ends in the middle of a turn'
begin --model sim --trust agents
until_has available_commands_update
id=$(sed -n 's/.*"sessionId":"\([^"]*\)".*/\1/p' out | head -1)
echo "$prompt" | sed 's/"sessionId":"[^"]*"/"sessionId":"'$id'"/' >&3
exec 3>&-
wait $pid
code=$?
expect 0
has out '"stopReason"'

what='nobody reads'
(cat in; cat in in in) | { hocket acp agents; echo $? >code; } | true
[ "$(cat code)" = 0 ] || fail "exit code 0 expected, got $(cat code)"

what='a folder that is not trusted'
unset HOCKET_TRUST
mkdir other
echo 'print "ran"; return function() return "x" end' >other/main.lua
HOME=$WORK begin other
until_has 'is not trusted'
hasnt out 'ran"'
exec 3>&-
wait $pid

what='wrong usage'
run hocket acp --json agents; expect 2; has err 'json'
run hocket acp one two; expect 2; has err 'one TARGET'
run hocket acp nobody; expect 2; has err "no file, folder or agent 'nobody'"; empty out
run hocket acp --help; expect 0; has out '--max-cost'; has out 'Agent Client Protocol'
what='session/load without cwd: the record chooses the folder of a session of ours alone'
printf 'Hello\n' | hocket chat --model sim --store "$WORK/talk.db" agents/poet.md >/dev/null 2>&1
id=$(hocket runs --json --store "$WORK/talk.db" | grep -oE '01[0-9A-Z]{24}' | head -n 1)
printf '%s\n%s\n' "$init" '{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"'"$id"'","mcpServers":[]}}' >in
hocket acp --model sim --store "$WORK/talk.db" agents <in >out 2>err; code=$?
hasnt out "nothing proves"; has out 'You said: Hello'
mkdir other_home; cp talk.db other_home/; cp talk.db-* other_home/ 2>/dev/null
HOME=$WORK/other_home hocket acp --model sim --store "$WORK/other_home/talk.db" agents <in >out 2>err; code=$?
has out '"code":-32602'; has out "nothing proves"; has out "$WORK"; hasnt out 'You said: Hello'

finish
