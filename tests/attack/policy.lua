--- What a machine's policy says, against everybody who asks for more: a run that begins by any command, a request within a process, a run that is
--- continued, one that was imported, and texts in place of options. Of all of them nothing is left that the policy does not give.
local attack = require "attack"
local consent = require "hocket.internal.run.consent"
local json = require "hocket.json"
local limits = require "hocket.internal.models.limits"
local machine_policy = require "hocket.internal.models.machine_policy"
local proof = require "hocket.internal.run.proof"

local class = attack.class("policy", true)

-- ---- What a policy says of a key, and what may be left ------------------------------------------------

local ranks = { limits = 1, best = 1, landlock = 2, required = 2, bubblewrap = 3 }

-- What is left where it is used: programs and the network ask the policy once more (tools/sandbox.lua, tools/shell.lua). A level that nobody
-- knows is refused there.
local function used(left)
  left.network = machine_policy.network(left.network)
  left.sandbox = limits.sandbox(left.sandbox, machine_policy.sandbox())
  return left
end

local function is_less(value, most) return math.type(value) ~= nil and value <= most end

local function within_hosts(value, hosts)
  if value == nil or value == "none" or value == false then return true end
  if type(value) ~= "string" then return false end
  for host in value:gmatch "[^,]+" do
    local known = false
    for _, one in ipairs(hosts) do known = known or one == host:lower() end
    if not known then return false end
  end
  return true
end

local keys = {
  { "sandbox", { { "required", 2 }, { "landlock", 2 }, { "bubblewrap", 3 } }, function(left, rank) return (ranks[left.sandbox] or rank) >= rank end },
  { "network", { { "none", {} }, { "[a.example]", { "a.example" } }, { "[a.example, b.example]", { "a.example", "b.example" } } }, function(left, hosts) return within_hosts(left.network, hosts) end },
  { "max_turns", { { "1", 1 }, { "7", 7 } }, function(left, most) return is_less(left.max_turns, most) end },
  { "timeout", { { "0.5", 0.5 }, { "60", 60 } }, function(left, most) return is_less(left.timeout, most) end },
  { "jobs", { { "1", 1 }, { "4", 4 } }, function(left, most) return is_less(left.jobs, most) end },
  { "budget", { { "{cost: 0.5}", 0.5 }, { "{cost: 0.5, tokens: 100}", 0.5 } }, function(left, most) return type(left.budget) == "table" and is_less(left.budget.cost, most) end },
  { "trust", { { "ask", false }, { "none", false }, { "[/srv/agents]", true } }, function(left, free) return free or left.trust ~= true end },
}

-- What somebody asks for in its place.
local wishes = {
  sandbox = { "limits", "best", "off", "none", "", 0, false, { "limits" }, "LIMITS", json.null },
  network = { "all", true, "*", "a.example,evil.example", { "*" }, { "all" }, "evil.example", "*.example", json.null },
  max_turns = { 8, 1 << 40, 1e18, -1, "50", 7.5, true, json.null, {} }, timeout = { 61, 1e300, -1, "3600", math.huge, true, json.null, {} }, jobs = { 5, 1 << 40, -1, "64", true, json.null, {} },
  budget = { { cost = 9 }, { cost = -1 }, { cost = "9" }, { cost = 1e300 }, { tokens = 1e9 }, {}, "9", true, json.null }, trust = { true, "ask", 1, "yes", { "/" } },
}

-- ---- Who asks -------------------------------------------------------------------------------------------

local ID = "01KANC3V0QZJ9E4W2X6T8B5M7A"

local function finite(options)
  local ok, text = pcall(json.encode, options)
  return ok and text or nil
end

local function row(options, ours)
  local text = finite(options)
  return text and { id = ID, target = "a.md", input = "x", options = ours and proof.mark(ID, "a.md", "x", text) or text }
end

-- What holds for a run whose row says this, when it begins to do something here.
local function continued(options, ours, given)
  local one = row(options, ours)
  if not one then return nil end
  return json.decode((consent.decide(one, json.encode(given), true)))
end

-- The same of a run that has done something: what is said to it beside what it has.
local function cut(options, ours, given)
  local one = row(options, ours)
  if not one then return nil end
  local _, _, wish = consent.decide(one, json.encode(given), false)
  local said = wish and json.decode(wish).given or {}
  local left = limits.both(options, said)
  left.sandbox, left.trust = limits.sandbox(options.sandbox, said.sandbox), false
  left.network = said.network ~= nil and limits.network(options.network, said.network) or options.network
  return left
end

local entries = {
  ["run, chat, eval, mcp, acp, schedule"] = function(options) return machine_policy.begin(options) end,
  ["a program in C or Lua"] = function(options)
    local text = finite(options)
    return text and json.decode(machine_policy.narrow(text))
  end,
  ["a request to serve"] = function(options)
    local process, merged = machine_policy.begin { max_turns = 50, timeout = 3600, jobs = 64, budget = { cost = 100 }, sandbox = "best", network = "all", trust = true }, {}
    for _, from in ipairs { process, options, limits.both(process, options) } do
      for name, value in pairs(from) do merged[name] = value end
    end
    return machine_policy.begin(merged)
  end,
  ["resume, fork, work of our own run"] = function(options)
    options.consent = true
    return continued(options, true, { consent = true })
  end,
  ["resume with options"] = function(options) return continued({ consent = true }, true, (function() options.consent = true return finite(options) and options or {} end)()) end,
  ["an imported run"] = function(options) return continued(options, false, { consent = true }) end,
  ["a client that continues a run"] = function(options) return continued(options, true, { consent = false }) end,
  ["our own run, at work before"] = function(options)
    options.consent = true
    return cut(options, true, { consent = true })
  end,
}

-- ---- The table --------------------------------------------------------------------------------------------

for _, key in ipairs(keys) do
  local name, values, holds = key[1], key[2], key[3]
  for _, value in ipairs(values) do
    assert(machine_policy.set { { name = "p", text = ("%s: %s"):format(name, value[1]) } })
    for _, wish in ipairs(wishes[name]) do
      for entry, ask in pairs(entries) do
        local ok, left = pcall(ask, { [name] = wish })
        local what = ("%s: %s, against %s by %s"):format(name, value[1], finite(wish) or "no number", entry)
        local wrong
        if not ok then wrong = tostring(left) end
        if ok and left and not holds(used(left), value[2]) then wrong = "left: " .. tostring(finite(left) or left[name]) end
        class:check(what, wrong)
      end
    end
  end
end
assert(machine_policy.set {})

return class:finish()
