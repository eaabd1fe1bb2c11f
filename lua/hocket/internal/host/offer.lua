--- A host that lets its owner look into it: it listens at a socket, and gives each who attaches a console.
---
---     listener ──> accept ──> who is it? ──> a client: one fiber reads commands, one for each run tells events
---                                 └─ another user, too many: told so, and closed
---
--- No client can hold the host up. Lines are bounded, and the next one is read when the last was taken. Commands of one
--- client have a pause between them. The output queue is bounded: events without room are dropped, and a note gives
--- their number. Without a client nothing runs.
local console = require "hocket.internal.host.console"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local paths = require "hocket.internal.base.socket_path"
local runs = require "hocket.internal.run.run"
local sockets = require "hocket.internal.core.socket"
local system = require "hocket.internal.core.system"
local truncate = require "hocket.internal.base.truncate"

local offer = {}

--- Clients at once, and commands of one that are awaited (`say`).
local MAX_CLIENTS, MAX_WAITING = 8, 16
--- Seconds between two commands of a client; that one has to make room for events.
local PAUSE, PATIENCE = 0.01, 2
--- Bytes that wait to be sent, from which on events wait; of an answer's text.
local FULL, MAX_ANSWER = 256 << 10, 128 << 10

local open_ones = {} -- by name

-- ---- One client -----------------------------------------------------------------------------------------

local Client = {}
Client.__index = Client

local function send(self, message)
  local sent, err = self.stream:send(json.encode(message))
  if not sent and err.code == "limit" then
    sent = self.stream:send(json.encode { id = message.id, ok = false, error = { code = "limit", message = "the answer is too large, or too much waits to be sent" } })
  end
  return sent
end

local function answer(self, id, result, err)
  if not result then
    return send(self, { id = id, ok = false, error = { code = err.code or "script", message = truncate(tostring(err.message or err.code), 8192, "…") } })
  end
  local text = utf8.len(result.text) and result.text or result.text:gsub("[\x80-\xFF]", "?")
  send(self, { id = id, ok = true, text = truncate(text, MAX_ANSWER, "\n… (cut)"), value = result.value })
end

-- What a command raises is an answer as well.
local function give(self, id, line)
  local ok, result, err = pcall(self.console.give, self.console, line)
  if fiber.cancelled() then return end
  if not ok then result, err = nil, type(result) == "table" and result or { code = "script", message = tostring(result) } end
  if not self.closed then answer(self, id, result, err) end
end

-- Waiting commands are fibers of their own, so that others are answered meanwhile.
local function give_aside(self, id, line)
  if self.waiting >= MAX_WAITING then
    return answer(self, id, nil, { code = "limit", message = ("more than %d commands wait for their answers"):format(MAX_WAITING) })
  end
  local one
  self.waiting = self.waiting + 1
  one = fiber.spawn(function()
    local over <close> = setmetatable({}, { __close = function() self.waiting, self.aside[one] = self.waiting - 1, nil end })
    give(self, id, line)
  end)
  self.aside[one] = one
end

local function request(self, line)
  local message = json.decode(line)
  local id = type(message) == "table" and (math.type(message.id) == "integer" or type(message.id) == "string") and message.id or nil
  if id and type(message.command) == "string" then
    if message.command:find "^%s*say%s" or message.command:find "^%s*reload" then return give_aside(self, id, message.command) end
    return give(self, id, message.command)
  elseif id and type(message.complete) == "string" then
    return send(self, { id = id, ok = true, value = self.console:complete(message.complete) })
  end
  send(self, { id = id, ok = false, error = { code = "protocol", message = 'expected one JSON object in a line: {"id":1,"command":"help"}' } })
end

-- ---- Events ------------------------------------------------------------------------------------------------

-- Whether there is room; waits two seconds for it at most.
local function has_room(self)
  local due = fiber.now() + PATIENCE
  while not self.closed and self.stream:queued() > FULL do
    if fiber.now() >= due then return false end
    self.stream:wait(math.max(0, due - fiber.now()))
  end
  return not self.closed
end

-- A client that does not read must not keep what it has not read.
local function skip(self, run, cursor)
  local last = run.journal:last()
  self.dropped = self.dropped + (last - cursor)
  return last
end

local function note_dropped(self)
  if self.dropped == 0 then return end
  local sent = self.stream:send(json.encode { note = ("%d events are dropped: they came faster than they were taken"):format(self.dropped) })
  if sent then self.dropped = 0 end
end

