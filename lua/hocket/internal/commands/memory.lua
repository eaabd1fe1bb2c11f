--- `hocket memory`: what agents remember, for people who want to see and change it.
local json = require "hocket.json"
local labels = require "hocket.internal.base.labels"
local memory = require "hocket.memory"
local stored = require "hocket.internal.commands.stored"

local words = {}

--- Notes of one list.
local SHOWN = 1000

local function date(ms)
  return os.date("!%Y-%m-%d %H:%M", ms // 1000)
end

local function plural(n, word)
  return ("%d %s%s"):format(n, word, n == 1 and "" or "s")
end

-- ---- Which one is meant -------------------------------------------------------------------------

-- A memory is called as the store lists it, or by its name alone while that is one.
local function named(list, name)
  local found = {}
  for _, one in ipairs(list) do
    if one.key == name then return one.key end
    if one.key:match "^%a+:([%w_-]+)" == name then found[#found + 1] = one.key end
  end
  if #found == 1 then return found[1] end
  if #found > 1 then return stored.failure("invalid", "'%s' may be several: %s", name, table.concat(found, ", ")) end
  return stored.failure("not_found", "there is no memory '%s' ('hocket memory list' lists them)", name)
end

local function open(args)
  if args.folder then return memory.open { name = "folder", folder = args.folder }, args.folder end
  if not args.name then return stored.failure("invalid", "which memory? 'hocket memory list' lists them") end
  local list, err = memory.list()
  if not list then return nil, err end
  local key
  key, err = named(list, args.name)
  if not key then return nil, err end
  return memory.of(key), key
end

local function described(note)
  return { id = note.id, text = note.text, labels = json.array(labels.names(note.labels)), from = next(note.from) and note.from or nil,
    created_ms = note.created_ms, updated_ms = note.updated_ms }
end

local function text_of(notes)
  local lines = {}
  for i, note in ipairs(notes) do
    local about = { date(note.updated_ms) }
    if note.from and note.from.agent then about[#about + 1] = "by " .. tostring(note.from.agent) end
    if #note.labels > 0 then about[#about + 1] = "with text from: " .. table.concat(note.labels, ", ") end
    lines[i] = ("%s  %s\n  %s"):format(note.id, table.concat(about, ", "), (note.text:gsub("\n", "\n  ")))
  end
  return #lines > 0 and table.concat(lines, "\n") or "there are no notes"
end

local function answer(notes, key)
  local list = json.array {}
  for i, note in ipairs(notes) do list[i] = described(note) end
  return { memory = key, notes = list, text = text_of(list) }
end

-- ---- The words ------------------------------------------------------------------------------------

function words.list()
  local list, err = memory.list()
  if not list then return nil, err end
  local lines, all = {}, json.array {}
  for i, one in ipairs(list) do
    lines[i] = ("%s  %s, %d bytes, %s"):format(one.key, plural(one.notes, "note"), one.bytes, date(one.updated_ms))
    all[i] = { memory = one.key, notes = one.notes, bytes = one.bytes, updated_ms = one.updated_ms }
  end
  return { memories = all, text = #lines > 0 and table.concat(lines, "\n") or "there is no memory" }
end

function words.search(args)
  local notes, key = open(args)
  if not notes then return nil, key end
  local found, err = notes:search(args.text or "", args.limit or 20)
  if not found then return nil, err end
  return answer(found, key)
end

function words.show(args)
  local notes, key = open(args)
  if not notes then return nil, key end
  if not args.ids[1] then
    local all, err = notes:search(nil, SHOWN)
    return all and answer(all, key), err
  end
  local found = {}
  for i, id in ipairs(args.ids) do
    local note, err = notes:read(id)
    if not note then return nil, err end
    found[i] = note
  end
  return answer(found, key)
end

-- What a person writes is theirs, whoever's words it was before.
function words.edit(args)
  local notes, key = open(args)
  if not notes then return nil, key end
  local note, err = notes:read(args.ids[1])
  if not note then return nil, err end
  local id
  id, err = notes:write(args.text or "", { id = note.id })
  if not id then return nil, err end
  return { memory = key, id = id, text = "" }
end

function words.rm(args)
  local notes, key = open(args)
  if not notes then return nil, key end
  local ids, removed = args.ids, json.array {}
  if args.all then
    local list, err = notes:search(nil, SHOWN)
    if not list then return nil, err end
    ids = {}
    for i, note in ipairs(list) do ids[i] = note.id end
  end
  for _, id in ipairs(ids) do
    local ok, err = notes:forget(id)
    if not ok then return nil, err, { memory = key, removed = removed } end
    removed[#removed + 1] = id
  end
  if args.all and #ids == SHOWN then
    local rest = words.rm(args)
    table.move(rest and rest.removed or {}, 1, rest and #rest.removed or 0, #removed + 1, removed)
  end
  return { memory = key, removed = removed, text = "" }
end

---@async
---@param args {word: string, name?: string, ids?: string[], text?: string, folder?: string, limit?: integer, all?: boolean}
return function(args)
  args.ids = args.ids or {}
  local word = words[args.word]
  if not word then return stored.failure("invalid", "there is no '%s': list, search, show, edit or rm", tostring(args.word)) end
  return word(args)
end
