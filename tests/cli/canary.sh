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
try refused run team/agents --model openai/gpt-6.1-terra --timeout 20 --events refused.jsonl -v "go"
try doctor doctor
try check check team/agents
grep -q '"type":"tool_allowed"' tools.jsonl || fail "no tool was allowed"
grep -q '"tool":"execute_command"' tools.jsonl || fail "no command was run"
grep -q "note.txt" tools.out || fail "the model was not obeyed: $(cat tools.out tools.err)"
[ "$(cat refused.code)" -ne 0 ] || fail "a server that is not there answered"

# The key in use: a server that is asked with it, and tells it back in an error.
cat > serve.lua <<'TEXT'
return function(request)
  if request.last.role == "user" and not request.last.text:find "plain" then
    return { calls = { { name = "delegate_to_agent", arguments = { agent = "helper", task = "plain words" } } } }
  end
  return { text = "the answer to " .. request.last.text }
end
TEXT
mkdir -p duo
printf -- '---\nname: main\nagents: [helper]\ntools: [delegate_to_agent]\n---\nYou have it done.\n' > duo/main.md
printf -- '---\nname: helper\ndescription: Helps\n---\nYou help.\n' > duo/helper.md
touch serving serving.err
"$HOCKET" sim serve.lua --port 0 > serving 2> serving.err & server=$!
until_true grep -q "http://127" serving serving.err
base=$(cat serving serving.err | sed -n 's|.*\(http://127[0-9.:]*\).*|\1|p' | head -1)
use() {
    name=$1
    shift
    env OPENAI_API_KEY="$canary" OPENAI_BASE_URL="$base/v1" ANTHROPIC_API_KEY="$canary" ANTHROPIC_BASE_URL="$base" \
        "$HOCKET" "$@" > "$name.out" 2> "$name.err"
    echo $? > "$name.code"
}
use recorded run duo --model openai/m -v --json --events recorded.jsonl --record recorded.cassette "plain question" < /dev/null
use called run duo --model anthropic/m -v --events called.jsonl --record called.cassette "question" < /dev/null
use replayed run duo --model openai/m -v --events replayed.jsonl --replay recorded.cassette "plain question" < /dev/null
use wrong run duo --model openai/m --max-turns 1 -v --events wrong.jsonl --set "x=1" "question" < /dev/null
printf 'plain first\n/usage\n/save talk.md\nplain second\n/quit\n' | use chat chat duo --model openai/m -v --events chat.jsonl
kill $server
wait $server 2> /dev/null
for name in recorded called replayed chat; do
    [ "$(cat $name.code)" = 0 ] || fail "$name: $(cat $name.code) $(cat $name.err)"
done
has recorded.cassette "the answer to"
has talk.md "the answer to"

# A server that tells the key back.
perl - > echo.port 2> echo.err <<'TEXT' & server=$!
use strict;
use IO::Socket::INET;
my $server = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1", ReuseAddr => 1) or die "no socket: $!";
$| = 1;
print $server->sockport, "\n";
while (my $client = $server->accept) {
    my ($head, $body) = ("", "");
    while (my $line = <$client>) {
        $head .= $line;
        last if $line eq "\r\n";
    }
    read($client, $body, $1) if $head =~ /^content-length: (\d+)/im;
    my ($key) = $head =~ /^(?:authorization|x-api-key): (.*?)\r$/im;
    my $told = "wrong key: " . ($key // "?");
    my $json = qq({"error": {"message": "$told", "type": "auth"}});
    print $client "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nx-told: $told\r\n",
        "content-length: ", length $json, "\r\nconnection: close\r\n\r\n$json";
    close $client;
}
TEXT
until_true test -s echo.port
base=http://127.0.0.1:$(cat echo.port)
use echoed run duo --model openai/m -v --json --events echoed.jsonl --record echoed.cassette "plain" < /dev/null
use echoed2 run duo --model anthropic/m -v --events echoed2.jsonl --record echoed2.cassette "plain" < /dev/null
kill $server
wait $server 2> /dev/null
has echoed.err "wrong key"
has echoed2.err "wrong key"
if grep -rlF "$canary" . > found; then fail "the key is in: $(cat found)"; fi
finish
