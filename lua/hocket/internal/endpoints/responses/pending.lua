--- Conversations that were made without a word: items to begin with, and the run once there is one. They are of this process alone.
local json = require "hocket.json"
local system = require "hocket.internal.core.system"

local pending = {}

local all, n_all, bytes = {}, 0, 0
--- How many, and how large together.
local MOST, MOST_BYTES = 1000, 64 << 20

---@param id any
---@param desk hocket.Desk Of whoever asks.
---@param right? string As for desk:find.
---@return {id: string, items: table[], run?: string, metadata?: table, created: integer}?
function pending.find(id, desk, right)
  local one = all[id]
  return one and desk[right or "may_read"](desk, one) and one or nil
end

--- Makes one.
---@param items table[]
---@param metadata? table
---@param size integer Bytes of the request.
---@param token? string Whose it is.
---@return table?
---@return hocket.Error?
function pending.add(items, metadata, size, token)
  if n_all >= MOST or bytes + size > MOST_BYTES then return nil, { code = "limit", message = ("%d conversations were made here: begin one with a response"):format(n_all), retry_after = 60 } end
  local one = { id = "conv_" .. system.token(32), items = items, metadata = metadata, created = os.time(), size = size, desk = true, token = token }
  all[one.id], n_all, bytes = one, n_all + 1, bytes + size
  return one
end

---@param id string
function pending.forget(id)
  local one = all[id]
  if one then all[id], n_all, bytes = nil, n_all - 1, bytes - one.size end
end

--- Which conversation a request names.
---@param body table
---@return any id
function pending.id_of(body)
  local conversation = body.conversation
  if type(conversation) == "table" then conversation = conversation.id end
  return conversation ~= json.null and conversation or nil
end

return pending
