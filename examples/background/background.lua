-- Research in the background: an editor hands two questions to others, drafts an outline while they
-- work, and writes the article when their results have come in.
--
--   hocket run examples/background/background.lua "Why do cities plant trees?"
local hocket = require "hocket"

local request = ...
if not request or request == "" then request = "Why do cities plant trees?" end

local here = debug.getinfo(1, "S").source:match "^@(.*)/" or "."
local team = hocket.agents(here .. "/agents")

local outline = {}
local note = hocket.tool {
  name = "note", description = "Add one point to the outline.",
  parameters = { type = "object", required = { "point" }, properties = { point = { type = "string" } } },
  run = function(args)
    outline[#outline + 1] = args.point
    hocket.flow.sleep(0.05) -- thinking takes its time
    return ("%d points"):format(#outline)
  end,
}

-- What happened when: drafting goes on while the tasks are running.
local diary = {}
local words = { task_running = "begins", task_completed = "is done", task_failed = "has failed" }
local function follow(event)
  if words[event.type] and event.agent ~= "main" then
    diary[#diary + 1] = ("%s %s"):format(event.agent, words[event.type])
  elseif event.type == "tool_call" and event.tool == "note" then
    diary[#diary + 1] = "main notes a point"
  end
end

local reply, err = hocket.run(team.main, request, { tools = { note }, on_event = follow })
if not reply then return nil, err end
return ("%s\n\n---\n%s\n"):format(reply.text, table.concat(diary, ", "))
