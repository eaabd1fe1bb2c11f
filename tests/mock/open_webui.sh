#!/bin/sh
# Open WebUI, as it is published, in front of `hocket serve`: its list of models, an answer, a title, and two of its own tools at once. Needs
# several GB:
#   python3 -m venv V && V/bin/pip install open-webui
#   HOCKET_OPEN_WEBUI=V/bin/open-webui ctest -R mock/open_webui
here=$(cd "$(dirname "$0")" && pwd)
program=${HOCKET_OPEN_WEBUI:-}
[ -x "$program" ] || { echo "skipped: set HOCKET_OPEN_WEBUI to Open WebUI's program"; exit 77; }
folder=$(mktemp -d) || exit 1
trap 'kill $server $webui 2>/dev/null; wait $server $webui 2>/dev/null; rm -rf "$folder"' EXIT
mkdir "$folder/agents" "$folder/data" "$folder/home" "$folder/tmp" || exit 1
printf -- '---\nname: guide\ndescription: Helps\n---\nYou help.\n' >"$folder/agents/guide.md"
cp "$here/clients_sim.lua" "$folder/agents/sim.lua"
echo "first word" >"$folder/one.txt"
echo "second word" >"$folder/two.txt"
export HOME="$folder/home" TMPDIR="$folder/tmp"
"$HOCKET" serve --trust --no-token --store off --model sim --listen 127.0.0.1:0 "$folder/agents" >"$folder/served" 2>&1 &
server=$!
until grep -q 'http://' "$folder/served"; do kill -0 $server || { cat "$folder/served"; exit 1; }; sleep 0.1; done
base=$(sed -n 's/.*\(http:\/\/[0-9.]*:[0-9]*\).*/\1/p' "$folder/served" | head -1)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
DATA_DIR="$folder/data" OPENAI_API_BASE_URL="$base/v1" OPENAI_API_KEY=x ENABLE_OLLAMA_API=False WEBUI_AUTH=False OFFLINE_MODE=True HF_HUB_OFFLINE=1 \
  RAG_EMBEDDING_ENGINE=openai WEBUI_SECRET_KEY=x "$program" serve --host 127.0.0.1 --port "$port" >"$folder/log" 2>&1 &
webui=$!
timeout 300 python3 "$here/open_webui.py" "http://127.0.0.1:$port" "$folder" || { tail -20 "$folder/log"; exit 1; }
printf 'open-webui   %-28s two calls at once, both results\n' "$("$(dirname "$program")/pip" list 2>/dev/null | sed -n 's/^open-webui *//p')"
