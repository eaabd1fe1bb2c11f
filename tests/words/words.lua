-- The words of what people read: sentences that are too long, marks of a private voice, terms that nobody explains.
--
--   lua5.4 words.lua report FILE…    counts by kind and place, the worst files
--   lua5.4 words.lua added < DIFF    complains of lines that a `git diff` with whole files as context adds; exit code 1 where there are any
--
-- Prose is text of Markdown outside of code, and comments of C and Lua. Patterns and terms stand in words.txt.
local MAX_WORDS = 35

local here = arg[0]:match "^(.*)/" or "."
local marks, terms = {}, {}
for line in io.lines(here .. "/words.txt") do
  local kind, text = line:match "^(%a+)%s+(.-)%s*$"
  if kind == "mark" then marks[#marks + 1] = text elseif kind == "term" then terms[#terms + 1] = text end
end

-- ---- Prose -----------------------------------------------------------------------------------------

local function plain(text)
  text = text:gsub("%[([^%]]*)%]%([^%)]*%)", "%1"):gsub("`[^`]*`", "CODE"):gsub("<[^>]*>", " ")
  text = text:gsub("[%w_]+%(", "CODE("):gsub("%w+_[%w_]+", "CODE"):gsub("[%*_]+", " ")
  return text:gsub("[Ww]all[ %-](%a+)", { clock = "clock", time = "time" })
end

-- Paragraphs of Markdown: a list item, a heading and a cell of a table each are one.
local markdown = {}
function markdown.read(lines, add)
  local code, open = false, nil
  local function close()
    if open then add(open.line, open.text) end
    open = nil
  end
  for i, line in ipairs(lines) do
    if line:find "^%s*```" then
      close()
      code = not code
    elseif not code and line:find "^%s*|" then
      close()
      for cell in line:gmatch "[^|]+" do add(i, cell) end
    elseif not code then
      local item = line:match "^%s*[-*] (.*)" or line:match "^%s*%d+%. (.*)"
      if item or line:find "^#" or not line:find "%S" then close() end
      local text = item or line:match "^#+ (.*)" or line
      if text:find "%S" then open = open and { line = open.line, text = open.text .. " " .. text } or { line = i, text = text } end
      if line:find "^#" then close() end
    end
  end
  close()
end

-- Consecutive comment lines form one paragraph. A list item and a row of a table ("name  text") are paragraphs of their own;
-- samples of code are not read.
local function comments(pattern, is_end)
  return { read = function(lines, add)
    local open
    local function close()
      if open then add(open.line, open.text) end
      open = nil
    end
    for i, line in ipairs(lines) do
      local text = pattern(line)
      if text and (text:find "^%s*%- " or text:find "^%s*%S+%s%s+%S") then close() end
      if text and text:find "%S" and not text:find "^    " and not text:find "^@" then
        open = open and { line = open.line, text = open.text .. " " .. text } or { line = i, text = text }
      else
        close()
      end
      if is_end(line) then close() end
    end
    close()
  end }
end

local in_c = false
local c = comments(function(line)
  local begun = line:match "/%*+(.*)"
  local text = begun or in_c and line:match "^%s*%*? ?(.*)" or line:match "%s//%s?(.*)"
  if begun then in_c = true end
  if in_c and line:find("*/", 1, true) then in_c = false end
  return text and text:gsub("%s*%*/.*", "")
end, function(line) return line:find("*/", 1, true) ~= nil end)

local lua = comments(function(line) return line:match "%-%-%-? ?(.*)" end, function() return false end)

local readers = { md = markdown, c = c, h = c, lua = lua, tmpl = markdown }

-- ---- What is found -------------------------------------------------------------------------------------

local function count_words(sentence)
  local n = 0
  for _ in sentence:gmatch "%f[%w][%w'’/%.-]*%w" do n = n + 1 end
  return n
end

local function sentences(text)
  return (text .. " "):gsub("%f[%w](%a%.%a)%.", "%1"):gmatch "(.-[%.%?!][%)\"']*)%s"
end

local function look(text, found)
  local prose = plain(text)
  local last = 1
  for sentence in sentences(prose) do
    last = last + #sentence + 1
    if count_words(sentence) > MAX_WORDS then found("sentence", sentence) end
  end
  local rest = prose:sub(last)
  if count_words(rest) > MAX_WORDS then found("sentence", rest) end
  local lower = " " .. prose:lower() .. " "
  for _, mark in ipairs(marks) do
    for hit in lower:gmatch("%f[%a]" .. mark .. "%f[%A]") do found("mark", hit) end
  end
  for _, term in ipairs(terms) do
    for hit in lower:gmatch("%f[%w_]" .. term .. "%f[^%w_]") do found("term", hit) end
  end
end

local function read(lines, name, found)
  local reader = readers[name:match "%.(%w+)$"]
  if not reader then return end
  in_c = false
  reader.read(lines, function(line, text)
    look(text, function(kind, what) found(kind, line, what) end)
  end)
end

-- ---- Report ----------------------------------------------------------------------------------------------

local kinds = { "sentence", "mark", "term" }
local titles = { sentence = ("sentences over %d words"):format(MAX_WORDS), mark = "marks of the old voice", term = "terms that nobody explains" }

local function place_of(name)
  return name:match "^([^/]+)/" or "README and others"
end

local function report(files)
  local places, totals, worst, order = {}, {}, {}, {}
  for _, name in ipairs(files) do
    local lines, of_file = {}, 0
    for line in io.lines(name) do lines[#lines + 1] = line end
    local place = place_of(name)
    if not places[place] then
      places[place] = {}
      order[#order + 1] = place
    end
    read(lines, name, function(kind)
      places[place][kind], totals[kind] = (places[place][kind] or 0) + 1, (totals[kind] or 0) + 1
      of_file = of_file + 1
    end)
    worst[#worst + 1] = { name = name, n = of_file }
  end
  table.sort(order)
  table.sort(worst, function(a, b) return a.n > b.n or a.n == b.n and a.name < b.name end)
  print(("%-20s %24s %24s %28s"):format("", titles.sentence, titles.mark, titles.term))
  for _, place in ipairs(order) do
    print(("%-20s %24d %24d %28d"):format(place, places[place].sentence or 0, places[place].mark or 0, places[place].term or 0))
  end
  print(("%-20s %24d %24d %28d"):format("all", totals.sentence or 0, totals.mark or 0, totals.term or 0))
  print "\nmost of them in:"
  for i = 1, math.min(10, #worst) do print(("  %4d  %s"):format(worst[i].n, worst[i].name)) end
end

-- ---- Text that is new ---------------------------------------------------------------------------------------

-- The added lines of each file, a gap for what lies between them. A fence of the context says whether they are code.
local function read_diff()
  local files, name = {}, nil
  for line in io.lines() do
    if line:find "^%+%+%+ " then
      name = line:match "^%+%+%+ b/(.*)" or line:match "^%+%+%+ (.*)"
      files[#files + 1] = { name = name, lines = {}, at = {} }
    elseif line:find "^@@" then
      local file = files[#files]
      file.next = math.tointeger(tonumber(line:match "%+(%d+)"))
      file.lines[#file.lines + 1], file.at[#file.at + 1] = "", 0
    elseif line:find "^%+" then
      local file = files[#files]
      file.lines[#file.lines + 1], file.at[#file.at + 1] = line:sub(2), file.next
      file.next = file.next + 1
    elseif line:find "^ " then
      local file = files[#files]
      file.lines[#file.lines + 1], file.at[#file.at + 1] = line:find "^ %s*```" and line:sub(2) or "", file.next
      file.next = file.next + 1
    end
  end
  return files
end

local function added()
  local n = 0
  for _, file in ipairs(read_diff()) do
    read(file.lines, file.name, function(kind, line, what)
      n = n + 1
      what = what:match "^%s*(.-)%s*$"
      print(("%s:%d: %s: %s"):format(file.name, file.at[line], kind == "sentence" and titles.sentence or kind == "mark" and "a mark of the old voice" or
        "a term that nobody explains", #what > 90 and what:sub(1, 90) .. " ..." or what))
    end)
  end
  return n == 0
end

if arg[1] == "report" then
  report(table.move(arg, 2, #arg, 1, {}))
elseif arg[1] == "added" then
  os.exit(added())
else
  io.stderr:write "words.lua: 'report FILE…' or 'added' expected\n"
  os.exit(2)
end
