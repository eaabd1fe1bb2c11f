--- Lua's source text as a tree, for what judges scripts without running them.
---
--- A node is a table with `kind` and `line`. Expressions: nil, true, false, number, string, vararg, function, name, index, call, method,
--- table, unary, binary, paren. Statements: local, assign, call, method, do, while, repeat, if, for, in, function, return, break, goto, label.
local lua_text = require "hocket.internal.base.script.lua_text"

local Parser = {}
Parser.__index = Parser

--- Expressions and blocks inside of each other, of which Lua itself allows 200; and operators or calls in one row.
local DEPTH, ROW = 250, 2000

local function fail(self, what)
  error({ line = self:line(), message = what }, 0)
end

-- ---- Tokens --------------------------------------------------------------------------------------

function Parser:line()
  local at = self.places[self.n] or #self.text + 1
  while self.breaks[self.row] and self.breaks[self.row] < at do self.row = self.row + 1 end
  return self.row
end

function Parser:node(kind, fields)
  fields = fields or {}
  fields.kind, fields.line = kind, fields.line or self:line()
  return fields
end

-- Marks of two characters that the tokens have apart.
local pairs_of_marks = { ["//"] = true, ["<<"] = true, [">>"] = true }

function Parser:mark()
  local n = self.n
  if self.kinds[n] ~= "mark" then return nil end
  local both = self.words[n] .. (self.words[n + 1] or "")
  if pairs_of_marks[both] and self.places[n + 1] == self.places[n] + 1 then return both, 2 end
  return self.words[n], 1
end

function Parser:is(word)
  return self.words[self.n] == word and self.kinds[self.n] ~= "string"
end

function Parser:take(word)
  if not self:is(word) then return false end
  self.n = self.n + 1
  return true
end

function Parser:expect(word)
  if not self:take(word) then fail(self, ("'%s' expected"):format(word)) end
end

function Parser:name()
  if self.kinds[self.n] ~= "name" then fail(self, "a name expected") end
  self.n = self.n + 1
  return self.words[self.n - 1]
end

local function count(self, row)
  if row > ROW then fail(self, "too long") end
  return row + 1
end

function Parser:deeper(fn, ...)
  self.depth = self.depth + 1
  if self.depth > DEPTH then fail(self, "too deep") end
  local made = fn(self, ...)
  self.depth = self.depth - 1
  return made
end

-- ---- Expressions ---------------------------------------------------------------------------------

local expression, block

