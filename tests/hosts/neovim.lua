-- Runs in Neovim (neovim.sh).
-- The host is not turned in two seconds in which nobody wants anything.
local function check_idle(when)
  vim.wait(300, function() return false end, 100) -- what the last run leaves to do
  local probe = assert(require("hocket").open())
  local class = getmetatable(probe).__index
  probe:close()
  local pump, pumps = class.pump, 0
  class.pump = function(...)
    pumps = pumps + 1
    return pump(...)
  end
  vim.wait(2000, function() return false end, 500)
  class.pump = pump
  assert(pumps == 0, ("the host was turned %d times %s"):format(pumps, when))
end

local function check()
  vim.opt.runtimepath:append(vim.env.PLUGIN)
  package.cpath = vim.env.LUA_CPATH
  local ask = require "ask"
  local ticks, ended = 0, nil
  ask.setup { team = "/nowhere" }
  ask.ask("Is there a room?", 0, function(result, err) ended = err and err.code or result end)
  assert(vim.wait(20000, function() return ended ~= nil end, 10) and ended == "invalid", ended)
  check_idle "after a run that has opened nothing"
  ended = nil
  ask.setup { team = vim.env.TEAM }
  local timer = vim.loop.new_timer()
  timer:start(1, 5, function() ticks = ticks + 1 end) -- the editor's own life
  vim.cmd "new"
  local buffer = vim.api.nvim_get_current_buf()
  ask.ask("Is there a room?", buffer, function(result, err) ended = result or err end)
  assert(vim.wait(20000, function() return ended ~= nil end, 10), "no answer in time")
  assert(ended.text, ended.message)
  local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), "\n")
  assert(text == ended.text and text:find("Fish stew tonight. Two stalls are free.", 1, true), text)
  assert(ticks > 5, "the editor stood still")
  timer:stop()
  timer:close()
  vim.cmd "Ask And a bath?" -- the command opens a buffer of its own
  assert(vim.wait(20000, function()
    return vim.api.nvim_buf_get_lines(0, 0, 1, true)[1]:find("stalls are free", 1, true)
  end, 10), "the command has no answer")
  check_idle "after its runs"
  ask.close()
end

local ok, err = xpcall(check, debug.traceback)
print(ok and "neovim: well" or err)
vim.cmd(ok and "qall!" or "cquit")
