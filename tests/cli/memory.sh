# What agents remember: listed, searched, shown, edited, removed by a person; written by two at once; once in a run that goes on.
. "$(dirname "$0")/lib.sh"
export HOME="$WORK/home" && mkdir home
unset XDG_STATE_HOME
export HOCKET_STORE="$WORK/runs.db"

# ---- Nothing yet, and mistakes -----------------------------------------------------------------------------
run hocket memory list; expect 1; has err "no runs are kept yet"
[ ! -e runs.db ] || fail "looking made a store"
run hocket memory; expect 2; has err "expected list, search, show, edit or rm"
run hocket memory shw x; expect 2
run hocket memory list x; expect 2
run hocket memory search; expect 2; has err "which memory?"
run hocket memory search x; expect 2; has err "words to search for"
run hocket memory edit x id; expect 2
run hocket memory rm x; expect 2; has err "or --all"
run hocket memory show x --all; expect 2
run hocket memory show x --limit 0; expect 2
run hocket memory show "$(printf '\377')"; expect 2; has err "UTF-8"
run hocket memory --help; expect 0; has out "usage: hocket memory"

# ---- Two at once ---------------------------------------------------------------------------------------------
cat >many.lua <<'LUA'
local hocket = require "hocket"
local who = ...
local notes = assert(hocket.memory { name = "shared", scope = "user" })
for i = 1, 25 do assert(notes:write(("%s says %d"):format(who, i), { id = who .. i })) end
assert(notes:write("the last was " .. who, { id = "last" }))
return "written"
LUA
"$HOCKET" run -q many.lua ann >out1 2>err1 & one=$!
"$HOCKET" run -q many.lua bob >out2 2>err2 & two=$!
wait $one || fail "the first could not write: $(cat err1)"
wait $two || fail "the second could not write: $(cat err2)"
run hocket memory list; expect 0; has out "user:shared  51 notes"
run hocket memory search shared "ann says" --limit 1000 --json; expect 0
same "$(grep -o '"id":"ann[0-9]*"' out | sort -u | wc -l)" 25
run hocket memory show shared last; expect 0; has out "the last was "
run hocket memory search shared "7" -n 3; has out "ann7"; has out "bob7"

# ---- Changed and removed by a person ------------------------------------------------------------------------------
run hocket memory edit shared ann1 Ann says nothing; expect 0; empty out
run hocket memory show shared ann1; has out "Ann says nothing"
run hocket memory edit shared nobody x; expect 1; has err "there is no note 'nobody'"
run hocket memory edit shared ann1 ""; expect 2
run hocket memory rm shared ann1 ann2; expect 0
run hocket memory show shared ann1; expect 1
run hocket memory show nothing; expect 1; has err "hocket memory list"
cat >another.lua <<'LUA'
local hocket = require "hocket"
assert(hocket.memory({ name = "shared", project = "." }):write "\27]0;title\7\27[2Jof the project")
return "done"
LUA
run hocket run -q another.lua; expect 0
run hocket memory show shared; expect 2; has err "may be several"
run hocket memory show "project:shared@$(pwd -P)"; expect 0; has out "of the project"; has out "^["
hasnt out "$(printf '\033')"
run hocket memory rm user:shared --all; expect 0
run hocket memory list; hasnt out "user:shared"

# ---- A folder ---------------------------------------------------------------------------------------------------------
mkdir notes && echo "Bob drinks tea." >notes/bob.md
run hocket memory search -f notes tea; expect 0; has out "Bob drinks tea."
run hocket memory edit -f notes bob Bob drinks water; expect 0
has notes/bob.md "Bob drinks water"
run hocket memory rm -f notes bob; expect 0
[ ! -e notes/bob.md ] || fail "the file should be gone"

# ---- In a run that goes on, written once ------------------------------------------------------------------------------
cat >keeper.md <<'MD'
---
name: keeper
memory: { name: kept, scope: user }
tools: [execute_command]
---
You keep notes.
MD
cat >sim.lua <<'LUA'
local function call(name, arguments) return { calls = { { name = name, arguments = arguments } } } end
return function(request)
  local n = 0
  for _, message in ipairs(request.messages) do n = n + (message.role == "assistant" and 1 or 0) end
  if n == 0 then return call("memory_write", { text = "kept once" }) end
  if n == 1 then return call("memory_search", { query = "kept" }) end
  if n == 2 then return call("execute_command", { command = "true" }) end
  return "it was: " .. request.messages[5].text
end
LUA
run hocket run --model sim --trust --approve ask keeper.md go; expect 75
id=$(hocket runs --state parked --json | sed -n 's/.*"id":"\([0-9A-Z]*\)".*/\1/p')
run hocket memory edit kept "$(hocket memory show kept --json | sed -n 's/.*"id":"\([0-9a-z]*\)".*/\1/p')" changed meanwhile; expect 0
run hocket answer "$id" a1 yes; expect 0
run hocket resume "$id"; expect 0; has out "kept once"; hasnt out "meanwhile"
run hocket memory list; has out "user:kept  1 note"
run hocket memory show kept; has out "changed meanwhile"

# ---- Without a store it is an error that says what to do; what cannot be a memory's name has its place -------------------
HOCKET_STORE=off run hocket run --model sim --trust keeper.md go
has out "a 'folder' to keep them as files" || has err "a 'folder' to keep them as files"
printf -- '---\nname: bad\nmemory: {name: a/b, scope: world}\n---\nx\n' >bad.md
run hocket check bad.md; expect 3; has out "bad.md:3:" || has err "bad.md:3:"
finish
