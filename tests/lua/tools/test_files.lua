--- Tools for files: what they answer, what they refuse, and that nothing is changed unseen.
local t = require "harness"
local s = require "scripted"
local file = require "hocket.internal.tools.file"
local fs = require "hocket.fs"
local hocket = require "hocket"
local json = require "hocket.json"

local names = { "search_files", "read_file", "read_files", "list_directory", "get_file_info", "write_file", "edit_file", "move_file", "open_file", "view_image" }

-- The tools of one agent at work in a folder, as functions: result, or nil and the error's message.
local function desk(dir, options)
  local run = { options = options or {} }
  run.options.workdir = dir.path .. "/root"
  local env, tools = { run = run }, {}
  for _, name in ipairs(names) do
    local made = assert(file.make(name, env))
    tools[name] = function(args)
      local ok, prepared = pcall(made.prepare, args)
      if not ok then return nil, prepared.message end
      local fits, why = made.check(prepared)
      if not fits then return nil, why end
      local value, err = made.run(prepared)
      if value == nil then return nil, type(err) == "table" and err.message or err end
      return value
    end
  end
  return tools
end

local function place()
  local dir = t.dir()
  assert(fs.mkdir(dir.path .. "/root"))
  return dir
end

local function sees(dir, name)
  return fs.read(dir.path .. "/root/" .. name)
end

-- ---- Reading ------------------------------------------------------------------------------

t.test("files are read whole, in parts, and with what is odd about them", function()
  local dir <close> = place()
  local at = desk(dir)
  dir:write("root/a.txt", "one\ntwo\nthree\n")
  t.equal(at.read_file { path = "a.txt" }, "one\ntwo\nthree\n")
  t.equal(at.read_file { path = "./x/../a.txt", first_line = 2, lines = 1 }, "two\n[lines 2 to 2 of 3; go on with first_line = 3]")
  t.equal(at.read_file { path = "a.txt", first_line = 3 }, "three\n[lines 3 to 3 of 3]")
  t.equal(at.read_file { path = "a.txt", first_line = 9 }, "[the file has only 3 lines]")
  dir:write("root/exact", ("x"):rep(48 * 1024 - 1) .. "\n") -- as much as is shown of one file at once
  t.equal(at.read_file { path = "exact" }, ("x"):rep(48 * 1024 - 1) .. "\n")
  dir:write("root/exact", "first\n" .. ("x"):rep(48 * 1024 - 6))
  t.equal(at.read_file { path = "exact" }, "first\n" .. ("x"):rep(48 * 1024 - 6))
  dir:write("root/more", "first\n" .. ("x"):rep(48 * 1024 - 5))
  t.equal(at.read_file { path = "more" }, "first\n[lines 1 to 1 of 2; go on with first_line = 2]")
  dir:write("root/empty", "")
  t.equal(at.read_file { path = "empty" }, "[the file is empty]")
  dir:write("root/last", "no end")
  t.equal(at.read_file { path = "last" }, "no end")
  dir:write("root/mark", "\239\187\191text")
  t.equal(at.read_file { path = "mark" }, "text\n[the file is in utf-8 with a byte order mark]")
  dir:write("root/wide", "\255\254h\0i\0\n\0\61\216\0\222")
  t.equal(at.read_file { path = "wide" }, "hi\n😀\n[the file is in utf-16le]")
  dir:write("root/big-endian", "\254\255\0h\0i")
  t.equal(at.read_file { path = "big-endian" }, "hi\n[the file is in utf-16be]")
  dir:write("root/latin", "na\239ve\n")
  t.equal(at.read_file { path = "latin" }, "naïve\n[the file is in latin-1]")
  dir:write("root/binary", "\127ELF\0\1\2")
  t.has(select(2, at.read_file { path = "binary" }), "binary file of 7 bytes")
  dir:write("root/odd", ("\1\2\255"):rep(100))
  t.has(select(2, at.read_file { path = "odd" }), "binary file")
end)

