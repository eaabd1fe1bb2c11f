--- What changes files: how it is done, what it would do, for a person who is asked, and whether it was done, where a process began it that
--- is gone. Each task keeps the hash of what it has read; what it has not read, or what was changed since, it cannot write over. The hash
--- is compared when the file is replaced.
local edit = require "hocket.internal.tools.edit"
local files = require "hocket.internal.core.files"
local sources = require "hocket.internal.base.sources"

-- Why a file that the task has not read is not replaced. What cannot be read as text cannot be read first either.
local function unread(space, path)
  local info = space.root:info(path)
  if info and info.kind == "directory" then return ("%s is a directory: name a file"):format(path) end
  local got = space.root:read(path)
  if got and got.encoding == "binary" then return ("%s is a binary file there already, and is not replaced: choose another path"):format(path) end
  return ("%s is there already, and this task has not read it: read_file it first, then decide"):format(path)
end

-- What the task knows of a file that it is going to replace, or why it may not.
local function known(space, path, whole)
  local seen = space.seen[path]
  if not seen then
    return nil, unread(space, path)
  elseif seen.encoding == "unknown" then
    return nil, ("the encoding of %s is not known: writing it as UTF-8 would destroy all in it that is not ASCII. Convert it first (iconv -f ENCODING -t UTF-8), or write another file"):format(path)
  elseif whole and not seen.whole then
    return nil, ("only a part of %s was read: read the rest first, or change it with edit_file"):format(path)
  end
  return seen
end

-- What the task knows of it from now on.
local function wrote(space, path, hash, whole)
  sources.wrote(space.root:dir() .. "/" .. path)
  space.seen[path] = { hash = hash, whole = whole, encoding = "utf-8" }
end

local function put(space, path, text, seen, whole)
  local ok, err = space.root:write(path, text, seen and seen.hash)
  if not ok then
    if err.code == "state" then
      space.seen[path] = nil
      err.message = err.message .. ". Nothing was written. Read it again, then decide."
    end
    return nil, err
  end
  wrote(space, path, files.hash(text), whole)
  return true
end

local MARK = "\239\187\191"

