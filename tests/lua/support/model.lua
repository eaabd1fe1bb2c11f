--- Models for tests: a script or raw bytes behind a real HTTP server of this process, and a
--- provider of its own in front of it.
local hocket = require "hocket"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local resolve = require("hocket.model").resolve
local server = require "hocket.internal.core.server"
local session = require "hocket.session"
local sim = require "hocket.sim"

local model = {}

local count = 0

local function declare(base, fields)
  count = count + 1
  local def = { protocol = "openai_chat", base = base }
  for k, v in pairs(fields or {}) do def[k] = v end
  hocket.provider("test" .. count, def)
  return ("test%d/m"):format(count)
end

--- Serves a scripted model: `local m <close> = model.serve(function(request) … end)`. `m.id` is the
--- model, `m.requests` what it was asked.
---@param script function|table
---@param options? table As for hocket.sim.serve.
---@param fields? table Further fields of the provider; of other protocols than openai_chat its `protocol`.
function model.serve(script, options, fields)
  if type(script) == "function" then script = { reply = script } end
  local requests, inner = {}, script.reply
  local copy = {}
  for k, v in pairs(script) do copy[k] = v end
  function copy.reply(request)
    requests[#requests + 1] = request
    return inner(request)
  end
  local served = assert(sim.serve(copy, options))
  local base = fields and (fields.protocol == "gemini" or fields.protocol == "bedrock") and served.root or served.base
  return setmetatable({ id = declare(base, fields), base = served.base, requests = requests }, { __close = served.close })
end

--- Serves the replies of a list, one after the other; the last again and again.
function model.list(replies, options)
  local n = 0
  return model.serve(function()
    n = n + 1
    return replies[math.min(n, #replies)]
  end, options)
end

--- Serves whatever fn(listener, request, n) does. `m.open` is the number of answers under way. Who the server is, which is asked before the
--- first call, it does not say, unless it `tells`: then fn answers all.
function model.raw(fn, fields, tells)
  local listener = assert(server.new {})
  local m = { open = 0, count = 0 }
  local acceptor = fiber.detach(function()
    while true do
      local request = listener:accept()
      if not request then return end
      local counts = tells or request.path ~= "/v1/models"
      if not counts then listener:respond(request.id, 404, {}, "{}") end
      m.count, m.open = m.count + (counts and 1 or 0), m.open + (counts and 1 or 0)
      if counts then fiber.spawn(function()
        local over <close> = setmetatable({}, { __close = function() m.open = m.open - 1 end })
        fn(listener, request, m.count)
      end) end
    end
  end)
  m.base = ("http://127.0.0.1:%d/v1"):format(listener:port())
  m.id = declare(m.base, fields)
  return setmetatable(m, { __close = function()
    listener:close()
    acceptor:cancel()
  end })
end

--- A model that answers every request with these bytes as a stream.
function model.bytes(...)
  local parts = { ... }
  return model.raw(function(listener, request)
    listener:begin(request.id, 200, { ["content-type"] = "text/event-stream" })
    for _, part in ipairs(parts) do
      listener:write(request.id, part)
      fiber.sleep(0)
    end
    listener:finish(request.id)
  end)
end

--- One event of a stream, with a piece of text.
function model.chunk(text, finish)
  return "data: " .. json.encode { id = "x", object = "chat.completion.chunk", created = 1, model = "m",
    choices = { { index = 0, delta = text and { content = text } or {}, finish_reason = finish or json.null } } } .. "\n\n"
end

--- A session with this model. `events` gathers what it emits.
function model.session(m, spec)
  local events = {}
  spec = spec or {}
  spec.model = assert(resolve(type(m) == "table" and m.id or m))
  spec.emit = function(type, payload)
    payload.type = type
    events[#events + 1] = payload
  end
  return session.new(spec), events
end

--- The events of one type.
function model.of(events, type)
  local list = {}
  for _, event in ipairs(events) do
    if event.type == type then list[#list + 1] = event end
  end
  return list
end

return model
