--- What the classes of the attack suite are written with. A class is a file of this folder:
---
---     local attack = require "attack"
---     local class = attack.class "walls"
---     class:try("the kernel's settings", function(dir)      -- one case: an attack
---       return "what was broken" or nil                     -- nil: it held
---     end)
---     return class:finish()
---
--- Each case gets a folder of its own (dir.path, dir:write), which is removed after it. What it raises counts
--- as not held: an attack that could not be tried says nothing. In the short form one case in five is
--- tried, each time others.
local t = require "harness"

local attack = {}

local Class = {}
Class.__index = Class

local every = tonumber(os.getenv "HOCKET_ATTACK_EVERY" or "") or 1

---@param name string
---@param cheap? boolean Its cases take no time: all of them are tried in the short form, too.
function attack.class(name, cheap)
  return setmetatable({ name = name, every = cheap and 1 or every, seen = math.random(0, every - 1), tried = 0, broken = {} }, Class)
end

local function message_of(err)
  return type(err) == "table" and tostring(err.message or err) or debug.traceback(tostring(err), 2)
end

---@async
---@param what string
---@param fn fun(dir: table): string? What was broken; nil: it held.
function Class:try(what, fn)
  self.seen = self.seen + 1
  if self.seen % self.every ~= 0 then return end
  self.tried = self.tried + 1
  local dir <close> = t.dir()
  local ok, broken = xpcall(fn, message_of, dir)
  if ok and not broken then return end
  self.broken[#self.broken + 1] = what
  print(("NOT HELD  %s: %s\n          %s"):format(self.name, what, (tostring(broken):gsub("\n", "\n          "))))
end

--- A case that takes neither time nor a folder: it is tried in the short form, too.
---@param what string
---@param broken? string
function Class:check(what, broken)
  self.tried = self.tried + 1
  if not broken then return end
  self.broken[#self.broken + 1] = what
  print(("NOT HELD  %s: %s\n          %s"):format(self.name, what, broken))
end

--- The end of the class's file: `return class:finish()`.
function Class:finish()
  local line = ("%s: %d tried, %d held"):format(self.name, self.tried, self.tried - #self.broken)
  print(line)
  if #self.broken > 0 then return nil, { code = "state", message = line } end
  return line
end

return attack
