#!/bin/sh
# The Python SDK's client of the Agent Client Protocol against `hocket acp`. Needs its package:
#   python3 -m venv /tmp/py && /tmp/py/bin/pip install agent-client-protocol
#   HOCKET_ACP_PYTHON=/tmp/py/bin/python ctest -R mock
here=$(cd "$(dirname "$0")" && pwd)
python=${HOCKET_ACP_PYTHON:-}
[ -x "$python" ] || { echo "skipped: set HOCKET_ACP_PYTHON to a python that has the package agent-client-protocol"; exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
timeout 400 "$python" "$here/acp_python.py" "$HOCKET" "$folder" 2>"$folder/err" || { tail -20 "$folder/err"; exit 1; }
