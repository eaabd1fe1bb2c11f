--- One run of the store: `hocket show` as its records tell it, `hocket show --html` as a page, `hocket watch` as it goes on.
local digest = require "hocket.internal.base.digest"
local ended = require "hocket.internal.run.ended"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"
local story = require "hocket.internal.commands.story"
local system = require "hocket.internal.core.system"

local commands = {}

-- One that workers gave up has no record of its end: it was nobody's when it ended.
local function tell_end(row, told)
  if row.state ~= "failed" or told.error ~= json.null then return true end
  local text, err = ended.result(row.id)
  if err then return nil, err end
  local result = text and json.decode(text)
  local why = type(result) == "table" and result.error
  if type(why) == "table" and type(why.message) == "string" then told.error = { code = tostring(why.code), message = why.message } end
  return true
end

-- Options that say nothing of what a run may do or use.
local aside = { cwd = true, deltas = true, tree = true, serve = true, eval = true, caller = true, files = true, call = true, made = true, edition = true }

local function shown(value)
  if type(value) == "string" then return value end
  if json.is_array(value) then
    local list = {}
    for i, one in ipairs(value) do list[i] = shown(one) end
    return table.concat(list, ", ")
  end
  return json.encode(value)
end

-- The options that a run carries, as one text: "approve allow; max_turns 5". What a run that is continued may do of it says docs/guides/durable-execution.md.
local function carried(options)
  if type(options) ~= "table" then return nil end
  local list = {}
  for _, name in ipairs(sorted_keys(options)) do
    if not aside[name] then list[#list + 1] = ("%s %s"):format(name, shown(options[name])) end
  end
  local token = type(options.serve) == "table" and options.serve.token
  if token then list[#list + 1] = ("token %s"):format(tostring(token)) end
  return #list > 0 and table.concat(list, "; ") or nil
end

--- The run's row, and what hocket.Story:result gives; `records`: how many there are.
---@async
---@param args {id: string, at?: integer, agent?: string} at: as it stood at this record; agent: whose transcript alone.
function commands.show(args)
  local row, err = stored.named(args.id)
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
  result.options = carried(result.run.options)
  if result.at == last then
    ok, wrong = tell_end(row, result)
    if not ok then return nil, wrong end
  end
  return result
end

--- The run is data: no `<` stands in it as such, so that nothing of it ends the element that it is in. Scripts and styles are those whose hashes
--- stand at the head, and nothing is loaded or sent.
local HEAD = [[
<!doctype html><!-- hocket run -->
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>run %s · hocket</title>
<style>%s</style>
</head>
<body>
<div id="page"></div>
<noscript>This page shows a run of hocket, and needs JavaScript for it.</noscript>
<script type="application/json" id="hocket-run">{"run":%s,"records":[]]

local TAIL = [[]}</script>
<script type="module">%s</script>
</body>
</html>
]]

local function hash(text)
  return system.base64(digest.of(text))
end

--- What stands in a page that holds one run, before its records and behind them.
---@async
---@param args {id: string, script: string, style: string}
function commands.page(args)
  local row, err = stored.named(args.id)
  if not row then return nil, err end
  local run = stored.describe(row, true)
  run.owner = nil
  local told = json.encode(run):gsub("<", "\\u003c")
  return { id = row.id, head = HEAD:format(hash(args.script), hash(args.style), row.id, args.style, told), tail = TAIL:format(args.script) }
end

-- It looks into the store again and again, as the process that has the run may be any, or none.

--- Records of one answer; seconds between two looks.
local PAGE, AGAIN = 200, 0.2

-- As text each, as they may be anything; without `json` what is not even text.
local function texts(page)
  local list = json.array {}
  for i, one in ipairs(page) do list[i] = { seq = one.seq, json = utf8.len(one.json) and one.json or nil } end
  return list
end

--- Returns the records of a run after a given one, and its state; waits while there are none. It reads the row before the records, so
--- a row that says that the run has ended comes with all of them.
---@async
---@param args {id: string, after: integer, state?: string, wait?: number} state: as it was last; wait: seconds, at most.
function commands.follow(args)
  local due = fiber.now() + (args.wait or 0)
  while true do
    local row, err = stored.named(args.id)
    if not row then return nil, err end
    local page, more = store.records(row.id, args.after + 1, PAGE)
    if not page then return nil, more end
    local state = stored.state(row)
    if #page > 0 or state ~= args.state or fiber.now() >= due then
      return { run = stored.describe(row, true), records = texts(page), more = more, over = ended.states[state] and not more or false }
    end
    fiber.sleep(AGAIN)
  end
end

return commands
