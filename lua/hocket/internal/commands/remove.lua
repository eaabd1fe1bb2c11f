--- `hocket rm`: runs are removed. When one of the ids is none, none is removed.
local json = require "hocket.json"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"

---@async
---@param args {ids: string[]}
return function(args)
  local rows, removed, wrong = {}, json.array {}, {}
  for i, id in ipairs(args.ids or {}) do
    local row, err = stored.find(id)
    if not row then return nil, err end
    rows[i] = row.id
  end
  for _, id in ipairs(rows) do
    local ok, err = store.remove(id)
    if ok then removed[#removed + 1] = id else wrong[#wrong + 1] = err end
  end
  if #wrong == 0 then return { removed = removed } end
  for i, err in ipairs(wrong) do wrong[i] = err.message end
  return nil, { code = "state", message = table.concat(wrong, "\n") }, { removed = removed }
end
