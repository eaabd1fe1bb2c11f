--- Where commands may go: nowhere, everywhere, or to named hosts by way of a proxy of ours.
---
---     command ──> 127.0.0.1:3128 of its own network ──> the proxy ──> hosts that are named
---                                                          └ others: a person is asked, or it is refused
---
--- Nothing else is in the command's network, so a program without proxy support reaches nothing.
--- os/sandbox/net.c isolates it; serve/proxy/proxy.h decides what passes.
local ask = require "hocket.ask"
local flow = require "hocket.flow"
local system = require "hocket.internal.core.system"

local network = {}

local PROXY = "http://127.0.0.1:3128"
--- Hosts of one command, at most: questions to a person, and refusals that its result names.
local MAX_QUESTIONS, MAX_TOLD = 8, 32

-- ---- What the run says ---------------------------------------------------------------------

local function made_proxy(options)
  local ok, proxy = pcall(require, "hocket.internal.core.proxy")
  if not ok then return nil, { code = "unsupported", message = "a network of named hosts needs the component hocket-serve, which this program has not attached" } end
  return proxy.new(options)
end

-- Whether the operator says that a host may be at an address that is not public.
local function is_inside(rule)
  local host = rule:lower():gsub(":[%d*]+$", "")
  for one in (system.getenv "HOCKET_WEB_ALLOW" or ""):lower():gmatch "[^,%s]+" do
    if one == host or one == rule:lower() then return true end
  end
  return false
end

local function name_all(proxy, hosts)
  for _, host in ipairs(hosts) do
    local ok, err = proxy:name(host, is_inside(host))
    if not ok then return nil, { code = "invalid", message = "network: " .. err.message } end
  end
  return true
end

local function checked(hosts)
  local proxy, err = made_proxy {}
  if not proxy then return nil, err end
  local ok, wrong = name_all(proxy, hosts)
  proxy:close()
  if not ok then return nil, wrong end
  return hosts
end

local function split(text)
  local list = {}
  for one in text:gmatch "[^,%s]+" do list[#list + 1] = one end
  return list
end

--- Reads the option `network` of a run: true or "all", false or "none", hosts as a list or with commas between.
---@param option any
---@return "all"|"none"|string[]|nil
---@return hocket.Error?
function network.read(option)
  if option == nil or option == false or option == "none" then return "none" end
  if option == true or option == "all" then return "all" end
  local hosts = type(option) == "string" and split(option) or option
  local ok = type(hosts) == "table" and #hosts > 0
  for _, host in ipairs(ok and hosts or {}) do ok = ok and type(host) == "string" end
  if not ok then
    return nil, { code = "invalid", message = "network: expected all, none, or hosts, as in api.example.org,*.example.net:8443" }
  end
  return checked(hosts)
end

-- ---- While a command runs --------------------------------------------------------------------

---@class hocket.CommandNetwork
---@field proxy userdata For hocket.process.
---@field env string[] What tells programs of it.
---@field refused {host: string, port: integer, reason: string}[] Each once.
local Open = {}
Open.__index = Open

function Open:close()
  self.proxy:close()
  self.listener:cancel()
end
Open.__close = Open.close

local function place(host, port)
  return (host:find(":", 1, true) and "[%s]:%d" or "%s:%d"):format(host, port)
end

local function note(self, host, port, reason)
  local where = place(host, port)
  if self.seen[where] or #self.refused >= MAX_TOLD then return end
  self.seen[where] = true
  self.refused[#self.refused + 1] = { host = host, port = port, reason = reason }
  if self.opts.on_refused then self.opts.on_refused(host, port, reason) end
end

-- Many connections may wait for one answer.
local function settle(self, where, allowed)
  local waiting = self.waiting[where]
  self.waiting[where], self.answers[where] = nil, allowed
  for _, id in ipairs(waiting) do self.proxy:answer(id, allowed) end
end

local function question(self, id, host, port)
  local where = place(host, port)
  if self.answers[where] ~= nil then return self.proxy:answer(id, self.answers[where]) end
  if self.waiting[where] then
    table.insert(self.waiting[where], id)
    return
  end
  self.waiting[where], self.asked = { id }, self.asked + 1
  if self.asked > MAX_QUESTIONS then return settle(self, where, false) end
  flow.spawn(function() settle(self, where, self.opts.ask(where)) end)
end

local function listen(self)
  for news in function() return self.proxy:next() end do
    if news.refused then note(self, news.host, news.port, news.refused) else question(self, news.id, news.host, news.port) end
  end
end

-- Servers that a command starts itself are in its own network: unless one of the host's is meant.
local function environment(hosts)
  local env, own = {}, true
  for _, host in ipairs(hosts) do own = own and not (host:find "^localhost" or host:find "^127%." or host:find "^%[::1%]") end
  for _, name in ipairs { "http_proxy", "https_proxy", "all_proxy" } do
    env[#env + 1], env[#env + 2] = name .. "=" .. PROXY, name:upper() .. "=" .. PROXY
  end
  if own then env[#env + 1], env[#env + 2] = "no_proxy=localhost,127.0.0.1,::1", "NO_PROXY=localhost,127.0.0.1,::1" end
  env[#env + 1] = "NODE_USE_ENV_PROXY=1"
  return env
end

--- Opens the way for one command. What is given back is to be closed when it has ended.
---@async
---@param hosts string[]
---@param opts {ask?: (fun(where: string): boolean), on_refused?: fun(host: string, port: integer, reason: string)} ask: whether a host that is not named may be reached; without it, none may.
---@return hocket.CommandNetwork?
---@return hocket.Error?
function network.open(hosts, opts)
  local proxy, err = made_proxy { questions = opts.ask ~= nil }
  if not proxy then return nil, err end
  local ok, wrong = name_all(proxy, hosts)
  if not ok then
    proxy:close()
    return nil, wrong
  end
  local self = setmetatable({ proxy = proxy, env = environment(hosts), opts = opts, refused = {}, seen = {}, waiting = {}, answers = {}, asked = 0 }, Open)
  self.listener = flow.spawn(listen, self)
  return self
end

-- ---- Asking a person ---------------------------------------------------------------------------

local function is_denied(permissions)
  for _, layer in ipairs(permissions.layers) do
    if layer.mode == "deny" then return true end
  end
  return false
end

--- How a person is asked whether a command may go where no host is named; nil: nobody is there, or everything that would be
--- asked is denied.
---@param run hocket.Run
---@param agent string
---@param permissions hocket.Permissions
---@param command string
---@return (fun(where: string): boolean)?
function network.asker(run, agent, permissions, command)
  if run.options.on_question == nil and run.options.interactive ~= true then return nil end
  if is_denied(permissions) then return nil end
  local op = require("hocket.internal.run.run").operation()
  return function(where)
    local decision = ask.approval {
      agent = agent, tool = "network", arguments = { host = where, command = command }, op = op,
      reason = "a command wants to reach a host that nobody has named", labels = permissions.labels.bits,
    }
    return decision == "allow"
  end
end

return network
