--- What programs made for OpenAI's interfaces find: models, chat completions, responses.
local chat = require "hocket.internal.endpoints.openai.chat"
local errors = require "hocket.internal.endpoints.openai.errors"
local json = require "hocket.json"
local responses = require "hocket.internal.endpoints.responses"
local system = require "hocket.internal.core.system"

local function model_of(one, created)
  return { id = one.name, object = "model", created = created, owned_by = "hocket", name = one.def and one.def.display_name or one.name, description = one.description }
end

return function(server)
  local router, created = server.router, os.time()
  router:form("/v1/", errors.form)
  router:on("GET", "/v1/models", function(request, response)
    local list, err = request.server.desk:agents()
    if not list then return response:fail(err) end
    local data = json.array {}
    if request.headers["anthropic-version"] then
      for i, one in ipairs(list) do data[i] = { type = "model", id = one.name, display_name = one.name, created_at = os.date("!%Y-%m-%dT%H:%M:%SZ", created) } end
      return response:json(200, { data = data, has_more = false, first_id = data[1] and data[1].id or json.null, last_id = data[1] and data[#data].id or json.null })
    end
    for i, one in ipairs(list) do data[i] = model_of(one, created) end
    return response:json(200, { object = "list", data = data }, { ["x-request-id"] = system.token(16) })
  end)
  router:on("GET", "/v1/models/{name}", function(request, response)
    local one, err = request.server.desk:find_agent(request.params.name)
    if not one then return response:fail { code = err.code, message = err.message, word = err.code == "not_found" and "model_not_found" or nil, param = "model" } end
    return response:json(200, model_of(one, created))
  end)
  responses.add(server)
  router:on("POST", "/v1/chat/completions", function(request, response) return chat.answer(request.server.desk, request, response) end)
end
