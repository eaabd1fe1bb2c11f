--- One agent at work, as the patterns see it: what it was asked, who called it, and what it can do next. Agents at work
--- are made by orchestrate.lua alone.
local account = require "hocket.internal.models.account"
local agent_session = require "hocket.internal.work.agent_session"
local guards = require "hocket.internal.base.lazy" "hocket.internal.work.guards"
local json = require "hocket.json"
local known_server = require "hocket.internal.base.lazy" "hocket.internal.models.known_server"
local scope = require "hocket.internal.base.lazy" "hocket.internal.session.scope"
local steering = require "hocket.internal.base.lazy" "hocket.internal.run.steering"

---@class hocket.Step
---@field run hocket.Run
---@field def hocket.Agent
---@field op string
---@field input string What it was asked.
---@field package facts hocket.Facts Of its definition.
---@field package wraps? boolean Whether its definition or its options may put something around it.
---@field package plain boolean Whether neither its definition nor its options have anything that few have, beside what is around it.
---@field opts table As for orchestrate.call; inner: a pattern asks, and its agent's reply says what all have used.
---@field job? hocket.Job Once it has begun, as what follows.
---@field package writer? hocket.EventWriter Who writes its events.
---@field package above? hocket.Step Who called it.
---@field depth integer How many call each other, down to this one.
---@field package deepest integer How many may.
---@field package allowed? table<string, boolean> What the callers grant.
---@field package rules? table[] Layers of rules that it is bound by: the callers', then its own.
---@field package within? table The tool's or step's function that it works for: see effects.within.
---@field package labels? hocket.Labels Of its conversation, once they have been asked for.
---@field history? hocket.History Its conversation, once its session is there.
---@field package around? table What is around it: its advisors, team, router, handoff.
---@field package session? hocket.Session That goes on when it is asked again.
---@field package own? {board: hocket.Board, document?: hocket.Document} The ones that were made for it, and end with it.
---@field package used? hocket.Permissions Of the tools of its last session, where somebody may go on in its place.
---@field checking? hocket.Checking Of the option `check`.
---@field package tried? string[] What its failed attempts have done.
---@field package via? hocket.Observed|false The tool that it was called by, where the run has an observer.
---@field package children? hocket.Children That it has called and may ask again.
---@field package asked? boolean Whether somebody asks it again.
---@field package first_opts? table As it was called first, where it is asked again.
---@field package live? hocket.Session Its latest session.
---@field package fork? table What it has of its caller's conversation (work/fork.lua).
---@field package forked? boolean|string Its prompt, where its conversation has just begun with its caller's.
---@field gate? hocket.GuardGate While guards of its input judge.
---@field held? hocket.HeldBack What it writes, until somebody has decided about it.
---@field package finished? boolean Whether its own part is over.
---@field package over? boolean Whether it has given its work away.
local Step = {}
Step.__index = Step

--- What was asked for: the input, without what a router put beside it.
---@return string
function Step:request()
  return self.opts.request or self.input
end

--- What it was asked, without what was put around that: the promise of `input:` is about it.
---@return string
function Step:subject()
  return self.opts.subject or self.input
end

--- Who called whom, from the outermost down to this one.
---@param between string
---@return string
---@internal
function Step:path(between)
  return (self.above and self.above:path(between) .. between or "") .. self.def.name
end

