--- Saved plans as drafts: a plan of the folder `plans` whose request is like a new one.
---
---     the same words ──> it is the plan, without a model call
---     like it        ──> the planner reads it beside the request
---
--- A draft needs the approval that a new plan needs, and is marked there. It tells agents what to do, so that a person has to trust its file.
local events = require "hocket.events"
local fence = require "hocket.fence"
local orchestrate = require "hocket.orchestrate"
local plan = require "hocket.patterns.plan"

local drafts = {}

--- The part of the words that two requests have in common.
local LIKE = 0.5
--- Where saved plans are.
local FOLDER = "plans"

local function words_of(text)
  local set, count = {}, 0
  for word in text:lower():gmatch "[%w\128-\255]+" do
    if not set[word] then set[word], count = true, count + 1 end
  end
  return set, count
end

--- How much two texts have in common, from 0 to 1: words of both, of all of them.
---@param a string
---@param b string
---@return number
function drafts.likeness(a, b)
  local one, n = words_of(a)
  local other, m = words_of(b)
  local both = 0
  for word in pairs(one) do both = both + (other[word] and 1 or 0) end
  return n + m > both and both / (n + m - both) or 0
end

local function plain(text)
  return (text:lower():gsub("%s+", " "):match "^ ?(.-) ?$")
end

-- Whether these specialists can carry it out.
local function fits(about, specialists, team, compiled)
  return compiled:check(about.plan, "the plan does not fit") and plan.check(about.plan, specialists, nil, team) == nil
end

-- A plan that was made for one end user of a server is nobody else's draft.
local function is_for(about, run)
  return about.user == nil or about.user == run.options.memory_of
end

local function admitted(path)
  local ok, refused = orchestrate.admit_text(path)
  if not ok then events.emit("warning", { message = ("the saved plan is left out: %s"):format(refused.message) }) end
  return ok
end

--- The saved plan whose request is most like this one.
---@async
---@param request string
---@param specialists string[]
---@param team table<string, hocket.Agent>
---@param compiled userdata The schema of a plan.
---@param folder? string Of saved plans; `plans`.
---@return {name: string, request: string, plan: hocket.Plan, path: string, same: boolean, approve_plan?: boolean}?
function drafts.find(request, specialists, team, compiled, folder)
  local best, most
  local run = orchestrate.current_run()
  for _, file in ipairs(orchestrate.project_texts(folder or FOLDER)) do
    local about = plan.is_file(file.text) and plan.parse(file.text)
    local like = about and about.request and is_for(about, run) and drafts.likeness(request, about.request) or 0
    if like >= LIKE and (not most or like > most) and fits(about, specialists, team, compiled) then
      best, most = about, like
      best.path, best.same = file.path, plain(request) == plain(about.request)
    end
  end
  if not best or not admitted(best.path) then return nil end
  events.emit("draft_found", { name = best.name, path = best.path, same = best.same })
  return best
end

--- What the planner reads of it.
---@return string
function drafts.framed(draft)
  return ("A saved plan worked for a request like this one (%s). Use what fits, and change what differs:\n%s"):format(draft.request,
    fence.wrap("result", "plan " .. draft.name, plan.describe(draft.plan)))
end

--- How the plan is marked that a person approves.
---@return string
function drafts.shown(draft)
  if not draft.same then return ("Made after the saved plan '%s' (for: %s)."):format(draft.name, draft.request) end
  return ("A draft: the saved plan '%s' (for: %s). Answer 'new' for a new plan."):format(draft.name, draft.request)
end

return drafts
