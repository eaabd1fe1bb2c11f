--- What a link for one question (serve/question_links.lua) shows and lets its holder say. It shows that question, while it is open and asks
--- what it asked when the link was made. It takes one plain answer.
---
---     GET  /api/inbox               the question alone
---     POST /api/runs/ID/answers     checked here, then said as any client says it: it continues no run that does not go on
local answers = require "hocket.internal.commands.answer"
local api_runs = require "hocket.internal.base.lazy" "hocket.internal.endpoints.api.runs"
local decision = require "hocket.internal.run.decision"
local json = require "hocket.json"
local question_links = require "hocket.internal.serve.question_links"
local refused = require("hocket.internal.core.system").failure

local link_answer = {}

-- What the run waits for, wherever it is.
local function waits_of(server, link)
  local run = server.desk:find(link.run, "may_answer")
  if run and not run.outcome then return api_runs.of_desk(run, true).waiting_for end
  if not server.desk.kept then return {} end
  local row, err = server.desk:row(link.run, "may_answer")
  if not row then return nil, err end
  local told = answers { id = row.id }
  return told and told.waiting_for or {}
end

-- The question of a link; nil: it is answered, was withdrawn, or asks something else now.
local function open_of(server, link)
  local list, err = waits_of(server, link)
  if not list then return nil, err end
  for _, one in ipairs(list) do
    if one.id == link.question and not one.answered and question_links.asks(one) == link.asks then return one end
  end
  return nil, { code = "state", status = 410, message = "this question is not open any more" }
end

local shown = { "id", "kind", "agent", "questions", "plan", "tool", "arguments", "reason", "change" }

--- Answers with the question as /api/inbox has it, without what a link does not open: where the run is, and an "always".
---@param server hocket.EndpointServer As whoever asks has it.
---@param link hocket.QuestionLink
---@param response hocket.Response
function link_answer.show(server, link, response)
  local open, err = open_of(server, link)
  if not open then return response:fail(err) end
  local one = { run = link.run, ends = link.ends }
  for _, name in ipairs(shown) do one[name] = open[name] end
  return response:json(200, { open = json.array { one } })
end

--- Says an answer, once.
---@param server hocket.EndpointServer
---@param link hocket.QuestionLink
---@param body {question: string, text: string}
---@param id string The run's, as the address has it.
---@param say fun(): table?, integer|hocket.Error
---@return table? told
---@return integer|hocket.Error
function link_answer.say(server, link, body, id, say)
  if id ~= link.run or body.question ~= link.question then return refused("denied", "this link answers another question") end
  local open, err = open_of(server, link)
  if not open then return nil, err end
  if not decision.is_plain(open.id, body.text) then return refused("denied", "with this link you can allow or deny the call, and nothing else") end
  return question_links.use(link, say)
end

return link_answer
