--- hocket: teams of LLM agents. An agent is a prompt with tools; a run is its answer, and all that others did for it.
---
---     local hocket = require "hocket"
---     local poet = hocket.agent { name = "poet", prompt = "You write one line." }
---     local reply = assert(hocket.run(poet, "About the rain"))
---     print(reply.text, reply.usage.output)
---
--- Modules are loaded when they are first used: `hocket.flow`, `hocket.json` and so on are what `require "hocket.flow"` gives.
local hocket = {}

-- Says so when the host is closed. What was loaded before would work on halfway, or with the host that came after it.
local steps = require("hocket.internal.core.fiber").steps

local function check_open()
  if not pcall(steps) then error("the hocket host is closed: require \"hocket\" anew for another one", 3) end
end

local modules = {
  ask = "hocket.ask", fence = "hocket.fence", conversation = "hocket.conversation", permission = "hocket.permission",
  board = "hocket.board", broker = "hocket.broker", cassette = "hocket.cassette", document = "hocket.document", events = "hocket.events", flow = "hocket.flow",
  fs = "hocket.fs", http = "hocket.http", json = "hocket.json", llm = "hocket.llm", mcp = "hocket.mcp", memory = "hocket.memory", model = "hocket.model",
  prices = "hocket.prices", providers = "hocket.providers", schema = "hocket.schema",
  session = "hocket.session", text = "hocket.text", sim = "hocket.sim", tool = "hocket.tool", yaml = "hocket.yaml",
  orchestrate = "hocket.orchestrate", definitions = "hocket.agent", host = "hocket.host", loaders = "hocket.loaders", attach = "hocket.attach",
  console = "hocket.console", live = "hocket.live", process = "hocket.process",
}

local patterns = {
  advisors = "hocket.patterns.advisors", handoff = "hocket.patterns.handoff", router = "hocket.patterns.router",
  team = "hocket.patterns.team",
  facilitator = "hocket.patterns.facilitator", planner = "hocket.patterns.planner",
  coordinator = "hocket.patterns.coordinator", plan = "hocket.patterns.plan",
}

--- Loads a directory of agents. Raises with file, line and column of every problem.
---@param dir string
---@return table<string, hocket.Agent>
function hocket.agents(dir)
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

--- The agents that come with hocket: planner, conversation, file, shell, web, code,
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
  check_open()
  return require("hocket.providers").add(name, def) -- a tail call: errors name the caller's line
end

--- The run that is going on: `run:tree()`, `run:usage()`, `run:stop()`, `run:cancel()`.
---@return hocket.Run? run nil outside of a run
function hocket.this_run()
  return require("hocket.internal.run.run").current()
end

---@class hocket.RunOptions
---@field model? string For an agent that names none.
---@field override_model? string For this agent, whatever it names; unless the whole run was given one.
---@field variables? table<string, string|number|boolean>
---@field tools? hocket.Tool[] Beside those of the agent.
---@field extra_tools? string[] The same by their names for `tools:`.
---@field history? hocket.History What was said before.
---@field board? hocket.Board
---@field document? hocket.Document
---@field on_delta? fun(kind: "text"|"reasoning", text: string) Is told of the answer as it comes.
---@field on_event? fun(event: table) Is told of the events of this call and of all below it, and of no other's.
---@field on_question? fun(question: table): string? Answers what agents ask (hocket.ask): its text, or nil for no answer.
---@field timeout? number Seconds.
---@field budget? hocket.Budget
---@field approve? string|string[] This, workdir, sandbox and network are options of `hocket run` (docs/commands.md).
---@field workdir? string
---@field sandbox? string
---@field network? boolean|string|string[]
---@field record? string Name of a file (hocket.cassette).
---@field replay? string

--- Lets an agent answer.
---@async
---@param agent hocket.Agent|string An agent; or a script, an agent's file or a directory, as `hocket run` takes them. Inside of a run that is an agent, or a directory with one that begins.
---@param input string
---@param options? hocket.RunOptions For a string outside of a run those of hocket.start.
---@return hocket.Reply? reply `text`, `usage`, `finish`, …
---@return hocket.Error? err
function hocket.run(agent, input, options)
  check_open()
  if type(agent) == "string" and not hocket.this_run() then return require("hocket.host"):run(agent, input, options) end
  return require("hocket.internal.runner.run_agent").run(agent, input, options)
end

--- Lets an agent answer without waiting for it: for programs with a loop of their own, which turns
--- the host (see hocket.host). The callbacks run inside of `pump`.
---@param what hocket.Agent|string An agent, or a script, an agent file or a directory as `hocket run` takes them.
---@param input? string
---@param options? table As for hocket.run, and on_done(reply, err), deltas, events, interactive, max_turns, models, priority, simulate (docs/embedding.md); for a string those of a run, on_event and on_done.
---@return hocket.Started
function hocket.start(what, input, options)
  check_open()
  return require("hocket.host"):start(what, input, options)
end

