-- Each promise of the page on security has an attack: its sentences, and its tables' rows, stand in tests/attack/promises.txt beside the tests
-- that try to break them. A promise that is new or reworded needs its row, and a row needs its promise and its test.
local fs = require "hocket.fs"

local wrong = {}
local function say(...) wrong[#wrong + 1] = (...):format(select(2, ...)) end

-- ---- The page ---------------------------------------------------------------------------------------------

-- Sections whose tables are promises, and those that promise without the word.
local tables = { Programs = true, ["Tokens and links of `hocket serve`"] = true, ["Runs that are continued"] = true }
local plain = { ["The program itself"] = true }

local function sentences(text, add)
  text = text:gsub("%[([^%]]*)%]%([^)]*%)", "%1"):gsub("^Promised[^:]*:%s*", ""):gsub("^%- ", ""):gsub("%s+", " ")
  for one in (text .. " "):gmatch "(.-[.])%s" do add((one:gsub("^(%l)", string.upper))) end
end

-- The promises of a section: its paragraphs and lists up to what is no promise, and rows of tables.
local function read_section(name, text, add)
  local promising, part = plain[name], {}
  local function flush()
    local whole = table.concat(part, " ")
    part = {}
    if whole:find "^Promised" then promising = true end
    if whole:find "^%- Mechanism" or whole:find "^%- Proof" or whole:find "^%- Not promised" or whole:find "^Details" then promising = false end
    if promising then sentences(whole, add) end
  end
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    if line == "" or line:find "^%- " or line:find "^|" then flush() end
    local cell = line:match "^|%s*(.-)%s*|"
    if cell then
      if tables[name] and not cell:find "^%-+$" then add((cell:gsub("%[([^%]]*)%]%([^)]*%)", "%1"))) end
    elseif line ~= "" then
      part[#part + 1] = line
    end
  end
  flush()
end

local promised = {}
local heads = { protected = true, token = true, attack = true } -- of the tables
local page = assert(fs.read "docs/explanation/security.md")
for name, text in (page:gsub("\n## ", "\n\0") .. "\0"):gmatch "%z([^\n]*)\n([^%z]*)" do
  read_section(name, text, function(one)
    one = one:gsub("^Hocket", "hocket")
    if not heads[one] then promised[#promised + 1], promised[one] = one, true end
  end)
end
if #promised < 100 then say("only %d promises were read", #promised) end

-- ---- The attacks -----------------------------------------------------------------------------------------------

local listed, last, tests = {}, nil, 0
for line in assert(fs.read "tests/attack/promises.txt"):gmatch "[^\n]+" do
  local path, words = line:match "^  ([^:]+): (.+)$"
  if path then
    local text = fs.read("tests/" .. path, 1 << 20)
    if not text then say("%s: there is no tests/%s", last, path) elseif not text:find(words, 1, true) then say("%s: tests/%s has no '%s'", last, path, words) end
    listed[last], tests = listed[last] + 1, tests + 1
  elseif not line:find "^#" then
    last, listed[line] = line, 0
  end
end
for _, one in ipairs(promised) do
  if not listed[one] then say("no attack is listed for: %s", one) end
end
for one, count in pairs(listed) do
  if count == 0 then say("no test is named for: %s", one) end
  if not promised[one] and not page:gsub("%[([^%]]*)%]%([^)]*%)", "%1"):gsub("%s+", " "):find(one, 1, true) then say("the page does not promise: %s", one) end
end

if #wrong > 0 then error(table.concat(wrong, "\n"), 0) end
return ("%d promises, %d attacks on them"):format(#promised, tests)
