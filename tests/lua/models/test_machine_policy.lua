-- Policies of a machine's owner: what is read, and that of two policies nothing is left that one of them forbids.
local t = require "harness"
local json = require "hocket.json"
local machine_policy = require "hocket.internal.models.machine_policy"
local policy_file = require "hocket.internal.models.policy_file"

local function read(text)
  local made, wrong = policy_file.read(text, "p")
  if not made then error(wrong, 2) end
  return made
end

t.test("what is wrong is said with its line", function()
  local cases = {
    { "sandbx: x", "p:1: unknown key 'sandbx': did you mean 'sandbox'?" }, { "# a\n\nmax_turns: 0", "p:3: 'max_turns' has to be a whole number" },
    { "max_turns: '5'", "p:1:" }, { "budget: {cost: -1}", "p:1: 'budget'" }, { "budget: 5", "p:1:" }, { "budget: {coins: 1}", "p:1:" }, { "timeout: .nan", "p:1:" },
    { "serve: 1", "p:1:" }, { "serve:\n  all_runs: true", "p:2: 'all_runs' has to be false" }, { "serve: {port: 1}", "p:1: unknown key 'port'" }, { "key_commands: true", "p:1:" },
    { "key_commands: [gcloud]", "p:1:" }, { "sandbox_paths: [srv]", "p:1: 'sandbox_paths' has to be a list of folders" }, { "sandbox_paths: false", "p:1:" }, { "trust: [agents]", "p:1:" }, { "trust: yes", "p:1:" }, { "models: {a: 1}", "p:1:" }, { "models: [1]", "p:1:" }, { 'hosts: "a\\nb"', "p:1:" },
    { "approve: {a: b}", "p:1:" }, { "sandbox: strong", "p:1:" }, { "network: true", "p:1:" }, { "from: {}", "p:1: unknown key 'from'" }, { "x", "p:1: a policy is keys" }, { "[1]", "p:1:" },
    { "approve: ask\napprove: allow", "p:2:" }, { "a: &x 1", "p:1:" }, { "retention_days: 0.5", "p:1:" }, { "listen: [a]", "p:1: unknown key 'listen'" },
  }
  for _, case in ipairs(cases) do
    local made, wrong = policy_file.read(case[1], "p")
    t.equal(made, nil, case[1])
    t.has(wrong, case[2])
  end
  for _, text in ipairs { "", "# nothing\n", "{}" } do t.same(read(text), { from = {}, lines = {} }) end
end)

-- Policies out of a few values for each key, with a generator of our own, so that all systems draw the same.
local seed = 7
local function draw(n)
  seed = (seed * 1103515245 + 12345) % (1 << 31)
  return seed // 65536 % n + 1
end

