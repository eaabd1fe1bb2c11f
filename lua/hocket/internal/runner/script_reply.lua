--- What a script or a workflow has returned, as a reply: a text, a reply, a table, nothing.
local caught = require "hocket.internal.base.caught"
local json = require "hocket.json"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local script_reply = {}

local answers = { string = true, number = true, boolean = true, ["nil"] = true, table = true }

local function failure(message)
  return nil, { code = "script", message = message }
end

---@param value any
---@param err any
---@return hocket.Reply|table|nil reply
---@return hocket.Error? err
function script_reply.of(value, err)
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

local function any_text(value, found, depth)
  if type(value) == "string" then return found(value) end
  if type(value) ~= "table" or depth == 0 then return nil end
  for _, key in ipairs(sorted_keys(value)) do
    local cut = any_text(value[key], found, depth - 1)
    if cut then return cut end
  end
end

--- The same of a script in a run: one that answers with the text of a reply that was cut has no whole answer either.
---@param run hocket.Run
---@param value any
---@param err any
---@return hocket.Reply|table|nil reply
---@return hocket.Error? err
function script_reply.within(run, value, err)
  local reply, wrong = script_reply.of(value, err)
  if not reply or reply.cut or not run.handed_out then return reply, wrong end
  reply.cut = value == nil and run.printed_cut or any_text(value, function(text) return run:cut_in(text) end, 8)
  reply.finish = reply.cut and reply.cut.reason or reply.finish
  return reply
end

--- The same of a script that is run for one answer: where it returns nothing, what it has said counts.
---@param run hocket.Run
---@param path string
---@param value any
---@param err any
---@return hocket.Reply|table|nil reply
---@return hocket.Error? err
function script_reply.once(run, path, value, err)
  if value == nil and err == nil then value = run:said() end
  if value == nil and err == nil and not run.printed and run:usage().calls > 0 then
    run:emit("warning", { message = ("%s returned nothing and printed nothing: return the answer"):format(path) })
  end
  return script_reply.within(run, value, err)
end

return script_reply
