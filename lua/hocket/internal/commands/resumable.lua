--- The operation `resumable`: runs of the store that can be gone on with, and where: what `hocket resume` and `hocket chat --continue`
--- have to know before they begin.
local json = require "hocket.json"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"

local OPEN = { "running", "waiting", "parked" }

local function options_of(run)
  local options = run.options and json.decode(run.options)
  return type(options) == "table" and options or {}
end

local function told(run)
  local options = options_of(run)
  return { id = run.id, state = run.state, target = run.target, input = run.input, cwd = options.cwd, updated_ms = run.updated_ms,
    conversation = options.conversation == true }
end

-- All that have not ended, newest first; conversations, or the others. A run of an evaluation that was cut off is nobody's to go on with,
-- unless he says so: its folder may be gone. Nor is one of a pool: that is a worker's.
local function open_ones(conversation, most)
  local list, before = {}, nil
  repeat
    local page, more = store.runs { states = OPEN, before = before }
    if not page then return nil, more end
    for _, run in ipairs(page) do
      local one = told(run)
      if one.conversation == conversation and not run.owner and not run.pool and not stored.eval(run) then list[#list + 1] = one end
      before = run.id
      if most and #list >= most then return list end
    end
  until not more
  return list
end

--- `id`: that one, which may be shortened; else all runs, or the newest `most` conversations, that have not ended.
---@async
---@param args {id?: string, conversation?: boolean, most?: integer}
---@return {text: string, runs: table[]}?
---@return hocket.Error?
return function(args)
  local list, err
  if args.id then
    local run
    run, err = stored.find(args.id)
    list = run and { told(run) }
  else
    list, err = open_ones(args.conversation == true, args.most)
  end
  if not list then return nil, err end
  return { text = "", runs = json.array(list) }
end
