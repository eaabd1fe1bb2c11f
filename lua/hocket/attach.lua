--- Connects to another hocket on this machine, which has offered itself (`hocket.host:offer(name)`, `hocket_offer`,
--- `hocket run --offer NAME`).
---
---     local hocket = require "hocket"
---     for _, one in ipairs(hocket.attach.list()) do print(one.name, one.pid) end
---     local game, err = hocket.attach.open "game"
---     if game then
---       print(game:ask("runs").text)
---       game:close()
---     end
---
--- The socket carries one line of JSON each way (docs/guides/observability.md).
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.fs"
local json = require "hocket.json"
local paths = require "hocket.internal.base.socket_path"
local sockets = require "hocket.internal.core.socket"
local failed = require("hocket.internal.core.system").error

local attach = {}

--- Seconds that another process has for its first line.
local PATIENCE = 5
--- Events that wait to be taken; older ones are dropped, and counted.
local MAX_WAITING = 10000

---@class hocket.Attached
---@field name string
---@field pid integer
---@field version string Of its hocket.
---@field rights "all"|"look"
local Attached = {}
Attached.__index = Attached
Attached.__close = function(self) self:close() end

-- Calls fn in a fiber: in the running one, or in one of its own, for which the host is turned.
local function waiting(fn, ...)
  if fiber.self() then return fn(...) end
  local result = table.pack(fiber.run(fn, ...))
  if not result[1] then error(result[2], 0) end
  return table.unpack(result, 2, result.n)
end

-- ---- Who is there --------------------------------------------------------------------------------

local function look(dir, file)
  local stream, pid, uid = sockets.connect(dir .. "/" .. file)
  if not stream then return nil end
  stream:close()
  local _, own = sockets.self()
  if uid ~= own then return nil end
  return { name = file:gsub("%.sock$", ""), pid = pid, path = dir .. "/" .. file }
end

