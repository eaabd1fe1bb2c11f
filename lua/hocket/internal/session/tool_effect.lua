--- The call of a tool in a run that is kept: an effect, so that it is made once over all lives of the run. A tool that says
--- `steps = true` is none: what it calls is.
---
--- Where a process ended in the middle of a call nobody knows whether it was made. Then, what the tool says of itself decides:
---
---     it only reads, or `idempotent = true` ──> it is called again, with the same ctx.effect_id
---     reconcile(args, ctx, intent) ────────> what that returns; nil: it was not done, and is
---     else ────────────────────────────────> the model learns that nobody knows
---
--- A call that was let in by other rules than the ones that hold when it begins, since somebody else continues the run, has to be allowed by
--- these.
local caught = require "hocket.internal.base.caught"
local effects = require "hocket.internal.base.effects"
local json = require "hocket.json"
local media = require "hocket.internal.base.lazy" "hocket.internal.base.media"
local pack = require "hocket.internal.base.pack"
local policy = require "hocket.internal.run.policy"
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

local nothing = {} -- marks of a call that made none

local unknown = "it is not known whether this was done: the program ended in the middle of it. Look how things stand before you do it again."

--- Whether a result says that nobody knows whether the call was made.
---@param text string
---@return boolean
function tool_effect.is_unknown(text)
  return text == "error: " .. unknown
end

local let_in_before = "not done: the run goes on under other rules than those that this call was let in by. Call it again if it is still needed."

local function to_text(value)
  if type(value) == "table" and media.is_in(value) then return media.pack(value) end
  return type(value) == "table" and json.encode(value) or tostring(value)
end

-- Of an error the model learns the words.
local function as_data(ok, value, err, marks, kept)
  if type(err) == "table" then
    local said = caught.error(err)
    err = { code = said.code, message = said.message }
  end
  return { ok, value, err, marks, kept }
end

-- Calls a function of the tool outside of the run. The origin of its text, and what it needs to know of the call in a replay, are
-- noted and reported when the run has the outcome. Returns the outcome as a table.
local function outside(one, fn, args, context, intent)
  local mark, keep, marks, kept = context.mark, context.keep, nothing, nil
  context.mark = function(label)
    if marks == nothing then marks = {} end
    marks[#marks + 1] = label
  end
  if one.recall then context.keep = function(data) kept = data end end
  local ok, value, err = pcall(effects.call_within, fn, args, context, intent)
  context.mark, context.keep = mark, keep
  if ok and value ~= nil and type(value) ~= "string" then ok, value = pcall(to_text, value) end
  if not ok then return as_data(false, nil, value, marks, kept) end
  return as_data(true, value, err, marks, kept)
end

local function call(one, args, context)
  if context.onlooker then context.onlooker:begins(args) end
  return outside(one, one.run, args, context)
end

-- The same where it was begun before.
local function call_again(one, args, context, intent)
  if one.idempotent or only_reads(one) then return call(one, args, context) end
  if not one.reconcile then return { true, nil, { code = "unknown", message = unknown }, nothing } end
  local outcome = outside(one, one.reconcile, args, context, intent)
  local was_not_done = outcome[1] and outcome[2] == nil and outcome[3] == nil
  return was_not_done and call(one, args, context) or outcome
end

-- Most calls come to a text and nothing else.
local function as_text(outcome)
  local ok, value, err, marks, kept = outcome[1], outcome[2], outcome[3], outcome[4], outcome[5]
  if ok and type(value) == "string" and err == nil and not marks[1] and kept == nil then return "t" .. value end
  local encoded, text = pcall(pack.encode, ok, value, err, marks, kept)
  if encoded then return "p" .. text end
  local wrong = caught.no_memory(text) and caught.error(text)
    or { code = "invalid", message = "what a tool returns and keeps has to be data: " .. text }
  outcome[1], outcome[2], outcome[3], outcome[5] = false, nil, wrong, nil
  return "p" .. pack.encode(outcome[1], outcome[2], outcome[3], outcome[4], outcome[5])
end

local function from_text(text)
  if text:sub(1, 1) == "t" then return { true, text:sub(2), nil, nothing } end
  return table.pack(pack.decode(text:sub(2)))
end

local function digest_of(self, one, args)
  local encoded, text = pcall(json.encode, args)
  return "agent=" .. (self.permissions.agent or "") .. "\narguments=" .. (encoded and effects.shown(text) or "?") .. "\ntool=" .. one.name
end

-- What it is going to do, by its own word, for whoever has to find out whether it did. A tool that cannot say has none.
local function intent_of(one, args)
  return effects.run("intent", { tool = one.name, asked = effects.asked(args) }, function()
    local ok, intent = pcall(one.intent, args)
    return ok and intent or nil
  end, { reads = true, looks = true })
end

local function may_begin(self, one, args, here)
  return self.permissions.may_begin ~= nil and self.permissions:may_begin(one, args, here)
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
  local intent = one.intent and intent_of(one, args)
  context.effect_id = effects.id()
  local here, outcome = effects.here(), nil
  local cuts = policy.cuts(here)
  local text, gone = effects.make("tool", digest_of(self, one, args), function(begun)
    if policy.cuts(here) == cuts or may_begin(self, one, args, here) then
      outcome = (begun and call_again or call)(one, args, context, intent)
    else
      outcome = { true, nil, { code = begun and "unknown" or "denied", message = begun and unknown or let_in_before }, nothing }
    end
    return as_text(outcome)
  end, only_reads(one))
  if not only_reads(one) then sources.stale() end
  if gone or text == "" then effects.cancel() end
  outcome = outcome or from_text(text)
  for _, label in ipairs(outcome[4]) do context.mark(label) end
  if one.recall then one.recall(args, context, outcome[5]) end
  if not outcome[1] then error(outcome[3], 0) end
  local value = outcome[2]
  return type(value) == "table" and media.unpack(value) or value, outcome[3]
end

return tool_effect