-- What write_file puts there, and what it says of that.
local function content_of(args, seen)
  local text = args.content
  if seen and seen.encoding:find "mark" and text:sub(1, 3) ~= MARK then text = MARK .. text end
  return text, ("%s %s (%d bytes)"):format(seen and "replaced" or "created", args.path, #text)
end

local function write_file(space, args)
  local seen, why
  if space.root:info(args.path) then
    seen, why = known(space, args.path, true)
    if not seen then return nil, why end
  end
  local text, said = content_of(args, seen)
  local ok, err = put(space, args.path, text, seen, true)
  if not ok then return nil, err end
  return said
end

-- What is in a file that is going to be replaced, as long as it is what the task has read.
local function unchanged(space, path, seen)
  local got, err = space.root:read(path, { like = seen.hash })
  if not got then return nil, err end
  if got.hash ~= seen.hash then
    return nil, ("%s was changed by somebody else since it was read. Read it again, then decide."):format(path)
  end
  return got
end

-- What is in the file, what is going to be, and in how many places they differ.
local function edited(space, args, seen)
  local got, why = unchanged(space, args.path, seen)
  if not got then return nil, why end
  if not got.encoding:find "^utf%-8" then
    return nil, ("%s is in %s: write it whole with write_file, as UTF-8"):format(args.path, got.encoding)
  end
  local text, count = edit.replace(got.text, args.old_text, args.new_text, args.replace_all)
  if not text then return nil, ("%s: %s"):format(args.path, count) end
  return got, text, count
end

-- What edit_file puts there, what it says of that, and what the task knows of the file; nil and why not.
local function edit_of(space, args)
  local seen, why = known(space, args.path, false)
  if not seen then return nil, why end
  local got, text, count = edited(space, args, seen)
  if not got then return nil, text end
  if got.encoding ~= "utf-8" then text = MARK .. text end
  return text, ("changed %s in %d place%s"):format(args.path, count, count == 1 and "" or "s"), seen
end

local function edit_file(space, args)
  local text, said, seen = edit_of(space, args)
  if not text then return nil, said end
  local ok, failed = put(space, args.path, text, seen, seen.whole)
  if not ok then return nil, failed end
  return said
end

local function moved(space, args)
  for _, path in ipairs { args.from, args.to } do sources.wrote(space.root:dir() .. "/" .. path) end
  space.seen[args.to], space.seen[args.from] = space.seen[args.from], nil
  return ("moved %s to %s"):format(args.from, args.to)
end

local function move_file(space, args)
  local seen, why
  local there = space.root:info(args.to)
  if there and there.kind == "directory" then
    return nil, ("%s is a directory: name the file's whole new path"):format(args.to)
  elseif there then
    seen, why = known(space, args.to, false)
    if not seen then return nil, why end
  end
  local ok, err = space.root:move(args.from, args.to, seen and seen.hash)
  if not ok then return nil, err end
  return moved(space, args)
end

-- ---- Whether a call was done, which a process began that is gone --------------------------------------------------------
-- Files are replaced whole: one is as the call leaves it, or as the task knew it, and then it was not done. What is neither somebody has
-- changed, before the call or behind it.

local changed_since = { code = "unknown", message = "it is not known whether this was done: the program ended in the middle of it, and the file is neither as it was nor as it was going to be. Read it again, then decide." }

local function is_as(space, path, hash)
  local got = space.root:read(path, { like = hash })
  return got and got.hash == hash
end

local function settle(space, path, hash, said, seen)
  if is_as(space, path, hash) then
    wrote(space, path, hash, not seen or seen.whole)
    return said
  elseif seen and space.root:info(path) and not is_as(space, path, seen.hash) then
    return nil, changed_since
  end
end

-- A file that was not read is there by this call, or this is refused, as it was.
local function reconcile_write(space, args)
  local seen = space.seen[args.path]
  local text, said = content_of(args, seen)
  return settle(space, args.path, files.hash(text), said, seen)
end

local function intend_edit(space, args)
  local text, said = edit_of(space, args)
  return text and { hash = files.hash(text), said = said }
end

local function reconcile_edit(space, args, intent)
  if intent then return settle(space, args.path, intent.hash, intent.said, space.seen[args.path]) end
end

local function reconcile_move(space, args)
  local to = space.root:info(args.to)
  if to and to.kind ~= "directory" and not space.root:info(args.from) then return moved(space, args) end
end

-- ---- What a call would do, for a person who is asked -----------------------------------------------------------------

local function refusal(path, kind, why)
  return { path = path, kind = kind, refused = type(why) == "table" and why.message or why }
end

local function preview_write(space, args)
  local path = args.path
  if not space.root:info(path) then return { path = path, kind = "create", before = "", after = args.content } end
  local seen, why = known(space, path, true)
  local got
  if seen then got, why = unchanged(space, path, seen) end
  if not got then return refusal(path, "change", why) end
  local note = not got.encoding:find "^utf%-8" and ("the file is in %s and becomes UTF-8"):format(got.encoding) or nil
  return { path = path, kind = "change", before = got.text, after = args.content, note = note }
end

local function preview_edit(space, args)
  local seen, why = known(space, args.path, false)
  local got, text
  if seen then got, text = edited(space, args, seen) end
  if not got then return refusal(args.path, "change", why or text) end
  return { path = args.path, kind = "change", before = got.text, after = text }
end

local function preview_move(space, args)
  local there = space.root:info(args.to)
  return { path = args.to, kind = "move", from = args.from,
    note = there and there.kind == "file" and ("it takes the place of the file that is there (%d bytes)"):format(there.size) or nil }
end

return {
  write_file = { run = write_file, preview = preview_write, reconcile = reconcile_write },
  edit_file = { run = edit_file, preview = preview_edit, intent = intend_edit, reconcile = reconcile_edit },
  move_file = { run = move_file, preview = preview_move, reconcile = reconcile_move },
}