local function expressions(self)
  local list = { expression(self) }
  while self:take "," do list[#list + 1] = expression(self) end
  return list
end

local function table_of(self)
  local made = self:node("table", { items = {} })
  self:expect "{"
  while not self:is "}" do
    local item = self:node "item"
    if self:take "[" then
      item.key = expression(self)
      self:expect "]"
      self:expect "="
    elseif self.kinds[self.n] == "name" and self.words[self.n + 1] == "=" and self.kinds[self.n + 1] == "mark" then
      item.key = self:node("string", { value = self:name() })
      self.n = self.n + 1
    end
    item.value = expression(self)
    made.items[#made.items + 1] = item
    if not (self:take "," or self:take ";") then break end
  end
  self:expect "}"
  return made
end

local function function_of(self, method)
  local made = self:node("function", { parameters = method and { "self" } or {} })
  self:expect "("
  while not self:is ")" do
    if self:take "..." then made.vararg = true else made.parameters[#made.parameters + 1] = self:name() end
    if not self:take "," then break end
  end
  self:expect ")"
  made.body = block(self)
  self:expect "end"
  return made
end

local function string_of(self)
  local word = self.words[self.n]
  local read = load("return " .. word, "=string", "t", {})
  if not read then fail(self, "no string") end
  local made = self:node("string", { value = read() })
  self.n = self.n + 1
  return made
end

local function arguments(self)
  if self.kinds[self.n] == "string" then return { string_of(self) } end
  if self:is "{" then return { table_of(self) } end
  self:expect "("
  local list = self:is ")" and {} or expressions(self)
  self:expect ")"
  return list
end

local function begins_call(self)
  return self.kinds[self.n] == "string" or self:is "(" or self:is "{"
end

local function suffixed(self)
  local made
  if self:is "(" then
    local line = self:line()
    self.n = self.n + 1
    made = self:node("paren", { line = line, value = expression(self) })
    self:expect ")"
  else
    made = self:node "name"
    made.name = self:name()
  end
  local row = 0
  while true do
    local line = self:line()
    row = count(self, row)
    if self:take "." then
      made = self:node("index", { line = line, object = made, key = self:node("string", { value = self:name() }) })
    elseif self:take "[" then
      made = self:node("index", { line = line, object = made, key = expression(self) })
      self:expect "]"
    elseif self:take ":" then
      local name = self:name()
      made = self:node("method", { line = line, object = made, name = name, arguments = arguments(self) })
    elseif begins_call(self) then
      made = self:node("call", { line = line, fn = made, arguments = arguments(self) })
    else
      return made
    end
  end
end

local simple = {
  ["nil"] = function(self) return self:node "nil" end, ["true"] = function(self) return self:node "true" end,
  ["false"] = function(self) return self:node "false" end, ["..."] = function(self) return self:node "vararg" end,
}

local function operand(self)
  local kind, word = self.kinds[self.n], self.words[self.n]
  if kind == "string" then return string_of(self) end
  if kind == "number" then
    local made = self:node("number", { value = tonumber(word) })
    self.n = self.n + 1
    return made
  end
  if kind ~= "name" and simple[word] then
    local made = simple[word](self)
    self.n = self.n + 1
    return made
  end
  if self:is "{" then return table_of(self) end
  if self:take "function" then return function_of(self) end
  return suffixed(self)
end

-- Left and right binding powers, as in Lua's manual.
local powers = {
  ["or"] = { 1, 1 }, ["and"] = { 2, 2 }, ["<"] = { 3, 3 }, [">"] = { 3, 3 }, ["<="] = { 3, 3 }, [">="] = { 3, 3 }, ["~="] = { 3, 3 }, ["=="] = { 3, 3 },
  ["|"] = { 4, 4 }, ["~"] = { 5, 5 }, ["&"] = { 6, 6 }, ["<<"] = { 7, 7 }, [">>"] = { 7, 7 }, [".."] = { 9, 8 }, ["+"] = { 10, 10 }, ["-"] = { 10, 10 },
  ["*"] = { 11, 11 }, ["/"] = { 11, 11 }, ["//"] = { 11, 11 }, ["%"] = { 11, 11 }, ["^"] = { 14, 13 },
}
local UNARY = 12
local unary = { ["not"] = true, ["-"] = true, ["#"] = true, ["~"] = true }

local function operator(self)
  if self.kinds[self.n] == "string" then return nil end
  local word, width = self:mark()
  if not word then word, width = self.words[self.n], 1 end
  local power = self.kinds[self.n] ~= "name" and powers[word]
  if power then return word, width, power end
end

local function binary(self, limit)
  local made
  local first = self.kinds[self.n] ~= "string" and self.words[self.n]
  if first and unary[first] and self.kinds[self.n] ~= "name" then
    made = self:node("unary", { operator = first })
    self.n = self.n + 1
    made.value = self:deeper(binary, UNARY)
  else
    made = operand(self)
  end
  local word, width, power = operator(self)
  local row = 0
  while word and power[1] > limit do
    local line = self:line()
    row = count(self, row)
    self.n = self.n + width
    made = self:node("binary", { line = line, operator = word, left = made, right = self:deeper(binary, power[2]) })
    word, width, power = operator(self)
  end
  return made
end

function expression(self) return self:deeper(binary, 0) end

-- ---- Statements ----------------------------------------------------------------------------------

local function local_of(self)
  if self:take "function" then
    local made = self:node "function_statement"
    made.is_local, made.target = true, self:node("name", { name = self:name() })
    made.value = function_of(self)
    return made
  end
  local made = self:node("local", { names = {}, values = {} })
  repeat
    made.names[#made.names + 1] = self:name()
    if self:take "<" then self.n = self.n + 2 end
  until not self:take ","
  if self:take "=" then made.values = expressions(self) end
  return made
end

local function for_of(self)
  local made = self:node("for", { names = { self:name() } })
  if self:take "=" then
    made.range = expressions(self)
  else
    while self:take "," do made.names[#made.names + 1] = self:name() end
    self:expect "in"
    made.kind, made.values = "in", expressions(self)
  end
  self:expect "do"
  made.body = block(self)
  self:expect "end"
  return made
end

local function if_of(self)
  local made = self:node("if", { branches = {} })
  repeat
    local condition = expression(self)
    self:expect "then"
    made.branches[#made.branches + 1] = { condition = condition, body = block(self) }
  until not self:take "elseif"
  if self:take "else" then made.branches[#made.branches + 1] = { body = block(self) } end
  self:expect "end"
  return made
end

local function function_statement(self)
  local made = self:node "function_statement"
  local target, method = self:node("name", { name = self:name() }), false
  while self:is "." or self:is ":" do
    method = self:is ":"
    self.n = self.n + 1
    target = self:node("index", { object = target, key = self:node("string", { value = self:name() }) })
  end
  made.target, made.value = target, function_of(self, method)
  return made
end

local ends = { ["end"] = true, ["else"] = true, ["elseif"] = true, ["until"] = true }

local function return_of(self)
  local made = self:node("return", { values = {} })
  local closes = self.kinds[self.n] == nil or self.kinds[self.n] == "keyword" and ends[self.words[self.n]]
  if not closes and not self:is ";" then made.values = expressions(self) end
  self:take ";"
  return made
end

local statements = {
  ["local"] = local_of, ["for"] = for_of, ["if"] = if_of, ["function"] = function_statement, ["return"] = return_of,
  ["break"] = function(self) return self:node "break" end,
  ["goto"] = function(self) return self:node("goto", { name = self:name() }) end,
  ["do"] = function(self)
    local made = self:node "do"
    made.body = block(self)
    self:expect "end"
    return made
  end,
  ["while"] = function(self)
    local made = self:node "while"
    made.condition = expression(self)
    self:expect "do"
    made.body = block(self)
    self:expect "end"
    return made
  end,
  ["repeat"] = function(self)
    local made = self:node "repeat"
    made.body = block(self)
    self:expect "until"
    made.condition = expression(self)
    return made
  end,
}

local function statement(self)
  if self:take "::" then
    local made = self:node("label", { name = self:name() })
    self:expect "::"
    return made
  end
  local word = self.words[self.n]
  if self.kinds[self.n] == "keyword" and statements[word] then
    self.n = self.n + 1
    return statements[word](self)
  end
  local line, first = self:line(), suffixed(self)
  if first.kind == "call" or first.kind == "method" then return first end
  local made = self:node("assign", { line = line, targets = { first } })
  while self:take "," do made.targets[#made.targets + 1] = suffixed(self) end
  self:expect "="
  made.values = expressions(self)
  return made
end

local function statements_of(self)
  local made = {}
  while self.kinds[self.n] do
    if self.kinds[self.n] == "keyword" and ends[self.words[self.n]] then break end
    if not self:take ";" then made[#made + 1] = statement(self) end
  end
  return made
end

function block(self) return self:deeper(statements_of) end

local function line_breaks(text)
  local breaks = {}
  for at in text:gmatch "()\n" do breaks[#breaks + 1] = at end
  return breaks
end

--- Reads a script.
---@param text string That compiles.
---@param rest? fun() Is called now and then.
---@return table[]? statements
---@return {line: integer, message: string}? wrong
return function(text, rest)
  local self = setmetatable(lua_text.tokens(text, rest), Parser)
  self.text, self.n, self.row, self.depth, self.breaks = text, 1, 1, 0, line_breaks(text)
  local ok, made = pcall(block, self)
  if not ok and type(made) == "table" then return nil, made end
  if not ok then error(made, 0) end
  if self.kinds[self.n] then return nil, { line = self:line(), message = "the end of the script expected" } end
  return made
end