t.test("a file with several names is read and not changed", function()
  local dir <close> = place()
  local at = desk(dir)
  dir:write("outside", "linked text")
  os.execute(("cd '%s/root' && ln ../outside hard"):format(dir.path))
  t.equal(at.read_file { path = "hard" }, "linked text")
  t.has(at.search_files { content = "linked" }, "hard:1")
  t.has(select(2, at.write_file { path = "hard", content = "x" }), "has 2 names (hard links)")
  t.has(select(2, at.edit_file { path = "hard", old_text = "linked", new_text = "x" }), "has 2 names (hard links)")
  t.has(select(2, at.move_file { from = "hard", to = "taken" }), "has 2 names (hard links)")
  t.equal(fs.read(dir.path .. "/outside"), "linked text")
end)

t.test("a search finds what reading shows, whatever the encoding", function()
  local dir <close> = place()
  local at = desk(dir)
  dir:write("root/wide", "\255\254n\0a\0\239\0v\0e\0\n\0")
  dir:write("root/latin", "one\nna\239ve\n")
  dir:write("root/windows", "\147quoted\148 \150 50 \128\n")
  dir:write("root/plain", "naïve\n")
  local found = at.search_files { content = "naïve", literal = true }
  for _, line in ipairs { "wide:1", "latin:2", "plain:1" } do t.has(found, line) end
  t.has(at.search_files { content = "na.ve" }, "latin:2")
  t.equal(at.read_file { path = "windows" }, "“quoted” – 50 €\n[the file is in windows-1252]")
  t.has(at.search_files { content = "“quoted”", literal = true }, "windows:1")
end)

t.test("an encoding that nobody can tell is said to be unknown, and not written over", function()
  local dir <close> = place()
  local at = desk(dir)
  local texts = {
    sjis = "\147\250\150\123\140\234\130\204\131\101\131\76\131\88\131\103\n", -- 日本語のテキスト
    koi8 = "\240\210\201\215\197\212, mir\n", -- Привет
    gbk = "abc \196\227\186\195\n", -- 你好
  }
  for name, text in pairs(texts) do
    dir:write("root/" .. name, text)
    t.has(at.read_file { path = name }, "the file's encoding is not known")
    t.has(select(2, at.write_file { path = name, content = "x" }), "Convert it first (iconv")
    t.has(select(2, at.edit_file { path = name, old_text = "a", new_text = "b" }), "Convert it first (iconv")
    t.equal(fs.read(dir.path .. "/root/" .. name), text)
  end
  dir:write("root/german", "Gr\246\223e, \196\223er, na\239ve\n")
  t.equal(at.read_file { path = "german" }, "Größe, Äßer, naïve\n[the file is in latin-1]")
end)

t.test("what is no text, and no file, says what to do instead", function()
  local dir <close> = place()
  local at = desk(dir)
  dir:write("root/binary", "\127ELF\0\1\2")
  dir:write("root/sub/file", "x")
  t.has(select(2, at.read_file { path = "binary" }), "get_file_info")
  t.has(select(2, at.read_file { path = "sub" }), "list_directory")
end)

