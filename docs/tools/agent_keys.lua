-- Writes the tables of keys in docs/agents.md, from the table that front matter is read by.
--
--   hocket run docs/tools/agent_keys.lua          writes the tables
--   hocket run docs/tools/agent_keys.lua check    fails when they are not up to date
local agents = require "hocket.agent"
local fs = require "hocket.fs"

local root = (debug.getinfo(1, "S").source:match "^@(.*)/docs/tools/[^/]*$" or ".") .. "/"
local page = root .. "docs/agents.md"

local function cell(text)
  return (text:gsub("|", "\\|"):gsub("{{…}}", "`{{…}}`"))
end

local function type_of(key)
  local text = cell(key.kind)
  return key.unit and ("%s, in %s"):format(text, key.unit) or text
end

local function row(key)
  return ("| `%s` | %s | %s | %s |"):format(key.name, type_of(key), key.default and cell(key.default) or "", cell(key.doc))
end

local function tables()
  local lines = {}
  for _, group in ipairs(agents.keys()) do
    lines[#lines + 1] = ("\n### %s\n\n| key | type | default | |\n|---|---|---|---|"):format(group.title)
    for _, key in ipairs(group.keys) do lines[#lines + 1] = row(key) end
  end
  return table.concat(lines, "\n") .. "\n"
end

local before = assert(fs.read(page))
local head, tail = before:match "^(.-<!%-%- keys %-%->\n).-(<!%-%- /keys %-%->.*)$"
assert(head, "docs/agents.md has no place for the tables")
local text = head .. tables() .. "\n" .. tail

if ... == "check" then
  if text == before then return "docs/agents.md is up to date" end
  return nil, { code = "state", message = "docs/agents.md is not up to date: run ./dev docs" }
end
assert(fs.write(page, text))
return "docs/agents.md is written"
