--- `sim`, the scripted model: a Lua function from request to reply, served over real HTTP by this process, in the wire
--- formats of real providers. So the whole path runs offline.
---
---     local hocket = require "hocket"
---     local served = assert(hocket.sim.serve { reply = function(request)
---       if request.last.role == "user" then return { calls = { { name = "lookup", arguments = { city = "Porto" } } } } end
---       return "It is sunny: " .. request.last.text
---     end })
---     hocket.provider("weather", { protocol = "openai_chat", base = served.base })
---     local lookup = hocket.tool { name = "lookup", description = "The weather", run = function() return "20 degrees" end }
---     local guide = hocket.agent { name = "guide", prompt = "You know the weather.", tools = { lookup }, model = "weather/any" }
---     print(hocket.run(guide, "How is it?").text)
---
--- A file `sim.lua` beside a team returns such a table, or the function alone. The request's path says which protocol is
--- spoken:
---
---     …/chat/completions           OpenAI's chat completions
---     …/responses                  OpenAI's Responses
---     …/messages                   Anthropic's Messages
---     …/models/NAME:generateContent, …:streamGenerateContent   Gemini
---     …/api/chat                   Ollama
---
--- Like real providers, it refuses inconsistent conversations: results without calls, calls without
--- results, missing or wrong signatures.
local arguments = require("hocket.internal.base.arguments").check
local caught = require "hocket.internal.base.caught"
local effects = require "hocket.internal.base.effects"
local delivery = require "hocket.internal.sim.delivery"
local faults = require "hocket.internal.sim.faults"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local kept = require "hocket.internal.core.kept"
local prompt_cache = require "hocket.internal.base.lazy" "hocket.internal.sim.prompt_cache"
local kept_responses = require "hocket.internal.base.lazy" "hocket.internal.sim.kept_responses"
local random = require "hocket.internal.sim.random"
local scripts = require "hocket.internal.sim.scripts"
local server = require "hocket.internal.core.server"
local sources = require "hocket.internal.base.sources"
local strict = require "hocket.internal.base.lazy" "hocket.internal.sim.strict"
local system = require "hocket.internal.core.system"
local wire = require "hocket.internal.sim.wire"

local sim = {}

---@class hocket.SimRequest
---@field protocol "openai_chat"|"openai_responses"|"anthropic"|"gemini"|"ollama"|"bedrock"
---@field model string The name behind "sim/".
---@field system string
---@field messages {role: string, text: string, calls?: table[], id?: string, name?: string, reasoning?: string, images?: integer, files?: {kind: string, mime?: string, name?: string, data: string}[], error?: boolean}[] Without the system prompt. `data` is base64, or an address.
---@field last table The last message.
---@field tools table<string, table> Declared tools by name: description, parameters.
---@field turn integer Model turns so far in this conversation, from 1.
---@field stream boolean
---@field schema? table JSON Schema of the answer, empty when any JSON will do.
---@field reasoning? string How much reasoning was asked for, in the protocol's words.
---@field raw table The body.

---@class hocket.SimReply
---@field text? string
---@field reasoning? string Signed or encrypted where the protocol does that.
---@field refusal? string
---@field calls? {name: string, arguments: table|string, id?: string}[]
---@field finish? "stop"|"length"|"tool_calls"|"content_filter"|"error" error: the provider's word for an answer that failed. "": it says nothing of its end.
---@field usage? {input?: integer, output?: integer, cached?: integer, reasoning?: integer}
---@field latency? number Seconds before the first byte.
---@field pause? number Seconds between two fragments.
---@field fault? string Names of faults.lua, of which one happens.
---@field status? integer An error answer with this status …
---@field error? string … and message.

local default_options = { latency = 0, pause = 0, fragment = 24, fault_rate = 1, retry_after = 1 }

-- With a seed nothing tells two runs apart: not the time either.
local SEEDED_NOW = 1767225600
-- Different requests that are counted with a seed; then counting begins anew.
local MAX_COUNTED = 65536

--- Loads a script from a file.
---@param path string
---@return table? script
---@return hocket.Error?
function sim.load(path)
  arguments("sim.load", 1, "string", path)
  return scripts.load(path)
end

-- ---- One answer ---------------------------------------------------------------------------

