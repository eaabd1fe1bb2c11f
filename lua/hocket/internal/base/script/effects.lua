--- Requests and programs of scripts that change the world. If a process ended in the middle of one, nobody knows whether it was
--- done. It is repeated only if the script declares that this is safe.
---
---     GET, HEAD, OPTIONS   ──> made again
---     `idempotent = true`  ──> made again, begun when it is stored that it is
---     everything else      ──> begun when it is stored that it is; then nil and the code `unknown`
local effects = require "hocket.internal.base.effects"
local system = require "hocket.internal.core.system"

local script_effects = {}

local asking = { GET = true, HEAD = true, OPTIONS = true }

--- Whether a method only asks.
---@param method string
---@return boolean
function script_effects.asks(method)
  return asking[method] == true
end

-- What it is, for people; nil: it only asks. Addresses and arguments may hold what is secret.
local what = {}

function what.http(spec)
  local method = type(spec) == "table" and (spec.method or spec.body and "POST") or "GET"
  return not asking[method] and ("the %s request was made"):format(tostring(method)) or nil
end

function what.process(spec)
  local program = type(spec) == "table" and type(spec.argv) == "table" and spec.argv[1]
  return ("the program %s was run"):format(tostring(program):match "[^/]*$")
end

--- The arguments for a digest, whatever is said of doing it again.
---@param spec any
---@return string
function script_effects.asked(spec)
  if type(spec) ~= "table" or spec.idempotent == nil then return effects.asked(spec) end
  local copy = {}
  for name, value in pairs(spec) do copy[name] = value end
  copy.idempotent = nil
  return effects.asked(copy)
end

--- How an effect is made that asks for this.
---@param kind "http"|"process"
---@param spec any
---@return hocket.EffectOptions
function script_effects.of(kind, spec)
  local done = what[kind](spec)
  if not done then return { reads = true } end
  if type(spec) ~= "table" or spec.idempotent then return {} end
  return { again = function()
    return nil, system.error { code = "unknown", message = ("it is not known whether %s: hocket ended in the middle of it"):format(done) }
  end }
end

return script_effects
