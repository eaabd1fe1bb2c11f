# What a script of a run that is kept does to the world by requests and programs: a kill in the middle of one does not do it
# twice, unless that was allowed.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/state/runs.db; export HOCKET_STORE
id_in() { grep -oE '01[0-9A-Z]{24}' "$1" | head -n 1; }
wrote() { [ -s "$1" ]; }

# The first request is never answered.
cat >till.lua <<'X'
local hocket = require "hocket"
local n = 0
local served = assert(hocket.sim.serve { reply = function()
  n = n + 1
  local f <close> = assert(io.open("posted", "a"))
  f:write("posted\n")
  return { text = "thanks", latency = n == 1 and 1000 or 0 }
end })
local f = assert(io.open("base.new", "w"))
f:write(served.base)
f:close()
os.rename("base.new", "base")
hocket.flow.sleep(1000)
X
cat >pay.lua <<'X'
local hocket = require "hocket"
local base, again = (...):match "(%S+) (%S+)"
local answer, err = hocket.http.request { url = base .. "/chat/completions", body = '{"model":"m","messages":[{"role":"user","content":"pay"}]}',
  headers = { ["content-type"] = "application/json" }, idempotent = again == "again" or nil, timeout = 2000 }
hocket.ask "And now?"
return answer and "paid " .. answer.status or err.code .. ": " .. err.message
X
cat >start.lua <<'X'
local hocket = require "hocket"
local place, again = (...):match "(%S+) (%S+)"
local open, process = again == "open", require "hocket.process"
local spec = { argv = { "/bin/sh", "-c", "echo x >>" .. place .. "/posted; [ -e again ] || exec sleep 1000" }, cwd = place, sandbox = "limits",
  idempotent = again == "again" or nil }
local done, err = (open and process.open or process.run)(spec)
if open and done then done, err = done:wait() end
return done and "ran" or err.code .. ": " .. err.message
X
cut_off() { # what, its arguments: killed once it has begun
  rm -f posted ev; : >ev
  "$HOCKET" run -q --events ev "$@" >out 2>err </dev/null & pid=$!
  until_true wrote posted; sleep 0.1; kill -KILL $pid; wait $pid 2>/dev/null
  id=$(id_in ev)
}

for again in no again; do
  rm -f posted base; "$HOCKET" run -q --store off till.lua >till.out 2>&1 & till=$!
  at_end() { kill $till 2>/dev/null; }
  until_true wrote base
  cut_off pay.lua "$(cat base)" $again
  run "$HOCKET" resume -q "$id"; expect 75; run "$HOCKET" answer "$id" q1 go
  run "$HOCKET" resume -q "$id"; expect 0
  case $again in
  no) has out "unknown: it is not known whether the POST request was made"; same "$(wc -l <posted)" 1 ;;
  again) has out "paid 200"; same "$(wc -l <posted)" 2 ;;
  esac
  run "$HOCKET" replay "$id"; expect 0
  kill $till; wait $till 2>/dev/null
done

cut_off start.lua "$PWD" no; : >again
run "$HOCKET" resume -q "$id"; expect 0; has out "unknown: it is not known whether the program sh was run"; same "$(wc -l <posted)" 1
run "$HOCKET" replay "$id"; expect 0; rm again
cut_off start.lua "$PWD" again; : >again
run "$HOCKET" resume -q "$id"; expect 0; has out ran; same "$(wc -l <posted)" 2; rm again
# One that is talked with was started: what is said to it then finds it gone.
cut_off start.lua "$PWD" open; : >again
run "$HOCKET" resume -q "$id"; expect 0; has out "closed: "; same "$(wc -l <posted)" 1

# Whoever is asked knows what was begun by its key: also where a fork or a copy goes on with it.
rm again
cat >key.lua <<'X'
local hocket = require "hocket"
return hocket.step("pay", function(key)
  local f <close> = assert(io.open("posted", "a"))
  f:write(key, "\n")
  f:close()
  if not io.open "again" then hocket.flow.sleep(1000) end
  return "paid"
end, { idempotent = true })
X
cut_off key.lua; : >again
run "$HOCKET" export "$id" key.run; run "$HOCKET" import --new key.run; copy=$(id_in out)
run "$HOCKET" fork "$id"; fork=$(id_in out)
for one in "$copy" "$fork" "$id"; do run "$HOCKET" resume -q "$one"; expect 0; has out paid; done
same "$(wc -l <posted)" 4; same "$(sort -u posted | wc -l)" 1
run "$HOCKET" replay "$copy"; expect 0; rm again

# A fork before a call makes it, though it had begun in the same millisecond: only what never ended is told as unknown.
if python3 -c 'import sqlite3' 2>/dev/null; then
  cp "$ROOT/tests/host/kept/scripts/sim.lua" .
  cat >mail.lua <<'X'
