--- The commands by which a person looks into a running host and acts on it: `hocket attach`, `hocket.console`.
---
---     console.new(notify) ──> console:give("board") ──> { text, value }      text for people, value for programs
---
--- A command that waits (`say`) waits in the fiber that gives it; the others answer at once.
local agents = require "hocket.agent"
local expression = require "hocket.internal.base.lazy" "hocket.internal.host.expression"
local json = require "hocket.json"
local known = require "hocket.internal.host.known"
local runner = require "hocket.internal.runner.run_agent"
local runs = require "hocket.internal.run.run"
local steering = require "hocket.internal.base.lazy" "hocket.internal.run.steering"
local suggest = require "hocket.internal.base.suggest"
local failed = require("hocket.internal.core.system").error
local failure = require("hocket.internal.core.system").failure
local truncate = require "hocket.internal.base.truncate"

local console = {}

---@class hocket.Console
---@field acts boolean Whether commands that change something are taken.
local Console = {}
Console.__index = Console

-- Columns, the last one as long as it is.
local function table_text(rows)
  local widths, lines = {}, {}
  for _, row in ipairs(rows) do
    for i = 1, #row - 1 do widths[i] = math.max(widths[i] or 0, utf8.len(row[i]) or #row[i]) end
  end
  for i, row in ipairs(rows) do
    local cells = {}
    for k, cell in ipairs(row) do
      cells[k] = k < #row and cell .. (" "):rep(widths[k] - (utf8.len(cell) or #cell)) or cell
    end
    lines[i] = (table.concat(cells, "  "):gsub("%s+$", ""))
  end
  return table.concat(lines, "\n")
end

local function one_line(text, max)
  return truncate(text:gsub("%s+", " "), max, "…")
end

-- ---- Looking ------------------------------------------------------------------------------------------

local function describe_run(run)
  local usage, input = run:usage(), steering.open_input(run)
  return { number = run.number, id = run.id, target = known.target_of(run), state = run.stopped and "stopping" or input and "waits for input" or "running",
    seconds = run:seconds(), calls = usage.calls, tokens = usage.input + usage.output, cost = usage.cost,
    questions = next(run.questions) ~= nil and not input }
end

