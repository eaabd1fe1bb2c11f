-- Writes docs/llms.txt, the list of all pages for models that look something up: from the pages' own titles and first sentences.
--
--   hocket run docs/tools/llms.lua          writes it
--   hocket run docs/tools/llms.lua check    fails when a page is missing, or is gone
local fs = require "hocket.fs"

local root = (debug.getinfo(1, "S").source:match "^@(.*)/docs/tools/[^/]*$" or ".") .. "/"

local folders = { { "Tutorials", "tutorial" }, { "Guides", "guides" }, { "Reference", "reference" }, { "Lua modules", "reference/lua" }, { "Explanation", "explanation" } }

-- Links become their words: the list has links of its own.
local function plain(text)
  return (text:gsub("%[([^%]]*)%]%([^)]*%)", "%1"))
end

-- The first sentence below the title, where the page begins with one.
local function about(text)
  local paragraph = text:match "^#[^\n]*\n+([%a`][^\n]*[^|]-)\n\n" or ""
  local sentence = plain(paragraph:gsub("\n", " ")):match "^(.-%.)%f[%s\0]" or plain(paragraph:gsub("\n", " "))
  return #sentence <= 300 and sentence or ""
end

local function line_of(path)
  local text = assert(fs.read(root .. "docs/" .. path))
  local title, words = plain(text:match "^#%s+([^\n]+)" or path), about(text)
  return ("- [%s](%s)%s"):format(title, path, words ~= "" and ": " .. words or "")
end

local lines = {
  "# hocket", "",
  "> A runtime for teams of LLM agents: a C library and a command-line program that embed Lua 5.4. Agents are Markdown files with YAML front matter; runs are durable.", "",
  "Start with [the overview](README.md). `hocket help PAGE` shows each page in the terminal.",
}
for _, folder in ipairs(folders) do
  lines[#lines + 1] = ("\n## %s\n"):format(folder[1])
  for _, name in ipairs(assert(fs.list(root .. "docs/" .. folder[2]))) do
    if name:find "%.md$" then lines[#lines + 1] = line_of(folder[2] .. "/" .. name) end
  end
end
local text = table.concat(lines, "\n") .. "\n"

-- Which pages it lists; their sentences may be a little older.
local function pages_in(list)
  local pages = {}
  for path in list:gmatch "\n%- %[[^%]]*%]%(([^)]+)%)" do pages[#pages + 1] = path end
  return table.concat(pages, " ")
end

if ... == "check" then
  if pages_in(assert(fs.read(root .. "docs/llms.txt"))) == pages_in(text) then return "docs/llms.txt has all pages" end
  return nil, { code = "state", message = "docs/llms.txt does not have all pages: run ./dev docs" }
end
assert(fs.write(root .. "docs/llms.txt", text))
return "docs/llms.txt is written"
