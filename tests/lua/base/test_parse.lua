--- Scripts as trees: written back, each script of the project compiles to the same code.
local t = require "harness"
local bind = require "hocket.internal.base.script.bind"
local fs = require "hocket.fs"
local lua_text = require "hocket.internal.base.script.lua_text"
local parse = require "hocket.internal.base.script.parse"

local root = debug.getinfo(1, "S").source:match "^@(.*)/tests/lua/base/[^/]*$" or "../.."

-- Code also says where its functions begin: everything has to stand on one line.
local function quoted(value)
  return (("%q"):format(value):gsub("\\\n", "\\n"))
end

-- The tokens of a text on one line, without attributes, which the tree leaves out.
local function flat(text)
  local tokens, parts = lua_text.tokens(text), {}
  for i, word in ipairs(tokens.words) do
    local after = tokens.places[i + 1]
    if tokens.kinds[i] == "string" then word = quoted(load("return " .. word)()) end
    parts[i] = word .. (after and tokens.places[i] + #tokens.words[i] == after and "" or " ")
  end
  return (table.concat(parts):gsub("< ?close ?>", ""):gsub("< ?const ?>", ""))
end

local function code_of(text)
  return string.dump(assert(load(text, "=x", "t", {})), true)
end

-- ---- A tree as a text ---------------------------------------------------------------------------------

local write, write_block

local function list(nodes)
  local parts = {}
  for i, node in ipairs(nodes) do parts[i] = write(node) end
  return table.concat(parts, ",")
end

local function body(node) return "(" .. table.concat(node.parameters, ",") .. (node.vararg and (#node.parameters > 0 and ",..." or "...") or "") .. ")\n" .. write_block(node.body) .. "end" end

local function number(value)
  if value ~= value or value == math.huge then return "1e999" end
  return math.type(value) == "integer" and ("0x%x"):format(value) or ("%a"):format(value)
end

local writers = {
  ["nil"] = function() return "nil" end, ["true"] = function() return "true" end, ["false"] = function() return "false" end, vararg = function() return "..." end,
  string = function(n) return quoted(n.value) end, number = function(n) return number(n.value) end, name = function(n) return n.name end,
  paren = function(n) return "(" .. write(n.value) .. ")" end, ["function"] = function(n) return "function" .. body(n) end,
  index = function(n) return ("%s[%s]"):format(write(n.object), write(n.key)) end,
  call = function(n) return ("%s(%s)"):format(write(n.fn), list(n.arguments)) end,
  method = function(n) return ("%s:%s(%s)"):format(write(n.object), n.name, list(n.arguments)) end,
  table = function(n)
    local parts = {}
    for i, item in ipairs(n.items) do parts[i] = (item.key and "[" .. write(item.key) .. "]=" or "") .. write(item.value) end
    return "{" .. table.concat(parts, ",") .. "}"
  end,
  unary = function(n) return (" %s %s"):format(n.operator, write(n.value)) end,
  binary = function(n) return ("%s %s %s"):format(write(n.left), n.operator, write(n.right)) end,
  assign = function(n) return list(n.targets) .. "=" .. list(n.values) end,
  ["local"] = function(n) return "local " .. table.concat(n.names, ",") .. (#n.values > 0 and "=" .. list(n.values) or "") end,
  ["do"] = function(n) return "do\n" .. write_block(n.body) .. "end" end,
  ["while"] = function(n) return "while " .. write(n.condition) .. " do\n" .. write_block(n.body) .. "end" end,
  ["repeat"] = function(n) return "repeat\n" .. write_block(n.body) .. "until " .. write(n.condition) end,
  ["for"] = function(n) return "for " .. n.names[1] .. "=" .. list(n.range) .. " do\n" .. write_block(n.body) .. "end" end,
  ["in"] = function(n) return "for " .. table.concat(n.names, ",") .. " in " .. list(n.values) .. " do\n" .. write_block(n.body) .. "end" end,
  ["return"] = function(n) return "return " .. list(n.values) end, ["break"] = function() return "break" end,
  ["goto"] = function(n) return "goto " .. n.name end, label = function(n) return "::" .. n.name .. "::" end,
  function_statement = function(n)
    if n.is_local then return "local function " .. n.target.name .. body(n.value) end
    return write(n.target) .. "=function" .. body(n.value)
  end,
  ["if"] = function(n)
    local parts = {}
    for i, branch in ipairs(n.branches) do
      parts[i] = (i > 1 and "else" or "") .. (branch.condition and "if " .. write(branch.condition) .. " then\n" or "\n") .. write_block(branch.body)
    end
    return table.concat(parts) .. "end"
  end,
}

function write(node) return writers[node.kind](node) end

function write_block(block)
  local parts = {}
  for i, node in ipairs(block) do parts[i] = write(node) .. "\n;" end
  return table.concat(parts)
end

local function lua_files(dir, found)
  for _, name in ipairs(assert(fs.list(dir))) do
    if name:sub(-1) == "/" then lua_files(dir .. "/" .. name:sub(1, -2), found) elseif name:find "%.lua$" then found[#found + 1] = dir .. "/" .. name end
  end
  return found
end

t.test("each script of the project is read whole", function()
  local files = lua_files(root .. "/lua", lua_files(root .. "/examples", lua_files(root .. "/tests/lua/base", {})))
  t.ok(#files > 300, "scripts are there")
  for _, file in ipairs(files) do
    local text = assert(fs.read(file))
    local tree, wrong = parse(text)
    t.ok(tree, tree and file or ("%s:%d: %s"):format(file, wrong.line, wrong.message))
    t.ok(code_of((write_block(tree):gsub("\n", " "))) == code_of(flat(text)), file .. " compiles to the same code")
  end
end)

t.test("operators bind as in Lua", function()
  for _, text in ipairs { "1+2*3^-2^2", "not a == b", "-x^2", "a..b..c", "1 << 2 + 3 // 2", "(a or b) and c or d", "#t * 2 ~= ~1 & 7 ~ 2 | 1", "a < b == (c >= d)", "f 'x' {1} [[y]].z:m 'k' (3)" } do
    local made = load("return " .. write(parse("return " .. text)[1].values[1]), "=x")
    t.ok(string.dump(made, true) == string.dump(assert(load("return " .. text, "=x")), true), text)
  end
end)

t.test("lines, and what is no Lua", function()
  local tree = parse "local a = 1\n\nlocal b = f(\n  2)\nreturn a, b"
  t.equal(tree[2].line, 3)
  t.equal(tree[3].line, 5)
  for _, text in ipairs { "local", "return (", "x", "f(", "if a then", "for i = 1 do end end", "return 1 2", "a = = 1" } do
    local none, wrong = parse(text)
    t.equal(none, nil, text)
    t.ok(wrong.line >= 1 and #wrong.message > 0, text)
  end
  t.equal((parse("return " .. ("("):rep(1000) .. "1" .. (")"):rep(1000))), nil, "too deep")
  t.equal((parse("return a" .. (".b"):rep(5000))), nil, "too long")
  t.equal((parse("return 1" .. (" + 1"):rep(5000))), nil, "too long")
end)

local function value_of(text)
  local tree = bind.resolve(assert(parse(text)))
  return bind.constant(tree[#tree].values[1])
end

t.test("values that are written out", function()
  local _, value = value_of [[local item = { type = "string" }
local json = require "hocket.json"
return { a = item, list = json.array { 1, -2 }, n = 2 * 3 .. "x", last = item.type, [3] = true, no = nil }]]
  t.same(value, { a = { type = "string" }, list = { 1, -2 }, n = "6x", last = "string", [3] = true })
  for what, text in pairs {
    ["a field that is set"] = "local a = { 1 } a[2] = 3 return a", ["another value"] = "local a = 1 a = 2 return a", ["a call"] = "return f()",
    ["a parameter"] = "return (function(a) return a end)", ["a global"] = "return a", ["what is inside"] = "local a = { x = f() } return a",
    ["a list of another module"] = "local json = { array = f } return json.array { 1 }", ["a changed part"] = "local a = {} local b = { a } a.x = 1 return b",
    ["a fourth value"] = "local a, b = f() return b",
  } do
    t.equal((value_of(text)), false, what)
  end
  local doubled = { "local a0 = { 1 }" }
  for i = 1, 40 do doubled[#doubled + 1] = ("local a%d = { a%d, a%d }"):format(i, i - 1, i - 1) end
  t.equal((value_of(table.concat(doubled, "\n") .. " return a40")), false, "what doubles 40 times")
end)

t.test("names are followed by blocks, and modules by names", function()
  local tree = bind.resolve(parse [[local w = require "hocket.workflow"
local agent = w.agent
do local agent = 1 end
local function f(w) return w.agent end
return agent, f]])
  local module, name = bind.member(tree[#tree].values[1])
  t.same({ module, name }, { "hocket.workflow", "agent" })
  t.equal((bind.member(tree[4].value.body[1].values[1])), nil, "a parameter hides it")
  t.equal(bind.meant(tree[#tree].values[2]).kind, "function")
end)

return t.finish()
