--- `hocket decode` over recorded answers of real servers: HOCKET_WIRE names a directory with
--- index.jsonl and, for every exchange in it, its response, meta.json and expected.json.
local t = require "harness"
local decode = require "hocket.internal.commands.decode"
local fs = require "hocket.fs"
local json = require "hocket.json"
local system = require "hocket.internal.core.system"

local dir = system.getenv "HOCKET_WIRE"

local function is_same(want, have)
  if type(want) ~= "table" or type(have) ~= "table" then return want == have end
  for key, value in pairs(want) do
    if not is_same(value, have[key]) then return false end
  end
  for key in pairs(have) do
    if want[key] == nil then return false end
  end
  return true
end

local function read(path)
  return assert(fs.read(dir .. "/" .. path, 64 << 20))
end

local function check(exchange, chunk)
  local record, err = decode {
    protocol = exchange.path:match "^[^/]+", file = dir .. "/" .. exchange.path .. ".response." .. exchange.ext,
    status = json.decode(read(exchange.path .. ".meta.json")).status, chunk = chunk,
  }
  t.ok(record, exchange.path .. ": " .. tostring(err and err.message))
  for field, value in pairs(json.decode(read(exchange.path .. ".expected.json"))) do
    t.ok(field == "crosscheck" or is_same(value, record[field]), ("%s: %s\n  want %s\n  have %s"):format(
      exchange.path, field, t.show(value), t.show(record[field])))
  end
end

local function check_all(chunk)
  local n = 0
  for line in read "index.jsonl":gmatch "[^\n]+" do
    check(json.decode(line), chunk)
    n = n + 1
  end
  t.ok(n > 0, "there are no exchanges")
  print(("%d exchanges"):format(n))
end

if dir then
  t.test("every recorded answer, whole", function() check_all() end)
  t.test("every recorded answer, byte by byte", function() check_all(1) end)
  t.test("every recorded answer, in pieces of seven", function() check_all "7" end)
  t.test("every recorded answer, in random pieces", function() check_all "random:42" end)
else
  print "skipped: set HOCKET_WIRE"
end

local function decoded(protocol, text, options)
  local files <close> = t.dir()
  local args = { protocol = protocol, file = files:write("answer", text) }
  for name, value in pairs(options or {}) do args[name] = value end
  return decode(args)
end

t.test("an answer that is cut is an error, with what came before it", function()
  local _, err, partial = decoded("openai_chat",
    'data: {"id":"1","choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\ndata: {"choices":[{"ind')
  t.equal(err.code, "truncated")
  t.equal(partial.text, "Hel")
end)

t.test("a body with an error status", function()
  local record = assert(decoded("anthropic", '{"type":"error","error":{"type":"overloaded_error","message":"later"}}', { status = 529 }))
  t.equal(record.error.where, "http")
  t.equal(record.error.status, 529)
  t.equal(record.error.type, "overloaded_error")
end)

t.test("lines are told from one body", function()
  local line = '{"model":"m","message":{"role":"assistant","content":"a"},"done":false}\n'
  local last = '{"model":"m","message":{"role":"assistant","content":"b"},"done":true,"done_reason":"stop"}'
  t.equal(assert(decoded("ollama", line .. last)).text, "ab")
  t.equal(assert(decoded("ollama", last)).text, "b")
  t.equal(assert(decoded("ollama", (last:gsub(",", ",\n  ")))).text, "b")
  t.equal(select(2, decoded("ollama", line, { stream = true })).code, "truncated")
end)

t.test("wrong words are told apart from wrong answers", function()
  t.fails("invalid", "did you mean 'gemini'?", decoded("gemni", "{}"))
  t.fails("invalid", "no size of pieces", decoded("gemini", "{}", { chunk = "0" }))
  t.fails("invalid", "no size of pieces", decoded("gemini", "{}", { chunk = "random:x" }))
  t.fails("not_found", "/nowhere", decode { protocol = "gemini", file = "/nowhere" })
end)

return t.finish()
