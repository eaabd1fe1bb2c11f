-- Makes a static site of docs/: `./dev docs --site [FOLDER]`. It needs no service: it opens from a file, and any server can have it.
--
--   hocket run docs/tools/site/site.lua FOLDER
--
--     docs/guides/tools.md  ─>  FOLDER/guides/tools.html
--     docs/README.md        ─>  FOLDER/index.html
--     all sections          ─>  FOLDER/index.js, which search.js reads
local fs = require "hocket.fs"
local json = require "hocket.json"
local markdown = require "markdown"

local here = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$" or "."
local docs = here:gsub("/?tools/site$", "")
if docs == "" then docs = "." end
local folder = (...) or error("name a folder for the site", 0)
local MAX_WORDS = 1500 -- bytes of a section that are searched

local groups = { { "tutorial", "Tutorials" }, { "guides", "Guides" }, { "reference", "Reference" }, { "reference/lua", "Lua modules" }, { "explanation", "Explanation" } }

local function html_path(path)
  return (path:gsub("README%.md$", "index.md"):gsub("%.md$", ".html"))
end

local function root_of(path)
  return ("../"):rep(select(2, path:gsub("/", "")))
end

-- Where a link of a page leads: to a page of the site, or to a file beside the docs in the sources, which the site has not.
local function linker(path)
  return function(to)
    if to:find "^%a+:" or to:find "^#" then return to end
    local parts = {}
    for part in ((path:match "^(.*/)" or "") .. to):gmatch "[^/]+" do
      if part == ".." and #parts > 0 and parts[#parts] ~= ".." then parts[#parts] = nil elseif part ~= "." then parts[#parts + 1] = part end
    end
    local target = table.concat(parts, "/")
    local file, name = target:match "^([^#]*)(.*)$"
    if file:find "%.md$" and not file:find "^%.%." then return root_of(path) .. html_path(file) .. name end
    return root_of(path) .. target
  end
end

local function title_of(text)
  return text:match "^# ([^\n]*)" or error("a page without a title", 0)
end

local function read_pages()
  local pages = { { path = "README.md", group = "" } }
  for _, group in ipairs(groups) do
    for _, name in ipairs(assert(fs.list(docs .. "/" .. group[1]))) do
      if name:find "%.md$" then pages[#pages + 1] = { path = group[1] .. "/" .. name, group = group[1] } end
    end
  end
  for _, page in ipairs(pages) do
    page.text = assert(fs.read(docs .. "/" .. page.path))
    page.title = title_of(page.text)
  end
  return pages
end

local function navigation(pages, root)
  local out = {}
  for _, group in ipairs(groups) do
    out[#out + 1] = ("<h2>%s</h2><ul>"):format(group[2])
    for _, page in ipairs(pages) do
      if page.group == group[1] then out[#out + 1] = ('<li><a href="%s%s">%s</a></li>'):format(root, html_path(page.path), markdown.escape(page.title)) end
    end
    out[#out + 1] = "</ul>"
  end
  return table.concat(out, "\n")
end

local shell = [[
<!DOCTYPE html>
<html lang="en" data-root="{root}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · hocket</title>
<link rel="stylesheet" href="{root}style.css">
</head>
<body>
<header><a href="{root}index.html">hocket</a><input id="search" type="search" placeholder="Search ( / )" aria-label="Search" autocomplete="off"></header>
<ul id="results" hidden></ul>
<nav><details><summary>All pages</summary>{navigation}</details></nav>
<main>
{body}
</main>
<script src="{root}index.js"></script>
<script src="{root}search.js"></script>
</body>
</html>
]]

local function words_of(section)
  local text = table.concat(section.words, " "):gsub("%[([^%]]*)%]%([^)]*%)", "%1"):gsub("[`*|#]+", " "):gsub("%s+", " ")
  return #text <= MAX_WORDS and text or (text:sub(1, MAX_WORDS):gsub("[\xC0-\xFF][\x80-\xBF]*$", ""))
end

local function write(path, text)
  local at = folder .. "/" .. path
  assert(fs.mkdir(at:match "^(.*)/"))
  assert(fs.write(at, text))
end

-- The pictures of the pages in a folder.
local function copy_pictures(within)
  for _, name in ipairs(assert(fs.list(docs .. "/" .. within))) do
    if name:find "%.svg$" then write(within .. name, assert(fs.read(docs .. "/" .. within .. name))) end
  end
end

local pages, index = read_pages(), {}
for _, page in ipairs(pages) do
  local root = root_of(page.path)
  local body, sections = markdown.html(page.text, linker(page.path))
  local values = { root = root, title = markdown.escape(page.title), navigation = navigation(pages, root), body = body }
  write(html_path(page.path), (shell:gsub("{(%l+)}", values)))
  for _, section in ipairs(sections) do
    index[#index + 1] = { html_path(page.path) .. (section.level > 1 and "#" .. section.id or ""), page.title, section.title, words_of(section) }
  end
end
write("index.js", "globalThis.pages = " .. json.encode(index) .. ";\n")
for _, name in ipairs { "style.css", "search.js" } do write(name, assert(fs.read(here .. "/" .. name))) end
copy_pictures ""
for _, group in ipairs(groups) do copy_pictures(group[1] .. "/") end
return ("%d pages, %d sections: %s/index.html"):format(#pages, #index, folder)
