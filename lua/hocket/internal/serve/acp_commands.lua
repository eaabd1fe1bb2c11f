--- What may be said to a conversation with a slash, in an editor: those of `hocket chat` that mean something there.
local acp_options = require "hocket.internal.serve.acp_options"
local trim = require "hocket.internal.base.trim"

local acp_commands = {}

local function number(n)
  return math.type(n) == "integer" and tostring(n) or "unknown"
end

local function change(session, changes, said)
  local ok, err = session.run:change(changes)
  return ok and said or ("This cannot be done: %s"):format(err.message)
end

local list = {
  { "agents", "who takes part", nil, function(session)
    local lines = {}
    for i, one in ipairs(session.agents or {}) do lines[i] = ("- **%s**%s"):format(one.name, one.description and one.description ~= "" and ": " .. one.description or "") end
    return #lines > 0 and table.concat(lines, "\n") or "Nobody is known by name: a script leads this conversation."
  end },
  { "model", "the model that answers; another one from now on", "PROVIDER/MODEL", function(session, words)
    if words ~= "" then
      local ok, err = acp_options.set_model(session, words)
      if ok then acp_options.tell(session) end
      return ok and ("%s answers from now on."):format(words) or ("This cannot be done: %s"):format(err)
    end
    local ids = session.run:models_asked()
    return #ids > 0 and table.concat(ids, ", ") or "Nobody has answered yet."
  end },
  { "usage", "model calls, tokens, cost and time so far", nil, function(session)
    local used = session.run:usage()
    local cost = type(used.cost) == "number" and ("$%.4f"):format(used.cost) or "not known"
    return ("%s model calls, %s tokens in, %s out, cost %s, %d s"):format(number(used.calls), number(used.input), number(used.output), cost,
      math.floor(session.run:seconds()))
  end },
  { "reload", "read the agents or the script anew", nil, function(session) return change(session, { reload = true }, "The files are read anew.") end },
  { "compact", "make what was said so far shorter", nil, function(session) return change(session, { compact = true }, "What was said so far gives way to a summary.") end },
  { "clear", "forget what was said so far", nil, function(session) return change(session, { clear = true }, "What was said so far is forgotten.") end },
}

local by_name = {}
for _, one in ipairs(list) do by_name[one[1]] = one end

--- As the protocol lists them.
---@return table[]
function acp_commands.available()
  local shown = {}
  for i, one in ipairs(list) do shown[i] = { name = one[1], description = one[2], input = one[3] and { hint = one[3] } or nil } end
  return shown
end

--- Carries out what begins with the name of one; nil: it is none, and meant for the agent.
---@param session hocket.AcpSession
---@param text string
---@return string? said
function acp_commands.run(session, text)
  local name, words = trim.right(text):match "^/(%l+)%s*(.*)$"
  local one = name and by_name[name]
  return one and one[4](session, words) or nil
end

return acp_commands
