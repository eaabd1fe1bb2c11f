#!/bin/sh
# ends.sh python|node: every way in which a run ends, driven by the official clients of what hocket serves. Needs the packages of
# endpoints_python.sh, mcp_python.sh and acp_python.sh in one Python, or those of endpoints_node.sh:
#   HOCKET_ENDPOINTS_PYTHON=V/bin/python HOCKET_ENDPOINTS_NODE=/tmp/js/node_modules ctest -R mock/ends
here=$(cd "$(dirname "$0")" && pwd)
python=${HOCKET_ENDPOINTS_PYTHON:-} modules=${HOCKET_ENDPOINTS_NODE:-}
unset HOCKET_ENDPOINTS_PYTHON HOCKET_ENDPOINTS_NODE
if [ "$1" = python ]; then
  "${python:-false}" -c 'import openai, anthropic, a2a, mcp, acp' 2>/dev/null || { echo "skipped: set HOCKET_ENDPOINTS_PYTHON to a Python with openai, anthropic, a2a-sdk, mcp and agent-client-protocol"; exit 77; }
  export HOCKET_ENDPOINTS_PYTHON="$python"
else
  for package in openai @anthropic-ai/sdk @a2a-js/sdk a2a-js-sdk-03 @ag-ui/client ag-ui-client-0; do
    [ -d "$modules/$package" ] || { echo "skipped: set HOCKET_ENDPOINTS_NODE to a folder node_modules with $package"; exit 77; }
  done
  export HOCKET_ENDPOINTS_NODE="$modules"
fi
cd "$here/../lua" && LUA_PATH="$here/../lua/support/?.lua" exec sh "$here/../support/lua_test.sh" "$HOCKET" run --store off "$here/ends.lua" run
