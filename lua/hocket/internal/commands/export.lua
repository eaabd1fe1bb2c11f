--- `hocket export`: a run as a file, for another store.
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"

---@async
---@param args {id: string, file?: string, fd?: integer} fd: a descriptor of this process, in place of a file.
return function(args)
  local row, err = stored.find(args.id)
  if not row then return nil, err end
  if type(args.file) ~= "string" and math.type(args.fd) ~= "integer" then return stored.failure("invalid", "a file is needed") end
  local ok, wrong = store.export(row.id, args.file or args.fd)
  if not ok then return nil, wrong end
  return { id = row.id, file = args.file }
end
