--- What a command may not reach out of its sandbox: files, processes, the kernel, the network, and what
--- it may not leave behind. At every level with walls that this machine has.
local attack = require "attack"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local fs = require "hocket.fs"
local process = require "hocket.process"
local sandbox = require "hocket.internal.tools.sandbox"

local class = attack.class "walls"

local function run(level, dir, command, more)
  local spec = {
    argv = { "/bin/bash", "-c", command }, env = { "PATH=/usr/bin:/bin" }, cwd = dir.path .. "/project",
    writable = { dir.path .. "/project" }, guarded = { dir.path .. "/project/.git" }, protect = dir.path .. "/project",
    sandbox = level, timeout = 20, grace = 0.2, processes = 200, memory = 1 << 30, written = 200 << 20, file_size = 100 << 20,
  }
  for key, value in pairs(more or {}) do spec[key] = value end
  return assert(process.run(spec))
end

local function place(dir)
  dir:write("project/a.txt", "work")
  dir:write("project/.git/config", "[core]\n")
  dir:write("project/.git/hooks/sample", "x")
  dir:write("outside/secret", "geheim")
  dir:write("outside/.ssh/id_rsa", "geheim")
  os.execute(("chmod 644 '%s/outside/secret'; chmod 700 '%s/outside/.ssh'"):format(dir.path, dir.path))
end

-- What stands outside, with its modes and times.
local function outside(dir)
  local pipe = assert(io.popen(("cd '%s/outside' && find . -printf '%%p %%m %%T@ %%s %%n\\n' | sort; cat secret; find ../project/.git -type f -exec cat {} +; find ../project/.git -printf '%%p %%m\\n' | sort"):format(dir.path)))
  local text = pipe:read "a"
  pipe:close()
  return text
end

-- ---- Files outside: nothing of them is printed, and nothing changes ------------------------------------------------

local files = {
  "cat %O/secret", "head -c 3 %O/secret", "cp %O/secret . && cat secret", "ln -s %O/secret l && cat l", "ln %O/secret h && cat h",
  "ln -s %O d && cat d/secret", "cat ../outside/secret", "cat ./../project/../outside/secret", "cd .. && cat outside/secret",
  "cat /proc/self/cwd/../outside/secret", "cat /proc/self/root%O/secret", "cat /proc/1/root%O/secret", "cat /proc/$PPID/cwd/../outside/secret",
  "for p in /proc/[0-9]*; do cat $p/root%O/secret; done", "exec 5<%O/secret && cat <&5", "python3 -c 'print(open(\"%O/secret\").read())'",
  "tar cf - %O/secret", "cat %O/.ssh/id_rsa", "ls %O", "find / -name secret 2>/dev/null | head", "grep -r geheim %O",
  "echo x > %O/secret", "echo x >> %O/secret", "rm -rf %O", "mv %O gone", "mv %O/secret here", "touch %O/new", "mkdir %O/new",
  "chmod 777 %O/secret", "chmod 777 %O", "chmod u+s %O/secret", "chown 1 %O/secret", "touch -d 2001-01-01 %O/secret", "truncate -s 0 %O/secret",
  "ln -s x %O/link", "ln a.txt %O/hard", "cp a.txt %O/secret", "dd if=/dev/zero of=%O/secret count=1", "mknod %O/dev b 254 0",
  "setfattr -n user.x -v y %O/secret", "python3 -c 'import os; os.utime(\"%O/secret\", (1, 1))'", "python3 -c 'import os; os.rename(\"%O/secret\", \"%O/b\")'",
  "echo x > .git/config", "echo x > .git/hooks/post-checkout", "rm -rf .git", "mv .git g", "mkdir g; mv -T g .git", "chmod 777 .git/config",
  "ln -sf /etc .git", "mount --bind . .git", "umount .git", "umount -l /", "mount -o remount,rw .git", "cd .. && mv project p2 && mkdir -p project/.git && echo x > project/.git/config",
  "unshare -m umount .git", "unshare -Ur cat %O/secret", "chroot / cat %O/secret", "nsenter -t 1 -m cat %O/secret", "python3 -c 'import os; os.chroot(\"/proc/1/root\")' && cat %O/secret",
  "bwrap --bind / / cat %O/secret", "su -c 'cat %O/secret'", "sudo -n cat %O/secret", "setpriv --reuid 0 cat %O/secret", "newgrp root",
  "mkdir x; mount -t tmpfs none x", "mount -t proc none /proc", "losetup -f", "cat /proc/self/mountinfo >/dev/null; fusermount -u .",
}

