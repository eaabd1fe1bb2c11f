--- Conversations as OpenAI's interface has them: conv_RUN, or one that was made without a word (pending.lua).
local asked = require "hocket.internal.endpoints.asked"
local json = require "hocket.json"
local past = require "hocket.internal.endpoints.responses.past"
local pending = require "hocket.internal.endpoints.responses.pending"
local read = require "hocket.internal.endpoints.responses.read"
local stored = require "hocket.internal.endpoints.responses.stored"

local function make_conversation(server, request, response)
  local body, err = request:json()
  if not body then return response:fail(err) end
  local items = body.items == nil and {} or body.items
  local ok, refused = pcall(function()
    if type(items) ~= "table" then asked.wrong("items", "'items' has to be a list") end
    if #items > 0 then read.input({ input = items }, false):check_results(true) end
  end)
  if not ok then return type(refused) == "table" and refused.code == "invalid" and response:fail(refused) or error(refused, 0) end
  local one, full = pending.add(items, type(body.metadata) == "table" and body.metadata or nil, #request.body, server.desk.caller and server.desk.caller.id)
  if not one then return response:fail(full) end
  return response:json(200, { id = one.id, object = "conversation", created_at = one.created, metadata = one.metadata or json.decode "{}" })
end

local function conversation(server, request, response)
  local of = pending.find(request.params.id, server.desk)
  local run = of and of.run or not of and request.params.id:match "^conv_(%w+)$"
  local answers = of and not of.run and {} or run and past.answers(server, run)
  if not answers then return nil, response:fail { code = "not_found", message = "there is no such conversation" } end
  return answers, run
end

local function all_items(answers, run, first)
  local items = json.array {}
  if first then table.move(past.named(table.move(first, 1, #first, 1, {}), "first_" .. (run or "0")), 1, #first, 1, items) end
  for _, one in ipairs(answers) do
    local place = ("%s_%d_%d"):format(run, one.turn, one.asked)
    table.move(past.named(one.input, "in_" .. place), 1, #one.input, #items + 1, items)
    local output = past.named(past.output(one), place)
    table.move(output, 1, #output, #items + 1, items)
  end
  return items
end

local function show_conversation(server, request, response)
  local answers = conversation(server, request, response)
  if not answers then return end
  local of, first = pending.find(request.params.id, server.desk), answers[1] or { caller = {} }
  local metadata = of and of.metadata or first.caller.metadata or json.decode "{}"
  return response:json(200, { id = request.params.id, object = "conversation", created_at = of and of.created or first.created or os.time(), metadata = metadata })
end

local function show_items(server, request, response)
  local answers, run = conversation(server, request, response)
  if not answers then return end
  local page, err = past.page(all_items(answers, run, (pending.find(request.params.id, server.desk) or {}).items), request.query)
  if not page then return response:fail(err) end
  return response:json(200, page)
end

local function remove_conversation(server, request, response)
  local answers, run = conversation(server, request, response)
  if not answers then return end
  if run and not stored.forget(server, run) then return response:fail { code = "not_found", message = "there is no such conversation" } end
  pending.forget(request.params.id)
  return response:json(200, { id = request.params.id, object = "conversation.deleted", deleted = true })
end

--- Adds them to the server's router.
---@param on fun(method: string, path: string, fn: function)
return function(on)
  on("POST", "/v1/conversations", make_conversation)
  on("GET", "/v1/conversations/{id}", show_conversation)
  on("GET", "/v1/conversations/{id}/items", show_items)
  on("DELETE", "/v1/conversations/{id}", remove_conversation)
end
