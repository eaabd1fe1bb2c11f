--- The operation `rollback`: new runs of a watched target begin with an earlier generation again.
local live = require "hocket.live"

---@param args {path: string, n?: integer}
return function(args)
  local alive = live.at(args.path)
  if not alive then return nil, { code = "not_found", message = ("%s is not watched"):format(tostring(args.path)) } end
  local now, err = alive:rollback(args.n)
  if not now then return nil, err end
  return { text = "", generation = now.number, hash = now.hash }
end
