--- Prices of models, in USD per million tokens. An unknown price is nil and never 0; `cost` then returns nil too.
---
---     local hocket = require "hocket"
---     hocket.prices.set("mycloud/big", { input = 2, output = 8, cached = 0.5 })
---     hocket.prices.set("ollama/*", { input = 0, output = 0 })      -- a whole provider
---     print(hocket.prices.cost("mycloud/big", { input = 1000, output = 200 }))
local arguments = require("hocket.internal.base.arguments").check
local core = require "hocket.internal.core.account"
local providers = require "hocket.providers"

local prices = {}

--- The day on which the table was last compared with the providers' lists.
prices.date = "2026-11-22"

---@class hocket.Price USD per million tokens.
---@field input number
---@field output number Reasoning included.
---@field cached? number Input that the provider reads from its cache. Without it, this price is unknown.
---@field cache_write? number Input that the provider writes to its cache. Default: `input`.
---@field server_tools? table<string, number> USD for one use of a tool that the provider runs, by its name.
---@field above? {tokens: integer, input: number, output: number, cached?: number, cache_write?: number} For calls with more input than that.

-- Reading the cache costs a tenth of the input, writing it a quarter more.
local function claude(input, output, cached, long)
  local above = long and { tokens = 200000, input = 2 * input, output = 1.5 * output, cached = input / 5, cache_write = input * 2.5 }
  return { input = input, output = output, cached = cached or input / 10, cache_write = input * 1.25, above = above }
end

-- input, output, cached, and from how many tokens of input on which others.
local function price(input, output, cached, tokens, input2, output2, cached2)
  local above = tokens and { tokens = tokens, input = input2, output = output2, cached = cached2 }
  return { input = input, output = output, cached = cached, above = above }
end

---@type table<string, hocket.Price>
local list = {
  ["openai/gpt-4o"] = price(2.5, 10, 1.25),
  ["openai/gpt-4o-mini"] = price(0.15, 0.6, 0.075),
  ["openai/gpt-4.1"] = price(2, 8, 0.5),
  ["openai/gpt-4.1-mini"] = price(0.4, 1.6, 0.1),
  ["openai/gpt-4.1-nano"] = price(0.1, 0.4, 0.025),
  ["openai/o3-mini"] = price(1.1, 4.4, 0.55),
  ["openai/o3"] = price(2, 8, 0.5),
  ["openai/o4-mini"] = price(1.1, 4.4, 0.275),
  ["openai/gpt-5"] = price(1.25, 10, 0.125),
  ["openai/gpt-5-mini"] = price(0.25, 2, 0.025),
  ["openai/gpt-5-nano"] = price(0.05, 0.4, 0.005),
  ["openai/gpt-5-pro"] = price(15, 120),
  ["openai/gpt-5.1"] = price(1.25, 10, 0.125),
  ["openai/gpt-5.2"] = price(1.75, 14, 0.175),
  ["openai/gpt-5.2-pro"] = price(21, 168),
  ["openai/gpt-5.4"] = price(2.5, 15, 0.25, 272000, 5, 22.5, 0.5),
  ["openai/gpt-5.4-mini"] = price(0.75, 4.5, 0.075),
  ["openai/gpt-5.4-nano"] = price(0.2, 1.25, 0.02),
  ["openai/gpt-5.5"] = price(5, 30, 0.5, 272000, 10, 45, 1),
  ["openai/gpt-6.1-terra"] = { input = 1, output = 5, cached = 0.05, cache_write = 1.25,
    above = { tokens = 272000, input = 2, output = 7.5, cached = 0.1, cache_write = 2.5 } },
  ["openai/gpt-6.1-sol"] = price(2, 10, 0.1),
  ["anthropic/claude-3-haiku"] = claude(0.25, 1.25),
  ["anthropic/claude-3-5-haiku"] = claude(0.8, 4),
  ["anthropic/claude-3-5-sonnet"] = claude(3, 15),
  ["anthropic/claude-3-7-sonnet"] = claude(3, 15),
  ["anthropic/claude-haiku-4-5"] = claude(1, 5),
  ["anthropic/claude-sonnet-4"] = claude(3, 15, nil, true),
  ["anthropic/claude-sonnet-4-5"] = claude(3, 15, nil, true),
  ["anthropic/claude-sonnet-5"] = claude(2, 10),
  ["anthropic/claude-opus-4"] = claude(15, 75),
  ["anthropic/claude-opus-4-1"] = claude(15, 75),
  ["anthropic/claude-opus-4-5"] = claude(5, 25),
  ["anthropic/claude-opus-4-6"] = claude(5, 25),
  ["anthropic/claude-opus-4-7"] = claude(5, 25),
  ["anthropic/claude-opus-4-8"] = claude(5, 25),
  ["anthropic/claude-opus-5"] = claude(5, 25),
  ["anthropic/claude-opus-5-5"] = claude(4, 20, 0.2),
  ["anthropic/claude-fable-5"] = claude(10, 50),
  ["gemini/gemini-2.0-flash"] = price(0.1, 0.4, 0.025),
  ["gemini/gemini-2.0-flash-lite"] = price(0.075, 0.3),
  ["gemini/gemini-2.5-flash"] = price(0.3, 2.5, 0.03),
  ["gemini/gemini-2.5-flash-lite"] = price(0.1, 0.4, 0.01),
  ["gemini/gemini-2.5-pro"] = price(1.25, 10, 0.125, 200000, 2.5, 15, 0.25),
  ["gemini/gemini-3-pro-preview"] = price(2, 12, nil, 200000, 4, 18),
  ["gemini/gemini-3-flash-preview"] = price(0.5, 3),
  ["gemini/gemini-3.5-flash"] = price(1.5, 9, 0.15),
  ["gemini/gemini-3.5-flash-lite"] = price(0.3, 2.5, 0.03),
  ["mistral/mistral-medium-2505"] = price(0.4, 2),
  ["mistral/mistral-small-latest"] = price(0.1, 0.3),
  ["mistral/codestral-latest"] = price(0.3, 0.9),
  ["mistral/ministral-8b-latest"] = price(0.1, 0.1),
  ["mistral/ministral-3b-latest"] = price(0.04, 0.04),
  ["deepseek/deepseek-flash"] = price(0.3, 1.2, 0.006), -- at its dearest: half of it outside of China's office hours
  ["deepseek/deepseek-v4-pro"] = price(1.32, 3.96, 0.044),
  ["xai/grok-3"] = price(3, 15, 0.75),
  ["xai/grok-3-mini"] = price(0.3, 0.5, 0.075),
  ["xai/grok-4"] = price(3, 15, 0.75, 128000, 6, 30, 0.75),
  ["xai/grok-4-fast"] = price(0.2, 0.5, 0.05, 128000, 0.4, 1, 0.05),
  ["xai/grok-4.5"] = price(2, 6, 0.3),
  ["xai/grok-4.6"] = price(2, 6, 0.5, 200000, 4, 12, 1),
  ["xai/grok-code-fast-1"] = price(0.2, 1.5, 0.02),
  ["sim/*"] = { input = 0, output = 0, cached = 0, cache_write = 0 }, -- nobody is asked, nobody bills
}

