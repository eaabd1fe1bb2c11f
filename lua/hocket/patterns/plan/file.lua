--- Plans as files that people write and edit: Markdown or YAML, with the same fields.
---
---     ---
---     plan: garden house
---     ---
---
---     ## walls
---
---     - owner: mason
---     - after: [plot]
---     - check: test -s walls.txt
---
---     Plan the walls, and write them to walls.txt.
---
--- A file holds data alone: a check names a command, a file, a schema or a function, and never holds Lua.
local json = require "hocket.json"
local yaml = require "hocket.yaml"

local file = {}

--- Bytes of a plan's file.
file.LIMIT = 64 * 1024

-- What a step has in a file, and what that is in a plan, in the order in which it is written.
local fields = {
  { "owner", "specialist" }, { "after", "depends_on", list = true }, { "files", "files", list = true }, { "expected", "expected" },
  { "check", "check", any = true }, { "context", "context" }, { "active_form", "active_form" }, { "alternates", "alternates", list = true },
  { "findings", "findings", any = true },
}
local by_name = {}
for _, one in ipairs(fields) do by_name[one[1]] = one end

local head_fields = { plan = "string", description = "string", request = "string", user = "string", team = "string", execution_mode = "string", on_failure = "string", approve_plan = "boolean", steps = "table" }

--- Whether a text means to be a plan: its first key is `plan`, of the front matter or of the YAML.
---@param text string
---@return boolean
function file.is(text)
  local first = text:sub(1, 3) == "\239\187\191" and 4 or 1
  if text:find("^%-%-%-[ \t]*\r?\n", first) then return text:find("^%-%-%-[ \t]*\r?\nplan:[ \t]", first) ~= nil end
  for line in text:sub(first):gmatch "([^\n]*)\n?" do
    if not line:find "^%s*#" and line:find "%S" then return line:find "^plan:[ \t]" ~= nil end
  end
  return false
end

-- ---- Reading ----------------------------------------------------------------------------------

