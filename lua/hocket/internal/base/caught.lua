--- What pcall has caught, as an error value. Memory that ran out has a code of its own, whoever ran out of it: Lua,
--- or a function of ours in C, which raises the same words.

local caught = {}

local words = "not enough memory"

--- Whether it is that memory was out.
---@param raised any
---@return boolean
function caught.no_memory(raised)
  return raised == words or type(raised) == "table" and raised.code == "no_memory"
end

--- An error value as it is; anything else, a text for example, becomes one.
---@param raised any
---@return hocket.Error
function caught.error(raised)
  if type(raised) == "table" and type(raised.code) == "string" and type(raised.message) == "string" then return raised end
  if raised == words then return { code = "no_memory", message = "out of memory" } end
  local message = raised
  if type(raised) == "table" then
    local meta = getmetatable(raised)
    message = raised.message or type(meta) == "table" and meta.__tostring and raised or raised.code
      or "an error that is a table without a message"
  end
  return {
    code = type(raised) == "table" and type(raised.code) == "string" and raised.code or "script",
    message = message == nil and "an error without a message" or tostring(message),
    traceback = type(raised) == "table" and raised.traceback or nil,
  }
end

return caught
