-- What holds for a run that is continued: of two words the stricter, who has begun it, and what a record says by its own word.
local t = require "harness"
local consent = require "hocket.internal.run.consent"
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local limits = require "hocket.internal.models.limits"
local policy = require "hocket.internal.run.policy"
local proof = require "hocket.internal.run.proof"
local state_dir = require "hocket.internal.run.state_dir"

t.test("of two limits the stricter one holds", function()
  for _, case in ipairs { { nil, nil, nil }, { "limits", nil, "limits" }, { "limits", "bubblewrap", "bubblewrap" }, { "bubblewrap", "limits", "bubblewrap" }, { "required", "landlock", "landlock" },
    { "best", "limits", "limits" }, { "nonsense", "limits", "nonsense" }, { "limits", "nonsense", "nonsense" } } do
    t.equal(limits.sandbox(case[1], case[2]), case[3], ("%s and %s"):format(case[1], case[2]))
  end
  for level, asked in pairs { limits = false, best = false, landlock = "required", required = "required", bubblewrap = "bubblewrap" } do
    t.equal(limits.demand(level) or false, asked, level)
  end
  for _, case in ipairs { { "all", "none", "none" }, { "all", "a.org", "a.org" }, { "a.org,b.org", "B.org,c.org", "B.org" }, { "a.org", "*.org", "none" }, { { "a.org" }, "all", { "a.org" } },
    { true, false, false }, { nil, "a.org", "a.org" } } do
    t.same(limits.network(case[1], case[2]), case[3])
    t.same(limits.restriction(case[1]), case[1] ~= "all" and case[1] ~= true and case[1] or nil)
  end
  t.same(limits.budget({ cost = 1, tokens = 50 }, { cost = 2, turns = 3 }), { cost = 1, tokens = 50, turns = 3 })
  t.same(limits.budget({ cost = "much" }, { cost = 2 }), { cost = 2 })
  t.equal(limits.least(nil, 3), 3)
  t.equal(limits.least(2, 3), 2)
  t.equal(limits.least("x", 3), 3)
end)

t.test("of layers what they forbid stays; what is no layer forbids all", function()
  local agent = { kind = "agent", name = "a", mode = "", rules = { { verdict = "allow", tool = "x" } } }
  local layers = { { kind = "run", name = "--approve", mode = "allow", rules = { { verdict = "deny", tool = "x" }, { verdict = "allow", tool = "y" } } }, agent,
    { kind = "operator", name = "o", mode = "allow", rules = {} }, { kind = "run", name = "r", mode = "ask", rules = {} } }
  t.same(policy.narrowed(layers), { { kind = "run", name = "--approve", mode = "", rules = { { verdict = "deny", tool = "x" } } }, agent, layers[4] })
  t.equal(policy.narrowed({ { kind = "run" } })[1].mode, "deny")
  t.equal(policy.narrowed({ 7 })[1].mode, "deny")
  t.same(policy.narrowed("x"), {})
  t.ok(policy.allows { approve = { "ask", "x=allow" } })
  t.ok(policy.allows { rules = layers })
  t.ok(not policy.allows { approve = "deny" })
  t.ok(not policy.allows { approve = {} })
end)

local ID, OTHER = "01KANC3V0QZJ9E4W2X6T8B5M7A", "01KANC3V0QZJ9E4W2X6T8B5M7B"

local function row(options, more)
  local one = { id = ID, target = "a.md", input = "hello" }
  one.options = proof.mark(one.id, one.target, one.input, json.encode(options))
  for name, value in pairs(more or {}) do one[name] = value end
  return one
end

t.test("a mark proves who has begun a run, and fits no other one", function()
  local mine = row { consent = true, approve = { "allow" } }
  t.ok(proof.is_file() and proof.is_ours(mine) and consent.is_given(mine))
  t.ok(not consent.is_given(row { consent = false }))
  t.ok(proof.is_ours(row({ consent = true }, { input = "hello" })))
  for _, other in ipairs { { id = OTHER }, { target = "b.md" }, { input = "other" }, { options = mine.options:gsub("allow", "deny") }, { options = proof.plain(mine.options) },
    { options = '{"consent":true,"made":""}' }, { options = "" }, { options = ('%s,"made":"%s"}'):format(proof.plain(mine.options):sub(1, -2), ("0"):rep(64)) } } do
    local changed = setmetatable(other, { __index = mine })
    t.ok(not proof.is_ours(changed), t.show(other))
    t.ok(not consent.is_given(changed))
  end
  local key = state_dir() .. "/consent-key"
  local text = assert(fs.read(key))
  t.ok(fs.info(key).private)
  assert(fs.write(key, text)) -- for everybody to read
  assert(fs.write(key, ("x"):rep(43) .. "\n", { private = true }))
  t.ok(not proof.is_ours(mine)) -- another user's
  assert(fs.write(key, text, { private = true }))
  t.ok(proof.is_ours(mine))
end)

