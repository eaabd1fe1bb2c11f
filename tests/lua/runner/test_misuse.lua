-- Wrong arguments to every public function: what is raised names the caller's line, never a line of ours. The functions, and what they take, are
-- read from the annotations that the reference is made of.
local t = require "harness"
local flow = require "hocket.flow"
local fs = require "hocket.fs"
local hocket = require "hocket"
local process = require "hocket.process"

local here = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$"
local root = fs.real(here .. "/../../..")
package.path = root .. "/docs/tools/?.lua;" .. package.path
local annotations = require "annotations"

hocket.broker() -- its dispatcher lives as long as the host

-- ---- Arguments -----------------------------------------------------------------------------------

local function agent() return hocket.agent { name = "worker", prompt = "You work.", model = "sim/none" } end

-- By a part of a type's name, the more special first: a value that fits.
local fitting = {
  { "hocket%.Agent", agent }, { "hocket%.Board", function() return hocket.board() end }, { "hocket%.Document", function() return hocket.document { { "day", "integer" } } end },
  { "hocket%.History", function() return hocket.llm.history() end }, { "fun%(", function() return function() end end }, { "^string%[%]", function() return { "x" } end }, { "string", function() return "/nonexistent/x" end }, { "integer", function() return 1 end },
  { "number", function() return 1 end }, { "boolean", function() return true end }, { "table", function() return {} end }, { "{", function() return {} end }, { "%[%]", function() return {} end },
}

local function fits(kind)
  for _, one in ipairs(fitting) do
    if kind:find(one[1]) then return one[2]() end
  end
  return {}
end

-- Values of each type, and the parts of a type's name to which they do not stand in contrast.
local values = {
  { nil, "nil", "any", "%?" }, { 42, "number", "integer", "any" }, { true, "boolean", "true", "any" }, { "x", "string", '"', "any", "hocket%.Input", "hocket%.Ref" },
  { {}, "table", "hocket%.", "{", "%[%]", "any", "T" }, { print, "fun", "any" }, { -0.5, "number", "any" },
}

local function is_wrong(value, param)
  if value[1] == nil and param.optional then return false end
  for i = 2, 7 do
    if value[i] and param.kind:find(value[i]) then return false end
  end
  return true
end

-- ---- Functions -----------------------------------------------------------------------------------

-- What waits for a person, who is not there: the run would be parked.
local passed_over = { ["hocket.ask.ask"] = true, ["hocket.workflow.approve"] = true, ["hocket.workflow.signal"] = true, ["hocket.signal"] = true, ["hocket.ask.plan"] = true }

-- Objects whose methods are called, by their class.
local objects = {
  Broker = hocket.broker(), Conversation = assert(hocket.conversation(agent())), Run = hocket.this_run(), Board = hocket.board(), Document = hocket.document { { "day", "integer" } }, History = hocket.llm.history(),
}

-- The functions and methods that a line of a page stands for: each a function of the arguments.
local function callable(module, code)
  local base, sign, name = code:match "^function ([%w_]+)([.:])([%w_]+)%("
  if sign == "." then return name, type(module) == "table" and module[name] or nil end
  local object = objects[base]
  if not object then return nil end
  return base .. ":" .. name, function(...) object[name](object, ...) end
end

