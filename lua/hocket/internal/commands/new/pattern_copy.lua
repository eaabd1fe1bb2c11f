--- A pattern that comes with hocket, as source files for a project that wants to change it: `hocket new --pattern NAME`.
---
--- The program has its scripts without indentation and comments. The copy is indented anew, and gets the documentation of its public
--- functions from the stubs for editors.
local suggest = require "hocket.internal.base.suggest"
local system = require "hocket.internal.core.system"

local pattern_copy = {}

-- ---- Indentation -----------------------------------------------------------------------------

local opens = { ["function"] = true, ["do"] = true, ["then"] = true, ["else"] = true, ["repeat"] = true, ["{"] = true, ["("] = true }
local closes = { ["end"] = true, ["until"] = true, ["else"] = true, ["elseif"] = true, ["}"] = true, [")"] = true }

-- Where the text that begins here ends.
local function behind_text(line, at, quote)
  repeat
    at = line:find("[\\" .. quote .. "]", at + 1) or #line
    local escape = line:sub(at, at) == "\\"
    if escape then at = at + 1 end
  until not escape
  return at + 1
end

-- Calls each(word, leads) for the words and brackets of a line. leads: nothing but what ends something stands before it.
local function scan(line, each)
  local at, clean = 1, true
  while at <= #line and not line:find("^%-%-", at) do
    local quote, word = line:match("^[\"']", at), line:match("^[%a_][%w_]*", at) or line:match("^[{}()]", at)
    local space = line:find("^[%s,;]", at)
    if word then each(word, clean and closes[word]) end
    clean = clean and (space or word and closes[word])
    at = quote and behind_text(line, at, quote) or at + #(word or " ")
  end
end

-- What one line opens is one step, however many things that are. `open`: the number of the line of each.
local function depth_of(open)
  local depth = 0
  for i, number in ipairs(open) do depth = depth + (number ~= open[i - 1] and 1 or 0) end
  return depth
end

-- A line of code, by what the lines before it have opened.
local function indented_line(line, open, number)
  local depth = depth_of(open)
  scan(line, function(word, leads)
    if closes[word] then open[#open] = nil end
    if leads then depth = depth_of(open) end
    if opens[word] then open[#open + 1] = number end
  end)
  return ("  "):rep(depth) .. line
end

-- The lines of a long text stay as they are.
local function indented(text)
  local out, open, closing = {}, {}, nil
  for line in text:gmatch "([^\n]*)\n" do
    if closing then
      out[#out + 1] = line
      closing = not line:find(closing, 1, true) and closing or nil
    elseif line ~= "" then
      out[#out + 1] = indented_line(line, open, #out + 1)
      local level = line:match "%[(=*)%[[^%]]*$"
      closing = level and ("]%s]"):format(level)
    elseif out[#out] ~= "" then
      out[#out + 1] = ""
    end
  end
  return table.concat(out, "\n") .. "\n"
end

-- ---- Documentation ---------------------------------------------------------------------------

-- Of the stub of a module: its classes as one text, and by function what stands above it.
local function read_stub(name)
  local stubs = system.asset "hocket/templates/stubs.lua.tmpl"
  local _, from = stubs:find(("--@file hocket/patterns/%s.lua\n"):format(name), 1, true)
  local classes, functions, above = {}, {}, {}
  for line in (from and stubs:sub(from + 1, (stubs:find("\n--@file ", from, true) or #stubs)) or ""):gmatch "([^\n]*)\n" do
    local called = line:match "^function ([%w_.]+)%("
    if line:find "^%-%-%-" then
      above[#above + 1] = line
    else
      local text = table.concat(above, "\n")
      if called then functions[called] = text .. "\n" elseif text:find "^%-%-%-@class" and not text:find "^%-%-%-@class hocket%.patterns" then classes[#classes + 1] = text end
      above = {}
    end
  end
  return table.concat(classes, "\n\n"), functions
end

local function documented(text, name)
  local classes, functions = read_stub(name)
  text = ("\n" .. text):gsub("\nfunction ([%w_.]+)%(", function(called)
    return ("\n%sfunction %s("):format(functions[called] or "", called)
  end)
  return ("--- hocket.patterns.%s of hocket %s: a copy, which is yours to change.\n%s\n%s"):format(name, system.version(), classes ~= "" and "\n" .. classes .. "\n" or "",
    (text:gsub("^\n+", "")))
end

-- ---- The files -------------------------------------------------------------------------------

-- How a script puts the copy in the place of the original.
local AROUND = 'hocket.orchestrate.set_pattern("%s", require "patterns.%s")'
local uses = {
  advisors = AROUND, alternates = AROUND, handoff = AROUND, router = AROUND, team = AROUND,
  facilitator = 'hocket.tool.set("%s", require("patterns.%s").tools)\n  hocket.tool.set("specialist", require("patterns.facilitator.specialist").tools)',
}

local function all_names()
  local names = {}
  for _, path in ipairs(system.assets "hocket/patterns/") do names[#names + 1] = path:match "^hocket/patterns/(%l+)%.lua$" end
  return names
end

-- A script that is not as the author wrote it has no line that stands further in. No stored run is of a copy: it needs no former words of its tools.
local function source_of(path, name)
  local text = system.asset(path)
  text = text:gsub('%s*%f[%w]former = "[%w_]+",', "")
  if not text:find "\n  " then text = indented(text) end
  text = text:gsub(('require "hocket.patterns.%s.'):format(name):gsub("%.", "%%."), ('require "patterns.%s.'):format(name))
  return documented(text, path == ("hocket/patterns/%s.lua"):format(name) and name or name .. "." .. path:match "([^/]+)%.lua$")
end

--- The files of a copy, below the project's folder: {path, text}; and how a script uses it.
---@param name string
---@return {[1]: string, [2]: string}[]? files
---@return string|hocket.Error use
function pattern_copy.files(name)
  local main = ("hocket/patterns/%s.lua"):format(name)
  if not system.assets(main)[1] then
    local names = all_names()
    local near = suggest(name, names)
    return nil, { code = "invalid", message = ("there is no pattern '%s'%s (there are: %s)"):format(name, near and (": did you mean '%s'?"):format(near) or "", table.concat(names, ", ")) }
  end
  local paths, files = system.assets(("hocket/patterns/%s/"):format(name)), {}
  table.insert(paths, 1, main)
  for i, path in ipairs(paths) do files[i] = { path:sub(#"hocket/" + 1), source_of(path, name) } end
  return files, (uses[name] or 'local %s = require "patterns.%s"'):format(name, name)
end

return pattern_copy
