--- The files of a run that is kept: what it has asked for is reported to whoever keeps it, with the answer, and answered from there
--- when the run goes on in another process. So it continues with the agents and scripts that it began with.
---
---     ask "read a.md" ── known? ── yes ──> the same answer
---                           └─ no ──> the disk, a view ──> told as "0 read a.md"
---
--- What the run itself may have changed is asked for anew: each effect that may begins an epoch (`stale`), whose number stands
--- before the name. An answer that is the one of an earlier epoch is not told again.
local effects = require "hocket.internal.base.lazy" "hocket.internal.base.effects"
local kept = require "hocket.internal.core.kept"
local pack = require "hocket.internal.base.lazy" "hocket.internal.base.pack"

local kept_sources = {}

local shared = setmetatable({}, { __mode = "v" }) -- by name: the newest text in a table, for all runs that have the same

local function boxed(name, text)
  local box = shared[name]
  if not box or box.text ~= text then
    box = { text = text }
    shared[name] = box
  end
  return box
end

local function add(self, name, epoch, text)
  local versions = self.versions[name] or {}
  self.versions[name] = versions
  local at = #versions + 1
  while at > 1 and versions[at - 1].epoch > epoch do at = at - 1 end
  table.insert(versions, at, { epoch = epoch, box = boxed(name, text) })
end

local function new_state()
  local self = { versions = {}, asked = {} }
  for name, text in pairs(kept.fed() or {}) do
    local epoch, own = name:match "^(%d+) (.*)$"
    if epoch then add(self, own, math.tointeger(epoch), text) end
  end
  return self
end

local function state_of(own)
  own.sources = own.sources or new_state()
  return own.sources
end

local function newest(self, name, epoch)
  local versions = self.versions[name] or {}
  for i = #versions, 1, -1 do
    if versions[i].epoch <= epoch then return versions[i] end
  end
end

--- An answer as a text: the one known, or what `ask()` returns. nil from it is not kept.
---@param name string What is asked for.
---@param ask fun(): string?
---@return string? text
function kept_sources.once(name, ask)
  local self = state_of(kept.here())
  local epoch, settled = kept.epoch()
  local was = newest(self, name, epoch)
  -- nobody asks anew for what an earlier life has read
  if was and (epoch <= settled or was.epoch == epoch or self.asked[name] == epoch) then return was.box.text end
  local text = ask()
  self.asked[name] = epoch
  if text and not (was and was.box.text == text) then
    add(self, name, epoch, text)
    kept.file(("%d %s"):format(epoch, name), text)
  end
  return text
end

-- What stands in the way for a moment only is no answer; nor is what is too large for one who asks and not for another.
local function lasting(err)
  return not err or not (err.retryable or err.code == "limit")
end

--- The same of a function that returns values, or nil and an error.
---@param kind string
---@param path string
---@param ask fun(path: string, ...): any, hocket.Error?
---@return any value
---@return hocket.Error?
function kept_sources.answer(kind, path, ask, ...)
  local args, value, err = table.pack(...), nil, nil
  local asked = kept.is_replay() and { kind = kind, path = path } -- most are answered, and in the first life
  if asked and effects.has_failed("unread", asked) then return effects.failed("unread", asked) end
  local text = kept_sources.once(kind .. " " .. path, function()
    value, err = ask(path, table.unpack(args, 1, args.n))
    if not lasting(err) then return nil end
    if type(value) == "string" then return "t" .. value end -- api_runs.lua shows these
    return "p" .. pack.encode(value, err)
  end)
  if text == nil and value == nil and kept.is_next "unread" ~= nil then
    return effects.failed("unread", { kind = kind, path = path }, err) -- it may be there again, in another life
  end
  if not text then return value, err end
  if text:sub(1, 1) == "t" then return text:sub(2) end
  return pack.decode(text:sub(2))
end

--- Whether that was asked, in whatever life.
---@param kind string
---@param path string
---@return boolean
function kept_sources.knows(kind, path)
  return newest(state_of(kept.here()), kind .. " " .. path, (kept.epoch())) ~= nil
end

--- What the run does from here on may have changed files: they are asked for anew.
kept_sources.stale = kept.stale

return kept_sources
