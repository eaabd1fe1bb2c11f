--- `hocket say`: what a person says to an agent at work. It is in the store until the run hears it; a conversation that waits for its
--- input is answered so.
---
--- `hocket signal`: sends a value to a run that waits for it. The store keeps it until the run takes it; signals of one name
--- arrive in the order in which they were sent.
local answer = require "hocket.internal.commands.answer"
local ended = require "hocket.internal.run.ended"
local json = require "hocket.json"
local messages = require "hocket.internal.run.messages"
local origin = require "hocket.internal.run.origin"
local steering = require "hocket.internal.run.steering"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"
local system = require "hocket.internal.core.system"

local commands = {}

local MAX_NAME = 1024

-- The input that a conversation waits for.
local function open_input(row)
  for _, one in ipairs(stored.open(row)) do
    if one.id:find "^i%d+$" then return one.id end
  end
end

local function check(row, to, text)
  if ended.states[row.state] then return stored.failure("state", "run %s has ended (%s): nobody hears what is said", row.id, row.state) end
  if #to > MAX_NAME or not utf8.len(to) or to:find "[%c\127]" then return stored.failure("invalid", "an agent is named by its name, a path of names (lead/writer), or its operation's id") end
  return steering.check(text)
end

-- As many as a run keeps for its agents: what comes behind them it would drop.
local function has_room(row)
  local messages, err = store.messages(row.id)
  if not messages then return nil, err end
  local waiting = 0
  for _, message in ipairs(messages) do
    if message.id:find("say ", 1, true) == 1 then waiting = waiting + 1 end
  end
  if waiting >= steering.MAX_WAITING then return stored.failure("limit", "%d messages wait for run %s, and no more can: it has to hear them first", waiting, row.id) end
  return true
end

---@async
---@param args {id: string, to?: string, text: string, consent?: boolean, client?: boolean} consent, client: as in origin.of.
function commands.say(args)
  local row, err = stored.named(args.id)
  if not row then return nil, err end
  local to, text = tostring(args.to or ""), tostring(args.text or "")
  local ok, wrong = check(row, to, text)
  if not ok then return nil, wrong end
  local input = to == "" and open_input(row)
  if input then return answer { id = row.id, question = input, text = text, consent = args.consent, client = args.client } end
  ok, wrong = steering.check_length(text)
  if ok then ok, wrong = has_room(row) end
  if not ok then return nil, wrong end
  ok, wrong = origin.put(row.id, "say " .. system.run_id(), json.encode { wish = "say", to = to, text = text }, origin.of(args))
  if not ok then return nil, wrong end
  return { id = row.id, to = to ~= "" and to or nil, state = stored.state(row), owner = row.owner, pool = row.pool }
end

local MAX_VALUE = 1024 * 1024

---@async
---@param args {id: string, name: string, value?: any, consent?: boolean, client?: boolean} value: anything that JSON can say. consent, client: as in origin.of.
function commands.signal(args)
  local row, err = stored.named(args.id)
  if not row then return nil, err end
  local fits, unfit = messages.check_name(args.name) -- as the run does that is going to take it
  if not fits then return nil, unfit end
  if not utf8.len(args.name) then return stored.failure("invalid", "a signal's name is UTF-8") end
  if ended.states[row.state] then return stored.failure("state", "run %s has ended (%s): nothing waits for a signal", row.id, row.state) end
  local said = json.encode { wish = "signal", name = args.name, value = args.value == nil and json.null or args.value }
  if #said > MAX_VALUE then return stored.failure("limit", "a signal's value has at most %d bytes", MAX_VALUE) end
  local ok, wrong = origin.put(row.id, "signal " .. system.run_id(), said, origin.of(args))
  if not ok then return nil, wrong end
  return { id = row.id, name = args.name, state = stored.state(row), owner = row.owner, pool = row.pool }
end

return commands
