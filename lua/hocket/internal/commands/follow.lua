--- `hocket watch`: what a run has told behind a record, and how it stands; waits while there is nothing new.
---
--- It looks into the store again and again, as the process that has the run may be any, or none.
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"

--- Records of one answer; seconds between two looks.
local PAGE, AGAIN = 200, 0.2

local over = { done = true, failed = true, cancelled = true }

-- As text each, as they may be anything; without `json` what is not even text.
local function texts(page)
  local list = json.array {}
  for i, one in ipairs(page) do list[i] = { seq = one.seq, json = utf8.len(one.json) and one.json or nil } end
  return list
end

--- The row is read before the records: where it says that the run has ended, all of them are there.
---@async
---@param args {id: string, after: integer, state?: string, wait?: number} state: as it was told last; wait: seconds, at most.
return function(args)
  local due = fiber.now() + (args.wait or 0)
  while true do
    local row, err = stored.find(args.id)
    if not row then return nil, err end
    local page, more = store.records(row.id, args.after + 1, PAGE)
    if not page then return nil, more end
    local state = stored.state(row)
    if #page > 0 or state ~= args.state or fiber.now() >= due then
      return { run = stored.describe(row, true), records = texts(page), more = more, over = over[state] and not more or false }
    end
    fiber.sleep(AGAIN)
  end
end
