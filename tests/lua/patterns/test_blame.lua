-- Who is to blame: what goes wrong at the end of x -> y -> z is z's, with the path, in errors, in `partial` and for whoever delegates.
local t = require "harness"
local delegation = require "hocket.tools.delegate_to_agent"
local fs = require "hocket.fs"
local hocket = require "hocket"
local json = require "hocket.json"
local process = require "hocket.process"

hocket.broker() -- its dispatcher lives as long as the host

local ends = {
  refuse = { reply = { refusal = "I will not." }, code = "provider", finish = "refusal", says = "the model refused to answer" },
  cut = { reply = { text = "Half", finish = "length" }, code = "limit", finish = "length", says = "the token limit" },
  fail = { reply = { status = 400, error = "bad" }, code = "http", says = "HTTP status 400" },
}
local how, kind

-- Who delegates, who hands out tasks and who works: by the prompt.
local roles = {
  z = function() return ends[how].reply end,
  lead = function(q) return q.last.role == "tool" and "Without it." or { calls = { { name = "delegate", arguments = { agent_name = q.system:match "lead of (%w+)" or "x", prompt = "go" } } } } end,
  editor = function(q)
    if q.last.role ~= "tool" then return { calls = { { name = "create_tasks", arguments = { tasks = { { text = "all", assigned_to = "x" } } } } } } end
    return #q.messages < 5 and { calls = { { name = "call_x", arguments = { task_ids = { 1 }, message = "go" } } } } or "Without it."
  end,
}

local served = assert(hocket.sim.serve { reply = function(q)
  local who = q.system:match "I am (%w+)"
  if who == "x" and kind == "router" then return { calls = { { name = "route_to", arguments = { agent = "y", reason = "x" } } } } end
  return roles[who] and roles[who](q) or who .. " says"
end })
hocket.provider("blame", { protocol = "openai_chat", base = served.base })

local function team_of(x)
  local team = {}
  local members = { { "z" }, { "y", { handoff = "z" } }, { "x", x }, { "lead", { tools = { "delegate" }, agents = { "x" } } }, { "editor", { tools = { "facilitator" }, agents = { "x" } } } }
  for _, member in ipairs(members) do
    local name, more = member[1], member[2] or {}
    local def = { name = name, description = name, prompt = "I am " .. name .. ".", model = "blame/m", retries = 0, team = team }
    for key, value in pairs(more) do def[key] = value end
    hocket.agent(def)
  end
  return team
end

-- x -> y -> z, by handoffs alone, and by a router first.
local chains = { handoff = { handoff = "y" }, router = { router = true, agents = { "y" } } }

for chain, x in pairs(chains) do
  for name, want in pairs(ends) do
    t.test(("%s: %s"):format(chain, name), function()
      how, kind = name, chain
      local team = team_of(x)
      local reply, err = hocket.run(team.x, "go")
      local what = err or reply.cut
      t.same({ what.agent, what.code, table.concat(what.path, " ") }, { "z", want.code, "x y z" })
      t.equal(reply and reply.finish, want.finish)

      for _, who in ipairs { "lead", "editor" } do
        local answer = assert(hocket.run(team[who], "go"))
        t.equal(#answer.partial, 1, who)
        local one = answer.partial[1]
        t.same({ one.agent, table.concat(one.path, " ") }, { "z", who .. " x y z" })
        t.matches(one.error, "x %-> y")
        t.has(one.error, want.says)
      end

      local response
      local asks = hocket.tool { name = "delegate", description = "x", steps = true, parameters = { type = "object" }, run = function()
        response = delegation.to_agent(team.x, "go")
        return "done"
      end }
      hocket.run(hocket.agent { name = "caller", prompt = "I am lead.", model = "blame/m", tools = { asks } }, "go")
      t.same({ response.agent_name, response.success, response.metadata.agent, table.concat(response.metadata.path, " ") }, { "x", false, "z", "x y z" })
      t.has(response.error, want.says)
    end)
  end
end

-- a -> b -> z, each by its tool delegate: b and a answer without it.
t.test("in a chain of delegates the path leads to who failed", function()
  for name, want in pairs(ends) do
    how, kind = name, "delegates"
    local team = {}
    for _, member in ipairs { { "z" }, { "b", "z" }, { "a", "b" } } do
      local to = member[2]
      hocket.agent { name = member[1], description = "x", prompt = to and ("I am lead of %s."):format(to) or "I am z.", model = "blame/m", retries = 0, tools = to and { "delegate" } or nil, agents = to and { to } or nil, team = team }
    end
    local reply = assert(hocket.run(team.a, "go"))
    t.equal(reply.text, "Without it.")
    t.equal(#reply.partial, 1)
    local one = reply.partial[1]
    t.same({ one.agent, one.code, table.concat(one.path, " ") }, { "z", want.code, "a b z" })
    t.has(one.error, want.says)
    one = assert(hocket.run(team.b, "go")).partial[1]
    t.same({ one.agent, one.path }, { "z" }) -- the run's agent called it itself
  end
end)

t.test("the result of a run, and its event", function()
  local dir <close> = t.dir()
  for name, more in pairs { z = "", y = "handoff: z\n", x = "handoff: y\n" } do
    dir:write("agents/" .. name .. ".md", ("---\nname: %s\ndescription: x\nretries: 0\n%s---\nI am %s."):format(name, more, name))
  end
  for name, want in pairs(ends) do
    how, kind = name, "handoff"
    local result = assert(process.run { argv = { process.launcher(), "run", "--json", "--store", "off", "--events", "ev", "--model", "openai-chat/m", "agents/x.md", "go" },
      cwd = dir.path, sandbox = "limits", network = true, sockets = true, env = { "PATH=/usr/bin:/bin", "HOME=" .. dir.path, "OPENAI_API_KEY=k", "OPENAI_BASE_URL=" .. served.base } })
    local told = json.decode(result.stdout).error
    t.same({ told.agent, told.code, table.concat(told.path, " ") }, { "z", want.code, "x y z" })
    t.has(result.stdout, "x -> y -> z")
    t.has(assert(fs.read(dir.path .. "/ev")), want.says)
    os.remove(dir.path .. "/ev")
  end
end)

t.test("who answers alone has no path", function()
  how = "fail"
  local _, err = hocket.run(team_of { handoff = "y" }.z, "go")
  t.same({ err.agent, err.path }, { "z" })
end)

return t.finish()
