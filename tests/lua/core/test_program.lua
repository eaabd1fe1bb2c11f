-- hocket.process.open: programs that are talked with.
local t = require "harness"
local flow = require "hocket.flow"
local fs = require "hocket.fs"
local process = require "hocket.process"

local function open(command, more)
  local spec = { argv = { "/bin/sh", "-c", command }, env = { "PATH=/usr/bin:/bin" }, cwd = "/tmp", sandbox = "limits", grace = 0.3 }
  for key, value in pairs(more or {}) do spec[key] = value end
  return assert(process.open(spec))
end

-- Whether a process with these words in its command line is left on this machine.
local function is_running(words)
  for _, name in ipairs(fs.list "/proc") do
    local line = name:find "^%d" and fs.read("/proc/" .. name .. "cmdline")
    if line and line:gsub("%z", " "):find(words, 1, true) then return true end
  end
  return false
end

local function is_gone(words)
  for _ = 1, 200 do
    if not is_running(words) then return true end
    flow.sleep(0.02)
  end
  return false
end

-- What to sleep, so that nobody else on this machine sleeps for as long.
local function long()
  return ("sleep 100.%d"):format(math.random(1 << 40))
end

for _, level in ipairs { "limits", "landlock", "bubblewrap" } do
  local can = process.run { argv = { "/bin/true" }, cwd = "/", sandbox = level }
  if can then
    t.test(level .. ": line by line, there and back", function()
      local program <close> = open("exec cat", { sandbox = level })
      for i = 1, 100 do
        assert(program:write(i .. "\n"))
        t.equal(program:read_line(), tostring(i))
      end
      assert(program:write "two\r\n\nwithout an end")
      program:end_input()
      t.equal(program:read_line(), "two")
      t.equal(program:read_line(), "")
      t.equal(program:read_line(), "without an end")
      t.equal(program:read_line(), nil)
      t.equal(assert(program:wait()).code, 0)
    end)

    t.test(level .. ": it ends with whoever had it", function()
      local words = long()
      do local program <close> = open(words, { sandbox = level }) end
      t.ok(is_gone(words), "closed")
      words = long()
      local held = open("(setsid " .. words .. ") & exec " .. words, { sandbox = level })
      held = nil
      collectgarbage()
      collectgarbage()
      t.ok(is_gone(words), "collected, with what it started")
      words = long()
      local f = flow.spawn(function()
        local program <close> = open(words, { sandbox = level })
        program:read_line()
      end)
      flow.sleep(0.05)
      f:cancel()
      t.ok(is_gone(words), "cancelled")
    end)
  else
    print("  skipped: the level " .. level)
  end
end

t.test("much in both directions, by one reader and one writer", function()
  local program = open "exec cat"
  local line, n = ("x"):rep(5 << 20), 0
  local writer = flow.spawn(function()
    for _ = 1, 8 do assert(program:write(line .. "\n")) end
    program:end_input()
  end)
  for text in function() return program:read_line() end do n = n + #text end
  writer:wait()
  t.equal(n, 8 * #line)
  t.equal(program:wait().code, 0)
end)

t.test("whoever does not read holds it up, and loses nothing", function()
  local program = open "i=0; while [ $i -lt 40000 ]; do echo $i 0123456789012345678901234567890123456789012345678901234567890123456789; i=$((i+1)); done; echo end >&2"
  flow.sleep(0.3)
  t.equal((program:stderr()), "", "it waits")
  for i = 0, 39999 do t.ok(program:read_line():find("^" .. i .. " ")) end
  t.equal(program:read_line(), nil)
  t.equal((program:stderr()), "end\n")
end)

t.test("a line that is too long is left out, and the next one comes", function()
  local program <close> = open "printf 'abc\\n0123456789\\ndef\\n'; head -c 3000000 /dev/zero | tr '\\0' x; printf '\\nghi\\n'; head -c 100 /dev/zero"
  t.equal(program:read_line(5), "abc")
  t.fails("limit", "5 bytes", program:read_line(5))
  t.equal(program:read_line(5), "def")
  t.fails("limit", "1000 bytes", program:read_line(1000))
  t.equal(program:read_line(1000), "ghi")
  t.fails("limit", "50 bytes", program:read_line(50))
  t.equal(program:read_line(50), nil)
end)

t.test("a program that does not read, or has ended", function()
  local program <close> = open "exec 0<&-; echo closed; exec sleep 100"
  t.equal(program:read_line(), "closed")
  local refused
  for _ = 1, 100 do
    local ok, err = program:write "more\n"
    refused = err
    if not ok then break end
    flow.sleep(0.01)
  end
  t.equal(refused.code, "closed")
  local over = open "exit 3"
  t.equal(over:wait().code, 3)
  t.fails("closed", "", over:write "x")
  local deaf <close> = open "exec sleep 100"
  local f = flow.spawn(function() return deaf:write(("x"):rep(4 << 20)) end)
  flow.sleep(0.05)
  t.equal(f:status(), "waiting", "the writer waits, and the loop does not")
  t.fails("limit", "", deaf:write(("x"):rep(64 << 20)))
  deaf:close()
  f:wait()
end)

t.test("how it ends", function()
  local program = open "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
  t.equal(program:read_line(), "ready")
  t.equal(program:wait(0.05), nil, "not yet")
  program:stop()
  t.equal(program:read_line(), "bye")
  t.equal(program:wait().code, 7)
  t.equal(program:wait().code, 7, "asked again")
  local stubborn = open "trap '' TERM; echo ready; while :; do sleep 0.05; done"
  stubborn:read_line()
  stubborn:stop()
  t.equal(stubborn:wait().signal, "KILL")
  local empty <close> = t.dir()
  local absent = assert(process.open { argv = { empty.path .. "/absent" }, cwd = "/", sandbox = "limits" })
  t.equal(absent:read_line(), nil)
  t.fails("not_found", empty.path .. "/absent", absent:wait())
  local closed = open "exec sleep 100"
  closed:close()
  t.fails("closed", "", closed:wait())
end)

t.test("the last of its standard error", function()
  local program = open "i=0; while [ $i -lt 30000 ]; do echo line $i >&2; i=$((i+1)); done"
  program:wait()
  local text, before = program:stderr()
  t.equal(#text, 64 << 10)
  t.has(text, "line 29999\n")
  t.ok(before > 200000)
end)

t.test("two readers are one too many", function()
  local program <close> = open "exec sleep 100"
  local f = flow.spawn(function() return program:read_line() end)
  flow.sleep(0)
  t.raises("reads from this program", program.read_line, program)
  f:cancel()
end)

t.test("a thousand, and nothing is left of them", function()
  local function descriptors() return #fs.list "/proc/self/fd" end
  open("exec true"):wait()
  local before = descriptors()
  for _ = 1, tonumber(os.getenv "HOCKET_TEST_MANY" or "100") do
    local program <close> = open "exec cat"
    assert(program:write "x\n")
    t.equal(program:read_line(), "x")
  end
  flow.sleep(0.05)
  collectgarbage()
  t.equal(descriptors(), before)
end)

return t.finish()
