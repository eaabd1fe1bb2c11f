#!/bin/sh
# The official Python SDKs against `hocket serve`. Needs their packages:
#   python3 -m venv /tmp/py && /tmp/py/bin/pip install openai anthropic a2a-sdk
#   HOCKET_ENDPOINTS_PYTHON=/tmp/py/bin/python ctest -R mock
here=$(cd "$(dirname "$0")" && pwd)
python=${HOCKET_ENDPOINTS_PYTHON:-}
[ -x "$python" ] || { echo "skipped: set HOCKET_ENDPOINTS_PYTHON to a python that has the packages openai, anthropic and a2a-sdk"; exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
timeout 400 "$python" "$here/endpoints_python.py" "$HOCKET" "$folder" 2>"$folder/err" || { tail -20 "$folder/err"; exit 1; }
