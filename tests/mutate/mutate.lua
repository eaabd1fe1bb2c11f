--- A seeded sample of small mistakes, put into the sources one at a time: which of them do the tests see?
---
---     ./dev mutate 20 [SEED]     or  lua5.4 tests/mutate/mutate.lua N SEED DIR
---
--- A mutation is one of: a comparison, a logical operator, a sign, a constant or a negation turned, or a call taken out,
--- in a C or Lua source (mutations.lua). All of it happens in a copy of the tree below DIR. What a wrong program does is anybody's guess:
--- so the tests run below bubblewrap, with the file system read-only but for the copy and a /tmp of their own, with
--- processes and a network of their own. Tests that fail there without any mutation are left out, and said.
---
--- A mutation that does not build is replaced by the next. One that no test sees is listed: it may be one that changes
--- nothing, or a test that is missing.
local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local mutations = require "mutations"

local wanted, seed, dir = tonumber(arg[1]), tonumber(arg[2]), arg[3]
if not (math.type(wanted) == "integer" and wanted >= 1 and math.type(seed) == "integer" and dir) then
  io.stderr:write "usage: mutate.lua N SEED DIR   (N mutations, at least 1; SEED is a whole number)\n"
  os.exit(2)
end

--- Left out for their time: long runs, programs of others, installations, what is measured.
local SLOW = "^hosts/|^install/|^fuzz/|^docs/|^bench|wire$|os/search/ignore|lua/storm|lua/soak|lua/programs|module/"
local SECONDS = 120 -- for one test; one that hangs has been seen

