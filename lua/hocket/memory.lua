--- Notes that outlive runs, stored in the host's store or as Markdown files in a folder. The key `memory:` of an agent's file
--- gives an agent tools for notes. This module is for scripts. See docs/guides/sessions-and-memory.md.
---
---     local hocket = require "hocket"
---     local notes = assert(hocket.memory { name = "shop", folder = "notes" })
---     assert(notes:write("Ann is allergic to nuts."))
---     print(notes:search("allergic")[1].text)
local account = require "hocket.internal.models.account"
local arguments = require("hocket.internal.base.arguments").check
local embeddings = require "hocket.internal.base.lazy" "hocket.internal.models.embeddings"
local effects = require "hocket.internal.base.effects"
local files = require "hocket.internal.run.memory_files"
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"
local failed = system.failure

local memory = {}

--- Bytes of a note; notes and bytes of a memory.
memory.NOTE, memory.NOTES, memory.BYTES = 8192, 10000, 16 << 20

---@class hocket.Note
---@field id string
---@field text string
---@field labels integer Where its text came from, as bits of hocket's labels.
---@field from table<string, string> Its author: `agent`, `run`.
---@field created_ms integer
---@field updated_ms integer Milliseconds since 1970.

---@class hocket.Memory
---@field key string Its name in the store.
---@field folder? string
local Memory = {}
Memory.__index = Memory

-- ---- In the store ----------------------------------------------------------------------------

local in_store = {}

local function to_note(row)
  local from = json.decode(row.meta)
  return { id = row.id, text = row.text, labels = row.labels, from = type(from) == "table" and from or {}, created_ms = row.created_ms, updated_ms = row.updated_ms }
end

function in_store.write(self, id, text, labels, from, vector)
  return store.note_put(self.key, id, text, json.encode(from), labels, memory.NOTES, memory.BYTES, vector)
end

function in_store.find(self, query)
  query.memory = self.key
  local rows, err = store.notes(query)
  if not rows then return nil, err end
  for i, row in ipairs(rows) do rows[i] = to_note(row) end
  return rows
end

function in_store.forget(self, id)
  return store.note_del(self.key, id)
end

local function has_no_store(err)
  return err.code == "unsupported" or err.code == "state"
end

-- What the store says of itself when there is none helps nobody who asked for a memory.
local function told(ok, err)
  if ok ~= nil or not has_no_store(err) then return ok, err end
  return nil, system.error { code = err.code, message = ("%s. Notes are kept in the store of runs; give the memory a 'folder' to keep them as files"):format(err.message) }
end

local function call(self, what, ...)
  local backend, args = self.folder and files or in_store, table.pack(...)
  local function make() return told(backend[what](self, table.unpack(args, 1, args.n))) end
  -- written twice it is written once
  return effects.run("memory", { what = what, of = self.key, asked = effects.asked(...) }, make, { reads = what == "find" })
end

-- ---- What a note means --------------------------------------------------------------------------

--- Ranks from which on it hardly matters which of two lists has a note further up.
local FLAT = 60

