--- `hocket serve` as a process of its own, and clients of it.
---
---     local served <close> = served.start(dir, "agents", "--max-runs", "2")
---     local answer = served:post("/api/runs", { target = "poet", input = "rain" })      decoded: answer.value
---     local events <close> = served:events("/api/runs/ID/events")
---     for event in events:each() do … end
local http = require "hocket.http"
local json = require "hocket.json"
local process = require "hocket.process"

local served = {}

local Served = {}
Served.__index = Served

local function argv(...)
  return table.move({ ... }, 1, select("#", ...), 5, { process.launcher(), "serve", "--listen", "127.0.0.1:0" })
end

--- Starts it below a folder, and waits until it listens.
function served.start(dir, ...)
  return served.start_with(dir, {}, ...)
end

function served.start_with(dir, env, ...)
  local all = table.move(env, 1, #env, 3, { "PATH=/usr/bin:/bin", "XDG_STATE_HOME=" .. dir.path .. "/state" })
  local program = assert(process.open { argv = argv(...), cwd = dir.path, sandbox = "limits", network = true, sockets = true, grace = 120, env = all })
  local self = setmetatable({ program = program, dir = dir }, Served)
  while not self.url do
    self.url = program:stderr():match "serving (http://%S+)\n"
    local ended = program:wait(0.01)
    if ended then error("hocket serve ended: " .. program:stderr(), 2) end
  end
  local token = io.open(dir.path .. "/state/hocket/serve-token")
  if token then
    self.token = token:read "l"
    token:close()
  end
  return self
end

function Served:headers(more)
  local headers = { authorization = self.token and "Bearer " .. self.token or nil }
  for name, value in pairs(more or {}) do headers[name] = value end
  return headers
end

function Served:ask(method, path, body, headers)
  local answer = assert(http.request { url = self.url .. path, method = method, body = body, headers = self:headers(headers), timeout = 600 })
  answer.value = (answer.headers["content-type"] or ""):find "json" and json.decode(answer.body) or nil
  return answer
end

function Served:get(path, headers) return self:ask("GET", path, nil, headers) end

function Served:post(path, value, headers)
  local all = { ["content-type"] = "application/json" }
  for name, text in pairs(headers or {}) do all[name] = text end
  return self:ask("POST", path, type(value) == "string" and value or json.encode(value or {}), all)
end

-- ---- Event streams -----------------------------------------------------------------------------

local Events = {}
Events.__index = Events

function Served:events(path, headers)
  local stream = assert(http.open { url = self.url .. path, headers = self:headers(headers) })
  return setmetatable({ stream = stream, text = "", status = stream:status() }, Events)
end

--- The next event: {id, event, data}; nil: the stream is over. Comments are passed over.
function Events:next()
  while true do
    local from, to = self.text:find("\n\n", 1, true)
    if from then
      local event = {}
      for line in self.text:sub(1, from):gmatch "[^\n]+" do
        local name, value = line:match "^(%w+): (.*)$"
        if name then event[name] = event[name] and event[name] .. "\n" .. value or value end
      end
      self.text = self.text:sub(to + 1)
      if event.data then return event end
    else
      local more, err = self.stream:read()
      if not more then
        if err then error(err, 0) end
        return nil
      end
      self.text = self.text .. more
    end
  end
end

function Events:each() return function() return self:next() end end
function Events:close() self.stream:close() end
Events.__close = Events.close

-- ---- Its end --------------------------------------------------------------------------------------

--- Asks it to end, and waits until it has.
function Served:stop()
  if self.ended then return self.ended end
  self.program:stop()
  self.ended = self.program:wait()
  return self.ended
end

function Served:log() return (self.program:stderr()) end

Served.__close = function(self) self.program:close() end

return served
