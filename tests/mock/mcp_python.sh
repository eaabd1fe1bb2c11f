#!/bin/sh
# The Python SDK's client against our MCP server, in both eras, and our client against its server. Needs its package:
#   python3 -m venv /tmp/py && /tmp/py/bin/pip install 'mcp>=2.3'
#   HOCKET_MCP_PYTHON=/tmp/py/bin/python ctest -R mock
here=$(cd "$(dirname "$0")" && pwd)
python=${HOCKET_MCP_PYTHON:-}
[ -x "$python" ] || { echo "skipped: set HOCKET_MCP_PYTHON to a python that has the package mcp"; exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
timeout 400 "$python" "$here/mcp_python.py" "$HOCKET" "$folder" 2>"$folder/err" || { tail -20 "$folder/err"; exit 1; }
