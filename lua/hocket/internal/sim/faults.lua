--- What can go wrong with the scripted model: a table of faults, each of which harms one answer.
---
--- A fault works on one of three things, and so has one of three functions:
---   status(harm) -> status, headers, detail, message   an error answer in place of the reply
---   reply(reply, request, generator)                   another reply: what a model gets wrong
---   plan(plan, harm)                                   another way for the bytes to go out
--- `harm` is {protocol, request, random, wait}; a plan is as in delivery.lua.
local delivery = require "hocket.internal.sim.delivery"
local error_answers = require "hocket.internal.sim.error_answers"
local json = require "hocket.json"
local suggest = require "hocket.internal.base.suggest"
local wire = require "hocket.internal.sim.wire"

local faults = {}

local forms, status = error_answers.forms, error_answers.status

-- ---- Wrong answers ------------------------------------------------------------------------

local function copy(object, changes)
  local new = {}
  for name, value in pairs(object) do new[name] = value end
  for name, value in pairs(changes) do new[name] = value end
  return new
end

-- Every call, or only the first, through fn.
local function with_calls(reply, fn, only_first)
  local calls = {}
  for i, call in ipairs(reply.calls or {}) do calls[i] = (i == 1 or not only_first) and fn(call, i) or call end
  return copy(reply, { calls = #calls > 0 and calls or nil })
end

local function same_ids(reply, _, generator)
  local id = "call_" .. generator:token(24)
  return with_calls(reply, function(call) return copy(call, { id = id }) end)
end

local function no_ids(reply)
  return with_calls(reply, function(call) return copy(call, { id = "" }) end)
end

local function unknown_tool(reply, request, generator)
  local name = "no_such_tool_" .. generator:token(4):lower()
  if reply.calls then
    return with_calls(reply, function(call) return copy(call, { name = name }) end, true)
  elseif next(request.tools) then
    return copy(reply, { calls = { { name = name, arguments = {} } } })
  end
  return reply
end

local function wrong_arguments(reply)
  return with_calls(reply, function(call) return copy(call, { arguments = { no_such_argument = true } }) end, true)
end

-- Where arguments are objects, text that is none cannot be said.
local function bad_json(reply, request)
  if request.protocol == "gemini" or request.protocol == "ollama" then return wrong_arguments(reply) end
  if (request.protocol == "anthropic" or request.protocol == "bedrock") and not request.stream then return wrong_arguments(reply) end
  return with_calls(reply, function(call)
    local text = wire.arguments_text(call.arguments)
    return copy(call, { arguments = text:sub(1, math.max(1, #text - 1)) })
  end, true)
end

local function nothing(reply)
  return copy(reply, { text = "", calls = false, reasoning = false, refusal = false })
end

local function half(text)
  return text:sub(1, (utf8.offset(text, 0, #text // 2 + 1) or 1) - 1)
end

local function cut_by_limit(reply)
  return copy(reply, { text = half(reply.text or ""), finish = "length" })
end

local function filtered(reply)
  return copy(nothing(reply), { finish = "content_filter" })
end

local function broken_off(reply)
  return copy(reply, { text = half(reply.text or ""), calls = false, finish = "error" })
end

local function unsaid(reply)
  return copy(reply, { finish = "" })
end

-- ---- Broken streams -------------------------------------------------------------------------

-- Breaks the JSON of one piece.
local function malformed(plan, harm)
  local candidates = {}
  for i, piece in ipairs(plan.pieces) do
    if piece:find("{", 1, true) then candidates[#candidates + 1] = i end
  end
  local i = harm.random:pick(candidates)
  plan.pieces[i] = plan.pieces[i]:gsub('":', '"=', 1)
end

local function insert(plan, position, piece)
  table.insert(plan.pieces, math.min(position, #plan.pieces), piece)
end

local function stray(plan, harm)
  if plan.stream then insert(plan, 1 + #plan.pieces // 2, harm.protocol.stray(harm)) end
end

-- An error in a stream ends it.
local function error_at(fraction)
  return function(plan, harm)
    if not plan.stream then
      plan.pieces = { json.encode(harm.protocol.error(503, "Overloaded (simulated)")) }
      return
    end
    local keep = math.floor(#plan.pieces * fraction)
    plan.pieces = table.move(plan.pieces, 1, keep, 1, {})
    plan.pieces[keep + 1] = harm.protocol.stream_error "Overloaded (simulated)"
  end
end

local function cut(ending)
  return function(plan, harm) delivery.cut(plan, harm.random, ending) end
end

local function ends_at_once(ending)
  return function(plan) plan.pieces, plan.ending, plan.headless = {}, ending, true end
end

local function drip(plan)
  plan.pieces, plan.pause = wire.pieces(table.concat(plan.pieces), 5), 0.001
end

local function html(plan)
  plan.content_type = "text/html"
  plan.pieces = { "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in to continue</body></html>" }
end

-- ---- The table --------------------------------------------------------------------------------

---@type {name: string, kind: "status"|"model"|"stream"|"connection", text: string}[]
faults.list = {
  { name = "429", kind = "status", text = "a rate limit, in one of the forms below", status = forms.any },
  { name = "429-seconds", kind = "status", text = "Retry-After in seconds", status = forms["429-seconds"] },
  { name = "429-date", kind = "status", text = "Retry-After as a date", status = forms["429-date"] },
  { name = "429-ms", kind = "status", text = "Retry-After-Ms", status = forms["429-ms"] },
  { name = "429-headers", kind = "status", text = "only the headers of the limits say when", status = forms["429-headers"] },
  { name = "429-body", kind = "status", text = "the body says when, as Gemini's does", status = forms["429-body"] },
  { name = "quota", kind = "status", text = "429: the quota is used up; waiting does not help",
    status = status(429, "You exceeded your current quota (simulated)", nil, { quota = true }) },
  { name = "401", kind = "status", text = "the key is refused", status = status(401, "Invalid API key (simulated)") },
  { name = "408", kind = "status", text = "request timeout", status = status(408, "Request timeout (simulated)") },
  { name = "500", kind = "status", text = "internal error", status = status(500, "Internal error (simulated)") },
  { name = "502", kind = "status", text = "a gateway's page of HTML", html = true, status = status(502, "Bad gateway") },
  { name = "503", kind = "status", text = "overloaded, with Retry-After", status = forms.unavailable },
  { name = "529", kind = "status", text = "overloaded, as Anthropic says it", status = status(529, "Overloaded (simulated)") },

  { name = "same-ids", kind = "model", text = "all calls of the answer have one id", reply = same_ids },
  { name = "no-ids", kind = "model", text = "calls have no id", reply = no_ids },
  { name = "unknown-tool", kind = "model", text = "a call of a tool that does not exist", reply = unknown_tool },
  { name = "wrong-arguments", kind = "model", text = "arguments that do not fit the tool", reply = wrong_arguments },
  { name = "bad-json", kind = "model", text = "arguments that are no JSON", reply = bad_json },
  { name = "nothing", kind = "model", text = "an answer without text or calls", reply = nothing },
  { name = "length", kind = "model", text = "the token limit cuts the answer in half", reply = cut_by_limit },
  { name = "filter", kind = "model", text = "the content filter takes the answer", reply = filtered },
  { name = "broken-off", kind = "model", text = "half an answer, and the provider's word for one that failed", reply = broken_off },
  { name = "unsaid", kind = "model", text = "the answer ends as a whole one, without a reason for its end", reply = unsaid },

  { name = "malformed", kind = "stream", text = "the JSON of one event is broken", plan = malformed },
  { name = "unknown-id", kind = "stream", text = "a piece of a call that was never begun", plan = stray },
  { name = "error-first", kind = "stream", text = "status 200, then an error as the first event", plan = error_at(0) },
  { name = "error-middle", kind = "stream", text = "an error in the middle of the stream", plan = error_at(0.5) },
  { name = "cut", kind = "stream", text = "the stream ends at any byte before its end", plan = cut "finish" },
  { name = "stall", kind = "stream", text = "silence from any byte on", plan = cut "hang" },
  { name = "keep-alive", kind = "stream", text = "nothing but signs of life from any event on", plan = cut "comments" },
  { name = "drip", kind = "stream", text = "five bytes at a time, a millisecond apart", plan = drip },
  { name = "html", kind = "stream", text = "status 200 and a page of HTML", plan = html },
  { name = "empty", kind = "stream", text = "status 200 and no body", plan = function(plan) plan.pieces = {} end },

  { name = "drop", kind = "connection", text = "the connection ends at any byte", plan = cut "eof" },
  { name = "reset", kind = "connection", text = "the connection is reset before the answer", plan = ends_at_once "reset" },
  { name = "eof", kind = "connection", text = "the connection ends before the answer", plan = ends_at_once "eof" },
  { name = "silent", kind = "connection", text = "no answer at all", plan = ends_at_once "hang" },
}

local by_name, kinds = {}, { all = faults.list }
for _, fault in ipairs(faults.list) do
  by_name[fault.name] = fault
  kinds[fault.kind] = kinds[fault.kind] or {}
  table.insert(kinds[fault.kind], fault)
end

--- The faults that a list of names and kinds separated by commas means: "429,cut,model", "all";
--- "status:418" is that status.
---@param spec string
---@return table[]? faults
---@return string? wrong
function faults.parse(spec)
  local chosen = {}
  for name in spec:gmatch "[^,%s]+" do
    local code = math.tointeger(tonumber(name:match "^status:(%d%d%d)$"))
    if code and code >= 400 then
      chosen[#chosen + 1] = { name = name, kind = "status", status = status(code, "A simulated error") }
    elseif by_name[name] or kinds[name] then
      table.move(kinds[name] or { by_name[name] }, 1, kinds[name] and #kinds[name] or 1, #chosen + 1, chosen)
    else
      local names = { "all" }
      for known in pairs(by_name) do names[#names + 1] = known end
      local near = suggest(name, names)
      return nil, ("there is no fault '%s'%s"):format(name, near and (": did you mean '%s'?"):format(near)
        or "; `hocket sim --help` lists them")
    end
  end
  return chosen
end

--- One of the faults, or nil: at a rate of 1 always one.
---@param chosen table[]
---@param rate number
---@param generator hocket.Random
function faults.draw(chosen, rate, generator)
  if #chosen == 0 or generator:float() >= rate then return nil end
  return generator:pick(chosen)
end

--- The table for people.
---@return string
function faults.help()
  local lines = {}
  for _, fault in ipairs(faults.list) do lines[#lines + 1] = ("  %-16s %s"):format(fault.name, fault.text) end
  return table.concat(lines, "\n")
end

return faults
