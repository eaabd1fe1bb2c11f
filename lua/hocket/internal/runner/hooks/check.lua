--- What is wrong with a project's hooks.lua, as far as its text tells: nothing of it is run. A run finds the rest when it loads it
--- (load.lua), and asks here in which line that is.
local bind = require "hocket.internal.base.script.bind"
local hooks = require "hocket.internal.run.hooks"
local parse = require "hocket.internal.base.script.parse"
local problem = require "hocket.internal.agents.problem"

local hooks_check = {}

local function say(problems, path, line, message)
  problems[#problems + 1] = problem.new(path, line, 1, "hooks", message)
end

-- Kinds of nodes that are no function, and no table.
local plain = { number = true, string = true, ["true"] = true, ["false"] = true }
local no_table = setmetatable({ ["nil"] = true, ["function"] = true }, { __index = plain })

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
    if key and not known[key] then say(problems, path, item.line, ("%sunknown key '%s' (run, match, timeout)"):format(of, key)) end
  end
end

-- Fields that are set: function hooks.before_tool(event) … end. Of one local, or of all.
local function each_field(tree, binding, fn)
  bind.each(tree, function(node)
    local targets = node.kind == "assign" and node.targets or node.kind == "function_statement" and { node.target } or {}
    for i, target in ipairs(targets) do
      local is_field = target.kind == "index" and target.object.kind == "name" and target.key.kind == "string" and (not binding or target.object.binding == binding)
      local value = node.values and node.values[i] or node.value
      if is_field and value then fn(target.key.value, value, node.line) end
    end
  end)
end

-- Each key of a table that is written out: fn(key, value, line).
local function each_item(node, fn)
  for _, item in ipairs(node.kind == "table" and node.items or {}) do
    if item.key and item.key.kind == "string" then fn(item.key.value, item.value, item.line) end
  end
end

-- Each key of the table that is returned.
local function each_key(tree, value, fn)
  each_item(bind.meant(value), fn)
  if value.kind == "name" and value.binding then each_field(tree, value.binding, fn) end
end

-- The tree, and the value that the file returns.
local function read(text)
  local tree = parse(text)
  if not tree then return nil end
  bind.resolve(tree)
  local last = tree[#tree]
  return tree, last and last.kind == "return" and last.values[1] or nil, last
end

--- Adds what is wrong.
---@param path string
---@param text string Which compiles.
---@param problems hocket.Problem[]
function hooks_check.add(path, text, problems)
  local tree, value, last = read(text)
  if not tree then return end
  if not value or no_table[bind.meant(value).kind] then
    return say(problems, path, last and last.line or 1, "hooks.lua has to return a table of hooks")
  end
  each_key(tree, value, function(key, node) check_key(path, key, node, problems) end)
end

-- The line of what is wrong in the value of a key, where that is written out.
local function line_within(node, at)
  local meant = bind.meant(node)
  local item = is_list(meant) and at.i and meant.items[at.i]
  local entry = item and bind.meant(item.value) or meant
  for _, one in ipairs(at.inner and entry.kind == "table" and entry.items or {}) do
    if one.key and one.key.value == at.inner then return one.line end
  end
  return item and item.line
end

--- The line of what hooks.read found wrong: of the key in what the file returns; else of any key of that name; else of the value that it returns.
---@param text string
---@param at {key?: any, i?: integer, inner?: any}
---@return integer
function hooks_check.line(text, at)
  local tree, value, last = read(text)
  local found
  local function look(key, node, line)
    line = key == at.key and (line_within(node, at) or line)
    found = line and math.min(line, found or line) or found
  end
  if tree and value then each_key(tree, value, look) end
  if tree and not found then each_field(tree, nil, look) end
  if tree and not found then bind.each(tree, function(node) each_item(node, look) end) end
  return found or last and last.line or 1
end

return hooks_check
