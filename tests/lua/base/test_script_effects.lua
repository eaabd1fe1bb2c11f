-- Which requests and programs of scripts may be done twice.
local effects = require "hocket.internal.base.effects"
local script_effects = require "hocket.internal.base.script.effects"
local t = require "harness"

t.test("what only asks is asked again", function()
  for _, method in ipairs { "GET", "HEAD", "OPTIONS" } do t.same(script_effects.of("http", { url = "x", method = method }), { reads = true }) end
  t.same(script_effects.of("http", { url = "x" }), { reads = true })
end)

t.test("what is idempotent is done again, and is no reading", function()
  t.same(script_effects.of("http", { url = "x", method = "DELETE", idempotent = true }), {})
  t.same(script_effects.of("process", { argv = { "/bin/true" }, idempotent = true }), {})
end)

t.test("everything else is not, and says what it was without what may be secret", function()
  for _, spec in ipairs { { url = "x", body = "" }, { url = "x", method = "GET " }, { url = "x", method = "get" }, { method = "DELETE", url = "http://secret@x" } } do
    local ok, err = script_effects.of("http", spec).again()
    t.equal(ok, nil)
    t.equal(err.code, "unknown")
    t.lacks(err.message, "secret")
  end
  local _, err = script_effects.of("process", { argv = { "/opt/secret/pay", "secret" } }).again()
  t.has(err.message, "program pay was")
  t.lacks(err.message, "secret")
end)

t.test("mistakes are left to who is asked", function()
  for _, spec in ipairs { false, "x", 1 } do t.equal(script_effects.of("http", spec).again, nil) end
  for _, spec in ipairs { {}, { argv = "x" }, { argv = {} } } do t.has(select(2, script_effects.of("process", spec).again()).message, "not known") end
end)

t.test("a log of before is the same: what may be done twice is no part of what is asked", function()
  local spec = { url = "x", body = "y" }
  t.equal(script_effects.asked(spec), effects.asked(spec))
  spec.idempotent = true
  t.equal(script_effects.asked(spec), effects.asked { url = "x", body = "y" })
  t.equal(spec.idempotent, true)
end)

return t.finish()
