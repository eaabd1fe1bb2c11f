--- What a Lua script names, read from its text and never run: the modules that it requires, the globals that it reads and sets,
--- and the fields of hocket's modules that it uses.
---
---     local hocket = require "hocket"              required: hocket
---     local ok, x = pcall(require, "extra")        required, and guarded: it may be missing
---     local part = require("parts." .. name)       computed: which one is known when it runs
---     return hocket.rnu(team.lead, ask)            field: hocket.rnu; globals: team, ask
---
--- Locals are followed by blocks. Where that is not exact, a name counts as a local one: too little is found, and nothing that is
--- not there.
local lua_text = require "hocket.internal.base.script.lua_text"

---@class hocket.ScriptNames
---@field required {name: string, at: integer, guarded: boolean}[] By a literal name.
---@field computed boolean Modules are also required by names that are not known before it runs.
---@field paths boolean It changes where modules are looked for.
---@field read {name: string, at: integer}[] Globals.
---@field set table<string, boolean> Globals that it gives a value; fields as "hocket.name".
---@field fields {module: string, name: string, below?: string, at: integer}[] Of what `require "hocket…"` gave; below: a field of that.
---@field opaque boolean It changes what its globals are.
---@field theirs? table<string, boolean> Modules that a comment says are there (runner/required.lua).

local Reader = {}
Reader.__index = Reader

-- ---- Blocks and brackets ------------------------------------------------------------------------------

