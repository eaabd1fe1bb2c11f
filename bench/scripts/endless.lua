-- A conversation of so many turns with a scripted model whose window is 32,000 tokens: what a turn and the memory come to, early and
-- late; whether what was said in turn 3 is known in the end; how much of what is sent was sent before, as caches see it, and how much
-- of it would be where the oldest turns are dropped instead, each time that there is no room. With "json" one line of figures.
local hocket = require "hocket"
local session = require "hocket.session"

local WINDOW = 32000
local turns = tonumber((...):match "%d+") or 5000
local words = ("The quick brown fox jumps over the lazy dog and goes home by the river. "):rep(8)

local function fact(text) return text:match "the harbour master is called (%a+)" end

local function known(request)
  for _, message in ipairs(request.messages) do
    if fact(message.text) then return fact(message.text) end
  end
end

-- What a cache would have: the messages at the beginning that were sent before as they are now.
local before, sent, cached, summaries = {}, 0, 0, 0
local function count(request)
  local same, now = true, {}
  for i, message in ipairs(request.messages) do
    now[i] = message.text
    same = same and before[i] == message.text
    sent, cached = sent + #message.text, cached + (same and #message.text or 0)
  end
  before = now
end

local function reply(request)
  count(request)
  local text = request.last.text
  if text:find "is going to be taken out" then
    summaries = summaries + 1
    return known(request) and "the harbour master is called " .. known(request) or "nothing of note"
  end
  if text:find "Who is the harbour master" then return known(request) or "I do not know" end
  return "Noted. " .. words
end

-- The same turns with the oldest ones dropped, at the same place of the window.
local function dropping()
  local list, bytes, all, again = {}, 0, 0, 0
  for i = 1, turns do
    local fresh = i
    list[#list + 1], bytes = 2 * #words, bytes + 2 * #words
    while bytes > WINDOW * 0.8 * 4 do
      bytes, fresh = bytes - table.remove(list, 1), 0
    end
    all, again = all + bytes, again + (fresh > 0 and bytes - 2 * #words or 0)
  end
  return again / all
end

local function resident()
  collectgarbage()
  collectgarbage()
  local file = assert(io.open "/proc/self/status")
  local kb = tonumber(file:read("a"):match "VmRSS:%s*(%d+)")
  file:close()
  return kb
end

local served = assert(hocket.sim.serve({ reply = reply }, { window = WINDOW, fragment = 4096 }))
hocket.provider("endless", { protocol = "openai_chat", base = served.base })
local one = session.new { model = assert(hocket.model.resolve "endless/m"), system = "You take notes.", context = { window = WINDOW } }

local marks, began = {}, os.clock()
local function mark(i)
  marks[i] = { cpu = os.clock() - began, kb = resident() }
  began = os.clock()
end

local part = turns // 5
for i = 1, turns - 1 do
  local said = i == 3 and "Remember that the harbour master is called Ingrid." or ("Turn %d. "):format(i) .. words
  local answer, err = one:send(said)
  if not answer then return nil, err end
  if i % part == 0 then mark(i // part) end
end
mark(5)
local last = assert(one:send "Who is the harbour master?").text

local early, late = marks[2].cpu / part * 1e6, marks[5].cpu / part * 1e6
if (...):find "json" then
  return ('{"early":%.1f,"late":%.1f,"kb_early":%d,"kb_late":%d,"known":%d,"cached":%.4f,"dropping":%.4f,"summaries":%d}'):format(early, late, marks[2].kb,
    marks[5].kb, last == "Ingrid" and 1 or 0, cached / sent, dropping(), summaries)
end
return ("%d turns, %d summaries: %.0f us a turn early, %.0f us late (with the scripted model); %d KB, %d KB; turn 3 is %s; %.1f %% of the input was sent before, %.1f %% with dropping"):format(
  turns, summaries, early, late, marks[2].kb, marks[5].kb, last == "Ingrid" and "known" or "forgotten", 100 * cached / sent, 100 * dropping())
