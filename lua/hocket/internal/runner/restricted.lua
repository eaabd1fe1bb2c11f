--- The environment of scripts from strangers: mods of a game. Values and control flow, nothing that reaches
--- out of Lua: no io, os.execute, debug, package, no compiled code, no finalizers. What it may
--- call of hocket is put in by hocket.internal.runner.mod.
---
--- Code that takes too long, or too much memory, without waiting is ended. A hook counts instructions, and the allocator
--- counts bytes (hocket.internal.core.bounds sets both around the mod's code). Neither sees the time inside of one C
--- function. So functions that may take long for their arguments are bounded here (string.rep, patterns, the functions of
--- `table`), and so are the methods of strings while a mod's code runs.
---
---     call ──> bounds on ──> the mod's code ──> leave: bounds off ──> hocket's ──> on again ──> … ──> off
---
--- The host's `max_memory` bounds the memory of all scripts together. This contains mistakes and mischief. It does
--- not stop an attacker who can break Lua itself.
local bounds = require "hocket.internal.core.bounds"
local compile = require "hocket.internal.base.script.compile"
local fiber = require "hocket.internal.core.fiber"

local restricted = {}

local sethook = debug.sethook
-- Not as methods: those are the bounded ones while a mod's code runs.
local find, format, gsub, sub = string.find, string.format, string.gsub, string.sub
--- Instructions between two looks at the clock.
local STEP = 1000
--- Bytes that it may take between two waits, unless it is said. Bytes that string.rep gives, elements that a function of `table` goes through, steps of a pattern at worst.
local MEMORY = 64 << 20
--- Bytes of a text, times bytes of what is searched for in it as it stands.
local MAX_COMPARED = 2e9
local MAX_TEXT, MAX_LIST, MAX_STEPS = 1 << 20, 1000000, 2e8

---@class hocket.Restricted
---@field env table
---@field seconds number
local Restricted = {}
Restricted.__index = Restricted

-- ---- Time ------------------------------------------------------------------------------------

local function expire(self)
  self.expired = { code = "timeout", message = format("the script took more than %g seconds without waiting", self.seconds) }
end

-- What was used up in one instruction, or in one function of C. That its time was is a read of the clock as well: a replay ends
-- the script there, where no large block tells it so.
local function overflow(self, what)
  if what == "time" then return fiber.has_come(self.due) and expire(self) end
  self.expired = { code = "no_memory", message = format("the script took more than %g MB of memory without waiting", self.memory / 1e6) }
end

local function begin_slice(self)
  self.slice, self.due = fiber.steps(), fiber.now() + self.seconds
end

-- What ends a script is raised wherever it looks: it cannot be caught for long.
local function check_bounds(self)
  local over = not self.expired and self.guard:over()
  if over then overflow(self, over) end
  if self.expired then error(self.expired, 0) end
end

-- The time of a slice begins anew whenever the fiber has waited.
local function look_at_clock(self)
  local slice = fiber.steps()
  if slice ~= self.slice then begin_slice(self) end
  if not self.expired and fiber.has_come(self.due) then expire(self) end
  check_bounds(self)
end

-- An error without what could be called: a metamethod of the mod's would run without the hook.
local function plain_error(raised)
  if type(raised) == "string" then return raised end
  if type(raised) ~= "table" then return "a " .. type(raised) .. " was raised" end
  local code, message = rawget(raised, "code"), rawget(raised, "message")
  return { code = type(code) == "string" and code or "script", message = type(message) == "string" and message or "a table was raised" }
end

local function after(self, ok, ...)
  local over = not self.guard:inside() and self.guard:over()
  if over and not self.expired then overflow(self, over) end
  if not ok then error(self.expired or plain_error((...)), 0) end
  return ...
end

--- Calls a function of the mod's.
function Restricted:call(fn, ...)
  if not self.guard:inside() then begin_slice(self) end
  return after(self, self.guard:call(fn, ...))
end

local function entered(self, ok, ...)
  if fiber.steps() ~= self.slice then
    begin_slice(self)
    self.guard:remaining(self.seconds)
  end
  if self.expired then error(self.expired, 0) end
  if not ok then error((...), 0) end
  return ...
end

--- Calls a function of ours that a mod's code has called: it may wait.
function Restricted:leave(fn, ...)
  if not self.guard:inside() then return fn(...) end
  look_at_clock(self) -- the hook counts anew after each call of ours
  return entered(self, self.guard:leave(fn, ...))
end

-- ---- Bounded functions ---------------------------------------------------------------------------

local function too_long(what)
  error(what .. ": that may take too long here", 3)
end

-- The worst cost of matching: the number of ways to share n bytes out among the quantifiers, from each possible start. %b
-- and back references visit all bytes once more, and a set visits its letters for each byte. After the last quantifier
-- nothing can fail.
local function worst(n, pattern)
  local _, free = gsub(pattern, "[*+?-]", "")
  local _, scans = gsub(pattern, "%%[b%d]", "")
  if scans == 0 and find(pattern, "[*+?]%)*$") then free = free - 1 end
  local ways = sub(pattern, 1, 1) == "^" and 1 or n + 1
  for i = 1, free do ways = ways * (n + i) / i end
  return ways * (n + 1) ^ scans * (find(pattern, "[", 1, true) and #pattern or 1)
end

local function check_pattern(name, text, pattern)
  if type(text) == "number" then text = tostring(text) end
  if type(text) ~= "string" or type(pattern) ~= "string" then return end
  if #pattern > 1000 or worst(#text, pattern) > MAX_STEPS then too_long(format("string.%s of %d bytes with this pattern", name, #text)) end
end

local function copy(from, without)
  local to = {}
  for name, value in pairs(from) do to[name] = value end
  for _, name in ipairs(without or {}) do to[name] = nil end
  return to
end

local function strings()
  local own = copy(string, { "dump" })
  function own.rep(text, n, separator)
    local size = (#tostring(text) + #tostring(separator or "")) * (math.tointeger(n) or 0)
    if size > MAX_TEXT or size < 0 or (math.tointeger(n) or 0) > MAX_TEXT then too_long "string.rep" end -- of nothing as well
    return string.rep(text, n, separator)
  end
  for _, name in ipairs { "find", "match", "gmatch", "gsub" } do
    local original = string[name]
    own[name] = function(text, pattern, ...)
      if not (name == "find" and select(2, ...)) then
        check_pattern(name, text, pattern)
      elseif type(text) == "string" and type(pattern) == "string" and #text * #pattern > MAX_COMPARED then
        too_long "string.find"
      end
      return original(text, pattern, ...)
    end
  end
  return own
end

local function check_list(name, list)
  if type(list) == "table" and (getmetatable(list) ~= nil or #list > MAX_LIST) then too_long("table." .. name) end
end

local function tables()
  local own = copy(table)
  for _, name in ipairs { "concat", "insert", "remove", "sort", "unpack" } do
    local original = table[name]
    own[name] = function(list, ...)
      check_list(name, list)
      return original(list, ...)
    end
  end
  function own.move(from, first, last, to, into)
    check_list("move", from)
    check_list("move", into)
    if (math.tointeger(last) or 0) - (math.tointeger(first) or 0) > MAX_LIST then too_long "table.move" end
    return table.move(from, first, last, to, into)
  end
  return own
end

-- ---- Errors and coroutines ------------------------------------------------------------------------

-- What ends a script cannot be caught by it.
local function checked(self, ...)
  check_bounds(self)
  return ...
end

-- Without `close`: closing inside of closing crashes some releases of Lua 5.4.
local function coroutines(self)
  local mine = setmetatable({}, { __mode = "k" })
  local own = { status = coroutine.status, isyieldable = coroutine.isyieldable, running = coroutine.running }
  function own.create(fn)
    if type(fn) ~= "function" then error("bad argument #1 to 'create' (function expected)", 2) end
    local co = coroutine.create(fn)
    sethook(co, self.hook, "", STEP)
    mine[co] = true
    return co
  end
  function own.resume(co, ...)
    if not mine[co] then error("cannot resume a coroutine that is not the script's own", 2) end
    return checked(self, fiber.plain_resume(co, ...))
  end
  function own.yield(...)
    if not mine[coroutine.running()] then error("this is no coroutine of the script: use hocket.flow to wait", 2) end
    return coroutine.yield(...)
  end
  local function continue(ok, ...)
    if not ok then error((...), 0) end
    return ...
  end
  function own.wrap(fn)
    local co = own.create(fn)
    return function(...) return continue(own.resume(co, ...)) end
  end
  return own
end

local plain = { "assert", "error", "ipairs", "next", "pairs", "rawequal", "rawget", "rawlen", "rawset", "select", "tonumber", "tostring", "type" }

local function basics(self, env)
  for _, name in ipairs(plain) do env[name] = _G[name] end
  env._G, env._VERSION = env, _VERSION
  function env.pcall(...) return checked(self, pcall(...)) end
  -- Lua calls a handler where the error is raised: inside of the hook, where no hook would end it.
  function env.xpcall(fn, handler, ...)
    local result = table.pack(checked(self, pcall(fn, ...)))
    if result[1] then return table.unpack(result, 1, result.n) end
    return false, handler(result[2])
  end
  function env.setmetatable(value, meta)
    if type(value) ~= "table" then error("bad argument #1 to 'setmetatable' (table expected)", 2) end
    if type(meta) == "table" and rawget(meta, "__gc") ~= nil then error("finalizers (__gc) are not for scripts here", 2) end
    return setmetatable(value, meta)
  end
  function env.getmetatable(value)
    return type(value) == "table" and getmetatable(value) or nil
  end
  function env.load(text, name, _, own)
    if type(text) ~= "string" then error("bad argument #1 to 'load' (string expected)", 2) end
    return self:leave(compile, text, tostring(name or "load"), own or env)
  end
end

--- An environment.
---@param seconds number That its code may take between two waits.
---@param memory? number Bytes that it may take between two waits; 64 MiB.
---@return hocket.Restricted
function restricted.new(seconds, memory)
  local env = {}
  local self = setmetatable({ env = env, seconds = seconds, memory = memory or MEMORY }, Restricted)
  self.hook = function() look_at_clock(self) end
  env.string = strings()
  self.guard = bounds.guard(self.hook, env.string, self.memory, seconds)
  basics(self, env)
  env.table, env.utf8 = tables(), copy(utf8)
  env.math = copy(math, { "randomseed" })
  env.os = { time = os.time, clock = os.clock, date = os.date, difftime = os.difftime }
  env.coroutine = coroutines(self)
  return self
end

return restricted
