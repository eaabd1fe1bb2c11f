--- What a script or a workflow has returned, as a reply: a text, a reply, a table, nothing.
local caught = require "hocket.internal.base.caught"
local json = require "hocket.json"

local answers = { string = true, number = true, boolean = true, ["nil"] = true, table = true }

local function failure(message)
  return nil, { code = "script", message = message }
end

-- What it has said to whoever asked, where it returned nothing.
local function said(run, path)
  local value = run:said()
  if value == nil and not run.printed and run:usage().calls > 0 then
    run:emit("warning", { message = ("%s returned nothing and printed nothing: return the answer"):format(path) })
  end
  return value
end

---@param value any
---@param err any
---@param run? hocket.Run Of a script that is run for one answer, and its path: what it has said counts, where it returns nothing.
---@param path? string
---@return hocket.Reply|table|nil reply
---@return hocket.Error? err
return function(value, err, run, path)
  if run and value == nil and err == nil then value = said(run, path) end
  if value == nil and err ~= nil then
    return nil, type(err) == "table" and err or caught.error(err)
  elseif type(value) == "table" and type(value.text) == "string" then
    return value
  elseif value == nil then
    return { text = "" }
  elseif type(value) == "table" then
    local ok, text = pcall(json.encode, value)
    if not ok and caught.no_memory(text) then error(text, 0) end
    if not ok then return failure("the script returned a table that is no JSON: " .. text) end
    return { text = text }
  elseif not answers[type(value)] then
    return failure(("the script returned a %s, which is no answer: return a text, a reply or a table"):format(type(value)))
  end
  return { text = tostring(value) }
end
