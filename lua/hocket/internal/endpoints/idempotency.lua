--- A command that is sent twice with one key is done once: `Idempotency-Key`. The second one has the answer of the first, which waits
--- for that where it is still being done. The same key with another request is an error: somebody's keys are not.
local fiber = require "hocket.internal.core.fiber"
local responses = require "hocket.internal.endpoints.response"
local system = require "hocket.internal.core.system"

local idempotency = {}

--- Keys that are remembered, and seconds that one is.
local MAX_KEYS, LIFE = 10000, 24 * 3600

---@class hocket.IdempotencyKeys
local Keys = {}
Keys.__index = Keys

---@return hocket.IdempotencyKeys
function idempotency.new()
  return setmetatable({ known = {}, order = {}, first = 1, last = 0 }, Keys)
end

local function forget_old(self)
  while self.first <= self.last do
    local oldest = self.order[self.first]
    if self.last - self.first < MAX_KEYS and oldest.at + LIFE > fiber.now() then return end
    if self.known[oldest.key] == oldest then self.known[oldest.key] = nil end
    self.order[self.first], self.first = nil, self.first + 1
  end
end

local function remember(self, key, request)
  forget_old(self)
  local one = { key = key, at = fiber.now(), digest = system.digest(table.concat({ request.method, request.path, request.body }, "\0")), waiting = {} }
  self.last = self.last + 1
  self.order[self.last], self.known[key] = one, one
  return one
end

local function wait_for(one)
  local me = fiber.self()
  local over <close> = setmetatable({}, { __close = function() one.waiting[me] = nil end })
  one.waiting[me] = true
  while not one.done do fiber.park() end
end

-- An error that the client can do nothing about but come again is not remembered.
local function is_final(err)
  return not err or responses.status_of(err) < 500 and err.code ~= "limit"
end

local function perform(self, one, fn)
  local over <close> = setmetatable({}, { __close = function()
    if not one.answer then self.known[one.key] = nil end -- it was cut off, or is to be tried again
    one.done = true
    for waiting in pairs(one.waiting) do waiting:wake() end
  end })
  local value, status, headers = fn()
  local answer = { value = value, status = value and status, err = not value and status or nil, headers = headers }
  if is_final(answer.err) then one.answer = answer end
  return answer
end

local function tell(answer, response)
  if answer.err then return response:fail(answer.err) end
  if answer.status == 204 then return response:send(204) end
  return response:json(answer.status, answer.value, answer.headers)
end

--- Answers a command by `fn`, which returns a value, a status and headers, or nil and an error.
---@async
---@param request hocket.Request
---@param response hocket.Response
---@param fn fun(): table?, integer|hocket.Error, table?
function Keys:answer(request, response, fn)
  local key = request.headers["idempotency-key"]
  if not key then
    local value, status, headers = fn()
    return tell({ value = value, status = value and status, err = not value and status or nil, headers = headers }, response)
  end
  if #key == 0 or #key > 200 then return response:fail { code = "invalid", message = "an Idempotency-Key has from 1 to 200 letters" } end
  key = (request.caller and request.caller.id or "") .. " " .. key -- of each caller its own
  local one = self.known[key]
  if not one then return tell(perform(self, remember(self, key, request), fn), response) end
  if one.digest ~= system.digest(table.concat({ request.method, request.path, request.body }, "\0")) then
    return response:fail { code = "conflict", status = 422, message = "this Idempotency-Key came with another request before" }
  end
  if not one.done then wait_for(one) end
  if one.answer then return tell(one.answer, response) end
  return response:fail { code = "conflict", message = "the request before with this Idempotency-Key was cut off: send it again", retry_after = 1 }
end

return idempotency
