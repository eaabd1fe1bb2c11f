--- What stands in a page that holds one run, before its records and behind them: `hocket show --html`.
---
--- The run is data: no `<` stands in it as such, so that nothing of it ends the element that it is in. Scripts and styles are those whose hashes
--- stand at the head, and nothing is loaded or sent.
local base64 = require "hocket.internal.base.base64"
local json = require "hocket.json"
local stored = require "hocket.internal.commands.stored"
local system = require "hocket.internal.core.system"

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
  return base64.encode((system.digest(text):gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end)))
end

---@async
---@param args {id: string, script: string, style: string}
return function(args)
  local row, err = stored.find(args.id)
  if not row then return nil, err end
  local run = stored.describe(row, true)
  run.owner = nil
  local told = json.encode(run):gsub("<", "\\u003c")
  return { id = row.id, head = HEAD:format(hash(args.script), hash(args.style), row.id, args.style, told), tail = TAIL:format(args.script) }
end