local function functions_of(page)
  local ok, module = pcall(require, page[1])
  local list = {}
  for i = 2, ok and #page or 0 do
    local named = type(page[i]) == "table" and page[i] or nil -- of such a file these alone are public
    local path = named and named[1] or page[i]
    for _, block in ipairs(annotations.blocks_of(assert(fs.read(root .. "/" .. path)))) do
      local name, fn = callable(module, block.code)
      local public = not block.internal and (not named or table.concat(named, " ", 2):find(block.code:match "^function ([%w_.:]+)" or "%z", 1, true))
      if public and type(fn) == "function" then list[#list + 1] = { name = page[1] .. "." .. name, fn = fn, params = block.params } end
    end
  end
  return list
end

-- What it raises with these arguments, or nil.
local function raised_by(fn, args, n)
  local raised
  flow.timeout(0.3, function()
    local ok, err = pcall(function()
      fn(table.unpack(args, 1, n))
      return true
    end)
    if not ok then raised = err end
  end)
  return raised
end

local function is_ours_or_none(err)
  return type(err) == "string" and not err:find("test_misuse.lua:", 1, true)
end

-- Calls one with each wrong value in the place of each argument, fitting ones before it: how often, and what does not name this file.
local function try(one, wrong)
  local called = 0
  for i, param in ipairs(one.params) do
    for _, value in ipairs(values) do
      if is_wrong(value, param) then
        local args = {}
        for j = 1, i - 1 do args[j] = fits(one.params[j].kind) end
        args[i], called = value[1], called + 1
        local err = raised_by(one.fn, args, i)
        if is_ours_or_none(err) then wrong[#wrong + 1] = ("%s #%d %s: %s"):format(one.name, i, tostring(value[1]), err:match "^[^\n]*") end
      end
    end
  end
  return called
end

t.test("wrong arguments to public functions are reported at the caller's line", function()
  local functions, calls, wrong = 0, 0, {}
  for _, page in ipairs(annotations.pages) do
    for _, one in ipairs(functions_of(page)) do
      if not passed_over[one.name] then functions, calls = functions + 1, calls + try(one, wrong) end
    end
  end
  print(("%d functions, %d calls"):format(functions, calls))
  t.ok(functions > 180, functions .. " functions")
  t.equal(table.concat(wrong, "\n"), "")
end)

t.test("what no script catches names the script's line, and ours behind it", function()
  local dir <close> = t.dir()
  local cases = {
    { 'hocket.conversation(nil)', "bad argument #1 to 'conversation' (an agent expected, got no value)" },
    { 'hocket.patterns.team.run(a, 42, "x")', "bad argument #2 to 'patterns.team.run' (table expected, got number)" },
    { 'hocket.patterns.router.run(a, nil, "x")', "bad argument #2 to 'patterns.router.run' (table expected, got no value)" },
    { 'hocket.orchestrate.again({}, { op = "o1" }, "x")', "orchestrate.lua:" }, -- no such object, which shows where it is used
  }
  for _, case in ipairs(cases) do
    dir:write("main.lua", 'local hocket = require "hocket"\nlocal a = hocket.agent { name = "a", prompt = "x" }\n\nlocal value = ' .. case[1] .. "\nreturn value\n")
    for _, store in ipairs { "off", dir.path .. "/runs.db" } do
      local result = assert(process.run { argv = { process.launcher(), "run", "-q", "--trust", "--store", store, "--model", "sim", "main.lua" }, cwd = dir.path, sandbox = "limits",
        network = true, sockets = true, env = { "PATH=/usr/bin:/bin", "HOME=" .. dir.path } })
      t.matches(result.stderr, "main%.lua:4: ")
      t.has(result.stderr, case[2])
    end
  end
end)

for _, object in ipairs { objects.Conversation } do object:close() end

t.test("kinds of arguments, also several of them", function()
  local argument = require("hocket.orchestrate").argument
  local one, step, state = agent(), { op = "o1" }, { count_tasks = function() end }
  local rows = { -- what is wanted, what fits, what does not
    { "string", { "x" }, { 1, {}, true } }, { "string?", { "x", nil }, { 1 } }, { "integer", { 1, -3 }, { 1.5, "1" } }, { "integer|string", { 1, "x" }, { 1.5, {} } },
    { "number|integer", { 1.5 }, { "x" } }, { "agent", { one }, { step, {}, "x" } }, { "agent|step", { one, step }, { state, {} } }, { "step|agent?", { one, step, nil }, { 3 } },
    { "agent|table", { one, {} }, { 1 } }, { "callable", { print, {} }, { "x" } },
  }
  for _, row in ipairs(rows) do
    for i = 1, row[1]:find "%?" and #row[2] + 1 or #row[2] do argument("f", 1, row[1], row[2][i]) end
    for _, value in ipairs(row[3]) do t.raises("bad argument #1 to 'f'", argument, "f", 1, row[1], value) end
  end
end)

return t.finish()
