--- Who has begun a run: a mark in its row's options that no other user, machine or store can make.
---
---     made = HMAC-SHA256(consent-key, user, machine, the store's file, id, target, input, options)
---
--- consent-key stands in the state directory, where nobody else may read it. A mark fits no row of another id, and none whose target,
--- input or options were changed; `import` takes it away (store/export.h). It says nothing of the log: who may write into the file can
--- change what was said to the run (docs/explanation/security.md).
local fs = require "hocket.internal.core.fs"
local digest = require "hocket.internal.base.digest"
local state_dir = require "hocket.internal.run.state_dir"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"

local proof = {}

local LENGTH = 43

-- One that others may read proves nothing.
local function read(path)
  local info = fs.info(path)
  local text = info and info.private and fs.read(path, 4096)
  local key = text and text:match "^%s*(%S+)%s*$"
  return key and #key >= LENGTH and key or nil
end

-- Whoever makes it first has made it. nil: there is no home, or it cannot be kept there.
local function key_of_user(may_make)
  local dir = state_dir()
  if not dir then return nil end
  local path = dir .. "/consent-key"
  if not fs.info(path) and may_make and fs.mkdir(dir, { private = true }) then fs.write(path, system.token(LENGTH) .. "\n", { private = true, exclusive = true }) end
  return read(path)
end

-- The store's file by its real path, and the user; nil: runs are in no file.
local function place(may_make)
  local path, user = store.place()
  if not path then return nil end
  local dir, name = path:match "^(.*)/([^/]*)$"
  dir = dir == "" and "/" or dir or "."
  local real = fs.real(dir) or may_make and fs.mkdir(dir, { private = true }) and fs.real(dir) -- the store may not have made it yet
  return real and ("%s/%s\0%d"):format(real, name or path, user)
end

local function hex(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

-- nil: nothing can be proven here.
local function mac(id, target, input, options, may_make)
  local at = place(may_make)
  local key = at and key_of_user(may_make)
  if not key then return nil end
  local machine = fs.read("/etc/machine-id", 4096) or ""
  return hex(digest.hmac(key, table.concat({ "hocket run 1", at, machine, id, target or "", input or "", options }, "\0")))
end

-- Without a mark.
local function plain(options)
  local before = options:match '^(.*),"made":"%x*"}$'
  return before and before .. "}" or options
end

--- The options of a run, JSON, with the mark behind them, in the place of another one.
---@param id string The run's; or another name, of what runs are made of.
---@param target string
---@param input? string
---@param options string
---@return string
function proof.mark(id, target, input, options)
  options = plain(options)
  local made = mac(id, target, input, options, true)
  return made and ('%s,"made":"%s"}'):format(options:sub(1, -2), made) or options
end

--- The same without one.
proof.plain = plain

--- Whether something can be proven of runs here: they are in a file of this machine.
---@return boolean
function proof.is_file()
  return store.place() ~= nil
end

-- In the memory of this process all are ours, but for the ones that were loaded from a save, and their forks (store/export.c).
local function was_loaded(row)
  return (row.generation or ""):find("import ", 1, true) ~= nil
end

--- Whether this user has begun the run of this row, on this machine and in this store.
---@param row {id: string, target?: string, input?: string, options?: string, generation?: string}
---@return boolean
function proof.is_ours(row)
  if not store.is_shared() then return not was_loaded(row) end
  local before, made = (row.options or ""):match '^(.*),"made":"(%x+)"}$'
  return made ~= nil and made == mac(row.id, row.target, row.input, before .. "}")
end

return proof
