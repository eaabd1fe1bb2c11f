--- Webhooks: the ends of runs and their questions, posted to addresses that the operator names, signed as Standard Webhooks have it.
---
---     webhook-id, webhook-timestamp, webhook-signature: v1,BASE64(HMAC-SHA256(key, "ID.TIMESTAMP.BODY"))
---
--- The store notes deliveries with the run, so an undelivered end is posted after a restart, too. An end that was delivered a moment before a kill is
--- posted twice, with the same id. Open questions are posted again. Runs never wait for webhooks.
local ending = require "hocket.internal.base.ending"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local origin = require "hocket.internal.run.origin"
local question_links = require "hocket.internal.base.lazy" "hocket.internal.serve.question_links"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"
local system = require "hocket.internal.core.system"
local truncate = require "hocket.internal.base.truncate"
local webhook = require "hocket.internal.serve.webhook"

local webhooks = {}

--- Seconds between two attempts: the first, each is four times the one before, at most; and after which nobody tries any more.
local FIRST, MOST, LIFE = 1, 3600, 3 * 24 * 3600
--- Deliveries under way, and deliveries that wait; bytes of a text in a body.
local AT_ONCE, MAX_WAITING, MAX_TEXT = 8, 10000, 64 << 10

---@class hocket.Webhooks
local Webhooks = {}
Webhooks.__index = Webhooks

---@param options {urls: string[], key: string, desk: hocket.Desk, answer_url?: string} answer_url: where this server is found by who opens a link
---@return hocket.Webhooks
function webhooks.new(options)
  return setmetatable({ urls = options.urls, key = options.key, desk = options.desk, answer_url = options.answer_url, waiting = 0, at_once = 0, counts = { delivered = 0, failed = 0, dropped = 0 }, hungry = {} }, Webhooks)
end

-- ---- One delivery -----------------------------------------------------------------------------------

local function marker(url)
  return "webhook " .. system.digest(url):sub(1, 16)
end

-- Only of a run that has ended: one that goes on would take it for something that is said to it.
local function note_delivered(self, url, event)
  self.counts.delivered = self.counts.delivered + 1
  if not event.ended or not self.desk.kept then return end
  local ok, err = origin.put(event.run, marker(url), '{"wish":"delivered"}')
  if not ok and err.code ~= "exists" and err.code ~= "not_found" then system.log("warn", "a webhook is delivered, and may be again: " .. err.message) end
end

-- A place among those under way; the others wait in no order.
local function take_place(self)
  local me = fiber.self()
  while self.at_once >= AT_ONCE do
    self.hungry[me] = true
    fiber.park()
  end
  self.hungry[me], self.at_once = nil, self.at_once + 1
  return setmetatable({}, { __close = function()
    self.at_once = self.at_once - 1
    local next_one = next(self.hungry)
    if next_one then next_one:wake() end
  end })
end

local function attempt(self, url, event)
  local place <close> = take_place(self)
  return webhook.post(self.key, url, event.id, event.body)
end

-- An end is reported when the store has it: told before, a kill would leave a run that goes on and tells another end.
local function wait_for_store(self, event)
  local row = event.ended and self.desk.kept and stored.find(event.run)
  while row and row.owner and row.state == "running" do
    fiber.sleep(0.05)
    row = stored.find(event.run)
  end
end

local function deliver(self, url, event)
  local over <close> = setmetatable({}, { __close = function() self.waiting = self.waiting - 1 end })
  local pause, due = FIRST, fiber.now() + LIFE
  wait_for_store(self, event)
  while true do
    if event.is_past and event.is_past() then return end
    local ok, why, gone = attempt(self, url, event)
    if ok then return note_delivered(self, url, event) end
    if gone or fiber.now() + pause > due then
      self.counts.failed = self.counts.failed + 1
      return system.log("warn", ("webhook %s of run %s is given up: %s"):format(event.id, event.run, why))
    end
    fiber.sleep(pause * (0.75 + math.random() / 2))
    pause = math.min(pause * 4, MOST)
  end
end

local function send(self, url, event)
  if self.waiting >= MAX_WAITING then
    self.counts.dropped = self.counts.dropped + 1
    return
  end
  self.waiting = self.waiting + 1
  fiber.spawn_under(self.owner, deliver, self, url, event):serve()