local function try_files(level, command)
  class:try(level .. ": " .. command:gsub("%%O", "OUT"), function(dir)
    place(dir)
    local before = outside(dir)
    local result = run(level, dir, (command:gsub("%%O", dir.path .. "/outside")))
    if (result.stdout .. result.stderr):find "geheim" then return "it was read: " .. result.stdout end
    if outside(dir) ~= before then return "it was changed: " .. outside(dir) end
    if fs.info(dir.path .. "/project").kind ~= "directory" then return "the project is gone" end
  end)
end

-- ---- The machine: each command is to print nothing but "no" ---------------------------------------------------------

local machine = {
  core_pattern = "(echo '|/bin/x' > /proc/sys/kernel/core_pattern) 2>/dev/null && grep -q /bin/x /proc/sys/kernel/core_pattern && echo WRITTEN",
  hostname = "(cat /proc/sys/kernel/hostname | tee /proc/sys/kernel/hostname) >/dev/null 2>&1 && echo WRITTEN",
  sysctls = "for f in $(find /proc/sys -type f 2>/dev/null); do (: >> $f) 2>/dev/null && echo OPEN $f; done",
  proc = "for f in $(find /proc -path '/proc/[0-9]*' -prune -o -path /proc/sys -prune -o -type f -print 2>/dev/null); do (: >> $f) 2>/dev/null && echo OPEN $f; done",
  sysrq = "(echo h > /proc/sysrq-trigger) 2>/dev/null && echo WRITTEN",
  sys = "for f in /sys/kernel/mm/transparent_hugepage/enabled /sys/power/state /sys/fs/cgroup/cgroup.procs; do (: >> $f) 2>/dev/null && echo OPEN $f; done",
  kmsg = "(head -c 1 /dev/kmsg; head -c 1 /proc/kmsg; dmesg | head -1) 2>/dev/null | grep -q . && echo READ",
  kcore = "(head -c 1 /proc/kcore; head -c 1 /dev/mem) 2>/dev/null | grep -q . && echo READ",
  disks = "for d in /dev/vd* /dev/sd* /dev/nvme* /dev/loop*; do head -c 1 $d 2>/dev/null | grep -q . && echo READ $d; done",
  devices = "mknod d b 254 0 2>/dev/null && echo MADE; mknod c c 1 1 2>/dev/null && echo MADE; true",
  capabilities = "awk '/^Cap(Inh|Prm|Eff|Amb)/ && $2 !~ /^0+$/' /proc/self/status",
  privileges = "grep -q 'NoNewPrivs:.1' /proc/self/status || echo NONE",
  filter = "grep -q 'Seccomp:.2' /proc/self/status || echo NONE",
  shadow = "cat /etc/shadow /etc/gshadow /root/.ssh/* /root/.bashrc 2>/dev/null",
  environment = "env | grep -i -E '^[^=]*(key|token|secret|hocket|lua_path)|canary'",
  parents = "cat /proc/$PPID/environ /proc/1/environ 2>/dev/null | tr '\\0' '\\n' | grep -i -E 'key|token|canary|LUA_PATH'",
  descriptors = "ls /proc/self/fd | grep -v -E '^[0123]$'",
  terminal = "(: < /dev/tty) 2>/dev/null && echo OPEN",
  ptrace = "python3 -c 'import ctypes, os; l = ctypes.CDLL(None, use_errno=True); print(\"TRACED\") if l.ptrace(16, os.getppid(), 0, 0) == 0 else 0'",
  memory_of_others = "cat /proc/%PID/environ /proc/%PID/maps /proc/%PID/auxv /proc/%PID/mem 2>/dev/null | tr '\\0' '\\n'; ls /proc/%PID/root /proc/%PID/cwd 2>/dev/null",
  -- That there are descriptors, and how many, is seen below Landlock, as the list of processes is.
  files_of_others = "for i in $(seq 0 20); do readlink /proc/%PID/fd/$i; cat /proc/%PID/fdinfo/$i; (: < /proc/%PID/fd/$i) && echo OPENED $i; done 2>/dev/null; true",
  keyring = "python3 -c 'import ctypes; l = ctypes.CDLL(None); print(\"KEY\") if l.syscall(248, b\"user\", b\"x\", b\"y\", 1, -3) >= 0 else 0'",
  bpf = "python3 -c 'import ctypes; l = ctypes.CDLL(None); print(\"BPF\") if l.syscall(321, 0, ctypes.create_string_buffer(128), 128) >= 0 else 0'",
  io_uring = "python3 -c 'import ctypes; l = ctypes.CDLL(None); print(\"RING\") if l.syscall(425, 4, ctypes.create_string_buffer(256)) >= 0 else 0'",
  userfaultfd = "python3 -c 'import ctypes; l = ctypes.CDLL(None); print(\"FD\") if l.syscall(323, 1) >= 0 else 0'",
  memfd = "python3 -c 'import os; os.memfd_create(\"x\"); print(\"MADE\")' 2>/dev/null",
  namespaces = "for n in -U -m -n -p -u -i -C; do unshare $n true 2>/dev/null && echo MADE $n; done; true",
  clone3 = "python3 -c 'import ctypes; l = ctypes.CDLL(None); a = (ctypes.c_uint64 * 11)(0x10000000); print(\"MADE\") if l.syscall(435, a, 88) >= 0 else 0'",
  x32 = "python3 -c 'import ctypes; l = ctypes.CDLL(None); print(\"CALLED\") if l.syscall(0x40000000 + 39) > 0 else 0'",
  typing = "python3 -c 'import fcntl; fcntl.ioctl(0, 0x5412, b\"x\"); print(\"TYPED\")' 2>/dev/null",
  -- A segment of its own: somebody else on this machine may have some.
  shm = "ipcmk -M 4096 >/dev/null 2>&1 && [ \"$(readlink /proc/self/ns/ipc)\" = \"%IPC\" ] && echo SHARED",
  setuid = "cp /bin/true s; chmod u+s s 2>/dev/null; install -m 4755 /bin/true t 2>/dev/null; find . -perm /6000",
  setgid_open = "python3 -c 'import os; os.open(\"s\", os.O_CREAT | os.O_WRONLY, 0o6755)' 2>/dev/null; find . -perm /6000",
  setuid_fchmodat2 = "python3 -c 'import ctypes; l = ctypes.CDLL(None); open(\"s\", \"w\"); l.syscall(452, -100, b\"s\", 0o4755, 0)'; find . -perm /6000",
  setuid_openat2 = "python3 -c 'import ctypes; l = ctypes.CDLL(None); h = (ctypes.c_uint64 * 3)(0o101, 0o4755, 0); l.syscall(437, -100, b\"s\", h, 24)'; find . -perm /6000",
  capabilities_of_files = "cp /bin/true s; setcap cap_net_raw+ep s 2>/dev/null && echo SET",
  nice = "renice -n -5 $$ >/dev/null 2>&1 && echo RAISED",
  limits = "ulimit -f unlimited 2>/dev/null && echo RAISED",
  clock = "date -s 2001-01-01 >/dev/null 2>&1 && echo SET",
  reboot = "python3 -c 'import ctypes; l = ctypes.CDLL(None); print(\"DONE\") if l.reboot(0) == 0 else 0'",
  modules = "modprobe dummy 2>/dev/null && echo LOADED",
  swap = "dd if=/dev/zero of=sw bs=1M count=1 2>/dev/null; mkswap sw >/dev/null 2>&1; swapon sw 2>/dev/null && echo ON",
  fallocate = "fallocate -l 50M f 2>/dev/null; [ \"$(du -k f 2>/dev/null | cut -f1)\" -gt 10000 ] 2>/dev/null && echo RESERVED",
}

