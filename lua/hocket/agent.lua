--- Agents as files: a head in YAML between two lines `---`, then the system prompt.
---
---     ---
---     name: food
---     description: Restaurants and markets
---     tools: [specialist]
---     ---
---     You are the food specialist. Stay in your lane.
---
--- A definition is plain data and is never changed after it was loaded.
local core_document = require "hocket.core.document"
local document = require "hocket.document"
local fs = require "hocket.fs"
local json = require "hocket.json"
local nearest = require "hocket.nearest"
local system = require "hocket.core.system"
local tool = require "hocket.tool"
local yaml = require "hocket.yaml"

local agent = {}

---@class hocket.Agent
---@field name string
---@field description string
---@field display_name string
---@field prompt string The system prompt, unexpanded.
---@field prompt_line integer The line of the file that it begins on.
---@field file string
---@field model? string|string[] "provider/model"; of several the others are fallbacks, in order.
---@field tools string[]
---@field agents string[] The agents that it may call.
---@field variables table<string, any>

--- What the head may say: the type, and a check of the value that returns what is wrong.
local keys = {}

local function key(name, kind, check, default)
  keys[name] = { kind = kind, check = check, default = default }
end

local function between(low, high)
  return function(v)
    if v < low or v > high then return ("must be between %s and %s"):format(low, high) end
  end
end

local function at_least(low)
  return function(v)
    if v < low then return ("must be at least %s"):format(low) end
  end
end

-- "call_" and the name have to fit into the 64 characters of a tool's name.
local function is_name(v)
  if not v:find "^[%a_][%w_-]*$" or #v > 59 then
    return "must be a letter or _ followed by letters, digits, _ or -, 59 characters at most"
  end
end

local function is_document(v)
  local dimensions, wrong = document.from_list(v)
  if not dimensions then return "is no document: " .. wrong end
  local ok, err = pcall(core_document.new, dimensions)
  if not ok then return "is no document: " .. tostring(type(err) == "table" and err.message or err) end
end

key("name", "string", is_name)
key("description", "string")
key("display_name", "string")
key("model", "string or strings", function(v)
  for _, id in ipairs(type(v) == "table" and v or { v }) do
    if not id:find "^[%w_-]+/.+$" and id ~= "sim" then return "must be 'provider/model', as in openai/gpt-5-mini" end
  end
end)
key("retries", "integer", at_least(0))
key("temperature", "number", between(0, 2))
key("top_p", "number", between(0, 1))
key("top_k", "integer", at_least(1))
key("max_tokens", "integer", at_least(1))
key("stop", "strings")
key("seed", "integer", at_least(0))
key("reasoning", "string or integer")
key("tools", "strings")
key("agents", "strings")
key("max_turns", "integer", at_least(1))
key("max_tool_calls", "integer", at_least(0))
key("timeout", "number", at_least(0))
key("variables", "map")
key("document", "document", is_document)
key("task_limit", "integer", at_least(1))

local function is_list_of_strings(v)
  if type(v) ~= "table" then return false end
  for k, item in pairs(v) do
    if type(k) ~= "number" or type(item) ~= "string" then return false end
  end
  return true
end

local function is_scalar(v)
  return type(v) == "string" or type(v) == "number" or type(v) == "boolean"
end

local function is_map_of_scalars(v)
  if type(v) ~= "table" then return false end
  for k, item in pairs(v) do
    if type(k) ~= "string" or not is_scalar(item) then return false end
  end
  return true
end

local kinds = {
  ["string"] = function(v) return type(v) == "string" and v ~= "" end,
  ["number"] = function(v) return type(v) == "number" end,
  ["integer"] = function(v) return math.type(v) == "integer" end,
  ["string or integer"] = function(v) return type(v) == "string" or math.type(v) == "integer" end,
  ["strings"] = is_list_of_strings,
  ["string or strings"] = function(v) return type(v) == "string" and v ~= "" or is_list_of_strings(v) and #v > 0 end,
  ["map"] = is_map_of_scalars,
  ["document"] = function(v) return type(v) == "table" end,
}

local expected = {
  ["string"] = "a text",
  ["number"] = "a number",
  ["integer"] = "a whole number",
  ["string or integer"] = "a word or a whole number",
  ["strings"] = "a list of names, as in [one, two]",
  ["string or strings"] = "a name or a list of names, as in [one, two]",
  ["map"] = "names with values, one a line",
  ["document"] = "a list of dimensions, as in [{day: integer}, {part: [morning, evening]}]",
}

