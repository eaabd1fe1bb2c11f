# Help, versions, and mistakes in usage.
. "$(dirname "$0")/lib.sh"

run hocket --version
expect 0; has out "hocket "; empty err
run hocket --help
expect 0; has out "commands:"; has out "130 "; empty err
for command in run check sim new doctor decode; do
  run hocket $command --help
  expect 0; has out "usage: hocket $command"; has out "examples:"; empty err
  run hocket help $command
  expect 0; has out "usage: hocket $command"
done
run hocket help --json
expect 0; empty err
# every command of --help is in it, and every option of `run`
for word in $("$HOCKET" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do has out "\"name\":\"$word\",\"usage\""; done
has out '"name":"mcp serve"'; has out '"name":"model","letter":"m","value":"P/M"'
run hocket help --json run; expect 2
run hocket check --help
has out "a number from 0 to 2"
run hocket run --help
for option in --model --events --json --max-turns --timeout --set --approve --workdir --quiet --verbose --no-color; do
  has out " $option"
done

run hocket
expect 2; empty out; has err "command is missing: run, chat, "; has err " or "
run hocket rnu
expect 2; has err "did you mean 'run'?"
run hocket ./team.lua
expect 2; has err "hocket run ./team.lua"
mkdir check2; run hocket check2
expect 2; has err "hocket run check2"
run hocket run
expect 2; empty out
run hocket run --modle x y
expect 2; has err "did you mean '--model'?"
run hocket run x.lua -5
expect 2; has err "behind '--'"
run hocket run --max-cost cheap x.lua
expect 2; has err "expected dollars, as in 0.50"
run hocket run --max-tokens 1.5 x.lua
expect 2; has err "expected a whole number of at least 0"
run hocket run --jobs 0 x.lua; expect 2; has err "expected a whole number from 1 to 1000000"
run hocket run --timeout 9; expect 2; has err "what is to be run"
run hocket run --approve maybe x.lua; expect 2; has err "expected allow, ask or deny"
run hocket run x.lua --timeout; expect 2; has err "needs a value"
run hocket run x.lua --timeout soon; expect 2; has err "seconds"
run hocket run x.lua --max-turns 0; expect 2
run hocket run x.lua --json=yes; expect 2; has err "takes no value"
run hocket run x.lua --set novalue; expect 2; has err "KEY=VALUE"
run hocket run x.lua --model a=/b; expect 2; has err "provider/model"
run hocket run x.lua --model openai/; expect 2
run hocket run x.lua --json --events -; expect 2; has err "both want stdout"
run hocket run x.lua --events /no/such/dir/file; expect 2; has err "No such file"
run hocket run x.lua --workdir /no/such/dir; expect 2
run hocket run x.lua "$(printf 'bad \377 text')"; expect 2; has err "UTF-8"
run hocket check; expect 2
run hocket new; expect 2
run hocket sim --port 99999; expect 2
run hocket sim --fault malformd; expect 2; has err "did you mean 'malformed'?"
run hocket sim --fault-rate 2; expect 2; has err "from 0 to 1"
run hocket sim --seed x; expect 2
run hocket sim --help; has out "429-date         Retry-After as a date"
run hocket doctor extra; expect 2

# What stands behind `--` is a word; values may be joined by '='; short flags may be joined.
echo 'print(...)' >echo.lua
run hocket run -qv echo.lua -- --json and -5
expect 0; same "$(cat out)" "--json and -5"
run hocket run --timeout=9 echo.lua two words
expect 0; same "$(cat out)" "two words"
what="input from stdin"; printf 'from stdin' | hocket run -q echo.lua - >out 2>err; code=$?
expect 0; same "$(cat out)" "from stdin"
# Prices: what is given, what a server on this machine costs, and slips.
for wrong in x x=1,2 a/b=1 a/b=1,2,3,4 a/b=1,x a/b=-1,2 =1,2 a/=1,2; do
  run hocket run x.lua --price "$wrong"; expect 2; has err "expected a model and USD per million tokens"
done
cat >price.lua <<'X'
local prices = require "hocket.prices"
local function say(id) local p = prices.get(id) return p and ("%g %g"):format(p.input, p.output) or "?" end
return say "mycloud/large" .. "; " .. say "ollama/x" .. "; " .. say "groq/x"
X
run hocket run -q price.lua --price mycloud/large=2,.5; expect 0; same "$(cat out)" "2 0.5; 0 0; ?"
OLLAMA_HOST=gpu.example.org run hocket run -q price.lua; expect 0; same "$(cat out)" "?; ?; ?"

# ---- What a terminal would obey is shown, whichever command complains ----
esc=$(printf '\033')
for command in eval replay; do
  printf 'error("\\27[31mred", 0)\n' >red.lua
  case $command in
  replay) run hocket run --store "$WORK/red.db" red.lua; set -- --store "$WORK/red.db" "$(hocket runs --json --store "$WORK/red.db" | grep -oE '01[0-9A-Z]{24}' | head -n 1)" ;;
  *) set -- "a${esc}[31mb.eval.yaml" ;;
  esac
  run hocket "$command" "$@"; has err '^[[31m'; hasnt err "$esc"
done

finish