local hocket = require "hocket"
local post = hocket.tool { name = "post", description = "Posts.", parameters = { type = "object" }, run = function()
  local f <close> = assert(io.open("posted", "a"))
  f:write("posted\n")
  return "posted it"
end }
return assert(hocket.run(hocket.agent { name = "poster", prompt = "You post.", tools = { post } }, 'call post {}\nsay done')).text
X
  rm -f posted ev; HOCKET_MODEL=sim HOCKET_TRUST=1 run "$HOCKET" run -q --events ev mail.lua; expect 0; same "$(wc -l <posted)" 1; id=$(id_in ev)
  change() { python3 -c 'import sqlite3, sys; d = sqlite3.connect("state/runs.db"); d.execute(sys.argv[1]); d.commit()' "$1"; }
  at=$(grep '"type":"model_reply"' ev | head -1 | grep -o '"seq":[0-9]*' | cut -d: -f2)
  change "UPDATE entries SET sum = NULL, at_ms = (SELECT at_ms FROM entries e WHERE e.key = entries.key - 1) WHERE kind = 9 AND name = 'tool'"
  run "$HOCKET" fork "$id" --at "$at"; expect 0; fork=$(id_in out)
  HOCKET_MODEL=sim HOCKET_TRUST=1 run "$HOCKET" resume --events ev "$fork"; expect 0; same "$(wc -l <posted)" 2; hasnt ev "is not known"
fi

# Wherever a fork leaves, also between model calls that begin side by side: it tells what comes behind with its own times.
HOCKET_MODEL=sim; HOCKET_TRUST=1; export HOCKET_MODEL HOCKET_TRUST
rm -f ev; run "$HOCKET" run -q --events ev "$ROOT/examples/advisors/agents" Move; expect 0; id=$(id_in ev)
for at in $(seq 9 20); do
  run "$HOCKET" fork "$id" --at "$at"; expect 0; fork=$(id_in out)
  run "$HOCKET" resume -q "$fork"; expect 0
  run "$HOCKET" replay "$fork"; expect 0
done

# What an agent has read it has read in every process: what was allowed another day is changed. What the person was shown is told
# again as it was, wherever the file is by then.
cp -r "$ROOT/examples/project" paint
run "$HOCKET" run -q paint/agents --workdir paint/work "Fix the greeting"; expect 75; id=$(id_in err); has err edit_file
run "$HOCKET" answer "$id" a1 --allow; expect 0
run "$HOCKET" resume -q "$id"; expect 75; has err execute_command; has paint/work/greet.sh Hello
run "$HOCKET" answer "$id" a2 --allow; expect 0
run "$HOCKET" resume -q "$id"; expect 0; has out "changed greet.sh in 1 place"
run "$HOCKET" replay "$id"; expect 0
rm -r paint; run "$HOCKET" replay "$id"; expect 0
# In a fork with edited files it is shown what the call would do now.
cp -r "$ROOT/examples/project" paint
run "$HOCKET" run -q paint/agents --workdir paint/work "Fix the greeting"; expect 75; id=$(id_in err)
echo '# The end.' >>paint/work/greet.sh
run "$HOCKET" fork "$id" --latest; expect 0; fork=$(id_in out)
run "$HOCKET" resume -q "$fork"; expect 75
run "$HOCKET" show --json "$id"; has out '"diff":"@@'
run "$HOCKET" show --json "$fork"; hasnt out '"diff":"@@'; has out "was changed by somebody else"

# What was looked at for a person, or for a life that may come, is no call: the fork counts the model's three.
mkdir -p edits; echo one two >edits/a
printf -- '---\nname: editor\ntools: [read_file, edit_file]\n---\nEdit.\n' >edits/editor.md
cat >edits/sim.lua <<'X'
local calls = { { "read_file", { path = "a" } }, { "edit_file", { path = "a", old_text = "two", new_text = "2" } } }
return function(request)
  local n = 1
  for _, m in ipairs(request.messages) do if m.role == "tool" then n = n + 1 end end
  return calls[n] and { calls = { { name = calls[n][1], arguments = calls[n][2] } } } or "done"
end
X
run "$HOCKET" run -q edits/editor.md --workdir edits go; expect 75; id=$(id_in err)
run "$HOCKET" answer "$id" a1 --allow; expect 0
run "$HOCKET" resume -q "$id"; expect 0; has edits/a "one 2"
sed -i 's/^Edit/Edit well/' edits/editor.md
run "$HOCKET" fork "$id" --latest; expect 0; fork=$(id_in out)
run "$HOCKET" resume -q "$fork"
[ "$code" = 0 ] || { run "$HOCKET" answer "$fork" a1 --allow; run "$HOCKET" resume -q "$fork"; }
run "$HOCKET" show --json "$fork"; has out '"replayed":2,"run_anew":3'

# What a link leads to is asked about as long as it did when the agent asked.
mkdir -p linked; echo SECRET=1 >linked/.env; ln -s .env linked/notes; printf -- '---\nname: reader\ntools: [read_file]\n---\nRead.\n' >linked/reader.md
cat >linked/sim.lua <<'X'
return function(request)
  if request.last.role == "tool" then return "it says " .. request.last.text end
  return { calls = { { name = "read_file", arguments = { path = "notes" } } } }
