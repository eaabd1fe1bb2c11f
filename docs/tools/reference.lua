-- Writes docs/lua-reference.md from the LuaCATS annotations in lua/hocket and docs/stubs.
--
--   hocket run docs/tools/reference.lua          writes the file
--   hocket run docs/tools/reference.lua check    fails when the file is not up to date
local fs = require "hocket.fs"

local root = (debug.getinfo(1, "S").source:match "^@(.*)/docs/tools/[^/]*$" or ".") .. "/"
local output = root .. "docs/lua-reference.md"

-- In the order of the reference: a title, and the files that belong to it.
local pages = {
  { "hocket", "lua/hocket/init.lua" },
  { "hocket.board", "lua/hocket/board.lua", "docs/stubs/board.lua" },
  { "hocket.document", "lua/hocket/document.lua", "docs/stubs/document.lua" },
  { "hocket.flow", "lua/hocket/flow.lua" },
  { "hocket.host", "lua/hocket/host.lua" },
  { "hocket.broker", "lua/hocket/broker.lua", "docs/stubs/broker.lua" },
  { "hocket.tool", "lua/hocket/tool.lua" },
  { "hocket.events", "lua/hocket/events.lua" },
  { "hocket.session", "lua/hocket/session.lua" },
  { "hocket.orchestrate", "lua/hocket/orchestrate.lua", "lua/hocket/internal/work/step.lua" },
  { "hocket.llm", "lua/hocket/llm.lua", "lua/hocket/internal/models/asker.lua", "docs/stubs/history.lua" },
  { "hocket.model", "lua/hocket/model.lua" },
  { "hocket.providers", "lua/hocket/providers.lua" },
  { "hocket.prices", "lua/hocket/prices.lua" },
  { "hocket.definitions", "lua/hocket/agent.lua" },
  { "hocket.sim", "lua/hocket/sim/init.lua", "lua/hocket/sim/team.lua" },
  { "hocket.patterns.facilitator", "lua/hocket/patterns/facilitator.lua" },
  { "hocket.patterns.handoff", "lua/hocket/patterns/handoff.lua" },
  { "hocket.patterns.router", "lua/hocket/patterns/router.lua" },
  { "hocket.patterns.advisors", "lua/hocket/patterns/advisors.lua" },
  { "hocket.patterns.team", "lua/hocket/patterns/team.lua" },
  { "hocket.live", "lua/hocket/live.lua", "lua/hocket/internal/live/generation.lua" },
  { "hocket.json", "docs/stubs/json.lua" },
  { "hocket.fs", "docs/stubs/fs.lua" },
  { "hocket.http", "docs/stubs/http.lua" },
  { "hocket.process", "docs/stubs/process.lua" },
  { "hocket.schema", "docs/stubs/schema.lua" },
  { "hocket.yaml", "docs/stubs/yaml.lua" },
  { "Journals", "docs/stubs/journal.lua", "docs/stubs/writer.lua" },
  { "Fibers", "docs/stubs/fiber.lua" },
  { "Errors", "docs/stubs/error.lua" },
}

-- Files that are no part of the interface, beside those below lua/hocket/internal.
local internal = { ["lua/hocket/run.lua"] = true }

-- ---- Reading annotations ----------------------------------------------------------------

-- A type ends at the first space outside of brackets, unless it goes on after `|`, `,` or `:`.
local function split_type(text)
  local depth, i = 0, 1
  while i <= #text do
    local c = text:sub(i, i)
    if c:find "[%(%[{<]" then depth = depth + 1 end
    if c:find "[%)%]}>]" then depth = depth - 1 end
    if c == '"' then i = text:find('"', i + 1, true) or #text end
    if c == " " and depth == 0 and not text:sub(1, i - 1):find "[|,:]$" and not text:sub(i + 1):find "^|" then break end
    i = i + 1
  end
  return text:sub(1, i - 1), (text:sub(i + 1):gsub("^#%s*", ""))
end

local tags = {}