--- The keys of the head with their types, sorted: what `hocket check --help` shows.
---@return {name: string, kind: string}[]
function agent.keys()
  local list = {}
  for name, spec in pairs(keys) do list[#list + 1] = { name = name, kind = expected[spec.kind] } end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

-- ---- Reading one file --------------------------------------------------------------

-- A problem is what is wrong and where; several are collected before anybody is told.
local function problem(file, line, column, message)
  return { file = file, line = line, column = column, message = message }
end

local function place(places, pointer, fallback_line)
  local at = places[pointer]
  if at then return at[1], at[2] end
  return fallback_line or 1, 1
end

-- Splits a file's text into head, the head's first line, body, the body's first line.
local function split(text)
  local rest, line = text:gsub("^\239\187\191", ""), 1
  if rest:sub(1, 2) == "#!" then
    rest, line = rest:match "^[^\n]*\n?(.*)$", 2
  end
  rest = rest:gsub("\r\n", "\n")
  if not rest:find "^%-%-%-[ \t]*\n" then return nil, nil, rest, line end
  local head_start = rest:find("\n", 1, true) + 1
  local head_end, body_start
  local position = head_start
  while position <= #rest do
    local stop = rest:find("\n", position, true) or #rest + 1
    if rest:sub(position, stop - 1):find "^%-%-%-[ \t]*$" then
      head_end, body_start = position - 1, stop + 1
      break
    end
    position = stop + 1
  end
  if not head_end then return false, line end
  local head = rest:sub(head_start, head_end)
  local _, lines = rest:sub(1, body_start - 1):gsub("\n", "")
  return head, line + 1, rest:sub(body_start), line + lines
end

local function check_key(file, name, value, places, problems, more)
  local spec = keys[name]
  local line, column = place(places, "/" .. name)
  if not spec then
    line, column = place(places, "#/" .. name)
    local known = {}
    for k in pairs(keys) do known[#known + 1] = k end
    known[#known + 1] = more
    table.sort(known)
    local near = nearest(name, known)
    problems[#problems + 1] = problem(file, line, column, ("unknown key '%s'%s"):format(name,
      near and (": did you mean '%s'?"):format(near) or (" (there are: %s)"):format(table.concat(known, ", "))))
    return
  end
  local wrong = not kinds[spec.kind](value) and ("must be %s"):format(expected[spec.kind])
    or spec.check and spec.check(value)
  if wrong then
    problems[#problems + 1] = problem(file, line, column, ("'%s' %s"):format(name, wrong))
  end
end

local function file_name(path)
  return path:match "([^/]+)%.md$" or path:match "([^/]+)$" or path
end

-- The position that libyaml's or our own message begins with.
local function split_position(message)
  local line, column, rest = message:match "^(%d+):(%d+): (.*)$"
  return tonumber(line) or 1, tonumber(column) or 1, rest or message
end

local function build(def, file, body, body_line)
  local skipped = #body:match "^\n*"
  def.file = file
  def.name = def.name or file_name(file):gsub("[^%w_-]", "_")
  def.description = def.description or ""
  def.display_name = def.display_name or def.name
  def.tools, def.agents = def.tools or {}, def.agents or {}
  def.variables = def.variables or {}
  def.prompt = body:match("^.*%S", skipped + 1) or "" -- "%s+$" would take quadratic time
  def.prompt_line = body_line + skipped
  return def
end

-- Where a text stops being UTF-8, or nil.
local function find_bad_byte(text)
  local _, at = utf8.len(text)
  if not at then return nil end
  local before = text:sub(1, at - 1)
  local _, breaks = before:gsub("\n", "")
  return breaks + 1, #before:match "[^\n]*$" + 1
end

-- The head's keys and values with their places, or the problem.
local function read_head(head, head_line, file)
  local def, places = yaml.decode(head, head_line)
  if def == nil then
    local line, column, message = split_position(places.message)
    return nil, problem(file, line, column, message)
  elseif type(def) ~= "table" or json.is_array(def) then
    return nil, problem(file, head_line, 1, "the head must be keys with values, one a line, as in 'name: food'")
  end
  return def, places
end

--- Reads one agent from text.
---@param text string
---@param file string Its name, for messages.
---@return hocket.Agent? def
---@return {file: string, line: integer, column: integer, message: string}[] problems
---@return table<string, integer[]>? places Where the head's keys stand.
function agent.parse(text, file)
  local head, head_line, body, body_line = split(text)
  if head == false then
    return nil, { problem(file, head_line, 1, "the head is not closed: a second line '---' is missing") }
  end
  local bad_line, bad_column = find_bad_byte(text)
  if bad_line then
    return nil, { problem(file, bad_line, bad_column, "the file is not valid UTF-8") }
  end
  local def, places = {}, {}
  if head then
    def, places = read_head(head, head_line, file)
    if not def then return nil, { places } end
  end
  local problems = {}
  for name, value in pairs(def) do check_key(file, name, value, places, problems) end
  if #problems > 0 then
    table.sort(problems, function(a, b) return a.line < b.line end)
    return nil, problems
  end
  build(def, file, body, body_line)
  local wrong = is_name(def.name)
  if wrong then return nil, { problem(file, 1, 1, ("the file's name is the agent's: 'name' %s"):format(wrong)) } end
  return def, problems, places
end

--- Whether a text has a head, and so means to be an agent.
---@param text string
---@return boolean
function agent.has_head(text)
  return (split(text)) ~= nil
end

-- ---- Teams ----------------------------------------------------------------------------

local function check_references(def, team, places, problems)
  local names = {}
  for name in pairs(team) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(def.agents) do
    if not rawget(team, name) then
      local line, column = place(places, ("/agents/%d"):format(i - 1))
      local near = nearest(name, names)
      problems[#problems + 1] = problem(def.file, line, column, ("unknown agent '%s'%s"):format(name,
        near and (": did you mean '%s'?"):format(near) or (" (there are: %s)"):format(table.concat(names, ", "))))
    end
  end
  for i, name in ipairs(def.tools) do
    if type(name) == "string" and not tool.is_known(name) then
      local line, column = place(places, ("/tools/%d"):format(i - 1))
      local known = tool.names()
      local near = nearest(name, known)
      problems[#problems + 1] = problem(def.file, line, column, ("unknown tool '%s'%s"):format(name,
        near and (": did you mean '%s'?"):format(near) or (" (there are: %s)"):format(table.concat(known, ", "))))
    end
  end
end

local function list_files(dir, out)
  local names, err = fs.list(dir)
  if not names then return nil, err end
  for _, name in ipairs(names) do
    if name:sub(-1) == "/" then
      if name:sub(1, 1) ~= "." then
        local ok, failed = list_files(dir .. "/" .. name:sub(1, -2), out)
        if not ok then return nil, failed end
      end
    elseif name:sub(-3) == ".md" then
      out[#out + 1] = dir .. "/" .. name
    end
  end
  return out
end

-- Reads files into a team; the problems of all of them come back together.
local function read_files(files, only_with_head)
  local team, all_places, problems = {}, {}, {}
  for _, file in ipairs(files) do
    local text, err = fs.read(file, 1 << 20)
    local def, found, places
    if not text then
      found = { problem(file, 1, 1, err.message) }
    elseif only_with_head and not agent.has_head(text) then
      found = {} -- a README, say
    else
      def, found, places = agent.parse(text, file)
    end
    table.move(found, 1, #found, #problems + 1, problems)
    if def and team[def.name] then
      local line, column = place(places, "/name")
      problems[#problems + 1] = problem(file, line, column,
        ("the name '%s' is taken by %s"):format(def.name, team[def.name].file))
    elseif def then
      team[def.name], all_places[def.name] = def, places
    end
  end
  return team, all_places, problems
end

--- Reads agent files or directories of them, and checks them against each other.
---@param paths string[]
---@return table<string, hocket.Agent> team
---@return {file: string, line: integer, column: integer, message: string}[] problems
function agent.read(paths)
  local files, direct = {}, false
  for _, path in ipairs(paths) do
    local info, err = fs.info(path)
    if not info then
      return {}, { problem(path, 1, 1, err and err.message or "there is no such file or directory") }
    elseif info.kind == "directory" then
      local ok, failed = list_files(path:gsub("(.)/+$", "%1"), files)
      if not ok then return {}, { problem(path, 1, 1, failed.message) } end
    else
      files[#files + 1], direct = path, true
    end
  end
  local team, places, problems = read_files(files, not direct)
  if next(team) == nil and #problems == 0 then
    problems[1] = problem(paths[1] or ".", 1, 1, "there is no agent here: a .md file that begins with a line '---'")
  end
  local names = {}
  for name in pairs(team) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do check_references(team[name], team, places[name], problems) end
  return team, problems
end

--- Problems as text, one a line: "file:line:column: what".
---@return string
function agent.explain(problems)
  local lines = {}
  for i, p in ipairs(problems) do
    lines[i] = ("%s:%d:%d: %s"):format(p.file, p.line, p.column, p.message)
  end
  return table.concat(lines, "\n")
end

local function raise(problems)
  error(setmetatable({ code = "agent", message = agent.explain(problems), problems = problems },
    { __tostring = function(e) return e.message end }), 0)
end

local team_meta = {
  __index = function(team, name)
    local names = {}
    for known in pairs(team) do names[#names + 1] = known end
    table.sort(names)
    local near = type(name) == "string" and nearest(name, names)
    error(("there is no agent '%s'%s"):format(tostring(name),
      near and (": did you mean '%s'?"):format(near) or (" (there are: %s)"):format(table.concat(names, ", "))), 2)
  end,
}

-- A definition's team is kept beside it: definitions stay plain data.
local teams = setmetatable({}, { __mode = "k" })

local function join(team)
  for _, def in pairs(team) do teams[def] = team end
  return setmetatable(team, team_meta)
end

--- Loads a directory of agents (and what lies below it). Raises with file, line and column of
--- every problem.
---@param dir string
---@return table<string, hocket.Agent>
function agent.load_dir(dir)
  local team, problems = agent.read { dir }
  if #problems > 0 then raise(problems) end
  return join(team)
end

-- A file alone when it names no other agent; otherwise with all agents of its directory.
local function load_file(path)
  local team, problems = agent.read { path }
  local name, def = next(team)
  local dir = path:match "^(.*)/[^/]*$" or "."
  local info = fs.info(path)
  if info and info.kind == "directory" then
    raise { problem(path, 1, 1, "is a directory: use hocket.agents for a whole team") }
  elseif def and #def.agents > 0 then
    return agent.load_dir(dir)[name]
  end
  if #problems > 0 then raise(problems) end
  return join(team)[name]
end

--- Loads one agent file, or takes a definition as a table with the same keys plus `prompt`.
---@param what string|table
---@return hocket.Agent
function agent.load(what)
  if type(what) == "string" then return load_file(what) end
  if type(what) ~= "table" then
    error(("bad argument #1 to 'agent' (a file name or a table expected, got %s)"):format(type(what)), 2)
  end
  local def, problems = {}, {}
  for k, v in pairs(what) do
    if k ~= "team" then def[k] = v end
    if k ~= "prompt" and k ~= "team" and not (k == "tools" and type(v) == "table") then
      check_key(what.name or "agent", k, v, {}, problems, "prompt")
    end
  end
  if type(what.name) ~= "string" then problems[#problems + 1] = problem("agent", 1, 1, "'name' is missing") end
  if #problems > 0 then raise(problems) end
  local built = build(def, what.name, what.prompt or "", 1)
  local team = what.team or {}
  team[built.name] = built
  check_references(built, team, {}, problems)
  if #problems > 0 then raise(problems) end
  join(team)
  return built
end

local built_in

--- The agents that are compiled in: planner, conversation, file, shell, web, code.
---@return table<string, hocket.Agent>
function agent.built_in()
  if built_in then return built_in end
  local team, problems, places = {}, {}, {}
  for _, name in ipairs(system.assets "agents/") do
    local def, found, at = agent.parse(system.asset(name), name)
    table.move(found, 1, #found, #problems + 1, problems)
    if def then team[def.name], places[def.name] = def, at end
  end
  for name, def in pairs(team) do check_references(def, team, places[name], problems) end
  if #problems > 0 then raise(problems) end
  built_in = join(team)
  return built_in
end

--- The agents that a definition can refer to, by name.
---@param def hocket.Agent
---@return table<string, hocket.Agent>
function agent.team_of(def)
  return teams[def]
end

return agent
