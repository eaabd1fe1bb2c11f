-- hocket.step: what its function returns and raises comes through, whether the run is kept or not.
local t = require "harness"
local hocket = require "hocket"

local NotFound = {}
NotFound.__index = NotFound
function NotFound:__tostring() return "there is no guest " .. self.details.id end

local function step(fn)
  return pcall(hocket.step, "look", fn)
end

t.test("values come back, also nil, false and none", function()
  t.same({ step(function() return 1, "a", { b = { true } } end) }, { true, 1, "a", { b = { true } } })
  t.equal(select("#", step(function() end)), 1)
  t.equal(select("#", step(function() return nil, nil end)), 3)
  t.equal(select(2, step(function() return false end)), false)
end)

t.test("what is no data is an error, and what is data comes back as a copy", function()
  for _, what in ipairs { print, io.stdout, coroutine.create(print), { fn = print } } do
    local ok, err = step(function() return what end)
    t.equal(ok, false)
    t.equal(err.code, "invalid")
    t.has(err.message, "has to be data")
  end
  local mine = { list = { 1 } }
  local _, got = step(function() return mine end)
  t.same(got, mine)
  t.ok(got ~= mine and got.list ~= mine.list)
end)

t.test("an error object keeps its words and its data", function()
  local ok, err = step(function() error(setmetatable({ code = "not_found", details = { id = 5, at = { 1, 2 } } }, NotFound)) end)
  t.equal(ok, false)
  t.equal(tostring(err), "there is no guest 5")
  t.equal(err.code, "not_found")
  t.same(err.details, { id = 5, at = { 1, 2 } })
end)

t.test("what of an error is no data is left out, and nothing else", function()
  local err = { code = "odd", message = "none", retryable = false, details = { id = 5 } }
  local _, got = step(function()
    local raised = { code = err.code, message = err.message, retryable = false, details = { id = 5, fn = print }, fn = print, [print] = 1 }
    raised.me = raised
    error(raised)
  end)
  for name, value in pairs(err) do t.same(got[name], value == err.details and { id = 5, fn = got.details.fn } or value, name) end
end)

t.test("an error that is returned keeps its words, too", function()
  local _, value, err = step(function() return nil, setmetatable({ details = { id = 7 }, fn = print }, NotFound) end)
  t.equal(value, nil)
  t.equal(tostring(err), "there is no guest 7")
  t.equal(err.details.id, 7)
end)

t.test("texts, numbers and nil that are raised are raised as they are", function()
  for _, what in ipairs { "plain", 5, false } do
    local ok, err = step(function() error(what, 0) end)
    t.equal(ok, false)
    t.equal(err, what)
  end
  t.equal(select("#", step(function() error() end)), 2)
end)

t.test("an error of hocket's own is one again", function()
  local _, value, err = step(function() return hocket.fs.read "/no/such/file" end)
  t.equal(value, nil)
  t.equal(err.code, "not_found")
  t.equal(tostring(err), "not_found: " .. err.message)
end)

t.test("memory that is out while an outcome is written down is said to be that", function()
  local pack = require "hocket.internal.base.pack"
  local encode, ran = pack.encode, 0
  local ok, err = step(function()
    pack.encode = function()
      pack.encode = encode
      error("not enough memory", 0)
    end
    ran = ran + 1
    return 1
  end)
  if pack.encode == encode then -- of a run that is kept; else nothing is written down
    t.equal(ok, false)
    t.equal(require "hocket.internal.base.caught".error(err).code, "no_memory")
  end
  pack.encode = encode
  t.equal(ran, 1)
end)

return t.finish()