local function tell(self, line, seq)
  note_dropped(self)
  local sent, err = self.stream:send('{"event":' .. line .. "}")
  if sent or err.code ~= "limit" then return end
  self.stream:send(json.encode { note = ("event %d is left out: it has %d bytes"):format(seq, #line) })
end

local function tell_run(self, run, cursor)
  local over <close> = setmetatable({}, { __close = function() self.told[run.journal] = nil end })
  while not self.closed do
    local line, seq, missed = run.journal:next(cursor)
    if line then
      self.dropped = self.dropped + missed
      if has_room(self) then
        tell(self, line, seq)
        cursor = seq
      else
        cursor = skip(self, run, cursor)
      end
      fiber.rest()
    elseif run.journal:finished() then
      return note_dropped(self)
    else
      run.journal:wait(cursor)
    end
  end
end

local function tell_of(self, run, from)
  if self.told[run.journal] or self.closed then return end
  self.told[run.journal] = fiber.spawn_under(self.fiber, tell_run, self, run, from)
end

-- The command `events`.
local function watch(self, what)
  for _, one in pairs(self.told) do one:cancel() end
  self.told = {}
  runs.on_begin(self, nil)
  if what == "all" then
    for _, run in ipairs(runs.all()) do tell_of(self, run, run.journal:last()) end
    runs.on_begin(self, function(run) pcall(tell_of, self, run, 0) end)
  elseif what then
    tell_of(self, what, what.journal:last())
  end
end

-- ---- Clients ----------------------------------------------------------------------------------------------

local function leave(self)
  if self.closed then return end
  self.closed = true
  runs.on_begin(self, nil)
  self.offer.clients[self] = nil
  self.offer.count = self.offer.count - 1
  self.stream:close()
end

-- Who sends no more may still listen: what he has asked for is answered, and sent if he takes it.
local function finish(self, answered)
  for _, one in pairs(answered and self.aside or {}) do one:join() end
  local due = fiber.now() + PATIENCE
  while self.stream:queued() > 0 and fiber.now() < due do self.stream:wait(math.max(0, due - fiber.now())) end
end

-- Half a line waits for its other half, and nobody waits for it.
local function serve(self)
  local over <close> = setmetatable({}, { __close = function() leave(self) end })
  self.fiber = fiber.self()
  self.console = console.new(self.rights == "all", function(what) watch(self, what) end)
  send(self, { hello = { hocket = system.version(), protocol = 1, name = self.offer.name, pid = (sockets.self()), rights = self.rights } })
  while not self.closed do
    local line, err = self.stream:line()
    if line then
      request(self, line)
      fiber.sleep(PAUSE)
    elseif err then
      if err.code == "limit" then answer(self, nil, nil, { code = "limit", message = "a command has at most 256 KiB" }) end
      return finish(self, err.code == "closed")
    else
      self.stream:wait()
    end
  end
end

-- "all", "look" or nil: nobody but the same user, and root only as far as the owner wants.
local function rights_of(self, uid)
  local _, own = sockets.self()
  if uid == own then return self.look and "look" or "all" end
  if uid == 0 then return self.root end
end

local function refuse(stream, code, message)
  stream:send(json.encode { error = { code = code, message = message } })
  stream:close()
end

local function admit(self, stream, uid)
  local rights = rights_of(self, uid)
  if not rights then return refuse(stream, "denied", ("'%s' belongs to another user"):format(self.name)) end
  if self.count >= MAX_CLIENTS then
    return refuse(stream, "limit", ("%d are attached to '%s' already"):format(MAX_CLIENTS, self.name))
  end
  local client = setmetatable({ offer = self, stream = stream, rights = rights, told = {}, aside = {}, dropped = 0, waiting = 0 }, Client)
  self.clients[client], self.count = true, self.count + 1
  client.fiber = fiber.detach(serve, client)
  client.fiber:serve()
end

local function listen(self)
  while open_ones[self.name] == self do
    local stream, _, uid = self.listener:accept()
    if stream then admit(self, stream, uid) else self.listener:wait() end
  end
end

-- ---- Offering -----------------------------------------------------------------------------------------------

local rights = { [false] = false, none = false, look = "look", all = "all" }

local function read(options)
  local read_ones = { look = options.look or false, root = rights[options.root or false] }
  for name in pairs(options) do
    if name ~= "look" and name ~= "root" then error(("unknown option '%s' (look, root)"):format(tostring(name)), 4) end
  end
  if type(read_ones.look) ~= "boolean" then error("bad option 'look' (boolean expected)", 4) end
  if read_ones.root == nil then error("bad option 'root' ('none', 'look' or 'all' expected)", 4) end
  return read_ones
end

--- Offers this host under a name; again with the same one does nothing.
---@param name? string The process's number when nil; or a path to a socket.
---@param options? {look?: boolean, root?: "none"|"look"|"all"}
---@return string? name
---@return hocket.Error?
function offer.open(name, options)
  name = name or tostring((sockets.self()))
  if type(name) ~= "string" then error(("bad argument #1 to 'offer' (string expected, got %s)"):format(type(name)), 3) end
  local self = read(options or {})
  if open_ones[name] then return name end
  local dir, file = paths.split(name)
  if not dir then return nil, file end
  local listener, err = sockets.listen(dir, file)
  if not listener then
    if err.code == "exists" then err.message = ("the name '%s' is taken: %s"):format(name, err.message) end
    return nil, err
  end
  self.name, self.listener, self.clients, self.count = name, listener, {}, 0
  open_ones[name] = self
  fiber.detach(listen, self):serve()
  return name
end

--- Takes an offer back: who is attached is sent away.
---@param name? string nil: all.
---@return boolean was_open
function offer.close(name)
  local any = false
  for one, self in pairs(open_ones) do
    if name == nil or one == name then
      any, open_ones[one] = true, nil
      self.listener:close()
      for client in pairs(self.clients) do client.fiber:cancel() end
    end
  end
  return any
end

return offer
