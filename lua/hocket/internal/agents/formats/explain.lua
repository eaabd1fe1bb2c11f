--- How each key of an agent's file was read, for `hocket check --explain`: by the tables that the readers go by.
local formats = require "hocket.internal.base.lazy" "hocket.internal.agents.formats"
local json = require "hocket.json"
local keys = require "hocket.internal.agents.keys"
local read = require "hocket.internal.agents.read"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local sources = require "hocket.internal.base.sources"

local function shown(value)
  if type(value) == "string" then return value end
  local text = json.encode(value)
  return #text > 200 and text:sub(1, 200) .. " …" or text
end

local function add(lines, key, how)
  lines[#lines + 1] = ("  %-26s %s"):format(key, how)
end

-- Keys in the order of the file.
local function in_order(raw, places)
  local list = sorted_keys(raw)
  local line = {}
  for _, key in ipairs(list) do line[key] = (places["/" .. key] or { 0 })[1] end
  table.sort(list, function(a, b)
    if line[a] ~= line[b] then return line[a] < line[b] end
    return a < b
  end)
  return list
end

-- The keys of the translated agent.
local function add_outcome(lines, def)
  lines[#lines + 1] = "as an agent of hocket:"
  for _, name in ipairs { "name", "display_name", "tools", "agents", "skills", "project", "max_turns", "timeout", "reasoning", "temperature", "output", "handoff" } do
    local value = def[name]
    if value ~= nil and not (type(value) == "table" and next(value) == nil and name ~= "tools") and not (name == "display_name" and value == def.name) then add(lines, name, shown(value)) end
  end
  if def.theirs.wished then add(lines, "model", table.concat(def.theirs.wished, ", ") .. "; where none has a key, the caller's or the default") end
  for verdict, rules in pairs(def.approve or {}) do
    local texts = {}
    for i, rule in ipairs(rules) do texts[i] = rule.text end
    if #texts > 0 then add(lines, "approve: " .. verdict, table.concat(texts, ", ")) end
  end
end

local function explain_theirs(lines, front, def)
  local format, docs, said = formats.get(front.format), {}, {}
  lines[#lines + 1] = ("%s: an agent of %s"):format(front.file, format.title)
  for _, key in ipairs(format.keys) do docs[key[1]] = key.read and key.doc or "nothing: " .. key.doc end
  for _, one in ipairs(front.notes) do
    if one.key and one.severity ~= "note" then
      said[one.key] = said[one.key] or {}
      table.insert(said[one.key], one.severity .. ": " .. one.message)
    end
  end
  for _, key in ipairs(in_order(front.raw, front.places)) do
    add(lines, key, docs[key] or "no key that hocket knows of this program")
    for _, message in ipairs(said[key] or {}) do add(lines, "", message) end
  end
  if def then add_outcome(lines, def) end
end

local function explain_ours(lines, front, def)
  local docs = {}
  for _, key in ipairs(keys.all) do docs[key.name], docs[key.also or key.name] = key.doc, key.doc end
  lines[#lines + 1] = ("%s: an agent of hocket"):format(front.file)
  for _, key in ipairs(in_order(front.raw, front.places)) do
    local value = def and def[key]
    add(lines, key, (docs[key] or "unknown") .. (value ~= nil and ": " .. shown(value) or ""))
  end
end

--- The lines for one file.
---@param path string
---@param said? string The format that a person has named.
---@return string? text
---@return hocket.Error?
return function(path, said)
  local text, err = sources.read(path, read.LIMIT)
  if not text then return nil, err end
  local front = read.front(text, path, sources.real(path), said)
  if not front then return nil, { code = "agent", message = ("%s: the front matter cannot be read"):format(path) } end
  local def = read.text(text, path, sources.real(path), said)
  local lines = {}
  if front.format then explain_theirs(lines, front, def) else explain_ours(lines, front, def) end
  return table.concat(lines, "\n")
end
