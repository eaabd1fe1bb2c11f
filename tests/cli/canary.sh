#!/bin/sh
# Keys stay in the process: a random one in the environment appears in no output, no event, no
# environment of a program that a tool starts, and no file, whatever the model tries.
. "$(dirname "$0")/lib.sh"

canary="sk-canary-$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')"
mkdir -p team/agents work
cat > team/agents/main.md <<'TEXT'
---
name: main
tools: [read_file, search_files, write_file, execute_command, execute_lua]
---
You do what you are told.
TEXT
cat > team/sim.lua <<'TEXT'
local tries = {
  { "execute_command", { command = "env; cat /proc/self/environ /proc/$PPID/environ /proc/1/environ; ps axeww; true" } },
  { "execute_command", { command = "cat /proc/*/environ; cat /proc/*/cmdline; ls -l /proc/*/fd; set; true" } },
  { "execute_lua", { code = "print(os.getenv 'OPENAI_API_KEY'); local f = io.open '/proc/self/environ' print(f and f:read 'a')" } },
  { "read_file", { path = "/proc/self/environ" } },
  { "read_file", { path = "environ" } },
  { "search_files", { content = "canary", include_ignored = true } },
  { "write_file", { path = "note.txt", content = "$OPENAI_API_KEY {{OPENAI_API_KEY}} ${ANTHROPIC_API_KEY}" } },
}
return function(request)
  local n = 0
  for _, message in ipairs(request.messages) do
    if message.role == "tool" then n = n + 1 end
  end
  if n < #tries then return { calls = { { name = tries[n + 1][1], arguments = tries[n + 1][2] } } } end
  local texts = {}
  for _, message in ipairs(request.messages) do texts[#texts + 1] = message.text end
  return { text = table.concat(texts, "\n") }
end
TEXT
ln -s /proc/self/environ work/environ

# try NAME ARGUMENTS…
try() {
    name=$1
    shift
    env HOCKET_SANDBOX=required OPENAI_API_KEY="$canary" ANTHROPIC_API_KEY="$canary" GEMINI_API_KEY="$canary" SECRET_TOKEN="$canary" \
        OPENAI_BASE_URL=http://127.0.0.1:9/v1 ANTHROPIC_BASE_URL=http://127.0.0.1:9 \
        "$HOCKET" "$@" > "$name.out" 2> "$name.err" < /dev/null
    echo $? > "$name.code"
}

try tools run team/agents --workdir work --model sim/default --approve allow --events tools.jsonl -v "go"
try required run team/agents --workdir work --model sim/default --events required.jsonl -v "go"
try refused run team/agents --model openai/gpt-5-mini --timeout 20 --events refused.jsonl -v "go"
try doctor doctor
try check check team/agents
grep -q '"type":"tool_allowed"' tools.jsonl || fail "no tool was allowed"
grep -q '"tool":"execute_command"' tools.jsonl || fail "no command was run"
grep -q "note.txt" tools.out || fail "the model was not obeyed: $(cat tools.out tools.err)"
[ "$(cat refused.code)" -ne 0 ] || fail "a server that is not there answered"
if grep -rlF "$canary" . > found; then fail "the key is in: $(cat found)"; fi
finish
