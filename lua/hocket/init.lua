--- hocket: teams of LLM agents. An agent is a prompt with tools; a run is one answer with all work behind it.
---
---     local hocket = require "hocket"
---     local poet = hocket.agent { name = "poet", prompt = "You write one line." }
---     local reply = assert(hocket.run(poet, "About the rain"))
---     print(reply.text, reply.usage.output)
---
--- Modules are loaded on first use: `hocket.flow`, `hocket.json` and so on are the same as `require "hocket.flow"`.
local hocket = {}

-- Says so when the host is closed. What was loaded before would work on halfway, or with the host that came after it.
local arguments = require("hocket.internal.base.arguments").check
local steps = require("hocket.internal.core.fiber").steps

local function check_open()
  if not pcall(steps) then error("the hocket host is closed: require \"hocket\" anew for another one", 3) end
end

local modules = {
  ask = "hocket.ask", fence = "hocket.fence", conversation = "hocket.conversation", permission = "hocket.permission",
  board = "hocket.board", broker = "hocket.broker", cassette = "hocket.cassette", document = "hocket.document", events = "hocket.events", flow = "hocket.flow",
  fs = "hocket.fs", http = "hocket.http", json = "hocket.json", llm = "hocket.llm", mcp = "hocket.mcp", memory = "hocket.memory", model = "hocket.model",
  prices = "hocket.prices", providers = "hocket.providers", schema = "hocket.schema",
  session = "hocket.session", text = "hocket.text", sim = "hocket.sim", tool = "hocket.tool", workflow = "hocket.workflow", yaml = "hocket.yaml",
  orchestrate = "hocket.orchestrate", definitions = "hocket.agent", host = "hocket.host", loaders = "hocket.loaders", attach = "hocket.attach",
  console = "hocket.console", live = "hocket.live", process = "hocket.process",
}

local patterns = {
  advisors = "hocket.patterns.advisors", alternates = "hocket.patterns.alternates", handoff = "hocket.patterns.handoff", router = "hocket.patterns.router",
  team = "hocket.patterns.team",
  facilitator = "hocket.patterns.facilitator", planner = "hocket.patterns.planner",
  blockers = "hocket.patterns.blockers", coordinator = "hocket.patterns.coordinator", plan = "hocket.patterns.plan", outcome = "hocket.patterns.outcome",
}

--- Loads a directory of agents. Raises an error that lists file, line and column of every problem.
---@param dir string
---@return table<string, hocket.Agent>
function hocket.agents(dir)
  arguments("agents", 1, "string", dir)
  check_open()
  require "hocket.internal.runner.builtins"
  return require("hocket.agent").load_dir(dir)
end

--- Loads an agent file, or takes a definition as a table with the same keys plus `prompt`.
---@param what string|table
---@return hocket.Agent
function hocket.agent(what)
  check_open()
  require "hocket.internal.runner.builtins"
  return require("hocket.agent").load(what)
end

--- In a program in Lua that has loaded hocket: another host, with its own Lua state, whose runs can be saved (docs/guides/games.md).
--- Not available in scripts, which use the program's host; a program in C has hocket_open.
---@param options? {thread?: boolean, store?: string, durability?: string, store_days?: number, store_bytes?: number, store_optional?: boolean, max_runs?: number, max_memory?: number, max_connections?: number, max_journal?: number, max_message?: number, policy?: string}
---@return hocket.BridgeHost?
---@return hocket.Error?
function hocket.open(options)
  if options ~= nil and type(options) ~= "table" then error(("bad argument #1 to 'open' (table expected, got %s)"):format(type(options)), 2) end
  return nil, require("hocket.internal.core.system").error { code = "unsupported", message = "a host of its own is for programs in Lua that load hocket: here it is the program's" }
end

--- The built-in agents: planner, conversation, file, shell, web, code,
--- code_reviewer, researcher, tester, assistant.
---@return table<string, hocket.Agent>
function hocket.builtin_agents()
  check_open()
  require "hocket.internal.runner.builtins"
  return require("hocket.agent").built_in()
end

--- Declares a provider (see hocket.providers).
---@param name string
---@param def hocket.Provider
function hocket.provider(name, def)
  arguments("provider", 1, "string", name)
  arguments("provider", 2, "table", def)
  check_open()
  return require("hocket.providers").add(name, def) -- a tail call: errors name the caller's line
end

