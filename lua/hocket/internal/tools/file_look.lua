--- What is there below the run's folder, and what is in it: the tools that look around and remember
--- nothing. `space` is the workspace of the agent at work (see file.lua).
local json = require "hocket.json"
local system = require "hocket.internal.core.system"

local look = {}

local MAX_ENTRIES = 1000

local function when(seconds)
  return system.wall and os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(seconds)) or tostring(seconds)
end

local marks = { directory = "/", link = " (link)", other = " (no file)" }

--- What is in one folder, a line each.
function look.list_directory(space, args)
  local entries, err = space.root:list(args.path or ".")
  if not entries then return nil, err end
  table.sort(entries, function(a, b) return a.name < b.name end)
  local lines = {}
  for i, entry in ipairs(entries) do
    if i > MAX_ENTRIES then
      lines[i] = ("[%d more; use search_files with a glob]"):format(#entries - MAX_ENTRIES)
      break
    end
    local name = utf8.len(entry.name) and entry.name or entry.name:gsub("[\128-\255]", "?")
    lines[i] = name:gsub("%c", "?") .. (marks[entry.kind] or ("  %d bytes"):format(entry.size))
  end
  return #lines > 0 and table.concat(lines, "\n") or "[the folder is empty]"
end

--- Kind, size, time and mode, as JSON.
function look.get_file_info(space, args)
  local info, err = space.root:info(args.path)
  if not info then return nil, err end
  return json.encode {
    path = args.path, kind = info.kind, size = info.size, modified = when(info.modified), mode = ("%04o"):format(info.mode),
    read_in_this_task = space.seen[args.path] ~= nil,
  }
end

-- ---- Searching ---------------------------------------------------------------------------------------------

local function left_out(stats)
  local parts = {}
  for _, row in ipairs {
    { "binary", "binary" }, { "large", "too large" }, { "secret", "that may hold keys" }, { "unread", "that cannot be read" },
    { "hard", "in which the pattern took too long" },
  } do
    if stats[row[1]] > 0 then parts[#parts + 1] = ("%d %s"):format(stats[row[1]], row[2]) end
  end
  return #parts > 0 and ("; left out: files %s"):format(table.concat(parts, ", ")) or ""
end

local function summary(args, stats)
  local what = args.content and "lines" or "files"
  local found = stats.results == 0 and ("no %s found"):format(what) or ("%d %s"):format(stats.results, what)
  local in_files = args.content and (" in %d of %d files"):format(stats.matched_files, stats.files) or ""
  local ends = stats.full and "; there are more: narrow the search, or raise max_results"
    or stats.timed_out and "; the time was over before all was searched: narrow the search" or ""
  return ("[%s%s%s%s]"):format(found, in_files, left_out(stats), ends)
end

--- Lines by content, or paths by name; then how much was looked at.
function look.search_files(space, args)
  if not args.content and not args.glob then
    return nil, "give `content` (a pattern for what is in files), `glob` (for their names), or both"
  end
  local found, stats = space.root:search {
    path = args.path or ".", pattern = args.content, glob = args.glob, literal = args.literal, ignore_case = args.ignore_case,
    all = args.include_ignored, max_results = args.max_results or 200,
  }
  if not found then
    if stats.code == "unsupported" then stats.message = stats.message .. ". Search for plain text with literal = true." end
    return nil, stats
  end
  return found .. summary(args, stats)
end

return look
