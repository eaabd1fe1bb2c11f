--- Problems: what is wrong with an agent's file, and where. Several are collected before any is
--- reported, so that one look at the list fixes the file.
local suggest = require "hocket.internal.base.lazy" "hocket.internal.base.suggest"

local problem = {}

--- Names in a hint.
local SHOWN = 200

---@class hocket.Problem
---@field file string
---@field line integer From 1.
---@field column integer From 1, in characters.
---@field severity "error"|"warning" An agent with an error is not loaded.
---@field code string A word for programs: `syntax`, `encoding`, `limit`, `unknown_key`, `value`, `schema`, `unknown_agent`, `unknown_tool`, `unknown_provider`, `roots`, `unreached`, `duplicate_name`, `incompatible`, `cycle`, `include`, `variable`, `depth`, `nothing`, `script`, `unrecorded`, `request`, `module`, `undefined`, `unlimited`, `mcp`, `skill`, `hooks`.
---@field message string

--- Makes one.
---@return hocket.Problem
function problem.new(file, line, column, code, message)
  return { file = file, line = line, column = column, severity = "error", code = code, message = message }
end

--- Where a value of the front matter stands. Of a value that has no place of its own it is the place of
--- the one around it; what was made in Lua has none at all.
---@param places table<string, integer[]> By JSON pointer.
---@param pointer string
---@return integer line
---@return integer column
function problem.place(places, pointer)
  while pointer ~= "" do
    local at = places[pointer]
    if at then return at[1], at[2] end
    pointer = pointer:match "^(.*)/[^/]*$" or ""
  end
  return 1, 1
end

--- ": did you mean 'x'?", or what exists.
---@param word string
---@param known string[] Sorted.
---@param also? string[] Words that are not listed, and may be meant as well.
---@return string
function problem.hint(word, known, also)
  local near = suggest(word, known) or also and suggest(word, also)
  if near then return (": did you mean '%s'?"):format(near) end
  local rest = #known > SHOWN and (" and %d more"):format(#known - SHOWN) or ""
  return (" (there are: %s%s)"):format(#known > 0 and table.concat(known, ", ", 1, math.min(#known, SHOWN)) or "none", rest)
end

--- In the order in which one reads: by file, then line, then column.
---@param problems hocket.Problem[]
---@return hocket.Problem[]
function problem.sort(problems)
  if #problems < 2 then return problems end
  local order = {}
  for i, p in ipairs(problems) do order[p] = i end
  table.sort(problems, function(a, b)
    if a.file ~= b.file then return a.file < b.file end
    if a.line ~= b.line then return a.line < b.line end
    if a.column ~= b.column then return a.column < b.column end
    return order[a] < order[b]
  end)
  return problems
end

--- Whether one of them keeps an agent from being loaded.
---@param problems hocket.Problem[]
---@return boolean
function problem.any_error(problems)
  for _, p in ipairs(problems) do
    if p.severity == "error" then return true end
  end
  return false
end

--- As text, one a line: "file:line:column: what".
---@param problems hocket.Problem[]
---@return string
function problem.explain(problems)
  local lines = {}
  for i, p in ipairs(problems) do
    lines[i] = ("%s:%d:%d: %s%s"):format(p.file, p.line, p.column, p.severity == "warning" and "warning: " or "", p.message)
  end
  return table.concat(lines, "\n")
end

--- Raises the errors among them, as one error.
---@param problems hocket.Problem[]
function problem.raise(problems)
  local errors = {}
  for _, p in ipairs(problems) do
    if p.severity == "error" then errors[#errors + 1] = p end
  end
  error(setmetatable({ code = "agent", message = problem.explain(errors), problems = errors },
    { __tostring = function(e) return e.message end }), 0)
end

return problem
