--- Files of cases: YAML (a list, or one document with `defaults` and `cases`), or JSONL (a case on each line, `{"defaults": …}` on
--- the first). What is wrong is reported with file, line and mend, all of it at once.
local check = require "hocket.internal.eval.check"
local compile = require "hocket.internal.base.script.compile"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local keys = require "hocket.internal.eval.keys"
local material = require "hocket.internal.eval.material"
local problem = require "hocket.internal.agents.problem"
local schema = require "hocket.schema"
local system = require "hocket.internal.core.system"
local tree = require "hocket.internal.base.tree"
local truncate = require "hocket.internal.base.truncate"
local yaml = require "hocket.yaml"

local cases = {}

--- Bytes of a file, cases of an evaluation.
local MAX_BYTES, MAX_CASES = 16 << 20, 10000

---@class hocket.EvalCase
---@field name string
---@field file string As it was named.
---@field dir string Its folder: what the case names lies below it.
---@field line integer
---@field digest string Of everything that the case says, not of its target.
---@field spec table As `keys.case`, the file's defaults included.
---@field fixture? table[] What is copied into the run's folder.
---@field lua? string The text of its check.
---@field schemas table<table, hocket.Schema> By where it is expected.

-- ---- Reading --------------------------------------------------------------------------------------

--- Whether a file's name says that it has cases.
---@param path string
---@return boolean
function cases.is_file(path)
  return path:find "%.eval%.ya?ml$" ~= nil or path:find "%.eval%.jsonl$" ~= nil
end

