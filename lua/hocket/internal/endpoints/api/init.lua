--- hocket's own interface: agents, runs, what they wait for, and what can be said to them. openapi.lua describes it for others.
local api_feed = require "hocket.internal.endpoints.api.feed"
local api_events = require "hocket.internal.endpoints.api.events"
local api_prompts = require "hocket.internal.endpoints.api.prompts"
local api_runs = require "hocket.internal.endpoints.api.runs"
local api_say = require "hocket.internal.endpoints.api.say"
local api_workers = require "hocket.internal.endpoints.api.workers"
local idempotency = require "hocket.internal.endpoints.idempotency"
local json = require "hocket.json"
local openapi = require "hocket.internal.base.lazy" "hocket.internal.endpoints.openapi"
local system = require "hocket.internal.core.system"

local function as_schema(v)
  return type(v) == "table" and next(v) and v or nil
end

local function agents(server, response)
  local list, err = server.desk:agents()
  if not list then return response:fail(err) end
  local told = json.array {}
  for i, one in ipairs(list) do
    local def = one.def or {}
    told[i] = { name = one.name, description = one.description, kind = one.plan and "plan" or def.workflow and "workflow" or one.def and "agent" or "script", display_name = def.display_name,
      input = as_schema(def.input), output = as_schema(def.output), model = type(def.model) == "string" and def.model or nil,
      variables = def.wanted and #def.wanted > 0 and json.array(def.wanted) or nil }
  end
  return response:json(200, { agents = told })
end

local function about(server, response)
  local desk = server.desk
  return response:json(200, { hocket = system.version(), kept = desk.kept, runs = desk:at_work(), queued = desk:queued(), max_runs = desk.max_runs, closing = desk.closing == true })
end

return function(server)
  local router, keys = server.router, idempotency.new()
  local function command(method, path, fn)
    router:on(method, path, function(request, response)
      return keys:answer(request, response, function() return fn(request.server, request) end)
    end)
  end
  router:on("GET", "/api", function(request, response) return about(request.server, response) end)
  router:on("GET", "/api/agents", function(request, response) return agents(request.server, response) end)
  router:on("GET", "/api/openapi.json", function(_, response) return response:json(200, openapi.document()) end)
  api_runs.add(server, command)
  api_say.add(server, command)
  api_events.add(server)
  api_feed.add(server)
  api_prompts.add(server)
  api_workers.add(server)
end
