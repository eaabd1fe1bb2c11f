--- `sim`, the scripted model: a Lua function from request to reply, served over real HTTP by
--- this process, in the wire formats of real providers. So the whole path runs offline.
---
--- A script returns the function (or a table {reply = function, latency = …}):
---
---     return function(request)
---       if request.last.role == "user" then
---         return { calls = { { name = "lookup", arguments = { city = "Porto" } } } }
---       end
---       return "It is sunny: " .. request.last.text
---     end
local fiber = require "hocket.core.fiber"
local fs = require "hocket.fs"
local json = require "hocket.json"
local server = require "hocket.core.server"
local openai_chat = require "hocket.sim.openai_chat"

local sim = {}

---@class hocket.SimRequest
---@field model string The name behind "sim/".
---@field system string
---@field messages {role: string, text: string, calls?: table[], id?: string, name?: string}[] Without the system prompt.
---@field last table The last message.
---@field tools table<string, table> Declared tools by name: description, parameters.
---@field turn integer Model turns so far in this conversation, from 1.

---@class hocket.SimReply
---@field text? string
---@field reasoning? string
---@field calls? {name: string, arguments: table|string, id?: string}[]
---@field finish? string
---@field usage? {input?: integer, output?: integer}
---@field latency? number Seconds before the first byte.
---@field pause? number Seconds between two fragments.
---@field fault? string "cut", "reset", "malformed", "silent", "status:503", …

local default_options = { latency = 0, pause = 0, fragment = 24 }

-- A script may return a function, or a table with options around it.
local function as_script(value, origin)
  if type(value) == "function" then value = { reply = value } end
  if type(value) ~= "table" or type(value.reply) ~= "function" then
    error(("%s must return a function from request to reply, or a table with one named 'reply'"):format(origin), 0)
  end
  return value
end

--- Loads a script from a file.
---@param path string
---@return table? script
---@return hocket.Error?
function sim.load(path)
  local text, err = fs.read(path)
  if not text then return nil, err end
  local chunk, wrong = load(text, "@" .. path, "t")
  if not chunk then return nil, { code = "agent", message = wrong } end
  local ok, value = pcall(function() return as_script(chunk(path), path) end)
  if not ok then return nil, { code = "agent", message = tostring(value) } end
  return value
end

-- What the script answers, in one form; what it raises is a server error with its message.
local function ask(script, request)
  local ok, reply = pcall(script.reply, request)
  if not ok then
    return { status = 500, error = ("the scripted model raised: %s"):format(type(reply) == "table" and reply.message or tostring(reply)) }
  elseif type(reply) == "string" then
    return { text = reply }
  elseif type(reply) ~= "table" then
    return { status = 500, error = ("the scripted model returned %s, not a reply"):format(type(reply)) }
  end
  return reply
end

local function option(reply, script, options, name)
  if reply[name] ~= nil then return reply[name] end
  if script[name] ~= nil then return script[name] end
  if options[name] ~= nil then return options[name] end
  return default_options[name]
end

-- Writes, waiting while the client is slower than the script; false when it is gone.
local function write(listener, id, bytes)
  while true do
    local ok, err = listener:write(id, bytes)
    if ok or err.code ~= "limit" then return ok or false end
    fiber.sleep(0.001)
  end
end

-- An answer that is larger than the server's queue goes out in pieces.
local function respond_json(listener, id, status, value)
  local text, headers = json.encode(value), { ["content-type"] = "application/json" }
  local ok, err = listener:respond(id, status, headers, text)
  if ok or err.code ~= "limit" then return end
  listener:begin(id, status, headers)
  for at = 1, #text, 1 << 20 do
    if not write(listener, id, text:sub(at, at + (1 << 20) - 1)) then return end
  end
  listener:finish(id)
end

-- Faults that need the socket; true when the answer is over with it.
local function break_connection(listener, id, fault)
  if fault == "reset" or fault == "eof" then
    listener:abort(id, fault)
    return true
  elseif fault == "silent" then
    fiber.sleep(3600)
    return true
  end
  return false
end

-- Sends the fragments of a streamed answer; `cut` ends it in the middle, without its end.
local function stream(listener, id, fragments, pause, fault)
  listener:begin(id, 200, { ["content-type"] = "text/event-stream", ["cache-control"] = "no-cache" })
  local last = fault == "cut" and math.max(1, #fragments // 2) or #fragments
  if fault == "malformed" then fragments[math.max(1, last // 2)] = "data: {\"choices\": [{]}\n\n" end
  for i = 1, last do
    if not write(listener, id, fragments[i]) then return end
    if pause > 0 and i < last then fiber.sleep(pause) end
  end
  listener:finish(id)
end

local function answer(listener, script, options, http)
  local body, err = json.decode(http.body)
  if type(body) ~= "table" then
    return respond_json(listener, http.id, 400, openai_chat.error(err and err.message or "the body is no JSON object"))
  end
  local ok, request, wrong = pcall(openai_chat.read, body)
  if not ok then request, wrong = nil, "the request has not the form that is expected: " .. tostring(request) end
  if not request then return respond_json(listener, http.id, 400, openai_chat.error(wrong)) end
  local reply = ask(script, request)
  local fault = option(reply, script, options, "fault")
  local latency = option(reply, script, options, "latency")
  if latency > 0 then fiber.sleep(latency) end
  if reply.status then
    return respond_json(listener, http.id, reply.status, openai_chat.error(reply.error or "a scripted error"))
  elseif break_connection(listener, http.id, fault) then
    return
  elseif body.stream then
    stream(listener, http.id, openai_chat.fragments(request, reply, option(reply, script, options, "fragment")), option(reply, script, options, "pause"), fault)
  else
    respond_json(listener, http.id, 200, openai_chat.whole(request, reply))
  end
end

local function route(listener, script, options, http)
  local path = http.path:match "^[^?]*"
  if path:find "/chat/completions$" and http.method == "POST" then
    answer(listener, script, options, http)
  elseif path:find "/models$" and http.method == "GET" then
    respond_json(listener, http.id, 200, { object = "list", data = { { id = "default", object = "model", owned_by = "hocket" } } })
  else
    respond_json(listener, http.id, 404, openai_chat.error(("nothing is served at %s %s"):format(http.method, path)))
  end
end

--- Serves a script. Must run inside a fiber, whose end also ends the server.
---@param script table As from sim.load, or {reply = function}.
---@param options? {port?: integer, address?: string, latency?: number, pause?: number, fragment?: integer, fault?: string}
---@return {base: string, port: integer, close: fun()}? served
---@return hocket.Error?
function sim.serve(script, options)
  options = options or {}
  script = as_script(script, "the script")
  local listener, err = server.new { port = options.port, address = options.address }
  if not listener then return nil, err end
  local fibers = fiber.detach(function()
    while true do
      local http = listener:accept()
      if not http then return end
      fiber.spawn(route, listener, script, options, http)
    end
  end)
  local port = listener:port()
  return {
    port = port, base = ("http://%s:%d/v1"):format(options.address or "127.0.0.1", port),
    close = function()
      listener:close()
      fibers:cancel()
    end,
  }
end

local served -- one server per process, for all `sim` models

--- The base URL of the process's own scripted model, started when it is first asked for.
---@return string? base
---@return hocket.Error?
function sim.base()
  if served then return served.base end
  local path = require("hocket.sim_script").path
  local script, err
  if path then
    script, err = sim.load(path)
  else
    script = require "hocket.sim.default"
  end
  if not script then return nil, err end
  served, err = sim.serve(script)
  return served and served.base, err
end

return sim
