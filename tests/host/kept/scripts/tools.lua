-- One agent with tools that change the world: lines in the file that the input names. What is done twice is seen there.
local hocket = require "hocket"
local path = ...

local function append(text)
  local file = assert(io.open(path, "a"))
  file:write(text, "\n")
  file:close()
  return "written"
end

local post = hocket.tool {
  name = "post", description = "Posts a letter.", parameters = { type = "object", properties = { what = { type = "string" } } },
  run = function(args)
    hocket.flow.sleep(0.005)
    return append("post " .. args.what)
  end,
}
local put = hocket.tool {
  name = "put", description = "Puts a value.", parameters = { type = "object", properties = { what = { type = "string" } } },
  idempotent = true, run = function(args, ctx) return append("put " .. args.what .. " " .. tostring(ctx.effect_id)) end,
}
local broken = hocket.tool { name = "broken", description = "Raises.", idempotent = true, run = function() error { code = "io", message = "no paper" } end }

local clerk = hocket.agent { name = "clerk", prompt = "You post letters.", tools = { post, put, broken } }
local reply = assert(hocket.run(clerk, [[
call post {"what": "a"}
call put {"what": "b"}
then
call broken {}
call put {"what": "c"}
then
call post {"what": "d"}
say All is posted.]]))

local stamp = assert(hocket.step("stamp", function(id) return append("put stamp " .. id) end, { idempotent = true }))
local sealed = hocket.step("seal", function() return append "post seal" end) and "sealed" or "sealed"
return reply.text .. " " .. stamp .. " " .. sealed
