local t = require "harness"
local json = require "hocket.json"
local yaml = require "hocket.yaml"

local function round(text)
  return json.encode(assert(json.decode(text)))
end

-- ---- JSON -----------------------------------------------------------------------------

t.test("integers of 64 bits survive", function()
  t.equal(json.decode "9223372036854775807", math.maxinteger)
  t.equal(json.decode "-9223372036854775808", math.mininteger)
  t.equal(json.decode "1234567890123456789", 1234567890123456789)
  t.equal(round "[9223372036854775807,-9223372036854775808]", "[9223372036854775807,-9223372036854775808]")
end)

t.test("floats print as the shortest text that reads back", function()
  t.equal(json.encode(0.1), "0.1")
  t.equal(json.encode(0.1 + 0.2), "0.30000000000000004")
  t.equal(json.decode(json.encode(1e300)), 1e300)
  t.equal(json.decode(json.encode(5e-324)), 5e-324)
  t.equal(json.encode(1.0), "1.0")
end)

t.test("a whole number is an integer, however it is written", function()
  t.equal(json.decode "1", 1)
  t.equal(json.decode "1.0", 1)
  t.equal(json.decode "1e3", 1000)
  t.equal(json.decode "1.5", 1.5)
end)

t.test("a NUL inside of a text survives", function()
  t.equal(json.decode [["a\u0000b"]], "a\0b")
  t.equal(json.encode "a\0b", [["a\u0000b"]])
  t.same(json.decode [[{"k\u0000":"\u0000"}]], { ["k\0"] = "\0" })
end)

