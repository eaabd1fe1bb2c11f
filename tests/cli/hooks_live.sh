# hooks.lua changes while `hocket serve` runs: new runs have the new hooks, running ones end with theirs; a broken save is refused with its
# line, and the hooks before it stay. In a chat that goes on they stay, too.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/state/runs.db; export HOCKET_STORE
HOCKET_TRUST=1; export HOCKET_TRUST
server=; at_end() { [ -z "$server" ] || kill "$server" 2>/dev/null; }

mkdir -p team/agents
printf -- '---\nname: clerk\ndescription: Writes\n---\nYou write.\n' >team/agents/clerk.md
cat >team/agents/sim.lua <<'X2'
return function(request)
  if request.last.text:find "slow" then require("hocket").flow.sleep(2) end
  return "Heard " .. request.last.text
end
X2
cp team/agents/sim.lua team/sim.lua
says() { printf 'return { after_agent = function(event) return { answer = event.result .. " (%s)" } end }\n' "$1" >team/hooks.lua; }
by_module() { printf 'local words = require "words"\nreturn { after_agent = function(event) return { answer = event.result .. words.seen } end }\n' >team/hooks.lua; }

serve() {
  rm -f served # the former one's address
  "$HOCKET" serve --listen 127.0.0.1:0 --no-token --model sim "$@" >served 2>&1 & server=$!
  until_true grep -qs "http://127" served; url=$(grep -oE 'http://127.0.0.1:[0-9]+' served | head -n 1)
}
end() { kill $server; wait $server 2>/dev/null; server=; }
# What it is asked, and what its answer has to have, as soon as the files are read.
ask() { curl -sN "$url/v1/chat/completions" -H 'Content-Type: application/json' -d '{"model": "clerk", "messages": [{"role": "user", "content": "'"$1"'"}]}'; }
answers() { ask "$1" | grep -qF "$2"; }
now() { until_true answers "$1" "$2" || fail "$1: $(ask "$1")"; }
refused() { until_true grep -qF "$1" served || fail "$target: not refused: $1: $(cat served)"; now "$2" "$3"; }

for target in team team/agents team/agents/clerk.md; do
  by_module; echo 'return { seen = " (one)" }' >team/words.lua
  serve "$target"
  now a "Heard a (one)"
  ask slow >slow & slow=$!
  sleep 0.5
  echo 'return { seen = " (two)" }' >team/words.lua; now b "Heard b (two)"
  wait $slow; has slow "Heard slow (one)" # it began with the former
  echo 'return { seen = ' >team/words.lua; refused "team/words.lua:2" c "Heard c (two)"; echo 'return { seen = " (two)" }' >team/words.lua
  echo 'return { after_agent = ' >team/hooks.lua; refused "team/hooks.lua:2" d "Heard d (two)"
  printf '\nreturn { after_agnt = print }\n' >team/hooks.lua; refused "team/hooks.lua:2:1: unknown key 'after_agnt'" e "Heard e (two)"
  printf '\n\nlocal made = {}\nmade.after_agent = tonumber "5"\nreturn setmetatable(made, nil)\n' >team/hooks.lua; refused "team/hooks.lua:4: after_agent: a function" f "Heard f (two)"
  printf 'local x\nx.y = 1\nreturn {}\n' >team/hooks.lua; refused "team/hooks.lua:2: attempt to index" g "Heard g (two)"
  says three; now h "Heard h (three)"
  rm team/hooks.lua; now i 'Heard i"'
  says four; now j "Heard j (four)"
  end
done

# Before the first run, a save that compiles and gives a wrong value is refused, too; with --trust as with HOCKET_TRUST.
for trusted in variable option; do
  for value in 'tonumber "5"' '{ run = print, timeout = 2 - 2 }'; do
    says one
    if [ $trusted = option ]; then unset HOCKET_TRUST; else HOCKET_TRUST=1; export HOCKET_TRUST; fi
    serve $([ $trusted = variable ] || echo --trust) team/agents
    printf -- '-- after_agent\nlocal made = {}\nmade.after_agent = %s\nreturn made\n' "$value" >team/hooks.lua
    refused "team/hooks.lua:3: after_agent: " k "Heard k (one)"
    says two; now l "Heard l (two)"
    end
  done
done
# Where nobody has trusted it, it is not loaded by a save, and no run begins.
unset HOCKET_TRUST
printf 'return { after_agent = function() return nil end }\n' >team/hooks.lua
serve team/agents
printf 'io.open("%s/loaded", "w"):close()\nreturn { after_agent = 5 + 5 }\n' "$PWD" >team/hooks.lua
sleep 1; ask m >m.out; has m.out "is not trusted"; [ ! -e loaded ] || fail "hooks.lua was loaded untrusted"
end
HOCKET_TRUST=1; export HOCKET_TRUST

# A run that was begun by the server continues with the hooks of its beginning, modules and all.
by_module; echo 'return { seen = " (one)" }' >team/words.lua
serve team/agents
curl -s "$url/api/runs" -H 'Content-Type: application/json' -d '{"target": "clerk", "input": "slow"}' >begun
id=$(grep -oE '01[0-9A-Z]{24}' begun | head -n 1); [ -n "$id" ] || fail "no run: $(cat begun)"
sleep 0.5; kill -KILL $server; wait $server 2>/dev/null; server=
says other; rm team/words.lua
run hocket resume -q "$id"; expect 0; has out "Heard slow (one)"

# A chat keeps the hooks of its beginning; the next one has the new ones.
says five
{ echo one; sleep 1; says six; sleep 0.5; echo two; sleep 1; } | "$HOCKET" chat --no-color --model sim team/agents >out 2>err || :
has out "Heard one (five)"; has out "Heard two (five)"
echo three | "$HOCKET" chat --no-color --model sim team/agents >out 2>err || :
has out "Heard three (six)"

# A script that raises: the hooks behind the run are asked with its error.
echo 'error "no such luck"' >team/main.lua
echo 'return { after_run = function(event) if event.error.message:find "no such luck" then return { answer = "It broke: " .. event.error.code } end end }' >team/hooks.lua
run hocket run -q team; expect 0; has out "It broke: script"
echo 'return { after_run = function() end }' >team/hooks.lua
run hocket run -q team; expect 1; has err "no such luck"
finish
