--- Programs of tools on Windows: by its shell, in a Job object with limits, without a sandbox; so each asks.
local t = require "harness"
local s = require "scripted"
local code = require "hocket.internal.tools.code"
local fs = require "hocket.fs"
local orchestrate = require "hocket.orchestrate"
local process = require "hocket.process"
local programs = require "hocket.internal.tools.programs"
local sandbox = require "hocket.internal.tools.sandbox"
local shell = require "hocket.internal.tools.shell"

local function command(dir, args)
  local one = assert(shell.make("execute_command", { run = { options = { workdir = dir.path }, emit = function() end }, team = {} }))
  local text, err = one.run(type(args) == "table" and args or { command = args }, {})
  return text, type(err) == "table" and err.message or err
end

t.test("the levels say what is there", function()
  t.equal(sandbox.level(), "limits")
  for _, level in ipairs(sandbox.levels()) do
    t.equal(level.works, level.name == "limits", level.name)
    if not level.works then t.has(level.reason, level.name .. ": hocket does not have it on Windows, where programs have limits alone, and each asks") end
  end
  local _, err = sandbox.level "required"
  t.has(err.message, "hocket does not have it on Windows")
end)

t.test("doctor says so", function()
  local result = require "hocket.internal.commands.doctor" {}
  t.equal(result.sandbox, "limits")
  t.has(result.text, "hocket does not have it on Windows, where programs have limits alone, and each asks")
  for _, one in ipairs(result.problems) do t.lacks(one.command, "bubblewrap") t.lacks(one.command, "mount") end
end)

t.test("a command line is read as it stands", function()
  local dir <close> = t.dir()
  local text = command(dir, [[echo "a & b" Grüße %OS%&& echo err>&2&& exit 3]])
  t.matches(text, "^exit code 3, sandbox: limits %(no walls: it could reach all that you can%)\n")
  t.has(text, [["a & b" Grüße]])
  t.matches(text, "<stderr%-%w+ of=\"the program\">\nerr")
  t.has(text, "[The shell is cmd.exe of Windows.]")
  t.lacks(command(dir, "echo fine"), "cmd.exe")
end)

t.test("it works in the project, and in directories of it", function()
  local dir <close> = t.dir()
  dir:write("sub/a.txt", "here")
  t.has(command(dir, [[echo new>b.txt&& type sub\a.txt]]), "here")
  t.matches(fs.read(dir.path .. "/b.txt"), "^new")
  t.has(command(dir, { command = "type a.txt", directory = "sub" }), "here")
end)

t.test("what cmd.exe would do otherwise than asked is refused", function()
  local dir <close> = t.dir()
  local _, why = command(dir, "echo one\necho two")
  t.has(why, "cmd.exe: it takes one line: join commands with &&")
  local argv = table.move(programs.nothing, 1, #programs.nothing, 1, {})
  local _, err = process.run { argv = argv, cwd = "//localhost/c$", sandbox = "limits" }
  t.has(err.message, "it does not start in a folder of a share")
  _, err = process.run { argv = argv, cwd = dir.path .. ("/" .. ("x"):rep(100)):rep(3), sandbox = "limits" }
  t.has(err.message, "the path of its folder is too long")
end)

t.test("limits end what takes too long, and all that it started", function()
  local dir <close> = t.dir()
  t.has(command(dir, { command = "for /l %i in (0,0,1) do rem", timeout = 1 }), "ended: not done within 1 s")
  t.has(command(dir, { command = "cmd /c for /l %i in (0,0,1) do rem", timeout = 1 }), "ended: not done within 1 s")
end)

t.test("keys in the environment reach no program", function()
  local dir <close> = t.dir()
  local text = command(dir, "set")
  t.lacks(text, "HOCKET_CANARY_KEY=")
  t.lacks(text, "LUA_PATH=")
  t.matches(text:lower(), "systemroot=")
  t.matches(text:lower(), "temp=")
end)

t.test("each of them asks", function()
  local dir <close> = t.dir()
  local asked, results = {}, {}
  s.reply = function(request)
    results = {}
    for _, message in ipairs(request.messages) do
      if message.role == "tool" then results[#results + 1] = message.text end
    end
    return #results < 3 and { calls = { s.call("execute_command", { command = "echo number " .. #results + 1 }) } } or "done"
  end
  local team = s.team { main = { tools = { "execute_command" } } }
  s.run(function() return orchestrate.call(team.main, "go") end, { workdir = dir.path, on_question = function(question)
    asked[#asked + 1] = question
    return #asked == 2 and "deny" or "allow"
  end })
  t.equal(#asked, 3)
  t.equal(asked[1].tool, "execute_command")
  t.has(results[1], "number 1")
  t.lacks(results[2], "number 2")
  t.has(results[3], "number 3")
end)

t.test("what is not there is named", function()
  local dir <close> = t.dir()
  local one = assert(code.make("execute_lua", { run = { options = { workdir = dir.path } } }))
  local _, why = one.run({ code = "print(1)" }, {})
  t.has(why, "the host has no launcher")
end)

return t.finish()
