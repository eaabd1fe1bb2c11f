# Scripts of a model (tool lua) in a run that is kept: an approval in the middle, after which the script goes on in another process, with what its calls came to.
. "$(dirname "$0")/lib.sh"
[ -z "${SANITIZE:-}" ] || exit 77 # a sanitizer wants more memory than a script may have
export HOCKET_STORE="$WORK/runs.db"
cat >tools.lua <<'LUA'
local hocket = require "hocket"
hocket.tool.set("note", function()
  return hocket.tool { name = "note", description = "d", effects = {}, parameters = { type = "object", properties = { text = { type = "string" } } },
    run = function(args)
      local f = assert(io.open("notes.txt", "a"))
      f:write(args.text, "\n")
      f:close()
      return "number " .. args.text
    end }
end)
hocket.tool.set("danger", function()
  return hocket.tool { name = "danger", description = "d", effects = { "elsewhere" }, parameters = { type = "object" }, run = function() return "dared" end }
end)
local one = hocket.agent { name = "one", prompt = "x", tools = { "lua", "note", "danger" } }
return assert(hocket.run(one, "go"))
LUA
cat >sim.lua <<'LUA'
local code = [[
local out = {}
for i = 1, 5 do out[#out + 1] = tools.note { text = "before " .. i } end
out[#out + 1] = tools.danger {}
for i = 1, 2 do out[#out + 1] = tools.note { text = "after " .. i } end
local seen = {}
for key in pairs { z = 1, a = 1, m = 1 } do seen[#seen + 1] = key end
return table.concat(out, ", ") .. " " .. table.concat(seen)]]
return function(request)
  local last = request.messages[#request.messages]
  if last.role == "tool" then return last.text end
  return { calls = { { name = "lua", arguments = { code = code } } } }
end
LUA
run hocket run --model sim --approve ask tools.lua; expect 75
same "$(wc -l <notes.txt)" 5
id=$(hocket runs --state parked --json | sed -n 's/.*"id":"\([0-9A-Z]*\)".*/\1/p')
run hocket answer "$id" a1 yes; expect 0
run hocket resume "$id"; expect 0
has out "number before 1, number before 2, number before 3, number before 4, number before 5, dared, number after 1, number after 2 amz"
same "$(wc -l <notes.txt)" 7
run hocket replay "$id"; expect 0; has err "all as recorded"
same "$(wc -l <notes.txt)" 7

# A no is told to the script, which goes on.
run hocket run --model sim --approve ask tools.lua; expect 75
id=$(hocket runs --state parked --json | sed -n 's/.*"id":"\([0-9A-Z]*\)".*/\1/p')
run hocket answer "$id" a1 no; expect 0
run hocket resume "$id"; expect 0; has out "number before 5, number after 1"

# Killed in the middle of it, it continues with the script where it was. The tool says that it writes, so the third call starts when the
# store has the outcome of the second; calls that only read do not wait, and the last ones may be made again.
rm -f notes.txt
cat >slow.lua <<'LUA'
local hocket = require "hocket"
hocket.tool.set("note", function()
  return hocket.tool { name = "note", description = "d", effects = { "write" }, idempotent = true, parameters = { type = "object", properties = { text = { type = "string" } } },
    run = function(args)
      local f = assert(io.open("notes.txt", "a"))
      f:write(args.text, "\n")
      f:close()
      if args.text == "3" and not io.open "go" then hocket.flow.sleep(600) end
      return args.text
    end }
end)
local one = hocket.agent { name = "one", prompt = "x", tools = { "lua", "note" } }
return assert(hocket.run(one, "go"))
LUA
cat >sim.lua <<'LUA'
return function(request)
  local last = request.messages[#request.messages]
  if last.role == "tool" then return last.text end
  return { calls = { { name = "lua", arguments = { code = "local t = {} for i = 1, 6 do t[i] = tools.note { text = tostring(i) } end return table.concat(t, '+')" } } } }
end
LUA
"$HOCKET" run -q --model sim --approve note=allow slow.lua >out 2>err & victim=$!
until_true grep -qsx 3 notes.txt
kill -9 $victim
wait $victim 2>/dev/null
: >go
id=$(hocket runs --state cut-off --json | sed -n 's/.*"id":"\([0-9A-Z]*\)".*/\1/p')
run hocket resume "$id"; expect 0; has out "1+2+3+4+5+6"
same "$(tr '\n' ' ' <notes.txt)" "1 2 3 3 4 5 6 "

# The same side by side, killed while the last of four waits: who has ended is not called again, and the script sees the order in which they ended.
rm -f notes.txt go
cat >side.lua <<'LUA'
local hocket = require "hocket"
hocket.tool.set("note", function()
  return hocket.tool { name = "note", description = "d", effects = { "write" }, idempotent = true, parameters = { type = "object", properties = { n = { type = "integer" } } },
    run = function(args)
      hocket.flow.sleep((5 - args.n) * 0.15)
      if args.n == 1 and not io.open "go" then hocket.flow.sleep(600) end
      local f = assert(io.open("notes.txt", "a"))
      f:write(args.n, "\n")
      f:close()
      return tostring(args.n)
    end }
end)
local one = hocket.agent { name = "one", prompt = "x", tools = { "lua", "note" } }
return assert(hocket.run(one, "go"))
LUA
cat >sim.lua <<'LUA'
local code = [[
local order = {}
map({ 1, 2, 3, 4 }, function(n)
  local text = tools.note { n = n }
  order[#order + 1] = text
end)
local last = tools.note { n = 4 }
return table.concat(order, ">") .. ">" .. last]]
return function(request)
  local last = request.messages[#request.messages]
  if last.role == "tool" then return last.text end
  return { calls = { { name = "lua", arguments = { code = code } } } }
end
LUA
"$HOCKET" run -q --model sim --approve note=allow side.lua >out 2>err & victim=$!
until_true grep -qsx 2 notes.txt
sleep 0.5
kill -9 $victim
wait $victim 2>/dev/null
: >go
id=$(hocket runs --state cut-off --json | sed -n 's/.*"id":"\([0-9A-Z]*\)".*/\1/p' | head -n 1)
run hocket resume "$id"; expect 0; has out "4>3>2>1>4"
same "$(tr '\n' ' ' <notes.txt)" "4 3 2 1 4 "
run hocket replay "$id"; expect 0; has err "all as recorded"

# A call in a return statement leaves no frame of the script: its file is named all the same, kept or not.
echo 'return require("hocket").run(nil)' >tail.lua
for kept in "" "--store off"; do
  run hocket run $kept tail.lua; expect 1; has err "tail.lua: bad argument #1 to 'run'"; hasnt err run_target
done
finish
