--- What a run's journal does not say, noted where it happens: how long a tool was at work, what a model was asked with, who failed how.
---
---     the run      note ─> a table in a list, with the record that it came after
---     its reader   (spans.lua) takes records and notes in one order, and makes spans of them
---
--- It is the run's `observer` while somebody wants its trace; runs that nobody looks at have none, and pay nothing. Nothing here waits,
--- and what a replay does again it notes again, with the same ids: so spans that a former process began end in this one.
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"
local kept = require "hocket.internal.core.kept"
local system = require "hocket.internal.core.system"
local trace = require "hocket.internal.telemetry.trace"

local observer = {}

--- Notes that wait for the reader; what comes then is dropped, and counted.
local MAX_NOTES = 10000

---@class hocket.Observer
---@field notes table[]
---@field dropped integer
---@field reader? userdata The fiber that reads.
---@field agents table<string, string> By operation: the span of its agent.
local Observer = {}
Observer.__index = Observer

---@param run hocket.Run
---@param config hocket.TelemetrySettings
---@param context hocket.TraceContext Of the run itself: its trace, and its own span.
---@return hocket.Observer
function observer.new(run, config, context)
  return setmetatable({
    run = run, config = config, context = context, notes = {}, first = 1, last = 0, dropped = 0, agents = {}, counts = {}, at = setmetatable({}, { __mode = "k" }),
    kept = kept.here() ~= nil, base = kept.here() and 0 or system.wall() - fiber.real_now(),
  }, Observer)
end

-- Real time: nobody may see by a run whether it is observed. A replay gives the times of the run's log.
local function time(self)
  return kept.real_wall() or self.base + fiber.real_now()
end

local function note(self, one)
  if self.last - self.first >= MAX_NOTES then
    self.dropped = self.dropped + 1
    return
  end
  one.time, one.after, one.replayed = one.time or time(self), self.run.journal:last(), effects.is_replay()
  self.last = self.last + 1
  self.notes[self.last] = one
  if self.reader then self.reader:wake() end
end

--- The next note that came after no later record than this one.
---@param seq? integer
---@return table?
function Observer:take(seq)
  local one = self.notes[self.first]
  if not one or seq and one.after >= seq then return nil end
  self.notes[self.first], self.first = nil, self.first + 1
  return one
end

-- An id that is the same in each life of the run: the n-th of its kind.
local function id_of(self, kind, which)
  local name = kind .. " " .. which
  local n = (self.counts[name] or 0) + 1
  self.counts[name] = n
  return trace.span_of(self.run.id, kind, n == 1 and which or which .. "#" .. n)
end

local function here()
  local context = fiber.context()
  local step = context and context.step
  return step and step.op, step and step.def.name
end

---@class hocket.Observed Something that goes on: its span's id.
---@field id string
local Observed = {}
Observed.__index = Observed

-- The one way in which it ends; `fields` say how, where that is known.
local function finish(self, fields)
  if self.is_over then return end
  self.is_over = true
  if self.fiber then self.observer.at[self.fiber] = nil end
  fields.kind, fields.id = "end", self.id
  note(self.observer, fields)
end

function Observed.__close(self)
  finish(self, { error = "cancelled" })
end

-- The tool that the running fiber is in, or its agent.
local function parent_of(self, op)
  local tool = self.at[fiber.self()]
  return tool and tool.id or op and self.agents[op] or nil
end

-- parent nil: what the run itself is in, which its reader knows.
local function begin(self, kind, id, parent, fields)
  fields.kind, fields.what, fields.id, fields.parent = "begin", kind, id, parent
  note(self, fields)
  return setmetatable({ observer = self, id = id }, Observed)
end

--- What is said of the trace to whoever is asked under this span.
---@return string traceparent
---@return string? tracestate
function Observed:say()
  local context = self.observer.context
  return trace.write(context.id, self.id, context.sampled), context.state
end

--- The same as lines of an HTTP request's head, where models are to hear of it; nil: they are not.
---@return string?
function Observed:lines()
  if not self.observer.config.to_models then return nil end
  local parent, state = self:say()
  return ("traceparent: %s\0"):format(parent) .. (state and ("tracestate: %s\0"):format(state) or "")
end

-- ---- Agents -------------------------------------------------------------------------------------------

--- An agent is at work. Closed when it is over.
---@param step hocket.Step
---@return hocket.Observed
function Observer:agent(step)
  local id, above = id_of(self, "agent", step.op), step.above
  self.agents[step.op] = id
  return begin(self, "agent", id, step.via and step.via.id or above and self.agents[above.op] or nil,
    { op = step.op, agent = step.def.name, description = step.def.description, trigger = step.opts.trigger })
end

--- How it ended.
---@param reply? hocket.Reply
---@param err? hocket.Error
function Observed:answered(reply, err)
  local cut = reply and reply.cut and reply.cut.reason ~= "stopped" and reply.cut or nil
  finish(self, { error = not reply and (err and err.code or "_OTHER") or cut and cut.code or nil, message = not reply and err and err.message or cut and cut.message or nil })
end

--- The tool that the running fiber is in, if any.
---@return hocket.Observed?
function Observer:here()
  return self.at[fiber.self()]
