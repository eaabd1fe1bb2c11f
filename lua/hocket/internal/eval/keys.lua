--- The keys of a case and of what it expects, and what each has to be.
local check = require "hocket.internal.eval.check"

local keys = {}

local text, word = check.text(1 << 20), check.text(200, true)
local count = check.integer(0, 1000000)

-- One of several forms, by what a value is.
local function either(forms, expected)
  local all = {}
  for _, kind in ipairs { "string", "boolean", "list", "object" } do
    local of = { type = kind == "list" and "array" or kind }
    if forms[kind] then all[#all + 1] = forms[kind] == check.any and of or check.form(forms[kind]) end
  end
  return check.takes(function(c, value, pointer)
    local kind = type(value)
    if kind == "table" then kind = check.is_object(value) and "object" or "list" end
    if forms[kind] then return forms[kind](c, value, pointer) end
    c:wrong(pointer, expected, value)
  end, { anyOf = all })
end

-- ---- What is expected ---------------------------------------------------------------------------

--- Of a text: of the answer, and of files.
local of_text = {
  text = text, contains = check.some(text, 100), ["not"] = check.some(text, 100),
  pattern = check.some(check.pattern, 100), not_pattern = check.some(check.pattern, 100),
  schema = either({ string = check.path, object = check.schema }, "a JSON Schema, or the name of a file with one"),
  json = check.any,
}

local function joined(...)
  local all = {}
  for _, some in ipairs { ... } do
    for name, one in pairs(some) do all[name] = one end
  end
  return all
end

local a_call = {
  tool = word, agent = word, arguments = either({ string = check.pattern, object = check.any }, "an object, or a regular expression"),
  result = check.pattern, times = count, min = count, max = count, order = check.list(word, 100), never = check.some(word, 100),
}

local function call(c, value, pointer)
  if type(value) == "string" then return word(c, value, pointer) end
  check.object(c, value, pointer, a_call)
  if not check.is_object(value) then return end
  local kinds = (value.tool and 1 or 0) + (value.order and 1 or 0) + (value.never and 1 or 0)
  if kinds ~= 1 then c:say(pointer, "a call is expected by 'tool', by 'order' or by 'never'") end
  if value.times and (value.min or value.max) then c:say(pointer, "'times' stands alone, without 'min' and 'max'") end
end
check.takes(call, { anyOf = { check.form(word), check.form_of(a_call) } })

local a_file = either({ boolean = check.boolean, string = text, object = check.an_object(of_text) },
  "the file's text, an object of what is expected of it, true (there is one) or false (there is none)")

local function inside(c, value, pointer)
  if not check.is_inside(value) then c:say(pointer, "'%s': a path below the run's folder, without '..', expected", tostring(value):sub(1, 60)) end
end

keys.limits = { cost = check.number(0, 1e6), turns = count, calls = count, tokens = check.integer(0, 1 << 40), seconds = check.number(0, 1e6) }

keys.expect = joined(of_text, {
  calls = check.some(call, 100), files = check.map(a_file, 200, inside), limits = check.an_object(keys.limits),
  lua = text, error = check.text_or_object(word, { code = word, message = check.pattern }),
  judge = check.text_or_object(text, { rubric = text, agent = check.path, model = word, min_score = check.number(0, 1) }),
})

-- ---- A case --------------------------------------------------------------------------------------

local an_answer = check.text_or_object(text, { say = text, question = check.pattern, tool = word, arguments = check.pattern, once = check.boolean })

local function answer(c, value, pointer)
  an_answer(c, value, pointer)
  if check.is_object(value) and value.say == nil then c:say(pointer, "what is answered is missing: 'say' (to a call: allow, deny)") end
end
check.takes(answer, check.form(an_answer))

local function scalar(c, value, pointer)
  if type(value) == "table" or value == nil then c:wrong(pointer, "a text or a number", value) end
end
check.takes(scalar, { type = { "string", "number", "boolean", "null" } })

local an_input = either({ string = check.text(4 << 20), object = check.any, list = check.any }, "a text, or an object")

--- What a file's `defaults` can hold as well.
keys.common = {
  target = check.text(1000, true), files = either({ string = check.path, object = check.map(check.text(4 << 20), 1000, inside) }, "a folder, or an object of paths and texts"),
  attach = check.some(check.path, 100), variables = check.map(scalar, 200), approve = check.some(word, 100), answers = check.list(answer, 100),
  model = word, models = check.map(word, 100), max_turns = check.integer(1, 100000), timeout = check.number(0.001, 1e6),
  max_cost = check.number(0, 1e6), max_tokens = check.integer(0, 1 << 40), network = check.some(word, 100), sandbox = word,
  input = an_input, ["repeat"] = check.integer(1, 1000), pass = check.number(0, 1), tags = check.some(word, 50), expect = check.an_object(keys.expect),
}

keys.case = joined(keys.common, {
  name = word, description = check.text(10000), skip = check.text(200, true), replay = check.path,
})

--- A file of cases as a JSON Schema, for editors.
---@return table
function keys.json_schema()
  local cases = { type = "array", items = check.form_of(keys.case) }
  return { anyOf = { cases, { type = "object", required = { "cases" }, additionalProperties = false,
    properties = { defaults = check.form_of(keys.common), cases = cases } } } }
end

return keys
