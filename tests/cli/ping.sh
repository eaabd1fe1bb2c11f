# A dead man's switch is told of runs and schedules: start, success and failure. The morning's summary goes to a webhook.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"
export HOCKET_WEBHOOK_SECRET=whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=

# It notes the path and the body of each request, and answers as the first line of `answers` says, which it takes out.
cat >switch.lua <<'X'
local hocket = require "hocket"
local listener = assert(require("hocket.internal.core.server").new { port = 0 })
local function write(name, mode, text)
  local f <close> = assert(io.open(name, mode))
  f:write(text)
end
local function status()
  local f <close> = io.open "answers"
  local list = {}
  for line in f and f:lines() or function() end do list[#list + 1] = line end
  local first = table.remove(list, 1)
  write("answers", "w", table.concat(list, "\n"))
  return tonumber(first) or 204
end
write("port.new", "w", tostring(listener:port()))
os.rename("port.new", "port")
while true do
  local http = listener:accept()
  write("told", "a", ("%s %s %s\n"):format(http.method, http.path .. (http.query and "?" .. http.query or ""), http.body))
  listener:respond(http.id, status(), {}, "")
end
X
: >told; : >answers
"$HOCKET" run --store off switch.lua >switch.out 2>&1 & workers=$!
until_true test -s port
url=http://127.0.0.1:$(cat port)/ping/abc
paths() { cut -d' ' -f2 told | tr '\n' ' '; }

echo 'return "fine"' >ok.lua
echo 'error "it broke"' >bad.lua
echo 'return require("hocket").ask "Which city?"' >ask.lua

# ---- Runs ----------------------------------------------------------------------------------------------
run hocket run --ping "$url" ok.lua; expect 0; same "$(paths)" "/ping/abc/start /ping/abc "
grep -q 'POST /ping/abc {"exit":0,"run":"01[0-9A-Z]*","state":"done"}' told || fail "what is told of its end: $(cat told)"
: >told; run hocket run --ping "$url/" --store off bad.lua; expect 1; same "$(paths)" "/ping/abc/start /ping/abc/fail "; has told '"exit":1'
: >told; run hocket run --ping "$url?rid=7" ok.lua; expect 0; same "$(paths)" "/ping/abc/start?rid=7 /ping/abc?rid=7 "
: >told; run hocket run --ping "$url" nowhere; expect 2; same "$(paths)" "/ping/abc/start /ping/abc/fail "
# One that waits for a person has not ended; when it is resumed it has. The command that is printed sends the ping, whatever the URL has in it.
: >told; run hocket run --ping "$url?a=1&b='x'" ask.lua; expect 75; same "$(paths)" "/ping/abc/start?a=1&b='x' "
sed -n 's/^resume: *//p' err >resume.sh; grep -q "^hocket resume 01[0-9A-Z]* --ping " resume.sh || fail "the command that resumes it: $(cat resume.sh)"
run hocket answer last:ask q1 Oslo; expect 0
: >told; run . ./resume.sh; expect 0; has out Oslo; same "$(paths)" "/ping/abc?a=1&b='x' "
run hocket run ask.lua; expect 75; hasnt err --ping
# A signal ends one that nothing keeps; a kept one can be resumed.
echo 'require("hocket").flow.sleep(1000)' >long.lua
for store in off "$PWD/kept.db"; do
  : >told; "$HOCKET" run --store "$store" --ping "$url" long.lua >out 2>err & long=$!
  until_true grep -q /start told; kill -TERM $long; wait $long; code=$?; expect 143
  [ "$store" = off ] && last="/ping/abc/fail " || last=
  same "$(paths)" "/ping/abc/start $last"
done
# What does not arrive is tried again, and changes nothing of the run.
: >told; printf '503\n' >answers; run hocket run --ping "$url" ok.lua; expect 0; has out fine; hasnt err warning; same "$(grep -c /start told)" 2
: >told; printf '404\n404\n' >answers; run hocket run --ping "$url" ok.lua; expect 0; has out fine; has err "warning: the ping to 127.0.0.1 (start) did not arrive: it answered 404"; same "$(paths)" "/ping/abc/start /ping/abc "
: >answers
# A redirect is not followed, and nothing but the web is asked.
: >told; printf '302\n302\n' >answers; run hocket run --ping "$url" ok.lua; expect 0; has err "it answered 302"; : >answers
for wrong in ftp://h/x file:///etc/passwd http://ann:word@h/x nothing; do
  run hocket run --ping "$wrong" ok.lua; expect 0; has out fine; has err "warning: --ping: "; hasnt err word
done
run hocket run --detach --ping "$url" ok.lua; expect 2; has err "--ping is not for a run that a worker does"

# ---- Schedules ------------------------------------------------------------------------------------------
run hocket schedule add @yearly ok.lua --ping ftp://x; expect 2; has err "--ping ftp://x: only http and https"
run hocket schedule list --ping "$url"; expect 2
for name in ok bad ask; do run hocket schedule add @yearly $name.lua --ping "${url%abc}$name"; expect 0; done
run hocket schedule show ok; has out "ping: ${url%abc}ok"; run hocket schedule show --json ok; has out '"ping":"http'
cat >come.lua <<'X'
local schedules = require "hocket.internal.schedule.schedules"
local year = os.time { year = tonumber(os.date "!%Y"), month = 1, day = 1, hour = 0 }
for _, name in ipairs { "ok", "bad", "ask" } do
  assert(schedules.change(name, os.time() * 1000, function(one)
    one.spec.next_ms = year * 1000
    return true
  end))
end
X
: >told; run hocket run come.lua; expect 0
worker 1; worker 2
until_true grep -q "/ping/ok {" told; until_true grep -q "/ping/bad/fail" told; until_true grep -q "/ping/ask/start" told
same "$(grep -c "/ping/ok/start .*\"schedule\":\"ok\"" told)" 1
run hocket answer last:ask q1 Oslo; expect 0
until_true grep -q "/ping/ask {" told
end 1 TERM; end 2 TERM
same "$(grep -c "/ping/ok " told) $(grep -c "/ping/bad/fail" told) $(grep -c "/ping/ask" told)" "1 1 2" # each once, though two work

# ---- The morning -----------------------------------------------------------------------------------------
: >told; run hocket runs --since 24h --summary --webhook "${url%ping/abc}morning"; expect 0; has out "failed"
has told 'POST /morning {'; has told '"type":"runs.summary"'; has told "hocket show 01"; has told '"failed":["01'
run hocket runs --webhook "$url"; expect 2; has err "give both"
run hocket runs --summary --webhook ftp://x; expect 2
printf '500\n' >answers; run hocket runs --summary --webhook "$url"; expect 4; has err "it answered 500"
finish
