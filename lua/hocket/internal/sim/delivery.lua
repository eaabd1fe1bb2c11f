--- How the scripted model's answers go out: a plan of bytes, pauses and an end, so that each of them
--- can go wrong.
---
--- A plan is {status, headers, content_type, pieces, stream, tail, pause, ending, headless}: the pieces
--- are the body's texts, sent one by one in a stream. The last `tail` of them may be missing without
--- harm. `ending` is "finish", "eof", "reset", "hang" or "comments". `headless`: no status is sent
--- before the ending.
local fiber = require "hocket.internal.core.fiber"
local wire = require "hocket.internal.sim.wire"

local delivery = {}

local SIGN_OF_LIFE = 0.05 -- seconds between two
local PIECE = 1 << 20 -- bytes of a large answer that go out at once

-- The number of the first bytes without which an answer is not whole: up to the last brace of the
-- piece that ends it.
local function needed(plan)
  local bytes, closing = 0, #plan.pieces - (plan.tail or 0)
  for i = 1, closing - 1 do bytes = bytes + #plan.pieces[i] end
  local piece = plan.pieces[closing] or ""
  return bytes + (piece:find "}[^}]*$" or #piece + 1) - 1
end

--- Ends a plan at any byte before the answer is whole. Signs of life come between events only.
---@param plan table
---@param generator hocket.Random
---@param ending string
function delivery.cut(plan, generator, ending)
  local left, pieces = generator:upto(needed(plan) + 1) - 1, {}
  for _, piece in ipairs(plan.pieces) do
    if ending == "comments" and left < #piece then break end
    if left <= 0 then break end
    pieces[#pieces + 1] = piece:sub(1, left)
    left = left - #piece
  end
  plan.pieces, plan.ending, plan.stream = pieces, ending, true
end

local function is_gone(err)
  return err ~= nil and err.code == "closed"
end

-- Writes, waiting while the client is slower than the script; false when it is gone.
local function write(listener, id, bytes)
  while true do
    local ok, err = listener:write(id, bytes)
    if ok or err.code ~= "limit" then return ok or false end
    fiber.sleep(0.001)
  end
end

-- Waits until the client goes. An empty write is none, and tells whether it is still there.
local function hang(listener, id)
  while true do
    local _, err = listener:write(id, "")
    if is_gone(err) then return end
    fiber.sleep(SIGN_OF_LIFE)
  end
end

local endings = {
  finish = function(listener, id) listener:finish(id) end,
  eof = function(listener, id) listener:abort(id, "eof") end,
  reset = function(listener, id) listener:abort(id, "reset") end,
  hang = hang,
  comments = function(listener, id, plan)
    while write(listener, id, plan.sign_of_life) do fiber.sleep(SIGN_OF_LIFE) end
  end,
}

--- Sends an answer. Returns when it is out, or the client is gone.
---@async
---@param listener userdata
---@param id integer
---@param plan table
function delivery.send(listener, id, plan)
  local headers, pause = plan.headers or {}, plan.pause or 0
  headers["content-type"] = plan.content_type
  if plan.headless then return endings[plan.ending](listener, id, plan) end
  if not plan.stream and not plan.ending and pause == 0 then
    local ok, err = listener:respond(id, plan.status, headers, table.concat(plan.pieces))
    if ok or err.code ~= "limit" then return end
    plan.pieces = wire.pieces(table.concat(plan.pieces), PIECE) -- more than the server's queue takes
  end
  if plan.stream then headers["cache-control"] = "no-cache" end
  if not listener:begin(id, plan.status, headers) then return end
  for i, piece in ipairs(plan.pieces) do
    if not write(listener, id, piece) then return end
    if pause > 0 and i < #plan.pieces then fiber.sleep(pause) end
  end
  endings[plan.ending or "finish"](listener, id, plan)
end

return delivery
