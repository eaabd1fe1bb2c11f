# The policy of the machine's owner: where its files lie and whose they have to be, what a broken one stops, and that no command, option,
# variable, client or record exceeds it. A build for tests takes /etc from a folder of ours.
. "$(dirname "$0")/lib.sh"
. "$HERE/consent_lib.sh"
[ "$TEST_ETC" = 1 ] || { echo "skipped: this build takes /etc from nowhere else (HOCKET_TEST_ETC)"; exit 77; }
export HOCKET_TEST_ETC="$WORK/etc"
mkdir -p "$WORK/etc/hocket" "$HOME/.config/hocket"
machine=$WORK/etc/hocket/policy.yaml user=$HOME/.config/hocket/policy.yaml
: >"$machine"
run hocket policy; expect 0; grep -q "^policy  *$machine" out || fail "the machine's policy is not read"
[ $failures = 0 ] || finish
machine() { printf '%s\n' "$@" >"$machine"; }
user() { printf '%s\n' "$@" >"$user"; }
none() { rm -f "$machine" "$user"; }

# ---- What a broken one stops: a table over all commands ------------------------------------------------------
none
names=$(hocket help --json | tr ',{' '\n\n' | sed -n 's/^"name":"\([a-z]*\)"$/\1/p' | sort -u)
same "$(hocket --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | grep -c .)" "$(printf '%s\n' "$names" | grep -cxF "$(hocket --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')")"
commands=$(hocket --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
stops() { # stops WORDS: each command but three
  for command in $commands; do
    run hocket "$command" helper.md
    case $command in
    policy) expect 3; has err "$1" ;;
    doctor) expect 2 ;;
    *) expect 3; has err "$1"; [ -s out ] && fail "nothing on stdout expected" ;;
    esac
  done
  run hocket doctor; expect 0
  run hocket run --help; expect 0
  run hocket --version; expect 0
}
machine 'approve: ask' 'sandbx: required'; stops "$machine:2: unknown key 'sandbx': did you mean 'sandbox'?"
machine 'approve: [ask'; run hocket runs; expect 3; has err "$machine:2:"
none; user 'max_turns: many'; run hocket runs; expect 3; has err "$user:1: 'max_turns' has to be a whole number"
none; machine 'serve:' '  listen: [127.0.0.1]' '  no_token: true'; run hocket runs; expect 3; has err "$machine:3: 'no_token' has to be false"
none; machine 'max_turns: 9' "approve: 'execute_command(git *=allow'"; run hocket runs; expect 3; has err "$machine:2: approve:"
none; head -c 2000000 /dev/zero | tr '\0' '#' >"$machine"; run hocket runs; expect 3; has err "larger than 1 MiB"
printf 'approve: ask\0\n' >"$machine"; run hocket runs; expect 3
none; mkdir "$machine"; run hocket runs; expect 3; has err "it is no file"; rmdir "$machine"
mkfifo "$machine"; run timeout 20 "$HOCKET" runs; expect 3; has err "it is no file"; rm "$machine"
# what stands in an option's place is no way around
machine 'sandbx: x'; run hocket run --workdir --help; [ "$code" = 0 ] && fail "a run without a policy"; run hocket run --store off --trust --workdir . helper.md --help; held
run hocket chat --trust helper.md --help; expect 0; held

# ---- Whose it has to be -----------------------------------------------------------------------------------------
none; machine 'approve: deny'
for mode in 664 646 666; do chmod $mode "$machine"; run hocket runs; expect 3; has err "nobody else may write it"; done
chmod 644 "$machine"
for mode in 775 757 777; do chmod $mode "$WORK/etc/hocket"; run hocket runs; expect 3; has err "its folder has to belong to root"; done
chmod 755 "$WORK/etc/hocket"
mv "$machine" "$WORK/elsewhere"; ln -s "$WORK/elsewhere" "$machine"; run hocket runs; expect 3; has err "it is a link"
rm "$machine"; ln -s "$WORK/nowhere" "$machine"; run hocket runs; expect 3; rm "$machine"
if [ "$(id -u)" = 0 ]; then
  machine 'approve: deny'; chown 65534 "$machine"; run hocket runs; expect 3; has err "has to belong to root"
  chown 0 "$machine"; chown 65534 "$WORK/etc/hocket"; run hocket runs; expect 3; chown 0 "$WORK/etc/hocket"
fi

