--- `hocket export` and `hocket import`: a run as a file, for another store, and from one.
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"
local system = require "hocket.internal.core.system"

local commands = {}

-- Newest first: a run that begins meanwhile is none of them.
local function all_ids()
  local ids, before = {}, nil
  repeat
    local page, more = store.runs { before = before }
    if not page then return nil, more end
    for _, row in ipairs(page) do ids[#ids + 1] = row.id end
    before = page[#page] and page[#page].id
  until not more or #page == 0
  return ids
end

-- One behind the other, the oldest first. What is damaged, or removed meanwhile, is left out and named. It is read before it is written, since
-- the half of a run would spoil what stands behind it.
local function export_all(fd)
  local ids, err = all_ids()
  if not ids then return nil, err end
  local left = json.array {}
  for i = #ids, 1, -1 do
    local ok, wrong = store.export(ids[i])
    if ok then ok, wrong = store.export(ids[i], fd) elseif wrong.code == "parse" or wrong.code == "not_found" then
      left[#left + 1], ok = wrong.message, true
    end
    if not ok then return nil, wrong end
  end
  return { runs = #ids - #left, left = left }
end

---@async
---@param args {id?: string, file?: string, fd?: integer} fd: a descriptor of this process, in place of a file. Without an id: all runs, into fd.
function commands.export(args)
  if args.id == nil and math.type(args.fd) == "integer" then return export_all(args.fd) end
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

-- The runs that stand in the bytes, each as its own bytes.
local function runs_in(bytes)
  local list, from = {}, 1
  repeat
    local after, err = store.export_end(bytes, from)
    if not after then return nil, err end
    list[#list + 1], from = bytes:sub(from, after - 1), after
  until from > #bytes
  return list
end

local function import_one(bytes, new)
  local id, err = store.import(bytes, new and system.run_id() or nil)
  if id or err.code ~= "exists" then return id, err end
  err.message = err.message .. ": --new takes it in under another id"
  return nil, err
end

--- Each run is imported whole or not at all. Runs that exist already stay as they are, so an interrupted import can be repeated.
---@async
---@param args {file: string, new?: boolean} file: "-" is stdin; new: under an id of its own, also when the store has the run already.
function commands.import(args)
  if type(args.file) ~= "string" then return stored.failure("invalid", "a file is needed") end
  local bytes, err = read(args.file)
  if not bytes then return nil, err end
  local list, wrong = runs_in(bytes ~= "" and bytes or " ")
  if not list then return nil, wrong end
  local ids, there = json.array {}, 0
  for _, one in ipairs(list) do
    local id, why = import_one(one, args.new)
    if not id and (#list == 1 or why.code ~= "exists") then return nil, why end
    ids[#ids + 1], there = id, there + (id and 0 or 1)
  end
  return { id = ids[1], ids = ids, there = there }
end

return commands