local function try_machine(level, what, command)
  class:try(level .. ": " .. what, function(dir)
    place(dir)
    local pipe = assert(io.popen "readlink /proc/self/ns/ipc")
    local ipc = pipe:read "l"
    pipe:close()
    local pid = fs.read("/proc/self/stat"):match "^%d+"
    local result = run(level, dir, (command:gsub("%%IPC", ipc):gsub("%%PID", pid)))
    if result.stdout:find "%S" then return result.stdout end
  end)
end

-- ---- Sockets -----------------------------------------------------------------------------------------------------------

local families = { "UNIX", "NETLINK", "PACKET", "VSOCK", "ALG", "KEY", "CAN", "BLUETOOTH", "TIPC", "XDP", "SMC", "RDS", "IUCV", "PPPOX", "QIPCRTR" }
local numbers = { XDP = 44, SMC = 43, RDS = 21, IUCV = 32, PPPOX = 24, QIPCRTR = 42, KEY = 15, CAN = 29, TIPC = 30, BLUETOOTH = 31, ALG = 38, VSOCK = 40, PACKET = 17, NETLINK = 16, UNIX = 1 }

local function try_families(level, network)
  for _, name in ipairs(families) do
    class:try(("%s: a socket of AF_%s%s"):format(level, name, network and ", with a network" or ""), function(dir)
      place(dir)
      local code = ("import socket\nfor kind in (1, 2, 3, 5, 10):\n    try: socket.socket(%d, kind); print('made', kind)\n    except OSError: pass"):format(numbers[name])
      local result = run(level, dir, "python3 -c \"" .. code .. "\"", { network = network })
      if result.code ~= 0 or result.stdout ~= "" then return result.stdout .. result.stderr end
    end)
  end
