# What the Lua of a trusted folder may load, and what a second question says has changed.
. "$(dirname "$0")/lib.sh"
unset HOCKET_TRUST HOCKET_MODEL
export HOME="$WORK/home" && mkdir "$HOME"
unset XDG_STATE_HOME
need_pty
yes_to() { run "$PTY" -w "Run it?" wait:10 -w "> " line:yes -- "$HOCKET" run "$@" x; }
both() { # in a run that is kept, and in one that is not
  for store in "$HOME/runs.db" off; do "$@" --store "$store"; done
}

# A text that was not looked at is not loaded, by whichever function, whatever it is called.
tries=0
not_loaded() { # NAME CODE…: the folder's main.lua
  name=$1 && shift
  rm -rf p lib && mkdir -p p lib
  printf 'return "data"\n' | tee p/data.txt p/data >lib/beside.lua
  printf 'return { chat = function() return "x" end }\n' >p/mod.lua
  printf '%s\n' "$@" >p/main.lua
  both refused_text "$name"
}
refused_text() {
  yes_to p "$2" "$3"
  expect 1
  run hocket run p x "$2" "$3"
  expect 1; has err "was no part of the Lua that was trusted"; hasnt out data
  tries=$((tries + 1))
  run hocket run p x --trust "$2" "$3"
  expect 0; same "$(cat out)" data
  run env "HOCKET_TRUST=$WORK" "$HOCKET" run p x "$2" "$3"
  expect 0; same "$(cat out)" data
  run hocket run p/main.lua x "$2" "$3"
  expect 0; same "$(cat out)" data
  run env "HOCKET_TRUST=$WORK/p" "$HOCKET" run lib/beside.lua x "$2" "$3"
  expect 0
  rm -rf "$HOME/.local"
}
not_loaded dofile "return dofile '$WORK/p/data.txt'"
not_loaded "no ending" "return dofile '$WORK/p/data'"
not_loaded loadfile "return assert(loadfile '$WORK/p/data.txt')()"
not_loaded "loadfile with globals" "return assert(loadfile('$WORK/p/data.txt', 't', {}))()"
not_loaded beside "return dofile '$WORK/lib/beside.lua'"
not_loaded "a relative path" "return dofile '$WORK/p/../lib/beside.lua'"
not_loaded require "package.path = '$WORK/lib/?.lua;' .. package.path" "return require 'beside'"
not_loaded "require of another ending" "package.path = '$WORK/p/?.txt;' .. package.path" "return require 'data'"
above=$(printf '%s' "$WORK/own/lua/" | sed 's|[^/]||g; s|/|/..|g') # from there to the root
mkdir -p own/lua && export LUA_PATH="$WORK/own/lua/?.lua;;"
not_loaded "up from a folder of the machine's modules" "return dofile '$WORK/own/lua$above$WORK/p/data.txt'"
not_loaded "require up from there" "package.path = '$WORK/own/lua$above$WORK/lib/?.lua'" "return require 'beside'"
unset LUA_PATH
for program in /usr/lib/*/liblua5.4-*.so* /usr/lib/*/lua/5.4/*.so /usr/lib/*/libm.so.6; do [ -f "$program" ] && break; done
in_c() { # a program for `require`
  rm -rf p && mkdir p && cp "$program" p/inc.so && printf 'package.cpath = "%s/p/?.so"\nreturn tostring(require "%s")\n' "$WORK" "$1" >p/main.lua
  yes_to p "$2" "$3"
  expect 1
  run hocket run p x "$2" "$3"
  expect 1; has err "was no part of the Lua that was trusted"; has err "A module in C"; tries=$((tries + 1))
}
both in_c inc
both in_c inc.part # Lua looks for luaopen_inc_part in the program of the root, and opens it for that
same $tries 24

# A file of the folder under its own name, which the run itself writes after the yes.
rewritten() { # CODE STORE...
  rm -rf p && mkdir p && echo 'return "mod"' >p/mod.lua
  printf 'local f <close> = assert(io.open("%s/p/mod.lua", "w"))\nf:write("return \\"written\\"") f:flush()\nreturn %s\n' "$WORK" "$1" >p/main.lua
  yes_to p "$2" "$3"
  tr -d '\r' <out | tr '\n' ' ' >unwrapped # the terminal breaks the message at a place that depends on the folder
  expect 1; has unwrapped "was no part of the Lua that was trusted"; hasnt out written; grep -q written p/mod.lua || fail "it was not written"
}
for code in "dofile '$WORK/p/mod.lua'" "require 'mod'" "assert(loadfile('$WORK/p/mod.lua'))()"; do both rewritten "$code"; done

# What was looked at is loaded, as long as it is that; and a run that has begun goes on with it.
rm -rf p && mkdir -p p/.h
echo 'return "hidden"' >p/.h/y.lua
echo 'return "mod"' >p/mod.lua
printf 'return dofile "%s/p/.h/y.lua" .. require "mod" .. loadfile("%s/p/mod.lua")()\n' "$WORK" "$WORK" >p/main.lua
yes_to p
expect 0; has out hiddenmodmod
run hocket run p x --store off
expect 0; same "$(cat out)" hiddenmodmod
run hocket run p x
expect 0; same "$(cat out)" hiddenmodmod
run hocket replay last
expect 0

