--- `hocket attach`: lists who offers himself, gives commands to one, or passes lines on as they are typed.
---
---     attached {name, pid, rights}
---     run:answer("line", text) ──────> attach_answer {ok, text, json}      one for each line, in the order of their ends
---     run:answer("complete", text) ──> attach_completion {from, words}
---                                      attach_event {text, json}, attach_note {text}
---
--- In events `json` is JSON as a text: what was answered, without a change.
local attach = require "hocket.attach"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local json = require "hocket.json"
local runs = require "hocket.internal.run.run"
local truncate = require "hocket.internal.base.truncate"

-- ---- For people -------------------------------------------------------------------------------------

local function one_line(text, max)
  return truncate(text:gsub("%s+", " "), max, "…")
end

local telling = { "message", "content", "text", "tool", "question", "model", "agent" }

-- An event in one line: whose, what, and what says most.
local function event_text(event)
  local parts = { tostring(event.run or ""):sub(-4), tostring(event.agent or "-"), tostring(event.type) }
  for _, name in ipairs(telling) do
    if type(event[name]) == "string" and event[name] ~= "" and name ~= "agent" then
      parts[#parts + 1] = one_line(event[name], 160)
      break
    end
  end
  return table.concat(parts, " ")
end

local function list()
  local offers, err = attach.list()
  if err then return nil, err end
  local lines = {}
  for i, one in ipairs(offers) do lines[i] = ("%s  %d"):format(one.name, one.pid) end
  return { offers = offers, text = #lines > 0 and table.concat(lines, "\n") or "Nothing offers itself. (hocket run --offer NAME, hocket.host:offer, hocket_offer)" }
end

-- ---- Commands ------------------------------------------------------------------------------------------

local function emit_answer(run, answer, err)
  if not answer then
    local wrong = { code = err.code, message = err.message }
    return run:emit("attach_answer", { ok = false, text = err.message, code = err.code, json = json.encode { error = wrong } })
  end
  local value = answer.value
  if value == nil then value = answer.text end
  run:emit("attach_answer", { ok = true, text = answer.text, json = json.encode(value) })
end

-- All of them, to the first that fails.
local function give_all(run, other, commands)
  for _, line in ipairs(commands) do
    local answer, err = other:ask(line)
    emit_answer(run, answer, err)
    if not answer then return nil, err end
  end
  return { text = "" }
end

local function tell_news(run, other)
  return flow.spawn(function()
    while true do
      local news = other:next()
      if not news then return end
      if news.event then run:emit("attach_event", { text = event_text(news.event), json = json.encode(news.event) }) end
      if news.note then run:emit("attach_note", { text = tostring(news.note), json = json.encode { note = news.note } }) end
      fiber.rest()
    end
  end)
end

-- Lines come through run:answer while this waits for the end.
local function talk(run, other)
  local self, over, parent = fiber.self(), false, fiber.self()
  local function aside(fn, text) fiber.spawn_under(parent, fn, text) end
  run.answer = function(_, question, text)
    if question == "line" and text == "" then
      over = true
      self:wake()
    elseif question == "line" then
      aside(function() emit_answer(run, other:ask(text)) end)
    elseif question == "complete" then
      aside(function() run:emit("attach_completion", other:complete(text, 1) or { from = #text, words = json.array {} }) end)
    end
    return true
  end
  local news = tell_news(run, other)
  while not over and not other.err do
    news:watch()
    fiber.park()
  end
  if over then return { text = "" } end
  return nil, other.err
end

---@async
---@param args {to?: string, commands?: string[], talk?: boolean}
---@param journal userdata
return function(args, journal, id)
  if args.to == nil then return list() end
  local run = runs.new { journal = journal, id = id, options = {} }
  local other <close>, err = attach.open(args.to)
  if not other then return nil, err end
  run:emit("attached", { name = other.name, pid = other.pid, rights = other.rights, version = other.version })
  if args.talk then return talk(run, other) end
  return give_all(run, other, args.commands or {})
end
