-- A commit built beside the tree, with the flags of the tree's own build, to be measured against.
local base = {}

local function quote(text)
  return "'" .. tostring(text):gsub("'", "'\\''") .. "'"
end

local function must(command)
  if not os.execute(command) then error("failed: " .. command, 0) end
end

--- Takes the built commit away again.
---@param root string The tree, absolute.
function base.remove(root)
  os.execute(("git -C %s worktree remove --force build/base >/dev/null 2>&1; rm -rf %s/build/base; git -C %s worktree prune")
    :format(quote(root), quote(root), quote(root)))
end

--- Builds a commit in build/base. Raises when it cannot be had or does not build.
---@param root string The tree, absolute.
---@param commit string
---@param targets string What is built of it, as "hocket bench_chunks"; "all".
---@return string build The folder it is built in.
function base.build(root, commit, targets)
  local dir = root .. "/build/base"
  base.remove(root)
  must(("git -C %s worktree add --quiet --detach build/base %s"):format(quote(root), quote(commit)))
  must(("cmake -S %s -B %s/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOCKET_TESTS=OFF -Wno-dev >/dev/null"):format(quote(dir), quote(dir)))
  must(("cmake --build %s/build --target %s -- --quiet >/dev/null 2>&1"):format(quote(dir), targets))
  return dir .. "/build"
end

return base
