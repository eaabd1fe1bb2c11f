--- `hocket eval --from RUN`: a case made of a run that was kept, as YAML that is to be edited: its target and its input, what people
--- answered, which tools it called, how its answer begins, and twice of what it used.
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local stored = require "hocket.internal.commands.stored"
local truncate = require "hocket.internal.base.truncate"

-- ---- YAML --------------------------------------------------------------------------------------------

-- JSON texts are texts of YAML, too.
local function quoted(value)
  return json.encode(type(value) == "string" and value or tostring(value))
end

-- A text that stands as it is, line by line; else in quotes.
local function scalar(text, indent)
  local plain = text:find "\n." and not text:find "^[\n ]" and not text:find "[%z\1-\9\11-\31\127]" and not text:find "[^\n]\n*\n\n$" and not text:find "[\xC2][\x80-\x9F]"
  if not plain then return quoted(text) end
  local mark = text:sub(-1) == "\n" and "|" or "|-"
  return mark .. "\n" .. (text:gsub("\n$", ""):gsub("[^\n]+", (" "):rep(indent) .. "%0"))
end

-- What was said, as lines of a comment.
local function comment(text, indent)
  local blank = (" "):rep(indent) .. "# "
  return blank .. (text:gsub("[%z\1-\9\11-\31\127]", " "):gsub("\n", "\n" .. blank))
end

-- ---- What the run did ----------------------------------------------------------------------------------

local takes = {}

function takes.final_answer(seen, event) seen.answer = event.content end

function takes.error(seen, event) seen.error = event.code end

function takes.tool_call(seen, event)
  if not seen.times[event.tool] then seen.tools[#seen.tools + 1] = event.tool end
  seen.times[event.tool] = (seen.times[event.tool] or 0) + 1
end

function takes.approval_requested(seen, event) seen.asked[event.id or ""] = event.tool end

function takes.approval_answered(seen, event)
  local tool = event.id and seen.asked[event.id]
  if tool and not seen.allowed[tool .. event.decision] then
    seen.allowed[tool .. event.decision] = true
    seen.answers[#seen.answers + 1] = ("{tool: %s, say: %s}"):format(quoted(tool), event.decision == "allow" and "allow" or "deny")
  end
end

function takes.question_answered(seen, event)
  if type(event.text) == "string" and event.text ~= "" then seen.answers[#seen.answers + 1] = quoted(event.text) end
end

function takes.workflow_finished(seen, event)
  seen.ended, seen.usage = true, type(event.usage) == "table" and event.usage or {}
end

-- Records may be anything: what does not fit is passed over.
local function read(id)
  local seen = { tools = {}, times = {}, answers = {}, asked = {}, allowed = {}, usage = {} }
  local ok, err = stored.each(id, function(record)
    local event = json.decode(record.json)
    local take = type(event) == "table" and takes[event.type]
    if take then pcall(take, seen, event) end
  end)
  return ok and seen, err
end

-- ---- The case ------------------------------------------------------------------------------------------

local function first_line(text)
  return text:match "([^\n]*%S[^\n]*)"
end

local function add_options(add, options)
  if type(options.variables) == "table" and next(options.variables) then add("    variables: %s", json.encode(options.variables)) end
  local approve = type(options.approve) == "table" and json.is_array(options.approve) and #options.approve > 0 and options.approve
  if approve then add("    approve: %s", json.encode(approve)) end
  if math.type(options.max_turns) == "integer" then add("    max_turns: %d", options.max_turns) end
end

local function add_expected(add, seen)
  add "    expect:"
  local answer = type(seen.answer) == "string" and seen.answer or ""
  if seen.error then
    add("      error: %s", quoted(seen.error))
  elseif answer:find "%S" then
    add("      contains: %s", quoted(first_line(answer)))
    add("%s", comment("the whole answer was:\n" .. truncate(answer, 4000, "…"), 6))
  end
  if #seen.tools > 0 then add "      calls:" end
  for _, tool in ipairs(seen.tools) do
    add("        - %s%s", quoted(tool), seen.times[tool] > 1 and ("   # %d times"):format(seen.times[tool]) or "")
  end
  local usage = seen.usage
  local limits = { ("turns: %d"):format(math.max(2, 2 * (math.tointeger(usage.calls) or 0))) }
  local tokens = (math.tointeger(usage.input) or 0) + (math.tointeger(usage.output) or 0)
  if tokens > 0 then limits[#limits + 1] = ("tokens: %d"):format(2 * tokens) end
  if type(usage.cost) == "number" and usage.cost > 0 then limits[#limits + 1] = ("cost: %.4g"):format(2 * usage.cost) end
  add("      limits: {%s}", table.concat(limits, ", "))
end

local function write(row, seen)
  local lines = {}
  local function add(format, ...) lines[#lines + 1] = select("#", ...) > 0 and format:format(...) or format end
  local options = stored.describe(row).options or {}
  local input = row.input or ""
  add("# Made of the run %s. What is expected is what it did: leave what matters.", row.id)
  add "cases:"
  add("  - name: %s", quoted((truncate(first_line(input) or row.id, 60, "…"):gsub("%c", " "))))
  add("    target: %s", quoted(fs.real(row.target) or row.target))
  if input ~= "" then add("    input: %s", scalar(input, 6)) end
  add_options(add, options)
  if #seen.answers > 0 then add "    answers:" end
  for _, answer in ipairs(seen.answers) do add("      - %s", answer) end
  add_expected(add, seen)
  return table.concat(lines, "\n")
end

---@async
---@param args {from: string}
return function(args)
  local row, err = stored.find(args.from)
  if not row then return nil, err end
  local options = stored.describe(row).options or {}
  if options.conversation then return stored.failure("unsupported", "run %s is a conversation: a case is made of one request", row.id) end
  local seen, wrong = read(row.id)
  if not seen then return nil, wrong end
  if not seen.ended then return stored.failure("state", "run %s has not ended: hocket resume %s goes on with it", row.id, row.id) end
  return { text = write(row, seen), run = row.id }
end
