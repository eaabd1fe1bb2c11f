--- What evaluations are made of: statistics against values that were worked out elsewhere, files of cases and what is wrong with
--- them, comparisons with a baseline, JUnit.
local t = require "harness"
local call_checks = require "hocket.internal.eval.call_checks"
local cases = require "hocket.internal.eval.cases"
local compare = require "hocket.internal.eval.compare"
local json = require "hocket.json"
local junit = require "hocket.internal.eval.junit"
local stats = require "hocket.internal.eval.stats"
local text_checks = require "hocket.internal.eval.text_checks"

local function near(got, wanted, what)
  t.ok(math.abs(got - wanted) <= 1e-12 * math.max(1, math.abs(wanted)) + 1e-13, ("%s: expected %.17g, got %.17g"):format(what, wanted, got))
end

-- Roots of (p - rate)² = z² p (1 - p) / n, in decimal arithmetic of 40 digits.
local intervals = {
  { 10, 10, 0.7224672001371107, 1.0 }, { 0, 10, 0.0, 0.27753279986288926 }, { 8, 10, 0.4901624715366417, 0.9433178485456247 },
  { 1, 1, 0.2065493143772374, 1.0 }, { 81, 263, 0.2552885198782742, 0.36620957698280004 }, { 500, 1000, 0.4690696003681042, 0.5309303996318958 },
}

t.test("Wilson's interval", function()
  for _, row in ipairs(intervals) do
    local low, high = stats.wilson(row[1], row[2])
    near(low, row[3], ("low of %d/%d"):format(row[1], row[2]))
    near(high, row[4], ("high of %d/%d"):format(row[1], row[2]))
  end
  t.same({ stats.wilson(0, 0) }, { 0.0, 1.0 })
end)

-- Sums of hypergeometric terms, in rational arithmetic.
local tests = {
  { 10, 10, 7, 10, 0.10526315789473684 }, { 3, 3, 0, 3, 0.05 }, { 5, 5, 2, 5, 0.08333333333333333 }, { 20, 20, 15, 20, 0.02356202356202356 },
  { 8, 10, 9, 10, 0.8947368421052632 }, { 100, 100, 95, 100, 0.029691605234293292 }, { 9, 10, 1, 10, 0.000546666955335686 }, { 1, 1, 0, 1, 0.5 },
  { 0, 5, 0, 5, 1.0 }, { 10, 10, 10, 10, 1.0 },
}

t.test("Fisher's exact test, one-sided", function()
  for _, row in ipairs(tests) do near(stats.fisher(row[1], row[2], row[3], row[4]), row[5], ("%d/%d -> %d/%d"):format(row[1], row[2], row[3], row[4])) end
  local large = stats.fisher(500, 1000, 450, 1000)
  t.ok(math.abs(large - 0.014101784452117006) < 1e-10, tostring(large))
end)

t.test("medians and means", function()
  t.equal(stats.median { 3.0, 1.0, 2.0 }, 2.0)
  t.equal(stats.median { 4.0, 1.0, 2.0, 3.0 }, 2.5)
  t.equal(stats.median {}, nil)
  t.equal(stats.mean { 1.0, 2.0 }, 1.5)
end)

-- ---- Files ------------------------------------------------------------------------------------------

local function problems_of(dir, text, name)
  local path = dir:write(name or "x.eval.yaml", text)
  local list, problems = cases.read { path }
  local lines = {}
  for i, one in ipairs(problems) do lines[i] = ("%d:%d: %s"):format(one.line, one.column, one.message) end
  return table.concat(lines, "\n"), list
end

