--- Responses that were begun before, here or by a process that has ended: told again, cancelled, deleted.
local answers = require "hocket.internal.endpoints.responses.answers"
local callers = require "hocket.internal.runner.caller"
local ending = require "hocket.internal.base.ending"
local json = require "hocket.json"
local past = require "hocket.internal.endpoints.responses.past"
local store = require "hocket.internal.core.store"
local turns = require "hocket.internal.endpoints.turn"
local writer = require "hocket.internal.endpoints.responses.writer"

local stored = {}

local function not_found(response)
  return response:fail { code = "not_found", message = "there is no such response" }
end

local function body_of(one)
  local caller, tools = one.caller, json.array {}
  for i, made in ipairs(caller.tools or {}) do tools[i] = { type = "function", name = made.name, description = made.description, parameters = callers.parameters(made), strict = false } end
  return { instructions = caller.instructions, metadata = caller.metadata, tools = tools, temperature = caller.settings and caller.settings.temperature }
end

local statuses = { cancelled = "cancelled", parked = "in_progress" }

-- Its status, and why it is not whole.
local function state_of(one)
  local ended = one.ended
  if not ended then return one.calls and "completed" or "in_progress" end
  local row = ending.of(ended)
  local is_parked = not ended.ok and row.state == "parked"
  return not is_parked and row.responses or statuses[row.state] or "failed", row.details
end

-- As it stands in the records of its run.
local function remembered(one, options, id)
  local ended = one.ended or {}
  local is_over = one.ended and one.ended.ok or not one.ended and one.calls
  local made = { body = body_of(one), model = type(options.serve) == "table" and options.serve.agent or "", keeps = true, background = one.caller.background or false }
  local self = { id = id, created = one.created, made = made, turn = { usage = is_over and one.used or nil, run = { name = id:match "^resp_(%w+)_" } } }
  local status, why = state_of(one)
  local more
  if why then more = { incomplete_details = { reason = why } }
  elseif status == "failed" then more = { error = { code = "server_error", message = type(ended.error) == "table" and ended.error.message or tostring(ended.finish) } } end
  return writer.object(self, status, past.named(past.output(one), id:sub(6)), more)
end

-- A response of this server, or of its store. What was worked at in the background when a server ended is gone on with.
local function find(server, id)
  local at_work, told = answers.live[id], answers.find(id)
  if at_work and not server.desk:may_read(at_work.turn.run) or told and not server.desk:may_read(told.of) then return nil end
  if at_work then return writer.object(at_work, "in_progress", at_work.output), answers.input(at_work.made, id) end
  if told then return told.response, told.input end
  local one, options, before = past.find(server, id)
  if not one then return nil end
  local made, run = remembered(one, options, id), id:match "^resp_(%w+)_"
  if made.status == "in_progress" and made.background and not server.desk:find(run) then turns.take_up(server.desk, run, before) end
  return made, past.named(one.input, "in_" .. id:sub(6))
end

local function show(server, request, response)
  local one = find(server, request.params.id)
  if not one then return not_found(response) end
  if request.query.stream == "true" then return response:fail { code = "invalid", param = "stream", message = "a response is streamed where it is begun, and told whole afterwards" } end
  return response:json(200, one)
end

local function show_input(server, request, response)
  local one, input = find(server, request.params.id)
  if not one then return not_found(response) end
  local page, err = past.page(input, request.query)
  if not page then return response:fail(err) end
  return response:json(200, page)
end

local function cancel(server, request, response)
  local id = request.params.id
  local at_work = answers.live[id]
  if at_work and server.desk:may_continue(at_work.turn.run) then
    at_work.cancelled = true
    at_work.turn.run:interrupt()
    at_work.work:join()
  end
  local one = find(server, id)
  if not one then return not_found(response) end
  if not one.background then return response:fail { code = "invalid", message = "only what was begun with 'background' can be cancelled" } end
  return response:json(200, one)
end

--- Forgets a conversation, with all its answers.
---@async
---@param server hocket.EndpointServer
---@param run string
---@return boolean forgotten false: it is another client's.
function stored.forget(server, run)
  local open, row, told = server.desk:find(run, "may_continue"), server.desk.kept and server.desk:row(run, "may_continue"), answers.of(run)
  if not open and not row and not (told and server.desk:may_continue(told)) then return false end
  answers.forget(run)
  if open then
    open:cancel()
    open:wait()
  end
  store.remove(run)
  return true
end

local function remove(server, request, response)
  local id = request.params.id
  if not find(server, id) then return not_found(response) end
  if not stored.forget(server, id:match "^resp_(%w+)_") then return not_found(response) end
  return response:json(200, { id = id, object = "response", deleted = true })
end

local function by_id(items, id)
  for _, item in ipairs(items) do
    if item.id == id then return item end
  end
end

--- An item of a response, or of what it was asked, by its id.
---@async
---@param server hocket.EndpointServer
---@param id string PREFIX_RUN_TURN_ASKED_N, or PREFIX_in_RUN_TURN_ASKED_N.
---@return table?
function stored.item(server, id)
  local place = id:match "^%a+_(%w+_%d+_%d+)_%d+$" or id:match "^%a+_in_(%w+_%d+_%d+)_%d+$"
  local one, input
  if place then one, input = find(server, "resp_" .. place) end
  return one and (by_id(one.output, id) or by_id(input, id) or id:find "^rs_" and { type = "reasoning" } or nil)
end

--- Adds them to the server's router.
---@param on fun(method: string, path: string, fn: function)
function stored.add(on)
  on("GET", "/v1/responses/{id}", show)
  on("GET", "/v1/responses/{id}/input_items", show_input)
  on("POST", "/v1/responses/{id}/cancel", cancel)
  on("DELETE", "/v1/responses/{id}", remove)
end

return stored
