-- Texts without the blanks around them, in a time that blanks inside of them do not lengthen; and what hostile texts pass through.
local t = require "harness"
local decision = require "hocket.internal.run.decision"
local hocket = require "hocket"
local model = require "model"
local outcome = require "hocket.patterns.outcome"
local trim = require "hocket.internal.base.trim"

t.test("what stands around a text goes, and nothing else", function()
  for _, case in ipairs { { "", "", "" }, { " \n\t ", "", "" }, { "a", "a", "a" }, { " a ", "a", " a" }, { "\na  b\n", "a  b", "\na  b" }, { " \0 ", "\0", " \0" } } do
    t.equal(trim.both(case[1]), case[2])
    t.equal(trim.right(case[1]), case[3])
  end
end)

-- 300 KB of blanks, between words and alone: with a quadratic pattern each of these takes minutes.
local blanks = (" "):rep(300000)

local function quick(what, fn)
  t.test(what, function()
    local from = os.clock()
    fn()
    t.ok(os.clock() - from < 10, ("it took %.1f s"):format(os.clock() - from))
  end)
end

quick("trims", function()
  for _, text in ipairs { "a" .. blanks .. "b", blanks, "a" .. blanks, blanks .. "a" } do
    trim.both(text)
    trim.right(text)
  end
end)

quick("an answer to an approval", function() t.same(decision.read("no " .. blanks .. "x", {}).verdict, "no") end)

quick("a report with blanks", function() outcome.failure("Status:" .. blanks .. "failed" .. blanks .. ".") end)

quick("a model that writes a call with blanks", function()
  local look = hocket.tool { name = "look", description = "x", run = function() return "" end }
  local m <close> = model.serve(function() return '{"name": "look", "arguments": ' .. blanks .. "]}" end)
  t.fails("model", "no valid JSON", model.session(m, { tools = { look } }):send "?")
end)

quick("a last answer with blanks", function()
  local look = hocket.tool { name = "look", description = "x", run = function() return "" end }
  local m <close> = model.serve(function() return { text = "a" .. blanks .. "b", calls = { { name = "look", arguments = {} } } } end)
  t.has(assert(model.session(m, { tools = { look }, max_turns = 1 }):send "?").text, "Cut short")
end)

return t.finish()