--- Who is to blame for an error or a cut of an agent that was given work, and by which way that came: a copy with `agent` and `path`.
---@param what hocket.Error|hocket.Cut
---@param from string[] Who was at work before, from the first on.
---@param to string Who was called then.
---@return hocket.Error|hocket.Cut
function Step:blamed(what, from, to)
  local copy, path = {}, table.move(from, 1, #from, 1, json.array {})
  for name, value in pairs(what) do copy[name] = value end
  local rest = what.path or { to }
  copy.agent, copy.path = what.agent or to, table.move(rest, 1, #rest, #path + 1, path)
  return setmetatable(copy, getmetatable(what))
end

--- Whether its answer is handed on.
---@return boolean
function Step:goes_on()
  return self.around and self.around.handoff ~= nil
end

--- Whether its own session speaks last, so that its answer is the answer.
---@return boolean
function Step:is_last()
  local around = self.around
  return not (around and (around.router or around.handoff and not around.choice)) -- of a choice it may be the last
end

--- The tools that came down the way with the work, for whoever answers last. Those `beside` others are for an agent that has
--- tools anyway: not every model can call any.
---@return hocket.Tool[]?
---@internal
function Step:closing()
  local opts = self.opts
  local closing = self:is_last() and opts.closing or nil
  if closing and closing.beside and not self:has_tools() then return nil end
  return closing
end

--- What its conversation has done so far: its calls that may have changed something, a line each.
---@return string[]
function Step:done()
  if not self.history or not self.used then return {} end
  return require("hocket.internal.work.done").of(self.history, self.used)
end

--- Whether it has tools beside the ones that patterns bring.
---@return boolean
function Step:has_tools()
  local opts = self.opts
  return (opts.extra_tools or opts.tools or self.facts.has_tools) and true or false
end

--- Lets the agent's own session answer. `extra` is what a pattern adds.
---@async
---@param input string
---@param extra? {pattern_tools?: hocket.Tool[], hooks?: table, turns?: integer, framed?: boolean}
---@return hocket.Reply?
---@return hocket.Error?
function Step:alone(input, extra)
  local reply, err = agent_session.answer(self, input, extra)
  if reply then reply.agent = self.def.name end
  return reply, err
end

--- Whether it writes what a schema of the answer says, token by token, because its server sees to that, and has no tools that such a
--- schema would keep it from.
---@async
---@return boolean
function Step:is_bound()
  if self:has_tools() then return false end
  return known_server.binds(agent_session.server(self))
end

--- Makes the check of a text.
---@async
---@return hocket.Reply?
---@return hocket.Error?
function Step:verify()
  return agent_session.verify(self)
end

--- Makes the agent's conversation shorter, and asks it nothing.
---@async
---@return hocket.Reply?
---@return hocket.Error?
function Step:compact()
  return agent_session.compact(self)
end

--- It lets others work before its own first call: what that call needs of its budget is kept back from them.
function Step:keep_answer()
  account.keep()
end

--- An event of this agent's.
---@param type string
---@param payload table
function Step:emit(type, payload)
  self.run:emit(type, payload, self.def.name, self.op)
end

--- The same with the payload as names, sorted, and values: cheaper, for what every agent at work tells.
---@param type string
---@param ... any
function Step:tell(type, ...)
  self.writer:write(type, ...)
end

--- Who holds what it writes, until somebody has decided about its answer: its own hooks, those of whoever gave it the work, or those
--- of the run. nil: nobody.
---@return hocket.HeldBack?
function Step:holder()
  if self.held then return self.held end
  if not self.above then return self.run.held end
  return (self.opts.given or self.opts.about_held) and self.above:holder() or nil
end

--- Whether guards judge what it answers: its own, or those of whoever gave it the work.
---@return boolean
function Step:is_guarded()
  local own = self.def.guards
  return own ~= nil and own.output ~= nil or self.opts.given and self.above:is_guarded() or false
end

--- Waits until the guards of its input, and of everybody that it works for, have let it pass. What works for a guard waits for none.
---@async
function Step:await_guards()
  local step = self
  while step and not step.opts.guards do
    if step.gate then step.gate:wait() end
    step = step.above
  end
end

--- Why its guards object to a message that came while it works; nil: they let it pass.
---@async
---@param text string
---@return hocket.Error?
function Step:judge_input(text)
  return guards.input_objection(self, text)
end

--- Its answer as an event.
---@param text string
function Step:say(text)
  local function tell() self.writer:write("agent_message", "content", text, "display_name", self.def.display_name) end
  local held = self:holder()
  if held then held:add(tell, "agent_message", nil, true) else tell() end
end

--- Somebody that its tool has asked has read what has these labels, and so has its conversation.
---@param bits integer
function Step:add_labels(bits)
  scope.labels(self):add(bits)
end

--- Its own part is over: others go on.
function Step:finish()
  local own = self.own
  if own then
    self.own = nil
    self.run:release(own.board, own.document)
  end
  if self.finished or not self.opts.trigger then return end
  self.finished = true
  if self.run.parked then return end -- it waits, and goes on in another process
  self.writer:write("agent_finished", "display_name", self.def.display_name)
end

--- What was said to it since it last listened, for its conversation; nil: nothing.
---@return string?
function Step:hear()
  return self.run.steering and steering.hear(self)
end

-- Also when its fiber is cancelled.
function Step:__close()
  self:finish()
  self.run.at_work[self.op] = nil
  if self.run.steering then steering.leave(self) end
end

return Step
