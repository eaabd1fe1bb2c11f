local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local fs = require "hocket.fs"
local process = require "hocket.process"

local function run(level, dir, command, more)
  local spec = {
    argv = { "/bin/sh", "-c", command }, env = { "PATH=/usr/bin:/bin" }, cwd = dir.path,
    writable = { dir.path }, sandbox = level, timeout = 20, grace = 0.3,
  }
  for key, value in pairs(more or {}) do spec[key] = value end
  return process.run(spec)
end

-- A machine may refuse the stronger levels (no user namespaces, an old kernel); the weakest is
-- there always.
local levels = {}
local unguarded = {} -- level -> the machine gives it no mount namespace
do
  local dir <close> = t.dir()
  for _, level in ipairs { "limits", "landlock", "bubblewrap" } do
    local result, err = run(level, dir, "true")
    if result then
      levels[#levels + 1] = level
      unguarded[level] = result.unguarded
    else
      print(("  skipped: the level %s (%s)"):format(level, err.message))
      t.equal(err.code, "unsupported")
    end
  end
end

-- What to sleep, so that nobody else on this machine sleeps for as long.
local function long(seconds)
  return ("sleep %d.%d"):format(seconds, math.random(1 << 40))
end

-- Whether a process with these words in its command line is left on this machine.
local function is_running(words)
  for _, name in ipairs(fs.list "/proc") do
    local line = name:find "^%d" and fs.read("/proc/" .. name .. "cmdline")
    if line and line:gsub("%z", " "):find(words, 1, true) then return true end
  end
  return false
end

for _, level in ipairs(levels) do
  local function test(name, fn)
    t.test(level .. ": " .. name, function()
      local dir <close> = t.dir()
      fn(dir)
    end)
  end

  test("outputs and exit code", function(dir)
    local result = assert(run(level, dir, "echo out; echo err >&2; exit 3"))
    t.equal(result.code, 3)
    t.equal(result.stdout, "out\n")
    t.equal(result.stderr, "err\n")
    t.equal(result.signal, nil)
    t.equal(result.timed_out, false)
  end)

  test("a signal is told by its name", function(dir)
    local result = assert(run(level, dir, "kill -SEGV $$"))
    t.equal(result.signal, "SEGV")
    t.equal(result.code, nil)
  end)

  test("standard input, and none", function(dir)
    local text = ("0123456789\n"):rep(50000)
    t.equal(assert(run(level, dir, "cat | wc -c", { input = text })).stdout, "550000\n")
    t.equal(assert(run(level, dir, "cat; echo end")).stdout, "end\n")
  end)

  test("head and tail of an output are kept", function(dir)
    local result = assert(run(level, dir, "seq 1 100000", { head = 10, tail = 6 }))
    t.equal(result.stdout, "1\n2\n3\n4\n5\n")
    t.equal(result.stdout_tail, "00000\n")
    t.equal(result.stdout_omitted, 588895 - 16)
  end)

  test("a flood is taken in and left out", function(dir)
    local result = assert(run(level, dir, "head -c 50000000 /dev/zero", { head = 1000, tail = 1000 }))
    t.equal(result.stdout_omitted, 50000000 - 2000)
  end)

  test("time is over", function(dir)
    local from = fiber.now()
    local result = assert(run(level, dir, "sleep 77", { timeout = 0.2 }))
    t.equal(result.timed_out, true)
    t.equal(result.signal, "TERM")
    t.ok(fiber.now() - from < 5)
  end)

  test("a wake that was meant for another wait does not take the time away", function(dir)
    fiber.self():wake()
    t.equal(assert(run(level, dir, "sleep 5", { timeout = 0.2 })).timed_out, true)
    flow.timeout(0.01, function() flow.sleep(100) end)
    t.equal(assert(run(level, dir, "sleep 5", { timeout = 0.2 })).timed_out, true)
    local program <close> = assert(process.open { argv = { "/bin/sh", "-c", "sleep 5" }, cwd = dir.path, sandbox = level })
    fiber.self():wake()
    t.equal(program:wait(0.1), nil)
    t.equal(program:wait(0), nil)
    program:stop()
  end)

  test("what ignores SIGTERM, with what it started", function(dir)
    local one, other = long(7111), long(7112)
    local result = assert(run(level, dir, ("trap '' TERM; setsid %s & %s"):format(one, other), { timeout = 0.2 }))
    t.equal(result.signal, "KILL")
    t.ok(not is_running(one))
    t.ok(not is_running(other))
  end)

  test("daemons end with the program", function(dir)
    local daemon = long(7211)
    local result = assert(run(level, dir, ("setsid sh -c 'exec %s' >/dev/null 2>&1 </dev/null & sleep 0.1"):format(daemon)))
    t.equal(result.code, 0)
    if level ~= "bubblewrap" then t.equal(result.left_behind, 1) end
    t.ok(not is_running(daemon))
  end)

  test("a cancelled wait kills", function(dir)
    local command = long(7311)
    local one = flow.spawn(function() run(level, dir, command) end)
    t.eventually(function() return is_running(command) end)
    one:cancel()
    t.eventually(function() return not is_running(command) end)
  end)

  -- It ends by itself: a kernel that does not help (root without a control group) is no match for
  -- what forks for ever, and neither is the machine of whoever runs this. For other users the kernel
  -- counts, and the program is what is told.
  test("too many processes", function(dir)
    local tree = "f() { [ $1 -gt 0 ] || { sleep 5; return; }; f $(($1-1)) & f $(($1-1)) & wait; }; f 8"
    local from = fiber.now()
    local result = assert(run(level, dir, tree, { processes = 40 }))
    t.ok(result.limit == "processes" or result.stderr:find "[Cc]annot fork", result.stderr)
    t.ok(fiber.now() - from < 10)
  end)

  test("processes below each other, too deep to be counted", function(dir)
    local chain = "f() { [ $1 -gt 0 ] || { sleep 5; return; }; (f $(($1-1)); :); }; f 120"
    t.equal(assert(run(level, dir, chain, { processes = 1000 })).limit, "processes")
  end)

  test("memory", function(dir)
    local result = assert(run(level, dir, "dd if=/dev/zero of=/dev/null bs=200M count=1", { memory = 50000000 }))
    t.ok(result.code ~= 0)
    t.has(result.stderr, "memory")
  end)

  test("the size of files", function(dir)
    local result = assert(run(level, dir, "head -c 100000 /dev/zero > f", { file_size = 1000 }))
    t.ok(result.code ~= 0)
    t.equal(fs.info(dir.path .. "/f").size, 1000)
  end)

  test("what all of it writes", function(dir)
    local many = "for i in 1 2 3 4 5 6 7 8 9; do head -c 20000000 /dev/zero > f$i & done; wait; sleep 5"
    local result = assert(run(level, dir, many, { written = 50000000 }))
    t.equal(result.limit, "written")
    t.equal(assert(run(level, dir, many:gsub("sleep 5", "echo done"), { written = 1 << 40 })).stdout, "done\n")
  end)

  test("CPU time", function(dir)
    local result = assert(run(level, dir, "while :; do :; done", { cpu = 1 }))
    t.ok(result.signal == "XCPU" or result.signal == "KILL", result.signal)
  end)

  test("the environment is what it is given", function(dir)
    local result = assert(run(level, dir, "env", { env = { "PATH=/usr/bin:/bin", "A=b c" } }))
    t.has(result.stdout, "A=b c\n")
    t.lacks(result.stdout, "HOCKET")
    for name in result.stdout:gmatch "([%w_]+)=" do
      t.ok(({ PATH = 1, A = 1, HOME = 1, TMPDIR = 1, PWD = 1, OLDPWD = 1, SHLVL = 1, _ = 1 })[name], name)
    end
  end)

  test("no descriptor is inherited", function(dir)
    local result = assert(run(level, dir, "ls /proc/self/fd | tr '\\n' ' '"))
    t.equal(result.stdout, "0 1 2 3 ") -- 3 is the directory that ls reads
  end)

  test("no terminal", function(dir)
    t.equal(assert(run(level, dir, "true </dev/tty")).code == 0, false)
  end)

  test("a closed output", function(dir)
    local result = assert(run(level, dir, "exec >&- 2>&-; sleep 0.1; exit 4"))
    t.equal(result.code, 4)
  end)

  test("scratch space is gone afterwards", function(dir)
    if level == "limits" then
      local homes = { ["HOME=/my/home"] = "/my/home\n", ["HOME=/tmp"] = "/tmp/hocket-" }
      for home, is in pairs(homes) do
        t.has(assert(run(level, dir, "echo $HOME", { env = { "PATH=/usr/bin:/bin", home } })).stdout, is)
      end
    end
    local result = assert(run(level, dir, "pwd; touch x; mkdir -p a/b; ln -s / l; echo $HOME", { cwd = "/tmp" }))
    local cwd, home = result.stdout:match "^(.-)\n(.-)\n$"
    if level ~= "bubblewrap" then
      t.equal(home, cwd)
      t.equal(fs.info(cwd), nil)
    end
  end)

  test("its directory can be written", function(dir)
    t.equal(assert(run(level, dir, "echo x > f && cat f")).stdout, "x\n")
    t.equal(fs.read(dir.path .. "/f"), "x\n")
  end)

  if level ~= "limits" then
    test("memory that nobody would count, and objects that would stay", function(dir)
      local command = [[touch /new /dev/new; df -k /dev/shm /tmp 2>/dev/null | awk 'NR > 1 && $2 > 300000 { print "large" }'
        ipcmk -M 4096 >/dev/null 2>&1 && echo segment
        python3 -c 'import os; os.memfd_create("x"); print("memfd")' 2>/dev/null; true]]
      local result = assert(run(level, dir, command))
      if level == "bubblewrap" then
        t.equal(result.stdout, "segment\n") -- in a namespace of its own, which ends with it
      else
        t.lacks(result.stdout, "segment")
      end
      t.lacks(result.stdout, "memfd")
      t.equal(fs.info "/new", nil)
      t.has(result.stderr, "/dev/new")
    end)

    test("files outside are out of reach", function(dir)
      local other <close> = t.dir()
      local secret = other:write("secret", "geheim")
      local result = assert(run(level, dir, ("cat %s; echo y > %s; cat /etc/shadow; touch /usr/x; ls %s"):format(secret, secret, other.path)))
      t.equal(result.stdout, "")
      t.ok(result.code ~= 0)
      t.equal(fs.read(secret), "geheim")
      t.equal(assert(run(level, dir, "cat " .. secret, { readable = { other.path } })).stdout, "geheim")
      t.ok(assert(run(level, dir, "echo y > " .. secret, { readable = { other.path } })).code ~= 0)
    end)

    test("links that lead outside", function(dir)
      local other <close> = t.dir()
      local secret = other:write("secret", "geheim")
      local result = assert(run(level, dir, ("ln -s %s l; cat l; ln %s h; cat h"):format(secret, secret)))
      t.lacks(result.stdout, "geheim")
    end)

    test("no other process can be read", function(dir)
      local pid = fs.read("/proc/self/stat"):match "^%d+"
      local result = assert(run(level, dir, ("cat /proc/%s/environ /proc/%s/maps; ls /proc/%s/root/"):format(pid, pid, pid)))
      t.equal(result.stdout, "")
    end)

    -- Root owns these files, with capabilities or without.
    test("the kernel cannot be set up, and there are no capabilities", function(dir)
      local command = [[for f in $(find /proc -path '/proc/[0-9]*' -prune -o -type f -print 2>/dev/null) /proc/self/oom_score_adj; do
          if (: >> $f) 2>/dev/null; then echo "open: $f"; fi
        done
        for f in kernel/core_pattern kernel/hostname fs/suid_dumpable; do
          cat /proc/sys/$f | (tee /proc/sys/$f) >/dev/null 2>&1 && echo "written: $f"
        done
        awk '/^Cap(Inh|Prm|Eff|Amb)/ && $2 !~ /^0+$/' /proc/self/status
        test -r /proc/sys/kernel/core_pattern && test -r /proc/self/status && echo readable > /dev/stdout]]
      t.equal(assert(run(level, dir, command)).stdout, "readable\n")
    end)

    test("sockets of families that nothing needs, and of the machine's own", function(dir)
      local command = [[python3 -c 'import socket
for name in "INET INET6 UNIX NETLINK PACKET VSOCK ALG KEY CAN BLUETOOTH TIPC".split():
    family = getattr(socket, "AF_" + name, None)
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try: socket.socket(family, kind) if family else 0
        except OSError: continue
        if family: print(name, int(kind))
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    try: socket.socketpair(socket.AF_UNIX, kind); print("pair", int(kind))
    except OSError: pass']]
      local function made(more)
        local result = assert(run(level, dir, command, more))
        t.equal(result.code, 0, result.stderr)
        return result.stdout
      end
      local inner = level == "bubblewrap" and "INET 1\nINET 2\nINET6 1\nINET6 2\n" or "" -- in a network of its own
      t.equal(made(), inner .. "pair 1\npair 5\n")
      t.equal(made { network = true }, "INET 1\nINET 2\nINET6 1\nINET6 2\npair 1\npair 5\n")
      t.equal(made { sockets = true }, inner .. "UNIX 1\nUNIX 2\nUNIX 3\nUNIX 5\npair 1\npair 2\npair 5\n")
    end)

    test("no file runs as somebody else afterwards", function(dir)
      local command = [[cp /bin/true a; cp /bin/true b; chmod u+s a; chmod 2755 b; chmod 7777 a b; install -m 4755 /bin/true c; mkdir -m 6755 d
        python3 -c 'import os
for call in ("os.open(\"e\", os.O_CREAT | os.O_WRONLY, 0o6755)", "os.mknod(\"f\", 0o106755)", "os.fchmod(os.open(\"a\", os.O_RDONLY), 0o6755)"):
    try: eval(call)
    except OSError: pass'
        chmod 1755 a; touch g; find . -perm /6000; ls a b g]]
      t.equal(assert(run(level, dir, command)).stdout, "a\nb\ng\n")
    end)

    -- Where there is no mount namespace to be had (a chroot, most containers), Landlock alone knows nothing of modes.
    if unguarded[level] then print(("  skipped: modes outside and /tmp as memory at the level %s (no mount namespaces here)"):format(level)) end
    test("modes and times of files outside", function(dir)
      if unguarded[level] then return end
      local other <close> = t.dir()
      local secret = other:write("secret", "geheim")
      os.execute("chmod 600 " .. secret)
      local before = fs.info(secret)
      run(level, dir, ("chmod 666 %s; touch -d 2001-01-01 %s; chmod 777 %s"):format(secret, secret, other.path))
      run(level, dir, ("chmod 666 %s; touch -d 2001-01-01 %s"):format(secret, secret), { readable = { other.path } })
      t.same(fs.info(secret), before)
    end)

    test("scratch space is memory, and not without end", function(dir)
      if unguarded[level] then return end
      local result = assert(run(level, dir, "head -c 300000000 /dev/zero > f; stat -c %s f; touch g", { cwd = "/tmp" }))
      t.ok(tonumber(result.stdout) <= 1 << 28)
      t.has(result.stderr, "No space left")
    end)

    test("no network", function(dir)
      local server = assert(require("hocket.internal.core.server").new { port = 0 })
      local touched = false
      local one = flow.spawn(function()
        while server:accept() do touched = true end
      end)
      local command = ("exec 3<>/dev/tcp/127.0.0.1/%d && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3"):format(server:port())
      local result = assert(run(level, dir, "", { argv = { "/bin/bash", "-c", command } }))
      t.ok(result.code ~= 0)
      result = assert(run(level, dir, "", { argv = { "/bin/bash", "-c", command }, network = true }))
      t.equal(result.code, 0)
      t.eventually(function() return touched end)
      server:close()
      one:wait()
    end)
  end
end

t.test("a program that is not there", function()
  local dir <close> = t.dir()
  t.fails("not_found", "/no/such", process.run { argv = { "/no/such" }, cwd = dir.path, sandbox = "limits" })
  t.fails("not_found", "work in /no/dir", process.run { argv = { "/bin/true" }, cwd = "/no/dir", sandbox = "limits" })
end)

t.test("a launcher that is not there, or is none", function()
  local function with(launcher)
    return process.run { argv = { "/bin/true" }, cwd = "/", sandbox = "limits", launcher = launcher }
  end
  t.fails("not_found", "/no/launcher", with "/no/launcher")
  t.fails("unsupported", "without a word", with "/bin/true")
end)

t.test("the end of the process that launchers come from disturbs nobody", function()
  local dir <close> = t.dir()
  local nursery = "$(awk '{ print $4 }' /proc/$PPID/stat)"
  local before = assert(run("limits", dir, "echo " .. nursery)).stdout
  t.equal(assert(run("limits", dir, "echo " .. nursery)).stdout, before, "one for all programs")
  local killing = assert(run("limits", dir, "kill -KILL " .. nursery .. " && sleep 0.1 && echo done"))
  t.equal(killing.stdout, "done\n")
  local after = assert(run("limits", dir, "echo " .. nursery)).stdout
  t.ok(after:find "^%d+\n$" and after ~= before, "a new one")
end)

t.test("misuse is told", function()
  t.raises("argv", process.run, { cwd = "/", sandbox = "limits" })
  t.raises("absolute", process.run, { argv = { "x" }, cwd = "here", sandbox = "limits" })
  t.raises("sandbox", process.run, { argv = { "x" }, cwd = "/", sandbox = "steel" })
  t.raises("NUL", process.run, { argv = { "a\0b" }, cwd = "/", sandbox = "limits" })
  t.raises("unknown option", process.run, { argv = { "x" }, cwd = "/", sandbox = "limits", colour = 1 })
  t.fails("limit", "larger", process.run { argv = { "/bin/echo", ("x"):rep(5 << 20) }, cwd = "/", sandbox = "limits" })
end)

t.test("many at once", function()
  local dir <close> = t.dir()
  local numbers = {}
  for i = 1, 50 do numbers[i] = i end
  flow.map(numbers, function(i)
    t.equal(assert(run(levels[#levels], dir, "echo " .. i)).stdout, i .. "\n")
  end, { limit = 10 })
end)

t.test("the plain Lua of models", function()
  local dir <close> = t.dir()
  local function lua(text)
    return assert(process.run {
      argv = { process.launcher(), "--hocket-lua" }, input = text, cwd = dir.path, sandbox = levels[#levels],
      readable = { process.launcher(), dir.path }, env = { "PATH=/usr/bin" }, timeout = 10,
    })
  end
  t.equal(lua("print(1 + 1)").stdout, "2\n")
  local result = lua("local x = nil\nprint(x.y)")
  t.equal(result.code, 1)
  t.has(result.stderr, "script:2: attempt to index")
  t.has(lua("x x").stderr, "script:1: syntax error")
  t.has(lua("print(require 'hocket')").stderr, "module 'hocket' not found")
end)

return t.finish()