end

local function send_to_all(self, event)
  for _, url in ipairs(self.urls) do send(self, url, event) end
end

-- ---- What is reported ------------------------------------------------------------------------------------

local function body(kind, run, agent, data)
  data.run, data.agent = run, agent
  return webhook.body(kind, data)
end

local function end_event(id, agent, state, text, err)
  return { id = "end_" .. id, run = id, ended = true, body = body("run.ended", id, agent, { state = state, text = text and truncate(text, MAX_TEXT, "…"), error = err }) }
end

local function on_end(self, run)
  if run.outcome.code == "parked" then return end
  local result = json.decode(run.outcome.result)
  send_to_all(self, end_event(run.name, run.target, ending.state(run.outcome.code), type(result) == "table" and result.text or nil,
    not run.outcome.ok and { code = run.outcome.code, message = run.outcome.message } or nil))
end

local asks = { question_asked = "run.question", approval_requested = "run.approval" }

local function is_open(run, id)
  for _, one in ipairs(run:waits()) do
    if one.id == id then return true end
  end
  return false
end

-- A link that answers it once: whoever gets the webhook may.
local function link_for(self, run, event)
  if not self.answer_url then return nil end
  local token, ends = question_links.create(run.name, event)
  if token then return question_links.address(self.answer_url, token), os.date("!%Y-%m-%dT%H:%M:%SZ", ends) end
  system.log("warn", ("question %s of run %s is posted without a link: %s"):format(event.id, run.name, ends.message))
end

local function tell_question(self, run, event)
  local link, ends = link_for(self, run, event)
  send_to_all(self, {
    id = ("ask_%s_%s"):format(run.name, event.id), run = run.name, is_past = function() return run.outcome ~= nil or not is_open(run, event.id) end,
    body = body(asks[event.type], run.name, run.target, { question = event.id, questions = event.questions, tool = event.tool,
      arguments = event.arguments and truncate(event.arguments, MAX_TEXT, "…"), reason = event.reason, link = link, link_ends = ends }),
  })
end

-- Of a run that was gone on with the questions that are still open alone.
local function watch(self, run)
  local reader = run:subscribe()
  while true do
    local line, _, kind = reader:next()
    if not line then return end
    local event = asks[kind] and json.decode(line)
    if event and is_open(run, event.id) then tell_question(self, run, event) end
  end
end

-- ---- After a restart -----------------------------------------------------------------------------------

local ended = { "done", "failed", "cancelled" }

-- Runs that were begun for clients while there were webhooks.
local function wants(row)
  local options = row.options and row.options:find('"hooks":true', 1, true) and json.decode(row.options)
  return type(options) == "table" and type(options.serve) == "table" and options.serve.hooks == true and options.serve or nil
end

local function answer_of(id)
  local text
  stored.each(id, function(record)
    if record.json:find('"type":"final_answer"', 1, true) then text = json.decode(record.json).content end
  end)
  return type(text) == "string" and text or nil
end

local function catch_up_with(self, row, serve)
  local heard = {}
  for _, message in ipairs(store.messages(row.id) or {}) do heard[message.id] = true end
  for _, url in ipairs(self.urls) do
    if not heard[marker(url)] then send(self, url, end_event(row.id, serve.agent, row.state, answer_of(row.id))) end
  end
end

local function catch_up(self)
  local since, before = (system.wall() - LIFE) * 1000, nil
  while true do
    local page, more = store.runs { states = ended, before = before, limit = 200 }
    if not page then return system.log("warn", "webhooks of before cannot be looked for: " .. more.message) end
    for _, row in ipairs(page) do
      if row.updated_ms and row.updated_ms < since then more = false end
      local serve = wants(row)
      if serve and not self.desk:find(row.id) then catch_up_with(self, row, serve) end
      before = row.id
    end
    if not more then return end
  end
end

--- Tells of runs from now on, and of those of before that nobody has heard of, until the running fiber ends.
function Webhooks:open()
  self.owner = fiber.self()
  self.desk:on_begin(function(run) fiber.outside(watch, self, run):serve() end) -- it is called by the run's own code
  self.desk:on_end(function(run) on_end(self, run) end)
  if self.desk.kept then fiber.spawn(catch_up, self):serve() end
end

return webhooks
