--- Which tables of a script may get more items than their text or their schema says: by an assignment, by a function that they are given to,
--- or by another name of theirs. Everybody else's length is known (agents/workflow_bound.lua).
local bind = require "hocket.internal.base.script.bind"

local shared = {}

--- Globals and modules whose functions keep the length of a table that they are given, but for the ones that are named.
local own_functions = {
  assert = true, error = true, ipairs = true, next = true, pairs = true, pcall = true, print = true, rawequal = true, rawget = true, rawlen = true,
  select = true, tonumber = true, tostring = true, type = true, string = true, table = true, math = true, utf8 = true, os = true, io = true,
}
local growing = { insert = true, move = true }

--- Modules of hocket whose functions ask no model, call no function that a script has not given them, and change no table.
shared.free = {}
for name in ("json text schema yaml fs process http fence prices"):gmatch "%a+" do shared.free["hocket." .. name] = true end

--- The global that an expression is or belongs to, and the field: `table.insert` -> "table", "insert".
---@param node table
---@return string? name
---@return string? field
function shared.global(node)
  node = bind.meant(node)
  if node.kind == "name" and not node.binding then return node.name, "" end
  if node.kind ~= "index" or node.key.kind ~= "string" then return nil end
  local name, field = shared.global(node.object)
  if name and field == "" then return name, node.key.value end
end

local function keeps_length(fn)
  local module = bind.member(fn)
  if module then return module == bind.WORKFLOW or shared.free[module] == true end
  local name, field = shared.global(fn)
  return name ~= nil and own_functions[name] == true and not growing[field]
end

-- Functions of Lua that return a table that they are given, or a part of one.
local returning = { assert = true, ipairs = true, next = true, pairs = true, pcall = true, rawget = true, select = true, xpcall = true }
local returning_of_table = { pack = true, remove = true, unpack = true }

local function any(list, is)
  for _, one in ipairs(list) do
    if is(one) then return true end
  end
  return false
end

-- A function of Lua, or a table with one.
local function is_foreign(node)
  if node.kind == "table" then return any(node.items, function(item) return is_foreign(item.value) end) end
  return shared.global(node) ~= nil
end

-- Whether a call's value may be a table that it was given. A word of workflows returns what the functions return that it is given.
local function returns_part(node)
  local module, field = bind.member(node.fn)
  if module == "hocket.json" then return field == "array" end
  if module == bind.WORKFLOW then return any(node.arguments, is_foreign) end
  if module then return false end
  local name, of = shared.global(node.fn)
  return of == "" and returning[name] == true or name == "table" and returning_of_table[of] == true
end

local visit, visit_value

local function root_of(node)
  while node.kind == "index" or node.kind == "paren" do node = node.object or node.value end
  return node.kind == "name" and node.binding or nil
end

-- Whether a key is a number: `list[i]` in `for i = 1, n`. What another one leads to may be a list that a schema names.
local function is_number(key)
  local binding = key.kind == "name" and key.binding
  return key.kind == "number" or binding and binding.role == "loop" and binding.owner.kind == "for" and not binding.assigned
end

-- How many lists an expression goes into.
local function depth_of(node)
  local depth = 0
  while node.kind == "index" or node.kind == "paren" do
    if node.kind == "index" and is_number(node.key) then depth = depth + 1 end
    node = node.object or node.value
  end
  return depth
end

local function mark(node)
  local binding, depth = root_of(node), depth_of(node)
  if binding then binding.grown = math.min(binding.grown or depth, depth) end
end

local function visit_arguments(list, safe, run)
  for _, one in ipairs(list) do visit_value(one, safe, run) end
end

-- The parameter of a function that `map` and `pipeline` call gets an item of their list.
local function take_item(node)
  local list, given = node.arguments[1], node.arguments[2]
  local first = given and given.kind == "table" and given.items[1] and given.items[1].value or given
  if not (list and first and first.kind == "function" and first.bindings and first.bindings[1]) then return end
  first.bindings[1].source = list
end

-- Operators whose value is one of their operands.
local flows = { ["and"] = true, ["or"] = true }

local values = {
  name = function(node, safe) if not safe then mark(node) end end,
  index = function(node, safe, run)
    if not safe then mark(node) end
    visit_value(node.object, safe or root_of(node) ~= nil, run)
    visit_value(node.key, true, run)
  end,
  paren = function(node, safe, run) visit_value(node.value, safe, run) end,
  unary = function(node, _, run) visit_value(node.value, true, run) end,
  binary = function(node, safe, run)
    local inner = not flows[node.operator] or safe
    visit_value(node.left, inner, run)
    visit_value(node.right, inner, run)
  end,
  table = function(node, safe, run)
    for _, item in ipairs(node.items) do
      if item.key then visit_value(item.key, true, run) end
      visit_value(item.value, safe, run)
    end
  end,
  ["function"] = function(node, _, run) visit(node.body, node == run, run) end,
  call = function(node, safe, run)
    if bind.member(node.fn) == bind.WORKFLOW then take_item(node) end
    visit_value(node.fn, true, run)
    visit_arguments(node.arguments, keeps_length(node.fn) and (safe or not returns_part(node)), run)
  end,
  method = function(node, _, run)
    visit_value(node.object, false, run)
    visit_arguments(node.arguments, false, run)
  end,
}

