--- What servers' tools said of themselves when they were last used, so that a change is reported: a description is what a model goes
--- by, and a server may change it once it is trusted. Kept as digests in the state directory.
local canonical = require "hocket.internal.base.canonical"
local state_file = require "hocket.internal.run.state_file"
local system = require "hocket.internal.core.system"

local remembered_tools = {}
local file = state_file "mcp-tools.json"

--- Servers that are remembered.
local MAX = 1000

-- The one that was not used for longest goes.
local function forget_oldest(known)
  local oldest, count = nil, 0
  for key, one in pairs(known) do
    count = count + 1
    if not oldest or (tonumber(one.used) or 0) < (tonumber(known[oldest].used) or 0) then oldest = key end
  end
  if count > MAX then known[oldest] = nil end
end

local function digests_of(tools)
  local out = {}
  for _, one in ipairs(tools) do out[one.name] = system.digest(table.concat({ one.description ~= "" and one.description or one.title or "", canonical(one.inputSchema) }, "\0")):sub(1, 24) end
  return out
end

--- Compares a server's tools with what they were, and remembers them as they are.
---@param key string What makes the server that server.
---@param tools hocket.McpTool[]
---@return string[] changed Names of the ones that say something else than before; none the first time.
function remembered_tools.compare(key, tools)
  local known, now, changed, differs = file:read(), digests_of(tools), {}, false
  key = system.digest(key):sub(1, 24)
  local before = type(known[key]) == "table" and type(known[key].tools) == "table" and known[key].tools or {}
  for name, digest in pairs(now) do
    if before[name] ~= digest then differs = true end
    if before[name] and before[name] ~= digest then changed[#changed + 1] = name end
  end
  for name in pairs(before) do differs = differs or now[name] == nil end
  table.sort(changed)
  if differs then
    known[key] = { tools = now, used = os.time() }
    forget_oldest(known)
    file:write(known)
  end
  return changed
end

return remembered_tools