-- What is said to a run that has done something; and what one begins with that has not.
local function decided(options, given, more)
  local own, instead, wish = consent.decide(row(options, more), json.encode(given), false)
  local fresh = consent.decide(row(options, more), json.encode(given), true)
  return json.decode(own), json.decode(instead), wish and json.decode(wish), json.decode(fresh)
end

t.test("consent that is given and proven holds, for who continues it so", function()
  local options = { consent = true, approve = { "allow" }, sandbox = "limits", network = "all", workdir = "/w" }
  local own, instead, wish, fresh = decided(options, { consent = true, trust = false, typed = true, interactive = true })
  t.equal(wish, nil)
  t.same(instead, { interactive = true })
  t.equal(own.workdir, "/w")
  t.equal(fresh.network, "all")
  _, _, wish, fresh = decided(options, { consent = true, approve = { "deny" }, network = "a.org" })
  t.ok(wish.counts)
  t.equal(fresh.network, "a.org")
  for _, given in ipairs { { consent = false }, { consent = true, n = 1 }, {} } do
    local foreign = given.n == 1 and { id = OTHER } or nil
    own, instead, wish, fresh = decided(options, given, foreign)
    t.ok(not wish.counts)
    t.equal(own.workdir, nil)
    for _, name in ipairs { "approve", "sandbox", "network", "workdir", "trust" } do t.ok(not fresh[name], name) end
    t.has(fresh.cut, "approve")
    t.equal(fresh.asks_anew, true)
  end
end)

t.test("where it counts for nothing the options of whoever continues it hold, and what the record forbids", function()
  local record = { consent = true, approve = { "allow", "x=deny" }, rules = { { kind = "operator", name = "o", mode = "allow", rules = {} } }, sandbox = "landlock", network = "a.org,b.org", trust = true, typed = true,
    mcp = { { name = "m", command = "sh" } }, files = { "/etc/passwd", { name = "n", data = "eA==" } }, record = "/tmp/x", replay = "/tmp/y", budget = { cost = 1 }, max_turns = 50,
    call = { rules = { { kind = "run", name = "r", mode = "allow", rules = {} } }, always = { 1 }, named_hosts = { "h" }, agent = "a" } }
  local _, _, _, fresh = decided(record, { consent = false, approve = { "ask" }, network = "b.org,c.org", budget = { cost = 5, tokens = 7 }, max_turns = 2, trust = "ask" })
  t.same(fresh.approve, { "ask" })
  t.same(fresh.rules, { { kind = "run", name = "--approve", mode = "", rules = { { verdict = "deny", tool = "x" } } } })
  t.equal(fresh.sandbox, "required")
  t.equal(fresh.network, "b.org")
  t.equal(fresh.trust, "ask")
  t.same(fresh.budget, { cost = 1, tokens = 7 })
  t.equal(fresh.max_turns, 2)
  t.same(fresh.files, { { name = "n", data = "eA==" } })
  for _, name in ipairs { "typed", "mcp", "record", "replay", "made" } do t.equal(fresh[name], nil, name) end
  t.same(fresh.call, { rules = json.array {}, agent = "a" })
  local own = decided({ consent = true, record = "/tmp/x" }, { consent = true, approve = { "deny" } })
  t.equal(own.record, nil)
end)

t.test("a record that is no options allows nothing", function()
  for _, text in ipairs { "", "[]", "7", "{", '{"approve":7,"rules":7,"files":7,"call":7,"budget":7,"network":{"a":1}}' } do
    local fresh = json.decode((consent.decide({ id = ID, target = "a", options = text }, "{}", true)))
    t.ok(not fresh.approve and not fresh.network, text)
  end
end)

return t.finish()
