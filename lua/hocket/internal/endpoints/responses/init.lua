--- OpenAI's responses: POST /v1/responses, streaming and not; `previous_response_id` and `conversation` continue with the run that answered.
---
---     resp_RUN_N     the n-th answer of a run: with `store` (the default) the run is kept, and the next request continues with its newest answer;
---                    with an older one a fork of it begins there
---     conv_RUN       the same run, whatever it has answered last
---
--- A run that waits lies in the store where there is one, and goes on in any process; else it waits here. What was answered is read from
--- its records (past.lua). `background`: the answer is worked at whether its client stays or not.
local asked = require "hocket.internal.endpoints.asked"
local conversations = require "hocket.internal.endpoints.responses.conversations"
local fork = require "hocket.internal.commands.fork"
local past = require "hocket.internal.endpoints.responses.past"
local pending = require "hocket.internal.endpoints.responses.pending"
local read = require "hocket.internal.endpoints.responses.read"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.endpoints.responses.stored"
local turns = require "hocket.internal.endpoints.turn"
local writer = require "hocket.internal.endpoints.responses.writer"
local wrong = asked.wrong

local responses = {}

local function unknown(previous)
  return nil, { code = "invalid", word = "previous_response_not_found", param = previous.param, message = previous.param == "conversation" and "there is no such conversation, or it has ended"
    or "there is no such response, or its conversation has ended" }
end

-- An answer that others have followed: a fork of its conversation begins behind it.
local function branch(server, previous)
  if not previous.turn or not server.desk.kept then return nil end
  for _, one in ipairs(past.answers(server, previous.run) or {}) do
    if one.turn == previous.turn and one.asked == previous.asked and one.ended then
      local made = fork { id = previous.run, at = one.seq, token = server.desk.caller and server.desk.caller.id }
      return made and made.id
    end
  end
end

-- More of a conversation: words, or what came of its calls.
local function go_on(server, made)
  local desk = server.desk
  local previous = made.previous
  if not store.is_id(previous.run) then return unknown(previous) end
  if made.messages:brings_results() then
    local turn = turns.go_on(desk, made.messages, previous.run)
    if turn then return turn end
    wrong("input", "there is no call in this conversation that waits for such a result")
  end
  if #made.messages.messages > 0 then wrong("input", "what was said before is in the conversation already: give what is new") end
  local input, caller = made.messages:finish()
  for name, value in pairs(made.more) do caller[name] = value end
  local turn, err = turns.say(desk, previous.run, input, caller, previous.turn)
  local forked = err and err.stale and branch(server, previous)
  if forked then
    turn, err = turns.say(desk, forked, input, caller)
    if not turn then stored.forget(server, forked) end -- the next try makes another one
  end
  if turn then turn.said = true end
  if not turn and err.code == "not_found" then return unknown(previous) end
  return turn, err
end

local function begin(server, made)
  local of = pending.find(pending.id_of(made.body), server.desk, "may_continue")
  if of then
    made.conversation = of.id
    if not made.keeps then wrong("store", "what belongs to a conversation is kept: 'store' cannot be false") end
  end
  if made.previous then return go_on(server, made) end
  local turn, err = turns.of(server.desk, made, made.keeps)
  if turn and of then of.run = turn.run.name end
  return turn, err
end

local function post(server, request, response)
  local body, err = request:json()
  if not body then return response:fail(err) end
  local made
  local ok, turn = pcall(function()
    made = read.request(body, function(id) return stored.item(server, id) end, server.desk)
    made.size = #request.body
    local found, failed = begin(server, made)
    err = failed
    return found
  end)
  if not ok then return type(turn) == "table" and turn.code == "invalid" and response:fail(turn) or error(turn, 0) end
  if not turn then
    if err.code == "not_found" then err = { code = "not_found", message = err.message, word = "model_not_found", param = "model" } end
    return response:fail(err)
  end
  turn.ignored = made.more.ignored -- also where a conversation goes on
  return writer.answer(turn, made, response)
end

--- Adds them to the server's router.
---@param server hocket.EndpointServer
function responses.add(server)
  local function on(method, path, fn)
    server.router:on(method, path, function(request, response) return fn(request.server, request, response) end)
  end
  on("POST", "/v1/responses", post)
  stored.add(on)
  conversations(on)
end

return responses
