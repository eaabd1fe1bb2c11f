# hocket doctor says what is wrong, each with the command that mends it; --fix mends what can lose nothing.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"
export OLLAMA_HOST=http://127.0.0.1:1 LLAMACPP_BASE_URL=http://127.0.0.1:1/v1 # no server of this machine's decides what this sees
unset HOCKET_STORE # that of the home
doctor() { run hocket doctor "$@"; expect 0; }
found() { grep -q "\"code\":\"$1\"" out; }
is_mode() { same "$(stat -c %a "$1")" "$2"; }

doctor --json; has out '"problems":['
for code in model home secret approve store cut_off pool; do found $code && fail "$code is no problem here: $(cat out)"; done
run hocket doctor now; expect 2

# Without a model.
HOCKET_MODEL= doctor --json; found model || fail "no model is a problem"; has out '"command":"export OPENAI_API_KEY=YOUR_KEY"'
HOCKET_MODEL= doctor; has out "no key is set (another"; has out "    export OPENAI_API_KEY="
same "$(sed -n '/^problems/=' out)" 3; [ "$(sed -n '/^providers$/=' out)" -gt "$(sed -n '/^sandbox/=' out)" ] || fail "the list of providers stands before what matters: $(cat out)"
GROQ_API_KEY=x doctor; same "$(sed -n '/^providers that can be used/{n;s/^ *\([a-z]*\).*/\1/p;}' out)" groq
AZURE_OPENAI_ENDPOINT= doctor; has out "set AZURE_OPENAI_ENDPOINT"; hasnt out '${'

# Rules that make no sense; a home that is not there.
HOCKET_APPROVE=perhaps doctor; has out "HOCKET_APPROVE"; has out "    unset HOCKET_APPROVE"
HOME=$WORK/nowhere doctor; has out "    mkdir -p -m 700 $WORK/nowhere/.local/state/hocket   (or: hocket doctor --fix)"; [ -e nowhere ] && fail "a look makes nothing"
HOME=$WORK/nowhere doctor --fix; has out "    mended"; is_mode nowhere/.local/state/hocket 700
HOME=$WORK/nowhere doctor --json; found home && fail "the home is there now"
: >no_folder; XDG_STATE_HOME=$WORK/no_folder doctor --json; found home || fail "a file where the home has to be: $(cat out)"

# Secrets that others can read: by the command as it is printed, and by --fix, which keeps what is in them.
state=$HOME/.local/state/hocket; mkdir -p -m 700 "$state"; echo "a token" >"$state/serve-token"; chmod 644 "$state/serve-token"
doctor; has out "$state/serve-token can be read by others"
sed -n 's/^    \(chmod .*serve-token\).*/\1/p' out >todo; same "$(wc -l <todo | tr -d ' ')" 1; sh todo; is_mode "$state/serve-token" 600
doctor --json; found secret && fail "it is private now"
chmod 644 "$state/serve-token"; doctor --fix --json; has out '"fixed":true'; is_mode "$state/serve-token" 600; same "$(cat "$state/serve-token")" "a token"
echo "from before" >"$state/serve-token.new"; chmod 644 "$state/serve-token"; doctor --fix --json; has out '"fixed":true'; same "$(cat "$state/serve-token.new")" "from before"
echo theirs >theirs; chmod 644 theirs; ln -s "$PWD/theirs" "$state/webhook-secret"; doctor --fix; has out "--fix could not: it is a link"; is_mode theirs 644
[ -h "$state/webhook-secret" ] || fail "the link was replaced"; rm "$state/webhook-secret"
if [ "$(id -u)" = 0 ]; then chown 12345 "$state/serve-token"; chmod 644 "$state/serve-token"; doctor --fix; is_mode "$state/serve-token" 600; same "$(stat -c %u "$state/serve-token")" 12345; fi
mkdir "$state/webhook-secret"; chmod 755 "$state/webhook-secret"; doctor --fix; has out "--fix could not"; rmdir "$state/webhook-secret"

# Runs: one whose process was killed, one that no worker takes.
echo 'require("hocket").flow.sleep(1000)' >long.lua
is_kept() { "$HOCKET" runs --state running --json 2>/dev/null | grep -q long.lua; }
"$HOCKET" run long.lua >/dev/null 2>&1 & workers=$!
until_true is_kept; kill -KILL $workers; wait $workers 2>/dev/null; workers=
echo 'return "fine"' >ok.lua; detach ok.lua
doctor; has out "1 run was cut off"; has out "    hocket resume --all"
has out "no worker takes what is queued in the pool default"; has out "    hocket work --pool default"
run hocket cancel last:long; doctor --json; found cut_off && fail "it is not cut off any more"
worker 1 --pool default; until_true is "$id" done; end 1 TERM; doctor --json; found pool && fail "nothing is queued"

# A store that is none is no end of the doctor.
echo "this is a text, and no database at all" >none.db
HOCKET_STORE=$PWD/none.db doctor; has out "the store cannot be used"; same "$(cat none.db)" "this is a text, and no database at all"
HOCKET_STORE=mysql://h/x doctor; has out "the store cannot be used"; has out "    hocket store migrate"
HOCKET_STORE=$PWD/new.db doctor; [ -e new.db ] && fail "a look makes no store"
finish
