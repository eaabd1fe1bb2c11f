-- What `hocket serve` costs: CPU of a request in µs, and a turn's time with 1,000 readers of its events, one of whom never reads,
-- beside one with none. Prints one JSON object.
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.fs"
local hocket = require "hocket"
local http = require "hocket.http"
local json = require "hocket.json"
local process = require "hocket.process"
local system = require "hocket.internal.core.system"

local rounds = math.tointeger(tonumber(arg[1])) or 5000
local dir = "/tmp/hocket-bench-" .. system.token(12)

local function start()
  local program = assert(process.open { argv = { process.launcher(), "serve", "--listen", "127.0.0.1:0", "--no-token", "--trust", "--store", "off", "--model", "sim", dir },
    env = { "PATH=/usr/bin:/bin" }, cwd = "/tmp", sandbox = "limits", network = true, sockets = true })
  local url
  while not url do
    url = program:stderr():match "serving (http://%S+)\n"
    if program:wait(0.01) then error(program:stderr()) end
  end
  return program, url
end

local function ask(url, value)
  return json.decode(assert(http.request { url = url, body = value and json.encode(value), headers = { ["content-type"] = "application/json" } }).body)
end

local function cpu_of(requests)
  local program, url = start()
  for _ = 1, requests do ask(url .. "/api/agents") end
  program:stop()
  return assert(program:wait()).cpu * 1e6
end

local function turn(url, id)
  ask(("%s/api/runs/%s/say"):format(url, id), { text = "again" })
  repeat fiber.sleep(0.05) until ask(url .. "/api/runs/" .. id).state == "waiting"
  local page = ask(("%s/api/runs/%s/records?limit=1000"):format(url, id)).records
  for i = #page, 1, -1 do
    if page[i].type == "turn_finished" then return page[i].seconds end
  end
end

local function median_turn(url, id)
  local times = {}
  for i = 1, 7 do times[i] = turn(url, id) end
  table.sort(times)
  return times[4]
end

local function read(url, id)
  local stream <close> = assert(http.open { url = ("%s/api/runs/%s/events?deltas=1"):format(url, id) })
  while stream:read() do end
end

local function turns()
  local program <close>, url = start()
  local id = ask(url .. "/api/runs", { target = "talker", input = "begin", options = { conversation = true } }).id
  repeat fiber.sleep(0.05) until ask(url .. "/api/runs/" .. id).state == "waiting"
  local alone = median_turn(url, id)
  local stuck <close> = assert(http.open { url = ("%s/api/runs/%s/events?deltas=1"):format(url, id) })
  local readers = {}
  for i = 1, 999 do readers[i] = fiber.spawn(read, url, id) end
  fiber.sleep(1)
  local watched = median_turn(url, id)
  for _, one in ipairs(readers) do one:cancel() end
  return alone, watched
end

assert(fs.mkdir(dir))
assert(fs.write(dir .. "/talker.md", "---\nname: talker\ndescription: Talks\n---\nYou talk.\n"))
assert(fs.write(dir .. "/sim.lua", "return function() return { text = ('word '):rep(50), latency = 0.5 } end\n"))
local request = (cpu_of(rounds * 2) - cpu_of(rounds)) / rounds
local alone, watched = turns()
os.remove(dir .. "/talker.md")
os.remove(dir .. "/sim.lua")
os.remove(dir)
print(hocket.json.encode { request = request, alone = alone, watched = watched })
