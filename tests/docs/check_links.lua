-- Links between the documents lead somewhere, headings included, and from the README one comes to
-- every chapter of docs/.
local fs = require "hocket.fs"

local wrong, headings = {}, {}

-- A heading's anchor, as GitHub makes it.
local function anchor(heading)
  local text = heading:gsub("%[([^%]]*)%]%([^)]*%)", "%1"):gsub("…", ""):gsub("—", ""):lower()
  return (text:gsub("[^%w%-_ \x80-\xff]", ""):gsub(" ", "-"))
end

local function outside_code(text)
  return ("\n" .. text):gsub("\n```.-\n```", "\n")
end

local function headings_of(path)
  if headings[path] then return headings[path] end
  local found = {}
  for heading in outside_code(assert(fs.read(path))):gmatch "\n#+ ([^\n]*)" do found[anchor(heading)] = true end
  headings[path] = found
  return found
end

local function resolve(path, target)
  local parts = {}
  for part in ((path:match "^(.*/)" or "") .. target):gmatch "[^/]+" do
    if part == ".." then parts[#parts] = nil elseif part ~= "." then parts[#parts + 1] = part end
  end
  return table.concat(parts, "/")
end

local function exists(path)
  return fs.read(path) ~= nil or fs.list(path) ~= nil
end

-- Where a page is read, nothing shows what a fence says of its file: the paragraph above it has the name.
local function check_names(path, text)
  local above, gap, inside = "", true, false
  for line in text:gmatch "([^\n]*)\n" do
    if line:find "^```" then
      local name = not inside and not line:find " first$" and line:match " file=(%S+)"
      if name and not above:find(name:match "[^/]*$", 1, true) then wrong[#wrong + 1] = ("%s: nothing above the block says that it is %s"):format(path, name) end
      inside, above = not inside, ""
    elseif line == "" then
      gap = true
    elseif not inside then
      above, gap = gap and line or above .. " " .. line, false
    end
  end
end

local function check(path)
  local linked = {}
  check_names(path, assert(fs.read(path)))
  for link in outside_code(assert(fs.read(path))):gmatch "%]%(([^)%s]+)%)" do
    local file, name = link:match "^([^#]*)#?(.*)$"
    local target = file == "" and path or resolve(path, file)
    linked[target] = true
    if link:find "^%a+:" then -- elsewhere
    elseif not exists(target) then
      wrong[#wrong + 1] = ("%s: there is no %s"):format(path, link)
    elseif name ~= "" and target:find "%.md$" and not headings_of(target)[name] then
      wrong[#wrong + 1] = ("%s: there is no heading for %s"):format(path, link)
    end
  end
  return linked
end

-- Files of the tree that a page for developers names in `quotes`.
local function check_paths(page)
  for path in assert(fs.read(page)):gmatch "`([%w_/.-]+)`" do
    local is_ours = path:find "^src/" or path:find "^lua/" or path:find "^tests/" or path:find "^include/"
    if is_ours and not path:find "NAME" and not exists(path) then wrong[#wrong + 1] = ("%s: there is no %s"):format(page, path) end
  end
end

check "examples/README.md"
check "CONTRIBUTING.md"
check_paths "CONTRIBUTING.md"
check_paths "docs/explanation/architecture.md"
check_paths "docs/explanation/internals.md"
check "tests/README.md"
check "README.md"
local from_index, from_modules = check "docs/README.md", check "docs/reference/lua/README.md"
for _, folder in ipairs { "docs/tutorial", "docs/guides", "docs/reference", "docs/reference/lua", "docs/explanation" } do
  for _, name in ipairs(assert(fs.list(folder))) do
    local path = folder .. "/" .. name
    if path:find "%.md$" then
      check(path)
      headings_of(path)
      if not (from_index[path] or from_modules[path]) then wrong[#wrong + 1] = "docs/README.md does not lead to " .. path end
    end
  end
end

-- What people type into a search box stands in a heading.
local searched = {
  "structured output", "human in the loop", "durable execution", "resume", "hot reload", "prompt injection", "retrieval", "sub-agent", "quick start", "tutorial", "faq",
  "troubleshooting", "observability", "session", "guardrail", "evaluation", "deployment", "memory", "glossary",
}
local every = {}
headings_of "docs/README.md"
for path, found in pairs(headings) do
  if path:find "^docs/" then
    for heading in pairs(found) do every[#every + 1] = heading:gsub("-", " ") end
  end
end
local all_headings = table.concat(every, "\n")
for _, words in ipairs(searched) do
  if not all_headings:find(words:gsub("-", " "), 1, true) then wrong[#wrong + 1] = "no heading of docs/ has the words " .. words end
end
if #wrong > 0 then return nil, { code = "state", message = table.concat(wrong, "\n") } end
return "the links are good"
