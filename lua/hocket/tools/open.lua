--- Hands a file to the person, through whatever the host names: the function `opener` of the run's
--- options. Without one the tool says so.
local open = {}

---@param run hocket.Run
---@param path string Absolute.
---@return string?
---@return hocket.Error|string|nil
function open.show(run, path)
  local opener = run.options.opener
  if type(opener) ~= "function" then
    return nil, "no program is known that could show files here: tell the user the file's path instead"
  end
  local ok, err = opener(path)
  if not ok then return nil, err or "the file could not be opened" end
  return "opened for the user: " .. path
end

return open
