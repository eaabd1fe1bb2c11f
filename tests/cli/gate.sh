# Killed in the moment of an effect, whoever runs it: it is not done twice in silence, and what asked for it is known.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"
HOCKET_APPROVE=allow; export HOCKET_APPROVE
newest() { "$HOCKET" runs --limit 1 --json | grep -oE '01[0-9A-Z]{24}' | head -n 1; }
crashes() { run "$@"; expect 137; } # its process is killed by what it does
replied() { "$HOCKET" show --json "$(newest)" 2>/dev/null | grep -q '"model_reply"'; }

# ---- The first effect after a resume -------------------------------------------------------------------
mkdir pay
cat >pay/main.lua <<'X'
local hocket = require "hocket"
local crash, file = os.getenv "CRASH", ...
local amount = assert(hocket.run(hocket.agent { name = "clerk", prompt = "You decide." }, "How much?")).text
require("hocket.internal.core.system").wall() -- so that the sleep reads nothing new of the clock, which other lives lack
if crash == "before" then hocket.flow.sleep(600) end
local paid, err = hocket.step("pay", function()
  local f <close> = assert(io.open(file, "a"))
  f:write("sent ", amount, "\n")
  f:flush()
  if crash == "pay" then os.execute "kill -9 $PPID" end
  return "sent"
end)
return paid or "not again: " .. err.code
X
echo 'return function() return "100" end' >pay/sim.lua
for durability in normal full; do
  rm -f sent; was=$(newest)
  CRASH=before "$HOCKET" run -q --durability $durability pay "$PWD/sent" >out 2>err & pid=$!
  until_true sh -c '[ "$("$0" runs --limit 1 --json | grep -oE "01[0-9A-Z]{24}" | head -n 1)" != "$1" ]' "$HOCKET" "$was"
  until_true replied; kill -KILL $pid; wait $pid 2>/dev/null
  id=$(newest)
  crashes env CRASH=pay "$HOCKET" resume -q --durability $durability "$id"; same "$(cat sent)" "sent 100"
  run "$HOCKET" resume -q --durability $durability "$id"; expect 0; has out "not again: unknown"; same "$(cat sent)" "sent 100"
done

# ---- A worker is drained in a model call, the next one is killed in what that asked for -----------------------------
mkdir bill
cat >bill/main.lua <<'X'
local hocket = require "hocket"
local file = ...
local send = hocket.tool { name = "send_money", description = "Sends money.",
  parameters = { type = "object", properties = { n = { type = "integer" } }, required = { "n" } },
  run = function(args)
    local f <close> = assert(io.open(file, "a"))
    f:write("sent ", args.n, "\n")
    f:flush()
    if os.getenv "CRASH" then os.execute "kill -9 $PPID" end
    return "sent " .. args.n
  end }
return assert(hocket.run(hocket.agent { name = "clerk", tools = { send }, prompt = "You pay." }, file)).text
X
cat >bill/sim.lua <<'X'
return function(request)
  if request.last.role == "tool" then return "done: " .. request.last.text end
  local f <close> = assert(io.open(request.last.text .. ".asked", "a"))
  f:write "asked\n"
  return { calls = { { name = "send_money", arguments = { n = 100 } } }, latency = 0.5 }
end
X
detach bill "$PWD/bill.sent"; bill=$id
worker 1; until_true test -s bill.sent.asked; end 1 TERM; expect 0
[ ! -e bill.sent ] || fail "paid by who was drained"
CRASH=1; export CRASH; worker 2; unset CRASH; wait "$w2"; same "$(cat bill.sent)" "sent 100"
worker 3; run "$HOCKET" wait "$bill"; expect 0; end 3 TERM; expect 0
same "$(cat bill.sent)" "sent 100"; same "$(cat bill.sent.asked)" asked; has out "not known"

# ---- What is idempotent is done again as it was: the model that asked for it is not asked again --------------------
mkdir charge
cat >charge/main.lua <<'X'
local hocket = require "hocket"
local file = ...
local charge = hocket.tool { name = "charge", description = "Charges a card.", idempotent = true,
  parameters = { type = "object", properties = { n = { type = "integer" } }, required = { "n" } },
  run = function(args, ctx)
    local f <close> = assert(io.open(file, "a"))
    f:write(ctx.effect_id, " ", args.n, "\n")
    f:flush()
    if os.getenv "CRASH" == (args.n == 1 and "first" or "second") then os.execute "kill -9 $PPID" end
    return "charged " .. args.n
  end }
return assert(hocket.run(hocket.agent { name = "clerk", tools = { charge }, prompt = "You charge." }, file)).text
X
cat >charge/sim.lua <<'X'
-- Each time that it is asked it names another amount.
local function times(file)
  local f = assert(io.open(file, "a+"))
  f:write "asked\n"
  f:seek "set"
  local n = 0
  for _ in f:lines() do n = n + 1 end
  f:close()
  return n
end
return function(request)
  local results, file = 0, nil
  for _, message in ipairs(request.messages) do
    if message.role == "tool" then results = results + 1 end
    if message.role == "user" then file = message.text end
  end
  if results == 2 then return "done" end
  return { calls = { { name = "charge", arguments = { n = results == 0 and 1 or 100 + times(file .. ".asked") } } } }
end
X
for when in first second; do
  rm -f charged charged.asked
  crashes env CRASH=$when "$HOCKET" run -q charge "$PWD/charged"
  run "$HOCKET" resume -q "$(newest)"; expect 0; has out "done"
  same "$(wc -l <charged)" 3
  same "$(sort -u charged | wc -l)" 2
  same "$(cut -d ' ' -f 1 charged | sort -u | wc -l)" 2
done

# ---- A run that is put away does nothing more, whatever its script catches: it comes to the same place again --------
cat >left.lua <<'X'
local hocket = require "hocket"
local fs, process = require "hocket.fs", require "hocket.process"
local file = ...
local function append(text)
  local f <close> = assert(io.open(file, "a"))
  f:write(text, "\n")
  return text
end
local function all()
  print(pcall(hocket.step, "note", function() return append "step" end))
  print(pcall(fs.write, file .. ".written", "x"))
  print(pcall(fs.mkdir, file .. ".made"))
  print(pcall(process.run, { argv = { "/usr/bin/touch", file .. ".run" }, cwd = "/tmp", sandbox = "limits" }))
  print(pcall(process.open, { argv = { "/usr/bin/touch", file .. ".run" }, cwd = "/tmp", sandbox = "limits" }))
end
if not pcall(hocket.ask, "Which city?") then all() end
hocket.step("end", function() return append "end" end)
return "through"
X
run "$HOCKET" run -q left.lua "$PWD/left"; expect 75; same "$(grep -c "false	cancelled: cancelled" out)" 5
run "$HOCKET" resume -q "$(newest)"; expect 75
same "$(ls left* | tr '\n' ' ')" "left.lua "
run "$HOCKET" answer "$(newest)" q1 Rome; run "$HOCKET" resume -q "$(newest)"; expect 0; has out through; same "$(cat left)" end
finish
