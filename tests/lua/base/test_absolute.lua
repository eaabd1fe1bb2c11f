-- Which paths begin at the top: of the system, of a drive, of a share.
local t = require "harness"
local fs = require "hocket.fs"

local windows = package.config:sub(1, 1) == "\\"

t.test("a path with a slash at its beginning is absolute on every system", function()
  for _, path in ipairs { "/", "/a", "//server/share/a" } do t.ok(fs.is_absolute(path), path) end
  for _, path in ipairs { "", "a", "./a", "../a", "a/b", "ab:/c" } do t.equal(fs.is_absolute(path), false, path) end
end)

t.test("drives, and slashes that lean back, are Windows' alone", function()
  for _, path in ipairs { "C:/a", "c:\\a", "\\\\server\\share", "\\a", "Z:/" } do t.equal(fs.is_absolute(path), windows, path) end
  for _, path in ipairs { "C:a", "C:", "1:/a" } do t.equal(fs.is_absolute(path), false, path) end
end)

return t.finish()
