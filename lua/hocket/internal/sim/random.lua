--- Random numbers with a seed, for the scripted model: the same seed gives the same numbers on
--- every machine and with every Lua. The generator is xoshiro256**, seeded through splitmix64.
local random = {}

---@class hocket.Random
local Random = {}
Random.__index = Random

local function rotate(x, k)
  return (x << k) | (x >> (64 - k))
end

local function mix(z)
  z = (z ~ (z >> 30)) * 0xbf58476d1ce4e5b9
  z = (z ~ (z >> 27)) * 0x94d049bb133111eb
  return z ~ (z >> 31)
end

--- A text's hash, 64 bits. Good for choosing, no protection against anybody.
---@param text string
---@param seed? integer
---@return integer
function random.hash(text, seed)
  local hash, position = mix((seed or 0) + #text + 0x9e3779b97f4a7c15), 1
  while position + 31 <= #text do
    local a, b, c, d = ("<i8i8i8i8"):unpack(text, position)
    hash = mix(mix(mix(mix(hash ~ a) ~ b) ~ c) ~ d)
    position = position + 32
  end
  for i = position, #text do hash = mix(hash ~ text:byte(i)) end
  return hash
end

---@param seed integer
---@return hocket.Random
function random.new(seed)
  local self = setmetatable({}, Random)
  for i = 1, 4 do
    seed = seed + 0x9e3779b97f4a7c15
    self[i] = mix(seed)
  end
  return self
end

--- The next 64 bits.
---@return integer
function Random:next()
  local result = rotate(self[2] * 5, 7) * 9
  local t = self[2] << 17
  self[3] = self[3] ~ self[1]
  self[4] = self[4] ~ self[2]
  self[2] = self[2] ~ self[3]
  self[1] = self[1] ~ self[4]
  self[3] = self[3] ~ t
  self[4] = rotate(self[4], 45)
  return result
end

--- A number from 0 up to, not including, 1.
function Random:float()
  return (self:next() >> 11) * 2.0 ^ -53
end

--- An integer from 1 to n.
function Random:upto(n)
  return math.min(n, 1 + math.floor(self:float() * n))
end

--- One of a list.
function Random:pick(list)
  return list[self:upto(#list)]
end

local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

--- n letters and digits.
function Random:token(n)
  local bytes = {}
  for i = 1, n do bytes[i] = alphabet:byte(self:upto(#alphabet)) end
  return string.char(table.unpack(bytes))
end

--- n letters and digits that a text determines: what the simulated model signs with.
---@param text string
---@param n integer
function random.sign(text, n)
  return random.new(random.hash(text, 0x686f636b6574)):token(n)
end

return random
