#!/bin/sh
# What a collector gets, read by the classes that protobuf makes of OpenTelemetry's definitions. Needs their package:
#   python3 -m venv /tmp/py && /tmp/py/bin/pip install opentelemetry-proto
#   HOCKET_TELEMETRY_PYTHON=/tmp/py/bin/python ctest -R mock
here=$(cd "$(dirname "$0")" && pwd)
python=${HOCKET_TELEMETRY_PYTHON:-}
[ -x "$python" ] || { echo "skipped: set HOCKET_TELEMETRY_PYTHON to a python that has the package opentelemetry-proto"; exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
"$python" "$here/telemetry_python.py" "$HOCKET" "$here/../../examples/travel/agents" "$folder" 2>"$folder/err" || { tail -20 "$folder/err"; exit 1; }
