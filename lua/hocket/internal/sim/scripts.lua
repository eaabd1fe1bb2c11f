--- The scripts of the scripted model: loading one, asking it.
local caught = require "hocket.internal.base.caught"
local script_files = require "hocket.internal.base.script"
local suggest = require "hocket.internal.base.lazy" "hocket.internal.base.suggest"
local sources = require "hocket.internal.base.sources"

local scripts = {}

local members = {
  "calls", "error", "fault", "fault_rate", "finish", "fragment", "headers", "latency", "pause", "reasoning", "refusal",
  "retry_after", "status", "text", "usage",
}
local known = {}
for _, name in ipairs(members) do known[name] = true end

-- A member that no reply has is a slip of the pen, and must not read as an empty answer.
local function unknown_member(reply)
  for name in pairs(reply) do
    if not known[name] then
      local near = suggest(tostring(name), members)
      return ("the scripted model's reply has an unknown member '%s'%s"):format(tostring(name),
        near and (": did you mean '%s'?"):format(near) or (" (there are: %s)"):format(table.concat(members, ", ")))
    end
  end
end

--- A script may return a function, or a table with options around it.
function scripts.check(value, origin)
  if type(value) == "function" then value = { reply = value } end
  if type(value) ~= "table" or type(value.reply) ~= "function" then
    error(("%s must return a function from request to reply, or a table with one named 'reply'"):format(origin), 0)
  end
  return value
end

--- Loads a script from a file.
---@param path string
---@return table? script
---@return hocket.Error?
function scripts.load(path)
  local text, err = sources.read(path)
  if not text then return nil, err end
  local chunk, wrong = script_files.compile(text, path)
  if not chunk then return nil, { code = "agent", message = wrong } end
  local ok, value = pcall(function() return scripts.check(chunk(path), path) end)
  if not ok then return nil, caught.no_memory(value) and caught.error(value) or { code = "agent", message = tostring(value) } end
  return value
end

--- What the script answers, in one form; what it raises is a server error with its message.
function scripts.ask(script, request)
  local ok, reply = pcall(script.reply, request)
  if not ok and caught.no_memory(reply) then error(reply, 0) end
  if not ok then
    local message = type(reply) == "table" and reply.message or tostring(reply)
    return { status = 500, error = ("the scripted model raised: %s"):format(message) }
  elseif type(reply) == "string" then
    return { text = reply }
  elseif type(reply) ~= "table" then
    return { status = 500, error = ("the scripted model returned %s, not a reply"):format(type(reply)) }
  end
  local wrong = unknown_member(reply)
  return wrong and { status = 500, error = wrong } or reply
end

return scripts
