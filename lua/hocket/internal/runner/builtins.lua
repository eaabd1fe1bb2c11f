--- What comes with hocket is made known by its name: the patterns that stand around an agent, and the toolsets that
--- agent files can name. Each is loaded when an agent first has it.
local lazy = require "hocket.internal.base.lazy"
local orchestrate = require "hocket.orchestrate"
local tool = require "hocket.tool"

orchestrate.set_pattern("advisors", lazy "hocket.patterns.advisors")
orchestrate.set_pattern("alternates", lazy "hocket.patterns.alternates")
orchestrate.set_pattern("handoff", lazy "hocket.patterns.handoff")
orchestrate.set_named(lazy "hocket.internal.runner.named")
orchestrate.set_admission(function(...) return require("hocket.internal.runner.trust").admit_instructions(...) end)
orchestrate.set_pattern("router", lazy "hocket.patterns.router")
orchestrate.set_pattern("team", lazy "hocket.patterns.team")

tool.set("facilitator", function(env) return require("hocket.patterns.facilitator").tools(env) end)
tool.set("specialist", function(env) return require("hocket.patterns.facilitator.specialist").tools(env) end)
tool.set("report_blocker", function(env) return require("hocket.patterns.blockers").tools(env) end)
tool.set("split_task", function(env) return require("hocket.patterns.coordinator.parts").tools(env) end)
tool.set("delegate", function(env)
  if env.leads and env.delegates_unasked then return {} end
  return require("hocket.internal.tools.delegate").tools(env)
end)
tool.set("delegate_to_agent", function(env) return require("hocket.tools.delegate_to_agent").tool(env) end)

tool.set("plan:NAME", function(env, name) return require("hocket.internal.runner.plan_target").tool(env, name) end)
tool.set_bound("plan:NAME", function(path) return require("hocket.internal.runner.plan_bound")(path) end)
tool.set("workflow:NAME", function(env, name) return require("hocket.internal.runner.named").tool(env, name) end)

local function admit_server(run, def, quietly)
  local ok, err = true, nil
  if run.options.code then ok, err = require("hocket.internal.runner.stored_code").may_start(def) end
  if not ok then return nil, err end
  return require("hocket.internal.runner.trust").admit_server(run, def, quietly)
end

tool.set("mcp", function(env)
  local toolset = require "hocket.internal.mcp.toolset"
  toolset.set_admission(admit_server)
  return toolset.tools(env)
end)
tool.set("servers_of_run", function(env) -- servers that whoever started the run has named: its option `mcp`
  local agent = setmetatable({ mcp = env.run.options.mcp or {} }, { __index = env.agent })
  return require("hocket.internal.mcp.toolset").tools(setmetatable({ agent = agent, of_run = true }, { __index = env }))
end)
local function ask_first()
  require("hocket.internal.tools.instructions").set_admission(require("hocket.internal.runner.trust").admit_instructions)
end
tool.set("skills", function(env)
  ask_first()
  return require("hocket.internal.tools.skills").tools(env)
end)
tool.set("memory", function(env) return require("hocket.internal.tools.memory").tools(env) end)
tool.set("project", function(env)
  ask_first()
  return require("hocket.internal.tools.instructions").tools(env)
end)
require "hocket.internal.tools.builtin"
tool.seal()
return true
