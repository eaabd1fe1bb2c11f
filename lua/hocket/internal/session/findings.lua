--- What the agent that plans has read, for the agents that carry the plan out. It stands in a task whose plan names it, and answers the same
--- call of such an agent, once, while what it was read from is unchanged.
---
---     planner ── read_file a ──> result ── [finding 1]
---     task {findings: [1]} ──> its agent may call read_file a? a is as it was? ──> the result stands in the task
---     agent   ── read_file a ──> the same two questions ─────────────────────────> the result, without a call
---
--- Only a tool that says from what it reads (`source`) has findings, and such a tool only reads. A finding has the labels of its text, passes the
--- rules of whoever gets it, and is no reading that a later write could rely on: the same call once more is made.
---
--- In a saved plan stands which calls were made and not what they said: the call is made again there, by hocket, with the tool of whoever gets it.
local canonical = require "hocket.internal.base.canonical"
local effects = require "hocket.internal.base.effects"
local fence = require "hocket.fence"
local json = require "hocket.json"
local labels = require "hocket.internal.base.labels"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local system = require "hocket.internal.core.system"
local truncate = require "hocket.internal.base.truncate"

local findings = {}

--- Findings of one plan, and bytes of all of them.
local MOST, BYTES = 500, 8 << 20
--- Bytes of findings that stand in one task.
local SHOWN = 64 * 1024

---@class hocket.Finding What a plan says of one.
---@field tool string
---@field arguments table
---@field source string What it was read from, as the tool says it.
---@field labels? string[] Of its text.
---@field by? string Who has read it.

---@class hocket.Findings Of one plan.
local Findings = {}
Findings.__index = Findings

local function key_of(name, args)
  return name .. " " .. canonical(args)
end

local function bits_of(finding)
  local bits = finding.bits or 0
  for _, name in ipairs(finding.labels or {}) do bits = bits | labels.bit(name) end
  return bits
end

--- Findings of a plan that begins, or of one that goes on in another run: then nobody knows any more what they said.
---@param calls? hocket.Finding[] As Findings:calls gave them.
---@return hocket.Findings
function findings.new(calls)
  local self = setmetatable({ list = {}, by_key = {}, bytes = 0 }, Findings)
  for n, one in ipairs(calls or {}) do
    self.list[n] = { tool = one.tool, arguments = one.arguments, source = one.source, bits = bits_of(one), by = one.by }
    self.by_key[key_of(one.tool, one.arguments)] = n
  end
  return self
end

-- What a call reads from, by its tool's word; nil: it says nothing, or cannot. `kind`: "source" of what is read now, "source_now" of what was
-- read before, which no fork may remember (base/memory.lua).
local function source_of(kind, one, args, reader)
  if not one.source then return nil end
  local value = effects.run(kind, { tool = one.name, asked = effects.asked(args) }, function()
    local ok, text = pcall(one.source, args, reader)
    return ok and type(text) == "string" and system.digest(text) or false
  end, { reads = true, looks = true })
  return value or nil
end

--- Which call one is of, for people.
---@param finding hocket.Finding
---@return string
function findings.words(finding)
  local parts, names = {}, sorted_keys(finding.arguments)
  for i, name in ipairs(names) do
    local value = finding.arguments[name]
    value = type(value) == "table" and json.encode(value) or tostring(value)
    parts[i] = #names == 1 and value or ("%s %s"):format(name, value)
  end
  return truncate(("%s %s"):format(finding.tool, table.concat(parts, ", ")), 200)
end

-- ---- Who plans --------------------------------------------------------------------------------

local Reader = {}
Reader.__index = Reader

--- Of the session of an agent that plans: keeps what it reads.
---@return table
function Findings:reader()
  return setmetatable({ all = self }, Reader)
end

function Findings:add(one, args, text, source, bits, agent)
  local key = key_of(one.name, args)
  local n = self.by_key[key] or #self.list + 1
  local known = self.list[n]
  local bytes = self.bytes + #text - (known and known.text and #known.text or 0)
  if n > MOST or bytes > BYTES then return nil end
  self.bytes = bytes
  self.list[n], self.by_key[key] = { tool = one.name, set = one.set, arguments = args, text = text, source = source, bits = bits, by = agent }, n
  return n