--- Gives a run to workers (`hocket work`): it is put into the store with the files that it is made of, and done by whoever takes
--- it. In a run that is kept it is submitted once over all its lives, and `:wait()` may take days: the run is parked meanwhile.
---
---     local hocket = require "hocket"
---     local work, err = hocket.submit("agents", "Two days in Rome", { pool = "default" })
---     print(work and work:wait().text or err)    -- also work.id, work:cancel()
---@async
---@param target string A script, an agent's file or a folder, as `hocket run` takes it.
---@param input? string
---@param options? table pool, at (seconds since 1970: not before), project; and of a run's: model, models, variables, approve, files, max_turns, budget, timeout, jobs, network, sandbox, prices, context.
---@return hocket.Submitted? submitted
---@return hocket.Error? err
function hocket.submit(target, input, options)
  check_open()
  return require("hocket.internal.runner.submitted").submit(target, input, options)
end

--- Calls `fn(id)` once over all lives of a run that is kept: what it returns is in the run's log, and a replay takes it from
--- there. What it returns has to be data; what it changes has to be outside of the run. Where a process ended in the
--- middle of it nobody knows whether it was done: with `idempotent` it is done again, with the same id (a word that whoever is
--- asked can know it by); `reconcile(id)` is asked, and returns what came of it, or nil when it was not done and is to be; else it
--- fails with the code "unknown". A fork with other scripts has what was returned for the same name: where that does not say
--- all, in a loop, `of` is what else it depends on.
---
---     local hocket = require "hocket"
---     local order = assert(hocket.step("order", function(id) return "ordered" end, { idempotent = true }))
---     print(order)
---
--- Where nothing is kept fn is just called.
---@async
---@param name string What is done, for whoever looks at the run.
---@param fn fun(id: string): ...
---@param opts? {idempotent?: boolean, reconcile?: fun(id: string): ..., of?: any} `of` is data.
---@return any ... What fn returned; or nil and an error with the code "unknown". What fn raises is raised.
function hocket.step(name, fn, opts)
  return require "hocket.internal.run.step"(name, fn, opts)
end

--- Bounds what a run that is kept has to do again in another process. A script calls it first without an argument, and at the end
--- of each round of its loop with what the next round needs: data. In another process the script begins anew, what stands before the first
--- call is replayed, and that returns the newest state; only what came after it is replayed then. Boards and documents that were made
--- before the first call hold what they held at the newest; what else is not in the state (conversations, boards of a round) is as
--- it was at the first call.
---
---     local hocket = require "hocket"
---     local state = hocket.checkpoint() or { round = 1 }
---     while state.round <= 3 do
---       state = hocket.checkpoint { round = state.round + 1 }
---     end
---     print(state.round)
---
--- Raises while anything else of the run goes on.
---@async
---@param state? any Data.
---@return any state The newest one; nil: there is none yet.
function hocket.checkpoint(...)
  return require "hocket.internal.run.checkpoint"(...)
end

--- Waits until a time of day, a day or a month from now: in a run that is kept over any number of processes, so that it goes on at
--- once when the time has passed meanwhile.
---@async
---@param time number Seconds since 1970, as from os.time.
function hocket.sleep_until(time)
  require("hocket.internal.run.signals").sleep_until(time)
end

--- Waits for a message to this run from outside (`run:signal(name, value)`, hocket_run_signal). Those that came before anybody
--- waited are kept, and taken in their order.
---@async
---@param name string
---@param opts? {timeout?: number} Seconds.
---@return any value json.null for null
---@return hocket.Error? err "timeout"
function hocket.signal(name, opts)
  return require("hocket.internal.run.signals").wait(name, opts)
end

--- Vectors of texts, by a model that is made for it. Texts go in batches; what was used is counted to the run, a call for each batch, and in a run that is
--- kept they are in its log.
---
---     local hocket = require "hocket"
---     local found = assert(hocket.embed({ "a red fox", "the fox is red" }, { model = "sim" }))
---     print(#found.vectors, #found.vectors[1], found.usage.input)
---
---@async
---@param texts string|string[] 1 to 1 MiB each.
---@param opts? {model?: string, dimensions?: integer, timeout?: number} model: "provider/model" at a server that speaks OpenAI's form, Gemini's or Ollama's; default: HOCKET_EMBED_MODEL. timeout: seconds for a batch, 120.
---@return {vectors: number[][], model: string, usage: {input?: integer, cost?: number}}? found One vector for each text, in their order.
---@return hocket.Error? err
function hocket.embed(texts, opts)
  check_open()
  local found, err = require("hocket.internal.models.embeddings").texts(texts, opts)
  return found, err
end

---@alias hocket.Input string|hocket.Media|(string|hocket.Media)[] Words, or words with pictures, recordings, documents.

--- A picture for a model, of a file or of bytes: `hocket.run(agent, { "What is it?", hocket.image "cat.png" })`. What it is its
--- content says. Tools return them as well.
---@param what string|{data: string, name?: string}
---@return hocket.Media? image
---@return hocket.Error? err
function hocket.image(what)
  return require("hocket.internal.base.media").make(what, "image")
end

--- The same of anything that models take: pictures, recordings, PDF, and files of text.
---@param what string|{data: string, name?: string}
---@return hocket.Media? file `kind`: image, audio, file or text; `mime`, `name`, `data`
---@return hocket.Error? err
function hocket.file(what)
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
