--- What a person has answered to a planner's questions, kept for later plans: notes of the memory `clarifications`, per project, and per end user
--- under `hocket serve`. A later plan gets them as assumptions, which it lists and which the person can correct.
---
---     questions ──> a person's answer ──> note
---     a later request ──> notes with the same words ──> assumptions of the plan ──> "2: Paris" corrects the second, "forget 2" removes it
local drafts = require "hocket.patterns.planner.drafts"
local events = require "hocket.events"
local fence = require "hocket.fence"
local json = require "hocket.json"
local memory = require "hocket.memory"

local answers = {}

--- Assumptions of one plan; bytes of a question and of an answer.
local MOST, SHOWN = 5, 1000
--- Notes that are looked through, the newest ones.
local LOOKED = 500
--- The part of the words that a request and an earlier one have in common.
local LIKE = 0.3

local function notes()
  return memory.open { name = "clarifications" }
end

local function cut(text)
  text = text:gsub("%s+", " "):match "^%s*(.-)%s*$"
  return #text <= SHOWN and text or text:sub(1, utf8.offset(text, 0, SHOWN) - 1)
end

local function text_of(request, question, answer)
  return ("Request: %s\nQuestion: %s\nAnswer: %s"):format(cut(request), cut(question), cut(answer))
end

-- Agents with this memory write notes as well: those are no person's answers.
local function read(note, request)
  if note.from.agent then return nil end
  local before, question, answer = note.text:match "^Request: ([^\n]*)\nQuestion: ([^\n]*)\nAnswer: ([^\n]*)$"
  return question and drafts.likeness(request, before) >= LIKE and { id = note.id, question = question, answer = answer, text = note.text, labels = note.labels }
end

--- Keeps an answer of a person. Where nothing is kept (no store) it does nothing.
---@async
---@param request string
---@param questions string[]
---@param answer string
---@param labels? integer Of the request: whose words it may have.
function answers.keep(request, questions, answer, labels)
  local kept = notes()
  if kept and answer:find "%S" then kept:write(text_of(request, table.concat(questions, " "), answer), { labels = labels }) end
end

--- What is assumed for a request.
---@async
---@param request string
---@return {id: string, question: string, answer: string, text: string, labels: integer}[]
function answers.find(request)
  local kept = notes()
  local found, list = kept and kept:search(nil, LOOKED) or {}, {} -- a search by words wants all of them
  for _, note in ipairs(found or {}) do
    if #list < MOST then list[#list + 1] = read(note, request) or nil end
  end
  if #list > 0 then
    local told = json.array {}
    for i, one in ipairs(list) do told[i] = { question = one.question, answer = one.answer } end
    events.emit("answers_remembered", { answers = told })
  end
  return list
end

--- What the planner reads of them, before the request.
---@param list table[]
---@return string
function answers.framed(list)
  local lines = {}
  for i, one in ipairs(list) do lines[i] = ("%d. %s\n   %s"):format(i, one.question, one.answer) end
  return "The user answered these questions for earlier requests. Assume the answers where they fit, and do not ask again:\n"
    .. fence.wrap("result", "earlier answers", table.concat(lines, "\n"))
end

--- The same for the person who approves the plan.
---@param list table[]
---@return string
function answers.shown(list)
  local lines = {}
  for i, one in ipairs(list) do lines[i] = ("  %d. %s %s"):format(i, one.question, one.answer) end
  return "Assumed from your earlier answers (\"2: other\" corrects the second, \"forget 2\" removes it):\n" .. table.concat(lines, "\n")
end

-- "2: Paris", or one word where there is one assumption. "2:30" is a time.
local function correction(list, said)
  if said:find "^%s*%d+:%d" then return nil end
  local n, other = said:match "^%s*(%d+)%s*[:=]%s*(.-)%s*$"
  if n then return list[tonumber(n)], other end
  n = said:match "^%s*forget%s+(%d+)%s*$"
  if n then return list[tonumber(n)], nil end
  if #list == 1 and said:find "^%s*[^%s]+%s*$" then return list[1], said:match "%S+" end
end

--- What a person says to a plan may correct an assumption: what the planner reads then; nil: it is about the plan.
---@async
---@param list table[]
---@param said string
---@param keeps boolean Whether the note changes: a person has said it.
---@return string?
function answers.correct(list, said, keeps)
  local one, other = correction(list, said)
  if not one then return nil end
  local kept = keeps and notes()
  if other and other ~= "" then
    if kept then kept:write((one.text:gsub("\nAnswer: [^\n]*$", function() return "\nAnswer: " .. cut(other) end)), { id = one.id, labels = one.labels }) end
    one.answer = other
    return ("The user corrects an assumption. The question was: %s\nThe answer is now: %s"):format(one.question, other)
  end
  if kept then kept:forget(one.id) end
  return ("The user takes an assumption back. Do not assume an answer to: %s"):format(one.question)
end

return answers