end

--- Makes a call, and keeps its result.
---@async
---@param session hocket.Session
---@param one hocket.Tool
---@param args table
---@param make fun(marks: {bits: integer, bare?: integer}): string, boolean?, table[]?
---@return string text
---@return boolean? is_error
---@return table[]? media
---@return string? note Below the result.
function Reader:call(session, one, args, make)
  local source, marks = source_of("source", one, args, true), { bits = 0 }
  local text, is_error, media = make(marks)
  if is_error or media and media[1] or not source then return text, is_error, media end
  local n = self.all:add(one, args, text:sub(1, marks.bare or -1), source, marks.bits, session.permissions.agent)
  return text, is_error, media, n and ("\n[finding %d]"):format(n) or nil
end

local function as_call(one)
  return { tool = one.tool, arguments = one.arguments, source = one.source, labels = one.bits ~= 0 and json.array(labels.names(one.bits)) or nil, by = one.by }
end

--- All of them, as a plan has them.
---@return hocket.Finding[]
function Findings:calls()
  local list = json.array {}
  for n, one in ipairs(self.list) do list[n] = as_call(one) end
  return list
end

--- The numbers that a model has given a task, as its plan has them: which calls they were.
---@param numbers any[]
---@return hocket.Finding[]? list
---@return string? wrong
function Findings:named(numbers)
  local list, seen = json.array {}, {}
  for _, said in ipairs(numbers) do
    local one = self.list[math.tointeger(tonumber(said)) or 0]
    if not one then
      return nil, #self.list == 0 and "findings: nothing was read" or ("findings: there is no finding %s (there are: 1 to %d)"):format(json.encode(said), #self.list)
    end
    if not seen[one] then
      seen[one] = true
      list[#list + 1] = as_call(one)
    end
  end
  return list
end

--- Numbers of the findings that read a file of a list.
---@param paths string[]
---@return integer[] numbers
function Findings:about(paths)
  local wanted, numbers = {}, {}
  for _, path in ipairs(paths) do wanted[path:gsub("^%./", "")] = true end
  for n, one in ipairs(self.list) do
    local read = one.arguments.path
    if type(read) == "string" and wanted[read] then numbers[#numbers + 1] = n end
  end
  return numbers
end

-- ---- Who carries it out -------------------------------------------------------------------------

local User = {}
User.__index = User

--- Of the session of an agent with a task of the plan: answers calls by what was read.
---@return table
function Findings:user()
  return setmetatable({ all = self, given = {} }, User)
end

local function told(finding, reason)
  return { tool = finding.tool, arguments = truncate(json.encode(finding.arguments), 500), by = finding.by, reason = reason, bytes = finding.text and #finding.text or nil }
end

local function leave_out(session, finding, reason)
  session.emit("finding_left_out", told(finding, reason))
end

local function reused(session, finding, place)
  local event = told(finding)
  event.place = place
  session.emit("finding_reused", event)
end

-- The conversation has read it.
local function label(session, one, bits)
  local permissions = session.permissions
  if bits ~= 0 then permissions:label(bits, one.name, session.emit) end
  permissions:took_result(one, session.emit)
end

--- A call that was let in: its result as it was read, or as it is made.
---@async
---@param session hocket.Session
---@param one hocket.Tool
---@param args table
---@param make fun(): string, boolean?, table[]?
function User:call(session, one, args, make)
  local key = key_of(one.name, args)
  local finding = self.all.list[self.all.by_key[key] or 0]
  if not finding or not finding.text or finding.set ~= one.set or self.given[key] then return make() end
  self.given[key] = true
  local now = source_of("source_now", one, args)
  if now ~= finding.source then
    if now then leave_out(session, finding, "changed") end
    return make()
  end
  reused(session, finding, "call")
  local bits = bits_of(finding)
  if bits ~= 0 then session.permissions:label(bits, one.name, session.emit) end
  return finding.text, false, nil, "\n[as it was read while the plan was made, and unchanged. Before you change it read it once more.]"
end

-- The tool of a session, and the arguments as its call would have them; nil and why there is none.
local function prepared(session, finding)
  local one = session:tool_named(finding.tool)
  if not one or not one.source then return nil, "no such tool" end
  local ok, args = true, json.decode(json.encode(finding.arguments))
  if one.prepare then ok, args = pcall(one.prepare, args, session.context) end
  if not ok or not one.check(args) then return nil, "the arguments do not fit" end
  if not session.permissions:may_begin(one, args, effects.around()) then return nil, "denied" end
  return one, args
end

-- Of this run as it was read, of another one as it is read now; with the labels that it has then, whatever a plan's file says.
local function text_of(self, session, one, args, finding, read)
  local bits = bits_of(finding)
  local known = self.all.list[self.all.by_key[key_of(one.name, args)] or 0]
  if known and known.text and known.source == finding.source and known.set == one.set then return known.text, bits | bits_of(known) end
  local marks = { bits = bits }
  local text, is_error = read(session, one, args, marks)
  return not is_error and text or nil, marks.bits
end

local function show(self, session, finding, room, read)
  local one, args = prepared(session, finding)
  if not one then return nil, args end
  local now = source_of("source_now", one, args)
  if now ~= finding.source then return nil, now and "changed" or "not known" end
  local text, bits = text_of(self, session, one, args, finding, read)
  if not text then return nil, "changed" end
  if #text > room then return nil, "too long" end
  label(session, one, bits)
  self.given[key_of(one.name, args)] = true
  finding = setmetatable({ text = text }, { __index = finding })
  reused(session, finding, "task")
  local n = self.keeps and self.all:add(one, args, text, finding.source, bits, finding.by)
  return fence.wrap("result", findings.words(finding), text) .. (n and ("\n[finding %d]"):format(n) or ""), #text
end

--- Puts findings before what an agent is asked: the ones that it may read itself, and that are unchanged.
---@async
---@param session hocket.Session
---@param list hocket.Finding[]
---@param input string
---@param read fun(session: hocket.Session, one: hocket.Tool, args: table, marks: {bits: integer}): string, boolean? Makes a call.
---@return string input
function User:put_before(session, list, input, read)
  local parts, room = {}, math.min(SHOWN, session:result_room()) -- a small window has room for more than these
  for _, finding in ipairs(session.permissions and list or {}) do
    local shown, more = show(self, session, finding, room, read)
    if shown then
      parts[#parts + 1], room = shown, room - more
    else
      leave_out(session, finding, more)
    end
  end
  if not parts[1] then return input end
  return ("This was read while the plan was made, and is unchanged: you need not read it again, unless you change it. %s\n\n%s\n\n%s"):format(
    fence.note, table.concat(parts, "\n\n"), input)
end

--- The same for an agent that plans, of a plan that somebody else has made: its findings have numbers then.
---@async
function Reader:put_before(session, list, input, read)
  local user = self.all:user()
  user.keeps = true
  return user:put_before(session, list, input, read)
end

-- ---- In plans ---------------------------------------------------------------------------------------

local fields = { tool = "string", arguments = "table", source = "string", labels = "table", by = "string" }

local function wrong_one(one)
  if type(one) ~= "table" then return "which calls were made is expected" end
  for name, value in pairs(one) do
    if not fields[name] then return ("unknown key '%s' (there are: arguments, by, labels, source, tool)"):format(tostring(name)) end
    if type(value) ~= fields[name] then return ("%s: %s is expected"):format(name, fields[name] == "table" and "a list or map" or "a text") end
  end
  if not one.tool or not one.arguments or not one.source then return "tool, arguments and source are needed" end
  for _, name in ipairs(one.labels or {}) do
    if not labels.is_known(name) then return ("unknown label '%s'"):format(tostring(name)) end
  end
end

--- What is wrong with the findings of a task in a plan.
---@param list any
---@return string?
function findings.wrong(list)
  if type(list) ~= "table" or #list > 100 then return "a list of at most 100 is expected" end
  for name in pairs(list) do
    if math.type(name) ~= "integer" then return "a list is expected" end
  end
  for _, one in ipairs(list) do
    local wrong = wrong_one(one)
    if wrong then return wrong end
  end
end

return findings
