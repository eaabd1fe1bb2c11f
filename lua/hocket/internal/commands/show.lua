--- `hocket show`: one run, as its records tell it.
local stored = require "hocket.internal.commands.stored"
local story = require "hocket.internal.commands.story"

--- The run's row, and what hocket.Story:result gives; `records`: how many there are.
---@async
---@param args {id: string, at?: integer, agent?: string} at: as it stood at this record; agent: whose transcript alone.
return function(args)
  local row, err = stored.find(args.id)
  if not row then return nil, err end
  if args.at ~= nil and (math.type(args.at) ~= "integer" or args.at < 1) then
    return stored.failure("invalid", "records are numbered from 1: there is no record %s", tostring(args.at))
  end
  local told, last = story.new(args.agent), 0
  local ok, wrong = stored.each(row.id, function(record)
    last = record.seq
    if not args.at or record.seq <= args.at then told:take(record) end
  end)
  if not ok then return nil, wrong end
  if args.at and args.at > last then
    return stored.failure("invalid", "run %s has %d records: there is no record %d", row.id, last, args.at)
  end
  if args.agent and not told:has(args.agent) then
    return stored.failure("not_found", "no agent '%s' worked in run %s", args.agent, row.id)
  end
  local result = told:result()
  result.run, result.records = stored.describe(row), last
  return result
end
