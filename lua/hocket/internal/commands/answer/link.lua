--- `hocket answer ID QUESTION --link`: makes a link that answers this question once (serve/question_links.lua).
local answers = require "hocket.internal.commands.answer"
local end_time = require "hocket.internal.commands.end_time"
local question_links = require "hocket.internal.serve.question_links"
local stored = require "hocket.internal.commands.stored"

local BASE = "http://127.0.0.1:7333"
local for_people = { question = true, approval = true, input = true }

local function find(row, question)
  for _, one in ipairs(row.waiting_for) do
    if one.id == question and for_people[one.kind] then return one end
  end
  return stored.failure("not_found", "run %s asks no person '%s' (hocket answer %s lists what is open)", row.id, question, row.id)
end

---@async
---@param args {id: string, question: string, url?: string, expires?: string}
return function(args)
  local row, err = answers { id = args.id }
  if not row then return nil, err end
  local open, wrong = find(row, tostring(args.question))
  if not open then return nil, wrong end
  local ends
  if args.expires then ends, wrong = end_time.read(args.expires) end
  if wrong then return nil, wrong end
  local token, until_ = question_links.create(row.id, open, ends)
  if not token then return nil, until_ end
  local link = question_links.address(args.url or BASE, token)
  return { run = row.id, question = open.id, link = link, ends = until_, text = link, note = "answers once, until " .. os.date("!%Y-%m-%d %H:%M UTC", until_) }
end