-- Where the n-th answer to the same request gets its random numbers from: not from the order in
-- which different requests come, which parallel agents change.
local function generator_of(state, http)
  if not state.seed then return state.random end
  local key = random.hash(http.body, random.hash(http.path))
  if not state.counts[key] then
    if state.counted >= MAX_COUNTED then state.counts, state.counted = {}, 0 end
    state.counted = state.counted + 1
  end
  state.counts[key] = (state.counts[key] or 0) + 1
  return random.new(key ~ random.hash(tostring(state.counts[key]), state.seed))
end

local function option(reply, state, name)
  if reply[name] ~= nil then return reply[name] end
  if state.options[name] ~= nil then return state.options[name] end
  if state.script[name] ~= nil then return state.script[name] end
  return default_options[name]
end

-- What a reply names happens; of what was named for the server, at its rate.
local function draw_fault(state, reply, generator)
  if not reply.fault then return faults.draw(state.faults, option(reply, state, "fault_rate"), generator) end
  local chosen, wrong = faults.parse(reply.fault)
  if not chosen then return nil, wrong end
  return faults.draw(chosen, 1, generator)
end

local function error_plan(protocol, status, message, headers, detail)
  return { status = status, headers = headers, content_type = "application/json",
    pieces = { json.encode(protocol.error(status, message, detail)) } }
end

local function status_plan(fault, harm)
  local status, headers, detail, message = fault.status(harm)
  if not fault.html then return error_plan(harm.protocol, status, message, headers, detail) end
  return { status = status, headers = headers, content_type = "text/html",
    pieces = { ("<html><head><title>%d %s</title></head><body><h1>%s</h1></body></html>"):format(status, message, message) } }
end

local function answer_plan(protocol, request, reply, context)
  if not request.stream then
    return { status = 200, content_type = "application/json", sign_of_life = "\n",
      pieces = { json.encode(protocol.whole(request, reply, context)) } }
  end
  local plain_json = request.events == false
  return {
    status = 200, stream = true, tail = protocol.tail and protocol.tail(request) or 0,
    content_type = protocol.content_type or protocol.lines and "application/x-ndjson" or plain_json and "application/json" or "text/event-stream",
    sign_of_life = protocol.sign_of_life or (protocol.lines or plain_json) and "\n" or ": keep-alive\n\n",
    pieces = protocol.fragments(request, reply, context),
  }
end

local function is_set(value)
  return value ~= nil and value ~= false and value ~= ""
end

local function plan_of(state, protocol, request, reply, generator)
  local fault, wrong = draw_fault(state, reply, generator)
  if wrong then return error_plan(protocol, 500, wrong) end
  local harm = { protocol = protocol, request = request, random = generator, wait = option(reply, state, "retry_after"),
    now = state.seed and SEEDED_NOW or math.floor(system.wall()), fragment = option(reply, state, "fragment"), kept = state.kept }
  local plan
  if is_set(reply.status) then
    plan = error_plan(protocol, reply.status, reply.error or "a scripted error", reply.headers)
  elseif fault and fault.status then
    plan = status_plan(fault, harm)
  else
    if fault and fault.reply then reply = fault.reply(reply, request, generator) end
    for _, name in ipairs { "calls", "reasoning", "refusal", "text" } do
      if not reply[name] then reply[name] = nil end
    end
    plan = answer_plan(protocol, request, reply, harm)
    plan.pause = option(reply, state, "pause")
    if fault and fault.plan then fault.plan(plan, harm) end
  end
  plan.headers = plan.headers or {}
  if fault then plan.headers["x-sim-fault"] = fault.name end
  return plan
end

-- A script may have a window, as models do. Its words are those of whoever is played.
local too_long = {
  openai_chat = "This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.",
  openai_responses = "Your input exceeds the context window of this model. Please adjust your input and try again.",
  anthropic = "prompt is too long: %2$d tokens > %1$d maximum",
  gemini = "The input token count (%2$d) exceeds the maximum number of tokens allowed (%1$d).",
  bedrock = "Input is too long for requested model.",
  ollama = "prompt too long; exceeded max context length by %3$d tokens",
}

local function overflow(state, protocol, request)
  local window, tokens = option({}, state, "window"), wire.usage(request, {}).input
  if not window or tokens <= window then return nil end
  local numbers = { ["%1$d"] = window, ["%2$d"] = tokens, ["%3$d"] = tokens - window }
  local words = too_long[protocol.name]:gsub("%%%d%$d", numbers)
  return error_plan(protocol, 400, words:find "%%d" and words:format(window, tokens) or words)
