--- What OpenAI's Responses refuse: items that do not come back next to what they belong to.
---
--- The simulated model remembers nothing: an item's id says which reasoning came before it.
local random = require "hocket.internal.sim.random"

local check = {}

--- What is in encrypted_content: the reasoning, signed.
function check.seal(id, summary)
  return "gAAAAAB" .. random.sign(id .. "\0" .. summary, 64)
end

-- The reasoning that an item came with: its id says so.
local function reasoning_of(item)
  return type(item.id) == "string" and item.id:match "^%a+_(%w+)_r%d+$"
end

-- Whether an item may be what followed some reasoning. Clients that keep their conversation themselves (`store: false`) may leave out its id.
local function may_follow(item, token, is_kept)
  if item and item.id == nil and not is_kept then return item.type == "function_call" or item.role == "assistant" end
  return item ~= nil and reasoning_of(item) == token
end

-- Reasoning and what followed it belong together, both ways.
local function check_order(items, is_kept)
  for i, item in ipairs(items) do
    local after, token = items[i + 1], reasoning_of(item)
    if item.type == "reasoning" and not may_follow(after, tostring(item.id):sub(4), is_kept) then
      return ("Item '%s' of type 'reasoning' was provided without its required following item."):format(item.id)
    elseif token then
      local before = i - 1
      while items[before] and reasoning_of(items[before]) == token do before = before - 1 end
      if not items[before] or items[before].id ~= "rs_" .. token then
        return ("Item '%s' of type '%s' was provided without its required 'reasoning' item: 'rs_%s'.")
          :format(item.id, tostring(item.type), token)
      end
    end
  end
end

local function check_results(items)
  local calls, outputs = {}, {}
  for _, item in ipairs(items) do
    if item.type == "function_call" then
      if calls[item.call_id] then return ("Duplicate call_id found: '%s'."):format(item.call_id) end
      calls[item.call_id or ""] = true
    elseif item.type == "function_call_output" then
      if not calls[item.call_id] then
        return ("No tool call found for function call output with call_id %s."):format(tostring(item.call_id))
      end
      outputs[item.call_id] = true
    end
  end
  for _, item in ipairs(items) do
    if item.type == "function_call" and not outputs[item.call_id] then
      return ("No tool output found for function call %s."):format(tostring(item.call_id))
    end
  end
end

--- What is wrong with the input's items, or nil.
---@param items table[]
---@param is_kept boolean The server keeps what it answers.
---@return string?
function check.items(items, is_kept)
  return check_order(items, is_kept) or check_results(items)
end

return check
