-- `hocket serve` in this process: the agents of a folder over HTTP, for tests of its interfaces.
local desks = require "hocket.internal.endpoints.desk"
local fiber = require "hocket.internal.core.fiber"
local http = require "hocket.http"
local json = require "hocket.json"
local offered = require "hocket.internal.serve.offered"
local servers = require "hocket.internal.endpoints.server"

local serving = {}

local Serving = {}
Serving.__index = Serving

--- Opens one for the agents of a folder, or a list of targets. `options` are those of the runs.
function serving.open(dir, options)
  local self = setmetatable({}, Serving)
  self.owner = fiber.detach(function()
    self.offered = assert(offered.open(type(dir) == "table" and dir or { dir }))
    self.desk = desks.new { offered = self.offered, options = options or {}, max_runs = 16, max_queue = 16 }
    local server = servers.new { desk = self.desk, token = "secret", hosts = {}, origins = {} }
    for _, add in ipairs(require "hocket.internal.endpoints.interfaces") do add(server) end
    local port = assert(server:listen { port = 0, address = "127.0.0.1" })
    self.desk:open()
    self.server, self.base = server, ("http://127.0.0.1:%d"):format(port)
    server:serve()
  end)
  while not self.base do
    if self.owner:status() == "done" then error(tostring(select(2, self.owner:result())), 0) end
    fiber.sleep(0.002)
  end
  return self
end

--- Sends JSON, or a text as it is: status, the body read, headers.
function Serving:post(path, body, headers)
  local all = { ["content-type"] = "application/json", authorization = "Bearer secret" }
  for name, value in pairs(headers or {}) do all[name] = value end
  local answer = assert(http.request { url = self.base .. path, method = "POST", headers = all, body = type(body) == "string" and body or json.encode(body) })
  return answer.status, json.decode(answer.body) or answer.body, answer.headers
end

function Serving:get(path, headers)
  local all = { authorization = "Bearer secret" }
  for name, value in pairs(headers or {}) do all[name] = value end
  local answer = assert(http.request { url = self.base .. path, headers = all })
  return answer.status, json.decode(answer.body) or answer.body, answer.headers
end

-- The events of a stream: {event, data}, data read where it is JSON.
local function events(status, text)
  if type(text) == "table" then return status, text end
  local list = {}
  for block in text:gmatch "(.-)\n\n" do
    local data = block:match "data: ([^\n]*)"
    if data then list[#list + 1] = { event = block:match "event: ([^\n]*)", data = json.decode(data) or data } end
  end
  return status, list
end

--- The events of a stream that answers a POST.
function Serving:stream(path, body)
  return events(self:post(path, body))
end

--- The events of a stream that has an end, by GET.
function Serving:stream_of(path)
  return events(self:get(path))
end

function Serving:close()
  self.server.listener:mute()
  for _, run in ipairs(self.desk:all()) do if run.forget then run.forget:cancel() end end
  self.desk:close(0)
  for _, run in ipairs(self.desk.ended) do if run.forget then run.forget:cancel() end end
  self.server.listener:close()
  self.offered:close()
  self.owner:cancel()
  self.owner:join()
end
Serving.__close = Serving.close

return serving
