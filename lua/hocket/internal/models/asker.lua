--- Who asks models, and what with: what lasts longer than one call.
local account = require "hocket.internal.models.account"
local bodies = require "hocket.internal.base.lazy" "hocket.internal.models.body"
local core = require "hocket.internal.core.llm"
local fiber = require "hocket.internal.core.fiber"

local asker = {}

--- A request that was read and checked: what all turns of a session send alike.
---@class hocket.Request
local Request = {}

local function current_run()
  local context = fiber.context()
  return context and context.run, context and context.step and context.step.op
end

local function emitter()
  local run, op = current_run()
  if not run then return function() end end
  return function(type, payload) run:emit(type, payload, nil, op) end
end

-- What is sent beside, as text.
local function with_body(request)
  if request.body == nil then return request end
  local where, why = bodies.wrong(request.body)
  if where then error(("bad option 'body%s': it %s"):format(where:gsub("/", "."), why), 0) end
  local copy = {}
  for name, value in pairs(request) do copy[name] = value end
  copy.body, copy.extra = nil, bodies.text(request.body)
  return copy
end

--- Reads a request once for many calls; one that was read is given back.
---@param request table|hocket.Request See llm.call.
---@param on_delta? fun(kind: "text"|"reasoning", text: string)
---@return hocket.Request
function asker.prepare(request, on_delta)
  if getmetatable(request) == Request then return request end
  request = with_body(request)
  local sent = request
  if type(request.server_tools) == "table" then -- each provider has them in a form of its own (server_tools.lua)
    sent = {}
    for name, value in pairs(request) do sent[name] = name ~= "server_tools" and value or nil end
  end
  local handle, timeout, retries = core.request(sent, on_delta ~= nil)
  local run = current_run()
  return setmetatable({
    handle = handle, timeout = timeout, retries = retries, on_delta = on_delta or false, run = run and run.number or 0,
    spec = request, unfitted = sent ~= request, -- its server_tools are put into each provider's form
  }, Request)
end

--- The same request with other fields.
---@param request hocket.Request
---@param changes table
---@return hocket.Request
function asker.vary(request, changes)
  for name, value in pairs(request.spec) do
    if changes[name] == nil then changes[name] = value end
  end
  return asker.prepare(changes, request.on_delta or nil)
end

--- The same request with another choice of tools. It is made once for each choice: the turns of a pattern make the same again and again.
---@param request hocket.Request
---@param choice string
---@return hocket.Request
function asker.choosing(request, choice)
  local known = request.choosing or {}
  request.choosing = known
  known[choice] = known[choice] or asker.vary(request, { tool_choice = choice })
  return known[choice]
end

---@class hocket.Asker Who asks: what its calls have in common, and how the last one went.
---@field request hocket.Request What it asks with; may be another for each call.
---@field emit fun(type: string, payload: table)
---@field run hocket.Run|false
---@field account integer
---@field hold integer|false What the budgets have granted for the next call.
---@field goes_on boolean|"always" Whether further calls follow when the reply has tool calls; or whatever it has.
---@field deadline number|false
---@field malformed "correct"|"replace"|false What becomes of an answer that its server could not read: whoever asks tells its model, or the next
---model of the chain is asked; false: it is tried again as other failures are.
---@field attempts integer With the model that answered.
---@field answered_by hocket.Model|false
---@field fallbacks table[]|false
---@field sent hocket.Request|false What was sent last, where it was not `request` itself.
---@field held hocket.HeldText|false Who hears the text of this turn in place of the request's listener (session/text_calls.lua).
---@field held_back hocket.HeldBack|false Where hooks may replace the reply: its text is held until they have decided.
---@field fresh boolean Whether its session has had no turn yet.
---@field observed hocket.Observed|false The call that is under way, where its run has an observer.

local Asker = {}
Asker.__index = Asker

--- What is still held has not been used, and is given back.
function Asker:release()
  local hold = self.hold
  self.hold = false
  if hold then account.settle(self.run, hold) end
end

Asker.__close = Asker.release -- also when the fiber is cancelled in a call

--- Makes an asker, which calls again and again. All fields are set here, because Lua looks up a missing field in the
--- metatable, in each turn. These are 16, and one more would cost each asker twice as much.
---@param emit? fun(type: string, payload: table) Told of model_retry and model_fallback; default: the run's events.
---@param request? hocket.Request
---@return hocket.Asker
function asker.new(emit, request)
  local run, id = account.here()
  return setmetatable({
    request = request or false, emit = emit or emitter(), run = run or false, account = id or 0, goes_on = false,
    malformed = false, hold = false, deadline = false, answered_by = false, attempts = 0, fallbacks = false, sent = false,
    held = false, held_back = false, observed = false, fresh = true,
  }, Asker)
end

--- How often a call that has failed so may be made again, as it is.
---@param err hocket.Error
---@param request hocket.Request
---@return integer
function Asker:retries(err, request)
  return err.code == "model" and self.malformed and 0 or request.retries
end

--- Who hears what a model writes as it comes; false: nobody.
---@param request hocket.Request
---@param one hocket.Model
---@return (fun(kind: "text"|"reasoning", text: string))|false
function Asker:listener(request, one)
  local hear = self.held and one.calls_in_text and self.held.hear or request.on_delta
  return hear and self.held_back and self.held_back:behind(hear) or hear
end

--- Asks in the name of the running fiber from now on.
function Asker:here()
  local run, id = account.here()
  self.run, self.account = run or false, id or 0
end

return asker
