-- Neovim: `:Ask TEXT` lets a team write into a buffer while one goes on editing.
--
--   vim.opt.runtimepath:append "examples/embed/nvim"
--   require("ask").setup { team = "path/to/agents" }
--
-- hocket's descriptor is watched by Neovim's own loop; nothing runs while there is nothing to do.
local uv = vim.loop

local ask = {}
local host, poll, timer

local function tend()
  if not host then return end
  local ok, err = pcall(host.pump, host, 2)
  if not ok then vim.notify(tostring(err), vim.log.levels.ERROR) end
  local ms = host:timeout()
  timer:stop()
  if ms then timer:start(ms, 0, vim.schedule_wrap(tend)) end
end

local function open()
  if host then return end
  host = assert(require("hocket").open { thread = true })
  poll, timer = uv.new_poll(host:fd()), uv.new_timer()
  poll:start("r", vim.schedule_wrap(tend))
end

local function append(buffer, text)
  local last = vim.api.nvim_buf_line_count(buffer) - 1
  local line = vim.api.nvim_buf_get_lines(buffer, last, last + 1, true)[1]
  vim.api.nvim_buf_set_text(buffer, last, #line, last, #line, vim.split(text, "\n", { plain = true }))
end

--- Asks the team; what its first agent says is written into the buffer while it comes.
---@return table run
function ask.ask(question, buffer, on_done)
  open()
  local run, err = host:start(ask.team, question, {
    deltas = true, simulate = true, -- without a key the sim.lua beside the team plays
    on_event = function(event)
      -- o1 is the first operation: the agent that was asked, and not those that it asks
      if event.type == "model_delta" and event.kind == "text" and event.op == "o1" then append(buffer, event.text) end
    end,
    on_done = function(result, failed)
      if failed then vim.notify(failed.message, vim.log.levels.ERROR) end
      if on_done then on_done(result, failed) end
    end,
  })
  if not run then error(err.message) end
  tend()
  return run
end

function ask.close()
  if not host then return end
  poll:stop()
  poll:close()
  timer:stop()
  timer:close()
  host:close()
  host = nil
end

function ask.setup(options)
  ask.team = options.team
  vim.api.nvim_create_user_command("Ask", function(command)
    vim.cmd "new"
    vim.bo.buftype = "nofile"
    ask.ask(command.args, vim.api.nvim_get_current_buf())
  end, { nargs = "+" })
  vim.api.nvim_create_autocmd("VimLeavePre", { callback = ask.close })
end

return ask
