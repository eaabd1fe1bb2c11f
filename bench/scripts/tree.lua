-- Makes a tree of as many files as the input says, in the current directory: a thousand folders, words
-- in lines, one file in five hundred with the text that is searched for, some names ignored.
local fs = require "hocket.fs"

math.randomseed(1)
local words = {}
for i = 1, 3000 do
  local letters = {}
  for j = 1, math.random(2, 10) do letters[j] = string.char(math.random(97, 122)) end
  words[i] = table.concat(letters)
end

local function text(n)
  local lines = {}
  for i = 1, math.random(5, 60) do
    local line = {}
    for j = 1, 8 do line[j] = words[math.random(#words)] end
    lines[i] = table.concat(line, " ")
  end
  if n % 500 == 0 then lines[#lines + 1] = "int needle_here(void) { return 42; }" end
  return table.concat(lines, "\n") .. "\n"
end

local count = tonumber((...))
for n = 1, count do
  local dir = ("d%d/e%d"):format(n // 2000 % 50, n // 100 % 20)
  if n % 100 <= 1 then assert(fs.mkdir(dir)) end
  local file = io.open(("%s/f%d.%s"):format(dir, n, n % 2 == 0 and "c" or "txt"), "w")
  file:write(text(n))
  file:close()
  if n % 2000 == 1 then assert(fs.write(dir .. "/.gitignore", "*.txt\nbuild/\n")) end
end
assert(fs.write(".gitignore", "*.o\n/build\nd49/\n"))
return ("%d files"):format(count)
