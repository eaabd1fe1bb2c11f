--- From a file's text to a definition: the front matter between two lines `---`, in YAML, and below it the
--- system prompt. Pure: what comes out depends on the text and the name alone.
local formats = require "hocket.internal.base.lazy" "hocket.internal.agents.formats"
local json = require "hocket.json"
local keys = require "hocket.internal.agents.keys"
local kinds = require "hocket.internal.agents.kinds"
local problem = require "hocket.internal.agents.problem"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"
local yaml = require "hocket.yaml"

local read = {}

--- Bytes of an agent's file.
read.LIMIT = 1 << 20

-- ---- Front matter and body ---------------------------------------------------------------------------

-- Of what most files are: the front matter comes first, and lines end as they should.
local function split_plain(text)
  local from = not text:find("\r", 1, true) and text:match "^%-%-%-[ \t]*\n()"
  local last = from and from - 1
  while last do
    local stop = text:match("^%-%-%-[ \t]*()", last + 1)
    local after = stop and text:byte(stop)
    if stop and (after == 10 or not after) then
      local frontmatter = text:sub(from, last)
      local _, lines = frontmatter:gsub("\n", "")
      return frontmatter, after and lines + 3 or lines + 2, after and stop + 1 or stop
    end
    last = text:find("\n---", last + 1, true)
  end
end

-- Where front matter begins: behind a byte order mark, a line for the shell, blank lines and comments, as of a licence. nil: there is none.
local function front_of(text)
  if text:byte(1) == 45 then return text:find "^%-%-%-[ \t]*[\r\n]" and 1 end -- as most files do
  local at = text:match "^\239\187\191()" or 1
  at = text:match("^#![^\n]*\n?()", at) or at
  while true do
    at = text:match("^\r?\n()", at) or at
    local stop = text:find("^<!%-%-", at) and select(2, text:find("-->", at + 4, true))
    local after = stop and text:match("^[ \t]*\r?\n()", stop + 1)
    if not after and not text:find("^\r?\n", at) then break end
    at = after or at
  end
  return text:find("^%-%-%-[ \t]*[\r\n]", at) and at
end

