--- Arguments that a server wants to see in headers as well, so that what lies between can route by them: `x-mcp-header`
--- in a tool's input schema (2026-07-28, transports). A tool that says it wrongly is not to be used.

local headers = {}

local takes = { string = true, integer = true, boolean = true }

local walk

local function note(schema, path, found)
  local name = schema["x-mcp-header"]
  if name == nil then return true end
  if type(name) ~= "string" or not name:find "^[%w!#$%%&'*+%-.^_`|~]+$" then return nil, "names no header" end
  if #path == 0 then return nil, "stands at no argument" end
  if not takes[schema.type] then return nil, "stands at no text, integer or truth value" end
  if found[name:lower()] then return nil, "names a header twice" end
  found[name:lower()] = { header = "mcp-param-" .. name:lower(), path = path }
  return true
end

-- Below anything but `properties` it is not known whose value is meant.
local function refuse(value)
  if type(value) ~= "table" then return true end
  for key, inner in pairs(value) do
    if key == "x-mcp-header" then return nil, "stands where no argument is" end
    local ok, wrong = refuse(inner)
    if not ok then return nil, wrong end
  end
  return true
end

local function walk_properties(properties, path, found)
  if type(properties) ~= "table" then return true end
  for name, inner in pairs(properties) do
    local ok, wrong = walk(inner, table.move(path, 1, #path, 1, { [#path + 1] = name }), found)
    if not ok then return nil, wrong end
  end
  return true
end

function walk(schema, path, found)
  if type(schema) ~= "table" then return true end
  local ok, wrong = note(schema, path, found)
  if not ok then return nil, wrong end
  for key, value in pairs(schema) do
    if key == "properties" then ok, wrong = walk_properties(value, path, found)
    elseif key ~= "x-mcp-header" and key ~= "default" and key ~= "enum" and key ~= "const" and key ~= "examples" then ok, wrong = refuse(value) end
    if not ok then return nil, wrong end
  end
  return true
end

--- What a tool's schema wants in headers.
---@param schema table
---@return {header: string, path: string[]}[]? list
---@return string? wrong
function headers.of(schema)
  local found, list = {}, {}
  local ok, wrong = walk(schema, {}, found)
  if not ok then return nil, "x-mcp-header " .. wrong end
  for _, one in pairs(found) do list[#list + 1] = one end
  return list
end

local function value_at(args, path)
  for _, name in ipairs(path) do
    if type(args) ~= "table" then return nil end -- also null, which is none
    args = args[name]
  end
  return args
end

--- The headers of one call. What is absent or null has none.
---@param list {header: string, path: string[]}[]
---@param args table
---@return table<string, string>
function headers.fill(list, args)
  local filled = {}
  for _, one in ipairs(list) do
    local value = value_at(args, one.path)
    if takes[type(value)] or math.type(value) == "integer" then filled[one.header] = tostring(value) end
  end
  return filled
end

return headers
