--- The JSON Schemas of our files take all that their readers take, and refuse what is wrong in its form.
local t = require "harness"
local agents = require "hocket.agent"
local check = require "hocket.internal.commands.check"
local fs = require "hocket.fs"
local json = require "hocket.json"
local providers = require "hocket.providers"
local schema = require "hocket.schema"
local yaml = require "hocket.yaml"

local function compiled(kind)
  return assert(schema.compile(assert(check.schema_of(kind))))
end

local root = os.getenv "HOCKET_SOURCE" or assert(debug.getinfo(1, "S").source:match "^@(.*)/tests/lua/agents/[^/]*$")

local function files_below(dir, ending, out)
  out = out or {}
  for _, name in ipairs(assert(fs.list(dir))) do
    local path = dir .. "/" .. name
    if fs.info(path).kind == "directory" then files_below(path, ending, out) elseif name:find(ending) then out[#out + 1] = path end
  end
  return out
end

local function head_of(path)
  local head = assert(fs.read(path)):match "^%-%-%-\n(.-\n)%-%-%-\n"
  return head and (assert(yaml.decode(head)))
end

t.test("all agents of the examples", function()
  local form, n = compiled "agent", 0
  for _, path in ipairs(files_below(root .. "/examples", "%.md$")) do
    local head = head_of(path)
    if head then
      local ok, why = form:check(head)
      t.ok(ok, ("%s: %s"):format(path, why))
      n = n + 1
    end
  end
  t.ok(n > 20, n)
end)

-- Front matter, and whether its form is one.
local heads = {
  { "name: a", true }, { "tools: [read_file]", true }, { "model: sim", true }, { "model: [sim, openai/gpt-6.1-terra]", true },
  { "team: [a, b]", true }, { "team: {members: [a], maxRounds: 3}", true }, { "team: {members: [a], terminationMode: maxRounds}", true },
  { "advisors: {agents: [a], required: true, timeout: 2.5}", true }, { "stop: END", true }, { "stop: [A, B]", true }, { "reasoning: low", true }, { "reasoning: 2000", true },
  { "memory: shop", true }, { "memory: {name: shop, scope: user}", true }, { "skills: true", true }, { "approve: ask", true },
  { "approve: {ask: [write_file], deny: ['execute_command(rm *)']}", true }, { "variables:\n  city: Porto\n  days:", true },
  { "mcp: [github]", true }, { "mcp: {github: {command: npx, args: [-y, x], env: {A: 1}}}", true }, { "output: {type: object}", true },
  { "document: [{day: integer}]", true }, { "server_tools: [web_search, {web_fetch: {max_uses: 3}}]", true }, { "body: {a: {b: 1}}", true },
  { "context: {at: 0.7, window: 2000}", true }, { "budget: {turns: 20, cost: 0.5}", true }, { "sandbox: required", true }, { "pool: gpu", true },
  { "nam: a", false }, { "name: 3a", false }, { "temperature: 3", false }, { "max_turns: 0", false }, { "max_turns: many", false }, { "tools: read_file", false },
  { "team: {members: [a], max_rounds: 101}", false }, { "sandbox: none", false }, { "approve: perhaps", false }, { "reasoning: some", false }, { "memory: a b", false },
  { "budget: {euros: 3}", false }, { "variables: [a]", false }, { "mcp: {github: {comand: npx}}", false },
}

t.test("front matter: the reader and the schema agree", function()
  local form = compiled "agent"
  for _, case in ipairs(heads) do
    local text, well = case[1], case[2]
    local value = (assert(yaml.decode(text)))
    local ok, why = form:check(value)
    t.equal(ok or false, well, ("%s: %s"):format(text, why))
    -- what the reader says of the form; who is called may be nobody here
    local head = text:find "^name" and text or "name: one\n" .. text
    local read, problems = agents.parse("---\n" .. head .. "\n---\nx {{city}} {{days}}\n", "one.md")
    t.equal(read ~= nil, well, ("%s: %s"):format(text, json.encode(problems or {})))
  end
end)

t.test("each key has a description, and the order of the guide", function()
  local text = json.encode(assert(check.schema_of "agent"))
  local at = 0
  for _, group in ipairs(agents.keys()) do
    for _, key in ipairs(group.keys) do
      if not key.name:find(".", 1, true) then
        local found = text:find(('"%s":{'):format(key.name), at, true)
        t.ok(found, key.name)
        at = found
      end
    end
  end
end)

t.test("providers.yaml", function()
  local form = compiled "providers"
  local function both(name, def, well)
    local ok, why = form:check { [name] = def }
    t.equal(ok or false, well, why)
    t.equal(providers.wrong(name, def) == nil, well)
  end
  both("mine", { protocol = "openai_chat", base = "https://llm.example/v1" }, true)
  both("mine", { protocol = "openai_chat", base = "https://llm.example/v1", key_env = { "A", "B" }, headers = { a = "b" }, limits = { requests = 3 },
    traits = { top_k = true, fields = { "seed" }, calls_in_text = false } }, true)
  both("mine", { protocol = "openai_chat" }, false)
  both("mine", { protocol = "other", base = "https://llm.example/v1" }, false)
  both("mine", { protocol = "openai_chat", base = "https://llm.example/v1", traits = { topk = true } }, false)
  both("mine", { protocol = "openai_chat", base = "https://llm.example/v1", limits = { requests = -1 } }, false)
  both("my cloud", { protocol = "openai_chat", base = "https://llm.example/v1" }, false)
end)

t.test("files of cases", function()
  local form = compiled "eval"
  local n = 0
  for _, path in ipairs(files_below(root .. "/examples", "%.eval%.ya?ml$")) do
    local ok, why = form:check((assert(yaml.decode(assert(fs.read(path))))))
    t.ok(ok, ("%s: %s"):format(path, why))
    n = n + 1
  end
  t.ok(n > 0)
  local function takes(text) return (form:check((assert(yaml.decode(text))))) or false end
  t.ok(takes "- input: hello\n  expect: {contains: [a, b], calls: [{tool: look, times: 2}], files: {a.md: true, b.md: {text: x}}}")
  t.ok(takes "cases:\n- {input: {a: 1}, answers: [yes, {say: no, once: true}], attach: a.png}")
  t.ok(not takes "- {inptu: hello}")
  t.ok(not takes "- {input: hello, expect: {limits: {turns: -1}}}")
  t.ok(not takes "defaults: {timeout: 3}")
end)

t.test("a policy", function()
  local form, policy_file, n = compiled "policy", require "hocket.internal.models.policy_file", 0
  local function both(text, well)
    local ok, why = form:check((assert(yaml.decode(text))))
    t.equal(ok or false, well, ("%s: %s"):format(text, why))
    t.equal(policy_file.read(text, "policy.yaml") ~= nil, well, text)
  end
  for text in assert(fs.read(root .. "/docs/guides/guardrails.md")):gmatch "\n```yaml file=[^\n]*\n(.-)```" do
    both(text, true)
    n = n + 1
  end
  t.ok(n > 1)
  both("{approve: ask, network: none, trust: none, hosts: [], sandbox_paths: /srv, timeout: 0.5, key_commands: false, jobs: 1}", true)
  both("{key_commands: [/bin/pass], serve: {listen: 127.0.0.1, all_runs: false}, retention_days: 1, budget: {turns: 3}}", true)
  for _, text in ipairs { "{max_turn: 3}", "{max_turns: 0}", "{max_turns: 1.5}", "{jobs: many}", "{timeout: -1}", "{approve: ''}", "{hosts: {a: b}}", "{models: [1]}",
    "{key_commands: true}", "{serve: {no_token: true}}", "{serve: {port: 1}}", "{serve: [1]}", "{budget: 5}", "{retention_days: 0}", "{sandbox: 3}" } do both(text, false) end
end)

t.test("a kind that is none", function()
  local made, err = check.schema_of "cake"
  t.fails("invalid", "agent, eval, policy, providers", made, err)
end)

return t.finish()
