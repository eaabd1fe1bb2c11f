--- A stranger's folder: code in every place where somebody might look for it, and everything that a person may run
--- without having trusted it. Where any of it runs it leaves a mark.
local attack = require "attack"
local fs = require "hocket.fs"
local journal = require "hocket.internal.core.journal"
local operations = {
  run = require "hocket.internal.runner.run_target", check = require("hocket.internal.commands.check").check, sim = require("hocket.internal.commands.sim").sim,
}
local system = require "hocket.internal.core.system"

local class = attack.class "trust"

local files = { "main", "sim", "agents/sim", "agents/lib", "hocket", "hocket/init", "hocket/json", "hocket/patterns/init", "init", "lib", "tools/x" }

local function trap(dir, without_main)
  local mark = ("local f = io.open(%q, 'a') f:write 'x' f:close()\nreturn function() return 'owned' end"):format(dir.path .. "/mark")
  for _, file in ipairs(files) do
    if not (without_main and file == "main") then dir:write("evil/" .. file .. ".lua", mark) end
  end
  dir:write("evil/agents/one.md", "---\nname: one\n---\nOne.\n")
end

local function with_env(values, fn)
  local real = system.getenv
  system.getenv = function(name)
    if values[name] ~= nil then return values[name] or nil end
    return real(name)
  end
  local restored <close> = setmetatable({}, { __close = function() system.getenv = real end })
  return fn()
end

local function attempt(dir, operation, args, env)
  env.HOME, env.XDG_STATE_HOME = env.HOME or dir.path .. "/home", env.XDG_STATE_HOME or false
  env.HOCKET_TRUST = env.HOCKET_TRUST or false
  with_env(env, function() pcall(operations[operation], args, journal.new { run = "r" }) end)
  if fs.info(dir.path .. "/mark") then return "it ran" end
end

local targets = { "evil", "evil/", "evil/../evil", "evil/agents", "evil/agents/one.md" }
local choices = {
  { model = "sim" }, { model = "sim/default" }, { model = "sim-anthropic/x" }, { models = { one = "sim" } }, { model = "sim", trust = "ask" },
  { model = "sim", trust = "ask", on_question = function() return "no" end }, { model = "sim", trust = "ask", on_question = function() return "perhaps" end },
}
local variables = { {}, { HOCKET_TRUST = "0" }, { HOCKET_TRUST = "evil:./evil" }, { HOCKET_TRUST = "/nowhere" } }

for _, target in ipairs(targets) do
  for i, options in ipairs(choices) do
    for j, env in ipairs(variables) do
      class:try(("run %s, options %d, variables %d"):format(target, i, j), function(dir)
        trap(dir)
        local given = { trust = false }
        for key, value in pairs(options) do given[key] = value end
        return attempt(dir, "run", { target = dir.path .. "/" .. target, input = "x", options = given }, setmetatable({}, { __index = env }))
      end)
    end
  end
end

-- An agent's file, a missing key and a fallback choose nothing, not even where all is trusted.
for _, model in ipairs { "sim", "sim/default", "sim-openai/x", "[nowhere/x, sim]", "[openai/gpt-6.1-terra, sim/y]" } do
  class:try("an agent's file names " .. model, function(dir)
    trap(dir, true)
    dir:write("evil/agents/one.md", ("---\nname: one\nmodel: %s\n---\nOne.\n"):format(model))
    return attempt(dir, "run", { target = dir.path .. "/evil/agents", input = "x", options = { trust = true } },
      { HOCKET_TRUST = "1", HOCKET_MODEL = false, OPENAI_API_KEY = false })
  end)
end

-- What was trusted is another folder once its Lua changes.
for _, change in ipairs { "evil/main.lua", "evil/new.lua", "evil/a/b/deep.lua", "evil/sim.lua" } do
  class:try("trusted, then changed: " .. change, function(dir)
    dir:write("evil/main.lua", "return 'fine'")
    with_env({ HOME = dir.path .. "/home", XDG_STATE_HOME = false }, function() require("hocket.internal.runner.trust").remember(dir.path .. "/evil") end)
    dir:write(change, ("local f = io.open(%q, 'a') f:write 'x' f:close() return 'owned'"):format(dir.path .. "/mark"))
    dir:write("evil/main.lua", (fs.read(dir.path .. "/evil/main.lua")) .. "\n-- " .. change)
    return attempt(dir, "run", { target = dir.path .. "/evil", input = "x", options = { trust = false } }, {})
  end)
end

-- A yes is about the Lua that was there: what it loads beside that does not run.
local loads = {
  [[return dofile(DIR .. "/evil/data.txt")]], [[return assert(loadfile(DIR .. "/evil/data.txt"))()]], [[return assert(loadfile(DIR .. "/evil/data.txt", "t", {}))()]],
  [[return dofile(DIR .. "/other/x.lua")]], [[return dofile(DIR .. "/evil/../other/x.lua")]], [[package.path = DIR .. "/other/?.lua" return require "x"]],
  [[package.path = DIR .. "/evil/?.txt" return require "data"]],
}
for i, code in ipairs(loads) do
  for _, later in ipairs { false, true } do
    class:try(("trusted Lua loads what was not looked at, way %d%s"):format(i, later and ", changed afterwards" or ""), function(dir)
      local mark = ("local f = io.open(%q, 'a') f:write 'x' f:close() return 'owned'"):format(dir.path .. "/mark")
      for _, name in ipairs { "evil/data.txt", "other/x.lua" } do dir:write(name, later and "return 1" or mark) end
      dir:write("evil/main.lua", ("local DIR = %q\n"):format(dir.path) .. code)
      with_env({ HOME = dir.path .. "/home", XDG_STATE_HOME = false }, function() require("hocket.internal.runner.trust").remember(dir.path .. "/evil") end)
      for _, name in ipairs { "evil/data.txt", "other/x.lua" } do dir:write(name, mark) end
      return attempt(dir, "run", { target = dir.path .. "/evil", input = "x", options = { trust = false } }, {})
    end)
  end
end

for _, paths in ipairs { { "evil" }, { "evil/agents" }, { "evil/main.lua", "evil/sim.lua" } } do
  class:try("check " .. table.concat(paths, " "), function(dir)
    trap(dir)
    for i, path in ipairs(paths) do paths[i] = dir.path .. "/" .. path end
    return attempt(dir, "check", { paths = paths }, {})
  end)
end

class:try("sim of a directory", function(dir)
  trap(dir)
  return attempt(dir, "sim", { script = dir.path .. "/evil" }, {})
end)

return class:finish()
