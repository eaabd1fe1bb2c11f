--- Keys that programs give: run once, renewed, never shown; and programs that hang, fail, print too much or want a terminal.
local cassette = require "hocket.cassette"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local fs = require "hocket.fs"
local json = require "hocket.json"
local key_command = require "hocket.internal.models.key_command"
local llm = require "hocket.llm"
local model = require "model"
local resolve = require("hocket.model").resolve
local t = require "harness"

local dir <close> = t.dir()
local good = model.chunk "Yes." .. model.chunk(nil, "stop") .. "data: [DONE]\n\n"

-- A program of these lines; what it has run as stands in `log`.
local function program(name, lines)
  dir:write(name, "#!/bin/sh\necho run >>" .. dir.path .. "/" .. name .. ".log\n" .. lines .. "\n")
  return { "/bin/sh", dir.path .. "/" .. name }
end

local function runs(name)
  local _, n = (fs.read(dir.path .. "/" .. name .. ".log") or ""):gsub("run", "")
  return n
end

-- A server that answers as fn(key, n) says: true, or a status and a body.
local function serving(fn, fields)
  local keys = {}
  return model.raw(function(listener, request)
    keys[#keys + 1] = (request.headers.authorization or ""):gsub("^Bearer ", "")
    local status, body = fn(keys[#keys], #keys)
    if status == true then return listener:respond(request.id, 200, { ["content-type"] = "text/event-stream" }, good) end
    listener:respond(request.id, status, { ["content-type"] = "application/json" }, body)
  end, fields), keys
end

local function ask(id)
  local history = llm.history()
  history:user "Well?"
  return llm.call(assert(resolve(id)), history, { retries = 0 })
end

t.test("it is run once for all that wait, and not again while its key holds", function()
  local m <close>, keys = serving(function() return true end, { key_command = program("once", "sleep 0.2; echo secret-token-1") })
  local tasks = {}
  for i = 1, 5 do tasks[i] = function() return ask(m.id) end end
  flow.all(tasks)
  assert(ask(m.id))
  t.equal(#keys, 6)
  for _, key in ipairs(keys) do t.equal(key, "secret-token-1") end
  t.equal(runs "once", 1)
end)

t.test("JSON in the forms that there are", function()
  for i, case in ipairs {
    { '{"accessToken":"a-token","expires_on":4102444800}', "a-token" },
    { '{"access_token":"b-token","expires_in":3600,"token_type":"Bearer"}', "b-token" },
    { '{"kind":"ExecCredential","status":{"token":"c-token","expirationTimestamp":"2099-01-01T00:00:00Z"}}', "c-token" },
    { '{"credential":{"access_token":"d-token","token_expiry":"2099-01-01T00:00:00+02:00"}}', "d-token" },
    { '{"key":"e-token","expiration":"nonsense"}', "e-token" },
  } do
    local m <close>, keys = serving(function() return true end, { key_command = program("json" .. i, "cat <<'EOF'\n" .. case[1] .. "\nEOF") })
    assert(ask(m.id))
    t.equal(keys[1], case[2])
  end
  for i, text in ipairs { '{"access_token":"x","expires_in":-5}', '{"accessToken":"x-y-z","expires_on":1000}', '{"token":"x-y-z","expiry":"2020-01-01T00:00:00Z"}' } do
    local m <close> = serving(function() return true end, { key_command = program("old" .. i, "cat <<'EOF'\n" .. text .. "\nEOF") })
    local _, err = ask(m.id)
    t.equal(err.code, "auth")
  end
end)

t.test("renewed before it ends, and at once when it is refused", function()
  local line = 'n=$(wc -l <' .. dir.path .. '/renew.log); echo "{\\"token\\":\\"token-number-$n\\",\\"expires_in\\":%s}"'
  local m <close>, keys = serving(function() return true end, { key_command = program("renew", line:format "0.1") })
  assert(ask(m.id))
  fiber.sleep(0.15)
  assert(ask(m.id))
  t.same(keys, { "token-number-1", "token-number-2" })
  local other <close>, seen = serving(function(key)
    if key == "token-number-1" then return 401, '{"error":{"message":"The token token-number-1 is no more"}}' end
    return true
  end, { key_command = program("renew", line:format "3600") })
  fs.write(dir.path .. "/renew.log", "")
  assert(ask(other.id))
  t.same(seen, { "token-number-1", "token-number-2" })
  local never <close>, all = serving(function(key) return 401, json.encode { error = { message = "no " .. key } } end,
    { key_command = program("never", "echo token-that-fails") })
  local _, err = ask(never.id)
  t.equal(#all, 2) -- once more, and not for ever
  t.equal(err.code, "auth")
  t.equal(err.message:find("token-that-fails", 1, true), nil)
  t.has(err.message, "no ****************")
end)

t.test("what goes wrong is told, without what was printed", function()
  local silent = { "hidden-words", "hidden-key" }
  for name, case in pairs {
    exit = { "echo hidden-words >&2; echo hidden-key; exit 3", "ended with exit code 3: run it by hand" },
    nothing = { "exit 0", "printed nothing" },
    two = { "echo hidden-key hidden-words", "is no key" },
    page = { "echo '{\"hidden-words\":1}'", "JSON without a key" },
    control = { "printf 'hidden-key\\r\\nx: y\\n'", "is no key" },
    huge = { "head -c 3000000 /dev/zero | tr '\\0' x", "printed more than 65536 bytes" },
    hang = { "echo hidden-key; sleep 60", "did not end within 1 seconds: does it want somebody to sign in?" },
    terminal = { "read answer </dev/tty && echo $answer", "ended with exit code" },
    input = { "read answer || exit 9; echo $answer", "ended with exit code 9" },
    killed = { "kill -9 $$", "SIGKILL" },
  } do
    local m <close> = serving(function() return true end, { key_command = program(name, case[1]) })
    key_command.TIMEOUT = name == "hang" and 1 or 30
    local reply, err = ask(m.id)
    t.equal(reply, nil, name)
    t.equal(err.code, "auth", name)
    t.has(err.message, case[2], name)
    for _, word in ipairs(silent) do t.equal(err.message:find(word, 1, true), nil, name) end
    t.equal(m.count, 0)
  end
  local m <close> = serving(function() return true end, { key_command = { "/no/such/program" } })
  t.has(select(2, ask(m.id)).message, "could not be started")
  key_command.TIMEOUT = 30
end)

t.test("no keys of the environment are handed to it, unless they are named", function()
  local system = require "hocket.internal.core.system"
  local getenv = system.getenv
  system.getenv = function(name) return ({ BROKER_TOKEN = "named", OTHER_API_KEY = "not-named", HOME = "/my/home", PATH = getenv "PATH" })[name] end
  local m <close>, keys = serving(function() return true end,
    { key_command = program("env", "echo \"$BROKER_TOKEN-$OTHER_API_KEY-$HOME\""), key_command_env = { "BROKER_TOKEN" } })
  local reply = ask(m.id)
  system.getenv = getenv
  t.ok(reply)
  t.equal(keys[1], "named--/my/home")
end)

t.test("its key is in no recording, and a replay runs nothing", function()
  local m <close> = serving(function(key) return 400, json.encode { error = { message = "you sent " .. key } } end,
    { key_command = program("recorded", "echo the-recorded-token") })
  local file = dir.path .. "/x.jsonl"
  local function one() return cassette.within({ record = file }, function() return ask(m.id) end) end
  local _, err = one()
  t.equal(err.message:find("the-recorded-token", 1, true), nil)
  t.equal(fs.read(file):find("the-recorded-token", 1, true), nil)
  t.equal(runs "recorded", 1)
  local _, again = cassette.within({ replay = file }, function() return ask(m.id) end)
  t.equal(again.http_status, 400)
  t.equal(runs "recorded", 1)
end)

return t.finish()