--- The current run: `run:tree()`, `run:usage()`, `run:stop()`, `run:cancel()`.
---@return hocket.Run? run nil outside of a run
function hocket.this_run()
  return require("hocket.internal.run.run").current()
end

---@class hocket.RunOptions
---@field model? string For an agent whose file names none.
---@field override_model? string For this agent, whatever its file says; a model for the whole run has precedence.
---@field variables? table<string, string|number|boolean>
---@field tools? hocket.Tool[] More tools for the agent.
---@field extra_tools? string[] The same by their names in `tools:`.
---@field history? hocket.History The earlier conversation.
---@field board? hocket.Board
---@field document? hocket.Document
---@field on_delta? fun(kind: "text"|"reasoning", text: string) Receives the answer as it arrives.
---@field on_event? fun(event: table) Receives the events of this call and everything below it.
---@field on_question? fun(question: table): string? Answers questions of agents (hocket.ask): its text, or nil for no answer.
---@field timeout? number Seconds.
---@field budget? hocket.Budget
---@field approve? string|string[] approve, workdir, sandbox and network are options of `hocket run` (docs/reference/commands.md).
---@field workdir? string
---@field sandbox? string
---@field network? boolean|string|string[]
---@field record? string Name of a file (hocket.cassette).
---@field replay? string

--- Runs an agent and waits for its answer.
---@async
---@param agent hocket.Agent|string An agent; or a script, an agent's file or a directory, as for `hocket run`. Inside a run: an agent, or a directory with a starting agent.
---@param input string
---@param options? hocket.RunOptions For a string outside a run, the options of hocket.start.
---@return hocket.Reply? reply `text`, `usage`, `finish`, …
---@return hocket.Error? err
function hocket.run(agent, input, options)
  check_open()
  if type(agent) == "string" and not hocket.this_run() then return require("hocket.host"):run(agent, input, options) end
  return require("hocket.internal.runner.run_agent").run(agent, input, options)
end

--- Starts an agent without waiting: for programs with their own loop, which pump the host (see hocket.host). The callbacks run
--- inside `pump`.
---@param what hocket.Agent|string An agent, or a script, an agent file or a directory as for `hocket run`.
---@param input? string
---@param options? table As for hocket.run, and on_done(reply, err), deltas, events, interactive, max_turns, models, priority, simulate (docs/guides/embedding.md); for a string the options of a run, on_event and on_done.
---@return hocket.Started
function hocket.start(what, input, options)
  arguments("start", 1, "table|string", what, "an agent or a path")
  arguments("start", 2, "string|table?", input)
  arguments("start", 3, "table?", options)
  check_open()
  return require("hocket.host"):start(what, input, options)
end

--- Submits a run to workers (`hocket work`): the store gets it with its files, and a worker executes it. In a durable run it is
--- submitted once, whatever happens to the process, and `:wait()` may take days: the run is parked meanwhile.
---
---     local hocket = require "hocket"
---     local work, err = hocket.submit("agents", "Two days in Rome", { pool = "default" })
---     print(work and work:wait().text or err)    -- also work.id, work:cancel()
---@async
---@param target string A script, an agent's file or a folder, as for `hocket run`.
---@param input? string
---@param options? table pool, at (earliest start, in seconds since 1970), project; and of the run: model, models, variables, approve, files, max_turns, budget, timeout, jobs, network, sandbox, prices, context.
---@return hocket.Submitted? submitted
---@return hocket.Error? err
function hocket.submit(target, input, options)
  check_open()
  return require("hocket.internal.runner.submitted").submit(target, input, options)
end

--- Calls `fn(id)` once in a durable run: its result is stored in the run's log, and a replay takes it from there. The result has to
--- be data, and the effect has to be outside the run. If a process ends during the call, nobody knows whether it took effect. With
--- `idempotent` it is called again with the same id, which you pass on as an idempotency key. `reconcile(id)` is called first, if
--- given: it returns the result, or nil if the call did not take effect. Otherwise the step fails with the code "unknown". A fork
--- with changed scripts gets the result of the same name; if the name is not enough, in a loop, `of` says what else the step depends on.
---
---     local hocket = require "hocket"
---     local order = assert(hocket.step("order", function(id) return "ordered" end, { idempotent = true }))
---     print(order)
---
--- In a run that is not durable, fn is called, and its result still has to be data.
---@async
---@param name string What the step does, for people who look at the run.
---@param fn fun(id: string): ...
---@param opts? {idempotent?: boolean, reconcile?: fun(id: string): ..., of?: any} `of` is data.
---@return any ... The results of fn; or nil and an error with the code "unknown". Errors of fn are raised.
function hocket.step(name, fn, opts)
  return require "hocket.internal.run.step"(name, fn, opts)
