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
local pack = require "hocket.internal.base.pack"
local sources = require "hocket.internal.base.sources"

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
local function as_data(ok, value, err, marks, kept)
  if type(err) == "table" then err = { code = err.code, message = err.message or tostring(err) } end
  return ok, value, err, marks, kept
end

-- Most calls come to a text and nothing else.
local function to_text(outcome)
  local ok, value, err, marks, kept = table.unpack(outcome, 1, 5)
  if ok and value and err == nil and not marks[1] and kept == nil then return "t" .. value end
  local encoded, text = pcall(pack.encode, ok, value, err, marks, kept)
  if encoded then return "p" .. text end
  outcome[1], outcome[2], outcome[3], outcome[5] = false, nil, { code = "invalid", message = "what a tool returns and keeps has to be data: " .. text }, nil
  return "p" .. pack.encode(table.unpack(outcome, 1, 5))
end

local nothing = {}

local function from_text(text)
  if text:sub(1, 1) == "t" then return { true, text:sub(2), nil, nothing } end
  return table.pack(pack.decode(text:sub(2)))
end

local function digest_of(self, one, args)
  local encoded, text = pcall(json.encode, args)
  return ("agent=%s\narguments=%s\ntool=%s"):format(self.permissions.name, encoded and effects.shown(text) or "?", one.name)
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
  local outcome
  local text, gone = effects.make("tool", digest_of(self, one, args), function(begun)
    outcome = table.pack(as_data((begun and again(one, call, args, context) or call)()))
    return to_text(outcome)
  end, not (one.idempotent or only_reads(one)))
  if not only_reads(one) then sources.stale() end
  if gone or text == "" then effects.cancel() end
  outcome = outcome or from_text(text)
  for _, label in ipairs(outcome[4]) do context.mark(label) end
  if one.recall then one.recall(args, context, outcome[5]) end
  if not outcome[1] then error(outcome[3], 0) end
  return outcome[2], outcome[3]
end

return tool_effect
