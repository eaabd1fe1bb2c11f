--- A memory as Markdown files in a folder, a note each: `ID.md`, with a head that says where it came from. A person may write, change
--- and remove them; a file without a head is a person's own words.
local fs = require "hocket.internal.core.fs"
local files = require "hocket.internal.core.files"
local json = require "hocket.json"
local labels = require "hocket.internal.base.labels"
local system = require "hocket.internal.core.system"
local trim = require "hocket.internal.base.trim"

local memory_files = {}

local NOTES, BYTES, NOTE = 10000, 16 << 20, 64 * 1024

local function head(created, bits, from)
  local lines = { "---", "created: " .. created }
  if bits ~= 0 then lines[#lines + 1] = "labels: [" .. table.concat(labels.names(bits), ", ") .. "]" end
  for _, name in ipairs { "agent", "run" } do
    if from[name] then lines[#lines + 1] = ("%s: %s"):format(name, json.encode(from[name])) end
  end
  return table.concat(lines, "\n") .. "\n---\n"
end

local known = { web = true, outside = true, server = true, private = true }

-- What a person has made of it may be anything: what is no head of ours is text. A label that nobody knows is taken for the worst.
local function parse(id, text, ms)
  local said, body = text:gsub("\r\n", "\n"):match "^%-%-%-\n(.-)\n%-%-%-\n(.*)$"
  local note = { id = id, text = body or text, labels = 0, from = {}, created_ms = ms, updated_ms = ms }
  for name, value in (said or ""):gmatch "([%a_]+):[ \t]*([^\n]*)" do
    if name == "labels" then
      for label in value:gmatch "%a+" do note.labels = note.labels | (known[label] and labels.bit(label) or labels.STRANGE) end
    elseif name == "agent" or name == "run" then
      note.from[name] = value:match '^"(.*)"$' or value
    elseif name == "created" then
      note.created = value
    end
  end
  note.text = trim.right((note.text:gsub("^\n+", "")))
  return note
end

local function open(self)
  local info = fs.info(self.folder)
  if not info then
    local ok, err = fs.mkdir(self.folder)
    if not ok then return nil, err end
  end
  return files.root(self.folder)
end

local function read(root, id)
  local got, err = root:read(id .. ".md", { max = NOTE, limit = NOTE })
  if not got then return nil, err end
  if got.encoding ~= "utf-8" then return nil, system.error { code = "invalid", message = id .. ".md is no text in UTF-8" } end
  return parse(id, got.text, math.floor(got.modified * 1000)), got.hash
end

-- All notes, and how many bytes they have. What cannot be read is passed over: a person's folder may hold anything.
local function all(root)
  local entries, err = root:list "."
  if not entries then return nil, err end
  local list, bytes = {}, 0
  for _, entry in ipairs(entries) do
    local id = entry.kind == "file" and entry.name:match "^([%w][%w_-]*)%.md$"
    if id and #list < NOTES and bytes < BYTES then
      list[#list + 1] = read(root, id)
      bytes = bytes + entry.size
    end
  end
  table.sort(list, function(a, b) return a.updated_ms > b.updated_ms or a.updated_ms == b.updated_ms and a.id > b.id end)
  return list, bytes
end

function memory_files.write(self, id, text, bits, from)
  local root, err = open(self)
  if not root then return nil, err end
  local before, hash = read(root, id)
  if not before and root:info(id .. ".md") then return nil, hash end
  local list, bytes = all(root)
  if not list then return nil, bytes end
  if not before and #list >= NOTES or bytes + #text > BYTES then
    return nil, system.error { code = "limit", message = ("%s has %d notes and %d bytes, and no more fit: some have to be forgotten first"):format(self.folder, #list, bytes) }
  end
  local created = before and before.created or os.date "!%Y-%m-%dT%H:%M:%SZ"
  return root:write(id .. ".md", head(created, bits, from) .. text .. "\n", before and hash or nil)
end

local function words_of(query)
  local words = {}
  for word in query:lower():gmatch "[%w\128-\255]+" do words[#words + 1] = #words < 32 and word or nil end
  return words
end

local function score(text, words)
  local n, lower = 0, text:lower()
  for _, word in ipairs(words) do
    if lower:find(word, 1, true) then n = n + 1 end
  end
  return n
end

function memory_files.find(self, query)
  if not fs.info(self.folder) then return {} end
  local root, err = files.root(self.folder)
  if not root then return nil, err end
  if query.id then
    local note, wrong = read(root, query.id)
    if not note and wrong.code ~= "not_found" then return nil, wrong end
    return { note }
  end
  local list, wrong = all(root)
  if not list then return nil, wrong end
  local words, best = query.query and words_of(query.query), {}
  for i, note in ipairs(list) do
    local n = words and score(note.text, words) or 1
    if n > 0 then best[#best + 1] = { note = note, n = n, i = i } end
  end
  table.sort(best, function(a, b) return a.n > b.n or a.n == b.n and a.i < b.i end)
  local out = {}
  for i = 1, math.min(#best, query.limit) do out[i] = best[i].note end
  return out
end

function memory_files.forget(self, id)
  local root = fs.info(self.folder) and files.root(self.folder)
  local info = root and root:info(id .. ".md")
  if not info or info.kind ~= "file" then return nil, system.error { code = "not_found", message = ("there is no note '%s'"):format(id) } end
  local ok, why = os.remove(root:dir() .. "/" .. id .. ".md")
  return ok, not ok and system.error { code = "io", message = why } or nil
end

return memory_files
