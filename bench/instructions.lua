-- Instructions of hocket's own work, as valgrind's callgrind counts them, at a base commit and at the tree as it is.
-- Both are built in the same run, so that no number is stored. Times depend on what else a machine does; instructions
-- do not. Counted are our objects and Lua's, which runs our scripts; libc, libcurl, SQLite and the kernel are not.
--
--   bench/instructions.lua [--base COMMIT] [--only ROW]
--   bench/instructions.lua --at COMMIT [--only ROW]       only the numbers of that commit, as bench/bisect.sh asks for them
--
-- There are two bases: the newest commit older than four hours, and the one older than a week, so that many small steps are
-- seen as well. A row may rise by 3 %; more needs a commit since the base with a line "Slower: ROW: REASON" in its message.
-- Without valgrind, or without such a commit, nothing is measured.
local LIMIT = 1.03

local function quote(text)
  return "'" .. tostring(text):gsub("'", "'\\''") .. "'"
end

local function output(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read("a"):gsub("%s+$", "")
  return text, (pipe:close())
end

local function must(command)
  if not os.execute(command) then error("instructions: failed: " .. command, 0) end
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

local here = output(("readlink -f %s"):format(quote(arg[0]:match "^(.*)/[^/]*$" or ".")))
local root = output(("readlink -f %s/.."):format(quote(here)))
package.path = here .. "/?.lua;" .. package.path
local beside = require "base"

-- ---- counting ----------------------------------------------------------------------------------

-- Whether instructions of an object count as ours.
local function ours(object)
  return object:find "/hocket$" or object:find "/libhocket" or object:find "/bench_" or object:find "/liblua"
end

-- The instructions of our objects in a file of callgrind's. A name is written once, as "(number) name"; the line
-- after "calls=" has what the callee cost, which stands at the callee already.
local function total(path)
  local names, sum, mine, callee = {}, 0, false, false
  for line in assert(io.open(path)):lines() do
    local key, number, name = line:match "^(c?ob)=(%(%d+%)) ?(.*)$"
    if key then
      if name ~= "" then names[number] = name end
      if key == "ob" then mine = ours(names[number]) end
    elseif line:find "^calls=" then
      callee = true
    elseif line:find "^[%d+*-]" then
      if mine and not callee then sum = sum + math.tointeger(line:match " (%d+)") end
      callee = false
    end
  end
  return sum
end

local bed = {} -- tmp, port, build (of the version that is measured)

-- Instructions of one process; `o.any_exit`: a status other than 0 is no failure. Nothing is stored where no option names a store:
-- by the variable, which a program of before there was a store ignores.
local function count(words, o)
  o = o or {}
  local file = bed.tmp .. "/callgrind"
  os.remove(file)
  local line = ("cd %s && HOME=%s OPENAI_API_KEY=none OPENAI_BASE_URL=http://127.0.0.1:%d/v1 NO_PROXY=127.0.0.1 HOCKET_STORE=off "
    .. "HOCKET_MODEL=%s valgrind --tool=callgrind --callgrind-out-file=%s --log-file=/dev/null %s <%s >%s 2>&1")
    :format(bed.tmp, bed.tmp, bed.port, o.model or "openai/tools-0", file, words, o.input or "/dev/null", bed.tmp .. "/said")
  if not os.execute(line) and not o.any_exit then
    error(("instructions: failed: %s\n%s"):format(words, output("tail -5 " .. bed.tmp .. "/said")), 0)
  end
  return total(file)
end

local function hocket(words) return bed.build .. "/hocket " .. words end

-- Instructions of one unit: the difference of a long and a short run.
local function slope(few, many, units, run)
  return (run(many) - run(few)) / ((many - few) * units)
end

local function script(name, model, units, o)
  o = o or {}
  return function()
    return slope(o.few or 2, o.many or 12, units, function(n)
      os.remove(bed.tmp .. "/runs.db")
      return count(hocket(("run %s/scripts/%s.lua %s -q%s"):format(quote(here), name, quote((o.input or "%d"):format(n)),
        o.store and " --store runs.db" or "")), { model = "openai/" .. model })
    end)
  end
end

local function chunk(protocol)
  return function() return count(bed.build .. "/bench/bench_chunks " .. quote(protocol)) / 210000 end
end

local function start()
  write(bed.tmp .. "/start.lua", "return 'done'\n")
  return count(hocket "run start.lua -q")
end

local AGENT = "---\nname: talker\ndescription: Talks\n---\nYou talk.\n"

-- A conversation of 200 turns goes on, from the start of the program to its prompt.
local function resume()
  write(bed.tmp .. "/talker.md", AGENT)
  must(("cd %s && rm -f talk.db && yes next | head -200 | HOME=%s HOCKET_MODEL=sim/echo %s chat -q --store talk.db talker.md >/dev/null 2>&1")
    :format(bed.tmp, bed.tmp, bed.build .. "/hocket"))
  return count(hocket "chat -q --store talk.db --continue", { model = "sim/echo", any_exit = true })
end

-- The server ends by a signal when it has answered; its requests come over one connection.
local function served(requests)
  write(bed.tmp .. "/agents/talker.md", AGENT)
  write(bed.tmp .. "/serve.sh", ([[
"$@" & server=$!
for i in $(seq 600); do grep -q '^serving http' said && break; sleep 0.1; done
url=$(sed -n 's/^serving \(http:[^ ]*\).*/\1/p' said)
for i in $(seq %d); do echo "url = $url/api/agents"; echo "output = /dev/null"; done >urls
curl -sf -K urls; status=$?
kill -TERM $server; wait $server
exit $status
]]):format(requests))
  local file = bed.tmp .. "/callgrind"
  os.remove(file)
  must(("cd %s && HOME=%s sh serve.sh valgrind --tool=callgrind --callgrind-out-file=%s --log-file=/dev/null %s >said 2>&1"):format(bed.tmp, bed.tmp, file,
    hocket "serve --listen 127.0.0.1:0 --no-token --trust --store off --model sim agents"))
  return total(file)
end

local CALL = '{"id":%d,"jsonrpc":"2.0","method":"tools/call","params":{"arguments":{"text":"some words"},"name":"echo",'
  .. '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}\n'

local function mcp(calls)
  local lines = {}
  for i = 1, calls do lines[i] = CALL:format(i) end
  write(bed.tmp .. "/calls", table.concat(lines))
  return count(hocket(("run -q %s/scripts/mcp_shop.lua"):format(quote(here))), { input = "calls" })
end

-- ---- rows --------------------------------------------------------------------------------------

local rows = {
  { "tool turn", script("turns", "tools-20", 21) },
  { "chunk openai_chat", chunk "openai_chat" },
  { "chunk openai_responses", chunk "openai_responses" },
  { "chunk anthropic", chunk "anthropic" },
  { "chunk gemini", chunk "gemini" },
  { "router", script("patterns", "tools-0", 1, { input = "router %d", many = 42 }) },
  { "advisors", script("patterns", "tools-0", 1, { input = "three %d", many = 22 }) },
  { "team", script("patterns", "tools-0", 1, { input = "five %d" }) },
  { "facilitator", script("team", "tools-0", 1, { few = 1, many = 4 }) },
  { "start", start },
  { "durable turn", script("turns", "tools-20", 21, { store = true }) },
  { "resume", resume },
  { "serve request", function() return slope(20, 220, 1, served) end },
  { "mcp call", function() return slope(20, 420, 1, mcp) end },
  { "reload", function() return count(bed.build .. "/bench/bench_reload 200", { any_exit = true }) end },
}

-- What the wanted rows run: a commit of before a program was written is measured without that row.
local function programs(only)
  local out = "hocket"
  if not only or only:find "^chunk" then out = out .. " bench_chunks" end
  if not only or only == "reload" then out = out .. " bench_reload" end
  return out
end

local function measure(build, only)
  local seen = {}
  bed.build = build
  for _, row in ipairs(rows) do
    local name, run = table.unpack(row)
    if not only or only == name then
      io.stderr:write(("instructions: %s\n"):format(name))
      seen[name] = run()
    end
  end
  return seen
end

-- Rows that may rise, with the reasons that commits since the base state.
local function excused(base)
  local out = {}
  for row, reason in output(("git -C %s log --format=%%B %s..HEAD"):format(quote(root), base)):gmatch "Slower: ([^:\n]+): ([^\n]+)" do out[row] = reason end
  return out
end

local function report(before, after, excuses)
  local failed = 0
  for _, row in ipairs(rows) do
    local name = row[1]
    local old, new = before[name], after[name]
    if old then
      local ratio = new / old
      local verdict = ratio <= LIMIT and "ok" or excuses[name] or "FAILED: more than 3 % dearer"
      if ratio > LIMIT and not excuses[name] then failed = failed + 1 end
      print(("%-24s %14.0f %14.0f  %.3f  %s"):format(name, old, new, ratio, verdict))
    end
  end
  return failed
end

-- The numbers of one commit, a line for each row.
local function show(seen)
  for _, row in ipairs(rows) do
    if seen[row[1]] then print(("%s %.0f"):format(row[1], seen[row[1]])) end
  end
  return 0
end

-- ---- main --------------------------------------------------------------------------------------

local options = {}
for i = 1, #arg, 2 do options[arg[i]] = arg[i + 1] end
for name in pairs(options) do
  if name ~= "--base" and name ~= "--only" and name ~= "--at" then error("instructions: unknown option " .. name, 0) end
end

local function older_than(age)
  return (output(("git -C %s rev-list -1 --before='%s ago' HEAD 2>/dev/null"):format(quote(root), age)))
end

-- The commits to measure against, without those that a clone does not have.
local function bases()
  if options["--base"] then return { options["--base"] } end
  local out = {}
  for _, age in ipairs { "4 hours", "7 days" } do
    local commit = older_than(age)
    if commit == "" then print(("instructions: skipped: no commit is older than %s"):format(age)) end
    if commit ~= "" and commit ~= out[1] then out[#out + 1] = commit end
  end
  return out
end

local function against(base, head, only)
  local before = measure(beside.build(root, base, programs(only)), only)
  print(("instructions of one unit: base %s, head, ratio"):format(output(("git -C %s rev-parse --short %s"):format(quote(root), base))))
  return report(before, head, excused(base))
end

local function run(only)
  if options["--at"] then return show(measure(beside.build(root, options["--at"], programs(only)), only)) end
  local failed, found = 0, bases()
  local head = #found > 0 and measure(root .. "/build", only)
  for _, base in ipairs(found) do failed = failed + against(base, head, only) end
  return failed
end

local function main()
  if not os.execute "command -v valgrind >/dev/null" then return print "instructions: skipped: valgrind is not installed" end
  bed.tmp = output "mktemp -d"
  must(("mkdir -p %s/agents"):format(bed.tmp))
  local mock = output(("%s/build/bench/bench_mock >%s/port & echo $!"):format(quote(root), bed.tmp))
  repeat bed.port = tonumber((output(("head -1 %s/port"):format(bed.tmp)))) until bed.port
  local ok, result = pcall(run, options["--only"])
  beside.remove(root)
  os.execute(("kill %s; rm -rf %s"):format(mock, bed.tmp))
  if not ok then error(result, 0) end
  os.exit(result == 0 and 0 or 1)
end

main()