-- Documents: {value, context, pointer}, the defaults apart.
local function from_yaml(text, path, problems)
  local value, places = yaml.decode(text)
  if value == nil then
    local line, column, what = tostring(places.message):match "^(%d+):(%d+): (.*)$"
    local hint = places.code == "limit" and #text > 65536 and ": a file of YAML has at most 64 KB: make several of it, or one of JSONL" or ""
    problems[#problems + 1] = problem.new(path, tonumber(line) or 1, tonumber(column) or 1, "syntax", (what or places.message) .. hint)
    return {}
  end
  local c, list, at = check.new(path, places, 1, problems), value, ""
  local defaults
  if check.is_object(value) then
    check.object(c, value, "", { defaults = check.an_object(keys.common), cases = check.any })
    list, at, defaults = value.cases, "/cases", value.defaults
  end
  if type(list) ~= "table" or not json.is_array(list) then
    c:say("", "a list of cases is expected, or 'cases' with one (docs/guides/evaluation.md)")
    return {}
  end
  local found = {}
  for i, one in ipairs(list) do found[i] = { value = one, context = c, pointer = check.below(at, i) } end
  return found, defaults
end

local function from_jsonl(text, path, problems)
  local found, defaults, line = {}, nil, 0
  for row in (text:gsub("\r\n", "\n") .. "\n"):gmatch "(.-)\n" do
    line = line + 1
    if line % 100 == 0 then fiber.rest() end
    local c = check.new(path, nil, line, problems)
    local value, err
    if row:find "%S" then value, err = json.decode(row) end
    if err then
      problems[#problems + 1] = problem.new(path, line, tonumber(err.message:match "column (%d+)") or 1, "syntax", (err.message:gsub("^line %d+, column %d+: ", "")))
    elseif type(value) == "table" and check.is_object(value) and value.defaults ~= nil and #found == 0 then
      check.object(c, value, "", { defaults = check.an_object(keys.common) })
      defaults = value.defaults
    elseif value ~= nil then
      found[#found + 1] = { value = value, context = c, pointer = "" }
    end
  end
  return found, defaults
end

-- ---- A case ------------------------------------------------------------------------------------------

-- These keys have the members of the file and of the case, whose own come first; for every other key the case's value alone counts.
local merged = { variables = true, expect = true, models = true }

local function with_defaults(own, defaults)
  local all = {}
  for name, value in pairs(type(defaults) == "table" and defaults or {}) do all[name] = value end
  for name, value in pairs(own) do
    if merged[name] and check.is_object(value) and check.is_object(all[name]) then
      local both = {}
      for key, one in pairs(all[name]) do both[key] = one end
      for key, one in pairs(value) do both[key] = one end
      value = both
    end
    all[name] = value
  end
  return all
end

local function name_of(spec, n)
  if spec.name then return spec.name end
  local input = type(spec.input) == "string" and spec.input or spec.input ~= nil and json.encode(spec.input) or ("case %d"):format(n)
  return truncate((input:gsub("[%s%c]+", " "):gsub("^ ", ""):gsub(" $", "")), 80, "…")
end

-- A file's text, or nil and its mistake told.
local function text_beside(one, path, at, what)
  local text, err = material.read(one.dir, path, 1 << 20)
  if not text then one.context:say(at, "%s: %s", what, err.message) end
  return text
end

local function load_script(one, expect)
  if not expect.lua then return end
  local at, text, name = check.below(one.pointer, "expect") .. "/lua", expect.lua, "lua"
  if text:find "^[^\n]+%.lua$" then
    name = text
    if not check.is_inside(text) then return one.context:say(at, "'%s': a path below the folder of this file, without '..', expected", text) end
    text = text_beside(one, text, at, "lua")
  end
  if not text then return end
  local chunk, wrong = compile(text, name, {})
  if not chunk then one.context:say(at, "%s", wrong) end
  one.lua, one.lua_name = text, name
end

local function load_schema(one, expect, at)
  local source = type(expect) == "table" and expect.schema
  if not source then return end
  local text = type(source) ~= "string" and source or text_beside(one, source, at .. "/schema", "schema")
  if not text then return end
  local made, err = schema.compile(text)
  if not made then return one.context:say(at .. "/schema", "'%s' is no JSON Schema: %s", type(source) == "string" and source or "schema", err.message) end
  one.schemas[expect], one.schema_texts[#one.schema_texts + 1] = made, type(source) == "string" and text or nil
end

local function load_fixture(one)
  local at, source = check.below(one.pointer, "files"), one.spec.files
  if type(source) ~= "string" then return "" end
  local entries, err = material.list(one.dir, source)
  local digest = nil
  if entries then digest, err = material.digest(one.dir, entries) end
  if not digest then return one.context:say(at, "files: %s", err.message) end
  one.fixture = entries
  return digest
end

local function as_list(value)
  return type(value) == "table" and value or { value }
end

local function load_attachments(one)
  local digests = {}
  for i, path in ipairs(as_list(one.spec.attach)) do
    local bytes, err = material.read(one.dir, path)
    if not bytes then return one.context:say(check.below(one.pointer, "attach"), "attach: %s", err.message) end
    digests[i] = system.digest(bytes)
  end
  return table.concat(digests, " ")
end

-- Everything that the case says of what is done and expected; not whom it is said to, nor how often.
local apart = { name = true, description = true, tags = true, target = true, model = true, models = true, ["repeat"] = true, pass = true, skip = true, replay = true }

local function digest_of(one, fixture, attached)
  local said = {}
  for name, value in pairs(one.spec) do
    if not apart[name] then said[name] = value end
  end
  return system.digest(table.concat({ json.encode(said), fixture, attached, one.lua or "", table.unpack(one.schema_texts) }, "\0")):sub(1, 32)
end

-- What it names beside it.
local function load_material(one)
  local expect, at = one.spec.expect or {}, check.below(one.pointer, "expect")
  load_script(one, expect)
  load_schema(one, expect, at)
  for path, of_file in pairs(expect.files or {}) do load_schema(one, of_file, check.below(at .. "/files", path)) end
  local fixture, attached = load_fixture(one), load_attachments(one)
  if one.spec.replay and not text_beside(one, one.spec.replay, check.below(one.pointer, "replay"), "replay") then return end
  if fixture and attached then one.digest = digest_of(one, fixture, attached) end
end

local function make(found, n, path, defaults)
  local c, before = found.context, #found.context.problems
  check.object(c, found.value, found.pointer, keys.case)
  if #c.problems > before then return nil end
  local line = c:place(found.pointer)
  local spec = with_defaults(found.value, defaults)
  local one = { name = name_of(spec, n), file = path, base = path:match "[^/]*$", dir = path:match "^(.*)/[^/]*$" or ".", line = line, spec = spec, context = c, pointer = found.pointer,
    schemas = {}, schema_texts = {} }
  if one.dir == "" then one.dir = "/" end
  load_material(one)
  return #c.problems == before and one or nil
end

local function read_file(path, list, problems)
  local text, err = fs.read(path, MAX_BYTES)
  if not text then
    problems[#problems + 1] = problem.new(path, 1, 1, "nothing", err.message)
    return
  end
  local read = path:find "%.jsonl$" and from_jsonl or from_yaml
  local before = #problems
  local found, defaults = read(text, path, problems)
  if #found == 0 and #problems == before then problems[#problems + 1] = problem.new(path, 1, 1, "nothing", "there are no cases in it") end
  if #problems > before and defaults then defaults = nil end
  for n, one in ipairs(found) do
    fiber.rest()
    if #list >= MAX_CASES then return one.context:say(one.pointer, "more than %d cases: evaluate less at once", MAX_CASES) end
    list[#list + 1] = make(one, n, path, defaults)
  end
end

-- A case is known by its file's name and its own, wherever it is evaluated from.
local function check_names(list, problems)
  local seen = {}
  for _, one in ipairs(list) do
    local key = one.base .. "\0" .. one.name
    local other = seen[key]
    if other then
      problems[#problems + 1] = problem.new(one.file, one.line, 1, "duplicate_name", ("there is another case '%s' (%s:%d): give each its own 'name'%s"):format(
        one.name, other.file, other.line, other.file ~= one.file and ", or the files different ones" or ""))
    end
    seen[key] = other or one
  end
end

local function files_of(path, problems)
  local info, err = fs.info(path)
  if not info then
    problems[#problems + 1] = problem.new(path, 1, 1, "nothing", err and err.message or "there is no such file or directory")
    return {}
  end
  if info.kind ~= "directory" then return { path } end
  local found, wrong = tree.files((path:gsub("(.)/+$", "%1")), cases.is_file)
  if not found or #found == 0 then
    problems[#problems + 1] = problem.new(path, 1, 1, "nothing", wrong and wrong.message or "there are no files of cases in it (NAME.eval.yaml, NAME.eval.jsonl)")
  end
  return found or {}
end

--- Reads files of cases, and those in directories.
---@async
---@param paths string[]
---@return hocket.EvalCase[] cases The ones that are valid.
---@return hocket.Problem[] problems
function cases.read(paths)
  local list, problems, seen = {}, {}, {}
  for _, path in ipairs(paths) do
    for _, file in ipairs(files_of(path, problems)) do
      local real = fs.real(file) or file
      if not seen[real] then read_file(file, list, problems) end
      seen[real] = true
    end
  end
  check_names(list, problems)
  return list, problem.sort(problems)
end

return cases
