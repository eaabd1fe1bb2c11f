--- `hocket eval --from RUN|RECORDING|FOLDER`: makes cases from a durable run, a recording, or all recordings of a folder, as YAML to
--- edit. A case has the target and input, people's answers, the called tools, the beginning of the answer, and twice the used amounts
--- as limits. Cases of a recording are played from it.
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local recorded = require "hocket.internal.runner.recorded"
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

-- What answers in place of the models: it fits what these were asked then.
local function add_recording(add, from)
  if type(from.options.model) == "string" then add("    model: %s", quoted(from.options.model)) end
  if type(from.options.models) == "table" and next(from.options.models) then add("    models: %s", json.encode(from.options.models)) end
  if type(from.options.files) == "table" then add("%s", comment("it was given these files: put them beside this one, and name them in attach:\n" .. json.encode(from.options.files), 4)) end
  add("    replay: %s", quoted(from.recording))
end

local function say_answer(one)
  return type(one) == "table" and ("{tool: %s, say: %s}"):format(quoted(one.tool), one.say) or quoted(one)
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

---@param add fun(format: string, ...: any)
---@param from {name: string, target: string, input: string, options: table, recording?: string}
---@param seen hocket.SeenRun
local function write(add, from, seen)
  add("  - name: %s", quoted(from.name))
  add("    target: %s", quoted(fs.real(from.target) or from.target))
  if from.input ~= "" then add("    input: %s", scalar(from.input, 6)) end
  add_options(add, from.options)
  if from.recording then add_recording(add, from) end
  if #seen.answers > 0 then add "    answers:" end
  for _, one in ipairs(seen.answers) do add("      - %s", say_answer(one)) end
  add_expected(add, seen)
end

local function named_after(input, otherwise)
  return (truncate(first_line(input) or otherwise, 60, "…"):gsub("%c", " "))
end

local function writer()
  local lines = {}
  return lines, function(format, ...) lines[#lines + 1] = select("#", ...) > 0 and format:format(...) or format end
end

-- ---- Of a run that was kept ------------------------------------------------------------------------------

local function of_run(id)
  local row, err = stored.named(id)
  if not row then return nil, err end
  local options = stored.describe(row).options or {}
  if options.conversation then return stored.failure("unsupported", "run %s is a conversation: a case is made of one request", row.id) end
  local seen = recorded.seen()
  local ok, wrong = stored.each(row.id, function(record) seen:take(record.json) end)
  if not ok then return nil, wrong end
  if not seen.ended then return stored.failure("state", "run %s has not ended: hocket resume %s goes on with it", row.id, row.id) end
  local lines, add = writer()
  local input = row.input or ""
  add("# Made of the run %s. What is expected is what it did: leave what matters.", row.id)
  add "cases:"
  write(add, { name = named_after(input, row.id), target = row.target, input = input, options = options }, seen)
  return { text = table.concat(lines, "\n"), run = row.id }
end

-- ---- Of recordings ----------------------------------------------------------------------------------------

--- Bytes of a recording, and recordings of a folder.
local MAX_BYTES, MAX_FILES = 64 << 20, 1000

-- What a recording is the recording of; or why no case can be made of it.
local function read_recording(dir, name)
  local text, err = fs.read(dir .. "/" .. name, MAX_BYTES)
  if not text then return nil, err end
  if not recorded.is_recording(text) then return nil, { code = "invalid", message = name .. ": it is no recording (hocket run --record writes one)" } end
  local what, seen = recorded.read(text)
  if not what then return nil, { code = "unsupported", message = name .. ": it does not say of which run it is, as those of 'hocket run --record' do at their end: record it again" } end
  if what.options.conversation then return nil, { code = "unsupported", message = name .. ": it is of a conversation: a case is made of one request" } end
  if not seen then return nil, { code = "state", message = name .. ": the run was broken off" } end
  local input = what.input or ""
  return { name = named_after(input, name), target = what.target, input = input, options = what.options, recording = name, seen = seen }
end

-- Each case has a name of its own.
local function number_names(list)
  local taken = {}
  for _, one in ipairs(list) do
    local name, n = one.name, 1
    while taken[one.name] do
      n = n + 1
      one.name = ("%s (%d)"):format(name, n)
    end
    taken[one.name] = true
  end
end

local function write_all(dir, list, passed_over)
  local lines, add = writer()
  number_names(list)
  add("# Made of %s in %s: keep this file there. What is expected is what the runs did: leave what matters.", #list == 1 and "a recording" or #list .. " recordings", (dir:gsub("%c", " ")))
  for _, why in ipairs(passed_over) do add("%s", comment("left out: " .. why, 0)) end
  add "cases:"
  for _, one in ipairs(list) do write(add, one, one.seen) end
  return { text = table.concat(lines, "\n") }
end

-- What is no recording is something else that lies there; what is one and says too little is named.
local function of_folder(dir)
  local names, err = fs.list(dir)
  if not names then return nil, err end
  local list, passed_over = {}, {}
  for _, name in ipairs(names) do
    local info = fs.info(dir .. "/" .. name)
    if info and info.kind == "file" and #list < MAX_FILES then
      local one, why = read_recording(dir, name)
      list[#list + 1] = one
      if not one and why.code ~= "invalid" then passed_over[#passed_over + 1] = why.message end
    end
  end
  if #list == 0 then return stored.failure("invalid", "%s: of nothing in it a case can be made%s", dir, passed_over[1] and ": " .. passed_over[1] or " (hocket run --record FILE writes recordings)") end
  return write_all(dir, list, passed_over)
end

---@async
---@param args {from: string}
return function(args)
  local info = fs.info(args.from)
  if not info then return of_run(args.from) end
  if info.kind == "directory" then return of_folder(args.from) end
  local dir, name = args.from:match "^(.*)/([^/]*)$"
  local one, err = read_recording(dir or ".", name or args.from)
  if not one then return nil, err end
  return write_all(dir or ".", { one }, {})
end
