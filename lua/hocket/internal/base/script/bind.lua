--- Which local a name in a script's tree (parse.lua) stands for, and the values that are written out.
---
--- A binding is one local. `value` is the expression that it began with. `assigned`: whether it gets another one somewhere.
--- `changed`: whether a field of it does. `grown` (shared.lua): whether another name or a function may change it. Names without
--- a binding are globals.
local bind = {}

--- The name of the module of workflows, which stands above this one and is only spoken of here.
bind.WORKFLOW = ("hocket.%s"):format "workflow"

---@class hocket.ScriptBinding
---@field name string
---@field value? table The node; nil of parameters, loop variables and what a call returns beside its first value.
---@field role "local"|"parameter"|"loop"
---@field owner? table The function node of a parameter, the statement of a loop variable.
---@field index? integer The place of a parameter or loop variable in its list.
---@field assigned? boolean
---@field changed? boolean
---@field grown? integer
---@field package meant? table

local visit, visit_all, visit_block

-- Globals whose meaning the judges of scripts rely on.
local relied = {}
for name in ("assert error ipairs next pairs pcall print rawequal rawget rawlen rawset require select setmetatable tonumber tostring type xpcall string table math utf8 os io")
  :gmatch "%a+" do relied[name] = true end

-- The tree that is resolved: `replaced` is the first place where such a global gets another value, or all of them (_ENV). And what is assigned.
local tree_now, roots

local function replace(name, line)
  tree_now.replaced = tree_now.replaced or { name = name, line = line }
end

local function declare(scope, name, fields, line)
  if name == "_ENV" then replace(name, line) end
  fields.name = name
  scope[name] = fields
  return fields
end

local function inner(scope) return setmetatable({}, { __index = scope }) end

local function visit_function(node, scope)
  local own = inner(scope)
  node.bindings = {}
  for i, name in ipairs(node.parameters) do node.bindings[i] = declare(own, name, { role = "parameter", owner = node, index = i }, node.line) end
  visit_block(node.body, own)
end

local several = { call = true, method = true, vararg = true }

local function declare_locals(node, scope)
  visit_all(node.values, scope)
  node.bindings = {}
  for i, name in ipairs(node.names) do
    local last = #node.values
    local value = node.values[i] -- what a call returns behind its first value has no expression of its own
    if not value and not (last > 0 and several[node.values[last].kind]) then value = { kind = "nil", line = node.line } end
    node.bindings[i] = declare(scope, name, { role = "local", value = value }, node.line)
  end
end

local function root_of(node)
  while node.kind == "index" or node.kind == "paren" do node = node.object or node.value end
  return node
end

