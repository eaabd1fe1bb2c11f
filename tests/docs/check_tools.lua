-- The table of docs/guides/tools.md names every tool for files with all its arguments, and no other.
local fs = require "hocket.fs"
local schemas = require "hocket.internal.tools.file_schemas"

local text = assert(fs.read "docs/guides/tools.md")
local documented, wrong = {}, {}
for name, arguments in text:gmatch "\n| `([%w_]+)` | ([^|\n]*) |" do
  if schemas[name] then
    documented[name] = {}
    for argument in arguments:gmatch "`([%w_]+)`" do documented[name][argument] = true end
  end
end
for name, schema in pairs(schemas) do
  local row = documented[name] or {}
  if not documented[name] then wrong[#wrong + 1] = "docs/guides/tools.md lacks " .. name end
  for argument, property in pairs(schema.parameters.properties) do
    if not row[argument] then wrong[#wrong + 1] = ("docs/guides/tools.md lacks %s of %s"):format(argument, name) end
    row[argument] = nil
  end
  for argument in pairs(row) do wrong[#wrong + 1] = ("%s has no %s"):format(name, argument) end
end
if #wrong > 0 then return nil, { code = "state", message = table.concat(wrong, "\n") } end
return "the tools are documented"
