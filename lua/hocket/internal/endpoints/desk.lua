--- Where interfaces start runs, and find the ones that go on: the one place that knows the limits, the queue and the store.
---
---     local run, err = desk:start { target = "travel", input = "Three days in Lisbon", options = { deltas = true } }
---     local reader = run:subscribe { deltas = true }        each reader has a cursor of its own, and holds up nobody
---     for event in reader:events() do … end                 decoded, in order, until the run has ended
---     local result, err, partial = run:wait()               as `hocket run --json` has it
---
--- A run is the host's: it is kept in the store, and goes on when the fiber that started it ends. What is to end with its client
--- says so: `local with_client <close> = run:bound()`. Options are those of `hocket run` (docs/reference/commands.md) as its JSON has them; the ones that
--- the server was started with hold where a request says nothing, and its limits are never exceeded. Errors that clients can do something about: `not_found`
--- (no such agent), `limit` (too much is at work; `retry_after` seconds), `closed` (the server ends), `invalid`, `agent`.
local callers = require "hocket.internal.endpoints.caller"
local consent = require "hocket.internal.run.consent"
local core = require "hocket.internal.core.runs"
local desk_run = require "hocket.internal.endpoints.desk.run"
local endings = require "hocket.internal.base.ending"
local ends = require "hocket.internal.serve.ends"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local limits = require "hocket.internal.models.limits"
local runs = require "hocket.internal.run.run"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"
local suggest = require "hocket.internal.base.suggest"
local system = require "hocket.internal.core.system"

local desk = {}

--- Runs that have ended and are still at hand, where nothing is kept of them or is not written yet.
local AT_HAND = 32

---@class hocket.Desk
local Desk = {}
Desk.__index = Desk

---@param options {offered: hocket.Offered, options: table, max_runs: integer, max_queue: integer, kept: boolean, hooks?: boolean} kept: there is a store; hooks: somebody is to hear of the ends of runs.
---@return hocket.Desk
function desk.new(options)
  return setmetatable({
    offered = options.offered, options = options.options, max_runs = options.max_runs, max_queue = options.max_queue, kept = options.kept,
    by_number = {}, by_name = {}, ended = {}, queue = {}, starting = 0, listeners = {}, beginners = {}, replays = {}, replaying = {}, hooks = options.hooks, counts = { started = 0, done = 0, failed = 0, cancelled = 0, parked = 0, refused = 0 },
    used = { input = 0, output = 0, cached = 0, reasoning = 0, calls = 0, cost = 0.0 },
  }, Desk)
end

-- ---- Starting --------------------------------------------------------------------------------------------

local function at_work(self)
  local n = self.starting
  for _, run in pairs(self.by_number) do n = n + (run:is_at_work() and 1 or 0) end
  return n
end

--- How many runs are at work: the ones that wait for a person are not.
---@return integer
function Desk:at_work()
  return at_work(self)
end

--- How many wait for their turn.
---@return integer
function Desk:queued()
  return #self.queue
end

local function ending()
  return { code = "closed", message = "the server ends", retry_after = 10 }
end

local function take_place(self)
  self.starting = self.starting + 1
  return setmetatable({}, { __close = function() self.starting = self.starting - 1 end })
end

local function leave_queue(self, me)
  for i, one in ipairs(self.queue) do
    if one == me then return table.remove(self.queue, i) end
  end
end

