--- The operation `admit_run`: a person is asked whether the code of another's run may run, before they continue or replay it. Yes is
--- remembered for this code (runner/stored_code.lua, which looks at it again when the run begins).
local fiber = require "hocket.internal.core.fiber"
local runs = require "hocket.internal.run.run"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"
local stored_code = require "hocket.internal.runner.stored_code"

-- Of two of one name the nearest counts: its own come last (host/run/resume.c).
local function generations_of(row)
  local list = {}
  for name in (row.generation or ""):gmatch "[^,]+" do table.insert(list, 1, name) end
  list[#list + 1] = row.id
  return list
end

local function files_of(row)
  local fed = {}
  for _, generation in ipairs(generations_of(row)) do
    local page, err = store.files(generation)
    if not page then return nil, err end
    for _, file in ipairs(page) do fed[file.path] = file.text end
  end
  return fed
end

---@async
---@param args {id: string}
---@param journal userdata
---@param id string
return function(args, journal, id)
  local row, err = stored.named(args.id)
  if not row then return nil, err end
  local fed
  fed, err = files_of(row)
  if not fed then return nil, err end
  local outer = fiber.context()
  local over <close> = setmetatable({}, { __close = function() fiber.set_context(outer) end })
  fiber.set_context { run = runs.new { journal = journal, id = id, options = { interactive = true } } }
  local ok, refused = stored_code.ask(row, fed)
  if not ok then return nil, refused end
  return { text = "" }
end