end
X
run "$HOCKET" run -q linked/reader.md --workdir linked go; expect 75; has err '"path":"notes"'; id=$(id_in err)
rm linked/notes; run "$HOCKET" answer "$id" a1 --allow; expect 0
run "$HOCKET" resume -q "$id"; expect 0; has out "it says error"
run "$HOCKET" replay "$id"; expect 0

# What a script chooses as its seed holds, and gives the numbers that it gives where nothing is kept.
cat >dice.lua <<'X'
local told = {}
local function draw()
  for i = 1, 40 do
    told[#told + 1] = ("%d %d %.17g %d"):format(math.random(i), math.random(-7 * i, i), math.random(), math.random(0))
  end
  told[#told + 1] = math.random(math.mininteger, math.maxinteger)
end
math.randomseed(42)
draw()
math.randomseed("-7", 9)
draw()
return table.concat(told, "\n")
X
run "$HOCKET" run -q --store off dice.lua; expect 0; mv out dice
run "$HOCKET" run -q --events ev dice.lua; expect 0; same "$(cat out)" "$(cat dice)"
run "$HOCKET" replay "$(id_in ev)"; expect 0; has err "all as recorded"
echo 'math.randomseed() local a = math.random(0) math.randomseed() return a .. " " .. math.random(0)' >die.lua
run "$HOCKET" run -q die.lua; expect 0; same "$(tr ' ' '\n' <out | sort -u | wc -l)" 2
cp out die; run "$HOCKET" run -q die.lua; expect 0; [ "$(cat out)" != "$(cat die)" ] || fail "the same numbers in another run"

# Modules of a script stand in package.loaded, as in any Lua; what it changes there is its own run's.
mkdir -p modules/lib
echo 'return { count = 0 }' >modules/part.lua; echo 'return "from lib"' >modules/lib/far.lua
echo 'package.loaded[...] = { itself = true }' >modules/itself.lua
cat >modules/main.lua <<'X'
local function say(...) print(table.concat({ ... }, " ")) end
local first = require "part"
first.count = first.count + 1
say("there", tostring(package.loaded.part == first), "again", tostring(require "part" == first))
package.loaded.part = nil
say("anew", tostring(require "part" ~= first), require "part".count)
package.loaded.given, package.preload.made = { n = 7 }, function(name, from) return { name = name, from = from } end
say(require "given".n, require "made".name, require "made".from, tostring(package.loaded.made == require "made"))
say("itself", tostring(require "itself".itself))
say("far", tostring(pcall(require, "far")))
package.path = package.path .. ";" .. ... .. "/?.lua"
say(require "far")
say(tostring(package.loaded.string == string), tostring(package.loaded.hocket == require "hocket"), tostring(package.config ~= nil))
package.path = nil
say(select(2, pcall(require, "nothing")))
X
run "$HOCKET" run -q --store off modules/main.lua "$PWD/modules/lib"; expect 0; mv out as
has as "there true again true"; has as "anew true 0"; has as "from lib"
run "$HOCKET" run -q --events ev modules/main.lua "$PWD/modules/lib"; expect 0; same "$(cat out)" "$(cat as)"
run "$HOCKET" replay "$(id_in ev)"; expect 0; has err "all as recorded"

# A step whose function returns what is no data has failed when that is known, and its function has run by then. It fails the same way in
# each later life, and nothing runs twice; killed in the function, it is as any step that was under way.
cat >odd.lua <<'X'
local hocket = require "hocket"
local kills, idempotent = (...):match "^(%a+) (%a+)$"
local function odd(name, result)
  local ok, value, err = pcall(hocket.step, name, function()
    local f <close> = assert(io.open("ran", "a"))
    f:write(name, " ")
    f:flush()
    if kills == "killed" and name == "two" and not io.open "again" then os.execute "touch again; kill -9 $PPID" end
    return result
  end, { idempotent = idempotent == "yes" })
  if not ok then err = value end
  return err and err.code or value
end
local said = odd("one", print) .. " " .. odd("two", { io.stdout }) .. " " .. odd("three", "data")
hocket.ask "On?"
return said
X
odd() { # WORDS RAN SAID
  rm -f ran again
  "$HOCKET" run -q odd.lua "$1" >out 2>err </dev/null; id=$("$HOCKET" runs | awk '{ print $1; exit }')
  [ ! -e again ] || "$HOCKET" resume -q "$id" >out 2>err </dev/null
  run "$HOCKET" answer "$id" q1 on; expect 0
  run "$HOCKET" resume -q "$id"; expect 0; same "$(cat out)" "$3"; same "$(cat ran)" "$2"
  run "$HOCKET" replay "$id"; expect 0; has err "all as recorded"
}
odd "whole no" "one two three " "invalid invalid data"
odd "killed no" "one two three " "invalid unknown data"
odd "killed yes" "one two two three " "invalid invalid data"
finish
