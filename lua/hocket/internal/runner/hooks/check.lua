--- What is wrong with a project's hooks.lua, as far as its text tells: nothing of it is run. A run finds the rest when it loads it
--- (load.lua).
local bind = require "hocket.internal.base.script.bind"
local hooks = require "hocket.internal.run.hooks"
local parse = require "hocket.internal.base.script.parse"
local problem = require "hocket.internal.agents.problem"

local hooks_check = {}

local function say(problems, path, line, message)
  problems[#problems + 1] = problem.new(path, line, 1, "hooks", message)
end

-- Kinds of nodes that are no function and cannot become one.
local plain = { number = true, string = true, ["true"] = true, ["false"] = true }

-- One entry: a function or what may be one, or a table with `run`.
local function check_entry(path, point, node, problems)
  local meant = bind.meant(node)
  if plain[meant.kind] then
    say(problems, path, node.line, point .. ": a function, or a table with 'run' is expected")
  elseif meant.kind == "table" then
    hooks_check.table(path, meant, problems, { run = true, match = true, timeout = true }, point .. ": ")
    if not bind.item(meant, "run") then say(problems, path, node.line, point .. ": 'run' is missing") end
  end
end

local function is_list(node)
  return node.kind == "table" and node.items[1] and node.items[1].key == nil
end

local function check_point(path, point, node, problems)
  local meant = bind.meant(node)
  for _, item in ipairs(is_list(meant) and meant.items or { { value = node } }) do check_entry(path, point, item.value, problems) end
end

local function check_key(path, key, node, problems)
  if key == "timeout" then
    local known, value = bind.constant(node)
    if known and not (type(value) == "number" and value > 0) then say(problems, path, node.line, "timeout: seconds above 0 are expected") end
  elseif hooks.points[key] then
    check_point(path, key, node, problems)
  else
    say(problems, path, node.line, hooks.unknown_key(key))
  end
end

--- The keys of a table whose names are written out.
function hooks_check.table(path, node, problems, known, of)
  for _, item in ipairs(node.items) do
    local key = item.key and item.key.kind == "string" and item.key.value
    if key and not known then check_key(path, key, item.value, problems) end
    if key and known and not known[key] then say(problems, path, item.line, ("%sunknown key '%s' (run, match, timeout)"):format(of, key)) end
  end
end

-- Fields that are set behind the table: function hooks.before_tool(event) … end
local function check_fields(path, tree, binding, problems)
  bind.each(tree, function(node)
    local targets = node.kind == "assign" and node.targets or node.kind == "function_statement" and { node.target } or {}
    for i, target in ipairs(targets) do
      local is_field = target.kind == "index" and target.object.kind == "name" and target.object.binding == binding and target.key.kind == "string"
      local value = node.values and node.values[i] or node.value
      if is_field and value then check_key(path, target.key.value, value, problems) end
    end
  end)
end

--- Adds what is wrong.
---@param path string
---@param text string Which compiles.
---@param problems hocket.Problem[]
function hooks_check.add(path, text, problems)
  local tree = parse(text)
  if not tree then return end
  bind.resolve(tree)
  local last = tree[#tree]
  local value = last and last.kind == "return" and last.values[1]
  if not value then return say(problems, path, last and last.line or 1, "hooks.lua has to return a table of hooks") end
  local meant = bind.meant(value)
  if meant.kind == "table" then hooks_check.table(path, meant, problems) end
  if value.kind == "name" and value.binding then check_fields(path, tree, value.binding, problems) end
end

return hooks_check
