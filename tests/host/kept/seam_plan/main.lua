-- A plan whose tasks leave lines in the file that the input names, as those of seam/main.lua do. One is tried again, one fails and its alternate
-- does it, one is split into parts, one reports a blocker, and one has a check. All is begun side by side.
local hocket = require "hocket"
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

local team = {}
for name, tools in pairs { surveyor = {}, engineer = {}, lead = { "split_task" }, mason = {}, path = { "report_blocker" }, quarry = {}, painter = {} } do
  table.insert(tools, post)
  table.insert(tools, put)
  hocket.agent { name = name, description = name, prompt = "You are the " .. name .. ".", tools = tools, team = team }
end

local tasks = {
  { id = "again", specialist = "painter", description = "Paint", check = { schema = { type = "object" } } },
  { id = "ground", specialist = "surveyor", description = "Measure", alternates = { "engineer" } },
  { id = "house", specialist = "lead", description = "Build a house" },
  { id = "path", specialist = "path", description = "Lay a path" },
  { id = "end", specialist = "quarry", description = "Carry away", depends_on = { "again", "ground", "house", "path" } },
}
local reply = assert(hocket.patterns.coordinator.run({ type = "task", tasks = tasks }, {
  team = team, retries = 1, backoff = 0.005, execution_mode = "parallel",
  on_blocker = function() return { { id = "stones", specialist = "quarry", description = "Get stones" } } end,
}))
local ends = {}
for i, task in ipairs(reply.tasks) do ends[i] = task.id .. " " .. task.status end
table.sort(ends)
return table.concat(ends, ", ")
