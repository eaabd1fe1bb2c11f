-- Operations that an embedder calls by name (hocket_call_start): what is wrong with the arguments is said in words, before anything begins.
local t = require "harness"
local entry = require "hocket.internal.host.entry"
local hocket = require "hocket"

local needs = { run = "target", submit = "target", check = "paths", eval = "paths", command = "line", new = "dir", show = "id", answer = "id", say = "id", signal = "id", fork = "id",
  import = "file", remove = "ids", watch = "path", wait = "id", cancel = "id" }

for name, member in pairs(needs) do
  t.test("the arguments of " .. name, function()
    for _, args in ipairs { "7", "null", "true", '"x"', "[1]" } do
      local code, _, _, message = entry.start(name, args, nil, "id")
      t.equal(code, "invalid", args)
      t.equal(message, ("the arguments of the operation '%s' have to be one JSON object"):format(name))
    end
    for _, args in ipairs { "{}", ('{"%s":7}'):format(member), ('{"%s":null}'):format(member) } do
      local code, _, _, message = entry.start(name, args, nil, "id")
      t.equal(code, "invalid", args)
      t.has(message, ("the operation '%s' needs '%s'"):format(name, member))
    end
  end)
end

t.test("arguments that may be missing have their types, too", function()
  for name, cases in pairs {
    run = { instead = '"x"', labels = '"x"', priority = '"x"', deltas = '"x"', options = '"x"' },
    submit = { pool = "7", due_ms = '"x"', id = "7", caller = "7", project = "7" },
    runs = { parent = "true", before = "7", target = "7", label = '"x"', limit = '"x"' },
    resumable = { most = "true", id = "7", here = "7" },
  } do
    for member, value in pairs(cases) do
      local args = ('{"target": "x.lua", "%s": %s}'):format(member, value)
      local code, _, _, message = entry.start(name, member == "target" and '{"target": 7}' or args, nil, "id")
      t.equal(code, "invalid", args)
      t.has(message, ("the operation '%s' needs '%s'"):format(name, member))
    end
  end
  local code, _, _, message = entry.start("submit", '{"target": "x.lua", "options": {"models": "x"}}', nil, "id")
  t.equal(code, "invalid")
  t.has(message, "bad option 'models' (table expected, got string)")
end)

t.test("options of another type", function()
  local dir <close> = t.dir()
  dir:write("a.md", "---\nname: a\nmodel: sim\n---\nYou.\n")
  for name, value in pairs { models = "x", variables = 7, prices = "x", rules = true, files = "a.txt", jobs = "2", max_turns = "x", workdir = {}, record = 7 } do
    local result, err = hocket.start(dir.path .. "/a.md", "hi", { [name] = value }):wait()
    t.equal(result, nil, name)
    t.equal(err.code, "invalid", name)
    t.has(err.message, ("bad option '%s'"):format(name))
  end
end)

return t.finish()
