--- The MCP servers of a host: one connection for each server and configuration, made when it is first needed and shared
--- by all agents; made again when it was lost, after growing pauses.
local client = require "hocket.internal.mcp.client"
local core_fs = require "hocket.internal.core.fs"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.fs"
local json = require "hocket.json"
local lazy = require "hocket.internal.base.lazy"
local system = require "hocket.internal.core.system"
local failed = system.error

local runs = require "hocket.internal.run.run"
local trim = require "hocket.internal.base.trim"
local sanitize, truncate = require "hocket.internal.base.sanitize", require "hocket.internal.base.truncate"
local elicit = lazy "hocket.internal.mcp.elicit"
local oauth = lazy "hocket.internal.mcp.oauth"
local sample = lazy "hocket.internal.mcp.sample"
local tokens = lazy "hocket.internal.mcp.oauth_tokens"

local servers = {}

--- Seconds before the n-th try after a failure; the last one for every later try.
local PAUSES = { 0, 1, 2, 5, 10, 30, 60 }
--- Seconds that an agent waits for such a pause to end; a longer one is an error at once.
local PATIENCE = 5

local entries = {} -- by key

-- ---- What is configured --------------------------------------------------------------------

local function value_of(name, default, where)
  local value = system.getenv(name)
  if value and value ~= "" then return value end
  if default then return default end
  return nil, failed { code = "invalid", message = ("%s: the variable %s is not set"):format(where, name) }
end

-- ${NAME}, ${NAME:-otherwise}, and as others write them ${env:NAME}, ${env.NAME}.
local function expand(text, where)
  local wrong
  local out = text:gsub("%${([^}]*)}", function(inside)
    local name, default = inside:match "^([^:]+):%-(.*)$"
    name = (name or inside):gsub("^env[.:]", "")
    local value, err = value_of(name, default, where)
    wrong = wrong or err
    return value or ""
  end)
  if wrong then return nil, wrong end
  return out
end

local function expand_all(map, where)
  local out = {}
  for key, text in pairs(map) do
    local value, err = expand(text, where)
    if not value then return nil, err end
    out[key] = value
  end
  return out
end

--- A server with its variables filled in.
---@param def hocket.McpServer
---@return hocket.McpServer?
---@return hocket.Error?
function servers.expand(def)
  local where, out, err = ("MCP server '%s'"):format(def.name), setmetatable({}, { __index = def }), nil
  local function fill(key, fn)
    local value
    value, err = fn(def[key] or {}, where)
    out[key] = value
    return value ~= nil
  end
  for _, key in ipairs { "command", "url", "cwd", "env_file" } do
    if def[key] and not fill(key, expand) then return nil, err end
  end
  for _, key in ipairs { "args", "env", "headers" } do
    if not fill(key, expand_all) then return nil, err end
  end
  return out
end

-- What a program finds in its environment without having been named: where programs and homes are, and the language.
local given = { "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS" }