-- Problems are noted with the line that they are about.
local function noter(problems)
  return function(line, form, ...) problems[#problems + 1] = { line = line or 1, message = form:format(...) } end
end

local function line_of(places, pointer)
  local at = places[pointer]
  return at and at[1] or nil
end

local function read_yaml(text, first, say)
  local value, places = yaml.decode(text, first)
  if value == nil and type(places) == "table" and places.message then
    local line, message = tostring(places.message):match "(%d+):%d+: (.*)$"
    say(tonumber(line), "%s", message or tostring(places.message))
    return nil
  end
  if type(value) ~= "table" or value[1] ~= nil then
    say(first, "keys with values are expected")
    return nil
  end
  return value, places
end

-- An id may look like a number.
local function as_text(value)
  return math.type(value) == "integer" and tostring(value) or value
end

-- Returns what is wrong with it, too.
local function as_list(value)
  if type(value) == "string" and value:find ", " then return nil, ("several are a list: [%s]; one with a comma is one as well: [%s]"):format(value, json.encode(value)) end
  local list = json.array {}
  for i, one in ipairs(type(value) == "table" and json.is_array(value) and value or { value }) do
    list[i] = as_text(one)
    if type(list[i]) ~= "string" then return nil, "a list is expected, of texts" end
  end
  return list
end

local function read_field(step, name, value, say, line)
  local one = by_name[name]
  if not one then
    local names = {}
    for i, field in ipairs(fields) do names[i] = field[1] end
    return say(line, "unknown key '%s' of a step (there are: %s)", tostring(name), table.concat(names, ", "))
  end
  if one.list then
    local list, wrong = as_list(value)
    if not list then return say(line, "%s: %s", name, wrong) end
    value = list
  elseif not one.any and type(value) ~= "string" then
    return say(line, "%s: a text is expected", name)
  end
  step[one[2]] = value
end

-- `lines`: where steps begin, by id.
local function finish_step(step, say, line, lines)
  if type(step.id) == "string" then lines[step.id] = lines[step.id] or line or 1 end
  if type(step.id) ~= "string" or not step.id:find "%S" then say(line, "a step has no id") end
  if not step.specialist then say(line, "step '%s' has no owner", tostring(step.id)) end
  if type(step.description) ~= "string" or not step.description:find "%S" then say(line, "step '%s' says nothing of what to do", tostring(step.id)) end
  step.depends_on = step.depends_on or json.array {}
  return step
end

local function read_head(value, places, say)
  local head = {}
  for name, field in pairs(value) do
    local kind = head_fields[name]
    if not kind then say(line_of(places, "/" .. tostring(name)), "unknown key '%s' of a plan (plan, description, request, user, team, execution_mode, on_failure, approve_plan, steps)", tostring(name))
    elseif type(field) ~= kind or kind == "table" and not json.is_array(field) then say(line_of(places, "/" .. name), "%s: a %s is expected", name, kind == "string" and "text" or kind == "table" and "list" or kind)
    else head[name] = field end
  end
  if not head.plan then say(1, "the plan has no name: plan: NAME") end
  return head
end

local function steps_of_yaml(list, places, say, starts)
  local steps = json.array {}
  for i, one in ipairs(list) do
    local at = ("/steps/%d"):format(i - 1)
    local step = { id = type(one) == "table" and as_text(one.id) or nil, description = type(one) == "table" and one.description or nil }
    for name, value in pairs(type(one) == "table" and one or {}) do
      if name ~= "id" and name ~= "description" then read_field(step, name, value, say, line_of(places, at .. "/" .. tostring(name))) end
    end
    steps[i] = finish_step(step, say, line_of(places, at), starts)
  end
  return steps
end

-- The fields of a step in Markdown: the list right below its heading.
local function fields_of(lines, at, step, say)
  while lines[at] and lines[at]:find "^%s*$" do at = at + 1 end
  while lines[at] and lines[at]:find "^[-*+] [%a_]+:" do
    local first, parts = at, { lines[at]:sub(3) }
    at = at + 1
    while lines[at] and lines[at]:find "^%s+%S" do -- a value may go on, further in
      parts[#parts + 1] = lines[at]
      at = at + 1
    end
    local value = read_yaml(table.concat(parts, "\n"), first, say)
    for name, field in pairs(value or {}) do read_field(step, name, field, say, first) end
  end
  return at
end

local function text_between(lines, from, to)
  local parts = table.move(lines, from, to, 1, {})
  for i, line in ipairs(parts) do parts[i] = line:gsub("^\\(\\*#)", "%1"):gsub("^\\(\\*[-*+] )", "%1") end
  local text = table.concat(parts, "\n")
  return text:match "%S.*%S" or text:match "%S" or "" -- in linear time
end

local function steps_of_markdown(lines, say, starts)
  local steps, at = json.array {}, 1
  while lines[at] and not lines[at]:find "^## " do at = at + 1 end
  while lines[at] do
    local heading = at
    local step = { id = lines[at]:match "^## +(.-)%s*$" }
    at = fields_of(lines, at + 1, step, say)
    local from = at
    while lines[at] and not lines[at]:find "^## " do at = at + 1 end
    step.description = text_between(lines, from, at - 1)
    steps[#steps + 1] = finish_step(step, say, heading, starts)
  end
  return steps
end

local function split_lines(text)
  local lines = {}
  for line in (text:gsub("\r\n", "\n") .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  return lines
end

local function read_markdown(text, say, starts)
  local lines, last = split_lines(text), 2
  while lines[last] and not lines[last]:find "^%-%-%-%s*$" do last = last + 1 end
  local value, places = read_yaml(table.concat(lines, "\n", 2, last - 1), 2, say)
  if not value then return nil end
  local head = read_head(value, places, say)
  for i = 1, last do lines[i] = "" end
  head.steps = head.steps and steps_of_yaml(head.steps, places, say, starts) or steps_of_markdown(lines, say, starts)
  return head
end

--- Reads one.
---@param text string
---@return hocket.PlanFile? about
---@return {line: integer, message: string}[] problems Empty where it is read.
function file.read(text)
  local problems = {}
  local say = noter(problems)
  if #text > file.LIMIT then say(1, "a plan has %d bytes at most", file.LIMIT) return nil, problems end
  if not utf8.len(text) then say(1, "a plan has to be a text in UTF-8") return nil, problems end
  text = text:gsub("^\239\187\191", "")
  local head
  local starts, is_markdown = {}, text:find "^%-%-%-[ \t]*\r?\n" ~= nil
  if is_markdown then
    head = read_markdown(text, say, starts)
  else
    local value, places = read_yaml(text, 1, say)
    head = value and read_head(value, places, say)
    if head then head.steps = steps_of_yaml(head.steps or {}, places, say, starts) end
  end
  if head and #head.steps == 0 then say(1, is_markdown and "the plan has no steps: each begins with '## ID'" or "the plan has no steps: 'steps' is their list, each with id, owner and description") end
  if #problems > 0 then return nil, problems end
  local made = { type = "task", tasks = head.steps, execution_mode = head.execution_mode, on_failure = head.on_failure }
  return { plan = made, name = head.plan, description = head.description, request = head.request, user = head.user, team = head.team, approve_plan = head.approve_plan, lines = starts }, problems
end

-- ---- Writing ----------------------------------------------------------------------------------

local special = { ["true"] = true, ["false"] = true, null = true, yes = true, no = true, on = true, off = true, y = true, n = true }

-- JSON is YAML; what is plain without quotes is written so.
local function scalar(value)
  if type(value) ~= "string" then return json.encode(value) end
  if (value:find "^[%a_][%w_./ -]*$" or value:find "^%.%.?/[%w_./-]*$") and not special[value:lower()] and not value:find " $" then return value end
  return json.encode(value)
end

local flow

local function flow_map(value)
  local names, parts = {}, {}
  for name in pairs(value) do names[#names + 1] = tostring(name) end
  table.sort(names)
  for i, name in ipairs(names) do parts[i] = ("%s: %s"):format(scalar(name), flow(value[name])) end
  return "{" .. table.concat(parts, ", ") .. "}"
end

function flow(value)
  if type(value) ~= "table" then return scalar(value) end
  if value[1] == nil and next(value) ~= nil then return flow_map(value) end
  if next(value) == nil then return json.encode(value) end
  local parts = {}
  for i, one in ipairs(value) do parts[i] = flow(one) end
  return "[" .. table.concat(parts, ", ") .. "]"
end

local function is_said(value)
  return value ~= nil and value ~= "" and not (type(value) == "table" and next(value) == nil)
end

local function head_lines(about)
  local made, lines = about.plan, { "plan: " .. scalar(about.name) }
  for _, name in ipairs { "description", "request", "user", "team", "approve_plan" } do
    if is_said(about[name]) then lines[#lines + 1] = ("%s: %s"):format(name, scalar(about[name])) end
  end
  for _, name in ipairs { "execution_mode", "on_failure" } do
    if is_said(made[name]) then lines[#lines + 1] = ("%s: %s"):format(name, scalar(made[name])) end
  end
  return lines
end

-- A line of a description that would be a heading, or a field, is none.
local function escaped(text)
  return ("\n" .. text):gsub("\n(\\*#)", "\n\\%1"):gsub("\n(\\+[-*+] )", "\n\\%1"):gsub("\n([-*+] [%a_]+:)", "\n\\%1"):sub(2)
end

-- A model chooses ids: an id of several lines would be steps and fields of its own.
local function heading_of(id, taken)
  local plain, n = id:gsub("[%c%s]+", " "):match "^ ?(.-) ?$", 1
  plain = plain ~= "" and plain or "step"
  local free = plain
  while taken[free] do
    n = n + 1
    free = ("%s %d"):format(plain, n)
  end
  taken[free] = true
  return free
end

-- The steps with ids of one line, which the steps after them name.
local function with_headings(tasks)
  local ids, taken, list = {}, {}, {}
  for _, task in ipairs(tasks) do ids[task.id] = heading_of(task.id, taken) end
  for i, task in ipairs(tasks) do
    local copy, after = {}, json.array {}
    for name, field in pairs(task) do copy[name] = field end
    for j, id in ipairs(task.depends_on or {}) do after[j] = ids[id] or heading_of(id, {}) end
    copy.id, copy.depends_on = ids[task.id], after
    list[i] = copy
  end
  return list
end

--- As Markdown.
---@param about hocket.PlanFile
---@return string
function file.to_markdown(about)
  local lines = { "---" }
  for _, line in ipairs(head_lines(about)) do lines[#lines + 1] = line end
  lines[#lines + 1] = "---\n"
  for _, task in ipairs(with_headings(about.plan.tasks)) do
    lines[#lines + 1] = ("## %s\n"):format(task.id)
    for _, one in ipairs(fields) do
      local value = task[one[2]]
      if is_said(value) then lines[#lines + 1] = ("- %s: %s"):format(one[1], flow(value)) end
    end
    lines[#lines + 1] = ("\n%s\n"):format(escaped(task.description))
  end
  return table.concat(lines, "\n")
end

-- A longer text as a block, where YAML reads it back as it is.
local function block(value, indent)
  local plain = value:find "\n" and not value:find "^%s" and not value:find "%s$" and not value:find "[%z\1-\8\11-\31\127]" and not value:find "[ \t]\n"
  if not plain then return json.encode(value) end
  return "|-\n" .. indent .. value:gsub("\n([^\n])", "\n" .. indent .. "%1")
end

--- As YAML.
---@param about hocket.PlanFile
---@return string
function file.to_yaml(about)
  local lines = head_lines(about)
  lines[#lines + 1] = "steps:"
  for _, task in ipairs(with_headings(about.plan.tasks)) do
    lines[#lines + 1] = "  - id: " .. json.encode(task.id)
    for _, one in ipairs(fields) do
      local value = task[one[2]]
      if is_said(value) then lines[#lines + 1] = ("    %s: %s"):format(one[1], flow(value)) end
    end
    lines[#lines + 1] = "    description: " .. block(task.description, "      ")
  end
  return table.concat(lines, "\n") .. "\n"
end

return file
