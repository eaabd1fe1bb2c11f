--- Model calls of a script that nothing limits, as far as its text tells: calls of agents in loops, in a script that sets neither a
--- budget nor a timeout.
---
---     for _, city in ipairs(cities) do hocket.run(guide, city) end                          uncounted
---     for _, city in ipairs(cities) do hocket.run(guide, city, { timeout = 60 }) end        limited
---     hocket.run(guide, "Rome")                                                             at most one agent's turns
---
--- The script is not run. A function with a name counts where it is called, another one where it is written.
local bind = require "hocket.internal.base.script.bind"
local bounds = require "hocket.internal.agents.bounds"
local parse = require "hocket.internal.base.script.parse"
local problem = require "hocket.internal.agents.problem"
local shared = require "hocket.internal.base.script.shared"
local sources = require "hocket.internal.base.sources"

local asking = { ["hocket.run"] = true, ["hocket.orchestrate.call"] = true }
local mapping = { ["hocket.flow.map"] = true }

-- "hocket.flow.map", whatever it is called in the script.
local function member(node)
  local module, name = bind.member(node)
  return module and (name == "" and module or module .. "." .. name)
end

-- ---- Functions by their names -----------------------------------------------------------------------

-- A field of what stands at a place.
local function field(self, object, key)
  local fields = self.fields[object] or {}
  self.fields[object] = fields
  fields[key] = fields[key] or {}
  return fields[key]
end

-- What stands for a name or a field, whatever it is called where it is read.
local function place(self, node)
  node = bind.meant(node)
  if node.kind == "name" then return node.binding or node.name end
  if node.kind == "index" and node.key.kind == "string" then return field(self, place(self, node.object), node.key.value) end
  return node
end

local function give(self, at, fn)
  if fn.kind ~= "function" then return end
  self.named[fn] = true
  self.functions[at] = self.functions[at] or {}
  table.insert(self.functions[at], fn)
end

local givers = {
  ["local"] = function(self, node)
    for i, value in ipairs(node.values) do
      local binding = node.bindings[i]
      if binding then give(self, binding.assigned and binding or value, value) end
    end
  end,
  assign = function(self, node)
    for i, target in ipairs(node.targets) do
      if node.values[i] and (target.kind == "name" or target.key.kind == "string") then give(self, place(self, target), node.values[i]) end
    end
  end,
  function_statement = function(self, node) give(self, place(self, node.target), node.value) end,
  table = function(self, node)
    for _, item in ipairs(node.items) do
      if item.key and item.key.kind == "string" then give(self, field(self, node, item.key.value), item.value) end
    end
  end,
}

-- ---- Counting ---------------------------------------------------------------------------------------

--- In floating point: products of whole numbers wrap around.
local ONCE = 1.0

local visit

local function visit_parts(self, node, often)
  bind.each(node, function(part)
    if part == node then return false end
    visit(self, part, often)
    return true
  end)
end

