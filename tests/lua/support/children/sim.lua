-- The model of the agents in this folder. The lead calls its checker as the user's word says, and gives back what it hears;
-- the checker answers with what it was asked with.
local function tool(name, arguments) return { calls = { { name = name, arguments = arguments or { path = "." } } } } end

local function delegate(more)
  local arguments = { agent_name = "checker", prompt = "Check it" }
  for name, value in pairs(more) do arguments[name] = value end
  return tool("delegate", arguments)
end

local schema = { type = "object", required = { "seen" }, properties = { seen = { type = "string" } } }

local first = {
  choose = function() return delegate { model = "sim/large", reasoning = "high", output = schema } end,
  limits = function() return delegate { prompt = "Look for ever", limits = { turns = 3 } } end,
  model = function() return delegate { model = "sim/dear" } end,
  effort = function() return delegate { reasoning = "max" } end,
  schema = function() return delegate { output = { type = 3 } } end,
  more = function() return delegate { limits = { turns = 0 } } end,
  fork = function() return delegate { context = "fork" } end,
  again = function() return delegate {} end,
}

local function texts(q)
  local list = {}
  for i, message in ipairs(q.messages) do list[i] = message.text end
  return table.concat(list, ", ")
end

-- One that looks on until it is asked for its last answer.
local function look(q)
  if #q.messages == 1 or q.last.role == "tool" then return tool "list_directory" end
  return ("looked %d times"):format(#q.messages // 2 - 1)
end

local function check(q)
  if q.messages[1].text == "Look for ever" then return look(q) end
  if q.schema then return ('{"seen": "%s at %s"}'):format(q.model, q.reasoning) end
  return "heard " .. texts(q)
end

return function(q)
  if q.system == "You check." then return check(q) end
  if q.last.text:find("From here on you are", 1, true) then return ("forked from %s with %s"):format(q.system, q.messages[1].text) end
  if q.last.role == "user" then return first[q.last.text]() end
  local id = q.messages[1].text == "again" and #q.messages == 3 and q.last.text:match "%[id=(%d+)%]"
  return id and tool("ask_again", { id = math.tointeger(tonumber(id)), text = "And now?" }) or "The checker: " .. q.last.text
end
