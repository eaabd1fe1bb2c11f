--- Scripted models for teams that plan and dispatch: what to plan, what to write and how to merge.
---
---     local script = require "hocket.sim.team" {
---       plan = function(wish, specialists) return { { text = "Find what exists on: " .. wish, assigned_to = specialists[1] } } end,
---       write = function(agent) return { { slot = { day = 1 }, content = "What " .. agent .. " found." } } end,
---       merge = function(_, entries) return entries[1].text end,
---       answer = function(document) return document end,
---     }
---     print(type(script.reply))       -- in sim.lua: return it
---
--- It makes the calls that a facilitator and its specialists make. Of a request the first 2,000 bytes are checked, so
--- that a long one costs a script no more than a short one.
local fence = require "hocket.fence"
local cut = require "hocket.internal.base.truncate"
local example = require "hocket.internal.sim.example"
local json = require "hocket.json"

local max_wish = 2000

local function count(messages, name)
  local n = 0
  for _, message in ipairs(messages) do
    for _, call in ipairs(message.calls or {}) do
      if call.name == name then n = n + 1 end
    end
  end
  return n
end

local function last_result(messages, name)
  for i = #messages, 1, -1 do
    if messages[i].role == "tool" and messages[i].name == name then
      return messages[i].text:match "^<%l+%-%w+ of=\"[^\"]*\">\n(.*)\n</%l+%-%w+>$" or messages[i].text
    end
  end
end

local function first_user(messages)
  for _, message in ipairs(messages) do
    if message.role == "user" then return cut(message.text, max_wish, " …") end
  end
  return ""
end

-- ---- The facilitator -----------------------------------------------------------------

local function specialists_of(request)
  return request.tools.create_tasks.parameters.properties.tasks.items.properties.assigned_to.enum
end

