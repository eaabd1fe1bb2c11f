--- The task board: who does what, and what is done.
---
---     local hocket = require "hocket"
---     local board = hocket.board { limit = 5 }
---     local ids = assert(board:create("lead", { { text = "Find a hotel", assigned_to = "hotels" } }))
---     assert(board:start("hotels", ids))
---     assert(board:complete("hotels", ids, ids[1], "the one at the river"))
---     print(board:status(), board:tasks()[1].result)
local core = require "hocket.internal.core.board"
local fiber = require "hocket.internal.core.fiber"
local misuse = require "hocket.internal.base.misuse"

local board = { ids = core.ids }

--- Makes a board. Inside a run its changes are events of that run.
---@param options? {limit?: integer, max_text?: integer, agents?: string[]} limit: tasks, 20 by default.
---@return hocket.Board
function board.new(options)
  local made = misuse.told("hocket.board", core.new, options)
  local context = fiber.context()
  if context and context.run then context.run:adopt { board = made } end
  return made
end

return setmetatable(board, { __call = function(_, options) return board.new(options) end })
