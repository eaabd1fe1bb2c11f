--- Engines behind web_search. An engine is a table: where it is, how it is asked, how its answer is read.
---
---     engine = { key_env?, base, request(query, count, key, base) -> http request, read(value) -> results }
---
--- Which one: HOCKET_SEARCH=tavily|brave|searxng, else the first that has its key or address.
local http = require "hocket.http"
local json = require "hocket.json"
local system = require "hocket.internal.core.system"

local engines = {}

local function escape(text)
  return (text:gsub("[^%w_.~-]", function(c) return ("%%%02X"):format(c:byte()) end))
end

engines.list = {
  tavily = {
    key_env = "TAVILY_API_KEY", base = "https://api.tavily.com",
    request = function(query, count, key, base)
      return {
        url = base .. "/search", body = json.encode { query = query, max_results = count },
        headers = { ["content-type"] = "application/json", authorization = "Bearer " .. key },
      }
    end,
    read = function(value) return value.results, "content" end,
  },
  brave = {
    key_env = "BRAVE_API_KEY", base = "https://api.search.brave.com",
    request = function(query, count, key, base)
      return {
        url = ("%s/res/v1/web/search?q=%s&count=%d"):format(base, escape(query), count),
        headers = { accept = "application/json", ["x-subscription-token"] = key },
      }
    end,
    read = function(value) return value.web and value.web.results, "description" end,
  },
  searxng = {
    request = function(query, _, _, base)
      return { url = ("%s/search?q=%s&format=json"):format(base, escape(query)), headers = { accept = "application/json" } }
    end,
    read = function(value) return value.results, "content" end,
  },
}

local order = { "tavily", "brave", "searxng" }

local NONE = "no search engine is configured: the user can set TAVILY_API_KEY or BRAVE_API_KEY, or HOCKET_SEARCH_URL "
  .. "to the address of a SearXNG. web_fetch works without."

-- The engine, its key and its address; or nil and why not.
local function choose()
  local asked = system.getenv "HOCKET_SEARCH"
  local url = system.getenv "HOCKET_SEARCH_URL"
  if asked and not engines.list[asked] then
    return nil, ("HOCKET_SEARCH names no known engine: '%s' (there are: brave, searxng, tavily)"):format(asked)
  end
  for _, name in ipairs(asked and { asked } or order) do
    local engine = engines.list[name]
    local key = engine.key_env and system.getenv(engine.key_env)
    local base = (url or engine.base or ""):gsub("/+$", "")
    if (key or not engine.key_env) and base ~= "" and (asked or key or url) then return engine, key, base end
    if asked then return nil, ("HOCKET_SEARCH=%s needs %s"):format(name, engine.key_env or "HOCKET_SEARCH_URL") end
  end
  return nil, NONE
end

local function text_or(value, otherwise)
  return type(value) == "string" and value or otherwise
end

local function take(list, field, count)
  local out = {}
  for _, one in ipairs(type(list) == "table" and list or {}) do
    if type(one) == "table" and type(one.url) == "string" and #out < count then
      out[#out + 1] = { title = text_or(one.title, one.url), url = one.url, text = text_or(one[field], "") }
    end
  end
  return out
end

--- Asks the engine that is configured.
---@async
---@param query string
---@param count integer
---@return {title: string, url: string, text: string}[]? results
---@return string? why_not
function engines.search(query, count)
  local engine, key, base = choose()
  if not engine then return nil, key end
  local request = engine.request(query, count, key, base)
  request.timeout, request.max_body = 20, 4 << 20
  local answer, err = http.request(request)
  if not answer then return nil, "the search engine: " .. err.message end
  if answer.status ~= 200 then
    return nil, ("the search engine answered with status %d%s"):format(answer.status,
      (answer.status == 401 or answer.status == 403) and ": the key is not accepted" or answer.status == 429 and ": too many searches; wait" or "")
  end
  local value = json.decode(answer.body)
  if type(value) ~= "table" then return nil, "the search engine's answer is no JSON (SearXNG needs 'json' under search.formats)" end
  local list, field = engine.read(value)
  return take(list, field, count)
end

return engines
