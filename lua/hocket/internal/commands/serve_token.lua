--- `hocket serve token`: makes, lists and revokes tokens for clients (serve/client_tokens.lua).
local client_tokens = require "hocket.internal.serve.client_tokens"
local end_time = require "hocket.internal.commands.end_time"
local json = require "hocket.json"
local system = require "hocket.internal.core.system"

local words = {}

-- "5/day"
local function read_budget(text)
  local amount, unit = text:match "^(%d+%.?%d*)/(%a+)$"
  local value = tonumber(amount)
  if not value or value <= 0 or unit ~= "day" then return system.failure("invalid", "--budget: expected US dollars a day, as in 5/day, got '%s'", text:sub(1, 40)) end
  return value
end

-- "10/min"
local function read_rate(text)
  local amount, unit = text:match "^(%d+)/(%a+)$"
  local n = math.tointeger(tonumber(amount))
  if not n or n < 1 or n > 1000000 or not end_time.seconds[unit] then return system.failure("invalid", "--rate: expected a number in a time, as in 10/min, 2/s or 100/h, got '%s'", text:sub(1, 40)) end
  return { n = n, seconds = end_time.seconds[unit] }
end

local function date(at)
  return os.date("!%Y-%m-%d %H:%M UTC", at)
end

local units = { [1] = "s", [60] = "min", [3600] = "h", [86400] = "day" }

-- What it may do, in words.
local function limits_of(one)
  local list = { table.concat(one.scopes, ", ") }
  if one.agents then list[#list + 1] = "agents " .. table.concat(one.agents, ", ") end
  if one.budget then list[#list + 1] = ("%.10g USD/day"):format(one.budget) end
  if one.rate then list[#list + 1] = ("%d/%s"):format(one.rate.n, units[one.rate.seconds] or one.rate.seconds .. " s") end
  if one.ends then list[#list + 1] = (one.ends <= system.wall() and "ended " or "until ") .. date(one.ends) end
  return table.concat(list, "; ")
end

-- Without its hash, which is of use to nobody.
local function described(one)
  return { id = one.id, name = one.name, scopes = json.array(table.move(one.scopes, 1, #one.scopes, 1, {})), agents = one.agents and json.array(one.agents), budget = one.budget,
    rate = one.rate, ends = one.ends, created = one.created, problem = one.problem }
end

function words.create(args)
  local spec = { name = args.name, agents = args.agents, scopes = args.scopes }
  for name, read in pairs { budget = read_budget, rate = read_rate, expires = end_time.read } do
    if args[name] then
      local value, err = read(args[name])
      if not value then return nil, err end
      spec[name == "expires" and "ends" or name] = value
    end
  end
  local made, token = client_tokens.create(spec)
  if not made then return nil, token end
  local told = described(made)
  told.token, told.text = token, token
  return told
end

function words.list()
  local all, err = client_tokens.list()
  if not all then return nil, err end
  local list, lines = json.array {}, {}
  for i, one in ipairs(all) do
    list[i] = described(one)
    lines[i] = ("%s  %-16s %s"):format(one.id, one.name, one.problem or limits_of(one))
  end
  return { tokens = list, text = #lines > 0 and table.concat(lines, "\n") or "no tokens but the owner's" }
end

function words.revoke(args)
  local one, err = client_tokens.revoke(args.name)
  if not one then return nil, err end
  return { id = one.id, name = one.name, text = ("revoked %s (%s)"):format(one.name, one.id) }
end

---@param args {word: "create"|"list"|"revoke", name?: string, agents?: string[], scopes?: string[], budget?: string, rate?: string, expires?: string}
return function(args)
  return words[args.word](args)
end
