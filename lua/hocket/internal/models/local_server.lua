--- Looking for a model server on this machine: Ollama, llama.cpp.
local flow = require "hocket.flow"
local http = require "hocket.http"
local json = require "hocket.json"
local system = require "hocket.internal.core.system"

local local_server = {}

local function get(url)
  local answer = http.request { url = url, connect_timeout = 0.3, timeout = 1 }
  if not answer or answer.status ~= 200 then return nil end
  local value = json.decode(answer.body)
  return type(value) == "table" and value or nil
end

local function url_of(variable, otherwise)
  local base = system.getenv(variable) or otherwise
  if not base:find "^%a+://" then base = "http://" .. base end
  return (base:gsub("0%.0%.0%.0", "127.0.0.1"):gsub("/+$", ""))
end

local function ollama()
  local tags = get(url_of("OLLAMA_HOST", "127.0.0.1:11434") .. "/api/tags")
  local first = tags and type(tags.models) == "table" and tags.models[1]
  if type(first) == "table" and type(first.name) == "string" then
    return { "ollama/" .. first.name, "an Ollama server answers" }
  end
end

local function llamacpp()
  local models = get(url_of("LLAMACPP_BASE_URL", "http://127.0.0.1:8080/v1") .. "/models")
  local first = models and type(models.data) == "table" and models.data[1]
  if type(first) == "table" and type(first.id) == "string" then
    return { "llamacpp/" .. first.id, "a llama.cpp server answers" }
  end
end

--- The first local server that answers, and its first model.
---@async
---@return string? id "provider/model"
---@return string? why
function local_server.find()
  local found = flow.all { ollama, llamacpp }
  local first = found[1] or found[2]
  if first then return first[1], first[2] end
end

return local_server
