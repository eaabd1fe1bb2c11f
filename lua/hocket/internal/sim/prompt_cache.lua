--- The scripted model's prompt cache, for a script with `cache`. As providers do, it finds the beginning of an earlier request again once
--- the answer to that has begun. It reports this in `usage.cached`.
---
---     system prompt, tools │ message │ message …     what is kept ends at one of the bars
---
--- From gpt-5.6 on the first bar needs a mark (`prompt_cache_breakpoint`).
local json = require "hocket.json"
local wire = require "hocket.internal.sim.wire"

local prompt_cache = {}

--- Tokens of the shortest beginning that is kept, where the script says only `true`; beginnings that are kept.
local LEAST, MOST = 1024, 1000

local Cache = {}
Cache.__index = Cache

---@param said true|integer The tokens of the shortest beginning.
function prompt_cache.new(said)
  return setmetatable({ least = said == true and LEAST or said, known = {}, n = 0 }, Cache)
end

local function needs_mark(request)
  local major, minor = request.model:match "^gpt%-(%d+)%.?(%d*)"
  major, minor = tonumber(major), tonumber(minor) or 0
  return major and (major > 5 or major == 5 and minor >= 6)
end

local function is_marked(request)
  local first = wire.table(wire.table(request.raw.input)[1])
  return wire.table(wire.table(first.content)[1]).prompt_cache_breakpoint ~= nil
end

-- The places where what is kept may end: what stands before each, and its tokens.
local function places(request)
  local names, list = {}, {}
  for name in pairs(request.tools) do names[#names + 1] = name end
  table.sort(names)
  local text = json.encode { request.model, request.system, json.array(names) }
  local bytes = #request.system
  if not needs_mark(request) or is_marked(request) then list[1] = { text = text, tokens = bytes // 4 } end
  for _, message in ipairs(request.messages) do
    bytes = bytes + #message.text
    text = text .. json.encode { message.role, message.text, message.id or false }
    list[#list + 1] = { text = text, tokens = bytes // 4 }
  end
  return list
end

--- How many tokens of a request are there already.
---@param request hocket.SimRequest
---@return integer
function Cache:find(request)
  local most = 0
  for _, place in ipairs(places(request)) do
    if self.known[place.text] then most = place.tokens end
  end
  return most
end

--- Keeps a request, whose answer begins.
---@param request hocket.SimRequest
function Cache:keep(request)
  for _, place in ipairs(places(request)) do
    if place.tokens >= self.least and not self.known[place.text] then
      if self.n >= MOST then self.known, self.n = {}, 0 end
      self.known[place.text], self.n = true, self.n + 1
    end
  end
end

return prompt_cache
