--- Registers the toolsets that agent files can name. What makes them is loaded when an agent has one.
local tool = require "hocket.tool"

tool.set("facilitator", function(env) return require("hocket.patterns.facilitator").tools(env) end)
tool.set("specialist", function(env) return require("hocket.patterns.specialist").tools(env) end)
tool.set("delegate", function(env) return require("hocket.tools.delegate").tools(env) end)
tool.set("delegate_to_agent", function(env) return require("hocket.tools.delegate_to_agent").tool(env) end)
require "hocket.tools.ask_user"
require "hocket.tools.builtin"
return true
