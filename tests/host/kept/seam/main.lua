-- Effects of several kinds, some side by side. Each leaves a line in the file that the input names: "once" is there once at most,
-- "again ID WHAT" any number of times, for one ID always with the same WHAT. `torture` is of test_torture_seam.c: it may end the process.
local hocket = require "hocket"
local fs, process = require "hocket.fs", require "hocket.process"
local path = ...

local function leave(line)
  local f = assert(io.open(path, "a"))
  f:write(line, "\n")
  f:close()
  torture "effect"
  return "done"
end

local post = hocket.tool {
  name = "post", description = "Posts.", parameters = { type = "object", properties = { what = { type = "string" } } },
  run = function(args) return leave("once post " .. args.what) end,
}
local put = hocket.tool {
  name = "put", description = "Puts.", idempotent = true, parameters = { type = "object", properties = { chance = { type = "integer" } } },
  run = function(args, ctx) return leave(("again %s %d"):format(ctx.effect_id, args.chance)) end,
}
local look = hocket.tool { name = "look", description = "Looks.", effects = { "read" }, parameters = { type = "object" }, run = function() return "seen" end }
local clerk = hocket.agent { name = "clerk", prompt = "You work.", tools = { post, put, look } }

local function step(name, idempotent)
  local done, err = hocket.step(name, function(id) return leave(idempotent and ("again %s %s"):format(id, name) or "once step " .. name) end, { idempotent = idempotent })
  return done or err.code
end

step "first"
local said = hocket.flow.map({ "a", "b" }, function(who) return assert(hocket.run(clerk, who)).text end)
step("stamp", true)
assert(fs.write(path .. ".written", said[1]))
process.run { argv = { "/bin/sh", "-c", 'echo "once program" >>"$1"', "sh", path }, cwd = "/tmp", sandbox = "limits" }
step "last"
return said[1] .. said[2]
