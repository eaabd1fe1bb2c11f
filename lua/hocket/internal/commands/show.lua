--- `hocket show`: one run, as its records tell it.
local json = require "hocket.json"
local result_of = require "hocket.internal.run.result_of"
local stored = require "hocket.internal.commands.stored"
local story = require "hocket.internal.commands.story"

-- One that workers gave up has no record of its end: it was nobody's when it ended.
local function tell_end(row, told)
  if row.state ~= "failed" or told.error ~= json.null then return true end
  local text, err = result_of(row.id)
  if err then return nil, err end
  local result = text and json.decode(text)
  local why = type(result) == "table" and result.error
  if type(why) == "table" and type(why.message) == "string" then told.error = { code = tostring(why.code), message = why.message } end
  return true
end

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
  if result.at == last then
    ok, wrong = tell_end(row, result)
    if not ok then return nil, wrong end
  end
  return result
end
