-- The journal's two ways to write an event: from a table, and from names and values.
local t = require "harness"
local journal = require "hocket.internal.core.journal"
local json = require "hocket.json"

-- The line without its number and time.
local function payload_of(j)
  local cursor, last = 0, nil
  while true do
    local line, seq = j:next(cursor)
    if not line then return last end
    cursor, last = seq, line:gsub('^{"seq":%d+,"time":"[^"]*"', "{")
  end
end

t.test("names and values give the same line as a table", function()
  local j = journal.new { run = "r1" }
  local usage = { input = 3, cost = 0.5 }
  j:append("model_reply", { calls = 2, finish = "stop", ok = true, text = 'a"\n\0\255é', usage = usage }, "food", "o2")
  local expected = payload_of(j)
  t.equal(j:writer("food", "o2"):write("model_reply", "calls", 2, "finish", "stop", "gone", nil, "ok", true, "text", 'a"\n\0\255é', "usage", usage), 2)
  t.equal(payload_of(j), expected)
  t.has(expected, '"calls":2,"finish":"stop","ok":true')
  j:append("run_stopped", {})
  expected = payload_of(j)
  j:writer(""):write "run_stopped"
  t.equal(payload_of(j), expected)
  j:writer(""):write("run_stopped", "x", nil)
  t.equal(payload_of(j), expected)
end)

t.test("what cannot be an event is refused, and leaves none", function()
  local j = journal.new { run = "r1" }
  local writer = j:writer("food", "o1")
  for what, call in pairs {
    ["has to come before 'b'"] = function() writer:write("x", "b", 1, "a", 2) end,
    ["has to come before 'a'"] = function() writer:write("x", "a", 1, "a", 2) end,
    ["'seq' is a member"] = function() writer:write("x", "seq", 1) end,
    ["a name without a value"] = function() writer:write("x", "a") end,
    ["cannot encode nan"] = function() writer:write("x", "a", 0 / 0) end,
    ["cannot encode a function"] = function() writer:write("x", "a", print) end,
  } do
    local ok, err = pcall(call)
    t.equal(ok, false)
    t.has(tostring(err):gsub("%-nan", "nan"), what)
  end
  local seq, err = writer:write("Not this", "a", 1)
  t.equal(seq, nil)
  t.equal(err.code, "invalid")
  t.equal(j:last(), 0)
  t.equal(writer:write("x", "a", json.array {}), 1)
  t.equal(json.decode((j:next(0))).a[1], nil)
end)

return t.finish()