end

--- Limits what a durable run has to replay in another process. A script calls it first without an argument, and at the end of each
--- round of its loop with the data that the next round needs. In another process the script starts from its beginning. Its code before
--- the first call is replayed; that call returns the newest state, and only later work is replayed. Boards and documents made before
--- the first call have their newest content. Everything else that is not in the state (conversations, boards of a round) is as at the
--- first call.
---
---     local hocket = require "hocket"
---     local state = hocket.checkpoint() or { round = 1 }
---     while state.round <= 3 do
---       state = hocket.checkpoint { round = state.round + 1 }
---     end
---     print(state.round)
---
--- Raises an error while anything else of the run is active.
---@async
---@param state? any Data.
---@return any state The newest state; nil if there is none yet.
function hocket.checkpoint(...)
  return require "hocket.internal.run.checkpoint"(...)
end

--- Waits until a point in time, possibly days away. A durable run may wait over any number of processes, and continues at once if the
--- time has passed meanwhile.
---@async
---@param time number Seconds since 1970, as from os.time.
function hocket.sleep_until(time)
  require("hocket.internal.run.signals").sleep_until(time)
end

--- Waits for a signal from outside (`run:signal(name, value)`, hocket_run_signal). Earlier signals are stored, and taken in
--- order.
---@async
---@param name string
---@param opts? {timeout?: number} Seconds.
---@return any value json.null for null
---@return hocket.Error? err "timeout"
function hocket.signal(name, opts)
  arguments("signal", 1, "string", name)
  arguments("signal", 2, "table?", opts)
  return require("hocket.internal.run.signals").wait(name, opts)
end

--- Embeds texts with an embedding model. Texts are sent in batches, and each batch counts its usage like a model call; a durable run
--- stores the vectors in its log.
---
---     local hocket = require "hocket"
---     local found = assert(hocket.embed({ "a red fox", "the fox is red" }, { model = "sim" }))
---     print(#found.vectors, #found.vectors[1], found.usage.input)
---
---@async
---@param texts string|string[] 1 to 1 MiB each.
---@param opts? {model?: string, dimensions?: integer, timeout?: number} model: "provider/model" at a server with OpenAI's API, Gemini's or Ollama's; default: HOCKET_EMBED_MODEL. timeout: seconds for a batch, 120.
---@return {vectors: number[][], model: string, usage: {input?: integer, cost?: number}}? found One vector for each text, in order.
---@return hocket.Error? err
function hocket.embed(texts, opts)
  arguments("embed", 1, "string|table", texts)
  arguments("embed", 2, "table?", opts)
  check_open()
  local found, err = require("hocket.internal.models.embeddings").texts(texts, opts)
  return found, err
end

---@alias hocket.Input string|hocket.Media|(string|hocket.Media)[] Words, or words with pictures, recordings, documents.

--- A picture for a model, from a file or from bytes: `hocket.run(agent, { "What is it?", hocket.image "cat.png" })`. The type is
--- detected from the content. Tools can return it too.
---@param what string|{data: string, name?: string}
---@return hocket.Media? image
---@return hocket.Error? err
function hocket.image(what)
  arguments("image", 1, "string|table", what, "a path or { data = … }")
  return require("hocket.internal.base.media").make(what, "image")
end

--- The same for any attachment: pictures, audio, PDF, and text files.
---@param what string|{data: string, name?: string}
---@return hocket.Media? file `kind`: image, audio, file or text; `mime`, `name`, `data`
---@return hocket.Error? err
function hocket.file(what)
  arguments("file", 1, "string|table", what, "a path or { data = … }")
  return require("hocket.internal.base.media").make(what)
end

--- The version of hocket.
---@return string
function hocket.version()
  return require("hocket.internal.core.system").version()
end

--- The patterns: `hocket.patterns.planner` and so on.
hocket.patterns = setmetatable({}, { __index = function(self, name)
  local module = patterns[name]
  if not module then return nil end
  check_open()
  require "hocket.internal.runner.builtins"
  local value = require(module)
  rawset(self, name, value)
  return value
end })

return setmetatable(hocket, {
  __index = function(self, name)
    local module = modules[name]
    if not module then return nil end
    check_open()
    local value = require(module)
    rawset(self, name, value)
    return value
  end,
})