local function take(self, line, count, often)
  if count > 0 and often > 0 then self.calls[#self.calls + 1] = { line = line, count = count * often } end
end

local function count_of(self, part)
  local outer, sum = self.calls, 0
  self.calls = {}
  visit_parts(self, part, ONCE)
  for _, call in ipairs(self.calls) do sum = sum + call.count end
  self.calls = outer
  return sum
end

-- Calls of agents by a function. One that calls itself calls without end.
local function of_function(self, fn)
  if self.counted[fn] then return self.counted[fn] end
  if self.active[fn] then
    self.recursive[fn] = true
    return 0
  end
  self.active[fn] = true
  local sum = count_of(self, fn)
  self.active[fn] = nil
  self.counted[fn] = sum > 0 and self.recursive[fn] and math.huge or sum
  return self.counted[fn]
end

-- Takes the functions that an expression names.
local function take_named(self, node, often)
  for _, fn in ipairs(self.functions[place(self, node)] or {}) do take(self, node.line, of_function(self, fn), often) end
end

local function visit_call(self, node, often)
  local called = node.fn or { kind = "index", line = node.line, object = node.object, key = { kind = "string", value = node.name } }
  local name = member(called)
  if asking[name] then take(self, node.line, 1, often) else take_named(self, called, often) end
  visit(self, node.fn or node.object, often)
  for _, one in ipairs(node.arguments) do
    local meant = bind.meant(one)
    local times = mapping[name] and (meant.kind == "function" or self.functions[place(self, one)]) and math.huge or often
    if one.kind ~= "function" then take_named(self, one, times) end
    visit(self, one, times)
  end
end

local function endless(self, node, _) visit_parts(self, node, math.huge) end

local visitors = {
  call = visit_call, method = visit_call, ["while"] = endless, ["repeat"] = endless,
  ["function"] = function(self, node, often)
    if not self.named[node] then visit_parts(self, node, often) end
  end,
  ["for"] = function(self, node, often)
    visit_parts(self, node.range, often)
    local rounds = bind.rounds(node.range) or math.huge
    if rounds > 0 and often > 0 then visit_parts(self, node.body, often * rounds) end
  end,
  ["in"] = function(self, node, often)
    visit_parts(self, node.values, often)
    visit_parts(self, node.body, math.huge)
  end,
}

function visit(self, node, often)
  local fn = visitors[node.kind] or visit_parts
  fn(self, node, often)
end

-- The line of the first call that is too many; nil: there is none.
local function first_beyond(self, tree)
  local sum = 0
  self.calls = {}
  visit_parts(self, tree, ONCE)
  table.sort(self.calls, function(a, b) return a.line < b.line end)
  for _, call in ipairs(self.calls) do
    sum = sum + call.count
    if sum > bounds.AGENTS then return call.line end
  end
end

-- ---- Limits -----------------------------------------------------------------------------------------

local limits = { budget = true, timeout = true }

-- Whether a script sets a limit. That of a request or a program limits no agent.
local function sets_limit(tree)
  local found = false
  bind.each(tree, function(node)
    local key = (node.kind == "item" or node.kind == "index") and node.key
    found = found or key and key.kind == "string" and limits[key.value] or false
    return node.kind == "call" and shared.free[bind.member(node.fn)] == true
  end)
  return found
end

-- The texts of a script, without the names of fields.
local function texts_of(tree)
  local texts, is_key = {}, {}
  bind.each(tree, function(node)
    if node.key then is_key[node.key] = true end
    if node.kind == "string" and not is_key[node] and node.value ~= "" then texts[#texts + 1] = node.value end
  end)
  return texts
end

-- Whether an agent's file that the script names, or one of a folder that it names, has a limit.
local function names_limited(tree, dir, read)
  for _, name in ipairs(texts_of(tree)) do
    for _, path in ipairs { dir .. "/" .. name, name } do
      local info = sources.info(path)
      if info and (info.kind == "directory" or name:find "%.md$") then
        for _, def in pairs((read { path })) do
          if bounds.is_limited(def) then return true end
        end
      end
    end
  end
  return false
end

--- The warning about a script, or nil.
---@param path string
---@param text string
---@param read fun(paths: string[]): table<string, hocket.Agent> Reads agents.
---@param rest? fun() Is called now and then.
---@return hocket.Problem?
return function(path, text, read, rest)
  if not text:find("run", 1, true) and not text:find("call", 1, true) then return nil end
  local tree = parse(text, rest)
  if not tree then return nil end
  local self = { fields = {}, functions = {}, named = {}, counted = {}, active = {}, recursive = {} }
  bind.each(bind.resolve(tree), function(node)
    if givers[node.kind] then givers[node.kind](self, node) end
  end)
  local line = first_beyond(self, tree)
  if not line or sets_limit(tree) or names_limited(tree, path:match "^(.*)/[^/]*$" or ".", read) then return nil end
  local one = problem.new(path, line, 1, "unlimited",
    ("nothing limits the cost, calls or time of this script: it may call agents more than %d times, with up to 40 model calls each (give them a budget, as in hocket.run(agent, input, {budget = {turns = 200}}), or a timeout)"):format(bounds.AGENTS))
  one.severity = "warning"
  return one
end
