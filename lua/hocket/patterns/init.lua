--- Registers the toolsets that agent files can name. What makes them is loaded when an agent has one.
local tool = require "hocket.tool"

tool.set("facilitator", function(env) return require("hocket.patterns.facilitator").tools(env) end)
tool.set("specialist", function(env) return require("hocket.internal.patterns.specialist").tools(env) end)
tool.set("delegate", function(env) return require("hocket.internal.tools.delegate").tools(env) end)
tool.set("delegate_to_agent", function(env) return require("hocket.tools.delegate_to_agent").tool(env) end)
require "hocket.internal.tools.ask_user"
require "hocket.internal.tools.builtin"
return true