local function assign(target, scope)
  visit(target, scope)
  local root = root_of(target)
  local binding = root.kind == "name" and root.binding
  roots[#roots + 1] = root
  if not binding then return end
  if target.kind == "name" then binding.assigned = true else binding.changed = true end
end

local function loop(node, scope)
  visit_all(node.range or node.values, scope)
  local own = inner(scope)
  node.bindings = {}
  for i, name in ipairs(node.names) do node.bindings[i] = declare(own, name, { role = "loop", owner = node, index = i }, node.line) end
  visit_block(node.body, own)
end

local visitors = {
  name = function(node, scope) node.binding = scope[node.name] end,
  index = function(node, scope)
    visit(node.object, scope)
    visit(node.key, scope)
  end,
  paren = function(node, scope) visit(node.value, scope) end,
  unary = function(node, scope) visit(node.value, scope) end,
  binary = function(node, scope)
    visit(node.left, scope)
    visit(node.right, scope)
  end,
  call = function(node, scope)
    visit(node.fn, scope)
    visit_all(node.arguments, scope)
  end,
  method = function(node, scope)
    visit(node.object, scope)
    visit_all(node.arguments, scope)
  end,
  table = function(node, scope)
    for _, item in ipairs(node.items) do
      if item.key then visit(item.key, scope) end
      visit(item.value, scope)
    end
  end,
  ["function"] = visit_function,
  ["local"] = declare_locals,
  assign = function(node, scope)
    visit_all(node.values, scope)
    for _, target in ipairs(node.targets) do assign(target, scope) end
  end,
  function_statement = function(node, scope)
    if node.is_local then node.target.binding = declare(scope, node.target.name, { role = "local", value = node.value }, node.line)
    else assign(node.target, scope) end
    visit(node.value, scope)
  end,
  ["do"] = function(node, scope) visit_block(node.body, inner(scope)) end,
  ["while"] = function(node, scope)
    visit(node.condition, scope)
    visit_block(node.body, inner(scope))
  end,
  ["repeat"] = function(node, scope)
    local own = inner(scope)
    visit_block(node.body, own)
    visit(node.condition, own)
  end,
  ["if"] = function(node, scope)
    for _, branch in ipairs(node.branches) do
      if branch.condition then visit(branch.condition, scope) end
      visit_block(branch.body, inner(scope))
    end
  end,
  ["for"] = loop, ["in"] = loop,
  ["return"] = function(node, scope) visit_all(node.values, scope) end,
}

function visit(node, scope)
  local fn = visitors[node.kind]
  if fn then fn(node, scope) end
end

function visit_all(list, scope)
  for _, node in ipairs(list) do visit(node, scope) end
end

visit_block = visit_all

--- Gives each name of a tree its binding.
---@param tree table[]
---@return table[] tree `replaced`: where a global of Lua's gets another value.
function bind.resolve(tree)
  tree_now, roots = tree, {}
  visit_block(tree, {})
  tree_now = nil
  for _, root in ipairs(roots) do
    local meant = bind.meant(root)
    local is_global = meant.kind == "name" and not meant.binding and (relied[meant.name] or meant.name == "_ENV")
    if is_global then tree.replaced = tree.replaced or { name = meant.name, line = root.line } end
  end
  return tree
end

--- What a name stands for, where it never stands for anything else.
---@param node table
---@return table node The expression behind names and parentheses.
function bind.meant(node)
  local first
  while true do
    local binding = node.kind == "name" and node.binding
    if node.kind == "paren" then node = node.value
    elseif binding and binding.value and not binding.assigned then
      first, node = first or binding, binding.meant or binding.value
    else break end
  end
  if first and not tree_now then first.meant = node end -- each step of a long chain is taken once
  return node
end

--- What a name stands for, where neither the name nor the table gets another value or field; nil where one may.
---@param node table
---@return table? node
function bind.written(node)
  while node do
    local binding = node.kind == "name" and node.binding
    if node.kind == "paren" then node = node.value
    elseif not binding then return node
    elseif binding.assigned or binding.changed or binding.grown then return nil
    else node = binding.value end
  end
end

--- The module that an expression is, by a literal name.
---@param node table
---@return string?
function bind.module(node)
  node = bind.meant(node)
  if node.kind == "index" and node.key.kind == "string" and bind.module(node.object) == "hocket" then return "hocket." .. node.key.value end
  if node.kind ~= "call" or node.fn.kind ~= "name" or node.fn.name ~= "require" or node.fn.binding then return nil end
  return node.arguments[1] and node.arguments[1].kind == "string" and node.arguments[1].value or nil
end

--- The function of a module that an expression is: `workflow.map` -> "hocket.workflow", "map"; of the module itself "".
---@param node table
---@return string? module
---@return string? name
function bind.member(node)
  node = bind.meant(node)
  local module = bind.module(node)
  if module then return module, "" end
  if node.kind ~= "index" or node.key.kind ~= "string" then return nil end
  module = bind.module(node.object)
  if module then return module, node.key.value end
end

-- ---- Values that are written out --------------------------------------------------------------------

local constant

local function of_table(node)
  local made, n = {}, 0
  for _, item in ipairs(node.items) do
    local key, known
    if item.key then
      known, key = constant(item.key)
      if not known or key == nil then return false end
    else
      n = n + 1
      key = n
    end
    known, made[key] = constant(item.value)
    if not known then return false end
  end
  return true, made
end

-- Whether Lua's `#` of a table that is written out has one value alone.
local function is_sequence(list)
  local n = 0
  for key in pairs(list) do n = n + (math.type(key) == "integer" and key > 0 and 1 or 0) end
  return n == 0 or list[n] ~= nil and #list == n
end

local operators = {
  [".."] = function(a, b) return a .. b end, ["+"] = function(a, b) return a + b end, ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
}

local function of_binary(node)
  local left, a = constant(node.left)
  local right, b = constant(node.right)
  local fn = left and right and operators[node.operator]
  if not fn then return false end
  local ok, value = pcall(fn, a, b)
  if not ok or type(value) == "string" and #value > 1 << 20 then return false end
  return true, value
end

local function of_unary(node)
  local known, value = constant(node.value)
  if not known then return false end
  if node.operator == "not" then return true, not value end
  if node.operator == "-" and type(value) == "number" then return true, -value end
  if node.operator == "#" and (type(value) == "string" or type(value) == "table" and is_sequence(value)) then return true, #value end
  return false
end

local readers = {
  ["nil"] = function() return true, nil end, ["true"] = function() return true, true end, ["false"] = function() return true, false end,
  string = function(node) return true, node.value end, number = function(node) return true, node.value end,
  table = of_table, binary = of_binary, unary = of_unary,
  index = function(node)
    local known, object = constant(node.object)
    local named, key = constant(node.key)
    if not (known and named and type(object) == "table" and key ~= nil) then return false end
    return true, object[key]
  end,
  call = function(node) -- an empty list is one for JSON as well
    local module, name = bind.member(node.fn)
    if module == "hocket.json" and name == "array" and node.arguments[1] then return constant(node.arguments[1]) end
    return false
  end,
}

-- A local that is named over and over multiplies what is written.
local STEPS, DEPTH = 100000, 100
local steps, depth = 0, 0

-- A local table that gets another field is not what was written.
local function of_name(node)
  local binding = node.binding
  if not binding or not binding.value or binding.assigned or binding.changed or binding.grown then return false end
  return constant(binding.value)
end

readers.name = of_name
readers.paren = function(node) return constant(node.value) end

function constant(node)
  local reader = readers[node.kind]
  steps = steps + 1
  if not reader or steps > STEPS or depth > DEPTH then return false end
  depth = depth + 1
  local known, value = reader(node)
  depth = depth - 1
  return known, value
end

--- The value of an expression, where it is written out.
---@param node table
---@return boolean known
---@return any value
function bind.constant(node)
  steps, depth = 0, 0
  return constant(node)
end

-- A number that is written out; 1 where nothing is.
local function number(node)
  if not node then return 1 end
  local known, value = bind.constant(node)
  return known and type(value) == "number" and value or nil
end

--- Rounds from which on a number of them says nothing.
local MOST = 1 << 53

--- How often a loop of numbers goes round; nil: that is not written out.
---@param range table[] Of the statement: from, to, step.
---@param length? fun(list: table): integer? Of the list in `for i = 1, #list`.
---@return integer?
function bind.rounds(range, length)
  local from, to, step = number(range[1]), number(range[2]), number(range[3])
  if not to and length and range[2].kind == "unary" and range[2].operator == "#" then to = length(range[2].value) end
  if not (from and to and step) or step == 0 then return nil end
  if math.type(from) ~= "integer" or math.type(step) ~= "integer" then return nil end -- fractions add up to one round more or less
  if math.max(math.abs(from + 0.0), math.abs(to + 0.0)) >= MOST then return nil end -- two numbers may be one in floating point
  local rounds = (to - (from + 0.0)) // step + 1 -- in floating point, which does not wrap around
  return rounds < MOST and math.max(0, math.tointeger(rounds)) or nil
end

--- Calls a function for each node of a tree, a node before its parts; true: without its parts.
---@param node table A node, or a list of nodes.
---@param fn fun(node: table): boolean?
function bind.each(node, fn)
  if node.kind and fn(node) then return end
  for key, part in pairs(node) do
    if type(part) == "table" and key ~= "binding" and key ~= "bindings" then bind.each(part, fn) end
  end
end

--- An item of a table that is written out, by its name: the last one, as in Lua.
---@param node table
---@param key string
---@return table? node Of the kind `unknown` where the name of an item is computed.
function bind.item(node, key)
  local found
  for _, item in ipairs(node.items) do
    local known, name
    if item.key then known, name = bind.constant(item.key) end
    if known and name == key then found = item.value elseif item.key and not known then found = { kind = "unknown", line = item.line } end
  end
  return found
end

return bind