function visit_value(node, safe, run)
  local fn = values[node.kind]
  if fn then fn(node, safe, run) end
end

-- A local that begins as another one, as a part of it or as a table that holds it, is that table under another name.
local function visit_local(node, run)
  for i, value in ipairs(node.values) do
    local is_name = node.names[i] ~= nil and (value.kind == "name" or value.kind == "index" or value.kind == "table")
    visit_value(value, is_name, run)
  end
end

local iterators = { ipairs = true, pairs = true }

-- `ends`: what the block returns goes to nobody in the script.
local statements = {
  ["local"] = function(node, _, run) visit_local(node, run) end,
  assign = function(node, _, run)
    visit_arguments(node.values, false, run)
    for _, target in ipairs(node.targets) do visit_value(target, target.kind ~= "index" or root_of(target) ~= nil, run) end
  end,
  function_statement = function(node, _, run) visit_value(node.value, false, run) end,
  ["do"] = function(node, ends, run) visit(node.body, ends, run) end,
  ["while"] = function(node, ends, run)
    visit_value(node.condition, true, run)
    visit(node.body, ends, run)
  end,
  ["repeat"] = function(node, ends, run)
    visit(node.body, ends, run)
    visit_value(node.condition, true, run)
  end,
  ["if"] = function(node, ends, run)
    for _, branch in ipairs(node.branches) do
      if branch.condition then visit_value(branch.condition, true, run) end
      visit(branch.body, ends, run)
    end
  end,
  ["for"] = function(node, ends, run)
    visit_arguments(node.range, true, run)
    visit(node.body, ends, run)
  end,
  ["in"] = function(node, ends, run)
    local first = node.values[1]
    local iterates = #node.values == 1 and first.kind == "call" and iterators[shared.global(first.fn)] -- the loop's names are linked to the list
    visit_arguments(node.values, iterates or false, run)
    visit(node.body, ends, run)
  end,
  ["return"] = function(node, ends, run) visit_arguments(node.values, ends, run) end,
}

function visit(block, ends, run)
  for _, node in ipairs(block) do
    local fn = statements[node.kind]
    if fn then fn(node, ends, run) else visit_value(node, true, run) end
  end
end

-- A table is shared with everything in it, at any depth.
local WHOLE = -math.huge

-- The bindings that a value may be, or be a part of.
local function sources_of(node, found)
  local binding = (node.kind == "name" or node.kind == "index") and root_of(node)
  if binding then found[#found + 1] = { binding = binding, depth = depth_of(node) } end
  if node.kind == "call" and bind.member(node.fn) == bind.WORKFLOW then return found end -- a list of its own
  for _, part in ipairs { node.object, node.value, node.left, node.right } do sources_of(part, found) end
  for _, one in ipairs(node.arguments or {}) do sources_of(one, found) end
  for _, item in ipairs(node.items or {}) do
    for _, from in ipairs(sources_of(item.value, {})) do found[#found + 1] = { binding = from.binding, depth = WHOLE } end
  end
  return found
end

local function link(binding, value, links, deeper)
  if not binding or not value or value.kind == "function" then return end
  for _, from in ipairs(sources_of(value, {})) do links[#links + 1] = { one = binding, from = from.binding, depth = from.depth + deeper } end
end

-- `pairs` also gives what is no list's item.
local function deeper_in(value)
  return value.kind == "call" and shared.global(value.fn) == "ipairs" and 1 or 0
end

-- What a name, a loop's variable or the parameter of a function given to `map` is taken from.
local function links_of(node, links, seen)
  if seen[node] then return links end
  seen[node] = true
  local binding = node.kind == "name" and node.binding
  if binding and binding.value then link(binding, binding.value, links, 0) end
  if binding and binding.role == "loop" and binding.owner.values then
    for _, value in ipairs(binding.owner.values) do link(binding, value, links, deeper_in(value)) end
  end
  if binding and binding.source then link(binding, binding.source, links, 1) end
  for key, value in pairs(node) do
    if type(value) == "table" and key ~= "binding" then links_of(value, links, seen) end
  end
  return links
end

-- A change of a name changes its source, too: for an item that is the list, one level further inside.
local function pass_on(link)
  local one, from = link.one, link.from
  local grown = one.changed and 0 or one.grown
  if not grown then return false end
  grown = math.max(0, grown + link.depth)
  if from.grown and from.grown <= grown then return false end
  from.grown = grown
  return true
end

--- Marks the bindings of a resolved tree: `grown` says from which depth on lists may get more items; 0 is the table itself.
---@param tree table[]
---@param run? table The function node of the workflow.
function shared.mark(tree, run)
  visit(tree, true, run)
  local of, queue = {}, {}
  for _, link in ipairs(links_of(tree, {}, {})) do
    if not of[link.one] then
      of[link.one] = {}
      queue[#queue + 1] = link.one
    end
    table.insert(of[link.one], link)
  end
  while queue[1] do
    for _, link in ipairs(of[table.remove(queue)] or {}) do
      if pass_on(link) then queue[#queue + 1] = link.from end
    end
  end
end

--- The name that an expression is a part of.
---@param node table
---@return hocket.ScriptBinding?
function shared.root(node) return root_of(node) end

return shared
