--- Scripts that try to use more than their text shows: each has a bound that what it uses does not pass, or is said to have none.
local t = require "harness"
local s = require "scripted"
local model = require "hocket.model"
local prices = require "hocket.prices"
local workflow = require "hocket.workflow"
local workflow_bound = require "hocket.internal.agents.workflow_bound"

local MODEL = "scripted/m"
model.set_window(MODEL, { window = 1000, output = 100 })
prices.set(MODEL, { input = 1, output = 2 })

local HEAD = [[
local workflow = require "hocket.workflow"
local agent, map, loop, step, budget = workflow.agent, workflow.map, workflow.loop, workflow.step, workflow.budget
local function ask(text) return agent { prompt = "You work.", input = text } end
local rated = { type = "object", required = { "why" }, properties = { why = { type = "array", items = { type = "string" }, maxItems = 2 } } }
return workflow { description = "d",
  input = { type = "object", properties = { list = { type = "array", items = { type = "string" }, maxItems = 2 },
    groups = { type = "array", maxItems = 2, items = { type = "object", properties = { names = { type = "array", maxItems = 2 } } } },
    loose = { maxItems = 2 }, either = { type = { "array", "object" }, maxItems = 2 } } },
  run = function(input)
]]

local MANY = { a = "1", b = "2", c = "3", d = "4", e = "5", f = "6" }
local function input()
  return { list = { "a", "b" }, groups = { { names = { "a", "b" } }, { names = { "c", "d" } } }, loose = MANY, either = MANY, others = { "1", "2", "3", "4", "5", "6" } }
end

local escapes = {
  -- Lists that get longer than is written.
  [[map({ input }, function(i) i.list[3] = "x" i.list[4] = "y" end) map(input.list, ask)]],
  [[step("x", function() return input end).list[3] = "x" map(input.list, ask)]],
  [[local function same(x) return x end local l = same(input).list l[3] = "x" map(input.list, ask)]],
  [[select(1, input).list[3] = "x" map(input.list, ask)]],
  [[local _, i = nil, input i.list[3] = "x" map(input.list, ask)]],
  [[table.unpack({ input.list })[3] = "x" map(input.list, ask)]],
  [[rawset(select(1, input).list, 3, "x") map(input.list, ask)]], [[table.insert(table.unpack({ input.list }), "x") map(input.list, ask)]],
  [[local _, l = next({ input.list }) l[3] = "x" map(input.list, ask)]], [[local l _, l = next({ input.list }) l[3] = "x" map(input.list, ask)]],
  [[local l = input.list local m m = select(1, l) m[3] = "x" map(input.list, ask)]], [[local _, i = pairs(input) i.list[3] = "x" map(input.list, ask)]],
  [[local ok, l = pcall(select, 1, input.list) l[3] = "x" map(input.list, ask)]], [[local function f() return select(1, input.list) end f()[3] = "x" map(input.list, ask)]],
  [[map({ input.list }, assert)[1][3] = "x" map(input.list, ask)]], [[local json = require "hocket.json" json.array(input.list)[3] = "x" map(input.list, ask)]],
  [[(input.deep or input).list[3] = "x" map(input.list, ask)]], [[({ input })[1].list[3] = "x" map(input.list, ask)]],
  [[local t = { select(1, input) } t[1].list[3] = "x" map(input.list, ask)]], [[table.remove({ input }).list[3] = "x" map(input.list, ask)]],
  [[workflow.pipeline({ input }, { assert })[1].list[3] = "x" map(input.list, ask)]], [[rawget(input, "list")[3] = "x" map(input.list, ask)]],
  [[table.move(input.others, 1, 6, 1, input.list) map(input.list, ask)]],
  [[local function grow() input.list[3] = "x" end grow() map(input.list, ask)]],
  [[input["list"][3] = "x" map(input.list, ask)]],
  [[setmetatable(input.list, { __index = input.others }) for _ in ipairs(input.list) do ask "x" end]],
  [[local mt = {} mt.__index = input.others local l = { "x" } setmetatable(l, mt) for _ in ipairs(l) do ask "x" end]],
  [[local l = { "x" } for i in ipairs(l) do if i < 6 then l[i + 1] = "x" end ask "x" end]],
  [[for i in ipairs(input.list) do if i < 6 then table.insert(input.list, "x") end ask "x" end]],
  [[local l = { table.unpack(input.others) } map(l, ask)]], [[map({ table.unpack(input.others) }, ask)]],
  [[local function all(...) return map({ ... }, ask) end all("1", "2", "3", "4")]],
  [[input.groups[1].names = input.others map(input.groups, function(g) return map(g.names, ask) end)]],
  [[local g = input.groups[1] g.names[3] = "x" map(input.groups, function(one) return map(one.names, ask) end)]],
  [[map(input.groups, function(g) g.names[3] = "x" return map(g.names, ask) end)]],
  [[map(input.groups, function(g) local n = g.names table.insert(n, "x") return map(g.names, ask) end)]],
  [[for _, g in ipairs(input.groups) do g.names[3] = "x" map(g.names, ask) end]],
  [[local r = rated r.properties.why.maxItems = 9 local a = agent { prompt = "x", output = rated } map(a.why, ask)]],
  [[local a = agent { prompt = "x", output = rated } a.why[3] = "x" map(a.why, ask)]],
  [[local a = agent { prompt = "x", output = rated } local b = { a } b[1].why[3] = "x" map(a.why, ask)]],
  [[local a = agent { prompt = "x", output = rated } a = input a.why = input.others map(a.why, ask)]],
  [[for _ in pairs(input.loose) do ask "x" end]], [[for _ in pairs(input.either) do ask "x" end]],
  [[local l = { a = 1, b = 2, c = 3 } for _ in pairs(l) do ask "x" end]],
  [[local l = { 1, nil, 3, nil } for _ in pairs(l) do ask "x" end map(l, ask)]],
  [[local l = { [1] = "a", [2] = "b", [3] = "c" } map(l, ask)]],
  -- Numbers that are none.
  [[map(input.others, ask, { max = -5 }) ask "x"]], [[map(input.others, ask, { max = 1e999 - 1e999 })]], [[map(input.others, ask, { max = 1e999 })]],
  [[map(input.others, ask, { max = 0.5 })]], [[map(input.others, ask, { max = 2, max = nil })]], [[map(input.others, ask, { max = 1, [input.k or "max"] = nil })]],
  [[loop { max = -3, step = ask, done = function() return false end } ask "x"]], [[loop { max = 1e999 - 1e999, step = ask, done = function() return false end }]],
  [[loop { max = 2.5, step = ask, done = function() return false end }]], [[loop { max = "3", step = ask, done = function() return false end }]],
  [[for _ = 1, 1e999 - 1e999 do ask "x" end ask "y"]], [[for _ = 1, 2, 0.4 do ask "x" end]], [[for _ = 3, 1, -0.7 do ask "x" end]], [[for _ = 1.5, 4 do ask "x" end]],
  [[for _ = 9223372036854775806, 9223372036854775807 do ask "x" end]], [[for _ = 1, "3" do ask "x" end]], [[for _ = 1, 2 ^ 2 do ask "x" end]],
  [[budget({ turns = -1 }, function() return ask "x" end)]], [[budget({ turns = 1e999 - 1e999 }, function() return ask "x" end)]],
  [[for _ = 1, #"abc" do ask "x" end]], [[for _ = 1, #input.list * 2 do ask "x" end]],
  -- Ways that lead back.
  [[local function f(n) if n > 0 then ask "x" return f(n - 1) end end f(3)]],
  [[local g local function f(n) if n > 0 then return g(n) end end function g(n) ask "x" return f(n - 1) end f(3)]],
  [[local h = {} function h.f(n) if n > 0 then ask "x" return h.f(n - 1) end end h.f(3)]],
  [[local h = { f = function(me, n) if n > 0 then ask "x" return me:f(n - 1) end end } h:f(3)]],
  [[local function f(g, n) if n > 0 then ask "x" return g(g, n - 1) end end f(f, 3)]],
  [[local h = setmetatable({}, { __index = function(me, k) if k > 0 then ask "x" return me[k - 1] end end }) local _ = h[3] ]],
  [[local h = setmetatable({}, { __call = function(me, k) if k > 0 then ask "x" return me(k - 1) end end }) h(3)]],
  [[local n = 0 ::top:: do n = n + 1 ask "x" if n < 3 then goto top end end]],
  [[local n = 0 do goto b end ::a:: do return end ::b:: n = n + 1 ask "x" if n < 3 then goto b end]],
  [[local n = 0 for _ = 1, 1 do ::again:: n = n + 1 ask "x" if n < 3 then goto again end end]],
  [[local n = 0 ::a:: (function() n = n + 1 ask "x" end)() if n < 3 then goto a end]],
  [[string.again = function(me, n) if n > 0 then ask "x" return me:again(n - 1) end end ("x"):again(3)]],
  [[getmetatable("").__index.again = function(me, n) if n > 0 then ask "x" return me:again(n - 1) end end ("x"):again(3)]],
  -- Who calls a function, and how often.
  [[for _ = 1, 3 do local c <close> = setmetatable({}, { __close = function() ask "x" end }) end]],
  [[for i in function(_, i) i = (i or 0) + 1 ask "x" return i < 4 and i or nil end do step("s" .. i, function() end) end]],
  [[("abc"):gsub(".", function() ask "x" end)]], [[xpcall(error, function(e) ask "x" return e end)]], [[xpcall(error, function(e) ask "x" error(e) end)]],
  [[xpcall(ask, ask, "x")]], [[pcall(pcall, ask, "x")]], [[pcall(pcall, agent, { prompt = "x" })]], [[while not pcall(ask, "x") do end]],
  [[for _ = 1, 3 do pcall(function() ask "x" error "again" end) end]], [[local go = ask go = go for _ = 1, 3 do go "x" end]],
  [[local function f(agent) for _ = 1, 3 do agent { prompt = "x" } end end f(agent)]], [[local c = coroutine.wrap(function() while true do ask "x" coroutine.yield() end end) for _ = 1, 3 do c() end]],
  [[local c = require "coroutine" local w = c.wrap(function() ask "x" end) w()]], [[local fns = {} for i = 1, 3 do fns[i] = function() return ask "x" end end workflow.parallel(fns)]],
  [[local keep local function put(f) keep = f end put(function() return ask "x" end) for _ = 1, 3 do keep() end]],
  [[local up = { f = ask } local function run() return up.f "x" end for _ = 1, 3 do run() end]],
  [[local _ENV = setmetatable({}, { __index = _ENV }) function pcall(f) f "x" f "x" end pcall(ask)]],
  [[_ENV.pcall = function(f) f "x" f "x" end pcall(ask)]], [[local e = _ENV e.ipairs = function() return function(_, i) i = (i or 0) + 1 return i < 5 and i or nil end end for _ in ipairs { 1 } do ask "x" end]],
  [[rawset(_G, "ipairs", function() return function(_, i) i = (i or 0) + 1 return i < 5 and i or nil end end) for _ in ipairs { 1 } do ask "x" end]],
  [[local flow = require "hocket.flow" flow.map({ 1, 2, 3 }, ask)]], [[local flow = require("hocket").flow flow.all { ask, ask }]],
  [[workflow:agent()]], [[rawget(workflow, "agent") { prompt = "x" }]], [[next(workflow)]], [[for _, f in pairs(workflow) do f { prompt = "x" } end]],
  [[agent(setmetatable({ prompt = "x" }, { __index = { max_turns = 50, tools = { "list_directory" } } }))]],
  [[local d = { prompt = "x" } setmetatable(d, { __index = { output = rated } }) agent(d)]],
  [[local o = { max = 1 } setmetatable(o, { __index = function() return 9 end }) map(input.others, ask, o)]],
  [[agent { prompt = "x", ["out" .. "put"] = rated }]], [[local k = "budget" agent { prompt = "x", budget = { turns = 1 }, [k] = { turns = 9 } }]],
  "-- \rask 'x'\r--[==[ \r ]==] ask 'y'", "--[=[ ]] ]=] ask 'x' --[[ ]=] ]] ask 'y'", "local a = 'x\\z   \n y' ask(a) ask '\\'' ask \"\\\\\" ask [[\n]]",
  "goto continue ask 'x' ::continue:: ask 'y'", "do local a <const> = 1 ask 'x' end; ; ; ask 'y'",
}

local function measure(path)
  local made, err = assert(workflow.of_file(dofile(path), path)), nil
  s.reply = function(request)
    if request.schema then return { text = '{"why": ["x", "y"]}' } end
    return { text = "done" }
  end
  local run = s.run(function()
    local ok, _, failed = pcall(made.run, made, input())
    err = not ok and _ or failed
    return { text = "" }
  end, { model = MODEL })
  local ops, agents = {}, 0
  for _, event in ipairs(s.events(run, "model_request")) do
    agents = agents + (ops[event.op] and 0 or 1)
    ops[event.op] = true
  end
  return agents, run:usage().calls, err
end

-- What is wrong with the bound of a body; nil: it holds, or there is none and why is listed.
local function wrong_with(body)
  local dir <close> = t.dir()
  local path = dir:write("workflows/w.lua", HEAD .. body .. "\nend }")
  local bound = workflow_bound.of(path, MODEL)
  if not bound then return nil, true end
  if bound.model_calls == math.huge or bound.agents == math.huge then return #bound.unbounded == 0 and "nothing is listed" or nil, true end
  local agents, calls, failed = measure(path)
  if bound.agents >= agents and bound.model_calls >= calls then return nil end
  return ("%g agents and %g calls are not %d and %d (%s)"):format(bound.agents, bound.model_calls, agents, calls, tostring(failed))
end

t.test("each is bounded, or said to be unbounded", function()
  local open, wrong = 0, {}
  for i, body in ipairs(escapes) do
    local why, is_open = wrong_with(body)
    open = open + (is_open and 1 or 0)
    if why then wrong[#wrong + 1] = ("%d: %s: %s"):format(i, body, why) end
  end
  print(("%d scripts, %d of them without a bound"):format(#escapes, open))
  t.equal(table.concat(wrong, "\n"), "")
  t.ok(#escapes > 110 and open > 90 and open < #escapes - 10, open)
end)

return t.finish()
