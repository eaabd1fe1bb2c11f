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
  if #result.problems == 0 then lines[#lines + 1] = "OK: no problems found" end
  result.text = table.concat(lines, "\n")
  if #result.problems > 0 then return nil, { code = "parse", message = result.text }, result end
  return result
end

-- The kinds of a log's entries, by their numbers (core/log/log.h).
local KINDS = { "life", "wake", "timeout", "cancel", "stuck", "end", "tell", "notice", "begin", "value", "rest", "over", "checkpoint", "clock" }

local function measured(text)
  local name, rows, bytes, statements = text:match "^(%S+) (%d+) (%d+) (%d+)$"
  local kind = tonumber(name:match "^entry/(%d+)$")
  return { name = kind and "entries: " .. (KINDS[kind] or kind) or name, rows = math.tointeger(rows), bytes = math.tointeger(bytes), statements = math.tointeger(statements) }
end

local function table_of(title, list, runs)
  local lines = { ("%-28s %12s %14s %12s"):format(title, "rows", "bytes", "statements") }
  for _, one in ipairs(list) do
    lines[#lines + 1] = ("%-28s %12d %14d %12d"):format(one.name, one.rows, one.bytes, one.statements)
    if runs then runs.rows, runs.bytes, runs.statements = runs.rows + one.rows, runs.bytes + one.bytes, runs.statements + one.statements end
  end
  return table.concat(lines, "\n")
end

---@async
function words.stats()
  local list, err = store.maintain("measure", {})
  if not list then return nil, err end
  local result, total = { kinds = json.array {}, largest = json.array {} }, { rows = 0, bytes = 0, statements = 0 }
  for _, one in ipairs(list) do
    local into = one.id == "kind" and result.kinds or result.largest
    into[#into + 1] = measured(one.json)
  end
  local text, runs = table_of("kind", result.kinds, total), math.max(1, result.kinds[1].rows)
  result.total, result.per_run = total, { rows = total.rows / runs, bytes = total.bytes / runs, statements = total.statements / runs }
  result.text = ("%s\n%-28s %12d %14d %12d\n%-28s %12.1f %14.1f %12.1f\n\n%s"):format(text, "all", total.rows, total.bytes, total.statements,
    "per run", result.per_run.rows, result.per_run.bytes, result.per_run.statements, table_of("largest logs", result.largest))
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
  if not word then return nil, { code = "invalid", message = "expected init, migrate, check, stats or vacuum" } end
  return word(args)
end
