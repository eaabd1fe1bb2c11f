--- `hocket models [PROVIDER]`: the models that a server offers, as it says itself; without a key, or without an answer, the ones that
--- stand in the tables.
local json = require "hocket.json"
local model = require "hocket.model"
local offer = require "hocket.internal.models.offer"
local prices = require "hocket.prices"
local provider_file = require "hocket.internal.runner.provider_file"
local provider_place = require "hocket.internal.runner.provider_place"
local providers = require "hocket.providers"
local system = require "hocket.internal.core.system"
local suggest = require "hocket.internal.base.suggest"
local trust = require "hocket.internal.runner.trust"
local failure = system.failure

-- The project's own, where a person has trusted the file.
local function read_project(name, trusted)
  local path = provider_place "."
  local file, problems = nil, {}
  if path then file, problems = provider_file.read(path) end
  if problems[1] then
    local first = problems[1]
    return failure("agent", ("%s:%d:%d: %s"):format(first.file, first.line, first.column, first.message))
  end
  if not file then return true end
  if trusted or trust.knows_providers(path, file.digest) then
    provider_file.declare(file)
  elseif file.defs[name] then
    return failure("denied", ("%s is not trusted, and '%s' would get a key. Look at it; then say --trust"):format(path, name))
  end
  return true
end

local function row_of(provider, one)
  local id = provider .. "/" .. one.name
  local window, price = model.window(id) or {}, one.price or prices.get(id)
  return { id = id, window = one.window or window.window or json.null, output = one.output or window.output or json.null,
    price = price and { input = price.input, output = price.output, cached = price.cached } or json.null }
end

-- What is known without asking anybody.
local function from_table(name)
  local list = {}
  for i, known in ipairs(prices.models(name)) do list[i] = { name = known } end
  return list
end

local function ask(name, def)
  if system.getenv "HOCKET_OFFLINE" then return nil, "HOCKET_OFFLINE is set" end
  local base = providers.base_of(name)
  local key, wrong = model.key(name, def)
  local missing = providers.missing(def, base, key)
  if missing then return nil, ("the variable %s is not set"):format(missing) end
  if wrong then return nil, wrong.message end
  return offer.list({ protocol = providers.spoken(def, base).protocol, headers = def.headers, key_header = def.key_header }, base, key)
end

local function tokens(n)
  return n == json.null and "?" or n >= 1000000 and ("%.4gM"):format(n / 1e6) or n >= 1000 and ("%.4gk"):format(n / 1000) or tostring(n)
end

local function line_of(row)
  local price = row.price == json.null and "?" or ("%g / %g"):format(row.price.input, row.price.output)
  return ("%-48s %9s %9s   %s"):format(row.id, tokens(row.window), tokens(row.output), price)
end

local HEAD = ("%-48s %9s %9s   %s"):format("model", "takes", "answers", "USD per million tokens, in / out")

local function add(result, name, list)
  table.sort(list, function(a, b) return a.name < b.name end)
  for _, one in ipairs(list) do result.models[#result.models + 1] = row_of(name, one) end
end

local function of_one(name, result)
  local def = providers.get(name)
  if not def then
    local near = suggest(name, providers.names())
    return failure("invalid", ("there is no provider '%s'%s"):format(name, near and (": did you mean '%s'?"):format(near) or
      (" (there are: %s)"):format(table.concat(providers.names(), ", "))))
  end
  local list, why = ask(name, def)
  if not list then result.note = ("%s was not asked (%s): these stand in the table of %s"):format(name, why, prices.date) end
  result.asked = list ~= nil
  add(result, name, list or from_table(name))
  return true
end

---@async
---@param args {provider?: string, trust?: boolean}
return function(args)
  local result = { models = json.array {}, asked = false }
  local ok, err = read_project(args.provider, args.trust)
  if ok and args.provider then ok, err = of_one(args.provider, result) end
  if not ok then return nil, err end
  if not args.provider then
    for _, name in ipairs(providers.names()) do add(result, name, from_table(name)) end
    result.note = ("from the table of %s; hocket models PROVIDER asks a server"):format(prices.date)
  end
  local lines = { HEAD }
  for i, row in ipairs(result.models) do lines[i + 1] = line_of(row) end
  if #result.models == 0 then lines = { "no model is known of it" } end
  lines[#lines + 1] = result.note and "\n" .. result.note or nil
  result.text = table.concat(lines, "\n")
  return result
end
