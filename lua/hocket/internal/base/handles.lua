--- Programs and streams that a script of a run that is kept talks with. What is said and heard is an effect each: a replay takes
--- it from the log and starts nothing. In another process they are gone: what is said to them then fails with the code `closed`.
---
---     open ──> effect "open" ──> a handle ── write, read_line, wait … ──> an effect each, of the real one
---                                    └── in another process there is none: "closed"
local effects = require "hocket.internal.base.effects"
local kept = require "hocket.internal.core.kept"
local misuse = require "hocket.internal.base.misuse"
local once = require "hocket.internal.base.once"
local system = require "hocket.internal.core.system"

local handles = {}

local gone = "it has ended with the process that had opened it: open it again"

-- A number that is the same in every replay.
local function number()
  local own = kept.here()
  own.opened = (own.opened or 0) + 1
  return own.opened
end

-- A method that waits, or gives something.
local function effect_of(self, kind, name, reads)
  return function(_, ...)
    local args = table.pack(...)
    return misuse.called(name, effects.run, kind, { call = name, of = self.number, arguments = effects.asked(...) }, function()
      if not self.real then return nil, system.error { code = "closed", message = gone } end
      return self.real[name](self.real, table.unpack(args, 1, args.n))
    end, { reads = reads })
  end
end

-- One that only does something.
local function act_of(self, name)
  return function()
    if self.real then self.real[name](self.real) end
  end
end

local function handle(self, kind, methods)
  local made = {}
  for _, name in ipairs(methods.reads) do made[name] = effect_of(self, kind, name, true) end
  for _, name in ipairs(methods.writes) do made[name] = effect_of(self, kind, name, false) end
  for _, name in ipairs(methods.acts) do made[name] = act_of(self, name) end
  return setmetatable(made, { __close = made.close, __name = "hocket." .. kind })
end

--- A function like `open`, whose handles are kept with the run.
---@param kind string
---@param open fun(spec: table): any, hocket.Error?
---@param methods {reads: string[], writes: string[], acts: string[]}
---@return fun(spec: table): any, hocket.Error?
function handles.keeping(kind, open, methods)
  local function keep(spec)
    if not effects.logged() then return open(spec) end
    local self = { number = number() }
    local ok, err = effects.run(kind, { call = "open", arguments = once.asked(spec) }, function()
      local real, wrong = open(spec)
      self.real = real
      return real ~= nil, wrong
    end, once.of(kind, spec))
    if not ok then return nil, err end
    return handle(self, kind, methods)
  end
  return function(spec) return misuse.called("open", keep, spec) end
end

return handles