end

local function refusal(state, protocol, body)
  local api = option({}, state, "strict")
  local wrong = api and strict.refuse(api, protocol.name, body)
  return wrong and error_plan(protocol, 400, wrong)
end

-- Its beginning is kept now that its answer begins.
local function with_cache(state, request, reply, cached)
  state.cache:keep(request)
  local copy, usage = {}, { cached = cached }
  for name, value in pairs(reply) do copy[name] = value end
  for name, value in pairs(reply.usage or {}) do usage[name] = value end
  copy.usage = usage
  return copy
end

-- What is wrong with a request that its reader fails at, without the reader's place in our files.
local function ill_formed(raised)
  local kind, name = tostring(raised):match "attempt to %w+ a (%w+) value %(%w+ '([^']+)'%)"
  local detail = name and (kind == "nil" and ": '%s' is missing" or ": '%s' is a " .. kind):format(name) or ": a value in it has another type"
  return "the request has not the form of this API" .. detail
end

local function answer(state, protocol, http)
  local body, err = json.decode(http.body, true)
  if type(body) ~= "table" then
    return error_plan(protocol, 400, err and err.message or "the body is no JSON object")
  end
  local ok, request, wrong = pcall(protocol.read, body, http, state.kept)
  if not ok and caught.no_memory(request) then error(request, 0) end
  if not ok then return error_plan(protocol, 400, ill_formed(request)) end
  if not request then return error_plan(protocol, 400, wrong) end
  local refused = refusal(state, protocol, body) or overflow(state, protocol, request)
  if refused then return refused end
  local reply = scripts.ask(state.script, request)
  local cached = state.cache and state.cache:find(request)
  local latency = option(reply, state, "latency")
  if latency > 0 then fiber.sleep(latency) end
  if cached and not is_set(reply.status) then reply = with_cache(state, request, reply, cached) end
  return plan_of(state, protocol, request, reply, generator_of(state, http))
end

-- ---- Serving --------------------------------------------------------------------------------

local routes = {
  { "POST", "/chat/completions$", require "hocket.internal.sim.openai_chat" },
  { "POST", "/responses$", require "hocket.internal.sim.openai_responses" },
  { "POST", "/messages$", require "hocket.internal.sim.anthropic" },
  { "POST", "models/[^/]+:rawPredict$", require "hocket.internal.sim.anthropic" },
  { "POST", "models/[^/]+:streamRawPredict$", require "hocket.internal.sim.anthropic" },
  { "POST", "models/[^/]+:generateContent$", require "hocket.internal.sim.gemini" },
  { "POST", "models/[^/]+:streamGenerateContent$", require "hocket.internal.sim.gemini" },
  { "POST", "/api/chat$", require "hocket.internal.sim.ollama" },
  { "POST", "/model/[^/]+/converse[a-z-]*$", require "hocket.internal.base.lazy" "hocket.internal.sim.bedrock" },
}

local lists = {
  { "/v1beta/models$", { models = { { name = "models/default", displayName = "default" } } } },
  { "/models$", { object = "list", data = { { id = "default", object = "model", owned_by = "hocket" } } } },
  { "/api/tags$", { models = { { name = "default", model = "default" } } } },
}

local function plan_for(state, http)
  local path = http.path:match "^[^?]*"
  for _, route in ipairs(routes) do
    if http.method == route[1] and path:find(route[2]) then return answer(state, route[3], http) end
  end
  if http.method == "POST" and path:find "/embeddings$" then
    local body, wrong = require "hocket.internal.sim.embeddings"(http.body)
    if not body then return error_plan(routes[1][3], 400, wrong) end
    return { status = 200, content_type = "application/json", pieces = { body } }
  end
  for _, list in ipairs(lists) do
    if http.method == "GET" and path:find(list[1]) then
      return { status = 200, content_type = "application/json", pieces = { json.encode(list[2]) } }
    end
  end
  return error_plan(routes[1][3], 404, ("nothing is served at %s %s"):format(http.method, path))
end

-- It is served for all runs: what it draws is no run's.
local function new_seed()
  local seed
  effects.aside(function() seed = random.hash(system.token(32)) end)
  return seed
end

