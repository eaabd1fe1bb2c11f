--- A small test harness for scripts that `hocket run` runs.
---
---     local t = require "harness"
---     t.test("adds", function() t.equal(1 + 1, 2) end)
---     return t.finish()
---
--- Each case runs in a fiber of its own, at once and outside of any run. When it is over, no
--- fiber and no HTTP request of it may be left. A failing case makes the script fail.
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"
local system = require "hocket.internal.core.system"

local harness = {}

--- Whether the file runs in a run that is kept. What differs there on purpose is in docs/guides/durable-execution.md.
harness.kept = effects.here() ~= nil

--- Seconds that one case may take.
harness.limit = 60

-- What bounds a time here, or asks for one of the processor, is so many times as long where programs are emulated (tests/emulated).
local slower = tonumber(os.getenv "HOCKET_TEST_SLOWER") or 1
harness.slower = slower
if slower > 1 then
  local clock = os.clock
  os.clock = function() return clock() / slower end
end

-- Names of cases that cannot work where the tests run, one a line.
local left_out, names = {}, os.getenv "HOCKET_TEST_LEFT_OUT"
if names then for name in io.lines(names) do left_out[name] = true end end

local passed, failed = 0, 0

local function show(value, depth)
  depth = depth or 0
  if type(value) == "string" then
    if #value > 400 then value = value:sub(1, 400) .. "…" end
    return ("%q"):format(value):gsub("\\\n", "\\n")
  elseif type(value) ~= "table" or depth > 3 then
    return tostring(value)
  end
  local keys, parts = {}, {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for i, key in ipairs(keys) do
    local name = type(key) == "string" and key or "[" .. tostring(key) .. "]"
    parts[i] = name .. " = " .. show(value[key], depth + 1)
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end
harness.show = show

local function fail(what, level)
  error(what, (level or 1) + 2)
end

local function words(value)
  if type(value) == "table" and type(value.message) == "string" then return value.message end
  return tostring(value)
end

--- The value must be true (not merely truthy when it is no error).
function harness.ok(value, what)
  if not value then fail(what or "expected something, got " .. tostring(value)) end
  return value
end

--- The same value, of the same type (1 is not 1.0).
function harness.equal(got, expected, what)
  if got ~= expected or math.type(got) ~= math.type(expected) then
    fail(("%sexpected %s, got %s"):format(what and what .. ": " or "", show(expected), show(got)))
  end
end

local function is_same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b and math.type(a) == math.type(b)
  end
  for key, value in pairs(a) do
    if not is_same(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

--- The same content, all the way down.
function harness.same(got, expected, what)
  if not is_same(got, expected) then
    fail(("%sexpected %s, got %s"):format(what and what .. ": " or "", show(expected), show(got)))
  end
end

--- A text (or an error's message) that contains `part`, as plain text.
function harness.has(text, part, what)
  text = words(text)
  if not text:find(part, 1, true) then
    fail(("%sexpected a text with %s, got %s"):format(what and what .. ": " or "", show(part), show(text)))
  end
end

--- A text that does not contain `part`.
function harness.lacks(text, part)
  if words(text):find(part, 1, true) then
    fail(("expected a text without %s, got %s"):format(show(part), show(words(text))))
  end
end

--- A text (or an error's message) that matches a Lua pattern.
function harness.matches(text, pattern)
  text = words(text)
  if not text:find(pattern) then
    fail(("expected a text that matches %s, got %s"):format(show(pattern), show(text)))
  end
end

--- fn(...) must raise something whose text contains `part`. Returns what it raised.
function harness.raises(part, fn, ...)
  local ok, err = pcall(fn, ...)
  if ok then fail(("expected an error with %s, but nothing was raised"):format(show(part))) end
  if not words(err):find(part, 1, true) then
    fail(("expected an error with %s, got %s"):format(show(part), show(words(err))))
  end
  return err
end

--- nil and an error value with this code whose message contains `part`:
---     t.fails("not_found", "no such", fs.read "nowhere")
function harness.fails(code, part, value, err)
  if value ~= nil then fail(("expected nil and an error, got %s"):format(show(value))) end
  if type(err) ~= "table" then fail(("expected an error value, got %s"):format(show(err))) end
  if err.code ~= code then fail(("expected the code %s, got %s: %s"):format(code, tostring(err.code), words(err))) end
  if not words(err):find(part, 1, true) then
    fail(("expected an error with %s, got %s"):format(show(part), show(words(err))))
  end
  return err
end

--- Waits until check() is true, for at most `seconds`.
---@async
function harness.eventually(check, seconds, what)
  local until_then = fiber.now() + (seconds or 5) * slower
  while not check() do
    if fiber.now() > until_then then fail(what or "it did not become true in time") end
    fiber.sleep(0.005)
  end
end

--- What was not there before and does not go: fibers, requests, timers, programs and other handles.
--- Sockets that the other side still has to notice may take a few turns to go.
---@async
---@param before table As system.open() has given it.
---@return string? what nil: nothing.
function harness.left_over(before)
  local left
  for _ = 1, 400 * slower do
    local now = system.open()
    left = {}
    for _, what in ipairs { "fibers", "requests", "timers", "handles" } do
      local more = now[what] - before[what]
      if more > 0 then left[#left + 1] = ("%d %s"):format(more, what) end
    end
    if #left == 0 then return nil end
    fiber.sleep(0.005)
  end
  return "left behind: " .. table.concat(left, ", ")
end

local function run(fn, stay)
  local shared = require("hocket.broker").shared -- its fiber lives as long as the host
  shared()
  effects.aside(shared) -- of what is no part of the run, where that is kept
  local before = system.open()
  before.fibers = before.fibers + (stay or 0)
  local one = fiber.detach(xpcall, fn, function(err)
    return type(err) == "string" and debug.traceback(err, 2) or err
  end)
  if not one:join(harness.limit * slower) then
    one:cancel()
    one:join(5)
    return ("it took more than %d seconds"):format(harness.limit * slower)
  end
  local _, ok, err = one:result()
  if not ok then return words(err) end
  one = nil
  return harness.left_over(before)
end

--- Runs a case. `stay`: so many of its fibers live as long as the host, as they have to.
---@async
function harness.test(name, fn, stay)
  if left_out[name] then
    print("left out: " .. name)
    return
  end
  local began = fiber.now()
  local wrong = run(fn, stay)
  if fiber.now() - began > 2 then print(("%.1f s  %s"):format(fiber.now() - began, name)) end
  if wrong then
    failed = failed + 1
    print(("FAILED  %s\n        %s"):format(name, (wrong:gsub("\n", "\n        "))))
  else
    passed = passed + 1
  end
end

--- The script's end: `return t.finish()`.
function harness.finish()
  local line = ("%d passed, %d failed"):format(passed, failed)
  print(line)
  if failed > 0 then return nil, { code = "state", message = line } end
  return line
end

-- A test run has a random secret in its environment, which is in no file (see tests/canary.sh).
local secret = system.getenv "HOCKET_CANARY"

local function look_for_secret(path)
  if not secret or secret == "" then return end
  local pipe = assert(io.popen(("grep -rlF -e '%s' '%s' 2>/dev/null"):format(secret, path)))
  local found = pipe:read "a"
  pipe:close()
  if found ~= "" then error("a secret of the environment is in " .. found, 0) end
end

local function temporary()
  return (os.getenv "HOCKET_TEST_TMPDIR" or os.getenv "TMPDIR" or "/tmp") .. "/hocket-test-" .. system.token(12)
end

--- A name for a file that is not there; the test removes it.
harness.tmpname = temporary

--- A new empty directory, gone at the end of the scope: `local dir <close> = t.dir()`. Its
--- tostring is its path; dir:write(name, text) puts a file there and returns its path.
function harness.dir()
  local fs = require "hocket.fs"
  local path = temporary()
  assert(fs.mkdir(path))
  -- rm goes through no link: fs.list tells a link to a folder as the folder that it leads to.
  local function remove(at)
    local quoted = "'" .. at:gsub("'", "'\\''") .. "'"
    os.execute(("chmod -R u+rwX %s 2>/dev/null; rm -rf --one-file-system %s"):format(quoted, quoted))
  end
  local dir = { path = path }
  function dir.write(_, name, text)
    local file = path .. "/" .. name
    assert(fs.mkdir(file:match "^(.*)/"))
    assert(fs.write(file, text))
    return file
  end
  return setmetatable(dir, { __close = function()
    local ok, why = pcall(look_for_secret, path)
    remove(path)
    if not ok then error(why, 0) end
  end, __tostring = function() return path end })
end

return harness
