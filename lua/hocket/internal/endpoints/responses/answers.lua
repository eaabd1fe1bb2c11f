--- Answers that are at hand: as they were told, and the ones that are worked at in the background.
local json = require "hocket.json"
local past = require "hocket.internal.endpoints.responses.past"

local answers = { live = {} }

--- Answers that are at hand as they were told; bytes of a request that is remembered with its answer: larger ones are in the records.
local KEPT, LARGEST = 200, 256 << 10
local kept, order = {}, {}

--- What was asked, as items with names.
---@param made table The request, read.
---@param id string
---@return table[]
function answers.input(made, id)
  local input, list = made.body.input, json.array {}
  if type(input) == "string" then input = { { role = "user", content = json.array { { type = "input_text", text = input } } } } end
  for i, item in ipairs(input) do
    local copy = {}
    for name, value in pairs(item) do copy[name] = value end
    copy.type = copy.type or "message"
    if type(copy.content) == "string" then copy.content = json.array { { type = copy.role == "assistant" and "output_text" or "input_text", text = copy.content } } end
    list[i] = copy
  end
  return past.named(list, "in_" .. id:sub(6))
end

--- Keeps one.
---@param response table
---@param made table
---@param run hocket.DeskRun
function answers.keep(response, made, run)
  if made.size > LARGEST then return end
  if not kept[response.id] then order[#order + 1] = response.id end
  kept[response.id] = { response = response, input = answers.input(made, response.id), of = { desk = true, token = run.token, target = run.target } }
  if #order > KEPT then kept[table.remove(order, 1)] = nil end
end

---@param id string
---@return {response: table, input: table[], of: table}? of: the run, as a desk knows whose it is.
function answers.find(id)
  return kept[id]
end

--- The run of an answer that is at hand, as a desk knows whose it is.
---@param run string
---@return table?
function answers.of(run)
  for id, one in pairs(kept) do
    if id:match "^resp_(%w+)_" == run then return one.of end
  end
end

--- Forgets all of one run.
---@param run string
function answers.forget(run)
  for id in pairs(kept) do
    if id:match "^resp_(%w+)_" == run then kept[id] = nil end
  end
  for id, one in pairs(answers.live) do
    if id:match "^resp_(%w+)_" == run then one.forgotten = true end
  end
end

return answers