end

-- ---- Model calls -----------------------------------------------------------------------------------------

--- A model is asked, until it has answered or is given up.
---@param one hocket.Model
---@param history hocket.History
---@param asker hocket.Asker
---@return hocket.Observed
function Observer:call(one, history, asker)
  local op, agent = here()
  local wants = self.config.content
  return begin(self, "chat", id_of(self, "chat", op or "-"), op and self.agents[op] or nil, {
    op = op, agent = agent, provider = one.provider_name, model = one.name, simulated = one.simulated or nil, spec = asker.request.spec, base = one.base,
    lines = (wants.span or wants.log) and history:lines() or nil,
  })
end

--- An attempt has failed, and there will be another one.
---@param err hocket.Error
---@param n integer
---@param delay number Seconds.
function Observed:again(err, n, delay)
  note(self.observer, { kind = "attempt", id = self.id, n = n, error = err.code, status = err.http_status, message = err.message, delay = delay })
end

--- The call that has its reply; or nil and why there is none. Returns the same.
---@param call userdata?
---@param err? hocket.Error
---@return userdata? call
---@return hocket.Error? err
---@return boolean? acted
function Observed:replied(call, err, acted)
  finish(self, call and { reply = call:reply(), reused = self.reused } or { error = err and err.code or "_OTHER", status = err and err.http_status, message = err and err.message })
  return call, err, acted
end

--- Vectors of texts are asked for.
---@param id string Of the model.
---@param dimensions? integer
---@return hocket.Observed
function Observer:embed(id, dimensions)
  local op, agent = here()
  local provider, model = id:match "^([^/]+)/(.+)$"
  return begin(self, "embeddings", id_of(self, "embeddings", op or "-"), parent_of(self, op), { op = op, agent = agent, provider = provider, model = model or id, dimensions = dimensions })
end

--- The ones that came; or nil and why there are none.
---@param got? {tokens?: integer, cost?: number}
---@param err? hocket.Error
function Observed:embedded(got, err)
  finish(self, got and { tokens = got.tokens, cost = got.cost } or { error = err and err.code or "_OTHER", status = err and err.http_status, message = err and err.message })
end

-- ---- MCP ---------------------------------------------------------------------------------------------------

--- A request to an MCP server, which is no tool's call.
---@param about {method: string, name?: string, uri?: string, server: string, id: integer, version?: string, session?: string, transport: string, address?: string, port?: integer}
---@return hocket.Observed
function Observer:rpc(about)
  local op = here()
  return begin(self, "rpc", id_of(self, "rpc", op or "-"), parent_of(self, op), { op = op, about = about })
end

--- It was answered, or not: why.
---@param err? hocket.Error
function Observed:rpc_answered(err)
  local code = err and err.rpc and err.rpc.code
  finish(self, { error = err and (code and tostring(code) or err.code) or nil, message = err and err.message, rpc = code and tostring(code) or nil })
end

--- What such a request says of the trace, in its `_meta`; nil: nobody wants that.
---@return {traceparent: string, tracestate?: string}?
function Observed:meta()
  if not self.observer.config.propagate then return nil end
  local parent, state = self:say()
  return { traceparent = parent, tracestate = state }
end

-- ---- Tools -------------------------------------------------------------------------------------------------

---@class hocket.ObservedTool : hocket.Observed, hocket.WatchedCall
local ObservedTool = setmetatable({}, { __index = Observed })
ObservedTool.__index = ObservedTool
ObservedTool.__close = Observed.__close

function ObservedTool:begins(args)
  self.fiber, self.began = fiber.self(), time(self.observer)
  self.observer.at[self.fiber] = self
  if self.also then self.also:begins(args) end
end

function ObservedTool:ended(text, is_error)
  if self.also then self.also:ended(text, is_error) end
  local wants = self.observer.config.content
  finish(self, { error = is_error and "tool_error" or nil, began = self.began, refused = is_error and not self.began or nil, result = (wants.span or wants.log) and text or nil, mcp = self.about })
end

--- A tool is called: for a session's `watch`. `also`: who looks on besides.
---@param one hocket.Tool
---@param args table
---@param call string Its id.
---@param step hocket.Step
---@param also? hocket.WatchedCall
---@return hocket.ObservedTool
function Observer:tool(one, args, call, step, also)
  local wants = self.config.content
  local made = begin(self, "tool", id_of(self, "tool", step.op), self.agents[step.op], {
    op = step.op, agent = step.def.name, tool = one.name, description = one.description, set = one.set, call = call, arguments = (wants.span or wants.log) and args or nil,
  })
  made.also = also
  return setmetatable(made, ObservedTool)
end

--- The call goes to an MCP server: what is known of that. Returns what the request says of the trace, for its `_meta`.
---@param about {server: string, tool: string, version?: string, session?: string, transport: string, address?: string, port?: integer}
---@return table?
function Observed:mcp(about)
  self.about = about
  return self:meta()
end

-- ---- Its end here ------------------------------------------------------------------------------------------------

--- The run is put away: what ends from now on goes on in another process.
function Observer:park()
  note(self, { kind = "parked" })
end

return observer
