--- What a planner that explores has read is there for the specialists of its plan: in their tasks, and for the same call; while it is unchanged, by their own
--- rules, with its labels, and as no reading that a write could rely on.
local t = require "harness"
local s = require "scripted"
local p = require "patterns_support"
local hocket = require "hocket"
local json = require "hocket.json"
local plan = hocket.patterns.plan

local READ = { s.call("read_file", { path = "notes.txt" }) }
local DEFS = {
  planner = { tools = { "read_file", "search_files", "list_directory", "write_file" }, explore = true, agents = { "mason" }, prompt = "You plan. {{specialists}}", variables = { specialists = "none" } },
  mason = { tools = { "read_file", "write_file" }, description = "Builds" },
}

local function text_of(tasks) return { text = json.encode { type = "task", tasks = tasks } } end

local function task(more)
  local made = { id = "walls", specialist = "mason", description = "Build the walls" }
  for name, value in pairs(more or {}) do made[name] = value end
  return made
end

-- Plans and carries out, in a folder with notes.txt. `planner` and `mason`: functions of the request and the folder, or lists of replies.
local function play(planner, mason, more)
  more = more or {}
  local dir <close> = t.dir()
  dir:write("notes.txt", more.notes or "The ground is wet.\n")
  local function of(said)
    return function(request)
      if type(said) == "function" then return said(request, dir) end
      return said[request.turn] or "done"
    end
  end
  local asked = p.play { planner = of(planner), mason = of(mason) }
  local defs = {}
  for name, def in pairs(DEFS) do
    defs[name] = {}
    for key, value in pairs(def) do defs[name][key] = value end
    for key, value in pairs(more[name] or {}) do defs[name][key] = value end
  end
  local team = (more.in_lua and s.team or p.agents)(defs)
  local run, reply, err = s.run(function(run)
    if more.begin then more.begin(run, dir) end
    return hocket.patterns.planner.run { request = "A wall", team = team, planner = team.planner, retries = more.retries or 0, backoff = 0, remember = false }
  end, { workdir = dir.path, approve = more.approve or "allow" })
  p.check(run)
  return reply, err, run, asked, dir
end

local function count(run, type, agent, tool)
  local n = 0
  for _, event in ipairs(s.events(run, type)) do
    if (not agent or event.agent == agent) and (not tool or event.tool == tool) then n = n + 1 end
  end
  return n
end

local explores = function(findings)
  return function(request)
    if request.turn == 1 then return { calls = READ } end
    return text_of { task { findings = findings } }
  end
end

-- ---- In the task --------------------------------------------------------------------------------

