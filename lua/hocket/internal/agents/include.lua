--- `{{include style.md}}` in a prompt: the text of another file, from the including file's directory
--- on. It stays inside of the agents' folder, also by way of links; what is included is a template like
--- the rest and may include more, and a variable's value never does.
local fs = require "hocket.internal.core.fs"
local problem = require "hocket.internal.agents.problem"
local read = require "hocket.internal.agents.read"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"
local trim = require "hocket.internal.base.trim"

local include = {}

--- Files inside of each other, bytes of a prompt with everything that it includes, and places in it that include something: what includes
--- nothing but others would be without end.
local DEPTH, LIMIT, PLACES = 8, 1 << 20, 1000

-- The path and what is around it are parted afterwards: a pattern for both would take cubic time.
local PLACE = "(){{%s*include(%s[^{}]*)}}()"

-- The next place: where it begins, its path, where the text goes on.
local function next_place(text, from)
  while true do
    local start, inside, stop = text:match(PLACE, from)
    if not start then return nil end
    local path = trim.both(inside)
    if not path:find("\n", 1, true) then return start, path, stop end
    from = stop
  end
end

local function places(text)
  local from = 1
  return function()
    local start, path, stop = next_place(text, from)
    from = stop
    return start, path, stop
  end
end

--- Whether a prompt includes anything.
---@param text string
---@return boolean
function include.any(text)
  return text:find("{{", 1, true) ~= nil and next_place(text, 1) ~= nil
end

local function dir_of(path)
  return path:match "^(.*)/[^/]*$" or "."
end

-- The file that a path in an include means, or what is wrong with it.
local function resolve(path, from, root)
  if path == "" then return nil, "the include names no file: write {{include FILE}}" end
  if fs.is_absolute(path) then return nil, ("'%s' is absolute: write it from this file's directory on"):format(path) end
  if path:find("\0", 1, true) then return nil, "a path cannot hold NUL" end
  local real, home = sources.real(dir_of(from) .. "/" .. path), sources.real(root)
  if not real then return nil, ("there is no file '%s' in %s"):format(path, dir_of(from)) end
  if not home or not system.below(real, home) then
    return nil, ("'%s' leads out of the agents' folder %s"):format(path, root)
  end
  local info = sources.info(real)
  if not info or info.kind ~= "file" then return nil, ("'%s' is no file"):format(path) end
  return real
end

-- The text of a file that is to be included, or what is wrong with it.
local function take(real, path)
  local text, err = sources.read(real, LIMIT)
  if not text then return nil, err.message end
  local bad, why = read.find_bad_byte(text)
  if bad then return nil, ("'%s', byte %d: %s"):format(path, bad, why) end
  if read.has_frontmatter(text) then return nil, ("'%s' has front matter, and so is an agent: include texts only"):format(path) end
  text = text:gsub("^\239\187\191", ""):gsub("\r\n", "\n")
  return (text:gsub("\n$", ""))
end

-- Adds a piece of a file to what is put together.
local function add(out, text, file, line)
  if text == "" then return end
  out.parts[#out.parts + 1] = { at = out.bytes + 1, file = file, line = line }
  out.pieces[#out.pieces + 1] = text
  out.bytes = out.bytes + #text
end

local function position(text, at, line)
  local before = text:sub(1, at - 1)
  local _, breaks = before:gsub("\n", "")
  return line + breaks, utf8.len(before:match "^.*\n(.*)$" or before) + 1
end

local put

-- What stands at one place, or a problem.
local function put_file(out, path, file, stack, where)
  local function refuse(message)
    local at_line, at_column = where()
    out.problems[#out.problems + 1] = problem.new(file, at_line, at_column, "include", message)
  end
  out.places = out.places + 1
  if out.places > PLACES then return refuse(("a prompt includes at most %d files"):format(PLACES)) end
  local real, wrong = resolve(path, file, out.root)
  if not real then return refuse(wrong) end
  if stack[real] then return refuse(("'%s' includes itself: %s"):format(path, table.concat(stack, " > ") .. " > " .. path)) end
  if #stack > DEPTH then return refuse(("files include each other more than %d deep"):format(DEPTH)) end
  local text, broken = take(real, path)
  if not text then return refuse(broken) end
  if out.bytes + #text > LIMIT then return refuse(("with '%s' the prompt has more than %d bytes"):format(path, LIMIT)) end
  stack[real], stack[#stack + 1] = true, path
  put(out, text, dir_of(file) .. "/" .. path, 1, stack)
  stack[real], stack[#stack] = nil, nil
end

function put(out, text, file, line, stack)
  local from = 1
  for start, path, stop in places(text) do
    if text:sub(start - 1, start - 1) ~= "\\" or start == 1 then
      add(out, text:sub(from, start - 1), file, (position(text, from, line)))
      if #out.problems > 0 then break end
      put_file(out, path, file, stack, function() return position(text, start, line) end)
      from = stop
    end
  end
  add(out, text:sub(from), file, (position(text, from, line)))
end

--- Puts into a definition's prompt what it includes. Its `prompt_parts` then say where each part stands.
---@param def hocket.Agent That nobody else has seen yet.
---@param root string The agents' folder.
---@return hocket.Problem[] problems
function include.expand(def, root)
  if not include.any(def.prompt) then return {} end
  local out = { pieces = {}, parts = {}, bytes = 0, places = 0, problems = {}, root = root }
  put(out, def.prompt, def.file, def.prompt_line, { def.file, [sources.real(def.file) or def.file] = true })
  def.prompt, def.prompt_parts = table.concat(out.pieces), out.parts
  return out.problems
end

return include