# ---- No command exceeds it: a table over all that have runs do something ------------------------------------------------
# Each has a run ask for a command that everybody but the policy allows. `under` says what has to come of that: ran, or held.
yes='execute_command=allow'
printf 'defaults: {target: helper.md}\ncases:\n  - {name: one, input: RUN, expect: {contains: "sandbox:"}}\n' >it.eval.yaml
none; ours x.db --approve "$yes"; exported=$id; run hocket export --store x.db "$exported" it.run
before() { # what was begun where there is no policy
  mv "$machine" kept.policy; none; store=$1
  ours "$store" --approve "$yes"; resumed=$id
  run hocket run --trust --approve "$yes" --store "$store" helper.md "good day"; parent=$(newest "$store")
  run hocket run --trust --approve "$yes" --store "$store" helper.md "RUN"; ran; replayed=$(newest "$store")
  run hocket run -d --trust --approve "$yes" --store "$store" helper.md "RUN"; queued=$(cat out)
  run hocket schedule add --store "$store" '@yearly' helper.md "RUN" --name s --trust --approve "$yes"; expect 0
  mv kept.policy "$machine"
}
door() { what=$1; if $under; then ran; else held; fi; }
doors() { # doors STORE
  before "$1"
  "$HOCKET" run --trust --approve "$yes" --store off helper.md "RUN" >out 2>err </dev/null; door "run, not kept"
  "$HOCKET" run --trust --approve "$yes" --store "$1" helper.md "RUN" >out 2>err </dev/null; door "run, kept"
  printf 'RUN\n' >typed; "$HOCKET" chat --trust --approve "$yes" --store off helper.md <typed >out 2>err; door chat
  resume "$1" "$resumed"; door resume
  run hocket fork --store "$1" "$parent" --latest --input RUN; resume "$1" "$(cat out)"; door fork
  run hocket import --store "in-$1" it.run; resume "in-$1" "$exported" --approve "$yes"; door "import, and resume"
  run hocket replay --store "$1" "$replayed"; expect 0; held # it does nothing again
  run hocket eval it.eval.yaml --model sim --trust --approve "$yes" --store off; $under && expect 0 || expect 1; has out one
  "$HOCKET" work --store "$1" --trust >work.out 2>&1 & worker=$!
  run hocket wait --store "$1" "$queued" --timeout 60; door work
  run hocket schedule run --store "$1" s; expect 0; scheduled=$(cat out)
  run hocket wait --store "$1" "$scheduled" --timeout 60; door schedule
  kill -TERM $worker; wait $worker
  mcp "$1"; acp "$1"
  command -v curl >/dev/null && over_http
}
mcp() {
  rm -f mcp.in; mkfifo mcp.in; timeout 60 "$HOCKET" mcp serve --trust --approve "$yes" --store off --model sim helper.md <mcp.in >out 2>err & mcp=$!
  exec 8>mcp.in
  printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}' \
    '{"jsonrpc":"2.0","method":"notifications/initialized"}' '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"helper","arguments":{"input":"RUN"}}}' >&8
  until_true grep -qs '"id":2' out; exec 8>&-; wait $mcp; door mcp
}
acp() {
  rm -f acp.in; mkfifo acp.in; "$HOCKET" acp --trust --approve "$yes" --store off --model sim helper.md <acp.in >out 2>err & acp=$!
  exec 8>acp.in
  printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}' "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/new\",\"params\":{\"cwd\":\"$PWD\",\"mcpServers\":[]}}" >&8
  until_true grep -qs sessionId out; session=$(sed -n 's/.*"sessionId":"\([^"]*\)".*/\1/p' out | head -n 1)
  printf '%s\n' "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"$session\",\"prompt\":[{\"type\":\"text\",\"text\":\"RUN\"}]}}" >&8
  until_true grep -qs '"id":4' out; exec 8>&-; wait $acp; door acp
}
over_http() {
  serves "$yes" --trust
  api "$url/v1/chat/completions" -d '{"model":"helper","messages":[{"role":"user","content":"RUN"}]}' >body; has body choices; door serve
  kill -TERM $server; wait $server
}
: >"$machine"; under=true doors yes.db
export HOCKET_APPROVE=allow
machine "approve: 'execute_command=deny'"; under=false doors no.db
for word in ask deny; do # what a rule of the run allows the policy has to allow, too
  machine "approve: $word"; "$HOCKET" run --trust --approve "$yes" --store off helper.md RUN >out 2>err </dev/null; what="approve: $word"; held
done
unset HOCKET_APPROVE

