--- What the scripted model says in the place of a router, of a team's member or of a coordinator that
--- holds the rounds, when its script has nothing to say to that: enough for each pattern to be seen
--- at work.
local function enum_of(tool, property)
  local properties = tool.parameters and tool.parameters.properties
  local known = properties and properties[property]
  return known and known.enum or {}
end

local function brief(text)
  return (text:gsub("%s+", " "):sub(1, 200))
end

local function route(request)
  return { calls = { { name = "route_to", arguments = { agent = enum_of(request.tools.route_to, "agent")[1], reason = "(simulated) the first of them" } } } }
end

-- Says its part, and has nothing against the end.
local function discuss(request)
  local calls = { { name = "broadcast", arguments = { message = "(simulated) My part of it: " .. brief(request.last.text:match "\n<request[^\n]*\n(.-)\n</request" or "as before") } } }
  if request.tools.vote_conclude then calls[2] = { name = "vote_conclude", arguments = { reason = "(simulated) all is said" } } end
  return { calls = calls }
end

--- A reply for what is a pattern's turn, or nil.
---@param request table
---@return table?
return function(request)
  if request.last.role ~= "user" then return nil end
  if request.tools.route_to then return route(request) end
  if request.tools.broadcast then return discuss(request) end
  if request.tools.next_round then return { calls = { { name = "next_round" } } } end
end
