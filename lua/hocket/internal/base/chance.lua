--- math.random and math.randomseed of a run that is kept. Before it is seeded its numbers are the run's own; behind
--- math.randomseed(n) they are those that Lua gives for that seed, in every run and in every life of one.
local fiber = require "hocket.internal.core.fiber"
local kept = require "hocket.internal.core.kept"
local misuse = require "hocket.internal.base.misuse"

local chance = {}

-- Lua's generator, xoshiro256**.
local function next_of(s)
  local result = s[2] * 5
  result = (result << 7 | result >> 57) * 9
  local t = s[2] << 17
  s[3], s[4] = s[3] ~ s[1], s[4] ~ s[2]
  s[2], s[1] = s[2] ~ s[3], s[1] ~ s[4]
  s[3], s[4] = s[3] ~ t, s[4] << 45 | s[4] >> 19
  return result
end

local function generator(n1, n2)
  local s = { n1, 0xff, n2, 0 }
  for _ = 1, 16 do next_of(s) end
  return s
end

-- Of 0 to n, as Lua has it: what is above is drawn again.
local function project(s, bits, n)
  if n & n + 1 == 0 then return bits & n end
  local mask = n
  for shift = 0, 5 do mask = mask | mask >> (1 << shift) end
  bits = bits & mask
  while math.ult(n, bits) do bits = next_of(s) & mask end
  return bits
end

-- Of 0 to n, of the run's own numbers.
local function own_part(_, bits, n)
  local span = n + 1
  return span == 0 and bits or math.abs(math.fmod(bits >> 1, span))
end

-- Whoever started the run may have chosen where its chance begins: the option `seed`.
local function option()
  local context = fiber.context()
  local run = type(context) == "table" and context.run
  return run and math.tointeger(run.options.seed) or nil
end

--- In place of math.random. The original says what is wrong with arguments.
---@param original function
---@return function
function chance.random(original)
  return function(...)
    local own, n = kept.here(), select("#", ...)
    if not own or n > 2 then return misuse.called("random", original, ...) end
    local s = own.chance
    local bits = s and next_of(s) or kept.random(option())
    if n == 0 then return (bits >> 11) * 2.0 ^ -53 end
    local low, high = 1, ...
    if n == 2 then low, high = ... end
    if n == 1 and high == 0 then return bits end
    low, high = math.tointeger(low), math.tointeger(high)
    if not low or not high or low > high then return misuse.called("random", original, ...) end
    return low + (s and project or own_part)(s, bits, high - low)
  end
end

-- A number as a seed: of one without a whole value its bits.
local function whole(value)
  value = tonumber(value)
  return value and (math.tointeger(value) or string.unpack("<i8", string.pack("<d", value)))
end

--- In place of math.randomseed.
---@param original function
---@return function
function chance.randomseed(original)
  return function(...)
    local own = kept.here()
    if not own then return misuse.called("randomseed", original, ...) end
    local n1, n2 = ...
    if select("#", ...) == 0 then n1, n2 = kept.random(), kept.random() end
    n1, n2 = whole(n1), whole(n2 == nil and 0 or n2)
    if not n1 or not n2 then return misuse.called("randomseed", original, ...) end
    own.chance = generator(n1, n2)
    return n1, n2
  end
end

return chance
