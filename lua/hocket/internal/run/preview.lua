--- What the call of a tool would do to a file, as a person who is asked sees it: the path, and what would change there.
local diff = require "hocket.internal.run.diff"
local effects = require "hocket.internal.base.effects"
local sanitize = require "hocket.internal.base.sanitize"

local preview = {}

local kinds = { create = true, change = true, move = true }

-- Several lines: ends of lines and tabs stay, nothing else is hidden.
local function shown_lines(text)
  return sanitize.json((text:gsub("[%z\1-\8\11-\31]", function(c) return ("\\u%04x"):format(c:byte()) end)))
end

local function line(text)
  return text and sanitize.text(tostring(text)) or nil
end

-- What a tool has said, as the event has it.
local function told(made)
  local change = { path = line(made.path), kind = made.kind, from = line(made.from), note = line(made.note), refused = line(made.refused) }
  if not made.after then return change end
  local differs = diff.unified(made.before or "", made.after)
  change.diff, change.added, change.removed = shown_lines(differs.text), differs.added, differs.removed
  change.cut = differs.cut or nil
  change.left_out = differs.left_out > 0 and differs.left_out or nil
  return change
end

local function ask(of, args)
  local ok, made = pcall(of.preview, args) -- who is cancelled in there is cancelled at the question as well
  if not ok or type(made) ~= "table" or not kinds[made.kind] or type(made.path) ~= "string" then return nil end
  return told(made)
end

--- Asks the tool. Where it has nothing to say, or fails at that, there is nothing: the arguments are what is judged then. A replay
--- has what the person was shown: the file may be another one by then, or changed by this very call.
---@async
---@param of hocket.Tool?
---@param args table|string
---@return table? change The member `change` of approval_requested.
function preview.of(of, args)
  if not (of and of.preview and type(args) == "table") then return nil end
  return effects.run("preview", { tool = of.name, asked = effects.asked(args) }, function() return ask(of, args) end, { reads = true, looks = true })
end

return preview
