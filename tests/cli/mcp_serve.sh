#!/bin/sh
# hocket mcp serve: what ends it, what is on stdout, what is not.
. "$(dirname "$0")/lib.sh"
mkdir agents
printf -- '---\nname: poet\ndescription: Writes poems\n---\nYou write poems.\n' >agents/poet.md
meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
printf '{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{%s}}\n{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{%s}}' "$meta" "$meta" >in

what='from a file, whose last line has no end'
hocket mcp serve agents <in >out 2>err
code=$?
expect 0
[ "$(wc -l <out)" = 2 ] || fail "two answers expected"
has out '"name":"poet"'
[ -s err ] && fail "nothing on stderr expected"

what='through pipes'
cat in | hocket mcp serve agents 2>err | cat >out
has out '"name":"poet"'

what='nobody reads'
(cat in; sleep 1) | { hocket mcp serve agents; echo $? >code; } | true
[ "$(cat code)" = 0 ] || fail "exit code 0 expected, got $(cat code)"

what='SIGTERM'
mkfifo pipe
"$HOCKET" mcp serve agents <pipe >out 2>err &
pid=$!
exec 3>pipe
cat in >&3; echo >&3
for _ in 1 2 3 4 5 6 7 8 9 10; do grep -q poet out && break; sleep 0.2; done
kill -TERM $pid
wait $pid
code=$?
exec 3>&-
expect 0
has out '"name":"poet"'

what='wrong usage'
run hocket mcp serve; expect 2; has err 'what is to be served'
run hocket mcp serve --json agents; expect 2; has err 'json'
run hocket mcp serve nowhere; expect 3; has err 'no such file'
run hocket mcp serve --help; expect 0; has out '--max-cost'; has out 'hocket mcp serve [OPTION'
run hocket mcp; expect 2; has err 'serve'

what='an untrusted folder is not run'
unset HOCKET_TRUST
mkdir other
echo 'print "ran"; return "x"' >other/main.lua
printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"other","arguments":{"input":"x"},%s}}\n' "$meta" >call
(cat call; sleep 1) | HOME=$WORK hocket mcp serve other >out 2>err
has out 'is not trusted'
hasnt out 'ran'
finish
