-- Writes the tables of keys in docs/reference/agents.md, from the tables that front matter is read by.
--
--   hocket run docs/tools/agent_keys.lua          writes the tables
--   hocket run docs/tools/agent_keys.lua check    fails when they are not up to date
local agents = require "hocket.agent"
local formats = require "hocket.internal.agents.formats"
local fs = require "hocket.fs"

local root = (debug.getinfo(1, "S").source:match "^@(.*)/docs/tools/[^/]*$" or ".") .. "/"

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

local function tables_of_agents()
  local lines = {}
  for _, group in ipairs(agents.keys()) do
    lines[#lines + 1] = ("\n### %s\n\n| key | type | default | |\n|---|---|---|---|"):format(group.title)
    for _, key in ipairs(group.keys) do lines[#lines + 1] = row(key) end
  end
  return table.concat(lines, "\n") .. "\n"
end

-- ---- Formats of other programs ---------------------------------------------------------------------

local function tables_of_formats()
  local lines = {}
  for _, name in ipairs(formats.names) do
    local format = formats.get(name)
    lines[#lines + 1] = ("\n#### %s\n\nFiles: `%s`.\n\n| key | becomes |\n|---|---|"):format(format.title, table.concat(format.files, "`, `"))
    for _, key in ipairs(format.keys) do
      lines[#lines + 1] = ("| `%s` | %s |"):format(key[1], cell(key.read and key.doc or key.passed and "nothing: " .. key.doc or "nothing, with a warning: " .. key.doc))
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

local function shown(given)
  if type(given) == "table" then return #given == 0 and "part of another tool" or "`" .. table.concat(given, "`, `") .. "`" end
  return given == "agents" and "calls other agents" or "skills"
end

-- The names that give the same stand together.
local function table_of_tools()
  local tools = require "hocket.internal.agents.formats.tools"
  local by, order, lines = {}, {}, { "\n| name there | tools here |\n|---|---|" }
  local function add(name, given, only)
    local text = given and shown(given)
    if not text then return end
    if not by[text] then by[text], order[#order + 1] = {}, text end
    table.insert(by[text], ("`%s`%s"):format(name, only and (" (%s)"):format(only) or ""))
  end
  for name, given in pairs(tools.gives) do add(name, given) end
  for format, own in pairs(tools.also) do
    for name, given in pairs(own) do add(name, given, formats.get(format).title) end
  end
  for _, text in ipairs(order) do table.sort(by[text]) end
  table.sort(order, function(a, b) return by[a][1] < by[b][1] end)
  for _, text in ipairs(order) do lines[#lines + 1] = ("| %s | %s |"):format(table.concat(by[text], ", "), text) end
  return table.concat(lines, "\n") .. "\n"
end

-- ---- Pages -----------------------------------------------------------------------------------------------

local places = {
  { "docs/reference/agents.md", "keys", tables_of_agents }, { "docs/reference/agents.md", "formats", tables_of_formats }, { "docs/reference/agents.md", "tools", table_of_tools },
}

for _, place in ipairs(places) do
  local page, mark = place[1], place[2]
  local before = assert(fs.read(root .. page))
  local head, tail = before:match(("^(.-<!%%-%%- %s %%-%%->\n).-(<!%%-%%- /%s %%-%%->.*)$"):format(mark, mark))
  assert(head, page .. " has no place for its tables")
  local text = head .. place[3]() .. "\n" .. tail
  if ... == "check" and text ~= before then return nil, { code = "state", message = page .. " is not up to date: run ./dev docs" } end
  if ... ~= "check" then assert(fs.write(root .. page, text)) end
end
return "the tables of keys are " .. (... == "check" and "up to date" or "written")
