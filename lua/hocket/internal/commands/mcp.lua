--- `hocket mcp`: a look at MCP servers by hand: which are named, what they offer, and a call. The files of a folder may be a stranger's:
--- what they name starts, or is asked, when a person has trusted it, as for a run.
local agents = require "hocket.agent"
local client = require "hocket.internal.mcp.client"
local content = require "hocket.internal.mcp.content"
local defs = require "hocket.internal.agents.mcp_servers"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local find = require "hocket.internal.agents.find"
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local sanitize = require "hocket.internal.base.sanitize"
local runs = require "hocket.internal.run.run"
local server = require "hocket.internal.core.server"
local servers = require "hocket.internal.mcp.servers"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local suggest = require "hocket.internal.base.suggest"
local system = require "hocket.internal.core.system"
local tokens = require "hocket.internal.mcp.oauth_tokens"
local trust = require "hocket.internal.runner.trust"
local truncate = require "hocket.internal.base.truncate"
local failure = system.failure

--- Seconds that a person has in the browser.
local LOGIN = 600

-- ---- Which there are -----------------------------------------------------------------------

-- Those of the folder's own file, then what agents' heads say: by name, the first that has it. And what is wrong with those of
-- the file that are left out.
local function named_in(dir)
  require "hocket.internal.runner.builtins" -- the tools that agents' files name
  local by_name, order, left_out, files = {}, {}, {}, {}
  local function add(one)
    if by_name[one.name] then return end
    by_name[one.name], order[#order + 1] = one, one.name
  end
  for _, file in ipairs(defs.files(dir)) do
    local list, err, odd = defs.read_file(file)
    if not list and file:match "[^/]*$" == defs.FILE then return nil, err end
    for name, why in pairs(list and odd or { [file] = err.message }) do left_out[name], files[name] = left_out[name] or why, files[name] or file end
    for _, one in pairs(list or {}) do add(one) end
  end
  for _, team in ipairs(find.teams(dir) or {}) do
    local ok, loaded = pcall(agents.load_dir, team)
    if not ok then return nil, loaded end
    for _, def in pairs(loaded) do
      for _, one in ipairs(def.mcp or {}) do
        if not one.by_name then add(one) end
      end
    end
  end
  table.sort(order)
  return by_name, nil, order, left_out, files
end

-- A name, or an address.
local function find_server(dir, name)
  if name:find "^https?://" then return { name = name:match "^https?://([^/]+)", url = name, args = {}, env = {}, headers = {} } end
  local by_name, err, order, left_out, files = named_in(dir)
  if not by_name then return nil, err end
  if by_name[name] then return by_name[name] end
  if left_out[name] then return failure("agent", "%s: %s", files[name], left_out[name]) end
  local info = fs.info(name)
  if info and info.kind == "directory" then return failure("invalid", "'%s' is a folder, and a server is expected: hocket mcp --in %s doctor", name, name) end
  local near = suggest(name, order)
  return failure("not_found", "%s names no MCP server '%s'%s%s", dir, name, near and (": did you mean '%s'?"):format(near) or "",
    #order > 0 and (" (there are: %s)"):format(table.concat(order, ", ")) or (": there is neither a %s nor an agent with 'mcp:'"):format(defs.FILE))
end

local function where(one)
  if one.url then return one.url end
  return one.command .. (#one.args > 0 and " " .. table.concat(one.args, " ") or "")
end

-- A server that may be started, or asked, with its variables filled in. A person is asked in the name of `place.run`.
local function admit(place, def)
  local outer = fiber.context()
  local over <close> = setmetatable({}, { __close = function() fiber.set_context(outer) end })
  fiber.set_context { run = place.run }
  local ok, err = trust.admit_server(place.run, def)
  if not ok then return nil, err end
  return servers.expand(def)
end

local function find_admitted(place, name)
  local def, err = find_server(place.dir, name)
  if not def then return nil, err end
  if def.disabled then return failure("denied", "the MCP server '%s' is disabled in %s", def.name, def.file or place.dir) end
  return admit(place, def)
end

local function open(place, name)
  local def, err = find_admitted(place, name)
  if not def then return nil, err end
  local entry
  entry, err = servers.get(def)
  if not entry then return nil, err end
  return entry.client
end

-- ---- Words ---------------------------------------------------------------------------------

--- Each is called with the place: the folder, and the run in whose name a person is asked.
local words = {}

local function columns(rows)
  local width = 0
  for _, row in ipairs(rows) do width = math.max(width, #row[1]) end
  local lines = {}
  for i, row in ipairs(rows) do lines[i] = row[1] .. (" "):rep(width - #row[1] + 2) .. row[2] end
  return table.concat(lines, "\n")
end

local function first_line(text)
  local line = sanitize.text(text:match "^%s*([^\n]*)")
  return truncate(line, 100, "…")
end

function words.list(place)
  local dir = place.dir
  local by_name, err, order, left_out = named_in(dir)
  if not by_name then return nil, err end
  local rows, list = {}, {}
  for i, name in ipairs(order) do
    local one = by_name[name]
    rows[i] = { name, sanitize.text(where(one)) .. (one.disabled and "  (disabled)" or "") .. (one.file and ("  (%s)"):format(one.file) or "") }
    list[i] = { name = name, command = one.command, args = one.command and json.array(one.args) or nil, url = one.url, file = one.file }
  end
  for _, name in ipairs(sorted_keys(left_out)) do
    rows[#rows + 1] = { sanitize.text(name), "left out: " .. sanitize.text(left_out[name]) }
    list[#list + 1] = { name = name, left_out = left_out[name] }
  end
  if #rows == 0 then return { text = ("%s names no MCP servers: they stand in a %s, or in an agent's head behind 'mcp:'"):format(dir, defs.FILE), servers = json.array {} } end
  return { text = columns(rows), servers = list }
end

function words.tools(place, name)
  local client, err = open(place, name)
  if not client then return nil, err end
  local tools
  tools, err = client:tools()
  if not tools then return nil, err end
  local rows = {}
  for i, one in ipairs(tools) do rows[i] = { sanitize.text(one.name), first_line(one.description) } end
  for _, one in ipairs(client.dropped) do rows[#rows + 1] = { sanitize.text(one.name), "left out: " .. one.why } end
  return { text = #rows > 0 and columns(rows) or "the server has no tools", tools = json.array(tools) }
end

function words.call(place, name, tool, text)
  if not tool then return failure("invalid", "which tool? hocket mcp call %s TOOL ['{\"argument\": …}']", name) end
  local args, wrong = json.decode(text or "{}")
  if type(args) ~= "table" or json.is_array(args) and #args > 0 then return failure("invalid", "the arguments have to be one JSON object%s", wrong and ": " .. wrong.message or "") end
  local client, err = open(place, name)
  if not client then return nil, err end
  local result
  result, err = client:call(tool, args)
  if not result then return nil, err end
  local said = content.text(result)
  if result.isError then return nil, { code = "server", message = said }, { text = "", result = result } end
  return { text = said, result = result }
end

-- What a server says of itself; or nil and why it cannot be used.
local function examine(def)
  local began = fiber.now()
  local entry, err = servers.get(def)
  if not entry then return nil, err.message end
  local client = entry.client
  local tools
  tools, err = client:tools()
  if not tools then return nil, err.message end
  return ("%s %s, MCP %s, %d tool%s%s, %.2f s"):format(sanitize.text(tostring(client.server.name or "?")), sanitize.text(tostring(client.server.version or "")),
    client.version, #tools, #tools == 1 and "" or "s", #client.dropped > 0 and (" (%d left out)"):format(#client.dropped) or "", fiber.now() - began)
end

--- Servers that are examined at once.
local AT_ONCE = 16

-- A person needs a yes one server after the other. Then the ones that may be started are, side by side.
local function examine_all(place, list)
  local admitted, said = {}, {}
  for i, one in ipairs(list) do
    if one.disabled then
      said[i] = { well = "disabled where it stands" }
    else
      local def, err = admit(place, one)
      if def then admitted[#admitted + 1] = { at = i, def = def } else said[i] = { why = err.message } end
    end
  end
  flow.map(admitted, function(one)
    local well, why = examine(one.def)
    said[one.at] = { well = well, why = why }
  end, { limit = AT_ONCE })
  return said
end

function words.doctor(place, name)
  local dir, list, wrong = place.dir, {}, 0
  if name then
    local one, err = find_server(dir, name)
    if not one then return nil, err end
    list[1] = one
  else
    local by_name, err, order = named_in(dir)
    if not by_name then return nil, err end
    for i, known in ipairs(order) do list[i] = by_name[known] end
  end
  local rows, states, said = {}, {}, examine_all(place, list)
  for i, one in ipairs(list) do
    local well, why = said[i].well, said[i].why
    rows[i] = { (well and "ok     " or "FAILED ") .. one.name, well or sanitize.text(why) }
    states[i] = { name = one.name, ok = well ~= nil, details = well or why }
    wrong = wrong + (well and 0 or 1)
  end
  local result = { text = #rows > 0 and columns(rows) or ("%s names no MCP servers"):format(dir), servers = json.array(states) }
  if wrong > 0 then return nil, { code = "server", message = ("%d of %d servers cannot be used"):format(wrong, #list) }, result end
  return result
end

-- ---- Logging in ----------------------------------------------------------------------------

local DONE = "<!doctype html><title>hocket</title><p>You can close this page."

-- Waits for the browser at our address, and gives the one that it came to.
local function wait_for_browser(listener, base)
  while true do
    local request = listener:accept()
    if not request then return failure("closed", "nobody came back from the browser") end
    local is_it = request.method == "GET" and request.path:find "^/callback%?" ~= nil
    listener:respond(request.id, is_it and 200 or 404, { ["content-type"] = "text/html; charset=utf-8" }, is_it and DONE or "")
    if is_it then return base .. request.path end
  end
end

local function show(url)
  system.log("warn", "open this address in a browser, and come back:\n" .. sanitize.text(url))
end

function words.login(place, name)
  local def, err = find_admitted(place, name)
  if not def then return nil, err end
  if not def.url then return failure("invalid", "the MCP server '%s' is a program: nobody logs in there", name) end
  local listener
  listener, err = server.new { port = def.oauth and def.oauth.port or 0, address = "127.0.0.1" }
  if not listener then return nil, err end
  local closing <close> = setmetatable({}, { __close = function() listener:close() end })
  local base = ("http://127.0.0.1:%d"):format(listener:port())
  local login = servers.login(def, function(url)
    show(url)
    return flow.timeout(LOGIN, function() return wait_for_browser(listener, base) end)
  end, base .. "/callback")
  local spec = assert(servers.spec(def))
  spec.login = login
  local made
  made, err = client.connect(spec)
  if not made then return nil, err end
  local tools
  tools, err = made:tools()
  made:close()
  if not tools then return nil, err end
  if not login.known.access_token then return { text = ("%s wants nobody to log in"):format(name) } end
  return { text = ("logged in: %s offers %d tool%s"):format(name, #tools, #tools == 1 and "" or "s") }
end

function words.logout(place, name)
  local def, err = find_server(place.dir, name)
  if not def then return nil, err end
  def, err = servers.expand(def)
  if not def then return nil, err end
  local ok
  ok, err = tokens.put(def.url or "", nil)
  if not ok then return nil, err end
  return { text = ("the tokens of %s are forgotten here"):format(name) }
end

---@async
---@param args {words: string[], dir?: string, trust?: true|"ask"} trust: what the folder names is; "ask": a person is there to be asked.
---@param journal userdata
---@param id string
return function(args, journal, id)
  local word = args.words[1]
  local act = words[word or ""]
  if not act then return failure("invalid", "expected list, tools, call, doctor, login or logout%s", word and (", not '%s'"):format(word) or "") end
  local needs_one = word == "tools" or word == "call" or word == "login" or word == "logout"
  if needs_one and not args.words[2] then return failure("invalid", "of which server? hocket mcp list shows them") end
  local closing <close> = setmetatable({}, { __close = servers.close })
  local options = { trust = args.trust or false, interactive = args.trust == "ask" }
  return act({ dir = args.dir or ".", run = runs.new { journal = journal, id = id, options = options } }, table.unpack(args.words, 2))
end
