--- The call of a tool in a run that is kept: an effect, so that it is made once over all lives of the run. A tool that says
--- `steps = true` is none: what it calls is.
---
--- Where a process ended in the middle of a call nobody knows whether it was made. Then, what the tool says of itself decides:
---
---     it only reads, or `idempotent = true` ──> it is called again, with the same ctx.effect_id
---     reconcile(args, ctx) ────────────────> what that returns; nil: it was not done, and is
---     else ────────────────────────────────> the model is told that nobody knows
local effects = require "hocket.internal.base.effects"
local json = require "hocket.json"

local tool_effect = {}

local harmless = { read = true, fetch = true }

-- Whether it changes nothing, by its own word.
local function only_reads(one)
  if not one.effects then return false end
  for _, what in ipairs(one.effects) do
    if not harmless[what] then return false end
  end
  return true
end

local unknown = "it is not known whether this was done: the program ended in the middle of it. Look how things stand before you do it again."

-- What is called where the call was begun before.
local function again(one, call, args, context)
  if one.idempotent or only_reads(one) then return call end
  if not one.reconcile then
    return function() return true, nil, { code = "unknown", message = unknown }, {} end
  end
  return function()
    local ok, value, err = pcall(one.reconcile, args, context)
    if ok and value == nil and err == nil then return call() end
    return ok, value, ok and err or value, {}
  end
end

local function to_text(value)
  if value == nil or type(value) == "string" then return value end
  return type(value) == "table" and json.encode(value) or tostring(value)
end

-- Calls it outside of the run: where its text comes from is noted, and said when the run has it; so is what it wants to know
-- of the call in a replay.
local function calling(one, args, context)
  return function()
    local marks, kept = {}, nil
    local own = setmetatable({
      mark = function(label) marks[#marks + 1] = label end,
      keep = function(data) kept = data end,
    }, { __index = context })
    local ok, value, err = pcall(one.run, args, own)
    if ok then return true, to_text(value), err, marks, kept end
    return false, nil, value, marks, kept
  end
end

-- Errors are told as they are, as far as they are data.
local function as_data(call)
  return function()
    local ok, value, err, marks, kept = call()
    if type(err) == "table" then err = { code = err.code, message = err.message or tostring(err) } end
    return ok, value, err, marks, kept
  end
end

--- Returns what the tool returned, and raises what it raised.
---@async
---@param self hocket.Session
---@param one hocket.Tool
---@param args any
---@param context table
---@return any value
---@return any err
function tool_effect.run(self, one, args, context)
  context.effect_id = effects.id()
  local call = calling(one, args, context)
  local encoded, text = pcall(json.encode, args)
  local fields = { tool = one.name, arguments = encoded and text or "?", agent = self.permissions.name }
  local ok, value, err, marks, kept = effects.run("tool", fields, as_data(call), { again = as_data(again(one, call, args, context)) })
  for _, label in ipairs(marks) do context.mark(label) end
  if one.recall then one.recall(args, context, kept) end
  if not ok then error(err, 0) end
  return value, err
end

return tool_effect