-- Splits a file's text into front matter, its first line, body, the body's first line. Without
-- front matter the first is nil; with some that does not end it is false.
local function split(text)
  local rest, line = text:gsub("^\239\187\191", ""), 1
  local front = front_of(text)
  if front then
    rest, line = text:sub(front), 1 + select(2, text:sub(1, front - 1):gsub("\n", ""))
  elseif rest:sub(1, 2) == "#!" then
    rest, line = rest:match "^[^\n]*\n?(.*)$", 2
  end
  rest = rest:gsub("\r\n", "\n")
  if not front then return nil, nil, rest, line end
  local frontmatter_start = (rest:find("\n", 1, true) or #rest) + 1
  local frontmatter_end, body_start
  local position = frontmatter_start
  while position <= #rest do
    local stop = rest:find("\n", position, true) or #rest + 1
    if rest:sub(position, stop - 1):find "^%-%-%-[ \t]*$" then
      frontmatter_end, body_start = position - 1, stop + 1
      break
    end
    position = stop + 1
  end
  if not frontmatter_end then return false, line end
  local frontmatter = rest:sub(frontmatter_start, frontmatter_end)
  local _, lines = rest:sub(1, body_start - 1):gsub("\n", "")
  return frontmatter, line + 1, rest:sub(body_start), line + lines
end

--- Whether a text has front matter, and so means to be an agent. That of a plan begins with the key `plan`.
---@param text string
---@return boolean
function read.has_frontmatter(text)
  local at = front_of(text)
  return at ~= nil and not text:find("^%-%-%-[ \t]*\r?\nplan:[ \t]", at)
end

--- Whether a text looks as if it meant to be an agent, and is none since something stands before its front matter.
---@param text string
---@return integer? line Of the front matter.
function read.hidden_frontmatter(text)
  local head = text:sub(1, 4096)
  local at = not front_of(text) and head:match "\n()%-%-%-[ \t]*\r?\n[%w_]+:[^\n]*\n"
  local has_keys = at and (head:find("\nname:", at, true) or head:find("\ndescription:", at, true))
  return has_keys and 1 + select(2, head:sub(1, at - 1):gsub("\n", "")) or nil
end

-- ---- Values -------------------------------------------------------------------------------------

-- "/team/members/0" as people say it: team.members[1].
local function label(pointer)
  local name = pointer:sub(2):gsub("/(%d+)%f[/\0]", function(i) return ("[%d]"):format(i + 1) end):gsub("/", ".")
  return (name:gsub("~1", "/"):gsub("~0", "~"))
end

local Context = {}
Context.__index = Context

-- What kinds are given: where problems go, and what is found beside the values.
local function new_context(file, places, from_lua)
  return setmetatable({ file = file, places = places, from_lua = from_lua, problems = {}, wanted = {} }, Context)
end

--- Notes a problem. A pointer that begins with "#" is for a key itself, and its message stands alone.
function Context:say(pointer, message, code, about)
  local line, column = problem.place(self.places, pointer)
  if pointer:sub(1, 1) ~= "#" then message = ("'%s' %s"):format(label(about or pointer), message) end
  local one = problem.new(self.file, line, column, code or "value", message)
  self.problems[#self.problems + 1] = one
  return one
end

--- Notes what is odd, and does no harm.
function Context:warn(pointer, message, code)
  self:say(pointer, message, code).severity = "warning"
end

--- What stands at one pointer after reading stood at another in the file.
function Context:same_place(pointer, was)
  self.places[pointer] = self.places[was]
end

-- ---- Definitions --------------------------------------------------------------------------------

local function file_name(path)
  return path:match "([^/]+)%.md$" or path:match "([^/]+)$" or path
end

-- The format that a file has by its place, and why a file of another one is no agent: most are plainly ours.
local function format_of(path)
  if path:sub(-3) == ".md" and not path:find("/.", 1, true) and path:byte(1) ~= 46 and not path:find("%.%a+%.md$", -24) then return nil end
  return formats.of_place(path), formats.refused(path)
end

--- Whether a file is a prompt, a command or an instruction of another program: it has front matter, too, and is no agent.
---@param path string
---@return boolean
function read.is_prompt(path)
  if path:sub(-10) == ".prompt.md" or path:sub(-16) == ".instructions.md" then return true end
  if not path:find("commands/", 1, true) then return false end -- of nearly all files, and far cheaper than what follows
  local before = path:match "^(.-)/?%f[^/\0]commands/"
  if not before then return false end
  local name = before:match "[^/]*$"
  return name == ".claude" or name == ".opencode" or name == ".gemini" or sources.info((before == "" and "." or before) .. "/.claude-plugin") ~= nil
end

local function copy(value)
  if type(value) ~= "table" then return value end
  if value[1] == nil then return json.array {} end
  return table.move(value, 1, #value, 1, json.array {})
end

local defaults = {}
for _, key in ipairs(keys.all) do
  if key.default ~= nil then defaults[key.name] = key.default end
end

-- The definition: values as they were read, defaults, and the prompt.
local function build(values, file, text, at, body_line)
  local first = text:match("^\n*()", at)
  local def = { file = file }
  for name, value in pairs(values) do def[name] = value end
  for name, value in pairs(defaults) do
    if def[name] == nil then def[name] = copy(value) end
  end
  def.name = def.name or file_name(file):gsub("[^%w_-]", "_")
  def.display_name = def.display_name or def.name
  local last = #text
  while last >= first and text:find("^%s", last) do last = last - 1 end -- "%s+$" would take quadratic time
  def.prompt = text:sub(first, last)
  def.prompt_line = body_line + first - at
  return def
end

-- The position that libyaml's or our own message begins with.
local function split_position(message)
  local line, column, rest = message:match "^(%d+):(%d+): (.*)$"
  return tonumber(line) or 1, tonumber(column) or 1, rest or message
end

-- The line and column of a byte.
local function position_of(text, at)
  local before = text:sub(1, at - 1)
  local _, breaks = before:gsub("\n", "")
  local last = before:match "^.*\n(.*)$" or before
  return breaks + 1, (utf8.len(last) or #last) + 1
end

--- What makes bytes no text at all.
---@param text string
---@return integer? at
---@return string? why
function read.find_bad_byte(text)
  local mark = text:sub(1, 2)
  if mark == "\255\254" or mark == "\254\255" then return 1, "the file is UTF-16: save it as UTF-8" end
  local at = system.bad_byte(text)
  if at then return at, "the file is not valid UTF-8" end
  at = text:find("\0", 1, true)
  if at then return at, "the file holds a NUL byte, and so is no text" end
end

-- What YAML takes for the end of a line and editors do not: places would be wrong, and what one reads
-- is not what is meant.
local ODD = "[\r\194\226]" -- what each of them begins with
local odd_breaks = {
  ["\r"] = "a carriage return without a line feed: save the file with the line ends of Unix or Windows",
  ["\194\133"] = "the control character U+0085: remove it",
  ["\226\128\168"] = "the line separator U+2028: remove it",
  ["\226\128\169"] = "the paragraph separator U+2029: remove it",
}

local function find_odd_break(frontmatter)
  local first, message
  if not frontmatter:find(ODD) then return nil end
  for bytes, text in pairs(odd_breaks) do
    local at = frontmatter:find(bytes, 1, true)
    if at and (not first or at < first) then first, message = at, text end
  end
  return first, message
end

-- The places of values are found only when something is wrong. Until then this is JSON.
local TEXT = 1
local lazy_places = { __index = function(self, pointer)
  local text = rawget(self, TEXT)
  if not text or type(pointer) ~= "string" then return nil end
  if pointer:find "^/[%w_]+$" and not text:find('"' .. pointer .. '":', 1, true) then return nil end
  rawset(self, TEXT, nil)
  for key, at in pairs(json.decode(text)) do rawset(self, key, at) end
  return rawget(self, pointer)
end }

-- The front matter's keys and values with their places, or the problem.
local function read_frontmatter(frontmatter, frontmatter_line, file)
  local odd, why = find_odd_break(frontmatter)
  if odd then
    local line, column = position_of(frontmatter, odd)
    return nil, problem.new(file, frontmatter_line + line - 1, column, "syntax", "the front matter has " .. why)
  end
  local values, places = yaml.decode(frontmatter, frontmatter_line, true, true)
  if values == nil then
    local line, column, message = split_position(places.message)
    return nil, problem.new(file, line, column, places.code == "limit" and "limit" or "syntax", message)
  elseif type(values) ~= "table" or json.is_array(values) then
    return nil, problem.new(file, frontmatter_line, 1, "syntax", "the front matter must be keys with values, one a line, as in 'name: food'")
  end
  return values, setmetatable({ [TEXT] = places }, lazy_places)
end

-- The parts of a text, its body beginning at a byte of one; or the problem that keeps it from having any.
local function read_parts(text, file)
  if #text > read.LIMIT then
    return nil, problem.new(file, 1, 1, "limit", ("the file has more than %d bytes"):format(read.LIMIT))
  end
  local bad, why = read.find_bad_byte(text)
  if bad then
    local line, column = position_of(text, bad)
    return nil, problem.new(file, line, column, "encoding", why)
  end
  local plain, line, at = split_plain(text)
  if plain then return { frontmatter = plain, frontmatter_line = 2, text = text, at = at, body_line = line } end
  local frontmatter, frontmatter_line, body, body_line = split(text)
  if frontmatter == false then
    local lone = text:find "\r[^\n]" and " (the file has carriage returns without line feeds)" or ""
    return nil, problem.new(file, frontmatter_line, 1, "syntax", "the front matter is not closed: a second line '---' is missing" .. lone)
  end
  return { frontmatter = frontmatter, frontmatter_line = frontmatter_line, text = body, at = 1, body_line = body_line }
end

-- A definition of what was read, unless there is an error.
local function finish(values, ctx, file, text, at, body_line)
  if problem.any_error(ctx.problems) then return nil, problem.sort(ctx.problems) end
  local def = build(values, file, text, at, body_line)
  def.wanted = ctx.wanted
  local wrong = not values.name and kinds.wrong_name(def.name)
  if wrong then
    return nil, { problem.new(file, 1, 1, "value", ("the file's name is the agent's: 'name' %s"):format(wrong)) }
  end
  return def, problem.sort(ctx.problems), ctx.places
end

--- The head of a text that is no agent's, and what stands below it.
---@param text string
---@param file string
---@return table? values
---@return table<string, integer[]>|hocket.Problem places Where its keys stand; or what is wrong.
---@return string? body
function read.head(text, file)
  local parts, broken = read_parts(text, file)
  if not parts then return nil, broken end
  if not parts.frontmatter then
    return nil, problem.new(file, 1, 1, "syntax", "there is no head: the file begins with a line '---', then name and description, then a second one")
  end
  local values, places = read_frontmatter(parts.frontmatter, parts.frontmatter_line, file)
  if not values then return nil, places end
  return values, places, parts.text:sub(parts.at)
end

-- The tools of the built-in assistant: an agent of another program that names none has these.
local function tools_of_assistant()
  local name = "agents/assistant.md"
  return (assert(read.text(system.asset(name), name))).tools
end

-- What another program's front matter says, as keys of ours; places are those of the ones that they came from.
local function translated(format, raw, file, ctx)
  local theirs = formats.translate(format, raw, file, tools_of_assistant)
  theirs.left_out = 0
  for _, one in ipairs(theirs.notes) do
    local said = one.severity ~= "note" and ctx:say("#" .. one.pointer, one.message, one.code or "format")
    if said then said.severity, theirs.left_out = one.severity, theirs.left_out + 1 end
  end
  for key, pointer in pairs(theirs.from) do ctx:same_place("/" .. key, pointer) end
  return theirs
end

-- Their programs fill no places of ours, and include nothing.
local function literal(text)
  return text:find("{{", 1, true) and text:gsub("({*){{", "%1\\{{") or text
end

local function read_theirs(parts, raw, places, file, format)
  local ctx = new_context(file, places, false)
  local theirs = translated(format, raw, file, ctx)
  local values = not problem.any_error(ctx.problems) and kinds.read_fields(keys.all, theirs.keys, ctx, "", {}) or {}
  local def, problems, at = finish(values, ctx, file, parts.text, parts.at, parts.body_line)
  if not def then return nil, problems end
  def.prompt = theirs.prompt and theirs.prompt(literal(def.prompt)) or literal(def.prompt)
  def.theirs = { format = format, calls = theirs.calls, handoffs = theirs.handoffs, servers = theirs.servers, denied_servers = theirs.denied_servers, person_only = theirs.person_only,
    wished = theirs.wished, left_out = theirs.left_out }
  def.mcp = #theirs.inline > 0 and theirs.inline or def.mcp
  return def, problems, at
end

-- Keys and values as YAML has them; where that fails, as other programs read them.
local function read_leniently(parts, file)
  local raw, places = read_frontmatter(parts.frontmatter, parts.frontmatter_line, file)
  if raw then return raw, places end
  local mended = require("hocket.internal.agents.formats.lenient").mend(parts.frontmatter)
  local again, where = read_frontmatter(mended, parts.frontmatter_line, file)
  if again then return again, where end
  return nil, places
end

-- A text that is none of ours: by its keys it may be another program's.
local function read_by_keys(parts, file, problems)
  if not parts.frontmatter or not problem.any_error(problems) then return nil end
  local raw, places = read_leniently(parts, file)
  local format = raw and formats.of_keys(raw)
  if format then return read_theirs(parts, raw, places, file, format) end
end

local function read_ours(parts, file)
  local raw, places = {}, {}
  if parts.frontmatter then
    raw, places = read_frontmatter(parts.frontmatter, parts.frontmatter_line, file)
    if not raw then return nil, { places } end
  end
  local empty = not parts.text:find("%S", parts.at)
  if not parts.frontmatter and empty then
    return nil, { problem.new(file, 1, 1, "nothing", "the file is empty: an agent has a prompt at least") }
  end
  local ctx = new_context(file, places, false)
  local values = kinds.read_fields(keys.all, raw, ctx, "", {})
  if #ctx.problems == 0 and empty then
    ctx:warn("#", "there is no prompt: what stands below the front matter tells the agent what to do", "nothing")
  end
  return finish(values, ctx, file, parts.text, parts.at, parts.body_line)
end

--- Reads one agent from text: ours, or another program's (formats).
---@param text string
---@param file string Its name, for messages.
---@param place? string Where it is, when that says more than its name.
---@param said? string The format that a person has named.
---@return hocket.Agent? def
---@return hocket.Problem[] problems With a definition these are warnings.
---@return table<string, integer[]>? places Where the front matter's keys stand.
function read.text(text, file, place, said)
  local format, other = format_of(place or file)
  format = said or format
  if other then return nil, { problem.new(file, 1, 1, "format", ("the file is %s, which hocket does not read: write an agent in Markdown"):format(other)) } end
  local parts, broken = read_parts(text, file)
  if not parts then return nil, { broken } end
  if not format then
    local def, problems, places = read_ours(parts, file)
    if def then return def, problems, places end
    local theirs, found, at = read_by_keys(parts, file, problems)
    if found then return theirs, found, at end
    return nil, problems
  end
  local raw, places = {}, {}
  if parts.frontmatter then raw, places = read_leniently(parts, file) end
  if not raw then return nil, { places } end
  return read_theirs(parts, raw, places, file, format)
end

--- The front matter as it stands, and which program it is for: for `hocket check --explain`.
---@param text string
---@param file string
---@param place? string
---@param said? string
---@return {file: string, format?: string, raw: table, places: table<string, integer[]>, notes: table[]}?
function read.front(text, file, place, said)
  local format = said or format_of(place or file)
  local parts = read_parts(text, file)
  if not parts then return nil end
  local raw, places = {}, {}
  if parts.frontmatter then raw, places = read_leniently(parts, file) end
  if not raw then return nil end
  if not format and not read_ours(parts, file) then format = formats.of_keys(raw) end
  local notes = format and formats.translate(format, raw, file, tools_of_assistant).notes or {}
  return { file = file, format = format, raw = raw, places = places, notes = notes }
end

-- In Lua the prompt is a key like the others.
local lua_keys = table.move(keys.all, 1, #keys.all, 2, { {
  name = "prompt", kind = { text = "a text", takes = function(v) return type(v) == "string" end, read = function(v) return v end },
} })

--- Reads a definition that was made in Lua: the same keys, plus `prompt`.
---@param what table
---@return hocket.Agent? def
---@return hocket.Problem[] problems
function read.table(what)
  local raw, name = {}, type(what.name) == "string" and what.name or "agent"
  for key, value in pairs(what) do
    if key ~= "team" then raw[key] = value end
  end
  local ctx = new_context(name, {}, true)
  local values = kinds.read_fields(lua_keys, raw, ctx, "", {})
  if what.name == nil then ctx:say("#/name", "'name' is missing") end
  return finish(values, ctx, name, values.prompt or "", 1, 1)
end

return read