-- Another name of a provider whose prices are the same.
local same_as = { ["openai-responses"] = "openai", ["openai-chat"] = "openai" }

local known, compiled = {}, {} -- by id, what was found; false: nothing

local fields = { input = true, output = true, cached = true, cache_write = true, above = true, server_tools = true }

local function check(entry, level)
  for name, value in pairs(entry) do
    if not fields[name] then
      error(("unknown field '%s' in a price (there are: input, output, cached, cache_write, above, server_tools)"):format(tostring(name)), level + 1)
    elseif name == "server_tools" then
      for tool, usd in pairs(type(value) == "table" and value or { value }) do
        if type(tool) ~= "string" or type(usd) ~= "number" or usd < 0 or usd ~= usd then error("bad field 'server_tools' in a price (USD for one use, by the tool's name, expected)", level + 1) end
      end
    elseif name ~= "above" and (type(value) ~= "number" or value < 0 or value ~= value) then
      error(("bad field '%s' in a price (USD per million tokens expected)"):format(name), level + 1)
    end
  end
  if not entry.input or not entry.output then error("a price needs the fields 'input' and 'output'", level + 1) end
end

--- Sets the price of "provider/model", or of all other models of a provider with "provider/*". nil makes it unknown.
---@param id string
---@param entry hocket.Price?
function prices.set(id, entry)
  if type(id) ~= "string" or not id:find "^[%w_-]+/.+$" then
    error("bad argument #1 to 'set' ('provider/model' expected)", 2)
  end
  if entry then
    check(entry, 2)
    if entry.above and type(entry.above.tokens) ~= "number" then error("a price's 'above' needs the field 'tokens'", 2) end
  end
  list[id], known, compiled = entry, {}, {}
end

-- Versions of a model are priced as the model: a date behind its name, or "latest".
local dates = { "%-%d%d%d%d%-%d%d%-%d%d$", "%-%d%d%d%d%d%d%d%d$", "@%d%d%d%d%d%d%d%d$", "%-latest$", "%-0$" }

local function look_up(provider, name)
  local id = provider .. "/" .. name
  if list[id] then return list[id] end
  for _, pattern in ipairs(dates) do
    local short, found = id:gsub(pattern, "")
    if found > 0 and list[short] then return list[short] end
  end
  return list[provider .. "/*"]
end

local free = { input = 0, output = 0, cached = 0, cache_write = 0 }

local function find(id)
  local provider, name = id:match "^([^/]+)/(.+)$"
  if not provider then return nil end
  if provider:find "^sim%-" then provider = "sim" end -- the same model over another protocol
  return look_up(provider, name) or same_as[provider] and look_up(same_as[provider], name)
    or providers.is_local(provider) and free or nil
end

--- The price of a model, or nil if it is unknown.
---@param id string "provider/model"
---@return hocket.Price?
function prices.get(id)
  arguments("prices.get", 1, "string", id)
  local entry = known[id]
  if entry == nil then
    entry = find(id) or false
    known[id] = entry
  end
  return entry or nil
end

--- The models of a provider whose price stands in the table, sorted.
---@param provider string
---@return string[] names
---@internal
function prices.models(provider)
  local names, of = {}, same_as[provider] or provider
  for id in pairs(list) do
    local name = id:match("^" .. of:gsub("%W", "%%%0") .. "/(.+)$")
    if name and name ~= "*" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

--- The price of a model as the accounts take it, or nil when it is not known.
---@param id string "provider/model"
---@return userdata?
---@internal
function prices.priced(id)
  local made = compiled[id]
  if made == nil then
    local entry = prices.get(id)
    made = entry and core.price(entry) or false
    compiled[id] = made
  end
  return made or nil
end

--- The cost of a call in USD. It is nil if the price, or a count that it needs, is unknown.
---@param id string
---@param usage hocket.Usage
---@return number?
function prices.cost(id, usage)
  arguments("prices.cost", 1, "string", id)
  arguments("prices.cost", 2, "table", usage)
  local price = prices.priced(id)
  return price and price:cost(usage) or nil
end

return prices
