--- Pings for a dead man's switch: a service that raises an alarm when nothing has come for too long, so that a night on which nothing ran
--- is noticed. Addresses as healthchecks.io and its like have them:
---
---     URL/start   a run has begun      URL   it has ended well      URL/fail   it has failed, or could not begin
---
--- A run that waits for a person ends neither way: nothing is sent until it has. Whoever runs the command has named the address, so it may be
--- a private one; redirects are not followed.
local address_check = require "hocket.internal.base.http.address_check"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local system = require "hocket.internal.core.system"

local ping = {}

--- Seconds for one try; seconds before the next ones.
local TIMEOUT, PAUSES = 5, { 1, 3 }

local ends = { start = "/start", done = "", failed = "/fail" }

--- Checks an address that a person gives.
---@param url string
---@return hocket.Address?
---@return string? wrong
function ping.read(url)
  local address, wrong = address_check.read(url)
  if not address then return nil, wrong end
  address.not_public = true
  return address
end

-- "https://hc.example.org/abc?x=1" ──> "https://hc.example.org/abc/start?x=1"
local function with_state(address, state)
  local path, rest = address.url:match "^([^?#]*)(.*)$"
  local copy = {}
  for key, value in pairs(address) do copy[key] = value end
  copy.url = path:gsub("/+$", "") .. ends[state] .. rest
  return copy
end

-- True; else why not, and whether another try may help.
local function send(address, state, data)
  local answer, err = address_check.send(with_state(address, state), { method = "POST", body = json.encode(data), timeout = TIMEOUT, max_body = 1 << 16,
    headers = { ["content-type"] = "application/json" } })
  if not answer then return nil, err.message, true end
  if answer.status >= 200 and answer.status < 300 then return true end
  return nil, ("it answered %d"):format(answer.status), answer.status >= 500 or answer.status == 429
end

--- Sends one ping, again where it did not arrive.
---@async
---@param url string
---@param state "start"|"done"|"failed"
---@param data table What the body tells beside the state: run, schedule, exit.
---@return boolean? sent
---@return hocket.Error?
function ping.send(url, state, data)
  local address, wrong = ping.read(url)
  if not address then return nil, system.error { code = "invalid", message = "--ping: " .. wrong } end
  data.state = state
  for i = 1, #PAUSES + 1 do
    local sent, why, again = send(address, state, data)
    if sent then return true end
    wrong = why
    if not again or not PAUSES[i] then break end
    fiber.sleep(PAUSES[i])
  end
  return nil, system.error { code = "http", message = ("the ping to %s (%s) did not arrive: %s"):format(address.host, state, wrong) }
end

--- The same in a fiber of its own; what fails is logged.
function ping.later(url, state, data)
  fiber.spawn(function()
    local sent, err = ping.send(url, state, data)
    if not sent then system.log("warn", err.message) end
  end):serve()
end

--- For the command line.
---@async
---@param args {url: string, state: "start"|"done"|"failed", run?: string, exit?: integer}
function ping.ping(args)
  local sent, err = ping.send(args.url, args.state, { run = args.run, exit = args.exit })
  if not sent then return nil, err end
  return { text = "" }
end

return ping
