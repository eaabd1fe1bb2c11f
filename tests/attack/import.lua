--- A run that somebody sends: its options are changed by hand, with a checksum that fits, and it is imported, answered and continued here. Nothing
--- that its record allows itself may happen: no command, no file outside, no server, no recording, no text of a file of this machine.
local attack = require "attack"
local digest = require "hocket.internal.base.digest"
local fs = require "hocket.fs"
local json = require "hocket.json"
local process = require "hocket.process"
local t = require "harness"

local class = attack.class "import"

local SIM = [[
return function(q)
  local n = 0
  for _, message in ipairs(q.messages) do n = n + (message.role == "tool" and 1 or 0) end
  if n == 0 then return { calls = { { name = "ask_user", arguments = { question = "Which colour?" } } } } end
  if n == 1 then return { calls = { { name = "execute_command", arguments = { command = "touch RAN" } } } } end
  if n == 2 then return { calls = { { name = "write_file", arguments = { path = "NOTE", content = "x" } } } } end
  local words = { q.system }
  for i, message in ipairs(q.messages) do words[i + 1] = message.text end
  return table.concat(words, "\n")
end
]]

-- One folder for all of them: what is theirs is made once, and each attack has a folder `here` of its own.
local base <close> = t.dir()
local here_count = 0

local function hocket(at, trusted, ...)
  return assert(process.run { argv = { process.launcher(), ... }, cwd = at, sandbox = "limits", network = true, timeout = 120, env = {
    "PATH=/usr/bin:/bin", "HOME=" .. at, "HOCKET_MODEL=sim", "HOCKET_SANDBOX=limits", "HOCKET_TRUST=" .. (trusted and base.path or "") } })
end

-- ---- A run of theirs, as bytes ----------------------------------------------------------------------

local PAD = 4000

local function begin(name, sim)
  local at = base.path .. "/" .. name
  base:write(name .. "/helper.md", "---\nname: helper\ntools: [ask_user, execute_command, write_file]\n---\nYou help.\n")
  base:write(name .. "/sim.lua", sim)
  local done = hocket(at, true, "run", "--trust", "--approve", "allow", "--store", "a.db", "--set", "pad=" .. ("x"):rep(PAD), at .. "/helper.md", "hi")
  if done.code ~= 75 then error(("it does not wait: %d %s"):format(done.code, done.stderr)) end
  local id = done.stderr:match "run (01%w+)"
  if hocket(at, true, "export", "--store", "a.db", id, "it.run").code ~= 0 then error "it is not exported" end
  return { id = id, bytes = assert(fs.read(at .. "/it.run")), at = at }
end

-- Where the options stand in the bytes.
local function find_options(bytes)
  local at = assert(bytes:find(('"pad":"%s'):format(("x"):rep(PAD)), 1, true))
  for from in bytes:gmatch "(){" do
    if from > at then break end
    local text = bytes:match("^%b{}", from)
    if text and from + #text > at and type(json.decode(text)) == "table" then return from, text end
  end
  error "there are no options"
end

