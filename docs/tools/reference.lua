-- Writes docs/reference/lua/, a page for each module, from the LuaCATS annotations in lua/hocket and docs/stubs.
--
--   hocket run docs/tools/reference.lua          writes the files
--   hocket run docs/tools/reference.lua check    fails when one is not up to date
local annotations = require "annotations"
local fs = require "hocket.fs"
local plays = require "plays"

local pages, blocks_of, root = annotations.pages, annotations.blocks_of, annotations.root

-- ---- Writing Markdown ---------------------------------------------------------------------

-- What stands indented: an example is run by the tests of the documents, a picture is not.
local function fence_of(lines, i)
  for j = i, #lines do
    if not lines[j]:find "^    " then break end
    if lines[j]:find('require "hocket', 1, true) then return "```lua" end
  end
  return "```text"
end

local WIDTH = 128

-- Prose has the width of this document, not of the source that it stands in. No line begins with what would be a list.
local function filled(lines)
  local out, line = {}, nil
  for _, one in ipairs(lines) do
    if one == "" or one:find "^[%s%-]" then
      out[#out + 1], line = line, nil
      out[#out + 1] = one
    else
      for word in one:gmatch "%S+" do
        local longer = line and line .. " " .. word
        if longer and (utf8.len(longer) <= WIDTH or word:find "^[-+#%d]") then
          line = longer
        else
          out[#out + 1], line = line, word
        end
      end
    end
  end
  out[#out + 1] = line
  return out
end

local function prose(source)
  local lines = filled(source)
  local out, code = {}, nil
  local function close()
    while out[#out] == "" do out[#out] = nil end
    out[#out + 1], code = "```\n", nil
  end
  for i, line in ipairs(lines) do
    local indented = line:find "^    " ~= nil
    local begins = indented and (i == 1 or not lines[i - 1]:find "^    ")
    if code and (not indented and line ~= "" or begins and fence_of(lines, i) ~= code) then close() end
    if begins and not code then
      code = fence_of(lines, i)
      out[#out + 1] = code
    end
    out[#out + 1] = code and line:gsub("^    ", "") or line
  end
  if code then close() end
  return (table.concat(out, "\n"):gsub("^%s+", ""):gsub("%s+$", ""))
end

local function cell(text) -- of a table: no bar of the type may end it
  return (text:gsub("|", "\\|"))
end

-- A type that is longer than this stands behind the text, not in the signature.
local SHORT = 40

local function signature(name, doc, arguments)
  local of, parts = {}, {}
  for _, p in ipairs(doc.params) do of[p.name] = p end
  for argument in arguments:gmatch "[%w_.]+" do
    local p = of[argument]
    local kind = p and #p.kind <= SHORT and ": " .. p.kind or ""
    parts[#parts + 1] = argument .. (p and p.optional and "?" or "") .. kind
  end
  return ("%s(%s)"):format(name, table.concat(parts, ", "))
end

-- What comes back, in short: "→ `string` or `nil, error`".
local function results(doc)
  local list, fails = {}, false
  for i, r in ipairs(doc.returns) do
    local kind = r.kind
    if i > 1 and kind == "hocket.Error?" and r.text == "" then
      fails, kind = true, nil
    end
    if kind and (not r.name or r.name ~= "ok" or #doc.returns == 1) or kind and i == 1 then
      list[#list + 1] = { kind = kind, name = r.name, text = r.text }
    end
  end
  if #list == 0 then return "" end
  local words = {}
  for i, r in ipairs(list) do
    local kind = fails and i == 1 and r.kind:gsub("%?$", "") or r.kind
    words[i] = ("`%s`%s%s"):format(kind, r.name and r.name ~= "ok" and " " .. r.name or "", r.text ~= "" and (" (%s)"):format((r.text:gsub("%.$", ""))) or "")
  end
  return " → " .. table.concat(words, ", ") .. (fails and " or `nil, error`" or "")
end

local function notes(doc)
  local out = {}
  for _, p in ipairs(doc.params) do
    local long = #p.kind > SHORT
    if long or p.text ~= "" then
      out[#out + 1] = ("`%s`: %s%s"):format(p.name, long and ("`%s`"):format(p.kind) or "", (long and p.text ~= "" and ": " or "") .. p.text)
    end
  end
  return out
end

-- Prose with a picture or an example in it keeps its lines; other prose is one paragraph of the entry.
local function indent(text)
  return (text:gsub("\n(%S)", "\n  %1"))
end

local function heading(name, doc, arguments)
  return ("`%s`%s%s"):format(signature(name, doc, arguments), results(doc), doc.async and " · *waits*" or "")
end

local function ended(note)
  return note .. (note:find "[.:…`]$" and "" or ".")
end

local function write_function(name, doc, arguments, add)
  local text, more = prose(doc.lines), notes(doc)
  local head = heading(name, doc, arguments):gsub("^`.-`", "**%0**")
  add(("- %s%s"):format(head, (text ~= "" or #more > 0) and "\\" or ""))
  if text ~= "" then add("  " .. indent(text)) end
  for _, note in ipairs(more) do add("  " .. ended(note)) end
end

-- What is said in a line or two is a row of a table; three such make one. It stands before the others of a class or a
-- module, or behind them, as the first of all is in it or not.
local ROW, HEAD, ROWS = 400, 240, 3

local function row_of(name, doc, arguments)
  local text, more, head = prose(doc.lines), notes(doc), heading(name, doc, arguments)
  if text:find("```", 1, true) then return nil end
  for _, note in ipairs(more) do text = text .. (text ~= "" and " " or "") .. ended(note) end
  if #text > ROW or #head > HEAD then return nil end
  return ("| %s | %s |"):format(cell(head), cell(text:gsub("\n", " ")))
end

local function add_table(rows, add)
  add "\n| | |\n|---|---|"
  for _, row in ipairs(rows) do add(row) end
  add ""
end

local function write_functions(list, add)
  local rows, others = {}, {}
  for i, f in ipairs(list) do
    local row = row_of(f.name, f.doc, f.arguments)
    if row then rows[#rows + 1] = row else others[#others + 1] = f end
    rows.first = rows.first or i == 1 and row
  end
  if #rows < ROWS then rows, others = {}, list end
  if rows.first then add_table(rows, add) end
  for _, f in ipairs(others) do write_function(f.name, f.doc, f.arguments, add) end
  if #rows > 0 and not rows.first then add_table(rows, add) end
end

-- Fields of one type that need no word share a row; one or two rows need no table.
local function rows_of_fields(fields)
  local rows, last = {}, nil
  for _, f in ipairs(fields) do
    local name = ("`%s%s`"):format(f.name, f.optional and "?" or "")
    if last and f.text == "" and last.text == "" and f.kind == last.kind then
      last.name = last.name .. ", " .. name
    else
      last = { name = name, kind = f.kind, text = f.text }
      rows[#rows + 1] = last
    end
  end
  local out = #rows > 2 and { "| field | type | |", "|---|---|---|" } or {}
  for _, r in ipairs(rows) do
    out[#out + 1] = #rows > 2 and ("| %s | `%s` | %s |"):format(r.name, cell(r.kind), cell(r.text))
      or ("- %s: `%s`%s"):format(r.name, r.kind, r.text ~= "" and ". " .. r.text or "")
  end
  return out
end

local function write_class(doc, add)
  local text = prose(doc.lines)
  add(("\n## %s\n"):format(doc.class))
  if text ~= "" then add(text .. "\n") end
  if #doc.fields == 0 then return end
  local fields = doc.fields
  if text:find "others:$" then -- what it is said to have besides needs no row
    fields = {}
    for _, f in ipairs(doc.fields) do fields[#fields + 1] = f.text ~= "" and f or nil end
  end
  for _, row in ipairs(rows_of_fields(fields)) do add(row) end
  add ""
end

-- Of a page: what begins it, the functions of the module, and its classes, each with its methods.
local Page = {}
Page.__index = Page

local function new_page(title)
  return setmetatable({ module = title:match "[^.]+$", all = {}, functions = {}, classes = {} }, Page)
end

-- `Batch:wait` is a method of hocket.Batch, `client:tools` of hocket.McpClient; others are the module's.
function Page:class_of(object)
  for _, class in ipairs(self.classes) do
    if class.doc.class:lower():sub(-#object) == object then return class end
  end
  return self
end

function Page:add_function(name, doc, arguments, wanted)
  local object, method = name:match "^([%w_]+):(.*)$"
  if object then
    name = object:lower() .. ":" .. method
  elseif not wanted then
    name = name:gsub("^[%w_]+%.", self.module .. ".", 1)
  end
  self.all[#self.all + 1] = { name = name, doc = doc, arguments = arguments, object = object and object:lower() }
end

function Page:read(source)
  local path, wanted = source, nil
  if type(source) == "table" then
    path, wanted = source[1], {}
    for i = 2, #source do wanted[source[i]] = true end
  end
  for i, doc in ipairs(blocks_of(assert(fs.read(root .. path)))) do
    local name, arguments = doc.code:match "^function ([%w_.:]+)%((.-)%)"
    if not name then name, arguments = doc.code:match "^([%w_.]+) = function%((.-)%)" end
    if doc.internal or wanted and not wanted[doc.class or name] then
      goto next
    elseif doc.class then
      if #doc.lines > 0 or #doc.fields > 0 then self.classes[#self.classes + 1] = { doc = doc, functions = {} } end
    elseif name then
      self:add_function(name, doc, arguments, wanted)
    elseif i == 1 and not path:find "^lua/hocket/internal/" then
      self.intro = self.intro or doc
    end
    ::next::
  end
end

function Page:write(add)
  for _, f in ipairs(self.all) do
    local list = (f.object and self:class_of(f.object) or self).functions
    list[#list + 1] = f
  end
  if self.intro then add(prose(self.intro.lines) .. "\n") end
  write_functions(self.functions, add)
  for _, class in ipairs(self.classes) do
    write_class(class.doc, add)
    write_functions(class.functions, add)
  end
end

local function first_sentence(path)
  local text = table.concat(blocks_of(assert(fs.read(root .. path)))[1].lines, " ")
  return text:match "^(.-%.)%s" or text:match "^(.-:)%s" or text
end

local folder = "docs/reference/lua/"

local function file_of(title)
  return title:lower() .. ".md"
end

local function text_of(lines)
  return (table.concat(lines, "\n"):gsub("\n\n\n+", "\n\n"):gsub("%s+$", "") .. "\n")
end

-- Below the first example: the lines that it prints, and the scripted model with which it prints them.
local function with_play(text, play)
  local example, rest = text:match "^(.-```lua\n.-\n```\n)(.*)$"
  return ("%s\nWith the `sim.lua` below as the model it prints:\n\n```text shows\n%s\n```\n\n```lua file=sim.lua first\n%s\n```\n%s")
    :format(example, play.shows, play.sim, rest)
end

local function page_text(page)
  local out = {}
  local function add(line) out[#out + 1] = line end
  add(("# %s\n"):format(page[1]))
  local begins = #out + 1
  local written = new_page(page[1])
  for i = 2, #page do written:read(page[i]) end
  written:write(add)
  if page[1]:find "^hocket" and not out[begins]:find "^[^\n]*\n?[^\n]*\n\n```lua\n" then
    error(("the page of %s does not begin with a sentence and an example that can be run"):format(page[1]), 0)
  end
  if plays[page[1]] then out[begins] = with_play(out[begins], plays[page[1]]) end
  return text_of(out)
end

local function index_text()
  local out = {}
  local function add(line) out[#out + 1] = line end
  add [[
# Lua modules

The modules that a script may require, in the order in which people need them. Everything below `hocket.internal` may change.
`./dev docs` writes these pages from the annotations in the sources, which editors find in `lua/` and `docs/stubs/`. Do not edit them.

- Scripts that hocket runs and a stock Lua 5.4 have all of them. LuaJIT and Lua 5.1 to 5.3 have the module `hocket` alone
  ([the binding](../../guides/games.md#the-binding-for-other-luas)); there the others raise an error that says so.
- A function that *waits* can be called inside a run or a fiber only, and lets others run meanwhile.
- A function returns `nil, error` when something outside of the script fails ([errors](errors.md)). It raises an error when it is misused.
- A `?` marks what you may leave out, or what may be nil.
]]
  add "| module | |\n|---|---|"
  for _, page in ipairs(pages) do
    add(("| [%s](%s) | %s |"):format(page[1], file_of(page[1]), cell(first_sentence(page[2]))))
  end
  return text_of(out)
end

-- Every public module has its page.
local function missing_pages()
  local known, missing = {}, {}
  for _, page in ipairs(pages) do known[page[1]] = true end
  for line in assert(fs.read(root .. "tests/floors.txt")):gmatch "[^\n]+" do
    for name in (line:match "^%l.*$" or ""):gmatch "%f[%w]hocket[%w_.]*" do
      if not known[name] then missing[#missing + 1] = name end
    end
  end
  return missing
end

local missing = missing_pages()
if #missing > 0 then
  return nil, { code = "state", message = "docs/tools/reference.lua has no page for " .. table.concat(missing, ", ") }
end
local made, wanted = { { path = folder .. "README.md", text = index_text() } }, { ["README.md"] = true }
for _, page in ipairs(pages) do
  made[#made + 1] = { path = folder .. file_of(page[1]), text = page_text(page) }
  wanted[file_of(page[1])] = true
end
local is_check = (...) == "check"
for _, file in ipairs(made) do
  if not is_check then
    assert(fs.mkdir(root .. folder))
    local ok, err = fs.write(root .. file.path, file.text)
    if not ok then return nil, err end
  elseif fs.read(root .. file.path) ~= file.text then
    return nil, { code = "state", message = file.path .. " is not up to date: run ./dev docs" }
  end
end
for _, name in ipairs(assert(fs.list(root .. folder))) do
  if not wanted[name] then return nil, { code = "state", message = ("no module has the page %s%s: remove it"):format(folder, name) } end
end
return ("%d pages in %s are %s"):format(#made, folder, is_check and "up to date" or "written")
