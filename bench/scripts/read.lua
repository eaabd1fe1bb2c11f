-- What reading a file costs beyond open, read and close: below a root, and as the whole tool.
local file = require "hocket.internal.tools.file"
local files = require "hocket.internal.core.files"
local fs = require "hocket.fs"

local COUNT = 20000

local function per_call(fn)
  local best
  for _ = 1, 5 do
    local began = os.clock()
    for _ = 1, COUNT do fn() end
    local spent = (os.clock() - began) / COUNT * 1e6
    best = best and math.min(best, spent) or spent
  end
  return best
end

for _, size in ipairs { 100, 4096, 65536 } do
  local name = ("read%d.txt"):format(size)
  assert(fs.write(name, ("x"):rep(size // 2 - 1) .. "\n" .. ("y"):rep(size // 2 - 1) .. "\n"))
  local root = assert(files.root ".")
  local tool = assert(file.make("read_file", { run = { options = {} } }))
  local plain = per_call(function()
    local f <close> = io.open(name, "rb")
    f:setvbuf "no"
    return f:read(size)
  end)
  local rooted = per_call(function() return root:read(name) end)
  local whole = per_call(function()
    local args = tool.prepare { path = name }
    tool.check(args)
    return tool.run(args)
  end)
  print(("read %6d bytes: open, read, close %.1f us; below a root %.1f us; read_file %.1f us"):format(size, plain, rooted, whole))
  os.remove(name)
end
return "done"
