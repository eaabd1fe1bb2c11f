# Providers in a project's file: checked with their lines, trusted by a person before they get anything, and programs
# for keys, which a replay does not run and whose words are nowhere.
. "$(dirname "$0")/lib.sh"
unset HOCKET_TRUST HOCKET_MODEL HOCKET_STORE
export HOME="$WORK/home" && mkdir "$HOME"
unset XDG_STATE_HOME

"$HOCKET" sim >sim.out 2>sim.err </dev/null &
sim=$!
at_end() { kill $sim 2>/dev/null; }
until_true grep -q "127.0.0.1:[0-9]" sim.out
port=$(sed -n 's/.*127\.0\.0\.1:\([0-9]*\).*/\1/p' sim.out | head -1)

mkdir -p proj/agents
printf -- '---\nname: one\nmodel: local/default\n---\nOne.\n' >proj/agents/one.md
write() {
  cat >proj/providers.yaml <<YAML
local:
  protocol: openai_chat
  base: http://127.0.0.1:$port/v1
  key_command: [sh, -c, 'echo run >>$WORK/asked; printf the-secret-%s of-the-broker']
  body: {user: me}
other: {protocol: openai_chat, base: "http://127.0.0.1:1/v1"}
YAML
}
write
asked() { grep -c run "$WORK/asked" 2>/dev/null || true; }

# Before anybody has said so nothing of it is used; where it is not needed nobody asks.
run hocket run proj/agents "Hello"
expect 1; has err "is not trusted, and its providers would get what agents are asked, and keys: local: asks http://127.0.0.1:"; has err "runs sh -c"
same "$(asked)" ""
run hocket run proj/agents --model sim "Hello"
expect 0; same "$(asked)" ""
run hocket check proj
expect 0; same "$(asked)" ""

# Trusted, it answers; the key is in no event, no log and no message.
run hocket run proj/agents --trust --store "$WORK/runs.db" --events run.events "Hello"
expect 0; same "$(asked)" 1
for file in out err run.events runs.db; do
  [ ! -e $file ] || hasnt $file "the-secret-of-the-broker"
done
run hocket runs --store "$WORK/runs.db" --json
id=$(sed -n 's/.*"id":"\([0-9A-Z]*\)".*/\1/p' out | head -1)
run hocket replay --store "$WORK/runs.db" "$id"
expect 0; same "$(asked)" 1

# What its server offers; and vectors, which a replay has from the log.
cd proj || exit 1
run hocket models local
expect 1; has err "is not trusted"
run hocket models local --trust --json
expect 0; has out '"id":"local/default"'; has out '"asked":true'; same "$(asked)" 2
run hocket models
expect 0; has out "anthropic/claude"; has out "from the table of"; same "$(asked)" 2
cd ..
run hocket models nobody
expect 2; has err "there is no provider 'nobody'"
cat >vectors.lua <<LUA
local hocket = require "hocket"
hocket.provider("here", { protocol = "openai_chat", base = "http://127.0.0.1:$port/v1" })
local found = assert(hocket.embed({ "a red fox", "the fox is red", "snow" }, { model = "here/v", dimensions = 16 }))
local function near(a, b) local s = 0 for i = 1, #a do s = s + a[i] * b[i] end return s end
assert(near(found.vectors[1], found.vectors[2]) > near(found.vectors[1], found.vectors[3]))
return #found.vectors .. " of " .. #found.vectors[1] .. ", tokens " .. found.usage.input
LUA
run hocket run vectors.lua --trust --store "$WORK/vectors.db"
expect 0; has out "3 of 16, tokens 7"
run hocket runs --store "$WORK/vectors.db" --json
id=$(sed -n 's/.*"id":"\([0-9A-Z]*\)".*/\1/p' out | head -1)
sed -i 's/127.0.0.1:[0-9]*/127.0.0.1:1/' vectors.lua # which a replay does not read
run hocket replay --store "$WORK/vectors.db" "$id"
expect 0

