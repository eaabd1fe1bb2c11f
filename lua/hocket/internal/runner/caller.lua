--- What a caller over an endpoint brings along to a conversation: the run's option `caller`, all of it data.
---
---     messages      what was said before, in the neutral form; `files` go with what is said now: {name, data (base64)}
---     instructions  the caller's system text: it stands below the agent's own prompt, labelled as the caller's
---     tools         the caller's own: {name, description, parameters (JSON)}. Their calls are events (tool_requested), and are answered by id
---     ignored       what of the request was passed over, as texts
---     schema        of the answer, as JSON; settings of the request, as far as the agent's file leaves them open
local ask = require "hocket.ask"
local json = require "hocket.json"
local media = require "hocket.internal.base.media"
local system = require "hocket.internal.core.system"
local tool = require "hocket.tool"

local caller = {}

local any_object = { type = "object" }

--- The schema of a tool's arguments: earlier versions noted it as a table, which has no order.
---@param one table
---@return table?
function caller.parameters(one)
  local noted = one.parameters
  return type(noted) == "string" and json.decode(noted, true) or noted
end

-- The caller makes the call, whenever it likes: the run waits.
local function tool_of(one)
  return tool.new {
    name = one.name, description = one.description or "", parameters = caller.parameters(one) or any_object, steps = true,
    run = function(args) return ask.call(one.name, args) end,
  }
end

local function tools_of(list)
  local tools = {}
  for i, one in ipairs(list or {}) do
    local ok, made = pcall(tool_of, one)
    if not ok then return nil, system.error { code = "invalid", message = ("tools[%d]: %s"):format(i - 1, type(made) == "table" and made.message or tostring(made):gsub("^[^:]*:%d+: ", "")) } end
    tools[i] = made
  end
  return #tools > 0 and tools or nil
end

--- What of it goes with each answer, as options of a call.
---@param run hocket.Run
---@param opts table
---@return boolean? ok
---@return hocket.Error?
function caller.refresh(run, opts)
  local given = run.options.caller
  if not given or given == opts.caller then return true end
  local tools, err = tools_of(given.tools)
  if err then return nil, err end
  opts.caller, opts.closing, opts.instructions, opts.settings = given, tools, given.instructions, given.settings
  opts.schema, opts.schema_name = given.schema, given.schema_name
  if given.ignored then run:emit("warning", { message = "passed over in the caller's request: " .. table.concat(given.ignored, ", ") }) end
  return true
end

local function add_messages(history, list)
  for i, message in ipairs(list or {}) do
    local ok, err = history:add(message)
    if not ok then return nil, system.error { code = "invalid", message = ("messages[%d]: %s"):format(i - 1, err.message) } end
  end
  return true
end

local function add_files(run, list)
  local files = table.move(run.files, 1, #run.files, 1, {})
  for _, one in ipairs(list or {}) do
    local made, err = media.of(system.unbase64(one.data) or "", one.name)
    if not made then return nil, err end
    files[#files + 1] = made
  end
  run.files = files
  return true
end

--- Puts it into a conversation that begins.
---@param run hocket.Run
---@param history hocket.History
---@return boolean? ok
---@return hocket.Error?
function caller.begin(run, history)
  local given = run.options.caller
  if not given then return true end
  run.options.deltas = true -- sessions whose text is reported as they speak have a request of their own, for the caller's settings
  local ok, err = add_messages(history, given.messages)
  if not ok then return nil, err end
  return add_files(run, given.files)
end

--- Whether the option `caller` of a run is an object of data; whoever makes it has checked the rest.
---@param value any
---@return boolean
function caller.is_one(value)
  return type(value) == "table" and not (json.is_array(value) and #value > 0)
end

return caller
