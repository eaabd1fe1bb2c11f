--- hocket tools: each registered name is in the list, and none is an error.
local t = require "harness"
local tool = require "hocket.tool"

local function row_of(name)
  for _, row in ipairs(require("hocket.internal.commands.list").tools().tools) do
    if row.name == name then return row end
  end
end

t.test("a name that gives no tool, several, or one with an error is listed", function()
  tool.set("test_nothing", function() return {} end)
  tool.set("test_refused", function() return nil, { code = "agent", message = "not here" } end)
  tool.set("test_two", function()
    local function one(name) return tool { name = name, description = "Do it.", parameters = { type = "object" }, run = function() return "" end } end
    return { one "test_a", one "test_b" }
  end)
  for name, is_set in pairs { test_nothing = false, test_refused = false, test_two = true } do
    local row = row_of(name)
    t.same({ row.description, row.set, row.asks }, { "(no description)", is_set, false }, name)
  end
end)

return t.finish()
