--- Compares what a search leaves out with what `git check-ignore` says, for trees with difficult and
--- with random patterns. The input is a directory that is a git repository.
local files = require "hocket.internal.core.files"
local fs = require "hocket.fs"

local dir = ...
local names = { "a", "b", "ab", "foo", "foo.c", "bar.o", "x y", "#h", "!n", "build", "deep", "[a]", "a*b", ".hid", "A", "b\\c", "a.b.o", "aab" }
math.randomseed(7)

local function write_tree(at, depth, count)
  for _ = 1, count do
    local name = names[math.random(#names)]
    local path = at .. "/" .. name
    if not fs.info(path) then
      if depth > 0 and math.random() < 0.5 then
        fs.mkdir(path)
        write_tree(path, depth - 1, count)
      else
        assert(fs.write(path, "x"))
      end
    end
  end
end

local difficult = {
  "*.o", "!foo.c", "/build", "build/", "deep/", "a/**/b", "**/foo", "foo/**", "/a/*", "!/a/b", "a*", "?", "[ab]", "[!ab]*", "[a-c]",
  "\\#h", "#h", "\\!n", "!n", "x y", "x\\ y", "x y   ", "foo.c\\ ", "*", "!*/", "!*.c", "a/b", "a//b", "/", "!", "**", "***", "a**b", "**/",
  "/**", "a/**", "*/foo", "*/", ".*", "[[]a]", "[[:alpha:]]", "[[:upper:]]", "a\\*b", "a[*]b", "b\\\\c", "[]-a]", "[^a]", "foo.[ch]", "**/a/**",
  "/*/a", "!/a", "a/", "!a/", "*.[!o]", "foo*/", "[", "a[", "\\", "a\\", "/a/b/", "**foo", "foo**", "*/**/a", "a/**/**/b", "\239\187\191a", "a\r",
}

local function write_patterns(at, count)
  local lines = {}
  for i = 1, count do lines[i] = difficult[math.random(#difficult)] end
  assert(fs.write(at .. "/.gitignore", table.concat(lines, "\n") .. (math.random() < 0.5 and "\n" or "")))
end

local function all_paths(at, prefix, list, dirs)
  for _, name in ipairs(fs.list(at)) do
    local plain = name:gsub("/$", "")
    if name ~= ".git/" then
      if name:sub(-1) == "/" then
        dirs[#dirs + 1] = at .. "/" .. plain
        all_paths(at .. "/" .. plain, prefix .. plain .. "/", list, dirs)
      else
        list[#list + 1] = prefix .. name
      end
    end
  end
end

local function run(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  pipe:close()
  return text
end

local function git_keeps(paths)
  assert(fs.write(dir .. "/../list", table.concat(paths, "\0") .. "\0"))
  local ignored = {}
  for path in run(("cd '%s' && git check-ignore --no-index -z --stdin < ../list"):format(dir)):gmatch "[^%z]+" do ignored[path] = true end
  local kept = {}
  for _, path in ipairs(paths) do
    if not ignored[path] then kept[#kept + 1] = path end
  end
  return kept
end

-- Of a root below the repository's top, and of a folder in that root.
local function we_keep(below, path)
  local text, stats = assert(files.root(dir .. below)):search { path = path or ".", max_results = 100000 }
  assert(not stats.full and not stats.timed_out)
  local kept, prefix = {}, below:gsub("^/", "") .. (below ~= "" and "/" or "")
  for line in text:gmatch "[^\n]+" do kept[#kept + 1] = prefix .. line end
  table.sort(kept)
  return kept
end

local function starting_with(paths, prefix)
  local list = {}
  for _, path in ipairs(paths) do
    if path:sub(1, #prefix) == prefix then list[#list + 1] = path end
  end
  return list
end

local compared, ignored, roots = 0, 0, 0

-- Who names a folder gets what is in it, also when it is ignored: those are left out.
local function compare_below(dirs, kept)
  local names = {}
  for i, at in ipairs(dirs) do names[i] = at:sub(#dir + 2) end
  for _, name in ipairs(git_keeps(names)) do
    local below = "/" .. name
    if math.random() < 0.4 then
      roots = roots + 1
      local git = table.concat(starting_with(kept, below:sub(2) .. "/"), "\n")
      local parent, last = below:match "^(.*)/([^/]+)$"
      assert(table.concat(we_keep(below), "\n") == git, "not as git, with the root " .. below)
      assert(table.concat(we_keep(parent, last), "\n") == git, "not as git, searching in " .. below)
    end
  end
end

for round = 1, 40 do
  run(("cd '%s' && find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +"):format(dir))
  write_tree(dir, 3, 6)
  local paths, dirs = {}, {}
  all_paths(dir, "", paths, dirs)
  write_patterns(dir, round % 3 + 1)
  for _, at in ipairs(dirs) do
    if math.random() < 0.3 then write_patterns(at, math.random(2)) end
  end
  assert(fs.write(dir .. "/.git/info/exclude", round % 5 == 0 and "*.o\n" or ""))
  paths, dirs = {}, {}
  all_paths(dir, "", paths, dirs)
  local git, ours = git_keeps(paths), we_keep ""
  table.sort(git)
  compared, ignored = compared + #paths, ignored + #paths - #git
  if table.concat(git, "\n") ~= table.concat(ours, "\n") then
    local in_git = {}
    for _, path in ipairs(git) do in_git[path] = true end
    for _, path in ipairs(ours) do
      if not in_git[path] then print("git ignores it, we do not: " .. path) end
      in_git[path] = nil
    end
    for path in pairs(in_git) do print("we ignore it, git does not: " .. path) end
    print(run(("cd '%s' && grep -r '' --include=.gitignore . ; cat .git/info/exclude"):format(dir)))
    return nil, { code = "state", message = ("round %d: not as git"):format(round) }
  end
  compare_below(dirs, git)
end
if roots < 40 then return nil, { code = "state", message = "too few roots below: " .. roots } end
if ignored < compared / 10 or ignored > compared * 9 / 10 then return nil, { code = "state", message = "the patterns say nothing" } end
return ("%d paths compared, %d of them ignored, and %d roots below the top"):format(compared, ignored, roots)