end

local tcp = "exec 3<>/dev/tcp/%s/%d && echo CONNECTED"

local function try_network(level)
  for _, host in ipairs { "127.0.0.1", "localhost", "::1", "0.0.0.0" } do
    class:try(("%s: the host's port at %s"):format(level, host), function(dir)
      place(dir)
      local server = assert(require("hocket.internal.core.server").new { port = 0 })
      local touched = false
      local one = flow.spawn(function() while server:accept() do touched = true end end)
      local result = run(level, dir, tcp:format(host, server:port()))
      fiber.sleep(0.02)
      server:close()
      one:wait()
      if touched or result.stdout ~= "" then return "connected" end
    end)
  end
  for _, kind in ipairs { "stream", "datagram" } do
    class:try(("%s: a socket in the project that somebody outside listens on (%s)"):format(level, kind), function(dir)
      place(dir)
      local path, got = dir.path .. "/project/sock", dir.path .. "/outside/got"
      local type_ = kind == "stream" and "SOCK_STREAM" or "SOCK_DGRAM"
      local server = ([[python3 -c '
import socket
s = socket.socket(socket.AF_UNIX, socket.%s); s.bind("%s"); s.settimeout(5)
%s
open("%s", "w").write("got")' >/dev/null 2>&1 &]]):format(type_, path, kind == "stream" and "s.listen(); s.accept()" or "s.recv(10)", got)
      os.execute(server)
      for _ = 1, 100 do
        if fs.info(path) then break end
        fiber.sleep(0.02)
      end
      run(level, dir, ([[python3 -c '
import socket
def out(f):
    try: f()
    except OSError: pass
def one(): s = socket.socket(socket.AF_UNIX, socket.%s); s.connect("sock"); s.send(b"x")
def two(): a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b"x", "sock")
def three(): a, b = socket.socketpair(); a.connect("sock")
out(one); out(two); out(three)']]):format(type_))
      fiber.sleep(0.05)
      local reached = fs.info(got) ~= nil
      if reached then return "it was reached" end
    end)
  end
end

-- ---- Bounds -------------------------------------------------------------------------------------------------------------

local function try_bounds(level)
  local function bound(what, command, expected, more)
    class:try(level .. ": " .. what, function(dir)
      place(dir)
      local from = fiber.now()
      local result = run(level, dir, command, more)
      local said = result.limit or result.signal or result.stderr:match "No space left" or result.stderr:match "[Cc]annot fork" or result.stderr:match "[Mm]emory"
        or result.stderr:match "Resource temporarily" or result.code ~= 0 and "code"
      if not said then return "no bound: " .. result.stdout end
      if expected and result.limit ~= expected then return ("ended by %s"):format(said) end
      if fiber.now() - from > 15 then return "it took long" end
    end)
  end
  bound("many files", "for i in $(seq 40); do head -c 20000000 /dev/zero > f$i & done; wait; sleep 5", "written")
  bound("many files, by who lets nobody look", "exec python3 -c 'import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\nfor i in range(40):\n    f = open(\"f%d\" % i, \"wb\"); f.write(b\"x\" * 20000000); f.close()\ntime.sleep(5)'", "written")
  bound("many files, by a program that cannot be read", "cp $(command -v head) h && chmod 111 h && for i in $(seq 40); do ./h -c 20000000 /dev/zero > f$i & done; wait; sleep 5", "written")
  bound("many files, by many that nobody waits for", "for i in $(seq 40); do (setsid sh -c \"head -c 20000000 /dev/zero > f$i\" &) ; done; sleep 5", "written")
  bound("many files, mapped", "exec python3 -c 'import mmap, time\nfor i in range(40):\n    f = open(\"f%d\" % i, \"wb+\"); f.truncate(20000000); m = mmap.mmap(f.fileno(), 20000000); m.write(b\"x\" * 20000000); m.flush()\ntime.sleep(5)'", "written")
  bound("many files, copied by the kernel", "head -c 20000000 /dev/zero > f; for i in $(seq 40); do cp --reflink=never f f$i & done; wait; python3 -c 'import os, time\na = os.open(\"f\", 0)\nfor i in range(20):\n    b = os.open(\"g%d\" % i, 65); os.copy_file_range(a, b, 20000000, 0, 0); os.close(b)\ntime.sleep(5)'", "written")
  bound("one file", "head -c 200000000 /dev/zero > f")
  bound("scratch space", "head -c 400000000 /dev/zero > $HOME/f", nil, { cwd = "/tmp", file_size = 0, written = 0 })
  bound("memory", "python3 -c 'x = bytearray(3 << 30)'")
  bound("memory of several", "for i in 1 2 3 4 5 6 7 8; do python3 -c 'import time; x = bytearray(b\"x\") * (300 << 20); time.sleep(5)' & done; wait", "memory")
  bound("processes", "f() { [ $1 -gt 0 ] || { sleep 5; return; }; f $(($1-1)) & f $(($1-1)) & wait; }; f 9")
  bound("time", "while :; do :; done", nil, { timeout = 0.5 })
  bound("time, and no end by SIGTERM", "trap '' TERM HUP INT; while :; do :; done", nil, { timeout = 0.5 })
  class:try(level .. ": what goes on behind its back", function(dir)
    place(dir)
    run(level, dir, "(setsid nohup sh -c 'sleep 1; echo late > late' >/dev/null 2>&1 &) ; exit 0")
    fiber.sleep(1.3)
    if fs.info(dir.path .. "/project/late") then return "it went on" end
  end)
end

for _, level in ipairs(sandbox.levels()) do
  if level.name ~= "limits" then
    if not level.works then
      print(("  not tried: the level %s (%s)"):format(level.name, level.reason))
    else
      for _, command in ipairs(files) do try_files(level.name, command) end
      for what, command in pairs(machine) do try_machine(level.name, what, command) end
      try_families(level.name, false)
      try_families(level.name, true)
      try_network(level.name)
      try_bounds(level.name)
    end
  end
end

return class:finish()