function tags.param(doc, rest)
  local name, optional, more = rest:match "^([%w_.]+)(%??)%s+(.*)$"
  local kind, text = split_type(more)
  doc.params[#doc.params + 1] = { name = name, optional = optional ~= "", kind = kind, text = text }
end

tags["return"] = function(doc, rest)
  local kind, more = split_type(rest)
  local name, text = more:match "^([%a_][%w_]*)%f[%s\0](.*)$"
  if more:find "^%.%.%." then name, text = "...", more:sub(4) end
  doc.returns[#doc.returns + 1] = { kind = kind, name = name, text = (text or more):gsub("^%s+", "") }
end

function tags.class(doc, rest)
  local name, text = rest:match "^([%w_.]+)%s*(.*)$"
  doc.class = name
  if text ~= "" then doc.lines[#doc.lines + 1] = text end
end

function tags.field(doc, rest)
  local name, optional, more = rest:match "^([%w_.]+)(%??)%s+(.*)$"
  local kind, text = split_type(more)
  doc.fields[#doc.fields + 1] = { name = name, optional = optional ~= "", kind = kind, text = text }
end

function tags.async(doc) doc.async = true end

-- The blocks of a file: comment lines that begin with `---`, and the line that follows them.
local function blocks_of(text)
  local blocks, doc = {}, nil
  for line in (text .. "\n"):gmatch "(.-)\n" do
    local comment = line:match "^%-%-%-(.*)$"
    if comment then
      doc = doc or { lines = {}, params = {}, returns = {}, fields = {} }
      local tag, rest = comment:match "^@(%a+)%s*(.*)$"
      if tags[tag] then
        tags[tag](doc, rest)
      elseif not tag then
        doc.lines[#doc.lines + 1] = comment:gsub("^ ", "")
      elseif tag == "meta" then
        doc = nil
      end
    elseif doc then
      doc.code = line
      blocks[#blocks + 1], doc = doc, nil
    end
  end
  return blocks
end

-- ---- Writing Markdown ---------------------------------------------------------------------

-- Indented lines are code.
local function prose(lines)
  local out, code = {}, false
  for _, line in ipairs(lines) do
    local indented = line:find "^    " ~= nil
    if indented and not code then
      out[#out + 1] = "```lua skip"
      code = true
    elseif code and not indented and line ~= "" then
      while out[#out] == "" do out[#out] = nil end
      out[#out + 1], code = "```\n", false
    end
    out[#out + 1] = code and line:gsub("^    ", "") or line
  end
  if code then out[#out + 1] = "```" end
  return (table.concat(out, "\n"):gsub("^%s+", ""):gsub("%s+$", ""))
end

local function cell(text) -- of a table: no bar of the type may end it
  return (text:gsub("|", "\\|"))
end

local function list_of(values, add)
  for _, v in ipairs(values) do
    add(("- `%s%s` (`%s`)%s"):format(v.name, v.optional and "?" or "", v.kind, v.text ~= "" and ": " .. v.text or ""))
  end
end

local function signature(name, doc, arguments)
  local optional, names = {}, {}
  for _, p in ipairs(doc.params) do optional[p.name] = p.optional end
  for argument in arguments:gmatch "[%w_.]+" do names[#names + 1] = argument .. (optional[argument] and "?" or "") end
  return ("%s(%s)"):format(name, table.concat(names, ", "))
end

local function write_function(name, doc, arguments, add)
  add(("\n### `%s`\n"):format(signature(name, doc, arguments)))
  local text = prose(doc.lines)
  if text ~= "" then add(text .. (doc.async and " *Waits.*" or "") .. "\n") elseif doc.async then add "*Waits.*\n" end
  list_of(doc.params, add)
  for i, r in ipairs(doc.returns) do
    add(("- %s `%s`%s%s"):format(i == 1 and "returns" or "and", r.kind, r.name and (" `%s`"):format(r.name) or "",
      r.text ~= "" and ": " .. r.text or ""))
  end
end

local function write_class(doc, add)
  local text = prose(doc.lines)
  if text == "" and #doc.fields == 0 then return end -- it has functions only, which follow
  add(("\n### %s\n"):format(doc.class))
  if text ~= "" then add(text .. "\n") end
  if #doc.fields == 0 then return end
  add "| field | type | |\n|---|---|---|"
  for _, f in ipairs(doc.fields) do
    add(("| `%s%s` | `%s` | %s |"):format(f.name, f.optional and "?" or "", cell(f.kind), cell(f.text)))
  end
end

-- `board:create` in a stub of the class hocket.Board, `Session:send` in a module: "board:create", "session:send".
local function write_file(path, title, add)
  local text = assert(fs.read(root .. path))
  for i, doc in ipairs(blocks_of(text)) do
    local name, arguments = doc.code:match "^function ([%w_.:]+)%((.-)%)"
    if not name then name, arguments = doc.code:match "^([%w_.]+) = function%((.-)%)" end
    if doc.class then
      write_class(doc, add)
    elseif name then
      local object, method = name:match "^([%w_]+):(.*)$"
      if object then name = object:lower() .. ":" .. method else name = name:gsub("^[%w_]+%.", title .. ".", 1) end
      write_function(name, doc, arguments, add)
    elseif i == 1 then
      add(prose(doc.lines) .. "\n")
    end
  end
end

-- Modules that nobody gave a place come last.
local function all_pages()
  local list, known = table.move(pages, 1, #pages, 1, {}), {}
  for _, page in ipairs(pages) do
    for i = 2, #page do known[page[i]] = true end
  end
  for _, name in ipairs(assert(fs.list(root .. "lua/hocket"))) do
    local path = "lua/hocket/" .. name
    if name:find "%.lua$" and not known[path] and not internal[path] then
      list[#list + 1] = { "hocket." .. name:sub(1, -5), path }
    end
  end
  return list
end

local function generate()
  local out = {}
  local function add(line) out[#out + 1] = line end
  add "# Lua reference\n"
  add "Written by `./dev docs` from the annotations in the sources; do not edit. Functions that say *Waits* can"
  add "be called inside a run or a fiber only, and let others run meanwhile. Failures of the world are returned as"
  add "`nil, error` (see [Errors](#errors)); misuse raises. Editors find the same annotations in `lua/` and"
  add "`docs/stubs/`.\n"
  local list = all_pages()
  for _, page in ipairs(list) do
    local anchor = page[1]:lower():gsub("[^%w_ -]", ""):gsub(" ", "-")
    add(("- [%s](#%s)"):format(page[1], anchor))
  end
  for _, page in ipairs(list) do
    add(("\n## %s\n"):format(page[1]))
    for i = 2, #page do write_file(page[i], page[1], add) end
  end
  return (table.concat(out, "\n"):gsub("\n\n\n+", "\n\n") .. "\n")
end

local text = generate()
if (...) == "check" then
  if fs.read(output) ~= text then
    return nil, { code = "state", message = "docs/lua-reference.md is not up to date: run ./dev docs" }
  end
  return "docs/lua-reference.md is up to date"
end
local ok, err = fs.write(output, text)
if not ok then return nil, err end
return "docs/lua-reference.md is written"
