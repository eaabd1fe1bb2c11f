--- A script's own effect: see hocket.step.
local effects = require "hocket.internal.base.effects"
local json = require "hocket.json"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"

local known = { idempotent = "boolean", reconcile = "function", of = "any" }

local function check(name, fn, opts)
  if type(name) ~= "string" then error(("bad argument #1 to 'step' (string expected, got %s)"):format(type(name)), 3) end
  if type(fn) ~= "function" then error(("bad argument #2 to 'step' (function expected, got %s)"):format(type(fn)), 3) end
  for key, value in pairs(opts or {}) do
    if not known[key] then error(("unknown option '%s' for 'step' (there are: idempotent, of, reconcile)"):format(tostring(key)), 3) end
    if known[key] ~= "any" and type(value) ~= known[key] then
      error(("bad option '%s' for 'step' (%s expected, got %s)"):format(key, known[key], type(value)), 3)
    end
  end
end

-- What becomes of one that a process that is gone had begun.
local function again(name, fn, opts, id)
  if opts.idempotent then return nil end
  if not opts.reconcile then
    return function()
      return nil, { code = "unknown", message = ("it is not known whether the step '%s' was done: the program ended in the middle of it"):format(name) }
    end
  end
  return function()
    local outcome = table.pack(effects.call_within(opts.reconcile, id))
    if outcome.n == 0 or outcome[1] == nil and outcome[2] == nil then return effects.call_within(fn, id) end
    return table.unpack(outcome, 1, outcome.n)
  end
end

local function settled(...)
  sources.stale()
  return ...
end

-- By what it is known in the log, and to a fork that remembers it.
local function asked(name, opts)
  if not opts or opts.of == nil then return { step = name } end
  local ok, text = pcall(json.encode, opts.of)
  if not ok then error(("bad option 'of' for 'step' (it has to be data: %s)"):format(text), 3) end
  return { step = name, of = text }
end

return function(name, fn, opts)
  check(name, fn, opts)
  local id = effects.id()
  if not id then return effects.unlogged(fn, system.token(32)) end
  return settled(effects.run("step", asked(name, opts), function() return effects.call_within(fn, id) end, { again = again(name, fn, opts or {}, id) }))
end
