--- How a session ends before its time: by a budget, a limit, a loop, a stop. It is asked for one last
--- answer, without tools, which says that it was cut. What was said stays valid for every provider.
---
---     grant ──> a turn as any other
---       ├─────> why: the turn is the last (finish)
---       └─────> nil, error: no turn at all (cut_off)
local account = require "hocket.internal.models.account"
local askers = require "hocket.internal.models.asker"
local model_calls = require "hocket.internal.models.calls"
local trim = require "hocket.internal.base.trim"

local final_answer = {}

--- Whether the budgets allow this turn, and as what: the asker holds what was granted, and `granted`, the
--- request where it differs, is the session's. Returns why the turn has to be the last one, false when it has not; or nil and
--- why there is none. An agent without tools has nothing to cut.
---@async
---@param self hocket.Session
---@param last boolean Whether it is the last one anyhow.
---@return hocket.Cut|false|nil why
---@return hocket.Error?
function final_answer.grant(self, last)
  local run, id = self.asker.run, self.asker.account
  if not run or not account.is_limited(run, id) then
    if self.granted then self.granted = nil end
    return false
  end
  local spec, why = self.request.spec, false
  local verdict, given, room = account.ask(run, id, self.model.id, self.history, spec, last or self.only_reads or #self.tools == 0)
  if verdict == "last" then
    why = given
    verdict, given, room = account.ask(run, id, self.model.id, self.history, spec, true)
  end
  if not verdict then return nil, given end
  self.asker.hold = given
  self.granted = room and askers.vary(self.request, { max_tokens = room }) or nil
  return why
end

local notice = "[%s. This is your last turn: no tool can be called any more. Give your answer now, from what you have, and say what is missing in it.]"

-- A last answer says that it was cut, whatever the model wrote; the text of one that has to fit a schema stays as it is.
local function marked(self, reply, why)
  reply.finish, reply.cut = why.reason, why
  if not (self.request.spec.schema or self.spec.formatted) then reply.text = ("%s\n\n(Cut short: %s.)"):format(trim.right(reply.text), why.message) end
  return reply
end

--- The one answer that is still given, without tools. `ask(session, request)` makes the turn, and gives the call that has the reply.
---@async
---@param self hocket.Session
---@param ask fun(self: hocket.Session, request: table): userdata?, hocket.Error?
---@param why hocket.Cut
---@return hocket.Reply?
---@return hocket.Error?
function final_answer.finish(self, ask, why)
  self.emit("agent_cut", { reason = why.reason, message = why.message })
  local said, last = self.listener and self.listener:hear(), notice:format(why.message)
  local ok, err = self.history:user(said and ("%s\n\n%s"):format(said, last) or last)
  if not ok then
    self.asker:release()
    return nil, err
  end
  -- Tools stay declared, as what was said refers to them.
  local request = self.granted or self.request
  local call, failed = ask(self, request.spec.tools and askers.vary(request, { tool_choice = "none" }) or request)
  if not call then return nil, failed end
  call:refuse "error: not run: this was the last turn"
  local reply = model_calls.reply(self.asker, call)
  if self.misfit then reply.text = "" end -- nothing but calls, as text
  local read_reasoning = self.spec.read_reasoning
  if reply.text:find "^%s*$" and not (read_reasoning and read_reasoning(reply)) then
    if not self.said then return nil, { code = why.code, finish = why.reason, own = why.own, message = why.message } end
    reply.text = self.said -- it calls tools although it has none
  end
  return marked(self, reply, why)
end

--- Where not even a last answer may be asked for: what was said so far is what exists.
---@param self hocket.Session
---@param err hocket.Error
---@return hocket.Reply?
---@return hocket.Error?
function final_answer.cut_off(self, err)
  if not self.said or err.code ~= "budget" then return nil, err end
  local why = { reason = err.finish or "budget", code = "budget", own = err.own, message = err.message }
  self.emit("agent_cut", { reason = why.reason, message = why.message })
  return marked(self, { text = self.said, calls = {}, usage = {}, model = self.model.id, answered_by = self.model }, why)
end

--- The last turn, for a reason that is no budget's.
---@async
---@param self hocket.Session
---@param ask function
---@param why hocket.Cut
---@return hocket.Reply?
---@return hocket.Error?
function final_answer.last_turn(self, ask, why)
  local granted, err = final_answer.grant(self, true)
  if granted == nil then return final_answer.cut_off(self, err) end
  return final_answer.finish(self, ask, why)
end

return final_answer
