--- Measures the shape of the C sources: how long functions are, who calls whom, which calls run back up in a folder.
---
---   hocket run tests/shape.lua [ROOT]      `src`, `lib` and `include` of another project
---
--- It reads text, so that it measures other projects the same way: a function begins in column 0 and ends with a brace there.
local fs = require "hocket.fs"

local root = (...) or debug.getinfo(1, "S").source:match "^@(.*)/tests/[^/]*$" or "."

-- ---- Reading ------------------------------------------------------------------------------------------

local function sources(dir, found)
  for _, name in ipairs(assert(fs.list(root .. "/" .. dir))) do
    if name:sub(-1) == "/" then sources(dir .. "/" .. name:sub(1, -2), found) end
    if name:find "%.[ch]$" then found[#found + 1] = dir .. "/" .. name end
  end
  return found
end

local function blank(text)
  return (text:gsub("[^\n]", " "))
end

-- Without comments, texts and characters; lines stay where they are.
local function code_of(text)
  local out, at = {}, 1
  while true do
    local from = text:find("[/\"']", at)
    if not from then break end
    local to
    local two = text:sub(from, from + 1)
    if two == "/*" then to = select(2, text:find("*/", from + 2, true))
    elseif two == "//" then to = (text:find("\n", from, true) or #text + 1) - 1
    elseif two:sub(1, 1) ~= "/" then
      local quote = two:sub(1, 1)
      to = from
      repeat
        to = text:find("[\\" .. quote .. "]", to + 1)
        local is_escape = to and text:sub(to, to) == "\\"
        if is_escape then to = to + 1 end
      until not to or not is_escape
    else to = from end
    to = to or #text
    out[#out + 1] = text:sub(at, from - 1)
    out[#out + 1] = two:find "^/[^/*]" and "/" or blank(text:sub(from, to))
    at = to + 1
  end
  out[#out + 1] = text:sub(at)
  return table.concat(out)
end

local not_functions = { ["if"] = true, ["for"] = true, ["while"] = true, ["switch"] = true, ["return"] = true, ["sizeof"] = true }

-- Each function: its name, file, lines, whether it is static, and the names in it.
local functions, external, outside = {}, {}, {}

local function names_in(text, into)
  for name in text:gmatch "[%a_][%w_]*" do into[name] = true end
end

-- The name of the function whose head this is; nil for a struct, a table or a macro.
local function name_of(head)
  if head:find "^%s*#" or head:find "=%s*$" or not head:find "%(" then return nil end
  local name = head:match "([%a_][%w_]*)%s*%("
  return name and not not_functions[name] and name or nil
end

-- Reads a file: in column 0 a statement begins; it ends with a semicolon, or with a brace in column 0.
local function read(file)
  local head, first, body, line, directive = {}, 0, nil, 0, false
  for text in (code_of(assert(fs.read(root .. "/" .. file))) .. "\n"):gmatch "(.-)\n" do
    line = line + 1
    directive = directive or text:find "^%s*#" ~= nil
    if directive then
      names_in(text, outside)
      directive = text:find "\\%s*$" ~= nil
    elseif body then
      body[#body + 1] = text
      if text:find "^}" then
        local head_text, all = table.concat(head, " "), table.concat(body, "\n")
        local name = name_of(head_text)
        if name then
          local one = { name = name, file = file, lines = line - first + 1, static = head_text:find "%f[%w]static%f[%W]" ~= nil, names = {} }
          names_in(all, one.names)
          functions[#functions + 1] = one
          if not one.static and file:find "%.c$" then external[name] = one end
        else names_in(all, outside) end
        head, body = {}, nil
      end
    elseif not text:find "^%s*$" then
      if #head == 0 then first = line end
      head[#head + 1] = text
      if text:find "{%s*$" then body = {}
      elseif text:find ";%s*$" or text:find "^}" then
        if text:find "=" then names_in(table.concat(head, " "), outside) end
        head = {}
      end
    end
  end
end

for _, folder in ipairs { "src", "lib", "include" } do
  if fs.list(root .. "/" .. folder) then
    for _, file in ipairs(sources(folder, {})) do read(file) end
  end
end

-- ---- Lengths, callers ---------------------------------------------------------------------------------

local function lengths()
  local list = {}
  for i, one in ipairs(functions) do list[i] = one end
  table.sort(list, function(a, b) return a.lines < b.lines end)
  local function at(part) return list[math.max(1, math.ceil(#list * part))].lines end
  local longest = list[#list]
  print(("functions: %d, lines: median %d, p90 %d, max %d (%s in %s)"):format(#list, at(0.5), at(0.9), longest.lines, longest.name, longest.file))
end

-- By its name, the functions that call an external one.
local function callers_of()
  local callers = {}
  for name in pairs(external) do callers[name] = {} end
  for _, one in ipairs(functions) do
    for name in pairs(one.names) do
      local list = callers[name]
      if list and name ~= one.name then list[#list + 1] = one end
    end
  end
  return callers
end

local callers = callers_of()

local function single_callers()
  local all, one = 0, 0
  for name, list in pairs(callers) do
    all = all + 1
    if #list == 1 and not outside[name] then one = one + 1 end
  end
  print(("external functions: %d, with one caller: %d (%.0f %%)"):format(all, one, 100 * one / all))
end

-- ---- Calls within a folder that run back up -------------------------------------------------------------

local function folder_of(file) return file:match "^(.*)/" end

-- Which file calls which, by their folder.
local function arrows()
  local of = {}
  for name, list in pairs(callers) do
    local to = external[name].file
    for _, one in ipairs(list) do
      local folder = folder_of(to)
      if one.file ~= to and one.file:find "%.c$" and folder_of(one.file) == folder then
        of[folder] = of[folder] or {}
        of[folder][one.file] = of[folder][one.file] or {}
        of[folder][one.file][to] = true
      end
    end
  end
  return of
end

-- The files that reach each other. A folder without a circle has a group for each file.
local function groups_of(calls)
  local index, low, stack, on, groups, n = {}, {}, {}, {}, {}, 0
  local function visit(v)
    n = n + 1
    index[v], low[v] = n, n
    stack[#stack + 1], on[v] = v, true
    for w in pairs(calls[v] or {}) do
      if not index[w] then
        visit(w)
        low[v] = math.min(low[v], low[w])
      elseif on[w] then low[v] = math.min(low[v], index[w]) end
    end
    if low[v] ~= index[v] then return end
    local group = {}
    repeat
      local w = table.remove(stack)
      on[w], group[#group + 1] = nil, w
    until w == v
    groups[#groups + 1] = group
  end
  for v in pairs(calls) do
    if not index[v] then visit(v) end
  end
  return groups
end

--- Files of a circle: each set of them is looked at.
local MOST = 20

-- The least number of calls that run back up, over all orders of a group: for each set of files that stand on top, the best order.
local function least_up(group, calls)
  assert(#group <= MOST, ("a circle of %d files: too many for this"):format(#group))
  local number, from = {}, {}
  for i, file in ipairs(group) do number[file] = i - 1 end
  for i, file in ipairs(group) do
    local set = 0
    for to in pairs(calls[file] or {}) do
      if number[to] then set = set | 1 << number[to] end
    end
    from[i] = set
  end
  local function ones(set)
    local count = 0
    while set ~= 0 do set, count = set & set - 1, count + 1 end
    return count
  end
  local best = { [0] = 0 }
  for set = 1, (1 << #group) - 1 do
    local least
    for i = 0, #group - 1 do -- file i stands below the others of the set: its calls to them run up
      if set & 1 << i ~= 0 then
        local rest = set & ~(1 << i)
        local up = best[rest] + ones(from[i + 1] & rest)
        if not least or up < least then least = up end
      end
    end
    best[set] = least
  end
  return best[(1 << #group) - 1]
end

local function back_up()
  local sum_up, sum, lines = 0, 0, {}
  for folder, calls in pairs(arrows()) do
    local all, up = 0, 0
    for _, to in pairs(calls) do
      for _ in pairs(to) do all = all + 1 end
    end
    for _, group in ipairs(groups_of(calls)) do
      if #group > 1 then up = up + least_up(group, calls) end
    end
    sum_up, sum = sum_up + up, sum + all
    if up > 0 then lines[#lines + 1] = ("  %-28s %2d of %d"):format(folder, up, all) end
  end
  table.sort(lines)
  print(("calls between files of a folder: %d, that run back up in the best order: %d"):format(sum, sum_up))
  for _, text in ipairs(lines) do print(text) end
end

-- ---- The binding --------------------------------------------------------------------------------------

local function binding(folder)
  if not fs.list(root .. "/" .. folder) then return end
  local lines, functions_of_lua = 0, 0
  for _, file in ipairs(sources(folder, {})) do
    local text = assert(fs.read(root .. "/" .. file))
    lines = lines + select(2, text:gsub("\n", ""))
    functions_of_lua = functions_of_lua + select(2, text:gsub('{ ?"[%w_]+", ?[%a_][%w_]* ?}', ""))
  end
  if functions_of_lua > 0 then print(("binding: %d lines, %d rows of functions: %.0f lines for each"):format(lines, functions_of_lua, lines / functions_of_lua)) end
end

lengths()
single_callers()
binding(fs.list(root .. "/src/bind") and "src/bind" or "src")
back_up()
