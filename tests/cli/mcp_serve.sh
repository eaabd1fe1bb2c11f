#!/bin/sh
# hocket mcp serve: what ends it, what is on stdout, what is not.
. "$(dirname "$0")/lib.sh"
HOME=$WORK/home XDG_STATE_HOME=
export HOME XDG_STATE_HOME
mkdir "$HOME"
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
rm out # the answers of the server before
"$HOCKET" mcp serve agents <pipe >out 2>err &
pid=$!
exec 3>pipe
cat in >&3; echo >&3
until_true grep -qs poet out
kill -TERM $pid
wait $pid
code=$?
exec 3>&-
expect 0
has out '"name":"poet"'

what='a call is kept as a run'
can='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}'
call() { printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":{"input":"Rain"},%s}}\n' "$1" "$can"; }
wait_for() { # TEXT FILE
    n=0
    until grep -q -- "$1" "$2" 2>/dev/null || [ $((n += 1)) -gt 600 ]; do sleep 0.1; done
}
: >out
(call poet; wait_for hocket/run out) | hocket mcp serve --store calls.db agents >out 2>err
id=$(sed -n 's/.*"hocket.run":"\([0-9A-Z]*\)".*/\1/p' out)
[ -n "$id" ] || fail "the result says no run"
[ -s err ] && fail "nothing on stderr expected"
run hocket runs --store calls.db; expect 0; has out "$id"; has out done
run hocket show "$id" --store calls.db; expect 0; has out Rain

what='a client that goes parks its run'
mkdir asks
printf -- '---\nname: guide\ndescription: Asks first\ntools: [ask_user]\n---\nYou ask.\n' >asks/guide.md
cat >asks/sim.lua <<'LUA'
return function(q)
  if q.last.role == "tool" then return "Then to " .. q.last.text end
  return { calls = { { name = "ask_user", arguments = { question = "Which city?" } } } }
end
LUA
: >out
(call guide; wait_for input_required out) | hocket mcp serve --trust --store calls.db asks >out 2>err
code=$?
expect 0
has out 'Which city?'
has err 'is parked: hocket resume'
has err 'calls.db'
id=$(sed -n 's/.*the run \([0-9A-Z]*\) is parked.*/\1/p' err)
run hocket runs --store calls.db; has out parked
run hocket resume "$id" --store calls.db; expect 75
run hocket answer "$id" q1 Rome --store calls.db; expect 0
run hocket resume "$id" --store calls.db --events events; expect 0; has out 'Then to'; has out Rome
has events '"labels":["outside"]'

what='a cancelled call is over'
printf -- '---\nname: late\ndescription: Takes long\n---\nYou wait.\n' >asks/late.md
printf 'return function() return { text = "late", latency = 600 } end\n' >asks/sim.lua
listed() { # as the store has them, until there is such a one
    n=0
    until "$HOCKET" runs --store "${2:-late.db}" 2>/dev/null | grep -q "$1" || [ $((n += 1)) -gt 600 ]; do sleep 0.1; done
}
(call late; listed running; printf '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n'; listed cancelled) |
    hocket mcp serve --trust --store late.db asks >out 2>err
run hocket runs --store late.db; has out cancelled
hasnt err parked

if command -v curl >/dev/null; then
    what='below hocket serve'
    rm -f serving
    "$HOCKET" serve --listen 127.0.0.1:0 --trust --store served.db agents >out 2>serving &
    server=$!
    wait_for '^serving' serving
    url=$(sed -n 's/^serving //p' serving)
    token=$(cat "${XDG_STATE_HOME:-$HOME/.local/state}/hocket/serve-token")
    post() { curl -sS --max-time 120 -D heads -H 'Accept: application/json, text/event-stream' -H 'Content-Type: application/json' "$@" "$url/mcp"; }
    printf '{"mcpServers": {"here": {"url": "%s/mcp", "headers": {"Authorization": "Bearer %s"}}}}' "$url" "$token" >.mcp.json
    run hocket mcp tools here; expect 0; has out 'Writes poems'
    run hocket mcp call here poet '{"input": "Snow"}'; expect 0; has out 'You said: Snow'
    listed done served.db
    run hocket runs --store served.db; has out done
    post -d '{}' >out; has out '"jsonrpc"'; has heads ' 401 '
    post -H "Authorization: Bearer $token" -H 'Origin: https://evil.example' -d '{}' >out; has heads ' 403 '
    set -- -H "Authorization: Bearer $token"
    post "$@" -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' >out
    has out '"protocolVersion":"2025-06-18"'
    session=$(tr -d '\r' <heads | sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: //p')
    set -- "$@" -H "Mcp-Session-Id: $session"
    post "$@" -d '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"poet","arguments":{"input":"Fog"}}}' >out
    has out 'You said: Fog'
    post "$@" -d '{"jsonrpc":"2.0","method":"notifications/initialized"}' >out; has heads ' 202 '
    post "$@" -X DELETE >out; has heads ' 204 '
    post "$@" -d '{"jsonrpc":"2.0","id":3,"method":"tools/list"}' >out; has heads ' 404 '
    kill -TERM $server
    wait $server
    same $? 0
fi

what='the file of a plan: its client gets what came of it'
mkdir building
printf -- '---\nname: mason\n---\nYou build.\n' >building/mason.md
printf -- '---\nplan: wall\nteam: .\n---\n## wall\n- owner: mason\n- check: {schema: {type: object, required: [height]}}\n\nBuild a wall.\n' >building/plan.md
printf 'return function(q) return { text = q.last.text:find "its check failed" and [[{"height": 2}]] or "It is done." } end\n' >building/sim.lua
: >out
(call wall; wait_for hocket/run out) | hocket mcp serve --trust --store plans.db building/plan.md >out 2>err
has out '"text":"{\"height\": 2}"'; hasnt out isError; has out '"calls":2'
run hocket runs --store plans.db; has out done
printf 'return function() return { text = "It is done, trust me." } end\n' >building/sim.lua
: >out
(call wall; wait_for hocket/run out) | hocket mcp serve --trust --store plans.db building/plan.md >out 2>err
has out '"isError":true'; has out 'its check failed'

what='wrong usage'
run hocket mcp serve; expect 2; has err 'what is to be served'
run hocket mcp serve --json agents; expect 2; has err 'json'
run hocket mcp serve nowhere; expect 2; has err "there is no file, folder or agent 'nowhere'"
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
