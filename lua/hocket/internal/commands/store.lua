--- `hocket store`: what people do with a store as a whole. Opening it has made it, or brought it up to date.
local json = require "hocket.json"
local store = require "hocket.internal.core.store"

local words = {}

---@async
local function info()
  local list, err = store.maintain("info", {})
  if not list then return nil, err end
  local result = {}
  for _, one in ipairs(list) do result[one.id] = math.tointeger(tonumber(one.json)) or one.json end
  return result
end

local function place(result)
  return ("%s (version %d, %d runs)"):format(result.place or "memory", result.version or 0, result.runs or 0)
end

---@async
function words.init(args)
  if args.worker or args.reader then
    local ok, err = store.maintain("grant", { worker = args.worker, reader = args.reader })
    if not ok then return nil, err end
  end
  local result, err = info()
  if not result then return nil, err end
  result.text = "ready: " .. place(result)
  return result
end

---@async
function words.migrate()
  local result, err = info()
  if not result then return nil, err end
  result.text = "up to date: " .. place(result)
  return result
end

---@async
function words.check()
  local list, err = store.maintain("check", {})
  if not list then return nil, err end
  local result = { problems = json.array {}, warnings = json.array {} }
  local lines = {}
  for _, one in ipairs(list) do
    local into = one.id == "problem" and result.problems or result.warnings
    into[#into + 1] = one.json
    lines[#lines + 1] = one.id .. ": " .. one.json
  end
  if #result.problems == 0 then lines[#lines + 1] = "all that is in it holds together" end
  result.text = table.concat(lines, "\n")
  if #result.problems > 0 then return nil, { code = "parse", message = result.text }, result end
  return result
end

---@async
function words.vacuum(args)
  local list, err = store.maintain("vacuum", { max_age_ms = (args.days or 0) * 86400000 })
  if not list then return nil, err end
  local removed = 0
  for _, one in ipairs(list) do if one.id == "removed" then removed = math.tointeger(tonumber(one.json)) or 0 end end
  return { removed = removed, text = ("%d runs removed"):format(removed) }
end

---@async
---@param args {word: string, worker?: string, reader?: string, days?: integer}
return function(args)
  local word = words[args.word]
  if not word then return nil, { code = "invalid", message = "expected init, migrate, check or vacuum" } end
  return word(args)
end
