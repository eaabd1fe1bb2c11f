--- What an agent's conversation has done so far: the calls of tools that may have changed something, for whoever goes on in its place. What only
--- reads, and what only moves a pattern along, is left out.
local labels = require "hocket.internal.base.labels"

local done = {}

--- Calls that are listed, the last ones; bytes of arguments and of a result.
local MOST, ARGUMENTS, RESULT = 40, 300, 200
local READS, FETCHES = labels.effects.read, labels.effects.fetch

-- Tools that let others work, whose calls may have changed anything.
local lets_work = { delegate = true, delegate_to_agent = true, submit_task = true, ask_again = true }

local function changes(permissions, name)
  local one = permissions.by_name[name]
  if not one then return false end
  if one.steps then return lets_work[name] or name:find "^call_" ~= nil end
  return not one.effect_bits or one.effect_bits & ~(READS | FETCHES) ~= 0
end

local function cut(text, most)
  text = text:gsub("%s+", " ")
  if #text <= most then return text end
  return text:sub(1, utf8.offset(text, 0, most) - 1) .. "…"
end

local function results_of(messages)
  local by_id = {}
  for _, message in ipairs(messages) do
    if message.role == "tool" then by_id[message.id or message.call_id or ""] = message end
  end
  return by_id
end

--- The calls, a line each.
---@param history hocket.History
---@param permissions hocket.Permissions Of its tools.
---@return string[]
function done.of(history, permissions)
  local messages, lines = history:messages(), {}
  local results = results_of(messages)
  for _, message in ipairs(messages) do
    for _, call in ipairs(message.role == "assistant" and message.calls or {}) do
      local result = results[call.id]
      if result and changes(permissions, call.name) then
        lines[#lines + 1] = ("- %s %s: %s"):format(call.name, cut(call.arguments or "", ARGUMENTS), cut(result.text or "", RESULT))
      end
    end
  end
  return table.move(lines, math.max(1, #lines - MOST + 1), #lines, 1, {})
end

return done
