--- Several model calls of which the first good reply wins: llm.race and llm.hedge.
---
---     call ──┬──> reply    kept in the history
---     call ──┤             cancelled, down to the socket
---     call ──┘             cancelled
---
--- Each call asks with the same history; what it says goes there only when it has won.
local calls = require "hocket.internal.models.calls"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"

local race = {}

local function ask_beside(one, history, request, emit)
  local asker, call = calls.ask_once({ one }, history, request, nil, emit)
  if not asker then return nil, call end
  return { asker = asker, call = call }
end

-- The sockets of the ones that have not won are closed.
local function first_of(tasks)
  local won, failure = flow.any(tasks)
  if not won then return nil, failure end
  return calls.accept(won.asker, won.call)
end

--- All at once. See llm.race.
---@async
function race.run(spec)
  local tasks = {}
  for i, one in ipairs(spec) do
    tasks[i] = function() return ask_beside(one, spec.history, spec.request or {}, spec.emit) end
  end
  return first_of(tasks)
end

-- The ones that wait for their time, and how many calls have failed: each failure calls the next one.
local function next_in_line()
  local waiting, failed = {}, 0
  local line = {}

  ---@async
  function line.wait(i, due)
    waiting[i] = fiber.self()
    while failed < i - 1 and fiber.now() < due do fiber.park(due - fiber.now()) end
    waiting[i] = nil
  end

  function line.failed()
    failed = failed + 1
    for _, other in pairs(waiting) do other:wake() end
  end

  return line
end

--- One behind the other, while none has answered. See llm.hedge.
---@async
function race.hedge(model, history, request, opts)
  local max = opts.max or 1 + math.max(1, #(opts.models or {}))
  local tasks, line = {}, next_in_line()
  for i = 1, max do
    tasks[i] = function()
      line.wait(i, fiber.now() + opts.after * (i - 1))
      local one = i > 1 and opts.models and opts.models[i - 1] or model
      local won, err = ask_beside(one, history, request, opts.emit)
      if not won then line.failed() end
      return won, err
    end
  end
  return first_of(tasks)
end

return race
