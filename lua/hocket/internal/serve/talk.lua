--- Conversations for whoever puts them in front of a person: runs of the host, kept where it keeps runs, that receive what is said by
--- `run:answer` and put away when they are left.
---
---     begin {target, options} ──> a new one        leave ──> parked in the store; ended, where nothing is kept
---     go_on {id}              ──> one of the store, which tells everything that was said so far once more
local consent = require "hocket.internal.run.consent"
local core = require "hocket.internal.core.runs"
local ends = require "hocket.internal.serve.ends"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local runs = require "hocket.internal.run.run"

local talk = {}

---@class hocket.Talk
---@field id string The run's.
---@field journal? userdata Once it has begun.
---@field outcome? {code: string, message: string}
---@field err? hocket.Error Why it ended, where that was an error.
local Talk = {}
Talk.__index = Talk

---@class hocket.Talks
local Talks = {}
Talks.__index = Talks

local function wake(self)
  if self.waiter then self.waiter:wake() end
end

local function hear_ends(self)
  local heard <close> = ends.listen()
  while true do
    local number, code, message = heard:next()
    local one = self.open[number]
    if one then
      self.open[number] = nil
      one.outcome = { code = code, message = message }
      one.err = code ~= "ok" and code ~= "parked" and { code = code, message = message } or nil
      wake(one)
    end
  end
end

--- Learns of the conversations of this host, below the running fiber.
---@return hocket.Talks
function talk.open()
  local self = setmetatable({ open = {} }, Talks)
  self.ears = fiber.spawn(hear_ends, self)
  self.ears:serve()
  return self
end

local function await_begin(self)
  self.waiter = fiber.self()
  while not self.journal and not self.outcome do fiber.park() end
  self.waiter = nil
  if self.journal then return true end
  return nil, self.err or { code = "state", message = "the conversation ended before it had begun" }
end

-- The hook comes before the run does anything.
local function adopt(self, one, hooks)
  runs.on_begin(one, function(run)
    if run.id ~= one.id then return end
    runs.on_begin(one, nil)
    one.journal, run.tell_delta = run.journal, hooks.delta
    hooks.attach(run)
    wake(one)
  end)
  self.open[one.number] = one
  local ok, err = await_begin(one)
  runs.on_begin(one, nil)
  if not ok then return nil, err end
  return one
end

--- Begins one. `hooks.attach(run)` is called before the run does anything; `hooks.delta(kind, text, agent, op)` gets pieces of streams.
---@async
---@param spec {target: string, options: table, hooks: {attach: fun(run: hocket.Run), delta: function}}
---@return hocket.Talk?
---@return hocket.Error?
function Talks:begin(spec)
  local options = {}
  for name, value in pairs(spec.options) do options[name] = value end
  options.conversation, options.interactive, options.deltas = true, true, true
  local number, name = core.start(spec.target, nil, json.encode(options))
  if not number then return nil, name end
  return adopt(self, setmetatable({ number = number, id = name }, Talk), spec.hooks)
end

--- Continues with one of the store, by its whole id.
---@async
---@param id string
---@param options table That hold here.
---@param hooks table As for begin.
---@return hocket.Talk?
---@return hocket.Error?
function Talks:go_on(id, options, hooks)
  local given = consent.given(options)
  given.interactive, given.deltas = true, true
  local number, err = core.resume(id, json.encode(given))
  if not number then return nil, err end
  return adopt(self, setmetatable({ number = number, id = id }, Talk), hooks)
end

--- Waits for its end.
---@async
function Talk:join()
  self.waiter = fiber.self()
  while not self.outcome do fiber.park() end
  self.waiter = nil
end

--- Puts it away, or ends it where nothing of it is kept.
function Talk:leave()
  if not self.outcome and not core.park(self.number) then core.cancel(self.number) end
end

return talk
