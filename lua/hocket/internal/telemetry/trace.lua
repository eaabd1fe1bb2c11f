--- Traces as W3C Trace Context has them: which trace a run is in, under which span, and what is said of it to others.
---
---     traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
---
--- Ids follow from the run's own: a process that continues with a run goes on in its trace, with the same spans.
local system = require "hocket.internal.core.system"

local trace = {}

---@class hocket.TraceContext
---@field id string 32 hexadecimal digits.
---@field span string 16 of them: who is the parent.
---@field sampled boolean
---@field state? string

local NO_TRACE, NO_SPAN = ("0"):rep(32), ("0"):rep(16)
--- Bytes of a tracestate that are taken over, as the recommendation has it.
local MAX_STATE = 512

local function state_of(text)
  if type(text) ~= "string" or #text > MAX_STATE or text:find "[^\32-\126]" then return nil end
  for one in text:gmatch "[^,]+" do
    if not one:find "^%s*[a-z0-9][a-z0-9_%-*/@]*=[^=]+%s*$" then return nil end
  end
  return text ~= "" and text or nil
end

--- Reads what another program says; nil: it is none. A later version is read as far as we know it.
---@param parent any
---@param state any
---@return hocket.TraceContext?
function trace.read(parent, state)
  if type(parent) ~= "string" or #parent > 256 then return nil end
  local version, id, span, flags, rest = parent:match "^%s*(%x%x)%-(%x+)%-(%x+)%-(%x%x)(.-)%s*$"
  if not version or parent:find "%u" or version == "ff" or #id ~= 32 or #span ~= 16 or id == NO_TRACE or span == NO_SPAN then return nil end
  if version == "00" and rest ~= "" or rest ~= "" and rest:sub(1, 1) ~= "-" then return nil end
  return { id = id, span = span, sampled = tonumber(flags, 16) & 1 == 1, state = state_of(state) }
end

--- What a stranger says of a trace, as the option of a run that it begins; nil: it says none.
---@param parent any
---@param state any
---@return {parent: string, state?: string}?
function trace.given(parent, state)
  local read = trace.read(parent, state)
  return read and { parent = parent, state = read.state } or nil
end

--- How it is said.
---@param id string
---@param span string
---@param sampled boolean
---@return string
function trace.write(id, span, sampled)
  return ("00-%s-%s-%s"):format(id, span, sampled and "01" or "00")
end

--- The trace of a run that nobody else began.
---@param run string
---@return string
function trace.id_of(run)
  return system.digest("trace " .. run):sub(1, 32)
end

--- The id of one of its spans, by what it is.
---@param run string
---@param what string "agent", "chat" …
---@param which string|integer Of them.
---@return string
function trace.span_of(run, what, which)
  return system.digest(("span %s %s %s"):format(run, what, which)):sub(1, 16)
end

-- The last 56 bits of a trace's id, which are as good as random, as a part of one.
local function share(id)
  return tonumber(id:sub(19), 16) / (1 << 56)
end

local roots = {
  always_on = function() return true end,
  always_off = function() return false end,
  traceidratio = function(id, ratio) return share(id) >= 1 - ratio end,
}

--- Whether a name is one of a sampler.
---@param name string
---@return boolean
function trace.is_sampler(name)
  return roots[name:match "^parentbased_(.+)$" or name] ~= nil
end

--- Whether a trace is reported.
---@param sampler {name: string, ratio: number}
---@param id string
---@param parent? hocket.TraceContext
---@return boolean
function trace.sample(sampler, id, parent)
  local root = sampler.name:match "^parentbased_(.+)$"
  if root and parent then return parent.sampled end
  return roots[root or sampler.name](id, sampler.ratio)
end

return trace