# The scripted model is Lua of the folder, too.
mkdir -p s && printf -- '---\nname: one\n---\nOne.\n' >s/one.md
echo 'return "from data"' >s/data.txt
printf 'return function() return dofile "%s/s/data.txt" end\n' "$WORK" >s/sim.lua
yes_to s --model sim
hasnt out "from data"
run hocket run s --model sim --trust x
expect 0; has out "from data"

# Another file is trusted with its own folder.
rm -rf p lib && mkdir p lib && echo 'return "lib"' >lib/l.lua && echo 'return 1' >lib/main.lua
echo "return dofile '$WORK/lib/l.lua'" >p/main.lua
yes_to p
expect 1
yes_to lib
expect 0
run hocket run p x
expect 0; same "$(cat out)" lib
echo 'return "other"' >lib/l.lua
run hocket run p x
expect 1; has err "was no part"

# A module that an agent's file names, of a folder which a script or an agent of another folder loads.
rm -rf "$HOME/.local" p && mkdir -p far/agents p
echo 'return function() return "said" end' | tee p/sim.lua >far/sim.lua
echo "io.open('$WORK/ran', 'w'):close() return { may = function() return true end }" >far/agents/rules.lua
printf -- '---\nname: lead\nhandoff: [{agent: helper, available: rules.may}]\n---\nYou.\n' >far/agents/lead.md
printf -- '---\nname: helper\n---\nYou.\n' >far/agents/helper.md
printf -- '---\nname: top\nagents: [../far/agents]\nhandoff: lead\n---\nYou.\n' >p/top.md
printf 'local team = require("hocket.agent").load_dir "%s/far/agents"\nlocal reply, err = require("hocket").run(team.lead, "x")\nreturn reply and reply.text or nil, err\n' "$WORK" | tee p/go.lua >p/main.lua
ran() { [ -e "$WORK/ran" ] || fail "the module did not run"; rm -f "$WORK/ran"; }
not_far() { # TARGET STORE...
  run hocket run --model sim "$@" x; expect 1; has err "far/agents is not trusted, and its Lua would run"; has err rules.lua; [ ! -e "$WORK/ran" ] || fail "the module ran"
}
both not_far p/go.lua
export HOCKET_TRUST="$WORK/p"
for target in p p/go.lua p/top.md; do both not_far "$target"; done
HOCKET_TRUST="$WORK/p:$WORK/far" run hocket run -q --model sim p x; expect 0; same "$(cat out)" said; ran
unset HOCKET_TRUST
run hocket run -q --trust --model sim p x; expect 0; ran
yes_to p/go.lua --model sim; expect 0; has out "rules.lua"; has out said; ran
run hocket run -q --model sim p/go.lua x; expect 0; ran # it is remembered
echo "-- changed" >>far/agents/rules.lua; both not_far p/go.lua
# beside a script that was named, and not below that
mkdir -p p/below && cp -r far/agents p && cp -r far/agents p/below
sed -i 's|[^"]*/far/agents|agents|' p/go.lua; sed -i "s|agents|$WORK/p/agents|" p/go.lua
run hocket run -q --model sim p/go.lua x; expect 0; ran
sed -i "s|/p/agents|/p/below/agents|" p/go.lua
run hocket run -q --model sim p/go.lua x; expect 1; has err "p/below/agents is not trusted"; [ ! -e "$WORK/ran" ] || fail "the module ran"
# nor where a worker does it
for folder in p/agents p/below/agents; do
  sed -i "s|$WORK/[^\"]*|$WORK/$folder|" p/go.lua
  run hocket run -d --model sim p/go.lua x; expect 0; id=$(cat out)
  "$HOCKET" work >work.log 2>&1 & worker=$!
  run hocket wait "$id"; kill -TERM $worker; wait $worker
  if [ $folder = p/agents ]; then expect 0; ran; else expect 1; has err "p/below/agents is not trusted"; [ ! -e "$WORK/ran" ] || fail "the module ran"; fi
done

# A second question says what has changed, a third what has changed since then.
rm -rf p "$HOME/.local" && mkdir -p p/.h && for name in main a b .h/y; do echo 'return 1' >"p/$name.lua"; done
yes_to p
expect 0; has out "p is not trusted yet"; hasnt out changed
echo 'return 2' >p/.h/y.lua && rm p/a.lua && echo 'return 3' >p/new.lua
run hocket run p x
expect 1; has err "changed: .h/y.lua, new: new.lua, gone: a.lua, 2 files as before"
yes_to p
expect 0; has out "has changed since"; has out "changed: .h/y.lua"; has out "gone: a.lua"
echo 'return 4' >p/b.lua
run hocket run p x
expect 1; has err "changed: b.lua, 3 files as before"
same "$(ls "$HOME/.local/state/hocket/trusted" | wc -l)" 1 # what was there before is forgotten
finish