-- "created:\n1 (food): Find…" -> {food = {1, …}, …}, in order of first mention.
local function assignments(created)
  local by_agent, order = {}, {}
  for id, agent in created:gmatch "(%d+) %(([%w_-]+)%):" do
    if not by_agent[agent] then
      by_agent[agent] = {}
      order[#order + 1] = agent
    end
    table.insert(by_agent[agent], math.tointeger(tonumber(id)))
  end
  return by_agent, order
end

local function dispatch(request, script)
  local by_agent, order = assignments(last_result(request.messages, "create_tasks") or "")
  local calls = {}
  for i, agent in ipairs(order) do
    calls[i] = { name = "call_" .. agent, arguments = {
      task_ids = json.array(by_agent[agent]),
      message = script.message(agent, by_agent[agent], first_user(request.messages)),
    } }
  end
  return { calls = calls }
end

-- The tagged document as slots with their entries: {heading, entries = {{agent, text}, …}}.
local function parse_tagged(text)
  local slots = {}
  for line in (text .. "\n"):gmatch "(.-)\n" do
    local heading = line:match "^## (.*)$"
    local agent, first = line:match "^%[([^%]]+)%] (.*)$"
    local slot = slots[#slots]
    if heading then
      slots[#slots + 1] = { heading = heading, entries = {} }
    elseif agent and slot then
      table.insert(slot.entries, { agent = agent, text = first })
    elseif slot and #slot.entries > 0 and line ~= "" then
      local entry = slot.entries[#slot.entries]
      entry.text = entry.text .. "\n" .. line:gsub("^  ", "")
    end
  end
  return slots
end

-- A heading back to the slot's values, with the schema that the tool declares.
local function slot_of(heading, parameters)
  local slot, words = {}, {}
  for part in (heading .. " — "):gmatch "(.-) — " do words[#words + 1] = part:lower() end
  for name, property in pairs(parameters.properties) do
    if property.type == "integer" then
      slot[name] = 0
      for _, word in ipairs(words) do
        local number = word:match("^" .. name:gsub("_", " ") .. " (%d+)$")
        if number then slot[name] = math.tointeger(tonumber(number)) end
      end
    elseif property.enum then
      slot[name] = property.enum[1]
      for _, value in ipairs(property.enum) do
        for _, word in ipairs(words) do
          if word == value:lower():gsub("_", " ") then slot[name] = value end
        end
      end
    end
  end
  return slot
end

local function consolidate(request, script)
  local parameters, calls = request.tools.consolidate_section.parameters, {}
  for _, slot in ipairs(parse_tagged(last_result(request.messages, "read_document") or "")) do
    if #slot.entries > 1 then
      local arguments = slot_of(slot.heading, parameters)
      arguments.content = script.merge(slot.heading, slot.entries)
      calls[#calls + 1] = { name = "consolidate_section", arguments = arguments }
    end
  end
  return calls
end

local function facilitate(request, script)
  local messages = request.messages
  local wish = first_user(messages)
  local revises = request.last.name == "create_tasks" and request.last.text:find("Plan again with create_tasks", 1, true) -- a person wants another plan
  if count(messages, "create_tasks") == 0 or revises then
    local tasks = json.array(script.plan(wish, specialists_of(request)))
    return { text = script.opening(wish), calls = { { name = "create_tasks", arguments = { tasks = tasks } } } }
  elseif count(messages, "get_plan_status") == 0 then
    local reply = dispatch(request, script)
    if request.last.name == "create_tasks" and #reply.calls > 0 then return reply end
    return { calls = { { name = "get_plan_status" } } }
  elseif count(messages, "read_document") == 0 then
    return { calls = { { name = "read_document" } } }
  elseif request.last.name == "read_document" then
    local calls = consolidate(request, script)
    if #calls > 0 then return { calls = calls } end
  end
  if request.last.name ~= "read_document_clean" then
    return { calls = { { name = "read_document_clean" } } }
  end
  return { text = script.answer(fence.inside(request.last.text), wish) }
end

-- ---- A specialist ---------------------------------------------------------------------------

local function parse_tasks(text)
  local tasks = {}
  for id, agent, what in text:gmatch "(%d+) %[%a+%] %(([%w_-]+)%): ([^\n]*)" do
    tasks[#tasks + 1] = { id = math.tointeger(tonumber(id)), agent = agent, text = what }
  end
  return tasks
end

local function write_calls(request, script, tasks)
  local calls = {}
  for i, section in ipairs(script.write(tasks[1] and tasks[1].agent or "agent", tasks, request)) do
    local arguments = { content = section.content }
    for name, value in pairs(section.slot) do arguments[name] = value end
    calls[i] = { name = "write_section", arguments = arguments }
  end
  return calls
end

local function specialize(request, script)
  local tasks = parse_tasks(last_result(request.messages, "read_tasks") or "")
  if count(request.messages, "read_tasks") == 0 then
    return { calls = { { name = "read_tasks" } } }
  elseif count(request.messages, "write_section") == 0 and request.tools.write_section then
    local calls = write_calls(request, script, tasks)
    if #calls > 0 then return { calls = calls } end
  end
  if count(request.messages, "complete_task") == 0 and #tasks > 0 then
    local calls = {}
    for i, task in ipairs(tasks) do calls[i] = { name = "complete_task", arguments = { task_id = task.id } } end
    return { calls = calls }
  end
  return { text = script.summary(tasks, request) }
end

-- ---- Defaults: a team about anything ------------------------------------------------------------

local defaults = {}

function defaults.opening() return nil end

function defaults.plan(wish, specialists)
  local tasks = {}
  for i, name in ipairs(specialists) do
    tasks[i] = {
      text = ("Your part of: %s"):format(cut((wish:gsub("%s+", " ")), 200, "…")), assigned_to = name,
      active_form = "Working on its part",
    }
  end
  return tasks
end

function defaults.message(_, ids)
  return ("Please work on task%s %s."):format(#ids == 1 and "" or "s", table.concat(ids, ", "))
end

function defaults.write(agent, tasks, request)
  local slot = {}
  for name, property in pairs(request.tools.write_section.parameters.properties) do
    if property.type == "integer" then slot[name] = 0 elseif property.enum then slot[name] = property.enum[1] end
  end
  local sections = {}
  for i, task in ipairs(tasks) do
    sections[i] = { slot = slot, content = ("(simulated) What %s has to say on: %s"):format(agent, task.text) }
  end
  return sections
end

function defaults.summary(tasks)
  local ids = {}
  for i, task in ipairs(tasks) do ids[i] = task.id end
  return #ids > 0 and ("Done: %s."):format(table.concat(ids, ", ")) or "There was nothing for me to do."
end

function defaults.merge(_, entries)
  local texts = {}
  for i, entry in ipairs(entries) do texts[i] = entry.text end
  return table.concat(texts, "\n")
end

function defaults.answer(document) return document end

-- ---- What is said in the place of a router, of a team's member or of a coordinator that holds the rounds -----
-- When the script has nothing to say to that: enough for each pattern to be seen at work.

local function enum_of(tool, property)
  local properties = tool.parameters and tool.parameters.properties
  local known = properties and properties[property]
  return known and known.enum or {}
end

local function brief(text)
  return (text:gsub("%s+", " "):sub(1, 200))
end

local function route(request)
  return { calls = { { name = "route_to", arguments = { agent = enum_of(request.tools.route_to, "agent")[1], reason = "(simulated) the first of them" } } } }
end

-- Says its part, and has nothing against the end.
local function discuss(request)
  local calls = { { name = "broadcast", arguments = { message = "(simulated) My part of it: " .. brief(request.last.text:match "\n<request[^\n]*\n(.-)\n</request" or "as before") } } }
  if request.tools.vote_conclude then calls[2] = { name = "vote_conclude", arguments = { reason = "(simulated) all is said" } } end
  return { calls = calls }
end

-- A reply for what is a pattern's turn, or nil.
local function reply_in_pattern(request)
  if request.last.role ~= "user" then return nil end
  if request.tools.route_to then return route(request) end
  if request.tools.broadcast then return discuss(request) end
  if request.tools.next_round then return { calls = { { name = "next_round" } } } end
end

-- What the built-in assistant says to a newcomer who has no model yet: an echo of the question would help nobody.
local without_model = [[
(simulated) I cannot answer that yet, because no model is connected.

- Connect one: `export OPENAI_API_KEY=...` (or `ANTHROPIC_API_KEY` ...), or start Ollama. Then ask again.
- See a team at work without a key: `hocket new my-team`, then `hocket run my-team "Should we move to a four-day week?"`
- Read: `hocket help tutorial/tutorial`, or `hocket help topics` for all pages.]]

function defaults.other(request)
  local turn = reply_in_pattern(request)
  if turn then return turn end
  if request.system:find("You help a person with the work in their folder.", 1, true) then return { text = without_model } end
  if request.schema then return { text = json.encode(example(request.schema)) } end
  return { text = ("(simulated) You said: %s"):format(request.last.text) }
end

return function(script)
  setmetatable(script, { __index = defaults })
  return {
    latency = script.latency, pause = script.pause, fragment = script.fragment,
    reply = function(request)
      if request.tools.create_tasks then return facilitate(request, script) end
      if request.tools.read_tasks then return specialize(request, script) end
      return script.other(request)
    end,
  }
end
