--- Prompts: text with `{{name}}` places, filled in one pass, so that what is put in is never
--- looked at again.
local prompt = {}

local function line_of(text, position)
  local _, breaks = text:sub(1, position - 1):gsub("\n", "")
  return breaks + 1
end

--- The names that a text asks for, in order, each once.
---@param text string
---@return string[] names
function prompt.names(text)
  local names, seen = {}, {}
  for name in text:gmatch "{{%s*([%w_]+)%s*}}" do
    if not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  return names
end

--- Fills the places. A place without a value is an error that says its line.
---@param text string
---@param values table<string, string|number|boolean>
---@param origin? {file?: string, line?: integer} Where the text's first line stands.
---@return string? text
---@return hocket.Error?
function prompt.fill(text, values, origin)
  local missing
  local filled = text:gsub("(){{%s*([%w_]+)%s*}}", function(position, name)
    local value = values[name]
    if value == nil and not missing then missing = { name = name, at = position } end
    return value ~= nil and tostring(value) or nil
  end)
  if not missing then return filled end
  local line = line_of(text, missing.at) + (origin and origin.line or 1) - 1
  return nil, {
    code = "agent",
    message = ("%s:%d: the variable '%s' has no value: give it with `variables:` or --set %s=…")
      :format(origin and origin.file or "prompt", line, missing.name, missing.name),
  }
end

return prompt
