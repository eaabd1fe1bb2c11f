-- hooks.lua by its text: what is wrong is found without running it, and in which line it stands.
local t = require "harness"
local check = require "hocket.internal.runner.hooks.check"
local hooks = require "hocket.internal.run.hooks"

-- The line of what a run finds wrong.
local function line_of(text)
  local _, wrong, at = hooks.read(assert(load(text))(), "x")
  t.ok(wrong, "something is wrong")
  return check.line(text, at)
end

local function lines_of(text)
  local problems = {}
  check.add("hooks.lua", text, problems)
  local lines = {}
  for i, one in ipairs(problems) do lines[i] = one.line end
  return table.concat(lines, " ")
end

t.test("the line of what a run finds wrong", function()
  t.equal(line_of "-- after_agent: a comment\nlocal s = 'after_agent'\nreturn {\n  after_agent = tonumber '5',\n}", 4)
  t.equal(line_of "-- timeout\nlocal hooks = {}\nfunction hooks.before_tool() end\nhooks.timeout = 2 - 2\nreturn hooks", 4)
  t.equal(line_of "-- when\nreturn {\n before_tool = {\n  print,\n  { run = print,\n    when = 1 },\n } }", 6)
  t.equal(line_of "return { before_tool = {\n { run = print },\n { run = print, match = {} },\n } }", 3)
  t.equal(line_of "return { before_tool = { run = print,\n timeout = 0,\n } }", 2)
  t.equal(line_of "-- after_agnt\nlocal name = 'after_agnt'\nreturn {\n [name] = print }", 3)
  t.equal(line_of "local made = {}\nmade.after_agent = tonumber '5'\nreturn setmetatable(made, nil)", 2)
  t.equal(line_of "local function make()\n return {\n  before_run = true }\nend\nreturn make()", 3)
  t.equal(line_of "local x = 1\n\nreturn 5", 3)
  t.equal(line_of "local x = 1", 1)
end)

t.test("what the text tells", function()
  t.equal(lines_of "-- befor_tool\nreturn {\n befor_tool = print,\n before_tool = { print, 5 },\n}", "3 4")
  t.equal(lines_of "local h = {}\nfunction h.after_tol() end\nh.before_tool = { match = 'x' }\nreturn h", "2 3")
  t.equal(lines_of "local h = {}\nlocal other = {}\nother.after_tol = 1\nreturn h", "")
  t.equal(lines_of "return {\n before_tool = { run = print, when = 1 },\n timeout = 0 }", "2 3")
  t.equal(lines_of "print()", "1")
  for _, value in ipairs { "5", "'x'", "nil", "true", "function() end" } do t.equal(lines_of("local x = " .. value .. "\nreturn x"), "2") end
end)

return t.finish()
