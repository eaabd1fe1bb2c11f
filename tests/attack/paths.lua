--- Orders that one agent has read, and another carries out: every path of text between agents.
local attack = require "attack"
local carriers = require "carriers"

local class = attack.class "paths"

carriers.each(function(path, from, to)
  class:try(("%s: %s to %s"):format(path, from, to), function(dir) return carriers.attempt(path, from, to, dir) end)
end)

return class:finish()
