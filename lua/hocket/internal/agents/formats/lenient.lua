--- Front matter as other programs read it. Theirs take a line such as `description: Use it for: reviews` for a text, which is
--- no YAML. Each value that YAML would not take for one is put in quotes, on its own line, so that places stay right.
local json = require "hocket.json"

local lenient = {}

--- The longest front matter, in lines and bytes, that is changed: YAML takes none that is longer.
local LINES, BYTES = 4000, 64 << 10

-- Whether YAML reads a plain value as something else than the text that it is, or not at all.
local function is_misread(value)
  local first = value:sub(1, 1)
  if first == "|" or first == ">" then return not value:find "^[|>][%d+-]*%s*$" and not value:find "^[|>][%d+-]*%s+#" end
  if first == "[" then return value:find("]", 1, true) ~= nil and not value:find "%]%s*$" and not value:find "%]%s+#" end
  if first == "{" then return value:find("}", 1, true) ~= nil and not value:find "}%s*$" and not value:find "}%s+#" end
  if first == '"' then return value:find '^"[^"\\]*"%s*[^%s#]' ~= nil end
  if first == "'" then return value:find "^'[^']*'%s*[^%s#']" ~= nil end
  return first:find "[&*!%%@`]" ~= nil or value:find(": ", 1, true) ~= nil or value:find ":$" ~= nil
end

-- Where a line's value begins: behind `key: `, or behind a dash where it begins with a sign of YAML's.
local function value_at(line, from)
  local at = line:match("^[%w_.-]+:%s+()%S", from) or line:match("^%-%s+[%w_.-]+:%s+()%S", from)
  return at or line:match("^%-%s+()[&*!%%@`]", from)
end

-- A value that was put in quotes goes on in the lines below it that are further in.
local function continue(state, line, from)
  local last = state.quoted
  if not last or from <= last.from or not line:find("%S", from) then return false end
  last.value = last.value .. " " .. line:sub(from)
  state.lines[last.at] = last.head .. json.encode(last.value)
  return true
end

local function mend_line(state, line)
  local from = line:match "^%s*()"
  if state.block and line:find("%S", from) and from <= state.block then state.block = nil end
  if state.block then return line end
  if continue(state, line, from) then return "" end
  state.quoted = nil
  if line:find ":%s+[|>][%d+-]*%s*$" then state.block = from end
  local at = value_at(line, from)
  local value = at and line:sub(at)
  if not value or not is_misread(value) then return line end
  state.quoted = { at = #state.lines + 1, from = from, head = line:sub(1, at - 1), value = value }
  return state.quoted.head .. json.encode(value)
end

--- The text with such values in quotes.
---@param frontmatter string
---@return string
function lenient.mend(frontmatter)
  local state = { lines = {} }
  if #frontmatter > BYTES then return frontmatter end
  for line in frontmatter:gmatch "([^\n]*)\n" do
    if #state.lines == LINES then return frontmatter end
    line = line:gsub("^\t+", function(tabs) return ("  "):rep(#tabs) end)
    state.lines[#state.lines + 1] = mend_line(state, line)
  end
  return table.concat(state.lines, "\n") .. "\n"
end

return lenient
