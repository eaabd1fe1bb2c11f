#!/bin/sh
# What we send, checked against the types of the providers' own SDKs:
#   python3 -m venv V && V/bin/pip install openai anthropic google-genai ollama botocore
#   HOCKET_SDK_PYTHON=V/bin/python ctest -R mock
here=$(cd "$(dirname "$0")" && pwd)
python=${HOCKET_SDK_PYTHON:-}
[ -x "$python" ] || { echo "skipped: set HOCKET_SDK_PYTHON to a Python with openai, anthropic, google-genai, ollama and botocore"; exit 77; }
"$python" -c 'import openai, anthropic, google.genai, ollama, botocore' || { echo "skipped: an SDK is missing"; exit 77; }
recording=$(mktemp) || exit 1
trap 'rm -f "$recording"' EXIT
cd "$here/../lua" && LUA_PATH="$here/../lua/support/?.lua" "$HOCKET" run -q "$here/sdk_requests.lua" x --record "$recording" || exit 1
"$python" "$here/sdk_types.py" "$recording"