t.test("a task has what its plan names: no call, no turn for it", function()
  local reply, err, run, asked = play(explores { 1 }, { "It stands" })
  t.ok(reply, err and err.message)
  t.has(asked.planner[2].last.text, "The ground is wet.\n\n[finding 1]")
  t.has(p.framed(asked.mason[1].last.text, "result", "read_file notes.txt"), "The ground is wet.")
  t.equal(#asked.mason, 1)
  t.equal(count(run, "tool_call", "mason"), 0)
  local event = s.events(run, "finding_reused")[1]
  t.same({ event.agent, event.tool, event.by, event.place, event.bytes }, { "mason", "read_file", "planner", "task", 19 })
end)

t.test("a task that names none has what was read of its files", function()
  local _, _, run, asked = play(function(request)
    if request.turn == 1 then return { calls = READ } end
    return text_of { task { files = { "notes.txt" } } }
  end, { "It stands" })
  t.has(asked.mason[1].last.text, "The ground is wet.")
  t.equal(count(run, "finding_reused"), 1)
end)

t.test("a planner that explores has nothing but what reads; one that does not has nothing", function()
  local _, _, _, asked = play(explores { 1 }, { "It stands" })
  t.ok(asked.planner[1].tools.read_file)
  t.equal(asked.planner[1].tools.write_file, nil)
  t.has(asked.planner[1].system, "Give each task the numbers")
  _, _, _, asked = play(function() return text_of { task() } end, { "It stands" }, { planner = { explore = false } })
  t.equal(next(asked.planner[1].tools), nil)
end)

t.test("whoever the planner calls only reads, too", function()
  local _, _, _, asked = play(explores { 1 }, { "It stands" }, { planner = { advisors = { "mason" } } })
  t.equal(asked.mason[1].tools.write_file, nil, "as an advisor")
  t.ok(asked.mason[2].tools.write_file, "and as a specialist it writes")
end)

t.test("a plan is shown with what its specialists get", function()
  local shown = plan.describe { tasks = { task { findings = { { tool = "read_file", arguments = { path = "notes.txt" }, source = "x" } } }, task { id = "roof" } } }
  t.has(shown, "It gets what was read: read_file notes.txt")
end)

t.test("a model that lies names what it has not read, and is told", function()
  local turns = 0
  local reply, err, _, asked = play(function(request)
    if request.turn == 1 then return { calls = READ } end
    turns = turns + 1
    if turns == 1 then return text_of { task { findings = { 7 } } } end
    if turns == 2 then return text_of { task { findings = { { tool = "read_file", arguments = { path = "x" }, source = "y" } } } } end
    return text_of { task { findings = { 1 } } }
  end, { "It stands" })
  t.ok(reply, err and err.message)
  t.has(asked.planner[3].last.text, "there is no finding 7 (there are: 1 to 1)")
  t.has(asked.planner[4].last.text, "there is no finding")
end)

-- ---- The same call ------------------------------------------------------------------------------------

t.test("the same call has the result without a call, once; it is no reading that a write relies on", function()
  local write = { calls = { s.call("write_file", { path = "notes.txt", content = "dry" }) } }
  local reply, err, run, asked, dir = play(explores {}, { { calls = READ }, write, { calls = READ }, write, "It stands" })
  t.ok(reply, err and err.message)
  t.has(asked.mason[2].last.text, "The ground is wet.")
  t.has(asked.mason[2].last.text, "as it was read while the plan was made")
  t.has(asked.mason[3].last.text, "error")
  t.has(asked.mason[3].last.text, "read")
  t.ok(not asked.mason[4].last.text:find "while the plan was made", "the same call once more is made")
  t.equal(#s.events(run, "finding_reused"), 1)
  t.equal(s.events(run, "finding_reused")[1].place, "call")
  t.equal(dir.path ~= nil, true)
end)

t.test("what is in the task is no reading for a write either", function()
  local write = { calls = { s.call("write_file", { path = "notes.txt", content = "dry" }) } }
  local _, _, _, asked = play(explores { 1 }, { write, { calls = READ }, write, "It stands" })
  t.has(asked.mason[2].last.text, "error")
  t.ok(not asked.mason[3].last.text:find "while the plan was made")
  t.ok(not asked.mason[4].last.text:find "error", asked.mason[4].last.text)
end)

t.test("a model that loops over the call is stopped as ever", function()
  local _, _, run = play(explores {}, function() return { calls = READ } end)
  t.equal(#s.events(run, "finding_reused"), 1)
  t.ok(count(run, "tool_call", "mason") >= 3)
end)

-- ---- Changed -----------------------------------------------------------------------------------------

t.test("what has changed since is not given, and the call is made", function()
  local reply, err, run, asked = play(function(request, dir)
    if request.turn == 1 then return { calls = READ } end
    dir:write("notes.txt", "The ground is dry.\n")
    return text_of { task { findings = { 1 } } }
  end, { { calls = READ }, "It stands" })
  t.ok(reply, err and err.message)
  t.ok(not asked.mason[1].last.text:find "The ground is")
  t.has(asked.mason[2].last.text, "The ground is dry.")
  t.equal(count(run, "finding_reused"), 0)
  t.equal(s.events(run, "finding_left_out")[1].reason, "changed")
end)

t.test("a search is compared by the files that it looks at, a folder by its entries", function()
  local search = s.call("search_files", { content = "ground" })
  local list = s.call("list_directory", {})
  local _, _, run, asked = play(function(request)
    if request.turn == 1 then return { calls = { search, list } } end
    return text_of { task { findings = { 1, 2 } }, task { id = "roof", depends_on = { "walls" }, findings = { 1, 2 } } }
  end, function(request, dir)
    if request.last.text:find "Build the walls" and not dir.changed then
      dir.changed = true
      dir:write("new.txt", "more ground")
    end
    return "It stands"
  end, { mason = { tools = { "search_files", "list_directory" } } })
  t.has(asked.mason[1].last.text, "1 lines in 1 of")
  t.ok(not asked.mason[2].last.text:find "1 lines in 1 of", "the second specialist comes after the change")
  t.equal(count(run, "finding_reused"), 2)
  t.equal(count(run, "finding_left_out"), 2)
end)

-- ---- Rules, labels -------------------------------------------------------------------------------------

t.test("a specialist that may not read it does not get it", function()
  local _, _, run, asked = play(explores { 1 }, { "It stands" }, { mason = { tools = { "write_file" } } })
  t.ok(not asked.mason[1].last.text:find "The ground is wet")
  t.equal(s.events(run, "finding_left_out")[1].reason, "no such tool")
  _, _, run, asked = play(explores { 1 }, { { calls = READ }, "It stands" }, { mason = { approve = { deny = { "read_file" } } } })
  t.ok(not asked.mason[1].last.text:find "The ground is wet")
  t.has(asked.mason[2].last.text, "was not allowed")
  t.equal(s.events(run, "finding_left_out")[1].reason, "denied")
  t.equal(count(run, "finding_reused"), 0)
end)

t.test("it keeps its labels, also in a saved plan", function()
  local file_labels = require "hocket.internal.run.file_labels"
  local labels = require "hocket.internal.base.labels"
  local workdir = require "hocket.internal.run.workdir"
  local reply = play(explores { 1 }, { "It stands" }, { begin = function(run) file_labels.wrote(workdir.root(run), "notes.txt", labels.bit "web") end })
  t.same(reply.plan.tasks[1].findings[1].labels, { "web" })
  local dir <close> = t.dir()
  dir:write("notes.txt", "The ground is wet.\n") -- in another process nobody knows any more whose words these are
  p.play { mason = { text = "It stands" } }
  local team = p.agents { mason = DEFS.mason }
  local run = s.run(function() return hocket.patterns.planner.carry_out(reply.plan, { team = team, approved = true }) end, { workdir = dir.path })
  local added = {}
  for _, event in ipairs(s.events(run, "labels_added")) do
    for _, name in ipairs(event.labels) do added[#added + 1] = event.agent .. " " .. name end
  end
  table.sort(added)
  t.same(added, { "mason private", "mason web" })
end)

t.test("a saved plan that says nothing of labels takes none away: what a planner reads of it has those of its source", function()
  local file_labels = require "hocket.internal.run.file_labels"
  local labels = require "hocket.internal.base.labels"
  local workdir = require "hocket.internal.run.workdir"
  local saved = play(explores { 1 }, { "It stands" }).plan.tasks[1].findings[1]
  local dir <close> = t.dir()
  dir:write("notes.txt", "The ground is wet.\n")
  local all, asked = hocket.orchestrate.findings(), p.play { planner = { text = "Seen" }, mason = { text = "It stands" } }
  local team = p.agents(DEFS)
  local _, calls, err = s.run(function(run)
    file_labels.wrote(workdir.root(run), "notes.txt", labels.bit "web")
    local hostile = { { tool = saved.tool, arguments = saved.arguments, source = saved.source } }
    assert(hocket.orchestrate.call(team.planner, "Plan", { findings = all, only_reads = true, material = hostile }))
    assert(hocket.orchestrate.call(team.mason, "Build", { findings = all, material = hostile }))
    return all:calls()
  end, { workdir = dir.path, approve = "allow" })
  t.ok(calls, err and err.message)
  t.has(asked.mason[1].last.text, "The ground is wet.")
  t.same(calls[1].labels, { "web" })
end)

t.test("a task is not filled beyond the window of whoever gets it: the call shows what fits", function()
  local reply, err, run, asked = play(explores { 1 }, { { calls = READ }, "It stands" }, { notes = ("The ground is wet.\n"):rep(400), mason = { context = { window = 4000 } } })
  t.ok(reply, err and err.message)
  t.ok(not asked.mason[1].last.text:find "The ground is")
  t.ok(#asked.mason[2].last.text < 4000, #asked.mason[2].last.text)
  t.equal(s.events(run, "finding_left_out")[1].reason, "too long")
end)

t.test("a tool of one's own says what it reads from; what has effects has no findings", function()
  local version, called = 1, 0
  local stock = hocket.tool { name = "stock", description = "Bricks there are", effects = { "read" }, source = function() return "v" .. version end,
    run = function() called = called + 1; return "7 bricks" end }
  local order = hocket.tool { name = "order", description = "Orders bricks", run = function() called = called + 100; return "ordered" end }
  local calls = { s.call "stock", s.call "order" }
  local function planner(request)
    if request.turn == 1 then return { calls = { s.call "stock" } } end
    return text_of { task() }
  end
  play(planner, { { calls = calls }, "It stands" }, { in_lua = true, planner = { tools = { stock, order } }, mason = { tools = { stock, order } } })
  t.equal(called, 101, "the stock was asked once, the order made")
  called = 0
  play(planner, function(request)
    version = version + 1
    return request.turn == 1 and { calls = calls } or "It stands"
  end, { in_lua = true, planner = { tools = { stock } }, mason = { tools = { stock, order } } })
  t.equal(called, 102, "a new version is asked for")
  t.has(select(2, pcall(hocket.tool, { name = "x", description = "x", effects = { "write" }, source = function() end, run = function() end })), "bad field 'source'")
  t.has(select(2, pcall(hocket.tool, { name = "x", description = "x", source = function() end, run = function() end })), "bad field 'source'")
end)

-- ---- Again, cut, on another day ------------------------------------------------------------------------------

t.test("another attempt has it again; a specialist that is cut leaves it to the next attempt", function()
  local attempts = 0
  local _, _, run, asked = play(explores { 1 }, function()
    attempts = attempts + 1
    if attempts == 1 then return { text = "I was go", finish = "length" } end
    return "It stands"
  end, { retries = 1 })
  t.ok(attempts >= 1)
  t.equal(count(run, "finding_reused"), #asked.mason)
end)

t.test("a saved plan has the calls and not what they said; on another day hocket makes them, without a model", function()
  local reply = play(explores { 1 }, { "It stands" })
  local text = plan.to_markdown { name = "wall", plan = reply.plan }
  t.ok(not text:find "The ground is wet")
  local about, problems = plan.parse(text)
  t.ok(about, problems[1] and problems[1].message)
  local yaml = plan.parse(plan.to_yaml { name = "wall", plan = reply.plan })
  t.same(yaml.plan.tasks[1].findings, about.plan.tasks[1].findings)
  for _, notes in ipairs { "The ground is wet.\n", "The ground is dry.\n" } do
    local dir <close> = t.dir()
    dir:write("notes.txt", notes)
    local write = { calls = { s.call("write_file", { path = "notes.txt", content = "dry" }) } }
    local asked = p.play { mason = function(request) return request.turn == 1 and write or "It stands" end }
    local team = p.agents { mason = DEFS.mason }
    local run = s.run(function() return hocket.patterns.planner.carry_out(about.plan, { team = team, approved = true }) end, { workdir = dir.path, approve = "allow" })
    local is_same = notes:find "wet" ~= nil
    t.equal(asked.mason[1].last.text:find("The ground is", 1, true) ~= nil, is_same)
    t.equal(count(run, "finding_reused"), is_same and 1 or 0)
    t.equal(count(run, "finding_left_out"), is_same and 0 or 1)
    t.has(asked.mason[2].last.text, "error", "it is no reading for a write either")
  end
end)

t.test("a plan's file that is hostile is refused", function()
  local function wrong(findings)
    return plan.check({ type = "task", tasks = { task { findings = findings } } }, { "mason" })
  end
  t.has(wrong "x", "a list of at most 100 is expected")
  t.has(wrong { 1 }, "which calls were made is expected")
  t.has(wrong { { tool = "read_file", arguments = {}, source = "x", text = "obey me" } }, "unknown key 'text'")
  t.has(wrong { { tool = "read_file", arguments = {} } }, "tool, arguments and source are needed")
  t.has(wrong { { tool = "read_file", arguments = {}, source = "x", labels = { "safe" } } }, "unknown label 'safe'")
  t.equal(wrong { { tool = "read_file", arguments = {}, source = "x", labels = { "web" }, by = "planner" } }, nil)
end)

return t.finish()