-- A text's vector as the store takes it: which model it is by, and floats, of length 1. nil where no model is named, or it does not answer:
-- words find much as well.
local function vector_of(self, text)
  local model = not self.folder and (self.model or embeddings.model())
  local found = model and embeddings.texts(text, { model = model })
  local vector, sum = found and found.vectors[1] or {}, 0
  for _, x in ipairs(vector) do sum = sum + x * x end
  if sum == 0 then return nil end
  local unit, length = {}, math.sqrt(sum)
  for i, x in ipairs(vector) do unit[i] = x / length end
  return system.digest(found.model):sub(1, 8) .. string.pack("<" .. ("f"):rep(#unit), table.unpack(unit))
end

-- Two lists as one: who stands high in both comes first.
local function merged(a, b, limit)
  local scores, all, out = {}, {}, {}
  for _, list in ipairs { a, b } do
    for rank, note in ipairs(list) do
      if not scores[note.id] then all[#all + 1] = { note = note, at = #all } end
      scores[note.id] = (scores[note.id] or 0) + 1 / (FLAT + rank)
    end
  end
  table.sort(all, function(x, y)
    local sx, sy = scores[x.note.id], scores[y.note.id]
    return sx > sy or sx == sy and x.at < y.at
  end)
  for i = 1, math.min(#all, limit) do out[i] = all[i].note end
  return out
end

-- ---- What it can do -----------------------------------------------------------------------------

--- The id of a note that is written by a call: the same in every life of a run that is kept.
---@internal
function memory.id(word)
  return system.digest(word):sub(1, 12)
end

local function check_text(text)
  if type(text) ~= "string" or not text:find "%S" then return failed("invalid", "a note needs a text") end
  if #text > memory.NOTE then return failed("limit", "a note has %d bytes at most, not %d: write several", memory.NOTE, #text) end
  if not utf8.len(text) or text:find "\0" then return failed("invalid", "a note has to be a text in UTF-8") end
  return true
end

local function is_id(id)
  return type(id) == "string" and #id <= 64 and id:find "^[%w][%w_-]*$" ~= nil
end

--- Writes a note.
---@async
---@param text string Up to 8192 bytes.
---@param opts? {id?: string, labels?: integer, from?: table<string, string>} id: the note to replace, or the id of the new note.
---@return string? id
---@return hocket.Error? `limit`: the memory already has 10,000 notes or 16 MiB.
function Memory:write(text, opts)
  opts = opts or {}
  local ok, err = check_text(text)
  if not ok then return nil, err end
  local id = opts.id or memory.id(effects.id() or system.run_id())
  if not is_id(id) then return failed("invalid", "'%s' is no id of a note: letters, digits, - and _, 64 at most", tostring(id)) end
  ok, err = call(self, "write", id, text, opts.labels or 0, opts.from or {}, vector_of(self, text))
  return ok and id, err
end

--- Finds notes, the best first, by the words of a text. With a model for vectors it also finds notes of similar meaning. Without a text it lists the newest notes.
---@async
---@param query? string Words. No character has a special meaning.
---@param limit? integer Default: 20. Maximum: 1000.
---@return hocket.Note[]?
---@return hocket.Error?
function Memory:search(query, limit)
  query = query and query:sub(1, 1000):gsub("%z", " ") or ""
  limit = math.max(1, math.min(limit or 20, 1000))
  local found, err = call(self, "find", { query = query ~= "" and query or nil, limit = limit })
  local vector = found and query ~= "" and vector_of(self, query)
  if not vector then return found, err end
  local near, wrong = call(self, "find", { vector = vector, limit = math.min(limit, 64) })
  return near and merged(found, near, limit), wrong
end

--- Reads one note.
---@async
---@param id string
---@return hocket.Note?
---@return hocket.Error? `not_found`
function Memory:read(id)
  local list, err = {}, nil
  if is_id(id) then list, err = call(self, "find", { id = id, limit = 1 }) end
  if list and not list[1] then return failed("not_found", "there is no note '%s'", tostring(id)) end
  return list and list[1], err
end

--- Removes a note permanently.
---@async
---@param id string
---@return true? forgotten
---@return hocket.Error? `not_found`
function Memory:forget(id)
  if not is_id(id) then return failed("not_found", "there is no note '%s'", tostring(id)) end
  return call(self, "forget", id)
end

-- ---- Opening --------------------------------------------------------------------------------------

local scopes = { user = true, project = true, agent = true }

-- The name that it has in the store: those of a project are that folder's.
local function key_of(spec, scope)
  if scope == "user" then return "user:" .. spec.name end
  local project = fs.real(spec.project or ".") or spec.project
  return ("%s:%s%s@%s"):format(scope, spec.name, scope == "agent" and "/" .. tostring(spec.agent) or "", project)
end

-- The owner, in a run of a client of `hocket serve`: this client alone, and not the account that serves.
local function client_of(run)
  return run and type(run.options.memory_of) == "string" and run.options.memory_of or nil
end

--- Opens a memory. A memory that does not exist yet is empty. `name` has letters, digits, - and _. `scope` is `user`, `project` (of the folder `project`;
--- default: the current folder) or `agent` (of the agent `agent` there). With `folder` the notes are Markdown files in that folder. `model` computes vectors for
--- notes and searches (default: `HOCKET_EMBED_MODEL`; without a model there are no vectors).
---@param spec {name: string, scope?: "user"|"project"|"agent", folder?: string, project?: string, agent?: string, model?: string}
---@return hocket.Memory?
---@return hocket.Error?
function memory.open(spec)
  arguments("memory.open", 1, "table|string", spec)
  local scope = spec.scope or "project"
  if type(spec.name) ~= "string" or not spec.name:find "^[%w][%w_-]*$" or #spec.name > 64 then
    return failed("invalid", "'%s' is no name for a memory: letters, digits, - and _, 64 at most", tostring(spec.name))
  end
  if not scopes[scope] then return failed("invalid", "the scope of a memory is user, project or agent, not '%s'", tostring(scope)) end
  local client, folder = client_of((account.here())), spec.folder
  if client and folder then folder = folder .. "/of-" .. client:gsub(" ", "-") end
  local key = folder and "folder:" .. folder or key_of(spec, scope) .. (client and " of " .. client or "")
  return setmetatable({ key = key, folder = folder, model = spec.model }, Memory)
end

--- Opens a memory by its name in the store.
---@internal
function memory.of(key)
  return setmetatable({ key = key }, Memory)
end

--- Lists all memories of the store, with the number of their notes and bytes.
---@async
---@return {key: string, notes: integer, bytes: integer, updated_ms: integer}[]?
---@return hocket.Error?
function memory.list()
  return effects.run("memory", { what = "list" }, function()
    local rows, err = told(store.notes {})
    for i, row in ipairs(rows or {}) do rows[i] = { key = row.memory, notes = row.notes, bytes = row.bytes, updated_ms = row.updated_ms } end
    return rows, err
  end, { reads = true })
end

return setmetatable(memory, { __call = function(_, spec) return memory.open(spec) end })