local function push(self, kind)
  local above = self.stack[#self.stack]
  self.stack[#self.stack + 1] = { kind = kind, names = setmetatable({}, { __index = above and above.names }), guarded = above and above.guarded or false }
end

-- The outermost block stays, also where a text is odd.
local function pop(self)
  if #self.stack > 1 then self.stack[#self.stack] = nil end
end

local function top(self)
  return self.stack[#self.stack]
end

local function word(self, n)
  return self.words[n]
end

local function is_name(self, n)
  return self.kinds[n] == "name"
end

local function is_mark(self, n, mark)
  return self.kinds[n] == "mark" and self.words[n] == mark
end

-- ---- Declarations ---------------------------------------------------------------------------------------

-- The module that `require` is given at a token, by a literal name, and the token behind that.
local function module_at(self, n)
  if not is_name(self, n) or word(self, n) ~= "require" then return nil end
  local open = is_mark(self, n + 1, "(")
  local at = open and n + 2 or n + 1
  if self.kinds[at] ~= "string" or open and not is_mark(self, at + 1, ")") then return nil end
  return lua_text.value(word(self, at)), open and at + 2 or at + 1
end

-- Declares names up to a token that is neither a name, a comma nor an attribute; the ones that are given a module are known as that.
local function declare(self, n)
  local names, list = top(self).names, {}
  while is_name(self, n) do
    list[#list + 1], names[word(self, n)] = word(self, n), true
    n = n + 1
    if is_mark(self, n, "<") then n = n + 3 end
    if not is_mark(self, n, ",") then break end
    n = n + 1
  end
  local at, i = is_mark(self, n, "=") and n + 1, 1
  while at and list[i] do
    local module, behind = module_at(self, at)
    if not module then break end
    names[list[i]] = module
    at, i = is_mark(self, behind, ",") and behind + 1 or nil, i + 1
  end
  return n
end

-- The parameters of a function whose bracket opens at a token.
local function parameters(self, n, method)
  push(self, "block")
  if method then top(self).names.self = true end
  if not is_mark(self, n, "(") then return n end
  n = n + 1
  while self.kinds[n] and not is_mark(self, n, ")") do
    if is_name(self, n) then top(self).names[word(self, n)] = true end
    n = n + 1
  end
  return n + 1
end

local function global(self, name, n, set)
  local found = self.found
  if name == "_ENV" then found.opaque = true end
  if set then found.set[name] = true else found.read[#found.read + 1] = { name = name, at = self.places[n] } end
end

-- `function a.b:c (…)`, or one without a name.
local function read_function(self, n)
  local first, method = n, false
  while is_name(self, n) do
    if is_mark(self, n + 1, ":") then method = true end
    n = n + 1
    if not (is_mark(self, n, ".") or is_mark(self, n, ":")) then break end
    n = n + 1
  end
  if n > first then
    local name = word(self, first)
    local binding = top(self).names[name]
    if not binding then global(self, name, first, n == first + 1) end
    if n > first + 1 and (type(binding) == "string" or name == "_G") then
      self.found.set[name == "_G" and word(self, first + 2) or ("%s.%s"):format(binding, word(self, first + 2))] = true
    end
  end
  return parameters(self, n, method)
end

-- ---- Names in use ---------------------------------------------------------------------------------------

-- A field of a module that a variable holds.
local function read_field(self, module, n)
  if not is_mark(self, n + 1, ".") or not is_name(self, n + 2) then return end
  local name = word(self, n + 2)
  if is_mark(self, n + 3, "=") then
    self.found.set[("%s.%s"):format(module, name)] = true
    return
  end
  local below = is_mark(self, n + 3, ".") and is_name(self, n + 4) and not is_mark(self, n + 5, "=") and word(self, n + 4) or nil
  table.insert(self.found.fields, { module = module, name = name, below = below, at = self.places[n + 2] })
end

-- What a script does with the table of its globals, and with `package`.
local function read_special(self, name, n)
  local found = self.found
  if name == "_G" then
    if is_mark(self, n + 1, ".") and is_mark(self, n + 3, "=") then found.set[word(self, n + 2)] = true end
    if not is_mark(self, n + 1, ".") then found.opaque = true end
  elseif name == "package" then
    found.paths = true
  elseif name == "setfenv" or name == "module" then
    found.opaque = true
  end
end

-- `pcall(require, "name")`
local function passed_on(self, n)
  return top(self).guarded and is_mark(self, n + 1, ",") and self.kinds[n + 2] == "string" and is_mark(self, n + 3, ")") and lua_text.value(word(self, n + 2)) or nil
end

local function read_require(self, n)
  local module = module_at(self, n) or passed_on(self, n)
  if not module then
    self.found.computed = true
  else
    table.insert(self.found.required, { name = module, at = self.places[n], guarded = top(self).guarded })
  end
end

-- Whether a name is given a value here: `a = 1`, `a, b = 1, 2`.
local function is_set(self, n)
  while is_mark(self, n + 1, ",") and is_name(self, n + 2) do n = n + 2 end
  return is_mark(self, n + 1, "=")
end

local function read_name(self, n)
  local name, before = word(self, n), self.kinds[n - 1] == "mark" and self.words[n - 1]
  if before == "." or before == ":" or before == "::" then return n + 1 end
  local in_table = top(self).kind == "{"
  if in_table and is_mark(self, n + 1, "=") then return n + 1 end -- a key
  read_special(self, name, n)
  local binding = top(self).names[name]
  if type(binding) == "string" then read_field(self, binding, n) end
  if binding and name == "require" then self.found.computed = true end
  if binding then return n + 1 end
  if name == "require" then read_require(self, n) end
  global(self, name, n, not in_table and is_set(self, n))
  return n + 1
end

-- ---- All of it ------------------------------------------------------------------------------------------

local guards = { pcall = true, xpcall = true }

local on_mark = {}
for _, open in ipairs { "(", "{", "[" } do
  on_mark[open] = function(self, n)
    push(self, open)
    if open == "(" and is_name(self, n - 1) and guards[word(self, n - 1)] then top(self).guarded = true end
    return n + 1
  end
end
for _, close in ipairs { ")", "}", "]" } do
  on_mark[close] = function(self, n)
    pop(self)
    return n + 1
  end
end

local function opens(self, n)
  push(self, "head")
  return n + 1
end

-- `do` and `then` open a block, unless what stands before has.
local function begins(self, n)
  if top(self).kind == "head" then top(self).kind = "block" else push(self, "block") end
  return n + 1
end

local function again(kind)
  return function(self, n)
    pop(self)
    push(self, kind)
    return n + 1
  end
end

local function closes(self, n)
  pop(self)
  return n + 1
end

-- The condition of `until` sees the block's locals. They stay known behind it.
local function closes_with_condition(self, n)
  local names = top(self).names
  pop(self)
  for name, binding in pairs(names) do top(self).names[name] = binding end
  return n + 1
end

local on_keyword = {
  ["function"] = function(self, n) return read_function(self, n + 1) end,
  ["local"] = function(self, n)
    if self.kinds[n + 1] ~= "keyword" then return declare(self, n + 1) end
    if is_name(self, n + 2) then top(self).names[word(self, n + 2)] = true end
    return parameters(self, n + 3)
  end,
  ["for"] = function(self, n)
    push(self, "head")
    return declare(self, n + 1)
  end,
  ["if"] = opens, ["while"] = opens, ["do"] = begins, ["then"] = begins, ["elseif"] = again "head", ["else"] = again "block",
  ["repeat"] = begins, ["until"] = closes_with_condition, ["end"] = closes,
  ["goto"] = function(_, n) return n + 2 end,
}

--- Reads a script that compiles.
---@param text string
---@param rest? fun() Is called now and then.
---@return hocket.ScriptNames
return function(text, rest)
  local found = { required = {}, computed = false, paths = false, read = {}, set = {}, fields = {}, opaque = false }
  local self = setmetatable(lua_text.tokens(text, rest), Reader)
  self.stack, self.found = {}, found
  push(self, "block")
  local n = 1
  while self.kinds[n] do
    local on = self.kinds[n] == "name" and read_name or self.kinds[n] == "mark" and on_mark[word(self, n)] or self.kinds[n] == "keyword" and on_keyword[word(self, n)]
    n = on and on(self, n) or n + 1
    if rest and n % 2000 == 0 then rest() end
  end
  return found
end
