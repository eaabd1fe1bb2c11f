--- Where the text in a conversation came from. From the web, files outside of the project, other servers: it may be
--- anybody's words, and from the first such text on the permission check asks before anything runs, sends or changes
--- things elsewhere. From files, programs, memory (`private`): it may be a secret, and requests ask where they go.
---
--- A label given to an agent's conversation is given to the ones that it came from as well, at once: what
--- an agent has read is in its answer. It stays with the conversation's history, and goes with its messages
--- wherever they are kept.
local labels = {}

---@class hocket.Labels
---@field bits integer
---@field above? hocket.Labels
local Labels = {}
Labels.__index = Labels

local bit_of = { web = 1, outside = 2, server = 4, private = 8 }

--- What may be anybody's words; what may be a secret and is nothing else.
labels.STRANGE, labels.PRIVATE = 7, 8

--- The bits of what tools do, as src/core/permission has them.
labels.effects = { read = 1, write = 2, run = 4, send = 8, open = 16, elsewhere = 32, fetch = 64 }

--- Labels of a conversation that another one starts: it begins with that one's.
---@param above? hocket.Labels
---@param history? hocket.History One that goes on.
---@param later? boolean It began before that one had any, and is only now asked for.
---@param tell? fun(bits: integer) Gives them to that one, in place of Labels:add.
---@return hocket.Labels
function labels.new(above, history, later, tell)
  local bits = (above and not later and above.bits or 0) | (history and history:labels() or 0)
  local made = setmetatable({ bits = 0, above = above, history = history, tell = tell }, Labels)
  if bits ~= 0 then made:add(bits) end
  return made
end

--- Keeps what this conversation is given with a history, now and from now on.
function Labels:keep(history)
  self.history = history
  if self.bits ~= 0 then history:labels(self.bits) end
end

--- The conversation goes on, and has what the ones that it came from were given meanwhile.
---@return hocket.Labels self
function Labels:renew()
  local bits = self.above and self.above.bits & ~self.bits or 0
  if bits ~= 0 then self:add(bits) end
  return self
end

--- Adds labels here and above. Returns whether one was new here.
---@param bits integer
---@return boolean
function Labels:add(bits)
  local is_new = bits & ~self.bits ~= 0
  local at = self
  while at do
    at.bits = at.bits | bits
    if at.history then at.history:labels(bits) end
    if at.tell and bits & ~at.above.bits ~= 0 then at.tell(bits) end
    at = not at.tell and at.above
  end
  return is_new
end

--- What the whole run has been given.
---@return integer
function Labels:of_run()
  local at = self
  while at.above do at = at.above end
  return at.bits
end

--- The bit of a label's name.
---@param name "web"|"outside"|"server"|"private"
---@return integer
function labels.bit(name)
  return bit_of[name] or error(("unknown label '%s' (there are: outside, private, server, web)"):format(tostring(name)), 2)
end

---@param name any
---@return boolean
function labels.is_known(name)
  return bit_of[name] ~= nil
end

--- The names of bits, sorted.
---@param bits integer
---@return string[]
function labels.names(bits)
  local names = {}
  for name, bit in pairs(bit_of) do
    if bits & bit ~= 0 then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

return labels
