-- The page of promises: each part that promises has a proof, each proof that is named is there, and the list of what lifts a
-- protection names every variable that the sources read for such a thing.
local fs = require "hocket.fs"

local wrong = {}
local function say(...) wrong[#wrong + 1] = (...):format(select(2, ...)) end

local page = assert(fs.read "docs/explanation/security.md")

-- ---- Proofs ---------------------------------------------------------------------------------

local function below(folder, paths)
  for _, name in ipairs(assert(fs.list(folder))) do
    local path = folder .. "/" .. name:gsub("/$", "")
    if name:find "/$" then below(path, paths) else paths[#paths + 1] = path end
  end
  return paths
end

local files = {}
for _, path in ipairs(below("tests", {})) do files[path:match "[^/]+$"] = true end

-- "test_code.c" stands for any such file of the tests; "tests/mock/mcp_*" for those that begin so.
local function is_there(name)
  if not name:find "/" then return files[name] or files["test_" .. name] end
  local plain = name:gsub("%*$", "")
  for _, path in ipairs { plain, plain .. ".lua", plain .. ".sh", plain .. ".c", "tests/" .. plain } do
    if fs.info(path) then return true end
  end
  local folder, begun = plain:match "^(.*)/([^/]*)$"
  for _, one in ipairs(name:find "%*$" and fs.list(folder) or {}) do
    if one:sub(1, #begun) == begun then return true end
  end
end

local proofs = 0
local heading, promises, proven = nil, false, false
for line in (page .. "\n## end\n"):gmatch "([^\n]*)\n" do
  if line:find "^## " then
    if promises and not proven then say("%s: promises, and names no proof", heading) end
    heading, promises, proven = line, false, false
  end
  promises, proven = promises or line:find "^Promised" ~= nil, proven or line:find "^%- Proof:" ~= nil
end
local function proofs_of(text)
  local found, open = {}, false
  for line in text:gmatch "([^\n]*)\n" do
    if line:find "^%- Proof:" then
      found[#found + 1], open = line, true
    elseif line == "" or line:find "^%- " then
      open = false
    elseif open then
      found[#found] = found[#found] .. " " .. line
    end
  end
  return found
end

for _, proof in ipairs(proofs_of(page .. "\n")) do
  for classes in proof:gmatch "class[es]* (`[^;.:(]*)" do
    for class in classes:gmatch "`([%l_]+)`" do
      proofs = proofs + 1
      if not fs.info("tests/attack/" .. class .. ".lua") then say("there is no class '%s'", class) end
    end
  end
  for name in proof:gmatch "`([^`]+)`" do
    if name:find "[/.]" then
      proofs = proofs + 1
      if not is_there(name) then say("there is no '%s'", name) end
    end
  end
end
if proofs < 40 then say("only %d proofs were read", proofs) end

-- ---- What lifts a protection --------------------------------------------------------------------

-- Variables that lift nothing; TEST_ETC is read by builds for tests alone.
local harmless = {}
for name in ([[TEST_ETC MODEL STORE OFFLINE PAGE_DIR SEARCH TELEMETRY_WAIT EMBED_MODEL NO_VARIABLE]]):gmatch "%S+" do harmless["HOCKET_" .. name] = true end

local list = page:match "## What lifts a protection(.-)\n## "
local read = {}
for _, folder in ipairs { "lua", "src" } do
  for _, path in ipairs(below(folder, {})) do
    local text = path:find "%.[ch]$" and fs.read(path) or path:find "%.lua$" and fs.read(path) or ""
    for name in text:gmatch "getenv[ (]+\"(HOCKET_[%u_]+)\"" do read[name] = path end
    for name in text:gmatch "variable[ (]+\"(HOCKET_[%u_]+)\"" do read[name] = path end
    for name in text:gmatch "opened[ (]+\"(HOCKET_[%u_]+)\"" do read[name] = path end
  end
end
local n = 0
for name, path in pairs(read) do
  n = n + 1
  if not harmless[name] and not list:find("`" .. name .. "`", 1, true) then say("%s reads %s, which the list of what lifts a protection lacks", path, name) end
end
for name in list:gmatch "`(HOCKET_[%u_]+)`" do
  if not read[name] then say("nothing reads %s", name) end
end
if n < 15 then say("only %d variables were found", n) end

if #wrong > 0 then error("docs/explanation/security.md: " .. table.concat(wrong, "\ndocs/explanation/security.md: "), 0) end
return "ok"
