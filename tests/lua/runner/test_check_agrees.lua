--- `hocket check` and `hocket run` of projects that are damaged at random: what check accepts starts, what a run refuses check reports in
--- the same words, and what check calls an error no run starts with. So is it with a generation (hocket.live)
--- and with what is served.
---
--- `hocket run test_check_agrees.lua -- --full` takes longer; HOCKET_FUZZ_SEED and HOCKET_FUZZ_ROUNDS choose other damages.
local t = require "harness"
local check = require("hocket.internal.commands.check").check
local hocket = require "hocket"
local live = require "hocket.live"
local offered = require "hocket.internal.serve.offered"
local process = require "hocket.process"
local servers = require "hocket.internal.mcp.servers"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"

local seed = math.tointeger(tonumber(system.getenv "HOCKET_FUZZ_SEED")) or 20251130
local full = (...) == "--full"
local rounds = math.tointeger(tonumber(system.getenv "HOCKET_FUZZ_ROUNDS")) or (full and 1500 or 60)
t.limit = full and 3000 or 60

local here = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$" or "."
local server = assert(sources.real(here .. "/../support/mcp_server.lua"))

-- ---- A project in which everything is reached ---------------------------------------------------------

local MAIN = [[
local here = debug.getinfo(1, "S").source:match "^@(.*)/"
local hocket, util = require "hocket", require "lib.util"
local team = hocket.agents(here .. "/agents")
local said = {}
for _, name in ipairs(util.sorted(team)) do said[#said + 1] = assert(hocket.run(team[name], "go")).text end
return table.concat(said, "|")
]]
local UTIL = [[
local words = require "lib.words"
local util = {}
function util.sorted(map)
  local list = {}
  for name in pairs(map) do list[#list + 1] = name end
  table.sort(list)
  return list, words
end
return util
]]

local function agent(name, head, prompt)
  return ("---\nname: %s\ndescription: is a %s\nmodel: sim\n%s---\n%s\n"):format(name, name, head, prompt)
end

local function project()
  return {
    ["main.lua"] = MAIN, ["lib/util.lua"] = UTIL, ["lib/words.lua"] = "return { one = 1 }\n",
    ["agents/lead.md"] = agent("lead", "tools: [facilitator]\nagents: [food, sights]\ndocument: [{day: integer}, {part: [morning, evening]}]\n", "You lead. {{agents}}"),
    ["agents/food.md"] = agent("food", "tools: [specialist, read_file]\nvariables: {tone: warm}\napprove: {ask: [read_file]}\n", "In a {{tone}} tone."),
    ["agents/sights.md"] = agent("sights", "tools: [specialist]\n", "You know sights."),
  }
end

-- The same with agents alone, of which each is a target.
local function team()
  local files = project()
  for _, path in ipairs { "main.lua", "lib/util.lua", "lib/words.lua" } do files[path] = nil end
  return files
end

-- ---- Damages --------------------------------------------------------------------------------------------

local function paths_of(files, pattern)
  local list = {}
  for path in pairs(files) do
    if path:find(pattern) then list[#list + 1] = path end
  end
  table.sort(list)
  return list
end

local function one_of(list)
  return list[math.random(#list)]
end

-- A rule for a tool that nobody knows is refused where no script could make one.
local for_teams = { "approve: {allow: [nosuch]}", "approve: {deny: [nosuch_tool]}" }

-- Lines of front matter, each of them wrong in some team.
local heads = {
  "tools: [nosuch]", "tools: [read_fil]", "agents: [nobody]", "handoff: lead", "handoff: nobody", "mcp: [nosuch]", "skills: [nosuch]", "skills: [./nowhere]",
  "approve: {deny: [bash]}", "approve: {deny: ['read_file(nothing=*)']}", "model: nosuch/x", "model: 7", "model: x",
  "document: [{content: [a]}]", "document: [{day: [x]}, {day: [y]}]", "document: 3", "variables: {agents: x}", "variables: [a]", "unknown_key: 1", "temperature: hot",
  "output: {type: nosuch}", "router: true", "fallback: food", "team: {members: [nobody]}", "advisors: [nobody]", "advisors: [food]", "budget: {turns: x}", "max_turns: -1", "sandbox: maybe",
  "memory: 'a b'", "timeout: soon", "temperature: 0.5", "display_name: X", "tools: []", "skills: []", "mcp: {}", "mcp: {x: {url: ftp}}", "input: 3", "reasoning: 9.5", "stop: [x]", "pool: 'a b'",
}

local damages = {}

-- A key is added, or takes the place of one.
function damages.head(files)
  local path, line = one_of(paths_of(files, "%.md$")), one_of(not files["main.lua"] and math.random(10) == 1 and for_teams or heads)
  local key = line:match "^[%w_]+"
  local text = "\n" .. files[path]:gsub("^", "")
  local found = text:find("\n" .. key .. ":", 1, true)
  files[path] = (found and text:gsub("\n" .. key .. ":[^\n]*", function() return "\n" .. line end, 1) or text:gsub("\n%-%-%-\n(.*)$", function(rest)
    return "\n---\n" .. line .. "\n" .. rest
  end, 1)):sub(2)
end

function damages.byte(files)
  local path = one_of(paths_of(files, "%.md$"))
  local text, at = files[path], math.random(#files[path])
  files[path] = text:sub(1, at - 1) .. one_of { "", ":", "[", "}", "\n", "\t", "'", "{{x}}", "\255", "\0", "- ", "é", " " } .. text:sub(at + math.random(0, 2))
end

function damages.cut(files)
  local path = one_of(paths_of(files, "%.md$"))
  files[path] = files[path]:sub(1, math.random(0, #files[path]))
end

function damages.gone(files)
  files[one_of(paths_of(files, "^agents/[fs]"))] = nil
end

function damages.place(files)
  local path = one_of(paths_of(files, "%.md$"))
  files[path] = files[path] .. one_of { "{{nothing}}\n", "{{include gone.txt}}\n", "\\{{nothing}}\n", "{{not-a-name}}\n", "{{tone}}\n" }
end

function damages.twice(files)
  files["agents/again.md"] = files[one_of(paths_of(files, "%.md$"))]
end

function damages.module_gone(files)
  if files["main.lua"] then files[one_of { "lib/util.lua", "lib/words.lua" }] = nil end
end

function damages.requires(files)
  if not files["main.lua"] then return end
  local path = one_of { "main.lua", "lib/util.lua", "lib/words.lua" }
  files[path] = one_of { "require 'nosuch'\n", "pcall(require, 'nosuch')\n", "local x = require('lib.nosuch')\n", "require 'string'\n", "pcall(function() require 'nosuch' end)\n" } .. (files[path] or "")
end

function damages.syntax(files)
  if not files["main.lua"] then return end
  local path = one_of { "main.lua", "lib/util.lua", "lib/words.lua" }
  files[path] = (files[path] or "") .. one_of { ")", "return", "local function", "x = = 1", "goto nowhere" } .. "\n"
end

function damages.servers(files)
  local good = ('{"command": "%s", "args": ["run", "-q", "--store", "off", "%s", "plain"]}'):format(process.launcher(), server)
  local text = ('{"mcpServers": {"notes": %s%s}}'):format(good, one_of { "", ', "odd one": {}', ', "odd": 3', ', "odd": {"httpUrl": "x"}' })
  if math.random(2) == 1 then text = one_of { text:sub(1, -2), text:gsub("notes", "other"), "3", "[]", '{"mcpServers": 3}', "\239\187\191" .. text, '{"notes": {"url": 3}}' } end
  if math.random(8) > 1 then files[".mcp.json"] = text end
  local path = one_of(paths_of(files, "^agents/[fs]"))
  if path then files[path] = files[path]:gsub("^%-%-%-\n", "---\nmcp: [notes]\n") end
end

-- ---- Both words -----------------------------------------------------------------------------------------

local names = {}
for name in pairs(damages) do names[#names + 1] = name end
table.sort(names)

-- The errors of check; nil: there is none. That nobody knows which of several agents begins is a warning, where they have nothing to
-- do with each other: a run of their folder is refused, and each of them can be run. That, variables that are given when a run begins,
-- and skills of the folder that it works in are nothing of a generation's. A server knows the folder.
local function refused_by_check(path)
  local result, err, partial = check { paths = { path }, json = false }
  local list, free, skills = {}, 0, 0
  for _, one in ipairs((result or partial).problems) do
    if one.severity == "error" or one.code == "roots" then
      list[#list + 1] = one
      free = (one.code == "roots" or one.code == "variable") and free + 1 or free
      skills = one.message:find "^there is no skill" and skills + 1 or skills
    end
  end
  t.ok(result or #list > 0, err and err.message)
  return list[1] and list, free + skills == #list, free == #list
end

local path_before = package.path

-- As in a process of its own, as far as modules go.
local function forget_modules()
  package.loaded["lib.util"], package.loaded["lib.words"], package.path = nil, nil, path_before
end

local function refused_by_run(path)
  forget_modules()
  local reply, err = hocket.start(path, "go", { approve = "allow" }):wait()
  return not reply and err.message or nil
end

local function says_one_of(message, list)
  for _, one in ipairs(list or {}) do
    local words = one.code == "roots" and "which agent begins?" or one.message
    if message:find(words, 1, true) then return true end
  end
  return false
end

local function shown(files, list)
  local parts = {}
  for _, path in ipairs(paths_of(files, "")) do parts[#parts + 1] = ("== %s\n%s"):format(path, files[path]) end
  for _, one in ipairs(list or {}) do parts[#parts + 1] = ("check: %s:%d: %s"):format(one.file, one.line, one.message) end
  return table.concat(parts, "\n")
end

-- What a run refuses check reports; what check reports may be of an agent that a model has yet to call.
local function compare_one(path, told)
  local message = refused_by_run(path)
  forget_modules()
  local problems, not_there, starts_served = refused_by_check(path)
  t.ok(problems or not message, told("check accepts what a run refuses", path, problems, message))
  t.ok(not message or says_one_of(message, problems), told("they say it in other words", path, problems, message))
  return problems, message, not_there, starts_served
end

-- A folder, and where no script asks all of its agents each of them.
local function compare(path, files, what)
  local function told(words, target, problems, message)
    return ("seed %d, %s, %s: %s\n%s\nrun: %s"):format(seed, what, target, words, shown(files, problems), message or "starts")
  end
  local problems, refused, not_there, starts_served = compare_one(path, told)
  for _, file in ipairs(files["main.lua"] and {} or paths_of(files, "%.md$")) do
    local _, message = compare_one(path .. file:gsub("^agents", ""), told)
    refused = refused or message
  end
  t.ok(refused or not problems, told("check refuses what runs start with", path, problems))
  local alive, wrong = live.open(path)
  if alive then alive:close() end
  t.ok((alive == nil) == (problems ~= nil and not not_there), told(alive and "a generation is taken of it" or "no generation: " .. wrong.message, path, problems, refused))
  alive, wrong = offered.open { path }
  if alive then alive:close() end
  servers.close()
  t.ok((alive == nil) == (problems ~= nil and not starts_served), told(alive and "it is served" or "it is not served: " .. wrong.message, path, problems, refused))
  t.ok(alive or says_one_of(wrong.message, problems), told("serve says it in other words: " .. (wrong and wrong.message or ""), path, problems, refused))
  return refused ~= nil
end

assert(hocket.run(hocket.agent { name = "first", prompt = "You.", model = "sim" }, "The scripted model is served from here on"))

t.test("a skill that is nowhere is said when a server starts, and of a change of its files, as a run says it", function()
  local dir <close> = t.dir()
  dir:write("agents/sights.md", agent("sights", "skills: [nosuch]\n", "You."))
  local message = refused_by_run(dir.path .. "/agents")
  t.has(message, "there is no skill 'nosuch'")
  local made, err = offered.open { dir.path .. "/agents" }
  t.equal(made, nil)
  t.equal(err.message, message)
  dir:write("agents/sights.md", agent("sights", "", "You."))
  made = assert(offered.open { dir.path .. "/agents" })
  dir:write("agents/sights.md", agent("sights", "skills: [nosuch]\n", "You."))
  local event = live.at(dir.path .. "/agents"):check()
  t.equal(event.type, "agent_reload_failed")
  t.equal(event.message, message)
  made:close()
end)

t.test("a model that no run asks keeps nothing from starting: --model goes before the files, at a server as in a run", function()
  local dir <close> = t.dir()
  local function with_model(name, head, model) dir:write(("agents/%s.md"):format(name), (agent(name, head, "You."):gsub("model: sim", "model: " .. model))) end
  with_model("first", "agents: [second]\ntools: [delegate]\n", "nosuch/x")
  with_model("second", "", "nosuch/y")
  local path = dir.path .. "/agents"
  for _, case in ipairs { { {}, "nosuch/x" }, { { model = "sim" } }, { { models = { first = "sim" } }, "nosuch/y" }, { { models = { first = "sim", second = "sim" } } } } do
    local options, wrong = case[1], case[2]
    local reply, err = hocket.start(path, "Hello", { model = options.model, models = options.models }):wait()
    t.equal(reply == nil, wrong ~= nil)
    local made, refused = offered.open({ path }, false, options)
    t.equal(made == nil, wrong ~= nil)
    if made then made:close() end
    if wrong then
      t.has(err.message, wrong)
      t.equal(refused.message:sub(1, #err.message), err.message)
    end
  end
end)

t.test("check, run, serve and a generation agree on damaged projects", function()
  math.randomseed(seed)
  local refused = 0
  for round = 1, rounds do
    local files, what = math.random(2) == 1 and project() or team(), {}
    for i = 1, math.random(0, 2) do
      what[i] = one_of(names)
      damages[what[i]](files)
    end
    local dir <close> = t.dir()
    for path, text in pairs(files) do dir:write(path, text) end
    local target = files["main.lua"] and dir.path or dir.path .. "/agents"
    if compare(target, files, ("round %d (%s)"):format(round, table.concat(what, ", "))) then refused = refused + 1 end
  end
  t.ok(refused > rounds // 4 and refused < rounds, ("%d of %d were refused"):format(refused, rounds))
end)

return t.finish()
