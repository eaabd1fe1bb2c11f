--- The desk as a client's token has it: its agents, its runs and its limits. Handlers get this one as `request.server.desk`, so that no
--- interface checks whose a run is by itself, or can forget to. The owner has the desk itself (desk.lua), which has the same functions.
local store = require "hocket.internal.core.store"
local suggest = require "hocket.internal.base.suggest"

local caller_desk = {}

---@class hocket.CallerDesk: hocket.Desk
local View = {}

local function not_found(id)
  return nil, { code = "not_found", message = ("there is no run '%s'"):format(tostring(id):sub(1, 40)) }
end

-- What says nothing of one run, or is asked with `may_read`. Other functions of the desk are no client's: a new one is not there
-- before somebody has thought of whose runs it is about.
local of_all = { at_work = true, queued = true, all = true, at_hand = true, token_of = true, agent_of = true, forget = true }

--- The desk of one caller.
---@param desk hocket.Desk
---@param caller hocket.Caller
---@param spending hocket.TokenSpending
---@return hocket.Desk
function caller_desk.new(desk, caller, spending)
  if caller:is_owner() then return desk end
  return setmetatable({ desk = desk, caller = caller, spending = spending }, { __index = function(_, name)
    if View[name] ~= nil then return View[name] end
    local value = desk[name]
    if type(value) == "function" and not of_all[name] then error(("a client's desk has no '%s'"):format(name), 2) end
    return value
  end })
end

-- ---- Agents ------------------------------------------------------------------------------------------

function View:agents()
  local list, err = self.desk:agents()
  if not list then return nil, err end
  local own = {}
  for _, one in ipairs(list) do
    if self.caller:may_use(one.name) then own[#own + 1] = one end
  end
  return own
end

function View:find_agent(name)
  if self.caller:may_use(name) then return self.desk:find_agent(name) end
  local names = {}
  for i, one in ipairs(self:agents() or {}) do names[i] = one.name end
  local near = suggest(name, names)
  return nil, { code = "not_found", message = ("there is no agent '%s' for this token%s"):format(tostring(name):sub(1, 80), near and (": did you mean '%s'?"):format(near) or "") }
end

-- ---- Whose a run is ----------------------------------------------------------------------------------

-- `right`: the function that says whether it may be had, "may_read" unless given.
function View:find(id, right)
  local run = self.desk:find(id)
  return run and self[right or "may_read"](self, run) and run or nil
end

function View:row(id, right)
  if not store.is_id(id) then return not_found(id) end -- the beginning of one would say which runs there are
  local row, err = self.desk:row(id)
  if not row then return nil, err end
  local ok, wrong = self[right or "may_read"](self, row)
  if ok then return row end
  if wrong then return nil, wrong end
  return not_found(id)
end

--- Whether a run, or a row of the store, is one that it may read: of an agent that it may use.
function View:may_read(one)
  return self.caller:may_use(self.desk:agent_of(one)) and self.caller:may_read(self.desk:token_of(one))
end

local function needs(scope)
  return nil, { code = "denied", scope = scope, message = ("this run is another client's: the token has no scope '%s'"):format(scope) }
end

-- What a caller may not even see is not there.
local function allowed(self, one, may, scope)
  if not self.caller:may_use(self.desk:agent_of(one)) then return not_found(one.id or one.name) end
  if may then return true end
  if self:may_read(one) then return needs(scope) end
  return not_found(one.id or one.name)
end

function View:may_continue(one) return allowed(self, one, self.caller:may_continue(self.desk:token_of(one)), "manage") end

function View:may_answer(one)
  return allowed(self, one, self.caller:may_answer(self.desk:token_of(one), one.desk and one.name or one.id), "answer")
end

-- ---- Runs --------------------------------------------------------------------------------------------

-- What it may cost, and whose it is.
local function limited(self, options, already)
  local token = self.caller.token
  local ok, err = self.spending:take_turn(token)
  if not ok then return nil, err end
  return self.spending:within(token, options, already)
end

function View:start(spec)
  local one, err = self:find_agent(spec.target)
  if not one then return nil, err end
  local options
  options, err = limited(self, spec.options)
  if not options then return nil, err end
  local copy = {}
  for name, value in pairs(spec) do copy[name] = value end
  copy.token, copy.options, copy.limits = self.caller.id, options, self.caller.token
  return self.desk:start(copy)
end

function View:resume(id, options)
  local here = self.desk:find(id)
  local row, wrong
  if not here then row, wrong = self.desk:row(id) end
  if not here and not row then return nil, wrong end
  local ok, err = self:may_continue(here or row)
  if not ok then return nil, err end
  options, err = limited(self, options, row and row.cost or nil)
  if not options then return nil, err end
  return self.desk:resume(id, options, row and { limits = self.desk:token_of(row) == self.caller.id and self.caller.token or nil })
end

function View:replay(id, on_begin)
  local row, err = self:row(id)
  if not row then return nil, err end
  return self.desk:replay(row.id, on_begin)
end

--- Takes a turn of the token's rate, for more in a run that goes on here.
function View:take_turn() return self.spending:take_turn(self.caller.token) end

return caller_desk
