--- `hocket serve`: runs of a project's agents, and all runs of the store, for programs that speak HTTP.
---
---     serving {url, token_file?}                     it listens
---     run:answer("shutdown", seconds) ──> …          what is at work may end within so many seconds, the rest is parked
---     run:answer("refresh", "")                      certificate and key are read again
local agents = require "hocket.agent"
local bounds = require "hocket.internal.base.lazy" "hocket.internal.agents.bounds"
local workflow_bound = require "hocket.internal.base.lazy" "hocket.internal.agents.workflow_bound"
local consent = require "hocket.internal.run.consent"
local desks = require "hocket.internal.endpoints.desk"
local fiber = require "hocket.internal.core.fiber"
local firing = require "hocket.internal.base.lazy" "hocket.internal.schedule.firing"
local machine_policy = require "hocket.internal.models.machine_policy"
local model = require "hocket.model"
local offered = require "hocket.internal.serve.offered"
local rule_check = require "hocket.internal.session.rule_check"
local runs = require "hocket.internal.run.run"
local servers = require "hocket.internal.endpoints.server"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"
local tokens = require "hocket.internal.endpoints.token"
local unlimited = require "hocket.internal.base.lazy" "hocket.internal.agents.unlimited"
local webhook = require "hocket.internal.base.lazy" "hocket.internal.serve.webhook"
local webhooks = require "hocket.internal.base.lazy" "hocket.internal.endpoints.webhooks"

local function add_interfaces(server)
  for _, add in ipairs(require "hocket.internal.endpoints.interfaces") do add(server) end
end

local function refresh(listener)
  local ok, err = listener:refresh()
  system.log(ok and "info" or "error", ok and "the certificate was read again" or "the certificate from before stays: " .. err.message)
end

-- What the program says to it comes as answers.
local function hear_program(run, listener, has_certificate, stopping)
  run.answer = function(_, question, text)
    if question == "refresh" then
      if has_certificate then refresh(listener) end
    elseif question == "shutdown" then
      stopping(tonumber(text) or 0)
    else
      return nil, { code = "not_found", message = "there is no such question" }
    end
    return true
  end
end

local function url_of(scheme, address, port)
  return ("%s://%s:%d"):format(scheme, address:find ":" and "[" .. address .. "]" or address, port)
end

local function set_of(list)
  local set = {}
  for _, name in ipairs(list or {}) do set[name:lower()] = true end
  return set
end

-- What a request may use where nothing limits it: said once, when the server starts.
local function warn_of_limits(list, options)
  if consent.limits(options) then return end
  for _, one in ipairs(list) do
    local is_script = not one.def or one.def.workflow
    local message = not is_script and bounds.warning(one.def, workflow_bound.of_team(agents.team_of(one.def))[one.def.name])
    if message then system.log("warn", unlimited.advise(message)) end
    if is_script then system.log("warn", unlimited.of_script(one.path)) end
  end
end

-- The first request would fail, in front of a client; a server for models may still be started.
local function warn_of_no_model(list, options)
  if options.model or model.has_default() then return end
  for _, one in ipairs(list) do
    if one.def and not one.def.workflow and not one.def.model and not (options.models or {})[one.def.name] then
      local found, err = model.default()
      if not found then system.log("warn", err.message) end
      return
    end
  end
end

---@async
---@param args {targets: string[], options?: table, all?: boolean, address?: string, port?: integer, fd?: integer, tls_cert?: string, tls_key?: string, behind_proxy?: boolean, token_file?: string, no_token?: boolean, hosts?: string[], origins?: string[], max_runs?: integer, max_queue?: integer, kept?: boolean, access_log?: boolean, all_runs?: boolean, webhooks?: string[], answer_url?: string, page?: table, store_needed?: boolean}
---@param journal userdata
return function(args, journal, id)
  local may, refused = machine_policy.serves(args)
  if not may then return nil, refused end
  local token, file
  if not args.no_token then
    token, file = tokens.get(args.token_file)
    if not token then return nil, file end
  end
  local made, err = offered.open(args.targets or {}, args.all, args.options or {})
  if not made then return nil, err end
  local closing <close> = setmetatable({}, { __close = function() made:close() end })
  local wrong_rule = rule_check.early(args.options or {}, args.targets or {})
  if wrong_rule then return nil, wrong_rule end
  local hooks = args.webhooks or {}
  local secret
  if #hooks > 0 then
    secret, err = webhook.secret()
    if not secret then return nil, err end
  end
  local desk = desks.new { offered = made, options = args.options or {}, max_runs = args.max_runs or 64, max_queue = args.max_queue or 256, kept = args.kept == true, hooks = #hooks > 0 }
  if args.store_needed then -- one that a person has named: that it cannot be used is said now, not to the first client
    local runs_there, wrong = store.runs { limit = 1 }
    if not runs_there then return nil, wrong end
  end
  local list
  list, err = desk:agents()
  if not list then return nil, err end
  local run
  local server = servers.new {
    desk = desk, token = token, all_runs = args.all_runs, scheme = args.tls_cert and "https" or nil, behind_proxy = args.behind_proxy, hosts = set_of(args.hosts), origins = set_of(args.origins),
    log = args.access_log and function(entry) run:emit("request", entry) end,
  }
  server.page = args.page
  add_interfaces(server)
  local port
  port, err = server:listen { port = args.port or 7333, address = args.address or "127.0.0.1", fd = args.fd, tls_cert = args.tls_cert, tls_key = args.tls_key, key = token, max_connections = 4096 }
  if not port then return nil, err end
  desk:open()
  warn_of_limits(list, args.options or {})
  warn_of_no_model(list, args.options or {})
  if #list == 0 then system.log("warn", "no TARGET: no agents are served, only the runs of the store") end
  local times = args.kept and firing.start() -- of schedules
  if secret then webhooks.new({ urls = hooks, key = secret, desk = desk, answer_url = args.answer_url }):open() end
  run = runs.new { journal = journal, id = id, options = {} }
  local serving, me, grace = fiber.spawn(server.serve, server), fiber.self(), nil
  hear_program(run, server.listener, args.tls_cert ~= nil, function(seconds)
    grace = seconds
    me:wake()
  end)
  run:emit("serving", { url = url_of(args.tls_cert and "https" or "http", args.address or "127.0.0.1", port), token_file = file })
  serving:watch()
  while not grace and serving:status() ~= "done" do fiber.park_for_program() end
  server.listener:mute()
  if times then times:stop() end
  desk:close(grace or 0)
  server:finish()
  serving:cancel()
  server.spending:close()
  server.listener:close()
  return { text = "" }
end
