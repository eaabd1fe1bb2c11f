--- Tools for files below the run's folder. What leaves it is refused by the C module behind them, what
--- needs approval by the permission check.
---
--- Read before write: each agent at work keeps the hash of what it has read (see file_change.lua).
local fence = require "hocket.fence"
local change = require "hocket.internal.tools.file_change"
local file_labels = require "hocket.internal.run.file_labels"
local fs = require "hocket.internal.core.fs"
local media = require "hocket.internal.base.media"
local instructions = require "hocket.internal.base.lazy" "hocket.internal.tools.instructions"
local look = require "hocket.internal.tools.file_look"
local open = require "hocket.internal.tools.open"
local schemas = require "hocket.internal.tools.file_schemas"
local system = require "hocket.internal.core.system"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local tool = require "hocket.tool"
local workdir = require "hocket.internal.run.workdir"

local file = {}

--- Lines and bytes of one file that the model is shown at once.
local LINES, BYTES = 2000, 48 * 1024
--- The same for each of several files.
local BYTES_OF_SEVERAL = 16 * 1024

-- ---- The workspace of one agent at work -----------------------------------------------------------

---@class hocket.Workspace
---@field root hocket.Root
---@field seen table<string, {hash: string, whole: boolean, encoding: string}> What was read, by path.
---@field told table<string, boolean> Instructions of the project that the agent has been given.
---@field scopes table<string, string[]> By file of instructions: the files that it holds for.
---@field env table The agent's.

local function workspace(env)
  if env.workspace then return env.workspace end
  local root, err = workdir.root(env.run)
  if not root then return nil, err end
  env.workspace = { root = env.run.editor and env.run.editor(root) or root, seen = {}, told = {}, scopes = {}, env = env }
  return env.workspace
end

-- Paths are put right before anybody looks at them: the permission check, the person who is asked, the tool.
local function normalise(space, names)
  return function(args)
    for _, name in ipairs(names) do
      local value = args[name]
      local list = type(value) == "table" and value or { value }
      for i, text in ipairs(list) do
        if type(text) == "string" then
          local path, err = space.root:path(text)
          if not path then error(err, 0) end
          if list == value then list[i] = path else args[name] = path end
        end
      end
    end
    return args
  end
end

-- ---- Reading ------------------------------------------------------------------------------------------

local function remember(space, path, got)
  local before = space.seen[path]
  local whole = got.first == 1 and got.last == got.total and not got.cut
  if before and before.hash == got.hash then whole = whole or before.whole end
  space.seen[path] = { hash = got.hash, whole = whole, encoding = got.encoding }
end

