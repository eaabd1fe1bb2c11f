-- Writes the man pages and the completions of the shells into the folder that it runs in, from
-- description.json there, which is what `hocket help --json` prints. The build runs it:
--
--   hocket run --store off --trust -C build/manual docs/tools/manual.lua 2026-11-29
--
-- The word is the date that the pages bear.
local completions = require "manual.completions"
local fs = require "hocket.fs"
local json = require "hocket.json"
local pages = require "manual.pages"

local build = assert(json.decode(assert(fs.read "description.json")))
build.date = assert((...), "the date of the pages is missing")

local count = 0
local function write(folder, files)
  assert(fs.mkdir(folder))
  for name, text in pairs(files) do
    assert(fs.write(folder .. "/" .. name, text))
    count = count + 1
  end
end

write("man", pages.make(build))
write("completions", completions.make(build))
return ("%d files are written"):format(count)
