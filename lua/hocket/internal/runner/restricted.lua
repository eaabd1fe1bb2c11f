--- The environment of scripts from strangers: mods of a game. Values and control flow, nothing that reaches
--- out of Lua: no io, os.execute, debug, package, no compiled code, no finalizers. What it may
--- call of hocket is put in by hocket.internal.runner.mod.
---
--- Code that takes too long without waiting is ended. A hook counts instructions, so that time inside of one
--- C function is not seen: those that may take long for their arguments are bounded here (string.rep, patterns, the
--- functions of `table`). While a mod's code runs the methods of strings are the bounded ones as well.
---
---     enter ──> hook on, bounded strings ──> the mod's code ──> calls hocket: leave … enter ──> leave
---
--- Memory is bounded by the host's `max_memory`. This contains mistakes and mischief; it is no wall
--- against who knows a way to break Lua itself.
local compile = require "hocket.internal.base.compile"
local fiber = require "hocket.internal.core.fiber"

local restricted = {}

local sethook, string_meta = debug.sethook, debug.getmetatable ""
-- Not as methods: those are the bounded ones while a mod's code runs.
local find, format, gsub, sub = string.find, string.format, string.gsub, string.sub
--- Instructions between two looks at the clock.
local STEP = 10000
--- Bytes that string.rep gives, elements that a function of `table` goes through, steps of a pattern at worst.
local MAX_TEXT, MAX_LIST, MAX_STEPS = 1 << 20, 1000000, 1e9

---@class hocket.Restricted
---@field env table
---@field seconds number
local Restricted = {}
Restricted.__index = Restricted

-- ---- Time ------------------------------------------------------------------------------------

local function expire(self)
  self.expired = { code = "timeout", message = format("the script took more than %g seconds without waiting", self.seconds) }
end

-- What cannot be collected is the script's: nobody else has worked since the slice began.
local function overflow(self)
  collectgarbage()
  if collectgarbage "count" * 1024 - self.bytes <= self.memory then return end
  self.expired = { code = "no_memory", message = format("the script took more than %g MB of memory without waiting", self.memory / 1e6) }
end

local function begin_slice(self)
  self.slice, self.began, self.bytes = fiber.steps(), fiber.now(), collectgarbage "count" * 1024
end

-- The time of a slice begins anew whenever the fiber has waited.
local function look_at_clock(self)
  local slice = fiber.steps()
  if slice ~= self.slice then begin_slice(self) end
  if not self.expired and fiber.now() - self.began > self.seconds then expire(self) end
  if not self.expired and self.memory and collectgarbage "count" * 1024 - self.bytes > self.memory then overflow(self) end
  if self.expired then error(self.expired, 0) end
end

local function hook_of(self)
  return function() look_at_clock(self) end
end

-- An error without what could be called: a metamethod of the mod's would run without the hook.
local function plain_error(raised)
  if type(raised) == "string" then return raised end
  if type(raised) ~= "table" then return "a " .. type(raised) .. " was raised" end
  local code, message = rawget(raised, "code"), rawget(raised, "message")
  return { code = type(code) == "string" and code or "script", message = type(message) == "string" and message or "a table was raised" }
end

local function after(self, ok, ...)
  self.depth = self.depth - 1
  if self.depth == 0 then
    sethook(table.unpack(self.hook_before, 1, 3))
    string_meta.__index = self.strings_before
  end
  if not ok then error(plain_error((...)), 0) end
  return ...
end

--- Calls a function of the mod's.
function Restricted:call(fn, ...)
  if self.depth == 0 then
    begin_slice(self)
    self.hook_before = { debug.gethook() } -- a debugger's
    self.strings_before, string_meta.__index = string_meta.__index, self.env.string
  end
  self.depth = self.depth + 1
  sethook(self.hook, "", STEP)
  return after(self, pcall(fn, ...))
end

local function entered(self, depth, ok, ...)
  self.depth = depth
  self.strings_before, string_meta.__index = string_meta.__index, self.env.string
  sethook(self.hook, "", STEP)
  if self.expired then error(self.expired, 0) end
  if not ok then error((...), 0) end
  return ...
end

--- Calls a function of ours that a mod's code has called: it may wait.
function Restricted:leave(fn, ...)
  local depth = self.depth
  if depth == 0 then return fn(...) end
  self.depth = 0
  sethook(table.unpack(self.hook_before, 1, 3))
  string_meta.__index = self.strings_before
  return entered(self, depth, pcall(fn, ...))
end

-- ---- Bounded functions ---------------------------------------------------------------------------

local function too_long(what)
  error(what .. ": that may take too long here", 3)
end

-- What matching takes at worst: the ways in which n bytes can be shared out among the quantifiers, from each place
-- where it may begin. The last quantifier of all has nothing behind it that could fail.
local function worst(n, pattern)
  local _, free = gsub(pattern, "[*+?-]", "")
  if find(pattern, "[*+?]%)*$") then free = free - 1 end
  local ways = sub(pattern, 1, 1) == "^" and 1 or n + 1
  for i = 1, free do ways = ways * (n + i) / i end
  return ways
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
    if size > MAX_TEXT or size < 0 then too_long "string.rep" end
    return string.rep(text, n, separator)
  end
  for _, name in ipairs { "find", "match", "gmatch", "gsub" } do
    local original = string[name]
    own[name] = function(text, pattern, ...)
      if not (name == "find" and select(2, ...)) then check_pattern(name, text, pattern) end
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
  if self.expired then error(self.expired, 0) end
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
    return checked(self, coroutine.resume(co, ...))
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
---@param memory? number Bytes that it may take between two waits.
---@return hocket.Restricted
function restricted.new(seconds, memory)
  local env = {}
  local self = setmetatable({ env = env, seconds = seconds, memory = memory, depth = 0 }, Restricted)
  self.hook = hook_of(self)
  basics(self, env)
  env.string, env.table, env.utf8 = strings(), tables(), copy(utf8)
  env.math = copy(math, { "randomseed" })
  env.os = { time = os.time, clock = os.clock, date = os.date, difftime = os.difftime }
  env.coroutine = coroutines(self)
  return self
end

return restricted
