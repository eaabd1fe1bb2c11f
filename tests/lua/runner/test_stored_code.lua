-- Which files of a run count as code, however they are dressed, and which code may run: what the store brings is hostile.
local t = require "harness"
local effects = require "hocket.internal.base.effects"
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local pack = require "hocket.internal.base.pack"
local proof = require "hocket.internal.run.proof"
local state_dir = require "hocket.internal.run.state_dir"
local stored_code = require "hocket.internal.runner.stored_code"
local trust = require "hocket.internal.runner.trust"

local ID = "01KANC3V0QZJ9E4W2X6T8B5M7A"
local PERSON, CLIENT, PROGRAM = { consent = true, trust = false }, { consent = false }, {}

-- The option `code` that a run of somebody else begins with; nil and the error.
local function begin(fed, given, how)
  local row = { id = ID, target = "a.md", input = "hi", options = '{"approve":["allow"]}' }
  local ok, own, instead
  effects.aside(function() ok, own, instead = pcall(stored_code.begin, row, json.encode(given or PERSON), how or "old", fed) end)
  if not ok then return nil, own end
  return json.decode(instead).code, own
end

local function is_refused(fed, given, how)
  local code, err = begin(fed, given, how)
  return code == nil and err.code == "denied" and err.message
end

local function remember(dir)
  effects.aside(function() assert(trust.remember(dir)) end)
end

local AGENT = "---\nname: a\n---\nYou help.\n"
local WITH_SERVER = "---\nname: a\nmcp:\n  own: {command: sh}\n---\nYou help.\n"

t.test("agents and texts are no code", function()
  local fed = { ["0 read a.md"] = "t" .. AGENT, ["0 info a.md"] = "p", ["3 read notes.txt"] = "tx", ["0 read /x/AGENTS.md"] = "tx", ["0 list ."] = "p",
    ["over 100 a.md"] = "", ["0 read data.json"] = "t{}", ["0 variable HOCKET_MODEL"] = "tsim", ["@"] = '{"cwd":"/","roots":[]}', ["@/x/b.md"] = AGENT,
    ["0 read missing.lua"] = "p" .. pack.encode(nil, { code = "not_found", message = "no" }) }
  for _, how in ipairs { "old", "new", "replay" } do
    for _, given in ipairs { PERSON, CLIENT } do t.equal(begin(fed, given, how), "trusted") end
    t.equal(begin(fed, PROGRAM, how), "own")
    t.equal(begin(nil, CLIENT, how), "trusted")
  end
end)

t.test("all else is, however it is dressed", function()
  for name, text in pairs {
    ["0 read main.lua"] = "treturn 1", ["7 read main.LUA"] = "treturn 1", ["0 read x\ny.lua"] = "treturn 1", ["0 read tool.fnl"] = "t(+ 1 1)", ["0 read noending"] = "treturn 1",
    ["0 read packed.lua"] = "p" .. pack.encode "return 1", ["@/home/x/main.lua"] = "return 1", ["0 read empty.lua"] = "t",
    ["0 read providers.yaml"] = "tcloud: {}", ["0 read ../Providers.YAML"] = "tx", ["@/x/providers.yaml"] = "x",
    ["0 read b.md"] = "t" .. WITH_SERVER, ["0 read agent.txt"] = "t" .. WITH_SERVER, ["0 read c.md"] = 't---\nname: a\n"\\x6dcp": {own: {url: "http://127.0.0.1:1/"}}\n---\nx\n',
    ["0 read d.md"] = "t" .. WITH_SERVER:gsub("\n", "\r\n"), ["0 read e.md"] = "t\239\187\191" .. WITH_SERVER, ["@/x/f.md"] = WITH_SERVER,
    ["0 read .mcp.json"] = 't{"mcpServers": {"own": {"command": "sh"}}}', ["0 read x/.mcp.json"] = "t{ no JSON",
  } do
    for _, given in ipairs { PERSON, CLIENT, PROGRAM, { consent = false, trust = true }, { trust = "ask" } } do
      for _, how in ipairs { "old", "new", "replay" } do t.ok(is_refused({ [name] = text }, given, how), name .. t.show(given)) end
    end
    t.equal(begin({ [name] = text }, { consent = true, trust = true }), nil)
    t.ok(select(2, begin({ [name] = text }, { trust = true })), name)
  end
end)

t.test("a script may run what it reads, so that is code as well", function()
  local message = is_refused { ["0 read main.lua"] = "treturn dofile 'x.txt'", ["0 read x.txt"] = "treturn 1", ["0 read a.md"] = "t" .. AGENT }
  t.has(message, "main.lua, x.txt")
  t.ok(not message:find "a.md")
end)

t.test("a program's own files are what stands there now; a person's, what was trusted", function()
  local made <close> = t.dir()
  local dir = tostring(made)
  local function put(name, text) assert(fs.write(dir .. "/" .. name, text)) end
  local function fed(text, data) return { ["0 read " .. dir .. "/main.lua"] = "t" .. text, ["0 read " .. dir .. "/data.txt"] = "t" .. (data or "x") } end
  put("main.lua", "return 1")
  put("data.txt", "x")
  t.equal(begin(fed "return 1", PROGRAM), "own")
  for _, other in ipairs { fed "return 2", fed "return 1 ", fed "return", fed "", fed("return 1", "y") } do t.ok(is_refused(other, PROGRAM)) end
  t.ok(is_refused(fed "return 1", PERSON))
  t.ok(is_refused(fed "return 1", { trust = false }))
  remember(dir)
  for _, given in ipairs { PERSON, CLIENT, { trust = false }, { trust = "ask" } } do t.equal(begin(fed "return 1", given), "trusted") end
  for _, other in ipairs { fed "return 2", fed("return 1", "y") } do t.ok(is_refused(other)) end
  put("other.lua", "return 3")
  t.ok(is_refused(fed "return 1")) -- the folder is another one now
  remember(dir)
  t.equal(begin(fed "return 1"), "trusted")
  put("main.lua", "return 2") -- changed, and the record with it
  t.ok(is_refused(fed "return 2"))
  t.ok(is_refused({ ["0 read " .. dir .. "/providers.yaml"] = "tx" }))
  assert(fs.write(state_dir() .. "/trust", ""))
end)

t.test("what this user has begun here is not looked at", function()
  local row = { id = ID, target = "a.lua", input = "hi" }
  row.options = proof.mark(ID, row.target, row.input, '{"consent":true}')
  local fed = { ["0 read a.lua"] = "treturn 1" }
  local own, instead = stored_code.begin(row, json.encode(PERSON), "old", fed)
  t.equal(own, row.options)
  t.equal(json.decode(instead).code, nil)
  row.options = row.options:gsub("true", "1", 1)
  t.ok(not pcall(stored_code.begin, row, json.encode(PERSON), "old", fed))
end)

return t.finish()