-- Who waits first begins first; who goes away does not wait any more.
local function wait_for_place(self)
  local me = fiber.self()
  local over <close> = setmetatable({}, { __close = function() leave_queue(self, me) end })
  self.queue[#self.queue + 1] = me
  while self.queue[1] ~= me or at_work(self) >= self.max_runs do
    if self.closing then return nil, ending() end
    fiber.sleep(1) -- a run that begins to wait for a person makes room without a word
  end
  return take_place(self)
end

-- Known to be so: what begins would only wait for it.
local function away(self)
  return self.kept and store.is_away() and { code = "io", message = "the store is away: nothing can be kept", retry_after = 5 }
end

local function admit(self)
  if self.closing then return nil, ending() end
  local wrong = away(self)
  if wrong then return nil, wrong end
  if #self.queue == 0 and at_work(self) < self.max_runs then return take_place(self) end
  if #self.queue < self.max_queue then return wait_for_place(self) end
  self.counts.refused = self.counts.refused + 1
  return nil, { code = "limit", message = ("%d runs are at work and %d wait: come again later"):format(self.max_runs, #self.queue), retry_after = 5 + #self.queue }
end

--- What is offered by a name.
---@param name string
---@return hocket.OfferedAgent?
---@return hocket.Error?
function Desk:find_agent(name)
  local list, err = self:agents()
  if not list then return nil, err end
  local names = {}
  for i, one in ipairs(list) do
    if one.name == name then return one end
    names[i] = one.name
  end
  local near = suggest(name, names)
  return nil, { code = "not_found", message = ("there is no agent '%s'%s"):format(name, near and (": did you mean '%s'?"):format(near)
    or #names == 0 and ": nothing is offered" or (" (there are: %s)"):format(table.concat(names, ", "))) }
end

--- Everything that is offered. Where a change has made that impossible (two of one name) it is as it was before.
---@return hocket.OfferedAgent[]?
---@return hocket.Error?
function Desk:agents()
  if self.list then return self.list end
  local list, err = self.offered:list()
  if not list and not self.good then return nil, err end
  if not list then system.log("warn", "what is offered stays as it was: " .. err.message) end
  self.list = list or self.good
  self.good = self.list
  return self.list
end

-- The server's limits are those of each run; a request may have less.
local function merged(own, asked)
  asked = asked or {}
  local all = {}
  for _, from in ipairs { own, asked, limits.both(own, asked) } do
    for name, value in pairs(from) do all[name] = value end
  end
  return all
end

-- `of`: the token that has begun it, and the limits that it has of it.
local function adopt(self, number, name, target, of)
  local made = desk_run.new(self, number, name, target)
  made.token, made.limits, made.cost_before = of.token, of.limits, of.cost
  self.by_number[number] = made
  if name then self.by_name[name] = made end
  self.counts.started = self.counts.started + 1
  return made
end

-- What is denied to us, by the store's folder for example, is denied to no client: there is nothing that it could do about it.
local function ours(err)
  if err.code ~= "denied" and err.code ~= "io" then return err end
  return { code = err.code, message = err.message, status = 503, retry_after = 60 }
end

-- Whose memory a run has: its token's, and of that the end user's whom the client names. A name may be any text; what is not plain is kept
-- apart by its hash.
local function memory_of(token, user)
  if user == nil or user == "" then return token or "owner" end
  local plain = #user <= 64 and user:find "^[%w._@-]+$"
  return ("%s %s"):format(token or "owner", plain and user or "#" .. system.digest(user):sub(1, 32))
end

--- Starts a run of what is offered by a name; waits for its turn where too many are at work.
---@async
---@param spec {target: string, input?: string, options?: table, key?: string, digest?: string, user?: string, token?: string, limits?: hocket.ClientToken} key, digest: of the request, kept with it; user: for whom the client asks, as it names its users; token: whose it is, where it is not the owner's.
---@return hocket.DeskRun?
---@return hocket.Error?
function Desk:start(spec)
  local one, err = self:find_agent(spec.target)
  if not one then return nil, err end
  local place <close>, refused = admit(self)
  if not place then return nil, refused end
  local options = merged(self.options, spec.options)
  options.serve = { agent = one.name, key = spec.key, digest = spec.key and spec.digest, hooks = self.hooks or nil, token = spec.token }
  options.memory_of = memory_of(spec.token, spec.user)
  options.consent = false -- clients are no person of this machine
  options.labels = json.array { "outside" } -- whichever door they came by, and whoever sent them
  local context = runs.traces and fiber.context()
  options.trace = spec.options and spec.options.trace or context and context.trace or nil
  local number, name = core.start(one.path, spec.input, json.encode(options))
  if not number then return nil, ours(name) end
  local run = adopt(self, number, name, one.name, spec)
  run.input, run.path = spec.input, one.path
  return run
end

-- A replay has to be over before its run goes on: both would be told of as the same.
local function end_replay(self, id)
  while self.replaying[id] do
    core.cancel(self.replaying[id].number)
    fiber.sleep(0.01)
  end
end

--- Continues with a run of the store that has not ended, by its whole id.
---@async
---@param id string
---@param options? table
---@param of? {limits?: hocket.ClientToken}
---@return hocket.DeskRun?
---@return hocket.Error?
function Desk:resume(id, options, of)
  if self.by_name[id] and not self.by_name[id].outcome then return self.by_name[id] end
  local place <close>, refused = admit(self)
  if not place then return nil, refused end
  local row = self:row(id) -- nothing waits behind the next line
  end_replay(self, id)
  if self.by_name[id] and not self.by_name[id].outcome then return self.by_name[id] end -- meanwhile
  local given = consent.given(self.options)
  given.interactive = true
  local number, err = core.resume(id, json.encode(merged(given, options)))
  if not number then return nil, ours(err) end
  local run = adopt(self, number, id, row and callers.agent_of(row), { token = row and callers.token_of(row), limits = of and of.limits, cost = row and row.cost or nil })
  if not run:begun() and run.outcome.code == "denied" then return nil, { code = "denied", message = run.outcome.message } end -- its code is not trusted
  return run
end

--- Runs a run of the store again from its log: nobody is asked and nothing is written. For what is nowhere but in its memory.
---@async
---@param id string Whole.
---@param on_begin fun(run: hocket.Run) Is given the run before its agents are at work.
---@return boolean? done Also of one whose log ends before it does.
---@return hocket.Error?
function Desk:replay(id, on_begin)
  local here = self.by_name[id]
  if here and not here.outcome or self.replaying[id] then return nil, { code = "state", message = ("the run %s goes on"):format(id) } end
  local replay = { on_begin = on_begin, fiber = fiber.self() }
  self.replaying[id] = replay
  local number, err = core.replay(id, json.encode(consent.given(self.options)))
  if not number then
    self.replaying[id] = nil
    return nil, err
  end
  replay.number, self.replays[number] = number, replay
  local over <close> = setmetatable({}, { __close = function()
    if not replay.code then core.cancel(number) end -- whoever wanted it has gone; its end is still heard
  end })
  while not replay.code do fiber.park() end
  if replay.run and replay.code ~= "replay" and replay.code ~= "cancelled" then return true end -- however it ended then
  local code = (replay.code == "replay" or replay.code == "cancelled") and "conflict" or replay.code
  return nil, { code = code, message = "the run cannot be made again from its log: " .. tostring(replay.message) }
end

local function settle_replay(self, replay, code, message)
  replay.code, replay.message = code, message
  self.replays[replay.number] = nil
  for id, one in pairs(self.replaying) do
    if one == replay then self.replaying[id] = nil end
  end
  replay.fiber:wake()
end

--- A run that goes on here, or has ended a moment ago.
---@param id string
---@return hocket.DeskRun?
function Desk:find(id)
  return self.by_name[id]
end

--- The runs that go on here, oldest first.
---@return hocket.DeskRun[]
function Desk:all()
  local list = {}
  for _, run in pairs(self.by_number) do list[#list + 1] = run end
  table.sort(list, function(a, b) return a.number < b.number end)
  return list
end

--- The same with the ones that have ended a moment ago.
---@return hocket.DeskRun[]
function Desk:at_hand()
  local list = self:all()
  table.move(list, 1, #list, #self.ended + 1)
  return table.move(self.ended, 1, #self.ended, 1, list)
end

-- ---- Whose a run is ------------------------------------------------------------------------------------
--
-- The desk is the owner's, who may do all of this. desk/client.lua is the one of a client's token.

--- The run of the store whose id begins so.
---@async
---@param id string
---@return table? row
---@return hocket.Error?
function Desk:row(id) return stored.find(id) end

--- The token that has begun a run, or a row's; nil: the owner's.
---@param one hocket.DeskRun|table
---@return string?
function Desk:token_of(one)
  if one.desk then return one.token end
  return callers.token_of(one)
end

--- The agent that a run was started with, as it is offered.
---@param one hocket.DeskRun|table
---@return string?
function Desk:agent_of(one)
  if one.desk then return one.target end
  return callers.agent_of(one)
end

function Desk:may_read() return true end

--- Whether it may go on, be changed or ended by whoever has this desk.
---@param one hocket.DeskRun|table A run, or a row of the store.
---@return boolean?
---@return hocket.Error?
function Desk:may_continue(one) return one ~= nil end

--- The same of an answer to what it has asked, which lies in the store unless the run goes on.
function Desk:may_answer(one) return one ~= nil end

function Desk:take_turn() return true end

--- Forgets a run that has ended.
---@param id string
function Desk:forget(id)
  self.by_name[id] = nil
  for i, one in ipairs(self.ended) do
    if one.name == id then return table.remove(self.ended, i) end
  end
end

-- ---- Ends --------------------------------------------------------------------------------------------------

--- Has fn(run) called when a run begins, or goes on.
---@param fn fun(run: hocket.DeskRun)
function Desk:on_begin(fn)
  self.beginners[#self.beginners + 1] = fn
end

--- Has fn(run) called when a run has ended.
---@param fn fun(run: hocket.DeskRun)
function Desk:on_end(fn)
  self.listeners[#self.listeners + 1] = fn
end

-- What a run has used, of this life alone; a cost that is not known is none here.
local function add_usage(used, run)
  local usage = run.run and run.run:usage()
  for name, sum in pairs(usage and used or {}) do
    local value = name == "cost" and (usage.cost_known or usage.cost) or usage[name]
    if type(value) == "number" then used[name] = sum + value end
  end
end

local function settle(self, run, code, message, result)
  add_usage(self.used, run)
  run.outcome = { ok = code == "ok", code = code, message = message, result = result ~= "" and result or "{}" }
  self.by_number[run.number] = nil
  local word = endings.state(code)
  self.counts[word] = self.counts[word] + 1
  if word == "parked" or not run.journal then self.by_name[run.name] = nil else self.ended[#self.ended + 1] = run end
  if #self.ended > AT_HAND then
    local oldest = table.remove(self.ended, 1)
    if self.by_name[oldest.name] == oldest then self.by_name[oldest.name] = nil end
  end
  desk_run.wake_all(run.waiting)
  desk_run.wake_all(run.hungry)
  if self.queue[1] then self.queue[1]:wake() end
  for _, fn in ipairs(self.listeners) do fn(run) end
end

local function hear_ends(self)
  local heard <close> = ends.listen()
  while true do
    local number, code, message, result = heard:next()
    local run = self.by_number[number]
    if run then settle(self, run, code, message, result) end
    if self.replays[number] then settle_replay(self, self.replays[number], code, message) end
  end
end

--- Learns of the runs of this host, until the running fiber ends.
function Desk:open()
  runs.on_begin(self, function(run)
    local one = run.id and self.by_name[run.id]
    local replay = run.id and self.replaying[run.id]
    if one and not one.run then
      run.sessions = setmetatable({}, { __mode = "v" })
      desk_run.begin(one, run)
    elseif replay then
      replay.run = run
      replay.on_begin(run)
    end
  end)
  fiber.spawn(hear_ends, self):serve()
  self.offered:watch(function() self.list = nil end)
end

--- Nothing is started any more; what is at work may go on for so many seconds. Then, and where somebody is awaited, it is put away
--- in the store, or ended where nothing is kept.
---@async
---@param grace number
function Desk:close(grace)
  self.closing = true
  for _, waiting in ipairs(self.queue) do waiting:wake() end
  local due = fiber.now() + grace
  while next(self.by_number) and at_work(self) > 0 and fiber.now() < due do fiber.sleep(math.min(0.05, math.max(0, due - fiber.now()))) end
  for _, run in ipairs(self:all()) do
    if not run:park() then run:cancel() end
  end
  while next(self.by_number) do fiber.sleep(0.01) end
  runs.on_begin(self, nil)
end

return desk