local function environment(env)
  local list = {}
  for _, name in ipairs(given) do
    local value = system.getenv(name)
    if value and env[name] == nil then list[#list + 1] = name .. "=" .. value end
  end
  for name, value in pairs(env) do list[#list + 1] = name .. "=" .. value end
  table.sort(list)
  return list
end

local function beside(path, file)
  return (file and file:match "^(.*)/[^/]*$" or ".") .. "/" .. path
end

-- A path is meant from the file that says it; a name is searched for in the PATH.
local function place(path, file)
  if fs.is_absolute(path) then return path end
  return fs.real(beside(path, file))
end

--- Bytes of a file of variables.
local ENV_BYTES = 64 << 10

-- "export NAME='a value'  # why" ──> NAME, a value
local function variable_of(line)
  local name, value = line:match "^%s*([%a_][%w_]*)%s*=%s*(.*)$"
  if not name then name, value = line:match "^%s*export%s+([%a_][%w_]*)%s*=%s*(.*)$" end
  if not name then return nil end
  return name, value:match '^"([^"]*)"' or value:match "^'([^']*)'" or trim.right((value:gsub("%s#.*$", "")))
end

-- The environment with what its file adds.
local function with_file(def)
  if not def.env_file then return def.env end
  local path = place(def.env_file, def.file)
  local text, err = nil, nil
  if path then text, err = core_fs.read(path, ENV_BYTES) end -- in no log: it holds keys
  if not text then
    local why = err and err.message or "there is no file " .. beside(def.env_file, def.file)
    return nil, failed { code = "not_found", message = ("MCP server '%s': its envFile %s cannot be read: %s"):format(def.name, def.env_file, why) }
  end
  local env = {}
  for line in text:gsub("^\239\187\191", ""):gmatch "[^\r\n]+" do
    local name, value = variable_of(line)
    if name and not value:find "%c" then env[name] = value end
  end
  for name, value in pairs(def.env) do env[name] = value end
  return env
end

local function process_of(def)
  local cwd = place(def.cwd or ".", def.file)
  if not cwd then return nil, failed { code = "not_found", message = ("MCP server '%s': there is no folder %s"):format(def.name, def.cwd or ".") } end
  local command = def.command:find("/", 1, true) and place(def.command, def.file) or def.command
  if not command then return nil, failed { code = "not_found", message = ("MCP server '%s': there is no program %s"):format(def.name, def.command) } end
  local env, unreadable = with_file(def)
  if not env then return nil, unreadable end
  return { argv = { command, table.unpack(def.args) }, env = environment(env), cwd = cwd, sandbox = "limits", network = true, sockets = true }
end

-- ---- Connections ---------------------------------------------------------------------------

local function key_of(def)
  return json.encode { name = def.name, command = def.command, args = json.array(def.args), env = def.env, env_file = def.env_file and place(def.env_file, def.file), cwd = def.cwd and place(def.cwd, def.file), url = def.url, headers = def.headers,
    roots = def.roots and json.array(def.roots), sampling = def.sampling or nil }
end

--- What makes a server this one: where it is, how it is started, with what.
---@param def hocket.McpServer
---@return string
function servers.key(def)
  return key_of(def)
end

local function has_own_leave(headers)
  for name in pairs(headers) do
    if name:lower() == "authorization" then return true end
  end
end

--- Who gets tokens for a server.
---@param def hocket.McpServer With its variables filled in.
---@param browse? fun(url: string): string?, hocket.Error? Shows a person an address; without it nobody is there to log in.
---@param redirect? string
---@return hocket.McpLogin
function servers.login(def, browse, redirect)
  local client = def.oauth and def.oauth.client_id and { id = def.oauth.client_id, secret = def.oauth.client_secret } or nil
  return oauth.new {
    url = def.url, client = client, redirect = redirect or "http://127.0.0.1/callback", known = tokens.get(def.url),
    keep = function(known) tokens.put(def.url, known) end, recall = function() return tokens.get(def.url) end, alone = function(fn) return tokens.alone(fn) end,
    browse = browse or function()
      return nil, failed { code = "auth", message = ("MCP server '%s' wants somebody to log in: run 'hocket mcp login %s'"):format(def.name, def.name) }
    end,
  }
end

local function spec_of(def)
  local spec = { name = ("MCP server '%s'"):format(def.name), server = def.name, url = def.url, headers = def.headers }
  if def.url and not has_own_leave(def.headers) then spec.login = servers.login(def) end
  if def.command then
    local process, err = process_of(def)
    if not process then return nil, err end
    spec.process = process
  end
  return spec
end

-- The folders that a server may be told of, as addresses.
local function roots_of(def)
  local list = json.array {}
  for i, path in ipairs(def.roots) do
    local real = place(path, def.file) or path
    list[i] = { uri = "file://" .. real:gsub("[^%w/._~-]", function(c) return ("%%%02X"):format(c:byte()) end), name = real:match "[^/]+$" or real }
  end
  return { roots = list }
end

--- What a client connects by.
---@param def table As in an agent's head.
---@return table? spec
---@return hocket.Error?
function servers.spec(def)
  local expanded, err = servers.expand(def)
  if not expanded then return nil, err end
  return spec_of(expanded)
end

local function wake_all(entry)
  for waiting in pairs(entry.waiting) do waiting:wake() end
end

--- Bytes of what a server logs that are reported, and how often while one call is under way.
local LOGGED, LOGS = 1000, 100

-- What a server logs in the middle of a call is reported in the run that has made it.
local function log(entry, def, params)
  local run, agent, op = elicit.caller(entry)
  entry.logs = (entry.logs or 0) + 1
  if not run or entry.logs > LOGS then return end
  local said = type(params.data) == "string" and params.data or json.encode(params.data)
  run:emit("server_log", {
    server = def.name, level = type(params.level) == "string" and params.level:sub(1, 20) or "info", text = sanitize.text(truncate(said, LOGGED, "…")),
    logger = type(params.logger) == "string" and sanitize.text(params.logger:sub(1, 100)) or nil,
  }, agent, op)
end

-- `run`: it needs the server first; its trace has how that was reached.
local function connect(entry, def, run)
  local spec, err = spec_of(def)
  local made
  if spec then
    spec.elicit = function(params) return elicit.ask(entry, params) end
    spec.log = function(params) log(entry, def, params) end
    spec.changed = function() entry.state = system.token(8) end
    spec.sample = def.sampling and function(params) return sample.answer(entry, params) end or nil
    spec.roots = def.roots and function() return roots_of(def) end
    spec.observer = run and run.observer or nil
    made, err = client.connect(spec)
  end
  entry.client, entry.err, entry.connecting, entry.state = made, err, false, system.token(8)
  if not made then
    entry.failures = entry.failures + 1
    entry.not_before = fiber.now() + PAUSES[math.min(entry.failures + 1, #PAUSES)]
  end
  wake_all(entry)
end

-- A server that was lost counts as failed, unless it had answered something.
local function note_loss(entry)
  local lost = entry.client
  if not lost or not lost:ended() then return end
  entry.err, entry.client = lost:ended(), nil
  lost:close()
  entry.failures = entry.answered and 0 or entry.failures + 1
  entry.answered = false
  entry.not_before = fiber.now() + PAUSES[math.min(entry.failures + 1, #PAUSES)]
end

local function wait_for(entry)
  local me = fiber.self()
  entry.waiting[me] = true
  local closing <close> = setmetatable({}, { __close = function() entry.waiting[me] = nil end })
  while entry.connecting do fiber.park() end
end

--- Whether the running run may use a server still: the toolset hands it in.
---@type fun(def: hocket.McpServer): boolean?, hocket.Error?
function servers.check() return true end

--- The connection to a server; made where there is none.
---@async
---@param def hocket.McpServer With its variables filled in.
---@return hocket.McpEntry?
---@return hocket.Error?
function servers.get(def)
  local may, refused = servers.check(def)
  if not may then return nil, failed(refused) end
  local key = key_of(def)
  local entry = entries[key] or { failures = 0, not_before = 0, waiting = {}, calls = {}, name = ("MCP server '%s'"):format(def.name) }
  entries[key] = entry
  note_loss(entry)
  if entry.client then return entry end
  if not entry.connecting then
    local pause = entry.not_before - fiber.now()
    if pause > PATIENCE then
      return nil, failed { code = entry.err.code, message = ("%s (tried %d times; again in %d s)"):format(entry.err.message, entry.failures, math.ceil(pause)) }
    end
    if pause > 0 then fiber.sleep(pause) end
  end
  if not entry.connecting and not entry.client then
    entry.connecting = true
    fiber.detach(connect, entry, def, runs.current()) -- whoever asked first may be cancelled, and others wait for it as well
  end
  wait_for(entry)
  if entry.client then return entry end
  return nil, entry.err
end

--- A word that is another one after each change that a server tells of, and after each new connection; nil: there is none.
---@param def hocket.McpServer With its variables filled in.
---@return string?
function servers.state(def)
  local entry = entries[key_of(def)]
  return entry and entry.client and entry.state
end

--- Ends all connections.
---@async
function servers.close()
  for key, entry in pairs(entries) do
    entries[key] = nil
    if entry.client then entry.client:close() end
  end
end

return servers
