--- `hocket import`: a run that was exported, into this store.
local fs = require "hocket.internal.core.fs"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"
local system = require "hocket.internal.core.system"

local LIMIT = 1024 * 1024 * 1024

local function read(file)
  if file ~= "-" then return fs.read(file, LIMIT) end
  local bytes = io.read(LIMIT + 1) or ""
  if #bytes > LIMIT then return stored.failure("limit", "more than %d bytes", LIMIT) end
  return bytes
end

---@async
---@param args {file: string, new?: boolean} file: "-" is stdin; new: under an id of its own, also when the store has the run already.
return function(args)
  if type(args.file) ~= "string" then return stored.failure("invalid", "a file is needed") end
  local bytes, err = read(args.file)
  if not bytes then return nil, err end
  local id, wrong = store.import(bytes, args.new and system.run_id() or nil)
  if id then return { id = id } end
  if wrong.code == "exists" then wrong.message = wrong.message .. ": --new takes it in under another id" end
  return nil, wrong
end