# ---- SIGHUP, and what serve may do ------------------------------------------------------------------------------------------
if command -v curl >/dev/null; then
  said() { api "$url/v1/chat/completions" -d '{"model":"helper","messages":[{"role":"user","content":"RUN"}]}' >body; }
  none; serves "$yes" --trust; said; ran
  machine "approve: 'execute_command=deny'"; kill -HUP $server; is_held() { said; [ ! -e RAN ] || { rm RAN; false; }; }; until_true is_held
  machine 'hosts: 7'; kill -HUP $server; until_true grep -qs "the policy from before stays" serving; has serving "$machine:1:"; said; held
  none; kill -HUP $server; is_free() { said; [ -e RAN ]; }; until_true is_free; ran
  kill -TERM $server; wait $server
fi
machine 'serve: {listen: ["::1"]}'; run hocket serve --listen 127.0.0.1:0 helper.md; expect 1; has err "nothing may be served at 127.0.0.1"
machine 'serve: {no_token: false, all_runs: false}'
for option in --no-token --all-runs; do run hocket serve --listen 127.0.0.1:0 $option helper.md; expect 1; has err "$option may not be given"; done

# ---- No variable takes hocket's own Lua from elsewhere --------------------------------------------------------------
cp -r "$HERE/../../lua" own-lua
sed -i 's/current, replaced = all,/current, replaced = nil,/' own-lua/hocket/internal/models/machine_policy.lua
grep -q 'replaced = nil' own-lua/hocket/internal/models/machine_policy.lua || fail "the attack is none"
none; HOCKET_LUA_PATH=$PWD/own-lua run hocket run --store off --trust --approve "$yes" helper.md RUN; ran
machine 'approve: deny'; HOCKET_LUA_PATH=$PWD/own-lua run hocket run --store off --trust --approve "$yes" helper.md RUN; held
has err "HOCKET_LUA_PATH does not count"

# ---- The user narrows the machine's, and never widens it -------------------------------------------------------------
limit() { hocket run --store d.db --trust --max-turns 50 "$@" helper.md "good day" >/dev/null 2>&1; hocket show --json --store d.db "$(newest d.db)" | grep -o '"max_turns":[0-9]*' | head -n 1; }
none; same "$(limit)" '"max_turns":50'
machine 'max_turns: 9'; same "$(limit)" '"max_turns":9'
user 'max_turns: 7'; same "$(limit)" '"max_turns":7'
user 'max_turns: 30'; same "$(limit)" '"max_turns":9'
none; machine 'trust: none'; user 'trust: [/]'
printf 'return "ran"\n' >own.lua
run hocket run --store off --trust own.lua; expect 1; has err "no code of $PWD may run"
none; machine "trust: ['$PWD']"; run hocket run --store off own.lua; expect 0
none; machine 'trust: ask'; mkdir folder; cp own.lua folder/main.lua
HOCKET_TRUST=1 run hocket run --store off --trust folder; [ "$code" = 0 ] && fail "--trust and HOCKET_TRUST count for nothing"
none; HOCKET_TRUST=1 run hocket run --store off folder; expect 0
run hocket run --store t.db --trust folder; expect 0; began=$(newest t.db)
for policy in '' 'trust: ask'; do # what was said when it began, too
  run hocket fork --store t.db "$began" --latest --input again; forked=$(cat out)
  machine "$policy"; HOCKET_TRUST='' resume t.db "$forked"
  if [ -n "$policy" ]; then expect 75; has err "is not trusted yet"; else expect 0; fi
done
none; machine 'sandbox: bubblewrap'; user 'sandbox: limits'; run hocket policy --json; has out '"value":"bubblewrap"'
printf -- '---\nname: asks\nmodel: groq/a\n---\nYou.\n' >asks.md
none; machine 'providers: [anthropic]'; GROQ_API_KEY=x run hocket run --store off asks.md hi; has err "the provider 'groq' may not be asked"
machine 'models: ["groq/b*"]'; GROQ_API_KEY=x run hocket run --store e.db asks.md hi; has err "the model 'groq/a' may not be asked"
printf 'cases: [{name: one, target: asks.md, input: hi}]\n' >a.eval.yaml; GROQ_API_KEY=x run hocket eval --trust --store off a.eval.yaml # it says nothing of the agent
expect 4; has out "1 not measured"; has out "the model 'groq/a' may not be asked"
run hocket policy asks.md; expect 0; has out "the model 'groq/a' may not be asked"
none; run hocket policy; expect 0; has out "[default]"; HOCKET_SANDBOX=landlock run hocket policy; has out "[HOCKET_SANDBOX]"
finish
