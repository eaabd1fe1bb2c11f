--- What a command may not reach when its network is named hosts: past the proxy, through it, and by its
--- own protocol. At every level with walls that this machine has. Two servers listen outside: one is named, the
--- other is never to hear of anything.
local attack = require "attack"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local sandbox = require "hocket.internal.tools.sandbox"
local new_server = require("hocket.internal.core.server").new

local class = attack.class "network"

-- A server that notes what it is asked for.
local function serve(seen)
  local one = assert(new_server { port = 0 })
  local loop = flow.spawn(function()
    while true do
      local request = one:accept()
      if not request then return end
      seen[#seen + 1] = request.method .. " " .. request.path .. " " .. (request.headers.host or "")
      one:respond(request.id, 200, {}, "ANSWER")
    end
  end)
  return one, function()
    one:close()
    loop:wait()
  end
end

-- Runs a command that may reach the named server alone. %N and %F are the ports of both.
local function run(level, dir, command, more)
  local named, forbidden = {}, {}
  local one, close_one = serve(named)
  local other, close_other = serve(forbidden)
  local hosts = { "127.0.0.1:" .. one:port() }
  for _, host in ipairs(more and more.hosts or {}) do hosts[#hosts + 1] = (host:gsub("%%F", other:port())) end
  command = command:gsub("%%N", one:port()):gsub("%%F", other:port())
  local result = assert(sandbox.run {
    argv = { "/bin/bash", "-c", command }, cwd = dir.path, writable = { dir.path }, timeout = more and more.timeout or 15,
    memory = 1 << 30, processes = 200, file_size = 1 << 20, written = 10 << 20,
    run = { options = { network = hosts, sandbox = level } }, ask_host = more and more.ask,
  })
  fiber.sleep(0.01)
  close_one()
  close_other()
  return result, named, forbidden
end

local function try(level, what, command, more)
  class:try(level .. ": " .. what, function(dir)
    local result, named, forbidden = run(level, dir, command, more)
    if #forbidden > 0 then return "it was reached: " .. forbidden[1] end
    if result.stdout:find "CONNECTED" then return "connected: " .. result.stdout end
    if result.stdout:find "ANSWER" and not (more and more.answers) then return "it was answered: " .. result.stdout end
    for _, line in ipairs(named) do
      if line:find "evil" then return "another host was asked for: " .. line end
    end
    return more and more.check and more.check(result, named)
  end)
end

-- ---- Past the proxy ---------------------------------------------------------------------------------------------

local addresses = { "127.0.0.1/%F", "127.0.0.1/%N", "localhost/%F", "::1/%F", "0.0.0.0/%F", "1.1.1.1/443", "1.1.1.1/80", "169.254.169.254/80", "10.0.0.1/80", "8.8.8.8/53" }

local udp = [[python3 -c '
import socket
for family, to in ((socket.AF_INET, ("8.8.8.8", 53)), (socket.AF_INET, ("1.1.1.1", 53)), (socket.AF_INET6, ("2001:4860:4860::8888", 53)), (socket.AF_INET, ("169.254.169.254", 80)), (socket.AF_INET, ("255.255.255.255", 67))):
    try:
        s = socket.socket(family, socket.SOCK_DGRAM); s.sendto(b"\0\1\1\0\0\1\0\0\0\0\0\0\4evil\7example\0\0\1\0\1", to); print("CONNECTED", to)
    except OSError: pass']]

local past = {
  datagrams = udp,
  ["raw packets"] = "python3 -c 'import socket; socket.socket(2, 3, 1); print(\"CONNECTED\")' 2>/dev/null",
  ["names are not looked up"] = "getent hosts evil.example && echo CONNECTED",
  ["an interface of its own"] = "ip link add d type dummy 2>/dev/null && echo CONNECTED; ip route add default dev lo 2>/dev/null && echo CONNECTED; true",
  ["another network"] = "for p in /proc/[0-9]*/ns/net; do nsenter --net=$p true 2>/dev/null && echo CONNECTED; done; unshare -n true 2>/dev/null && echo CONNECTED; true",
  ["the proxy's own port, taken"] = "python3 -c 'import socket; s = socket.socket(); s.setsockopt(1, 2, 1); s.setsockopt(1, 15, 1); s.bind((\"127.0.0.1\", 3128)); s.listen(); print(\"CONNECTED\")' 2>/dev/null",
  ["without the variables"] = "env -u http_proxy -u HTTP_PROXY -u all_proxy -u ALL_PROXY curl -s -m 3 --noproxy '*' http://127.0.0.1:%F/",
}

-- ---- Through it: what it is asked for by hand --------------------------------------------------------------------

local function send(bytes, wait)
  return ("exec 3<>/dev/tcp/127.0.0.1/3128; printf '%s' >&3; timeout %s cat <&3"):format(bytes, wait or 2)
end

local function connect(target, host)
  return send(("CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\nGET /tunnel HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"):format(target, host or target))
end

local targets = {
  "127.0.0.1:%F", "127.1:%F", "127.1:%N", "2130706433:%F", "0x7f000001:%F", "0x7f.1:%F", "0177.0.0.1:%F", "017700000001:%F", "127.0.0.01:%F", "127.000.000.001:%F", "[::1]:%F",
  "[::ffff:127.0.0.1]:%F", "[::ffff:7f00:1]:%F", "[0:0:0:0:0:0:0:1]:%F", "[::]:%F", "0.0.0.0:%F", "0:%F", "localhost:%F", "LOCALHOST:%F", "localhost.:%F", "localhost.localdomain:%F",
  "ip6-localhost:%F", "169.254.169.254:80", "[fe80::1%%25lo]:%F", "[fe80::1]:80", "metadata.google.internal:80", "127.0.0.1:%N@127.0.0.1:%F", "127.0.0.1:%F:%N", "127.0.0.1:%N/../:%F",
  "127.0.0.1:%N,127.0.0.1:%F", "127.0.0.1\\x00.example:%F", "127.0.0.1%%00:%F", "127.0.0.1\\t:%F", "127.0.0.1#:%F", "user@127.0.0.1:%F", "127.0.0.1:0%F0", "127.0.0.1:+%F", "127.0.0.1:-1",
  "127.0.0.1:65536", "127.0.0.1:4294967376", "127.0.0.1:", ":%F", "*:%F", "127.0.0.1:%N\\r\\nX: y:%F", "http://127.0.0.1:%F", "127.0.0.1", "[127.0.0.1]:%F", "127.0.0.1..:%F", ".127.0.0.1:%F",
  "evil.example:443", "evil.example:80", "1.1.1.1:443", "[2606:4700:4700::1111]:443",
}

local requests = {
  ["an address for another host"] = "GET http://127.0.0.1:%F/evil HTTP/1.1\\r\\nHost: 127.0.0.1:%F\\r\\n\\r\\n",
  ["another field Host"] = "GET http://127.0.0.1:%N/ HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n",
  ["another field Host, by its port"] = "GET http://127.0.0.1:%N/ HTTP/1.1\\r\\nHost: 127.0.0.1:%F\\r\\n\\r\\n",
  ["two fields Host"] = "GET http://127.0.0.1:%N/ HTTP/1.1\\r\\nHost: 127.0.0.1:%N\\r\\nHost: evil.example\\r\\n\\r\\n",
  ["a field Host with a blank"] = "GET http://127.0.0.1:%N/ HTTP/1.1\\r\\nHost : evil.example\\r\\n\\r\\n",
  ["a folded field"] = "GET http://127.0.0.1:%N/ HTTP/1.1\\r\\nHost: 127.0.0.1:%N\\r\\n evil.example\\r\\n\\r\\n",
  ["no field Host"] = "GET http://127.0.0.1:%F/ HTTP/1.0\\r\\n\\r\\n",
  ["a path and a field Host"] = "GET /evil HTTP/1.1\\r\\nHost: 127.0.0.1:%F\\r\\n\\r\\n",
  ["a user name"] = "GET http://127.0.0.1:%N@127.0.0.1:%F/ HTTP/1.1\\r\\nHost: 127.0.0.1:%F\\r\\n\\r\\n",
  ["a backslash"] = "GET http://127.0.0.1:%F\\\\\\\\@127.0.0.1:%N/ HTTP/1.1\\r\\nHost: 127.0.0.1:%N\\r\\n\\r\\n",
  ["a question mark for the slash"] = "GET http://127.0.0.1:%F?@127.0.0.1:%N/ HTTP/1.1\\r\\nHost: 127.0.0.1:%N\\r\\n\\r\\n",
  ["another scheme"] = "GET ftp://127.0.0.1:%F/ HTTP/1.1\\r\\nHost: 127.0.0.1:%F\\r\\n\\r\\n",
  ["https in plain"] = "GET https://127.0.0.1:%F/ HTTP/1.1\\r\\nHost: 127.0.0.1:%F\\r\\n\\r\\n",
  ["CONNECT with another field Host"] = "CONNECT 127.0.0.1:%N HTTP/1.1\\r\\nHost: 127.0.0.1:%F\\r\\n\\r\\n",
  ["CONNECT with a body"] = "CONNECT 127.0.0.1:%F HTTP/1.1\\r\\nHost: 127.0.0.1:%F\\r\\nContent-Length: 5\\r\\n\\r\\nhello",
  ["two lengths"] = "POST http://127.0.0.1:%N/ HTTP/1.1\\r\\nHost: 127.0.0.1:%N\\r\\nContent-Length: 0\\r\\nContent-Length: 40\\r\\n\\r\\nGET /evil HTTP/1.1\\r\\nHost: evil\\r\\n\\r\\n",
  ["a length and chunks"] = "POST http://127.0.0.1:%N/ HTTP/1.1\\r\\nHost: 127.0.0.1:%N\\r\\nContent-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET /evil HTTP/1.1\\r\\nHost: evil\\r\\n\\r\\n",
  ["chunks"] = "POST http://127.0.0.1:%N/ HTTP/1.1\\r\\nHost: 127.0.0.1:%N\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET /evil HTTP/1.1\\r\\nHost: evil\\r\\n\\r\\n",
  ["odd chunks"] = "POST http://127.0.0.1:%N/ HTTP/1.1\\r\\nHost: 127.0.0.1:%N\\r\\nTransfer-Encoding: xchunked\\r\\n\\r\\nGET /evil HTTP/1.1\\r\\nHost: evil\\r\\n\\r\\n",
  ["lines that end with LF"] = "GET http://127.0.0.1:%N/ HTTP/1.1\\nHost: evil\\n\\n",
  ["a huge field"] = "GET http://127.0.0.1:%N/ HTTP/1.1\\r\\nHost: 127.0.0.1:%N\\r\\nX: " .. ("a"):rep(100000) .. "\\r\\n\\r\\n",
  ["a thousand fields"] = "GET http://127.0.0.1:%N/ HTTP/1.1\\r\\nHost: 127.0.0.1:%N\\r\\n" .. ("X: y\\r\\n"):rep(1000) .. "\\r\\n",
  ["HTTP/2"] = "PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n",
}

-- What is answered, but holds a second request: nobody is to hear of that.
local behind = {
  ["a second request behind the first"] = "GET http://127.0.0.1:%N/ HTTP/1.1\\r\\nHost: 127.0.0.1:%N\\r\\n\\r\\nGET http://127.0.0.1:%F/evil HTTP/1.1\\r\\nHost: 127.0.0.1:%F\\r\\n\\r\\nGET /evil HTTP/1.1\\r\\nHost: evil\\r\\n\\r\\n",
  ["a second request behind a body"] = "POST http://127.0.0.1:%N/ HTTP/1.1\\r\\nHost: 127.0.0.1:%N\\r\\nContent-Length: 4\\r\\n\\r\\nbodyGET /evil HTTP/1.1\\r\\nHost: evil\\r\\n\\r\\n",
  ["a connection that is to be kept"] = "GET http://127.0.0.1:%N/ HTTP/1.1\\r\\nHost: 127.0.0.1:%N\\r\\nConnection: keep-alive, host\\r\\nProxy-Connection: keep-alive\\r\\nUpgrade: h2c\\r\\n\\r\\nGET /evil HTTP/1.1\\r\\nHost: evil\\r\\n\\r\\n",
}

-- ---- SOCKS5 ---------------------------------------------------------------------------------------------------------

local socks_code = [[python3 -c '
import socket, struct, sys
def port(p): return struct.pack(">H", p)
def ask(*pieces):
    s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(2)
    try:
        got = b""
        for p in pieces:
            s.sendall(p); got += s.recv(100)
        if got[2:4] == b"\5\0" or (len(got) > 3 and got[:2] == b"\5\0" and got[3:4] == b"\0"):
            s.sendall(b"GET /socks HTTP/1.1\r\nHost: x\r\n\r\n"); print(s.recv(1000).decode("latin1"))
    except OSError: pass
H, F = b"\5\1\0", int(sys.argv[1])
name = lambda n, p, c=1: b"\5" + bytes([c]) + b"\0\3" + bytes([len(n)]) + n + port(p)
%s' %s]]

local socks = {
  ["an address"] = "ask(H, b'\\5\\1\\0\\1\\x7f\\0\\0\\1' + port(F))",
  ["an address of version 6"] = "ask(H, b'\\5\\1\\0\\4' + bytes(15) + b'\\1' + port(F))",
  ["a mapped address"] = "ask(H, b'\\5\\1\\0\\4' + bytes(10) + b'\\xff\\xff\\x7f\\0\\0\\1' + port(F))",
  ["a name"] = "ask(H, name(b'localhost', F))",
  ["a number for a name"] = "ask(H, name(b'2130706433', F)); ask(H, name(b'127.1', F)); ask(H, name(b'127.0.0.1', F)); ask(H, name(b'[::1]', F))",
  ["a port in the name"] = "ask(H, name(b'127.0.0.1:%d' % F, 80))",
  ["a name with a NUL"] = "ask(H, name(b'127.0.0.1\\0.example', F)); ask(H, name(b'', F))",
  ["listening"] = "ask(H, name(b'127.0.0.1', F, 2)); ask(H, name(b'127.0.0.1', F, 3))",
  ["with a password"] = "ask(b'\\5\\1\\2', b'\\1\\1a\\1b', name(b'127.0.0.1', F))",
  ["SOCKS4"] = "ask(b'\\4\\1' + port(F) + b'\\x7f\\0\\0\\1\\0')",
  ["all at once"] = "ask(H + name(b'127.0.0.1', F) + b'GET /evil HTTP/1.1\\r\\n\\r\\n')",
}

-- ---- What it takes and how long ---------------------------------------------------------------------------------------

local function ends_soon(result)
  if result.seconds > 14 then return "it took " .. result.seconds end
end

local function try_bounds(level)
  try(level, "a client that sends nothing", "exec 3<>/dev/tcp/127.0.0.1/3128; timeout 13 cat <&3; echo over", { check = ends_soon, timeout = 15 })
  try(level, "a client that sends a byte at a time", [[python3 -c '
import socket, time
s = socket.create_connection(("127.0.0.1", 3128)); t = time.time()
try:
    while time.time() - t < 13: s.sendall(b"G"); time.sleep(0.2)
    print("ANSWER")
except OSError: pass']], { check = ends_soon, timeout = 16 })
  try(level, "a thousand connections, and one that is served", [[python3 -c '
import socket
held = []
for i in range(1000):
    try:
        s = socket.socket(); s.setblocking(False); s.connect_ex(("127.0.0.1", 3128)); held.append(s)
    except OSError: pass
held.clear()'; curl -s -m 14 http://127.0.0.1:%N/]], { answers = true, timeout = 20, check = function(result)
    if not result.stdout:find "ANSWER" then return "who came later was not served: " .. result.stderr end
  end })
  class:try(level .. ": questions without end", function(dir)
    local asked = 0
    run(level, dir, "for i in $(seq 30); do curl -s -m 2 http://h$i.example/ & done; wait", { ask = function()
      asked = asked + 1
      return false
    end })
    if asked > 8 then return ("a person was asked %d times"):format(asked) end
  end)
  class:try(level .. ": one question for many connections", function(dir)
    local asked = 0
    run(level, dir, "for i in $(seq 20); do curl -s -m 5 http://h.example/ & done; wait", { ask = function()
      asked = asked + 1
      fiber.sleep(0.2)
      return false
    end })
    if asked ~= 1 then return ("a person was asked %d times"):format(asked) end
  end)
  class:try(level .. ": an answer that comes after the command", function(dir)
    local asked, cancelled = 0, true
    local _, _, forbidden = run(level, dir, "curl -s -m 1 http://localhost:%F/; true", { ask = function()
      asked = asked + 1
      fiber.sleep(3)
      cancelled = false
      return true
    end })
    fiber.sleep(0.1)
    if asked ~= 1 then return "it was not asked" end
    if #forbidden > 0 or not cancelled then return "the question outlived the command" end
  end)
  class:try(level .. ": a yes for a name that leads inside", function(dir)
    local result, _, forbidden = run(level, dir, "curl -s -m 3 http://localhost:%F/", { ask = function() return true end })
    if #forbidden > 0 then return "it was reached: " .. result.stdout end
  end)
  class:try(level .. ": a name of a rule that leads inside", function(dir)
    local result, _, forbidden = run(level, dir, "curl -s -m 3 http://ip6-localhost:%F/; curl -s -m 3 http://$(hostname):%F/", { hosts = { "ip6-localhost:%F", "sandbox:%F" } })
    if #forbidden > 0 then return "it was reached: " .. result.stdout end
  end)
  class:try(level .. ": what is named is reached, each way", function(dir)
    local result, named = run(level, dir, "curl -s http://127.0.0.1:%N/plain; curl -s -p http://127.0.0.1:%N/tunnel; curl -s -x socks5h://127.0.0.1:3128 http://127.0.0.1:%N/socks; "
      .. "curl -s -d body http://127.0.0.1:%N/post; python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:%N/python\").read())';"
      .. socks_code:format((socks["an address"]:gsub("'", '"')), "%N"))
    local all = table.concat(named, "\n")
    for _, path in ipairs { "/plain", "/tunnel", "/socks", "/post", "/python", "GET /socks x" } do
      if not all:find(path, 1, true) then return path .. " was not reached: " .. all .. result.stderr end
    end
  end)
end

for _, level in ipairs(sandbox.levels()) do
  if level.name == "limits" then
    class:try("limits: named hosts", function(dir)
      local result = sandbox.run { argv = { "/bin/true" }, cwd = dir.path, timeout = 5, memory = 1 << 30, processes = 20, file_size = 1, written = 1 << 20,
        run = { options = { network = "api.example.org", sandbox = "limits" } } }
      if result then return "it ran, without a wall" end
    end)
  elseif not level.works then
    print(("  not tried: the level %s (%s)"):format(level.name, level.reason))
  else
    for _, address in ipairs(addresses) do try(level.name, "past the proxy to " .. address, ("exec 3<>/dev/tcp/%s && echo CONNECTED"):format(address)) end
    for what, command in pairs(past) do try(level.name, what, command) end
    for _, target in ipairs(targets) do try(level.name, "CONNECT " .. target, connect(target)) end
    for _, target in ipairs(targets) do
      try(level.name, "GET http://" .. target, send(("GET http://%s/ HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n"):format(target, target)))
    end
    for what, bytes in pairs(requests) do try(level.name, what, send(bytes)) end
    for what, bytes in pairs(behind) do try(level.name, what, send(bytes), { answers = true }) end
    for what, code in pairs(socks) do try(level.name, "SOCKS5: " .. what, socks_code:format((code:gsub("'", '"')), "%F")) end
    try_bounds(level.name)
  end
end

return class:finish()
