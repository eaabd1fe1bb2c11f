local t = require "harness"
local approve = require "hocket.internal.run.policy"
local permission = require "hocket.permission"
local hocket = require "hocket"
local json = require "hocket.json"
local labels = require "hocket.internal.base.labels"
local orchestrate = require "hocket.orchestrate"
local s = require "scripted"
local tool = require "hocket.tool"

local path = { type = "object", properties = { path = { type = "string" }, paths = { type = "array" } } }

local function one(name, fields)
  local def = { name = name, description = name, parameters = path, run = function() return "done" end }
  for k, v in pairs(fields or {}) do def[k] = v end
  return tool(def)
end

local function ask_with(answer, asked)
  return function(about)
    asked[#asked + 1] = about
    return answer, answer == "deny" and "the user refused" or nil
  end
end

local function check(self, which, args)
  local events = {}
  local ok, why = self:check(which, args or {}, function(type, payload) events[#events + 1] = { type = type, reason = payload.reason, labels = payload.labels } end)
  return ok, why, events
end

-- ---- Rules as text ----------------------------------------------------------------------------

t.test("rules are read", function()
  t.equal(approve.word "allow", "allow")
  local verdict, rule = approve.word "execute_command(a=b c)=deny"
  t.equal(verdict, "deny")
  t.same({ rule.tool, rule.argument, rule.match }, { "execute_command", "a", "b c" })
  for _, bad in ipairs { "yes", "a=yes", "=allow", "a(=allow", "" } do t.ok(select(3, approve.word(bad))) end
end)

-- The model: one function for each agent, by the name in its model.
local function play(parts)
  s.reply = function(request) return parts[request.model](request) end
end

t.test("a bad rule ends the run before a model is asked", function()
  play { a = function() error "asked" end }
  local team = s.team { a = {} }
  for _, words in ipairs { "yes", { "allow", "a(=deny" } } do
    local _, reply, err = s.run(function() return orchestrate.call(team.a, "x") end, { approve = words })
    t.fails("invalid", "--approve", reply, err)
  end
  local _, reply, err = s.run(function() return orchestrate.call(team.a, "x") end, { approve = 7 })
  t.fails("invalid", "approve", reply, err)
end)

-- ---- The permission check by itself ---------------------------------------------------------------------------

t.test("every decision is an event with its reason", function()
  local write = one("write_file", { effects = { "write" }, subject = "path", places = { path = true } })
  local asked = {}
  local self = permission.new("a", { write, one "own" }, nil, { ask = ask_with("allow", asked) })
  local ok, _, events = check(self, write, { path = "x" })
  t.equal(ok, true)
  t.equal(asked[1].tool, "write_file")
  t.equal(asked[1].reason, "it changes files")
  t.equal(asked[1].arguments.path, "x")
  t.same(events, { { type = "tool_allowed", reason = "approved (it changes files)" } })
  ok, _, events = check(self, self.by_name.own)
  t.equal(ok, true)
  t.same(events, {}) -- there was nothing to decide
  local why
  ok, why, events = check(self, write, { path = ".git/config" })
  t.equal(ok, nil)
  t.has(why, "protected place")
  t.has(why, "It was not done")
  t.equal(events[1].type, "tool_denied")
  t.equal(#asked, 1)
end)

t.test("without a way to ask, ask means deny", function()
  local run = one("sh", { effects = { "run" } })
  local ok, why = check(permission.new("a", { run }), run)
  t.equal(ok, nil)
  t.has(why, "nobody is there to ask")
  ok, why = check(permission.new("a", { run }, nil, { ask = ask_with("deny", {}) }), run)
  t.equal(ok, nil)
  t.has(why, "the user refused")
end)

t.test("lists of arguments are judged element by element", function()
  local read = one("read_files", { effects = { "read" }, subject = "paths" })
  local layer = approve.of_agent { name = "a", approve = { deny = { { tool = "read_files", match = "secret/*" } } } }
  local self = permission.new("a", { read }, nil, { layers = { layer } })
  t.equal(check(self, read, { paths = { "a", "b" } }), true)
  local ok, why = check(self, read, { paths = { "a", "secret/b" } })
  t.equal(ok, nil)
  t.has(why, "secret/*")
end)

t.test("a tool that has been called often enough is denied", function()
  local rare = one("rare", { max_calls = 2 })
  local self = permission.new("a", { rare })
  t.equal(check(self, rare), true)
  t.equal(check(self, rare), true)
  local ok, why = check(self, rare)
  t.equal(ok, nil)
  t.has(why, "2 times at most")
end)

t.test("fields of tools are checked", function()
  t.raises("unknown effect 'fly'", one, "x", { effects = { "fly" } })
  t.raises("unknown label 'moon'", one, "x", { taints = "moon" })
  t.raises("unknown field 'effect'", one, "x", { effect = { "run" } })
end)

t.test("what reads has no event of its own until there is something to decide", function()
  local read, send = one("read", { effects = { "read" } }), one("send", { effects = { "send" } })
  local policy = { labels = labels.new() }
  local self = permission.new("a", { read, send, one "own" }, nil, policy)
  local allowed = { { type = "tool_allowed", reason = "needs no approval" } }
  local _, _, events = check(self, read)
  t.same(events, {})
  _, _, events = check(self, send)
  t.same(events, allowed)
  policy.labels:add(labels.bit "web")
  for _, name in ipairs { "read", "own" } do
    _, _, events = check(self, self.by_name[name])
    t.same(events, allowed)
  end
end)

-- ---- Labels ------------------------------------------------------------------------------------------

t.test("labels go up and down, and stay with the history", function()
  local top = labels.new()
  local a, b = labels.new(top), labels.new(top)
  t.equal(a:add(labels.bit "web"), true)
  t.equal(a:add(labels.bit "web"), false)
  t.equal(b.bits, 0)
  t.same(labels.names(top.bits), { "web" })
  t.same(labels.names(labels.new(top).bits), { "web" })
  local history = require("hocket.llm").history()
  a:keep(history)
  t.equal(labels.new(nil, history).bits, 1)
  a:add(labels.bit "server")
  t.same(labels.names(labels.new(nil, history).bits), { "server", "web" })
end)

t.test("what reads elsewhere makes what sends ask", function()
  local fetch = one("fetch", { effects = { "send" }, taints = "web" })
  local self = permission.new("a", { fetch, one "own" })
  t.equal(check(self, fetch), true)
  local events = {}
  self:took_result(fetch, function(type, payload) events[#events + 1] = { type, payload.labels[1], payload.tool } end)
  self:took_result(fetch, function() error "only once" end)
  t.same(events, { { "labels_added", "web", "fetch" } })
  local ok, why = check(self, fetch)
  t.equal(ok, nil)
  t.has(why, "text from the web")
  t.equal(check(self, self.by_name.own), true)
end)

-- ---- In a run ------------------------------------------------------------------------------------------

local function calls_then_tells(...)
  local calls = { ... }
  return function(request)
    if request.last.role ~= "tool" then return { calls = calls } end
    local texts = {}
    for _, message in ipairs(request.messages) do
      if message.role == "tool" then texts[#texts + 1] = message.text end
    end
    return table.concat(texts, "|")
  end
end

local shell = one("sh", { effects = { "run" } })

t.test("--approve decides for a run", function()
  play { a = calls_then_tells(s.call "sh") }
  local team = s.team { a = { tools = { shell } } }
  for words, expected in pairs { allow = "done", deny = "not allowed" } do
    local run, reply = s.run(function() return orchestrate.call(team.a, "x") end, { approve = words })
    t.has(reply.text, expected)
    t.equal(#s.events(run, words == "allow" and "tool_allowed" or "tool_denied"), 1)
  end
  local _, reply = s.run(function() return orchestrate.call(team.a, "x") end)
  t.has(reply.text, "not allowed: it runs a program")
  _, reply = s.run(function() return orchestrate.call(team.a, "x") end, { approve = { "allow", "sh=deny" } })
  t.has(reply.text, "--approve says deny for sh")
end)

t.test("a conversation that is kept and taken up again keeps its labels", function()
  local fetch = one("fetch", { taints = "web", effects = { "send" } })
  local team = s.team { a = { tools = { fetch, shell } } }
  local kept, first, second
  s.reply = function(request)
    if request.last.role ~= "user" then return "done" end
    return { calls = { s.call(request.last.text) } }
  end
  first = s.run(function()
    local talk <close> = hocket.conversation(team.a)
    local reply = talk:send "fetch"
    kept = { lines = talk.history:lines(), messages = json.encode(talk.history:messages()) }
    return reply
  end, { approve = "allow" })
  t.equal(#s.events(first, "labels_added"), 1)
  t.has(kept.lines, '"labels":["web"]')
  for name, messages in pairs { messages = json.decode(kept.messages), lines = kept.lines } do
    second = s.run(function()
      local talk <close> = hocket.conversation(team.a)
      if name == "lines" then
        for line in messages:gmatch "[^\n]+" do assert(talk.history:add(line)) end
      else
        for _, message in ipairs(messages) do assert(talk.history:add(message)) end
      end
      return talk:send "sh"
    end, { approve = "allow" })
    t.has(s.events(second, "tool_denied")[1].reason, "text from the web")
  end
end)

t.test("what an agent has read marks those that it answers", function()
  local fetch = one("fetch", { taints = "web", effects = { "send" } })
  play {
    reader = calls_then_tells(s.call "fetch"),
    lead = function(request)
      if request.last.role ~= "tool" then return { calls = { s.call("delegate", { agent_name = "reader", prompt = "read" }) } } end
      return s.calls(request, "sh") == 0 and { calls = { s.call "sh" } } or request.last.text
    end,
  }
  local team = s.team { reader = { tools = { fetch } }, lead = { agents = { "reader" }, tools = { shell } } }
  local run, reply = s.run(function() return orchestrate.call(team.lead, "x") end, { approve = "allow" })
  t.has(reply.text, "text from the web")
  t.equal(s.events(run, "labels_added")[1].agent, "reader")
  local _, named = s.run(function() return orchestrate.call(team.lead, "x") end, { approve = { "allow", "sh=allow" } })
  t.equal(named.text, "done")
end)

t.test("options of the whole run cannot be given inside of it", function()
  play { a = function() return "x" end }
  local team = s.team { a = {} }
  s.run(function()
    t.raises("belongs to the whole run", hocket.run, team.a, "x", { approve = "allow" })
    return { text = "" }
  end)
  local reply = assert(hocket.run(team.a, "x", { approve = "allow" }))
  t.equal(reply.text, "x")
end)

return t.finish()