--- The programs that offer themselves now, by name.
---@return {name: string, pid: integer, path: string}[]
---@return hocket.Error?
function attach.list()
  local dir, list = paths.dir(), json.array {}
  if not dir then
    local _, err = paths.split "any"
    return list, err
  end
  for _, file in ipairs(fs.list(dir) or {}) do
    local one = file:find "%.sock$" and look(dir, file)
    if one then list[#list + 1] = one end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

-- The path that a name, a path or a process's number stands for.
local function find(to)
  if to:find "^%d+$" then
    for _, one in ipairs(attach.list()) do
      if one.pid == math.tointeger(to) then return one.path end
    end
  end
  local dir, file = paths.split(to)
  if not dir then return nil, file end
  return dir .. "/" .. file
end

-- ---- Talking ----------------------------------------------------------------------------------------

local function over(self, err)
  self.err = self.err or err or failed { code = "closed", message = ("%s has closed the connection"):format(self.name) }
  self.stream:close()
end

local function take(self, message)
  local waits = message.id and self.asked[message.id]
  if waits then
    self.asked[message.id], waits.answer = nil, message
    waits.fiber:wake()
  elseif message.event or message.note then
    if #self.news >= MAX_WAITING then
      table.remove(self.news, 1)
      self.dropped = self.dropped + 1
    end
    self.news[#self.news + 1] = message
    if self.listener then self.listener:wake() end
  end
end

-- The one fiber that reads. Half a line, or none, holds up nobody else.
local function read(self)
  while not self.err do
    local line, err = self.stream:line()
    if line then
      local message = json.decode(line)
      if type(message) ~= "table" then
        err = failed { code = "protocol", message = self.name .. " sent what is no JSON object" }
      else
        take(self, message)
      end
    end
    if err then over(self, err.code ~= "closed" and err or nil) end
    if not line and not err then self.stream:wait() end
  end
  for _, waits in pairs(self.asked) do waits.fiber:wake() end
  if self.listener then self.listener:wake() end
end

-- The first line says who is there.
local function greet(self)
  local due = fiber.now() + PATIENCE
  while true do
    local line, err = self.stream:line()
    if err then return nil, err end
    if line then
      local message = json.decode(line)
      if type(message) == "table" and type(message.error) == "table" then
        return nil, failed { code = "denied", message = tostring(message.error.message) }
      end
      local hello = type(message) == "table" and message.hello
      if type(hello) == "table" and hello.protocol == 1 then return hello end
      return nil, failed { code = "protocol", message = self.name .. " does not speak as hocket does" }
    end
    if fiber.now() >= due then return nil, failed { code = "timeout", message = ("%s did not answer within %g seconds"):format(self.name, PATIENCE) } end
    self.stream:wait(math.max(0, due - fiber.now()))
  end
end

local function open(to)
  local path, wrong = find(to)
  if not path then return nil, wrong end
  local stream, pid, uid = sockets.connect(path)
  if not stream then
    local err = pid
    if err.code == "not_found" then err.message = ("there is no '%s' to attach to: `hocket attach` lists what offers itself"):format(to) end
    return nil, err
  end
  local _, own = sockets.self()
  if uid ~= own and own ~= 0 then
    stream:close()
    return nil, failed { code = "denied", message = ("%s belongs to another user"):format(path) }
  end
  local self = setmetatable({ name = to, pid = pid, stream = stream, asked = {}, news = {}, dropped = 0, last = 0 }, Attached)
  local hello, err = greet(self)
  if not hello then
    stream:close()
    return nil, err
  end
  self.name, self.version, self.rights = tostring(hello.name), tostring(hello.hocket), hello.rights == "look" and "look" or "all"
  fiber.detach(read, self)
  return self
end

--- Attaches to a program, by its name, its process's number, or its socket's path.
---@async
---@param to string
---@return hocket.Attached?
---@return hocket.Error?
function attach.open(to)
  return waiting(open, tostring(to))
end

local function ask(self, request, seconds)
  if self.err then return nil, self.err end
  self.last = self.last + 1
  request.id = self.last
  local sent, err = self.stream:send(json.encode(request))
  if not sent then return nil, err end
  local waits, due = { fiber = fiber.self() }, seconds and fiber.now() + seconds
  self.asked[request.id] = waits
  while not waits.answer and not self.err do
    if due and fiber.now() >= due then break end
    fiber.park(due and math.max(0, due - fiber.now()))
  end
  self.asked[request.id] = nil
  local answer = waits.answer
  if not answer then return nil, self.err or failed { code = "timeout", message = self.name .. " did not answer in time" } end
  if answer.ok then return answer end
  local wrong = type(answer.error) == "table" and answer.error or {}
  return nil, failed { code = tostring(wrong.code or "protocol"), message = tostring(wrong.message or "it failed") }
end

--- Gives a command (`help` lists them) and waits for its answer.
---@async
---@param command string "runs", "board", "say smith Good day!" …
---@param seconds? number
---@return {text: string, value?: any}? answer `text` for people, `value` for programs.
---@return hocket.Error?
function Attached:ask(command, seconds)
  return waiting(ask, self, { command = command }, seconds)
end

--- Completions of the last word of a command that is being typed.
---@async
---@param beginning string
---@return {from: integer, words: string[]}? from: bytes of `beginning` that stay.
---@return hocket.Error?
function Attached:complete(beginning, seconds)
  local answer, err = waiting(ask, self, { complete = beginning }, seconds)
  if not answer then return nil, err end
  return answer.value
end

local function next_news(self)
  while #self.news == 0 and not self.err do
    self.listener = fiber.self()
    fiber.park()
  end
  self.listener = nil
  if self.dropped > 0 then
    local n = self.dropped
    self.dropped = 0
    return { note = ("%d events came faster than they were taken, and are dropped"):format(n) }
  end
  return table.remove(self.news, 1)
end

--- The next event (after the command `events`) or note of the other side; nil when it is over.
---@async
---@return {event?: table, note?: string}?
function Attached:next()
  return waiting(next_news, self)
end

--- Ends the connection; the other program continues.
function Attached:close()
  self.err = self.err or failed { code = "closed", message = "it was closed" }
  self.stream:close()
end

return attach