t.test("null is a value of its own", function()
  t.equal(json.decode "null", json.null)
  t.same(json.decode [[{"a":null}]], { a = json.null })
  t.equal(json.encode { a = json.null }, [[{"a":null}]])
  t.same(json.decode "[null,1]", { json.null, 1 })
  t.equal(#json.decode "[null,null]", 2)
end)

t.test("an ordered object is written in its order, in whatever way it was made", function()
  local text = [[{"thinking":1,"answer":{"z":[{"y":1,"x":2}],"a":{}},"b":null}]]
  t.equal(json.encode(json.decode(text, true)), text)
  t.equal(round(text), [[{"answer":{"a":{},"z":[{"x":2,"y":1}]},"b":null,"thinking":1}]])
  t.equal(json.encode((yaml.decode("thinking: 1\nanswer: {z: 1, a: [2]}\n", 1, true, true))), [[{"thinking":1,"answer":{"z":1,"a":[2]}}]])
  local made = json.object { { "thinking", "t" }, { "reason", "r" }, { "answer", "a" } }
  t.equal(json.encode(made), [[{"thinking":"t","reason":"r","answer":"a"}]])
  made.reason, made.zeta, made.beta = nil, 1, 2
  t.equal(json.encode(made), [[{"thinking":"t","answer":"a","beta":2,"zeta":1}]])
  made.reason = "again"
  t.equal(json.encode(made), [[{"thinking":"t","reason":"again","answer":"a","beta":2,"zeta":1}]])
  t.equal(json.encode(json.object {}), "{}")
  local many = {}
  for i = 40, 1, -1 do many[#many + 1] = { ("k%02d"):format(i), i } end
  t.equal(json.encode(json.decode(json.encode(json.object(many)), true)), json.encode(json.object(many)))
end)

t.test("the order of an object that a script has spoilt loses and repeats no member", function()
  local made = json.object { { "b", 1 }, { "a", 2 }, { "c", 3 } }
  for _, names in pairs(getmetatable(made)) do names[1], names[2], names[3], names[4] = 7, "a", "a", "none" end
  t.equal(json.encode(made), [[{"a":2,"b":1,"c":3}]])
  for _, bad in ipairs { { 1 }, { { "a" } }, { { 1, 2 } }, { { "a", 1 }, { "a", 2 } } } do t.ok(not pcall(json.object, bad)) end
  made[1] = true
  t.ok(not pcall(json.encode, made), "a key that is no name is lost")
end)

t.test("arrays keep being arrays, also empty ones", function()
  t.equal(round "[]", "[]")
  t.equal(round "{}", "{}")
  t.equal(round [[{"a":[],"b":{}}]], [[{"a":[],"b":{}}]])
  t.equal(json.encode(json.array()), "[]")
  t.equal(json.encode(json.array {}), "[]")
  t.equal(json.encode {}, "{}")
  t.ok(json.is_array(json.decode "[]"))
  t.ok(not json.is_array(json.decode "{}"))
  t.ok(not json.is_array "text")
  local list = { 1 }
  t.equal(json.array(list), list)
  local strings = debug.getmetatable ""
  json.array({}, "more than it takes")
  local after = debug.getmetatable ""
  debug.setmetatable("", strings) -- or the test could not even say what is wrong
  t.equal(after, strings)
end)

t.test("keys are sorted, so that equal values are equal texts", function()
  t.equal(json.encode { b = 1, a = 2, ["a\0"] = 3, aa = 4, Z = 5 }, [[{"Z":5,"a":2,"a\u0000":3,"aa":4,"b":1}]])
end)

t.test("texts in all planes, and escapes", function()
  t.equal(json.decode [["\ud83d\ude00 \u00e9 \/ \" \\ \b\f\n\r\t"]], "😀 é / \" \\ \b\f\n\r\t")
  t.equal(json.decode(json.encode "😀\n\1\127"), "😀\n\1\127")
end)

t.test("what is malformed fails, with the place", function()
  for _, text in ipairs { "", " ", "{", "[1,]", "{\"a\":1,}", "01", "1.", ".5", "+1", "nul", "'a'", "[1] 2", "\"\1\"",
    [["\x"]], [["\ud80"]], "\"\255\"", "[1 2]", "{1:2}", "NaN", "-Infinity", "\239\187\191{}", "1e", "\"a" } do
    local value, err = json.decode(text)
    t.equal(value, nil, text)
    t.equal(err.code, "parse", text)
    t.ok(#err.message > 5)
    t.matches(tostring(err), "^parse: ")
  end
end)

t.test("a number that would lose digits, or become infinite, is refused with its place", function()
  for _, text in ipairs { "12345678901234567890", "-9223372036854775809", "18446744073709551615", "1e400", "-1e999", "123456789012345678901234567890",
    "9223372036854775808000000000000000000001" } do
    local value, err = json.decode('{"a":[1,' .. text .. "]}")
    t.equal(value, nil, text)
    t.equal(err.code, "parse")
    t.has(err, "line 1, column 9: a number has more digits")
  end
  for text, value in pairs { ["9223372036854775807"] = math.maxinteger, ["-9223372036854775808"] = math.mininteger, ["10000000000000000000"] = 1e19,
    ["1e300"] = 1e300, ["0.1234567890123456789"] = 0.12345678901234568, ["1e-400"] = 0, ["3.0"] = 3, ["100000000000000000000000"] = 1e23 } do
    t.equal(json.decode(text), value, text)
  end
end)

t.test("depth is limited both ways", function()
  t.ok(json.decode(("["):rep(128) .. ("]"):rep(128)))
  t.equal(json.decode(("["):rep(129) .. ("]"):rep(129)), nil)
  t.equal(json.decode(("["):rep(1000000)), nil)
  local loop = {}
  loop[1] = loop
  t.raises("inside itself", json.encode, loop)
  local deep = json.array()
  for _ = 1, 127 do deep = { deep } end
  t.equal(#json.encode(deep), 256)
  t.raises("nested deeper", json.encode, { deep })
end)

t.test("what JSON cannot hold raises", function()
  t.raises("cannot encode a function", json.encode, print)
  t.raises("cannot encode a function", json.encode, { a = { print } })
  t.raises("cannot encode", json.encode, 0 / 0)
  t.raises("cannot encode", json.encode, math.huge)
  t.raises("both 1 to n and other keys", json.encode, { 1, 2, x = 3 })
  t.raises("key of type boolean", json.encode, { [true] = 1 })
  t.raises("key of type number", json.encode, { [2.5] = 1 })
  t.raises("cannot encode a userdata", json.encode, io.stdout)
  t.raises("string expected", json.decode, {})
  t.raises("", json.encode)
  t.raises("table expected", json.array, "x")
end)

t.test("invalid UTF-8 never leaves as it came", function()
  local text = json.encode { s = "a\255b\192\128" }
  t.ok(utf8.len(text), "the text is not valid UTF-8")
  t.ok(json.decode(text))
end)

t.test("duplicate keys are refused or the last one counts", function()
  local value = json.decode [[{"a":1,"a":2}]]
  if value then t.equal(value.a, 2) end
end)

t.test("large texts", function()
  local big = ("x"):rep(5 << 20)
  t.equal(json.decode(json.encode { big }) [1], big)
  local many = {}
  for i = 1, 100000 do many[i] = i end
  t.same(json.decode(json.encode(many)), many)
end)

-- ---- YAML ------------------------------------------------------------------------------

t.test("yaml: scalars of the core schema", function()
  local value = assert(yaml.decode "a: 1\nb: 1.5\nc: true\nd: no\ne: ~\nf: 'x: y'\ng: 1_000\nh: \"\\u00e9\"\n")
  t.equal(value.a, 1)
  t.equal(value.b, 1.5)
  t.equal(value.c, true)
  t.equal(value.d, "no")
  t.equal(value.e, json.null)
  t.equal(value.f, "x: y")
  t.equal(value.g, "1_000")
  t.equal(value.h, "é")
end)

t.test("yaml: lists, maps, places", function()
  local value, places = yaml.decode("tools: [one, two]\nlist:\n  - a\n  - b: 1\n", 10)
  t.same(value, { tools = { "one", "two" }, list = { "a", { b = 1 } } })
  t.ok(json.is_array(value.tools))
  t.same(places["/tools/1"], { 10, 14 })
  t.same(places["/list/0"], { 12, 5 })
  t.same(places["#/list"], { 11, 1 })
end)

t.test("yaml: an empty text is an empty map", function()
  t.same(yaml.decode "", {})
  t.same(yaml.decode "# only a comment\n", {})
end)

t.test("yaml: what is refused says line and column", function()
  local cases = {
    { "a: 1\nb: *x\n", "2:4: " }, { "a: &x 1\n", "1:4: " }, { "a: !!int 1\n", "1:4: " }, { "a: 1\nb: 2\na: 3\n", "3:1: " },
    { "a: 1\n---\nb: 2\n", "3:1: " }, { "a: [1, 2\n", "^%d+:%d+: " }, { "a: 'x\n", "^%d+:%d+: " }, { "a: b: c\n", "1:" },
    { "? [a]\n: 1\n", "1:" }, { "\ta: 1\n", "1:" }, { "a: \"\255\"\n", "" },
  }
  for _, case in ipairs(cases) do
    local value, err = yaml.decode(case[1])
    t.equal(value, nil, case[1])
    if case[2]:sub(1, 1) == "^" then t.matches(err, case[2]) else t.has(err, case[2], case[1]) end
  end
end)

t.test("yaml: size and depth are limited", function()
  t.fails("limit", "64 KB", yaml.decode("a: " .. ("x"):rep(70000)))
  t.equal(yaml.decode(("["):rep(33) .. ("]"):rep(33)), nil)
  t.ok(yaml.decode(("["):rep(30) .. ("]"):rep(30)))
end)

return t.finish()
