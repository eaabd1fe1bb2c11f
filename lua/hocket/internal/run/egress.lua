--- Hosts that a person has named: in what they typed, or as the operator (HOCKET_WEB_ALLOW). A conversation that has
--- read what may be a secret sends requests to these alone without a question, since whoever else gets an address gets
--- what stands in it.
---
--- What a page, a file or a model names does not count; nor does what came through a pipe.
local effects = require "hocket.internal.base.effects"
local sources = require "hocket.internal.base.sources"
local web = require "hocket.internal.core.web"

local egress = {}

local function host_of(reference)
  local address = web.resolve(reference)
  if not address or not address.host or address.user then return nil end
  return ("%s:%s"):format(address.host:lower(), address.port), address.host:lower()
end

--- Notes the addresses in a person's own words, when the run says that they are (its option `typed`).
---@param run hocket.Run
---@param text? string
function egress.note(run, text)
  if not run.options.typed or type(text) ~= "string" then return end
  for url in text:gmatch "[Hh][Tt][Tt][Pp][Ss]?://[^%s<>\"'`{}|\\^]+" do
    local host = host_of((url:gsub("[%)%].,;:!?]+$", "")))
    if host then
      run.named_hosts = run.named_hosts or {}
      run.named_hosts[host] = true
    end
  end
end

--- From here on these hosts of HOCKET_WEB_ALLOW replace the recorded ones of the run. A checkpoint has them, too.
---@param text? string nil: of a log that does not say it.
function egress.allow(text)
  if text then effects.here().policy.web_allow = text end
end

-- What it began with, or what whoever continues it has said.
local function allowed()
  local own = effects.around()
  return own and own.policy and own.policy.web_allow or sources.variable "HOCKET_WEB_ALLOW" or ""
end

local function is_allowed(host, name)
  for one in allowed():lower():gmatch "[^,%s]+" do
    if one == host or one == name then return true end
  end
  return false
end

--- Whether an address is on a host that a person has named.
---@param run hocket.Run
---@param reference string
---@return boolean
function egress.is_named(run, reference)
  local host, name = host_of(reference)
  if not host then return false end
  return run.named_hosts ~= nil and run.named_hosts[host] == true or is_allowed(host, name)
end

--- Whether two addresses are on the same host and port.
---@param a string
---@param b string
---@return boolean
function egress.same_host(a, b)
  local host = host_of(a)
  return host ~= nil and host == host_of(b)
end

return egress
