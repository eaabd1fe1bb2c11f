local flow = require("hocket").flow

-- How many lines there are, with this one.
local function note(path, ...)
  flow.sleep(0.002)
  local file <close> = assert(io.open(path, "a+"))
  file:write(table.concat({ "hook", ... }, " "), "\n")
  file:seek "set"
  local n = 0
  for _ in file:lines() do n = n + 1 end
  return n
end

local function noted(event, of) return note(_G.letters_of_hooks, event.point, of) end

local of_tools = { peek = { answer = "peeked" }, shred = { deny = "no paper is shredded" } }

return {
  before_run = function(event) note(event.input, event.point, event.target:match "[^/]*$") end,
  after_run = function(event)
    noted(event, "main.lua")
    return event.result and { answer = event.result .. " (run)" } or nil
  end,
  before_agent = function(event) return { context = "Line " .. noted(event, event.agent) } end,
  after_agent = function(event)
    noted(event, event.agent)
    return event.agent == "clerk" and { answer = event.result .. " (agent)" } or nil
  end,
  before_model = function(event) return { arguments = { temperature = 0.5 }, context = "Line " .. noted(event, event.model) } end,
  after_model = function(event)
    noted(event, event.model)
    return event.result:find "posted%.$" and { answer = event.result .. " (model)" } or nil
  end,
  before_tool = function(event)
    local n, what = noted(event, event.tool), event.arguments.what:match "^plain (.*)$"
    return what and { arguments = { what = what, mark = n } } or of_tools[event.tool]
  end,
  after_tool = function(event) return { context = "Line " .. noted(event, event.tool) } end,
  before_compaction = function(event) return { answer = "Summed up at line " .. noted(event, event.agent) } end,
  after_compaction = function(event) noted(event, event.agent) end,
}
