--- Names that people give to projects, pools and schedules.
local plain_name = {}

--- Why something is no such name.
---@param name any
---@param kind string Whose name it would be, for the message.
---@return string? message nil: it is one.
function plain_name.wrong(name, kind)
  if type(name) == "string" and #name <= 64 and name:find "^%w[%w._-]*$" then return nil end
  local shown = tostring(name):sub(1, 80):gsub("%c", "?")
  return ("'%s' is no name of a %s: letters, digits, '.', '_' and '-', with a letter or digit first, 64 at most"):format(shown, kind)
end

return plain_name