t.test("what is wrong is told with its place, all of it", function()
  local dir <close> = t.dir()
  local wrong = problems_of(dir, [[
defaults: {target: x, tagz: a}
cases:
  - name: one
    expct: {}
    expect:
      limits: {cost: -1}
      pattern: "a(b"
      calls: [{tool: a, never: b}, {times: 2}]
      files: {../x: true}
      lua: "return (1"
    answers: [{tool: x}]
  - name: two
    repeat: 1001
    files: /etc
    attach: a/../../b
  - name: "three\x07"
  - {name: four, repeat: 2.5, pass: 2, input: [1]}
]])
  for _, expected in ipairs { "1:23: unknown key 'tagz': did you mean 'tags'?", "4:5: unknown key 'expct': did you mean 'expect'?", "6:22: 'expect.limits.cost'", "7:16:",
    "8:15: a call is expected by 'tool', by 'order' or by 'never'", "8:36: a call", "9:15: '../x'", "11:15: what is answered is missing", "13:13: 'repeat'",
    "14:12: 'files'", "15:13: 'attach'", "16:11: 'name' must not contain control characters", "17:26: 'repeat'", "17:37: 'pass'" } do
    t.has(wrong, expected)
  end
  t.has(problems_of(dir, "- {name: a, target: x, expect: {lua: 'return (1'}}"), "1:38:")
end)

t.test("files that are none", function()
  local dir <close> = t.dir()
  t.has(problems_of(dir, "a: &a [1]\nb: *a"), "1:4: anchors")
  t.has(problems_of(dir, ("["):rep(5000)), "nested more than 32")
  t.has(problems_of(dir, "- name: " .. ("x"):rep(70000)), "make several of it, or one of JSONL")
  t.has(problems_of(dir, ""), "a list of cases is expected")
  t.has(problems_of(dir, "cases: []"), "there are no cases")
  t.has(problems_of(dir, '{"name": "a"}\n{"name": "a",}\n[]\n', "x.eval.jsonl"), "2:14:")
  t.has(problems_of(dir, '{"name": "a"}\n\n{"name": "a"}\n', "x.eval.jsonl"), "3:1: there is another case 'a' (")
  t.has(problems_of(dir, '{"name": "a\\u0000"}\n', "x.eval.jsonl"), "1:1: 'name' must not contain control characters")
  t.has(problems_of(dir, "- {name: a, expect: {schema: {type: 3}}}"), "is no JSON Schema")
end)

t.test("nothing outside of the folder is read", function()
  local dir <close> = t.dir()
  dir:write("secret", "s")
  dir:write("in/file", "f")
  assert(os.execute(("ln -s .. '%s/in/up'; ln -s ../secret '%s/in/fixture-link'"):format(dir.path, dir.path)))
  for _, case in ipairs { "files: up", "attach: up/secret", "replay: up/secret", "expect: {lua: up/x.lua}", "expect: {schema: up/secret}", "files: ." } do
    local wrong = problems_of(dir, "- {name: a, target: x, " .. case .. "}", "in/x.eval.yaml")
    t.ok(wrong:find("leads out", 1, true) or wrong:find("symbolic link", 1, true), case .. ": " .. wrong)
  end
end)

t.test("defaults, and what makes a case another one", function()
  local dir <close> = t.dir()
  local function digest(text)
    local wrong, list = problems_of(dir, text)
    t.equal(wrong, "")
    return list[1].digest, list[1]
  end
  local base, case = digest "defaults: {target: x, tags: a, variables: {a: 1}, expect: {contains: y, not: z}}\ncases: [{name: n, input: i, variables: {b: 2}, expect: {not: w}}]"
  t.same(case.spec.expect, { contains = "y", ["not"] = "w" })
  t.same(case.spec.variables, { a = 1, b = 2 })
  t.equal(digest "- {name: m, target: other, tags: q, repeat: 3, input: i, variables: {a: 1, b: 2}, expect: {contains: y, not: w}}", base)
  t.ok(digest "- {name: n, target: x, input: i, variables: {a: 1, b: 2}, expect: {contains: y, not: v}}" ~= base)
  dir:write("fix/a", "1")
  local with = digest "- {name: n, target: x, files: fix}"
  dir:write("fix/a", "2")
  t.ok(digest "- {name: n, target: x, files: fix}" ~= with)
end)

-- ---- What is expected -------------------------------------------------------------------------------