local function new_state(script, options)
  local chosen, wrong = faults.parse(options.fault or script.fault or "")
  if not chosen then return nil, { code = "invalid", message = wrong } end
  local api = options.strict or script.strict
  if api and not strict.knows(api) then
    return nil, { code = "invalid", message = ("strict: there is no API '%s' (there are: openai, anthropic, gemini, mistral, llamacpp, vllm)"):format(tostring(api)) }
  end
  local cache = options.cache or script.cache
  return { script = script, options = options, cache = cache and prompt_cache.new(cache) or nil, seed = options.seed or script.seed, faults = chosen, counts = {}, counted = 0, kept = kept_responses.new(),
    random = random.new(new_seed()) }
end

local function serve_one(listener, state, http)
  delivery.send(listener, http.id, plan_for(state, http))
end

-- Whatever is raised in here, the next one is accepted.
local function accept_all(listener, state)
  while true do
    local ok, http = pcall(listener.accept, listener)
    if fiber.cancelled() then return end
    if not ok then
      listener:give_up()
    elseif not http then
      return
    elseif not pcall(listener.answer, listener, http.id, serve_one, listener, state, http) then
      listener:give_up(http.id)
    end
  end
end

-- Returns what is served, and the fiber that does so; or nil and an error.
local function serve(script, options)
  local state, wrong = new_state(scripts.check(script, "the script"), options)
  if not state then return nil, wrong end
  local listener, err = server.new { port = options.port, address = options.address }
  if not listener then return nil, err end
  local fibers = listener:serve(accept_all, listener, state)
  local root = ("http://%s:%d"):format(options.address or "127.0.0.1", listener:port())
  return {
    port = listener:port(), root = root, base = root .. "/v1",
    is_open = function() return fibers:status() ~= "done" end,
    close = function()
      listener:close()
      fibers:cancel()
    end,
  }, fibers
end

--- Serves a script. Must run inside a fiber, whose end also ends the server.
---@param script table|fun(request: table): any As from sim.load, or {reply = function}.
---@param options? {port?: integer, address?: string, latency?: number, pause?: number, fragment?: integer, fault?: string, fault_rate?: number, seed?: integer, retry_after?: number, window?: integer, strict?: string, cache?: true|integer} cache: it finds beginnings of earlier requests again, as providers' prompt caches do; the tokens that one has to have (1024). strict: whose refusals are played: openai, anthropic, gemini, mistral, llamacpp, vllm. window: tokens that a request may have; a longer one is refused as providers do.
---@return {base: string, root: string, port: integer, close: fun()}? served `base` ends with /v1, `root` with the port.
---@return hocket.Error?
function sim.serve(script, options)
  arguments("sim.serve", 1, "table|function", script)
  arguments("sim.serve", 2, "table?", options)
  local made, err = serve(script, options or {})
  if not made then return nil, err end
  return made
end

local served = {} -- one server per process for each script, by its path; "": the one built in

-- What the program has set for all runs; else the run's own script: that of its target, once it was chosen and trusted.
local function chosen_path()
  local context = fiber.context()
  local set, run = require("hocket.internal.sim.script").path, context and context.run
  return set or run and run.scripted and run.scripted() or nil
end

local function serve_all(name, script)
  local made, fibers = serve(script, require("hocket.internal.sim.script").options or {})
  if not made then return nil, fibers end
  fibers:serve() -- of all runs
  served[name] = made
  return made
end

-- One that memory has ended is made anew.
local function still_served(name)
  local made = served[name]
  return made and made.is_open() and made or nil
end

-- Another run of this process has loaded the script: it is one of this run's files as well, once.
local function note(path)
  local context = fiber.context()
  local run = context and context.run
  if not run or run.noted_script == path or not kept.here() or kept.is_replay() then return end
  run.noted_script = path
  sources.read(path) -- which the run continues with in another process
end

--- The base URL of the process's own scripted model, started when it is first asked for.
---@return string? base
---@return hocket.Error?
function sim.base()
  local path = chosen_path()
  local name, script, err = path or "", nil, nil
  if not still_served(name) then
    if path then
      script, err = sim.load(path)
    else
      script = require "hocket.sim.team" {} -- in general terms
    end
    if not script then return nil, err end
  elseif path then
    note(path)
  end
  local made
  made, err = effects.anew("sim", { script = name }, function()
    local there = still_served(name)
    if there then return there end
    return serve_all(name, script)
  end)
  return made and made.base, err
end

return sim
