--- `hocket export` and `hocket import`: a run as a file, for another store, and from one.
local fs = require "hocket.internal.core.fs"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"
local system = require "hocket.internal.core.system"

local commands = {}

---@async
---@param args {id: string, file?: string, fd?: integer} fd: a descriptor of this process, in place of a file.
function commands.export(args)
  local row, err = stored.named(args.id)
  if not row then return nil, err end
  if type(args.file) ~= "string" and math.type(args.fd) ~= "integer" then return stored.failure("invalid", "a file is needed") end
  local ok, wrong = store.export(row.id, args.file or args.fd)
  if not ok then return nil, wrong end
  return { id = row.id, file = args.file }
end

--- Bytes of a file that is taken in.
local LIMIT = 1024 * 1024 * 1024

local function read(file)
  if file ~= "-" then return fs.read(file, LIMIT) end
  local bytes = io.read(LIMIT + 1) or ""
  if #bytes > LIMIT then return stored.failure("limit", "more than %d bytes", LIMIT) end
  return bytes
end

---@async
---@param args {file: string, new?: boolean} file: "-" is stdin; new: under an id of its own, also when the store has the run already.
function commands.import(args)
  if type(args.file) ~= "string" then return stored.failure("invalid", "a file is needed") end
  local bytes, err = read(args.file)
  if not bytes then return nil, err end
  local id, wrong = store.import(bytes, args.new and system.run_id() or nil)
  if id then return { id = id } end
  if wrong.code == "exists" then wrong.message = wrong.message .. ": --new takes it in under another id" end
  return nil, wrong
end

return commands
