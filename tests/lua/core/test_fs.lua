local t = require "harness"
local fs = require "hocket.fs"

t.test("what was written is read, bytes and all", function()
  local dir <close> = t.dir()
  local text = "a\0b\r\n\255" .. ("x"):rep(100000)
  t.equal(fs.write(dir.path .. "/f", text), true)
  t.equal(fs.read(dir.path .. "/f"), text)
  t.equal(fs.write(dir.path .. "/f", ""), true)
  t.equal(fs.read(dir.path .. "/f"), "")
end)

t.test("what is not there", function()
  local dir <close> = t.dir()
  t.fails("not_found", dir.path .. "/no", fs.read(dir.path .. "/no"))
  t.equal(fs.info(dir.path .. "/no"), nil)
  t.equal(select("#", fs.info(dir.path .. "/no")), 0)
  local names, err = fs.list(dir.path .. "/no")
  t.fails("not_found", "/no", names, err)
  t.equal(fs.real(dir.path .. "/no"), nil)
end)

t.test("a size limit is kept", function()
  local dir <close> = t.dir()
  fs.write(dir.path .. "/f", ("x"):rep(1000))
  t.equal(#fs.read(dir.path .. "/f", 1000), 1000)
  t.fails("limit", "/f", fs.read(dir.path .. "/f", 999))
  t.raises("negative", fs.read, dir.path .. "/f", -1)
end)

t.test("only regular files are read", function()
  local dir <close> = t.dir()
  t.equal(fs.read(dir.path), nil)
  t.equal(fs.read "/dev/zero", nil)
end)

t.test("exclusive never replaces", function()
  local dir <close> = t.dir()
  t.equal(fs.write(dir.path .. "/f", "1", { exclusive = true }), true)
  t.fails("exists", "/f", fs.write(dir.path .. "/f", "2", { exclusive = true }))
  t.equal(fs.read(dir.path .. "/f"), "1")
  t.raises("unknown option 'exclusiv'", fs.write, dir.path .. "/f", "2", { exclusiv = true })
end)

t.test("parents are made, names are sorted, directories marked", function()
  local dir <close> = t.dir()
  t.equal(fs.mkdir(dir.path .. "/b/c/d"), true)
  t.equal(fs.mkdir(dir.path .. "/b/c/d"), true)
  dir:write("a", "1")
  dir:write("Z", "1")
  dir:write(".hidden", "1")
  t.same(fs.list(dir.path), { ".hidden", "Z", "a", "b/" })
  t.same(fs.list(dir.path .. "/b/c/d"), {})
  t.equal(fs.info(dir.path .. "/b").kind, "directory")
  local info = fs.info(dir.path .. "/a")
  t.equal(info.kind, "file")
  t.equal(info.size, 1)
  t.ok(math.abs(info.modified - os.time()) < 100)
  t.equal(fs.info "/dev/null".kind, "other")
  t.equal(fs.mkdir(dir.path .. "/a/below"), nil)
end)

t.test("bad paths raise", function()
  t.raises("NUL", fs.read, "/tmp/a\0b")
  t.raises("empty", fs.read, "")
  t.raises("string expected", fs.read, {})
end)

t.test("a test's folder goes, and nothing that its links lead to", function()
  local other <close> = t.dir()
  local kept = other:write("deep/file", "kept")
  local path
  do
    local dir <close> = t.dir()
    path = dir.path
    os.execute(("ln -s '%s' '%s/link' && mkdir -p '%s/closed/x' && ln -s '%s' '%s/closed/x/link' && chmod 000 '%s/closed'"):format(
      other.path, path, path, other.path, path, path))
    dir:write("it's here", "x")
  end
  t.equal(fs.info(path), nil)
  t.equal(fs.read(kept), "kept")
end)

return t.finish()