local function list_runs()
  local list, rows = json.array {}, {}
  for i, run in ipairs(runs.all()) do
    local one = describe_run(run)
    list[i] = one
    rows[i] = { "#" .. one.number, one.state .. (one.questions and ", asks" or ""), ("%.0f s"):format(one.seconds), ("%d calls"):format(one.calls),
      ("%d tokens"):format(one.tokens), one.target or "(a script's own)" }
  end
  return { text = #rows > 0 and table_text(rows) or "No run goes on.", value = list }
end

local function list_agents()
  local list, rows = json.array {}, {}
  for i, one in ipairs(known.agents()) do
    list[i] = { name = one.name, description = one.description, from = one.from }
    rows[i] = { one.name, one.from or "", one_line(one.description or "", 80) }
  end
  return { text = #rows > 0 and table_text(rows) or "No agents are known: no run goes on, and nothing is watched.", value = list }
end

local function tree_rows(node, depth, rows)
  if node.agent then
    rows[#rows + 1] = { ("  "):rep(depth) .. node.agent .. (node.trigger and " (" .. node.trigger .. ")" or ""), ("%.1f s"):format(node.seconds),
      ("%d calls"):format(node.own.calls), ("%d tools"):format(node.own.tool_calls), ("%d in, %d out"):format(node.own.input, node.own.output) }
  end
  for _, child in ipairs(node.children or {}) do tree_rows(child, node.agent and depth + 1 or depth, rows) end
  return rows
end

local function show_run(_, name)
  local run, err = known.run(name)
  if not run then return nil, err end
  local tree = run:tree()
  local rows = tree_rows(tree, 0, {})
  return { text = ("#%d %s\n%s"):format(run.number, run.id or "", table_text(rows)), value = { run = describe_run(run), tree = tree } }
end

local function show_board(_, name)
  local run, err = known.run(name)
  if not run then return nil, err end
  local rows, tasks = {}, run:tasks()
  for i, task in ipairs(tasks) do
    rows[i] = { tostring(task.id), task.status, task.assigned_to or "", one_line(task.text or "", 100) }
  end
  return { text = #rows > 0 and table_text(rows) or "There is no task.", value = tasks }
end

local function show_document(_, name)
  local run, err = known.run(name)
  if not run then return nil, err end
  local texts = json.array {}
  for i, document in ipairs(run.documents) do texts[i] = document:render() end
  return { text = #texts > 0 and table.concat(texts, "\n\n") or "There is no document.", value = texts }
end

local function list_questions()
  local list, rows = json.array {}, {}
  for _, run in ipairs(runs.all()) do
    for id, one in pairs(run.questions) do
      list[#list + 1] = { run = run.number, id = id, kind = one.kind, agent = one.agent }
      rows[#rows + 1] = { "#" .. run.number, id, one.kind or "", one.agent or "" }
    end
  end
  return { text = #rows > 0 and table_text(rows) or "Nothing is asked.", value = list }
end

local function show_stats()
  local bytes, count = math.floor(collectgarbage "count" * 1024), #runs.all()
  return { text = ("%d runs, %.1f MB of Lua"):format(count, bytes / 1e6), value = { runs = count, lua_bytes = bytes } }
end

-- ---- Acting -----------------------------------------------------------------------------------------------

local function cancel(_, name)
  local run, err = known.run(name)
  if not run then return nil, err end
  run:cancel()
  return { text = ("#%d is being cancelled."):format(run.number), value = { run = run.number } }
end

local function stop(_, name)
  local run, err = known.run(name)
  if not run then return nil, err end
  run:stop()
  return { text = ("#%d gives its last answers."):format(run.number), value = { run = run.number } }
end

local function reload_text(event)
  if event.type == "agent_reload_failed" then return ("%s: not reloaded: %s"):format(event.path, event.message) end
  return ("%s: generation %d: %s"):format(event.path, event.generation, table.concat(event.changed or {}, " "))
end

local function reload()
  local list, lines = json.array {}, {}
  for _, live in ipairs(known.watched()) do
    local event = live:check()
    if event then list[#list + 1] = event end
    lines[#lines + 1] = event and reload_text(event) or live.path .. ": nothing has changed"
  end
  for _, run in ipairs(runs.all()) do
    if run.options.conversation then
      run:change { reload = true }
      lines[#lines + 1] = ("#%d reads its files anew before its next turn"):format(run.number)
    end
  end
  return { text = #lines > 0 and table.concat(lines, "\n") or "Nothing is watched: each run reads its files when it begins.", value = list }
end

local function answer(_, name, rest)
  local id, text = (rest or ""):match "^(%S+)%s+(.+)$"
  if not id then return failure("invalid", "expected: answer RUN QUESTION TEXT") end
  local run, err = known.run(name)
  if not run then return nil, err end
  local ok, wrong = run:answer(id, text)
  if not ok then return nil, wrong end
  return { text = "It was answered.", value = true }
end

-- A value that is no JSON is a text.
local function signal(_, name, rest)
  local signal_name, value = (rest or ""):match "^(%S+)%s*(.*)$"
  if not signal_name then return failure("invalid", "expected: signal RUN NAME [VALUE]") end
  local run, err = known.run(name)
  if not run then return nil, err end
  local read = value ~= "" and json.decode(value) or nil
  if read == nil and value ~= "" then read = value end
  local ok, wrong = run:signal(signal_name, read)
  if not ok then return nil, wrong end
  return { text = "It was sent.", value = true }
end

-- ---- Saying something ------------------------------------------------------------------------------------

-- Waits for the end of the turn that an input began.
local function turn_of(run, cursor)
  while true do
    local line, seq = run.journal:next(cursor)
    if line then
      cursor = seq
      if line:find('"type":"turn_finished"', 1, true) then return json.decode(line) end
    elseif run.journal:finished() then
      return nil
    else
      run.journal:wait(cursor)
    end
  end
end

-- To an agent at work, which hears it before its next model call.
local function steer(run, to, text)
  local id, err = run:say(text, to)
  if not id then return nil, err end
  return { text = id == "" and "It was said." or ("%s hears it before its next model call."):format(to or ("#%d"):format(run.number)), value = { run = run.number, message = id } }
end

-- The run in which an agent of a name, or a path, is at work; nil and no error: there is none.
local function at_work(name)
  local found = {}
  for _, run in ipairs(runs.all()) do
    local step, err = steering.addressee(run, name)
    if step or err and err.code == "invalid" then found[#found + 1] = run end
  end
  if #found < 2 then return found[1] end
  local words = {}
  for i, run in ipairs(found) do words[i] = ("#%d/%s"):format(run.number, name) end
  return failure("invalid", "'%s' is at work in several runs: say which: %s", name, table.concat(words, ", "))
end

local function say_to(run, name, text)
  local id = steering.open_input(run)
  if not id then return steer(run, name, text) end
  local cursor = run.journal:last()
  local ok, err = run:answer(id, text)
  if not ok then return nil, err end
  local turn = turn_of(run, cursor)
  if not turn then return failure("closed", "the conversation has ended") end
  if not turn.ok then return failure(turn.error.code, "%s", turn.error.message) end
  return { text = turn.content or "", value = { run = run.number, text = turn.content, finish = turn.finish } }
end

local function conversation_with(name)
  for _, run in ipairs(runs.all()) do
    local def = run.options.conversation and run.target and run.target.agent
    if def and def.name == name then return run end
  end
end

local function say(_, name, text)
  if not name or not text then return failure("invalid", "expected: say AGENT TEXT") end
  local number, to = name:match "^(#%d+)/?(.*)$"
  if number then
    local run, err = known.run(number)
    if not run then return nil, err end
    return steer(run, to ~= "" and to or nil, text)
  end
  local open = conversation_with(name)
  if open then return say_to(open, name, text) end
  local busy, several = at_work(name)
  if several then return nil, several end
  if busy then return steer(busy, name, text) end
  local list = known.agents()
  local one = list.by_name[name]
  if not one or not (one.agent or one.target) then
    local names = {}
    for i, other in ipairs(list) do names[i] = other.name end
    local near = suggest(name, names)
    return failure("not_found", "there is no agent '%s'%s", name, near and (": did you mean '%s'?"):format(near) or ": `agents` lists them")
  end
  local reply, err = runner.run(one.agent or agents.load(one.target), text, {})
  if not reply then return nil, err end
  return { text = reply.text, value = { text = reply.text, finish = reply.finish } }
end

-- ---- Lua ------------------------------------------------------------------------------------------------------

local function evaluate(self, text)
  if text == "" then return failure("invalid", "expected: lua EXPRESSION, as in: lua #runs()") end
  self.inside = self.inside or expression.new()
  local shown, err = expression.evaluate(self.inside, text)
  if not shown then return nil, failed(err) end
  return { text = shown, value = shown }
end

-- ---- The commands -----------------------------------------------------------------------------------------------

-- words: how many of them `run` gets before the rest. completes: what the first may be.
local commands = {
  { name = "agents", help = "the agents that it knows", run = list_agents },
  { name = "runs", help = "the runs that go on", run = list_runs },
  { name = "run", usage = "[RUN]", help = "who is at work in a run, and has used what", words = 1, completes = "runs", run = show_run },
  { name = "board", usage = "[RUN]", help = "the tasks of a run", words = 1, completes = "runs", run = show_board },
  { name = "document", usage = "[RUN]", help = "the document of a run", words = 1, completes = "runs", run = show_document },
  { name = "events", usage = "[RUN|off]", help = "shows events as they come, of all runs or of one; off ends that", words = 1, completes = "runs" },
  { name = "questions", help = "what is asked, and waits for an answer", run = list_questions },
  { name = "stats", help = "memory, and how much goes on", run = show_stats },
  { name = "say", usage = "AGENT TEXT", help = "says it to the agent at work or in a conversation, or begins a run of it; #3/AGENT: in that run", words = 1, completes = "agents", acts = true, run = say },
  { name = "answer", usage = "RUN QUESTION TEXT", help = "answers a question", words = 1, completes = "runs", acts = true, run = answer },
  { name = "signal", usage = "RUN NAME [VALUE]", help = "sends a message to a run: JSON, or a text", words = 1, completes = "runs", acts = true, run = signal },
  { name = "stop", usage = "[RUN]", help = "lets a run give its last answers", words = 1, completes = "runs", acts = true, run = stop },
  { name = "cancel", usage = "[RUN]", help = "ends a run now", words = 1, completes = "runs", acts = true, run = cancel },
  { name = "reload", help = "reads the files of what is watched, and of conversations, anew", acts = true, run = reload },
  { name = "lua", usage = "EXPRESSION", help = "Lua in the host's state; '=' in front means the same: = #runs()", acts = true, run = evaluate },
  { name = "help", usage = "[COMMAND]", help = "this", words = 1, completes = "commands" },
}
local by_name = {}
for _, one in ipairs(commands) do by_name[one.name] = one end

local function help(self, name)
  local rows, list = {}, json.array {}
  for _, one in ipairs(commands) do
    if (self.acts or not one.acts) and (not name or one.name == name) then
      rows[#rows + 1] = { one.name .. (one.usage and " " .. one.usage or ""), one.help }
      list[#list + 1] = { name = one.name, usage = one.usage, help = one.help }
    end
  end
  if #rows == 0 then return failure("not_found", "there is no command '%s'", name) end
  if not name then rows[#rows + 1] = { "quit", "leaves (Ctrl-D as well); the program goes on" } end
  return { text = table_text(rows), value = list }
end
by_name.help.run = help

by_name.events.run = function(self, name)
  if not self.watch then return failure("unsupported", "events come to who is attached, or are asked of a run") end
  if name == "off" then
    self.watch(nil)
    return { text = "No events any more.", value = false }
  end
  local run, err
  if name then
    run, err = known.run(name)
    if not run then return nil, err end
  end
  self.watch(run or "all")
  return { text = run and ("Events of #%d come."):format(run.number) or "Events of all runs come.", value = true }
end

-- The words of a command, and the rest as it stands.
local function split(command, line)
  local rest = line:match "^%S+%s*(.-)%s*$" or ""
  if not command.words then return rest end
  local word, after = rest:match "^(%S+)%s*(.*)$"
  return word, after ~= "" and after or nil
end

--- Carries out a command.
---@async
---@param line string
---@return {text: string, value: any}?
---@return hocket.Error?
function Console:give(line)
  line = line:gsub("^%s+", "")
  if line == "" then return { text = "", value = json.null } end
  if line:sub(1, 1) == "=" then line = "lua " .. line:sub(2) end
  local name = line:match "^%S+"
  local command = by_name[name]
  if not command then
    local names = {}
    for i, one in ipairs(commands) do names[i] = one.name end
    local near = suggest(name, names)
    return failure("not_found", "there is no command '%s'%s", name, near and (": did you mean '%s'?"):format(near) or ": `help` lists them")
  end
  if command.acts and not self.acts then return failure("denied", "'%s' is not allowed here: this host lets you look, and no more", command.name) end
  return command.run(self, split(command, line))
end

-- ---- Completion ---------------------------------------------------------------------------------------------------

local candidates = {
  commands = function(self)
    local list = {}
    for _, one in ipairs(commands) do
      if self.acts or not one.acts then list[#list + 1] = one.name end
    end
    return list
  end,
  agents = function()
    local list = {}
    for i, one in ipairs(known.agents()) do list[i] = one.name end
    return list
  end,
  runs = function()
    local list = {}
    for i, run in ipairs(runs.all()) do list[i] = tostring(run.number) end
    return list
  end,
}

--- The words that the end of a command may become.
---@param beginning string
---@return {from: integer, words: string[]}
function Console:complete(beginning)
  local before, word = beginning:match "^(%s*%S+%s+)(%S*)$"
  local command = before and by_name[before:match "%S+"]
  local kind = not before and "commands" or command and command.completes
  word = before and word or beginning:match "^%s*(%S*)$"
  local words = json.array {}
  for _, one in ipairs(kind and word and candidates[kind](self) or {}) do
    if one:sub(1, #word) == word then words[#words + 1] = one end
  end
  return { from = #beginning - #(word or ""), words = words }
end

--- A console. `watch(what)` is called by the command `events`: with a run, "all", or nil.
---@param acts boolean
---@param watch? fun(what: hocket.Run|"all"|nil)
---@return hocket.Console
function console.new(acts, watch)
  return setmetatable({ acts = acts, watch = watch }, Console)
end

--- A command of `hocket attach` given from inside: { line = "runs" } -> { text, value }.
---@async
---@param args {line: string}
---@return {text: string, value: any}?
---@return hocket.Error?
function console.command(args)
  if type(args.line) ~= "string" then return nil, { code = "invalid", message = "expected {\"line\":\"help\"}" } end
  return console.new(true):give(args.line)
end

return console
