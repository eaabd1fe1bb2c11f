--- What a model's text says, as JSON: with a schema and without.
local t = require "harness"
local json = require "hocket.json"
local schema = require "hocket.schema"

local plan = assert(schema.compile {
  type = "object", required = { "type" },
  properties = {
    type = { enum = { "task", "talk" } }, note = { type = "string" }, free = true, maybe = { type = { "string", "null" } },
    tasks = { type = "array", items = { type = "object", required = { "id" }, properties = { id = { type = "string" }, after = { type = "array" } } } },
  },
})

t.test("the first value that a text holds, and its JSON", function()
  local value, text = json.find 'So {a: 1, "b": [True,]} it is.'
  t.same(value, { a = 1, b = { true } })
  t.equal(text, '{"a":1,"b":[true]}')
  t.ok(json.is_array(json.find "[]"))
  t.fails("parse", "no JSON", json.find "nothing")
  t.fails("parse", "cut off", json.find '{"a": 1')
  t.raises("string expected", function() json.find {} end)
end)

t.test("of several values the first that fits", function()
  local value, text = plan:read 'As in {"type": "x"} or [1]: {"type": "task", "note": "a } b"} or {"type": "talk"}'
  t.equal(value.note, "a } b")
  t.equal(text, '{"type": "task", "note": "a } b"}')
end)

t.test("null in a member that may be left out is left out, and nowhere else", function()
  local value, text = plan:read '{"type": "task", "note": null, "maybe": null, "free": null, "tasks": [{"id": "a", "after": null}]}'
  t.same(value, { type = "task", maybe = json.null, free = json.null, tasks = { { id = "a" } } })
  t.equal(text, '{"type":"task","maybe":null,"free":null,"tasks":[{"id":"a"}]}')
  local none, wrong = plan:read '{"type": null, "note": null}'
  t.equal(none, nil)
  t.has(wrong, "/note: expected string, got null") -- as it was written
  t.equal(plan:read '{"type": "task", "tasks": [null]}', nil)
  t.equal(plan:read "null", nil)
  local many = {}
  for i = 1, 60 do many[i] = ('{"id": "t%d", "after": null}'):format(i) end
  t.equal(#plan:read(('{"type": "task", "tasks": [%s]}'):format(table.concat(many, ","))).tasks, 60)
  local odd = assert(schema.compile { type = "object", properties = { ["a/b~c"] = { type = "string" }, [""] = { type = "string" } } })
  t.same(odd:read '{"a/b~c": null, "": null, "d": 1}', { d = 1 })
end)

t.test("what is wrong is said of the longest value; a text without any says nothing", function()
  local none, wrong = plan:read('{"x": 1} and {"type": "neither", "note": 3}', "the plan does not fit")
  t.equal(none, nil)
  t.has(wrong, "the plan does not fit")
  t.has(wrong, "/note")
  none, wrong = plan:read "just words"
  t.equal(none, nil)
  t.equal(wrong, nil)
  none, wrong = plan:read '{"type": "task", "tasks": [{"id": "a"}, {"type": "task"}'
  t.equal(none, nil) -- it was cut, and its parts are not what was meant
  t.equal(wrong, nil)
end)

t.test("hostile texts cost no more than a small multiple of their length", function()
  for _, part in ipairs { "{", "[", '{"a":', "[[", '{"type":"x"}', '{"type":null,"note":null}', "```", "{}", '{"type":"task","tasks":[' } do
    local begin = os.clock()
    plan:read(part:rep(200000 // #part))
    json.find(part:rep(200000 // #part))
    t.ok(os.clock() - begin < 5, part)
  end
end)

return t.finish()
