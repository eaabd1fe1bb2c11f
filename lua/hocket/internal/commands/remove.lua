--- `hocket rm`: runs are removed. When one of the ids is none, none is removed; the ones that stay until others of them are gone go last.
local json = require "hocket.json"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"

-- The ones that could not be: {id=, err=}.
local function remove_all(ids, removed)
  local left = {}
  for _, id in ipairs(ids) do
    local ok, err = store.remove(id)
    if ok then removed[#removed + 1] = id else left[#left + 1] = { id = id, err = err } end
  end
  return left
end

local function ids_of(rows)
  local ids = {}
  for i, row in ipairs(rows) do ids[i] = row.id end
  return ids
end

-- A run whose row is damaged can be removed by its whole id.
local function named(id)
  local row, err = stored.named(id)
  if row or err.code ~= "parse" or not store.is_id(id) then return row, err end
  return { id = id }
end

---@async
---@param args {ids: string[]}
return function(args)
  local rows, seen, removed = {}, {}, json.array {}
  for _, id in ipairs(args.ids or {}) do
    local row, err = named(id)
    if not row then return nil, err end
    if not seen[row.id] then rows[#rows + 1] = row end
    seen[row.id] = true
  end
  local left, before = remove_all(ids_of(rows), removed), #rows
  while #left > 0 and #left < before do
    before = #left
    left = remove_all(ids_of(left), removed)
  end
  if #left == 0 then return { removed = removed } end
  local wrong = {}
  for i, one in ipairs(left) do wrong[i] = one.err.message end
  return nil, { code = "state", message = table.concat(wrong, "\n") }, { removed = removed }
end