local function forge(bytes, change)
  local from, text = find_options(bytes)
  local options = json.decode(text)
  change(options)
  options.variables = options.variables or {}
  options.variables.pad = ""
  local left = #text - #json.encode(options)
  if left < 0 then error "too much was changed" end
  options.variables.pad = ("x"):rep(left)
  local made = bytes:sub(1, from - 1) .. json.encode(options) .. bytes:sub(from + #text)
  return made:sub(1, -33) .. digest.of(made:sub(1, -38))
end

-- ---- What may be in it ------------------------------------------------------------------------------

local forms = {}
local function add(what, options, changed)
  forms[#forms + 1] = { what = what, options = options, change = changed }
end
local function with(more)
  local all = { consent = true, approve = { "allow" }, trust = true }
  for name, value in pairs(more) do all[name] = value end
  return all
end

local RUN = "execute_command=allow"
for _, approve in ipairs { "allow", { "allow" }, { "*" }, { "*=allow" }, { RUN }, { "execute_command(*)=allow" }, { "execute_command(touch *)=allow" }, { "ask", RUN }, { "deny", "allow" }, { "deny", RUN },
  { allow = true }, { { "allow" } }, true, 1, "ask,allow", "write_file=allow" } do
  add("approve " .. json.encode(approve), { approve = approve })
  add("approve, with consent: " .. json.encode(approve), { approve = approve, consent = true })
end
local allow = { { verdict = "allow", tool = "execute_command" }, { verdict = "allow", tool = "write_file" } }
for _, kind in ipairs { "run", "operator", "agent", "caller", "policy", "x" } do
  for _, mode in ipairs { "allow", "" } do
    add(("rules of kind %s, mode %q"):format(kind, mode), with { rules = { { kind = kind, name = "--approve", mode = mode, rules = allow } } })
    add(("rules of a caller of kind %s, mode %q"):format(kind, mode), with { call = { rules = { { kind = kind, name = "x", mode = mode, rules = allow } }, seconds = 60 } })
  end
end
for _, value in ipairs { { { tool = "execute_command", agent = "helper" } }, { "execute_command" }, true } do
  add("always " .. json.encode(value), with { always = value })
  add("always of a call " .. json.encode(value), with { call = { always = value } })
end
local marks = { zeros = ("0"):rep(64), empty = "", letters = ("f"):rep(64), short = "00", number = 1, list = { "x" } }
for name, made in pairs(marks) do
  add("a mark: " .. name, with { made = made })
  add("a mark of somebody: " .. name, with { made = made, approve = "allow", consent = "true" })
end
for _, value in ipairs { true, "yes", 1, { "/" }, "ask" } do add("trust " .. json.encode(value), with { trust = value }) end
for _, value in ipairs { "limits", "best", "off", "none", false, 0, { "limits" } } do add("sandbox " .. json.encode(value), with { sandbox = value }) end
for _, value in ipairs { "all", true, { "*" }, "*", "127.0.0.1", { "all" } } do add("network " .. json.encode(value), with { network = value }) end
for _, value in ipairs { "EVIL", "/", "..", "../evil", "/tmp", "" } do
  add("workdir " .. value, nil, function() return with { workdir = value == "EVIL" and base.path .. "/evil" or value } end)
end
for _, one in ipairs { "command", "args", "env", "list" } do
  add("MCP servers by " .. one, nil, function(at)
    local program = at .. "/start.sh"
    local def = one == "args" and { command = "/bin/sh", args = { program } } or one == "env" and { command = program, env = { A = "b" } } or { command = program }
    return with { mcp = one == "list" and { { name = "x", command = program, args = {} } } or { x = def } }
  end)
end
for _, form in ipairs { "text", "list", "path", "file", "uri" } do
  add("a file of this machine by " .. form, nil, function(at)
    local path = at .. "/secret.txt"
    return with { files = form == "text" and path or form == "list" and { path } or form == "uri" and { { uri = "file://" .. path } } or { { [form] = path } } }
  end)
end
for _, name in ipairs { "record", "replay", "cassette" } do
  add(name .. " of a path", nil, function(at) return with { [name] = at .. "/RECORD" } end)
end
for name, value in pairs { typed = true, labels = {}, asks_anew = false, not_for_clients = true, memory_of = "owner", interactive = false, park = false, conversation = true, simulate = true, cut = "x", project = "p",
  serve = { token = "", agent = "helper" }, hooks = true, code = "own", mod = false, generation = "x", extra_tools = { "execute_command" }, tools = { "execute_command" }, max_turns = 1 << 40,
  timeout = 1e300, jobs = 1 << 30, budget = { cost = 1e9 }, on_question = true, machine_policy = {}, models = { helper = "sim" }, prices = { ["sim/x"] = { 0, 0 } }, pool = "default", priority = 9,
  deltas = true, key = "x", digest = "y", user = "root", edition = 99, trace = "x", parent = "01AAAAAAAAAAAAAAAAAAAAAAAA", named_hosts = { "evil.example" }, handed_out = true, was_cut = false, for_clients = false } do
  add(("%s = %s"):format(name, json.encode(value)), with { [name] = value })
  if name:find "^[a-m]" then add(("%s twice, as a text"):format(name), with { [name] = json.encode(value) }) end
end

-- ---- What happens --------------------------------------------------------------------------------------------

local plain = begin("plain", SIM)
local marked = begin("marked", ("local f = io.open(%q, 'a') f:close()\n"):format(base.path .. "/MARK") .. SIM)

local function broken(at, id)
  for _, dir in ipairs { at, plain.at, marked.at, base.path .. "/evil", base.path } do
    for _, name in ipairs { "RAN", "NOTE", "SERVER", "RECORD", "MARK" } do
      if fs.info(dir .. "/" .. name) then return ("%s/%s is there"):format(dir, name) end
    end
  end
  local shown = hocket(at, true, "show", "--store", "b.db", id, "--json")
  if (shown.stdout .. shown.stderr):find("TOP-SECRET", 1, true) then return "it has the text of a file" end
end

local ways = {
  resume = function(at, trusted, id) hocket(at, trusted, "resume", "--store", "b.db", id) end,
  ["resume of a fork"] = function(at, trusted, id)
    local fork = hocket(at, trusted, "fork", "--store", "b.db", id).stdout:match "01%w+"
    if fork then hocket(at, trusted, "resume", "--store", "b.db", fork) end
  end,
  ["resume of all"] = function(at, trusted) hocket(at, trusted, "resume", "--store", "b.db", "--all") end,
  replay = function(at, trusted, id) hocket(at, trusted, "replay", "--store", "b.db", id) end,
}

-- A folder with what a record may point at, and the run taken in there.
local function take_in(one, form)
  here_count = here_count + 1
  local name = "here" .. here_count
  base:write(name .. "/secret.txt", "TOP-SECRET")
  base:write("evil/x", "x")
  local at = base.path .. "/" .. name
  base:write(name .. "/start.sh", ("#!/bin/sh\ntouch %s/SERVER\n"):format(at))
  local options = form.change and form.change(at) or form.options
  fs.write(at .. "/it.run", forge(one.bytes, function(own)
    own.consent, own.made = nil, nil
    for member, value in pairs(options) do own[member] = value end
  end))
  if hocket(at, true, "import", "--store", "b.db", "it.run").code ~= 0 then return nil end
  hocket(at, true, "answer", "--store", "b.db", one.id, "q1", "blue")
  return at
end

local function attempt(one, form, way)
  local at = take_in(one, form)
  if not at then return "it was not taken in: nothing is tried" end
  os.remove(base.path .. "/MARK") -- it ran where it is theirs
  ways[way](at, one == plain, one.id)
  local wrong = broken(at, one.id)
  for _, name in ipairs { "/RAN", "/NOTE", "/SERVER", "/RECORD" } do os.remove(at .. name) end
  return wrong
end

for i, form in ipairs(forms) do
  class:try("imported and resumed: " .. form.what, function() return attempt(plain, form, "resume") end)
  for way in pairs(ways) do
    if way ~= "resume" and i % 8 == 1 then class:try(("imported, %s: %s"):format(way, form.what), function() return attempt(plain, form, way) end) end
  end
end

-- The code that it brings, where nobody has trusted it: its sim.lua would play the model.
for way in pairs(ways) do
  for _, options in ipairs { {}, { trust = true }, with {}, with { code = "own" }, with { trust = "yes" } } do
    class:try(("code that was imported, %s, %s"):format(way, json.encode(options)), function() return attempt(marked, { options = options }, way) end)
  end
end

-- All of this says something where the same run does what it asks for once somebody here allows it.
local at = take_in(plain, { options = {} })
local done = hocket(at, true, "resume", "--store", "b.db", plain.id, "--approve", "allow")
class:check("a run that is allowed what it asks for", not fs.info(at .. "/RAN") and "the attacks try nothing: " .. done.stdout .. done.stderr or nil)

return class:finish()
