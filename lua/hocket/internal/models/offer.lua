--- Which models a server offers: asked where a base URL was given and no model was.
local fiber = require "hocket.internal.core.fiber"
local http = require "hocket.http"
local json = require "hocket.json"
local providers = require "hocket.providers"

local offer = {}

--- Why there is no list yet; seconds that it is awaited, at most.
local LOADING, PATIENCE = "it loads its model", 600

--- Names that are reported, at most, and bytes of one and of the whole answer.
local SHOWN, NAME, BODY = 20, 120, 4 << 20

-- Where each protocol has its list, who asks, how an entry of it is called, and where it says how many tokens it takes and answers.
local lists = {
  openai_chat = { "/models", "data", "id", "context_length|max_model_len|context_window|max_context_length", "max_completion_tokens|max_output_tokens" },
  anthropic = { "/v1/models?limit=1000", "data", "id", "max_input_tokens", "max_tokens" },
  gemini = { "/models?pageSize=1000", "models", "name", "inputTokenLimit", "outputTokenLimit" },
  ollama = { "/api/tags", "models", "name", "", "" },
}
lists.openai_responses = lists.openai_chat

local function headers_of(def, key)
  local headers = {}
  for name, value in pairs(def.headers or {}) do headers[name] = providers.expand(value) end
  if def.protocol == "anthropic" then headers["anthropic-version"] = headers["anthropic-version"] or "2023-06-01" end
  if not key then return headers end
  local name, word = (def.key_header or ""):match "^([%w_-]+):? ?([%w_-]*)$"
  if name then
    headers[name] = word ~= "" and word .. " " .. key or key
  elseif def.protocol == "anthropic" then
    headers["x-api-key"] = key
  elseif def.protocol == "gemini" then
    headers["x-goog-api-key"] = key
  else
    headers.authorization = "Bearer " .. key
  end
  return headers
end

-- With a query of the base URL's behind the path.
local function url_of(base, path)
  local before, query = base:match "^([^?]*)(%??.*)$"
  if path:find("?", 1, true) then query = query:gsub("^%?", "&") end
  if before:find "/v%d+%l*$" then path = path:gsub("^/v1/", "/") end
  return before:gsub("/+$", "") .. path .. query
end

--- Where something else than an answer is asked for, and with which headers.
---@param def hocket.Provider
---@param base string
---@param path string
---@param key? string
---@param protocol string That is spoken there.
---@return string url
---@return table<string, string> headers
function offer.place(def, base, path, key, protocol)
  return url_of(base, path), headers_of({ protocol = protocol, headers = def.headers, key_header = def.key_header }, key)
end

local function ask(url, headers)
  local answer, err = http.request { url = url, headers = headers, connect_timeout = 2, timeout = 5, max_body = BODY }
  if not answer then return nil, err.message end
  if answer.status == 503 and answer.body:find("Loading model", 1, true) then return nil, LOADING end
  if answer.status ~= 200 then return nil, ("HTTP status %d"):format(answer.status) end
  local value = json.decode(answer.body)
  if type(value) ~= "table" then return nil, "its answer is no JSON object" end
  return value
end

--- The name of a model in a server's list. What a server says stands in a message: names of models and nothing else.
---@param entry table
---@param field string
---@return string?
function offer.name(entry, field)
  local name = type(entry) == "table" and entry[field]
  if type(name) ~= "string" or #name > NAME or not name:find "^[%w/][%w%._:/@+-]*$" then return nil end
  return (name:gsub("^models/", ""))
end

local function count_in(entry, names)
  for name in names:gmatch "[^|]+" do
    local n = math.tointeger(entry[name])
    if n and n > 0 then return n end
  end
end

-- OpenRouter says prices: USD for one token, as text.
local function price_of(entry)
  local said = type(entry.pricing) == "table" and entry.pricing or {}
  local input, output, cached = tonumber(said.prompt), tonumber(said.completion), tonumber(said.input_cache_read)
  if not input or not output or input < 0 or output < 0 then return nil end
  return { input = input * 1e6, output = output * 1e6, cached = cached and cached * 1e6 }
end

---@class hocket.Offered
---@field name string
---@field window? integer As the server says it.
---@field output? integer
---@field price? hocket.Price

--- The models that a server says it has, with what it says of them.
---@async
---@param def hocket.Provider
---@param base string
---@param key? string
---@return hocket.Offered[]?
---@return string? why not
function offer.list(def, base, key)
  if not lists[def.protocol] then return nil, "it has no list of them" end
  local path, list, field, window, output = table.unpack(lists[def.protocol])
  local value, why = ask(url_of(base, path), headers_of(def, key))
  if not value then return nil, why end
  if type(value[list]) ~= "table" then return nil, ("its answer has no list '%s'"):format(list) end
  local found = {}
  for _, entry in ipairs(value[list]) do
    local name = offer.name(entry, field)
    local top = name and type(entry.top_provider) == "table" and entry.top_provider or {}
    if name then
      found[#found + 1] = { name = name, window = count_in(entry, window), output = count_in(entry, output) or count_in(top, output), price = price_of(entry) }
    end
  end
  return found
end

--- Their names alone.
---@async
---@return string[]? names
---@return string? why not
function offer.names(def, base, key)
  local found, why = offer.list(def, base, key)
  for i, one in ipairs(found or {}) do found[i] = one.name end
  return found, why
end

local function without_password(base)
  return (base:gsub("//[^/@]*@", "//"):gsub("%?.*", ""))
end

--- The model to take at a base URL that was given, where none is named: the provider's own default where the server has
--- it, or the only one that it has. Else nobody but the person can say which.
---@async
---@param name string The provider's.
---@param def hocket.Provider
---@param base string
---@param key? string
---@param variable? string That gave the base URL.
---@return string? model
---@return hocket.Error?
function offer.choose(name, def, base, key, variable)
  local names, why = offer.names(def, base, key)
  local till = fiber.now() + PATIENCE
  while why == LOADING and fiber.now() < till do
    fiber.sleep(1)
    names, why = offer.names(def, base, key)
  end
  if not names and key and def.default then return def.default end -- a gateway that has no list: the call itself will tell
  for _, one in ipairs(names or {}) do
    if one == def.default then return one end
  end
  if names and #names == 1 then return names[1] end
  local code = variable and "provider" or "invalid"
  local said = variable and ("%s is set, and no model is named"):format(variable) or ("'%s' names no model"):format(name)
  local fix = ("write %s/MODEL: --model %s/%s, or HOCKET_MODEL"):format(name, name, names and names[1] or "MODEL")
  if not names or #names == 0 then
    return nil, { code = code, message = ("%s; %s does not say which there are (%s): %s"):format(said, without_password(base), why or "its list is empty", fix) }
  end
  local more = #names > SHOWN and (" and %d more"):format(#names - SHOWN) or ""
  return nil, { code = code, message = ("%s: %s offers %s%s: %s"):format(said, without_password(base), table.concat(names, ", ", 1, math.min(#names, SHOWN)), more, fix) }
end

return offer
