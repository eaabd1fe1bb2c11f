--- End users of `hocket serve`: what one has an agent remember, another asks for at every door, by name, without one, and with another token.
local attack = require "attack"
local process = require "hocket.process"
local t = require "harness"
local user_doors = require "user_doors"

local class = attack.class "users"

local dir <close> = t.dir()
local done = assert(process.run { argv = { process.launcher(), "serve", "token", "create", "--name", "b" }, cwd = dir.path, sandbox = "limits",
  env = { "PATH=/usr/bin:/bin", "XDG_STATE_HOME=" .. dir.path .. "/state" } })
local token = done.stdout:gsub("%s+$", "")
local s <close> = user_doors.start(dir)
local other = user_doors.as(s, token)
local count = 0

local function try(what, agent, write, read)
  class:try(what, function()
    count = count + 1
    local code = ("code-%d-4711"):format(count)
    write(agent, "The door code is " .. code, "ann" .. count)
    local answer = read(agent, "door code?", count)
    if not answer:find("I know", 1, true) then return "it was not asked: " .. answer:sub(1, 300) end
    if answer:find(code, 1, true) then return "another user knows it" end
  end)
end

for written, write in pairs(user_doors.doors) do
  for asked, read in pairs(user_doors.doors) do
    local agent = count % 2 == 0 and "keeper" or "files"
    local function at(server, user)
      return function(name, text, n) return read(server, name, text, user and user .. n or nil) end
    end
    local function wrote(name, text, user) return write(s, name, text, user) end
    local where = (" (written at %s, asked at %s)"):format(written, asked)
    try("another user" .. where, agent, wrote, at(s, "eve"))
    try("a user whose name begins so" .. where, agent, wrote, at(s, "ann0"))
    try("the same name with another token" .. where, agent, wrote, at(other, "ann"))
    if asked ~= "thread" and asked ~= "agui" and written ~= "thread" and written ~= "agui" then try("nobody in particular" .. where, agent, wrote, at(s)) end
  end
end

-- All of this says something where the user of whom it is knows it.
for name, door in pairs(user_doors.doors) do
  door(s, "keeper", "The door code is own-4711", "own-" .. name)
  class:check("the same user, at " .. name, not door(s, "keeper", "door code?", "own-" .. name):find("own-4711", 1, true) and "the attacks try nothing" or nil)
end

return class:finish()