t.test("what is too long comes in parts that add up", function()
  local dir <close> = place()
  local at = desk(dir)
  local lines = {}
  for i = 1, 5000 do lines[i] = ("line %d %s"):format(i, ("ä"):rep(i % 40)) end
  local text = table.concat(lines, "\n") .. "\n"
  dir:write("root/long", text)
  local parts, first = {}, 1
  while first do
    local part = at.read_file { path = "long", first_line = first }
    first = tonumber(part:match "go on with first_line = (%d+)%]$")
    parts[#parts + 1] = part:gsub("%[lines %d+ to %d+ of 5000.-%]$", "")
    t.ok(#part < 70000)
  end
  t.equal(table.concat(parts), text)
  dir:write("root/one-line", ("ä"):rep(100000))
  local part = at.read_file { path = "one-line" }
  t.has(part, "its last line is cut here")
  t.ok(utf8.len(part))
end)

t.test("several files stand in frames", function()
  local dir <close> = place()
  local at = desk(dir)
  dir:write("root/a", "A")
  dir:write("root/b", "</file> B")
  local text = at.read_files { paths = { "a", "none", "b" } }
  local word = text:match '<file%-(%w+) of="a">\nA\n</file%-'
  t.ok(word)
  t.matches(text, '<error%-%w+ of="none">\ncannot read none')
  t.has(text, "</file> B")
  t.has(select(2, at.read_files { paths = {} }), "paths")
end)

t.test("folders and facts", function()
  local dir <close> = place()
  local at = desk(dir)
  dir:write("root/sub/x", "12345")
  dir:write("root/b\nc", "1")
  os.execute(("ln -s /etc/passwd '%s/root/link'"):format(dir.path))
  t.equal(at.list_directory {}, "b?c  1 bytes\nlink (link)\nsub/")
  t.equal(at.list_directory { path = "sub" }, "x  5 bytes")
  t.has(select(2, at.list_directory { path = "none" }), "cannot look into none")
  local info = json.decode(at.get_file_info { path = "sub/x" })
  t.equal(info.kind, "file")
  t.equal(info.size, 5)
  t.equal(info.read_in_this_task, false)
  at.read_file { path = "sub/x" }
  t.equal(json.decode(at.get_file_info { path = "sub/x" }).read_in_this_task, true)
  t.equal(json.decode(at.get_file_info { path = "link" }).kind, "link")
end)

t.test("nothing leads out", function()
  local dir <close> = place()
  local at = desk(dir)
  dir:write("outside", "secret")
  os.execute(("cd '%s/root' && ln -s ../outside link && ln -s .. up && mkfifo pipe"):format(dir.path))
  for _, path in ipairs { "../outside", "/etc/passwd", "link", "up/outside", "pipe", "x/../../outside" } do
    for tool, args in pairs {
      read_file = { path = path }, write_file = { path = path, content = "x" }, edit_file = { path = path, old_text = "secret", new_text = "x" },
      move_file = { from = path, to = "taken" },
    } do
      local value, err = at[tool](args)
      t.equal(value, nil, tool .. " " .. path)
      t.ok(type(err) == "string")
      t.lacks(err, "secret")
    end
    if path ~= "pipe" then
      local found = at.search_files { path = path, content = "secret" }
      t.lacks(found or "", "outside:")
    end
  end
  t.equal(fs.read(dir.path .. "/outside"), "secret")
  t.equal(sees(dir, "taken"), nil)
end)

t.test("pictures are seen, texts are read", function()
  local dir <close> = place()
  local at = desk(dir)
  dir:write("root/a.txt", "\137PNG\r\n\26\n...")
  dir:write("root/b.png", "words")
  dir:write("root/c.png", "\0\0\0\0")
  dir:write("secret.png", "\137PNG\r\n\26\n...")
  local seen = at.view_image { path = "a.txt" }
  t.equal(seen[1], "image/png, 11 bytes")
  t.equal(seen[2].kind, "image")
  t.equal(seen[2].data, "\137PNG\r\n\26\n...")
  t.has(select(2, at.view_image { path = "b.png" }), "b.png is no picture but a text: read_file it")
  t.has(select(2, at.view_image { path = "c.png" }), "nothing that a model could be shown")
  t.has(select(2, at.view_image { path = "no.png" }), "Look for it with")
  t.has(select(2, at.view_image { path = "../secret.png" }), "secret.png")
  t.ok(at.view_image { path = "../secret.png" } == nil)
end)

-- ---- Changing -------------------------------------------------------------------------------

t.test("read before write, and the hash is compared", function()
  local dir <close> = place()
  local at = desk(dir)
  t.equal(at.write_file { path = "new/deep/a", content = "1" }, "created new/deep/a (1 bytes)")
  t.equal(at.write_file { path = "new/deep/a", content = "2" }, "replaced new/deep/a (1 bytes)")
  dir:write("root/b", "theirs")
  t.has(select(2, at.write_file { path = "b", content = "x" }), "has not read it")
  t.has(select(2, at.edit_file { path = "b", old_text = "t", new_text = "x" }), "has not read it")
  dir:write("root/binary", "\127ELF\0\1\2") -- what cannot be read is never to be read first
  t.has(select(2, at.write_file { path = "binary", content = "x" }), "binary is a binary file there already, and is not replaced: choose another path")
  t.has(select(2, at.write_file { path = "new", content = "x" }), "new is a directory: name a file")
  t.has(select(2, at.move_file { from = "new/deep/a", to = "b" }), "has not read it")
  at.read_file { path = "b" }
  dir:write("root/b", "changed")
  t.has(select(2, at.write_file { path = "b", content = "x" }), "changed by somebody else")
  t.equal(sees(dir, "b"), "changed")
  t.has(select(2, at.write_file { path = "b", content = "x" }), "has not read it")
  at.read_file { path = "b" }
  t.has(at.move_file { from = "new/deep/a", to = "b" }, "moved new/deep/a to b")
  t.equal(sees(dir, "b"), "2")
  t.equal(desk(dir).write_file { path = "b", content = "x" }, nil) -- another task has not read it
end)

t.test("what was read in part is not replaced whole", function()
  local dir <close> = place()
  local at = desk(dir)
  dir:write("root/a", "one\ntwo\n")
  at.read_file { path = "a", lines = 1 }
  t.has(select(2, at.write_file { path = "a", content = "x" }), "only a part of a was read")
  t.equal(at.edit_file { path = "a", old_text = "one", new_text = "1" }, "changed a in 1 place")
  t.has(select(2, at.write_file { path = "a", content = "x" }), "only a part")
  at.read_file { path = "a" }
  t.ok(at.write_file { path = "a", content = "x" })
end)

t.test("edits are exact, and errors say how to go on", function()
  local dir <close> = place()
  local at = desk(dir)
  dir:write("root/a", "x = 1\n  y = 2\nx = 1\n%d $1\n")
  at.read_file { path = "a" }
  local function fails(old, new, part) t.has(select(2, at.edit_file { path = "a", old_text = old, new_text = new }), part) end
  fails("x = 1", "x = 2", "occurs 2 times (lines 1, 3)")
  fails("z", "y", "does not occur")
  fails("y = 2\nz", "y", "Its first line stands in line 2")
  fails("%d", "%d", "nothing would change")
  t.equal(at.edit_file { path = "a", old_text = "%d $1", new_text = "%1 $0" }, "changed a in 1 place")
  t.equal(at.edit_file { path = "a", old_text = "x = 1", new_text = "x = 3", replace_all = true }, "changed a in 2 places")
  t.equal(sees(dir, "a"), "x = 3\n  y = 2\nx = 3\n%1 $0\n")
  dir:write("root/dos", "a\r\nb\r\nc\r\n")
  at.read_file { path = "dos" }
  t.ok(at.edit_file { path = "dos", old_text = "a\nb\n", new_text = "1\n2\n3\n" })
  t.equal(sees(dir, "dos"), "1\r\n2\r\n3\r\nc\r\n")
  dir:write("root/mark", "\239\187\191old")
  at.read_file { path = "mark" }
  t.ok(at.edit_file { path = "mark", old_text = "old", new_text = "new" })
  t.equal(sees(dir, "mark"), "\239\187\191new")
  dir:write("root/wide", "\255\254h\0")
  at.read_file { path = "wide" }
  t.has(select(2, at.edit_file { path = "wide", old_text = "h", new_text = "x" }), "utf-16le")
end)

t.test("opening is up to the host", function()
  local dir <close> = place()
  dir:write("root/a", "1")
  t.has(select(2, desk(dir).open_file { path = "a" }), "tell the user the file's path")
  local opened
  local at = desk(dir, { opener = function(path) opened = path return true end })
  t.has(at.open_file { path = "a" }, "opened for the user")
  t.matches(opened, "/root/a$")
  t.equal(at.open_file { path = "none" }, nil)
end)

t.test("a program opens it", function()
  local dir <close> = place()
  dir:write("root/a", "1")
  local script = dir:write("show", "#!/bin/sh\nenv > \"$1.env\"; case $1 in *bad) echo no >&2; exit 3;; esac\n")
  os.execute(("chmod +x '%s'"):format(script))
  local system = require "hocket.internal.core.system"
  local real = system.getenv
  local restore <close> = setmetatable({}, { __close = function() system.getenv = real end })
  function system.getenv(name)
    if name == "HOCKET_OPENER" then return script end
    return real(name)
  end
  t.has(desk(dir).open_file { path = "a" }, "opened for the user")
  t.lacks(sees(dir, "a.env"), "HOCKET")
  dir:write("root/bad", "1")
  t.has(select(2, desk(dir).open_file { path = "bad" }), "exit code 3: no")
  script = "no-such-program"
  t.has(select(2, desk(dir).open_file { path = "a" }), "was not found")
end)

-- ---- Searching --------------------------------------------------------------------------------

t.test("search by name and by content", function()
  local dir <close> = place()
  local at = desk(dir)
  dir:write("root/src/a.c", "int main(void)\n{\n    return 0;\n}\n")
  dir:write("root/src/b.h", "int MAIN;\r\n")
  dir:write("root/out/a.o", "main\0")
  dir:write("root/.gitignore", "out/\n")
  dir:write("root/.git/config", "main")
  t.equal(at.search_files { glob = "*.c" }, "src/a.c\n[1 files]")
  t.equal(at.search_files { glob = "src/**" }, "src/a.c\nsrc/b.h\n[2 files]")
  t.equal(at.search_files { content = "main" }, "src/a.c:1:int main(void)\n[1 lines in 1 of 3 files]")
  t.equal(at.search_files { content = "main", ignore_case = true, glob = "*.h" }, "src/b.h:1:int MAIN;\n[1 lines in 1 of 1 files]")
  t.equal(at.search_files { content = "^\\s+ret\\w+ 0", path = "src" }, "src/a.c:3:    return 0;\n[1 lines in 1 of 2 files]")
  t.equal(at.search_files { content = "n(v", literal = true, path = "src/a.c" }, "src/a.c:1:int main(void)\n[1 lines in 1 of 1 files]")
  t.has(at.search_files { content = "main", include_ignored = true }, "left out: files 1 binary")
  t.has(at.search_files { content = "nothing like it" }, "[no lines found in 0 of 3 files]")
  t.has(at.search_files { content = "i", max_results = 1 }, "there are more")
  t.has(select(2, at.search_files { content = "a(" }), "regular expression is wrong at character")
  t.has(select(2, at.search_files {}), "give `content`")
  t.has(select(2, at.search_files { content = "x", path = "none" }), "none")
end)

t.test("a hard pattern ends", function()
  local dir <close> = place()
  dir:write("root/a", ("a"):rep(30000) .. "b\n")
  local began = os.clock()
  local text = desk(dir).search_files { content = "^(a|a|aa)+$" }
  t.ok(os.clock() - began < 10)
  t.has(text, "no lines found")
end)

-- ---- At work ------------------------------------------------------------------------------------

t.test("through the permission check: approval shows the path as it is", function()
  local dir <close> = place()
  dir:write("root/agents/writer.md", "---\nname: writer\ntools: [read_file, write_file]\n---\nYou write.\n")
  local asked = {}
  local team = hocket.agents(dir.path .. "/root/agents")
  local paths = { "x/../notes.txt", "agents/writer.md", "agents/new.lua", "./.git/hooks/post-commit", "../out" }
  s.reply = function(request)
    local n = s.calls(request, "write_file")
    if n < #paths then return { calls = { s.call("write_file", { path = paths[n + 1], content = "hi" }) } } end
    local texts = {}
    for _, message in ipairs(request.messages) do
      if message.role == "tool" then texts[#texts + 1] = message.text end
    end
    return table.concat(texts, "|")
  end
  local reply = assert(hocket.run(team.writer, "write", {
    override_model = "scripted/x", workdir = dir.path .. "/root",
    on_question = function(question)
      asked[#asked + 1] = question.arguments
      return "yes"
    end,
  }))
  t.matches(reply.text, "^created notes.txt %(2 bytes%)|error: .-protected place.-|error: .-protected place.-|error: .-protected place.-|error: .-leads out of the project")
  t.equal(#asked, 1)
  t.equal(json.decode(asked[1]).path, "notes.txt")
  t.equal(sees(dir, "notes.txt"), "hi")
end)

-- What somebody who is asked is told of the calls, one after the other; "yes" to each.
local function asked_of(dir, calls, between)
  local questions, n = {}, 0
  local writer = hocket.agent { name = "writer", prompt = "You write.", tools = { "read_file", "write_file", "edit_file", "move_file" } }
  s.reply = function()
    n = n + 1
    return calls[n] and { calls = { calls[n] } } or "done"
  end
  local texts = {}
  assert(hocket.run(writer, "write", {
    override_model = "scripted/x", workdir = dir.path .. "/root", approve = { "ask" },
    on_event = function(event) if event.type == "tool_call" then texts[#texts + 1] = event.result end end,
    on_question = function(question)
      questions[#questions + 1] = question.change or false
      if between then between(#questions) end
      return "yes"
    end,
  }))
  return questions, texts
end

t.test("who is asked sees the path and what would change in the file as it is", function()
  local dir <close> = place()
  dir:write("root/a.txt", "one\ntwo\nthree\n")
  dir:write("root/wide", "\255\254h\0i\0\n\0")
  local told = asked_of(dir, {
    s.call("read_file", { path = "a.txt" }), s.call("read_file", { path = "wide" }),
    s.call("edit_file", { path = "./x/../a.txt", old_text = "two\n", new_text = "\ttwo\27[2J\u{202E}\n\u{0430}bc\n" }),
    s.call("write_file", { path = "new/b.txt", content = "b" }),
    s.call("write_file", { path = "wide", content = "hi\nho\n" }),
    s.call("move_file", { from = "new/b.txt", to = "c.txt" }),
    s.call("write_file", { path = "empty", content = "" }),
  })
  t.same(told, {
    { path = "a.txt", kind = "change", added = 2, removed = 1, diff = "@@ -1,3 +1,4 @@\n one\n-two\n+\ttwo\\u001b[2J\\u202e\n+\\u0430bc\n three\n" },
    { path = "new/b.txt", kind = "create", added = 1, removed = 0, diff = "@@ -0,0 +1 @@\n+b\n\\ No newline at end of file\n" },
    { path = "wide", kind = "change", added = 1, removed = 0, diff = "@@ -1 +1,2 @@\n hi\n+ho\n", note = "the file is in utf-16le and becomes UTF-8" },
    { path = "c.txt", kind = "move", from = "new/b.txt" },
    { path = "empty", kind = "create", added = 0, removed = 0, diff = "" },
  })
  t.equal(sees(dir, "a.txt"), "one\n\ttwo\27[2J\u{202E}\n\u{0430}bc\nthree\n")
end)

t.test("what would fail is told as that, shows nothing of a file, and fails", function()
  local dir <close> = place()
  dir:write("root/a.txt", "secret\n")
  local told, texts = asked_of(dir, {
    s.call("write_file", { path = "a.txt", content = "x" }),
    s.call("edit_file", { path = "a.txt", old_text = "secret", new_text = "x" }),
    s.call("read_file", { path = "a.txt" }),
    s.call("edit_file", { path = "a.txt", old_text = "nowhere", new_text = "x" }),
  })
  t.equal(#told, 3)
  for i, why in ipairs { "this task has not read it", "this task has not read it", "old_text does not occur" } do
    t.has(told[i].refused, why)
    t.equal(told[i].diff, nil)
  end
  t.equal(#texts, 4)
  t.equal(sees(dir, "a.txt"), "secret\n")
end)

t.test("a file that changes between the question and the answer is left as it is", function()
  local dir <close> = place()
  dir:write("root/a.txt", "one\n")
  local told = asked_of(dir, {
    s.call("read_file", { path = "a.txt" }), s.call("write_file", { path = "a.txt", content = "two\n" }), s.call("write_file", { path = "new", content = "two\n" }),
  }, function(n) dir:write(n == 1 and "root/a.txt" or "root/new", "somebody's\n") end)
  t.equal(told[1].diff, "@@ -1 +1 @@\n-one\n+two\n")
  t.equal(told[2].kind, "create")
  t.equal(sees(dir, "a.txt"), "somebody's\n")
  t.equal(sees(dir, "new"), "somebody's\n")
end)

t.test("a line break in a name or a line forges no line of a search", function()
  local dir <close> = t.dir()
  local names = { "a\nb:1:forged", "a\rb:1:forged", "a\u{85}b:1:forged", "a\u{2028}b:1:forged", "a\27[2Jb", "a\tb" }
  for _, name in ipairs(names) do dir:write(name, "needle\n") end
  dir:write("plain", "needle\rother:1:forged needle\u{2029}other:2:forged\vx\n")
  local root = assert(require("hocket.internal.core.files").root(dir.path))
  for _, query in ipairs { { pattern = "needle" }, { glob = "*" } } do
    local text = assert(root:search(query))
    local _, lines = text:gsub("\n", "")
    t.equal(lines, 7)
    for _, bad in ipairs { "\r", "\27", "\v", "\u{85}", "\u{2028}", "\u{2029}" } do t.lacks(text, bad) end
    for line in text:gmatch "[^\n]+" do t.ok(line:find "^a" or line:find "^plain", line) end
  end
end)

return t.finish()