local function failures(check, ...)
  local list = {}
  check(function(which, expected, got) list[#list + 1] = ("%s|%s|%s"):format(which, expected, got) end, ...)
  return table.concat(list, "\n")
end

t.test("texts", function()
  local text = 'Two days in Rome. {"city": "Rome", "days": [1, {"n": 2, "m": 3}], "none": null}'
  t.equal(failures(text_checks.run, { contains = { "Rome" }, ["not"] = "Porto", pattern = "^Two", not_pattern = { "x{3}" }, json = json.decode '{"city": "Rome", "days": [1, {"n": 2}], "none": null}' }, text, {}), "")
  t.has(failures(text_checks.run, { contains = { "Rome", "Porto" } }, text, {}), "contains|Porto|Two days")
  t.has(failures(text_checks.run, { ["not"] = "Rome" }, text, {}), "not|Rome|Two days in Rome")
  t.has(failures(text_checks.run, { json = { days = json.array { 1, 2 } } }, text, {}), "json|at /days/1: 2|at /days/1: ")
  t.has(failures(text_checks.run, { json = { days = json.array { 1 } } }, text, {}), "json|at /days: [1]")
  t.has(failures(text_checks.run, { json = { none = 1 } }, text, {}), "at /none: null")
  t.has(failures(text_checks.run, { json = { a = 1 } }, "no such thing", {}), "no JSON in")
  t.has(failures(text_checks.run, { schema = { type = "object", required = json.array { "country" } } }, text, {}), "schema|")
  t.equal(failures(text_checks.run, { text = "yes\n" }, " yes ", {}), "")
end)

t.test("calls", function()
  local calls = { { tool = "a", arguments = { x = 1, y = { z = 2 } }, agent = "one", result = "fine" }, { tool = "b", arguments = {} }, { tool = "a", arguments = {}, agent = "two" } }
  local fine = { "a", { tool = "a", times = 2 }, { tool = "a", arguments = { y = { z = 2 } }, max = 1 }, { tool = "a", agent = "two", result = nil }, { order = { "a", "b", "a" } },
    { never = "c" }, { tool = "a", arguments = '"x":1', result = "^fi" }, { tool = "c", times = 0 } }
  t.equal(failures(call_checks.run, json.array(fine), calls), "")
  t.has(failures(call_checks.run, "c", calls), "calls|c at least once|calls: a ×2, b")
  t.has(failures(call_checks.run, { tool = "a", times = 1 }, calls), "calls|a once|2 times")
  t.has(failures(call_checks.run, { never = json.array { "b", "c" } }, calls), "calls|b never|1 times")
  t.has(failures(call_checks.run, { order = { "b", "b" } }, calls), "b is missing behind b")
  t.has(failures(call_checks.run, { tool = "a", arguments = { x = 2 } }, calls), 'calls|a with {"x":2} at least once|a {"x":1')
  t.has(failures(call_checks.run, "a", {}), "no calls")
end)

-- ---- Beside a baseline --------------------------------------------------------------------------------

local function row(name, passed, measured, more)
  local made = { case = name, file = "f", model = "m", digest = "d", passed = passed, measured = measured, deterministic = false }
  for key, value in pairs(more or {}) do made[key] = value end
  return made
end

local function state(before, now)
  local compared = compare.run({ results = { before } }, { results = { now } }, 0.05, false)
  return compared.rows[1].state, compared.rows[1].rule
end

t.test("what has become worse", function()
  local sure = { deterministic = true }
  t.same({ state(row("a", 20, 20), row("a", 15, 20)) }, { "regression", "fisher" })
  t.same({ state(row("a", 10, 10), row("a", 7, 10)) }, { "worse", "fisher" })
  t.same({ state(row("a", 3, 3), row("a", 0, 3)) }, { "regression", "fisher" })
  t.same({ state(row("a", 1, 1), row("a", 0, 1)) }, { "regression", "few" })
  t.same({ state(row("a", 1, 2), row("a", 0, 2)) }, { "worse", "few" })
  t.same({ state(row("a", 10, 10, sure), row("a", 9, 10, sure)) }, { "regression", "deterministic" })
  t.same({ state(row("a", 10, 10), row("a", 9, 10, sure)) }, { "worse", "fisher" })
  t.same({ state(row("a", 7, 10), row("a", 10, 10)) }, { "better" })
  t.same({ state(row("a", 10, 10), row("a", 3, 3)) }, { "same" })
  t.same({ state(row("a", 10, 10), row("a", 0, 10, { digest = "e" })) }, { "changed" })
  t.same({ state(row("a", 10, 10), row("a", 0, 0)) }, { "unmeasured" })
  local both = compare.run({ results = { row("a", 1, 1), row("b", 1, 1) } }, { results = { row("a", 1, 1, { cost = 1.5 }), row("c", 1, 1) } }, 0.05, false)
  t.same(both.counts, { same = 1, new = 1, missing = 1 })
end)

t.test("what is no baseline", function()
  local dir <close> = t.dir()
  for text, expected in pairs {
    ["{"] = "no baseline", ["[]"] = "hocket eval --save makes one", ['{"hocket_eval":2,"results":[]}'] = "version 2",
    ['{"hocket_eval":1,"results":[{"case":"a"}]}'] = "result 1 of it is none", ['{"hocket_eval":1,"results":[{"case":"a","file":"f","model":"m","digest":"d","passed":2,"measured":1}]}'] = "result 1",
  } do
    local report, err = compare.read(dir:write("base.json", text))
    t.ok(report == nil and err.code == "agent", text)
    t.has(err.message, expected)
    t.has(err.message, "base.json:1:")
  end
end)

-- ---- JUnit --------------------------------------------------------------------------------------------

-- Tags in order, checked to be well-formed; texts and attributes as they are.
local function parse(xml)
  local open, tags = {}, {}
  t.ok(utf8.len(xml) and not xml:find "[%z\1-\8\11\12\14-\31]", "characters that XML cannot hold")
  for text, close, name, attributes, empty in xml:gsub("^<%?xml.-%?>", ""):gmatch "([^<]*)<(/?)([%w-]+)([^<>]-)(/?)>" do
    t.ok(not text:gsub("&%l+;", ""):gsub("&#%d+;", ""):find "&", "a bare & in: " .. text)
    local left = attributes:gsub('%s+[%w]+="[^"<]*"', "")
    t.equal(left, "", "attributes of " .. name)
    if close == "/" then t.equal(table.remove(open), name) elseif empty == "" then open[#open + 1] = name end
    if close == "" then tags[#tags + 1] = { name = name, attributes = attributes, parent = open[empty == "" and #open - 1 or #open] } end
  end
  t.equal(#open, 0)
  return tags
end

t.test("JUnit", function()
  local hostile = 'a "<b>" & \27[31m ]]> \0 \xff \u{FFFE} é'
  local report = { ended = "2026-11-23T07:00:00Z", results = {
    row(hostile, 0, 2, { ok = false, seconds = 0.5, attempts = { { turn = 1, run = "R1", failures = { { expect = "contains", expected = hostile, got = hostile } } } } }),
    row("none", 0, 0, { attempts = { { turn = 1, reason = hostile } } }), row("fine", 1, 1, { ok = true, seconds = 1, attempts = {} }), row("later", 0, 0, { skipped = hostile }),
  } }
  local xml = junit.of(report, function(one) return one.ok == true end)
  local names, inside = {}, {}
  for i, tag in ipairs(parse(xml)) do names[i], inside[tag.name] = tag.name, tag end
  t.equal(table.concat(names, " "), "testsuites testsuite properties testcase failure testcase error testcase testcase skipped system-out system-err")
  t.has(inside.testsuite.attributes, 'tests="4" failures="1" errors="1" skipped="1" time="1.500"')
  t.has(inside.testsuite.attributes, 'timestamp="2026-11-23T07:00:00"')
  t.has(xml, 'name="a &quot;&lt;b&gt;&quot; &amp; ?[31m ]]&gt; ? ')
  t.has(xml, "hocket show R1")
end)

return t.finish()
