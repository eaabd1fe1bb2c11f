-- One effect of each kind, one after the other. Its input: a folder; what is done to the world leaves a line in the file `done` there.
local hocket = require "hocket"
local fs, http, process = require "hocket.fs", require "hocket.http", require "hocket.process"
local folder = ...

local function append(text)
  local f <close> = assert(io.open(folder .. "/done", "a"))
  f:write(text, "\n")
  return text
end

local parameters = { type = "object" }
local look = hocket.tool { name = "look", description = "Looks.", effects = { "read" }, parameters = parameters, run = function() return "seen" end }
local put = hocket.tool { name = "put", description = "Puts.", idempotent = true, parameters = parameters, run = function() return append "put" end }
local post = hocket.tool { name = "post", description = "Posts.", parameters = parameters, run = function() return append "post" end }
local clerk = hocket.agent { name = "clerk", prompt = "You work.", tools = { look, put, post } }

local function run(word, idempotent)
  return process.run { argv = { "/bin/sh", "-c", 'echo "$1" >>"$2"', "sh", word, folder .. "/done" }, cwd = folder, sandbox = "limits", idempotent = idempotent }
end

local nobody = "http://127.0.0.1:1/"
http.request { url = nobody }
hocket.step("pay", function() return append "pay" end)
hocket.step("stamp", function() return append "stamp" end, { idempotent = true })
http.request { url = nobody, method = "POST", body = "x" }
http.request { url = nobody, method = "PUT", body = "x", idempotent = true }
run "run"
run("again", true)
local cat = process.open { argv = { "/bin/cat" }, cwd = folder, sandbox = "limits", idempotent = true }
if cat and cat:write "line\n" then cat:read_line() end
if cat then cat:close() end
assert(fs.mkdir(folder .. "/made"))
assert(fs.write(folder .. "/made/file", "text"))
coroutine.wrap(function() hocket.step("inside", function() return append "inside" end) end)()
assert(not pcall(string.gsub, "x", "x", function() return hocket.step("own", function() return append "own" end) end))
assert(hocket.run(clerk, "call look {}\ncall put {}\nthen\ncall post {}\nsay done"))
return "through"
