--- Prompts as other programs write them: commands of Claude Code (`.claude/commands/*.md`) and prompt files of VS Code
--- (`.github/prompts/*.prompt.md`). A prompt is text that a person sends: keys that choose tools or a model have no effect, and
--- no command in it is run.
local read = require "hocket.internal.agents.read"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local prompts = {}

---@class hocket.PromptText
---@field description? string
---@field arguments {name: string, required: boolean}[]
---@field ignored string[] Its keys that have no effect.
---@field fill fun(values: table<string, any>, rest?: string): string?, hocket.Error? rest: words without a name.

-- The front matter, where there is one that can be read, and the text below it.
local function parts(text, path)
  local values, _, body = read.head(text, path)
  if values then return values, body end
  return {}, (text:gsub("^\239\187\191", ""))
end

local told = { name = true, description = true, ["argument-hint"] = true, mode = true }

-- Keys that choose tools, a model or an agent: whoever is talked with keeps its own.
local function ignored(head)
  local list = {}
  for _, key in ipairs(sorted_keys(head)) do
    if not told[key] then list[#list + 1] = tostring(key) end
  end
  return list
end

local function words(text)
  local list = {}
  for word in text:gmatch "%S+" do list[#list + 1] = word end
  return list
end

-- ---- Claude Code ------------------------------------------------------------------------------------

-- `$ARGUMENTS` is all of it, `$1` its first word. A text with neither has the arguments at its end.
local function fill_command(body, rest)
  local given, used = words(rest), false
  local filled = body:gsub("%$(%w+)", function(name)
    if name == "ARGUMENTS" then
      used = true
      return rest
    end
    if not name:find "^%d$" then return nil end
    used = true
    return given[tonumber(name)] or ""
  end)
  if used or rest == "" then return filled end
  local last = #filled
  while last > 0 and filled:byte(last) == 10 do last = last - 1 end -- "\n+$" would take quadratic time
  return ("%s\n\nARGUMENTS: %s"):format(filled:sub(1, last), rest)
end

--- A command of Claude Code.
---@param text string
---@param path string
---@return hocket.PromptText
function prompts.command(text, path)
  local head, body = parts(text, path)
  local hint = head["argument-hint"]
  return {
    description = type(head.description) == "string" and head.description or nil,
    ignored = ignored(head),
    arguments = { { name = "arguments", required = false, description = type(hint) == "string" and hint or nil } },
    fill = function(values, rest) return fill_command(body, rest or tostring(values.arguments or "")) end,
  }
end

-- ---- VS Code ----------------------------------------------------------------------------------------

local INPUT = "%${input:([%w_-]+):?[^{}\n]*}"

--- A prompt file of VS Code. `${input:name}` is an argument.
---@param text string
---@param path string
---@return hocket.PromptText
function prompts.file(text, path)
  local head, body = parts(text, path)
  local arguments, seen = {}, {}
  for name in body:gmatch(INPUT) do
    if not seen[name] then arguments[#arguments + 1] = { name = name, required = true } end
    seen[name] = true
  end
  local function fill(values, rest)
    local missing
    local filled = body:gsub(INPUT, function(name)
      local value = values[name]
      if value == nil and rest and rest ~= "" then value, rest = rest, "" end
      if value == nil then missing = missing or name end
      return value and tostring(value) or ""
    end)
    if missing then return nil, { code = "invalid", message = ("%s: the argument '%s' is missing: write %s=VALUE"):format(path, missing, missing) } end
    return rest and rest ~= "" and filled .. "\n\n" .. rest or filled
  end
  return { description = type(head.description) == "string" and head.description or nil, ignored = ignored(head), arguments = arguments, fill = fill }
end

return prompts