local values = {
  approve = { "ask", "deny", "[allow, 'execute_command=deny']" }, sandbox = { "best", "limits", "required", "landlock", "bubblewrap" }, network = { "all", "none", "[a.example, b.example]", "[b.example]" },
  hosts = { "['*.example']", "[a.example, c.test]", "[]" }, trust = { "ask", "none", "[/srv]", "[/srv/agents, /opt]", "[/]" }, models = { "['a/*']", "[a/x, b/y]", "[]" }, providers = { "[a]", "[a, b]", "[]" },
  budget = { "{cost: 1}", "{cost: 5, tokens: 10}", "{tokens: 0}" }, max_turns = { "1", "7" }, timeout = { "0", "9.5" }, jobs = { "2", "30" },
  key_commands = { "false", "[/a]", "[/a, /b]" }, sandbox_paths = { "[]", "[/srv]", "[/srv/agents, /opt]", "[/]" }, retention_days = { "1", "30" }, serve = { "{listen: [127.0.0.1]}", "{no_token: false}", "{all_runs: false, listen: ['::1', 127.0.0.1]}" },
}
local keys = {}
for name in pairs(values) do keys[#keys + 1] = name end
table.sort(keys)

local function policy()
  local lines = {}
  for _, name in ipairs(keys) do
    if draw(2) == 1 then lines[#lines + 1] = ("%s: %s"):format(name, values[name][draw(#values[name])]) end
  end
  return table.concat(lines, "\n")
end

local ranks = { best = 0, limits = 1, required = 2, landlock = 2, bubblewrap = 3 }

-- Everything that can be asked of a policy, as answers: true where it is allowed.
local function answers(list)
  assert(machine_policy.set(list))
  local all = {}
  local function ask(name, ok) all[name] = ok and true or false end
  for _, id in ipairs { "a/x", "a/z", "b/y", "c/x" } do ask("model " .. id, machine_policy.model(id)) end
  for _, host in ipairs { "a.example", "b.example", "c.test", "A.EXAMPLE", "a.example.evil" } do ask("host " .. host, machine_policy.host(host)) end
  for _, path in ipairs { "/srv/agents/x", "/srv", "/opt/y", "/srvx", "/home" } do
    local asks, refused = machine_policy.trust(path)
    ask("code " .. path, not refused)
    ask("opened " .. path, #machine_policy.opened(path, nil, function(p) return p end) == 1)
    ask("code unasked " .. path, not refused and not asks)
  end
  for _, program in ipairs { "/a", "/b", "/c" } do ask("key " .. program, machine_policy.key_command(program)) end
  for _, address in ipairs { "127.0.0.1", "::1", "0.0.0.0" } do ask("serve " .. address, machine_policy.serves { address = address }) end
  for _, name in ipairs { "no_token", "all_runs" } do ask("serve " .. name, machine_policy.serves { address = "127.0.0.1", [name] = true }) end
  local network = machine_policy.network("all")
  for _, host in ipairs { "a.example", "b.example", "c.test" } do ask("command to " .. host, network == "all" or (network .. ","):find(host .. ",", 1, true)) end
  local options = machine_policy.begin { max_turns = 20, timeout = 20, jobs = 20, budget = { cost = 20, tokens = 20 }, sandbox = "best", trust = true }
  for n = 0, 20 do
    for _, name in ipairs { "max_turns", "timeout", "jobs" } do ask(("%s %d"):format(name, n), n <= options[name]) end
    for _, name in ipairs { "cost", "tokens" } do ask(("%s %d"):format(name, n), n <= options.budget[name]) end
  end
  for level, rank in pairs { limits = 1, landlock = 2, bubblewrap = 3 } do ask("level " .. level, rank >= ranks[options.sandbox]) end
  local words, days = machine_policy.for_host()
  return all, words, days, options
end

t.test("what two policies leave is what each of them leaves, in either order", function()
  for _ = 1, 400 do
    local a, b = { name = "a", text = policy() }, { name = "b", text = policy() }
    local both, words, days = answers { a, b }
    local turned, others = answers { b, a }
    local of_a, words_a, days_a = answers { a }
    local of_b, words_b, days_b = answers { b }
    for name, ok in pairs(both) do
      local case = ("%s\n--- a:\n%s\n--- b:\n%s"):format(name, a.text, b.text)
      t.equal(ok, of_a[name] and of_b[name], case)
      t.equal(turned[name], ok, case)
    end
    t.equal(#words + #others, 2 * #words)
    t.equal(#words, #words_a + #words_b + (words_a ~= "" and words_b ~= "" and 1 or 0))
    t.equal(days, days_a == 0 and days_b or days_b == 0 and days_a or math.min(days_a, days_b))
  end
  assert(machine_policy.set {})
end)

t.test("no options of a run exceed it, and what it says nothing of stays", function()
  assert(machine_policy.set { { name = "p", text = "sandbox: required\nmax_turns: 5\nbudget: {cost: 1}\nnetwork: [a.example]\ntrust: ask" } })
  local left = machine_policy.begin { model = "a/x", approve = "allow", sandbox = "limits", max_turns = 50, budget = { cost = 9, turns = 3 }, network = "all", trust = true }
  t.same(left, { model = "a/x", approve = "allow", sandbox = "required", max_turns = 5, budget = { cost = 1, turns = 3 }, network = "a.example", trust = "ask" })
  t.same(machine_policy.begin {}, { sandbox = "required", max_turns = 5, budget = { cost = 1 } }) -- no network comes of it
  t.equal(machine_policy.narrow "nonsense", "nonsense")
  t.equal(json.decode(machine_policy.narrow '{"max_turns":3,"x":[]}').max_turns, 3)
  assert(machine_policy.set {})
  local text = '{"max_turns":50}'
  t.same(json.decode(machine_policy.narrow(text)), json.decode(text))
end)

t.test("a run keeps what was narrower when it began, and has what is narrower now", function()
  assert(machine_policy.set { { name = "p", text = "models: ['a/*']" } })
  local run = { machine_policy = machine_policy.current() }
  assert(machine_policy.set({}, true))
  t.equal(machine_policy.model("b/x", run), nil)
  t.equal(machine_policy.model "b/x", true)
  assert(machine_policy.set({ { name = "p", text = "models: ['*/x']" } }, true))
  t.equal(machine_policy.model("a/y", run), nil)
  t.equal(machine_policy.model("a/x", run), true)
  t.equal(machine_policy.model("sim", run), true)
  t.equal(machine_policy.model("sim-openai/x", run), true)
  local ok, wrong = machine_policy.set({ { name = "p", text = "modls: x" } }, true)
  t.equal(ok, nil)
  t.has(wrong, "p:1:")
  t.equal(machine_policy.model "a/y", nil, "the one from before stays")
  assert(machine_policy.set {})
end)

return t.finish()
