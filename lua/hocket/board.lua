--- The task board: who does what, and what is done.
local core = require "hocket.core.board"
local fiber = require "hocket.core.fiber"

local board = { ids = core.ids }

--- Makes a board. Inside a run its changes are events of that run.
---@param options? {limit?: integer, max_text?: integer, agents?: string[]} limit: tasks, 20 by default.
---@return hocket.Board
function board.new(options)
  local ok, made = pcall(core.new, options)
  if not ok then error(made, 2) end -- misuse is told with the caller's line
  local context = fiber.context()
  if context and context.run then context.run:adopt { board = made } end
  return made
end

return setmetatable(board, { __call = function(_, options) return board.new(options) end })
