# Without a model nobody answers: not where nobody looks on. And results say who has answered.
. "$(dirname "$0")/lib.sh"
unset HOCKET_MODEL
team t
# No local server of this machine's decides what these see.
export OLLAMA_HOST=http://127.0.0.1:1 LLAMACPP_BASE_URL=http://127.0.0.1:1/v1

run hocket run t hello
expect 4; empty out; has err "there is no model to ask"; has err "OPENAI_API_KEY"; has err "HOCKET_MODEL"; has err "--model"
run hocket run --json t hello
expect 4; has out '"ok":false'; has out '"code":"auth"'; has out '"simulated":false'; has out '"models":[]'
run hocket chat t
expect 0; empty out

# Who does not look at errors ends with the same.
cat >careless.lua <<'LUA'
local hocket = require "hocket"
local reply = hocket.run(hocket.agent { name = "a", prompt = "p" }, "hello")
return reply.text
LUA
run hocket run careless.lua
expect 4; has err "error: there is no model to ask"
cat >nothing.lua <<'LUA'
local hocket = require "hocket"
local reply = hocket.run(hocket.agent { name = "a", prompt = "p" }, "hello")
return reply and reply.text
LUA
run hocket run nothing.lua
expect 4; has err "error: there is no model to ask"
cat >copes.lua <<'LUA'
local hocket = require "hocket"
local reply = hocket.run(hocket.agent { name = "a", prompt = "p" }, "hello")
return reply and reply.text or "nobody is there"
LUA
run hocket run copes.lua
expect 0; has out "nobody is there"

# Chosen, by option, by variable, by the agent's file.
run hocket run --model sim t hello
expect 0; has err "note: answers come from the simulated model"
run env HOCKET_MODEL=sim "$HOCKET" run --json t hello
expect 0; has out '"simulated":true'; has out '"models":["sim/default"]'
mkdir own; printf -- '---\nname: one\nmodel: sim/x\n---\nYou are one.\n' >own/one.md
run hocket run --json own hello
expect 0; has out '"simulated":true'; has out '"models":["sim/x"]'
run hocket doctor
expect 0; has out "model used when none is named: none"

# A base URL without a model: its server is asked, and the only model that it has is taken.
echo 'return function(r) return "from " .. r.model end' >serve.lua
"$HOCKET" sim serve.lua >serving & pid=$!
until_true grep -q serving serving
base=$(grep -o 'http://[^ ]*/v1' serving | head -1)
OPENAI_BASE_URL=$base run hocket run t hello
expect 0; has out "from default"
OPENAI_BASE_URL=$base run hocket run --model openai t hello
expect 0; has out "from default"
OPENAI_BASE_URL=$base OPENAI_API_KEY=k run hocket run t hello
expect 0; has out "from default"
OPENAI_BASE_URL=$base run hocket run --json --model openai/default own hello
expect 0; has out '"text":"from default"'; has out '"simulated":false'; has out '"models":["openai/default"]'
VLLM_BASE_URL=$base run hocket run --json t hello
expect 0; has out '"models":["vllm/default"]'
kill $pid; wait $pid
OPENAI_BASE_URL=http://user:word@127.0.0.1:1/v1 run hocket run t hello
expect 4; has err "http://127.0.0.1:1/v1 does not say which there are"; hasnt err "word"

# What a script makes of a reply that was cut is no whole answer.
mkdir cut; echo 'return function() return { text = "half an answer, that is long enough", finish = "length" } end' >cut/sim.lua
cat >cut/main.lua <<'LUA'
local hocket = require "hocket"
local reply = assert(hocket.run(hocket.agent { name = "a", prompt = "p", model = "sim" }, "hello"))
local how = ...
if how == "print" then print(reply.text) return end
return how == "table" and { answer = reply.text } or how == "inside" and "Here: " .. reply.text
  or how == "else" and "It was cut, sorry." or how == "reply" and reply or reply.text
LUA
for how in text reply print table inside; do
  run hocket run --model sim cut $how
  expect 5; has out "half an answer"; has err "error: the answer was cut by the token limit"
done
run hocket run --model sim cut else
expect 0; has out "It was cut, sorry."

# On a terminal the simulated one may stand in.
"$PTY" -- true >/dev/null 2>&1 || finish
"$PTY" -- "$HOCKET" run --no-color t hello >shown 2>&1
has shown "note: answers come from the simulated model"

# And where the target has a script for it, that plays: of its folder, beside the file, or one folder up. Its folder is asked about.
unset HOCKET_TRUST
mkdir played played/agents
printf -- '---\nname: one\n---\nYou are one.\n' | tee played/agents/one.md >alone.md
echo 'return function() return "from the script" end' | tee played/sim.lua >sim.lua
yes() { run "$PTY" -w "Run it?" wait:10 -w "> " line:yes -- "$HOCKET" "$@"; }
yes run --no-color played hello
expect 0; has out "from the script"; same "$(grep -c 'answers come from the simulated' out)" 1
run "$PTY" -- "$HOCKET" run --no-color played hello
expect 0; has out "from the script"; hasnt out "Run it?" # remembered
yes run --no-color played/agents/one.md hello
expect 0; has out "from the script"
yes run --no-color alone.md hello
expect 0; has out "from the script"
echo 'return function() return "another script" end' >played/sim.lua
run "$PTY" -w "Run it?" wait:10 -w "> " line:no -- "$HOCKET" run --no-color played hello
expect 1; hasnt out "another script"; tr -s '\r\n ' ' ' <out >flat; has flat "is not trusted"
run "$PTY" -- sh -c 'echo hello | "$0" run played -' "$HOCKET" # nobody to ask
expect 1; hasnt out "another script"; has out "--trust"
# Not where a model is named, or no terminal is there.
OPENAI_API_KEY=x OPENAI_BASE_URL=http://127.0.0.1:9/v1 run "$PTY" -- "$HOCKET" run --no-color --model openai/x played hello
hasnt out "another script"; hasnt out "trusted"
printf -- '---\nname: one\nmodel: sim/x\n---\nYou are one.\n' >played/agents/one.md
run "$PTY" -- "$HOCKET" run --no-color played hello
expect 0; hasnt out "another script"; hasnt out "trusted"
run hocket run --trust alone.md hello
expect 4; has err "there is no model to ask"

# What hocket new has made plays its own team, unasked.
run hocket new trip
run "$PTY" -- "$HOCKET" run --no-color trip
expect 0; has out "What would have to happen for us to stop again?"; hasnt out "(simulated)"; hasnt out "trusted"
# The run goes on elsewhere as it began.
run hocket replay "$("$HOCKET" runs --json | grep -o '"id":"[^"]*"' | head -n 1 | cut -d'"' -f4)"
expect 0; has err "all as recorded"
finish