local function quoted(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

local tree, build = dir .. "/tree", dir .. "/build"

-- Runs a command; whether it went well, and what it wrote.
local function run(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local out = pipe:read "a"
  return pipe:close() == true, out
end

local function must(command, what)
  local ok, out = run(command)
  if not ok then
    io.stderr:write(("mutate: cannot %s:\n%s\n"):format(what, out))
    os.exit(1)
  end
  return out
end

-- Below the walls: nothing but the copy can be written.
local function walled(command)
  return ("bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --bind %s %s --unshare-pid --unshare-net --unshare-ipc --die-with-parent "
    .. "--setenv TMPDIR /tmp --chdir %s sh -c %s"):format(quoted(dir), quoted(dir), quoted(build), quoted(command))
end

local function compile()
  return run(("cmake --build %s -- -k 1 --quiet"):format(quoted(build)))
end

-- ctest's failures: names, by the lines of its last list.
local function failures(out)
  local names = {}
  for name in out:gmatch "\n%s*%d+ %- (%S+) %(" do names[#names + 1] = name end
  return names
end

local function tests(include, exclude, stop)
  return run(walled(("timeout 1800 ctest -j2 --timeout %d %s %s %s"):format(SECONDS, stop and "--stop-on-failure" or "",
    include and "-R " .. quoted(include) or "", "-E " .. quoted(exclude))))
end

local function exact(names)
  local list = {}
  for i, name in ipairs(names) do list[i] = "^" .. name:gsub("[%.%+%-]", "[%0]") .. "$" end
  return table.concat(list, "|")
end

-- ---- The copy ---------------------------------------------------------------------------------

local function prepare()
  must("mkdir -p " .. quoted(tree), "make a directory")
  must(("git ls-files -zco --exclude-standard | rsync -a --delete --from0 --files-from=- ./ %s 2>/dev/null || git ls-files -zco --exclude-standard | xargs -0 cp --parents -t %s"):format(
    quoted(tree), quoted(tree)), "copy the tree")
  must(("cmake -S %s -B %s -G Ninja -DCMAKE_BUILD_TYPE=Debug -DHOCKET_WERROR=OFF -Wno-dev"):format(quoted(tree), quoted(build)), "configure")
  local ok, out = compile()
  if not ok then
    io.stderr:write("mutate: the tree does not build without a mutation:\n" .. out:sub(-2000))
    os.exit(1)
  end
end

-- What fails without a mutation is no judge of one.
local function judge()
  local ok, out = tests(nil, SLOW)
  if ok then return SLOW end
  local names = failures(out)
  if #names == 0 then
    io.stderr:write("mutate: the tests cannot be run:\n" .. out:sub(-2000) .. "\n")
    os.exit(1)
  end
  print("left out, for they fail here without a mutation: " .. table.concat(names, ", "))
  return SLOW .. "|" .. exact(names)
end

local function sources()
  local list = {}
  for path in must("git ls-files -co --exclude-standard src lua", "list the sources"):gmatch "[^\n]+" do
    if path:find "%.[ch]$" and not path:find "%.h$" or path:find "%.lua$" and not path:find "^lua/hocket/templates/" then list[#list + 1] = path end
  end
  table.sort(list)
  return list
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  file:close()
end

-- ---- One mutation --------------------------------------------------------------------------------

-- The tests that are nearest to a file are asked first: src/core/broker/x.c has tests/core/broker.
local function nearest(path)
  local floor, folder = path:match "^src/(%w+)/([^/]+)"
  if floor then return ("^%s/(%s|%s)"):format(floor, folder, folder:gsub("%.c$", "")) end
  local name = path:match "([^/]+)%.lua$"
  return "^lua/" .. name
end

-- Which test fails, and fails again: on a busy machine one that measures time may fail once for that alone.
local function seen_by(include, exclude)
  local left_out = exclude
  for _ = 1, 3 do
    local ok, out = tests(include, left_out, true)
    if ok then return nil end
    local names = failures(out)
    if #names == 0 then return "ctest" end
    if not tests(exact(names), exclude, true) then return names[1] end
    left_out = left_out .. "|" .. exact(names)
  end
end

-- What is too slow for all others is what judges its own sources.
local function left_out_for(path, exclude)
  return path:find "^src/module/" and exclude:gsub("|module/", "") or exclude
end

-- Which test saw it; nil when none did; false when it does not build.
local function try(one, exclude)
  local path = tree .. "/" .. one.path
  local text = read(path)
  write(path, text:sub(1, one.at - 1) .. one.new .. text:sub(one.at + #one.old))
  local undo <close> = setmetatable({}, { __close = function() write(path, text) end })
  if not compile() then return false end
  exclude = left_out_for(one.path, exclude)
  return seen_by(nearest(one.path), exclude) or seen_by(nil, exclude)
end

local function shuffle(list)
  for i = #list, 2, -1 do
    local j = math.random(i)
    list[i], list[j] = list[j], list[i]
  end
end

prepare()
local exclude = judge()
local all = {}
for _, path in ipairs(sources()) do mutations.find(path, read(path), all) end
math.randomseed(seed)
shuffle(all)

local tried, caught, unbuilt, survivors = 0, 0, 0, {}
print(("%d of %d possible mutations, seed %d"):format(wanted, #all, seed))
for _, one in ipairs(all) do
  if tried == wanted then break end
  local by = try(one, exclude)
  if by == false then
    unbuilt = unbuilt + 1
  else
    tried = tried + 1
    if by then caught = caught + 1 else survivors[#survivors + 1] = one end
    print(("%3d  %-9s %s:%d: %s -> %s%s"):format(tried, by and "caught" or "SURVIVED", one.path, one.line, one.old, one.new == "" and "(nothing)" or one.new,
      by and "   by " .. by or ""))
    io.stdout:flush()
  end
end
compile() -- without any

print(("\n%d of %d were caught (%d %%); %d more did not build"):format(caught, tried, caught * 100 // math.max(tried, 1), unbuilt))
for _, one in ipairs(survivors) do
  print(("%s:%d: %s -> %s\n    %s"):format(one.path, one.line, one.old, one.new == "" and "(nothing)" or one.new, one.context))
end
