--- A2A by REST (HTTP+JSON): the methods as paths below /a2a/NAME.
local errors = require "hocket.internal.endpoints.a2a.errors"
local methods = require "hocket.internal.endpoints.a2a.methods"

local KIND = "application/a2a+json"

local paths = {
  { "POST", "/message:send", "SendMessage" }, { "POST", "/message:stream", "SendStreamingMessage" },
  { "GET", "/tasks", "ListTasks" }, { "GET", "/tasks/{id}", "GetTask" }, { "POST", "/tasks/{id}:cancel", "CancelTask" },
  { "GET", "/tasks/{id}:subscribe", "SubscribeToTask" }, { "POST", "/tasks/{id}:subscribe", "SubscribeToTask" },
  { "POST", "/tasks/{id}/pushNotificationConfigs", "CreateTaskPushNotificationConfig" }, { "GET", "/tasks/{id}/pushNotificationConfigs", "ListTaskPushNotificationConfigs" },
  { "GET", "/tasks/{id}/pushNotificationConfigs/{config}", "GetTaskPushNotificationConfig" },
  { "DELETE", "/tasks/{id}/pushNotificationConfigs/{config}", "DeleteTaskPushNotificationConfig" },
  { "GET", "/extendedAgentCard", "GetExtendedAgentCard" },
}

local numbers = { historyLength = true, pageSize = true }

-- A query has texts alone.
local function of_query(query)
  local params = {}
  for name, value in pairs(query) do
    if numbers[name] then params[name] = math.tointeger(tonumber(value)) or value
    elseif name == "includeArtifacts" then params[name] = value == "true"
    elseif name ~= "A2A-Version" then params[name] = value end
  end
  return params
end

local function params_of(request)
  if request.method == "GET" or request.method == "DELETE" or request.body == "" then return of_query(request.query) end
  local body, err = request:json()
  if not body then
    if err.code == "media_type" then errors.refuse("CONTENT_TYPE_NOT_SUPPORTED", "%s", err.message) end
    errors.refuse("INVALID_PARAMS", "%s", err.message)
  end
  return body
end

local function fail(response, err)
  local status, body = errors.rest(err)
  return response:json(status, body, { ["content-type"] = KIND, ["retry-after"] = err.retry_after and math.max(1, math.ceil(err.retry_after)) or nil })
end

local function stream(task, response)
  local pieces, _, _, over <close> = task:pieces()
  local out = response:stream()
  if not out:event { data = { task = task:object() } } then return end
  for piece in pieces do
    if not out:event { data = piece } then return end
  end
  out:close()
  return over
end

local function answer(self, name, check_version, request, response)
  local result, err = errors.caught(function()
    check_version(request)
    local params = params_of(request)
    if request.params.id then params.id = request.params.id end
    return (methods.whole[name] or methods.streams[name])(self, params)
  end)
  if err then return fail(response, err) end
  if methods.streams[name] then return stream(result, response) end
  return response:json(200, result, { ["content-type"] = KIND })
end

--- Adds the paths. `agent(request)` gives what the methods work on, or nil and an error.
---@param router hocket.Router
---@param agent fun(request: hocket.Request): table?, hocket.Error?
---@param check_version fun(request: hocket.Request)
return function(router, agent, check_version)
  router:form("/a2a/", errors.form)
  for _, one in ipairs(paths) do
    router:on(one[1], "/a2a/{name}" .. one[2], function(request, response)
      local self, err = agent(request)
      if not self then return response:fail(err) end
      return answer(self, one[3], check_version, request, response)
    end)
  end
end