local function notes_on(got)
  local notes = {}
  if got.total == 0 then
    notes[1] = "the file is empty"
  elseif got.last < got.first then
    notes[1] = ("the file has only %d lines"):format(got.total)
  elseif got.first > 1 or got.last < got.total then
    notes[1] = ("lines %d to %d of %d"):format(got.first, got.last, got.total)
    if got.last < got.total then notes[1] = notes[1] .. ("; go on with first_line = %d"):format(got.last + 1) end
  end
  if got.cut then notes[#notes + 1] = "its last line is cut here: it is too long to be shown" end
  if got.encoding == "unknown" then
    notes[#notes + 1] = "the file's encoding is not known: all beyond ASCII is shown as \u{FFFD}, and it cannot be written over"
  elseif got.encoding ~= "utf-8" then
    notes[#notes + 1] = "the file is in " .. got.encoding
  end
  return #notes > 0 and ("[%s]"):format(table.concat(notes, "; ")) or nil
end

-- What can be done where nothing can be read.
local function with_hint(space, path, err)
  local info = err.code ~= "not_found" and space.root:info(path)
  if err.code == "not_found" then
    err.message = err.message .. ". Look for it with search_files or list_directory."
  elseif info and info.kind == "directory" then
    err.message = err.message .. ". Look into it with list_directory, or for something in it with search_files."
  end
  return err
end

local function read(space, path, first, lines, limit)
  local before = space.seen[path]
  local got, err = space.root:read(path, { first = first, lines = lines, limit = limit, like = before and before.hash })
  if not got then
    return nil, with_hint(space, path, err)
  elseif got.encoding == "binary" then
    return nil, { code = "invalid", message = ("%s is a binary file of %d bytes and cannot be shown as text. Its size and time are in get_file_info; what it holds only a program can tell.")
      :format(path, got.size) }
  end
  remember(space, path, got)
  local note = notes_on(got)
  if not note then return got.text end
  local gap = got.text == "" and "" or got.text:sub(-1) == "\n" and "" or "\n"
  return got.text .. gap .. note
end

local function read_file(space, args)
  return read(space, args.path, args.first_line, args.lines or LINES, BYTES)
end

-- What is in one file cannot pass for another: each stands in a fence of its own.
local function read_files(space, args)
  local parts = {}
  for i, path in ipairs(args.paths) do
    local text, err = read(space, path, 1, LINES, BYTES_OF_SEVERAL)
    parts[i] = fence.wrap(text and "file" or "error", path, text or err.message)
  end
  return table.concat(parts, "\n\n")
end

local function open_file(space, args)
  local info, err = space.root:info(args.path)
  if not info then return nil, err end
  if info.kind ~= "file" then return nil, ("%s is no file"):format(args.path) end
  return open.show(space.run, ("%s/%s"):format(space.root:dir(), args.path))
end

-- ---- Making --------------------------------------------------------------------------------------------------------

-- The paths that a call reads, and where links lead: a credential is one by any name.
local function reads(space, names)
  return function(args)
    local list = {}
    for _, name in ipairs(names) do
      local value = args[name] or "."
      for _, path in ipairs(type(value) == "table" and value or { value }) do
        local real = fs.real(space.root:dir() .. "/" .. path)
        list[#list + 1] = path
        list[#list + 1] = real and space.root:path(real) or nil
      end
    end
    return list
  end
end

-- What a call has read came from whoever wrote it.
local function take_labels(space, kind, args, ctx)
  local bits = 0
  for _, name in ipairs(kind.paths) do
    local value = args[name] or "."
    for _, path in ipairs(type(value) == "table" and value or { value }) do bits = bits | file_labels.of(space.root, path) end
  end
  if bits ~= 0 then ctx.mark(bits) end
end

-- What a call has written is the conversation's.
local function give_labels(space, args, ctx)
  local bits = ctx.session.permissions.labels.bits
  if args.from then
    file_labels.moved(space.root, args.from, args.to, bits)
  else
    file_labels.wrote(space.root, args.path, bits)
  end
end

local function paths_of(kind, args)
  local list = {}
  for _, name in ipairs(kind.paths) do
    local value = args[name]
    for _, path in ipairs(type(value) == "table" and value or { value }) do list[#list + 1] = path end
  end
  return list
end

-- What the project says of a place stands behind the first result from there. `ctx.bare`: the bytes before it.
local function with_instructions(space, kind, args, value, ctx)
  if not kind.instructed or not space.env.instructed or type(value) ~= "string" then return value end
  local text = instructions.below(space.env, space, paths_of(kind, args))
  if text then ctx.bare = #value end
  return text and value .. text or value
end

-- Runs one, or finds out what came of it, and keeps the labels of what goes in and out.
local function run_kind(space, kind, fn, args, ctx, intent)
  local is_session = ctx and ctx.session
  if is_session and not kind.places then take_labels(space, kind, args, ctx) end
  local before = is_session and ctx.looks and space.seen
  if before then space.seen = setmetatable({}, { __index = before }) end -- hocket itself looks: that is no reading of the agent's
  local value, err = fn(space, args, intent)
  if before then
    space.seen = before
    return value, err
  end
  if is_session and kind.places and value then give_labels(space, args, ctx) end
  return is_session and with_instructions(space, kind, args, value, ctx) or value, err
end

-- What the space knows of the files of a call; false: nothing.
local function seen_of(space, kind, args)
  local known = {}
  for _, path in ipairs(paths_of(kind, args)) do known[path] = space.seen[path] or false end
  return known
end

-- The instructions that an agent has been given, as a list; nil: none.
local function told_of(space)
  return next(space.told) and sorted_keys(space.told) or nil
end

-- In a run that is kept a call is not made again, but what is known of its files has to be known.
local function run_kept(space, kind, fn, args, ctx, intent)
  local value, err = run_kind(space, kind, fn, args, ctx, intent)
  if ctx then ctx.keep { bare = ctx.bare, seen = not ctx.looks and seen_of(space, kind, args) or {}, changed = kind.places and value and true or false, told = told_of(space) } end
  return value, err
end

local function recall(space, args, ctx, kept)
  if not kept then return end
  ctx.bare = kept.bare
  for path, seen in pairs(kept.seen) do space.seen[path] = seen or nil end
  for _, real in ipairs(kept.told or {}) do space.told[real] = true end
  if kept.changed then give_labels(space, args, ctx) end
end

-- ---- What a call reads from ---------------------------------------------------------------------------

--- Files that a search is compared by; with more of them nobody knows whether they are unchanged.
local COMPARED = 20000

local function hash_of(space, path)
  local got, err = space.root:read(path, { raw = true })
  return got and system.digest(got.bytes) or err.code
end

local function of_files(name)
  return function(space, args)
    local value, list = args[name], {}
    for i, path in ipairs(type(value) == "table" and value or { value }) do list[i] = path .. "=" .. hash_of(space, path) end
    return table.concat(list, "\n")
  end
end

local function of_folder(space, args)
  local entries = space.root:list(args.path or ".")
  if not entries then return nil end
  local lines = {}
  for i, entry in ipairs(entries) do lines[i] = ("%s %s %d"):format(entry.name, entry.kind, entry.size) end
  table.sort(lines)
  return table.concat(lines, "\n")
end

-- Of a search: which files it looks at, with their sizes and times.
local function of_tree(space, args)
  local found, stats = space.root:search { path = args.path or ".", glob = args.glob or "**", all = args.include_ignored, max_results = COMPARED }
  if not found or stats.full or stats.timed_out then return nil end
  local lines = {}
  for path in found:gmatch "[^\n]+" do
    local info = space.root:info(path)
    lines[#lines + 1] = info and ("%s %d %.3f"):format(path, info.size, info.modified) or path
  end
  return table.concat(lines, "\n")
end

-- An agent with the project's instructions reads those of a place with the first file from there, which only a call brings.
local function source_for(space, kind)
  return function(args, is_reader)
    if kind.instructed and space.env.instructed and not is_reader then return nil end
    return kind.source(space, args)
  end
end

local function touches(paths, changes)
  return function(args)
    local list = {}
    for i, name in ipairs(paths) do list[i] = "file:" .. tostring(args[name]) end
    if changes then return list end
    return {}, list
  end
end

local path_only, from_to = { path = true }, { from = true, to = true }

-- The permission check has seen the path; what it is its content says.
local function view_image(space, args)
  local got, err = space.root:read(args.path, { raw = true })
  if not got then return nil, with_hint(space, args.path, err) end
  local one, wrong = media.of(got.bytes, args.path)
  if not one then return nil, wrong end
  if one.kind == "text" then return nil, ("%s is no picture but a text: read_file it"):format(args.path) end
  return { ("%s, %d bytes"):format(one.mime, #one.data), one }
end

local kinds = {
  view_image = { run = view_image, effects = { "read" }, paths = { "path" }, reads = { "path" }, conflicts = touches({ "path" }) },
  search_files = { run = look.search_files, source = of_tree, effects = { "read" }, paths = { "path" }, reads = { "path" }, subject = "path" },
  read_file = { run = read_file, source = of_files "path", instructed = true, effects = { "read" }, paths = { "path" }, reads = { "path" }, conflicts = touches({ "path" }) },
  read_files = { run = read_files, source = of_files "paths", instructed = true, effects = { "read" }, paths = { "paths" }, reads = { "paths" }, subject = "paths" },
  list_directory = { run = look.list_directory, source = of_folder, effects = { "read" }, paths = { "path" } },
  get_file_info = { run = look.get_file_info, effects = { "read" }, paths = { "path" } },
  write_file = { instructed = true, effects = { "write" }, paths = { "path" }, places = path_only, conflicts = touches({ "path" }, true) },
  edit_file = { instructed = true, effects = { "write" }, paths = { "path" }, reads = { "path" }, places = path_only, conflicts = touches({ "path" }, true) },
  move_file = { effects = { "write" }, paths = { "from", "to" }, reads = { "from" }, subject = "to", places = from_to, conflicts = touches({ "from", "to" }, true) },
  open_file = { run = open_file, effects = { "open" }, paths = { "path" } },
}
for name, functions in pairs(change) do
  for key, fn in pairs(functions) do kinds[name][key] = fn end
end

--- Makes one of the tools for an agent at work; those of one agent share what it has read.
---@param name string
---@param env table
---@return hocket.Tool?
---@return hocket.Error?
function file.make(name, env)
  local space, err = workspace(env)
  if not space then return nil, err end
  space.run = env.run
  local kind, schema = kinds[name], schemas[name]
  return tool.new {
    name = name, description = schema.description, parameters = schema.parameters, former = name, effects = kind.effects,
    subject = kind.subject or "path", places = kind.places, conflicts = kind.conflicts,
    reads = kind.reads and reads(space, kind.reads), prepare = normalise(space, kind.paths),
    preview = kind.preview and function(args) return kind.preview(space, args) end,
    run = function(args, ctx) return run_kept(space, kind, kind.run, args, ctx) end,
    intent = kind.intent and function(args) return kind.intent(space, args) end,
    reconcile = kind.reconcile and function(args, ctx, intent) return run_kept(space, kind, kind.reconcile, args, ctx, intent) end,
    source = kind.source and source_for(space, kind),
    recall = function(args, ctx, kept) recall(space, args, ctx, kept) end,
  }
end

return file