# Another program is another file: what was trusted before does not count.
run env "HOCKET_TRUST=$WORK/proj" "$HOCKET" run proj/agents "Hello"
expect 0; same "$(asked)" 3
write; sed -i 's/user: me/user: you/' proj/providers.yaml
run hocket run proj/agents "Hello"
expect 1; has err "is not trusted"

# A script that a person has named may do all that its author wants: the file beside it asks for nothing more.
printf 'return assert(require "hocket".run(require "hocket".agent { name = "x", prompt = "P", model = "local/default" }, "Hello")).text\n' >proj/script.lua
run hocket run proj/script.lua
expect 0; has out "You said: Hello"; same "$(asked)" 4

# A picture by its address, for who has a form for that.
printf -- '---\nname: eye\n---\nYou see.\n' >eye.md
run hocket run eye.md --model sim --attach https://w.example/cat.png "What is it?"
expect 0
run hocket run eye.md --model sim-ollama/x --attach https://w.example/cat.png "What is it?"
expect 1; has err "takes no picture by its address"
run hocket run eye.md --model sim --attach http://w.example/cat.png "What is it?"
expect 2

# Tools of the provider's own, and a picture that it makes: told, in the result, in a file; a replay has the same and writes nothing.
cat >gemini.lua <<'LUA'
local json, system = require "hocket.json", require "hocket.internal.core.system"
local listener = assert(require("hocket.internal.core.server").new {})
local port = io.open("port", "w")
port:write(listener:port(), "\n")
port:close()
local part = { inlineData = { mimeType = "image/png", data = system.base64("\137PNG\r\n\26\n" .. ("x"):rep(50)) } }
local answer = { candidates = { { content = { role = "model", parts = { { text = "It rains." }, part } }, finishReason = "STOP",
  groundingMetadata = { webSearchQueries = { "rain" }, groundingChunks = { { web = { uri = "https://w.example/rain", title = "Rain" } } } } } },
  usageMetadata = { promptTokenCount = 9, candidatesTokenCount = 5 } }
while true do
  local request = listener:accept()
  if not request then return end
  listener:respond(request.id, 200, { ["content-type"] = "text/event-stream" }, "data: " .. json.encode(answer) .. "\n\n")
end
LUA
"$HOCKET" run --trust gemini.lua >gemini.out 2>&1 </dev/null &
sim="$sim $!"
until_true test -s port
mkdir searching
printf -- '---\nname: one\nmodel: here/m\nserver_tools: [web_search]\n---\nOne.\n' >searching/one.md
printf 'here: {protocol: gemini, base: "http://127.0.0.1:%s/v1"}\n' "$(cat port)" >searching/providers.yaml
run hocket run searching --trust --json --store "$WORK/searching.db" "Rain?"
expect 0; has out '"sources":[{"title":"Rain","url":"https://w.example/rain"}]'; has out '"path":"made-'; has out '"cost":null'
has err "the provider's own tools: web_search 1; sources: https://w.example/rain"; has err "made made-"
same "$(ls made-*-1.png | wc -l)" 1
rm made-*
run hocket runs --store "$WORK/searching.db" --json
id=$(sed -n 's/.*"id":"\([0-9A-Z]*\)".*/\1/p' out | head -1)
run hocket replay --store "$WORK/searching.db" "$id"
expect 0; same "$(ls | grep -c '^made-')" 0

# What is wrong is told with its line.
cat >proj/providers.yaml <<'YAML'
good: {protocol: openai_chat, base: "http://x"}
bad:
  protocol: openai_chat
  base: http://x
  traits:
    sede: false
worse:
  protocol: openai
  base: http://x
text: no
YAML
run hocket check proj
expect 3; has out "providers.yaml:6:11: unknown trait 'sede' in provider 'bad': did you mean 'seed'?"
has out "providers.yaml:8:3: "; has out "unknown protocol 'openai'"; has out "'text' must be members with values"
run hocket run --trust proj/agents "Hello"
expect 3; has err "providers.yaml:6:11"
printf 'bad: [\n' >proj/providers.yaml
run hocket check proj
expect 3; has out "providers.yaml:2:"
finish
