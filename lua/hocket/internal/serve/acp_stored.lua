--- Conversations of the store, as an editor lists them (Agent Client Protocol): the ones that were left, and can be gone on with.
local ended = require "hocket.internal.run.ended"
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local proof = require "hocket.internal.run.proof"
local store = require "hocket.internal.core.store"
local truncate = require "hocket.internal.base.truncate"

local acp_stored = {}

--- Sessions of one page; runs that are checked for it; records that are checked for a title.
local PAGE, LOOKED_AT, FIRST = 50, 1000, 20

local function options_of(row)
  local options = row.options and json.decode(row.options)
  return type(options) == "table" and options or {}
end

local function mode_of(approve)
  local word = type(approve) == "table" and approve[#approve] or approve
  return word == "allow" and "auto" or word == "deny" and "deny" or "ask"
end

-- What was said first.
local function title_of(id)
  for _, record in ipairs(store.records(id, 1, FIRST) or {}) do
    local event = record.json:find('"type":"input_received"', 1, true) and json.decode(record.json)
    if event and type(event.text) == "string" then return truncate(event.text:gsub("%s+", " "), 80, "…") end
  end
end

local function described(row)
  local options = options_of(row)
  local cwd = options.workdir or options.cwd
  if options.conversation ~= true or type(cwd) ~= "string" or not fs.is_absolute(cwd) then return nil end
  return { sessionId = row.id, cwd = cwd, mode = mode_of(options.approve), updated_ms = row.updated_ms }
end

--- One that can be gone on with.
---@async
---@param id string Whole.
---@return {sessionId: string, cwd: string, mode: string, is_ours: boolean}? is_ours: this user began it here, so that its folder is what it says.
function acp_stored.find(id)
  if not store.is_id(id) then return nil end
  local row = store.find(id)
  if not row or row.id ~= id or row.state == "done" or row.state == "failed" or row.state == "cancelled" then return nil end
  local one = described(row)
  if one then one.is_ours = proof.is_ours(row) end
  return one
end

local function shown(one)
  local seconds = (one.updated_ms or 0) // 1000
  return { sessionId = one.sessionId, cwd = one.cwd, title = title_of(one.sessionId), updatedAt = os.date("!%Y-%m-%dT%H:%M:%SZ", seconds) }
end

--- A page of them, newest first, and where the next one begins.
---@async
---@param cwd? string The ones that work there.
---@param cursor? string
---@return table[] sessions
---@return string? cursor nil: there are no more.
function acp_stored.list(cwd, cursor)
  local list = json.array {}
  local page, more = store.runs { states = ended.open, before = cursor, limit = LOOKED_AT }
  for _, row in ipairs(page or {}) do
    local one = described(row)
    if one and (cwd == nil or one.cwd == cwd) then list[#list + 1] = shown(one) end
    if #list == PAGE then return list, row.id end
  end
  return list, page and more and #page > 0 and page[#page].id or nil
end

--- Removes one, if it is there.
---@async
---@param id string
function acp_stored.remove(id)
  if acp_stored.find(id) then store.remove(id) end
end

return acp_stored
